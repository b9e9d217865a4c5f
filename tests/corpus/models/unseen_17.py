"""Training steps of families that neither tests/corpus nor models/unseen.py has; no constant of cost model 17 was fitted on them.

Each function as in models/unseen.py.
"""
import jax
import jax.numpy as jnp

from models import adam
from models.unseen import HALF, cross_entropy, dense, integers, layer_norm, norm_of, trained


def attention(q, k, v):
    """q, k, v: batch, places, heads, depth."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) * q.shape[-1] ** -0.5
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1).astype(q.dtype), v)


def attention_weights(key, width, heads, depth, read=None):
    k = jax.random.split(key, 4)
    return {"q": dense(k[0], width, heads, depth), "k": dense(k[1], read or width, heads, depth), "v": dense(k[2], read or width, heads, depth),
            "out": dense(k[3], heads, depth, width, fan_in=heads * depth)}


def attended(p, x, y):
    q, k, v = (jnp.einsum("bsd,dhk->bshk", t, p[n].astype(t.dtype)) for n, t in (("q", x), ("k", y), ("v", y)))
    return jnp.einsum("bshk,hkd->bsd", attention(q, k, v), p["out"].astype(x.dtype))


def perceptron_weights(key, width, hidden):
    a, b = jax.random.split(key)
    return {"up": dense(a, width, hidden), "down": dense(b, hidden, width)}


def perceptron(p, x):
    return jax.nn.gelu(x @ p["up"].astype(x.dtype)) @ p["down"].astype(x.dtype)


def conformer(key, batch=128, frames=512, features=80, width=1024, hidden=4096, heads=16, taps=15, layers=2, symbols=1024):
    """Speech: layers of attention and of a convolution over time for one channel each; every frame names a symbol."""
    def over_time(p, x):
        x = jax.nn.glu(x @ p["gate"].astype(x.dtype))
        x = jax.lax.conv_general_dilated(x, p["taps"].astype(x.dtype), (1,), "SAME", dimension_numbers=("NHC", "HIO", "NHC"), feature_group_count=width)
        return jax.nn.silu(x) @ p["out"].astype(x.dtype)

    def loss_of(params, batch):
        x = batch["frames"].astype(HALF) @ params["embed"].astype(HALF)
        for p in params["layers"]:
            x = x + perceptron(p["first"], layer_norm(x, p["n1"])) / 2
            y = layer_norm(x, p["n2"])
            x = x + attended(p["attention"], y, y)
            x = x + over_time(p["over_time"], layer_norm(x, p["n3"]))
            x = x + perceptron(p["last"], layer_norm(x, p["n4"])) / 2
        return cross_entropy(x @ params["head"].astype(x.dtype), batch["symbols"])

    def layer(key):
        k = jax.random.split(key, 6)
        return {"first": perceptron_weights(k[0], width, hidden), "last": perceptron_weights(k[1], width, hidden),
                "attention": attention_weights(k[2], width, heads, width // heads), **{n: norm_of(width) for n in ("n1", "n2", "n3", "n4")},
                "over_time": {"gate": dense(k[3], width, 2 * width), "taps": dense(k[4], taps, 1, width), "out": dense(k[5], width, width)}}

    k = jax.random.split(key, 5)
    params = {"embed": dense(k[0], features, width), "layers": [layer(q) for q in jax.random.split(k[1], layers)], "head": dense(k[2], width, symbols)}
    batch = {"frames": jax.random.normal(k[3], (batch, frames, features)), "symbols": integers(k[4], (batch, frames), symbols)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def codebook(key, batch=256, image=64, width=256, codes=8192):
    """A picture is coded by the nearest of many vectors at each place, and decoded by transposed convolutions."""
    def convolved(x, w, stride=1):
        return jax.lax.conv_general_dilated(x, w.astype(x.dtype), (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def enlarged(x, w):
        return jax.lax.conv_transpose(x, w.astype(x.dtype), (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def loss_of(params, pictures):
        x = pictures.astype(HALF)
        for w in params["down"]:
            x = jax.nn.relu(convolved(x, w, 2))
        z = convolved(x, params["middle"]).astype(jnp.float32)
        table = params["codes"]
        far = jnp.sum(table ** 2, axis=1) - 2 * jnp.einsum("bhwc,kc->bhwk", z.astype(HALF), table.astype(HALF)).astype(jnp.float32)
        nearest = table[jnp.argmin(far, axis=-1)]
        apart = jnp.mean((jax.lax.stop_gradient(z) - nearest) ** 2) + jnp.mean((z - jax.lax.stop_gradient(nearest)) ** 2) / 4
        x = (z + jax.lax.stop_gradient(nearest - z)).astype(HALF)
        for i, w in enumerate(params["up"]):
            x = enlarged(x, w)
            x = jax.nn.relu(x) if i + 1 < len(params["up"]) else x
        return jnp.mean((x.astype(jnp.float32) - pictures) ** 2) + apart

    k = jax.random.split(key, 7)

    def kernel(k, size, a, b):
        return dense(k, size, size, a, b, fan_in=size * size * a)

    params = {"down": [kernel(k[0], 4, 3, width // 2), kernel(k[1], 4, width // 2, width)], "middle": kernel(k[2], 3, width, width),
              "codes": dense(k[3], codes, width), "up": [kernel(k[4], 4, width, width // 2), kernel(k[5], 4, width // 2, 3)]}
    return trained(loss_of), (0, 1), (params, adam.init(params), jax.random.normal(k[6], (batch, image, image, 3)))


def radiance(key, rays=65536, samples=64, frequencies=10, width=256, layers=8):
    """A radiance field: a narrow, deep perceptron at many points, composed along each ray."""
    def encoded(x, n):
        angles = x[..., None, :] * (2.0 ** jnp.arange(n))[:, None]
        return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1).reshape(*x.shape[:-1], -1)

    def loss_of(params, batch):
        depths = jnp.linspace(2.0, 6.0, samples)
        points = batch["origins"][:, None] + batch["directions"][:, None] * depths[:, None]
        start = x = encoded(points, frequencies).astype(HALF)
        for i, p in enumerate(params["layers"]):
            x = jnp.concatenate([x, start], axis=-1) if i == layers // 2 else x
            x = jax.nn.relu(x @ p["w"].astype(x.dtype) + p["b"].astype(x.dtype))
        out = (x @ params["out"].astype(x.dtype)).astype(jnp.float32)
        opaque = 1 - jnp.exp(-jax.nn.relu(out[..., 3]) * (4.0 / samples))
        left = jnp.cumprod(1 - opaque + 1e-10, axis=-1)
        weight = opaque * jnp.concatenate([jnp.ones_like(left[:, :1]), left[:, :-1]], axis=-1)
        return jnp.mean((jnp.sum(weight[..., None] * jax.nn.sigmoid(out[..., :3]), axis=1) - batch["colours"]) ** 2)

    k = jax.random.split(key, layers + 4)
    first = 6 * frequencies
    widths = [first] + [width] * layers
    params = {"layers": [{"w": dense(k[i], widths[i] + (first if i == layers // 2 else 0), width), "b": jnp.zeros((width,))} for i in range(layers)],
              "out": dense(k[layers], width, 4)}
    batch = {n: jax.random.normal(q, (rays, 3)) for n, q in zip(("origins", "directions", "colours"), k[layers + 1:])}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def video(key, batch=64, frames=16, image=56, widths=(64, 128, 256), classes=400):
    """Clips: convolutions over time and space with batch statistics."""
    def convolved(x, w, stride):
        return jax.lax.conv_general_dilated(x, w.astype(x.dtype), stride, "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC"))

    def normed(x, p):
        wide = x.astype(jnp.float32)
        mean = wide.mean((0, 1, 2, 3))
        spread = jnp.maximum((wide ** 2).mean((0, 1, 2, 3)) - mean ** 2, 0)
        return ((wide - mean) * jax.lax.rsqrt(spread + 1e-5) * p["scale"] + p["bias"]).astype(x.dtype)

    def loss_of(params, batch):
        x = batch["clips"].astype(HALF)
        for i, p in enumerate(params["blocks"]):
            x = jax.nn.relu(normed(convolved(x, p["first"], (1, 1, 1) if not i else (2, 2, 2)), p["n1"]))
            x = x + jax.nn.relu(normed(convolved(x, p["last"], (1, 1, 1)), p["n2"]))
        return cross_entropy(x.mean((1, 2, 3)) @ params["head"].astype(x.dtype), batch["labels"])

    k = jax.random.split(key, 2 * len(widths) + 3)
    params, before = {"blocks": []}, 3
    for i, width in enumerate(widths):
        params["blocks"].append({"first": dense(k[2 * i], 3, 3, 3, before, width, fan_in=27 * before), "n1": norm_of(width),
                                 "last": dense(k[2 * i + 1], 3, 3, 3, width, width, fan_in=27 * width), "n2": norm_of(width)})
        before = width
    params["head"] = dense(k[-3], before, classes)
    batch = {"clips": jax.random.normal(k[-2], (batch, frames, image, image, 3)), "labels": integers(k[-1], (batch,), classes)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def windows(key, batch=256, image=56, window=7, width=512, heads=16, hidden=2048, layers=2, classes=1000):
    """A picture's places attend within windows, every other layer within shifted ones."""
    def parted(x):
        b, h, w, d = x.shape
        return x.reshape(b, h // window, window, w // window, window, d).transpose(0, 1, 3, 2, 4, 5).reshape(-1, window * window, d)

    def joined(x, b):
        n = image // window
        return x.reshape(b, n, n, window, window, width).transpose(0, 1, 3, 2, 4, 5).reshape(b, image, image, width)

    def loss_of(params, batch):
        x = batch["places"].astype(HALF)
        for i, p in enumerate(params["layers"]):
            shift = window // 2 if i % 2 else 0
            y = parted(jnp.roll(layer_norm(x, p["n1"]), (-shift, -shift), (1, 2)))
            x = x + jnp.roll(joined(attended(p["attention"], y, y), x.shape[0]), (shift, shift), (1, 2))
            x = x + perceptron(p["perceptron"], layer_norm(x, p["n2"]))
        return cross_entropy(x.mean((1, 2)) @ params["head"].astype(x.dtype), batch["labels"])

    k = jax.random.split(key, 2 * layers + 3)
    params = {"layers": [{"attention": attention_weights(k[2 * i], width, heads, width // heads), "perceptron": perceptron_weights(k[2 * i + 1], width, hidden),
                          "n1": norm_of(width), "n2": norm_of(width)} for i in range(layers)], "head": dense(k[-3], width, classes)}
    batch = {"places": jax.random.normal(k[-2], (batch, image, image, width)), "labels": integers(k[-1], (batch,), classes)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def latents(key, batch=128, places=4096, features=256, count=512, width=1024, hidden=4096, heads=16, layers=3, classes=1000):
    """A few latent vectors read long inputs once, and work among themselves."""
    def loss_of(params, batch):
        inputs = layer_norm(batch["inputs"].astype(HALF), params["n"])
        x = jnp.broadcast_to(params["latents"].astype(HALF), (inputs.shape[0], count, width))
        for i, p in enumerate(params["layers"]):
            y = layer_norm(x, p["n1"])
            x = x + attended(p["attention"], y, inputs if i == 0 else y)
            x = x + perceptron(p["perceptron"], layer_norm(x, p["n2"]))
        return cross_entropy(x.mean(1) @ params["head"].astype(x.dtype), batch["labels"])

    k = jax.random.split(key, 2 * layers + 4)
    params = {"latents": dense(k[-1], count, width), "n": norm_of(features), "head": dense(k[-2], width, classes),
              "layers": [{"attention": attention_weights(k[2 * i], width, heads, width // heads, features if i == 0 else None),
                          "perceptron": perceptron_weights(k[2 * i + 1], width, hidden), "n1": norm_of(width), "n2": norm_of(width)} for i in range(layers)]}
    batch = {"inputs": jax.random.normal(k[-3], (batch, places, features)), "labels": integers(k[-4], (batch,), classes)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def dynamics(key, batch=4096, width=1024, hidden=4096, steps=16):
    """A differential equation whose right side is a perceptron, in Runge-Kutta steps of a loop."""
    def loss_of(params, batch):
        def slope(x):
            return jnp.tanh(x @ params["w1"].astype(x.dtype)) @ params["w2"].astype(x.dtype)

        def step(x, _):
            a = slope(x)
            b = slope(x + a / (2 * steps))
            c = slope(x + b / (2 * steps))
            d = slope(x + c / steps)
            return x + (a + 2 * b + 2 * c + d) / (6 * steps), None
        x, _ = jax.lax.scan(step, batch["start"].astype(HALF), None, length=steps)
        return jnp.mean((x.astype(jnp.float32) - batch["end"]) ** 2)

    k = jax.random.split(key, 4)
    params = {"w1": dense(k[0], width, hidden), "w2": dense(k[1], hidden, width)}
    batch = {"start": jax.random.normal(k[2], (batch, width)), "end": jax.random.normal(k[3], (batch, width))}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def linear_attention(key, batch=64, length=2048, chunk=256, width=1024, heads=16, hidden=4096, layers=2, vocabulary=32768):
    """A language model whose attention is a state that decays, worked through chunk by chunk."""
    def mixed(p, x):
        b, depth = x.shape[0], width // heads
        q, k, v = (jnp.einsum("bsd,dhk->bhsk", x, p[n].astype(x.dtype)).reshape(b, heads, length // chunk, chunk, depth) for n in ("q", "k", "v"))
        rate = jnp.log(1 - 2.0 ** (-5 - jnp.arange(heads, dtype=jnp.float32)))[:, None]
        at = jnp.arange(chunk, dtype=jnp.float32)
        fade = jnp.where(at[:, None] >= at, jnp.exp(rate[..., None] * (at[:, None] - at)), 0).astype(x.dtype)
        inner = jnp.einsum("bhnqk,bhnks->bhnqs", jnp.einsum("bhnqd,bhnkd->bhnqk", q, k) * fade[:, None], v)

        def next_state(state, kv):
            k, v = kv
            grown = jnp.einsum("bhcd,bhce->bhde", k * jnp.exp(rate * (chunk - 1 - at)).astype(k.dtype)[..., None], v)
            return state * jnp.exp(rate * chunk)[..., None] + grown.astype(jnp.float32), state
        start = jnp.zeros((b, heads, depth, depth), jnp.float32)
        _, states = jax.lax.scan(next_state, start, (jnp.moveaxis(k, 2, 0), jnp.moveaxis(v, 2, 0)))
        outer = jnp.einsum("bhnqd,nbhde->bhnqe", q * jnp.exp(rate * (at + 1)).astype(q.dtype)[:, None, :, None], states.astype(x.dtype))
        return jnp.einsum("bhsk,hkd->bsd", (inner + outer).reshape(b, heads, length, depth), p["out"].astype(x.dtype))

    def loss_of(params, batch):
        x = params["words"].astype(HALF)[batch["tokens"]]
        for p in params["layers"]:
            x = x + mixed(p["mixed"], layer_norm(x, p["n1"]))
            x = x + perceptron(p["perceptron"], layer_norm(x, p["n2"]))
        return cross_entropy(x @ params["head"].astype(x.dtype), batch["targets"])

    k = jax.random.split(key, 2 * layers + 4)
    params = {"words": dense(k[-1], vocabulary, width, fan_in=width), "head": dense(k[-2], width, vocabulary),
              "layers": [{"mixed": attention_weights(k[2 * i], width, heads, width // heads), "perceptron": perceptron_weights(k[2 * i + 1], width, hidden),
                          "n1": norm_of(width), "n2": norm_of(width)} for i in range(layers)]}
    batch = {"tokens": integers(k[-3], (batch, length), vocabulary), "targets": integers(k[-4], (batch, length), vocabulary)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


PROGRAMS = (conformer, codebook, radiance, video, windows, latents, dynamics, linear_attention)
