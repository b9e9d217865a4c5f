"""Steps of families that the others have none of; written before any figure of cost model 44 was seen.

Each function as in models/unseen.py.
"""
import jax
import jax.numpy as jnp

from models import adam
from models.unseen import HALF, dense, integers, layer_norm, norm_of, trained
from models.unseen_17 import perceptron, perceptron_weights


def drafted(key, batch=512, words=131072, width=1024, hidden=4096, layers=3, kept=50, ahead=4):
    """A small model drafts a few words ahead for many readers: of each the likeliest are kept, and one of these is drawn."""
    def draft(params, batch):
        x = params["words"].astype(HALF)[batch["last"]]

        def one(x, noise):
            for p in params["layers"]:
                x = x + perceptron(p, layer_norm(x, p["norm"]))
            scores, words_of = jax.lax.top_k((layer_norm(x, params["norm"]) @ params["head"].astype(HALF)).astype(jnp.float32), kept)
            drawn = jnp.argmax(jax.nn.log_softmax(scores) + noise, axis=-1)
            word = jnp.take_along_axis(words_of, drawn[:, None], axis=-1)[:, 0]
            return params["words"].astype(HALF)[word] + x, word
        x, drawn = jax.lax.scan(one, x, batch["noise"])
        return drawn, x

    def layer(key):
        return {"norm": norm_of(width), **perceptron_weights(key, width, hidden)}

    k = jax.random.split(key, layers + 4)
    params = {"words": dense(k[0], words, width, fan_in=width), "layers": [layer(q) for q in k[1:-3]], "norm": norm_of(width), "head": dense(k[-3], width, words)}
    return draft, (), (params, {"last": integers(k[-2], (batch,), words), "noise": jax.random.gumbel(k[-1], (ahead, batch, kept))})


def filtered(key, batch=1024, length=256, senses=64, width=1024, layers=3, state=32, seen=16):
    """What a network makes of readings corrects a linear system with a known noise, step by step: the likelihood of it all."""
    def loss_of(params, batch):
        x = batch["readings"].astype(HALF)
        for p in params["layers"]:
            x = layer_norm(jax.nn.gelu(x @ p["w"].astype(HALF) + p["b"].astype(HALF)), p["norm"])
        found = (x @ params["seen"].astype(HALF)).astype(jnp.float32)                    # batch, length, seen
        trust = jax.nn.sigmoid((x @ params["trust"].astype(HALF)).astype(jnp.float32))
        moves, shows = params["moves"], params["shows"]

        def turn(kept, now):
            at, spread = kept
            found, trust = now
            at, spread = at @ moves, 0.9 * spread + 0.1
            wrong, wide = found - at @ shows, spread @ jnp.square(shows) + 1.0
            gain = trust * wrong / wide
            at = at + spread * (gain @ shows.T)
            spread = spread / (1.0 + spread * ((trust / wide) @ jnp.square(shows).T))
            return (at, spread), -0.5 * jnp.sum(jnp.square(wrong) / wide + jnp.log(wide), axis=-1)

        start = (jnp.zeros((found.shape[0], state)), jnp.ones((found.shape[0], state)))
        _, likely = jax.lax.scan(turn, start, (jnp.moveaxis(found, 1, 0), jnp.moveaxis(trust, 1, 0)))
        return -jnp.mean(likely)

    k = jax.random.split(key, layers + 5)
    sizes = [senses] + [width] * layers
    params = {"layers": [{"w": dense(q, a, b), "b": jnp.zeros((b,)), "norm": norm_of(b)} for q, a, b in zip(k, sizes, sizes[1:])], "seen": dense(k[-5], width, seen),
              "trust": dense(k[-4], width, seen), "moves": dense(k[-3], state, state), "shows": dense(k[-2], state, seen)}
    return trained(loss_of), (0, 1), (params, adam.init(params), {"readings": jax.random.normal(k[-1], (batch, length, senses))})


def ranked(key, batch=512, answers=128, width=768, hidden=3072, layers=4, features=512):
    """Answers to a question are put in order: the chance of the order that people gave them, the likeliest first of what is left."""
    def loss_of(params, batch):
        x = batch["answers"].astype(HALF) @ params["first"].astype(HALF)
        for p in params["layers"]:
            y = layer_norm(x, p["norm"])
            y = jnp.concatenate([y, jnp.broadcast_to(y.mean(axis=1, keepdims=True), y.shape)], axis=-1)
            x = x + perceptron(p, y)
        scores = (layer_norm(x, params["norm"]) @ params["score"].astype(HALF))[..., 0].astype(jnp.float32)
        order = jnp.argsort(-batch["marks"], axis=-1)
        scores = jnp.take_along_axis(scores, order, axis=-1)
        most = jax.lax.stop_gradient(scores.max(axis=-1, keepdims=True))
        left = jnp.log(jnp.cumsum(jnp.exp(scores - most)[:, ::-1], axis=-1)[:, ::-1]) + most
        return jnp.mean(jnp.sum(left - scores, axis=-1))

    def layer(key):
        k = jax.random.split(key)
        return {"norm": norm_of(width), "up": dense(k[0], 2 * width, hidden), "down": dense(k[1], hidden, width)}

    k = jax.random.split(key, layers + 4)
    params = {"first": dense(k[0], features, width), "layers": [layer(q) for q in k[1:-3]], "norm": norm_of(width), "score": dense(k[-3], width, 1)}
    return trained(loss_of), (0, 1), (params, adam.init(params), {"answers": jax.random.normal(k[-2], (batch, answers, features)), "marks": jax.random.normal(k[-1], (batch, answers))})


PROGRAMS = (drafted, filtered, ranked)
