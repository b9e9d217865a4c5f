#!/usr/bin/env python3
"""Training steps of tests/corpus through Shardy's propagation pipeline, ours against jaxlib's, value by value.

    corpus_propagate.py [--server PROGRAM] [--random N] [--seed S] [PROGRAM...]

Strategies: data parallel, Megatron, both, ZeRO with priorities, and N random ones per program (a sharding per kind of
argument, alike in all layers, with priorities in half of them). Exit code 1 when any value differs."""
import argparse
import glob
import os
import random
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
os.environ["JAX_PLATFORMS"] = "cpu"
import annotate  # noqa: E402
import cases  # noqa: E402
import parity  # noqa: E402
import programs  # noqa: E402
import sdy  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
MESH = {"data": 4, "model": 4}


def arguments_of(text):
    """[(name, shape)] of main."""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        op = annotate.main_of(module)
        kind = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
        return list(zip(annotate.argument_names(op), [list(ir.RankedTensorType(t).shape) for t in kind.inputs]))


def is_batch(name):
    return name.startswith(("batch", "cache")) or name in ("images", "labels", "tokens")


def spread(shape, axis, priority=0):
    """The axis on the largest dim it divides."""
    dims = [[] for _ in shape]
    fits = [i for i, s in enumerate(shape) if s % MESH[axis] == 0]
    if fits:
        dims[max(fits, key=lambda i: shape[i])] = [axis]
    return {"dims": dims, "open": [True] * len(shape), "priority": [priority] * len(shape)}


MEGATRON = {"w_gate": 1, "w_up": 1, "w_down": 0, "wq": 1, "wk": 1, "wv": 1, "wo": 0, "w1": 1, "w2": 0, "w_in": 2, "w_out": 1}


def megatron(name, shape):
    word = re.search(r"\['(\w+)'\]$", name)
    if word and word[1] in MEGATRON and name.startswith("params"):
        dim = MEGATRON[word[1]] + (len(shape) > 3 and word[1].startswith("w") and word[1] not in ("w_in", "w_out"))
        if dim < len(shape):
            return [["model"] if i == dim else [] for i in range(len(shape))]
    return None


def strategies(arguments):
    """name -> [(argument name, sharding)]."""
    batch = [(n, [["data"]] + [[]] * (len(s) - 1)) for n, s in arguments if is_batch(n) and s]
    tensor = [(n, megatron(n, s)) for n, s in arguments if megatron(n, s)]
    state = [(n, spread(s, "data", 1)) for n, s in arguments if n.startswith(("opt_state", "state.opt_state")) and s]
    params = [(n, spread(s, "data", 1)) for n, s in arguments if n.startswith(("params", "state.params")) and s]
    yield "data parallel", batch
    yield "megatron", tensor
    yield "data + megatron", batch + tensor
    yield "zero2", batch + state
    yield "zero3", batch + state + params
    yield "zero3 without priorities", batch + [(n, spread(s, "data")) for n, s in arguments if n.startswith(("params", "opt_state", "state.")) and s]


def random_strategy(seed, arguments, mesh):
    generator = programs.Program(seed)
    mesh = generator.r.choice([mesh, {"a": 2, "b": 4, "c": 2}, {"a": 8, "b": 6}]) if mesh is MESH else mesh
    generator.meshes = {"mesh": (mesh, "")}
    generator.priorities = generator.r.random() < 0.5
    chance, chosen, out = generator.r.choice([0.15, 0.4, 0.8]), {}, []
    for name, shape in arguments:
        kind = (re.sub(r"\d+", "N", name), tuple(shape))
        if kind not in chosen:
            chosen[kind] = generator.sharding(shape, True) if shape and generator.r.random() < chance else None
        if chosen[kind]:
            out.append((name, chosen[kind]))
    return mesh, out


def annotated(text, mesh, strategy, results):
    # argument names are literal here: [ and ] are not special in annotate's globs
    return annotate.annotate(text, mesh, strategy, results)


def compare(path, name, mesh, strategy, results, passes, server):
    text = sdy.forked(annotated, annotate.read(path), mesh, strategy, results)
    word, theirs, ours = parity.one_verdict(server, text, passes)
    print("%s, %s, %s: %s" % (os.path.basename(path).split(".")[0], name, passes, word))
    if word in parity.SKIPPED:
        print("  %s" % re.sub(r"\s+", " ", theirs)[-200:])
    elif word == "different":
        for d in sdy.compare(theirs, ours)[:5]:
            print("  %s %s\n    jaxlib %s\n    ours   %s" % d)
    sys.stdout.flush()
    return word not in parity.SAME + parity.SKIPPED


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default="build/oracle/pass_server")
    parser.add_argument("--passes", default="sdy-propagation-pipeline")
    parser.add_argument("--random", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    paths = options.programs or sorted(glob.glob(os.path.join(HERE, "..", "corpus", "*.mlir.zst")))
    bad = 0
    for path in paths:
        text = annotate.read(path)
        arguments, mesh = sdy.forked(arguments_of, text), cases.own_mesh(text) or MESH
        for i, (name, strategy) in enumerate(strategies(arguments)):
            if strategy:
                bad += compare(path, name, mesh, strategy, "donated" if i % 2 else "open", options.passes, options.server)
        for seed in range(options.seed, options.seed + options.random):
            drawn, strategy = random_strategy(seed, arguments, mesh)
            bad += compare(path, "random %d" % seed, drawn, strategy, "open", options.passes, options.server)
    print("%d comparisons differ" % bad)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
