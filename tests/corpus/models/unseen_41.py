"""Training steps of families that the others have none of; written before any cost model newer than 41.

Each function as in models/unseen.py.
"""
import jax
import jax.numpy as jnp

from models import adam
from models.unseen import HALF, dense, layer_norm, norm_of, trained


def convolved(x, w, stride=1, groups=1):
    return jax.lax.conv_general_dilated(x, w.astype(x.dtype), (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=groups)


def posed(key, batch=128, image=128, width=128, levels=3, joints=16):
    """Where the joints of a body are: pictures go through an hourglass, each level half as wide as the one around it, and come out as a map for each joint."""
    def normalised(x, p):
        wide = x.astype(jnp.float32)
        mean = jnp.mean(wide, axis=(0, 1, 2))
        apart = jnp.mean(jnp.square(wide - mean), axis=(0, 1, 2))
        return ((wide - mean) * jax.lax.rsqrt(apart + 1e-5) * p["scale"] + p["bias"]).astype(x.dtype)

    def residual(x, p):
        y = convolved(jax.nn.relu(normalised(x, p["n1"])), p["first"])
        return x + convolved(jax.nn.relu(normalised(y, p["n2"])), p["second"])

    def hourglass(x, ps):
        if not ps:
            return x
        inner = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        inner = residual(hourglass(residual(inner, ps[0]["down"]), ps[1:]), ps[0]["up"])
        return residual(x, ps[0]["beside"]) + jnp.repeat(jnp.repeat(inner, 2, axis=1), 2, axis=2)

    def loss_of(params, batch):
        x = convolved(batch["images"].astype(HALF), params["stem"], 2)
        maps = convolved(hourglass(x, params["levels"]), params["joints"]).astype(jnp.float32)
        return jnp.mean(jnp.square(maps - batch["maps"]))

    def of(key):
        a, b = jax.random.split(key)
        return {"first": dense(a, 3, 3, width, width, fan_in=9 * width), "second": dense(b, 3, 3, width, width, fan_in=9 * width), "n1": norm_of(width), "n2": norm_of(width)}

    k = jax.random.split(key, 5)
    params = {"stem": dense(k[0], 5, 5, 3, width, fan_in=75), "joints": dense(k[1], 1, 1, width, joints, fan_in=width),
              "levels": [{n: of(r) for n, r in zip(("down", "up", "beside"), jax.random.split(q, 3))} for q in jax.random.split(k[2], levels)]}
    batch_of = {"images": jax.random.normal(k[3], (batch, image, image, 3)), "maps": jax.random.normal(k[4], (batch, image // 2, image // 2, joints))}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def restored(key, batch=128, image=64, width=128, blocks=4, expand=2):
    """Pictures without their noise: in each block every channel is convolved alone, and one half of them gates the other; no function but that is bent."""
    def block(x, p):
        y = convolved(layer_norm(x, p["n1"]), p["wide"])
        y = convolved(y, p["taps"], groups=y.shape[-1])
        a, b = jnp.split(y, 2, axis=-1)
        y = a * b
        y = y * (jnp.mean(y, axis=(1, 2)) @ p["weigh"].astype(HALF))[:, None, None]
        x = x + convolved(y, p["narrow"])
        a, b = jnp.split(convolved(layer_norm(x, p["n2"]), p["up"]), 2, axis=-1)
        return x + convolved(a * b, p["down"])

    def loss_of(params, batch):
        noisy = batch["noisy"].astype(HALF)
        x = convolved(noisy, params["first"])
        for p in params["blocks"]:
            x = block(x, p)
        clear = (noisy + convolved(x, params["last"])).astype(jnp.float32)
        return jnp.mean(jnp.sqrt(jnp.square(clear - batch["clear"]) + 1e-6))

    inner = expand * width

    def of(key):
        k = jax.random.split(key, 6)
        return {"wide": dense(k[0], 1, 1, width, inner, fan_in=width), "taps": dense(k[1], 3, 3, 1, inner, fan_in=9), "weigh": dense(k[2], inner // 2, inner // 2),
                "narrow": dense(k[3], 1, 1, inner // 2, width, fan_in=width), "up": dense(k[4], 1, 1, width, inner, fan_in=width),
                "down": dense(k[5], 1, 1, inner // 2, width, fan_in=width), "n1": norm_of(width), "n2": norm_of(width)}

    k = jax.random.split(key, 5)
    params = {"first": dense(k[0], 3, 3, 3, width, fan_in=27), "last": dense(k[1], 3, 3, width, 3, fan_in=9 * width), "blocks": [of(q) for q in jax.random.split(k[2], blocks)]}
    batch_of = {n: jax.random.normal(q, (batch, image, image, 3)) for n, q in zip(("noisy", "clear"), k[3:])}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


PROGRAMS = (posed, restored)
