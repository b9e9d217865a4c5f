#!/usr/bin/env python3
"""What the tool says today of every plan that was compiled: hand-written ones and kept answers, without a search and without a compile.

    today.py [--cases GLOB] [--save FILE] [--than FILE] [--worst 10] [--estimated] [--write]

Errors of steps and of temporaries above 64 MiB, of hand-written plans and of answers; --than FILE: beside those of an earlier --save, with the rows that moved most. Where
mint.py --known takes a quarter of an hour (it searches, to see which answers are still today's), this takes a minute: for a change of the cost model while it is made.
--estimated: also of the hand-written steps that XLA estimates all but a twentieth of (estimated.py), a minute more. --write: the costs go into figures.json.
"""
import argparse
import concurrent.futures
import fnmatch
import json
import os
import statistics
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import cases  # noqa: E402
import estimated  # noqa: E402
import mint  # noqa: E402
from experts import Program, experts_of  # noqa: E402


def costs_of(case, keys, answers, shares):
    """key -> our cost, of the case's rows; shares, unless it is None, gets estimated.share_of of hand-written ones."""
    found = {}
    mesh = {axis: int(size) for axis, size in (a.split("=") for a in case.mesh.split(","))}
    written = dict(experts_of(Program(case.program, cases.TOOL, cases.corpus(case)), mesh))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s.json")
        for key in keys:
            _, plan, way = key.split(" | ")
            document = answers.get(key) if plan == "search" else written.get(plan)
            if not document:
                continue
            with open(path, "w") as f:
                json.dump(document, f)
            try:
                found[key] = mint.ours_of(cases.cost_of(case, path, "annotate" if way == "same" else way))
                if shares is not None and plan != "search":
                    shares[key] = estimated.share_of(case, path, way, folder)
            except RuntimeError as refused:
                print("%s: %s" % (key, refused), file=sys.stderr)
    return found


def errors_of(figures, costs, what):
    """key -> our figure by XLA's, less one."""
    for key, cost in sorted(costs.items()):
        row = figures[key]
        if what == "steps":
            yield key, cost["runtime_ns"] / 1e3 / row["xla"]["step"] - 1
        elif row["memory"]["temp_bytes"] > 64 << 20:
            yield key, cost["temporary_bytes"] / row["memory"]["temp_bytes"] - 1


def summary(errors):
    sizes = [abs(e) for e in errors]
    within = [100 * sum(e <= most for e in sizes) / len(sizes) for most in (.15, .25)]
    return "%3d rows: median error %4.1f%%, within 15%% in %.0f%%, within 25%% in %.0f%%, mean %+.1f%%" % (len(sizes), 100 * statistics.median(sizes), *within, 100 * statistics.fmean(errors))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", default="*", help="of those whose name this matches, such as 'moe *'")
    parser.add_argument("--save", help="file for the costs")
    parser.add_argument("--than", help="file of an earlier --save")
    parser.add_argument("--estimated", action="store_true", help="also of the hand-written steps that XLA estimates nearly all of")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--worst", type=int, default=10, help="rows to list of each kind")
    options = parser.parse_args()
    figures, answers = mint.load(), mint.load_answers()
    by_case = {}
    for key, row in figures.items():
        if "listed_us" in row:
            by_case.setdefault(key.split(" | ")[0], []).append(key)
    chosen = {cases.name_of(c): c for c in cases.CASES if fnmatch.fnmatch(cases.name_of(c), options.cases)}
    costs, before, shares = {}, {}, {} if options.estimated else None
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(lambda name: costs_of(chosen[name], by_case[name], answers, shares), [n for n in by_case if n in chosen]):
            costs.update(found)
    if options.write:
        for key, cost in costs.items():
            figures[key]["ours"] = cost
        mint.save(figures)
    if options.save:
        with open(options.save, "w") as f:
            json.dump(costs, f)
    if options.than:
        with open(options.than) as f:
            before = json.load(f)
    for what in "steps", "temporaries":
        errors = dict(errors_of(figures, costs, what))
        old = dict(errors_of(figures, {k: v for k, v in before.items() if k in costs}, what))
        for kind, chosen_of in (("hand-written", lambda key: " | search" not in key and key.endswith("annotate")), ("answers", lambda key: " | search" in key)):
            for name, of in (("before", old), ("today", errors)):
                rows = {key: e for key, e in of.items() if chosen_of(key)}
                if rows:
                    print("%-12s %-11s %-6s %s" % (kind, what, name, summary(list(rows.values()))))
            if shares and kind == "hand-written" and what == "steps":
                for name, wanted in (("estimated", True), ("partly", False)):
                    some = [e for key, e in rows.items() if (shares[key] <= estimated.MOST) == wanted]
                    if some:
                        print("%-12s %-18s %s" % ("", name, summary(some)))
            for key in sorted(rows, key=lambda k: -abs(rows[k] - old[k]) if k in old else -abs(rows[k]))[:options.worst]:
                if key not in old or rows[key] != old[key]:
                    print("    %-90s %s%+.0f%%" % (key, "%+.0f%% -> " % (100 * old[key]) if key in old else "", 100 * rows[key]))


if __name__ == "__main__":
    main()
