#!/usr/bin/env python3
"""Random products with work in front of and behind them: the time of their kernels beside XLA's estimate of it.

    products.py [--worst N]                  prints the comparison with the figures in products.json
    products.py --mint v5e:2x4 [--count 240] compiles the cases for one chip and keeps its figures; needs libtpu

A case is [rows, summands, columns, form, left, right, behind]: form "nn" contracts the left operand's last dim, "tn" its first;
left and right are what is computed in front of the operands, of how many arrays; behind is what is computed of the result.
Figures are estimated cycles of the whole program, which is one fusion. The blocks in costmodel/roofline.c were fitted to 157
other draws of such cases on v5e; none of these here was among them. v4 is left out: XLA's estimates are of one of its two cores.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

import jax
import jax.numpy as jnp

HERE = os.path.dirname(os.path.abspath(__file__))
FIGURES = os.path.join(HERE, "products.json")
TOOL = os.environ.get("SHARDWRIGHT", os.path.join(HERE, "..", "..", "..", "build", "shardwright"))
CLOCK = {"v4": 1.05e9, "v5e": 1.5e9, "v5p": 1.75e9, "v6e": 1.75e9}
SIZES = (256, 512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384)
B, F = jnp.bfloat16, jnp.float32
FRONT = {"none": (B, lambda a: a), "one": (B, jax.nn.silu), "two": (B, lambda a, b: jax.nn.silu(a) * b),
         "three": (B, lambda a, b, c: jax.nn.silu(a) * b + c), "convert": (F, lambda a: a.astype(B))}
ARRAYS = {"none": 1, "one": 1, "two": 2, "three": 3, "convert": 1}


def adam(z, p, m, v):
    g = z.astype(F)
    m, v = .9 * m + .1 * g, .999 * v + .001 * g * g
    return p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), m, v


BEHIND = {"none": ([], lambda z: z), "add": ([B], lambda z, a: z + a), "adam": ([F] * 3, adam)}


def cases(count):
    draw, out = random.Random(7), []
    while len(out) < count:
        m, k, n = (draw.choice(SIZES) for _ in range(3))
        if not 2e9 < 2 * m * k * n < 1.2e12 or max(m * n, m * k, k * n) > 1.3e8:
            continue
        left, right = (draw.choice(("none", *FRONT)) for _ in range(2))
        out.append([m, k, n, draw.choice(("nn", "tn")), left, right, draw.choice(("none", "none", "none", "add", "adam"))])
    return out


def module_of(case):
    m, k, n, form, left, right, behind = case
    shapes = [(m, k) if form == "nn" else (k, m)] * ARRAYS[left] + [(k, n)] * ARRAYS[right] + [(m, n)] * len(BEHIND[behind][0])
    types = [FRONT[left][0]] * ARRAYS[left] + [FRONT[right][0]] * ARRAYS[right] + BEHIND[behind][0]
    first, rest = ARRAYS[left], ARRAYS[left] + ARRAYS[right]

    def product(*a):
        x, y = FRONT[left][1](*a[:first]), FRONT[right][1](*a[first:rest])
        return BEHIND[behind][1](jax.lax.dot_general(x, y, (((1 if form == "nn" else 0,), (0,)), ((), ()))), *a[rest:])

    donated = tuple(range(rest, rest + 3)) if behind == "adam" else ()
    arrays = [jax.ShapeDtypeStruct(*each) for each in zip(shapes, types)]
    return jax.jit(product, donate_argnums=donated).trace(*arrays).lower(lowering_platforms=("tpu",)).as_text()


def mint(topology, count):
    sys.path.insert(0, os.path.join(HERE, "..", "..", "golden"))
    import mint_hlo
    import xla_text
    mint_hlo.environment("tpu", topology)
    figures = json.load(open(FIGURES)) if os.path.exists(FIGURES) else {}
    chip = topology.split(":")[0]
    found = {json.dumps(case): cycles for case, cycles in figures.get(chip, [])}
    for case in cases(count):
        if json.dumps(case) in found:
            continue
        executable, _ = mint_hlo.compile_text("tpu", topology, module_of(case), None)
        found[json.dumps(case)] = xla_text.estimated_cycles(executable.hlo_modules()[0].to_string())
        figures[chip] = [[c, found[json.dumps(c)]] for c in cases(count) if json.dumps(c) in found]
        text = ",\n".join(' "%s": [\n  %s]' % (name, ",\n  ".join(map(json.dumps, rows))) for name, rows in figures.items())
        with open(FIGURES + ".new", "w") as f:
            f.write("{\n%s}\n" % text)
        os.replace(FIGURES + ".new", FIGURES)


def compare(worst):
    figures = json.load(open(FIGURES))
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "module.mlir")
        for case in sorted({json.dumps(case) for rows in figures.values() for case, _ in rows}):
            with open(path, "w") as f:
                f.write(module_of(json.loads(case)))
            for chip, rows in figures.items():
                if any(json.dumps(c) == case for c, _ in rows):
                    done = subprocess.run([TOOL, "simulate", path, "--device", "tpu-" + chip, "--json"], capture_output=True, text=True, check=True)
                    times[chip, case] = json.loads(done.stdout)["compute_ns"] / 1e9
    print("%-28s %6s %8s %8s %8s" % ("random products", "cases", "median", "mean", "bias"))
    groups = (("all", lambda c: True), ("neither side worked on", lambda c: c[4] == c[5] == "none"),
              ("one side", lambda c: (c[4] == "none") != (c[5] == "none")), ("both sides", lambda c: "none" not in c[4:6]),
              ("Adam behind", lambda c: c[6] == "adam"))
    for chip, rows in figures.items():
        ratios = [(times[chip, json.dumps(c)] * CLOCK[chip] / cycles, c) for c, cycles in rows]
        for name, belongs in groups:
            errors = [ratio - 1 for ratio, c in ratios if belongs(c)]
            print("%-28s %6d %7.1f%% %7.1f%% %+7.1f%%" % ("%s, %s" % (chip, name), len(errors), 100 * statistics.median(map(abs, errors)),
                                                     100 * statistics.mean(map(abs, errors)), 100 * statistics.median(errors)))
        for ratio, c in sorted(ratios, key=lambda r: -abs(r[0] - 1))[:worst]:
            print("  %.2f of XLA's estimate: %s" % (ratio, c))


if __name__ == "__main__":
    words = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    words.add_argument("--mint", metavar="TOPOLOGY")
    words.add_argument("--count", type=int, default=160)
    words.add_argument("--worst", type=int, default=0)
    given = words.parse_args()
    if given.mint:
        mint(given.mint, given.count)
    else:
        compare(given.worst)
