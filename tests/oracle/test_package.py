"""The Python package: plan.fn as people call it, what stops them said in one sentence, and the compiler's word."""
import dataclasses
import functools
import os
import sys
import types
import warnings

import pytest

from child import Crash, forked
from conftest import ROOT

sys.path.insert(0, os.path.join(ROOT, "clients", "python"))
MESH = "data=4,model=2"


def start(count=8):
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=%d" % count


def planner(path, **fixed):
    import shardwright
    return functools.partial(shardwright.plan, mesh=MESH, device="h100", evaluations=40, tool=path, **fixed)


def said_by(function, *args, **kwargs):
    import shardwright
    try:
        function(*args, **kwargs)
    except shardwright.Error as error:
        return str(error)
    return "nothing"


def static_and_keywords(path):
    start()
    import jax
    import jax.numpy as jnp

    @functools.partial(jax.jit, static_argnums=1, static_argnames="mode", donate_argnums=0)
    def f(w, n, x, *, mode="a", scale=1.0):
        return w + 1, (x @ w) * scale * n if mode == "a" else x @ w

    w, x = jnp.ones((64, 32)), jnp.ones((16, 64))
    plan = planner(path)(f, w, 3, x, kwargs={"mode": "a", "scale": 2.0})
    w, y = plan.fn(w, 3, x, mode="a", scale=3.0)
    plan.fn(w, 3, x, mode="a", scale=3.0)       # w lies as planned now: its buffer is given away
    return (float(y[0, 0]), w.is_deleted(), said_by(plan.fn, x, 4, x, mode="a", scale=3.0), said_by(plan.fn, x, 3, x, mode="b", scale=3.0),
            said_by(plan.fn, x, 3, x, mode="a"), said_by(plan.in_shardings))


def test_static_and_keywords(tool):
    y, donated, other, mode, missing, by_name = forked(static_and_keywords, tool.path)
    assert y == 64 * 9 and donated
    assert "static argument 1 is 4, the plan is for 3" in other and "static argument mode is 'b'" in mode
    assert "mode, scale by name" in missing and "no in_shardings for keyword arguments (scale)" in by_name


def dataclasses_and_keys(path):
    start()
    import jax
    import jax.numpy as jnp
    import numpy as np
    import shardwright

    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class State:
        w: object
        key: object
        count: object

    def step(s, batch):
        keep = jax.random.bernoulli(s.key, 0.5, batch["x"].shape)
        grad = jax.grad(lambda w: jnp.mean((jnp.where(keep, batch["x"], 0) @ w) ** 2))(s.w)
        return State(s.w - 0.1 * grad, jax.random.split(s.key)[0], s.count + 1), {"sums": [jnp.sum(batch["x"])]}

    def fresh():
        return State(np.ones((64, 32), np.float32), jax.random.key(0), np.zeros((), np.int32)), {"x": np.ones((16, 64), np.float32)}

    jitted = jax.jit(step, donate_argnums=0)
    plan = planner(path, seed=0)(jitted, *fresh())
    expected, _ = jax.jit(step)(*fresh())
    for way in ("annotate", "exact"):
        found, sums = plan.function(way)(*fresh())
        np.testing.assert_allclose(found.w, expected.w, rtol=1e-5)
        assert isinstance(found, State) and (jax.random.key_data(found.key) == jax.random.key_data(expected.key)).all() and sums["sums"][0] == 1024
        assert plan.function(way)(found, fresh()[1])[0].count == 2      # its own results are its arguments
    folder = os.environ["PLAN_FOLDER"]
    path_of_plan = os.path.join(folder, "a.plan")
    plan.save(path_of_plan)
    again = shardwright.load(path_of_plan, jitted, *fresh(), tool=path)
    np.testing.assert_allclose(again.fn(*fresh())[0].w, expected.w, rtol=1e-5)
    other = said_by(shardwright.load, path_of_plan, jitted, State(np.ones((64, 8), np.float32), *dataclasses.astuple(fresh()[0])[1:]), fresh()[1])
    with open(path_of_plan, "wb") as f:
        f.write(b"nonsense")
    assert plan.document["search"]["seed"] == 0
    return [a["name"] for a in plan.document["arguments"]], plan.explain(), other, said_by(shardwright.load, path_of_plan, jitted, *fresh())


def test_dataclasses_and_keys(tool, monkeypatch):
    monkeypatch.setenv("PLAN_FOLDER", tool.folder)
    names, why, other, damaged = forked(dataclasses_and_keys, tool.path)
    assert names == ["s.w", "s.key", "s.count", "batch['x']"] and "s.w" in why
    assert "a plan for another program" in other and "is not a saved plan" in damaged


def undecided_pair(path):
    start()
    import jax.numpy as jnp
    import numpy as np
    import shardwright
    args = np.ones(128, np.float32), np.ones((64, 128), np.float32)
    plan = planner(path)(lambda state, x: (jnp.mean(x, 0), jnp.sum(state * jnp.arange(128.)[::-1])), *args, donate_argnums=0, apply="annotate")
    # by hand: only x is decided, so its cut reaches the result and not the donated argument
    document = dict(plan.document, apply="exact")
    document["arguments"] = [dict(a, sharding=[[], ["model"]] if a["name"] == "x" else None, priority=None) for a in document["arguments"]]
    document["results"] = [dict(r, sharding=None) for r in document["results"]]
    hand = shardwright.Plan(document, "", plan._program, tool=path)
    hand.module = hand.module_applied("annotate")
    document["apply"] = "annotate"
    mean, total = hand.fn(*args)
    return float(mean.sum()), float(total)


def test_undecided_donated_pair(tool):
    """XLA refuses an alias of buffers that propagation has cut differently: "Expected aliased input .. to have the same size"."""
    assert forked(undecided_pair, tool.path) == (128.0, 127 * 64.0)


def constraints_only(path):
    start()
    import jax.numpy as jnp
    import numpy as np
    import shardwright
    args = np.ones((64, 32), np.float32), np.ones((16, 64), np.float32)
    plan = planner(path)(lambda w, x: jnp.sum(jnp.tanh(x @ w)), *args)
    document = dict(plan.document, actions=[], apply="exact",
                    constraints=[{"op": 0, "result": 0, "location": "", "sharding": [["data"], []], "priority": [0, 0]}])
    document["arguments"] = [dict(a, sharding=None, priority=None, propagated=None) for a in document["arguments"]]
    document["results"] = [dict(r, sharding=None) for r in document["results"]]
    hand = shardwright.Plan(document, "", plan._program, tool=path)
    hand.module = hand.module_applied("annotate")
    document["apply"] = "annotate"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        hand.in_shardings()
    cut = [s for s in hand.fn.compiled.input_shardings[0] if not s.is_fully_replicated]
    assert {w.filename for w in told} == {__file__}        # warnings name the line that asked, not one of the package
    return float(hand.fn(*args)), len(cut), [str(w.message) for w in told]


def test_constraints_only(tool):
    """What a plan with inner constraints only makes of the arguments is what XLA propagates, and jit's losses are loud."""
    value, cut, told = forked(constraints_only, tool.path)
    assert abs(value - 512) < 1e-3 and cut, (value, cut)
    assert len(told) == 1 and "1 internal sharding constraints" in told[0] and "plan.fn runs what was planned" in told[0]


def explicit_axes(path):
    start()
    import jax
    import jax.numpy as jnp

    def step(w, x):
        return jnp.sum(jnp.tanh(jax.sharding.reshard(x, jax.sharding.PartitionSpec()) @ w), 0)

    def plain(w, x):
        loss, grad = jax.value_and_grad(lambda w: jnp.mean((jnp.tanh(x @ w) - 1) ** 2))(w)
        return w - grad, loss

    args = jnp.ones((64, 32)), jnp.ones((16, 64))
    found = []
    with jax.set_mesh(jax.make_mesh((4, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Explicit,) * 2)):
        for function, ambient in ((step, "keep"), (plain, "keep"), (plain, "ignore")):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                plan = planner(path)(function, *args, ambient_mesh=ambient)
            plan.fn(*args)
            found.append([str(w.message) for w in told])
    return found


def test_explicit_axes(tool):
    """What jax pins under explicit axes is counted, with its cost; ignoring the mesh pins nothing."""
    kept, plain, ignored = forked(explicit_axes, tool.path)
    assert any("explicit axes (data, model) pins" in line for line in kept), kept
    assert any("without; plan(.., ambient_mesh=\"ignore\") plans without them" in line for line in plain), plain
    assert not ignored


def set_to_gspmd(path):
    start()
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_use_shardy_partitioner", False)
    mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))

    def step(w, x):
        return jnp.sum(jax.lax.with_sharding_constraint(jnp.tanh(x @ w), rows))

    args = jnp.ones((64, 32)), jnp.ones((16, 64))
    step = jax.jit(step, in_shardings=(None, rows))
    plan = planner(path)(step, *args)
    by_gspmd = "mhlo.sharding" in step.lower(*args).as_text()       # the process stays as it was set
    return plan.document["arguments"][1]["sharding"], float(plan.fn(*args)), by_gspmd


def test_set_to_gspmd(tool):
    """Annotations of a program in a process that is set to GSPMD are pins as any others."""
    sharding, value, by_gspmd = forked(set_to_gspmd, tool.path)
    assert sharding[0] == ["data"] and value == 512 and by_gspmd


def committed_arrays(path):
    start()
    import jax
    import jax.numpy as jnp
    rows = jax.sharding.NamedSharding(jax.make_mesh((8,), ("rows",)), jax.sharding.PartitionSpec("rows"))
    w, x = jax.device_put(jnp.ones((64, 32)), rows), jax.device_put(jnp.ones((16, 64)), rows)
    key = jax.device_put(jax.random.key(0), jax.devices()[3])
    plan = planner(path, pins=['x:[["data"],[]]'])(lambda w, x, key: jnp.sum(x @ w) + 0 * jax.random.uniform(key), w, x, key)
    return plan.document["arguments"][1]["sharding"], float(plan.fn(w, x, key))


def test_committed_arrays(tool):
    """Arrays that lie on other axes, or on one device, pin nothing, and are placed when the plan runs."""
    sharding, total = forked(committed_arrays, tool.path)
    assert sharding[0] == ["data"] and total == 16 * 64 * 32


EVENTS = ({"event": "progress", "evaluation": 7, "seconds": 1.5},
          {"event": "incumbent", "evaluation": 9, "runtime_ns": 2500, "peak_bytes": 1024, "fits": False})
BEST = "shardwright: 9 evaluations: best 2.5 us, 1.00 KiB (does not fit yet)"


def shown(monkeypatch, modules, wanted=True):
    """Two events and a line through Progress, where only these modules can be imported."""
    from shardwright.progress import Progress
    for name in ("rich", "rich.console", "tqdm"):
        monkeypatch.setitem(sys.modules, name, modules.get(name))       # None: its import fails
    with Progress(wanted) as show:
        for event in EVENTS:
            show(event)
        show.line("verify: done")


def test_progress_as_plain_text(monkeypatch, capsys):
    shown(monkeypatch, {})
    assert capsys.readouterr().err.splitlines() == [BEST, "verify: done"]
    shown(monkeypatch, {}, wanted=None)         # standard error is no terminal here
    shown(monkeypatch, {}, wanted=False)
    assert capsys.readouterr() == ("", "")


def test_progress_to_a_function(monkeypatch, capsys):
    told = []
    shown(monkeypatch, {}, wanted=told.append)
    assert told == [*EVENTS, {"event": "verify", "text": "verify: done"}] and capsys.readouterr() == ("", "")


def recorder(calls):
    """An object whose every call is written down, with its name."""
    class Recorder:
        def __getattr__(self, name):
            return lambda *args, **_: (calls.append((name, *args)), self)[1]
    return Recorder()


def test_progress_with_rich_or_tqdm(monkeypatch):
    calls = []
    console = types.SimpleNamespace(Console=lambda stderr: types.SimpleNamespace(status=lambda text: status))
    status, bar = recorder(calls), recorder(calls)
    status.console = recorder(calls)
    shown(monkeypatch, {"rich": types.ModuleType("rich"), "rich.console": console, "tqdm": types.SimpleNamespace(tqdm=None)})     # rich is preferred
    assert calls == [("start",), ("update", "shardwright: 7 evaluations, 1.5 s"), ("update", BEST), ("print", "verify: done"), ("stop",)]
    calls.clear()
    shown(monkeypatch, {"tqdm": types.SimpleNamespace(tqdm=lambda **_: bar)})
    assert calls == [("set_description_str", "shardwright: 7 evaluations, 1.5 s"), ("set_description_str", BEST), ("write", "verify: done"), ("close",)]


def refusals(path):
    start()
    import jax
    import jax.numpy as jnp
    ask = planner(path)
    x = jnp.ones((16,))
    on_four = jax.sharding.NamedSharding(jax.make_mesh((8,), ("rows",)), jax.sharding.PartitionSpec("rows"))
    return {
        "untraceable": said_by(ask, lambda x: 1 if x.sum() > 0 else 2, x),
        "no array": said_by(ask, lambda x, kind: x, x, "relu"),
        "devices": said_by(lambda: ask(lambda x: x * 2, x, **{"mesh": "data=16"}).fn),
        "no mesh": said_by(lambda: ask(lambda x: x * 2, x, mesh=None)),
        "other mesh": said_by(ask, lambda x: jax.lax.with_sharding_constraint(x * 2, on_four), x),
        "jitted already": said_by(ask, jax.jit(lambda x: x), x, donate_argnums=0),
        "no function": said_by(ask, 3, x),
        "fallback": said_by(ask, lambda x: x, x, fallback="zero9"),
        "verify": said_by(ask, lambda x: x * 2, x, verify="all"),
        "other shapes": said_by(lambda: ask(lambda x: x * 2, x).fn(jnp.ones((32,)))),
        "typo": said_by(ask, lambda x: x * 2, x, pins=['x:[["dta"]]']),
        "explicit axes": said_by(under_rows, ask, x),
    }


def under_rows(ask, x):
    import jax
    with jax.set_mesh(jax.make_mesh((8,), ("rows",), axis_types=(jax.sharding.AxisType.Explicit,))):
        ask(lambda x: jax.sharding.reshard(x, jax.sharding.PartitionSpec("rows")) * 2, x)


def test_refusals(tool):
    said = forked(refusals, tool.path)
    for case, words in {"untraceable": "must be static (static_argnames), or the branch a jax.lax.cond", "no array": "what is not an array must be static",
                        "devices": "needs 16 devices (data=16), jax has 8; XLA_FLAGS", "no mesh": "say the mesh by name", "other mesh": "rows",
                        "jitted already": "the function is jitted already", "no function": "expected a function, found int",
                        "fallback": "expected None or one of replicated", "verify": 'expected a number of plans or "run"',
                        "other shapes": "the arguments are not those of the plan, make one for each of their shapes: Argument 'x'",
                        "typo": "did you mean 'data'?", "explicit axes": 'explicit axes (rows): plan(.., ambient_mesh="ignore")'}.items():
        assert words in said[case] and "\n" not in said[case].strip() and not said[case].startswith("error: "), (case, said[case])


def test_another_version(tool):
    old = tool.file("#!/bin/sh\necho shardwright 0.0.1\n", "old")
    os.chmod(old, 0o755)
    with pytest.raises(Crash, match="is version 0.0.1, this package is .*: build both from one checkout"):
        forked(refusals_of, old)
    with pytest.raises(Crash, match="is not shardwright"):
        forked(refusals_of, "/bin/echo")


def refusals_of(path):
    start()
    import jax.numpy as jnp
    planner(path)(lambda x: x * 2, jnp.ones((16,)))


def nobody_answers(path):
    start()
    import jax.numpy as jnp
    import shardwright
    args = jnp.ones((64, 32)), jnp.ones((16, 64))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        os.environ["SHARDWRIGHT"] = path
        plan = planner(None)(lambda w, x: jnp.tanh(x @ w), *args, server="http://127.0.0.1:9", fallback="zero3")
    assert {w.filename for w in told if issubclass(w.category, shardwright.PlanWarning)} == {__file__}
    return [str(w.message) for w in told], plan.fallback, float(plan.fn(*args)[0, 0])


def test_fallback(tool):
    told, why, value = forked(nobody_answers, tool.path)
    assert why in told and "no daemon" in why and "this is the baseline zero3, not the answer of a search" in why and value == 1.0
