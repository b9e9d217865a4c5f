"""Greedy decoding with a cache of keys and values: a while loop that ends early when every sequence has ended."""
import jax
import jax.numpy as jnp

from models import llama
from models import transformer

END = 2     # the word that ends a sequence


def init(key, s, dtype):
    return jax.tree.map(lambda w: w.astype(dtype), llama.init(key, s))


def cache_of(s, length, dtype):
    shape = (s.batch, length, s.groups, s.head)
    return [{"k": jnp.zeros(shape, dtype), "v": jnp.zeros(shape, dtype)} for _ in range(s.layers)]


def attention(x, layer, cache, position):
    """One new position: its key and value go into the cache, its query sees all that is there."""
    at = position[None]
    k = llama.rotate(llama.project(x, layer["wk"]), at)
    v = llama.project(x, layer["wv"])
    cache = {"k": jax.lax.dynamic_update_slice_in_dim(cache["k"], k, position, axis=1),
             "v": jax.lax.dynamic_update_slice_in_dim(cache["v"], v, position, axis=1)}
    q = llama.rotate(llama.project(x, layer["wq"]), at)
    mixed = llama.mix(q, cache["k"], cache["v"], jnp.arange(cache["k"].shape[1])[None] <= position)
    return jnp.einsum("bshk,hkd->bsd", mixed, layer["wo"]), cache


def next_word(params, cache, words, position):
    """words [b] at this position -> words [b] at the next one, cache."""
    x, caches = params["embed"][words[:, None]], []
    for layer, old in zip(params["layers"], cache):
        y, new = attention(transformer.normalise(x, layer["ln1"]), layer, old, position)
        caches.append(new)
        x = x + y
        x = x + transformer.gated_mlp(transformer.normalise(x, layer["ln2"]), layer)
    logits = (transformer.normalise(x, params["norm"]) @ params["head"])[:, 0]
    return jnp.argmax(logits.astype(jnp.float32), axis=-1).astype(words.dtype), caches


def generate(params, cache, tokens, start):
    """tokens [b, length] hold the prompt up to and with position start; the rest is written here."""
    def more(state):
        position, ended = state[0], state[1]
        return (position < tokens.shape[1] - 1) & ~jnp.all(ended)

    def extend(state):
        position, ended, tokens, cache = state
        words = jax.lax.dynamic_index_in_dim(tokens, position, axis=1, keepdims=False)
        words, cache = next_word(params, cache, words, position)
        words = jnp.where(ended, END, words)
        tokens = jax.lax.dynamic_update_slice_in_dim(tokens, words[:, None], position + 1, axis=1)
        return position + 1, ended | (words == END), tokens, cache

    ended = jnp.zeros(tokens.shape[:1], bool)
    position, _, tokens, cache = jax.lax.while_loop(more, extend, (start, ended, tokens, cache))
    return tokens, cache, position
