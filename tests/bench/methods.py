"""Searches compared (`make bench-methods`): Monte Carlo tree search, the whole search and the search without each of its parts against random,
greedy, simulated annealing and exhaustive search, with the same evaluator, actions and budget, over 10 seeds.

    methods.py [--case PROGRAM/MESH/DEVICE,..] [--method M,..] [--seeds N] [--evaluations N] [--again] [--table] [--turns]

--turns: the tree against leaves in turn alone, ten programs on three meshes, 1,500 evaluations each.

One record per run goes to build/bench-methods.jsonl; runs of this build that are there already are not repeated. The tables go to
docs/search-experiments.md, the curves to docs/pictures/anytime.svg. --table: only write, from the records at hand."""
import argparse
import hashlib
import json
import math
import os
import re
import statistics
import subprocess
from xml.sax.saxutils import escape

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.environ.get("BENCH_SEARCH_METHODS", os.path.join(ROOT, "build", "bench", "bench_search_methods"))
RECORDS = os.environ.get("BENCH_METHODS_RECORDS", os.path.join(ROOT, "build", "bench-methods.jsonl"))
PAGE = os.path.join(ROOT, "docs", "search-experiments.md")
PICTURE = os.path.join(ROOT, "docs", "pictures", "anytime.svg")
MESHES = {"2x2": "data=2,model=2", "4x4": "data=4,model=4", "16x16": "data=16,model=16", "2x2x4": "replica=2,data=2,model=4"}
CASES = ["mlp/4x4/tpu-v5e", "transformer_4/4x4/a100", "transformer_scan/16x16/tpu-v5p", "moe/4x4/h100", "convnet/2x2x4/tpu-v5p", "decode/2x2x4/tpu-v5p"]
SMALL = ["mlp_tiny/2x2/tpu-v5e", "mlp_tiny/4x4/tpu-v5e", "mlp_tiny/2x2x4/h100"]   # where all states can be seen
FOLDED = ["transformer_32/4x4/tpu-v5e", "llama_8b/4x4/tpu-v5p"]   # what folding is for: with a budget that the whole program can stand
FOLDED_BUDGET = 600
METHODS = ["search", "annealing", "greedy", "random"]
PARTS = {"search": "nothing", "search-tree": "the tree (leaves in turn)", "search-tactics": "tactics (one leaf)", "search-descents": "descents", "search-walks": "walks",
         "search-local-search": "local search", "search-groups": "groups"}
ALL_STATES = 2000000
# The tree against leaves in turn: ten programs, three meshes.
TURNS = ["%s/%s" % (program, where) for program in ("convnet", "decode", "encoder_decoder", "llama_4", "lora", "mlp", "moe", "optax_step", "transformer_4",
                                                    "transformer_scan") for where in ("4x4/tpu-v5e", "2x2x4/tpu-v5p", "16x16/h100")]
TURNS_BUDGET = 1500
COLORS = {"search": "#b8463c", "annealing": "#6a9a58", "greedy": "#e39c37", "random": "#888888"}


def run(case, method, evaluations, seed, build):
    program, mesh, device = case.split("/")
    path = os.path.join(ROOT, "tests", "corpus", program + ".mlir.zst")
    done = subprocess.run([TOOL, path, MESHES[mesh], device, method, str(evaluations), str(seed), "1"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError("%s %s: %s" % (case, method, done.stderr))
    return dict(json.loads(done.stdout), case=case, budget=evaluations, build=build)


def load():
    records = {}
    if os.path.exists(RECORDS):
        with open(RECORDS) as f:
            for line in f:
                r = json.loads(line)
                records[r["case"], r["method"], r["budget"], r["seed"]] = r
    return records


def best_of(runs):
    return min(r["runtime_ns"] for r in runs if r["fits"]) if any(r["fits"] for r in runs) else None


def geometric(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def settled(r):
    """The evaluation from which on the run stayed within 2% of its own end."""
    end = r["curve"][-1][1]
    return next(e for e, ns, fits in r["curve"] if fits and ns <= 1.02 * end) if r["fits"] else r["evaluations"]


def table(records, names, cases, budget):
    """One row per method: per case the geometric mean over seeds of the time over the best that any run found, and the spread."""
    lines = ["| | " + " | ".join(cases) + " | all | worst spread | does not fit | settled after | s | runs |", "|---|" + "--:|" * (len(cases) + 6)]
    done = {(c, m) for (c, m, b, _) in records if b == budget}
    shared = [c for c in cases if all((c, m) in done for m in names)]   # what "all" is taken over
    for method, label in names.items():
        ratios, spreads, misses, settle, seconds, cells = [], [], 0, [], [], []
        for case in cases:
            everything = [r for (c, _, b, _), r in records.items() if c == case and b == budget]
            runs = [r for r in everything if r["method"] == method]
            best = best_of(everything)
            own = [r["runtime_ns"] / best for r in runs if r["fits"]]
            misses += sum(not r["fits"] for r in runs)
            cells.append("%.3f" % geometric(own) if own else "-")
            ratios += own if case in shared else []
            spreads += [max(own) / min(own)] if own else []
            settle += [settled(r) for r in runs]
            seconds += [r["seconds"] for r in runs]
        if ratios:
            lines.append("| %s | %s | %.3f | %.3f | %d | %d | %.1f | %d |" % (label, " | ".join(cells), geometric(ratios), max(spreads), misses,
                                                                         statistics.median(settle), statistics.median(seconds), len(seconds)))
    return lines


def small_table(records, cases):
    lines = ["| | states | optimum | " + " | ".join(METHODS) + " |", "|---|--:|--:|" + "--:|" * len(METHODS)]
    for case in cases:
        whole = [r for (c, m, _, _), r in records.items() if c == case and m == "exhaustive" and r["complete"]]
        if not whole:
            continue
        optimum = whole[-1]["curve"][-1][1]
        cells = []
        for method in METHODS:
            runs = [r for (c, m, _, _), r in records.items() if c == case and m == method]
            hits = [r["curve"][-1][1] <= optimum for r in runs]
            cells.append("%d of %d" % (sum(hits), len(hits)))
        lines.append("| %s | %d | %.1f us | %s |" % (case, whole[-1]["full"], optimum / 1e3, " | ".join(cells)))
    return lines


def folding_table(records):
    """Folding changes no answer; what it saves, in pairs of runs with equal seeds."""
    lines = ["| | folded s | whole s | ratio | equal answers |", "|---|--:|--:|--:|--:|"]
    for case in FOLDED:
        runs = {m: {s: r for (c, n, b, s), r in records.items() if (c, n, b) == (case, m, FOLDED_BUDGET)} for m in ("search", "search-folding")}
        seeds = sorted(set(runs["search"]) & set(runs["search-folding"]))
        if seeds:
            pairs = [(runs["search"][s], runs["search-folding"][s]) for s in seeds]
            lines.append("| %s | %.1f | %.1f | %.1fx | %d of %d |" % (
                case, statistics.median(a["seconds"] for a, _ in pairs), statistics.median(b["seconds"] for _, b in pairs),
                statistics.median(b["seconds"] / a["seconds"] for a, b in pairs), sum(a["curve"] == b["curve"] for a, b in pairs), len(pairs)))
    return lines


def sooner_at(run, other):
    """Evaluations until the run is as good as the other one's end (within 0.01%), over those that the other one took; None: it never is."""
    goal = 1.0001 * other["runtime_ns"]
    first, second = (next((e for e, ns, fits in r["curve"] if fits and ns <= goal), None) for r in (run, other))
    return first / second if first and second else None


def turns_table(records):
    """The same leaves and local searches, chosen by the tree and in turn: pairs of runs with equal seeds."""
    several = len({s for (_, n, b, s) in records if (n, b) == ("search-tree", TURNS_BUDGET)}) > 1
    lines = ["| program, mesh, device | in turn, ms | tree, ms | ratio |" + " least, largest | tree better, equal, worse |" * several,
             "|---|--:|--:|--:|" + "--:|--:|" * several]
    rows, better, equal, worse, runs, sooner = [], 0, 0, 0, 0, []
    for case in TURNS:
        of = {m: {s: r for (c, n, b, s), r in records.items() if (c, n, b) == (case, m, TURNS_BUDGET)} for m in ("search", "search-tree")}
        seeds = [s for s in of["search"] if s in of["search-tree"] and of["search"][s]["fits"] and of["search-tree"][s]["fits"]]
        if not seeds:
            continue
        times = [(of["search"][s]["runtime_ns"], of["search-tree"][s]["runtime_ns"]) for s in seeds]
        ratios = [a / b for a, b in times]
        counts = sum(a < b for a, b in times), sum(a == b for a, b in times), sum(a > b for a, b in times)
        sooner += [x for s in seeds for x in [sooner_at(of["search"][s], of["search-tree"][s])] if x]
        better, equal, worse, runs = better + counts[0], equal + counts[1], worse + counts[2], runs + len(seeds)
        spread = " %.3f, %.3f | %d, %d, %d |" % (min(ratios), max(ratios), *counts) if several else ""
        rows.append((geometric(ratios), "| %s | %.4g | %.4g | %.3f |%s" % (
            case.replace("/", ", "), geometric([b for _, b in times]) / 1e6, geometric([a for a, _ in times]) / 1e6, geometric(ratios), spread)))
    lines += [line for _, line in sorted(rows)]
    lines += ["", "%d cases, %d %s of runs: geometric mean %.3f; the tree is better in %d, equal in %d, worse in %d. "
              "In %d runs it comes to what the other one ends with, after %.2f of its evaluations (geometric mean)." % (
        len(rows), runs, "pair" if runs == 1 else "pairs", geometric([r for r, _ in rows]), better, equal, worse, len(sooner), geometric(sooner))]
    return lines


def value_at(curve, evaluation):
    best = None
    for e, ns, fits in curve:
        if e > evaluation:
            break
        if fits:
            best = ns
    return best


def draw(records, cases, budget):
    """One panel per case: best so far over the best that any run found, medians with quartiles, evaluations on a logarithmic scale."""
    width, height, left, top, columns, highest = 360, 230, 50, 40, 2, 3.0
    rows = (len(cases) + columns - 1) // columns
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">' % (columns * (width + left) + 20, rows * (height + top + 20) + 40),
           '<rect width="100%" height="100%" fill="white"/>']
    points = [int(10 ** (i / 12)) for i in range(0, int(12 * math.log10(budget)) + 1)] + [budget]

    def at(panel, evaluation, ratio):
        x = left + panel % columns * (width + left) + math.log10(max(evaluation, 1)) / math.log10(budget) * (width - 20)
        y = top + panel // columns * (height + top + 20) + (1 - math.log(min(max(ratio, 1), highest)) / math.log(highest)) * height
        return x, y
    for panel, case in enumerate(cases):
        everything = [r for (c, _, b, _), r in records.items() if c == case and b == budget]
        best = best_of(everything)
        if not best:
            continue
        x0, y0 = at(panel, 1, 1)
        out.append('<text x="%.0f" y="%.0f" font-weight="bold">%s</text>' % (x0, y0 - height - 8, escape(case)))
        for ratio in (1, 1.1, 1.25, 1.5, 2, 3):
            x, y = at(panel, 1, ratio)
            out.append('<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#ddd"/><text x="%.1f" y="%.1f" text-anchor="end" fill="#444">%g</text>' % (
                x, y, x + width - 20, y, x - 4, y + 4, ratio))
        for power in range(int(math.log10(budget)) + 1):
            x, y = at(panel, 10 ** power, 1)
            out.append('<text x="%.1f" y="%.1f" text-anchor="middle" fill="#444">%d</text>' % (x, y + 15, 10 ** power))
        for method in METHODS:
            runs = [r for r in everything if r["method"] == method]
            median, band = [], []
            for e in points:
                values = sorted(v / best if v else highest for v in (value_at(r["curve"], e) for r in runs))
                if values:
                    median.append(at(panel, e, statistics.median(values)))
                    band.append((at(panel, e, values[len(values) // 4]), at(panel, e, values[-1 - len(values) // 4])))
            if not median:
                continue
            shape = [low for low, _ in band] + [high for _, high in reversed(band)]
            out.append('<polygon points="%s" fill="%s" opacity="0.12"/>' % (" ".join("%.1f,%.1f" % p for p in shape), COLORS[method]))
            out.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="1.6"/>' % (" ".join("%.1f,%.1f" % p for p in median), COLORS[method]))
    y = rows * (height + top + 20) + 20
    for i, method in enumerate(METHODS):
        out.append('<rect x="%d" y="%d" width="14" height="4" fill="%s"/><text x="%d" y="%d">%s</text>' % (left + 110 * i, y, COLORS[method], left + 20 + 110 * i, y + 6, method))
    out.append("</svg>")
    with open(PICTURE, "w") as f:
        f.write("\n".join(out) + "\n")


def write(records, budget):
    cases = [c for c in CASES if any(k[0] == c and k[2] == budget for k in records)]
    sections = {"methods": table(records, {m: m for m in METHODS}, cases, budget),
                "parts": table(records, PARTS, cases, budget),
                "small": small_table(records, SMALL),
                "folding": folding_table(records),
                "turns": turns_table(records)}
    sections = {name: lines for name, lines in sections.items() if any(line.startswith("| ") for line in lines[2:])}   # what there are records of
    with open(PAGE) as f:
        page = f.read()
    for name, lines in sections.items():
        page = re.sub(r"(<!-- %s: .*? -->\n).*?(<!-- end of %s -->)" % (name, name), lambda m: m[1] + "\n".join(lines) + "\n" + m[2], page, flags=re.DOTALL)
    with open(PAGE, "w") as f:
        f.write(page)
    if cases:
        draw(records, cases, budget)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", default=",".join(CASES + SMALL + FOLDED))
    parser.add_argument("--method", default=",".join(METHODS + [p for p in PARTS if p != "search"]))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--evaluations", type=int, default=4000)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--turns", action="store_true")
    options = parser.parse_args()
    if options.turns:
        options.case = ",".join(TURNS)
    with open(TOOL, "rb") as f:
        build = hashlib.sha256(f.read()).hexdigest()[:12]
    records = load()
    for case in [] if options.table else options.case.split(","):
        if options.turns:
            wanted = [(m, TURNS_BUDGET, seed) for seed in range(1, options.seeds + 1) for m in ("search", "search-tree")]
        elif case in FOLDED:
            wanted = [(m, FOLDED_BUDGET, seed) for seed in range(1, options.seeds + 1) for m in ("search", "search-folding")]
        else:
            wanted = [(m, options.evaluations, seed) for m in options.method.split(",") for seed in range(1, options.seeds + 1)
                      if case not in SMALL or m in METHODS]
        wanted += [("exhaustive", ALL_STATES, 1)] if case in SMALL and not options.turns else []
        for method, evaluations, seed in wanted:
            key = (case, method, evaluations, seed)
            if not options.again and records.get(key, {}).get("build") == build:
                continue
            records[key] = run(case, method, evaluations, seed, build)
            with open(RECORDS, "a") as f:
                f.write(json.dumps(records[key]) + "\n")
        print("%s done" % case, flush=True)
    write(records, options.evaluations)


if __name__ == "__main__":
    main()
