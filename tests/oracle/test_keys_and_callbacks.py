"""Random keys and callbacks bring meshes of their own: one without axes, one of a single device. They are planned, and XLA takes the answer."""
import json
import os

import pytest

import memory
from annotate import read
from child import forked

BYTES = ("argument_bytes", "output_bytes", "alias_bytes")


def _mint(kind):
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.experimental import checkify, io_callback

    def shaped(*shape, dtype=jnp.float32):
        return jax.ShapeDtypeStruct(shape, dtype)

    def loss(p, x, key):
        h = jax.nn.relu(x @ p["up"])
        h = jnp.where(jax.random.bernoulli(key, .9, h.shape), h / .9, 0)
        return jnp.mean((h @ p["down"] - x) ** 2)

    def step(p, x, key):
        return jax.tree.map(lambda p, g: p - .1 * g, p, jax.grad(loss)(p, x, key))

    def step_with_state(p, x, state):
        key = jax.random.fold_in(state["key"], state["count"])
        return step(p, x, key), {"key": state["key"], "count": state["count"] + 1}

    def step_with_split(p, x, key):
        key, own = jax.random.split(key)
        return step(p, x, own), key

    def calling(call):
        def forward(p, x):
            return call(x @ p["up"]) @ p["down"]
        return forward

    def checked(h):
        checkify.check(jnp.all(h > -1e9), "too small: {}", jnp.min(h))
        return h

    def told(f):
        def call(h):
            f(h)
            return h
        return call

    p, x, key = {"up": shaped(64, 128), "down": shaped(128, 64)}, shaped(16, 64), jax.eval_shape(lambda: jax.random.key(0))
    function, donated, arguments = {
        "key": (step, (0,), (p, x, key)),
        "key_split": (step_with_split, (0, 2), (p, x, key)),
        "key_state": (step_with_state, (0, 2), (p, x, {"key": key, "count": shaped(dtype=jnp.int32)})),
        "pure_callback": (calling(lambda h: jax.pure_callback(np.sin, h, h)), (), (p, x)),
        "io_callback": (calling(told(lambda h: io_callback(lambda v: None, None, jnp.mean(h), ordered=True))), (), (p, x)),
        "debug_print": (calling(told(lambda h: jax.debug.print("mean {}", jnp.mean(h)))), (), (p, x)),
        "debug_callback": (calling(told(lambda h: jax.debug.callback(lambda v: None, h))), (), (p, x)),
        "checkify": (checkify.checkify(calling(checked)), (), (p, x)),
    }[kind]
    return jax.jit(function, donate_argnums=donated).lower(*arguments).as_text(debug_info=True)


@pytest.mark.parametrize("kind", ["key", "key_split", "key_state", "pure_callback", "io_callback", "debug_print", "debug_callback", "checkify"])
def test_planned_and_compiled(tool, kind):
    text, out = forked(_mint, kind), os.path.join(tool.folder, "out.mlir")
    if kind != "checkify":
        assert ("@empty_mesh" if kind.startswith("key") else "@maximal_mesh") in text
    document = json.loads(tool("search", tool.file(text), "--mesh", "data=2,model=4", "--device", "h100", "--evaluations", 60, "--check",
                               "--json", "--emit-mlir", out))
    measured = memory.measure(read(out))
    if kind != "io_callback":  # XLA counts its token among the results
        assert {word: document["cost"][word] for word in BYTES} == {word: measured[word] for word in BYTES}
