#!/usr/bin/env python3
"""The compiled level, memory and time of our model beside what XLA compiled: a table per target, then the totals with their goals.

    report.py [--targets tpu,gpu,cpu] [--rows GLOB] [--json] [--unmatched]

Reads figures.json (mint.py) and runs `shardwright lower` and `simulate` on the same annotated modules; XLA is not needed.
--unmatched lists, row by row, the largest collectives that one side has and the other has not. SHARDWRIGHT names the tool.

Collectives are compared one to one by kind, devices per group and bytes of the larger side, as often as they run; the
members of a combined instruction count singly, a permutation has no group. Where the CPU compiler moves bfloat16 as float32,
half the bytes count; a loop whose trips the text does not say counts once; where a compiler makes up to four matmuls one and
reduces their results in one piece, as many equal pieces stand for it. `match` is what both sides have, of the larger of the two sums of bytes.

The step time by XLA's own program is cycles / clock for computing, and for every collective instruction the published
formulas for a torus without wraparound (one-way link bandwidth w, hop h): all_gather, reduce_scatter (n-1) max(h, S/n/w),
all_reduce twice that, all_to_all n S / 4w, collective_permute h + S/w; over both mesh axes the hops add and the bandwidths
too. Bounds: all communication hidden as far as it can be (max) and none of it (sum). Between them stands XLA's own schedule:
an asynchronous collective hides behind the cycles that lie between its two halves, the others behind nothing.
"""
import argparse
import collections
import fnmatch
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import rows as named  # noqa: E402

TOOL = os.environ.get("SHARDWRIGHT", os.path.join(HERE, "..", "..", "..", "build", "shardwright"))
CLOCK_HZ, LINK_BYTES_S, HOP_S = 1.5e9, 45e9, 1e-6  # TPU v5e
USABLE_BYTES = int(15.75 * 2**30)                  # of its memory, as its compiler counts


# ---------------------------------------------------------------- collectives

def theirs(figures):
    """Counter of (kind, group, bytes), as often as they run."""
    out = collections.Counter()
    for kind, group, times, n, parts, *_ in figures["collectives"]:
        for _, size in parts if group != 1 else ():
            out[kind, group, size] += times * n
    return out


def widened(figures):
    """The collectives of float32, which on CPU may stand for bfloat16."""
    out = collections.Counter()
    for kind, group, times, n, parts, *_ in figures["collectives"]:
        for dtype, size in parts:
            if dtype == "f32":
                out[kind, group, size] += times * n
    return out


def ours(document, mesh):
    """The same of `lower --json`."""
    sizes = dict(part.split("=") for part in mesh.split(","))
    out = collections.Counter()
    for c in document["collectives"]:
        group = 1
        for axis in c["axes"]:
            name, _, part = axis.partition(":")
            group *= int(part.split(")")[1] if part else sizes[name])
        out[c["kind"], None if c["kind"] == "collective_permute" else group, c["bytes"]] += c["trip_count"]
    return out


def weight(counter):
    return sum(size * n for (_, _, size), n in counter.items())


MOST_PIECES = 4


def match(mine, other, wide=None):
    """-> (bytes that both have, what is left of mine, what is left of other). wide: members of other that may have twice the
    bytes of what they match; such a match counts with the bytes of other, and of mine twice its own are gone."""
    matched, mine, other = 0, mine.copy(), other.copy()
    # the largest first: what is left of mine at a size can then only be half of something
    for key in sorted(other, key=lambda key: (-key[2], str(key))):
        kind, group, size = key
        for part, most in ((size, other[key]), (size // 2, wide[key] if wide else 0)):
            n = min(mine[kind, group, part], other[key], most)
            matched += n * size
            mine[kind, group, part] -= n
            other[key] -= n
    for kind, group, size in sorted(other, key=str):
        for pieces in range(2, MOST_PIECES + 1):
            piece = (kind, group, size // pieces)
            n = min(mine[piece] // pieces, other[kind, group, size]) if size % pieces == 0 else 0
            matched += n * size
            mine[piece] -= n * pieces
            other[kind, group, size] -= n
    return matched, +mine, +other


def compare_collectives(row, figures, document):
    mine, other = ours(document, row.mesh), theirs(figures)
    matched, left, missing = match(mine, other, widened(figures) if row.target == "cpu" else None)
    larger = max(matched + weight(left), matched + weight(missing))
    return {"xla_bytes": weight(other), "our_bytes": weight(mine), "matched_bytes": matched, "larger_bytes": larger,
            "match": matched / larger if larger else 1.0, "only_ours": left, "only_xla": missing}


# ---------------------------------------------------------------- step time of XLA's program

def seconds_of(kind, group, size, mesh):
    """One collective instruction on the torus that the mesh axes lie on, one axis each."""
    sizes = [int(n) for n in re.findall(r"=(\d+)", mesh)]
    if kind == "collective_permute":
        return HOP_S + size / LINK_BYTES_S
    lines = [group] if group in sizes or group < max(sizes) else sizes
    hops, links = sum(n - 1 for n in lines), len(lines)
    if kind == "all_to_all":
        return hops * HOP_S + group * size / 4 / (links * LINK_BYTES_S)
    once = max(hops * HOP_S, (group - 1) / group * size / (links * LINK_BYTES_S))
    return 2 * once if kind == "all_reduce" else once


def step_seconds(figures, mesh):
    """(computing, communicating, waiting as scheduled) of XLA's program."""
    wire = waits = 0.0
    for kind, group, times, _, parts, behind in figures["collectives"]:
        if group != 1:
            one = seconds_of(kind, group, sum(size for _, size in parts), mesh)
            wire += times * len(behind) * one
            waits += times * sum(max(one - cycles / CLOCK_HZ, 0.0) for cycles in behind)
    return figures["estimated_cycles"] / CLOCK_HZ, wire, waits


def ranks(values):
    order = sorted(values)
    return [order.index(v) + (order.count(v) - 1) / 2 for v in values]


def spearman(a, b):
    return statistics.correlation(ranks(a), ranks(b)) if len(set(a)) > 1 and len(set(b)) > 1 else 0.0


def rank_program(found):
    """found: [(ours, computing, communicating, waiting)] of the strategies of one program."""
    out = {}
    for bound, of in (("max", lambda f: max(f[1], f[2])), ("sum", lambda f: f[1] + f[2]), ("schedule", lambda f: f[1] + f[3])):
        mine, other = [f[0] for f in found], [of(f) for f in found]
        out["spearman_" + bound] = spearman(mine, other)
        out["regret_" + bound] = other[mine.index(min(mine))] / min(other) - 1
    return out


# ---------------------------------------------------------------- rows

def tool(*words):
    done = subprocess.run([TOOL, *words], capture_output=True, text=True, timeout=600)
    if done.returncode not in (0, 2):
        sys.exit("%s: exit %d\n%s" % (" ".join(words), done.returncode, done.stderr[-2000:]))
    return json.loads(done.stdout)


def relative(mine, other):
    return mine / other - 1 if other else float(mine != other)


def without_windows(device):
    """The device's profile without windowed einsums: they are switched off in XLA's figures."""
    return json.dumps({k: v for k, v in tool("devices", device).items() if k != "windowed_bytes_s"})


def compare_row(row, figures):
    with tempfile.TemporaryDirectory() as folder:
        path, device = (os.path.join(folder, name) for name in ("module.mlir", "device.json"))
        for name, text in ((path, named.module_of(row)), (device, without_windows(named.device_of(row)))):
            with open(name, "w") as f:
                f.write(text)
        told = (path, "--device-file", device, "--trip-count", "1", "--json")
        cost = tool("simulate", *told)
        out = {"row": named.name_of(row), "cost": cost, "figures": {k: v for k, v in figures.items() if k != "collectives"}}
        if "out_of_memory" in figures:
            out["needs"] = needed(figures["out_of_memory"])
            return out
        out.update(compare_collectives(row, figures, tool("lower", *told)))
    out["ends"] = [relative(cost[k], figures[k]) for k in ("argument_bytes", "output_bytes", "alias_bytes")]
    out["temporary"] = relative(cost["temporary_bytes"], figures["temporary_bytes"])
    if figures["estimated_cycles"]:
        out["computing"], out["communicating"], out["waiting"] = step_seconds(figures, row.mesh)
    return out


def needed(message):
    """Bytes that a compiler says it needs, None where it does not say."""
    found = re.search(r"(?:Used |HLO temporaries \()([\d.]+)([KMGT])\b", message)
    return int(float(found[1]) * 2 ** {"K": 10, "M": 20, "G": 30, "T": 40}[found[2]]) if found else None


def calibrated(found):
    """Computing times against the compiler's: one factor, the median of the even rows', tested on the odd ones."""
    ratios = [f["cost"]["compute_ns"] / 1e9 / f["computing"] for f in found if "computing" in f]
    if len(ratios) < 4:
        return None
    factor = statistics.median(ratios[::2])
    errors = [abs(r / factor - 1) for r in ratios[1::2]]
    return {"factor": factor, "median": statistics.median(errors), "worst": max(errors), "rows": len(errors)}


def totals_of(target, found):
    fits = [f for f in found if "match" in f]
    ends = [e for f in fits for e in f["ends"]]
    free = [abs(f["temporary"]) for f in fits if not f["figures"]["rematerialised"]]
    larger = sum(f["larger_bytes"] for f in fits)
    out = {"ends_worst": max(map(abs, ends), default=0.0), "ends_equal": sum(e == 0 for e in ends), "ends": len(ends),
           "match": sum(f["matched_bytes"] for f in fits) / larger if larger else 1.0,
           "match_median": statistics.median([f["match"] for f in fits]) if fits else 1.0,
           "temporary_median": statistics.median(free) if free else 0.0, "temporary_worst": max(free, default=0.0),
           "wrongly_fits": [f["row"] for f in found if "needs" in f and f["cost"]["peak_bytes"] <= USABLE_BYTES < (f["needs"] or 2 * USABLE_BYTES) / 1.05]}
    out["compute"] = calibrated(found)
    programs = collections.defaultdict(list)
    for f in fits:
        if "computing" in f:
            programs[f["program"]].append((f["cost"]["runtime_ns"], f["computing"], f["communicating"], f["waiting"]))
    out["ranking"] = {program: rank_program(times) for program, times in programs.items() if len(times) > 2}
    return out


def goals_of(target, t):
    """[(text, goal, reached)]"""
    small = 0.01 if target == "tpu" else 0.0
    rows = [("argument, output, alias bytes: %d of %d equal, worst %.2f%%" % (t["ends_equal"], t["ends"], 100 * t["ends_worst"]),
             "within 1%" if small else "equal", t["ends_worst"] <= small),
            ("collective bytes that match: %.1f%%, median of rows %.1f%%" % (100 * t["match"], 100 * t["match_median"]), ">= 95%", t["match"] >= 0.95),
            ("temporary memory: median error %.1f%%, worst %.1f%%" % (100 * t["temporary_median"], 100 * t["temporary_worst"]), "<= 15%, <= 40%",
             t["temporary_median"] <= 0.15 and t["temporary_worst"] <= 0.4),
            ("said to fit, and XLA is out of memory by more than 5%%: %s" % (", ".join(t["wrongly_fits"]) or "none"), "none", not t["wrongly_fits"])]
    if t["compute"]:
        c = t["compute"]
        rows.append(("compute time: factor %.2f, median error %.1f%%, worst %.1f%% on %d rows that it was not fitted on" % (
            c["factor"], 100 * c["median"], 100 * c["worst"], c["rows"]), "median <= 15%", c["median"] <= 0.15))
    for program, r in t["ranking"].items():
        rows.append(("ranking of %s: Spearman %.2f (max) %.2f (sum) %.2f (schedule), regret %.1f%% %.1f%% %.1f%%" % (
            program, *(r["spearman_" + b] for b in ("max", "sum", "schedule")), *(100 * r["regret_" + b] for b in ("max", "sum", "schedule"))),
            "both bounds: >= 0.9, <= 5%",
            min(r["spearman_max"], r["spearman_sum"]) >= 0.9 and max(r["regret_max"], r["regret_sum"]) <= 0.05))
    return rows


# ---------------------------------------------------------------- text

def size_text(n):
    for unit, word in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if n >= unit:
            return "%.2f %s" % (n / unit, word)
    return "%d B" % n


def key_text(key):
    kind, group, size = key
    return "%s%s %s" % (kind, "" if group is None else " of %d" % group, size_text(size))


def print_row(f):
    if "needs" in f:
        print("%-44s XLA is out of memory, needs %s; our peak %s" % (f["row"], size_text(f["needs"]) if f["needs"] else "more", size_text(f["cost"]["peak_bytes"])))
        return
    ends = "equal" if not any(f["ends"]) else "%+.2f%%" % (100 * max(f["ends"], key=abs))
    time = "%10.2f %10.2f %8.2f" % (f["computing"] * 1e3, f["communicating"] * 1e3, f["cost"]["compute_ns"] / 1e6) if "computing" in f else ""
    print("%-44s %8s %12s %12s %6.1f%% %12s %+7.1f%%%s %s" % (
        f["row"], ends, size_text(f["xla_bytes"]), size_text(f["our_bytes"]), 100 * f["match"], size_text(f["figures"]["temporary_bytes"]),
        100 * f["temporary"], "r" if f["figures"]["rematerialised"] else " ", time))


def print_unmatched(f, most=8):
    for word, left in (("XLA", f.get("only_xla", {})), ("we", f.get("only_ours", {}))):
        for key, n in sorted(left.items(), key=lambda item: (-item[0][2] * item[1], str(item)))[:most]:
            print("    only %-4s %5d x %-36s %s" % (word, n, key_text(key), size_text(n * key[2])))


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", default="tpu,gpu,cpu")
    parser.add_argument("--rows", default="*")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--unmatched", action="store_true")
    o = parser.parse_args(argv)
    with open(os.path.join(HERE, "figures.json")) as f:
        figures = json.load(f)
    document = {}
    for target in o.targets.split(","):
        chosen = [r for r in named.ROWS if r.target == target and named.name_of(r) in figures and fnmatch.fnmatchcase(named.name_of(r), o.rows)]
        if not chosen:
            continue
        if not o.json:
            print("%s\n%-44s %8s %12s %12s %7s %12s %8s  %s" % (target.upper(), "row", "arg/out", "XLA moves", "we move", "match", "XLA temp", "ours",
                  "cycles ms    links ms   ours ms" if target == "tpu" else ""))
        found = []
        for row in chosen:
            f = {"program": row.program, **compare_row(row, figures[named.name_of(row)])}
            found.append(f)
            if not o.json:
                print_row(f)
                if o.unmatched:
                    print_unmatched(f)
        totals = totals_of(target, found)
        if not o.json:
            print()
            for text, goal, reached in goals_of(target, totals):
                print("%-4s %s [%s]" % ("ok" if reached else "MISS", text, goal))
            print()
        for f in found:
            for side in ("only_xla", "only_ours"):
                if side in f:
                    f[side] = [[*key, n] for key, n in sorted(f[side].items(), key=str)]
        document[target] = {"rows": found, "totals": totals}
    if o.json:
        print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
