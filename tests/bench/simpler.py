"""What the simplest of plans that cost as much takes longer than the cheapest one (`make bench-simpler`): each case searched with the default
uncertainty and with none.

    simpler.py [--case PROGRAM/MESH/DEVICE,..] [--table]

One record per case goes to build/bench-simpler.jsonl, the table to docs/search-experiments.md. --table: only write, from the records at hand."""
import argparse
import json
import math
import os
import subprocess

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))
RECORDS = os.environ.get("BENCH_SIMPLER_RECORDS", os.path.join(ROOT, "build", "bench-simpler.jsonl"))
PAGE = os.path.join(ROOT, "docs", "search-experiments.md")
MESHES = {"4x4": "data=4,model=4", "16x16": "data=16,model=16", "2x2x4": "replica=2,data=2,model=4"}
PROGRAMS = ["accumulate", "convnet", "decode", "dit", "encoder_decoder", "flax_step", "graph_net", "llama_4", "llama_8b", "lora", "mixed_precision", "mlp", "moe",
            "optax_step", "resnet", "ssm", "transformer_32", "transformer_4", "transformer_4_forward", "transformer_scan", "unet"]
CASES = ["%s/%s" % (program, where) for where in ("4x4/tpu-v5e", "16x16/h100", "2x2x4/tpu-v5p", "4x4/h100") for program in PROGRAMS]
BEGIN, END = "<!-- simpler: written by simpler.py -->\n", "<!-- end of simpler -->\n"


def search(case, *more):
    program, mesh, device = case.split("/")
    done = subprocess.run([TOOL, "search", os.path.join(ROOT, "tests", "corpus", program + ".mlir.zst"), "--mesh", MESHES[mesh], "--device", device, "--json", *more],
                          capture_output=True, text=True)
    if done.returncode not in (0, 2):
        raise RuntimeError("%s: %s" % (case, done.stderr))
    return json.loads(done.stdout)


def run(case):
    """The cheapest plan, and what the answer is."""
    cheapest, answer = search(case, "--uncertainty-ppm", "0"), search(case)
    return {"case": case, "cheapest_ns": cheapest["cost"]["runtime_ns"], "answer_ns": answer["cost"]["runtime_ns"], "simpler": answer.get("simpler")}


def table(records):
    known = [records[case] for case in CASES if case in records]
    changed = [r for r in known if r["simpler"]]
    lines = ["| program, mesh, device | cheapest | answer takes | decisions | collectives |", "|---|--:|--:|--:|--:|"]
    for r in sorted(changed, key=lambda r: r["answer_ns"] / r["cheapest_ns"]):
        old, new = r["simpler"]["cheapest"], r["simpler"]["answer"]
        cells = ["%d to %d" % (old[key], new[key]) if old[key] != new[key] else str(old[key]) for key in ("decisions", "collectives")]
        lines.append("| %s | %.4g ms | +%.2f%% | %s |" % (r["case"].replace("/", ", "), r["cheapest_ns"] / 1e6, 100 * (r["answer_ns"] / r["cheapest_ns"] - 1), " | ".join(cells)))
    mean = math.exp(sum(math.log(r["answer_ns"] / r["cheapest_ns"]) for r in known) / len(known)) if known else float("nan")
    return "\n".join(lines + ["", "%d of %d answers are other plans; steps take %.4f of the cheapest plans' in the geometric mean." % (len(changed), len(known), mean)]) + "\n"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--case", default=",".join(CASES))
    p.add_argument("--table", action="store_true")
    o = p.parse_args()
    records = {}
    if os.path.exists(RECORDS):
        with open(RECORDS) as f:
            records = {r["case"]: r for r in map(json.loads, f)}
    for case in [] if o.table else o.case.split(","):
        records[case] = run(case)
        with open(RECORDS, "a") as f:
            f.write(json.dumps(records[case]) + "\n")
        print(case, flush=True)
    with open(PAGE) as f:
        before, rest = f.read().split(BEGIN)
    with open(PAGE, "w") as f:
        f.write(before + BEGIN + table(records) + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
