"""LoRA fine-tuning of the Llama-like decoder: the bfloat16 weights are frozen, low-rank adapters of q and v are trained."""
import jax
import jax.numpy as jnp

from models import adam
from models import llama
from models import transformer

RANK, SCALE, ADAPTED = 16, 2.0, ("wq", "wv")


def init_frozen(key, s):
    return jax.tree.map(lambda w: w.astype(jnp.bfloat16), llama.init(key, s))


def init(key, s):
    heads = {"wq": s.heads, "wv": s.groups}

    def pair(name, k):
        return {"a": jax.random.normal(k, (s.width, RANK)) * s.width ** -0.5,
                "b": jnp.zeros((RANK, heads[name], s.head))}

    return {"layers": [{name: pair(name, k) for name in ADAPTED} for k in jax.random.split(key, s.layers)]}


def adapted(x, w):
    """x through the frozen weight, plus the low-rank path where w has an adapter."""
    if not isinstance(w, tuple):
        return llama.project(x, w)
    frozen, adapter = w
    return llama.project(x, frozen) + SCALE * llama.project(x @ adapter["a"].astype(x.dtype), adapter["b"])


def forward(params, frozen, tokens):
    layers = [{**layer, **{name: (layer[name], adapter[name]) for name in ADAPTED}}
              for layer, adapter in zip(frozen["layers"], params["layers"])]
    return llama.forward({**frozen, "layers": layers}, tokens, adapted)


def step(params, opt_state, frozen, batch):
    def loss_of(params):
        return transformer.cross_entropy(forward(params, frozen, batch["tokens"]), batch["targets"])
    loss, grads = jax.value_and_grad(loss_of)(params)
    params, opt_state = adam.update(params, opt_state, grads)
    return params, opt_state, loss
