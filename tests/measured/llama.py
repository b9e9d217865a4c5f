"""A training step of MaxText's dense decoder in plain JAX: bfloat16 compute on float32 parameters, AdamW, untied embeddings.
Parameters are cut by `fsdp` along the model width and by `tensor` along heads and hidden width, the batch by `replica` (slices
of a multi-slice run, nodes of GPUs) and `fsdp`; activations have its constraints. lingvo's dense models are the same with
attention that is not fused, most of them with Adafactor.
"""
import dataclasses
import os

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec as P

BATCH = ("replica", "fsdp")
RATE, DECAY1, DECAY2, EPSILON, WEIGHT_DECAY = 3e-4, 0.9, 0.95, 1e-8, 0.1
POLICIES = {"full": jax.checkpoint_policies.nothing_saveable, "minimal": jax.checkpoint_policies.dots_with_no_batch_dims_saveable}


@dataclasses.dataclass(frozen=True)
class Shape:
    layers: int
    width: int
    hidden: int
    gated: bool
    heads: int
    head: int
    batch: int
    sequence: int
    vocabulary: int
    remat: str
    scanned: bool = True        # one loop over the layers
    fused: bool = True          # attention in one kernel
    factored: bool = False      # Adafactor in place of AdamW


def parameters(s):
    """Name -> (shape, axes of its dimensions)."""
    out, of = ("tensor", None, "fsdp"), ("fsdp", "tensor")
    layer = {"ln1": ((s.width,), ()), "ln2": ((s.width,), ()), "down": ((s.hidden, s.width), ("tensor", "fsdp")),
             "wo": ((s.heads, s.head, s.width), out)}
    layer.update({name: ((s.width, s.heads, s.head), of) for name in ("wq", "wk", "wv")})
    layer.update({name: ((s.width, s.hidden), of) for name in (("gate", "up") if s.gated else ("up",))})
    stacked = {name: ((s.layers,) + shape, (None,) + axes) for name, (shape, axes) in layer.items()}
    return {"embed": ((s.vocabulary, s.width), ("tensor", "fsdp")), "logits": ((s.width, s.vocabulary), of), "ln": ((s.width,), ()),
            "layers": stacked if s.scanned else [layer] * s.layers}


def normalise(x, scale):
    wide = x.astype(jnp.float32)
    wide = wide * jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + 1e-6)
    return (wide * scale).astype(x.dtype)


def cut(x, mesh):
    """Activations of a layer: width, heads or hidden width over `tensor`, as MaxText's rules for logical axes have it."""
    return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P(BATCH, None, "tensor")))


def kernel(name, *operands, results):
    """A fused attention kernel, whose name the cost model knows; MaxText calls one by shard_map too. The model counts two
    contractions over all pairs of positions for each: the kernels skip the upper triangle and do 2, 3 and 4."""
    return jax.ffi.ffi_call("flash_attention_" + name, results)(*operands)


@jax.custom_vjp
def attention(q, k, v):
    return kernel("forward", q, k, v, results=q)


def attention_backward(saved, g):
    q, k, v = saved
    return (kernel("dq", q, k, v, g, results=q), *kernel("dkv", q, k, v, g, results=(k, v)))


attention.defvjp(lambda q, k, v: (attention(q, k, v), (q, k, v)), attention_backward)


def plain_attention(q, k, v):
    scores = jnp.einsum("bqhk,bthk->bhqt", q, k).astype(jnp.float32) * q.shape[-1] ** -0.5
    rows = jax.lax.broadcasted_iota(jnp.int32, scores.shape[-2:], 0)
    columns = jax.lax.broadcasted_iota(jnp.int32, scores.shape[-2:], 1)
    weights = jax.nn.softmax(jnp.where(rows >= columns, scores, -1e30), axis=-1).astype(q.dtype)
    return jnp.einsum("bhqt,bthk->bqhk", weights, v)


def layer(x, p, mesh, fused):
    x = cut(x, mesh)
    p = jax.tree.map(lambda w: w.astype(x.dtype) if w.ndim > 1 else w, p)
    y = normalise(x, p["ln1"])
    q, k, v = (cut(jnp.einsum("bsd,dhk->bshk", y, p[name]), mesh) for name in ("wq", "wk", "wv"))
    spec = P(BATCH, None, "tensor")
    attend = jax.shard_map(attention, mesh=mesh, in_specs=(spec,) * 3, out_specs=spec, check_vma=False) if fused else plain_attention
    mixed = cut(attend(q, k, v), mesh)
    x = x + cut(jnp.einsum("bshk,hkd->bsd", mixed, p["wo"]), mesh)
    y = normalise(x, p["ln2"])
    hidden = jax.nn.silu(y @ p["gate"]) * (y @ p["up"]) if "gate" in p else jax.nn.gelu(y @ p["up"])
    return x + cut(cut(hidden, mesh) @ p["down"], mesh)


def loss_of(params, tokens, targets, s, mesh):
    x = cut(params["embed"].astype(jnp.bfloat16)[tokens], mesh)
    body = jax.checkpoint(lambda x, p: layer(x, p, mesh, s.fused), policy=POLICIES[s.remat])
    if s.scanned:
        x, _ = jax.lax.scan(lambda x, p: (body(x, p), None), x, params["layers"])
    else:
        for p in params["layers"]:
            x = body(x, p)
    logits = normalise(cut(x, mesh), params["ln"]) @ params["logits"].astype(jnp.bfloat16)
    logits = cut(logits, mesh).astype(jnp.float32)
    at = jax.lax.broadcasted_iota(jnp.int32, logits.shape, 2) == targets[..., None]
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - jnp.sum(jnp.where(at, logits, 0), axis=-1))


def adam(g, p, m, v):
    m = DECAY1 * m + (1 - DECAY1) * g
    v = DECAY2 * v + (1 - DECAY2) * (g * g)
    return p - RATE * (m / (jnp.sqrt(v) + EPSILON) + WEIGHT_DECAY * p), m, v


def factored(g, p, rows, columns):
    """As Adafactor without momentum: of the second moment only its means over rows and columns are kept."""
    square = g * g
    rows = DECAY2 * rows + (1 - DECAY2) * jnp.mean(square, axis=-1)
    columns = DECAY2 * columns + (1 - DECAY2) * jnp.mean(square, axis=-2 if g.ndim > 1 else -1)
    moment = rows[..., None] * (columns[..., None, :] if g.ndim > 1 else columns[..., None]) + EPSILON
    return p - RATE * g * jax.lax.rsqrt(moment), rows, columns


def step_of(s, mesh):
    def step(params, state, tokens, targets):
        grads = jax.grad(loss_of)(params, tokens, targets, s, mesh)
        new = jax.tree.map(factored if s.factored else adam, grads, params, state["m"], state["v"])
        pick = [jax.tree.map(lambda n, i=i: n[i], new, is_leaf=lambda x: isinstance(x, tuple)) for i in range(3)]
        return pick[0], {"m": pick[1], "v": pick[2]}
    return step


def without(x, at):
    """The state that `factored` keeps of a parameter: one dimension is averaged away."""
    shape, axes = x
    at = max(len(shape) + at, 0)
    return shape[:at] + shape[at + 1:], tuple(axes[:at]) + tuple(axes[at + 1:])


def lower(s, mesh):
    """StableHLO text with the shardings on arguments and results; mesh: axis name -> size."""
    mesh = AbstractMesh(tuple(mesh.values()), tuple(mesh))

    def leaf(x):
        return jax.ShapeDtypeStruct(x[0], jnp.float32, sharding=NamedSharding(mesh, P(*x[1])))

    def tree(of):
        return jax.tree.map(lambda x: leaf(of(x)), parameters(s), is_leaf=lambda x: isinstance(x, tuple))

    params = tree(lambda x: x)
    batch = jax.ShapeDtypeStruct((s.batch, s.sequence), jnp.int32, sharding=NamedSharding(mesh, P(("replica", "fsdp"))))
    moments = [tree(lambda x, at=at: without(x, at)) for at in (-1, -2)] if s.factored else [params, params]
    state = (params, {"m": moments[0], "v": moments[1]})
    step = jax.jit(step_of(s, mesh), donate_argnums=(0, 1), out_shardings=jax.tree.map(lambda x: x.sharding, state))
    return step.trace(*state, batch, batch).lower(lowering_platforms=("cpu",)).as_text(debug_info=True)
