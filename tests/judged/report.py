#!/usr/bin/env python3
"""Our costs of the bank's plans beside XLA's schedules, by family of programs.

    report.py [--json]

Needs neither a compiler nor the scripts that bank.py needs. Of every row: computing time, step, waiting for collectives and temporary
memory, ours and XLA's (xla_timeline.py walks the schedule with the compiler's own estimates of kernels; computing time is without gathers and
scatters by index, which have none), and our error; a * says that the
program of one device is written in another way by now: bank.py compiles it again. By family and over all: medians of the errors' sizes; of
programs with three plans or more the rank correlation, and what our first choice costs.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import bank  # noqa: E402
import cases  # noqa: E402


# Kernels to which XLA gives no estimate, so that they take no time in its schedule.
BY_INDEX = ("stablehlo.scatter", "stablehlo.gather")


def cost_of(name, strategy):
    """Our cost of the program of one device, and the digest of its text."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, n) for n in ("strategy.json", "module.mlir")]
        with open(paths[0], "w") as f:
            json.dump(strategy, f)
        cases.run("apply", bank.path_of(name), "--strategy", paths[0], "--apply", "annotate", "-o", paths[1])
        cost = json.loads(cases.run("simulate", paths[1], "--device", bank.DEVICE, "--apply", "exact", "--json", "--ops"))
        by_index = [o for o in cost.pop("ops") if o["stream"] == "compute" and not o["fused"] and o["name"] in BY_INDEX]
        cost["estimated_ns"] = cost["compute_ns"] - sum(o["end_ns"] - o["start_ns"] for o in by_index)
        cases.run("apply", bank.path_of(name), "--strategy", paths[0], "--apply", "exact", "-o", paths[1])
        return cost, bank.digest_of(paths[1])


def row_of(key, row):
    name, plan, _ = key.split(" | ")
    (cost, digest), xla = cost_of(name, row["strategy"]), row["xla"]
    pairs = {"compute": (cost["estimated_ns"] / 1e6, xla["compute"] / 1e3), "step": (cost["runtime_ns"] / 1e6, xla["step"] / 1e3),
             "waiting": (cost["exposed_communication_ns"] / 1e6, xla["exposed"] / 1e3),
             "temporary": (cost["temporary_bytes"] / 2 ** 20, row["memory"]["temp_bytes"] / 2 ** 20)}
    return {"program": name, "plan": plan, "family": row["family"], "compile_s": row["compile_s"], "stale": digest != row.get("module"), **pairs}


def error(row, what):
    ours, theirs = row[what]
    return ours / theirs - 1 if theirs else float(ours > 0)


def ranks(xs):
    return [sorted(xs).index(x) for x in xs]


def ranking(rows):
    """(program, Spearman's rank correlation of steps, what our first choice costs above XLA's) of programs with three plans."""
    out = []
    for program in sorted({r["program"] for r in rows}):
        steps = [r["step"] for r in rows if r["program"] == program]
        if len(steps) < 3:
            continue
        ours, theirs = [s[0] for s in steps], [s[1] for s in steps]
        n, d = len(steps), sum((a - b) ** 2 for a, b in zip(ranks(ours), ranks(theirs)))
        out.append((program, 1 - 6 * d / (n * (n * n - 1)), theirs[ours.index(min(ours))] / min(theirs) - 1))
    return out


def medians(rows):
    return {what: statistics.median(abs(error(r, what)) for r in rows) for what in ("compute", "step", "temporary")}


def main():
    rows = [row_of(key, row) for key, row in sorted(bank.load().items()) if "xla" in row]
    if "--json" in sys.argv:
        print(json.dumps(rows))
        return
    print("%-22s %-46s %9s %9s %7s %9s %9s %7s %9s %7s %6s" % ("program", "plan, applied exactly", "XLA ms", "compute", "ours", "XLA ms", "step", "ours", "XLA MiB", "ours", "s"))
    for r in rows:
        print("%-22s %-46s %19.3f %+6.0f%% %19.3f %+6.0f%% %9.0f %+6.0f%% %6.0f" % (
            r["program"] + "*" * r["stale"], r["plan"], r["compute"][1], 100 * error(r, "compute"), r["step"][1], 100 * error(r, "step"), r["temporary"][1], 100 * error(r, "temporary"), r["compile_s"]))
    print("\nmedian error             rows  compute     step  temporary")
    for family in [*sorted({r["family"] for r in rows}), None]:
        of = [r for r in rows if family in (None, r["family"])]
        print("%-24s %4d %7.0f%% %7.0f%% %9.0f%%" % (family or "all", len(of), *(100 * v for v in medians(of).values())))
    for program, spearman, regret in ranking(rows):
        print("%-24s rank correlation of steps %.2f, our first choice costs %.1f%%" % (program, spearman, 100 * regret))


if __name__ == "__main__":
    main()
