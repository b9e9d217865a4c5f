"""Training steps of families that the others have none of, and one step of a served model; written before any cost model newer than 34.

Each function as in models/unseen.py.
"""
import jax
import jax.numpy as jnp

from models import adam
from models.unseen import HALF, cross_entropy, dense, integers, layer_norm, norm_of, root_mean_square, rotated, trained
from models.unseen_17 import attended, attention_weights, perceptron, perceptron_weights


def gated_weights(key, width, hidden):
    a, b = jax.random.split(key)
    return {"gate": dense(a, width, hidden), **perceptron_weights(b, width, hidden)}


def gated(p, x):
    return (jax.nn.silu(x @ p["gate"].astype(x.dtype)) * (x @ p["up"].astype(x.dtype))) @ p["down"].astype(x.dtype)


def differential(key, batch=32, length=1024, width=2048, heads=8, depth=128, hidden=5632, layers=2, words=32000, start=0.8):
    """A decoder whose heads take the difference of two softmaxes, each head with a norm of its own."""
    def attended_by_difference(p, x):
        q, k = (rotated(jnp.einsum("bsd,dhck->bshck", x, p[n].astype(HALF))) for n in ("q", "k"))
        v = jnp.einsum("bsd,dhk->bshk", x, p["v"].astype(HALF))
        scores = jnp.einsum("bqhck,bthck->bhcqt", q, k).astype(jnp.float32) * depth ** -0.5
        at = jnp.arange(length)
        shares = jax.nn.softmax(jnp.where(at[:, None] >= at, scores, -1e30), axis=-1)
        less = jnp.exp(jnp.sum(p["one"][0] * p["one"][1])) - jnp.exp(jnp.sum(p["two"][0] * p["two"][1])) + start
        mixed = jnp.einsum("bhqt,bthk->bqhk", (shares[:, :, 0] - less * shares[:, :, 1]).astype(HALF), v)
        return jnp.einsum("bshk,hkd->bsd", root_mean_square(mixed, p["norm"]) * jnp.asarray(1 - start, HALF), p["out"].astype(HALF))

    def loss_of(params, batch):
        x = params["words"].astype(HALF)[batch["tokens"]]
        for p in params["layers"]:
            x = x + attended_by_difference(p["attention"], root_mean_square(x, p["n1"]))
            x = x + gated(p, root_mean_square(x, p["n2"]))
        return cross_entropy(root_mean_square(x, params["n"]) @ params["head"].astype(HALF), batch["next"])

    def layer(key):
        k = jax.random.split(key, 5)
        attention = {"q": dense(k[0], width, heads, 2, depth), "k": dense(k[1], width, heads, 2, depth), "v": dense(k[2], width, heads, 2 * depth),
                     "out": dense(k[3], heads, 2 * depth, width, fan_in=2 * heads * depth), "norm": jnp.ones((2 * depth,)), "one": jnp.zeros((2, depth)), "two": jnp.zeros((2, depth))}
        return {"attention": attention, **gated_weights(k[4], width, hidden), "n1": jnp.ones((width,)), "n2": jnp.ones((width,))}

    k = jax.random.split(key, 5)
    params = {"words": dense(k[0], words, width, fan_in=width), "layers": [layer(q) for q in jax.random.split(k[1], layers)], "n": jnp.ones((width,)), "head": dense(k[2], width, words)}
    batch_of = {"tokens": integers(k[3], (batch, length), words), "next": integers(k[4], (batch, length), words)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def memories(key, batch=64, length=1024, width=1024, heads=4, chunk=128, inner=2048, layers=2, words=32000):
    """Matrix memories with exponential gates: products inside of a chunk, a loop over chunks hands the memory, its norm and its largest gate on."""
    depth, count = inner // heads, length // chunk

    def remembered(p, x):
        def heads_of(t):
            return t.reshape(-1, count, chunk, heads, depth).transpose(1, 0, 3, 2, 4)  # chunks, batch, heads, places, depth
        q, k, v = (heads_of(x @ p[n].astype(HALF)) for n in "qkv")
        opened, kept = (jnp.moveaxis((x @ p[n].astype(HALF)).astype(jnp.float32).reshape(-1, count, chunk, heads), (1, 3), (0, 2)) for n in ("open", "keep"))
        kept = jnp.cumsum(jax.nn.log_sigmoid(kept + 3), axis=-1)
        before = jnp.tril(jnp.ones((chunk, chunk), bool))

        def turn(state, read):
            memory, norm, largest = state
            q, k, v, opened, kept = read
            inside = jnp.where(before, kept[..., :, None] - kept[..., None, :] + opened[..., None, :], -1e30)
            most = jnp.maximum(jnp.max(inside, axis=-1), kept + largest[..., None])
            weights = jnp.exp(inside - most[..., None]) * jnp.einsum("bhqk,bhtk->bhqt", q, k).astype(jnp.float32) * depth ** -0.5
            old = jnp.exp(kept + largest[..., None] - most)
            scaled = q.astype(jnp.float32) * old[..., None] * depth ** -0.5
            out = jnp.einsum("bhqt,bhtk->bhqk", weights.astype(HALF), v).astype(jnp.float32) + jnp.einsum("bhqk,bhkv->bhqv", scaled.astype(HALF), memory.astype(HALF)).astype(jnp.float32)
            below = jnp.sum(weights, axis=-1) + jnp.einsum("bhqk,bhk->bhq", scaled, norm)
            out = out / jnp.maximum(jnp.abs(below), jnp.exp(-most))[..., None]
            ends = kept[..., -1:] - kept + opened
            after = jnp.maximum(kept[..., -1] + largest, jnp.max(ends, axis=-1))
            keys = k.astype(jnp.float32) * jnp.exp(ends - after[..., None])[..., None]
            stays = jnp.exp(kept[..., -1] + largest - after)
            memory = stays[..., None, None] * memory + jnp.einsum("bhtk,bhtv->bhkv", keys.astype(HALF), v).astype(jnp.float32)
            return (memory, stays[..., None] * norm + jnp.sum(keys, axis=-2), after), out.astype(HALF)

        start = (jnp.zeros((x.shape[0], heads, depth, depth)), jnp.zeros((x.shape[0], heads, depth)), jnp.full((x.shape[0], heads), -1e30))
        _, out = jax.lax.scan(turn, start, (q, k, v, opened, kept))
        return out.transpose(1, 0, 3, 2, 4).reshape(-1, length, inner)

    def loss_of(params, batch):
        x = params["words"].astype(HALF)[batch["tokens"]]
        for p in params["layers"]:
            y = layer_norm(x, p["n"])
            z = y @ p["up"].astype(HALF)
            x = x + (root_mean_square(remembered(p, z), p["norm"]) * jax.nn.silu(y @ p["gate"].astype(HALF))) @ p["down"].astype(HALF)
        return cross_entropy(layer_norm(x, params["n"]) @ params["head"].astype(HALF), batch["next"])

    def layer(key):
        k = jax.random.split(key, 7)
        return {**{n: dense(q, inner, inner) for n, q in zip("qkv", k)}, "open": dense(k[3], inner, heads), "keep": dense(k[4], inner, heads), "gate": dense(k[5], width, inner),
                **perceptron_weights(k[6], width, inner), "n": norm_of(width), "norm": jnp.ones((inner,))}

    k = jax.random.split(key, 5)
    params = {"words": dense(k[0], words, width, fan_in=width), "layers": [layer(q) for q in jax.random.split(k[1], layers)], "n": norm_of(width), "head": dense(k[2], width, words)}
    batch_of = {"tokens": integers(k[3], (batch, length), words), "next": integers(k[4], (batch, length), words)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def slots(key, batch=256, side=64, channels=64, width=256, count=8, turns=3, hidden=512):
    """Objects of pictures: places of a convolution net compete for slots, which a gated cell changes over some turns; every slot paints a picture and a mask."""
    def convolved(x, w, stride=1):
        return jax.lax.conv_general_dilated(x, w.astype(HALF), (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def enlarged(x, w):
        return jax.lax.conv_transpose(x, w.astype(HALF), (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def cell(p, x, state):
        a, b = x @ p["read"].astype(HALF) + p["bias"].astype(HALF), state @ p["kept"].astype(HALF)
        update, reset = (jax.nn.sigmoid(a[..., i * width:(i + 1) * width] + b[..., i * width:(i + 1) * width]) for i in (0, 1))
        new = jnp.tanh(a[..., 2 * width:] + reset * b[..., 2 * width:])
        return update * state + (1 - update) * new

    def loss_of(params, batch):
        x = batch["pictures"].astype(HALF)
        for w in params["down"]:
            x = jax.nn.relu(convolved(x, w))
        x = x.reshape(-1, side * side, channels) + params["places"].astype(HALF)
        x = layer_norm(perceptron(params["first"], layer_norm(x, params["n0"])), params["n1"])
        k, v = (x @ params[n].astype(HALF) for n in ("keys", "values"))
        state = (params["mean"] + jnp.exp(params["spread"]) * batch["noise"]).astype(HALF)
        for _ in range(turns):
            q = layer_norm(state, params["n2"]) @ params["queries"].astype(HALF)
            shares = jax.nn.softmax(jnp.einsum("bpd,bsd->bps", k, q).astype(jnp.float32) * width ** -0.5, axis=-1) + 1e-8
            shares = shares / jnp.sum(shares, axis=1, keepdims=True)
            state = cell(params["cell"], jnp.einsum("bps,bpd->bsd", shares.astype(HALF), v), state)
            state = state + perceptron(params["second"], layer_norm(state, params["n3"]))
        y = jnp.broadcast_to(state.reshape(-1, 1, 1, width), (state.shape[0] * count, 8, 8, width)) + params["grid"].astype(HALF)
        for w in params["up"]:
            y = jax.nn.relu(enlarged(y, w))
        y = convolved(y, params["paint"]).astype(jnp.float32).reshape(-1, count, side, side, 4)
        painted = jnp.sum(y[..., :3] * jax.nn.softmax(y[..., 3:], axis=1), axis=1)
        return jnp.mean((painted - batch["pictures"]) ** 2)

    k = jax.random.split(key, 18)
    params = {"down": [dense(q, 5, 5, a, channels, fan_in=25 * a) for q, a in zip(jax.random.split(k[0], 4), (3, channels, channels, channels))], "places": dense(k[1], side * side, channels),
              "first": {"up": dense(k[2], channels, width), "down": dense(k[3], width, width)}, "second": perceptron_weights(k[4], width, hidden), "n0": norm_of(channels),
              **{n: norm_of(width) for n in ("n1", "n2", "n3")}, **{n: dense(q, width, width) for n, q in zip(("keys", "values", "queries"), k[5:8])}, "mean": dense(k[8], width), "spread": jnp.zeros((width,)),
              "cell": {"read": dense(k[9], width, 3 * width), "kept": dense(k[10], width, 3 * width), "bias": jnp.zeros((3 * width,))}, "grid": dense(k[11], 8, 8, width),
              "up": [dense(q, 5, 5, a, channels, fan_in=25 * a) for q, a in zip(jax.random.split(k[12], 3), (width, channels, channels))], "paint": dense(k[13], 3, 3, channels, 4, fan_in=9 * channels)}
    batch_of = {"pictures": jax.random.uniform(k[14], (batch, side, side, 3)), "noise": jax.random.normal(k[15], (batch, count, width))}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def interests(key, batch=32768, items=1048576, fields=12, field_rows=65536, width=64, history=100, hidden=1024, crosses=3):
    """Clicks of users with histories: what was looked at is weighed against the item, features are crossed by full matrices."""
    def loss_of(params, batch):
        table = params["items"].astype(HALF)
        item, seen = table[batch["item"]], table[batch["history"]]
        both = jnp.concatenate([seen, jnp.broadcast_to(item[:, None], seen.shape), seen * item[:, None], seen - item[:, None]], axis=-1)
        weights = jax.nn.sigmoid(both @ params["weigh"]["up"].astype(HALF)) @ params["weigh"]["down"].astype(HALF)
        weights = jnp.where(jnp.arange(history) < batch["length"][:, None], weights[..., 0], 0)
        interest = jnp.einsum("bt,btd->bd", weights, seen)
        looked = [t.astype(HALF)[batch["fields"][:, i]] for i, t in enumerate(params["fields"])]
        x = first = jnp.concatenate([item, interest, *looked], axis=-1)
        for p in params["crosses"]:
            x = first * (x @ p["w"].astype(HALF) + p["b"].astype(HALF)) + x
        for p in params["deep"]:
            first = jax.nn.relu(first @ p["w"].astype(HALF) + p["b"].astype(HALF))
        logit = (jnp.concatenate([x, first], axis=-1) @ params["head"].astype(HALF))[:, 0].astype(jnp.float32)
        return jnp.mean(jax.nn.softplus(logit) - logit * batch["clicked"])

    def layer(key, inner, outer):
        return {"w": dense(key, inner, outer), "b": jnp.zeros((outer,))}

    k = jax.random.split(key, 12)
    all_fields = (fields + 2) * width
    params = {"items": dense(k[0], items, width, fan_in=width), "fields": [dense(q, field_rows, width, fan_in=width) for q in jax.random.split(k[1], fields)],
              "weigh": {"up": dense(k[2], 4 * width, 128), "down": dense(k[3], 128, 1)}, "crosses": [layer(q, all_fields, all_fields) for q in jax.random.split(k[4], crosses)],
              "deep": [layer(q, a, b) for q, a, b in zip(jax.random.split(k[5], 2), (all_fields, hidden), (hidden, hidden))], "head": dense(k[6], all_fields + hidden, 1)}
    batch_of = {"item": integers(k[7], (batch,), items), "history": integers(k[8], (batch, history), items), "fields": integers(k[9], (batch, fields), field_rows),
                "length": integers(k[10], (batch,), history), "clicked": jnp.ones((batch,))}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def residuals(key, points=262144, width=512, depth=6, edges=65536, viscosity=0.01):
    """An equation solved by a network: its first and second derivatives at many points, and its values at the edges."""
    def value(params, at):
        y = at.astype(HALF)
        for p in params["layers"]:
            y = jnp.tanh(y @ p["w"].astype(HALF) + p["b"].astype(HALF))
        return (y @ params["out"].astype(HALF))[..., 0].astype(jnp.float32)

    def loss_of(params, batch):
        at = batch["at"]
        place, time = (jnp.zeros_like(at).at[:, i].set(1) for i in (0, 1))

        def by_place(at):
            return jax.jvp(lambda at: value(params, at), (at,), (place,))
        (u, by_x), (_, by_x_twice) = jax.jvp(by_place, (at,), (place,))
        _, by_t = jax.jvp(lambda at: value(params, at), (at,), (time,))
        wrong = by_t + u * by_x - viscosity * by_x_twice
        return jnp.mean(wrong ** 2) + jnp.mean((value(params, batch["edges"]) - batch["known"]) ** 2)

    k = jax.random.split(key, 8)
    params = {"layers": [{"w": dense(q, width if i else 2, width), "b": jnp.zeros((width,))} for i, q in enumerate(jax.random.split(k[0], depth))], "out": dense(k[1], width, 1)}
    batch_of = {"at": jax.random.uniform(k[2], (points, 2)), "edges": jax.random.uniform(k[3], (edges, 2)), "known": jax.random.uniform(k[4], (edges,))}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def ahead(key, batch=32, length=1024, width=2048, heads=16, hidden=8192, layers=1, further=2, words=65536, parts=8):
    """A decoder that says several next words, a layer for each; logits are made, and made again for the gradient, for a part of the places at a time."""
    def block(p, x):
        y = layer_norm(x, p["n1"])
        x = x + attended(p["attention"], y, y)
        return x + perceptron(p["perceptron"], layer_norm(x, p["n2"]))

    def loss_of(params, batch):
        table = params["words"].astype(HALF)
        x = table[batch["tokens"]] + params["places"].astype(HALF)
        for p in params["layers"]:
            x = block(p, x)

        @jax.checkpoint
        def turn(sum_, read):
            y, labels = read
            return sum_ + cross_entropy(jnp.einsum("bsd,nd->bsn", y, table), labels), None

        loss = 0.0
        for i, p in enumerate(params["further"]):
            y = layer_norm(block(p, x), p["n3"]).reshape(-1, parts, length // parts, width).swapaxes(0, 1)
            labels = jnp.roll(batch["next"], -i, axis=1).reshape(-1, parts, length // parts).swapaxes(0, 1)
            loss += jax.lax.scan(turn, 0.0, (y, labels))[0] / parts
        return loss / further

    def layer(key):
        a, b = jax.random.split(key)
        return {"attention": attention_weights(a, width, heads, width // heads), "perceptron": perceptron_weights(b, width, hidden), **{n: norm_of(width) for n in ("n1", "n2", "n3")}}

    k = jax.random.split(key, 6)
    params = {"words": dense(k[0], words, width, fan_in=width), "places": dense(k[1], length, width, fan_in=width), "layers": [layer(q) for q in jax.random.split(k[2], layers)],
              "further": [layer(q) for q in jax.random.split(k[3], further)]}
    batch_of = {"tokens": integers(k[4], (batch, length), words), "next": integers(k[5], (batch, length), words)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def served(key, batch=128, length=2048, width=4096, heads=32, groups=8, depth=128, hidden=14336, layers=2, words=65536):
    """One more word for each of many texts: weights are eight bits with a scale for each column, keys and values of the caches eight bits with one for each place."""
    def weighed(x, p):
        return (x @ p["w"].astype(HALF)) * p["scale"].astype(HALF)

    def kept(cache, scales, x, at):
        x = x.astype(jnp.float32)
        scale = jnp.max(jnp.abs(x), axis=-1, keepdims=True) / 127 + 1e-8
        rows = jnp.arange(x.shape[0])
        return cache.at[rows, at].set(jnp.round(x / scale).astype(jnp.int8)), scales.at[rows, at].set(scale[..., 0])

    def step(params, caches, tokens, at):
        x, out = params["words"][tokens].astype(HALF), []
        for p, (keys, key_scales, values, value_scales) in zip(params["layers"], caches):
            y = root_mean_square(x, p["n1"])
            q, k, v = (weighed(y, p[n]).reshape(y.shape[0], -1, depth) for n in "qkv")
            keys, key_scales = kept(keys, key_scales, k, at)
            values, value_scales = kept(values, value_scales, v, at)
            q = q.reshape(-1, groups, heads // groups, depth)
            scores = jnp.einsum("bgrk,btgk->bgrt", q, keys.astype(HALF)).astype(jnp.float32) * key_scales.transpose(0, 2, 1)[:, :, None] * depth ** -0.5
            shares = jax.nn.softmax(jnp.where(jnp.arange(length) <= at[:, None, None, None], scores, -1e30), axis=-1) * value_scales.transpose(0, 2, 1)[:, :, None]
            mixed = jnp.einsum("bgrt,btgk->bgrk", shares.astype(HALF), values.astype(HALF))
            x = x + weighed(mixed.reshape(-1, heads * depth), p["out"])
            y = root_mean_square(x, p["n2"])
            x = x + weighed(jax.nn.silu(weighed(y, p["gate"])) * weighed(y, p["up"]), p["down"])
            out.append((keys, key_scales, values, value_scales))
        return jnp.argmax(weighed(root_mean_square(x, params["n"]), params["head"]), axis=-1), out

    def eight(key, inner, outer):
        return {"w": integers(key, (inner, outer), 127).astype(jnp.int8), "scale": jnp.full((outer,), inner ** -0.5 / 64)}

    def layer(key):
        k = jax.random.split(key, 7)
        return {"q": eight(k[0], width, heads * depth), "k": eight(k[1], width, groups * depth), "v": eight(k[2], width, groups * depth), "out": eight(k[3], heads * depth, width),
                "gate": eight(k[4], width, hidden), "up": eight(k[5], width, hidden), "down": eight(k[6], hidden, width), "n1": jnp.ones((width,)), "n2": jnp.ones((width,))}

    k = jax.random.split(key, 4)
    params = {"words": dense(k[0], words, width).astype(HALF), "layers": [layer(q) for q in jax.random.split(k[1], layers)], "n": jnp.ones((width,)), "head": eight(k[2], width, words)}
    caches = [(jnp.zeros((batch, length, groups, depth), jnp.int8), jnp.zeros((batch, length, groups))) * 2 for _ in range(layers)]
    return step, (1,), (params, caches, jnp.zeros((batch,), jnp.int32), jnp.zeros((batch,), jnp.int32))


PROGRAMS = (differential, memories, slots, interests, residuals, ahead, served)
