"""Searches against expert strategies (`make bench-search`).

For every corpus program, mesh and device: the cost of each expert strategy as `shardwright evaluate` gives it, and the answer of
`shardwright search` with its default budget. One record per case goes to build/bench-search.jsonl as it is done, so a run can be cut into
slices and taken up again; the table of all records is written to docs/search-quality.md.

    bench_search.py [--program P,..] [--mesh M,..] [--device D,..] [--quick] [--again] [--experts] [--table]

--quick: programs under 1,000 ops, 4x4, tpu-v5e and h100. --again: also cases that have a record of this build already.
--experts: evaluate the experts only, and list them. --table: run nothing, write the table."""
import argparse
import concurrent.futures
import glob
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from experts import Program, experts_of  # noqa: E402
from experts.program import CORPUS, ROOT, own_mesh, read  # noqa: E402

TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))
RECORDS = os.environ.get("BENCH_SEARCH_RECORDS", os.path.join(ROOT, "build", "bench-search.jsonl"))
PAGE = os.path.join(ROOT, "docs", "search-quality.md")
MESHES = {"4x4": {"data": 4, "model": 4}, "16x16": {"data": 16, "model": 16}, "2x2x4": {"replica": 2, "data": 2, "model": 4}}
DEVICES = ["tpu-v5e", "tpu-v5p", "a100", "h100"]
QUICK = ["mlp_tiny", "mlp", "transformer_4_forward", "transformer_scan"]
TOLERANCE = 1.0005   # a ratio that prints as 1.000


def meshes_of(name):
    own = own_mesh(read(os.path.join(CORPUS, name + ".mlir.zst")))
    return {"x".join(map(str, own.values())): own} if own else MESHES


def flag(mesh):
    return ",".join("%s=%d" % item for item in mesh.items())


def evaluate(program, device, document):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump({**document, "apply": "exact"}, f)
        f.flush()
        done = subprocess.run([TOOL, "evaluate", program.path, "--strategy", f.name, "--device", device, "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 2):
        raise RuntimeError("%s: %s" % (program.name, done.stderr.strip()))
    cost = json.loads(done.stdout)
    return {"runtime_ns": cost["runtime_ns"], "peak_bytes": cost["peak_bytes"], "fits": done.returncode == 0}


def judge_experts(program, mesh, device, jobs):
    named = experts_of(program, mesh)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        costs = pool.map(lambda e: evaluate(program, device, e[1]), named)
        return [dict(name=name, **cost) for (name, _), cost in zip(named, costs)]


def search(program, mesh, device):
    start = time.perf_counter()
    done = subprocess.run([TOOL, "search", program.path, "--mesh", flag(mesh), "--device", device, "--apply", "exact", "--json"], capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode not in (0, 2):
        raise RuntimeError("%s: %s" % (program.name, done.stderr.strip()))
    d = json.loads(done.stdout)
    return {"runtime_ns": d["cost"]["runtime_ns"], "peak_bytes": d["cost"]["peak_bytes"], "fits": d["fits"], "seconds": round(seconds, 2),
            "evaluations": d["search"]["evaluations"], "limit": d["memory_limit_bytes"],
            "decisions": len(d["actions"])}


def best_of(costs):
    """Fitting first, then the faster; where nothing fits, the nearest to fitting."""
    return min(costs, key=lambda c: (not c["fits"], c["runtime_ns"] if c["fits"] else c["peak_bytes"]))


def verdict(record):
    """(ratio, "win" | "tie" | "loss"): the answer's step time over the best expert's; where neither fits, of peak memory."""
    answer, expert = record["search"], best_of(record["experts"])
    if answer["fits"] != expert["fits"]:
        return answer["runtime_ns"] / expert["runtime_ns"], "win" if answer["fits"] else "loss"
    measure = "runtime_ns" if answer["fits"] else "peak_bytes"
    ratio = answer[measure] / expert[measure]
    return ratio, "loss" if ratio > TOLERANCE else "win" if ratio < 2 - TOLERANCE else "tie"


def load():
    """(program, mesh, device) -> the last record."""
    records = {}
    if os.path.exists(RECORDS):
        with open(RECORDS) as f:
            for line in f:
                r = json.loads(line)
                records[r["program"], r["mesh"], r["device"]] = r
    return records


def duration(ns):
    return "%.1f us" % (ns / 1e3) if ns < 1e6 else "%.2f ms" % (ns / 1e6) if ns < 1e9 else "%.2f s" % (ns / 1e9)


def row(r):
    answer, expert = r["search"], best_of(r["experts"])
    ratio, word = verdict(r)
    return (r["program"], r["mesh"], r["device"], duration(answer["runtime_ns"]), duration(expert["runtime_ns"]), "%.3f" % ratio,
            {(True, True): "both", (True, False): "answer", (False, True): "expert", (False, False): "none"}[answer["fits"], expert["fits"]],
            word, expert["name"], "%.1f" % answer["seconds"])


HEADINGS = ("program", "mesh", "device", "answer", "best expert", "ratio", "fits", "", "the expert", "search s")


def totals(records):
    words = [verdict(r)[1] for r in records]
    fitting = [r for r in records if best_of(r["experts"])["fits"]]
    return "%d cases: %d wins, %d ties, %d losses. An expert fits in %d cases, the answer in %d of these. Worst ratio %.3f." % (
        len(records), words.count("win"), words.count("tie"), words.count("loss"), len(fitting), sum(r["search"]["fits"] for r in fitting),
        max(verdict(r)[0] for r in records))


def write_page(records):
    """Replaces what is between the marks of the page."""
    with open(PAGE) as f:
        page = f.read()
    lines = [totals(records), "", "| " + " | ".join(HEADINGS) + " |", "|---|---|---|--:|--:|--:|---|---|---|--:|"]
    lines += ["| " + " | ".join(row(r)) + " |" for r in records]
    page = re.sub(r"(<!-- table: .*? -->\n).*(<!-- end of table -->)", lambda m: m[1] + "\n".join(lines) + "\n" + m[2], page, flags=re.DOTALL)
    with open(PAGE, "w") as f:
        f.write(page)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="")
    parser.add_argument("--mesh", default="")
    parser.add_argument("--device", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    for name in ("quick", "again", "experts", "table"):
        parser.add_argument("--" + name, action="store_true")
    options = parser.parse_args()
    everything = sorted(os.path.basename(p)[:-len(".mlir.zst")] for p in glob.glob(os.path.join(CORPUS, "*.mlir.zst")))
    whole = [name for name in everything if name in QUICK or not name.endswith("_tiny")]   # the small sizes are for the tests
    programs = options.program.split(",") if options.program else QUICK if options.quick else whole
    meshes = options.mesh.split(",") if options.mesh else ["4x4"] if options.quick else list(MESHES)
    devices = options.device.split(",") if options.device else ["tpu-v5e", "h100"] if options.quick else DEVICES
    own = {name: meshes_of(name) for name in everything}
    known_meshes = sorted({mesh for table in own.values() for mesh in table}, key=lambda m: (m not in MESHES, m))
    if not options.mesh and not options.quick:
        meshes = known_meshes
    for given, known in ((programs, everything), (meshes, known_meshes), (devices, DEVICES)):
        for word in given:
            if word not in known:
                parser.error("%s: expected one of %s" % (word, ", ".join(known)))
    with open(TOOL, "rb") as f:
        build = hashlib.sha256(f.read()).hexdigest()[:12]
    records = load()
    shown = []
    widths = (22, 6, 8, 10, 11, 6, 6, 4, 44, 8)

    def show(cells):
        print("  ".join(c.ljust(w) if i in (0, 1, 2, 6, 7, 8) else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths))), flush=True)
    if not options.experts:
        show(HEADINGS)
    for name in programs:
        program = None
        for mesh in [m for m in meshes if m in own[name]]:
            for device in devices:
                key = (name, mesh, device)
                if options.table and key not in records:
                    continue
                if not options.table and (options.again or options.experts or records.get(key, {}).get("build") != build):
                    program = program or Program(name, TOOL)
                    found = judge_experts(program, own[name][mesh], device, options.jobs)
                    if options.experts:
                        print("%s %s %s" % key)
                        for e in sorted(found, key=lambda e: (not e["fits"], e["runtime_ns"])):
                            print("  %12s  %8.2f GiB  %-5s  %s" % (duration(e["runtime_ns"]), e["peak_bytes"] / 2 ** 30, "fits" if e["fits"] else "", e["name"]))
                        continue
                    record = {"program": name, "mesh": mesh, "device": device, "build": build, "search": search(program, own[name][mesh], device), "experts": found}
                    records[key] = record
                    os.makedirs(os.path.dirname(RECORDS), exist_ok=True)
                    with open(RECORDS, "a") as f:
                        f.write(json.dumps(record) + "\n")
                shown.append(records[key])
                show(row(records[key]))
    if shown:
        print(totals(shown))
        order = {k: i for i, k in enumerate((p, m, d) for p in everything for m in known_meshes for d in DEVICES)}
        write_page([records[k] for k in sorted((k for k in records if k in order), key=order.get)])


if __name__ == "__main__":
    main()
