#!/usr/bin/env python3
"""Random programs whose values are cut at random, evenly or not: the program of one device against the whole program.

    emitted.py ops|moves|control|manual --keep FOLDER [--seeds FROM:TO] [--kind NAME]..     runs them and prints what came out

Many single ops go into one module, since starting XLA takes longer than running them; a module that fails is taken apart."""
import argparse
import collections
import os
import random
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import execute  # noqa: E402
import random_ops  # noqa: E402
import random_regions  # noqa: E402
import random_windows  # noqa: E402
import replicas  # noqa: E402
from child import Crash, forked  # noqa: E402

MESHES = ((("a", 2), ("b", 4)), (("a", 2), ("b", 2), ("c", 2)), (("a", 3), ("b", 2)), (("a", 8),))
# The CPU has no code for these custom calls; other random numbers than the whole program's are as good; collectives have
# a meaning inside of manual computations only.
LEFT_OUT = ("pointwise_call", "linear_algebra_call", "top_k_call", "x64_combine", "rng", "collective", "constraint", "while")
KINDS = [kind for kind in random_ops.Ops(0).kinds if kind not in LEFT_OUT]


def _types(text):
    """Function name -> types of the results of its last op."""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        out = {}
        for op in module.body.operations:
            last = list(op.operation.regions[0].blocks[0].operations)[-2]
            out[ir.StringAttr(op.operation.attributes["sym_name"]).value] = [str(v.type) for v in last.results]
        return out


def finished(ops):
    """[(kind, argument types, lines)] -> [(kind, argument types, lines, names and types of the results, number)]"""
    functions = ["func.func @f%d(%s) {\n%s\n  return\n}" % (i, ", ".join("%%a%d: %s" % pair for pair in enumerate(types)), "\n".join(lines))
                 for i, (_, types, lines) in enumerate(ops)]
    found = forked(_types, "module {\n%s\n}\n" % "\n".join(functions))
    out = []
    for i, (kind, types, lines) in enumerate(ops):
        left, results = lines[-1].split(" = ", 1)[0], found["f%d" % i]
        names = left.split(", ") if len(results) == left.count(",") + 1 and ":" not in left else [
            "%s#%d" % (left.split(":")[0], k) for k in range(len(results))]
        out.append((kind, types, lines, list(zip(names, results)), i))
    return out


def shape_of(kind):
    return tuple(int(n) for n in re.findall(r"(\d+)x", kind))


def random_sharding(rng, axes, rank):
    """Axes whole or halved, on any dimension, in any order."""
    dims, refs = [[] for _ in range(rank)], []
    for name, size in axes:
        if size == 4 and rng.random() < .3:
            refs += ['"%s":(1)2' % name, '"%s":(2)2' % name]
        else:
            refs.append('"%s"' % name)
    rng.shuffle(refs)
    for ref in refs if rank else ():
        if rng.random() < .7:
            dims[rng.randrange(rank)].append(ref)
    text = ", ".join("{" + ", ".join(d) + "}" for d in dims)
    for name, _ in axes:  # two halves in a row are written as one
        text = text.replace('"%s":(1)2, "%s":(2)2' % (name, name), '"%s"' % name)
    return "<@mesh, [%s]>" % text


def joined(ops, seed=None, axes=()):
    """One main with all ops; with a seed, random shardings on arguments and results, and again on what each op reads and gives.
    An op is cut in the same way whatever stands beside it."""
    arguments, results, lines = [], [], []

    def cut(kind):
        return ' {sdy.sharding = #sdy.sharding%s}' % random_sharding(rng, axes, len(shape_of(kind))) if seed is not None else ""

    def moved(name, kind):
        if seed is None:
            return name
        lines.append("%s.cut = sdy.sharding_constraint %s %s : %s" % (name.replace("#", "."), name, random_sharding(rng, axes, len(shape_of(kind))), kind))
        return name.replace("#", ".") + ".cut"

    for index, (_, types, body, given, number) in enumerate(ops):
        rng, names = random.Random("%s %d" % (seed, number)), []
        for i, kind in enumerate(types):
            name = "%%arg%d" % len(arguments)
            arguments.append("%s: %s%s loc(\"positive%d\")" % (name, kind, cut(kind), len(arguments)))
            names.append(moved(name, kind))
        for line in body:
            line = re.sub(r"%([a-z]\w*)", lambda m: names[int(m[1][1:])] if re.fullmatch(r"a\d+", m[1]) else "%%s%d_%s" % (index, m[1]), line)
            lines.append(line)
        for name, kind in given:
            results.append((moved("%%s%d_%s" % (index, name[1:]), kind), kind, cut(kind)))
    n = 1
    for _, size in axes:
        n *= size
    head = "module @ops attributes {mhlo.num_partitions = %d : i32, mhlo.num_replicas = 1 : i32} {\n" % n
    mesh = "  sdy.mesh @mesh = <[%s]>\n" % ", ".join('"%s"=%d' % axis for axis in axes) if axes else ""
    return "%s%s  func.func @main(%s) -> (%s) {\n    %s\n    return %s : %s\n  }\n}\n" % (
        head, mesh, ", ".join(arguments), ", ".join(kind + attribute for _, kind, attribute in results), "\n    ".join(lines),
        ", ".join(name for name, _, _ in results), ", ".join(kind for _, kind, _ in results))


def errors(tool, ops, seed, axes):
    """Relative error of every result: [(kind of the op, error)]."""
    signature = [("positive%d" % i, shape_of(kind)) for i, kind in enumerate(kind for op in ops for kind in op[1])]
    found = replicas.errors(tool, tool.file(joined(ops, seed, axes)), execute.run(joined(ops), simplify=False), signature, simplify=False)
    return [(op[0], error) for op, error in zip((op for op in ops for _ in op[3]), found)]


def random_case(seed, count=24, kinds=KINDS):
    ops = random_ops.Ops(seed)
    chosen = [kinds[(seed * count + i) % len(kinds)] for i in range(count)]
    return finished([(kind, *getattr(ops, "gen_" + kind)()) for kind in chosen])


# What the CPU compiler fails at whoever wrote the program.
KNOWN = {"fft_thunk.cc": "its FFT wants the default layout and does not ask for it"}


def known(failure):
    return any(word in str(failure) for word in KNOWN)


def outcomes(tool, ops, seed, axes):
    """[(op, None or what is wrong)]. A module that fails is taken apart until single ops are left."""
    try:
        found = errors(tool, ops, seed, axes)
    except (AssertionError, Crash) as failure:
        if len(ops) == 1:
            return [(ops[0], "left out: " if known(failure) else "refused: " + str(failure))]
        half = len(ops) // 2
        return outcomes(tool, ops[:half], seed, axes) + outcomes(tool, ops[half:], seed, axes)
    out, at = [], 0
    for op in ops:
        mine = [error for _, error in found[at:at + len(op[3])]]
        at += len(mine)
        out.append((op, None if all(error < 1e-4 for error in mine) else "wrong: %s" % mine))
    return out


def program_outcome(tool, text, whole, signature, tolerance=1e-3):
    """None or what is wrong with one program. whole: the text that says what is right."""
    try:
        found = replicas.errors(tool, tool.file(text), execute.run(whole), signature)
    except (AssertionError, Crash) as failure:
        return "refused: " + str(failure)
    return None if all(error < tolerance for error in found) else "wrong: %s" % found


def mesh_of(seed):
    return MESHES[seed % len(MESHES)]


def run_ops(tool, seed, kinds=KINDS):
    """[(kind, text, None or what is wrong)]"""
    axes = mesh_of(seed)
    return [(op[0], joined([op], seed, axes), found) for op, found in outcomes(tool, random_case(seed, kinds=kinds), seed, axes)]


def moves_case(seed, count=24, kinds=None):
    ops = random_windows.Windows(seed)
    kinds = kinds or ops.kinds
    chosen = [kinds[(seed * count + i) % len(kinds)] for i in range(count)]
    return finished([(kind, *ops.op(kind)) for kind in chosen])


def run_moves(tool, seed, kinds=None):
    """As run_ops, of ops with windows or shifts along dims."""
    axes = mesh_of(seed)
    return [(op[0], joined([op], seed, axes), found) for op, found in outcomes(tool, moves_case(seed, kinds=kinds), seed, axes)]


def run_control(tool, seed):
    whole, text, signature = random_regions.control(seed, mesh_of(seed), random_sharding)
    return [("control flow", text, program_outcome(tool, text, whole, signature))]


def run_manual(tool, seed):
    """Against XLA's own partitioner: one device alone cannot run it."""
    text, signature = random_regions.manual(seed, mesh_of(seed), random_sharding)
    return [("manual computation", text, program_outcome(tool, text, text, signature))]


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("ops", "moves", "control", "manual"))
    parser.add_argument("--seeds", default="0:10", metavar="FROM:TO")
    parser.add_argument("--kind", action="append", help="of the ops; default all")
    parser.add_argument("--level", default="placed", choices=("placed", "optimized", "exact"))
    parser.add_argument("--global", action="store_true", help="inside a manual computation over all axes")
    parser.add_argument("--keep", required=True, help="folder for what fails")
    options = parser.parse_args(argv)
    os.environ["JAX_PLATFORMS"] = "cpu"
    from conftest import ROOT, Tool
    tool = Tool(os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright")), options.keep)
    tool.emit = ("--level", options.level, *(("--global",) if getattr(options, "global") else ()))
    counts = collections.defaultdict(collections.Counter)
    for seed in range(*map(int, options.seeds.split(":"))):
        found = {"ops": lambda: run_ops(tool, seed, options.kind or KINDS), "moves": lambda: run_moves(tool, seed, options.kind), "control": lambda: run_control(tool, seed),
                 "manual": lambda: run_manual(tool, seed)}[options.what]()
        for kind, text, failure in found:
            outcome = failure.split(":")[0] if failure else "equal"
            counts[kind][outcome] += 1
            if failure:
                name = "%s_%d_%d.mlir" % (kind.replace(" ", "_"), seed, sum(counts[kind].values()))
                with open(os.path.join(options.keep, name), "w") as f:
                    f.write(text)
                print(name, failure.strip().replace("\n", " ")[-300:], flush=True)
    print("%-24s %6s %6s %8s %8s %6s" % ("kind", "cases", "equal", "refused", "left out", "wrong"))
    for kind in sorted(counts):
        c = counts[kind]
        print("%-24s %6d %6d %8d %8d %6d" % (kind, sum(c.values()), c["equal"], c["refused"], c["left out"], c["wrong"]))


if __name__ == "__main__":
    main(sys.argv[1:])
