#!/usr/bin/env python3
"""Random programs partitioned under random and searched plans, the program of one device against the whole program on 8 host devices.

    exact.py [--count N] [--seed S] [--jobs J] [--state FILE] [--steps M] [--plans P,..]
    exact.py --seed S [--plans P] [--parts K,..] --show      that module, and what is wrong with its programs
    exact.py --seed S [--plans P] [--parts K,..] --shrink    the first of them that is wrong, made as small as it gets

A module holds a few programs (random_chains.py, random_steps.py), since starting a compiler takes longer than running them; one that
fails is taken apart. `--count` counts programs. Every module has a seed, which is printed with what is wrong. Finished modules go to the
state file, and the same command goes on where it stopped, as long as the tool and the generator are the same. Exit code 1 when
anything differs.

Plans: cuts (values cut at random everywhere), search (what `shardwright search` finds), and both of training steps made by JAX (steps cut,
steps searched), which run three times, each with the parameters and the state that the one before gave.

Compared are the numbers (integers, and floats that are whole, bit by bit; the others within a tolerance of their type), and the bytes of
arguments, results and donated arguments as XLA counts them, with ours."""
import argparse
import collections
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import cases  # noqa: E402
import emitted  # noqa: E402

import execute  # noqa: E402
import random_chains  # noqa: E402
import random_steps  # noqa: E402
from annotate import annotate  # noqa: E402
from child import Crash, Resident  # noqa: E402

MESHES = ((("a", 2), ("b", 4)), (("a", 2), ("b", 2), ("c", 2)), (("a", 8),), (("a", 4), ("b", 2)), (("a", 3), ("b", 2)))
DEVICE = "h100"  # pads no buffers, as XLA's CPU compiler
BYTES = ("argument_bytes", "output_bytes", "alias_bytes")
PARTS = 5
PLANS = ("cuts", "search")
STEPS = ("steps cut", "steps searched")  # the same of training steps
# Compiling is what takes the time. What differs is asked again in the other ways: jaxlib 0.10.2 has defects of its own in each of them
# (execute.PLAIN), and only what is wrong in all of them is ours.
QUICK = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}
WAYS = (QUICK, {}, execute.PLAIN)
LOOSEST = {"bf16": .25, "f16": .1}
resident = Resident()


# ---------------------------------------------------------------- in the child that runs


def value(rng, shape, element):
    """Small whole numbers of any type."""
    import ml_dtypes
    import numpy as np
    if element == "i1":
        return rng.integers(0, 2, shape).astype(bool)
    if element.startswith("ui"):
        return rng.integers(0, 8, shape).astype("u" + element[1:].replace("i", "int"))
    numbers = rng.integers(-4, 5, shape)
    if element.startswith("complex"):
        return (numbers + 1j * rng.integers(-4, 5, shape)).astype(np.complex64)
    return numbers.astype(ml_dtypes.bfloat16 if element == "bf16" else element.replace("i", "int").replace("f", "float"))


def types_of(text):
    from annotate import main_of
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        main = main_of(module)
        kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
        return [[(tuple(ir.RankedTensorType(t).shape), str(ir.RankedTensorType(t).element_type)) for t in types] for types in (kind.inputs, kind.results)]


def executed(text, carried, options=QUICK):
    """(results, bytes as XLA counts them); carried: so many results are the first arguments of the next of three rounds."""
    import jax
    import memory
    import numpy as np
    from jax._src import sharding_impls
    jax.config.update("jax_enable_x64", True)
    inputs, outputs = types_of(text)
    executable, _, devices = memory.load(text, options)
    rng = np.random.default_rng(0)
    values = [value(rng, *kind) for kind in inputs]
    if carried:
        values = [v / 8 if v.dtype.kind == "f" else v for v in values]

    def shardings(found, n):
        return [sharding_impls.GSPMDSharding(tuple(devices), s) for s in found or []] or [jax.sharding.SingleDeviceSharding(devices[0])] * n

    put, taken = shardings(executable.get_parameter_shardings(), len(inputs)), shardings(executable.get_output_shardings(), len(outputs))
    for _ in range(3 if carried else 1):
        parts = executable.execute_sharded([jax.device_put(v, s) for v, s in zip(values, put)]).disassemble_into_single_device_arrays()
        results = [np.asarray(jax.make_array_from_single_device_arrays(shape, s, list(p))) for (shape, _), s, p in zip(outputs, taken, parts)]
        values = results[:carried] + values[carried:]
    stats = executable.get_compiled_memory_stats()
    table = 8 * len(outputs) if len(outputs) > 1 else 0
    return results, {"argument_bytes": stats.argument_size_in_bytes, "output_bytes": stats.output_size_in_bytes - table, "alias_bytes": stats.alias_size_in_bytes}


known = {}


def wanted(text, carried, options):
    key = text, carried, str(options)
    if key not in known:
        if len(known) > 4:
            known.clear()
        known[key] = executed(text, carried, options)[0]
    return known[key]


def apart(mine, want, sure, tolerance, rms):
    """None, or how far one result is from what it should be."""
    import numpy as np
    kind = str(want.dtype)
    if sure:
        same = (mine == want) | ((mine != mine) & (want != want))
        return None if np.all(same) else "%d of %d elements" % (np.size(same) - np.sum(same), np.size(same))
    mine, want = (np.asarray(x).astype(np.complex128 if "complex" in kind else np.float64) for x in (mine, want))
    fine = np.isfinite(want)
    if np.any(~np.isfinite(mine[fine])):
        return "not finite"
    scale = max(rms, float(np.abs(want[fine]).max(initial=0)))
    error = float(np.abs(mine - want)[fine].max(initial=0)) / scale
    return None if error <= min(tolerance, LOOSEST.get({"bfloat16": "bf16", "float16": "f16"}.get(kind), 1e-2)) else "%.1e, tolerance %.1e" % (error, tolerance)


def compared(whole, parted, checks, carried, options):
    """({result: what is wrong}, bytes) of a partitioned text against the whole one."""
    want = wanted(whole, carried, options)
    found, sizes = executed(parted, carried, options)
    return {i: wrong for i, (mine, w, (_, sure, tolerance, rms)) in enumerate(zip(found, want, checks)) if (wrong := apart(mine, w, sure, tolerance, rms))}, sizes


class LeftOut(Exception):
    """XLA does not compile or run the whole program."""


# ---------------------------------------------------------------- one module


class Wrong(Exception):
    """.args: the word, and what was said."""


class Module:
    """The programs `parts` of a seed under one plan."""

    def __init__(self, seed, plan, parts=range(PARTS)):
        r = random.Random("module %s" % seed)
        self.seed, self.plan, self.parts = seed, plan, list(parts)
        self.mesh = r.choice(MESHES)
        density, arguments, donate = r.choice((0, .1, .3, .3, .8)), r.choice((.3, .7, 1)), r.choice((0, .5))
        self.flags = ["--seed", seed, "--evaluations", r.choice((10, 40)), "--threads", 1] + r.choice(([], ["--objective", "memory"], ["--objective", "memory"], ["--open-results"]))
        self.share = r.choice((0, .2, .4, .7))
        if plan in STEPS:
            self.take_step(r)
            return
        self.carried = 0
        program = random_chains.Program(seed, self.mesh, density, arguments, emitted.random_sharding, self.parts, donate)
        self.text, self.checks = program.text, program.checks
        self.whole = random_chains.whole(self.text)


    def take_step(self, r):
        """Three training steps, one program."""
        self.parts = self.parts[:1]
        self.whole, self.carried = resident(random_steps.text, self.seed)
        _, outputs = resident(types_of, self.whole)
        low = "bf16" in self.whole
        self.checks = [(self.parts[0], False, .05 if low else 2e-3, .1 if low else 1e-3) for _ in outputs]
        patterns = [(name, emitted.random_sharding(r, self.mesh, len(shape))) for name, shape in cases.signature(self.whole) if r.random() < .6]
        self.text = annotate(self.whole, ",".join("%s=%d" % axis for axis in self.mesh), patterns, r.choice(("donated", "open"))) if self.plan == STEPS[0] else self.whole


def say(tool, *words, codes=(0,), given=None):
    done = subprocess.run([tool, *map(str, words)], capture_output=True, text=True, timeout=120, input=given)
    if done.returncode not in codes:
        raise Wrong("crashed" if done.returncode < 0 or done.returncode > 64 else "refused", "%s: exit %d: %s" % (words[0], done.returncode, done.stderr[-1500:]))
    return done.stdout


def searched(tool, path, module):
    """The flags of its search."""
    flags = ["--mesh", ",".join("%s=%d" % axis for axis in module.mesh), "--device", DEVICE, "--apply", "exact", *module.flags]
    if module.share:
        alone = json.loads(say(tool, "simulate", path, "--device", DEVICE, "--json"))
        flags += ["--memory", "%dB" % max(64, int(alone["peak_bytes"] * module.share))]
    return flags


def partitioned(tool, folder, module):
    """(text of the program of one device, our bytes)"""
    path, out = os.path.join(folder, "module.mlir"), os.path.join(folder, "out.mlir")
    if module.plan in (PLANS[1], STEPS[1]):
        with open(path, "w") as f:
            f.write(module.whole)
        document = json.loads(say(tool, "search", path, *searched(tool, path, module), "--json", "--emit-mlir", out, codes=(0, 2)))
        if document["apply"] != "exact":
            raise Wrong("refused", "apply is %s" % document["apply"])
        with open(out) as f:
            return f.read(), document["cost"]
    with open(path, "w") as f:
        f.write(module.text)
    text = say(tool, "lower", path, "--emit-mlir", "-", "--level", "exact", "--global")
    with open(out, "w") as f:
        f.write(text)
    return text, json.loads(say(tool, "simulate", out, "--device", DEVICE, "--json"))


def complaint(crash):
    said = str(crash.args[0])
    return next((line for line in said.splitlines() if re.match(r"[\w.]*(Error|Wrong)\w*: ", line)), said[-300:])


def outcome(whole, parted, ours, checks, carried):
    """{result: what is wrong}; raises Wrong or LeftOut for a module that does not run."""
    said = None
    for options in WAYS:
        try:
            found, theirs = resident(compared, whole, parted, checks, carried, options)
            if not found:
                break
            said = None
        except Crash as crash:
            try:
                resident(wanted, whole, carried, options)
                said = said or Wrong("refused by XLA", complaint(crash))
            except Crash as crash:
                said = said or LeftOut(complaint(crash))
    else:
        if said and emitted.known(said):
            raise LeftOut(str(said))
        if said:
            raise said
    if {word: ours[word] for word in BYTES} != theirs:
        raise Wrong("bytes", "ours %s, XLA's %s" % ({word: ours[word] for word in BYTES}, theirs))
    return found


def verdicts(tool, folder, module):
    """[(parts, word, what was said)] of the module's programs; the programs of one that fails on their own."""
    try:
        text, ours = partitioned(tool, folder, module)
        found = outcome(module.whole, text, ours, module.checks, module.carried)
    except (Wrong, LeftOut, subprocess.TimeoutExpired) as wrong:
        if len(module.parts) > 1:
            half = len(module.parts) // 2
            apart_ = [v for parts in (module.parts[:half], module.parts[half:]) for v in verdicts(tool, folder, Module(module.seed, module.plan, parts))]
            if all(v[1] == "equal" for v in apart_) and isinstance(wrong, Wrong):
                return [(module.parts, *wrong.args)]
            return apart_
        if isinstance(wrong, Wrong):
            return [(module.parts, *wrong.args)]
        return [(module.parts, "hung" if isinstance(wrong, subprocess.TimeoutExpired) else "left out", str(wrong))]
    out = []
    for part in module.parts:
        mine = {i: w for i, w in found.items() if module.checks[i][0] == part}
        out.append(([part], "wrong" if mine else "equal", "; ".join("result %d: %s" % pair for pair in mine.items())))
    return out


# ---------------------------------------------------------------- many


def build_of(tool):
    """What answers depend on: the tool's bytes and the generators'."""
    digest = hashlib.sha256()
    for path in [tool] + [os.path.join(HERE, name + ".py") for name in ("exact", "random_chains", "random_steps", "random_ops", "random_windows", "emitted", "memory")]:
        with open(path, "rb") as f:
            digest.update(f.read())
    return digest.hexdigest()[:16]


def work(options, todo):
    with tempfile.TemporaryDirectory() as folder:
        for k, (seed, plan) in enumerate(todo):
            begin = time.time()
            found = verdicts(options.tool, folder, Module(seed, plan))
            line = {"build": options.build, "seed": seed, "plan": plan, "words": collections.Counter(), "bad": []}
            for parts, word, said in found:
                line["words"][word] += len(parts)
                if word == "equal":
                    continue
                line["bad"].append([parts, word, said[-300:]])
                if word != "left out":
                    print("seed %d, programs %s, %s: %s: %s" % (seed, parts, plan, word, said.strip().replace("\n", " ")[:300]), flush=True)
            line["seconds"] = round(time.time() - begin, 2)
            with open(options.state, "a") as f:
                f.write(json.dumps(line) + "\n")
            if k % 50 == 49:
                print("%d of %d modules" % (k + 1, len(todo)), flush=True)
                resident.close()  # what XLA has compiled stays in memory
    resident.close()


def lines_of(options, todo):
    found = {}
    if os.path.exists(options.state):
        with open(options.state) as f:
            for line in f:
                if line.endswith("\n"):
                    line = json.loads(line)
                    if line["build"] == options.build and (line["seed"], line["plan"]) in todo:
                        found[line["seed"], line["plan"]] = line
    return found


def table(lines):
    """Prints the figures of every kind of plan; returns how many programs are not right."""
    plans = collections.defaultdict(collections.Counter)
    for line in lines:
        plans[line["plan"]].update(line["words"])
        plans["all"].update(line["words"])
    words = sorted({w for c in plans.values() for w in c} - {"equal"})
    print("%-14s %9s %9s %s" % ("plan", "programs", "equal", " ".join("%14s" % w for w in words)))
    for plan in sorted(plans, key=lambda p: (p == "all", p)):
        c = plans[plan]
        print("%-14s %9d %9d %s" % (plan, sum(c.values()), c["equal"], " ".join("%14d" % c[w] for w in words)))
    print("%d modules in %.0f worker seconds" % (len(lines), sum(line["seconds"] for line in lines)))
    return sum(n for w, n in plans["all"].items() if w not in ("equal", "left out"))


def run_many(options):
    import jax._src.interpreters.mlir  # noqa: F401  loaded once, inherited by the children
    seeds = range(options.seed, options.seed + -(-options.count // PARTS))
    options.build = build_of(options.tool)
    wanted_ = {(seed, plan) for seed in seeds for plan in options.plans if plan in PLANS}
    wanted_ |= {(seed, plan) for seed in range(options.seed, options.seed + options.steps) for plan in options.plans if plan in STEPS}
    done = lines_of(options, wanted_)
    todo = sorted(wanted_ - set(done))
    print("%d modules, %d are done" % (len(wanted_), len(done)), flush=True)
    children = []
    for j in range(options.jobs):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                work(options, [t for t in todo if t[0] % options.jobs == j])
                code = 0
            except BaseException:  # noqa: BLE001
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os._exit(code)
        children.append(child)
    failed = [os.waitpid(child, 0)[1] for child in children]
    return 1 if table(lines_of(options, wanted_).values()) or any(failed) else 0


def gist(said):
    """What was wrong, without places and numbers."""
    found = re.search(r"(?:error|Error): (.*)", said)
    return re.sub(r"\d+", "N", found[1]) if found else ""


def tested(tool, folder, word, said):
    """text -> whether it fails in the way of the word. Floats count where they are far off: shrinking forgets what is whole."""
    def test(text):
        path = os.path.join(folder, "shrunk.mlir")
        with open(path, "w") as f:
            f.write(text)
        try:
            parted = say(tool, "lower", path, "--emit-mlir", "-", "--level", "exact", "--global")
            with open(path, "w") as f:
                f.write(parted)
            ours = json.loads(say(tool, "simulate", path, "--device", DEVICE, "--json"))
            _, outputs = resident(types_of, text)
            checks = [(0, not re.match("b?f|c", kind), .02, 1.0) for _, kind in outputs]
            return word == "wrong" and bool(outcome(random_chains.whole(text), parted, ours, checks, 0))
        except Wrong as wrong:
            return wrong.args[0] == word and gist(wrong.args[1]) == gist(said)
        except (LeftOut, Crash, subprocess.TimeoutExpired):
            return False
    return test


def show(options, plan, folder):
    module = Module(options.seed, plan, options.parts or range(PARTS))
    found = verdicts(options.tool, folder, module)
    for parts, word, said in found:
        print("// programs %s, %s: %s %s" % (parts, module.plan, word, said))
    bad = [v for v in found if v[1] not in ("equal", "left out")]
    if options.shrink and bad:
        import shrink
        parts, word, said = bad[0]
        module = Module(options.seed, plan, parts)
        text = module.text if plan in (PLANS[0], STEPS[0]) else annotated(options.tool, folder, module)
        test = tested(options.tool, folder, word, said)
        if test(text):
            text = shrink.smallest(text, test)
        else:
            print("// the annotated program alone is not %s" % word)
        print(text)
    elif not options.shrink:
        print(module.text)
    return len(bad)


def annotated(tool, folder, module):
    """The program with what the search decided, as shardings."""
    partitioned(tool, folder, module)
    path, document = os.path.join(folder, "module.mlir"), os.path.join(folder, "s.json")
    say(tool, "search", path, *searched(tool, path, module), "--emit-strategy", document, codes=(0, 2))
    return say(tool, "apply", path, "--strategy", document, "--apply", "annotate", "-o", "-")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500, help="programs of random ops")
    parser.add_argument("--steps", type=int, default=100, help="training steps")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--state", default="build/exact.jsonl", help="file that finished modules go to")
    parser.add_argument("--plans", type=lambda words: words.split(","), default=PLANS + STEPS)
    parser.add_argument("--tool", default=os.environ.get("SHARDWRIGHT", "build/shardwright"))
    parser.add_argument("--parts", type=lambda words: [int(w) for w in words.split(",")], help="only these programs of the module")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--shrink", action="store_true")
    options = parser.parse_args()
    if options.show or options.shrink:
        import jax._src.interpreters.mlir  # noqa: F401
        with tempfile.TemporaryDirectory() as folder:
            return 1 if sum(show(options, plan, folder) for plan in options.plans) else 0
    return run_many(options)


if __name__ == "__main__":
    sys.exit(main())
