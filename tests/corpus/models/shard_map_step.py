"""A decoder that shards parts of itself by hand: its MLPs sum over the model axis (the batch is left to the partitioner),
its loss looks words up in a vocabulary cut over the model axis (everything by hand). The rest is for the partitioner."""
import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, PartitionSpec as P

from models import adam
from models import transformer

MESH = AbstractMesh((4, 2), ("data", "model"))
WIDE = transformer.Shape(layers=4, width=2048, hidden=8192, heads=16, vocabulary=32768, batch=16, sequence=1024)
TINY, DONATED = transformer.TINY, (0, 1)


def arguments(key, s):
    params = transformer.init(key, s)
    return params, adam.init(params), transformer.batch_of(key, s)


def mlp(x, w_gate, w_up, w_down):
    """On one part of the hidden dimension: every member of the model axis adds its share. Sums over the axis are in
    float32, the one of x's gradient too: x varies from here on while it still is float32."""
    x = jax.lax.pcast(x, "model", to="varying").astype(jnp.bfloat16)
    share = transformer.gated_mlp(x, {"w_gate": w_gate, "w_up": w_up, "w_down": w_down})
    return jax.lax.psum(share.astype(jnp.float32), "model")


split_mlp = jax.shard_map(mlp, mesh=MESH, in_specs=(P(), P(None, "model"), P(None, "model"), P("model")), out_specs=P(), axis_names={"model"})


def cross_entropy(x, embed, targets):
    """Each member scores its own words; the target's score and the normaliser are summed over the model axis."""
    logits = jnp.einsum("bsd,vd->bsv", x, embed.astype(x.dtype)).astype(jnp.float32)
    local = targets - jax.lax.axis_index("model") * embed.shape[0]
    mine = (local >= 0) & (local < embed.shape[0])
    picked = jnp.take_along_axis(logits, jnp.where(mine, local, 0)[..., None], axis=-1)[..., 0]
    highest = jax.lax.pmax(jax.lax.stop_gradient(jnp.max(logits, axis=-1)), "model")
    total = jax.lax.psum(jnp.sum(jnp.exp(logits - highest[..., None]), axis=-1), "model")
    picked = jax.lax.psum(jnp.where(mine, picked, 0.0), "model")
    return jax.lax.pmean(jnp.mean(jnp.log(total) + highest - picked), "data")


split_cross_entropy = jax.shard_map(cross_entropy, mesh=MESH, in_specs=(P("data"), P("model"), P("data")), out_specs=P())


def loss_of(params, batch):
    x = params["embed"].astype(jnp.bfloat16)[batch["tokens"]]
    for p in params["layers"]:
        x = x + transformer.attention(transformer.normalise(x, p["ln1"]), p)
        y = transformer.normalise(x, p["ln2"]).astype(jnp.float32)
        x = x + split_mlp(y, p["w_gate"], p["w_up"], p["w_down"]).astype(x.dtype)
    return split_cross_entropy(x, params["embed"], batch["targets"])


def step_of(_):
    def step(params, opt_state, batch):
        loss, grads = jax.value_and_grad(loss_of)(params, batch)
        params, opt_state = adam.update(params, opt_state, grads)
        return params, opt_state, loss
    return step
