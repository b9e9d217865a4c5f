"""A GPT training step as Megatron-DeepSpeed runs it, in plain JAX: float16 weights and activations, a float32 master copy with
Adam, tied embedding, dropout, every layer computed again in the backward pass, gradients summed in float16 over the
micro-batches and reduced once at the end of the step.

The model copies of data parallelism are a leading dimension that `data` cuts, so that their gradients stay apart until the
sum over it: with the batch cut instead, every micro-batch would reduce its own.
Scans over layers and micro-batches keep the text small; their trip counts are in it.
"""
import dataclasses
import os

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec as P

MASKED, DROPPED = -10000.0, 26      # of 256: dropout of 0.1
RATE, DECAY1, DECAY2, EPSILON = 1e-4, 0.9, 0.95, 1e-8


@dataclasses.dataclass(frozen=True)
class Shape:
    layers: int
    hidden: int
    heads: int
    sequence: int
    vocabulary: int
    copies: int             # data parallelism
    micro_batches: int      # of one copy, one after the other
    micro_batch: int


def parameters(s):
    """Name -> shape; those of a layer have the layers in front."""
    h, a, d = s.hidden, s.heads, s.hidden // s.heads
    layer = {"ln1_scale": (h,), "ln1_bias": (h,), "qkv": (h, 3, a, d), "qkv_bias": (3, a, d), "proj": (a, d, h), "proj_bias": (h,),
             "ln2_scale": (h,), "ln2_bias": (h,), "up": (h, 4 * h), "up_bias": (4 * h,), "down": (4 * h, h), "down_bias": (h,)}
    return {"embed": (s.vocabulary, h), "positions": (s.sequence, h), "ln_scale": (h,), "ln_bias": (h,),
            "layers": {name: (s.layers,) + shape for name, shape in layer.items()}}


def specs():
    """Name -> axes of its dimensions. Megatron: attention heads, feed-forward columns and rows, vocabulary."""
    layer = {"qkv": P(None, None, None, "model"), "qkv_bias": P(None, None, "model"), "proj": P(None, "model"),
             "up": P(None, None, "model"), "up_bias": P(None, "model"), "down": P(None, "model")}
    whole = {name: P() for name in ("ln1_scale", "ln1_bias", "proj_bias", "ln2_scale", "ln2_bias", "down_bias")}
    return {"embed": P("model"), "positions": P(), "ln_scale": P(), "ln_bias": P(), "layers": {**layer, **whole}}


def abstract(s, mesh):
    def tree(dtype):
        return jax.tree.map(lambda shape, spec: jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec)),
                            parameters(s), specs(), is_leaf=lambda x: isinstance(x, tuple))
    state = {name: tree(jnp.float32) for name in ("master", "m", "v")}
    batch = jax.ShapeDtypeStruct((s.copies, s.micro_batches, s.micro_batch, s.sequence), jnp.int32, sharding=NamedSharding(mesh, P("data")))
    return tree(jnp.float16), state, batch, batch, jax.ShapeDtypeStruct((4,), jnp.uint32)


@jax.custom_vjp
def kept(x):
    """x, and x is needed in the backward pass: a recomputed layer is computed to its end, as in Megatron."""
    return x


kept.defvjp(lambda x: (x, x), lambda x, g: (jax.lax.optimization_barrier((g, x))[0],))


@jax.custom_vjp
def softmax(scores):
    """Causal softmax in float32 that saves its float16 result only, as Megatron's fused kernel does."""
    wide = scores.astype(jnp.float32)
    rows = jax.lax.broadcasted_iota(jnp.int32, wide.shape[-2:], 0)
    columns = jax.lax.broadcasted_iota(jnp.int32, wide.shape[-2:], 1)
    wide = jnp.where(rows >= columns, wide, MASKED)
    wide = jnp.exp(wide - jnp.max(wide, axis=-1, keepdims=True))
    return (wide / jnp.sum(wide, axis=-1, keepdims=True)).astype(scores.dtype)


def softmax_backward(y, g):
    y, g = y.astype(jnp.float32), g.astype(jnp.float32)
    return ((y * (g - jnp.sum(y * g, axis=-1, keepdims=True))).astype(jnp.float16),)


softmax.defvjp(lambda x: (softmax(x),) * 2, softmax_backward)


def dropout(x, key, salt):
    bits = jax.lax.rng_bit_generator(key + jnp.uint32(salt), x.shape, jnp.uint8)[1]
    return jnp.where(bits >= DROPPED, x * jnp.float16(256 / (256 - DROPPED)), jnp.float16(0))


def normalise(x, scale, bias):
    wide = x.astype(jnp.float32)
    wide = wide - jnp.mean(wide, axis=-1, keepdims=True)
    wide = wide * jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + 1e-5)
    return (wide * scale.astype(jnp.float32) + bias.astype(jnp.float32)).astype(x.dtype)


def layer(x, p, key):
    y = normalise(x, p["ln1_scale"], p["ln1_bias"])
    q, k, v = jnp.moveaxis(jnp.einsum("bsh,hcad->bscad", y, p["qkv"]) + p["qkv_bias"], 2, 0)
    scores = jnp.einsum("bqad,bkad->baqk", q, k) * jnp.float16(q.shape[-1] ** -0.5)
    mixed = jnp.einsum("baqk,bkad->bqad", dropout(softmax(scores), key, 0), v)
    x = x + dropout(jnp.einsum("bsad,adh->bsh", mixed, p["proj"]) + p["proj_bias"], key, 1)
    y = normalise(x, p["ln2_scale"], p["ln2_bias"])
    y = jax.nn.gelu(y @ p["up"] + p["up_bias"], approximate=True)
    return x + dropout(kept(y @ p["down"]) + p["down_bias"], key, 2)


def loss_of(params, tokens, targets, key):
    x = dropout(params["embed"][tokens] + params["positions"], key, 3)
    body = jax.checkpoint(layer)
    x, _ = jax.lax.scan(lambda x, p: (body(x, p, key), None), x, params["layers"])
    x = normalise(x, params["ln_scale"], params["ln_bias"])
    logits = jnp.einsum("bsh,vh->bsv", x, params["embed"]).astype(jnp.float32)
    # not take_along_axis: the vocabulary is cut, every device sums its own part
    at = jax.lax.broadcasted_iota(jnp.int32, logits.shape, 2) == targets[..., None]
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - jnp.sum(jnp.where(at, logits, 0), axis=-1))


def step_of(s):
    gradient = jax.grad(loss_of)

    def step(params, state, tokens, targets, key):
        def one_copy(tokens, targets):
            def add(sums, micro):
                return jax.tree.map(jnp.add, sums, gradient(params, *micro, key)), None
            return jax.lax.scan(add, jax.tree.map(jnp.zeros_like, params), (tokens, targets))[0]

        def update(g, master, m, v):
            g = g.astype(jnp.float32)
            m = DECAY1 * m + (1 - DECAY1) * g
            v = DECAY2 * v + (1 - DECAY2) * (g * g)
            master = master - RATE * m / (jnp.sqrt(v) + EPSILON)
            return master.astype(jnp.float16), master, m, v

        copies = jax.vmap(one_copy)(tokens, targets)
        grads = jax.tree.map(lambda g: jax.lax.reduce(g, jnp.float16(0), jax.lax.add, (0,)), copies)
        new = jax.tree.map(update, grads, state["master"], state["m"], state["v"])
        pick = [jax.tree.map(lambda n, i=i: n[i], new, is_leaf=lambda x: isinstance(x, tuple)) for i in range(4)]
        return pick[0], {"master": pick[1], "m": pick[2], "v": pick[3]}
    return step


def lower(s, mesh):
    """StableHLO text with the shardings on arguments and results; mesh: axis name -> size."""
    mesh = AbstractMesh(tuple(mesh.values()), tuple(mesh))
    arguments = abstract(s, mesh)
    kept_where_they_are = jax.tree.map(lambda x: x.sharding, arguments[:2])
    step = jax.jit(step_of(s), donate_argnums=(0, 1), out_shardings=kept_where_they_are)
    return step.trace(*arguments).lower(lowering_platforms=("cpu",)).as_text(debug_info=True)
