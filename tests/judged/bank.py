#!/usr/bin/env python3
"""A bank of kernels: short programs with hand-written plans, applied exactly, as XLA for TPU compiles them.

    bank.py [--programs GLOB] [--plans 2] [--keep DIR] [--seconds 900] [--tools DIR]

A row that is there is left alone while its module is the same, so that it can be stopped and started again. Rows go to bank.json.zst: the step and its parts by
xla_timeline.py, the compiler's memory and seconds, and of every scheduled instruction what a model may see: see instructions_of.
Needs jax, libtpu and the two scripts in --tools (../shared/tools beside the checkout). One compile at a time.
"""
import fnmatch
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import cases  # noqa: E402
import mint  # noqa: E402
import short  # noqa: E402
from experts import Program, experts_of  # noqa: E402

BANK = os.path.join(HERE, "bank.json.zst")
MESH, DEVICE, TOPOLOGY = "data=4,model=4", "tpu-v5e", "v5e:4x4"
INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%([\w.-]+) = (\(.*?\)|\S+) ([\w-]+)\((.*)$")
KERNELS = ("fusion", "convolution", "copy", "custom-call", "sort", "scatter", "gather", "reduce", "reduce-window", "while", "conditional",
           "copy-start", "copy-done", "slice-start", "slice-done", "async-start", "async-done", "dynamic-slice", "dynamic-update-slice", "all-gather",
           "all-reduce", "reduce-scatter", "all-to-all", "collective-permute", "all-gather-start", "all-gather-done", "all-reduce-start",
           "all-reduce-done", "collective-permute-start", "collective-permute-done", "transpose", "broadcast", "iota", "select-and-scatter", "pad", "concatenate", "slice", "call")


def load():
    if not os.path.exists(BANK):
        return {}
    return json.loads(subprocess.run(["zstd", "-qdc", BANK], check=True, capture_output=True).stdout)


def save(bank):
    text = "{\n" + ",\n".join("%s: %s" % (json.dumps(k), json.dumps(bank[k], sort_keys=True)) for k in sorted(bank)) + "\n}\n"
    subprocess.run(["zstd", "-q", "-19", "-f", "-o", BANK + ".new", "-"], check=True, input=text.encode())
    os.replace(BANK + ".new", BANK)


def path_of(name):
    path = os.path.join(short.FOLDER, name + ".mlir.zst")
    return path if os.path.exists(path) else os.path.join(short.CORPUS, name.replace("_short", "") + ".mlir.zst")


def digest_of(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()[:16]


def called_by(instruction):
    found = re.findall(r"(?:calls|body|to_apply|true_computation|false_computation)=%([\w.-]+)", instruction[3])
    branches = re.search(r"branch_computations=\{([^}]*)\}", instruction[3])
    return found + re.findall(r"%([\w.-]+)", branches[1] if branches else "")


def bodies_of(text):
    """computation (the entry is called ENTRY) -> its instructions: [(name, type, opcode, rest of the line), ..], the root last."""
    bodies, name = {}, None
    for line in text.splitlines():
        if line[:1] not in (" ", "}", "") and line.rstrip().endswith("{") and "->" in line:
            name = "ENTRY" if line.startswith("ENTRY") else re.match(r"%?([\w.-]+)", line)[1]
            bodies[name] = []
        elif line.startswith("}"):
            name = None
        elif name and (found := INSTRUCTION.match(line)):
            bodies[name].append(found.groups())
    return bodies


def instructions_of(text):
    """The schedule, computation by computation: {name: [[instruction, opcode, type with layout and memory space S(n), operands,
    cycles or None, ops inside, called computations], ..]}; of fused computations only the counts of their ops."""
    bodies = bodies_of(text)
    scheduled, reached = set(), ["ENTRY"]
    while reached:
        scheduled.add(reached.pop())
        body = [i for name in scheduled for i in bodies.get(name, [])]
        reached = [c for i in body if i[2] in ("while", "conditional", "call") for c in called_by(i) if c not in scheduled]
    inside, out = {}, {}
    for name, body in bodies.items():
        counts = {}
        for i in body:
            what = i[2]
            if what == "convolution":
                window = re.search(r"window=\{([^}]*)\}", i[3])
                labels = re.search(r"dim_labels=([\w>-]+)", i[3])
                what += " %s %s %s" % (i[1].split("{")[0], window[1] if window else "", labels[1] if labels else "")
            counts[what] = counts.get(what, 0) + 1
        inside[name] = counts
    for name, body in bodies.items():
        if name not in scheduled:
            continue
        out[name] = []
        for i in body:
            cycles = re.search(r'estimated_cycles":"(\d+)"', i[3])
            called = called_by(i)
            trips = re.search(r'known_trip_count":\{"n":"(\d+)"', i[3])
            out[name].append([i[0], i[2], i[1], re.findall(r"%([\w.-]+)", i[3].split("), ")[0]), int(cycles[1]) if cycles else None,
                              inside.get(called[0]) if i[2] == "fusion" and called else None, int(trips[1]) if trips else None, called if i[2] in ("while", "conditional", "call") else None])
    return out


def plans_of(program, most):
    """The hand-written plans that we say are fastest, of different cost, and plain data parallelism: [(name, document)]."""
    mesh = {axis: int(size) for axis, size in (a.split("=") for a in MESH.split(","))}
    found = []
    for name, document in experts_of(program, mesh):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            json.dump(document, f)
            f.flush()
            cost = json.loads(cases.run("evaluate", program.path, "--strategy", f.name, "--device", DEVICE, "--json"))
        found.append((name != "batch(data+model)", cost["runtime_ns"], name, document))
    found.sort(key=lambda x: x[:3])
    kept, seen = [], set()
    for _, runtime, name, document in found:
        if runtime not in seen and len(kept) < most:
            seen.add(runtime)
            kept.append((name, document))
    return kept


def mint_program(name, bank, options):
    program = Program(short.SHORT[name][1], cases.TOOL, path_of(name))
    for plan, document in plans_of(program, options.plans):
        key = "%s | %s | exact" % (name, plan)
        with tempfile.TemporaryDirectory() as folder:
            strategy, module = os.path.join(folder, "s.json"), os.path.join(folder, re.sub(r"\W+", "_", key) + ".mlir")
            with open(strategy, "w") as f:
                json.dump(document, f)
            cases.run("apply", path_of(name), "--strategy", strategy, "--apply", "exact", "-o", module)
            digest = digest_of(module)
            if key in bank and bank[key].get("module") == digest:
                continue
            row = mint.judge(module, key, cases.Case(short.SHORT[name][0], name, MESH, DEVICE, TOPOLOGY), options)
            if "xla" in row:
                with open(module + ".hlo") as f:
                    row["schedule"] = instructions_of(f.read())
        bank[key] = {"family": short.SHORT[name][0], "module": digest, "strategy": document, **row}
        save(bank)
        print("%-70s %s  %5.0f s" % (key, "%9.3f ms" % (row["xla"]["step"] / 1e3) if "xla" in row else row.get("error", "out of memory"), row["compile_s"]), flush=True)


def main():
    parser = mint.parser_of(__doc__.splitlines()[0])
    parser.add_argument("--programs", default="*")
    parser.add_argument("--plans", type=int, default=2, help="hand-written plans per program")
    options = parser.parse_args()
    bank = load()
    for name in short.SHORT:
        if fnmatch.fnmatch(name, options.programs):
            mint_program(name, bank, options)


if __name__ == "__main__":
    main()
