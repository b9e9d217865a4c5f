"""Modules that jax lowers for GSPMD, taken over a mesh: they must cost what the same program lowered with Shardy costs."""
import json

import pytest

from child import forked

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


def minted(name):
    """The program's text for GSPMD and for Shardy."""
    import jax
    jax.config.update("jax_num_cpu_devices", 8)
    out = []
    for shardy in (False, True):
        jax.config.update("jax_use_shardy_partitioner", shardy)
        jax.clear_caches()
        function, args, options = programs()[name]
        out.append(jax.jit(function, **options).lower(*args).as_text())
    return out


@pytest.mark.parametrize("name", NAMES)
def test_costs_as_with_shardy(tool, tmp_path, name):
    gspmd, shardy = forked(minted, name)
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


def shard_map():
    import jax
    import jax.numpy as jnp
    import numpy
    from jax.sharding import Mesh, PartitionSpec as P
    jax.config.update("jax_num_cpu_devices", 8)
    jax.config.update("jax_use_shardy_partitioner", False)
    mesh = Mesh(numpy.array(jax.devices()).reshape(4, 2), ("data", "model"))
    function = jax.shard_map(lambda a: jax.lax.psum(a, "data"), mesh=mesh, in_specs=P("data", "model"), out_specs=P(None, "model"))
    return jax.jit(function).lower(jax.ShapeDtypeStruct((8, 32), jnp.float32)).as_text()


def test_shard_maps_are_refused(tool):
    path = tool.file(forked(shard_map))
    for words in (("search", path, "--mesh", "data=4,model=2"), ("simulate", path), ("lower", path), ("sbp", path)):
        with pytest.raises(AssertionError, match="for GSPMD.*lower with Shardy"):
            tool(*words)
