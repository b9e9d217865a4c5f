"""A Llama-like decoder: rotary positions, grouped-query attention, gated MLP, a final norm and a vocabulary head of its own."""
import dataclasses

import jax
import jax.numpy as jnp

from models import adam
from models import transformer


@dataclasses.dataclass(frozen=True)
class Shape(transformer.Shape):
    groups: int     # heads of keys and values; heads // groups query heads share one


WIDE = Shape(layers=32, width=4096, hidden=14336, heads=32, groups=8, vocabulary=128256, batch=16, sequence=1024)
TINY = Shape(layers=2, width=32, hidden=64, heads=8, groups=4, vocabulary=64, batch=8, sequence=16)


def init_layer(key, s):
    layer = transformer.init_layer(key, s)
    for name in ("wk", "wv"):
        layer[name] = layer[name][:, :s.groups]
    return layer


def init(key, s):
    ks = jax.random.split(key, s.layers + 2)
    return {"embed": jax.random.normal(ks[-1], (s.vocabulary, s.width)) * s.width ** -0.5,
            "layers": [init_layer(k, s) for k in ks[:-2]],
            "norm": jnp.ones((s.width,)),
            "head": jax.random.normal(ks[-2], (s.width, s.vocabulary)) * s.width ** -0.5}


def rotate(x, positions):
    """Rotary positions: the two halves of each head of x [b, s, h, k] turn by position times frequency."""
    half = x.shape[-1] // 2
    frequency = 500000.0 ** (-jnp.arange(half, dtype=jnp.float32) / half)
    angle = positions.astype(jnp.float32)[..., None] * frequency
    cos, sin = jnp.cos(angle)[..., None, :], jnp.sin(angle)[..., None, :]
    a, b = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1).astype(x.dtype)


def mix(q, k, v, mask):
    """Grouped-query attention: q [b, s, h, k], k and v [b, t, g, k], mask [s, t] or [b, s, t]."""
    q = q.reshape(q.shape[:2] + (k.shape[2], -1) + q.shape[3:])
    scores = jnp.einsum("bqgrk,btgk->bgrqt", q, k).astype(jnp.float32) * q.shape[-1] ** -0.5
    scores = jnp.where(mask if mask.ndim == 2 else mask[:, None, None], scores, -1e30)
    weights = jax.nn.softmax(scores, axis=-1).astype(v.dtype)
    mixed = jnp.einsum("bgrqt,btgk->bqgrk", weights, v)
    return mixed.reshape(mixed.shape[:2] + (-1,) + mixed.shape[4:])


def project(x, w):
    return jnp.einsum("bsd,dhk->bshk", x, w.astype(x.dtype))


def attention(x, layer, project=project):
    positions = jnp.arange(x.shape[1])
    q = rotate(project(x, layer["wq"]), positions)
    k = rotate(project(x, layer["wk"]), positions)
    v = project(x, layer["wv"])
    mixed = mix(q, k, v, positions[:, None] >= positions)
    return jnp.einsum("bshk,hkd->bsd", mixed, layer["wo"].astype(x.dtype))


def forward(params, tokens, project=project):
    x = params["embed"].astype(jnp.bfloat16)[tokens]
    for layer in params["layers"]:
        x = x + attention(transformer.normalise(x, layer["ln1"]), layer, project)
        x = x + transformer.gated_mlp(transformer.normalise(x, layer["ln2"]), layer)
    return transformer.normalise(x, params["norm"]) @ params["head"].astype(x.dtype)


def step(params, opt_state, batch):
    def loss_of(params):
        return transformer.cross_entropy(forward(params, batch["tokens"]), batch["targets"])
    loss, grads = jax.value_and_grad(loss_of)(params)
    params, opt_state = adam.update(adam.decay(params), opt_state, adam.clip(grads))
    return params, opt_state, loss
