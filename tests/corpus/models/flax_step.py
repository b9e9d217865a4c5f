"""A vision transformer as flax (linen) users write it: modules with compact calls, dropout, a TrainState, optax."""
import dataclasses

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training import train_state


@dataclasses.dataclass(frozen=True)
class Shape:
    layers: int
    width: int
    hidden: int
    heads: int
    patch: int
    size: int
    classes: int
    batch: int


WIDE = Shape(layers=12, width=768, hidden=3072, heads=12, patch=16, size=224, classes=1024, batch=256)
TINY = Shape(layers=2, width=16, hidden=32, heads=4, patch=4, size=8, classes=16, batch=8)
DONATED = (0,)


class Mlp(nn.Module):
    hidden: int

    @nn.compact
    def __call__(self, x, train):
        y = nn.gelu(nn.Dense(self.hidden, dtype=jnp.bfloat16)(x))
        y = nn.Dropout(0.1, deterministic=not train)(y)
        return nn.Dense(x.shape[-1], dtype=jnp.bfloat16)(y)


class Block(nn.Module):
    shape: Shape

    @nn.compact
    def __call__(self, x, train):
        y = nn.LayerNorm(dtype=jnp.bfloat16)(x)
        x = x + nn.MultiHeadDotProductAttention(num_heads=self.shape.heads, dtype=jnp.bfloat16, dropout_rate=0.1, deterministic=not train)(y, y)
        return x + Mlp(self.shape.hidden)(nn.LayerNorm(dtype=jnp.bfloat16)(x), train)


class VisionTransformer(nn.Module):
    shape: Shape

    @nn.compact
    def __call__(self, images, train):
        s = self.shape
        x = nn.Conv(s.width, (s.patch, s.patch), strides=s.patch, padding="VALID", dtype=jnp.bfloat16, name="patches")(images)
        x = x.reshape(x.shape[0], -1, s.width)
        first = self.param("class_token", nn.initializers.zeros, (1, 1, s.width))
        x = jnp.concatenate([jnp.broadcast_to(first.astype(x.dtype), (x.shape[0], 1, s.width)), x], axis=1)
        x = x + self.param("positions", nn.initializers.normal(0.02), (1, x.shape[1], s.width)).astype(x.dtype)
        for _ in range(s.layers):
            x = Block(s)(x, train)
        return nn.Dense(s.classes, name="head")(nn.LayerNorm()(x)[:, 0])


def create_state(key, s):
    model = VisionTransformer(s)
    params = model.init(key, jnp.zeros((1, s.size, s.size, 3)), train=False)["params"]
    return train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.adamw(1e-3, weight_decay=0.05))


def arguments(key, s):
    images = jax.random.normal(key, (s.batch, s.size, s.size, 3))
    return create_state(key, s), {"images": images, "labels": jax.random.randint(key, (s.batch,), 0, s.classes, jnp.int32)}, jax.random.PRNGKey(0)


def train_step(state, batch, rng):
    rng = jax.random.fold_in(rng, state.step)

    def loss_of(params):
        logits = state.apply_fn({"params": params}, batch["images"], train=True, rngs={"dropout": rng})
        loss = optax.softmax_cross_entropy_with_integer_labels(logits, batch["labels"]).mean()
        return loss, jnp.mean(jnp.argmax(logits, -1) == batch["labels"])

    (loss, accuracy), grads = jax.value_and_grad(loss_of, has_aux=True)(state.params)
    return state.apply_gradients(grads=grads), {"loss": loss, "accuracy": accuracy}


def step_of(_):
    return train_step
