"""A program of the corpus with another batch, its other sizes unchanged: what a warm start from the same program is worth (warm.py).

    other_batch.py NAME TIMES OUT.mlir

NAME: transformer_4, llama_4 or moe; TIMES: its batch is so many times as large. Runs in build/venv, which has jax; compiles nothing."""
import dataclasses
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "corpus"))
import mint  # noqa: E402


def program(name, times):
    import jax
    from models import adam, llama, moe, transformer
    shape, init, step_of = {
        "transformer_4": (dataclasses.replace(transformer.WIDE, layers=4), transformer.init, lambda s: transformer.step),
        "llama_4": (dataclasses.replace(llama.WIDE, layers=4), llama.init, lambda s: llama.step),
        "moe": (moe.WIDE, moe.init, lambda s: moe.step_of(s.capacity))}[name]
    larger = dataclasses.replace(shape, batch=shape.batch * times)
    key = jax.random.key(0)
    params = jax.eval_shape(lambda: init(key, larger))
    return step_of(larger), (0, 1), (params, jax.eval_shape(adam.init, params), jax.eval_shape(lambda: transformer.batch_of(key, larger)))


def main():
    from jax._src import source_info_util
    source_info_util.register_exclusion(__file__)   # locations are those of the models, as in the corpus
    name, times, out = sys.argv[1:]
    with open(out, "w") as f:
        f.write(mint.mint(*program(name, int(times))))


if __name__ == "__main__":
    main()
