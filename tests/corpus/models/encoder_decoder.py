"""A T5-like encoder-decoder: cross attention, relative position buckets learned once per stack, padding masked."""
import dataclasses

import jax
import jax.numpy as jnp

from models import adam
from models import transformer

PAD = 0


@dataclasses.dataclass(frozen=True)
class Shape(transformer.Shape):
    target: int     # positions of the decoder; sequence is the encoder's
    buckets: int


WIDE = Shape(layers=4, width=1024, hidden=4096, heads=16, vocabulary=32128, batch=32, sequence=512, target=128, buckets=32)
TINY = Shape(layers=1, width=32, hidden=64, heads=4, vocabulary=64, batch=8, sequence=16, target=8, buckets=8)


def init_attention(key, s):
    ks = jax.random.split(key, 4)
    into = {name: jax.random.normal(k, (s.width, s.heads, s.head)) * s.width ** -0.5 for name, k in zip(("wq", "wk", "wv"), ks)}
    return {**into, "wo": jax.random.normal(ks[3], (s.heads, s.head, s.width)) * s.width ** -0.5, "norm": jnp.ones((s.width,))}


def init_mlp(key, s):
    ks = jax.random.split(key, 2)
    return {"w_in": jax.random.normal(ks[0], (s.width, s.hidden)) * s.width ** -0.5,
            "w_out": jax.random.normal(ks[1], (s.hidden, s.width)) * s.hidden ** -0.5, "norm": jnp.ones((s.width,))}


def init(key, s):
    def stack(key, parts):
        layers = []
        for k in jax.random.split(key, s.layers):
            ks = jax.random.split(k, len(parts))
            layers.append({part: (init_mlp if part == "mlp" else init_attention)(k, s) for part, k in zip(parts, ks)})
        return {"layers": layers, "bias": jnp.zeros((s.buckets, s.heads)), "norm": jnp.ones((s.width,))}
    ks = jax.random.split(key, 4)
    return {"embed": jax.random.normal(ks[0], (s.vocabulary, s.width)),
            "encoder": stack(ks[1], ("attention", "mlp")), "decoder": stack(ks[2], ("attention", "cross", "mlp")),
            "head": jax.random.normal(ks[3], (s.width, s.vocabulary)) * s.width ** -0.5}


def batch_of(key, s):
    ks = jax.random.split(key, 3)
    return {"source": jax.random.randint(ks[0], (s.batch, s.sequence), 0, s.vocabulary, jnp.int32),
            "inputs": jax.random.randint(ks[1], (s.batch, s.target), 0, s.vocabulary, jnp.int32),
            "targets": jax.random.randint(ks[2], (s.batch, s.target), 0, s.vocabulary, jnp.int32)}


def position_bias(table, length, both_ways):
    """-> [h, q, k]: a learned number per head and bucket of distance; exact buckets first, then logarithmic ones to 128."""
    buckets, reach = table.shape[0], 128
    distance = jnp.arange(length)[:, None] - jnp.arange(length)
    bucket = jnp.zeros_like(distance)
    if both_ways:
        buckets //= 2
        bucket = jnp.where(distance < 0, buckets, 0)
        distance = jnp.abs(distance)
    distance = jnp.maximum(distance, 0)
    exact = buckets // 2
    far = jnp.log(jnp.maximum(distance, 1) / exact) / jnp.log(reach / exact) * (buckets - exact)
    bucket = bucket + jnp.where(distance < exact, distance, jnp.minimum(exact + far.astype(jnp.int32), buckets - 1))
    return table[bucket].transpose(2, 0, 1)


def attention(x, memory, layer, bias):
    """bias: [b or nothing, h, q, k], added to the scores."""
    q = jnp.einsum("bsd,dhk->bshk", x, layer["wq"].astype(x.dtype))
    k = jnp.einsum("btd,dhk->bthk", memory, layer["wk"].astype(x.dtype))
    v = jnp.einsum("btd,dhk->bthk", memory, layer["wv"].astype(x.dtype))
    scores = jnp.einsum("bqhk,bthk->bhqt", q, k).astype(jnp.float32) + bias
    weights = jax.nn.softmax(scores, axis=-1).astype(x.dtype)
    mixed = jnp.einsum("bhqt,bthk->bqhk", weights, v)
    return jnp.einsum("bshk,hkd->bsd", mixed, layer["wo"].astype(x.dtype))


def mlp(x, layer):
    return jax.nn.relu(x @ layer["w_in"].astype(x.dtype)) @ layer["w_out"].astype(x.dtype)


def encode(params, x, hidden):
    bias = position_bias(params["bias"], x.shape[1], True) + hidden
    for layer in params["layers"]:
        y = transformer.normalise(x, layer["attention"]["norm"])
        x = x + attention(y, y, layer["attention"], bias)
        x = x + mlp(transformer.normalise(x, layer["mlp"]["norm"]), layer["mlp"])
    return transformer.normalise(x, params["norm"])


def decode(params, x, memory, hidden):
    length = x.shape[1]
    bias = position_bias(params["bias"], length, False) + jnp.where(jnp.tri(length, dtype=bool), 0, -1e30)
    for layer in params["layers"]:
        y = transformer.normalise(x, layer["attention"]["norm"])
        x = x + attention(y, y, layer["attention"], bias)
        x = x + attention(transformer.normalise(x, layer["cross"]["norm"]), memory, layer["cross"], hidden)
        x = x + mlp(transformer.normalise(x, layer["mlp"]["norm"]), layer["mlp"])
    return transformer.normalise(x, params["norm"])


def loss_of(params, batch):
    embed = params["embed"].astype(jnp.bfloat16)
    hidden = jnp.where(batch["source"] == PAD, -1e30, 0.0)[:, None, None, :]
    memory = encode(params["encoder"], embed[batch["source"]], hidden)
    x = decode(params["decoder"], embed[batch["inputs"]], memory, hidden)
    logits = (x @ params["head"].astype(x.dtype)).astype(jnp.float32)
    picked = jnp.take_along_axis(logits, batch["targets"][..., None], axis=-1)[..., 0]
    counted = (batch["targets"] != PAD).astype(jnp.float32)
    return jnp.sum((jax.nn.logsumexp(logits, axis=-1) - picked) * counted) / jnp.maximum(jnp.sum(counted), 1)


def step(params, opt_state, batch):
    loss, grads = jax.value_and_grad(loss_of)(params, batch)
    params, opt_state = adam.update(params, opt_state, grads)
    return params, opt_state, loss
