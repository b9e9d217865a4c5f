"""Training steps of families that the others have none of, written before any cost model newer than 33.

Each function as in models/unseen.py.
"""
import jax
import jax.numpy as jnp
import numpy as np

from models import adam
from models.unseen import HALF, cross_entropy, dense, encoded, encoder_layer, integers, layer_norm, norm_of, root_mean_square, rotated, trained
from models.unseen_17 import attention_weights, perceptron_weights


def tied(key, batch=32, length=1024, width=2048, heads=8, depth=256, hidden=8192, layers=2, words=131072, attention_cap=50.0, cap=30.0):
    """A decoder with one key and value for all heads, gated perceptrons, norms before and after; one large table is read and gives the logits, which are capped."""
    def attended(p, x):
        q, k, v = (jnp.einsum("bsd,dhk->bshk", x, p[n].astype(HALF)) for n in "qkv")
        q, k = rotated(q), rotated(k)
        scores = jnp.einsum("bqhk,btk->bhqt", q, k[:, :, 0]).astype(jnp.float32) * depth ** -0.5
        scores = attention_cap * jnp.tanh(scores / attention_cap)
        at = jnp.arange(length)
        shares = jax.nn.softmax(jnp.where(at[:, None] >= at, scores, -1e30)).astype(HALF)
        return jnp.einsum("bshk,hkd->bsd", jnp.einsum("bhqt,btk->bqhk", shares, v[:, :, 0]), p["out"].astype(HALF))

    def loss_of(params, batch):
        table = params["words"].astype(HALF)
        x = table[batch["tokens"]] * jnp.asarray(width ** 0.5, HALF)
        for p in params["layers"]:
            x = x + root_mean_square(attended(p["attention"], root_mean_square(x, p["n1"])), p["n2"])
            y = root_mean_square(x, p["n3"])
            y = (jax.nn.gelu(y @ p["gate"].astype(HALF)) * (y @ p["up"].astype(HALF))) @ p["down"].astype(HALF)
            x = x + root_mean_square(y, p["n4"])
        logits = jnp.einsum("bsd,nd->bsn", root_mean_square(x, params["n"]), table).astype(jnp.float32)
        return cross_entropy(cap * jnp.tanh(logits / cap), batch["next"])

    def layer(key):
        k = jax.random.split(key, 6)
        return {"attention": {"q": dense(k[0], width, heads, depth), "k": dense(k[1], width, 1, depth), "v": dense(k[2], width, 1, depth), "out": dense(k[3], heads, depth, width, fan_in=heads * depth)},
                "gate": dense(k[4], width, hidden), **perceptron_weights(k[5], width, hidden), **{n: jnp.ones((width,)) for n in ("n1", "n2", "n3", "n4")}}

    k = jax.random.split(key, 4)
    params = {"words": dense(k[0], words, width, fan_in=width), "n": jnp.ones((width,)), "layers": [layer(q) for q in jax.random.split(k[1], layers)]}
    batch_of = {"tokens": integers(k[2], (batch, length), words), "next": integers(k[3], (batch, length), words)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def bytes(key, batch=64, length=8192, patch=8, part=256, hidden=8192, heads=16, layers=2, small=512, small_hidden=2048, small_heads=8, small_layers=2):
    """Texts as bytes: eight of them are one place of a wide decoder, whose places are short texts of their own for a small one."""
    count, width = length // patch, patch * part

    def loss_of(params, batch):
        x = params["bytes"].astype(HALF)[batch["bytes"]].reshape(-1, count, width) + params["places"].astype(HALF)
        x = jnp.concatenate([jnp.broadcast_to(params["first"].astype(HALF), (x.shape[0], 1, width)), x[:, :-1]], axis=1)
        for p in params["wide"]:
            x = encoded(x, p, causal=True)
        x = layer_norm(x, params["norm"]).reshape(-1, patch, part) @ params["narrow"].astype(HALF)
        y = params["small_bytes"].astype(HALF)[batch["bytes"].reshape(-1, patch)]
        y = jnp.concatenate([jnp.broadcast_to(params["small_first"].astype(HALF), (y.shape[0], 1, small)), y[:, :-1]], axis=1)
        x = x + y + params["small_places"].astype(HALF)
        for p in params["small"]:
            x = encoded(x, p, causal=True)
        return cross_entropy(layer_norm(x, params["small_norm"]) @ params["head"].astype(HALF), batch["bytes"].reshape(-1, patch))

    k = jax.random.split(key, 11)
    params = {"bytes": dense(k[0], 256, part), "places": dense(k[1], count, width, fan_in=width), "first": dense(k[2], width), "wide": [encoder_layer(q, width, hidden, heads) for q in jax.random.split(k[3], layers)],
              "norm": norm_of(width), "narrow": dense(k[4], part, small), "small_bytes": dense(k[5], 256, small), "small_first": dense(k[6], small), "small_places": dense(k[7], patch, small, fan_in=small),
              "small": [encoder_layer(q, small, small_hidden, small_heads) for q in jax.random.split(k[8], small_layers)], "small_norm": norm_of(small), "head": dense(k[9], small, 256)}
    return trained(loss_of), (0, 1), (params, adam.init(params), {"bytes": integers(k[10], (batch, length), 256)})


def world(key, batch=64, length=64, side=64, widths=(64, 128, 256, 512), state=2048, units=1024, parts=32, classes=32, actions=16, free=1.0):
    """A model of a world: pictures are encoded by strided convolutions, a gated recurrence with sampled latents of classes runs over time, pictures and rewards are made from its states."""
    last, latent = side // 2 ** len(widths), parts * classes

    def convolved(x, w):
        return jax.lax.conv_general_dilated(x, w.astype(HALF), (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def enlarged(x, w):
        return jax.lax.conv_transpose(x, w.astype(HALF), (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def active(p, x):
        return jax.nn.silu(layer_norm(x @ p["w"].astype(HALF), p["n"]))

    def logs(p, x):
        x = (active(p["hidden"], x) @ p["out"].astype(HALF)).astype(jnp.float32)
        return jnp.log(0.99 * jax.nn.softmax(x.reshape(*x.shape[:-1], parts, classes)) + 0.01 / classes)

    def divergence(a, b):
        return jnp.mean(jnp.maximum(jnp.sum(jnp.exp(a) * (a - b), axis=(-2, -1)), free))

    def loss_of(params, batch, key):
        pictures = batch["pictures"].astype(HALF)
        x = pictures.reshape(-1, side, side, 3)
        for p in params["down"]:
            x = jax.nn.silu(layer_norm(convolved(x, p["w"]), p["n"]))
        seen = x.reshape(*pictures.shape[:2], -1)

        def turn(kept, read):
            deep, sampled = kept
            seen, action, first, key = read
            deep, sampled, action = (jnp.where(first[:, None], jnp.zeros((), HALF), t) for t in (deep, sampled, action))
            both = jnp.concatenate([active(params["in"], jnp.concatenate([sampled, action], axis=-1)), deep], axis=-1)
            reset, new, update = jnp.split(layer_norm(both @ params["gates"]["w"].astype(HALF), params["gates"]["n"]), 3, axis=-1)
            update = jax.nn.sigmoid(update - 1)
            deep = update * jnp.tanh(jax.nn.sigmoid(reset) * new) + (1 - update) * deep
            log = logs(params["posterior"], jnp.concatenate([deep, seen], axis=-1))
            chosen = jax.nn.one_hot(jnp.argmax(log + jax.random.gumbel(key, log.shape), axis=-1), classes)
            share = jnp.exp(log)
            sampled = (chosen + share - jax.lax.stop_gradient(share)).reshape(-1, latent).astype(HALF)
            return (deep, sampled), (deep, sampled, log)

        start = (jnp.zeros((seen.shape[0], state), HALF), jnp.zeros((seen.shape[0], latent), HALF))
        by_time = [jnp.swapaxes(t, 0, 1) for t in (seen, batch["actions"].astype(HALF), batch["first"])]
        _, (deep, sampled, posterior) = jax.lax.scan(turn, start, (*by_time, jax.random.split(key, length)))
        deep, sampled, posterior = (jnp.swapaxes(t, 0, 1) for t in (deep, sampled, posterior))
        prior = logs(params["prior"], deep)
        known = jnp.concatenate([deep, sampled], axis=-1)
        y = (known @ params["paint"].astype(HALF)).reshape(-1, last, last, widths[-1])
        for p in params["up"]:
            y = enlarged(jax.nn.silu(layer_norm(y, p["n"])), p["w"])
        painted = jnp.mean(jnp.sum((y.reshape(pictures.shape).astype(jnp.float32) - batch["pictures"]) ** 2, axis=(2, 3, 4)))
        reward, going = ((active(params[n]["hidden"], known) @ params[n]["out"].astype(HALF))[..., 0].astype(jnp.float32) for n in ("reward", "going"))
        paid = jnp.mean((reward - jnp.sign(batch["rewards"]) * jnp.log1p(jnp.abs(batch["rewards"]))) ** 2)
        ended = jnp.mean(jax.nn.softplus(going) - going * batch["going"])
        return painted + paid + ended + 0.5 * divergence(jax.lax.stop_gradient(posterior), prior) + 0.1 * divergence(posterior, jax.lax.stop_gradient(prior))

    def step(params, opt_state, batch, key):
        loss, grads = jax.value_and_grad(loss_of)(params, batch, jax.random.wrap_key_data(key))
        params, opt_state = adam.update(params, opt_state, grads)
        return params, opt_state, loss

    def unit(key, inner, outer):
        return {"w": dense(key, inner, outer), "n": norm_of(outer)}

    def head(key, inner, outer):
        a, b = jax.random.split(key)
        return {"hidden": unit(a, inner, units), "out": dense(b, units, outer)}

    k = jax.random.split(key, 14)
    seen = last * last * widths[-1]
    params = {"down": [{"w": dense(q, 4, 4, a, b, fan_in=16 * a), "n": norm_of(b)} for q, a, b in zip(jax.random.split(k[0], 4), (3, *widths), widths)],
              "up": [{"w": dense(q, 4, 4, a, b, fan_in=4 * a), "n": norm_of(a)} for q, a, b in zip(jax.random.split(k[1], 4), widths[::-1], (*widths[-2::-1], 3))],
              "in": unit(k[2], latent + actions, units), "gates": unit(k[3], units + state, 3 * state), "prior": head(k[4], state, latent), "posterior": head(k[5], state + seen, latent),
              "paint": dense(k[6], state + latent, seen), "reward": head(k[7], state + latent, 1), "going": head(k[8], state + latent, 1)}
    batch_of = {"pictures": jax.random.uniform(k[9], (batch, length, side, side, 3)), "actions": jax.random.normal(k[10], (batch, length, actions)), "first": jnp.zeros((batch, length), bool),
                "rewards": jax.random.normal(k[11], (batch, length)), "going": jnp.ones((batch, length))}
    return step, (0, 1), (params, adam.init(params), batch_of, jax.random.key_data(k[12]))


def chosen_experts(key, batch=64, length=1024, width=1024, heads=16, hidden=4096, experts=16, each=2, layers=2, words=32768):
    """Experts that choose their words: of every text each takes those that are most for it, and what it makes of them is added where they were."""
    depth, taken = width // heads, length * each // experts

    def attended(p, x):
        q, k, v = (jnp.einsum("bsd,dhk->bshk", x, p[n].astype(HALF)) for n in "qkv")
        scores = jnp.einsum("bqhk,bthk->bhqt", q, k).astype(jnp.float32) * depth ** -0.5
        at = jnp.arange(length)
        shares = jax.nn.softmax(jnp.where(at[:, None] >= at, scores, -1e30)).astype(HALF)
        return jnp.einsum("bshk,hkd->bsd", jnp.einsum("bhqt,bthk->bqhk", shares, v), p["out"].astype(HALF))

    def chosen(p, x):
        scores = jax.nn.softmax(x.astype(jnp.float32) @ p["router"], axis=-1)
        shares, at = jax.lax.top_k(jnp.swapaxes(scores, 1, 2), taken)
        y = jax.vmap(lambda x, at: x[at])(x, at)
        y = jax.nn.gelu(jnp.einsum("becd,edf->becf", y, p["experts"]["up"].astype(HALF)))
        y = jnp.einsum("becf,efd->becd", y, p["experts"]["down"].astype(HALF)) * shares[..., None].astype(HALF)
        return jax.vmap(lambda y, at: jnp.zeros((length, width), HALF).at[at].add(y))(y, at)

    def loss_of(params, batch):
        x = params["words"].astype(HALF)[batch["tokens"]] + params["places"].astype(HALF)
        for p in params["layers"]:
            x = x + attended(p["attention"], layer_norm(x, p["n1"]))
            x = x + chosen(p, layer_norm(x, p["n2"]))
        return cross_entropy(layer_norm(x, params["n"]) @ params["head"].astype(HALF), batch["next"])

    def layer(key):
        k = jax.random.split(key, 4)
        return {"attention": attention_weights(k[0], width, heads, depth), "router": dense(k[1], width, experts), "n1": norm_of(width), "n2": norm_of(width),
                "experts": {"up": dense(k[2], experts, width, hidden, fan_in=width), "down": dense(k[3], experts, hidden, width, fan_in=hidden)}}

    k = jax.random.split(key, 6)
    params = {"words": dense(k[0], words, width, fan_in=width), "places": dense(k[1], length, width, fan_in=width), "head": dense(k[2], width, words), "n": norm_of(width),
              "layers": [layer(q) for q in jax.random.split(k[3], layers)]}
    batch_of = {"tokens": integers(k[4], (batch, length), words), "next": integers(k[5], (batch, length), words)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def deltas(key, batch=32, length=2048, width=2048, heads=16, chunk=64, taps=4, hidden=5632, layers=2, words=32768):
    """Linear attention by the delta rule: what a key held is replaced; chunks of words are worked through at once by triangular systems, states go from chunk to chunk."""
    depth, count = width // heads, length // chunk

    def unit(x):
        wide = x.astype(jnp.float32)
        return (wide * jax.lax.rsqrt(jnp.sum(wide * wide, axis=-1, keepdims=True) + 1e-6)).astype(x.dtype)

    def convolved(x, w):
        return jax.nn.silu(jax.lax.conv_general_dilated(x, w.astype(HALF), (1,), [(taps - 1, 0)], dimension_numbers=("NHC", "HIO", "NHC"), feature_group_count=width))

    def cut(x):
        return jnp.transpose(x.reshape(x.shape[0], count, chunk, heads, -1), (1, 0, 3, 2, 4))

    def mixed(p, x):
        q, k, v = (cut(convolved(x @ p[n].astype(HALF), p["taps"][n])) for n in "qkv")
        q, k = unit(q) * jnp.asarray(depth ** -0.5, HALF), unit(k)
        beta = cut(jax.nn.sigmoid((x @ p["beta"].astype(HALF)).astype(jnp.float32)))
        known = k * beta.astype(HALF)
        lower = jnp.tril(jnp.einsum("nbhtd,nbhsd->nbhts", known, k).astype(jnp.float32), -1) + jnp.eye(chunk)
        inverse = jax.lax.linalg.triangular_solve(lower, jnp.broadcast_to(jnp.eye(chunk), lower.shape), left_side=True, lower=True, unit_diagonal=True).astype(HALF)
        removed = jnp.einsum("nbhts,nbhsd->nbhtd", inverse, known)
        written = jnp.einsum("nbhts,nbhsd->nbhtd", inverse, v * beta.astype(HALF))

        def carry(state, read):
            q, k, removed, written = read
            held = state.astype(HALF)
            new = written - jnp.einsum("bhtd,bhde->bhte", removed, held)
            near = jnp.tril(jnp.einsum("bhtd,bhsd->bhts", q, k))
            out = jnp.einsum("bhtd,bhde->bhte", q, held) + jnp.einsum("bhts,bhse->bhte", near, new)
            return state + jnp.einsum("bhtd,bhte->bhde", k, new).astype(jnp.float32), out

        _, out = jax.lax.scan(carry, jnp.zeros((x.shape[0], heads, depth, depth)), (q, k, removed, written))
        out = root_mean_square(jnp.transpose(out, (1, 0, 3, 2, 4)), p["norm"])
        return (out.reshape(x.shape) * jax.nn.silu(x @ p["open"].astype(HALF))) @ p["out"].astype(HALF)

    def loss_of(params, batch):
        table = params["words"].astype(HALF)
        x = table[batch["tokens"]]
        for p in params["layers"]:
            x = x + mixed(p["mixed"], root_mean_square(x, p["n1"]))
            y = root_mean_square(x, p["n2"])
            x = x + (jax.nn.silu(y @ p["gate"].astype(HALF)) * (y @ p["up"].astype(HALF))) @ p["down"].astype(HALF)
        return cross_entropy(root_mean_square(x, params["n"]) @ table.T, batch["next"])

    def layer(key):
        k = jax.random.split(key, 9)
        return {"mixed": {**{n: dense(r, width, width) for n, r in zip(("q", "k", "v", "open", "out"), k)}, "beta": dense(k[5], width, heads), "norm": jnp.ones((depth,)),
                          "taps": {n: dense(r, taps, 1, width) for n, r in zip("qkv", jax.random.split(k[6], 3))}},
                "gate": dense(k[7], width, hidden), **perceptron_weights(k[8], width, hidden), "n1": jnp.ones((width,)), "n2": jnp.ones((width,))}

    k = jax.random.split(key, 4)
    params = {"words": dense(k[0], words, width, fan_in=width), "n": jnp.ones((width,)), "layers": [layer(q) for q in jax.random.split(k[1], layers)]}
    batch_of = {"tokens": integers(k[2], (batch, length), words), "next": integers(k[3], (batch, length), words)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch_of)


def standardised(key, batch=512, image=224, stem=64, widths=(64, 128), blocks=2, groups=32, classes=1000, rate=0.03):
    """A residual net of bottlenecks whose weights are standardised and whose activations are normalised by groups of channels; momentum is all of its optimizer."""
    def convolved(x, w, stride=1):
        w = w - jnp.mean(w, axis=(0, 1, 2))
        w = w * jax.lax.rsqrt(jnp.mean(w * w, axis=(0, 1, 2)) + 1e-10) * (w.size // w.shape[-1]) ** -0.5
        return jax.lax.conv_general_dilated(x, w.astype(HALF), (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def normal(x, p):
        wide = x.astype(jnp.float32).reshape(*x.shape[:-1], groups, -1)
        mean = jnp.mean(wide, axis=(1, 2, 4), keepdims=True)
        wide = (wide - mean) * jax.lax.rsqrt(jnp.mean((wide - mean) ** 2, axis=(1, 2, 4), keepdims=True) + 1e-5)
        return jax.nn.relu(wide.reshape(x.shape) * p["scale"] + p["bias"]).astype(HALF)

    def loss_of(params, batch):
        x = convolved(batch["images"].astype(HALF), params["stem"], 2)
        x = jax.lax.reduce_window(x, np.array(-np.inf, HALF), jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        for i, stage in enumerate(params["stages"]):
            for j, p in enumerate(stage):
                stride = 2 if i and not j else 1
                y = normal(x, p["n1"])
                x = convolved(y, p["skip"], stride) if "skip" in p else x
                y = normal(convolved(y, p["first"]), p["n2"])
                y = normal(convolved(y, p["second"], stride), p["n3"])
                x = x + convolved(y, p["third"])
        x = jnp.mean(normal(x, params["n"]), axis=(1, 2))
        return cross_entropy(x @ params["head"].astype(HALF) + params["bias"].astype(HALF), batch["labels"])

    def step(params, momenta, batch):
        loss, grads = jax.value_and_grad(loss_of)(params, batch)
        momenta = jax.tree.map(lambda m, g: 0.9 * m + g, momenta, grads)
        return jax.tree.map(lambda p, m: p - rate * m, params, momenta), momenta, loss

    def block(key, inner, width):
        k = jax.random.split(key, 4)
        out = {"n1": norm_of(inner), "first": dense(k[0], 1, 1, inner, width, fan_in=inner), "n2": norm_of(width), "second": dense(k[1], 3, 3, width, width, fan_in=9 * width), "n3": norm_of(width),
               "third": dense(k[2], 1, 1, width, 4 * width, fan_in=width)}
        return out if inner == 4 * width else {**out, "skip": dense(k[3], 1, 1, inner, 4 * width, fan_in=inner)}

    k = jax.random.split(key, 5)
    inners = (stem, *(4 * w for w in widths))
    params = {"stem": dense(k[0], 7, 7, 3, stem, fan_in=147), "n": norm_of(4 * widths[-1]), "head": dense(k[1], 4 * widths[-1], classes), "bias": jnp.zeros((classes,)),
              "stages": [[block(r, inner if not j else 4 * width, width) for j, r in enumerate(jax.random.split(q, blocks))] for q, inner, width in zip(jax.random.split(k[2], len(widths)), inners, widths)]}
    batch_of = {"images": jax.random.normal(k[3], (batch, image, image, 3)), "labels": integers(k[4], (batch,), classes)}
    return step, (0, 1), (params, jax.tree.map(jnp.zeros_like, params), batch_of)


PROGRAMS = (tied, bytes, world, chosen_experts, deltas, standardised)
