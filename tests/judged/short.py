"""Short programs at full widths: one or two layers of the models of tests/corpus, which XLA compiles in under two minutes; and the programs of
families that the corpus has none of (tests/corpus/models/unseen*.py). Names in the command: those alone."""
import dataclasses
import glob
import importlib
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "programs")
CORPUS = os.path.join(HERE, "..", "corpus")
sys.path.insert(0, CORPUS)

# name -> family, the model that tests/corpus/models has, what its shape has other than in the corpus. A family is what a fit leaves out whole.
SHORT = {
    "convnet_short": ("convolution", "convnet", {}),
    "resnet_short": ("convolution", "resnet", {"depths": (1, 1, 1, 1), "batch": 128}),
    "unet_short": ("convolution", "unet", {"widths": (128, 256), "blocks": 1, "batch": 64}),
    "transformer_short": ("transformer", "transformer", {"layers": 1}),
    "llama_short": ("transformer", "llama", {"layers": 1}),
    "mixed_precision_short": ("transformer", "mixed_precision", {"layers": 1}),
    "moe_short": ("mixture of experts", "moe", {"layers": 1}),
    "graph_net_short": ("graph network", "graph_net", {"steps": 2}),
    "dit_short": ("diffusion", "dit", {"layers": 2}),
    "encoder_decoder_short": ("encoder-decoder", "encoder_decoder", {"layers": 1}),
    "ssm_short": ("state space", "ssm", {"layers": 1}),
}

# Lowered for a TPU and not for the CPU, where a triangular system is a call of LAPACK that XLA for TPU does not have.
FOR_TPU = ("deltas",)


def programs():
    """name -> (function, donated argument numbers, abstract arguments)."""
    import jax
    import jax.numpy as jnp
    from models import adam
    key, out = jax.random.key(0), {}
    for name, (_, model, changes) in SHORT.items():
        if not changes:
            continue
        m = importlib.import_module("models." + model)
        s = dataclasses.replace(m.WIDE, **changes)
        if hasattr(m, "arguments"):
            out[name] = m.step_of(s), m.DONATED, jax.eval_shape(lambda: m.arguments(key, s))
            continue
        params = jax.eval_shape(lambda: m.init(key, s))
        batch_of = getattr(m, "batch_of", importlib.import_module("models.transformer").batch_of)
        args = (params, jax.eval_shape(adam.init, params), jax.eval_shape(lambda: batch_of(key, s)))
        if model == "dit":
            args += (jax.ShapeDtypeStruct((2,), jnp.uint32),)
        out[name] = (m.step_of(s.capacity) if model == "moe" else m.step_of(s) if model == "dit" else m.step), (0, 1), args
    return out


def unseen():
    """The same of models/unseen*.py, in the order of their names."""
    import jax
    out = {}
    for path in sorted(glob.glob(os.path.join(CORPUS, "models", "unseen*.py"))):
        module = importlib.import_module("models." + os.path.basename(path)[:-len(".py")])
        for make in module.PROGRAMS:
            def arguments():
                *kept[:], args = make(jax.random.key(0))
                return args
            kept = []
            args = jax.eval_shape(arguments)
            out[make.__name__] = (*kept, args)
    return out


def main():
    import mint  # of tests/corpus
    from jax._src import source_info_util
    os.makedirs(FOLDER, exist_ok=True)
    source_info_util.register_exclusion(unseen.__code__.co_filename)
    for name, (function, donated, args) in {**programs(), **unseen()}.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        text = mint.mint(function, donated, args, ("tpu",) if name in FOR_TPU else None)
        subprocess.run(["zstd", "-q", "-19", "-f", "-o", os.path.join(FOLDER, name + ".mlir.zst"), "-"], check=True, input=text.encode())
        print(name, len(text.splitlines()), "lines", flush=True)


if __name__ == "__main__":
    main()
