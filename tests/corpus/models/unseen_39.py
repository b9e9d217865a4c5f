"""Training steps of families that the others have none of; written before any cost model newer than 39.

Each function as in models/unseen.py.
"""
import jax
import jax.numpy as jnp

from models import adam
from models.unseen import HALF, cross_entropy, dense, encoded, encoder_layer, integers, layer_norm, norm_of, trained


def triplets(key, batch=64, length=256, width=1024, hidden=4096, heads=16, layers=2, words=32768, margin=0.5):
    """One encoder reads three texts, the first two of which belong together: its weights are read three times."""
    def loss_of(params, batch):
        def embedded(tokens):
            x = params["words"].astype(HALF)[tokens] + params["places"].astype(HALF)
            for p in params["layers"]:
                x = encoded(x, p)
            x = jnp.mean(layer_norm(x, params["norm"]).astype(jnp.float32), axis=1)
            return x * jax.lax.rsqrt(jnp.sum(x * x, axis=-1, keepdims=True) + 1e-6)

        asked, near, far = (embedded(batch[n]) for n in ("asked", "near", "far"))
        return jnp.mean(jax.nn.relu(margin + jnp.sum(asked * far, axis=-1) - jnp.sum(asked * near, axis=-1)))

    k = jax.random.split(key, 6)
    params = {"words": dense(k[0], words, width, fan_in=width), "places": dense(k[1], length, width, fan_in=width), "norm": norm_of(width),
              "layers": [encoder_layer(q, width, hidden, heads) for q in jax.random.split(k[2], layers)]}
    batch_of = {n: integers(q, (batch, length), words) for n, q in zip(("asked", "near", "far"), k[3:])}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def rounded(key, batch=32, length=1024, width=2048, hidden=8192, heads=16, rounds=4, words=32768):
    """A decoder of one layer, which a loop applies again and again to what it has made, told which round it is."""
    def loss_of(params, batch):
        def turn(x, told):
            return jax.checkpoint(lambda x: encoded(x + told.astype(HALF), params["layer"], causal=True))(x), None

        x, _ = jax.lax.scan(turn, params["words"].astype(HALF)[batch["tokens"]], params["rounds"])
        return cross_entropy(layer_norm(x, params["norm"]) @ params["head"].astype(HALF), batch["next"])

    k = jax.random.split(key, 6)
    params = {"words": dense(k[0], words, width, fan_in=width), "rounds": dense(k[1], rounds, width, fan_in=width), "norm": norm_of(width),
              "layer": encoder_layer(k[2], width, hidden, heads), "head": dense(k[3], width, words)}
    batch_of = {"tokens": integers(k[4], (batch, length), words), "next": integers(k[5], (batch, length), words)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def linked(key, batch=512, image=64, growth=64, layers=4, blocks=2, classes=1000):
    """A convolution net whose layers read all that the layers in front of them have made, side by side."""
    def conv(x, w, stride=1):
        return jax.lax.conv_general_dilated(x, w.astype(x.dtype), (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def loss_of(params, batch):
        x = conv(batch["images"].astype(HALF), params["stem"], 2)
        for block in params["blocks"]:
            for p in block["layers"]:
                y = conv(jax.nn.relu(layer_norm(x, p["norm1"])), p["narrow"])
                x = jnp.concatenate([x, conv(jax.nn.relu(layer_norm(y, p["norm2"])), p["spread"])], axis=-1)
            x = conv(x, block["down"], 2)
        x = jnp.mean(jax.nn.relu(x), axis=(1, 2))
        return cross_entropy(x @ params["head"].astype(HALF), batch["labels"])

    k = jax.random.split(key, 4)
    width, of_blocks = 2 * growth, []
    for q in jax.random.split(k[0], blocks):
        qs = jax.random.split(q, 2 * layers + 1)
        of_layers = [{"norm1": norm_of(width + i * growth), "narrow": dense(qs[2 * i], 1, 1, width + i * growth, 4 * growth, fan_in=width + i * growth),
                      "norm2": norm_of(4 * growth), "spread": dense(qs[2 * i + 1], 3, 3, 4 * growth, growth, fan_in=36 * growth)} for i in range(layers)]
        of_blocks.append({"layers": of_layers, "down": dense(qs[-1], 1, 1, width + layers * growth, 2 * width, fan_in=width + layers * growth)})
        width *= 2
    params = {"stem": dense(k[1], 7, 7, 3, 2 * growth, fan_in=147), "blocks": of_blocks, "head": dense(k[2], width, classes)}
    batch_of = {"images": jax.random.uniform(k[3], (batch, image, image, 3)), "labels": integers(k[3], (batch,), classes)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def valued(key, batch=65536, states=512, width=2048, layers=4, actions=64, kept=0.99):
    """Values of actions by a perceptron, learnt from those of the states behind them by an older copy that has no gradient."""
    def values_of(params, x):
        for p in params["layers"]:
            x = jax.nn.silu(layer_norm(x @ p["w"].astype(HALF) + p["b"].astype(HALF), p["norm"]))
        return (x @ params["value"].astype(HALF) + x @ params["edge"].astype(HALF)).astype(jnp.float32)

    def step(params, older, opt_state, batch):
        def loss_of(params):
            first = jnp.argmax(values_of(params, batch["behind"].astype(HALF)), axis=-1)
            best = jnp.take_along_axis(values_of(older, batch["behind"].astype(HALF)), first[:, None], axis=-1)[:, 0]
            wanted = jax.lax.stop_gradient(batch["reward"] + kept * (1 - batch["ends"]) * best)
            taken = jnp.take_along_axis(values_of(params, batch["state"].astype(HALF)), batch["action"][:, None], axis=-1)[:, 0]
            off = jnp.abs(taken - wanted)
            return jnp.mean(jnp.where(off < 1, 0.5 * off * off, off - 0.5))

        loss, grads = jax.value_and_grad(loss_of)(params)
        params, opt_state = adam.update(params, opt_state, grads)
        older = jax.tree.map(lambda o, p: 0.995 * o + 0.005 * p, older, params)
        return params, older, opt_state, loss

    def network(key):
        k = jax.random.split(key, layers + 2)
        return {"layers": [{"w": dense(q, width if i else states, width), "b": jnp.zeros((width,)), "norm": norm_of(width)} for i, q in enumerate(k[:layers])],
                "value": dense(k[-2], width, actions), "edge": dense(k[-1], width, actions)}

    k = jax.random.split(key, 5)
    params = network(k[0])
    batch_of = {"state": jax.random.normal(k[1], (batch, states)), "behind": jax.random.normal(k[2], (batch, states)), "action": integers(k[3], (batch,), actions),
                "reward": jax.random.normal(k[4], (batch,)), "ends": jax.random.uniform(k[4], (batch,))}
    return step, (0, 1, 2), (params, network(k[0]), adam.init(params), batch_of)


PROGRAMS = (triplets, rounded, linked, valued)
