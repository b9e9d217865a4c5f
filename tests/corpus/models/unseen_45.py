"""Training steps of families that the others have none of; written when cost model 45 was done.

Each function as in models/unseen.py.
"""
import jax
import jax.numpy as jnp

from models import adam
from models.unseen import HALF, cross_entropy, dense, integers, layer_norm, norm_of, trained
from models.unseen_17 import attention_weights, perceptron, perceptron_weights


def convolved(x, taps, stride=1, **options):
    return jax.lax.conv_general_dilated(x, taps.astype(x.dtype), (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), **options)


def dropped(key, batch=128, length=512, width=1024, hidden=4096, heads=16, layers=2, words=32768, rate=0.1):
    """An encoder that forgets one in ten of its activations and of its attention, by bits that the step makes; a masked word is found again."""
    def kept(key, x):
        return jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0).astype(x.dtype)

    def attended_in_part(p, x, key):
        q, k, v = (jnp.einsum("bsd,dhk->bshk", x, p[n].astype(HALF)) for n in "qkv")
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) * q.shape[-1] ** -0.5
        share = kept(key, jax.nn.softmax(scores, axis=-1).astype(HALF))
        return jnp.einsum("bqhd,hdm->bqm", jnp.einsum("bhqk,bkhd->bqhd", share, v), p["out"].astype(HALF))

    def loss_of(params, batch):
        keys = jax.random.split(jax.random.wrap_key_data(batch["seed"]), 3 * layers + 1)
        x = kept(keys[-1], params["words"].astype(HALF)[batch["tokens"]])
        for i, p in enumerate(params["layers"]):
            x = layer_norm(x + kept(keys[3 * i], attended_in_part(p, x, keys[3 * i + 1])), p["norm1"])
            x = layer_norm(x + kept(keys[3 * i + 2], perceptron(p, x)), p["norm2"])
        return cross_entropy(x @ params["words"].astype(HALF).T, batch["labels"])

    def layer(key):
        a, b = jax.random.split(key)
        return {"norm1": norm_of(width), "norm2": norm_of(width), **attention_weights(a, width, heads, width // heads), **perceptron_weights(b, width, hidden)}

    k = jax.random.split(key, layers + 3)
    params = {"words": dense(k[0], words, width, fan_in=width), "layers": [layer(q) for q in k[1:layers + 1]]}
    batch_of = {"tokens": integers(k[-2], (batch, length), words), "labels": integers(k[-1], (batch, length), words), "seed": jnp.zeros((2,), jnp.uint32)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def styled(key, batch=64, style=512, start=4, widths=(512, 512, 256, 128, 64)):
    """Pictures made by a style: each picture scales and normalises the convolutions' weights for itself; a net of strided convolutions judges them."""
    def modulated(p, x, w):
        scale = (w @ p["scale"].astype(HALF) + 1).astype(jnp.float32)
        taps = p["taps"] * scale[:, None, None, :, None]
        taps = taps * jax.lax.rsqrt(jnp.sum(jnp.square(taps), axis=(1, 2, 3), keepdims=True) + 1e-8)
        many, high, wide, channels = x.shape
        x = x.transpose(1, 2, 0, 3).reshape(1, high, wide, many * channels)
        taps = taps.transpose(1, 2, 3, 0, 4).reshape(*taps.shape[1:4], -1)
        return jax.nn.leaky_relu(convolved(x, taps, feature_group_count=many).reshape(high, wide, many, -1).transpose(2, 0, 1, 3), 0.2)

    def loss_of(params, batch):
        w = batch["noise"].astype(HALF)
        for m in params["map"]:
            w = jax.nn.leaky_relu(w @ m.astype(HALF), 0.2)
        x = jnp.broadcast_to(params["start"].astype(HALF), (w.shape[0], start, start, widths[0]))
        for p in params["made"]:
            x = jnp.repeat(jnp.repeat(x, 2, axis=1), 2, axis=2)
            x = modulated(p["second"], modulated(p["first"], x, w), w)
        x = convolved(x, params["picture"])
        for taps in params["judge"]:
            x = jax.nn.leaky_relu(convolved(x, taps, stride=2), 0.2)
        return jnp.mean(jax.nn.softplus(-(x.reshape(x.shape[0], -1) @ params["last"].astype(HALF)).astype(jnp.float32)))

    def made(key, a, b):
        k = jax.random.split(key, 4)
        return {"first": {"scale": dense(k[0], style, a), "taps": dense(k[1], 3, 3, a, b, fan_in=9 * a)}, "second": {"scale": dense(k[2], style, b), "taps": dense(k[3], 3, 3, b, b, fan_in=9 * b)}}

    k = jax.random.split(key, 8)
    pairs, back = list(zip(widths, widths[1:])), (3,) + widths[:0:-1]
    params = {"map": [dense(q, style, style) for q in jax.random.split(k[0], 4)], "start": jax.random.normal(k[1], (1, start, start, widths[0])),
              "made": [made(q, a, b) for q, (a, b) in zip(jax.random.split(k[2], len(pairs)), pairs)], "picture": dense(k[3], 1, 1, widths[-1], 3, fan_in=widths[-1]),
              "judge": [dense(q, 3, 3, a, b, fan_in=9 * a) for q, a, b in zip(jax.random.split(k[4], len(pairs)), back, back[1:])],
              "last": dense(k[5], start * start * back[-1], 1)}
    return trained(loss_of), (0, 1), (params, adam.init(params), {"noise": jax.random.normal(k[6], (batch, style))})


def translated(key, batch=512, source=64, target=64, width=512, words=32768):
    """Translation by gated recurrent cells: at every word that is written, a small network looks over all that were read."""
    def gated(p, h, x):
        reset, update = jnp.split(jax.nn.sigmoid((x @ p["gates_x"].astype(HALF) + h @ p["gates_h"].astype(HALF)).astype(jnp.float32)), 2, axis=-1)
        new = jnp.tanh((x @ p["new_x"].astype(HALF) + (reset.astype(HALF) * h) @ p["new_h"].astype(HALF)).astype(jnp.float32))
        return (update * h.astype(jnp.float32) + (1 - update) * new).astype(HALF)

    def loss_of(params, batch):
        read = params["read"].astype(HALF)[batch["source"]]

        def look(h, x):
            h = gated(params["there"], h, x)
            return h, h
        last, seen = jax.lax.scan(look, jnp.zeros((read.shape[0], width), HALF), jnp.moveaxis(read, 1, 0))
        seen = jnp.moveaxis(seen, 0, 1)
        keys = seen @ params["keys"].astype(HALF)

        def write(h, x):
            scores = jnp.tanh(keys + (h @ params["query"].astype(HALF))[:, None]) @ params["score"].astype(HALF)
            seen_now = jnp.einsum("bs,bsd->bd", jax.nn.softmax(scores.astype(jnp.float32), axis=-1).astype(HALF), seen)
            h = gated(params["here"], h, jnp.concatenate([x, seen_now], axis=-1))
            return h, jnp.concatenate([h, seen_now], axis=-1)
        _, made = jax.lax.scan(write, last, jnp.moveaxis(params["write"].astype(HALF)[batch["target"]], 1, 0))
        return cross_entropy(jnp.moveaxis(made, 0, 1) @ params["head"].astype(HALF), batch["next"])

    def cell(key, into):
        k = jax.random.split(key, 4)
        return {"gates_x": dense(k[0], into, 2 * width), "gates_h": dense(k[1], width, 2 * width), "new_x": dense(k[2], into, width), "new_h": dense(k[3], width, width)}

    k = jax.random.split(key, 11)
    params = {"read": dense(k[0], words, width, fan_in=width), "write": dense(k[1], words, width, fan_in=width), "there": cell(k[2], width), "here": cell(k[3], 2 * width),
              "keys": dense(k[4], width, width), "query": dense(k[5], width, width), "score": dense(k[6], width), "head": dense(k[7], 2 * width, words)}
    batch_of = {"source": integers(k[8], (batch, source), words), "target": integers(k[9], (batch, target), words), "next": integers(k[10], (batch, target), words)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def decorrelated(key, batch=512, image=64, widths=(64, 128, 256, 512), wide=4096):
    """Two views of each picture through one residual net: over the whole batch, what they say alike is kept and what their features share is taken out."""
    def normal(x, p):
        wide_x = x.astype(jnp.float32)
        mean, square = jnp.mean(wide_x, axis=(0, 1, 2)), jnp.mean(jnp.square(wide_x), axis=(0, 1, 2))
        return ((wide_x - mean) * jax.lax.rsqrt(square - mean ** 2 + 1e-5) * p["scale"] + p["bias"]).astype(x.dtype)

    def seen(params, x):
        x = jax.nn.relu(normal(convolved(x.astype(HALF), params["first"]), params["norm"]))
        for i, p in enumerate(params["blocks"]):
            y = jax.nn.relu(normal(convolved(x, p["a"], stride=2 if i else 1), p["norm1"]))
            x = jax.nn.relu(normal(convolved(y, p["b"]), p["norm2"]) + convolved(x, p["past"], stride=2 if i else 1))
        x = jnp.mean(x, axis=(1, 2))
        return jax.nn.relu(x @ params["up"].astype(HALF)) @ params["out"].astype(HALF)

    def loss_of(params, batch):
        a, b = ((z - z.mean(0)) * jax.lax.rsqrt(z.var(0) + 1e-5) for z in (seen(params, batch[n]).astype(jnp.float32) for n in ("left", "right")))
        shared = (a.astype(HALF).T @ b.astype(HALF)).astype(jnp.float32) / a.shape[0]
        alike = jnp.eye(wide)
        return jnp.sum(jnp.square(shared - alike) * jnp.where(alike > 0, 1, 0.005))

    def block(key, a, b):
        k = jax.random.split(key, 3)
        return {"a": dense(k[0], 3, 3, a, b, fan_in=9 * a), "b": dense(k[1], 3, 3, b, b, fan_in=9 * b), "past": dense(k[2], 1, 1, a, b, fan_in=a), "norm1": norm_of(b), "norm2": norm_of(b)}

    k = jax.random.split(key, 6)
    params = {"first": dense(k[0], 3, 3, 3, widths[0], fan_in=27), "norm": norm_of(widths[0]), "blocks": [block(q, a, b) for q, a, b in zip(jax.random.split(k[1], 4), widths[:1] + widths, widths)],
              "up": dense(k[2], widths[-1], wide), "out": dense(k[3], wide, wide)}
    return trained(loss_of), (0, 1), (params, adam.init(params), {"left": jax.random.uniform(k[4], (batch, image, image, 3)), "right": jax.random.uniform(k[5], (batch, image, image, 3))})


def recalled(key, batch=64, length=512, width=1024, hidden=4096, heads=16, layers=2, words=32768):
    """A decoder that also reads what each layer made of the text before: scores have a term for the distance, which a reshape moves into place."""
    depth = width // heads

    def shifted(x):
        many, heads_now, rows, columns = x.shape
        x = jnp.pad(x, ((0, 0), (0, 0), (0, 0), (1, 0))).reshape(many, heads_now, columns + 1, rows)
        return x[:, :, 1:].reshape(many, heads_now, rows, columns)

    def recalling(p, x, memory, far):
        both = jnp.concatenate([memory, x], axis=1)
        q = jnp.einsum("bsd,dhk->bshk", x, p["q"].astype(HALF))
        k, v = (jnp.einsum("bsd,dhk->bshk", both, p[n].astype(HALF)) for n in "kv")
        near = jnp.einsum("sd,dhk->shk", far, p["far"].astype(HALF))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q + p["bias_k"].astype(HALF), k) + shifted(jnp.einsum("bqhd,khd->bhqk", q + p["bias_far"].astype(HALF), near))
        ahead = jnp.arange(2 * length)[None] > jnp.arange(length)[:, None] + length
        share = jax.nn.softmax(jnp.where(ahead, -1e9, scores.astype(jnp.float32) * depth ** -0.5), axis=-1).astype(HALF)
        return jnp.einsum("bqhd,hdm->bqm", jnp.einsum("bhqk,bkhd->bqhd", share, v), p["out"].astype(HALF))

    def loss_of(params, batch):
        x = params["words"].astype(HALF)[batch["tokens"]]
        angle = jnp.arange(2 * length, 0, -1.0)[:, None] * 10000 ** -(jnp.arange(0, width, 2.0) / width)
        far = jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], axis=-1).astype(HALF)
        for p, memory in zip(params["layers"], batch["memory"]):
            x = layer_norm(x + recalling(p, x, memory, far), p["norm1"])
            x = layer_norm(x + perceptron(p, x), p["norm2"])
        return cross_entropy(x @ params["head"].astype(HALF), batch["next"])

    def layer(key):
        k = jax.random.split(key, 5)
        return {"norm1": norm_of(width), "norm2": norm_of(width), **attention_weights(k[0], width, heads, depth), "far": dense(k[1], width, heads, depth),
                "bias_k": dense(k[2], heads, depth, fan_in=depth), "bias_far": dense(k[3], heads, depth, fan_in=depth), **perceptron_weights(k[4], width, hidden)}

    k = jax.random.split(key, layers + 5)
    params = {"words": dense(k[0], words, width, fan_in=width), "layers": [layer(q) for q in k[1:layers + 1]], "head": dense(k[-4], width, words)}
    batch_of = {"tokens": integers(k[-3], (batch, length), words), "next": integers(k[-2], (batch, length), words), "memory": [jax.random.normal(k[-1], (batch, length, width)).astype(HALF)] * layers}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


PROGRAMS = (dropped, styled, translated, decorrelated, recalled)
