#!/usr/bin/env python3
"""Distinct kernels of all that was compiled: the text of each as XLA for TPU scheduled it, XLA's cycles for it, and our own time.

    distinct.py                 how many there are, and how far off we are, by device, kind and family
    distinct.py --add DIR       adds those of the scheduled texts that mint.py --keep, bank.py --keep and compile_many.py left in DIR

A kernel is an instruction that has the compiler's estimate, with types, layouts and memory spaces of its operands and result, and all that is fused into it. Two are one where
these are the same but for names. Ours is `shardwright simulate` of a program of these kernels without the estimates: it has to price them by the device's profile alone.
docs/judged.md says what of the model was read from these rows.
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
import compile_many  # noqa: E402

KERNELS = os.path.join(HERE, "kernels.json.zst")
ESTIMATE = re.compile(r'"estimated_cycles":"(\d+)"')
ATTRIBUTES = ("metadata", "backend_config", "operand_layout_constraints", "frontend_attributes", "sharding")  # of which no kernel is another one
COLLECTIVE = re.compile(r"%\w+ = (?:\(.*?\)|\S+) (?:all-|reduce-scatter|collective-)")
CALLED = re.compile(r"(?:calls|to_apply|select|scatter)=%([\w.-]+)")
KINDS = (("gather", ("gather",)), ("scatter", ("scatter", "select-and-scatter")), ("sort", ("sort",)), ("sum of windows", ("reduce-window",)), ("reduction", ("reduce",)),
         ("update of a slice", ("dynamic-update-slice",)), ("slice", ("dynamic-slice", "slice")), ("copy, pad, join", ("copy", "transpose", "pad", "concatenate", "reverse")))
MOST_CYCLES = 1 << 50  # of gathers by index libtpu 0.0.51 writes near 2^63: it has no estimate
LEAST_US = 5  # of kernels whose errors are counted: a launch takes one


@functools.cache
def clock_of(device):
    """Hz of the compiler's cycles."""
    with open(os.path.join(cases.ROOT, "costmodel", "devices", device + ".json")) as f:
        return json.load(f)["cycles_s"]["value"]


def load():
    """device -> {text of a kernel: [family, cycles, times seen, blocks of output, input and kernel]}"""
    if not os.path.exists(KERNELS):
        return {}
    return json.loads(subprocess.run(["zstd", "-qdc", "--long=27", KERNELS], check=True, capture_output=True).stdout)


def save(kernels):
    text = json.dumps({device: dict(sorted(of.items())) for device, of in sorted(kernels.items())}, indent=0)
    subprocess.run(["zstd", "-q", "-19", "--long=27", "-f", "-o", KERNELS + ".new", "-"], check=True, input=text.encode())
    os.replace(KERNELS + ".new", KERNELS)


def without(rest, word):
    """An instruction's text without one of its attributes, whose value is in braces."""
    at = rest.find(", %s={" % word)
    if at < 0:
        return rest
    depth, quoted = 0, False
    for end in range(rest.index("{", at), len(rest)):
        c = rest[end]
        quoted ^= c == '"' and rest[end - 1] != "\\"
        depth += 0 if quoted else (c == "{") - (c == "}")
        if not depth:
            return rest[:at] + rest[end + 1:]
    return rest[:at]


class Text:
    """A scheduled module's computations: name -> [(name, type, opcode, rest of the line)], the root last."""

    def __init__(self, text):
        self.bodies = bank.bodies_of(re.sub(r"/\*.*?\*/", "", text))

    def written(self, name, named, out):
        """Appends the computation, those that it calls first, by names in order of their first use."""
        if name in named:
            return
        lines, names = [], {}
        for i, (instruction, result, opcode, rest) in enumerate(self.bodies[name]):
            for word in ATTRIBUTES:
                rest = without(rest, word)
            for called in CALLED.findall(rest):
                self.written(called, named, out)
            names[instruction] = "i%d" % i
            rest = re.sub(r"%([\w.-]+)", lambda m: "%" + (names.get(m[1]) or named.get(m[1]) or m[1]), rest)
            lines.append("%%i%d = %s %s(%s" % (i, result, opcode, rest))
        named[name] = "c%d" % len(named)
        out.append((named[name], lines))

    def kernels(self):
        """(text of the kernel: its computations as [[name, lines], ..], then types of operands and its own line; cycles; blocks of the compiler's windows)."""
        for body in self.bodies.values():
            types = {name: result for name, result, _, _ in body}
            for name, result, opcode, rest in body:
                cycles = ESTIMATE.search(rest)
                if not cycles or not 0 < int(cycles[1]) < MOST_CYCLES or opcode in ("while", "conditional", "call"):
                    continue
                operands = re.findall(r"%([\w.-]+)", rest.split("), ")[0])
                if not all(o in types for o in operands):
                    continue
                blocks = [re.findall(r"\d+", found[1]) if (found := re.search(r'"%s_window_bounds":\[([^\]]*)\]' % part, rest)) else [] for part in ("output", "input", "kernel")]
                for word in ATTRIBUTES:
                    rest = without(rest, word)
                named, out = {}, []
                for called in CALLED.findall(rest):
                    self.written(called, named, out)
                if any(COLLECTIVE.match(line) for _, lines in out for line in lines):
                    continue  # part of a collective runs in it
                numbers = {}
                for o in operands:
                    numbers.setdefault(o, "p%d" % len(numbers))
                rest = re.sub(r"%([\w.-]+)", lambda m: "%" + (numbers.get(m[1]) or named.get(m[1]) or m[1]), rest)
                yield json.dumps([out, [types[o] for o in numbers], [result, opcode, rest]]), int(cycles[1]), [[int(n) for n in b] for b in blocks]


def of_kernels(texts):
    """A scheduled module of these kernels, one behind the other, and the names of their instructions."""
    computations, parameters, lines, names = [], [], [], []
    for k, text in enumerate(texts):
        called, types, (result, opcode, rest) = json.loads(text)

        def own(line, k=k):
            return re.sub(r"%c(\d+)\b", "%%k%d_c\\1" % k, line)
        for name, body in called:
            head = ", ".join("p%d: %s" % (int(re.search(r"parameter\((\d+)\)", b)[1]), re.sub(r"\{[^{}]*\}", "", b.split(" = ", 1)[1].split(" parameter(")[0])) for b in body if " parameter(" in b)
            root = re.match(r"%\w+ = (\(.*?\)|\S+) ", body[-1])[1]
            computations.append("%%k%d_%s (%s) -> %s {\n%s\n}\n" % (k, name, head, re.sub(r"\{[^{}]*\}", "", root),
                                                                  "\n".join(("  " if i + 1 < len(body) else "  ROOT ") + own(b) for i, b in enumerate(body))))
        numbers = {}
        for i, t in enumerate(types):
            numbers["p%d" % i] = "a%d" % len(parameters)
            parameters.append(t)
        names.append("k%d" % k)
        lines.append("  %%k%d = %s %s(%s" % (k, result, opcode, own(re.sub(r"%(p\d+)\b", lambda m: "%" + numbers[m[1]], rest))))
    bare = [re.sub(r"\{[^{}]*\}", "", t) for t in parameters]
    head = ["  %%a%d = %s parameter(%d)" % (i, t, i) for i, t in enumerate(parameters)]
    return "HloModule kernels, is_scheduled=true\n\n%s\nENTRY %%main (%s) -> () {\n%s\n  ROOT %%out = () tuple()\n}\n" % (
        "\n".join(computations), ", ".join("a%d: %s" % (i, t) for i, t in enumerate(bare)), "\n".join(head + lines)), names


def our_times(texts, device):
    """ns of each kernel by the profile alone."""
    out = []
    for first in range(0, len(texts), 1000):
        module, names = of_kernels(texts[first:first + 1000])
        with tempfile.NamedTemporaryFile("w", suffix=".hlo") as f:
            f.write(module)
            f.flush()
            ops = json.loads(cases.run("simulate", f.name, "--device", device, "--json", "--ops"))["ops"]
        times = {o["name"].lstrip("%"): o["end_ns"] - o["start_ns"] for o in ops}
        out += [times.get(n, 0) for n in names]
    return out


def add(text, device, family, kernels):
    """The kernels of a scheduled text; returns how many were new. A row: [family, cycles, times seen, blocks of output, input and kernel]."""
    of, new = kernels.setdefault(device, {}), 0
    for key, cycles, blocks in Text(text).kernels():
        if key in of:
            of[key][2] += 1
            continue
        of[key] = [family, cycles, 1, blocks]
        new += 1
    return new


def add_folder(folder, kernels):
    family_of = {**compile_many.programs(), **{c.program: c.family for c in cases.CASES}}
    for path in sorted(glob.glob(os.path.join(folder, "*.hlo.zst"))):
        with open(path[:-len(".hlo.zst")] + ".json") as f:
            kept = json.load(f)
        text = subprocess.run(["zstd", "-qdc", path], check=True, capture_output=True, text=True).stdout
        program = kept["key"].split(" ")[0]
        new = add(text, kept["device"], family_of.get(program, program), kernels)
        print("%-90s %5d new of %6d" % (kept["key"][:90], new, sum(map(len, kernels.values()))), flush=True)


def kind_of(text):
    computations, _, (_, opcode, rest) = json.loads(text)
    lines = [line for _, body in computations for line in body] + ["%%k = x[] %s(%s" % (opcode, rest)]
    ops = {found[1]: line for line in lines if (found := re.match(r"%\w+ = (?:\(.*?\)|\S+) ([\w-]+)", line))}
    if "convolution" in ops or "dot" in ops:  # products of a batch are written with holes
        over = re.search(r"window=\{size=([\dx]+)(?![^}]*(?:lhs_dilate|rhs_reversal))", ops.get("convolution", ""))
        return "convolution" if over and set(over[1].split("x")) != {"1"} else "product"
    return next((kind for kind, some in KINDS if ops.keys() & set(some)), "elementwise")


def line(what, rows):
    """rows: (XLA's ns, ours)"""
    errors = [ours / theirs - 1 for theirs, ours in rows if theirs >= 1000 * LEAST_US]
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
    rows = []
    for device, of in sorted(kernels.items()):
        texts = list(of)
        rows += [(device, kind_of(text), of[text][0], (of[text][1] / clock_of(device) * 1e9, ours)) for text, ours in zip(texts, our_times(texts, device))]
    print("%-28s %8s %6s %8s %8s %8s %8s" % ("", "distinct", "%d us+" % LEAST_US, "size", "median", "in 15%", "in 25%"))
    for i, title in enumerate(("device", "kind", "family")):
        print(title)
        for what in sorted({row[i] for row in rows}):
            line("  " + what, [row[3] for row in rows if row[i] == what])
    line("all", [row[3] for row in rows])


if __name__ == "__main__":
    main()
