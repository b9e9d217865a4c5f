"""Functions and modules of equinox and flax: a wrapped function is refused with the recipe, and the recipe works where they are installed."""
import os
import sys

import pytest

from child import Crash, forked
from conftest import ROOT

sys.path.insert(0, os.path.join(ROOT, "clients", "python"))


def start():
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"


def ask(path, step, *args):
    import shardwright
    return shardwright.plan(step, *args, mesh="data=4,model=2", device="h100", evaluations=40, tool=path)


def wrapped(path, kind):
    """What filter_jit and nnx.jit give: callable, with a lower of their own that does not give jax's Lowered."""
    start()
    import jax.numpy as jnp
    made = type("Wrapped", (), {"__module__": kind, "__call__": lambda self, x: x, "lower": lambda self, *args: None})()
    ask(path, made, jnp.ones(16))


@pytest.mark.parametrize("kind, recipe", [("equinox._jit", "eqx.partition"), ("flax.nnx.transforms.compilation", "nnx.split")])
def test_wrapped_functions(tool, kind, recipe):
    with pytest.raises(Crash, match="shardwright.Error: a function wrapped by .* cannot be planned as it is; .*%s" % recipe):
        forked(wrapped, tool.path, kind)


def equinox_recipe(path):
    start()
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    model, x = eqx.nn.MLP(64, 64, 128, 2, key=jax.random.key(0)), jnp.ones((16, 64))

    def step(model, x):
        loss, grads = eqx.filter_value_and_grad(lambda m: jnp.mean((jax.vmap(m)(x) - x) ** 2))(model)
        return eqx.apply_updates(model, jax.tree.map(lambda g: -0.1 * g, grads)), loss

    dynamic, static = eqx.partition((model, x), eqx.is_array)
    plan = ask(path, jax.jit(lambda dynamic: eqx.filter(step(*eqx.combine(dynamic, static)), eqx.is_array)), dynamic)
    return float(plan.fn(dynamic)[1]), float(eqx.filter_jit(step)(model, x)[1])


def nnx_recipe(path):
    start()
    import jax
    import jax.numpy as jnp
    from flax import nnx

    class Model(nnx.Module):
        def __init__(self, rngs):
            self.up, self.drop, self.down = nnx.Linear(64, 128, rngs=rngs), nnx.Dropout(0.5, rngs=rngs), nnx.Linear(128, 64, rngs=rngs)

        def __call__(self, x):
            return self.down(self.drop(jnp.tanh(self.up(x))))

    graphdef, state = nnx.split(Model(nnx.Rngs(0)))

    def step(state, x):
        model = nnx.merge(graphdef, state)
        loss, grads = nnx.value_and_grad(lambda m: jnp.mean((m(x) - x) ** 2))(model)
        nnx.update(model, jax.tree.map(lambda p, g: p - 0.1 * g, nnx.state(model, nnx.Param), grads))
        return nnx.state(model), loss

    x = jnp.ones((16, 64))
    expected, first = jax.jit(step)(state, x)
    plan = ask(path, jax.jit(step, donate_argnums=0), state, x)
    state, loss = plan.fn(state, x)
    return (float(loss), float(plan.fn(state, x)[1])), (float(first), float(jax.jit(step)(expected, x)[1]))


@pytest.mark.parametrize("name, recipe", [("equinox", equinox_recipe), ("flax", nnx_recipe)])
def test_recipes(tool, name, recipe):
    pytest.importorskip(name)
    found, expected = forked(recipe, tool.path)
    assert found == pytest.approx(expected, rel=1e-4)
