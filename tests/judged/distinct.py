#!/usr/bin/env python3
"""Distinct kernels of all that was compiled: what a model may see of each, XLA's cycles for it, and our own time.

    distinct.py                 how many there are, and how far off we are, by device, family and kind
    distinct.py --add DIR       adds those of the scheduled texts that mint.py --keep and bank.py --keep left in DIR

Two kernels are one where opcode, types with layout and memory space of operands and results, and the ops inside are the same. Ours is `shardwright simulate` of the text without
the compiler's estimates, which has to price what it reads by the device's profile alone. Nothing is fitted to these rows.
"""
import argparse
import functools
import glob
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import bank  # noqa: E402
import cases  # noqa: E402

KERNELS = os.path.join(HERE, "kernels.json.zst")
ESTIMATE = re.compile(r'"estimated_cycles":"\d+",?')
LEAST_US = 5  # of kernels whose errors are counted: a launch takes one


@functools.cache
def clock_of(device):
    """Hz of the compiler's cycles."""
    with open(os.path.join(cases.ROOT, "costmodel", "devices", device + ".json")) as f:
        return json.load(f)["cycles_s"]["value"]


def load():
    if not os.path.exists(KERNELS):
        return {}
    return json.loads(subprocess.run(["zstd", "-qdc", KERNELS], check=True, capture_output=True).stdout)


def save(kernels):
    text = "{\n" + ",\n".join("%s: %s" % (json.dumps(k), json.dumps(kernels[k])) for k in sorted(kernels)) + "\n}\n"
    subprocess.run(["zstd", "-q", "-19", "-f", "-o", KERNELS + ".new", "-"], check=True, input=text.encode())
    os.replace(KERNELS + ".new", KERNELS)


def our_times(text, device):
    """ns of each instruction by the profile alone."""
    with tempfile.NamedTemporaryFile("w", suffix=".hlo") as f:
        f.write(ESTIMATE.sub("", text))
        f.flush()
        ops = json.loads(cases.run("simulate", f.name, "--device", device, "--json", "--ops"))["ops"]
    return {o["name"].lstrip("%"): o["end_ns"] - o["start_ns"] for o in ops}


def add(text, device, family, kernels):
    """The kernels of a scheduled text; returns how many were new. A row: [device, family, cycles, our ns, times seen]."""
    ours, new = our_times(text, device), 0
    for body in bank.instructions_of(text).values():
        types = {i[0]: i[2] for i in body}
        for name, opcode, result, operands, cycles, inside, *_ in body:
            if not cycles or opcode in ("while", "conditional", "call") or name not in ours:
                continue
            key = json.dumps([device, opcode, result, [types.get(o) for o in operands], inside], sort_keys=True)
            if key in kernels:
                kernels[key][4] += 1
                continue
            kernels[key] = [device, family, cycles, ours[name], 1]
            new += 1
    return new


def add_folder(folder, kernels):
    family_of = {c.program: c.family for c in cases.CASES}
    for path in sorted(glob.glob(os.path.join(folder, "*.hlo.zst"))):
        with open(path[:-len(".hlo.zst")] + ".json") as f:
            kept = json.load(f)
        text = subprocess.run(["zstd", "-qdc", path], check=True, capture_output=True, text=True).stdout
        program = kept["key"].split(" ")[0]
        new = add(text, kept["device"], family_of.get(program, program), kernels)
        print("%-90s %5d new of %6d" % (kept["key"][:90], new, len(kernels)), flush=True)


def kind_of(key):
    _, opcode, _, _, inside = json.loads(key)
    ops = {name.split(" ")[0] for name in inside or {}} | {opcode}
    for kind, some in (("product or convolution", ("convolution", "dot")), ("gather, scatter, sort", ("gather", "scatter", "sort", "select-and-scatter")), ("reduction", ("reduce", "reduce-window")),
                       ("slice or update", ("dynamic-slice", "dynamic-update-slice")), ("copy", ("copy", "transpose", "pad", "concatenate", "reverse"))):
        if ops & set(some):
            return kind
    return "elementwise"


def line(what, rows):
    pairs = [(cycles / clock_of(device) * 1e9, ours) for device, _, cycles, ours, _ in rows]
    errors = [ours / theirs - 1 for theirs, ours in pairs if theirs >= 1000 * LEAST_US]
    sizes = sorted(map(abs, errors))
    figures = "%6d %7.0f%% %+7.0f%% %7.0f%% %7.0f%%" % (len(errors), 100 * statistics.median(sizes), 100 * statistics.median(errors), 100 * sum(e <= .15 for e in sizes) / len(sizes),
                                                       100 * sum(e <= .25 for e in sizes) / len(sizes)) if errors else ""
    print(("%-28s %8d %s" % (what, len(rows), figures)).rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--add", metavar="DIR", help="folder with scheduled texts")
    options = parser.parse_args()
    kernels = load()
    if options.add:
        add_folder(options.add, kernels)
        save(kernels)
    print("%-28s %8s %6s %8s %8s %8s %8s" % ("", "distinct", "%d us+" % LEAST_US, "size", "median", "in 15%", "in 25%"))
    for title, of in (("device", lambda key, row: row[0]), ("kind", lambda key, row: kind_of(key)), ("family", lambda key, row: row[1])):
        print(title)
        groups = {}
        for key, row in kernels.items():
            groups.setdefault(of(key, row), []).append(row)
        for what in sorted(groups):
            line("  " + what, groups[what])
    line("all", list(kernels.values()))


if __name__ == "__main__":
    main()
