"""A small language model trained by optimizers whose updates are not elementwise: norms of whole tensors (LAMB), moments of rows and
columns (Adafactor), a matrix iteration on the moments (Muon), matrix roots of second moments (Shampoo), Adam in their eigenbases
(SOAP), Kronecker factors that are fitted to the gradient (PSGD), and an average of the iterates in place of a schedule
(schedule-free AdamW). All but Shampoo, SOAP and PSGD come from optax."""
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


class SoapState(NamedTuple):
    count: jax.Array
    momentum: dict
    second: dict
    left: dict
    right: dict
    left_basis: dict
    right_basis: dict


def soap(rate, every=10):
    """Vyas and others 2024: moments lie in the eigenbases of both second moments, which one step of an iteration follows now and then."""
    def matrix(g):
        return g.reshape(g.shape[0], -1)

    def eye(p, dim):
        return jnp.eye(matrix(p).shape[dim])

    def start(params):
        zeros = jax.tree.map(lambda p: jnp.zeros_like(matrix(p)), params)
        left, right = (jax.tree.map(lambda p, dim=dim: eye(p, dim), params) for dim in (0, 1))
        return SoapState(jnp.zeros((), jnp.int32), zeros, zeros, left, right, left, right)

    def turned(m, second, left, right, ql, qr):
        new_left, new_right = jnp.linalg.qr(left @ ql)[0], jnp.linalg.qr(right @ qr)[0]
        return new_left.T @ (ql @ m @ qr.T) @ new_right, second, new_left, new_right

    def one(g, m, v, left, right, ql, qr, turn):
        rows = matrix(g)
        left, right = .95 * left + .05 * rows @ rows.T, .95 * right + .05 * rows.T @ rows
        inside = ql.T @ rows @ qr
        m, v = .9 * m + .1 * inside, .95 * v + .05 * inside * inside
        step = (ql @ (m * jax.lax.rsqrt(v + 1e-8)) @ qr.T).reshape(g.shape)
        m, v, ql, qr = jax.lax.cond(turn, turned, lambda m, v, left, right, ql, qr: (m, v, ql, qr), m, v, left, right, ql, qr)
        return step, m, v, left, right, ql, qr

    def update(grads, state, params=None):
        leaves, tree = jax.tree.flatten(grads)
        rows = [one(g, *(jax.tree.leaves(s)[i] for s in state[1:]), state.count % every == 0) for i, g in enumerate(leaves)]
        step, *rest = (jax.tree.unflatten(tree, column) for column in zip(*rows))
        return jax.tree.map(lambda s: -rate * s, step), SoapState(state.count + 1, *rest)

    return optax.GradientTransformation(start, update)


class PsgdState(NamedTuple):
    count: jax.Array
    momentum: dict
    left: dict
    right: dict


def psgd(rate, fit=.1):
    """Li 2018: both factors, triangular, are fitted so that they whiten the gradient."""
    def start(params):
        left, right = (jax.tree.map(lambda p, dim=dim: jnp.eye(p.reshape(p.shape[0], -1).shape[dim]), params) for dim in (0, 1))
        return PsgdState(jnp.zeros((), jnp.int32), jax.tree.map(jnp.zeros_like, params), left, right)

    def fitted(q, a, b):
        step = a @ a.T - b.T @ b
        return q - fit / (jnp.linalg.norm(a @ a.T + b.T @ b) + 1e-6) * jnp.triu(step) @ q

    def one(key, g, m, left, right):
        m = .9 * m + .1 * g
        rows, solve = m.reshape(g.shape[0], -1), jax.scipy.linalg.solve_triangular
        a = left @ rows @ right.T
        b = solve(left, jax.random.normal(key, rows.shape), trans=1)
        b = solve(right, b.T, trans=1)
        left, right = fitted(left, a, b), fitted(right, a.T, b.T)
        return (left.T @ left @ rows @ right.T @ right).reshape(g.shape), m, left, right

    def update(grads, state, params=None):
        leaves, tree = jax.tree.flatten(grads)
        keys = jax.random.split(jax.random.fold_in(jax.random.key(7), state.count), len(leaves))
        rows = [one(keys[i], g, *(jax.tree.leaves(s)[i] for s in state[1:])) for i, g in enumerate(leaves)]
        step, *rest = (jax.tree.unflatten(tree, column) for column in zip(*rows))
        return jax.tree.map(lambda s: -rate * s, step), PsgdState(state.count + 1, *rest)

    return optax.GradientTransformation(start, update)


OPTIMIZERS = {
    "lamb": optax.lamb(1e-3, weight_decay=.01),
    "adafactor": optax.adafactor(1e-3, min_dim_size_to_factor=32, momentum=.9),
    "muon": contrib.muon(1e-3),
    "schedule_free": contrib.schedule_free_adamw(1e-3, warmup_steps=10),
    "shampoo": shampoo(1e-3),
    "soap": soap(1e-3),
    "psgd": psgd(1e-3),
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
