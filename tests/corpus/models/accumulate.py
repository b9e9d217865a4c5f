"""The decoder's training step with gradient accumulation: a scan over microbatches, then one update."""
import jax
import jax.numpy as jnp

from models import adam
from models import transformer


def split(x, parts):
    """[batch, ..] -> [parts, batch / parts, ..], interleaved: the batch's shards stay shards of every microbatch."""
    return x.reshape((-1, parts) + x.shape[1:]).swapaxes(0, 1)


def step_of(parts):
    def loss_of(params, micro):
        return transformer.cross_entropy(transformer.forward(params, micro["tokens"]), micro["targets"])

    def step(params, opt_state, batch):
        def add(sums, micro):
            return jax.tree.map(jnp.add, sums, jax.value_and_grad(loss_of)(params, micro)), None
        zero = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, params))
        sums, _ = jax.lax.scan(add, zero, jax.tree.map(lambda x: split(x, parts), batch))
        loss, grads = jax.tree.map(lambda x: x / parts, sums)
        params, opt_state = adam.update(params, opt_state, grads)
        return params, opt_state, loss
    return step
