"""Training steps of families that the others have none of; written when cost model 45 was done.

Each function as in models/unseen.py.
"""
import jax
import jax.numpy as jnp

from models import adam
from models.unseen import HALF, dense, integers, layer_norm, norm_of, trained
from models.unseen_17 import perceptron, perceptron_weights


def tagged(key, batch=512, length=256, width=512, inner=512, layers=2, hidden=2048, words=32768, tags=32):
    """Words are tagged: recurrences in both directions, then the best of all sequences of tags, summed over in a scan."""
    def recurrent(p, x, reverse):
        def one(carried, made):
            keep, new = jnp.split(made + (carried @ p["back"].astype(HALF)).astype(jnp.float32), 2, axis=-1)
            keep = jax.nn.sigmoid(keep)
            carried = (keep * carried.astype(jnp.float32) + (1 - keep) * jnp.tanh(new)).astype(HALF)
            return carried, carried
        made = jnp.moveaxis((x @ p["in"].astype(HALF)).astype(jnp.float32), 1, 0)
        _, out = jax.lax.scan(one, jnp.zeros((x.shape[0], inner), HALF), made, reverse=reverse)
        return jnp.moveaxis(out, 0, 1)

    def loss_of(params, batch):
        x = params["words"].astype(HALF)[batch["tokens"]]
        for p in params["layers"]:
            y = layer_norm(x, p["norm1"])
            x = x + jnp.concatenate([recurrent(p["there"], y, False), recurrent(p["here"], y, True)], axis=-1) @ p["out"].astype(HALF)
            x = x + perceptron(p, layer_norm(x, p["norm2"]))
        scores = (layer_norm(x, params["norm"]) @ params["tags"].astype(HALF)).astype(jnp.float32)
        follow = params["follow"]

        def all_of(sums, now):
            return jax.nn.logsumexp(sums[:, :, None] + follow, axis=1) + now, None
        sums, _ = jax.lax.scan(all_of, scores[:, 0], jnp.moveaxis(scores[:, 1:], 1, 0))
        right = batch["tags"]
        own = jnp.take_along_axis(scores, right[..., None], axis=-1)[..., 0].sum(-1) + follow[right[:, :-1], right[:, 1:]].sum(-1)
        return jnp.mean(jax.nn.logsumexp(sums, axis=-1) - own)

    def direction(key):
        a, b = jax.random.split(key)
        return {"in": dense(a, width, 2 * inner), "back": dense(b, inner, 2 * inner)}

    def layer(key):
        k = jax.random.split(key, 4)
        return {"norm1": norm_of(width), "norm2": norm_of(width), "there": direction(k[0]), "here": direction(k[1]), "out": dense(k[2], 2 * inner, width),
                **perceptron_weights(k[3], width, hidden)}

    k = jax.random.split(key, layers + 5)
    params = {"words": dense(k[0], words, width, fan_in=width), "layers": [layer(q) for q in k[1:layers + 1]], "norm": norm_of(width), "tags": dense(k[-4], width, tags),
              "follow": dense(k[-3], tags, tags)}
    return trained(loss_of), (0, 1), (params, adam.init(params), {"tokens": integers(k[-2], (batch, length), words), "tags": integers(k[-1], (batch, length), tags)})


def covered(key, batch=256, image=224, patch=16, width=768, hidden=3072, heads=12, layers=2, narrow=512, seen=49):
    """Most patches of a picture are covered; from the others, which a network looks at alone, a smaller one draws what is under the covers."""
    many, taps = (image // patch) ** 2, patch * patch * 3

    def attended(p, x, depth):
        q, k, v = (jnp.einsum("bsd,dhk->bshk", x, p[n].astype(HALF)) for n in "qkv")
        share = jax.nn.softmax((jnp.einsum("bqhd,bkhd->bhqk", q, k) * depth ** -0.5).astype(jnp.float32), axis=-1).astype(HALF)
        return jnp.einsum("bhqk,bkhd,hdm->bqm", share, v, p["out"].astype(HALF))

    def through(stack, x, depth):
        for p in stack:
            x = x + attended(p, layer_norm(x, p["norm1"]), depth)
            x = x + perceptron(p, layer_norm(x, p["norm2"]))
        return x

    def loss_of(params, batch):
        x = jax.lax.conv_general_dilated(batch["images"].astype(HALF), params["patches"].astype(HALF), (patch, patch), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = x.reshape(x.shape[0], many, width) + params["places"].astype(HALF)
        x = jnp.take_along_axis(x, batch["order"][:, :seen, None], axis=1)
        x = layer_norm(through(params["looks"], x, width // heads), params["norm"]) @ params["smaller"].astype(HALF)
        x = jnp.concatenate([x, jnp.broadcast_to(params["cover"].astype(HALF), (x.shape[0], many - seen, narrow))], axis=1)
        x = jnp.take_along_axis(x, jnp.argsort(batch["order"], axis=-1)[..., None], axis=1) + params["places2"].astype(HALF)
        x = (through(params["draws"], x, narrow // heads) @ params["pixels"].astype(HALF)).astype(jnp.float32)
        wanted = batch["images"].reshape(-1, image // patch, patch, image // patch, patch, 3).transpose(0, 1, 3, 2, 4, 5).reshape(-1, many, taps)
        return jnp.mean(jnp.square(x - wanted))

    def layer(key, width, hidden, depth):
        k = jax.random.split(key, 5)
        return {"norm1": norm_of(width), "norm2": norm_of(width), **{n: dense(q, width, heads, depth) for n, q in zip("qkv", k)}, "out": dense(k[3], heads, depth, width, fan_in=width),
                **perceptron_weights(k[4], width, hidden)}

    k = jax.random.split(key, 10)
    params = {"patches": dense(k[0], patch, patch, 3, width, fan_in=taps), "places": dense(k[1], many, width, fan_in=width), "places2": dense(k[2], many, narrow, fan_in=narrow),
              "looks": [layer(q, width, hidden, width // heads) for q in jax.random.split(k[3], layers)], "norm": norm_of(width), "smaller": dense(k[4], width, narrow),
              "cover": dense(k[5], 1, narrow), "draws": [layer(q, narrow, 4 * narrow, narrow // heads) for q in jax.random.split(k[6], layers)], "pixels": dense(k[7], narrow, taps)}
    order = jnp.argsort(jax.random.uniform(k[8], (batch, many)), axis=-1)
    return trained(loss_of), (0, 1), (params, adam.init(params), {"images": jax.random.uniform(k[9], (batch, image, image, 3)), "order": order.astype(jnp.int32)})


def matched(key, batch=256, points=256, width=512, hidden=2048, layers=3, rounds=20):
    """Points of two pictures are matched: a network looks at both, and rows and columns of their likeness are scaled in turns until it is a plan."""
    def loss_of(params, batch):
        x, y = (batch[n].astype(HALF) @ params["first"].astype(HALF) for n in ("left", "right"))
        for p in params["layers"]:
            share = (jnp.einsum("bnd,bmd->bnm", x @ p["q"].astype(HALF), y @ p["k"].astype(HALF)) * width ** -0.5).astype(jnp.float32)
            to_x = jnp.einsum("bnm,bmd->bnd", jax.nn.softmax(share, axis=2).astype(HALF), y)
            to_y = jnp.einsum("bnm,bnd->bmd", jax.nn.softmax(share, axis=1).astype(HALF), x)
            x, y = (a + perceptron(p, layer_norm(jnp.concatenate([a, b], axis=-1), p["norm"])) for a, b in ((x, to_x), (y, to_y)))
        likeness = jnp.einsum("bnd,bmd->bnm", x, y).astype(jnp.float32) * width ** -0.5

        def scaled(sides, _):
            u, v = sides
            u = -jax.nn.logsumexp(likeness + v[:, None], axis=2)
            return (u, -jax.nn.logsumexp(likeness + u[:, :, None], axis=1)), None
        (u, v), _ = jax.lax.scan(scaled, (jnp.zeros(likeness.shape[:2]), jnp.zeros(likeness.shape[::2])), None, length=rounds)
        plan = likeness + u[:, :, None] + v[:, None]
        return -jnp.mean(jnp.take_along_axis(plan, batch["match"][..., None], axis=2))

    def layer(key):
        k = jax.random.split(key, 4)
        return {"q": dense(k[0], width, width), "k": dense(k[1], width, width), "norm": norm_of(2 * width), "up": dense(k[2], 2 * width, hidden), "down": dense(k[3], hidden, width)}

    k = jax.random.split(key, layers + 4)
    params = {"first": dense(k[0], 128, width), "layers": [layer(q) for q in k[1:layers + 1]]}
    batch_of = {"left": jax.random.normal(k[-3], (batch, points, 128)), "right": jax.random.normal(k[-2], (batch, points, 128)), "match": integers(k[-1], (batch, points), points)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


PROGRAMS = (tagged, covered, matched)
