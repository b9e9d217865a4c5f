"""Training steps whose attention is over places that fill no lanes; written after cost model 19, which no figure of theirs went into.

Each function as in models/unseen.py.
"""
import jax
import jax.numpy as jnp

from models import adam
from models.unseen import HALF, cross_entropy, dense, integers, layer_norm, norm_of, patches_of, trained
from models.unseen_17 import attended, attention_weights, perceptron, perceptron_weights


def layer_of(key, width, heads, hidden):
    a, b = jax.random.split(key)
    return {"attention": attention_weights(a, width, heads, width // heads), "perceptron": perceptron_weights(b, width, hidden), "n1": norm_of(width), "n2": norm_of(width)}


def encoded(p, x):
    y = layer_norm(x, p["n1"])
    x = x + attended(p["attention"], y, y)
    return x + perceptron(p["perceptron"], layer_norm(x, p["n2"]))


def classified(key, batch=4096, image=224, patch=16, width=768, heads=12, hidden=3072, layers=2, classes=1000):
    """A vision transformer: 196 patches and a place of their own for the class."""
    def loss_of(params, batch):
        x = patches_of(batch["images"].astype(HALF), patch) @ params["patch"].astype(HALF)
        first = jnp.broadcast_to(params["class"].astype(HALF), (x.shape[0], 1, width))
        x = jnp.concatenate([first, x], axis=1) + params["places"].astype(HALF)
        for p in params["layers"]:
            x = encoded(p, x)
        return cross_entropy(layer_norm(x[:, 0], params["n"]) @ params["head"].astype(HALF), batch["labels"])

    k = jax.random.split(key, 6)
    places = (image // patch) ** 2
    params = {"patch": dense(k[0], patch * patch * 3, width), "class": jnp.zeros((width,)), "places": dense(k[1], places + 1, width, fan_in=width),
              "layers": [layer_of(q, width, heads, hidden) for q in jax.random.split(k[2], layers)], "n": norm_of(width), "head": dense(k[3], width, classes)}
    batch = {"images": jax.random.normal(k[4], (batch, image, image, 3)), "labels": integers(k[5], (batch,), classes)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def factorised(key, batch=64, frames=16, places=196, width=768, heads=12, hidden=3072, layers=2, classes=400):
    """Clips: each layer attends within a frame, then between frames at each place."""
    def loss_of(params, batch):
        x = batch["clips"].astype(HALF)
        b = x.shape[0]
        for space, time in params["layers"]:
            x = encoded(space, x.reshape(b * frames, places, width)).reshape(b, frames, places, width)
            x = jnp.swapaxes(encoded(time, jnp.swapaxes(x, 1, 2).reshape(b * places, frames, width)).reshape(b, places, frames, width), 1, 2)
        return cross_entropy(x.mean((1, 2)) @ params["head"].astype(HALF), batch["labels"])

    k = jax.random.split(key, 4)
    params = {"layers": [tuple(layer_of(r, width, heads, hidden) for r in jax.random.split(q)) for q in jax.random.split(k[0], layers)], "head": dense(k[1], width, classes)}
    batch = {"clips": jax.random.normal(k[2], (batch, frames, places, width)), "labels": integers(k[3], (batch,), classes)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def captions(key, batch=8192, length=77, width=512, heads=8, hidden=2048, layers=2, vocabulary=49408):
    """A text tower whose texts are 77 words; the next word is read."""
    def mixed(p, x):
        q, k, v = (jnp.einsum("bsd,dhk->bshk", x, p[n].astype(x.dtype)) for n in "qkv")
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) * q.shape[-1] ** -0.5
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e30)
        y = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1).astype(x.dtype), v)
        return jnp.einsum("bshk,hkd->bsd", y, p["out"].astype(x.dtype))

    def loss_of(params, batch):
        x = params["words"].astype(HALF)[batch["tokens"]] + params["places"].astype(HALF)
        for p in params["layers"]:
            x = x + mixed(p["attention"], layer_norm(x, p["n1"]))
            x = x + perceptron(p["perceptron"], layer_norm(x, p["n2"]))
        return cross_entropy(layer_norm(x[:, ::8], params["n"]) @ params["words"].astype(HALF).T, batch["targets"])

    k = jax.random.split(key, 5)
    params = {"words": dense(k[0], vocabulary, width, fan_in=width), "places": dense(k[1], length, width, fan_in=width),
              "layers": [layer_of(q, width, heads, hidden) for q in jax.random.split(k[2], layers)], "n": norm_of(width)}
    batch = {"tokens": integers(k[3], (batch, length), vocabulary), "targets": integers(k[4], (batch, -(-length // 8)), vocabulary)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


PROGRAMS = (classified, factorised, captions)
