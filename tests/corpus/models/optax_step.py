"""The decoder of transformer.py trained as optax users write it: a chain of clipping by the global norm and AdamW with
a warm-up and cosine schedule, weight decay masked to matrices."""
import jax
import optax

from models import transformer

SCHEDULE = optax.warmup_cosine_decay_schedule(init_value=0.0, peak_value=3e-4, warmup_steps=2000, decay_steps=100000, end_value=3e-5)
OPTIMIZER = optax.chain(
    optax.clip_by_global_norm(1.0),
    optax.adamw(SCHEDULE, b1=0.9, b2=0.95, weight_decay=0.1, mask=lambda params: jax.tree.map(lambda p: p.ndim > 1, params)))
WIDE = transformer.Shape(layers=4, width=2048, hidden=8192, heads=16, vocabulary=32768, batch=16, sequence=1024)
TINY, DONATED = transformer.TINY, (0, 1)


def arguments(key, s):
    params = transformer.init(key, s)
    return params, OPTIMIZER.init(params), transformer.batch_of(key, s)


def train_step(params, opt_state, batch):
    def loss_of(params):
        return transformer.cross_entropy(transformer.forward(params, batch["tokens"]), batch["targets"])
    loss, grads = jax.value_and_grad(loss_of)(params)
    updates, opt_state = OPTIMIZER.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    return params, opt_state, {"loss": loss, "grad_norm": optax.global_norm(grads)}


def step_of(_):
    return train_step
