"""A decoder whose MLPs are mixtures of experts: top-2 routing, dispatch and combine as einsums, fixed capacity."""
import dataclasses

import jax
import jax.numpy as jnp

from models import adam
from models import transformer


@dataclasses.dataclass(frozen=True)
class Shape(transformer.Shape):
    experts: int
    capacity: int   # tokens that one expert takes from one sequence


WIDE = Shape(layers=4, width=2048, hidden=8192, heads=16, vocabulary=32768, batch=16, sequence=1024,
             experts=16, capacity=160)


def init_layer(key, s):
    layer = transformer.init_layer(key, s)
    ks = jax.random.split(jax.random.fold_in(key, 1), 3)
    for name in ("w_gate", "w_up", "w_down"):
        del layer[name]
    layer["router"] = jax.random.normal(ks[0], (s.width, s.experts)) * s.width ** -0.5
    layer["w_in"] = jax.random.normal(ks[1], (s.experts, s.width, s.hidden)) * s.width ** -0.5
    layer["w_out"] = jax.random.normal(ks[2], (s.experts, s.hidden, s.width)) * s.hidden ** -0.5
    return layer


def init(key, s):
    keys = jax.random.split(key, s.layers + 1)
    return {"embed": jax.random.normal(keys[-1], (s.vocabulary, s.width)) * s.width ** -0.5,
            "layers": [init_layer(k, s) for k in keys[:-1]]}


def route(x, router, capacity):
    """-> dispatch mask [b, s, e, c] in x's type, combine weights of the same shape, balance loss."""
    experts = router.shape[-1]
    gates = jax.nn.softmax(jnp.einsum("bsd,de->bse", x.astype(jnp.float32), router), axis=-1)
    best, chosen = jax.lax.top_k(gates, 2)
    best = best / jnp.sum(best, axis=-1, keepdims=True)
    combine = jnp.zeros(gates.shape + (capacity,), jnp.float32)
    taken = jnp.zeros(gates.shape[:1] + (1, experts), jnp.float32)
    for choice in range(2):
        mask = jax.nn.one_hot(chosen[..., choice], experts, dtype=jnp.float32)
        place = (jnp.cumsum(mask, axis=1) - mask + taken) * mask
        taken = taken + jnp.sum(mask, axis=1, keepdims=True)
        mask = mask * (place < capacity)
        slot = jax.nn.one_hot(jnp.sum(place, axis=-1).astype(jnp.int32), capacity, dtype=jnp.float32)
        combine = combine + best[..., choice, None, None] * mask[..., None] * slot[:, :, None, :]
    first = jax.nn.one_hot(chosen[..., 0], experts, dtype=jnp.float32)
    balance = jnp.mean(jnp.mean(first, axis=1) * jnp.mean(gates, axis=1)) * experts ** 2
    return (combine > 0).astype(x.dtype), combine.astype(x.dtype), balance


def experts_mlp(x, layer, capacity):
    dispatch, combine, balance = route(x, layer["router"], capacity)
    h = jnp.einsum("bsec,bsd->ebcd", dispatch, x)
    h = jax.nn.gelu(jnp.einsum("ebcd,edf->ebcf", h, layer["w_in"].astype(x.dtype)))
    h = jnp.einsum("ebcf,efd->ebcd", h, layer["w_out"].astype(x.dtype))
    return jnp.einsum("bsec,ebcd->bsd", combine, h), balance


def step_of(capacity):
    def loss_of(params, batch):
        embed = params["embed"].astype(jnp.bfloat16)
        x, balance = embed[batch["tokens"]], 0.0
        for layer in params["layers"]:
            x = x + transformer.attention(transformer.normalise(x, layer["ln1"]), layer)
            y, extra = experts_mlp(transformer.normalise(x, layer["ln2"]), layer, capacity)
            x, balance = x + y, balance + extra
        logits = jnp.einsum("bsd,vd->bsv", x, embed)
        return transformer.cross_entropy(logits, batch["targets"]) + 0.01 * balance

    def step(params, opt_state, batch):
        loss, grads = jax.value_and_grad(loss_of)(params, batch)
        params, opt_state = adam.update(params, opt_state, grads)
        return params, opt_state, loss
    return step
