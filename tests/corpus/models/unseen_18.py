"""Training steps of families that neither tests/corpus nor models/unseen.py nor models/unseen_17.py has; no constant of cost model 18 was fitted on them.

Each function as in models/unseen.py.
"""
import jax
import jax.numpy as jnp

from models import adam
from models.unseen import HALF, cross_entropy, dense, integers, layer_norm, norm_of, trained
from models.unseen_17 import attended, attention_weights, perceptron, perceptron_weights


def convolved(x, w, stride=1, dilation=1):
    return jax.lax.conv_general_dilated(x, w.astype(x.dtype), (stride, stride), "SAME", rhs_dilation=(dilation, dilation), dimension_numbers=("NHWC", "HWIO", "NHWC"))


def kernel(key, size, a, b):
    return dense(key, size, size, a, b, fan_in=size * size * a)


def rms_norm(x, scale):
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt(jnp.mean(wide ** 2, axis=-1, keepdims=True) + 1e-6) * (1 + scale)).astype(x.dtype)


def local_global(key, batch=32, length=2048, window=512, width=2048, heads=8, key_heads=4, depth=256, hidden=8192, layers=2, vocabulary=65536):
    """A language model whose layers look near and far in turn; logits are capped, keys shared by groups of heads, one table reads and writes words."""
    at = jnp.arange(length)

    def rotated(x):
        angles = at[:, None] * 10000.0 ** (-jnp.arange(0, depth, 2) / depth)
        sin, cos = jnp.sin(angles)[:, None].astype(x.dtype), jnp.cos(angles)[:, None].astype(x.dtype)
        a, b = jnp.split(x, 2, axis=-1)
        return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)

    def mixed(p, x, near):
        q = rotated(jnp.einsum("bsd,dhk->bshk", x, p["wq"].astype(x.dtype))).reshape(*x.shape[:2], key_heads, heads // key_heads, depth)
        k = rotated(jnp.einsum("bsd,dhk->bshk", x, p["wk"].astype(x.dtype)))
        v = jnp.einsum("bsd,dhk->bshk", x, p["wv"].astype(x.dtype))
        scores = 50 * jnp.tanh(jnp.einsum("bqghd,bkgd->bghqk", q, k).astype(jnp.float32) * depth ** -0.5 / 50)
        seen = at[:, None] >= at
        if near:
            seen &= at[:, None] - at < window
        shares = jax.nn.softmax(jnp.where(seen, scores, -1e30), axis=-1).astype(x.dtype)
        out = jnp.einsum("bghqk,bkgd->bqghd", shares, v).reshape(*x.shape[:2], heads, depth)
        return jnp.einsum("bshk,hkd->bsd", out, p["wo"].astype(x.dtype))

    def gated(p, x):
        return (jax.nn.gelu(x @ p["w_gate"].astype(x.dtype)) * (x @ p["w_up"].astype(x.dtype))) @ p["w_down"].astype(x.dtype)

    def loss_of(params, batch):
        table = params["embed"].astype(HALF)
        x = table[batch["tokens"]] * jnp.asarray(width ** 0.5, HALF)
        for i, p in enumerate(params["layers"]):
            x = x + rms_norm(mixed(p, rms_norm(x, p["n1"]), i % 2 == 0), p["n2"])
            x = x + rms_norm(gated(p, rms_norm(x, p["n3"])), p["n4"])
        logits = 30 * jnp.tanh((rms_norm(x, params["n"]) @ table.T).astype(jnp.float32) / 30)
        return cross_entropy(logits, batch["targets"])

    def layer(key):
        k = jax.random.split(key, 7)
        return {"wq": dense(k[0], width, heads, depth), "wk": dense(k[1], width, key_heads, depth), "wv": dense(k[2], width, key_heads, depth),
                "wo": dense(k[3], heads, depth, width, fan_in=heads * depth), "w_gate": dense(k[4], width, hidden), "w_up": dense(k[5], width, hidden),
                "w_down": dense(k[6], hidden, width), **{n: jnp.zeros((width,)) for n in ("n1", "n2", "n3", "n4")}}

    k = jax.random.split(key, 4)
    params = {"embed": dense(k[0], vocabulary, width, fan_in=width), "layers": [layer(q) for q in jax.random.split(k[1], layers)], "n": jnp.zeros((width,))}
    batch = {"tokens": integers(k[2], (batch, length), vocabulary), "targets": integers(k[3], (batch, length), vocabulary)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def pairs(key, batch=16, length=256, width=128, inner=128, heads=4, layers=2, bins=64):
    """Pairs of places of a protein: products along triangles, attention along rows and columns that pairs bias, distances in bins."""
    def triangle(p, x, outgoing):
        y = layer_norm(x, p["n"])
        a, b = (jax.nn.sigmoid(y @ p[g].astype(x.dtype)) * (y @ p[w].astype(x.dtype)) for g, w in (("gate_a", "a"), ("gate_b", "b")))
        z = jnp.einsum("bikc,bjkc->bijc" if outgoing else "bkic,bkjc->bijc", a, b)
        return jax.nn.sigmoid(y @ p["gate"].astype(x.dtype)) * (layer_norm(z, p["m"]) @ p["out"].astype(x.dtype))

    def along_rows(p, x):
        y = layer_norm(x, p["n"])
        q, k, v = (jnp.einsum("brsd,dhk->brshk", y, p[n].astype(x.dtype)) for n in ("q", "k", "v"))
        scores = jnp.einsum("brqhd,brkhd->brhqk", q, k).astype(jnp.float32) * q.shape[-1] ** -0.5
        scores = scores + jnp.einsum("bqkd,dh->bhqk", y, p["bias"].astype(x.dtype)).astype(jnp.float32)[:, None]
        z = jnp.einsum("brhqk,brkhd->brqhd", jax.nn.softmax(scores, axis=-1).astype(x.dtype), v)
        return jnp.einsum("brshk,hkd->brsd", z, p["out"].astype(x.dtype))

    def loss_of(params, batch):
        x = batch["pairs"].astype(HALF) @ params["embed"].astype(HALF)
        for p in params["layers"]:
            x = x + triangle(p["outgoing"], x, True)
            x = x + triangle(p["incoming"], x, False)
            x = x + along_rows(p["rows"], x)
            x = x + jnp.swapaxes(along_rows(p["columns"], jnp.swapaxes(x, 1, 2)), 1, 2)
            x = x + perceptron(p["perceptron"], layer_norm(x, p["n"]))
        return cross_entropy((x + jnp.swapaxes(x, 1, 2)) @ params["head"].astype(x.dtype), batch["distances"])

    def triangle_weights(key):
        k = jax.random.split(key, 6)
        return {"n": norm_of(width), "m": norm_of(inner), **{n: dense(k[i], width, inner) for i, n in enumerate(("a", "b", "gate_a", "gate_b"))},
                "gate": dense(k[4], width, width), "out": dense(k[5], inner, width)}

    def rows_weights(key):
        a, b = jax.random.split(key)
        return {**attention_weights(a, width, heads, width // heads), "bias": dense(b, width, heads), "n": norm_of(width)}

    def layer(key):
        k = jax.random.split(key, 5)
        return {"outgoing": triangle_weights(k[0]), "incoming": triangle_weights(k[1]), "rows": rows_weights(k[2]), "columns": rows_weights(k[3]),
                "perceptron": perceptron_weights(k[4], width, 4 * width), "n": norm_of(width)}

    k = jax.random.split(key, 5)
    params = {"embed": dense(k[0], 64, width), "layers": [layer(q) for q in jax.random.split(k[1], layers)], "head": dense(k[2], width, bins)}
    batch = {"pairs": jax.random.normal(k[3], (batch, length, length, 64)), "distances": integers(k[4], (batch, length, length), bins)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def masked_words(key, batch=256, length=512, picked=80, width=1024, heads=16, hidden=4096, layers=2, vocabulary=30592, rate=0.1):
    """An encoder with dropout in every layer; words are read at a few places of each text only."""
    def dropped(key, x):
        return jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0).astype(x.dtype)

    def loss_of(params, batch, key):
        x = sum(params[n].astype(HALF)[batch[n]] for n in ("words", "segments")) + params["places"].astype(HALF)
        x = layer_norm(x, params["n"])
        for i, p in enumerate(params["layers"]):
            a, b = jax.random.split(jax.random.fold_in(key, i))
            x = layer_norm(x + dropped(a, attended(p["attention"], x, x)), p["n1"])
            x = layer_norm(x + dropped(b, perceptron(p["perceptron"], x)), p["n2"])
        x = jnp.take_along_axis(x, batch["picked"][..., None], axis=1)
        x = layer_norm(jax.nn.gelu(x @ params["transform"].astype(x.dtype)), params["m"])
        return cross_entropy(x @ params["words"].astype(x.dtype).T, batch["labels"])

    def step(params, opt_state, batch, key):
        loss, grads = jax.value_and_grad(loss_of)(params, batch, jax.random.wrap_key_data(key))
        params, opt_state = adam.update(params, opt_state, grads)
        return params, opt_state, loss

    k = jax.random.split(key, 10)

    def layer(key):
        a, b = jax.random.split(key)
        return {"attention": attention_weights(a, width, heads, width // heads), "perceptron": perceptron_weights(b, width, hidden), "n1": norm_of(width), "n2": norm_of(width)}

    params = {"words": dense(k[0], vocabulary, width, fan_in=width), "segments": dense(k[1], 2, width), "places": dense(k[2], length, width),
              "layers": [layer(q) for q in jax.random.split(k[3], layers)], "transform": dense(k[4], width, width), "n": norm_of(width), "m": norm_of(width)}
    batch = {"words": integers(k[5], (batch, length), vocabulary), "segments": integers(k[6], (batch, length), 2), "picked": integers(k[7], (batch, picked), length),
             "labels": integers(k[8], (batch, picked), vocabulary)}
    return step, (0, 1), (params, adam.init(params), batch, jax.random.key_data(k[9]))


def dictionary(key, batch=8192, width=2048, codes=32768, most=64):
    """A sparse autoencoder: activations as sums of a few of many directions; the largest few are kept."""
    def loss_of(params, x):
        y = (x - params["centre"]).astype(HALF)
        codes = jax.nn.relu(y @ params["read"].astype(HALF) + params["bias"].astype(HALF))
        least = jax.lax.top_k(codes, most)[0][:, -1:]
        codes = jnp.where(codes >= least, codes, 0)
        again = (codes @ params["written"].astype(HALF)).astype(jnp.float32) + params["centre"]
        return jnp.mean((again - x) ** 2) + 1e-3 * jnp.mean(jnp.sum(codes.astype(jnp.float32), axis=-1))

    k = jax.random.split(key, 3)
    params = {"read": dense(k[0], width, codes), "bias": jnp.zeros((codes,)), "written": dense(k[1], codes, width, fan_in=width), "centre": jnp.zeros((width,))}
    return trained(loss_of), (0, 1), (params, adam.init(params), jax.random.normal(k[2], (batch, width)))


def spectral(key, batch=64, grid=128, width=64, modes=16, layers=4):
    """A Fourier neural operator: fields are mixed at the lowest frequencies of a plane."""
    def mixed(p, x):
        wave = jnp.fft.rfft2(x.astype(jnp.float32), axes=(1, 2))
        low = jnp.concatenate([wave[:, :modes, :modes], wave[:, -modes:, :modes]], axis=1)
        low = jnp.einsum("bxyi,xyio->bxyo", low, p["real"] + 1j * p["imag"])
        out = jnp.zeros_like(wave).at[:, :modes, :modes].set(low[:, :modes]).at[:, -modes:, :modes].set(low[:, modes:])
        return jnp.fft.irfft2(out, s=(grid, grid), axes=(1, 2)).astype(x.dtype)

    def loss_of(params, batch):
        x = (batch["before"] @ params["lift"]).astype(HALF)
        for p in params["layers"]:
            x = jax.nn.gelu(mixed(p, x) + x @ p["w"].astype(x.dtype))
        out = jax.nn.gelu(x @ params["first"].astype(x.dtype)) @ params["last"].astype(x.dtype)
        return jnp.mean((out.astype(jnp.float32) - batch["after"]) ** 2)

    def layer(key):
        k = jax.random.split(key, 3)
        return {"real": dense(k[0], 2 * modes, modes, width, width, fan_in=width), "imag": dense(k[1], 2 * modes, modes, width, width, fan_in=width), "w": dense(k[2], width, width)}

    k = jax.random.split(key, 6)
    params = {"lift": dense(k[0], 3, width), "layers": [layer(q) for q in jax.random.split(k[1], layers)], "first": dense(k[2], width, 4 * width), "last": dense(k[3], 4 * width, 1)}
    batch = {"before": jax.random.normal(k[4], (batch, grid, grid, 3)), "after": jax.random.normal(k[5], (batch, grid, grid, 1))}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def policy(key, games=2048, steps=128, seen=512, width=1024, moves=32):
    """A policy and a value learn from games: advantages are summed backwards in time, ratios are clipped."""
    def loss_of(params, batch):
        x = batch["seen"].astype(HALF)
        for p in params["body"]:
            x = jax.nn.relu(x @ p["w"].astype(x.dtype) + p["b"].astype(x.dtype))
        value = (x @ params["value"].astype(x.dtype)).astype(jnp.float32)[..., 0]
        chances = jax.nn.log_softmax((x @ params["moves"].astype(x.dtype)).astype(jnp.float32))
        taken = jnp.take_along_axis(chances, batch["move"][..., None], axis=-1)[..., 0]

        def backwards(gain, now):
            error, going = now
            gain = error + 0.95 * going * gain
            return gain, gain
        following = jnp.concatenate([value[1:], jnp.zeros_like(value[:1])])
        errors = jax.lax.stop_gradient(batch["reward"] + 0.99 * batch["going"] * following - value)
        _, gains = jax.lax.scan(backwards, jnp.zeros_like(errors[0]), (errors, batch["going"]), reverse=True)
        scaled = (gains - gains.mean()) / (gains.std() + 1e-6)
        ratio = jnp.exp(taken - batch["chance"])
        gained = jnp.minimum(ratio * scaled, jnp.clip(ratio, 0.8, 1.2) * scaled).mean()
        apart = jnp.mean((value - jax.lax.stop_gradient(gains + value)) ** 2)
        spread = -jnp.sum(jnp.exp(chances) * chances, axis=-1).mean()
        return apart / 2 - gained - spread / 100

    k = jax.random.split(key, 10)
    widths = [seen, width, width, width]
    params = {"body": [{"w": dense(k[i], a, b), "b": jnp.zeros((b,))} for i, (a, b) in enumerate(zip(widths, widths[1:]))],
              "value": dense(k[3], width, 1), "moves": dense(k[4], width, moves)}
    batch = {"seen": jax.random.normal(k[5], (steps, games, seen)), "move": integers(k[6], (steps, games), moves), "reward": jax.random.normal(k[7], (steps, games)),
             "going": jnp.ones((steps, games)), "chance": jax.random.normal(k[8], (steps, games))}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def pyramid(key, batch=64, image=256, widths=(64, 128, 256, 512), width=256, anchors=9, classes=80):
    """A detector: features of several scales are added top down; at every place of every scale classes and boxes, most of them background."""
    def loss_of(params, batch):
        x = jax.nn.relu(convolved(batch["images"].astype(HALF), params["stem"], 2))
        scales = []
        for p in params["stages"]:
            x = jax.nn.relu(convolved(x, p["w1"], 2))
            x = x + jax.nn.relu(convolved(jax.nn.relu(convolved(x, p["w2"])), p["w3"]))
            scales.append(x)
        total, above = 0.0, None
        for i in reversed(range(1, len(widths))):
            y = convolved(scales[i], params["lateral"][i - 1])
            if above is not None:
                y = y + jnp.repeat(jnp.repeat(above, 2, axis=1), 2, axis=2)
            above = y
            for w in params["tower"]:
                y = jax.nn.relu(convolved(y, w))
            b, h, w, _ = y.shape
            logits = convolved(y, params["classes"]).astype(jnp.float32).reshape(b, h * w * anchors, classes)
            boxes = convolved(y, params["boxes"]).astype(jnp.float32).reshape(b, h * w * anchors, 4)
            wanted = batch["labels"][i - 1]
            is_one = jax.nn.one_hot(wanted, classes)
            chance = jax.nn.sigmoid(logits)
            hard = jnp.where(is_one > 0, 0.25 * (1 - chance) ** 2, 0.75 * chance ** 2)
            total += jnp.sum(hard * (jax.nn.softplus(logits) - is_one * logits)) / b
            total += jnp.sum(jnp.where((wanted >= 0)[..., None], jnp.abs(boxes - batch["boxes"][i - 1]), 0)) / b
        return total

    k = jax.random.split(key, 12)
    befores = (32, *widths)
    params = {"stem": kernel(k[0], 7, 3, 32), "tower": [kernel(q, 3, width, width) for q in jax.random.split(k[1], 2)],
              "stages": [{"w1": kernel(a, 3, befores[i], widths[i]), "w2": kernel(b, 3, widths[i], widths[i]), "w3": kernel(c, 3, widths[i], widths[i])}
                         for i, (a, b, c) in enumerate(jax.random.split(q, 3) for q in jax.random.split(k[2], len(widths)))],
              "lateral": [kernel(q, 1, w, width) for q, w in zip(jax.random.split(k[3], 3), widths[1:])],
              "classes": kernel(k[4], 3, width, anchors * classes), "boxes": kernel(k[5], 3, width, anchors * 4)}
    counts = [(image // 2 ** (i + 2)) ** 2 * anchors for i in range(1, len(widths))]
    batch = {"images": jax.random.normal(k[6], (batch, image, image, 3)), "labels": [integers(k[7], (batch, n), classes) for n in counts],
             "boxes": [jax.random.normal(k[8], (batch, n, 4)) for n in counts]}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def points(key, batch=64, count=1024, near=16, widths=(64, 128, 256), classes=40):
    """Clouds of points: each reads its nearest neighbours, which are found anew in every layer, and keeps the largest of what it reads."""
    def loss_of(params, batch):
        x = batch["points"]
        read = []
        for w in params["edges"]:
            squares = jnp.sum(x.astype(jnp.float32) ** 2, axis=-1)
            far = squares[:, :, None] + squares[:, None] - 2 * jnp.einsum("bid,bjd->bij", x, x).astype(jnp.float32)
            _, at = jax.lax.top_k(-jax.lax.stop_gradient(far), near)
            y = jax.vmap(lambda rows, at: rows[at])(x, at)
            y = jnp.concatenate([y - x[:, :, None], jnp.broadcast_to(x[:, :, None], y.shape)], axis=-1).astype(HALF)
            x = jax.nn.relu(y @ w.astype(HALF)).max(axis=2)
            read.append(x)
        x = jax.nn.relu(jnp.concatenate(read, axis=-1) @ params["joined"].astype(HALF)).max(axis=1)
        return cross_entropy(jax.nn.relu(x @ params["w"].astype(HALF)) @ params["head"].astype(HALF), batch["labels"])

    k = jax.random.split(key, 8)
    befores = (3, *widths)
    params = {"edges": [dense(k[i], 2 * a, b) for i, (a, b) in enumerate(zip(befores, widths))], "joined": dense(k[3], sum(widths), 1024), "w": dense(k[4], 1024, 512),
              "head": dense(k[5], 512, classes)}
    batch = {"points": jax.random.normal(k[6], (batch, count, 3)), "labels": integers(k[7], (batch,), classes)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def ensemble(key, members=32, batch=4096, features=256, width=1024, hidden=3):
    """Many perceptrons at once, each with weights of its own, all of them see the same data."""
    def loss_of(params, batch):
        def one(p):
            x = batch["x"].astype(HALF)
            for w, b in zip(p["w"], p["b"]):
                x = jax.nn.silu(x @ w.astype(x.dtype) + b.astype(x.dtype))
            out = (x @ p["out"].astype(x.dtype)).astype(jnp.float32)
            mean, spread = out[:, 0], jax.nn.softplus(out[:, 1]) + 1e-3
            return jnp.mean(jnp.log(spread) + (mean - batch["y"]) ** 2 / spread / 2)
        return jax.vmap(one)(params).sum()

    def member(key):
        k = jax.random.split(key, hidden + 1)
        widths = [features] + [width] * hidden
        return {"w": [dense(q, a, b) for q, a, b in zip(k, widths, widths[1:])], "b": [jnp.zeros((width,)) for _ in range(hidden)], "out": dense(k[-1], width, 2)}

    k = jax.random.split(key, 3)
    params = jax.vmap(member)(jax.random.split(k[0], members))
    batch = {"x": jax.random.normal(k[1], (batch, features)), "y": jax.random.normal(k[2], (batch,))}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def adapted(key, tasks=256, shots=64, features=256, width=512):
    """Learning to learn: every task takes two gradient steps of its own from shared weights; the update goes through them."""
    def applied(p, x):
        x = jax.nn.relu(x @ p["w1"].astype(x.dtype) + p["b1"].astype(x.dtype))
        x = jax.nn.relu(x @ p["w2"].astype(x.dtype) + p["b2"].astype(x.dtype))
        return (x @ p["out"].astype(x.dtype)).astype(jnp.float32)

    def error(p, x, y):
        return jnp.mean((applied(p, x.astype(HALF)) - y) ** 2)

    def loss_of(params, batch):
        def of_task(x, y, held_x, held_y):
            p = params
            for _ in range(2):
                p = jax.tree.map(lambda w, g: w - 0.01 * g, p, jax.grad(error)(p, x, y))
            return error(p, held_x, held_y)
        return jax.vmap(of_task)(batch["x"], batch["y"], batch["held_x"], batch["held_y"]).mean()

    k = jax.random.split(key, 7)
    params = {"w1": dense(k[0], features, width), "b1": jnp.zeros((width,)), "w2": dense(k[1], width, width), "b2": jnp.zeros((width,)), "out": dense(k[2], width, 8)}
    batch = {n: jax.random.normal(q, (tasks, shots, features if n.endswith("x") else 8)) for n, q in zip(("x", "y", "held_x", "held_y"), k[3:])}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def distilled(key, batch=256, places=256, patch=768, width=1024, heads=16, hidden=4096, layers=2, prototypes=16384):
    """A student follows a teacher that is its own slow mean; both see another view of each picture."""
    def encoded(params, patches):
        x = patches.astype(HALF) @ params["embed"].astype(HALF) + params["places"].astype(HALF)
        for p in params["layers"]:
            y = layer_norm(x, p["n1"])
            x = x + attended(p["attention"], y, y)
            x = x + perceptron(p["perceptron"], layer_norm(x, p["n2"]))
        x = layer_norm(x, params["n"]).mean(axis=1)
        x = x * jax.lax.rsqrt(jnp.sum(x.astype(jnp.float32) ** 2, axis=-1, keepdims=True) + 1e-6).astype(x.dtype)
        return (x @ params["prototypes"].astype(x.dtype)).astype(jnp.float32)

    def step(params, opt_state, teacher, batch):
        wanted = jax.nn.softmax((encoded(teacher["params"], batch["first"]) - teacher["centre"]) / 0.04)

        def loss_of(params):
            return -jnp.mean(jnp.sum(wanted * jax.nn.log_softmax(encoded(params, batch["second"]) / 0.1), axis=-1))
        loss, grads = jax.value_and_grad(loss_of)(params)
        params, opt_state = adam.update(params, opt_state, grads)
        slow = jax.tree.map(lambda t, p: 0.996 * t + 0.004 * p, teacher["params"], params)
        return params, opt_state, {"params": slow, "centre": 0.9 * teacher["centre"] + 0.1 * wanted.mean(0)}, loss

    def layer(key):
        a, b = jax.random.split(key)
        return {"attention": attention_weights(a, width, heads, width // heads), "perceptron": perceptron_weights(b, width, hidden), "n1": norm_of(width), "n2": norm_of(width)}

    k = jax.random.split(key, 6)
    params = {"embed": dense(k[0], patch, width), "places": dense(k[1], places, width), "layers": [layer(q) for q in jax.random.split(k[2], layers)], "n": norm_of(width),
              "prototypes": dense(k[3], width, prototypes)}
    batch = {"first": jax.random.normal(k[4], (batch, places, patch)), "second": jax.random.normal(k[5], (batch, places, patch))}
    return step, (0, 1, 2), (params, adam.init(params), {"params": params, "centre": jnp.zeros((prototypes,))}, batch)


def segmented(key, batch=64, image=128, widths=(64, 128, 256), width=256, classes=32):
    """A class for every pixel: convolutions that look far without losing scale, and pictures enlarged by interpolation."""
    def normed(x, p):
        groups = x.astype(jnp.float32).reshape(*x.shape[:3], 16, -1)
        mean = groups.mean((1, 2, 4), keepdims=True)
        scaled = (groups - mean) * jax.lax.rsqrt(((groups - mean) ** 2).mean((1, 2, 4), keepdims=True) + 1e-5)
        return (scaled.reshape(x.shape) * p["scale"] + p["bias"]).astype(x.dtype)

    def loss_of(params, batch):
        x = batch["images"].astype(HALF)
        for p in params["stages"]:
            x = jax.nn.relu(normed(convolved(x, p["w1"], 2), p["n1"]))
            x = x + jax.nn.relu(normed(convolved(x, p["w2"]), p["n2"]))
        far = [jax.nn.relu(convolved(x, w, dilation=d)) for w, d in zip(params["far"], (1, 2, 4))]
        whole = jnp.broadcast_to(jax.nn.relu(x.mean((1, 2), keepdims=True) @ params["whole"].astype(x.dtype)), far[0].shape)
        x = jnp.concatenate([*far, whole], axis=-1) @ params["joined"].astype(x.dtype)
        x = jax.image.resize(x, (x.shape[0], image // 2, image // 2, width), "bilinear")
        logits = convolved(x, params["head"])
        logits = jax.image.resize(logits.astype(jnp.float32), (x.shape[0], image, image, classes), "bilinear")
        return cross_entropy(logits, batch["labels"])

    k = jax.random.split(key, 7)
    befores = (3, *widths)

    def stage(key, a, b):
        first, last = jax.random.split(key)
        return {"w1": kernel(first, 3, a, b), "w2": kernel(last, 3, b, b), "n1": norm_of(b), "n2": norm_of(b)}

    params = {"stages": [stage(q, befores[i], widths[i]) for i, q in enumerate(jax.random.split(k[0], len(widths)))],
              "far": [kernel(q, 3, widths[-1], width) for q in jax.random.split(k[1], 3)], "whole": dense(k[2], widths[-1], width), "joined": dense(k[3], 4 * width, width),
              "head": kernel(k[4], 3, width, classes)}
    batch = {"images": jax.random.normal(k[5], (batch, image, image, 3)), "labels": integers(k[6], (batch, image, image), classes)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


PROGRAMS = (local_global, pairs, masked_words, dictionary, spectral, policy, pyramid, points, ensemble, adapted, distilled, segmented)
