"""The compiler's word on plans: which programs are compiled, on which devices, what they cost, and which one is the answer."""
import json
import os
import subprocess
import sys

import pytest

from child import forked
from conftest import ROOT
from test_package import planner, said_by, start

sys.path.insert(0, os.path.join(ROOT, "clients", "python"))


def verified(path, target):
    start()
    import jax
    import jax.numpy as jnp

    def step(w, x):
        return w - 0.1 * jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w)))(w)

    args = jnp.ones((256, 512)), jnp.ones((128, 256))
    lines = []
    plan = planner(path)(step, *args, donate_argnums=0)
    options = {"count": "run"} if target == "run" else {"count": 2, "target": target}
    rows = plan.verify(**options, progress=lambda event: lines.append(event.get("text", ""))).verifications
    late = plan.verify(1, target="cpu", seconds=0.01).verifications if target == "cpu" else None
    return rows, [line for line in lines if line], late


@pytest.mark.parametrize("target", ("cpu", "run"))
def test_verify(tool, target):
    rows, lines, late = forked(verified, tool.path, target)
    assert len(rows) == len(lines) > 1 and sum("chosen" in row for row in rows) == 1
    for row in rows:
        assert row["reason"] is None and row["fits"] and row["peak_bytes"] > 0, row
        assert (row["runtime_ns"] is None) == (target == "cpu") and row["source"] == ("compiled" if target == "cpu" else "measured")
    best = min(rows, key=lambda row: row["runtime_ns"] or row["predicted_runtime_ns"])
    assert best.get("chosen")
    if late:
        assert "not compiled within 0.01 s" in late[0]["reason"] and not late[0]["fits"]


def step_with_alternatives(path, *schedules):
    """A plan whose document has the answers of other searches as its alternatives, each saying only what is different."""
    start()
    import jax
    import jax.numpy as jnp

    def step(w, x):
        return w - 0.1 * jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w)))(w)

    args = jnp.ones((256, 512)), jnp.ones((128, 256))
    ask = planner(path)
    plan = ask(step, *args, donate_argnums=0)
    others = [ask(step, *args, donate_argnums=0, schedule=schedule).document for schedule in schedules]
    plan.document["alternatives"] = [{key: value for key, value in other.items() if value != plan.document.get(key)} for other in others]
    return plan, args


def different_programs(path):
    plan, args = step_with_alternatives(path, [{"named": "replicate", "axis": axis} for axis in ("data", "model")],
                                        [{"named": "zero3", "axis": "data"}])
    best = plan.verify(4, target="cpu", processes=2, compiler_options={"xla_no_such_option": True})
    return (len(plan.alternatives), best.verifications, best.verified, best.compiler_options, best.fits, float(best.fn(*args)[0, 0]))


def test_different_programs(tool):
    """Each with the options and without; what XLA refuses falls out with its reason."""
    alternatives, rows, verified_row, options, fits, value = forked(different_programs, tool.path)
    assert alternatives == 2 and len(rows) == 4
    asked = {(row["plan"], row["apply"]): row for row in rows if row["options"]}
    plain = {(row["plan"], row["apply"]): row for row in rows if not row["options"]}
    assert asked.keys() == plain.keys()
    assert all("xla_no_such_option" in row["reason"] and not row["fits"] for row in asked.values())
    assert all(row["reason"] is None and row["collectives"] for row in plain.values())
    assert verified_row == rows[[row.get("chosen", False) for row in rows].index(True)] and not options and fits
    assert verified_row["predicted_runtime_ns"] == min(row["predicted_runtime_ns"] for row in plain.values())
    assert value == pytest.approx(1.0, abs=0.1)


def places(path):
    """(programs by rank, places of a baseline) for several counts, nothing compiled."""
    from shardwright.candidates import candidates
    plan, _ = step_with_alternatives(path, [{"named": "zero3", "axis": "data"}])
    plan.document["baselines"] = [b for b in plan.document["baselines"] if b["name"] == "replicated"]
    return [[(one.name, one.way, one.document["cost"]["runtime_ns"]) for one in candidates(plan._source, plan.document, plan.module, count)]
            for count in (1, 2, 3, 9)]


def test_places(tool):
    one, two, three, all_of_them = forked(places, tool.path)
    assert [len(made) for made in (one, two, three)] == [1, 2, 3] and 3 < len(all_of_them) <= 6
    assert all(made[0][0] == "this plan" for made in (one, two, three, all_of_them))
    assert three[-1][0] == "replicated" and "replicated" in [name for name, _, _ in all_of_them]
    costs = [cost for _, _, cost in all_of_them[1:]]
    assert costs == sorted(costs), all_of_them


def asked_for(path):
    """The sharding of the pinned argument in every program that would be compiled."""
    from shardwright.candidates import candidates
    start()
    import jax
    import jax.numpy as jnp

    def step(w, v, x):
        loss, (a, b) = jax.value_and_grad(lambda w, v: jnp.mean(jnp.tanh(jnp.tanh(x @ w) @ v) ** 2), (0, 1))(w, v)
        return w - 0.1 * a, v - 0.1 * b, loss

    plan = planner(path, pins=['w:[["model"],[]]'], forbids=["v:1:model"], memory="1GiB")(
        jax.jit(step, donate_argnums=(0, 1)), jnp.ones((256, 512)), jnp.ones((512, 256)), jnp.ones((64, 256)))
    made = candidates(plan._source, plan.document, plan.module, 9)
    return [(one.name, one.document["arguments"][0]["sharding"], one.document["search"].get("forbids")) for one in made]


def test_baselines_keep_what_was_asked(tool):
    """A baseline that breaks a pin is no candidate for the answer."""
    made = forked(asked_for, tool.path)
    assert {name for name, _, _ in made} & {"data_parallel", "replicated", "zero2", "zero3"}, made
    assert all(w == [["model"], []] and forbids == ["v:1:model"] for _, w, forbids in made), made


def nothing_fits(path):
    import warnings
    plan, _ = step_with_alternatives(path)
    plan.document["memory_limit_bytes"] = 1
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        same = plan.verify(1, target="cpu")
    return same is plan, same.verified, [str(w.message) for w in told]


def test_nothing_fits(tool):
    same, verified_row, told = forked(nothing_fits, tool.path)
    assert same and verified_row is None and any("nothing that was compiled fits" in line for line in told)


def order_of_a_slice():
    os.environ.update(JAX_PLATFORMS="cpu", TPU_SKIP_MDS_QUERY="1", TPU_WORKER_HOSTNAMES="localhost", ALLOW_MULTIPLE_LIBTPU_LOAD="1")
    import jax
    from jax.experimental import topologies
    from shardwright.shardings import make_mesh
    devices = topologies.get_topology_desc(platform="tpu", topology_name="v5e:4x4").devices
    axes = [{"name": "data", "size": 4}, {"name": "model", "size": 4}]
    ours = make_mesh({"axes": axes}, devices)
    theirs = jax.make_mesh((4, 4), ("data", "model"), devices=devices)
    given = make_mesh({"axes": axes, "device_order": list(range(15, -1, -1))}, devices)
    return ([tuple(d.coords) for d in ours.devices[0]], [d.id for d in ours.devices.flat] == [d.id for d in theirs.devices.flat],
            [d.id for d in given.devices.flat] == [d.id for d in reversed(devices)])


def test_order_of_a_slice():
    """An axis of four on 4x4 is a row of the torus, as in jax.make_mesh, and not a square of four neighbours in the list of chips."""
    pytest.importorskip("libtpu")
    row, as_jax, as_given = forked(order_of_a_slice)
    assert as_jax and as_given and (len({x for x, _, _ in row}) == 1 or len({y for _, y, _ in row}) == 1), row


def test_targets(monkeypatch):
    """The device's own compiler where it is installed, with a topology that has room for the mesh."""
    from shardwright import targets
    here = set()
    monkeypatch.setattr(targets, "_is_here", lambda module: module in here)
    assert targets.target_of("tpu-v5e", 16) == targets.target_of("h100", 8) == ("cpu", None)
    here |= {"libtpu", "jax_plugins.xla_cuda12"}
    assert [targets.target_of("tpu-v5e", n)[1] for n in (1, 4, 6, 256)] == ["v5e:2x2", "v5e:2x2", "v5e:2x4", "v5e:16x16"]
    assert targets.target_of("tpu-v5e", 257) == ("cpu", None) and targets.target_of("tpu-v5p", 257) == ("tpu", "v5p:8x8x8")
    assert [targets.target_of("h100", n)[1] for n in (2, 8, 9, 64)] == ["1x1x2", "1x1x8", "1x2x8", "1x8x8"]
    assert targets.target_of("a100-80g", 8) == ("cpu", None)


def compiled_for(path, device):
    import shardwright
    plan, args = step_with_alternatives(path)
    own = shardwright.plan(plan._program.jitted, *args, mesh="data=4", device=device, evaluations=20, tool=path)
    return own.verify(1, seconds=120).verifications


def test_texts_that_pjrt_cannot_hand_out(tmp_path):
    from jax.errors import JaxRuntimeError
    from shardwright.compile_module import text_of

    class Module:
        def to_string(self):
            return "HloModule known"

    class Executable:
        def __init__(self, modules):
            self.modules = modules

        def hlo_modules(self):
            if self.modules is None:
                raise JaxRuntimeError("INTERNAL: async-update instruction should have 1 operands but sees 3")
            return self.modules

    assert text_of(Executable([Module()]), str(tmp_path)) == "HloModule known"
    with pytest.raises(JaxRuntimeError):
        text_of(Executable(None), str(tmp_path))
    (tmp_path / "module_0000.jit_f.cl_1.after_codegen.txt").write_text("HloModule written")
    (tmp_path / "module_0002.extracted.cl_1.after_codegen.txt").write_text("HloModule of a kernel")
    assert text_of(Executable(None), str(tmp_path)) == "HloModule written"


@pytest.mark.slow
@pytest.mark.parametrize("target, device, package", (("tpu", "tpu-v5e", "libtpu"), ("gpu", "h100", "jax_plugins.xla_cuda12")))
def test_compiled_for(tool, target, device, package):
    pytest.importorskip(package)
    row, = forked(compiled_for, tool.path, device)
    assert row["reason"] is None and row["runtime_ns"] > 0 and row["compiler"] == "XLA for " + target and row["fits"], row


def test_alternatives_are_documents(tool, tmp_path):
    """Each applies on its own: the answer's actions, which name constraints that others do not have, are none of theirs."""
    from shardwright.source import alternatives_of
    module = os.path.join(ROOT, "tests", "corpus", "convnet.mlir.zst")
    words = ["search", module, "--mesh", "data=4,model=4", "--device", "tpu-v5e", "--alternatives", "3", "--evaluations", "2000", "--json"]
    document = json.loads(subprocess.run([tool.path, *words], check=True, capture_output=True, text=True).stdout)
    others = alternatives_of(document)
    assert others
    for i, other in enumerate(others):
        (tmp_path / "other.json").write_text(json.dumps(other))
        subprocess.run([tool.path, "apply", module, "--strategy", tmp_path / "other.json", "-o", tmp_path / f"{i}.mlir"], check=True, timeout=60)
