#!/usr/bin/env python3
"""Our answers beside the best hand-written plans, by XLA's schedules: a table of figures.json (mint.py).

    answers.py [--json]

A second table has the plans that are searched for annotations, and applied so; a third one the plans of the first as annotations. Then answers that
XLA compiles in over twice the seconds of the best hand-written plan. Behind it, of every case with three hand-written plans or more that XLA compiled: how our order of them agrees with XLA's.

Of every case: the step of our plan, applied exactly, and of the best hand-written plan, annotated as people write it, both by
xla_timeline.py with devices in the order of the mesh; what we said of ours; the ratio; and that to the best of the search's alternatives,
where they were compiled. A case without hand-written plans that compiled shows ours alone. Below: geometric mean of the ratios, how many
are at most 1.0, and the median size of our error of the step. The last lines: that of all hand-written plans that XLA compiled, annotated, and
how far our ratios of two plans are off, which the search's uncertainty is half of.
"""
import collections
import json
import math
import statistics
import sys

from mint import load
from report import ranking


def best_written(figures, case):
    """The key of the hand-written plan of the shortest step, annotated; None where none was compiled."""
    found = [(row["xla"]["step"], key) for key, row in figures.items() if key.startswith(case + " | ") and key.endswith(" | annotate") and
             key.split(" | ")[1] != "search" and "listed_us" in row]
    return min(found, default=(None, None))[1]


def print_seconds(figures):
    """What XLA takes to compile our answers and the best hand-written plans. Pairs of which one alone was compiled by itself say nothing."""
    pairs, unlike = {}, 0
    for key, row in figures.items():
        case, plan, way = key.split(" | ")
        best = plan == "search" and way != "same" and "listed_us" in row and best_written(figures, case)
        if best and row.get("alone") != figures[best].get("alone"):
            unlike += 1
        elif best:
            pairs.setdefault(way, []).append((row["compile_s"] / figures[best]["compile_s"], row["compile_s"], figures[best]["compile_s"], case))
    print("\n%-57s %7s %10s %6s" % ("compiled in over twice the seconds", "ours, s", "written, s", "ratio"))
    for way, rows in sorted(pairs.items(), reverse=True):
        for ratio, ours, best, case in sorted(rows, reverse=True):
            if ratio > 2:
                print("%-57s %7.0f %10.0f %6.1f" % (case + ", " + way, ours, best, ratio))
    for way, rows in sorted(pairs.items(), reverse=True):
        print("%s: %d answers in %.0f s, the best hand-written plans in %.0f, over twice the seconds in %d, ratio %.2f in the median" % (
            way, len(rows), sum(r[1] for r in rows), sum(r[2] for r in rows), sum(r[0] > 2 for r in rows), statistics.median(r[0] for r in rows)))
    print("%d answers were not compiled under the same load as the best hand-written plan" % unlike)


def rows_of(figures):
    found = {}
    for key, row in figures.items():
        case, plan, way = key.split(" | ")
        found.setdefault(case, []).append((plan, way, row))
    for case, rows in found.items():
        ours = next((row for plan, way, row in rows if plan == "search" and way == "exact" and "listed_us" in row), None)
        if not ours:
            continue
        known = [(row["xla"]["step"], plan, way) for plan, way, row in rows if "listed_us" in row]
        written = [(step, plan) for step, plan, way in known if way == "annotate" and plan != "search"]
        others = [step for step, plan, _ in known if plan.startswith("alternative ")]
        best = min(written, default=(None, ""))
        yield {"case": case, "family": ours["family"], "ours_ms": ours["xla"]["step"] / 1e3, "said_ms": ours["ours"]["runtime_ns"] / 1e6,
               "best_ms": best[0] and best[0] / 1e3, "best_plan": best[1], "plans": len(written),
               "cost_model": ours.get("cost_model"), "ratio": best[0] and ours["xla"]["step"] / best[0], "alternatives": len(others),
               "to_alternative": ours["xla"]["step"] / min(others) if others else None, "listed_ms": ours["listed_us"] / 1e3}


def annotated(figures):
    """(case, our step, what we said, best hand-written step), all annotated, in ms."""
    for key, row in sorted(figures.items()):
        case, plan, way = key.split(" | ")
        if (plan, way) != ("search", "annotate") or "listed_us" not in row:
            continue
        written = [other["xla"]["step"] for k, other in figures.items() if k.startswith(case + " | ") and k.endswith(" | annotate") and
                   k != key and "listed_us" in other]
        yield case, row["xla"]["step"] / 1e3, row["ours"]["runtime_ns"] / 1e6, min(written, default=0) / 1e3


def print_annotated(rows):
    print("\n%-46s %9s %9s %7s %9s %6s" % ("annotated", "ours, ms", "we say", "error", "written", "ratio"))
    for case, ours, said, best in rows:
        error = "%+.0f%%" % (100 * (said / ours - 1))
        print("%-46s %9.3f %9.3f %7s %s" % (case, ours, said, error, "%9.3f %6.2f" % (best, ours / best) if best else "%9s" % "-"))
    ratios = [ours / best for _, ours, _, best in rows if best]
    errors = [abs(said / ours - 1) for _, ours, said, _ in rows]
    print("%d cases with hand-written plans: geometric mean %.2f, at most 1.03 in %d; median error of our step %.0f%% over %d cases" % (
        len(ratios), math.exp(statistics.fmean(map(math.log, ratios))), sum(r <= 1.03 for r in ratios),
        100 * statistics.median(errors), len(errors)))


def print_same(figures):
    """Plans that were searched to be applied exactly, both ways."""
    rows = [(key.split(" | ")[0], figures[key.replace("| same", "| exact")], row) for key, row in sorted(figures.items())
            if key.endswith(" | same") and "listed_us" in row and "listed_us" in figures[key.replace("| same", "| exact")]]
    if not rows:
        return
    print("\n%-46s %9s %9s %6s %12s" % ("the same plan", "exact, ms", "annotated", "ratio", "compiled in s"))
    for case, exact, same in rows:
        print("%-46s %9.3f %9.3f %6.2f %5.0f, %5.0f" % (case, exact["xla"]["step"] / 1e3, same["xla"]["step"] / 1e3,
                                                       exact["xla"]["step"] / same["xla"]["step"], exact["compile_s"], same["compile_s"]))
    ratios = [exact["xla"]["step"] / same["xla"]["step"] for _, exact, same in rows]
    print("%d cases: geometric mean %.2f, at most 1.03 in %d, worst %.2f; compiled in %.0f and %.0f s" % (
        len(ratios), math.exp(statistics.fmean(map(math.log, ratios))), sum(r <= 1.03 for r in ratios), max(ratios),
        sum(exact["compile_s"] for _, exact, _ in rows), sum(same["compile_s"] for _, _, same in rows)))


def rankings(figures):
    """(case, plans, Spearman, regret) of the annotated hand-written plans."""
    cases = {}
    for key, row in figures.items():
        case, plan, way = key.split(" | ")
        if plan != "search" and way == "annotate" and "listed_us" in row:
            cases.setdefault(case, []).append({"program": case, "step": (row["ours"]["runtime_ns"] / 1e6, row["xla"]["step"] / 1e3)})
    for case, rows in sorted(cases.items()):
        for _, spearman, regret in ranking(rows):
            yield case, len(rows), spearman, regret


def written_errors(figures):
    """Sizes of our errors of the annotated hand-written plans' steps."""
    return [abs(row["ours"]["runtime_ns"] / 1e3 / row["xla"]["step"] - 1) for key, row in figures.items()
            if key.endswith(" | annotate") and key.split(" | ")[1] != "search" and "listed_us" in row]


def written_temporaries(figures):
    """The same of their temporaries, where XLA has more than 64 MiB."""
    return [abs(row["ours"]["temporary_bytes"] / row["memory"]["temp_bytes"] - 1) for key, row in figures.items()
            if key.endswith(" | annotate") and key.split(" | ")[1] != "search" and "listed_us" in row and row["memory"]["temp_bytes"] > 64 << 20]


def ratio_errors(figures, way):
    """How far our ratio of our plan's step to that of the hand-written plan that we say is fastest is from XLA's, where ours is 0.8 to 1."""
    for case in sorted({key.split(" | ")[0] for key in figures}):
        ours = figures.get("%s | search | %s" % (case, way), {})
        written = [row for key, row in figures.items() if key.startswith(case + " | ") and key.endswith(" | annotate") and
                   key.split(" | ")[1] != "search" and "listed_us" in row]
        if not written or "listed_us" not in ours:
            continue
        best = min(written, key=lambda row: row["ours"]["runtime_ns"])
        said, true = ours["ours"]["runtime_ns"] / best["ours"]["runtime_ns"], ours["xla"]["step"] / best["xla"]["step"]
        if 0.8 < said < 0.9995:
            yield abs(math.log(true / said))


def main():
    rows = sorted(rows_of(load()), key=lambda r: r["case"])
    if "--json" in sys.argv:
        return print(json.dumps(rows, indent=1))
    said = [abs(r["said_ms"] / r["ours_ms"] - 1) for r in rows]
    print("%-46s %9s %9s %7s %12s %9s %6s  %s" % ("case", "ours, ms", "we say", "error", "alternatives", "written", "ratio", "best of so many hand-written plans"))
    for r in rows:
        best = ("%9.3f %6.2f  %s (%d)" % (r["best_ms"], r["ratio"], r["best_plan"], r["plans"])) if r["ratio"] else "%9s" % "-"
        others = "%8.2f (%d)" % (r["to_alternative"], r["alternatives"]) if r["alternatives"] else "-"
        error = "%+.0f%%" % (100 * (r["said_ms"] / r["ours_ms"] - 1))
        print("%-46s %9.3f %9.3f %7s %12s %s" % (r["case"], r["ours_ms"], r["said_ms"], error, others, best))
    ratios = [r["ratio"] for r in rows if r["ratio"]]
    if ratios:
        print("\n%d cases with hand-written plans: geometric mean %.2f, at most 1.0 in %d; median error of our step %.0f%% over %d cases" % (
            len(ratios), math.exp(statistics.fmean(map(math.log, ratios))), sum(r <= 1 for r in ratios),
            100 * statistics.median(said), len(said)))
    models = collections.Counter(r["cost_model"] for r in rows)
    print("cost models that the answers are of: %s" % ", ".join("%s in %d" % (model or "earlier ones", n) for model, n in sorted(models.items(), key=str)))
    print_annotated(list(annotated(load())))
    print_same(load())
    print_seconds(load())
    ranked = list(rankings(load()))
    if ranked:
        print("\n%-46s %5s %9s %s" % ("order of hand-written plans", "plans", "Spearman", "our first choice is slower than the best by"))
        for case, plans, spearman, regret in ranked:
            print("%-46s %5d %9.2f %6.1f%%" % (case, plans, spearman, 100 * regret))
        print("%d cases: median Spearman %.2f, our first choice within 3%% in %d" % (
            len(ranked), statistics.median(r[2] for r in ranked), sum(r[3] <= 0.03 for r in ranked)))
    for what, errors in (("steps", written_errors(load())), ("temporaries above 64 MiB", written_temporaries(load()))):
        within = [100 * sum(e <= most for e in errors) / len(errors) for most in (.15, .25)]
        print("%d %s of hand-written plans: median error %.1f%%, within 15%% in %.0f%%, within 25%% in %.0f%%" % (len(errors), what, 100 * statistics.median(errors), *within))
    for way in "exact", "annotate":
        errors = list(ratio_errors(load(), way))
        print("our ratio to the hand-written plan that we say is fastest, %s: off by %.1f%% in the median of %d cases" % (way, 100 * statistics.median(errors), len(errors)))


if __name__ == "__main__":
    main()
