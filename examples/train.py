#!/usr/bin/env python3
"""Plan a small transformer's training step, train with the plan on eight devices, and compare with one device.

    python examples/train.py [--mesh data=4,model=2] [--steps 5] [--server URL] [--verify 2]

Runs anywhere: the eight devices are forced host devices of XLA's CPU backend. Takes the installed package (pip install
./clients/python), or the one of this checkout with SHARDWRIGHT=build/shardwright.
"""
import argparse
import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "clients", "python"))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import shardwright  # noqa: E402

LAYERS, WIDTH, HIDDEN, HEADS, WORDS, BATCH, LENGTH = 2, 128, 512, 4, 512, 16, 128


def init(key):
    def weight(i, *shape):
        return jax.random.normal(jax.random.fold_in(key, i), shape) * shape[0] ** -0.5

    return {"embed": weight(0, WORDS, WIDTH),
            "layers": [{"scale": jnp.ones((2, WIDTH)),
                        "qkv": weight(10 * n + 1, WIDTH, 3, HEADS, WIDTH // HEADS),
                        "out": weight(10 * n + 2, HEADS, WIDTH // HEADS, WIDTH) * 0.1,
                        "up": weight(10 * n + 3, WIDTH, HIDDEN),
                        "down": weight(10 * n + 4, HIDDEN, WIDTH)} for n in range(1, LAYERS + 1)]}


def loss_of(params, batch):
    x = params["embed"][batch["tokens"]]
    causal = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    for layer in params["layers"]:
        h = x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * layer["scale"][0]
        q, k, v = jnp.moveaxis(jnp.einsum("bsd,dnhk->bsnhk", h, layer["qkv"]), 2, 0)
        scores = jnp.einsum("bqhk,bthk->bhqt", q, k) * (WIDTH // HEADS) ** -0.5
        mixed = jnp.einsum("bhqt,bthk->bqhk", jax.nn.softmax(jnp.where(causal, scores, -1e30)), v)
        x = x + jnp.einsum("bqhk,hkd->bqd", mixed, layer["out"])
        h = x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * layer["scale"][1]
        x = x + jax.nn.gelu(h @ layer["up"]) @ layer["down"]
    scores = jax.nn.log_softmax(x @ params["embed"].T)
    return -jnp.mean(jnp.sum(scores * jax.nn.one_hot(batch["targets"], WORDS), -1))


def step(params, opt_state, batch):
    loss, grads = jax.value_and_grad(loss_of)(params, batch)
    opt_state = jax.tree.map(lambda m, g: 0.9 * m + g, opt_state, grads)
    return jax.tree.map(lambda p, m: p - 0.02 * m, params, opt_state), opt_state, loss


def batches(count):
    rng = np.random.default_rng(0)
    for _ in range(count):
        words = rng.integers(0, 8, (BATCH, LENGTH + 1), dtype=np.int32) ** 2
        yield {"tokens": words[:, :-1], "targets": words[:, 1:]}


def train(run, params, count):
    """Losses of some steps from a fresh copy of the parameters."""
    params = jax.tree.map(np.asarray, params)
    opt_state, losses = jax.tree.map(np.zeros_like, params), []
    for batch in batches(count):
        params, opt_state, loss = run(params, opt_state, batch)
        losses.append(float(loss))
    return losses, params


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--mesh", default="data=4,model=2")
    options.add_argument("--steps", type=int, default=5)
    options.add_argument("--server")
    options.add_argument("--verify", type=int, help="compile that many plans and take the best by the compiler")
    options = options.parse_args()

    jitted = jax.jit(step, donate_argnums=(0, 1))
    params = init(jax.random.key(0))
    plan = shardwright.plan(jitted, params, params, next(batches(1)), mesh=options.mesh, device="tpu-v5e", server=options.server,
                            verify=options.verify)
    print(plan.table())

    expected, _ = train(jitted, params, options.steps)
    runs = {"one device": expected}
    runs["plan.fn"], trained = train(plan.fn, params, options.steps)
    runs["plan.jit"], _ = train(plan.jit(), params, options.steps)
    for name, losses in runs.items():
        print("%-14s" % name, " ".join("%.5f" % loss for loss in losses))
    held = sum(leaf.addressable_shards[0].data.nbytes for leaf in jax.tree.leaves(trained))
    print("parameters: %d bytes, on each device %d" % (sum(leaf.nbytes for leaf in jax.tree.leaves(trained)), held))
    for line in plan.losses():
        print("plan.jit leaves out:", line)
    for name, losses in runs.items():
        np.testing.assert_allclose(losses, expected, rtol=1e-4, err_msg=name)
    print("losses agree")


if __name__ == "__main__":
    main()
