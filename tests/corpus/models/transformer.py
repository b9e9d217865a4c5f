"""A decoder-only transformer: nine tensors per layer and one embedding that serves lookup and logits."""
import dataclasses

import jax
import jax.numpy as jnp

from models import adam


@dataclasses.dataclass(frozen=True)
class Shape:
    layers: int
    width: int
    hidden: int
    heads: int
    vocabulary: int
    batch: int
    sequence: int

    @property
    def head(self):
        return self.width // self.heads


WIDE = Shape(layers=32, width=3072, hidden=12288, heads=24, vocabulary=32768, batch=16, sequence=1024)
TINY = Shape(layers=2, width=32, hidden=64, heads=4, vocabulary=64, batch=8, sequence=16)


def init_layer(key, s):
    ks = jax.random.split(key, 7)

    def normal(k, shape, fan_in):
        return jax.random.normal(k, shape) * fan_in ** -0.5

    return {"ln1": jnp.ones((s.width,)),
            "wq": normal(ks[0], (s.width, s.heads, s.head), s.width),
            "wk": normal(ks[1], (s.width, s.heads, s.head), s.width),
            "wv": normal(ks[2], (s.width, s.heads, s.head), s.width),
            "wo": normal(ks[3], (s.heads, s.head, s.width), s.width),
            "ln2": jnp.ones((s.width,)),
            "w_gate": normal(ks[4], (s.width, s.hidden), s.width),
            "w_up": normal(ks[5], (s.width, s.hidden), s.width),
            "w_down": normal(ks[6], (s.hidden, s.width), s.hidden)}


def init(key, s):
    keys = jax.random.split(key, s.layers + 1)
    return {"embed": jax.random.normal(keys[-1], (s.vocabulary, s.width)) * s.width ** -0.5,
            "layers": [init_layer(k, s) for k in keys[:-1]]}


def init_stacked(key, s):
    params = init(key, s)
    return {"embed": params["embed"], "layers": jax.tree.map(lambda *leaves: jnp.stack(leaves), *params["layers"])}


def batch_of(key, s):
    return {"tokens": jax.random.randint(key, (s.batch, s.sequence), 0, s.vocabulary, jnp.int32),
            "targets": jax.random.randint(jax.random.fold_in(key, 1), (s.batch, s.sequence), 0, s.vocabulary, jnp.int32)}


def normalise(x, scale):
    wide = x.astype(jnp.float32)
    wide = wide * jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + 1e-6)
    return (wide * scale).astype(x.dtype)


def attention(x, layer):
    q = jnp.einsum("bsd,dhk->bshk", x, layer["wq"].astype(x.dtype))
    k = jnp.einsum("bsd,dhk->bshk", x, layer["wk"].astype(x.dtype))
    v = jnp.einsum("bsd,dhk->bshk", x, layer["wv"].astype(x.dtype))
    scores = jnp.einsum("bqhk,bthk->bhqt", q, k).astype(jnp.float32) * q.shape[-1] ** -0.5
    rows = jax.lax.broadcasted_iota(jnp.int32, scores.shape[-2:], 0)
    columns = jax.lax.broadcasted_iota(jnp.int32, scores.shape[-2:], 1)
    scores = jnp.where(rows >= columns, scores, -1e30)
    weights = jax.nn.softmax(scores, axis=-1).astype(x.dtype)
    mixed = jnp.einsum("bhqt,bthk->bqhk", weights, v)
    return jnp.einsum("bshk,hkd->bsd", mixed, layer["wo"].astype(x.dtype))


def gated_mlp(x, layer):
    gate = jax.nn.silu(x @ layer["w_gate"].astype(x.dtype))
    up = x @ layer["w_up"].astype(x.dtype)
    return (gate * up) @ layer["w_down"].astype(x.dtype)


def block(x, layer):
    x = x + attention(normalise(x, layer["ln1"]), layer)
    return x + gated_mlp(normalise(x, layer["ln2"]), layer)


def forward(params, tokens):
    embed = params["embed"].astype(jnp.bfloat16)
    x = embed[tokens]
    for layer in params["layers"]:
        x = block(x, layer)
    return jnp.einsum("bsd,vd->bsv", x, embed)


def forward_scanned(params, tokens):
    embed = params["embed"].astype(jnp.bfloat16)
    body = jax.checkpoint(block)
    x, _ = jax.lax.scan(lambda x, layer: (body(x, layer), None), embed[tokens], params["layers"])
    return jnp.einsum("bsd,vd->bsv", x, embed)


def cross_entropy(logits, targets):
    logits = logits.astype(jnp.float32)
    picked = jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - picked)


def step_of(forward):
    def step(params, opt_state, batch):
        def loss_of(params):
            return cross_entropy(forward(params, batch["tokens"]), batch["targets"])
        loss, grads = jax.value_and_grad(loss_of)(params)
        params, opt_state = adam.update(params, opt_state, grads)
        return params, opt_state, loss
    return step


step = step_of(forward)
step_scanned = step_of(forward_scanned)
