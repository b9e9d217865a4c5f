"""A residual image classifier of bottleneck blocks with batch normalisation; running statistics travel as state."""
import dataclasses

import jax
import jax.numpy as jnp

from models import adam
from models.convnet import batch_norm, convolve, init_conv, init_norm, init_stats, max_pool


@dataclasses.dataclass(frozen=True)
class Shape:
    depths: tuple     # blocks of each stage
    width: int        # of the first stage's bottleneck; its output is four times as wide
    classes: int
    size: int
    batch: int


WIDE = Shape(depths=(3, 4, 6, 3), width=64, classes=1024, size=224, batch=256)
TINY = Shape(depths=(2, 1), width=8, classes=16, size=16, batch=8)
WIDER, DONATED = 4, (0, 1, 2)


def blocks_of(s):
    """(input width, bottleneck width, stride) of every block."""
    fan_in, out = s.width, []
    for stage, depth in enumerate(s.depths):
        width = s.width << stage
        for i in range(depth):
            out.append((fan_in, width, 2 if stage and not i else 1))
            fan_in = WIDER * width
    return out


def init_block(key, fan_in, width):
    ks = jax.random.split(key, 4)
    params = {"conv1": init_conv(ks[0], 1, fan_in, width), "norm1": init_norm(width),
              "conv2": init_conv(ks[1], 3, width, width), "norm2": init_norm(width),
              "conv3": init_conv(ks[2], 1, width, WIDER * width), "norm3": init_norm(WIDER * width)}
    if fan_in != WIDER * width:
        params |= {"skip": init_conv(ks[3], 1, fan_in, WIDER * width), "norm4": init_norm(WIDER * width)}
    return params, {name: init_stats(p["scale"].size) for name, p in params.items() if name.startswith("norm")}


def init(key, s):
    keys = jax.random.split(key, 2 + sum(s.depths))
    out = WIDER * s.width << (len(s.depths) - 1)
    params = {"stem": init_conv(keys[0], 7, 3, s.width), "norm": init_norm(s.width),
              "head": {"w": jax.random.normal(keys[1], (out, s.classes)) * out ** -0.5, "b": jnp.zeros((s.classes,))}}
    pairs = [init_block(k, fan_in, width) for k, (fan_in, width, _) in zip(keys[2:], blocks_of(s))]
    return params | {"blocks": [p for p, _ in pairs]}, {"norm": init_stats(s.width), "blocks": [t for _, t in pairs]}


def arguments(key, s):
    params, stats = init(key, s)
    images = jax.random.normal(key, (s.batch, s.size, s.size, 3))
    return params, adam.init(params), stats, {"images": images, "labels": jax.random.randint(key, (s.batch,), 0, s.classes, jnp.int32)}


def block(x, p, stats, stride):
    new = {}
    y, new["norm1"] = batch_norm(convolve(x, p["conv1"]), p["norm1"], stats["norm1"])
    y, new["norm2"] = batch_norm(convolve(jax.nn.relu(y), p["conv2"], stride), p["norm2"], stats["norm2"])
    y, new["norm3"] = batch_norm(convolve(jax.nn.relu(y), p["conv3"]), p["norm3"], stats["norm3"])
    if "skip" in p:
        x, new["norm4"] = batch_norm(convolve(x, p["skip"], stride), p["norm4"], stats["norm4"])
    return jax.nn.relu(x + y), new


def forward(params, stats, s, images):
    new = {"blocks": []}
    x, new["norm"] = batch_norm(convolve(images.astype(jnp.bfloat16), params["stem"], 2), params["norm"], stats["norm"])
    x = max_pool(jax.nn.relu(x))
    for p, t, (_, _, stride) in zip(params["blocks"], stats["blocks"], blocks_of(s)):
        x, changed = block(x, p, t, stride)
        new["blocks"].append(changed)
    x = jnp.mean(x.astype(jnp.float32), axis=(1, 2))
    return x @ params["head"]["w"] + params["head"]["b"], new


def step_of(s):
    def step(params, opt_state, stats, batch):
        def loss_of(params):
            logits, new = forward(params, stats, s, batch["images"])
            picked = jnp.take_along_axis(jax.nn.log_softmax(logits), batch["labels"][:, None], axis=-1)
            return -jnp.mean(picked), new
        (loss, stats), grads = jax.value_and_grad(loss_of, has_aux=True)(params)
        params, opt_state = adam.update(params, opt_state, grads)
        return params, opt_state, stats, loss
    return step
