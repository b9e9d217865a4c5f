#!/usr/bin/env python3
"""What verification is worth: verified answers beside unverified ones and hand-written plans, all as XLA for TPU schedules them.

    verified.py [--compile] [--programs 'mlp*'] [--meshes 2] [--plans 4] [--written 2] [--seconds 600]

Without --compile: the table of verified.json; needs neither a compiler nor a TPU. With it: every case is searched, and what its programs lack is
compiled, one at a time; each row is written when its compile ends, so that the script can be stopped and started again. A row is known by the
digest of its module, so that a plan which changes is compiled anew. What figures.json has of the same module is taken from there.
Programs of a case: the K that `shardwright.plan(.., verify=K)` compiles, and the hand-written plans that we say are fastest, annotated as people
write them; more of those where figures.json has them. Steps are `shardwright simulate` of the scheduled HLO, devices as jax.make_mesh lays them.
"""
import argparse
import contextlib
import fnmatch
import hashlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

import mint
from cases import ROOT, TOOL, Case, corpus, hand_written, name_of, run

sys.path.insert(0, os.path.join(ROOT, "clients", "python"))
PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "verified.json")
PROGRAMS = ("mlp", "transformer_4_forward", "prefill", "recommender", "recurrent", "mixer", "two_tower", "convnet", "encoder_decoder", "mixed_precision")
MESHES = ("data=4,model=4", "data=16")
MOST_WRITTEN = 6
SAME_CLOCK = 0.002  # a simulated step of figures.json may be of an older `simulate`: it counts where it is that near to the walk of the same text


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


def digest_of(module):
    return hashlib.sha256(module.encode()).hexdigest()[:16]


def programs_of(case, folder, known, options):
    """(source, [Candidate]): those of a verification, then hand-written ones, more of them where their figures are known."""
    from shardwright.candidates import Candidate, candidates
    from shardwright.source import Source
    text, module, strategy = (os.path.join(folder, name) for name in ("program.mlir", "planned.mlir", "plan.json"))
    with open(text, "w") as f:
        f.write(subprocess.run(["zstd", "-dc", corpus(case)], capture_output=True, text=True, check=True).stdout)
    run("search", text, "--mesh", case.mesh, "--device", case.device, "--alternatives", options.plans, "--emit-mlir", module, "--emit-strategy", strategy)
    with open(text) as f, open(module) as g, open(strategy) as h:
        source, planned, document = Source(f.read(), TOOL), g.read(), json.load(h)
    found = candidates(source, document, planned, options.plans)
    common = {key: document[key] for key in ("device", "memory_limit_bytes")}
    for i, (name, path, cost) in enumerate(hand_written(case, folder, MOST_WRITTEN)):
        with open(path) as f:
            written = {**common, **json.load(f), "apply": "annotate", "cost": cost}
        one = Candidate("written: " + name, written, source.applied(written, "annotate"))
        if i < options.written or digest_of(one.module) in known:
            found.append(one)
    return source, found


def known_rows(rows):
    """Digest of a module -> what a compile of it said."""
    known = {}
    for row in mint.load().values():
        at = row.get("simulated_ns")
        if at and "memory" in row and abs(at / 1e3 / row["xla"]["step"] - 1) <= SAME_CLOCK:
            memory = row["memory"]
            known[row["module"]] = {"compiler": "XLA for tpu", "version": "libtpu 0.0.51", "seconds": row["compile_s"], "runtime_ns": at, "reason": None, "peak_bytes":
                                    memory["argument_bytes"] + memory["output_bytes"] + memory["temp_bytes"] - memory["alias_bytes"]}
    known.update({p["module"]: p for row in rows.values() for p in row["programs"]})
    return known


def judged(source, one, known, options, show):
    """The row of a program, compiled where nobody has."""
    from shardwright.verification import compiled
    digest = digest_of(one.module)
    said = known.get(digest)
    if said is None:
        row, = compiled(source, [one], seconds=options.seconds, processes=1, target="tpu", show=show)
        row.pop("collectives", None)
        return {**row, "module": digest}
    cost = one.document["cost"]
    peak = said["peak_bytes"]
    return {"plan": one.name, "apply": one.way, "options": one.options, "source": "compiled", "module": digest,
            "predicted_runtime_ns": cost["runtime_ns"], "predicted_peak_bytes": cost["peak_bytes"],
            "fits": peak is not None and peak <= one.document["memory_limit_bytes"],
            **{key: said[key] for key in ("compiler", "version", "seconds", "runtime_ns", "peak_bytes", "reason")}}


def compile_missing(rows, options):
    from shardwright.progress import Progress
    for program in filter(lambda p: fnmatch.fnmatch(p, options.programs), PROGRAMS):
        for mesh in MESHES[:options.meshes]:
            case = Case("", program, mesh, "tpu-v5e", "v5e:4x4")
            key, known = name_of(case), known_rows(rows)
            with contextlib.ExitStack() as stack:
                show, folder = stack.enter_context(Progress(True)), stack.enter_context(tempfile.TemporaryDirectory())
                show.line(key)
                source, found = programs_of(case, folder, known, options)
                made, old = [], rows.get(key, {"programs": []})["programs"]
                for one in found:
                    made.append(judged(source, one, known, options, show))
                    complete = len(made) == len(found)
                    rest = [] if complete else [p for p in old if p["module"] not in {m["module"] for m in made}]
                    rows[key] = {"programs": made + rest, "complete": complete}
                    keep(rows)


def summary(row):
    """(unverified, verified, best hand-written), in ns; None: not compiled, or does not fit."""
    from shardwright.verification import best_of

    def best(programs):
        at = best_of([dict(p) for p in programs])
        return None if at is None else programs[at]["runtime_ns"]

    written = [p for p in row["programs"] if p["plan"].startswith("written: ")]
    return best(row["programs"][:1]), best([p for p in row["programs"] if p not in written]), best(written)


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
    parser.add_argument("--written", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=600)
    options = parser.parse_args()
    rows = load()
    if options.compile:
        compile_missing(rows, options)
    table(rows)


if __name__ == "__main__":
    main()
