"""Training steps and a forward pass of families that tests/corpus has none of; no constant of the cost model was fitted on them.

Each function: (function, donated argument numbers, arguments of the shapes at full width). Parameters are float32, computing is in bfloat16.
"""
import jax
import jax.numpy as jnp
import numpy as np

from models import adam

HALF = jnp.bfloat16


def dense(key, *shape, fan_in=None):
    return jax.random.normal(key, shape) * (fan_in or shape[0]) ** -0.5


def layer_norm(x, p):
    wide = x.astype(jnp.float32)
    mean = jnp.mean(wide, axis=-1, keepdims=True)
    scaled = (wide - mean) * jax.lax.rsqrt(jnp.mean((wide - mean) ** 2, axis=-1, keepdims=True) + 1e-5)
    return (scaled * p["scale"] + p["bias"]).astype(x.dtype)


def norm_of(width):
    return {"scale": jnp.ones((width,)), "bias": jnp.zeros((width,))}


def cross_entropy(logits, labels):
    logits = logits.astype(jnp.float32)
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - jnp.take_along_axis(logits, labels[..., None], axis=-1)[..., 0])


def trained(loss_of):
    def step(params, opt_state, batch):
        loss, grads = jax.value_and_grad(loss_of)(params, batch)
        params, opt_state = adam.update(params, opt_state, grads)
        return params, opt_state, loss
    return step


def integers(key, shape, below):
    return jax.random.randint(key, shape, 0, below, jnp.int32)


def recommender(key, tables=16, rows=131072, width=128, dense_features=512, batch=16384):
    """A recommendation model: sparse features looked up in tables, pairwise products of them, two perceptrons."""
    def perceptron(key, *widths):
        ks = jax.random.split(key, len(widths))
        return [{"w": dense(k, a, b), "b": jnp.zeros((b,))} for k, a, b in zip(ks, widths, widths[1:])]

    def applied(layers, x):
        for i, p in enumerate(layers):
            x = x @ p["w"].astype(x.dtype) + p["b"].astype(x.dtype)
            x = jax.nn.relu(x) if i + 1 < len(layers) else x
        return x

    def loss_of(params, batch):
        bottom = applied(params["bottom"], batch["dense"].astype(HALF))
        looked = [t.astype(HALF)[batch["sparse"][:, i]] for i, t in enumerate(params["tables"])]
        features = jnp.stack([bottom, *looked], axis=1)
        products = jnp.einsum("bik,bjk->bij", features, features)
        i, j = np.tril_indices(tables + 1, -1)
        top = applied(params["top"], jnp.concatenate([bottom, products[:, i, j]], axis=-1))[:, 0].astype(jnp.float32)
        return jnp.mean(jnp.maximum(top, 0) - top * batch["clicked"] + jnp.log1p(jnp.exp(-jnp.abs(top))))

    k = jax.random.split(key, 6)
    pairs = (tables + 1) * tables // 2
    params = {"tables": [dense(t, rows, width, fan_in=width) for t in jax.random.split(k[0], tables)],
              "bottom": perceptron(k[1], dense_features, 2048, 1024, width), "top": perceptron(k[2], width + pairs, 4096, 2048, 1024, 1)}
    batch = {"dense": jax.random.normal(k[3], (batch, dense_features)), "sparse": integers(k[4], (batch, tables), rows), "clicked": jnp.ones((batch,))}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def encoder_layer(key, width, hidden, heads):
    k = jax.random.split(key, 4)
    return {"norm1": norm_of(width), "wqkv": dense(k[0], width, 3, heads, width // heads), "wo": dense(k[1], heads, width // heads, width, fan_in=width),
            "norm2": norm_of(width), "w_in": dense(k[2], width, hidden), "w_out": dense(k[3], hidden, width)}


def encoded(x, p, causal=False):
    q, k, v = jnp.moveaxis(jnp.einsum("bsd,dthk->bsthk", layer_norm(x, p["norm1"]), p["wqkv"].astype(x.dtype)), 2, 0)
    scores = jnp.einsum("bqhk,bthk->bhqt", q, k).astype(jnp.float32) * q.shape[-1] ** -0.5
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e30)
    mixed = jnp.einsum("bhqt,bthk->bqhk", jax.nn.softmax(scores, axis=-1).astype(x.dtype), v)
    x = x + jnp.einsum("bshk,hkd->bsd", mixed, p["wo"].astype(x.dtype))
    return x + jax.nn.gelu(layer_norm(x, p["norm2"]) @ p["w_in"].astype(x.dtype)) @ p["w_out"].astype(x.dtype)


def patches_of(images, size):
    b, h, w, c = images.shape
    x = images.reshape(b, h // size, size, w // size, size, c)
    return jnp.transpose(x, (0, 1, 3, 2, 4, 5)).reshape(b, h * w // size ** 2, size * size * c)


def contrastive(key, batch=1024, layers=2, width=1024, hidden=4096, heads=16, image=224, patch=16, words=77, vocabulary=49408):
    """An image tower and a text tower whose products over the whole batch are the logits."""
    def loss_of(params, batch):
        x = patches_of(batch["images"].astype(HALF), patch) @ params["image"]["patch"].astype(HALF) + params["image"]["position"].astype(HALF)
        for p in params["image"]["layers"]:
            x = encoded(x, p)
        y = params["text"]["words"].astype(HALF)[batch["tokens"]] + params["text"]["position"].astype(HALF)
        for p in params["text"]["layers"]:
            y = encoded(y, p, causal=True)
        x = jnp.mean(x, axis=1) @ params["image"]["project"].astype(HALF)
        y = y[:, -1] @ params["text"]["project"].astype(HALF)
        x, y = (z.astype(jnp.float32) / jnp.linalg.norm(z.astype(jnp.float32), axis=-1, keepdims=True) for z in (x, y))
        logits = jnp.exp(params["temperature"]) * (x @ y.T)
        labels = jnp.arange(logits.shape[0])
        return (cross_entropy(logits, labels) + cross_entropy(logits.T, labels)) / 2

    k = jax.random.split(key, 10)
    tower = lambda key: [encoder_layer(q, width, hidden, heads) for q in jax.random.split(key, layers)]
    params = {"image": {"patch": dense(k[0], patch * patch * 3, width), "position": dense(k[1], (image // patch) ** 2, width, fan_in=width),
                        "layers": tower(k[2]), "project": dense(k[3], width, width)},
              "text": {"words": dense(k[4], vocabulary, width, fan_in=width), "position": dense(k[5], words, width, fan_in=width),
                       "layers": tower(k[6]), "project": dense(k[7], width, width)}, "temperature": jnp.zeros(())}
    batch = {"images": jax.random.normal(k[8], (batch, image, image, 3)), "tokens": integers(k[9], (batch, words), vocabulary)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def recurrent(key, batch=256, length=64, width=2048, layers=2, vocabulary=32768):
    """A language model of LSTM cells, a loop over time per layer."""
    def cell(p, state, x):
        hidden, memory = state
        gates = x + hidden @ p["w_hidden"].astype(x.dtype)
        i, f, g, o = jnp.split(gates, 4, axis=-1)
        memory = jax.nn.sigmoid(f) * memory + jax.nn.sigmoid(i) * jnp.tanh(g)
        hidden = jax.nn.sigmoid(o) * jnp.tanh(memory)
        return (hidden, memory), hidden

    def loss_of(params, batch):
        x = jnp.swapaxes(params["words"].astype(HALF)[batch["tokens"]], 0, 1)
        for p in params["layers"]:
            inputs = x @ p["w_input"].astype(x.dtype) + p["b"].astype(x.dtype)
            start = (jnp.zeros(x.shape[1:], x.dtype),) * 2
            _, x = jax.lax.scan(lambda state, x: cell(p, state, x), start, inputs)
        return cross_entropy(jnp.swapaxes(x, 0, 1) @ params["head"].astype(x.dtype), batch["targets"])

    k = jax.random.split(key, 4 + layers)
    params = {"words": dense(k[0], vocabulary, width, fan_in=width), "head": dense(k[1], width, vocabulary),
              "layers": [{"w_input": dense(q, width, 4 * width), "w_hidden": dense(q, width, 4 * width), "b": jnp.zeros((4 * width,))} for q in k[4:]]}
    batch = {"tokens": integers(k[2], (batch, length), vocabulary), "targets": integers(k[3], (batch, length), vocabulary)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def mixer(key, batch=512, layers=4, image=224, patch=16, width=1024, hidden=4096, tokens_hidden=512, classes=1000):
    """Perceptrons over the patches of an image and over their channels, in turn."""
    def loss_of(params, batch):
        x = patches_of(batch["images"].astype(HALF), patch) @ params["patch"].astype(HALF)
        for p in params["layers"]:
            y = jnp.swapaxes(layer_norm(x, p["norm1"]), 1, 2)
            y = jax.nn.gelu(y @ p["tokens_in"].astype(x.dtype)) @ p["tokens_out"].astype(x.dtype)
            x = x + jnp.swapaxes(y, 1, 2)
            x = x + jax.nn.gelu(layer_norm(x, p["norm2"]) @ p["w_in"].astype(x.dtype)) @ p["w_out"].astype(x.dtype)
        return cross_entropy(jnp.mean(layer_norm(x, params["norm"]), axis=1) @ params["head"].astype(x.dtype), batch["labels"])

    k = jax.random.split(key, 4 + layers)
    count = (image // patch) ** 2

    def layer(key):
        q = jax.random.split(key, 4)
        return {"norm1": norm_of(width), "tokens_in": dense(q[0], count, tokens_hidden), "tokens_out": dense(q[1], tokens_hidden, count),
                "norm2": norm_of(width), "w_in": dense(q[2], width, hidden), "w_out": dense(q[3], hidden, width)}

    params = {"patch": dense(k[0], patch * patch * 3, width), "layers": [layer(q) for q in k[4:]], "norm": norm_of(width), "head": dense(k[1], width, classes)}
    batch = {"images": jax.random.normal(k[2], (batch, image, image, 3)), "labels": integers(k[3], (batch,), classes)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def depthwise(key, batch=256, image=224, widths=(128, 256, 512), blocks=2, classes=1000):
    """Convolutions of each channel alone (7 x 7) with perceptrons over the channels between them."""
    def conv(x, w, stride, groups=1, padding="SAME"):
        return jax.lax.conv_general_dilated(x, w.astype(x.dtype), (stride, stride), padding, dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=groups)

    def loss_of(params, batch):
        x = conv(batch["images"].astype(HALF), params["stem"], 4, padding="VALID")
        for stage in params["stages"]:
            if "down" in stage:
                x = conv(layer_norm(x, stage["norm"]), stage["down"], 2, padding="VALID")
            for p in stage["blocks"]:
                y = layer_norm(conv(x, p["depthwise"], 1, x.shape[-1]), p["norm"])
                x = x + (jax.nn.gelu(y @ p["w_in"].astype(x.dtype)) @ p["w_out"].astype(x.dtype)) * p["scale"].astype(x.dtype)
        return cross_entropy(layer_norm(jnp.mean(x, axis=(1, 2)), params["norm"]) @ params["head"].astype(x.dtype), batch["labels"])

    k = jax.random.split(key, 4 + len(widths))

    def stage(key, fan_in, width):
        q = jax.random.split(key, 3 * blocks + 1)
        out = {"blocks": [{"depthwise": dense(q[3 * i], 7, 7, 1, width, fan_in=49), "norm": norm_of(width), "w_in": dense(q[3 * i + 1], width, 4 * width),
                           "w_out": dense(q[3 * i + 2], 4 * width, width), "scale": jnp.ones((width,))} for i in range(blocks)]}
        return {**out, "norm": norm_of(fan_in), "down": dense(q[-1], 2, 2, fan_in, width, fan_in=4 * fan_in)} if fan_in else out

    params = {"stem": dense(k[0], 4, 4, 3, widths[0], fan_in=48), "stages": [stage(q, a, b) for q, a, b in zip(k[4:], (0, *widths), widths)],
              "norm": norm_of(widths[-1]), "head": dense(k[1], widths[-1], classes)}
    batch = {"images": jax.random.normal(k[2], (batch, image, image, 3)), "labels": integers(k[3], (batch,), classes)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def masked(key, batch=512, layers=3, width=1024, hidden=4096, heads=16, image=224, patch=16, kept=49):
    """A masked autoencoder: a random quarter of the patches is encoded, sorted by noise; a small decoder paints the others."""
    small, count, pixels = 512, (image // patch) ** 2, patch * patch * 3

    def loss_of(params, batch):
        patches = patches_of(batch["images"].astype(HALF), patch)
        order = jnp.argsort(batch["noise"], axis=1)
        back = jnp.argsort(order, axis=1)
        x = patches @ params["patch"].astype(HALF) + params["position"].astype(HALF)
        x = jnp.take_along_axis(x, order[:, :kept, None], axis=1)
        for p in params["encoder"]:
            x = encoded(x, p)
        x = layer_norm(x, params["norm"]) @ params["project"].astype(HALF)
        unknown = jnp.broadcast_to(params["unknown"].astype(HALF), (x.shape[0], count - kept, small))
        x = jnp.take_along_axis(jnp.concatenate([x, unknown], axis=1), back[..., None], axis=1) + params["positions"].astype(HALF)
        for p in params["decoder"]:
            x = encoded(x, p)
        error = jnp.mean(((x @ params["paint"].astype(HALF)).astype(jnp.float32) - patches.astype(jnp.float32)) ** 2, axis=-1)
        return jnp.mean(jnp.where(back >= kept, error, 0))

    k = jax.random.split(key, 10)
    params = {"patch": dense(k[0], pixels, width), "position": dense(k[1], count, width, fan_in=width), "encoder": [encoder_layer(q, width, hidden, heads) for q in jax.random.split(k[2], layers)],
              "norm": norm_of(width), "project": dense(k[3], width, small), "unknown": jnp.zeros((small,)), "positions": dense(k[4], count, small, fan_in=small),
              "decoder": [encoder_layer(q, small, 4 * small, 8) for q in jax.random.split(k[5], 2)], "paint": dense(k[6], small, pixels)}
    batch = {"images": jax.random.normal(k[7], (batch, image, image, 3)), "noise": jax.random.uniform(k[8], (batch, count))}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def grouped_layer(key, width, hidden, heads, groups, head):
    q = jax.random.split(key, 7)
    return {"norm1": jnp.ones((width,)), "wq": dense(q[0], width, heads, head), "wk": dense(q[1], width, groups, head), "wv": dense(q[2], width, groups, head),
            "wo": dense(q[3], heads, head, width, fan_in=heads * head), "norm2": jnp.ones((width,)), "w_gate": dense(q[4], width, hidden),
            "w_up": dense(q[5], width, hidden), "w_down": dense(q[6], hidden, width)}


def root_mean_square(x, scale):
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + 1e-6) * scale).astype(x.dtype)


def rotated(x):
    """Rotary positions over [batch, sequence, .., head]."""
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[1], dtype=jnp.float32)[:, None] * 10000.0 ** (-jnp.arange(half, dtype=jnp.float32) / half)
    shape = (1, x.shape[1]) + (1,) * (x.ndim - 3) + (half,)
    cos, sin = jnp.cos(angles).reshape(shape).astype(x.dtype), jnp.sin(angles).reshape(shape).astype(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def windowed(x, p, window):
    """A decoder layer with grouped keys and values; attention reaches back a window. Also gives keys and values."""
    y = root_mean_square(x, p["norm1"])
    q = rotated(jnp.einsum("bsd,dhk->bshk", y, p["wq"].astype(x.dtype)))
    k = rotated(jnp.einsum("bsd,dgk->bsgk", y, p["wk"].astype(x.dtype)))
    v = jnp.einsum("bsd,dgk->bsgk", y, p["wv"].astype(x.dtype))
    q = q.reshape(*q.shape[:2], k.shape[2], -1, q.shape[-1])
    scores = jnp.einsum("bqgrk,btgk->bgrqt", q, k).astype(jnp.float32) * q.shape[-1] ** -0.5
    row, column = (jax.lax.broadcasted_iota(jnp.int32, scores.shape[-2:], d) for d in (0, 1))
    scores = jnp.where((row >= column) & (row - column < window), scores, -1e30)
    mixed = jnp.einsum("bgrqt,btgk->bqgrk", jax.nn.softmax(scores, axis=-1).astype(x.dtype), v)
    x = x + jnp.einsum("bshk,hkd->bsd", mixed.reshape(*x.shape[:2], -1, q.shape[-1]), p["wo"].astype(x.dtype))
    y = root_mean_square(x, p["norm2"])
    return x + (jax.nn.silu(y @ p["w_gate"].astype(x.dtype)) * (y @ p["w_up"].astype(x.dtype))) @ p["w_down"].astype(x.dtype), (k, v)


GROUPED = {"width": 2048, "hidden": 7168, "heads": 16, "groups": 4, "head": 128}


def remat(key, batch=32, length=2048, layers=8, window=1024, vocabulary=32000):
    """A decoder whose layers are stacked, run in a loop and computed again in the backward pass."""
    def loss_of(params, batch):
        x = params["words"].astype(HALF)[batch["tokens"]]
        body = jax.checkpoint(lambda x, p: windowed(x, p, window)[0])
        x, _ = jax.lax.scan(lambda x, p: (body(x, p), None), x, params["layers"])
        return cross_entropy(root_mean_square(x, params["norm"]) @ params["head"].astype(HALF), batch["targets"])

    k = jax.random.split(key, 5)
    params = {"words": dense(k[0], vocabulary, GROUPED["width"], fan_in=GROUPED["width"]), "layers": jax.vmap(lambda q: grouped_layer(q, **GROUPED))(jax.random.split(k[1], layers)),
              "norm": jnp.ones((GROUPED["width"],)), "head": dense(k[2], GROUPED["width"], vocabulary)}
    batch = {"tokens": integers(k[3], (batch, length), vocabulary), "targets": integers(k[4], (batch, length), vocabulary)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


def prefill(key, batch=16, length=4096, layers=3, vocabulary=32000):
    """What a server runs on prompts: logits of the last word, keys and values of every layer; parameters are in bfloat16."""
    def forward(params, tokens):
        x = params["words"][tokens]
        caches = []
        for p in params["layers"]:
            x, cache = windowed(x, p, length)
            caches.append(cache)
        return root_mean_square(x[:, -1], params["norm"]) @ params["head"], caches

    k = jax.random.split(key, 4)
    params = {"words": dense(k[0], vocabulary, GROUPED["width"], fan_in=GROUPED["width"]), "layers": [grouped_layer(q, **GROUPED) for q in jax.random.split(k[1], layers)],
              "norm": jnp.ones((GROUPED["width"],)), "head": dense(k[2], GROUPED["width"], vocabulary)}
    return forward, (), (jax.tree.map(lambda x: x.astype(HALF), params), integers(k[3], (batch, length), vocabulary))


def two_tower(key, batch=8192, items=1048576, width=256, hidden=2048, history=50):
    """Retrieval: a user's history of items is averaged, every other item of the batch is a negative."""
    def tower(p, x):
        return jax.nn.relu(x @ p["w1"].astype(x.dtype)) @ p["w2"].astype(x.dtype)

    def loss_of(params, batch):
        table = params["items"].astype(HALF)
        users = tower(params["user"], jnp.mean(table[batch["history"]], axis=1))
        wanted = tower(params["item"], table[batch["next"]])
        return cross_entropy(users @ wanted.T, jnp.arange(users.shape[0]))

    k = jax.random.split(key, 7)
    params = {"items": dense(k[0], items, width, fan_in=width), "user": {"w1": dense(k[1], width, hidden), "w2": dense(k[2], hidden, width)},
              "item": {"w1": dense(k[3], width, hidden), "w2": dense(k[4], hidden, width)}}
    batch = {"history": integers(k[5], (batch, history), items), "next": integers(k[6], (batch,), items)}
    return trained(loss_of), (0, 1), (params, adam.init(params), batch)


PROGRAMS = (recommender, contrastive, recurrent, mixer, depthwise, masked, remat, prefill, two_tower)
