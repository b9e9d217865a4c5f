"""A small residual image classifier with batch normalisation; running statistics travel as model state."""
import jax
import jax.numpy as jnp

from models import adam

BATCH, SIZE, CLASSES = 64, 64, 128
STAGES = (64, 128, 256)


def init_conv(key, window, fan_in, fan_out):
    return jax.random.normal(key, (window, window, fan_in, fan_out)) * (window * window * fan_in) ** -0.5


def init_norm(width):
    return {"scale": jnp.ones((width,)), "bias": jnp.zeros((width,))}


def init_stats(width):
    return {"mean": jnp.zeros((width,)), "var": jnp.ones((width,))}


def init(key):
    ks = jax.random.split(key, 2 + 3 * len(STAGES))
    params = {"stem": {"w": init_conv(ks[0], 5, 3, STAGES[0]), "norm": init_norm(STAGES[0])}, "stages": [],
              "head": {"w": jax.random.normal(ks[1], (STAGES[-1], CLASSES)) * STAGES[-1] ** -0.5,
                       "b": jnp.zeros((CLASSES,))}}
    stats = {"stem": init_stats(STAGES[0]), "stages": []}
    width = STAGES[0]
    for i, out in enumerate(STAGES):
        k = ks[2 + 3 * i:]
        params["stages"].append({"w1": init_conv(k[0], 3, width, out), "norm1": init_norm(out),
                                 "w2": init_conv(k[1], 3, out, out), "norm2": init_norm(out),
                                 "skip": init_conv(k[2], 1, width, out)})
        stats["stages"].append({"norm1": init_stats(out), "norm2": init_stats(out)})
        width = out
    return params, stats


def convolve(x, w, stride=1):
    return jax.lax.conv_general_dilated(x, w.astype(x.dtype), (stride, stride), "SAME",
                                        dimension_numbers=("NHWC", "HWIO", "NHWC"))


def batch_norm(x, params, stats):
    wide = x.astype(jnp.float32)
    mean = jnp.mean(wide, axis=(0, 1, 2))
    var = jnp.mean(jnp.square(wide - mean), axis=(0, 1, 2))
    y = (wide - mean) * jax.lax.rsqrt(var + 1e-5) * params["scale"] + params["bias"]
    stats = {"mean": 0.9 * stats["mean"] + 0.1 * mean, "var": 0.9 * stats["var"] + 0.1 * var}
    return y.astype(x.dtype), stats


def max_pool(x):
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


def forward(params, stats, images):
    new = {"stages": []}
    x = convolve(images.astype(jnp.bfloat16), params["stem"]["w"])
    x, new["stem"] = batch_norm(x, params["stem"]["norm"], stats["stem"])
    x = max_pool(jax.nn.relu(x))
    for i, (p, s) in enumerate(zip(params["stages"], stats["stages"])):
        stride = 1 if i == 0 else 2
        y = convolve(x, p["w1"], stride)
        y, stats1 = batch_norm(y, p["norm1"], s["norm1"])
        y = convolve(jax.nn.relu(y), p["w2"])
        y, stats2 = batch_norm(y, p["norm2"], s["norm2"])
        x = jax.nn.relu(y + convolve(x, p["skip"], stride))
        new["stages"].append({"norm1": stats1, "norm2": stats2})
    x = jnp.mean(x.astype(jnp.float32), axis=(1, 2))
    return x @ params["head"]["w"] + params["head"]["b"], new


def step(params, opt_state, stats, batch):
    def loss_of(params):
        logits, new = forward(params, stats, batch["images"])
        picked = jax.nn.log_softmax(logits) * jax.nn.one_hot(batch["labels"], CLASSES)
        return -jnp.mean(jnp.sum(picked, axis=-1)), new
    (loss, stats), grads = jax.value_and_grad(loss_of, has_aux=True)(params)
    params, opt_state = adam.update(params, opt_state, grads)
    return params, opt_state, stats, loss
