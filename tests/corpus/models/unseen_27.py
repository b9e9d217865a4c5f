"""Training steps of families that the others have none of, written after cost model 27; no figure of theirs went into it.

Each function as in models/unseen.py.
"""
import jax
import jax.numpy as jnp

from models import adam
from models.unseen import HALF, cross_entropy, dense, integers, layer_norm, norm_of, root_mean_square, trained
from models.unseen_17 import perceptron_weights
from models.unseen_19 import encoded, layer_of


def convolved(x, w, stride=1, groups=1):
    return jax.lax.conv_general_dilated(x, w.astype(x.dtype), (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=groups)


def batch_norm(x, p):
    wide = x.astype(jnp.float32)
    mean = jnp.mean(wide, axis=(0, 1, 2))
    scaled = (wide - mean) * jax.lax.rsqrt(jnp.var(wide, axis=(0, 1, 2)) + 1e-5)
    return (scaled * p["scale"] + p["bias"]).astype(x.dtype)


def squeezed(key, batch=512, image=112, widths=(64, 128, 256), blocks=2, expand=4, classes=1000):
    """Inverted bottlenecks: one by one, five by five for one channel each, a gate for each channel from the whole picture, one by one."""
    def bottleneck(p, x, stride):
        y = jax.nn.silu(batch_norm(convolved(x, p["up"]), p["n1"]))
        y = jax.nn.silu(batch_norm(convolved(y, p["taps"], stride, y.shape[-1]), p["n2"]))
        gate = jnp.mean(y, axis=(1, 2))
        gate = jax.nn.sigmoid(jax.nn.silu(gate @ p["squeeze"].astype(HALF)) @ p["excite"].astype(HALF))
        y = batch_norm(convolved(y * gate[:, None, None, :], p["down"]), p["n3"])
        return x + y if x.shape == y.shape else y

    def loss_of(params, batch):
        x = jax.nn.silu(convolved(batch["images"].astype(HALF), params["first"], 2))
        for stage in params["stages"]:
            for i, p in enumerate(stage):
                x = bottleneck(p, x, 2 if i == 0 else 1)
        return cross_entropy(jnp.mean(x, axis=(1, 2)) @ params["head"].astype(HALF), batch["labels"])

    def block(key, a, b):
        k, c = jax.random.split(key, 5), a * expand
        return {"up": dense(k[0], 1, 1, a, c, fan_in=a), "taps": dense(k[1], 5, 5, 1, c, fan_in=25), "down": dense(k[2], 1, 1, c, b, fan_in=c),
                "squeeze": dense(k[3], c, a // 4), "excite": dense(k[4], a // 4, c), "n1": norm_of(c), "n2": norm_of(c), "n3": norm_of(b)}

    k = jax.random.split(key, 5)
    stages = [[block(r, a if i == 0 else b, b) for i, r in enumerate(jax.random.split(q, blocks))]
              for q, a, b in zip(jax.random.split(k[0], len(widths)), (32, *widths), widths)]
    params = {"first": dense(k[1], 3, 3, 3, 32, fan_in=27), "stages": stages, "head": dense(k[2], widths[-1], classes)}
    batch = {"images": jax.random.normal(k[3], (batch, image, image, 3)), "labels": integers(k[4], (batch,), classes)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def adversarial(key, batch=512, noise=128, width=512, size=4, times=4):
    """Two nets against each other: one makes pictures by transposed convolutions, one tells them from true ones; a step of both."""
    def made(p, noise):
        x = (noise.astype(HALF) @ p["first"].astype(HALF)).reshape(-1, size, size, width)
        for i, w in enumerate(p["up"]):
            x = jax.lax.conv_transpose(x, w.astype(HALF), (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = jax.nn.relu(x) if i + 1 < times else jnp.tanh(x)
        return x

    def judged(p, x):
        for w in p["down"]:
            x = jax.nn.leaky_relu(convolved(x, w, 2), 0.2)
        return (x.reshape(x.shape[0], -1) @ p["last"].astype(HALF))[:, 0].astype(jnp.float32)

    def step(maker, judge, maker_state, judge_state, batch):
        def judge_loss(judge):
            return jnp.mean(jax.nn.softplus(-judged(judge, batch["true"].astype(HALF)))) + jnp.mean(jax.nn.softplus(judged(judge, made(maker, batch["noise"]))))

        def maker_loss(maker):
            return jnp.mean(jax.nn.softplus(-judged(judge, made(maker, batch["noise"]))))
        a, judge_grads = jax.value_and_grad(judge_loss)(judge)
        b, maker_grads = jax.value_and_grad(maker_loss)(maker)
        maker, maker_state = adam.update(maker, maker_state, maker_grads)
        judge, judge_state = adam.update(judge, judge_state, judge_grads)
        return maker, judge, maker_state, judge_state, a + b

    k = jax.random.split(key, 6)
    widths = [width // 2 ** i for i in range(times)]
    up = list(zip(widths, (*widths[1:], 3)))
    down = [(b, a) for a, b in reversed(up)]
    maker = {"first": dense(k[0], noise, size * size * width), "up": [dense(q, 4, 4, a, b, fan_in=4 * a) for q, (a, b) in zip(jax.random.split(k[1], times), up)]}
    judge = {"down": [dense(q, 4, 4, a, b, fan_in=16 * a) for q, (a, b) in zip(jax.random.split(k[2], times), down)], "last": dense(k[3], size * size * width, 1)}
    side = size * 2 ** times
    batch = {"noise": jax.random.normal(k[4], (batch, noise)), "true": jax.random.normal(k[5], (batch, side, side, 3))}
    return step, (0, 1, 2, 3), (maker, judge, adam.init(maker), adam.init(judge), batch)


def sorted_experts(key, batch=32, length=1024, width=1024, heads=16, depth=64, turned=32, latent=256, experts=16, hidden=1024, most=2, layers=2, vocabulary=32768):
    """Keys and values from a narrow latent vector; words sorted by their expert, whose products are over ragged groups, beside one expert for all."""
    def rotated(x):
        at = jnp.arange(x.shape[1])[:, None, None] * 10000.0 ** (-jnp.arange(x.shape[-1] // 2) / (x.shape[-1] // 2))
        a, b = jnp.split(x.astype(jnp.float32), 2, axis=-1)
        return jnp.concatenate([a * jnp.cos(at) - b * jnp.sin(at), a * jnp.sin(at) + b * jnp.cos(at)], axis=-1).astype(x.dtype)

    def mixed(p, x):
        q = jnp.einsum("bsd,dhk->bshk", x, p["q"].astype(HALF))
        narrow = x @ p["narrow"].astype(HALF)
        shared = rotated(narrow[:, :, None, latent:])
        narrow = root_mean_square(narrow[..., :latent], p["scale"])
        k, v = (jnp.einsum("bsd,dhk->bshk", narrow, p[n].astype(HALF)) for n in "kv")
        scores = jnp.einsum("bqhk,bthk->bhqt", q[..., :depth], k) + jnp.einsum("bqhk,btk->bhqt", rotated(q[..., depth:]), shared[:, :, 0])
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores.astype(jnp.float32) * (depth + turned) ** -0.5, -1e30)
        mixed = jnp.einsum("bhqt,bthk->bqhk", jax.nn.softmax(scores, axis=-1).astype(HALF), v)
        return jnp.einsum("bshk,hkd->bsd", mixed, p["out"].astype(HALF))

    def gated(x, p):
        return (jax.nn.silu(x @ p["gate"].astype(HALF)) * (x @ p["up"].astype(HALF))) @ p["down"].astype(HALF)

    def divided(p, x):
        words = x.reshape(-1, width)
        chance = jax.nn.sigmoid((words @ p["router"].astype(HALF)).astype(jnp.float32))
        share, at = jax.lax.top_k(chance, most)
        share = share / jnp.sum(share, axis=-1, keepdims=True)
        order = jnp.argsort(at.reshape(-1))
        sizes = jnp.bincount(at.reshape(-1), length=experts).astype(jnp.int32)
        taken = words[order // most]
        y = jax.nn.silu(jax.lax.ragged_dot(taken, p["gate"].astype(HALF), sizes)) * jax.lax.ragged_dot(taken, p["up"].astype(HALF), sizes)
        y = jax.lax.ragged_dot(y, p["down"].astype(HALF), sizes) * share.reshape(-1)[order][:, None].astype(HALF)
        return jnp.zeros_like(words).at[order // most].add(y).reshape(x.shape) + gated(x, p["shared"])

    def loss_of(params, batch):
        x = params["words"].astype(HALF)[batch["words"]]
        for p in params["layers"]:
            x = x + mixed(p["attention"], root_mean_square(x, p["n1"]))
            x = x + divided(p["experts"], root_mean_square(x, p["n2"]))
        return cross_entropy(root_mean_square(x, params["n"]) @ params["words"].astype(HALF).T, batch["next"])

    def layer(key):
        k = jax.random.split(key, 12)
        return {"n1": jnp.ones((width,)), "n2": jnp.ones((width,)),
                "attention": {"q": dense(k[0], width, heads, depth + turned), "narrow": dense(k[1], width, latent + turned), "scale": jnp.ones((latent,)),
                              "k": dense(k[2], latent, heads, depth), "v": dense(k[3], latent, heads, depth), "out": dense(k[4], heads, depth, width, fan_in=heads * depth)},
                "experts": {"router": dense(k[5], width, experts), "gate": dense(k[6], experts, width, hidden, fan_in=width),
                            "up": dense(k[7], experts, width, hidden, fan_in=width), "down": dense(k[8], experts, hidden, width, fan_in=hidden),
                            "shared": {"gate": dense(k[9], width, hidden), "up": dense(k[10], width, hidden), "down": dense(k[11], hidden, width)}}}

    k = jax.random.split(key, 4)
    params = {"words": dense(k[0], vocabulary, width, fan_in=width), "layers": [layer(q) for q in jax.random.split(k[1], layers)], "n": jnp.ones((width,))}
    batch = {"words": integers(k[2], (batch, length), vocabulary), "next": integers(k[3], (batch, length), vocabulary)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def time_mix(key, batch=128, length=256, width=1024, heads=16, hidden=3584, layers=2, vocabulary=32768):
    """No attention: each head has a matrix of state that fades and is added to word by word, in a loop over time."""
    depth = width // heads

    def shifted(x):
        return jnp.pad(x, ((0, 0), (1, 0), (0, 0)))[:, :-1]

    def turn(state, now):
        r, k, v, fade, first = now
        added = k[..., :, None] * v[..., None, :]
        read = jnp.einsum("bhk,bhkv->bhv", r, state + first * added)
        return state * fade[..., None] + added, read

    def mixed(p, x):
        before = shifted(x)
        r, k, v, g, w = ((x + (before - x) * p["mix"][i].astype(HALF)) @ p[n].astype(HALF) for i, n in enumerate("rkvgw"))
        r, k, v, w = (jnp.moveaxis(t.reshape(*t.shape[:2], heads, depth), 1, 0).astype(jnp.float32) for t in (r, k, v, w))
        first = jnp.broadcast_to(p["first"][..., None], (heads, depth, 1))
        state = jnp.zeros((x.shape[0], heads, depth, depth))
        _, read = jax.lax.scan(lambda s, now: turn(s, (*now, first)), state, (r, k, v, jnp.exp(-jnp.exp(w))))
        read = jnp.moveaxis(read, 0, 1).reshape(x.shape).astype(HALF)
        return (layer_norm(read, p["n"]) * jax.nn.silu(g)) @ p["out"].astype(HALF)

    def squared(p, x):
        y = x + (shifted(x) - x) * p["mix"].astype(HALF)
        return jnp.square(jax.nn.relu(y @ p["up"].astype(HALF))) @ p["down"].astype(HALF)

    def loss_of(params, batch):
        x = params["words"].astype(HALF)[batch["words"]]
        for p in params["layers"]:
            x = x + mixed(p["time"], layer_norm(x, p["n1"]))
            x = x + squared(p["channels"], layer_norm(x, p["n2"]))
        return cross_entropy(layer_norm(x, params["n"]) @ params["head"].astype(HALF), batch["next"])

    def layer(key):
        k = jax.random.split(key, 10)
        return {"n1": norm_of(width), "n2": norm_of(width),
                "time": {**{n: dense(q, width, width) for n, q in zip("rkvgw", k)}, "mix": jax.random.uniform(k[5], (5, width)),
                         "first": jax.random.normal(k[6], (heads, depth)), "n": norm_of(width), "out": dense(k[7], width, width)},
                "channels": {"mix": jax.random.uniform(k[8], (width,)), **perceptron_weights(k[9], width, hidden)}}

    k = jax.random.split(key, 5)
    params = {"words": dense(k[0], vocabulary, width, fan_in=width), "layers": [layer(q) for q in jax.random.split(k[1], layers)],
              "n": norm_of(width), "head": dense(k[2], width, vocabulary)}
    batch = {"words": integers(k[3], (batch, length), vocabulary), "next": integers(k[4], (batch, length), vocabulary)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def bags(key, batch=16384, tables=8, rows=262144, most=16, width=64, dense_features=256):
    """Clicks: every feature is a bag of up to 16 rows of a table, summed; crossed layers and a perceptron behind them."""
    def loss_of(params, batch):
        taken = [jnp.sum(jnp.where(batch["ids"][:, i, :, None] >= 0, t.astype(HALF)[jnp.maximum(batch["ids"][:, i], 0)], 0), axis=1)
                 for i, t in enumerate(params["tables"])]
        x = first = jnp.concatenate([batch["dense"].astype(HALF) @ params["dense"].astype(HALF), *taken], axis=-1)
        for p in params["cross"]:
            x = first * ((x @ p["down"].astype(HALF)) @ p["up"].astype(HALF) + p["bias"].astype(HALF)) + x
        x = jax.nn.relu(jax.nn.relu(x @ params["up"].astype(HALF)) @ params["down"].astype(HALF))
        logit = (x @ params["head"].astype(HALF))[:, 0].astype(jnp.float32)
        return jnp.mean(jax.nn.softplus(logit) - logit * batch["clicked"])

    k, whole = jax.random.split(key, 9), width * (tables + 1)
    params = {"tables": [dense(q, rows, width, fan_in=width) for q in jax.random.split(k[0], tables)], "dense": dense(k[1], dense_features, width),
              "cross": [{"down": dense(a, whole, 128), "up": dense(b, 128, whole), "bias": jnp.zeros((whole,))} for a, b in (jax.random.split(q) for q in jax.random.split(k[2], 3))],
              "up": dense(k[3], whole, 2048), "down": dense(k[4], 2048, 1024), "head": dense(k[5], 1024, 1)}
    batch = {"ids": integers(k[6], (batch, tables, most), rows), "dense": jax.random.normal(k[7], (batch, dense_features)), "clicked": jnp.ones((batch,))}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def neighbours(key, nodes=32768, edges=262144, features=256, heads=8, depth=64, layers=3, classes=64):
    """A graph whose nodes attend to their neighbours: a softmax over the edges of each node."""
    def layer_out(p, x, edges):
        h = jnp.einsum("nf,fhk->nhk", x, p["w"].astype(HALF))
        start, end = (jnp.einsum("nhk,hk->nh", h, p[n].astype(HALF)).astype(jnp.float32) for n in ("start", "end"))
        score = jax.nn.leaky_relu(start[edges["from"]] + end[edges["to"]], 0.2)
        score = jnp.exp(score - jax.lax.stop_gradient(jax.ops.segment_max(score, edges["to"], nodes))[edges["to"]])
        share = score / (jax.ops.segment_sum(score, edges["to"], nodes)[edges["to"]] + 1e-9)
        summed = jax.ops.segment_sum(h[edges["from"]] * share[..., None].astype(HALF), edges["to"], nodes)
        return jax.nn.elu(summed.reshape(nodes, -1))

    def loss_of(params, batch):
        x = batch["nodes"].astype(HALF)
        for p in params["layers"]:
            x = layer_out(p, x, batch)
        return cross_entropy(x @ params["head"].astype(HALF), batch["labels"])

    k = jax.random.split(key, 6)
    layer = [{"w": dense(a, n, heads, depth), "start": dense(b, heads, depth), "end": dense(c, heads, depth)}
             for n, (a, b, c) in zip((features, *[heads * depth] * layers), (jax.random.split(q, 3) for q in jax.random.split(k[0], layers)))]
    params = {"layers": layer, "head": dense(k[1], heads * depth, classes)}
    batch = {"nodes": jax.random.normal(k[2], (nodes, features)), "from": integers(k[3], (edges,), nodes), "to": integers(k[4], (edges,), nodes), "labels": integers(k[5], (nodes,), classes)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def transcribed(key, batch=64, samples=81920, channels=512, width=768, heads=12, hidden=3072, layers=2, symbols=32, text=64):
    """Speech from samples: strided convolutions, a transformer, and the sum over all ways in which a text can be read (CTC), a loop over frames."""
    def ctc(logits, text):
        logp = jax.nn.log_softmax(logits.astype(jnp.float32))
        blanked = jnp.zeros((text.shape[0], 2 * text.shape[1] + 1), text.dtype).at[:, 1::2].set(text)
        skip = jnp.concatenate([jnp.zeros((text.shape[0], 2), bool), (blanked[:, 2:] != blanked[:, :-2]) & (blanked[:, 2:] != 0)], axis=1)
        first = jnp.where(jnp.arange(blanked.shape[1]) < 2, 0.0, -1e30)

        def turn(alpha, frame):
            one = jnp.pad(alpha, ((0, 0), (1, 0)), constant_values=-1e30)[:, :-1]
            two = jnp.where(skip, jnp.pad(alpha, ((0, 0), (2, 0)), constant_values=-1e30)[:, :-2], -1e30)
            return jnp.logaddexp(jnp.logaddexp(alpha, one), two) + jnp.take_along_axis(frame, blanked, axis=1), None
        last, _ = jax.lax.scan(turn, jnp.broadcast_to(first, blanked.shape), jnp.swapaxes(logp, 0, 1))
        return -jnp.mean(jnp.logaddexp(last[:, -1], last[:, -2]))

    def loss_of(params, batch):
        x = batch["samples"].astype(HALF)[..., None]
        for w, (size, stride) in zip(params["taps"], steps):
            x = jax.lax.conv_general_dilated(x, w.astype(HALF), (stride,), "SAME", dimension_numbers=("NHC", "HIO", "NHC"))
            x = jax.nn.gelu(x)
        x = layer_norm(x, params["n1"]) @ params["project"].astype(HALF)
        for p in params["layers"]:
            x = encoded(p, x)
        return ctc(layer_norm(x, params["n2"]) @ params["head"].astype(HALF), batch["text"])

    steps = ((10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2))
    k = jax.random.split(key, 6)
    taps = [dense(q, size, a, channels, fan_in=size * a) for q, (size, _), a in zip(jax.random.split(k[0], len(steps)), steps, (1, *[channels] * 6))]
    params = {"taps": taps, "n1": norm_of(channels), "project": dense(k[1], channels, width), "layers": [layer_of(q, width, heads, hidden) for q in jax.random.split(k[2], layers)],
              "n2": norm_of(width), "head": dense(k[3], width, symbols)}
    batch = {"samples": jax.random.normal(k[4], (batch, samples)), "text": integers(k[5], (batch, text), symbols)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def actor_critic(key, steps=32, games=256, size=64, widths=(32, 64, 64), width=512, moves=16):
    """Frames of games seen by convolutions, a memory over time that an ended game clears, and corrected returns from the last step back."""
    def seen(p, frames):
        x = frames.reshape(-1, size, size, 4).astype(HALF) / 255
        for w, stride in zip(p["seen"], (4, 2, 2)):
            x = jax.nn.relu(convolved(x, w, stride))
        return jax.nn.relu(x.reshape(steps, -1, size * size // 256 * widths[-1]) @ p["read"].astype(HALF))

    def remembered(p, x, ended):
        def turn(carry, now):
            x, ended = now
            h, c = (t * (1 - ended)[:, None] for t in carry)
            i, f, g, o = jnp.split((jnp.concatenate([x, h.astype(HALF)], axis=-1) @ p["memory"].astype(HALF)).astype(jnp.float32), 4, axis=-1)
            c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h.astype(HALF)
        zero = jnp.zeros((x.shape[1], width))
        return jax.lax.scan(turn, (zero, zero), (x, ended))[1]

    def loss_of(params, batch):
        x = remembered(params, seen(params, batch["frames"]), batch["ended"])
        logp = jax.nn.log_softmax((x @ params["moves"].astype(HALF)).astype(jnp.float32))
        value = (x @ params["value"].astype(HALF))[..., 0].astype(jnp.float32)
        chosen = jnp.take_along_axis(logp, batch["moves"][..., None], axis=-1)[..., 0]
        ratio = jnp.minimum(jnp.exp(jax.lax.stop_gradient(chosen) - batch["logp"]), 1.0)
        kept, fixed = 0.99 * (1 - batch["ended"]), jax.lax.stop_gradient(value)
        following = jnp.concatenate([fixed[1:], fixed[-1:]])
        error = ratio * (batch["reward"] + kept * following - fixed)
        _, gain = jax.lax.scan(lambda after, now: (now[0] + now[1] * now[2] * after,) * 2, jnp.zeros_like(error[0]), (error, kept, ratio), reverse=True)
        target = fixed + gain
        advantage = ratio * (batch["reward"] + kept * jnp.concatenate([target[1:], fixed[-1:]]) - fixed)
        return jnp.mean((target - value) ** 2) / 2 - jnp.mean(chosen * advantage) + 0.01 * jnp.mean(jnp.sum(jnp.exp(logp) * logp, axis=-1))

    k = jax.random.split(key, 11)
    params = {"seen": [dense(q, n, n, a, b, fan_in=n * n * a) for q, n, a, b in zip(k, (8, 4, 3), (4, *widths), widths)],
              "read": dense(k[3], size * size // 256 * widths[-1], width), "memory": dense(k[4], 2 * width, 4 * width), "moves": dense(k[5], width, moves), "value": dense(k[6], width, 1)}
    batch = {"frames": integers(k[7], (steps, games, size, size, 4), 256).astype(jnp.uint8), "ended": jnp.zeros((steps, games)), "moves": integers(k[8], (steps, games), moves),
             "logp": jax.random.normal(k[9], (steps, games)), "reward": jax.random.normal(k[10], (steps, games))}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


PROGRAMS = (squeezed, adversarial, sorted_experts, time_mix, bags, neighbours, transcribed, actor_critic)
