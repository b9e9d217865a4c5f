"""What a warm start is worth (`make bench-warm`): for each case, a search of one program, and then one of another program of the same structure,
with and without the first one's decisions (search --start).

    warm.py [--case FROM/MESH-TO/MESH,..] [--table]

TO may be NAME*N: that program with N times its batch and nothing else changed (other_batch.py, which needs the jax of build/venv).
One record per case goes to build/bench-warm.jsonl, the table to docs/search-experiments.md. --table: only write, from the records at hand."""
import argparse
import json
import math
import os
import re
import subprocess
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))
RECORDS = os.path.join(ROOT, "build", "bench-warm.jsonl")
PAGE = os.path.join(ROOT, "docs", "search-experiments.md")
MESHES = {"4x4": "data=4,model=4", "2x8": "data=2,model=8", "8x4": "data=8,model=4", "8x2": "data=8,model=2", "4x8": "data=4,model=8", "2x2x4": "replica=2,data=2,model=4"}
CASES = ["transformer_4/4x4-transformer_32/4x4", "transformer_32/4x4-transformer_4/4x4", "llama_4/4x4-llama_8b/4x4", "transformer_4/4x4-transformer_4/8x4",
         "moe/4x4-moe/2x8", "ssm_tiny/4x4-ssm/4x4", "dit_tiny/4x4-dit/4x4", "unet_tiny/4x4-unet/4x4", "optax_step_tiny/4x4-optax_step/4x4",
         "flax_step_tiny/4x4-flax_step/4x4", "lora_tiny/4x4-lora/4x4", "transformer_4/4x4-transformer_32/2x2x4",
         "transformer_4/4x4-transformer_4*4/4x4", "llama_4/4x4-llama_4*2/4x4", "moe/4x4-moe*4/4x4"]
DEVICE, WITHIN = "tpu-v5e", 1.02
BEGIN, END = "<!-- warm: written by warm.py -->\n", "<!-- end of warm -->\n"


def module_of(program, folder):
    """Its path; of NAME*N, written into the folder."""
    name, _, times = program.partition("*")
    if not times:
        return os.path.join(ROOT, "tests", "corpus", name + ".mlir.zst")
    path = os.path.join(folder, "%s_%s.mlir" % (name, times))
    if not os.path.exists(path):
        subprocess.run([os.path.join(ROOT, "build", "venv", "bin", "python"), os.path.join(ROOT, "tests", "bench", "other_batch.py"), name, times, path], check=True)
    return path


def search(folder, program, mesh, *more):
    """The cheapest plan, not the simplest within the uncertainty: what is measured is how fast it is found."""
    done = subprocess.run([TOOL, "search", module_of(program, folder), "--mesh", MESHES[mesh], "--device", DEVICE, "--json", "--uncertainty-ppm", "0", *more],
                          capture_output=True, text=True)
    if done.returncode not in (0, 2):
        raise RuntimeError("%s %s: %s" % (program, mesh, done.stderr))
    return json.loads(done.stdout)


def facts(document):
    s = document["search"]
    return {"fits": document["fits"], "runtime_ns": document["cost"]["runtime_ns"], "evaluations": s["evaluations"], "incumbents": s["incumbents"],
            "begun": [x.get("runtime_ns") for x in s.get("warm_start", [])]}


def run(case):
    (source, at), (target, mesh) = (part.split("/") for part in case.split("-"))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "start.json")
        search(folder, source, at, "--emit-strategy", path)
        return {"case": case, "cold": facts(search(folder, target, mesh)), "warm": facts(search(folder, target, mesh, "--start", path))}


def until(run_of, goal):
    """Evaluations until the answer was within WITHIN of the goal; None: never."""
    return next((i["evaluation"] for i in run_of["incumbents"] if i["runtime_ns"] <= goal * WITHIN), None)


def table(records):
    out = ["| from | to | step without, with | to within 2%: without | with | evaluations in all: without | with |", "|---|---|--:|--:|--:|--:|--:|"]
    ratios, answers = [], []
    for case in CASES:
        if case not in records:
            continue
        cold, warm = records[case]["cold"], records[case]["warm"]
        goal = min(cold["runtime_ns"], warm["runtime_ns"])
        a, b = until(cold, goal), until(warm, goal)
        answers.append(warm["runtime_ns"] / cold["runtime_ns"])
        if a and b:
            ratios.append(a / b)
        source, target = (re.sub(r"\*(\d+)", r" with \1 times the batch", part) for part in case.split("-"))
        out.append("| %s | %s | %.4g, %.4g ms | %s | %s | %d | %d |" % (source.replace("/", ", "), target.replace("/", ", "), cold["runtime_ns"] / 1e6,
                   warm["runtime_ns"] / 1e6, a or "never", b or "never", cold["evaluations"], warm["evaluations"]))
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")
    same = math.exp(sum(map(math.log, answers)) / len(answers)) if answers else float("nan")
    out.append("")
    out.append("Geometric means: %.1f times fewer evaluations until within 2%% (%d of %d cases, in which both came there), steps %.4f of those without." % (
        mean, len(ratios), len(answers), same))
    return "\n".join(out) + "\n"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--case")
    p.add_argument("--table", action="store_true")
    o = p.parse_args()
    records = {}
    if os.path.exists(RECORDS) and (o.table or o.case):
        with open(RECORDS) as f:
            records = {r["case"]: r for r in map(json.loads, f)}
    for case in [] if o.table else o.case.split(",") if o.case else CASES:
        records[case] = run(case)
        with open(RECORDS, "w") as f:
            f.writelines(json.dumps(r) + "\n" for r in records.values())
        print(case, flush=True)
    with open(PAGE) as f:
        text = f.read()
    before, rest = text.split(BEGIN)
    with open(PAGE, "w") as f:
        f.write(before + BEGIN + table(records) + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
