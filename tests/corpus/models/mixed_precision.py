"""Training in fp8 with bfloat16 activations and float32 master parameters on top of frozen int8 tables: the word
embedding is stored as int8 with a scale per word, the logits are an int8 by int8 product. The fp8 products are scaled
by the largest magnitudes of the last steps (delayed scaling): e4m3 forward, e5m2 for gradients."""
import dataclasses

import jax
import jax.numpy as jnp

from models import adam
from models import transformer

HISTORY, DONATED = 16, (0, 1, 2)
FORWARD, BACKWARD = jnp.float8_e4m3fn, jnp.float8_e5m2


@dataclasses.dataclass(frozen=True)
class Shape:
    layers: int
    width: int
    hidden: int
    vocabulary: int
    batch: int
    sequence: int


WIDE = Shape(layers=6, width=2048, hidden=8192, vocabulary=32768, batch=16, sequence=1024)
TINY = Shape(layers=2, width=32, hidden=64, vocabulary=64, batch=8, sequence=16)


def init(key, s):
    """-> trained parameters, frozen int8 table, histories of magnitudes (input, weight, gradient of each product)."""
    layers = []
    for k in jax.random.split(key, s.layers):
        k1, k2 = jax.random.split(k)
        layers.append({"norm": jnp.ones((s.width,)), "w1": jax.random.normal(k1, (s.width, s.hidden)) * s.width ** -0.5,
                       "w2": jax.random.normal(k2, (s.hidden, s.width)) * s.hidden ** -0.5})
    frozen = {"words": jax.random.randint(key, (s.vocabulary, s.width), -127, 128, jnp.int8), "scales": jnp.full((s.vocabulary, 1), 0.01)}
    history = [{name: jnp.ones((3, HISTORY)) for name in ("w1", "w2")} for _ in range(s.layers)]
    return {"layers": layers}, frozen, history


def arguments(key, s):
    params, frozen, history = init(key, s)
    return params, adam.init(params), history, frozen, transformer.batch_of(key, s)


def quantise(x, dtype, highest):
    scale = jnp.maximum(highest, 1e-6) / jnp.finfo(dtype).max.astype(jnp.float32)
    limit = jnp.finfo(dtype).max.astype(jnp.float32)
    return jnp.clip(x.astype(jnp.float32) / scale, -limit, limit).astype(dtype), scale


def magnitude(x):
    return jnp.max(jnp.abs(x)).astype(jnp.float32)


@jax.custom_vjp
def product(x, w, highest):
    """[b, s, d] x [d, f]; highest: magnitudes to expect of x, w and the result's gradient. The "gradient" of highest
    is what was seen, so that the step can write its histories."""
    return product_forward(x, w, highest)[0]


def product_forward(x, w, highest):
    (qx, sx), (qw, sw) = quantise(x, FORWARD, highest[0]), quantise(w, FORWARD, highest[1])
    y = jax.lax.dot_general(qx, qw, (((2,), (0,)), ((), ())), preferred_element_type=jnp.float32) * (sx * sw)
    return y.astype(jnp.bfloat16), (qx, sx, qw, sw, highest, jnp.stack([magnitude(x), magnitude(w)]))


def product_backward(kept, g):
    qx, sx, qw, sw, highest, seen = kept
    qg, sg = quantise(g, BACKWARD, highest[2])
    dx = jax.lax.dot_general(qg, qw, (((2,), (1,)), ((), ())), preferred_element_type=jnp.float32) * (sg * sw)
    dw = jax.lax.dot_general(qx, qg, (((0, 1), (0, 1)), ((), ())), preferred_element_type=jnp.float32) * (sx * sg)
    return dx.astype(jnp.bfloat16), dw, jnp.concatenate([seen, magnitude(g)[None]])


product.defvjp(product_forward, product_backward)


def lookup(frozen, tokens):
    return frozen["words"][tokens].astype(jnp.bfloat16) * frozen["scales"][tokens].astype(jnp.bfloat16)


@jax.custom_vjp
def logits_of(x, frozen):
    """x is quantised to int8 per token; the sum is exact in int32. The gradient passes straight through."""
    scale = jnp.maximum(jnp.max(jnp.abs(x), axis=-1, keepdims=True).astype(jnp.float32), 1e-6) / 127
    qx = jnp.round(x.astype(jnp.float32) / scale).astype(jnp.int8)
    exact = jax.lax.dot_general(qx, frozen["words"], (((2,), (1,)), ((), ())), preferred_element_type=jnp.int32)
    return exact.astype(jnp.float32) * scale * frozen["scales"][:, 0]


def logits_forward(x, frozen):
    return logits_of(x, frozen), frozen


def logits_backward(frozen, g):
    words = frozen["words"].astype(jnp.bfloat16) * frozen["scales"].astype(jnp.bfloat16)
    return jnp.einsum("bsv,vd->bsd", g.astype(jnp.bfloat16), words), None


logits_of.defvjp(logits_forward, logits_backward)


def loss_of(params, highest, frozen, batch):
    x = lookup(frozen, batch["tokens"])
    for p, expected in zip(params["layers"], highest):
        y = product(transformer.normalise(x, p["norm"]), p["w1"], expected["w1"])
        x = x + product(jax.nn.gelu(y), p["w2"], expected["w2"])
    return transformer.cross_entropy(logits_of(x, frozen), batch["targets"])


def step_of(_):
    def step(params, opt_state, history, frozen, batch):
        highest = jax.tree.map(lambda h: jnp.max(h, axis=-1), history)
        loss, (grads, seen) = jax.value_and_grad(loss_of, argnums=(0, 1))(params, highest, frozen, batch)
        history = jax.tree.map(lambda h, now: jnp.concatenate([now[:, None], h[:, :-1]], axis=-1), history, seen)
        params, opt_state = adam.update(params, opt_state, grads)
        return params, opt_state, history, loss
    return step
