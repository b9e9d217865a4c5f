"""Priors of the search tree from what won elsewhere (`make bench-priors`): evaluations until within 2%, and the end, with priors and without.

    priors.py [--mesh 4x4,8x2] [--program P,..] [--evaluations N] [--table]

Each program of the corpus is searched once without priors. What the axes of its plan cut is read from the document, as a store reads it. Then it is
searched with statistics of all others, a model's own forward pass or larger version left out too. One record per run goes to
build/bench-priors.jsonl; runs of this build that are there are not repeated. The table goes to docs/search-experiments.md."""
import argparse
import hashlib
import json
import math
import os
import re
import subprocess
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))
RECORDS = os.environ.get("BENCH_PRIORS_RECORDS", os.path.join(ROOT, "build", "bench-priors.jsonl"))
PAGE = os.path.join(ROOT, "docs", "search-experiments.md")
MESHES = {"4x4": "data=4,model=4", "8x2": "data=8,model=2", "2x2x4": "replica=2,data=2,model=4"}
PROGRAMS = ["accumulate", "convnet", "decode", "dit", "encoder_decoder", "flax_step", "llama_4", "lora", "mixed_precision", "mlp", "moe", "optax_step", "ssm",
            "transformer_4", "transformer_4_forward", "transformer_scan"]
NEAR = 1.02


def cuts(document):
    """What each axis of the plan cuts, as server/statements_starts.def reads it."""
    found = {axis["name"]: [] for axis in document["mesh"]["axes"]}
    for action in document["actions"]:
        role = document["arguments"][action["members"][0]]["role"] if action.get("members") else None
        if action["kind"] == "replicate":
            continue
        if action["tactic"] in ("data_parallel", "zero2", "zero3"):
            word = {"data_parallel": "batch"}.get(action["tactic"], action["tactic"])
        elif role in ("parameter", "state"):
            word = {"parameter": "weights", "state": "zero2"}[role]
        else:
            word = "batch" if role == "data" and action["dimension"] == 0 else "data"
        if word not in found[action["axis"]]:
            found[action["axis"]].append(word)
    return list(found.values())


def search(program, mesh, evaluations, statistics):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(statistics, file)
        file.flush()
        more = ["--tactic-statistics", file.name] if statistics is not None else []
        done = subprocess.run([TOOL, "search", os.path.join(ROOT, "tests", "corpus", program + ".mlir.zst"), "--mesh", MESHES[mesh], "--threads", "1", "--json",
                               "--uncertainty-ppm", "0", "--evaluations", str(evaluations), *more], capture_output=True, text=True)
    if done.returncode not in (0, 2):
        raise RuntimeError("%s on %s: %s" % (program, mesh, done.stderr))
    document = json.loads(done.stdout)
    return {"program": program, "mesh": mesh, "priors": statistics is not None, "evaluations": evaluations, "ns": document["cost"]["runtime_ns"], "cuts": cuts(document),
            "curve": [(i["evaluation"], i["runtime_ns"]) for i in document["search"]["incumbents"] if i["peak_bytes"] <= document["memory_limit_bytes"]]}


def is_other(program, other):
    return not program.startswith(other) and not other.startswith(program)


def reached(record, goal):
    return next((e for e, ns in record["curve"] if ns <= goal), None)


def geometric(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def table(records, meshes, programs):
    """Who never comes within 2% is counted with the whole budget."""
    lines = ["| program | " + " | ".join("%s: uniform | store | step" % m for m in meshes) + " |", "|---|" + "--:|--:|--:|" * len(meshes)]
    faster, steps = {m: [] for m in meshes}, {m: [] for m in meshes}
    for program in programs:
        cells = []
        for mesh in meshes:
            pair = [records.get((program, mesh, priors)) for priors in (False, True)]
            if None in pair:
                cells += ["", "", ""]
                continue
            goal = NEAR * min(r["ns"] for r in pair)
            at = [reached(r, goal) for r in pair]
            faster[mesh].append((at[0] or pair[0]["evaluations"]) / (at[1] or pair[1]["evaluations"]))
            steps[mesh].append(pair[1]["ns"] / pair[0]["ns"])
            cells += [str(at[0] or "never"), str(at[1] or "never"), "%.3f" % steps[mesh][-1]]
        lines.append("| %s | %s |" % (program, " | ".join(cells)))
    lines += ["", "Geometric means: " + "; ".join("%s, %.2f times fewer evaluations until within 2%%, steps %.4f of those with uniform priors" % (
        m, geometric(faster[m]), geometric(steps[m])) for m in meshes) + "."]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mesh", default="4x4,8x2")
    parser.add_argument("--program", default=",".join(PROGRAMS))
    parser.add_argument("--evaluations", type=int, default=1500)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    meshes, programs = options.mesh.split(","), options.program.split(",")
    with open(TOOL, "rb") as f:
        build = hashlib.sha256(f.read()).hexdigest()[:12]
    records = {}
    if os.path.exists(RECORDS):
        with open(RECORDS) as f:
            for r in map(json.loads, f):
                if options.table or r["build"] == build:
                    records[r["program"], r["mesh"], r["priors"]] = r
    for mesh in [] if options.table else meshes:
        for priors in (False, True):
            for program in programs:
                if (program, mesh, priors) in records:
                    continue
                others = [records[p, mesh, False]["cuts"] for p in programs if is_other(program, p)] if priors else None
                records[program, mesh, priors] = dict(search(program, mesh, options.evaluations, others), build=build)
                with open(RECORDS, "a") as f:
                    f.write(json.dumps(records[program, mesh, priors]) + "\n")
                print("%s on %s, %s: done" % (program, mesh, "store" if priors else "uniform"), flush=True)
    with open(PAGE) as f:
        page = f.read()
    lines = "\n".join(table(records, meshes, programs))
    page = re.sub(r"(<!-- priors: .*? -->\n).*?(<!-- end of priors -->)", lambda m: m[1] + lines + "\n" + m[2], page, flags=re.DOTALL)
    with open(PAGE, "w") as f:
        f.write(page)


if __name__ == "__main__":
    main()
