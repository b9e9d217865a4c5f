"""One hard search as many (`make bench-batch`): what seeds side by side reach, and how many searches an hour come out, with 1, 2, 4 and 8 tasks.

    batch.py [--tasks 1,2,4,8] [--seeds 10] [--case PROGRAM/MESH/DEVICE,..] [--evaluations N] [--table]

Tasks are processes of `shardwright batch --queue`, a store each, one search at a time with one thread, on this machine; their stores are merged.
One record per case and number of tasks goes to build/bench-batch.jsonl, the tables to docs/batch.md. --table: only write, from the records at hand."""
import argparse
import json
import math
import os
import resource
import shutil
import subprocess
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.path.abspath(os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright")))
RECORDS = os.path.join(ROOT, "build", "bench-batch.jsonl")
PAGE = os.path.join(ROOT, "docs", "batch.md")
MESHES = {"4x4": "data=4,model=4", "16x16": "data=16,model=16", "2x8": "data=2,model=8", "2x2x4": "replica=2,data=2,model=4",
          "8x8x4": "replica=8,data=8,model=4"}
# Some whose seeds end apart, and some whose seeds agree.
CASES = ["decode/8x8x4/tpu-v5e", "transformer_4_forward/2x8/h100", "mlp/2x2x4/a100", "convnet/2x2x4/tpu-v5p", "transformer_scan/2x2x4/h100", "dit/2x2x4/a100"]
BEGIN, END = "<!-- tasks: written by tests/bench/batch.py -->\n", "<!-- end of tasks -->\n"


def document(command, folder):
    done = subprocess.run([TOOL, "batch", *command, "--json"], cwd=folder, capture_output=True, text=True)
    if done.returncode not in (0, 2):
        raise RuntimeError("%s: %s" % (command, done.stderr[-2000:]))
    return json.loads(done.stdout)


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_tasks(folder, jobs, tasks, seeds):
    """The document of the merged store, and the seconds: of the tasks, of the merge, of the processor."""
    start, cpu = time.monotonic(), cpu_seconds()
    command = [TOOL, "batch", jobs, "--seeds", str(seeds), "--queue", "queue", "--workers", "1", "--worker-threads", "1"]
    running = [subprocess.Popen([*command, "--store", "task%d" % k], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for k in range(tasks)]
    for process in running:
        _, err = process.communicate()
        if process.returncode not in (0, 2):
            raise RuntimeError(err.decode()[-2000:])
    searched, cpu = time.monotonic() - start, cpu_seconds() - cpu
    document(["--merge", *("task%d" % k for k in range(tasks)), "--store", "merged"], folder)
    merged = time.monotonic() - start - searched
    return document([jobs, "--seeds", str(seeds), "--store", "merged"], folder), {"seconds": searched, "merge_seconds": merged, "cpu_seconds": cpu}


def measure(case, tasks, seeds, evaluations):
    program, mesh, device = case.split("/")
    job = {"module": os.path.abspath(os.path.join(ROOT, "tests", "corpus", program + ".mlir.zst")), "mesh": MESHES[mesh], "device": device}
    if evaluations:
        job["evaluations"] = evaluations
    folder = tempfile.mkdtemp()
    try:
        with open(os.path.join(folder, "jobs.jsonl"), "w") as f:
            f.write(json.dumps(job) + "\n")
        found, took = run_tasks(folder, "jobs.jsonl", tasks, seeds)
    finally:
        shutil.rmtree(folder)
    assert found["summary"]["known"] == seeds, found["summary"]  # each seed was searched once, by one of the tasks, and came through the merge
    return {"case": case, "tasks": tasks, "seeds": seeds, "evaluations": sum(j["evaluations"] for j in found["jobs"]),
            "costs": [j["runtime_ns"] if j["fits"] else None for j in found["jobs"]], **took}


def reached(costs, tasks):
    """What the best of so many seeds costs over the best of all: the mean over all runs of neighbours, seeds in a ring."""
    all_costs = [c if c is not None else math.inf for c in costs]
    rounds = [min(all_costs[(first + k) % len(costs)] for k in range(tasks)) for first in range(len(costs))]
    return sum(rounds) / len(rounds) / min(all_costs)


def percent(ratio):
    return "-" if math.isinf(ratio) or math.isnan(ratio) else "%+.2f%%" % (100 * (ratio - 1))


def load():
    found = {}
    if os.path.exists(RECORDS):
        with open(RECORDS) as f:
            for row in map(json.loads, f):
                found[row["case"], row["tasks"]] = row
    return found


def table(records):
    cases = sorted({case for case, _ in records}, key=lambda case: (CASES.index(case) if case in CASES else len(CASES), case))
    tasks = sorted({n for _, n in records})
    seeds = max(r["seeds"] for r in records.values())
    lines = ["Cost over the best of %d seeds, by how many tasks search a seed each:" % seeds, "",
             "| search | best | " + " | ".join("%d task%s" % (n, "s" if n > 1 else "") for n in tasks) + " |", "|---|--:|" + "--:|" * len(tasks)]
    for case in cases:
        costs = next(r["costs"] for (c, _), r in records.items() if c == case)
        best = min(c for c in costs if c is not None)
        lines.append("| %s | %.4g ms | " % (case.replace("/", " "), best / 1e6) + " | ".join(percent(reached(costs, n)) for n in tasks) + " |")
    lines += ["", "All %d seeds of each, by so many tasks:" % seeds, "", "| tasks | searches | wall time | searches an hour | CPU time of a search | searches an hour of a core | merges |",
              "|--:|--:|--:|--:|--:|--:|--:|"]
    for n in tasks:
        rows = [r for (_, k), r in records.items() if k == n]
        count, wall = sum(r["seeds"] for r in rows), sum(r["seconds"] for r in rows)
        cpu = sum(r["cpu_seconds"] for r in rows)
        lines.append("| %d | %d | %.0f s | %s | %.2f s | %s | %.1f s |" % (n, count, wall, "{:,.0f}".format(count / wall * 3600), cpu / count, "{:,.0f}".format(count / cpu * 3600),
                                                                          sum(r["merge_seconds"] for r in rows)))
    return "\n".join(lines) + "\n"


def write(records):
    with open(PAGE) as f:
        page = f.read()
    before, rest = page.split(BEGIN)
    with open(PAGE, "w") as f:
        f.write(before + BEGIN + table(records) + END + rest.split(END)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default="1,2,4,8")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--case", default=",".join(CASES))
    parser.add_argument("--evaluations", type=int)
    parser.add_argument("--table", action="store_true")
    a = parser.parse_args()
    records = load() if a.table else {}
    for case in [] if a.table else a.case.split(","):
        for tasks in map(int, a.tasks.split(",")):
            record = measure(case, tasks, a.seeds, a.evaluations)
            known = [r for (c, _), r in records.items() if c == case]
            assert not known or known[0]["costs"] == record["costs"]  # how many tasks there are changes no answer
            records[case, tasks] = record
            print("%s, %d tasks: %.1f s, %.2f s of the processor a search, seeds %s apart" % (case, tasks, record["seconds"], record["cpu_seconds"] / a.seeds, percent(
                max(c or math.inf for c in record["costs"]) / min(c or math.inf for c in record["costs"]))), flush=True)
            with open(RECORDS, "a") as f:
                f.write(json.dumps(record) + "\n")
    write(records)


if __name__ == "__main__":
    main()
