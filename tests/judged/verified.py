#!/usr/bin/env python3
"""What verification is worth: verified answers beside unverified ones and hand-written plans, all as XLA for TPU schedules them.

    verified.py [--compile] [--programs 'mlp*'] [--meshes 2] [--plans 4] [--written 1] [--seconds 1200]

Without --compile: the table of verified.json; needs neither a compiler nor a TPU. With it: cases that are missing there are searched, and
their programs compiled, one at a time; each row is written when its compile ends, so that the script can be stopped and started again.
Every program of a case counts: the plan of the search, its alternatives and the best baseline in both ways, and hand-written plans (those that
we say are fastest) in both ways. Steps are `shardwright simulate` of the scheduled HLO, devices as jax.make_mesh lays them.
"""
import argparse
import fnmatch
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

from cases import ROOT, TOOL, Case, corpus, hand_written, run

sys.path.insert(0, os.path.join(ROOT, "clients", "python"))
PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "verified.json")
PROGRAMS = ("mlp", "graph_net", "encoder_decoder", "transformer_4_forward", "moe", "mixed_precision", "dit", "convnet", "ssm", "transformer_4")
MESHES = ("data=4,model=4", "data=16")


def load():
    if not os.path.exists(PATH):
        return {}
    with open(PATH) as f:
        return json.load(f)


def keep(rows):
    with open(PATH + ".part", "w") as f:
        json.dump(rows, f, indent=1, sort_keys=True)
        f.write("\n")
    os.replace(PATH + ".part", PATH)


def programs_of(case, folder, options):
    """(source, [Candidate]): those of a verification, then hand-written ones."""
    from shardwright.candidates import Candidate, candidates
    from shardwright.errors import Error
    from shardwright.source import Source
    text, module, strategy = (os.path.join(folder, name) for name in ("program.mlir", "planned.mlir", "plan.json"))
    with open(text, "w") as f:
        f.write(subprocess.run(["zstd", "-dc", corpus(case)], capture_output=True, text=True, check=True).stdout)
    run("search", text, "--mesh", case.mesh, "--device", case.device, "--emit-mlir", module, "--emit-strategy", strategy)
    with open(text) as f, open(module) as g, open(strategy) as h:
        source, planned, document = Source(f.read(), TOOL), g.read(), json.load(h)
    found = candidates(source, document, planned, options.plans)
    for name, path, cost in hand_written(case, folder, options.written):
        with open(path) as f:
            written = dict(document, **json.load(f))
        for way in ("annotate", "exact"):
            one = dict(written, apply=way, cost=cost)
            one.pop("alternatives", None)
            try:
                one["cost"] = source.cost(one)
                found.append(Candidate("written: " + name, one, source.applied(one, way)))
            except Error as error:
                print("%s %s: %s" % (name, way, error), file=sys.stderr)
    return source, found


def compile_missing(rows, options):
    from shardwright.progress import Progress
    from shardwright.verification import compiled
    for program in PROGRAMS:
        for mesh in MESHES[:options.meshes]:
            key = "%s %s tpu-v5e" % (program, mesh)
            if not fnmatch.fnmatch(program, options.programs) or rows.get(key, {}).get("complete"):
                continue
            case = Case("", program, mesh, "tpu-v5e", "v5e:4x4")
            with tempfile.TemporaryDirectory() as folder, Progress(True) as show:
                source, found = programs_of(case, folder, options)
                kept = rows.setdefault(key, {"programs": [], "complete": False})
                known = {(row["plan"], row["apply"]) for row in kept["programs"]}
                for one in found:
                    if (one.name, one.way) not in known:
                        row, = compiled(source, [one], seconds=options.seconds, processes=1, target="tpu", show=show)
                        row.pop("collectives", None)
                        kept["programs"].append(row)
                        keep(rows)
                kept["complete"] = True
                keep(rows)


def summary(row):
    """(unverified, verified, best hand-written), in ns; None: not compiled, or does not fit."""
    def step(wanted):
        return min((p["runtime_ns"] for p in row["programs"] if wanted(p) and p["fits"] and p["reason"] is None), default=None)

    first = row["programs"][0]
    return (step(lambda p: p is first), step(lambda p: not p["plan"].startswith("written: ")), step(lambda p: p["plan"].startswith("written: ")))


def table(rows):
    def ms(ns):
        return "%9.3f" % (ns / 1e6) if ns else "%9s" % "-"

    def ratio(a, b):
        return "%7.2f" % (a / b) if a and b else "%7s" % "-"

    print("%-40s %9s %9s %9s %7s %7s %5s" % ("case", "searched", "verified", "written", "gain", "ratio", "of"))
    ratios = []
    for key, row in sorted(rows.items()):
        if not row["programs"]:
            continue
        searched, verified, written = summary(row)
        print("%-40s %s %s %s %s %s %5d%s" % (key, ms(searched), ms(verified), ms(written), ratio(verified, searched), ratio(verified, written),
                                             len(row["programs"]), "" if row["complete"] else " so far"))
        if verified and written and row["complete"]:
            ratios.append(verified / written)
    if ratios:
        print("\n%d cases with hand-written plans: geometric mean %.2f, worst %.2f, at most 1.01 in %d" % (
            len(ratios), math.exp(statistics.fmean(map(math.log, ratios))), max(ratios), sum(r <= 1.01 for r in ratios)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--programs", default="*")
    parser.add_argument("--meshes", type=int, default=len(MESHES))
    parser.add_argument("--plans", type=int, default=4)
    parser.add_argument("--written", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1200)
    options = parser.parse_args()
    rows = load()
    if options.compile:
        compile_missing(rows, options)
    table(rows)


if __name__ == "__main__":
    main()
