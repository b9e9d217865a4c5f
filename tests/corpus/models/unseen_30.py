"""Training steps and serving steps of families that the others have none of, written before cost model 30; what was changed for them is in docs/judged.md.

Each function as in models/unseen.py.
"""
import jax
import jax.numpy as jnp
import numpy as np

from models import adam
from models.unseen import HALF, cross_entropy, dense, integers, layer_norm, norm_of, root_mean_square, trained
from models.unseen_17 import attention_weights, perceptron, perceptron_weights
from models.unseen_19 import encoded, layer_of


def blocks(key, batch=8, length=8192, block=512, width=2048, heads=16, hidden=8192, layers=2, words=32768):
    """Long texts, fewer than devices: attention reads keys block by block in a loop, with a running maximum, and is computed again in the backward pass."""
    depth = width // heads

    @jax.checkpoint
    def attended(q, k, v):
        at = jnp.arange(length)
        shape = (batch, length // block, block, heads, depth)

        def one(kept, read):
            most, total, out = kept
            keys, values, first = read
            scores = jnp.einsum("bqhd,bkhd->bhqk", q, keys).astype(jnp.float32) * depth ** -0.5
            scores = jnp.where(at[:, None] >= first + jnp.arange(block), scores, -1e30)
            above = jnp.maximum(most, scores.max(-1))
            shares, fade = jnp.exp(scores - above[..., None]), jnp.exp(most - above)
            out = out * fade[..., None] + jnp.einsum("bhqk,bkhd->bhqd", shares.astype(HALF), values).astype(jnp.float32)
            return (above, total * fade + shares.sum(-1), out), None

        start = (jnp.full((batch, heads, length), -1e30), jnp.zeros((batch, heads, length)), jnp.zeros((batch, heads, length, depth)))
        cut = [jnp.swapaxes(x.reshape(shape), 0, 1) for x in (k, v)]
        (_, total, out), _ = jax.lax.scan(jax.checkpoint(one), start, (*cut, jnp.arange(0, length, block)))
        return jnp.swapaxes(out / total[..., None], 1, 2).astype(HALF)

    def loss_of(params, batch):
        x = params["words"].astype(HALF)[batch["tokens"]]
        for p in params["layers"]:
            y, a = layer_norm(x, p["n1"]), p["attention"]
            q, k, v = (jnp.einsum("bsd,dhk->bshk", y, a[n].astype(HALF)) for n in "qkv")
            x = x + jnp.einsum("bshk,hkd->bsd", attended(q, k, v), a["out"].astype(HALF))
            x = x + perceptron(p["perceptron"], layer_norm(x, p["n2"]))
        return cross_entropy(layer_norm(x, params["n"]) @ params["head"].astype(HALF), batch["next"])

    k = jax.random.split(key, 5)
    params = {"words": dense(k[0], words, width, fan_in=width), "head": dense(k[1], width, words), "n": norm_of(width),
              "layers": [layer_of(q, width, heads, hidden) for q in jax.random.split(k[2], layers)]}
    batch_of = {"tokens": integers(k[3], (batch, length), words), "next": integers(k[4], (batch, length), words)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def streams(key, batch=64, size=32, channels=16, texts=128, width=1536, heads=24, layers=2, kept=0.999):
    """Pictures from texts: two streams with weights of their own attend together, scaled by the time; a slow mean of the weights is kept beside them."""
    depth, parts = width // heads, ("picture", "text")

    def loss_of(params, batch):
        t = batch["time"][:, None, None]
        noised = (1 - t) * batch["latents"] + t * batch["noise"]
        x = {"picture": noised.astype(HALF) @ params["in"].astype(HALF) + params["places"].astype(HALF), "text": batch["text"].astype(HALF) @ params["read"].astype(HALF)}
        angles = batch["time"][:, None] * 1000 * jnp.exp(-jnp.arange(128) / 14)
        known = jax.nn.silu(jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1).astype(HALF) @ params["time"].astype(HALF))
        for p in params["layers"]:
            scaled = {n: jnp.split((known @ p[n]["scales"].astype(HALF))[:, None], 6, axis=-1) for n in parts}
            y = {n: layer_norm(x[n], p[n]["n1"]) * (1 + scaled[n][0]) + scaled[n][1] for n in parts}
            q, k, v = (jnp.concatenate([jnp.einsum("bsd,dhk->bshk", y[n], p[n]["attention"][w].astype(HALF)) for n in parts], axis=1) for w in "qkv")
            scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) * depth ** -0.5
            z = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores).astype(HALF), v)
            z = dict(zip(parts, jnp.split(z, [size * size], axis=1)))
            for n in parts:
                x[n] = x[n] + scaled[n][2] * jnp.einsum("bshk,hkd->bsd", z[n], p[n]["attention"]["out"].astype(HALF))
                y = layer_norm(x[n], p[n]["n2"]) * (1 + scaled[n][3]) + scaled[n][4]
                x[n] = x[n] + scaled[n][5] * perceptron(p[n]["perceptron"], y)
        return jnp.mean((layer_norm(x["picture"], params["n"]) @ params["out"].astype(HALF) - (batch["noise"] - batch["latents"])).astype(jnp.float32) ** 2)

    def step(params, opt_state, slow, batch):
        loss, grads = jax.value_and_grad(loss_of)(params, batch)
        params, opt_state = adam.update(params, opt_state, grads)
        return params, opt_state, jax.tree.map(lambda s, p: kept * s + (1 - kept) * p, slow, params), loss

    def stream(key):
        k = jax.random.split(key, 3)
        return {"attention": attention_weights(k[0], width, heads, depth), "perceptron": perceptron_weights(k[1], width, 4 * width), "scales": dense(k[2], width, 6 * width), "n1": norm_of(width), "n2": norm_of(width)}

    k = jax.random.split(key, 10)
    params = {"in": dense(k[0], channels, width), "places": dense(k[1], size * size, width), "read": dense(k[2], 4096, width), "time": dense(k[3], 256, width), "n": norm_of(width), "out": dense(k[4], width, channels),
              "layers": [dict(zip(parts, map(stream, jax.random.split(q)))) for q in jax.random.split(k[5], layers)]}
    batch_of = {"latents": jax.random.normal(k[6], (batch, size * size, channels)), "noise": jax.random.normal(k[7], (batch, size * size, channels)),
                "text": jax.random.normal(k[8], (batch, texts, 4096)), "time": jax.random.uniform(k[9], (batch,))}
    return step, (0, 1, 2), (params, adam.init(params), params, batch_of)


def beams(key, batch=32, width=2048, heads=16, hidden=8192, layers=4, words=32768, wide=8, length=1024):
    """A step of beam search: the best eight continuations of each text are kept, and their caches follow them."""
    depth = width // heads

    def step(params, caches, scores, tokens, at):
        x = params["words"].astype(HALF)[tokens.reshape(-1)]
        new = []
        for p, (keys, values) in zip(params["layers"], caches):
            y = layer_norm(x, p["n1"])
            q, k, v = (jnp.einsum("bd,dhk->bhk", y, p["attention"][n]) for n in "qkv")
            keys, values = (jax.lax.dynamic_update_slice(c, n[:, None], (0, at, 0, 0)) for c, n in ((keys, k), (values, v)))
            seen = jnp.einsum("bhk,bshk->bhs", q, keys).astype(jnp.float32) * depth ** -0.5
            seen = jnp.where(jnp.arange(length) <= at, seen, -1e30)
            x = x + jnp.einsum("bhs,bshk,hkd->bd", jax.nn.softmax(seen).astype(HALF), values, p["attention"]["out"])
            x = x + perceptron(p["perceptron"], layer_norm(x, p["n2"]))
            new.append((keys, values))
        logs = jax.nn.log_softmax((layer_norm(x, params["n"]) @ params["head"]).astype(jnp.float32)).reshape(batch, wide, words)
        scores, best = jax.lax.top_k((scores[..., None] + logs).reshape(batch, wide * words), wide)
        rows = (jnp.arange(batch)[:, None] * wide + best // words).reshape(-1)
        return [(k[rows], v[rows]) for k, v in new], scores, (best % words).astype(jnp.int32), at + 1

    k = jax.random.split(key, 4)
    params = {"words": dense(k[0], words, width, fan_in=width), "head": dense(k[1], width, words), "n": norm_of(width), "layers": [layer_of(q, width, heads, hidden) for q in jax.random.split(k[2], layers)]}
    params = jax.tree.map(lambda p: p.astype(HALF), params)
    cache = jnp.zeros((batch * wide, length, heads, depth), HALF)
    return step, (1,), (params, [(cache, cache)] * layers, jnp.zeros((batch, wide)), integers(k[3], (batch, wide), words), jnp.int32(500))


def gated(key, batch=64, length=2048, width=2048, state=2560, heads=8, window=256, hidden=6144, layers=3, words=32768, pieces=8):
    """Two layers of gated linear recurrences, found by an associative scan, then one that attends within windows; the loss is worked through piece by piece."""
    depth = width // heads

    def recurrent(p, x):
        gate = jax.nn.gelu(x @ p["gate"].astype(HALF))
        y = x @ p["in"].astype(HALF)
        y = sum(jnp.pad(y, ((0, 0), (i, 0), (0, 0)))[:, :length] * p["taps"][i].astype(HALF) for i in range(4))
        wide = y.astype(jnp.float32)
        r, i = (jax.nn.sigmoid(wide * p[n]["scale"] + p[n]["bias"]) for n in ("forget", "input"))
        log = -8 * r * jax.nn.softplus(p["decay"])
        a, b = jnp.exp(log), jnp.sqrt(1 - jnp.exp(2 * log) + 1e-6) * (i * wide)
        _, states = jax.lax.associative_scan(lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1]), (a, b), axis=1)
        return (states.astype(HALF) * gate) @ p["out"].astype(HALF)

    def near(p, x):
        q, k, v = (jnp.einsum("bsd,dhk->bshk", x, p[n].astype(HALF)).reshape(batch, length // window, window, -1, depth) for n in "qkv")
        k, v = (jnp.concatenate([jnp.pad(t, ((0, 0), (1, 0), (0, 0), (0, 0), (0, 0)))[:, :-1], t], axis=2)[..., 0, :] for t in (k, v))
        scores = jnp.einsum("bwqhd,bwkd->bwhqk", q, k).astype(jnp.float32) * depth ** -0.5
        far = jnp.arange(window)[:, None] + window - jnp.arange(2 * window)
        scores = jnp.where((far >= 0) & (far < window), scores, -1e30)
        z = jnp.einsum("bwhqk,bwkd->bwqhd", jax.nn.softmax(scores).astype(HALF), v).reshape(batch, length, heads, depth)
        return jnp.einsum("bshk,hkd->bsd", z, p["out"].astype(HALF))

    def loss_of(params, batch):
        table = params["words"].astype(HALF)
        x = table[batch["tokens"]]
        for i, p in enumerate(params["layers"]):
            x = x + (near if i % 3 == 2 else recurrent)(p["mixed"], root_mean_square(x, p["n1"]))
            y = root_mean_square(x, p["n2"])
            x = x + (jax.nn.gelu(y @ p["left"].astype(HALF)) * (y @ p["right"].astype(HALF))) @ p["down"].astype(HALF)

        @jax.checkpoint
        def piece(total, read):
            return total + cross_entropy(read[0] @ table.T, read[1]) / pieces, None

        cut = [jnp.swapaxes(t.reshape(t.shape[0], pieces, -1, *t.shape[2:]), 0, 1) for t in (root_mean_square(x, params["n"]), batch["next"])]
        return jax.lax.scan(piece, jnp.float32(0), cut)[0]

    def layer(key, i):
        k = jax.random.split(key, 7)
        mixed = ({"q": dense(k[0], width, heads, depth), "k": dense(k[1], width, 1, depth), "v": dense(k[2], width, 1, depth), "out": dense(k[3], heads, depth, width, fan_in=width)} if i % 3 == 2 else
                 {"gate": dense(k[0], width, state), "in": dense(k[1], width, state), "out": dense(k[2], state, width), "taps": dense(k[3], 4, state), "decay": jnp.ones((state,)), "forget": norm_of(state), "input": norm_of(state)})
        return {"mixed": mixed, "left": dense(k[4], width, hidden), "right": dense(k[5], width, hidden), "down": dense(k[6], hidden, width), "n1": jnp.ones((width,)), "n2": jnp.ones((width,))}

    k = jax.random.split(key, 4)
    params = {"words": dense(k[0], words, width, fan_in=width), "n": jnp.ones((width,)), "layers": [layer(q, i) for i, q in enumerate(jax.random.split(k[1], layers))]}
    batch_of = {"tokens": integers(k[2], (batch, length), words), "next": integers(k[3], (batch, length), words)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def staged(key, stages=4, pieces=8, batch=64, length=1024, width=2048, heads=16, hidden=8192, words=32768):
    """Layers as stages of a pipeline: all work at once on other pieces of the batch, which move on to the next stage in every turn of a loop."""
    def loss_of(params, batch):
        x = params["words"].astype(HALF)[batch["tokens"]].reshape(pieces, -1, length, width)
        fed = jnp.concatenate([x, jnp.zeros((stages - 1, *x.shape[1:]), HALF)])

        def turn(held, piece):
            held = jnp.roll(held, 1, axis=0).at[0].set(piece)
            held = jax.vmap(encoded)(params["layers"], held)
            return held, held[-1]

        _, out = jax.lax.scan(jax.checkpoint(turn), jnp.zeros((stages, *x.shape[1:]), HALF), fed)
        out = layer_norm(out[stages - 1:], params["n"]).reshape(-1, length, width)
        return cross_entropy(out @ params["head"].astype(HALF), batch["next"])

    k = jax.random.split(key, 5)
    params = {"words": dense(k[0], words, width, fan_in=width), "head": dense(k[1], width, words), "n": norm_of(width),
              "layers": jax.vmap(lambda q: layer_of(q, width, heads, hidden))(jax.random.split(k[2], stages))}
    batch_of = {"tokens": integers(k[3], (batch, length), words), "next": integers(k[4], (batch, length), words)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def refined(key, batch=64, size=64, width=128, levels=3, radius=3, turns=6, hidden=128):
    """Motion between two pictures: all pairs of places are compared once; a gated recurrence reads around where it points, and points anew."""
    def convolved(x, w, stride=1):
        return jax.lax.conv_general_dilated(x, w.astype(HALF), (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def features(p, x):
        for w, stride in zip(p, (2, 2, 1)):
            x = jax.nn.relu(convolved(x, w, stride))
        return x

    def loss_of(params, batch):
        a, b = (features(params["features"], batch[n].astype(HALF)) for n in ("first", "second"))
        pairs = jnp.einsum("bijc,bklc->bijkl", a, b).reshape(-1, size, size, 1) * width ** -0.5
        scales = [pairs]
        for _ in range(levels - 1):
            scales.append(jax.lax.reduce_window(scales[-1], np.zeros((), HALF), jax.lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4)
        own = jnp.stack(jnp.meshgrid(jnp.arange(size), jnp.arange(size), indexing="ij"), axis=-1).astype(jnp.float32)
        around = jnp.stack(jnp.meshgrid(jnp.arange(-radius, radius + 1), jnp.arange(-radius, radius + 1), indexing="ij"), axis=-1).reshape(-1, 2)

        def looked(flow):
            found = []
            for i, s in enumerate(scales):
                side = size // 2 ** i
                at = jnp.clip(jnp.round((own + flow).reshape(-1, 1, 2) / 2 ** i).astype(jnp.int32) + around, 0, side - 1)
                found.append(jnp.take_along_axis(s.reshape(-1, side * side), at[..., 0] * side + at[..., 1], axis=1))
            return jnp.concatenate(found, axis=-1).reshape(a.shape[0], size, size, -1)

        def turn(kept, _):
            state, flow = kept
            flow = jax.lax.stop_gradient(flow)
            read = jnp.concatenate([jax.nn.relu(looked(flow) @ params["read"].astype(HALF)), a, flow.astype(HALF)], axis=-1)
            both = jnp.concatenate([state, read], axis=-1)
            z, r = jnp.split(jax.nn.sigmoid(convolved(both, params["gates"])), 2, axis=-1)
            state = (1 - z) * state + z * jnp.tanh(convolved(jnp.concatenate([r * state, read], axis=-1), params["new"]))
            flow = flow + convolved(jax.nn.relu(convolved(state, params["hidden"])), params["out"]).astype(jnp.float32)
            return (state, flow), jnp.mean(jnp.abs(flow - batch["flow"]))

        start = (jnp.tanh(convolved(a, params["state"])), jnp.zeros((a.shape[0], size, size, 2)))
        _, losses = jax.lax.scan(turn, start, None, length=turns)
        return jnp.sum(losses * 0.8 ** jnp.arange(turns - 1, -1, -1))

    def kernel(key, side, inner, outer):
        return dense(key, side, side, inner, outer, fan_in=side * side * inner)

    k = jax.random.split(key, 10)
    read = hidden + width + 2
    params = {"features": [kernel(q, s, i, o) for q, s, i, o in zip(jax.random.split(k[0], 3), (7, 3, 3), (3, 64, 96), (64, 96, width))], "read": dense(k[1], levels * (2 * radius + 1) ** 2, hidden),
              "gates": kernel(k[2], 3, hidden + read, 2 * hidden), "new": kernel(k[3], 3, hidden + read, hidden), "hidden": kernel(k[4], 3, hidden, 256), "out": kernel(k[5], 3, 256, 2), "state": kernel(k[6], 3, width, hidden)}
    pictures = (batch, 4 * size, 4 * size, 3)
    batch_of = {"first": jax.random.normal(k[7], pictures), "second": jax.random.normal(k[8], pictures), "flow": jax.random.normal(k[9], (batch, size, size, 2))}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


PROGRAMS = (blocks, streams, beams, gated, staged, refined)
