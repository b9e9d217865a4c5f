"""Functions and modules of equinox, flax and haiku: what is wrapped is refused with the recipe, the recipe works, and trees of arrays need none."""
import os
import sys

import pytest

from child import Crash, forked
from conftest import ROOT

sys.path.insert(0, os.path.join(ROOT, "clients", "python"))


def start():
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"


def ask(path, step, *args, **more):
    import shardwright
    return shardwright.plan(step, *args, mesh="data=4,model=2", device="h100", evaluations=40, tool=path, **more)


def wrapped(path, kind):
    """What filter_jit and nnx.jit give: callable, with a lower of their own that does not give jax's Lowered."""
    start()
    import jax.numpy as jnp
    made = type("Wrapped", (), {"__module__": kind, "__call__": lambda self, x: x, "lower": lambda self, *args: None})()
    ask(path, made, jnp.ones(16))


@pytest.mark.parametrize("kind, recipe", [("equinox._jit", "eqx.partition"), ("flax.nnx.transforms.compilation", "nnx.split")])
def test_wrapped_functions(tool, kind, recipe):
    """Of releases that wrap otherwise than those that are installed."""
    with pytest.raises(Crash, match="shardwright.Error: a function wrapped by .* cannot be planned as it is; .*%s" % recipe):
        forked(wrapped, tool.path, kind)


def filter_jit(path):
    start()
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    ask(path, eqx.filter_jit(lambda model, x: jax.vmap(model)(x)), eqx.nn.MLP(16, 16, 16, 1, key=jax.random.key(0)), jnp.ones((16, 16)))


def equinox_module(path):
    start()
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    ask(path, lambda model, x: jax.vmap(model)(x), eqx.nn.MLP(16, 16, 16, 1, key=jax.random.key(0)), jnp.ones((16, 16)))


def nnx_jit(path):
    start()
    import jax.numpy as jnp
    from flax import nnx
    ask(path, nnx.jit(lambda model, x: model(x)), nnx.Linear(16, 16, rngs=nnx.Rngs(0)), jnp.ones((16, 16)))


@pytest.mark.parametrize("function, said", [
    (filter_jit, "a function wrapped by equinox cannot be planned as it is; .*eqx.partition"),
    (equinox_module, ".*what is not an array must be static.*eqx.partition"),
    (nnx_jit, "a function wrapped by flax cannot be planned as it is; .*nnx.split")], ids=("filter_jit", "equinox module", "nnx.jit"))
def test_as_they_come(tool, function, said):
    with pytest.raises(Crash, match="shardwright.Error: " + said):
        forked(function, tool.path)


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


def haiku_step(path):
    """A transformed function with dropout: parameters, moments and a key as arguments, as haiku's users write it."""
    start()
    import haiku as hk
    import jax
    import jax.numpy as jnp
    import numpy as np
    import optax

    @hk.transform
    def loss_of(x):
        h = hk.dropout(hk.next_rng_key(), 0.1, jax.nn.relu(hk.Linear(128, name="up")(hk.LayerNorm(-1, True, True)(x))))
        return jnp.mean((hk.Linear(64, name="down")(h) - x) ** 2)

    optimizer = optax.adam(1e-2)

    def step(params, moments, key, x):
        key, own = jax.random.split(key)
        loss, grads = jax.value_and_grad(loss_of.apply)(params, own, x)
        updates, moments = optimizer.update(grads, moments)
        return optax.apply_updates(params, updates), moments, key, loss

    x = np.linspace(0, 1, 16 * 64, dtype=np.float32).reshape(16, 64)

    def fresh():
        params = loss_of.init(jax.random.key(0), x)
        return params, optimizer.init(params), jax.random.key(1)

    plan = ask(path, jax.jit(step, donate_argnums=(0, 1)), *fresh(), x, pins=["x:[[\"data\"],[]]", "params['up']['w']:[[],[\"model\"]]"])
    losses = []
    for run in (plan.fn, jax.jit(step)):
        state = fresh()
        for _ in range(3):
            *state, loss = run(*state, x)
            losses.append(float(loss))
    assert losses[0] != losses[2], losses      # it trains
    names = [a["name"] for a in plan.document["arguments"]]
    assert "params['up']['w']" in names and "moments[0].mu['down']['w']" in names, names
    cut = [s for s in jax.tree.leaves(plan.fn.compiled.input_shardings) if not s.is_fully_replicated]
    assert len(cut) > 2, plan.table()          # the batch, weights, and moments by propagation
    return losses[:3], losses[3:]


def linen_step(path):
    start()
    import jax
    import jax.numpy as jnp
    import optax
    from flax import linen as nn
    from flax.training.train_state import TrainState

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(64)(jnp.tanh(nn.Dense(128)(x)))

    def step(state, x):
        loss, grads = jax.value_and_grad(lambda params: jnp.mean((state.apply_fn({"params": params}, x) - x) ** 2))(state.params)
        return state.apply_gradients(grads=grads), loss

    x = jnp.ones((16, 64))

    def fresh():
        return TrainState.create(apply_fn=Model().apply, params=Model().init(jax.random.key(0), x)["params"], tx=optax.sgd(0.1))

    begin = fresh()
    plan = ask(path, jax.jit(step), begin, x)
    found, expected = plan.fn(begin, x), jax.jit(step)(begin, x)
    return (float(found[1]), float(plan.fn(found[0], x)[1])), (float(expected[1]), float(jax.jit(step)(expected[0], x)[1]))


@pytest.mark.parametrize("recipe", [equinox_recipe, nnx_recipe, haiku_step, linen_step], ids=("equinox", "flax nnx", "haiku", "flax linen"))
def test_recipes(tool, recipe):
    found, expected = forked(recipe, tool.path)
    assert found == pytest.approx(expected, rel=1e-4)
