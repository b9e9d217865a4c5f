"""A diffusion transformer: patches of noised latents, and a norm in each block that time and class shift, scale and gate.

Time steps and noise are drawn inside the step."""
import dataclasses

import jax
import jax.numpy as jnp

from models import adam


@dataclasses.dataclass(frozen=True)
class Shape:
    layers: int
    width: int
    hidden: int
    heads: int
    size: int       # of the square latents
    channels: int
    patch: int
    classes: int
    batch: int


WIDE = Shape(layers=12, width=1152, hidden=4608, heads=16, size=32, channels=4, patch=2, classes=1000, batch=64)
TINY = Shape(layers=2, width=32, hidden=64, heads=4, size=8, channels=4, patch=2, classes=16, batch=8)
FREQUENCIES, STEPS = 256, 1000


def init_linear(key, fan_in, fan_out, scale=1.0):
    return {"w": jax.random.normal(key, (fan_in, fan_out)) * scale * fan_in ** -0.5, "b": jnp.zeros((fan_out,))}


def init_layer(key, s):
    ks = jax.random.split(key, 5)
    head = s.width // s.heads
    return {"modulate": init_linear(ks[0], s.width, 6 * s.width, 0.1),
            "wqkv": jax.random.normal(ks[1], (s.width, 3, s.heads, head)) * s.width ** -0.5,
            "wo": jax.random.normal(ks[2], (s.heads, head, s.width)) * s.width ** -0.5,
            "up": init_linear(ks[3], s.width, s.hidden), "down": init_linear(ks[4], s.hidden, s.width)}


def init(key, s):
    ks = jax.random.split(key, s.layers + 7)
    pixels, patches = s.patch ** 2 * s.channels, (s.size // s.patch) ** 2
    return {"patch": init_linear(ks[0], pixels, s.width),
            "positions": jax.random.normal(ks[1], (patches, s.width)) * 0.02,
            "time1": init_linear(ks[2], FREQUENCIES, s.width), "time2": init_linear(ks[3], s.width, s.width),
            "classes": jax.random.normal(ks[4], (s.classes, s.width)) * 0.02,
            "layers": [init_layer(k, s) for k in ks[7:]],
            "modulate": init_linear(ks[5], s.width, 2 * s.width, 0.1), "out": init_linear(ks[6], s.width, pixels, 0.1)}


def batch_of(key, s):
    return {"latents": jax.random.normal(key, (s.batch, s.size, s.size, s.channels)),
            "labels": jax.random.randint(key, (s.batch,), 0, s.classes, jnp.int32)}


def linear(x, layer):
    return x @ layer["w"].astype(x.dtype) + layer["b"].astype(x.dtype)


def normalise(x, shift, scale):
    """Layer norm without weights of its own: shift and scale [b, d] come from time and class."""
    wide = x.astype(jnp.float32)
    wide = wide - jnp.mean(wide, axis=-1, keepdims=True)
    wide = wide * jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + 1e-6)
    return wide.astype(x.dtype) * (1 + scale[:, None]) + shift[:, None]


def patchify(x, patch):
    b, h, w, c = x.shape
    x = x.reshape(b, h // patch, patch, w // patch, patch, c)
    return x.transpose(0, 1, 3, 2, 4, 5).reshape(b, (h // patch) * (w // patch), patch * patch * c)


def condition(params, time, labels):
    """-> [b, d]"""
    frequency = jnp.exp(-jnp.log(10000.0) * jnp.arange(FREQUENCIES // 2) / (FREQUENCIES // 2))
    angle = time[:, None] * frequency
    waves = jnp.concatenate([jnp.cos(angle), jnp.sin(angle)], axis=-1).astype(jnp.bfloat16)
    time = linear(jax.nn.silu(linear(waves, params["time1"])), params["time2"])
    return jax.nn.silu(time + params["classes"].astype(time.dtype)[labels])


def block(x, c, layer):
    shift1, scale1, gate1, shift2, scale2, gate2 = jnp.split(linear(c, layer["modulate"]), 6, axis=-1)
    y = normalise(x, shift1, scale1)
    q, k, v = jnp.moveaxis(jnp.einsum("bsd,dnhk->bsnhk", y, layer["wqkv"].astype(y.dtype)), 2, 0)
    scores = jnp.einsum("bqhk,bthk->bhqt", q, k).astype(jnp.float32) * q.shape[-1] ** -0.5
    mixed = jnp.einsum("bhqt,bthk->bqhk", jax.nn.softmax(scores, axis=-1).astype(y.dtype), v)
    x = x + gate1[:, None] * jnp.einsum("bshk,hkd->bsd", mixed, layer["wo"].astype(y.dtype))
    y = jax.nn.gelu(linear(normalise(x, shift2, scale2), layer["up"]))
    return x + gate2[:, None] * linear(y, layer["down"])


def forward(params, x, time, labels):
    """-> the noise that the model sees in each patch"""
    c = condition(params, time, labels)
    x = linear(x.astype(jnp.bfloat16), params["patch"]) + params["positions"].astype(jnp.bfloat16)
    for layer in params["layers"]:
        x = block(x, c, layer)
    shift, scale = jnp.split(linear(c, params["modulate"]), 2, axis=-1)
    return linear(normalise(x, shift, scale), params["out"]).astype(jnp.float32)


def step_of(s):
    def step(params, opt_state, batch, key):
        """key: the two words of a random key."""
        when, what = jax.random.split(jax.random.wrap_key_data(key))
        latents = batch["latents"]
        time = jax.random.uniform(when, latents.shape[:1])
        noise = jax.random.normal(what, latents.shape)
        kept = jnp.cos(0.5 * jnp.pi * time)[:, None, None, None]
        noised = kept * latents + jnp.sqrt(1 - kept ** 2) * noise

        def loss_of(params):
            guess = forward(params, patchify(noised, s.patch), time * STEPS, batch["labels"])
            return jnp.mean((guess - patchify(noise, s.patch)) ** 2)

        loss, grads = jax.value_and_grad(loss_of)(params)
        params, opt_state = adam.update(params, opt_state, grads)
        return params, opt_state, loss
    return step
