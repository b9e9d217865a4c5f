"""Modules that jax lowers for GSPMD, taken over a mesh: they must cost what the same program lowered with Shardy costs."""
import functools
import json
import os
import sys

import execute
import numpy
import pytest

from child import forked

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "corpus")

MESH = (("data", 4), ("model", 2))
NAMES = ("arguments", "constraints", "unconstrained", "both_axes", "loop", "inner_jit", "step", "donated", "replicated")


def programs():
    """name -> (function, arguments, options of jit). Shardings are of a mesh of eight host devices."""
    import jax
    import jax.numpy as jnp
    import numpy
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
    mesh = Mesh(numpy.array(jax.devices()).reshape(4, 2), ("data", "model"))

    def on(*spec):
        return NamedSharding(mesh, P(*spec))

    def array(shape, *spec):
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=on(*spec) if spec else None)

    def hold(x, *spec):
        return jax.lax.with_sharding_constraint(x, on(*spec))

    def loss(w, x):
        return jnp.mean(hold(jnp.tanh(x @ w), "data", "model") ** 2)

    def step(w, m, x):
        g = hold(jax.grad(loss)(w, x), "data", "model")
        m = 0.9 * m + g
        return w - 0.1 * m, m

    x, w, square = array((64, 128), "data"), array((128, 256), None, "model"), array((64, 64), "data", "model")
    free = P.UNCONSTRAINED
    return {
        "arguments": (lambda w, x: x @ w, (w, x), {"out_shardings": on("data", "model")}),
        "constraints": (lambda w, x: hold(hold(x @ w, "data", "model") * 2, None, "data") + 1, (w, x), {}),
        "unconstrained": (lambda w, x: jnp.sin(hold(jnp.tanh(x @ w), free, "model")), (w, x), {}),
        "both_axes": (lambda w, x: hold(x, ("model", "data")) @ w, (array((128, 256), ("data", "model")), array((64, 128))), {"out_shardings": on(None, ("data", "model"))}),
        "loop": (lambda x: jax.lax.fori_loop(0, 5, lambda _, y: hold(y @ y, "data", "model"), x), (square,), {}),
        "inner_jit": (lambda w, x: jax.jit(lambda a, b: hold(a @ b, "data", "model"))(x, w) + 1, (w, x), {}),
        "step": (step, (w, w, x), {"out_shardings": (on(None, "model"), on(None, "model"))}),
        "donated": (step, (w, w, x), {"donate_argnums": (0, 1)}),
        "replicated": (lambda w, x: hold(x @ w), (array((128, 256), None), x), {"out_shardings": on()}),
    }


HAND = ("all_axes", "one_axis", "where", "gradient", "scan", "constant", "unread", "twice", "corpus")


def by_hand():
    """name -> (function, arguments, options of jit) with a shard_map."""
    import jax
    import jax.numpy as jnp
    import numpy
    from jax.sharding import Mesh, PartitionSpec as P
    from models import shard_map_step
    mesh = Mesh(numpy.array(jax.devices()).reshape(4, 2), ("data", "model"))
    x, w = jax.ShapeDtypeStruct((64, 32), jnp.float32), jax.ShapeDtypeStruct((32, 16), jnp.float32)
    both = {"in_specs": (P("data"), P(None, "model")), "out_specs": P("data", "model")}
    rows = {"in_specs": (P("data"), P()), "out_specs": P("data"), "axis_names": {"data"}}

    def mapped(function, **options):
        return jax.shard_map(function, mesh=mesh, **options)

    def scaled(a, b):
        return a @ b + jax.lax.axis_index("model").astype(a.dtype) + jax.lax.psum(jnp.sum(a), "data")

    def shared(a, b):
        y = jnp.tanh(a @ b)
        return y / jax.lax.psum(jnp.sum(y ** 2), "data")

    def chosen(a, b):
        y = jnp.where(a > 0, a, 0.1) @ b
        return y + jax.lax.psum(jnp.sum(y), "data")

    def outer(a, b):
        inner = jax.shard_map(lambda c, d: c @ d + jax.lax.psum(jnp.sum(d), "model"), in_specs=(P(), P(None, "model")), out_specs=P(None, "model"), axis_names={"model"})
        y = inner(jnp.sin(a), b)
        return y + jax.lax.psum(jnp.sum(y), "data")

    def sums(a, b):
        return a @ b, jax.lax.psum(jnp.sum(a), ("data",)), a + 1

    rng = mapped(lambda: jnp.full((4, 16), jax.lax.axis_index("data")).astype(jnp.float32), in_specs=(), out_specs=P("data"))
    several = mapped(sums, in_specs=both["in_specs"], out_specs=(both["out_specs"], P(), P("data")))
    again = mapped(shared, **rows)
    batch = shard_map_step.arguments(jax.random.key(0), shard_map_step.TINY)
    found = {
        "all_axes": (lambda x, w: jnp.sin(mapped(scaled, **both)(x, w)), (x, w)),
        "one_axis": (lambda x, w: jnp.sin(mapped(shared, **rows)(x, w)) @ w.T, (x, w)),
        "where": (lambda x, w: mapped(chosen, **rows)(jnp.where(x > 0, x, 0.1), w), (x, w)),
        "gradient": (lambda x, w: jax.grad(lambda w: jnp.sum(mapped(shared, **rows)(x, w)[:8] ** 2))(w), (x, w)),
        "scan": (lambda x, w: jax.lax.scan(lambda c, _: (jnp.tanh(mapped(scaled, **both)(c, w) @ w.T), jnp.sum(c)), x, length=3), (x, w)),
        "nested": (lambda x, w: mapped(outer, **rows)(x, w), (x, w)),
        "constant": (lambda w: w[:16] + rng(), (w,)),
        "unread": (lambda x, w: several(x, w)[0] * 2, (x, w)),
        "twice": (lambda x, w: again(x, w) + again(x * 2, w), (x, w)),
        "corpus": (shard_map_step.step_of(None), batch),
    }
    return {name: (function, args, {}) for name, (function, args) in found.items()}


def minted():
    """name -> the program's text for GSPMD and for Shardy."""
    import jax
    jax.config.update("jax_num_cpu_devices", 8)
    sys.path.insert(0, CORPUS)
    out = {}
    for shardy in (False, True):
        jax.config.update("jax_use_shardy_partitioner", shardy)
        jax.clear_caches()
        for name, (function, args, options) in {**programs(), **by_hand()}.items():
            out.setdefault(name, []).append(jax.jit(function, **options).lower(*args).as_text())
    return out


@functools.lru_cache(1)
def texts():
    """In one child: starting jax takes longer than all programs."""
    return forked(minted)


@pytest.mark.parametrize("name", NAMES)
def test_costs_as_with_shardy(tool, tmp_path, name):
    gspmd, shardy = texts()[name]
    assert "mhlo.sharding" in gspmd and "sdy." not in gspmd and "sdy.mesh" in shardy
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"mesh": {"axes": [{"name": axis, "size": size} for axis, size in MESH]}, "arguments": []}))
    files = [tool.file(text, "%d.mlir" % i) for i, text in enumerate((gspmd, shardy))]
    costs = [json.loads(tool("evaluate", path, "--strategy", plan, "--json")) for path in files]
    assert costs[0] == costs[1]
    assert tool("apply", files[0], "--strategy", plan, "-o", tmp_path / "out.mlir") == ""
    written = (tmp_path / "out.mlir").read_text()
    assert "mhlo.sharding" not in written and "@Sharding" not in written and "sdy.sharding" in written
    documents = [json.loads(tool("search", path, "--mesh", "data=4,model=2", "--evaluations", 60, "--json")) for path in files]
    for document in documents:
        document["search"] = document["module"] = None
    assert documents[0]["arguments"] == documents[1]["arguments"] and documents[0]["cost"] == documents[1]["cost"]


@pytest.mark.parametrize("name", HAND)
def test_shard_maps_cost_as_with_shardy(tool, tmp_path, name):
    gspmd, shardy = texts()[name]
    assert "@SPMDShardToFullShape" in gspmd and "sdy." not in gspmd and "sdy.manual_computation" in shardy
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"mesh": {"axes": [{"name": axis, "size": size} for axis, size in MESH]}, "arguments": []}))
    files = [tool.file(text, "%d.mlir" % i) for i, text in enumerate((gspmd, shardy))]
    costs = [json.loads(tool("evaluate", path, "--strategy", plan, "--json")) for path in files]
    assert costs[0] == costs[1]
    documents = [json.loads(tool("search", path, "--mesh", "data=4,model=2", "--evaluations", 60, "--json")) for path in files]
    assert documents[0]["arguments"] == documents[1]["arguments"] and documents[0]["cost"] == documents[1]["cost"]


@pytest.mark.parametrize("name", ("all_axes", "where", "gradient", "scan", "constant", "unread"))
def test_shard_maps_compute_the_same(tool, tmp_path, name):
    gspmd, shardy = texts()[name]
    path, out, plan = tool.file(gspmd), tmp_path / "out.mlir", tmp_path / "plan.json"
    tool("search", path, "--mesh", "data=4,model=2", "--evaluations", 60, "--emit-strategy", plan)
    want = execute.run(shardy)
    for way in ("annotate", "exact"):
        tool("apply", path, "--strategy", plan, "--apply", way, "-o", out)
        for ours, theirs in zip(execute.run(out.read_text(), like=shardy), want, strict=True):
            numpy.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5)


def test_shard_maps_without_a_mesh_are_refused(tool):
    path = tool.file(texts()["all_axes"][0])
    for words in (("simulate", path), ("lower", path), ("sbp", path)):
        with pytest.raises(AssertionError, match="for GSPMD.*lower with Shardy"):
            tool(*words)


def test_a_shard_map_in_another_is_refused(tool):
    with pytest.raises(AssertionError, match="it stands in another one: lower with Shardy"):
        tool("search", tool.file(texts()["nested"][0]), "--mesh", "data=4,model=2")
