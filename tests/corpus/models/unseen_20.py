"""Training steps of kinds that cost model 20 changed, and of others; written after it, and no figure of theirs went into it.

Each function as in models/unseen.py.
"""
import jax
import jax.numpy as jnp

from models import adam
from models.unseen import HALF, cross_entropy, dense, integers, layer_norm, norm_of, trained
from models.unseen_17 import perceptron, perceptron_weights
from models.unseen_19 import encoded, layer_of


def convolved(x, w, dims, dilation=1):
    return jax.lax.conv_general_dilated(x, w.astype(x.dtype), (1,) * len(dims), "SAME", rhs_dilation=(dilation,) * len(dims),
                                        dimension_numbers=("N" + dims + "C", dims + "IO", "N" + dims + "C"))


def sharpened(key, batch=256, size=48, width=128, blocks=6, times=2):
    """Pictures twice as large: residual convolutions, then four features of a pixel become four pixels."""
    def loss_of(params, batch):
        x = first = convolved(batch["small"].astype(HALF), params["first"], "HW")
        for a, b in params["blocks"]:
            x = x + convolved(jax.nn.relu(convolved(x, a, "HW")), b, "HW") * 0.1
        x = convolved(x + first, params["last"], "HW")
        n, h, w, c = x.shape
        x = x.reshape(n, h, w, times, times, c // times ** 2).transpose(0, 1, 3, 2, 4, 5).reshape(n, h * times, w * times, -1)
        return jnp.mean(jnp.abs(x.astype(jnp.float32) - batch["large"]))

    k = jax.random.split(key, 5)
    params = {"first": dense(k[0], 3, 3, 3, width, fan_in=27), "last": dense(k[1], 3, 3, width, 3 * times ** 2, fan_in=9 * width),
              "blocks": [tuple(dense(r, 3, 3, width, width, fan_in=9 * width) for r in jax.random.split(q)) for q in jax.random.split(k[2], blocks)]}
    batch = {"small": jax.random.normal(k[3], (batch, size, size, 3)), "large": jax.random.normal(k[4], (batch, size * times, size * times, 3))}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def depths(key, batch=64, length=1024, kept=128, width=1024, heads=16, hidden=4096, layers=2, vocabulary=32768):
    """Each layer takes the words that a router scores highest, and leaves the others as they are."""
    def loss_of(params, batch):
        x = params["words"].astype(HALF)[batch["words"]]
        for p in params["layers"]:
            scores, at = jax.lax.top_k((x @ p["router"].astype(HALF))[..., 0].astype(jnp.float32), kept)
            taken = jnp.take_along_axis(x, at[..., None], axis=1)
            made = encoded(p["layer"], taken) * jax.nn.sigmoid(scores)[..., None].astype(HALF)
            x = jax.vmap(lambda row, places, values: row.at[places].add(values))(x, at, made)
        return cross_entropy(layer_norm(x, params["n"]) @ params["words"].astype(HALF).T, batch["next"])

    k = jax.random.split(key, 5)
    params = {"words": dense(k[0], vocabulary, width, fan_in=width), "n": norm_of(width),
              "layers": [{"router": dense(q, width, 1), "layer": layer_of(r, width, heads, hidden)} for q, r in (jax.random.split(s) for s in jax.random.split(k[1], layers))]}
    batch = {"words": integers(k[2], (batch, length), vocabulary), "next": integers(k[3], (batch, length), vocabulary)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def waves(key, batch=64, samples=4096, width=256, layers=8, levels=256):
    """Sound, sample by sample: convolutions over time that reach twice as far in each layer, with gates."""
    def loss_of(params, batch):
        x = params["levels"].astype(HALF)[batch["samples"]]
        kept = 0
        for i, p in enumerate(params["layers"]):
            y = convolved(x, p["taps"], "H", 2 ** i)
            y = jnp.tanh(y[..., :width]) * jax.nn.sigmoid(y[..., width:])
            kept = kept + y @ p["skip"].astype(HALF)
            x = x + y @ p["out"].astype(HALF)
        return cross_entropy(perceptron(params["head"], jax.nn.relu(kept)) @ params["levels"].astype(HALF).T, batch["next"])

    k = jax.random.split(key, 5)
    params = {"levels": dense(k[0], levels, width, fan_in=width), "head": perceptron_weights(k[1], width, 2 * width),
              "layers": [{"taps": dense(a, 3, width, 2 * width, fan_in=3 * width), "skip": dense(b, width, width), "out": dense(c, width, width)}
                         for a, b, c in (jax.random.split(q, 3) for q in jax.random.split(k[2], layers))]}
    batch = {"samples": integers(k[3], (batch, samples), levels), "next": integers(k[4], (batch, samples), levels)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def tabular(key, batch=65536, columns=64, width=2048, layers=6, classes=16):
    """Rows of a table: wide residual perceptrons, more weights than activations."""
    def loss_of(params, batch):
        x = batch["rows"].astype(HALF) @ params["first"].astype(HALF)
        for p in params["layers"]:
            x = x + perceptron(p["perceptron"], layer_norm(x, p["n"]))
        return cross_entropy(layer_norm(x, params["n"]) @ params["head"].astype(HALF), batch["labels"])

    k = jax.random.split(key, 5)
    params = {"first": dense(k[0], columns, width), "n": norm_of(width), "head": dense(k[1], width, classes),
              "layers": [{"perceptron": perceptron_weights(q, width, 4 * width), "n": norm_of(width)} for q in jax.random.split(k[2], layers)]}
    batch = {"rows": jax.random.normal(k[3], (batch, columns)), "labels": integers(k[4], (batch,), classes)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


PROGRAMS = (sharpened, depths, waves, tabular)
