"""A small language model trained by optimizers whose updates are not elementwise: norms of whole tensors (LAMB), moments of rows and
columns (Adafactor), a matrix iteration on the moments (Muon), matrix roots of second moments (Shampoo), and an average of the
iterates in place of a schedule (schedule-free AdamW). All but Shampoo come from optax."""
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from optax import contrib

WIDTH, HIDDEN, WORDS, BATCH, LENGTH = 64, 128, 256, 8, 16


class ShampooState(NamedTuple):
    momentum: dict
    left: dict
    right: dict


def init(key):
    e, u, d = jax.random.split(key, 3)
    return {"embed": jax.random.normal(e, (WORDS, WIDTH)), "scale": jnp.ones(WIDTH),
            "up": jax.random.normal(u, (WIDTH, HIDDEN)), "down": jax.random.normal(d, (HIDDEN, WIDTH))}


def loss_of(params, tokens, targets):
    x = params["embed"][tokens]
    h = x * params["scale"] * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)
    x = x + jax.nn.gelu(h @ params["up"]) @ params["down"]
    return optax.softmax_cross_entropy_with_integer_labels(x @ params["embed"].T, targets).mean()


def root_of(m):
    """m to the power of -1/4, by its eigenvalues."""
    w, v = jnp.linalg.eigh(m + 1e-6 * jnp.eye(m.shape[0]))
    return (v * jnp.maximum(w, 1e-6) ** -.25) @ v.T


def shampoo(rate):
    def start(params):
        return ShampooState(jax.tree.map(jnp.zeros_like, params), jax.tree.map(lambda p: jnp.eye(p.shape[0]), params),
                            jax.tree.map(lambda p: jnp.eye(p.shape[-1]), params))

    def update(grads, state, params=None):
        rows = jax.tree.map(lambda g: g.reshape(g.shape[0], -1), grads)
        left = jax.tree.map(lambda s, g: s + g @ g.T, state.left, rows)
        right = jax.tree.map(lambda s, g: s + jnp.atleast_2d(g).T @ jnp.atleast_2d(g), state.right, grads)
        whitened = jax.tree.map(lambda l, g, r: (root_of(l) @ g.reshape(g.shape[0], -1)).reshape(g.shape) @ root_of(r), left, grads, right)
        momentum = jax.tree.map(lambda m, w: .9 * m + w, state.momentum, whitened)
        return jax.tree.map(lambda m: -rate * m, momentum), ShampooState(momentum, left, right)

    return optax.GradientTransformation(start, update)


OPTIMIZERS = {
    "lamb": optax.lamb(1e-3, weight_decay=.01),
    "adafactor": optax.adafactor(1e-3, min_dim_size_to_factor=32, momentum=.9),
    "muon": contrib.muon(1e-3),
    "schedule_free": contrib.schedule_free_adamw(1e-3, warmup_steps=10),
    "shampoo": shampoo(1e-3),
}


def arguments(key, optimizer):
    params = init(key)
    return params, optimizer.init(params), jnp.zeros((BATCH, LENGTH), jnp.int32), jnp.zeros((BATCH, LENGTH), jnp.int32)


def step_of(optimizer):
    def step(params, opt_state, tokens, targets):
        loss, grads = jax.value_and_grad(loss_of)(params, tokens, targets)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss
    return step


def programs(key):
    """name -> (function, donated argument numbers, abstract arguments)."""
    return {name + "_tiny": (step_of(optimizer), (0, 1), jax.eval_shape(lambda optimizer=optimizer: arguments(key, optimizer)))
            for name, optimizer in OPTIMIZERS.items()}
