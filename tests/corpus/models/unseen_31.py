"""Training steps and a serving step of families that the others have none of, written before cost model 31; what was changed for them is in docs/judged.md.

Each function as in models/unseen.py.
"""
import jax
import jax.numpy as jnp

from models import adam
from models.unseen import HALF, cross_entropy, dense, integers, layer_norm, norm_of, root_mean_square, trained
from models.unseen_17 import perceptron_weights


def rotated(x):
    """Rotary places of the second dim, of the last one."""
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[1])[:, None] * 10000.0 ** (-jnp.arange(half) / half)
    cos, sin = (f(angles).astype(x.dtype)[:, None] for f in (jnp.cos, jnp.sin))
    left, right = x[..., :half], x[..., half:]
    return jnp.concatenate([left * cos - right * sin, right * cos + left * sin], axis=-1)


def compressed(key, batch=32, length=1024, width=2048, heads=16, depth=128, turned=64, kept=512, asked=1024, hidden=5504, layers=2, words=32768):
    """Multi-head latent attention: keys and values from one short vector a word, rotary places in a part of each head; gated perceptrons."""
    def attended(p, x):
        w = {n: v.astype(HALF) for n, v in p.items()}
        query = jnp.einsum("bsr,rhk->bshk", root_mean_square(x @ w["ask"], p["asked"]), w["q"])
        short = root_mean_square(x @ w["keep"], p["kept"])
        both = jnp.einsum("bsr,rhk->bshk", short, w["kv"])
        keys, values = both[..., :depth], both[..., depth:]
        places = rotated((x @ w["places"])[:, :, None])
        turn = rotated(query[..., depth:])
        scores = jnp.einsum("bqhk,bthk->bhqt", query[..., :depth], keys) + jnp.einsum("bqhk,btk->bhqt", turn, places[:, :, 0])
        scores = scores.astype(jnp.float32) * (depth + turned) ** -0.5
        at = jnp.arange(length)
        shares = jax.nn.softmax(jnp.where(at[:, None] >= at, scores, -1e30)).astype(HALF)
        return jnp.einsum("bshk,hkd->bsd", jnp.einsum("bhqt,bthk->bqhk", shares, values), w["out"])

    def loss_of(params, batch):
        x = params["words"].astype(HALF)[batch["tokens"]]
        for p in params["layers"]:
            x = x + attended(p["attention"], root_mean_square(x, p["n1"]))
            y = root_mean_square(x, p["n2"])
            x = x + (jax.nn.silu(y @ p["gate"].astype(HALF)) * (y @ p["up"].astype(HALF))) @ p["down"].astype(HALF)
        return cross_entropy(root_mean_square(x, params["n"]) @ params["head"].astype(HALF), batch["next"])

    def layer(key):
        k = jax.random.split(key, 8)
        return {"attention": {"ask": dense(k[0], width, asked), "asked": jnp.ones((asked,)), "q": dense(k[1], asked, heads, depth + turned), "keep": dense(k[2], width, kept),
                              "kept": jnp.ones((kept,)), "kv": dense(k[3], kept, heads, 2 * depth), "places": dense(k[4], width, turned), "out": dense(k[5], heads, depth, width, fan_in=heads * depth)},
                "n1": jnp.ones((width,)), "n2": jnp.ones((width,)), "gate": dense(k[6], width, hidden), **perceptron_weights(k[7], width, hidden)}

    k = jax.random.split(key, 5)
    params = {"words": dense(k[0], words, width, fan_in=width), "head": dense(k[1], width, words), "n": jnp.ones((width,)), "layers": [layer(q) for q in jax.random.split(k[2], layers)]}
    batch_of = {"tokens": integers(k[3], (batch, length), words), "next": integers(k[4], (batch, length), words)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def duals(key, batch=32, length=2048, width=1024, inner=2048, heads=32, states=128, chunk=256, taps=4, layers=2, words=32768):
    """Mamba-2: state spaces with one decay a head, as attention within chunks and states between them."""
    depth = inner // heads

    def mixed(p, x):
        w = {n: v.astype(HALF) for n, v in p.items()}
        gate, y = x @ w["gate"], jnp.concatenate([x @ w["in"], x @ w["write"], x @ w["read"]], axis=-1)
        y = jax.nn.silu(jax.lax.conv_general_dilated(y, w["taps"], (1,), [(taps - 1, 0)], dimension_numbers=("NHC", "HIO", "NHC"), feature_group_count=y.shape[-1]))
        values, write, read = jnp.split(y, [inner, inner + states], axis=-1)
        step = jax.nn.softplus((x @ w["step"]).astype(jnp.float32) + p["bias"])
        cut = (batch, length // chunk, chunk)
        decay = (-step * jnp.exp(p["decay"])).reshape(*cut, heads)
        values = (values.reshape(batch, length, heads, depth) * step[..., None].astype(HALF)).reshape(*cut, heads, depth)
        write, read = write.reshape(*cut, states), read.reshape(*cut, states)
        total = jnp.cumsum(decay, axis=2)
        within = jnp.einsum("bcqn,bckn->bcqk", read, write)
        apart = total[:, :, :, None] - total[:, :, None]
        at = jnp.arange(chunk)
        apart = jnp.exp(jnp.where((at[:, None] >= at)[..., None], apart, -jnp.inf)).astype(HALF)
        out = jnp.einsum("bcqkh,bckhd->bcqhd", within[..., None] * apart, values)
        left = jnp.exp(total[:, :, -1:] - total).astype(HALF)
        written = jnp.einsum("bckn,bckh,bckhd->bchnd", write, left, values)

        def carry(state, made):
            new, fade = made
            return state * fade[..., None, None] + new.astype(jnp.float32), state.astype(HALF)

        start = jnp.zeros((batch, heads, states, depth))
        _, before = jax.lax.scan(carry, start, (jnp.moveaxis(written, 1, 0), jnp.moveaxis(jnp.exp(total[:, :, -1]), 1, 0)))
        out = out + jnp.einsum("bcqn,cbhnd,bcqh->bcqhd", read, before, jnp.exp(total).astype(HALF))
        out = out.reshape(batch, length, inner) + y[..., :inner] * jnp.repeat(w["skip"], depth)
        return root_mean_square(out * jax.nn.silu(gate), p["norm"]) @ w["out"]

    def loss_of(params, batch):
        x = params["words"].astype(HALF)[batch["tokens"]]
        for p in params["layers"]:
            x = x + mixed(p, root_mean_square(x, p["n"]))
        return cross_entropy(root_mean_square(x, params["n"]) @ params["words"].astype(HALF).T, batch["next"])

    def layer(key):
        k = jax.random.split(key, 7)
        return {"n": jnp.ones((width,)), "norm": jnp.ones((inner,)), "gate": dense(k[0], width, inner), "in": dense(k[1], width, inner), "write": dense(k[2], width, states),
                "read": dense(k[3], width, states), "step": dense(k[4], width, heads), "bias": jnp.zeros((heads,)), "decay": jnp.zeros((heads,)), "skip": jnp.ones((heads,)),
                "taps": dense(k[5], taps, 1, inner + 2 * states), "out": dense(k[6], inner, width)}

    k = jax.random.split(key, 4)
    params = {"words": dense(k[0], words, width, fan_in=width), "n": jnp.ones((width,)), "layers": [layer(q) for q in jax.random.split(k[1], layers)]}
    batch_of = {"tokens": integers(k[2], (batch, length), words), "next": integers(k[3], (batch, length), words)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def flows(key, batch=512, size=64, channels=3, hidden=512, levels=2, steps=4):
    """A normalizing flow of pictures: squeezed, mixed by matrices of two triangles, shifted by convolutions of the other half."""
    def squeezed(x):
        b, h, w, c = x.shape
        return x.reshape(b, h // 2, 2, w // 2, 2, c).transpose(0, 1, 3, 2, 4, 5).reshape(b, h // 2, w // 2, 4 * c)

    def convolved(x, w):
        return jax.lax.conv_general_dilated(x, w.astype(HALF), (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def loss_of(params, batch):
        x, likely = batch["images"], 0.0
        for level in params["levels"]:
            x = squeezed(x)
            places = x.shape[1] * x.shape[2]
            for p in level:
                x = (x + p["bias"]) * jnp.exp(p["scale"])
                mix = (jnp.tril(p["lower"], -1) + jnp.eye(len(p["scale"]))) @ (jnp.triu(p["upper"], 1) + jnp.diag(jnp.exp(p["size"])))
                x = jnp.einsum("bhwc,cd->bhwd", x, mix)
                likely = likely + places * (jnp.sum(p["scale"]) + jnp.sum(p["size"]))
                left, right = jnp.split(x, 2, axis=-1)
                y = jax.nn.relu(convolved(left.astype(HALF), p["first"]))
                y = convolved(jax.nn.relu(convolved(y, p["second"])), p["third"]).astype(jnp.float32)
                shift, scale = jnp.split(y, 2, axis=-1)
                scale = jax.nn.log_sigmoid(scale + 2)
                x = jnp.concatenate([left, (right + shift) * jnp.exp(scale)], axis=-1)
                likely = likely + jnp.sum(scale, axis=(1, 2, 3))
        return jnp.mean(jnp.sum(0.5 * x ** 2, axis=(1, 2, 3)) - likely)

    def of_step(key, c):
        k = jax.random.split(key, 4)
        return {"bias": jnp.zeros((c,)), "scale": jnp.zeros((c,)), "lower": dense(k[0], c, c), "upper": dense(k[0], c, c), "size": jnp.zeros((c,)), "first": dense(k[1], 3, 3, c // 2, hidden, fan_in=9 * c),
                "second": dense(k[2], 1, 1, hidden, hidden, fan_in=hidden), "third": dense(k[3], 3, 3, hidden, c, fan_in=9 * hidden)}

    k = jax.random.split(key, levels + 1)
    params = {"levels": [[of_step(q, channels * 4 ** (i + 1)) for q in jax.random.split(k[i], steps)] for i in range(levels)]}
    batch_of = {"images": jax.random.normal(k[levels], (batch, size, size, channels))}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def retrieved(key, batch=1024, entries=1048576, width=256, found=64, words=32, heads=8, hidden=1024, layers=2):
    """Queries that are answered from a table: products with all of its rows, the largest of them, then layers that read what was found."""
    depth = width // heads

    def answer(params, table, values, batch):
        x = (batch["words"].astype(HALF) * batch["seen"][..., None].astype(HALF)).sum(1) @ params["query"].astype(HALF)
        scores = jnp.einsum("bd,nd->bn", x, table)
        best, at = jax.lax.top_k(scores.astype(jnp.float32), found)
        rows = values[at] * jax.nn.softmax(best)[..., None].astype(HALF)
        y = jnp.concatenate([x[:, None], rows], axis=1)
        for p in params["layers"]:
            z = layer_norm(y, p["n1"])
            q, k, v = (jnp.einsum("bsd,dhk->bshk", z, p[n].astype(HALF)) for n in "qkv")
            shares = jax.nn.softmax(jnp.einsum("bqhk,bthk->bhqt", q, k).astype(jnp.float32) * depth ** -0.5).astype(HALF)
            y = y + jnp.einsum("bshk,hkd->bsd", jnp.einsum("bhqt,bthk->bqhk", shares, v), p["out"].astype(HALF))
            y = y + jax.nn.gelu(layer_norm(y, p["n2"]) @ p["up"].astype(HALF)) @ p["down"].astype(HALF)
        return y[:, 0] @ params["result"].astype(HALF), at

    def layer(key):
        k = jax.random.split(key, 5)
        return {"n1": norm_of(width), "n2": norm_of(width), **{n: dense(q, width, heads, depth) for n, q in zip("qkv", k)}, "out": dense(k[3], heads, depth, width, fan_in=width),
                **perceptron_weights(k[4], width, hidden)}

    k = jax.random.split(key, 6)
    params = {"query": dense(k[0], width, width), "result": dense(k[1], width, width), "layers": [layer(q) for q in jax.random.split(k[2], layers)]}
    table, values = (jax.random.normal(q, (entries, width)).astype(HALF) for q in k[3:5])
    batch_of = {"words": jax.random.normal(k[5], (batch, words, width)), "seen": jnp.ones((batch, words))}
    return answer, (), (params, table, values, batch_of)


def sounds(key, batch=64, samples=65536, width=64, kernel=7, strides=(4, 4, 4), books=4, entries=1024, depth=256):
    """A sound codec: strided convolutions, residual vector quantisation, transposed convolutions back."""
    widths = [width * 2 ** i for i in range(len(strides) + 1)]

    def convolved(x, w, stride=1):
        return jax.lax.conv_general_dilated(x, w.astype(HALF), (stride,), "SAME", dimension_numbers=("NHC", "HIO", "NHC"))

    def beside(x, p):
        return x + convolved(jax.nn.elu(convolved(jax.nn.elu(x), p["wide"])), p["narrow"])

    def loss_of(params, batch):
        x = convolved(batch["samples"][..., None].astype(HALF), params["first"])
        for p, stride in zip(params["down"], strides):
            x = convolved(jax.nn.elu(beside(x, p)), p["move"], stride)
        x = convolved(jax.nn.elu(x), params["middle"]).astype(jnp.float32)
        rest, taken, cost = x, 0.0, 0.0
        for book in params["books"]:
            far = jnp.sum(book ** 2, axis=-1) - 2 * jnp.einsum("btd,nd->btn", rest.astype(HALF), book.astype(HALF)).astype(jnp.float32)
            entry = book[jnp.argmin(far, axis=-1)]
            cost = cost + jnp.mean((jax.lax.stop_gradient(rest) - entry) ** 2) + 0.25 * jnp.mean((rest - jax.lax.stop_gradient(entry)) ** 2)
            taken, rest = taken + entry, rest - jax.lax.stop_gradient(entry)
        y = convolved((x + jax.lax.stop_gradient(taken - x)).astype(HALF), params["again"])
        for p, stride in zip(params["up"], strides[::-1]):
            y = jax.lax.conv_transpose(jax.nn.elu(y), p["move"].astype(HALF), (stride,), "SAME", dimension_numbers=("NHC", "HIO", "NHC"))
            y = beside(y, p)
        out = convolved(jax.nn.elu(y), params["last"])[..., 0].astype(jnp.float32)
        return jnp.mean(jnp.abs(out - batch["samples"])) + cost

    def taps(key, n, inner, outer):
        return dense(key, n, inner, outer, fan_in=n * inner)

    def part(key, inner, outer, stride, beside_of):
        k = jax.random.split(key, 3)
        return {"wide": taps(k[0], kernel, beside_of, beside_of), "narrow": taps(k[1], 1, beside_of, beside_of), "move": taps(k[2], 2 * stride, inner, outer)}

    k = jax.random.split(key, 8)
    pairs = list(zip(widths, widths[1:], strides))
    params = {"first": taps(k[0], kernel, 1, width), "middle": taps(k[1], 3, widths[-1], depth), "again": taps(k[2], kernel, depth, widths[-1]), "last": taps(k[3], kernel, width, 1),
              "down": [part(q, a, b, s, a) for q, (a, b, s) in zip(jax.random.split(k[4], 3), pairs)], "up": [part(q, b, a, s, a) for q, (a, b, s) in zip(jax.random.split(k[5], 3), pairs[::-1])],
              "books": [dense(q, entries, depth) for q in jax.random.split(k[6], books)]}
    return trained(loss_of), (0, 1), (params, adam.init(params), {"samples": jax.random.normal(k[7], (batch, samples))})


PROGRAMS = (compressed, duals, flows, retrieved, sounds)
