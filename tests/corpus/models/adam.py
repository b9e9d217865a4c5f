"""Adam with float32 master parameters, written as plain functions on trees."""
import jax
import jax.numpy as jnp

RATE, DECAY1, DECAY2, EPSILON = 1e-3, 0.9, 0.95, 1e-8


def init(params):
    zeros = jax.tree.map(jnp.zeros_like, params)
    return {"m": zeros, "v": jax.tree.map(jnp.zeros_like, params), "count": jnp.zeros((), jnp.int32)}


def update(params, state, grads):
    count = state["count"] + 1
    steps = count.astype(jnp.float32)
    correct1 = 1 - DECAY1 ** steps
    correct2 = 1 - DECAY2 ** steps

    def first(m, g):
        return DECAY1 * m + (1 - DECAY1) * g

    def second(v, g):
        return DECAY2 * v + (1 - DECAY2) * (g * g)

    def move(p, m, v):
        return p - RATE * (m / correct1) / (jnp.sqrt(v / correct2) + EPSILON)

    m = jax.tree.map(first, state["m"], grads)
    v = jax.tree.map(second, state["v"], grads)
    return jax.tree.map(move, params, m, v), {"m": m, "v": v, "count": count}


def clip(grads, limit=1.0):
    """Scaled down so that the norm over all of them is at most the limit."""
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
    return jax.tree.map(lambda g: g * jnp.minimum(1, limit / (norm + 1e-6)), grads)


def decay(params, rate=0.1):
    return jax.tree.map(lambda p: p * (1 - RATE * rate), params)
