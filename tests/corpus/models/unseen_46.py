"""Training steps of families that the others have none of; written when cost model 46 was done.

Each function as in models/unseen.py.
"""
import jax
import jax.numpy as jnp

from models import adam
from models.unseen import HALF, cross_entropy, dense, integers, layer_norm, norm_of, trained
from models.unseen_17 import attention_weights, perceptron, perceptron_weights


def convolved(x, taps, stride=1):
    return jax.lax.conv_general_dilated(x, taps.astype(x.dtype), (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def routed(key, batch=128, length=1024, width=1024, hidden=4096, heads=16, layers=4, share=8, words=32768):
    """A decoder in which every other layer takes one in eight of the words, those of the highest scores; the others pass it by."""
    def mixed(p, x, places):
        q, k, v = (jnp.einsum("bsd,dhk->bshk", layer_norm(x, p["norm1"]), p[n].astype(HALF)) for n in "qkv")
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) * q.shape[-1] ** -0.5
        scores = jnp.where((places[:, :, None] >= places[:, None, :])[:, None], scores, -1e9)
        x = x + jnp.einsum("bqhd,hdm->bqm", jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1).astype(HALF), v), p["out"].astype(HALF))
        return x + perceptron(p, layer_norm(x, p["norm2"]))

    def loss_of(params, batch):
        x = params["words"].astype(HALF)[batch["tokens"]]
        everywhere = jnp.broadcast_to(jnp.arange(length), x.shape[:2])
        for i, p in enumerate(params["layers"]):
            if i % 2 == 0:
                x = mixed(p, x, everywhere)
                continue
            weight = (x @ p["router"].astype(HALF)).astype(jnp.float32)
            best, chosen = jax.lax.top_k(weight, length // share)
            chosen, order = jnp.sort(chosen, axis=-1), jnp.argsort(chosen, axis=-1)
            best = jnp.take_along_axis(best, order, axis=-1)
            some = jnp.take_along_axis(x, chosen[..., None], axis=1)
            more = (mixed(p, some, chosen) - some) * jax.nn.sigmoid(best)[..., None].astype(HALF)
            x = jax.vmap(lambda whole, at, add: whole.at[at].add(add))(x, chosen, more)
        return cross_entropy(x @ params["head"].astype(HALF), batch["next"])

    def layer(key):
        a, b, c = jax.random.split(key, 3)
        return {"norm1": norm_of(width), "norm2": norm_of(width), "router": dense(c, width), **attention_weights(a, width, heads, width // heads), **perceptron_weights(b, width, hidden)}

    k = jax.random.split(key, layers + 4)
    params = {"words": dense(k[0], words, width, fan_in=width), "layers": [layer(q) for q in k[1:layers + 1]], "head": dense(k[-3], width, words)}
    return trained(loss_of), (0, 1), (params, adam.init(params), {"tokens": integers(k[-2], (batch, length), words), "next": integers(k[-1], (batch, length), words)})


def bucketed(key, batch=64, length=2048, width=1024, hidden=4096, heads=16, layers=2, chunk=64, words=32768):
    """An encoder whose words look at those that fall into the same bucket: sorted by a hash of what they ask for, in chunks and the chunk before."""
    depth = width // heads

    def attended_near(p, x):
        q, v = (jnp.einsum("bsd,dhk->bhsk", x, p[n].astype(HALF)) for n in "qv")
        turned = jnp.einsum("bhsk,kr->bhsr", q, p["planes"].astype(HALF))
        bucket = jnp.argmax(jnp.concatenate([turned, -turned], axis=-1), axis=-1)
        order = jnp.argsort(bucket * length + jnp.arange(length), axis=-1)
        back = jnp.argsort(order, axis=-1)
        q, v = (jnp.take_along_axis(t, order[..., None], axis=2).reshape(*t.shape[:2], length // chunk, chunk, depth) for t in (q, v))
        k = q * jax.lax.rsqrt(jnp.sum(jnp.square(q.astype(jnp.float32)), axis=-1, keepdims=True) + 1e-6).astype(HALF)
        k, v = (jnp.concatenate([jnp.roll(t, 1, axis=2), t], axis=3) for t in (k, v))
        scores = jnp.einsum("bhnqd,bhnkd->bhnqk", q, k).astype(jnp.float32) * depth ** -0.5
        same = jnp.arange(chunk)[:, None] + chunk == jnp.arange(2 * chunk)[None]
        share = jax.nn.softmax(jnp.where(same, -1e5, scores), axis=-1).astype(HALF)
        seen = jnp.einsum("bhnqk,bhnkd->bhnqd", share, v).reshape(*back.shape, depth)
        return jnp.einsum("bhsd,hdm->bsm", jnp.take_along_axis(seen, back[..., None], axis=2), p["out"].astype(HALF))

    def loss_of(params, batch):
        x = params["words"].astype(HALF)[batch["tokens"]] + params["place"].astype(HALF)
        for p in params["layers"]:
            x = x + attended_near(p, layer_norm(x, p["norm1"]))
            x = x + perceptron(p, layer_norm(x, p["norm2"]))
        return cross_entropy(x @ params["head"].astype(HALF), batch["labels"])

    def layer(key):
        a, b, c = jax.random.split(key, 3)
        weights = attention_weights(a, width, heads, depth)
        return {"norm1": norm_of(width), "norm2": norm_of(width), "planes": dense(c, depth, 16), **{n: weights[n] for n in ("q", "v", "out")}, **perceptron_weights(b, width, hidden)}

    k = jax.random.split(key, layers + 5)
    params = {"words": dense(k[0], words, width, fan_in=width), "place": dense(k[-4], length, width, fan_in=width), "layers": [layer(q) for q in k[1:layers + 1]], "head": dense(k[-3], width, words)}
    return trained(loss_of), (0, 1), (params, adam.init(params), {"tokens": integers(k[-2], (batch, length), words), "labels": integers(k[-1], (batch, length), words)})


def splined(key, batch=32768, widths=(256, 512, 512, 256, 64), knots=8, degree=3):
    """A net without weights of its own at the cells: every edge has a function of one number, a sum of splines over knots."""
    def bases(x):
        grid = jnp.linspace(-2 - degree * 4 / knots, 2 + degree * 4 / knots, knots + 2 * degree + 1)
        x = x[..., None]
        b = ((x >= grid[:-1]) & (x < grid[1:])).astype(jnp.float32)
        for d in range(1, degree + 1):
            b = (x - grid[:-d - 1]) / (grid[d:-1] - grid[:-d - 1]) * b[..., :-1] + (grid[d + 1:] - x) / (grid[d + 1:] - grid[1:-d]) * b[..., 1:]
        return b

    def loss_of(params, batch):
        x = batch["x"]
        for p in params:
            y = jax.nn.silu(x).astype(HALF) @ p["straight"].astype(HALF)
            y = y + jnp.einsum("big,igo->bo", bases(x).astype(HALF), p["curved"].astype(HALF))
            x = y.astype(jnp.float32)
        return jnp.mean(jnp.square(x - batch["y"]))

    k = jax.random.split(key, len(widths) + 2)
    params = [{"straight": dense(q, a, b), "curved": dense(q, a, knots + degree, b, fan_in=a * knots)} for q, a, b in zip(k, widths, widths[1:])]
    return trained(loss_of), (0, 1), (params, adam.init(params), {"x": jax.random.normal(k[-2], (batch, widths[0])), "y": jax.random.normal(k[-1], (batch, widths[-1]))})


def retained(key, batch=32, length=2048, width=1024, hidden=4096, heads=8, layers=2, chunk=128, words=32768):
    """A decoder whose layers keep a matrix that fades from word to word: in chunks, products within, a scan over chunks between."""
    depth = width // heads

    def kept(p, x):
        q, k, v = (jnp.einsum("bsd,dhk->bhsk", x, p[n].astype(HALF)).reshape(x.shape[0], heads, length // chunk, chunk, depth) for n in "qkv")
        fade = jnp.log(1 - 2.0 ** (-5 - jnp.arange(heads)))[:, None]
        at = jnp.arange(chunk)
        within = jnp.where(at[:, None] >= at, jnp.exp(fade[..., None] * (at[:, None] - at)), 0).astype(HALF)
        near = jnp.einsum("bhnqk,bhnkd->bhnqd", jnp.einsum("bhnqd,bhnkd->bhnqk", q, k) * within[:, None], v)
        ends = jnp.exp(fade * (chunk - 1 - at)).astype(HALF)
        adds = jnp.einsum("bhnkd,bhnke->nbhde", k * ends[:, None, :, None], v)

        def next_chunk(state, add):
            return state * jnp.exp(fade * chunk)[..., None].astype(jnp.float32) + add.astype(jnp.float32), state.astype(HALF)
        _, before = jax.lax.scan(next_chunk, jnp.zeros(adds.shape[1:], jnp.float32), adds)
        far = jnp.einsum("bhnqd,nbhde->bhnqe", q * jnp.exp(fade * (at + 1)).astype(HALF)[:, None, :, None], before)
        y = (near + far).astype(jnp.float32).reshape(x.shape[0], heads, length, depth)
        y = (y - y.mean(-1, keepdims=True)) * jax.lax.rsqrt(y.var(-1, keepdims=True) + 1e-5)
        gate = jax.nn.silu(x @ p["gate"].astype(HALF))
        return (y.astype(HALF).transpose(0, 2, 1, 3).reshape(x.shape) * gate) @ p["down_kept"].astype(HALF)

    def loss_of(params, batch):
        x = params["words"].astype(HALF)[batch["tokens"]]
        for p in params["layers"]:
            x = x + kept(p, layer_norm(x, p["norm1"]))
            x = x + perceptron(p, layer_norm(x, p["norm2"]))
        return cross_entropy(x @ params["head"].astype(HALF), batch["next"])

    def layer(key):
        k = jax.random.split(key, 4)
        weights = attention_weights(k[0], width, heads, depth)
        return {"norm1": norm_of(width), "norm2": norm_of(width), "gate": dense(k[1], width, width), "down_kept": dense(k[2], width, width), **{n: weights[n] for n in "qkv"}, **perceptron_weights(k[3], width, hidden)}

    k = jax.random.split(key, layers + 4)
    params = {"words": dense(k[0], words, width, fan_in=width), "layers": [layer(q) for q in k[1:layers + 1]], "head": dense(k[-3], width, words)}
    return trained(loss_of), (0, 1), (params, adam.init(params), {"tokens": integers(k[-2], (batch, length), words), "next": integers(k[-1], (batch, length), words)})


def augmented(key, batch=512, image=96, crop=64, widths=(64, 128, 256, 512), classes=1000):
    """Pictures of which a random window is cut, mirrored or not, and mixed with another; a residual net without batch statistics, its weights averaged over steps."""
    def seen(params, x):
        x = jax.nn.relu(convolved(x.astype(HALF), params["first"]))
        for i, p in enumerate(params["blocks"]):
            y = jax.nn.relu(convolved(x, p["a"], 2 if i else 1))
            x = jax.nn.relu(convolved(y, p["b"]) * p["gain"].astype(HALF) + convolved(x, p["past"], 2 if i else 1))
        return jnp.mean(x, axis=(1, 2)) @ params["head"].astype(HALF)

    def loss_of(params, batch):
        many = batch["pictures"].shape[0]
        keys = jax.random.split(jax.random.wrap_key_data(batch["seed"]), 4)
        at = jax.random.randint(keys[0], (many, 2), 0, image - crop)
        x = jax.vmap(lambda picture, at: jax.lax.dynamic_slice(picture, (at[0], at[1], 0), (crop, crop, 3)))(batch["pictures"], at)
        x = jnp.where(jax.random.bernoulli(keys[1], 0.5, (many, 1, 1, 1)), x[:, :, ::-1], x)
        share = jax.random.uniform(keys[2], (many, 1))
        x = x * share[..., None, None] + x[::-1] * (1 - share[..., None, None])
        wanted = jax.nn.one_hot(batch["labels"], classes)
        wanted = wanted * share + wanted[::-1] * (1 - share)
        logits = seen(params, x).astype(jnp.float32)
        return -jnp.mean(jnp.sum(wanted * jax.nn.log_softmax(logits), axis=-1))

    def step(params, opt_state, averaged, batch):
        loss, grads = jax.value_and_grad(loss_of)(params, batch)
        params, opt_state = adam.update(params, opt_state, grads)
        return params, opt_state, jax.tree.map(lambda a, p: a * 0.999 + p * 0.001, averaged, params), loss

    def block(key, a, b):
        k = jax.random.split(key, 3)
        return {"a": dense(k[0], 3, 3, a, b, fan_in=9 * a), "b": dense(k[1], 3, 3, b, b, fan_in=9 * b), "past": dense(k[2], 1, 1, a, b, fan_in=a), "gain": jnp.ones((b,))}

    k = jax.random.split(key, 5)
    params = {"first": dense(k[0], 3, 3, 3, widths[0], fan_in=27), "blocks": [block(q, a, b) for q, a, b in zip(jax.random.split(k[1], 4), widths[:1] + widths, widths)], "head": dense(k[2], widths[-1], classes)}
    batch_of = {"pictures": jax.random.uniform(k[3], (batch, image, image, 3)), "labels": integers(k[4], (batch,), classes), "seed": jnp.zeros((2,), jnp.uint32)}
    return step, (0, 1, 2), (params, adam.init(params), params, batch_of)


PROGRAMS = (routed, bucketed, splined, retained, augmented)
