#!/usr/bin/env python3
"""Write the corpus: training steps in plain JAX, lowered to StableHLO text on CPU from abstract arguments.

    mint.py [NAME ...]            write NAME.mlir.zst (default: all), ../../examples/mlp.mlir and the table in README.md
    mint.py --check [NAME ...]    mint again and compare with the files; exit 1 if any differs
    mint.py --ops [NAME ...]      count the ops of the committed files by name

Deterministic: equal versions of jax give equal bytes (the zstd frame is compared after decompression).
Needs: requirements.txt (what the tests have; flax and optax for some programs, which --check leaves out without
them), the zstd command.
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = os.path.join(HERE, "..", "..", "examples", "mlp.mlir")
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
os.environ["JAX_PLATFORMS"] = "cpu"
# Models that bring everything along: WIDE, TINY, step_of(shape), arguments(key, shape), DONATED, minted in both shapes; or programs(key).
FAMILIES = ("unet", "graph_net", "ssm", "resnet", "shard_map_step", "mixed_precision", "flax_step", "optax_step", "optimizers")
BEGIN, END = "<!-- table: written by mint.py -->\n", "<!-- end of table -->\n"


def families(names):
    """NAME and NAME_tiny of every family that can be imported -> as programs()."""
    import importlib
    import jax
    key, out = jax.random.key(0), {}
    for name in names:
        try:
            model = importlib.import_module("models." + name)
        except ModuleNotFoundError as missing:
            print("no %s (see requirements.txt): %s is left out" % (missing.name, name), file=sys.stderr)
            continue
        if hasattr(model, "programs"):
            out.update(model.programs(key))
            continue
        for label, s in ((name, model.WIDE), (name + "_tiny", model.TINY)):
            out[label] = model.step_of(s), model.DONATED, jax.eval_shape(lambda: model.arguments(key, s))
    return out


def programs():
    """name -> (function, donated argument numbers, abstract arguments)."""
    import jax
    import jax.numpy as jnp
    from models import accumulate, adam, convnet, decode, dit, encoder_decoder, llama, lora, mlp, moe, physics, transformer

    key = jax.random.key(0)

    def abstract(f, *args):
        return jax.eval_shape(f, *args)

    def train(init, s, batch_of=transformer.batch_of):
        params = abstract(lambda: init(key, s))
        return params, abstract(adam.init, params), abstract(lambda: batch_of(key, s))

    def fine_tune(s):
        params, opt_state, batch = train(lora.init, s)
        return params, opt_state, abstract(lambda: lora.init_frozen(key, s)), batch

    def diffuse(s):
        return dit.step_of(s), (0, 1), (*train(dit.init, s, dit.batch_of), jax.ShapeDtypeStruct((2,), jnp.uint32))

    def generate(s, length, dtype):
        tokens, start = jax.ShapeDtypeStruct((s.batch, length), jnp.int32), jax.ShapeDtypeStruct((), jnp.int32)
        return decode.generate, (1,), (abstract(lambda: decode.init(key, s, dtype)), abstract(lambda: decode.cache_of(s, length, dtype)), tokens, start)

    def mlp_args(widths, batch):
        params = abstract(lambda: mlp.init(key, widths))
        x = jax.ShapeDtypeStruct((batch, widths[0]), jnp.float32)
        y = jax.ShapeDtypeStruct((batch, widths[-1]), jnp.float32)
        return params, abstract(adam.init, params), {"x": x, "y": y}

    def shaped(s, **changes):
        import dataclasses
        return dataclasses.replace(s, **changes)

    wide, four = transformer.WIDE, shaped(transformer.WIDE, layers=4)
    llama_four = shaped(llama.WIDE, layers=4)
    tiny_params = abstract(lambda: mlp.tiny_init(key, 512, 2048))
    tiny_batch = {name: jax.ShapeDtypeStruct((64, 512), jnp.float32) for name in "xy"}
    conv_params, conv_stats = abstract(lambda: convnet.init(key))
    conv_batch = {"images": jax.ShapeDtypeStruct((convnet.BATCH, convnet.SIZE, convnet.SIZE, 3), jnp.float32),
                  "labels": jax.ShapeDtypeStruct((convnet.BATCH,), jnp.int32)}

    return {
        "mlp": (mlp.step, (0, 1), mlp_args([1024, 4096, 4096, 4096, 1024], 256)),
        "mlp_tiny": (mlp.tiny_step, (0,), (tiny_params, tiny_batch)),
        "transformer_2_tiny": (transformer.step, (0, 1), train(transformer.init, transformer.TINY)),
        "transformer_4": (transformer.step, (0, 1), train(transformer.init, four)),
        "transformer_4_forward": (transformer.forward, (), (train(transformer.init, four)[0], train(transformer.init, four)[2]["tokens"])),
        "transformer_32": (transformer.step, (0, 1), train(transformer.init, wide)),
        "transformer_scan": (transformer.step_scanned, (0, 1), train(transformer.init_stacked, wide)),
        "moe": (moe.step_of(moe.WIDE.capacity), (0, 1), train(moe.init, moe.WIDE)),
        "convnet": (convnet.step, (0, 1, 2), (conv_params, abstract(adam.init, conv_params), conv_stats, conv_batch)),
        "llama_2_tiny": (llama.step, (0, 1), train(llama.init, llama.TINY)),
        "llama_4": (llama.step, (0, 1), train(llama.init, llama_four)),
        "llama_8b": (llama.step, (0, 1), train(llama.init, llama.WIDE)),
        "encoder_decoder_tiny": (encoder_decoder.step, (0, 1), train(encoder_decoder.init, encoder_decoder.TINY, encoder_decoder.batch_of)),
        "encoder_decoder": (encoder_decoder.step, (0, 1), train(encoder_decoder.init, encoder_decoder.WIDE, encoder_decoder.batch_of)),
        "dit_tiny": diffuse(dit.TINY),
        "dit": diffuse(dit.WIDE),
        "decode_tiny": generate(llama.TINY, 16, jnp.float32),
        "decode_multi_query_tiny": generate(shaped(llama.TINY, groups=1), 16, jnp.float32),
        "decode": generate(shaped(llama_four, batch=64), 2048, jnp.bfloat16),
        "lora_tiny": (lora.step, (0, 1), fine_tune(llama.TINY)),
        "lora": (lora.step, (0, 1), fine_tune(llama_four)),
        "accumulate_tiny": (accumulate.step_of(2), (0, 1), train(transformer.init, transformer.TINY)),
        "accumulate": (accumulate.step_of(4), (0, 1), train(transformer.init, shaped(four, batch=64))),
        "physics_tiny": (physics.rollout, (1, 2), abstract(lambda: physics.arguments(key))),
        **families(FAMILIES),
        "../../examples/mlp": (mlp.step, (0, 1), mlp_args([32, 64, 64, 64, 32], 16)),
    }


def mint(function, donated, args, platforms=None):
    """-> StableHLO text with argument names and with source locations relative to this folder. platforms: lowered for these instead of the CPU."""
    import jax
    from jax._src import source_info_util
    jax.config.update("jax_hlo_source_file_canonicalization_regex", re.escape(HERE + os.sep) + "|.*/site-packages/")
    source_info_util.register_exclusion(mint.__code__.co_filename)     # editing this file must not change the corpus
    jax.clear_caches()      # a helper's locations are those of its first trace: which programs came before must not matter
    text = jax.jit(function, donate_argnums=donated).trace(*args).lower(lowering_platforms=platforms).as_text(debug_info=True)
    strange = re.search(r'"(/[^"]*|[^"]*site-packages[^"]*)"', text)
    if strange:
        sys.exit("a location holds a machine path: " + strange[0])
    return text


def path_of(name):
    return EXAMPLE if "/" in name else os.path.join(HERE, name + ".mlir.zst")


def read(name):
    if "/" in name:
        with open(EXAMPLE) as f:
            return f.read()
    return subprocess.run(["zstd", "-qdc", path_of(name)], check=True, capture_output=True).stdout.decode()


def write(name, text):
    if "/" in name:
        with open(EXAMPLE, "w") as f:
            f.write(text)
        return
    subprocess.run(["zstd", "-q", "-19", "-f", "-o", path_of(name), "-"], check=True, input=text.encode())


def ops_of(text):
    """Op name -> count, over all functions and regions."""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    counts = {}

    def visit(op):
        counts[op.name] = counts.get(op.name, 0) + 1
        for region in op.regions:
            for block in region:
                for inner in block:
                    visit(inner.operation)

    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        visit(module.operation)
    del counts["builtin.module"]
    return counts


def arguments_of(text):
    line = next(line for line in text.splitlines() if "func.func public @main" in line)
    return len(re.findall(r"%arg\d+: ", line))


def row(name, text):
    packed = os.path.getsize(path_of(name))
    label, size = (os.path.relpath(path_of(name), HERE), "-") if "/" in name else (name, f"{packed:,}")
    return f"| {label} | {sum(ops_of(text).values()):,} | {text.count(chr(10)):,} | {arguments_of(text)} | {len(text.encode()):,} | {size} |\n"


def write_table(names):
    readme = os.path.join(HERE, "README.md")
    with open(readme) as f:
        head, rest = f.read().split(BEGIN)
    table = "| program | ops | lines | arguments | bytes | compressed |\n|---|--:|--:|--:|--:|--:|\n"
    table += "".join(row(name, read(name)) for name in names)
    with open(readme, "w") as f:
        f.write(head + BEGIN + table + END + rest.split(END)[1])
    print(table, end="")


def main(argv):
    flags = {a for a in argv if a.startswith("--")}
    wanted = [a for a in argv if not a.startswith("--")]
    if flags - {"--check", "--ops"}:
        sys.exit(__doc__)
    known = programs()
    if set(wanted) - set(known):
        sys.exit("unknown program: " + ", ".join(sorted(set(wanted) - set(known))))
    if "--ops" in flags:
        for name in wanted or known:
            print(name, " ".join(f"{op}={n}" for op, n in sorted(ops_of(read(name)).items())))
        return 0
    different = 0
    for name in wanted or known:
        text = mint(*known[name])
        if "--check" in flags:
            same = os.path.exists(path_of(name)) and read(name) == text
            different += not same
            print("%-9s %s" % ("same" if same else "DIFFERENT", name))
        else:
            write(name, text)
    if "--check" not in flags:
        if not all(name in known for name in ("flax_step", "lamb_tiny")):
            sys.exit("the table in README.md needs every program")
        write_table([name for name in known if os.path.exists(path_of(name))])
    return different > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
