"""Training steps and a serving step of families that the others have none of, written after cost model 29; no figure of theirs went into it.

Each function as in models/unseen.py.
"""
import jax
import jax.numpy as jnp

from models import adam
from models.unseen import HALF, cross_entropy, dense, integers, layer_norm, norm_of, root_mean_square, trained
from models.unseen_17 import perceptron, perceptron_weights
from models.unseen_19 import encoded, layer_of


def orthogonal(key, batch=64, length=512, width=2048, heads=16, hidden=8192, layers=2, words=16384, turns=5):
    """A language model whose matrices move along the nearest orthogonal matrix of their momentum, found by products of matrices."""
    def nearest(m):
        x = m.astype(HALF)
        x = x.T if x.shape[0] > x.shape[1] else x
        x = x / (jnp.linalg.norm(x.astype(jnp.float32)) + 1e-7).astype(HALF)
        for _ in range(turns):
            a = x @ x.T
            x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
        return (x.T if m.shape[0] > m.shape[1] else x).astype(jnp.float32)

    def loss_of(params, batch):
        x = params["words"].astype(HALF)[batch["tokens"]]
        for p in params["layers"]:
            y = layer_norm(x, p["n1"])
            q, k, v = (jnp.reshape(y @ p[n].astype(HALF), (*y.shape[:2], heads, width // heads)) for n in "qkv")
            scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) * (width // heads) ** -0.5
            scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e30)
            y = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores).astype(HALF), v)
            x = x + y.reshape(x.shape) @ p["out"].astype(HALF)
            x = x + perceptron(p, layer_norm(x, p["n2"]))
        return cross_entropy(x @ params["words"].T.astype(HALF), batch["next"])

    def step(params, momenta, batch):
        loss, grads = jax.value_and_grad(loss_of)(params, batch)
        momenta = jax.tree.map(lambda m, g: 0.95 * m + g, momenta, grads)
        moved = jax.tree.map(lambda p, m: p - 0.02 * (nearest(m) if m.ndim == 2 and m.shape[0] != words else jnp.sign(m)), params, momenta)
        return moved, momenta, loss

    def layer(key):
        k = jax.random.split(key, 5)
        return {**{n: dense(q, width, width) for n, q in zip(("q", "k", "v", "out"), k)}, **perceptron_weights(k[4], width, hidden), "n1": norm_of(width), "n2": norm_of(width)}

    k = jax.random.split(key, 4)
    params = {"words": dense(k[0], words, width, fan_in=width), "layers": [layer(q) for q in jax.random.split(k[1], layers)]}
    batch = {"tokens": integers(k[2], (batch, length), words), "next": integers(k[3], (batch, length), words)}
    return step, (0, 1), (params, jax.tree.map(jnp.zeros_like, params), batch)


def hashed(key, points=524288, levels=8, rows=524288, features=4, hidden=128, coarsest=16, growth=1.6):
    """A picture of space: at every level the eight corners around a point are looked up in a table by a hash of their places, and blended."""
    primes = (1, 2654435761, 805459861)

    def loss_of(params, batch):
        read = []
        for i in range(levels):
            place = batch["points"] * (coarsest * growth ** i)
            low = jnp.floor(place)
            part, low, level = place - low, low.astype(jnp.uint32), 0.0
            for corner in range(8):
                steps = [corner >> d & 1 for d in range(3)]
                slot = 0
                for d in range(3):
                    slot = slot ^ ((low[:, d] + steps[d]) * jnp.uint32(primes[d]))
                weight = jnp.prod(jnp.stack([part[:, d] if steps[d] else 1 - part[:, d] for d in range(3)]), axis=0)
                level = level + weight[:, None] * params["tables"][i][(slot % rows).astype(jnp.int32)]
            read.append(level)
        x = jnp.concatenate(read, axis=-1).astype(HALF)
        for w in params["perceptron"]:
            x = jax.nn.relu(x @ w.astype(HALF))
        return jnp.mean((x @ params["out"].astype(HALF) - batch["colours"].astype(HALF)).astype(jnp.float32) ** 2)

    k = jax.random.split(key, 5)
    widths = (levels * features, hidden, hidden)
    params = {"tables": [dense(q, rows, features, fan_in=1e8) for q in jax.random.split(k[0], levels)],
              "perceptron": [dense(q, a, b) for q, a, b in zip(jax.random.split(k[1], 2), widths, widths[1:])], "out": dense(k[2], hidden, 3)}
    batch = {"points": jax.random.uniform(k[3], (points, 3)), "colours": jax.random.uniform(k[4], (points, 3))}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def preferred(key, batch=32, length=1024, width=2048, heads=16, hidden=8192, layers=2, words=32768):
    """Answers by preference: a model and a frozen copy read what was chosen and what was not; the loss compares their log probabilities."""
    def log_of(params, tokens):
        x = params["words"].astype(HALF)[tokens[:, :-1]]
        for p in params["layers"]:
            x = encoded(p, x)
        logits = (layer_norm(x, params["n"]) @ params["head"].astype(HALF)).astype(jnp.float32)
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], axis=-1)[..., 0]
        return jnp.sum(jnp.where(tokens[:, 1:] > 0, picked, 0.0), axis=-1)

    def loss_of(params, frozen, batch):
        margin = sum(sign * (log_of(params, batch[n]) - jax.lax.stop_gradient(log_of(frozen, batch[n]))) for n, sign in (("chosen", 1), ("other", -1)))
        return -jnp.mean(jax.nn.log_sigmoid(0.1 * margin))

    def step(params, opt_state, frozen, batch):
        loss, grads = jax.value_and_grad(loss_of)(params, frozen, batch)
        params, opt_state = adam.update(params, opt_state, grads)
        return params, opt_state, loss

    def model(key):
        k = jax.random.split(key, 3)
        return {"words": dense(k[0], words, width, fan_in=width), "head": dense(k[1], width, words), "n": norm_of(width),
                "layers": [layer_of(q, width, heads, hidden) for q in jax.random.split(k[2], layers)]}

    k = jax.random.split(key, 3)
    params = model(k[0])
    frozen = jax.tree.map(lambda p: p.astype(HALF), params)
    batch = {n: integers(q, (batch, length + 1), words) for n, q in zip(("chosen", "other"), k[1:])}
    return step, (0, 1), (params, adam.init(params), frozen, batch)


def sampled(key, batch=64, size=64, width=256, heads=8, points=4, hidden=1024, layers=2, classes=128):
    """Attention that reads a few places of a map, at offsets that the network chooses, between the cells."""
    depth = width // heads

    def read(values, at):
        """values: batch, heads, cells, depth; at: batch, heads, cells, points, 2."""
        at = jnp.clip(at, 0, size - 1.001)
        low = jnp.floor(at)
        part, low, out = at - low, low.astype(jnp.int32), 0.0
        for dy in (0, 1):
            for dx in (0, 1):
                cell = (low[..., 0] + dy) * size + low[..., 1] + dx
                weight = jnp.abs(1 - dy - part[..., 0]) * jnp.abs(1 - dx - part[..., 1])
                found = jnp.take_along_axis(values, cell.reshape(*cell.shape[:2], -1, 1), axis=2).reshape(*cell.shape, depth)
                out = out + weight[..., None].astype(HALF) * found
        return out

    def layer_out(p, x):
        values = jnp.einsum("bsd,dhk->bhsk", x, p["value"].astype(HALF))
        offsets = jnp.einsum("bsd,dhpt->bhspt", x, p["offset"].astype(HALF)).astype(jnp.float32)
        shares = jax.nn.softmax(jnp.einsum("bsd,dhp->bhsp", x, p["share"].astype(HALF)).astype(jnp.float32))
        own = jnp.stack(jnp.meshgrid(jnp.arange(size), jnp.arange(size), indexing="ij"), axis=-1).reshape(1, 1, -1, 1, 2)
        found = jnp.sum(read(values, own + offsets) * shares[..., None].astype(HALF), axis=3)
        return jnp.einsum("bhsk,hkd->bsd", found, p["out"].astype(HALF))

    def loss_of(params, batch):
        x = batch["features"].astype(HALF)
        for p in params["layers"]:
            x = x + layer_out(p, layer_norm(x, p["n1"]))
            x = x + perceptron(p, layer_norm(x, p["n2"]))
        return cross_entropy(x @ params["head"].astype(HALF), batch["labels"])

    def layer(key):
        k = jax.random.split(key, 5)
        return {"value": dense(k[0], width, heads, depth), "offset": dense(k[1], width, heads, points, 2), "share": dense(k[2], width, heads, points),
                "out": dense(k[3], heads, depth, width, fan_in=width), **perceptron_weights(k[4], width, hidden), "n1": norm_of(width), "n2": norm_of(width)}

    k = jax.random.split(key, 4)
    params = {"layers": [layer(q) for q in jax.random.split(k[0], layers)], "head": dense(k[1], width, classes)}
    batch = {"features": jax.random.normal(k[2], (batch, size * size, width)), "labels": integers(k[3], (batch, size * size), classes)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def paged(key, batch=128, pages=4096, page=64, most=32, width=4096, heads=32, shared=8, hidden=14336, layers=2, words=32768):
    """A word for each of many texts: keys and values lie in pages that texts own in any order; the new ones are written into the last page."""
    depth = width // heads

    def step(params, caches, tables, lengths, tokens):
        x = params["words"].astype(HALF)[tokens]
        out = []
        rows = jnp.arange(batch)
        slot, offset = tables[rows, lengths // page], lengths % page
        for p, (keys, values) in zip(params["layers"], caches):
            y = root_mean_square(x, p["n1"])
            q = jnp.einsum("bd,dhk->bhk", y, p["q"])
            k, v = (jnp.einsum("bd,dhk->bhk", y, p[n]) for n in ("k", "v"))
            keys, values = keys.at[slot, offset].set(k), values.at[slot, offset].set(v)
            out.append((keys, values))
            known, read = (c[tables].reshape(batch, most * page, shared, depth) for c in (keys, values))
            scores = jnp.einsum("bgmk,bsgk->bgms", q.reshape(batch, shared, heads // shared, depth), known).astype(jnp.float32) * depth ** -0.5
            scores = jnp.where(jnp.arange(most * page)[None, None, None] <= lengths[:, None, None, None], scores, -1e30)
            y = jnp.einsum("bgms,bsgk->bgmk", jax.nn.softmax(scores).astype(HALF), read).reshape(batch, heads, depth)
            x = x + jnp.einsum("bhk,hkd->bd", y, p["out"])
            y = root_mean_square(x, p["n2"])
            x = x + (jax.nn.silu(y @ p["gate"]) * (y @ p["up"])) @ p["down"]
        logits = root_mean_square(x, params["n"]) @ params["head"]
        return jnp.argmax(logits, axis=-1).astype(jnp.int32), out, lengths + 1

    def layer(key):
        k = jax.random.split(key, 7)
        weights = {"q": dense(k[0], width, heads, depth), "k": dense(k[1], width, shared, depth), "v": dense(k[2], width, shared, depth),
                   "out": dense(k[3], heads, depth, width, fan_in=width), "gate": dense(k[4], width, hidden), "up": dense(k[5], width, hidden), "down": dense(k[6], hidden, width)}
        return {**{n: w.astype(HALF) for n, w in weights.items()}, "n1": jnp.ones((width,), HALF), "n2": jnp.ones((width,), HALF)}

    k = jax.random.split(key, 4)
    params = {"words": dense(k[0], words, width, fan_in=width).astype(HALF), "head": dense(k[1], width, words).astype(HALF), "n": jnp.ones((width,), HALF),
              "layers": [layer(q) for q in jax.random.split(k[2], layers)]}
    cache = jnp.zeros((pages, page, shared, depth), HALF)
    return step, (1,), (params, [(cache, cache)] * layers, integers(k[3], (batch, most), pages), jnp.full((batch,), 1500, jnp.int32), jnp.zeros((batch,), jnp.int32))


PROGRAMS = (orthogonal, hashed, preferred, sampled, paged)
