#!/usr/bin/env python3
"""Scheduled texts of many programs x plans x TPUs, for distinct.py: plans drawn at random, plans of the search, hand-written ones.

    compile_many.py DIR [--minutes 60] [--jobs 2] [--seconds 150] [--programs GLOB] [--fastest 60] [--round 0] [--tools DIR]

Round by round every program of tests/judged/programs and the corpus gets a plan on the next target; what an earlier round took longer than --seconds for is left out. A
text that is in DIR is left alone, so that it can be stopped and started again. Needs jax, libtpu and the two scripts in --tools.
"""
import argparse
import concurrent.futures
import fnmatch
import glob
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import cases  # noqa: E402
import mint  # noqa: E402
from experts import Program, experts_of  # noqa: E402
from experts.plan import Plan  # noqa: E402

TARGETS = [(mesh, *target) for mesh, target in (("data=4,model=4", cases.V5E), ("data=2,model=4", cases.V6E), ("data=2,model=4", cases.V5P), ("data=2,model=8", cases.V5E),
                                                ("data=4,model=2", cases.V6E), ("data=4,model=2", cases.V5P), ("data=16", cases.V5E), ("data=8", cases.V6E), ("data=8", cases.V5P))]
PLANS = ("random", "hand-written", "random", "search")  # of a round, in turn
ROUNDS = 36
LONG = ("llama_8b", "transformer_32")  # XLA takes many minutes for them


def programs():
    """name -> family, of what XLA is asked to compile; a name of cases.py has the family that it has there."""
    families = {c.program: c.family for c in cases.CASES}
    paths = glob.glob(os.path.join(HERE, "programs", "*.mlir.zst")) + glob.glob(os.path.join(cases.ROOT, "tests", "corpus", "*.mlir.zst"))
    names = sorted(os.path.basename(p)[:-len(".mlir.zst")] for p in paths)
    names = [n for n in names if not n.endswith("_tiny") and n not in LONG]
    return {n: families.get(n, families.get(n.replace("_short", ""), n.replace("_short", ""))) for n in names}


def random_plan(program, mesh, seed):
    """Every axis on a dimension drawn anew for each kind of argument (one name but for its numbers, one type), or on none."""
    plan, kinds, draw = Plan(program, mesh), {}, random.Random(seed)
    for a in program.arguments:
        if a.shape:
            kinds.setdefault((re.sub(r"\d+", "#", a.name), tuple(a.shape)), []).append(a)
    for (_, shape), arguments in sorted(kinds.items(), key=str):
        for axis in mesh:
            dimension = draw.randrange(-1, len(shape))
            if dimension >= 0 and draw.random() < .8:
                for a in arguments:
                    plan.cut(a, dimension, [axis])
    return plan.document()


def plan_of(case, kind, seed, path):
    """Writes the document; False where there is none that fits."""
    name, mesh, device = case.program, case.mesh, case.device
    sizes = {axis: int(size) for axis, size in (a.split("=") for a in mesh.split(","))}
    text = cases.corpus(case)
    if kind == "search":
        cases.run("search", text, "--mesh", mesh, "--device", device, "--seed", seed, "--evaluations", 200, "--threads", 1, "--apply", "exact", "--emit-strategy", path)
        return True
    program = Program(name.replace("_short", ""), cases.TOOL, text)
    if kind == "random":
        document = random_plan(program, sizes, "%s %d" % (name, seed))
    else:
        written = experts_of(program, sizes)
        if not written:
            return False
        document = written[seed % len(written)][1]
    with open(path, "w") as f:
        json.dump({**document, "apply": "exact"}, f)
    done = subprocess.run([cases.TOOL, "evaluate", text, "--strategy", path, "--device", device], capture_output=True, text=True)
    if done.returncode not in (0, 2):
        raise RuntimeError(done.stderr)
    return done.returncode == 0


def compile_one(name, kind, seed, target, options):
    """What came of it: "kept", or why not; and the compiler's seconds."""
    mesh, device, topology = target
    key = "%s %s %s | %s %d" % (name, mesh, device, kind, seed)
    kept = os.path.join(options.folder, re.sub(r"\W+", "_", key))
    if os.path.exists(kept + ".json"):
        with open(kept + ".json") as f:
            return key, "there", json.load(f)["compile_s"]
    row = {"key": key, "mesh": mesh, "device": device, "topology": topology, "compile_s": 0}
    case = cases.Case("", name, mesh, device, topology)
    with tempfile.TemporaryDirectory() as folder:
        strategy, module = os.path.join(folder, "s.json"), os.path.join(folder, "m.mlir")
        try:
            if plan_of(case, kind, seed, strategy):
                cases.run("apply", cases.corpus(case), "--strategy", strategy, "--apply", "exact", "-o", module)
                figures, done = mint.compile_module(module, case, options)
                row.update(done, temp_bytes=figures["temp_bytes"] if figures else None)
            else:
                row["error"] = "no plan, or it does not fit"
        except RuntimeError as refused:
            row["error"] = str(refused)[-200:]
        said = row.get("error", row.get("out_of_memory", "kept"))
        if said == "kept":
            subprocess.run(["zstd", "-qf", module + ".hlo", "-o", kept + ".hlo.zst"], check=True)
    with open(kept + ".json", "w") as f:
        json.dump(row, f)
    return key, said, row["compile_s"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=150, help="for one compile")
    parser.add_argument("--programs", default="*")
    parser.add_argument("--fastest", type=float, default=60, help="programs alone of which a judged compile took no longer, in seconds; of those that were never judged a minute is expected")
    parser.add_argument("--round", type=int, default=0, help="the first one: a folder that starts at a later round gets other plans than the bank's")
    parser.add_argument("--tools", default=os.path.join(cases.ROOT, "..", "shared", "tools"))
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    end, slow, lock = time.monotonic() + 60 * options.minutes, {}, threading.Lock()
    fastest = {}  # seconds, of what was judged: fast ones first
    for key, row in mint.load().items():
        name = key.split(" ")[0]
        fastest[name] = min(row.get("compile_s", 1e9), fastest.get(name, 1e9))
    names = sorted((n for n in programs() if fnmatch.fnmatch(n, options.programs) and fastest.get(n, 60) <= options.fastest), key=lambda n: (fastest.get(n, 60), n))

    def work(job):
        turn, i, name = job
        target = TARGETS[(turn + i) % len(TARGETS)]
        if time.monotonic() > end or slow.get(name, 0) >= options.seconds:
            return
        key, said, seconds = compile_one(name, PLANS[turn % len(PLANS)], turn, target, options)
        with lock:
            slow[name] = max(slow.get(name, 0), seconds)
            print("%-70s %6.1f s  %s" % (key, seconds, said), flush=True)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(work, [(turn, i, name) for turn in range(options.round, ROUNDS) for i, name in enumerate(names)]))


if __name__ == "__main__":
    main()
