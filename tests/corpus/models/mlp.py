"""Multi-layer perceptrons: a four-layer regression step with Adam, and a two-layer one with plain gradient descent."""
import jax
import jax.numpy as jnp

from models import adam


def init(key, widths):
    layers = []
    for fan_in, fan_out in zip(widths, widths[1:]):
        key, k = jax.random.split(key)
        layers.append({"w": jax.random.normal(k, (fan_in, fan_out)) * fan_in ** -0.5, "b": jnp.zeros((fan_out,))})
    return {"layers": layers}


def loss_of(params, batch):
    h = batch["x"].astype(jnp.bfloat16)
    last = len(params["layers"]) - 1
    for i, layer in enumerate(params["layers"]):
        h = h @ layer["w"].astype(jnp.bfloat16) + layer["b"].astype(jnp.bfloat16)
        if i < last:
            h = jax.nn.gelu(h)
    return jnp.mean((h.astype(jnp.float32) - batch["y"]) ** 2)


def step(params, opt_state, batch):
    loss, grads = jax.value_and_grad(loss_of)(params, batch)
    params, opt_state = adam.update(params, opt_state, grads)
    return params, opt_state, loss


def tiny_init(key, width, hidden):
    k1, k2 = jax.random.split(key)
    return {"w1": jax.random.normal(k1, (width, hidden)) * width ** -0.5,
            "w2": jax.random.normal(k2, (hidden, width)) * hidden ** -0.5}


def tiny_step(params, batch):
    def loss_of(params):
        h = jnp.tanh(batch["x"] @ params["w1"])
        return jnp.mean((h @ params["w2"] - batch["y"]) ** 2)
    loss, grads = jax.value_and_grad(loss_of)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss
