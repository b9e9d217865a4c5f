"""A language model of gated state-space layers: a diagonal complex recurrence, run as an associative scan over time."""
import dataclasses

import jax
import jax.numpy as jnp

from models import adam
from models import transformer


@dataclasses.dataclass(frozen=True)
class Shape:
    layers: int
    width: int
    states: int
    vocabulary: int
    batch: int
    sequence: int


WIDE = Shape(layers=6, width=2048, states=1024, vocabulary=32768, batch=16, sequence=1024)
TINY = Shape(layers=2, width=16, states=8, vocabulary=64, batch=8, sequence=16)
DONATED = (0, 1)


def init_layer(key, s):
    ks = jax.random.split(key, 8)

    def normal(k, shape):
        return jax.random.normal(k, shape) * shape[0] ** -0.5

    return {"norm": jnp.ones((s.width,)),
            "w_in": normal(ks[0], (s.width, s.width)), "w_gate": normal(ks[1], (s.width, s.width)),
            "w_step": normal(ks[2], (s.width, s.states)), "decay": jnp.zeros((s.states,)),
            "frequency": jnp.arange(s.states) * (jnp.pi / s.states),
            "b_real": normal(ks[3], (s.width, s.states)), "b_imag": normal(ks[4], (s.width, s.states)),
            "c_real": normal(ks[5], (s.states, s.width)), "c_imag": normal(ks[6], (s.states, s.width)),
            "skip": jnp.ones((s.width,)), "w_out": normal(ks[7], (s.width, s.width))}


def init(key, s):
    keys = jax.random.split(key, s.layers + 1)
    return {"embed": jax.random.normal(keys[-1], (s.vocabulary, s.width)) * s.width ** -0.5,
            "layers": [init_layer(k, s) for k in keys[:-1]]}


def arguments(key, s):
    params = init(key, s)
    return params, adam.init(params), transformer.batch_of(key, s)


def recur(first, second):
    """Two steps h -> a h + b in one."""
    (a1, b1), (a2, b2) = first, second
    return a1 * a2, a2 * b1 + b2


def state_space(x, p):
    """[b, s, d] -> [b, s, d]: h_t = exp(step_t lambda) h_(t-1) + step_t B x_t, y = Re(C h)."""
    step = jax.nn.softplus((x @ p["w_step"].astype(x.dtype)).astype(jnp.float32))
    rate = jax.lax.complex(-jnp.exp(p["decay"]), p["frequency"])
    driven = jax.lax.complex((x @ p["b_real"].astype(x.dtype)).astype(jnp.float32), (x @ p["b_imag"].astype(x.dtype)).astype(jnp.float32))
    _, h = jax.lax.associative_scan(recur, (jnp.exp(step * rate), step * driven), axis=1)
    y = h.real.astype(x.dtype) @ p["c_real"].astype(x.dtype) - h.imag.astype(x.dtype) @ p["c_imag"].astype(x.dtype)
    return y + x * p["skip"].astype(x.dtype)


def layer(x, p):
    y = transformer.normalise(x, p["norm"])
    gate = jax.nn.silu(y @ p["w_gate"].astype(x.dtype))
    y = state_space(jax.nn.gelu(y @ p["w_in"].astype(x.dtype)), p)
    return x + (y * gate) @ p["w_out"].astype(x.dtype)


def forward(params, tokens):
    embed = params["embed"].astype(jnp.bfloat16)
    x = embed[tokens]
    for p in params["layers"]:
        x = layer(x, p)
    return jnp.einsum("bsd,vd->bsv", x, embed)


def step_of(_):
    return transformer.step_of(forward)
