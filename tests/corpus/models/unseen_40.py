"""Training steps of families that the others have none of; written before any cost model newer than 40.

Each function as in models/unseen.py.
"""
import jax
import jax.numpy as jnp

from models import adam
from models.unseen import HALF, cross_entropy, dense, encoded, encoder_layer, integers, layer_norm, norm_of, trained


def blended(key, batch=32, length=512, width=1024, hidden=4096, heads=16, layers=2, words=16384, parts=4):
    """A decoder whose next word is drawn from several distributions, blended by weights of their own."""
    def loss_of(params, batch):
        x = params["words"].astype(HALF)[batch["tokens"]] + params["places"].astype(HALF)
        for p in params["layers"]:
            x = encoded(x, p, causal=True)
        x = layer_norm(x, params["norm"])
        seen = jnp.tanh(jnp.einsum("bsd,dpe->bspe", x, params["views"].astype(HALF)))
        logits = jnp.einsum("bspe,ew->bspw", seen, params["head"].astype(HALF)).astype(jnp.float32)
        weights = jax.nn.log_softmax((x @ params["weights"].astype(HALF)).astype(jnp.float32))
        each = jnp.take_along_axis(jax.nn.log_softmax(logits), batch["next"][..., None, None], axis=-1)[..., 0]
        return -jnp.mean(jax.nn.logsumexp(weights + each, axis=-1))

    k = jax.random.split(key, 8)
    params = {"words": dense(k[0], words, width, fan_in=width), "places": dense(k[1], length, width, fan_in=width), "norm": norm_of(width),
              "layers": [encoder_layer(q, width, hidden, heads) for q in jax.random.split(k[2], layers)],
              "views": dense(k[3], width, parts, width // 2), "weights": dense(k[4], width, parts), "head": dense(k[5], width // 2, words)}
    batch_of = {"tokens": integers(k[6], (batch, length), words), "next": integers(k[7], (batch, length), words)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def generated(key, batch=1024, points=256, width=128, layers=3, code=256, hidden=2048, features=64):
    """Small networks, one per example, whose weights a larger network makes from what it is told of the example."""
    shapes = [(features, width)] + [(width, width)] * (layers - 1)

    def loss_of(params, batch):
        told = jax.nn.gelu(batch["codes"].astype(HALF) @ params["first"].astype(HALF))
        told = jax.nn.gelu(layer_norm(told @ params["second"].astype(HALF), params["norm"]))
        x = batch["points"].astype(HALF)
        for made, (fan_in, fan_out) in zip(params["made"], shapes):
            weights = jnp.einsum("bh,hio->bio", told, made["w"].astype(HALF)) * fan_in ** -0.5
            x = jnp.sin(jnp.einsum("bpi,bio->bpo", x, weights) + (told @ made["b"].astype(HALF))[:, None])
        y = (x @ params["last"].astype(HALF)).astype(jnp.float32)
        return jnp.mean(jnp.square(y - batch["values"]))

    k = jax.random.split(key, 8)
    params = {"first": dense(k[0], code, hidden), "second": dense(k[1], hidden, hidden), "norm": norm_of(hidden),
              "made": [{"w": dense(q, hidden, *s, fan_in=hidden), "b": dense(q, hidden, s[1])} for q, s in zip(jax.random.split(k[2], layers), shapes)],
              "last": dense(k[3], width, 1)}
    batch_of = {"codes": jax.random.normal(k[4], (batch, code)), "points": jax.random.normal(k[5], (batch, points, features)), "values": jax.random.normal(k[6], (batch, points, 1))}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def scanned(key, batch=16, length=2048, width=1024, inner=2048, layers=3, words=32768):
    """A recurrent language model whose states are sums that all places reach in a logarithmic number of rounds."""
    def joined(a, b):
        return a[0] * b[0], b[0] * a[1] + b[1]

    def loss_of(params, batch):
        x = params["words"].astype(HALF)[batch["tokens"]]
        for p in params["layers"]:
            y = layer_norm(x, p["norm1"])
            gate = jax.nn.sigmoid((y @ p["gate"].astype(HALF)).astype(jnp.float32))
            new = (y @ p["new"].astype(HALF)).astype(jnp.float32)
            _, state = jax.lax.associative_scan(joined, (1 - gate, gate * new), axis=1)
            x = x + state.astype(HALF) @ p["out"].astype(HALF)
            x = x + jax.nn.silu(layer_norm(x, p["norm2"]) @ p["up"].astype(HALF)) @ p["down"].astype(HALF)
        return cross_entropy(layer_norm(x, params["norm"]) @ params["head"].astype(HALF), batch["next"])

    k = jax.random.split(key, 5)
    params = {"words": dense(k[0], words, width, fan_in=width), "norm": norm_of(width), "head": dense(k[1], width, words),
              "layers": [{"norm1": norm_of(width), "norm2": norm_of(width), "gate": dense(a, width, inner), "new": dense(b, width, inner), "out": dense(c, inner, width),
                          "up": dense(d, width, inner), "down": dense(e, inner, width)} for a, b, c, d, e in (jax.random.split(q, 5) for q in jax.random.split(k[2], layers))]}
    batch_of = {"tokens": integers(k[3], (batch, length), words), "next": integers(k[4], (batch, length), words)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def molecules(key, batch=64, atoms=128, width=256, radial=64, layers=3, kinds=32, spread=0.1):
    """Energies of molecules: every atom hears from every other one, through a filter that is made of how far away it is."""
    def loss_of(params, batch):
        x = params["kinds"].astype(HALF)[batch["kinds"]]
        away = batch["places"][:, :, None] - batch["places"][:, None]
        far = jnp.sqrt(jnp.sum(away * away, axis=-1) + 1e-3)
        waves = jnp.exp(-jnp.square(far[..., None] - jnp.linspace(0.0, 6.0, radial)) / spread).astype(HALF)
        for p in params["layers"]:
            through = jax.nn.softplus(waves @ p["near"].astype(HALF)) @ p["filter"].astype(HALF)
            heard = jnp.einsum("bijc,bjc->bic", through, x @ p["said"].astype(HALF))
            x = layer_norm(x + jax.nn.softplus(heard @ p["mix"].astype(HALF)) @ p["out"].astype(HALF), p["norm"])
        energy = jnp.sum((jax.nn.softplus(x @ params["up"].astype(HALF)) @ params["down"].astype(HALF)).astype(jnp.float32), axis=(1, 2))
        return jnp.mean(jnp.square(energy - batch["energies"]))

    k = jax.random.split(key, 7)
    params = {"kinds": dense(k[0], kinds, width), "up": dense(k[1], width, width), "down": dense(k[2], width, 1),
              "layers": [{"near": dense(a, radial, width), "filter": dense(b, width, width), "said": dense(c, width, width), "mix": dense(d, width, width),
                          "out": dense(e, width, width), "norm": norm_of(width)} for a, b, c, d, e in (jax.random.split(q, 5) for q in jax.random.split(k[3], layers))]}
    batch_of = {"kinds": integers(k[4], (batch, atoms), kinds), "places": jax.random.normal(k[5], (batch, atoms, 3)), "energies": jax.random.normal(k[6], (batch,))}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


PROGRAMS = (blended, generated, scanned, molecules)
