#!/usr/bin/env python3
"""Single contractions and single reshards under random shardings: the collectives that XLA for TPU makes of them beside ours.

    partitioned.py [--worst N]                prints how many are equal, with the figures in partitioned.json
    partitioned.py --mint [--cases 250]       compiles the cases for v5e 2x4, half a second each, and keeps their collectives; needs libtpu

The rules in lower/partition_dot.c and lower/partition_reshard.c were looked for in the cases of seed 1; those of seed 2 are held out.
Equal: the same kinds, sizes of groups, bytes and numbers.
"""
import argparse
import collections
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FIGURES = os.path.join(HERE, "partitioned.json")
TOOL = os.environ.get("SHARDWRIGHT", os.path.join(HERE, "..", "..", "..", "build", "shardwright"))
TOPOLOGY, DEVICES = "v5e:2x4", 8
MESHES = ("a=2,b=4", "a=4,b=2", "a=2,b=2,c=2", "a=8")
SEEDS = (1, 2)


def spread(draw, mesh, dims, share):
    """Axes of the mesh on random dims."""
    axes, cut = [part.split("=")[0] for part in mesh.split(",")], [[] for _ in range(dims)]
    draw.shuffle(axes)
    for axis in axes:
        if draw.random() < share:
            draw.choice(cut).append(axis)
    return cut


def shardings(cut):
    return "[%s]" % ", ".join("{%s}" % ", ".join('"%s"' % axis for axis in dim) for dim in cut)


def tensor(sizes):
    return "tensor<%sxbf16>" % "x".join(map(str, sizes))


def module(mesh, arguments, body, result):
    axes = ", ".join('"%s"=%s' % tuple(part.split("=")) for part in mesh.split(","))
    listed = ", ".join("%%arg%d: %s {sdy.sharding = #sdy.sharding<@mesh, %s>}" % (i, tensor(sizes), shardings(cut)) for i, (sizes, cut) in enumerate(arguments))
    sizes, cut = result
    return """module @m attributes {mhlo.num_partitions = %d : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <[%s]>
  func.func public @main(%s) -> (%s {sdy.sharding = #sdy.sharding<@mesh, %s>}) {
%s    return %%r : %s
  }
}
""" % (DEVICES, axes, listed, tensor(sizes), shardings(cut), body, tensor(sizes))


def contraction(draw):
    """-> (words for people, text)"""
    mesh = draw.choice(MESHES)
    batched, size = draw.random() < .3, {"b": draw.choice((64, 128)), **{d: draw.choice((256, 512, 1024, 2048)) for d in "mkn"}}
    left, right, out = "mk", "kn", "mn"
    if draw.random() < .3:
        left = "km"
    if batched:
        left, right, out = "b" + left, "b" + right, "b" + out
    cuts = [spread(draw, mesh, len(dims), .65) for dims in (left, right, out)]
    sizes = [[size[d] for d in dims] for dims in (left, right, out)]
    body = "    %%p = stablehlo.dot_general %%arg0, %%arg1, %scontracting_dims = [%d] x [%d] : (%s, %s) -> %s\n" % (
        "batching_dims = [0] x [0], " if batched else "", left.index("k"), right.index("k"), *map(tensor, sizes))
    body += "    %%r = sdy.sharding_constraint %%p <@mesh, %s> : %s\n" % (shardings(cuts[2]), tensor(sizes[2]))
    words = " ".join("[%s]" % ", ".join("%s%d:%s" % (d, size[d], "".join(axes)) for d, axes in zip(dims, cut)) for dims, cut in zip((left, right, out), cuts))
    return "%s  %s" % (mesh, words), module(mesh, list(zip(sizes, cuts))[:2], body, (sizes[2], cuts[2]))


def reshard(draw):
    mesh, sizes = draw.choice(MESHES), [draw.choice((256, 512, 1024)) for _ in range(draw.choice((2, 2, 3)))]
    first, second = (spread(draw, mesh, len(sizes), .75) for _ in range(2))
    kind = tensor(sizes)
    body = "    %%x = stablehlo.sine %%arg0 : %s\n" % kind
    body += "    %%y = sdy.sharding_constraint %%x <@mesh, %s> : %s\n    %%z = sdy.sharding_constraint %%y <@mesh, %s> : %s\n" % (
        shardings(first), kind, shardings(second), kind)
    body += "    %%r = stablehlo.sine %%z : %s\n" % kind
    words = " -> ".join("[%s]" % ", ".join("%d:%s" % (n, "".join(axes)) for n, axes in zip(sizes, cut)) for cut in (first, second))
    return "%s  %s" % (mesh, words), module(mesh, [(sizes, first)], body, (sizes, second))


KINDS = {"contractions": contraction, "reshards": reshard}


def cases(kind, seed, count):
    draw = random.Random(seed)
    return [KINDS[kind](draw) for _ in range(count)]


def mint(count):
    sys.path.insert(0, os.path.join(HERE, "..", "..", "golden"))
    import mint_hlo
    import xla_text
    mint_hlo.environment("tpu", TOPOLOGY)
    figures = json.load(open(FIGURES)) if os.path.exists(FIGURES) else {}
    for kind in KINDS:
        for seed in SEEDS:
            rows = figures.setdefault(kind, {}).setdefault(str(seed), [])
            for _, text in cases(kind, seed, count)[len(rows):]:
                executable, _ = mint_hlo.compile_text("tpu", TOPOLOGY, text, None)
                found = xla_text.collectives(executable.hlo_modules()[0].to_string(), DEVICES)
                rows.append([[c.kind, c.group, sum(size for _, size in c.parts), c.times] for c in found])
            lines = ",\n".join('"%s": {%s}' % (k, ",\n ".join('"%s": [\n  %s]' % (s, ",\n  ".join(map(json.dumps, r))) for s, r in seeds.items()))
                               for k, seeds in figures.items())
            with open(FIGURES + ".new", "w") as f:
                f.write("{%s}\n" % lines)
            os.replace(FIGURES + ".new", FIGURES)


def ours(path, mesh):
    sizes = dict(part.split("=") for part in mesh.split(","))
    found = collections.Counter()
    done = subprocess.run([TOOL, "lower", path, "--device", "tpu-v5e", "--json"], capture_output=True, text=True, check=True)
    for c in json.loads(done.stdout)["collectives"]:
        group = 1
        for axis in c["axes"]:
            name, _, part = axis.partition(":")
            group *= int(part.split(")")[1] if part else sizes[name])
        found[c["kind"], None if c["kind"] == "collective_permute" else group, c["bytes"]] += c["trip_count"]
    return found


def compared(kind, seed):
    """[(words, our collectives, XLA's)]"""
    rows = json.load(open(FIGURES))[kind][str(seed)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "module.mlir")
        for (words, text), row in zip(cases(kind, seed, len(rows)), rows):
            with open(path, "w") as f:
                f.write(text)
            theirs = collections.Counter()
            for name, group, size, times in row:
                theirs[name, group, size] += times
            yield words, ours(path, words.split()[0]), theirs


def main():
    words = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    words.add_argument("--mint", action="store_true")
    words.add_argument("--cases", type=int, default=250, help="of each kind and seed")
    words.add_argument("--worst", type=int, default=0, help="print so many that differ")
    given = words.parse_args()
    if given.mint:
        return mint(given.cases)
    for kind in KINDS:
        for seed in SEEDS:
            rows = list(compared(kind, seed))
            print("%-14s seed %d: %3d of %d equal" % (kind, seed, sum(mine == theirs for _, mine, theirs in rows), len(rows)))
            for case, mine, theirs in [row for row in rows if row[1] != row[2]][:given.worst]:
                print("  %s\n    ours %s\n    XLA  %s" % (case, sorted(mine.items(), key=str), sorted(theirs.items(), key=str)))


if __name__ == "__main__":
    main()
