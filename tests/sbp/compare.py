"""Shardy's propagation and SBP inference from the same argument shardings: collectives, bytes, simulated step, time of inference.

    SHARDWRIGHT=build/shardwright python3 tests/sbp/compare.py [--write]     --write puts the table into docs/sbp.md

Arguments are cut as the baselines say, over a mesh data=4,model=2: data parallel, and ZeRO-3 (every parameter and state tensor on its
largest dim too). Both modules are lowered and simulated in the same way; times are medians of three runs of the tool, reading the
module and all."""
import argparse
import glob
import json
import os
import re
import statistics
import subprocess
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.path.abspath(os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright")))
PAGE = os.path.join(ROOT, "docs", "sbp.md")
LARGE = ("transformer_32", "llama_8b", "transformer_4_forward")  # say what transformer_4 and llama_4 do
KINDS = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "collective_permute")


def tool(*words):
    return subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True)


def timed(*words):
    """Milliseconds, and what the tool answered."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        done = tool(*words)
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times), done


def cost(path):
    found = json.loads(tool("simulate", path, "--json").stdout)
    found = found.get("cost", found)
    moved = found["collectives"]
    count = sum(moved[k]["count"] for k in KINDS if k in moved)
    return count, sum(moved[k]["bytes"] for k in KINDS if k in moved), found["runtime_ns"]


def row(name, plan, folder):
    """None when SBP cannot say the shardings."""
    source, annotated, inferred = os.path.join(ROOT, "tests", "corpus", name + ".mlir.zst"), os.path.join(folder, "a.mlir"), os.path.join(folder, "i.mlir")
    made = tool("search", source, "--mesh", "data=4,model=2", "--device", "h100", "--evaluations", 1, "--apply", "annotate", "--baseline-mlir", plan, annotated)
    if made.returncode not in (0, 2):
        raise SystemExit("%s: %s" % (name, made.stderr))
    shardy_ms, _ = timed("opt", "--passes", "inline,symbol-dce,sdy-propagation-pipeline", annotated)
    sbp_ms, done = timed("sbp", annotated, "--emit-mlir", inferred)
    if done.returncode:
        return name, plan, done.stderr.split("error: ", 1)[1].splitlines()[0]
    return (name, plan) + cost(annotated) + (shardy_ms,) + cost(inferred) + (sbp_ms,)


def size(n):
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if n < 1024:
            return "%.3g %s" % (n, unit)
        n /= 1024
    return "%.3g PiB" % n


def duration(ns):
    for unit in ("ns", "us", "ms", "s"):
        if ns < 1000:
            return "%.3g %s" % (ns, unit)
        ns /= 1000
    return "%.3g ks" % ns


def table(rows):
    lines = ["| program | arguments | collectives | | bytes | | step | | ratio | inference, ms | |", "|---|---|---|---|---|---|---|---|---|---|---|",
             "| | | Shardy | SBP | Shardy | SBP | Shardy | SBP | SBP / Shardy | Shardy | SBP |"]
    ratios = []
    for r in rows:
        if len(r) == 3:
            lines.append("| %s | %s | not inferred: %s | | | | | | | | |" % r)
            continue
        name, plan, n, moved, step, ms, n2, moved2, step2, ms2 = r
        ratios.append(step2 / step)
        lines.append("| %s | %s | %d | %d | %s | %s | %s | %s | %.2f | %.0f | %.0f |" % (
            name, plan, n, n2, size(moved), size(moved2), duration(step), duration(step2), step2 / step, ms, ms2))
    lines.append("")
    lines.append("Of %d rows SBP inference has the faster step in %d, the slower one in %d; the geometric mean of the ratios is %.2f." % (
        len(ratios), sum(x < 0.995 for x in ratios), sum(x > 1.005 for x in ratios), statistics.geometric_mean(ratios)))
    return "\n".join(lines)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--write", action="store_true")
    arguments.add_argument("--program", action="append")
    o = arguments.parse_args()
    names = o.program or sorted(os.path.basename(p)[:-9] for p in glob.glob(os.path.join(ROOT, "tests", "corpus", "*.mlir.zst")))
    with tempfile.TemporaryDirectory() as folder:
        rows = [row(name, plan, folder) for name in names if o.program or name not in LARGE for plan in ("data_parallel", "zero3")]
    text = table(rows)
    print(text)
    if o.write:
        with open(PAGE) as f:
            page = f.read()
        with open(PAGE, "w") as f:
            f.write(re.sub(r"(<!-- table -->\n).*?(<!-- end -->)", lambda m: m[1] + "\n" + text + "\n\n" + m[2], page, flags=re.S))


main()
