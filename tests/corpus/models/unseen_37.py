"""Training steps of families that the others have none of; written before any cost model newer than 37.

Each function as in models/unseen.py.
"""
import jax
import jax.numpy as jnp

from models import adam
from models.unseen import HALF, cross_entropy, dense, encoded, encoder_layer, integers, layer_norm, norm_of, root_mean_square, rotated, trained


def softcapped(key, batch=32, length=1024, width=2304, heads=8, groups=4, depth=256, hidden=9216, window=512, layers=2, words=65536, most=50.0, most_logits=30.0):
    """A decoder whose scores and logits go through a tanh, norms before and after every layer, every other layer looks back over a window only."""
    def capped(x, most):
        return jnp.tanh(x / most) * most

    def attended(p, x, local):
        q, k = (rotated(jnp.einsum("bsd,dhk->bshk", x, p[n].astype(HALF))) for n in ("q", "k"))
        v = jnp.einsum("bsd,dgk->bsgk", x, p["v"].astype(HALF))
        q = q.reshape(*q.shape[:2], groups, heads // groups, depth)
        scores = capped(jnp.einsum("bqgrk,btgk->bgrqt", q, k).astype(jnp.float32) * depth ** -0.5, most)
        at = jnp.arange(length)
        seen = at[:, None] >= at
        seen = seen & (at[:, None] - at < window) if local else seen
        shares = jax.nn.softmax(jnp.where(seen, scores, -1e30), axis=-1).astype(HALF)
        mixed = jnp.einsum("bgrqt,btgk->bqgrk", shares, v).reshape(-1, length, heads, depth)
        return jnp.einsum("bshk,hkd->bsd", mixed, p["out"].astype(HALF))

    def loss_of(params, batch):
        words = params["words"].astype(HALF)
        x = words[batch["tokens"]] * jnp.asarray(width ** 0.5, HALF)
        for i, p in enumerate(params["layers"]):
            x = x + root_mean_square(attended(p, root_mean_square(x, p["n1"]), i % 2 == 0), p["n2"])
            y = root_mean_square(x, p["n3"])
            y = (jax.nn.gelu(y @ p["gate"].astype(HALF)) * (y @ p["up"].astype(HALF))) @ p["down"].astype(HALF)
            x = x + root_mean_square(y, p["n4"])
        logits = capped((root_mean_square(x, params["n"]) @ words.T).astype(jnp.float32), most_logits)
        return cross_entropy(logits, batch["next"])

    def layer(key):
        k = jax.random.split(key, 7)
        return {"q": dense(k[0], width, heads, depth), "k": dense(k[1], width, groups, depth), "v": dense(k[2], width, groups, depth),
                "out": dense(k[3], heads, depth, width, fan_in=heads * depth), "gate": dense(k[4], width, hidden), "up": dense(k[5], width, hidden),
                "down": dense(k[6], hidden, width), **{n: jnp.ones((width,)) for n in ("n1", "n2", "n3", "n4")}}

    k = jax.random.split(key, 4)
    params = {"words": dense(k[0], words, width, fan_in=width), "layers": [layer(q) for q in jax.random.split(k[1], layers)], "n": jnp.ones((width,))}
    batch_of = {"tokens": integers(k[2], (batch, length), words), "next": integers(k[3], (batch, length), words)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def biased(key, batch=64, length=512, width=1024, heads=16, depth=64, hidden=2816, layers=2, words=32128, buckets=32):
    """An encoder whose scores have no scale and a learned bias for every distance, the same in all layers; a masked word is found again."""
    def loss_of(params, batch):
        distance = jnp.arange(length)[:, None] - jnp.arange(length)
        far = jnp.minimum(buckets // 2 - 1, 8 + (jnp.log(jnp.maximum(jnp.abs(distance), 1) / 8) / jnp.log(16.0) * 8).astype(jnp.int32))
        bucket = jnp.where(distance > 0, buckets // 2, 0) + jnp.where(jnp.abs(distance) < 8, jnp.abs(distance), far)
        bias = params["distances"][bucket].transpose(2, 0, 1)
        x = params["words"].astype(HALF)[batch["tokens"]]
        for p in params["layers"]:
            y = root_mean_square(x, p["n1"])
            q, k, v = (jnp.einsum("bsd,dhk->bshk", y, p[n].astype(HALF)) for n in "qkv")
            shares = jax.nn.softmax(jnp.einsum("bqhk,bthk->bhqt", q, k).astype(jnp.float32) + bias, axis=-1).astype(HALF)
            x = x + jnp.einsum("bshk,hkd->bsd", jnp.einsum("bhqt,bthk->bqhk", shares, v), p["out"].astype(HALF))
            y = root_mean_square(x, p["n2"])
            x = x + (jax.nn.gelu(y @ p["gate"].astype(HALF)) * (y @ p["up"].astype(HALF))) @ p["down"].astype(HALF)
        return cross_entropy(root_mean_square(x, params["n"]) @ params["head"].astype(HALF), batch["labels"])

    def layer(key):
        k = jax.random.split(key, 7)
        return {**{n: dense(q, width, heads, depth) for n, q in zip("qkv", k)}, "out": dense(k[3], heads, depth, width, fan_in=heads * depth), "gate": dense(k[4], width, hidden),
                "up": dense(k[5], width, hidden), "down": dense(k[6], hidden, width), "n1": jnp.ones((width,)), "n2": jnp.ones((width,))}

    k = jax.random.split(key, 6)
    params = {"words": dense(k[0], words, width, fan_in=width), "distances": dense(k[1], buckets, heads, fan_in=width), "layers": [layer(q) for q in jax.random.split(k[2], layers)],
              "n": jnp.ones((width,)), "head": dense(k[3], width, words)}
    batch_of = {"tokens": integers(k[4], (batch, length), words), "labels": integers(k[5], (batch, length), words)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def parallel(key, batch=32, length=1024, width=4096, heads=16, depth=256, hidden=16384, layers=2, words=32768):
    """A decoder whose attention and perceptron read the same norm, one key and value for all heads; the gradients are clipped by their norm."""
    def loss_of(params, batch):
        words = params["words"].astype(HALF)
        at = jnp.arange(length)
        x = words[batch["tokens"]]
        for p in params["layers"]:
            y = layer_norm(x, p["n"])
            q = rotated(jnp.einsum("bsd,dhk->bshk", y, p["q"].astype(HALF)))
            k = rotated((y @ p["k"].astype(HALF))[:, :, None])[:, :, 0]
            scores = jnp.einsum("bqhk,btk->bhqt", q, k).astype(jnp.float32) * depth ** -0.5
            shares = jax.nn.softmax(jnp.where(at[:, None] >= at, scores, -1e30), axis=-1).astype(HALF)
            mixed = jnp.einsum("bhqt,btk->bqhk", shares, y @ p["v"].astype(HALF))
            inner = jax.nn.silu(y @ p["gate"].astype(HALF)) * (y @ p["up"].astype(HALF))
            x = x + jnp.einsum("bshk,hkd->bsd", mixed, p["out"].astype(HALF)) + inner @ p["down"].astype(HALF)
        return cross_entropy(layer_norm(x, params["n"]) @ words.T, batch["next"])

    def step(params, opt_state, batch):
        loss, grads = jax.value_and_grad(loss_of)(params, batch)
        params, opt_state = adam.update(params, opt_state, adam.clip(grads))
        return params, opt_state, loss

    def layer(key):
        k = jax.random.split(key, 7)
        return {"q": dense(k[0], width, heads, depth), "k": dense(k[1], width, depth), "v": dense(k[2], width, depth), "out": dense(k[3], heads, depth, width, fan_in=heads * depth),
                "gate": dense(k[4], width, hidden), "up": dense(k[5], width, hidden), "down": dense(k[6], hidden, width), "n": norm_of(width)}

    k = jax.random.split(key, 4)
    params = {"words": dense(k[0], words, width, fan_in=width), "layers": [layer(q) for q in jax.random.split(k[1], layers)], "n": norm_of(width)}
    batch_of = {"tokens": integers(k[2], (batch, length), words), "next": integers(k[3], (batch, length), words)}
    return step, (0, 1), (params, adam.init(params), batch_of)


def crossed(key, batch=65536, tables=8, rows=65536, width=64, features=256, rank=256, crosses=3, hidden=2048):
    """Clicks from tables and numbers: layers that multiply all features with a product of few ranks of themselves, beside a perceptron."""
    inputs = tables * width + features

    def loss_of(params, batch):
        looked = [t.astype(HALF)[batch["sparse"][:, i]] for i, t in enumerate(params["tables"])]
        first = jnp.concatenate([*looked, batch["dense"].astype(HALF)], axis=-1)
        x = first
        for p in params["crosses"]:
            x = first * (x @ p["down"].astype(HALF) @ p["up"].astype(HALF) + p["bias"].astype(HALF)) + x
        y = first
        for p in params["deep"]:
            y = jax.nn.relu(y @ p["w"].astype(HALF) + p["b"].astype(HALF))
        score = (jnp.concatenate([x, y], axis=-1) @ params["score"].astype(HALF))[:, 0].astype(jnp.float32)
        return jnp.mean(jnp.maximum(score, 0) - score * batch["clicked"] + jnp.log1p(jnp.exp(-jnp.abs(score))))

    k = jax.random.split(key, 6)
    widths = (inputs, hidden, hidden, hidden // 2)
    params = {"tables": [dense(q, rows, width, fan_in=width) for q in jax.random.split(k[0], tables)],
              "crosses": [{"down": dense(q, inputs, rank), "up": dense(q, rank, inputs), "bias": jnp.zeros((inputs,))} for q in jax.random.split(k[1], crosses)],
              "deep": [{"w": dense(q, a, b), "b": jnp.zeros((b,))} for q, a, b in zip(jax.random.split(k[2], 3), widths, widths[1:])],
              "score": dense(k[3], inputs + hidden // 2, 1)}
    batch_of = {"dense": jax.random.normal(k[4], (batch, features)), "sparse": integers(k[5], (batch, tables), rows), "clicked": jnp.ones((batch,))}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def series(key, batch=256, channels=64, length=512, patch=16, ahead=96, width=512, hidden=2048, heads=8, layers=2):
    """A forecast of many series: each is normalised and cut into patches, an encoder reads each alone, all patches together say what comes."""
    count = length // patch

    def loss_of(params, batch):
        past = batch["past"]
        mean = jnp.mean(past, axis=-1, keepdims=True)
        spread = jnp.sqrt(jnp.mean((past - mean) ** 2, axis=-1, keepdims=True) + 1e-5)
        x = ((past - mean) / spread * params["scale"][:, None]).astype(HALF).reshape(-1, count, patch)
        x = x @ params["patch"].astype(HALF) + params["place"].astype(HALF)
        for p in params["layers"]:
            x = encoded(x, p)
        x = layer_norm(x, params["n"]).reshape(-1, channels, count * width)
        out = (x @ params["head"].astype(HALF)).astype(jnp.float32) / params["scale"][:, None] * spread + mean
        return jnp.mean((out - batch["coming"]) ** 2)

    k = jax.random.split(key, 6)
    params = {"patch": dense(k[0], patch, width), "place": dense(k[1], count, width, fan_in=width), "scale": jnp.ones((channels,)), "n": norm_of(width),
              "layers": [encoder_layer(q, width, hidden, heads) for q in jax.random.split(k[2], layers)], "head": dense(k[3], count * width, ahead)}
    batch_of = {"past": jax.random.normal(k[4], (batch, channels, length)), "coming": jax.random.normal(k[5], (batch, channels, ahead))}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


PROGRAMS = (softcapped, biased, parallel, crossed, series)
