"""Training steps of families that the others have none of; written before any cost model newer than 43.

Each function as in models/unseen.py.
"""
import jax
import jax.numpy as jnp

from models import adam
from models.unseen import HALF, dense, integers, layer_norm, norm_of, trained


def aligned(key, batch=256, frames=256, features=256, width=1024, layers=4, symbols=128, marks=64):
    """Symbols are read off frames without knowing where: all alignments are summed, frame by frame."""
    def loss_of(params, batch):
        x = batch["frames"].astype(HALF)
        for p in params["layers"]:
            x = layer_norm(jax.nn.gelu(x @ p["w"].astype(HALF) + p["b"].astype(HALF)), p["norm"])
        chances = jax.nn.log_softmax((x @ params["out"].astype(HALF)).astype(jnp.float32), axis=-1)
        of_marks = jnp.take_along_axis(chances, batch["marks"][:, None, :], axis=-1)     # batch, frames, marks
        start = jnp.full((of_marks.shape[0], of_marks.shape[2]), -1e5).at[:, 0].set(0)

        def forwards(reached, now):
            before = jnp.pad(reached[:, :-1], ((0, 0), (1, 0)), constant_values=-1e5)
            return jnp.logaddexp(reached, before) + now, None
        reached, _ = jax.lax.scan(forwards, start, jnp.moveaxis(of_marks, 1, 0))
        return -jnp.mean(reached[:, -1])

    k = jax.random.split(key, layers + 3)
    sizes = [features] + [width] * layers
    params = {"layers": [{"w": dense(q, a, b), "b": jnp.zeros((b,)), "norm": norm_of(b)} for q, a, b in zip(k, sizes, sizes[1:])], "out": dense(k[-3], width, symbols)}
    batch_of = {"frames": jax.random.normal(k[-2], (batch, frames, features)), "marks": integers(k[-1], (batch, marks), symbols)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def personal(key, batch=16384, users=131072, things=65536, width=128, taste=64, hidden=1024, layers=3, shown=16):
    """What people choose among things that they are shown: each person's own small matrix, made from a table, looks at each thing."""
    def loss_of(params, batch):
        user = params["users"].astype(HALF)[batch["user"]]
        thing = params["things"].astype(HALF)[batch["shown"]]                            # batch, shown, width
        own = jnp.einsum("bu,uwt->bwt", user, params["made"].astype(HALF)) * width ** -0.5
        seen = jnp.einsum("bsw,bwt->bst", thing, own)
        x = jnp.concatenate([seen, thing], axis=-1)
        for p in params["layers"]:
            x = jax.nn.relu(x @ p["w"].astype(HALF) + p["b"].astype(HALF))
        scores = (x @ params["out"].astype(HALF))[..., 0].astype(jnp.float32)
        return jnp.mean(jax.nn.logsumexp(scores, axis=-1) - jnp.take_along_axis(scores, batch["chosen"][:, None], axis=-1)[:, 0])

    k = jax.random.split(key, layers + 7)
    sizes = [taste + width] + [hidden] * layers
    params = {"users": dense(k[-1], users, width, fan_in=width), "things": dense(k[-2], things, width, fan_in=width), "made": dense(k[-3], width, width, taste),
              "layers": [{"w": dense(q, a, b), "b": jnp.zeros((b,))} for q, a, b in zip(k, sizes, sizes[1:])], "out": dense(k[-4], hidden, 1)}
    batch_of = {"user": integers(k[-5], (batch,), users), "shown": integers(k[-6], (batch, shown), things), "chosen": integers(k[-7], (batch,), shown)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def spelled(key, batch=64, length=1024, width=1024, hidden=4096, layers=4, buckets=65536, ways=4, letters=512):
    """Texts without a vocabulary: a place is the sum of rows of tables that hashes of its last letters choose, and what is mixed is neighbours and gates."""
    def loss_of(params, batch):
        letters_of = batch["letters"]
        x, last = 0, jnp.zeros_like(letters_of, dtype=jnp.uint32)
        for n, table in enumerate(params["tables"]):
            last = last * jnp.uint32(2654435761) + jnp.pad(letters_of, ((0, 0), (n, 0)))[:, :letters_of.shape[1]].astype(jnp.uint32)
            x = x + table.astype(HALF)[(last % buckets).astype(jnp.int32)]
        for p in params["layers"]:
            y = layer_norm(x, p["norm"])
            y = jnp.concatenate([y, jnp.pad(y, ((0, 0), (1, 0), (0, 0)))[:, :-1]], axis=-1)
            x = x + (jax.nn.silu(y @ p["gate"].astype(HALF)) * (y @ p["up"].astype(HALF))) @ p["down"].astype(HALF)
        logits = (layer_norm(x, params["norm"]) @ params["head"].astype(HALF)).astype(jnp.float32)[:, :-1]
        return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - jnp.take_along_axis(logits, letters_of[:, 1:, None], axis=-1)[..., 0])

    def layer(key):
        k = jax.random.split(key, 3)
        return {"norm": norm_of(width), "gate": dense(k[0], 2 * width, hidden), "up": dense(k[1], 2 * width, hidden), "down": dense(k[2], hidden, width)}

    k = jax.random.split(key, layers + ways + 2)
    params = {"tables": [dense(q, buckets, width, fan_in=width) for q in k[:ways]], "layers": [layer(q) for q in k[ways:-2]], "norm": norm_of(width), "head": dense(k[-2], width, letters)}
    return trained(loss_of), (0, 1), (params, adam.init(params), {"letters": integers(k[-1], (batch, length), letters)})


PROGRAMS = (aligned, personal, spelled)
