"""A convolutional U-Net that predicts the noise of a diffused image: timestep embedding, group norm, residual blocks,
down and up sampling, skip concatenations, self attention at the lowest resolution. The step draws its own noise."""
import dataclasses

import jax
import jax.numpy as jnp

from models import adam
from models.convnet import convolve, init_conv


@dataclasses.dataclass(frozen=True)
class Shape:
    widths: tuple     # channels of each resolution, highest first; multiples of groups
    blocks: int       # residual blocks per resolution
    groups: int
    heads: int
    times: int        # width of the timestep embedding
    channels: int
    size: int
    batch: int


WIDE = Shape(widths=(128, 256, 512), blocks=2, groups=32, heads=8, times=512, channels=4, size=64, batch=64)
TINY = Shape(widths=(8, 16), blocks=1, groups=4, heads=2, times=16, channels=4, size=8, batch=8)
STEPS, DONATED = 1000, (0, 1)


def init_dense(key, fan_in, fan_out):
    return {"w": jax.random.normal(key, (fan_in, fan_out)) * fan_in ** -0.5, "b": jnp.zeros((fan_out,))}


def init_norm(width):
    return {"scale": jnp.ones((width,)), "bias": jnp.zeros((width,))}


def init_block(key, s, fan_in, fan_out):
    ks = jax.random.split(key, 4)
    block = {"norm1": init_norm(fan_in), "conv1": init_conv(ks[0], 3, fan_in, fan_out),
             "time": init_dense(ks[1], s.times, fan_out),
             "norm2": init_norm(fan_out), "conv2": init_conv(ks[2], 3, fan_out, fan_out)}
    return block | ({"skip": init_conv(ks[3], 1, fan_in, fan_out)} if fan_in != fan_out else {})


def init_attention(key, width, heads):
    ks = jax.random.split(key, 4)
    qkv = {name: jax.random.normal(k, (width, heads, width // heads)) * width ** -0.5 for name, k in zip(("wq", "wk", "wv"), ks)}
    return qkv | {"norm": init_norm(width), "wo": jax.random.normal(ks[3], (heads, width // heads, width)) * width ** -0.5}


def init(key, s):
    keys = iter(jax.random.split(key, 64))
    params = {"stem": init_conv(next(keys), 3, s.channels, s.widths[0]), "down": [], "up": [],
              "time1": init_dense(next(keys), s.times, s.times), "time2": init_dense(next(keys), s.times, s.times)}
    width, skips = s.widths[0], [s.widths[0]]
    for out in s.widths:
        level = {"blocks": []}
        for _ in range(s.blocks):
            level["blocks"].append(init_block(next(keys), s, width, out))
            width = out
            skips.append(width)
        if out != s.widths[-1]:
            level["down"] = init_conv(next(keys), 3, width, width)
            skips.append(width)
        params["down"].append(level)
    params["middle"] = {"block1": init_block(next(keys), s, width, width), "attention": init_attention(next(keys), width, s.heads),
                        "block2": init_block(next(keys), s, width, width)}
    for out in reversed(s.widths):
        level = {"blocks": []}
        for _ in range(s.blocks + 1):
            level["blocks"].append(init_block(next(keys), s, width + skips.pop(), out))
            width = out
        if out != s.widths[0]:
            level["up"] = init_conv(next(keys), 3, width, width)
        params["up"].append(level)
    return params | {"norm": init_norm(width), "head": init_conv(next(keys), 3, width, s.channels)}


def arguments(key, s):
    params = init(key, s)
    return params, adam.init(params), {"images": jax.random.normal(key, (s.batch, s.size, s.size, s.channels))}, jax.random.PRNGKey(0)


def dense(x, p):
    return x @ p["w"].astype(x.dtype) + p["b"].astype(x.dtype)


def group_norm(x, p, groups):
    wide = x.astype(jnp.float32).reshape(x.shape[:-1] + (groups, x.shape[-1] // groups))
    mean = jnp.mean(wide, axis=(1, 2, 4), keepdims=True)
    var = jnp.mean(jnp.square(wide - mean), axis=(1, 2, 4), keepdims=True)
    wide = ((wide - mean) * jax.lax.rsqrt(var + 1e-5)).reshape(x.shape)
    return (wide * p["scale"] + p["bias"]).astype(x.dtype)


def residual(x, time, p, groups):
    h = convolve(jax.nn.silu(group_norm(x, p["norm1"], groups)), p["conv1"])
    h = h + dense(jax.nn.silu(time), p["time"])[:, None, None, :]
    h = convolve(jax.nn.silu(group_norm(h, p["norm2"], groups)), p["conv2"])
    return h + (convolve(x, p["skip"]) if "skip" in p else x)


def attention(x, p, groups):
    b, height, width, c = x.shape
    y = group_norm(x, p["norm"], groups).reshape(b, height * width, c)
    q, k, v = (jnp.einsum("bsc,chk->bshk", y, p[name].astype(x.dtype)) for name in ("wq", "wk", "wv"))
    scores = jnp.einsum("bqhk,bthk->bhqt", q, k).astype(jnp.float32) * q.shape[-1] ** -0.5
    mixed = jnp.einsum("bhqt,bthk->bqhk", jax.nn.softmax(scores, axis=-1).astype(x.dtype), v)
    return x + jnp.einsum("bshk,hkc->bsc", mixed, p["wo"].astype(x.dtype)).reshape(x.shape)


def embed_times(times, params, width):
    rates = jnp.exp(-jnp.log(10000.0) * jnp.arange(width // 2) / (width // 2))
    angles = times.astype(jnp.float32)[:, None] * rates
    waves = jnp.concatenate([jnp.cos(angles), jnp.sin(angles)], axis=-1).astype(jnp.bfloat16)
    return dense(jax.nn.silu(dense(waves, params["time1"])), params["time2"])


def forward(params, s, images, times):
    time = embed_times(times, params, s.times)
    x = convolve(images.astype(jnp.bfloat16), params["stem"])
    skips = [x]
    for level in params["down"]:
        for p in level["blocks"]:
            x = residual(x, time, p, s.groups)
            skips.append(x)
        if "down" in level:
            x = convolve(x, level["down"], 2)
            skips.append(x)
    middle = params["middle"]
    x = attention(residual(x, time, middle["block1"], s.groups), middle["attention"], s.groups)
    x = residual(x, time, middle["block2"], s.groups)
    for level in params["up"]:
        for p in level["blocks"]:
            x = residual(jnp.concatenate([x, skips.pop()], axis=-1), time, p, s.groups)
        if "up" in level:
            b, height, width, c = x.shape
            x = convolve(jax.image.resize(x, (b, 2 * height, 2 * width, c), "nearest"), level["up"])
    return convolve(jax.nn.silu(group_norm(x, params["norm"], s.groups)), params["head"])


def step_of(s):
    def loss_of(params, batch, key):
        at, drawn = jax.random.split(key)
        times = jax.random.randint(at, (s.batch,), 0, STEPS)
        noise = jax.random.normal(drawn, batch["images"].shape)
        kept = jnp.cumprod(1 - jnp.linspace(1e-4, 0.02, STEPS))[times][:, None, None, None]
        noisy = jnp.sqrt(kept) * batch["images"] + jnp.sqrt(1 - kept) * noise
        return jnp.mean((forward(params, s, noisy, times).astype(jnp.float32) - noise) ** 2)

    def step(params, opt_state, batch, key):
        loss, grads = jax.value_and_grad(loss_of)(params, batch, key)
        params, opt_state = adam.update(params, opt_state, grads)
        return params, opt_state, loss
    return step
