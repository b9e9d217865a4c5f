"""What the programs of the zoo share: shapes of arguments, a training step, a loss."""
import jax
import jax.numpy as jnp

SHAPE = jax.ShapeDtypeStruct
F32, I32 = jnp.float32, jnp.int32


def shapes(tree):
    return jax.tree.map(lambda x: SHAPE(x.shape, x.dtype), tree)


def key():
    return SHAPE((2,), jnp.uint32)


def trained(loss, params, batch, optimizer=None):
    """A training step with its arguments: clipped gradients and AdamW unless told otherwise."""
    import optax
    opt = optimizer or optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-4))

    def step(params, state, batch, key):
        value, grads = jax.value_and_grad(loss)(params, batch, key)
        updates, state = opt.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value

    return step, (0, 1), (params, jax.eval_shape(opt.init, params), batch, key())


def cross_entropy(logits, targets):
    import optax
    return optax.softmax_cross_entropy_with_integer_labels(logits.astype(F32), targets).mean()
