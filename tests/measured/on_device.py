#!/usr/bin/env python3
"""Steps of whole programs on one device that is here, beside what the model says of them: a table in Markdown.

    on_device.py [--profile NAME_OR_FILE ..] [--programs GLOB] [--minutes 6] [--out FILE.json]
    on_device.py --report FILE.json ..

Programs are those of the corpus and of tests/judged/programs, whole on one device, without donation: a step can be repeated so. Nothing is fitted to them; a
profile that `python -m shardwright.calibration` made is fitted to single kernels. Programs that --out has are left alone, so that it can be stopped and
started again; one that does not fit into memory, fails otherwise or says nothing for --seconds is a row with its reason. Needs jax. `make calibrate-gpu` runs both.
"""
import argparse
import fnmatch
import glob
import json
import os
import re
import select
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(ROOT, "clients", "python"))
from shardwright import calibration  # noqa: E402

TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))
DONATION = re.compile(r"(?:, )?(?:tf\.aliasing_output = \d+ : i32|jax\.buffer_donor = true)")
ROUNDS, LEAST_SECONDS = 5, 0.05


def programs(pattern):
    """name -> path, those that fewer bytes of text describe first."""
    paths = glob.glob(os.path.join(ROOT, "tests", "judged", "programs", "*.mlir.zst")) + glob.glob(os.path.join(ROOT, "tests", "corpus", "*.mlir.zst"))
    named = {os.path.basename(p)[:-len(".mlir.zst")]: p for p in paths}
    return {n: named[n] for n in sorted(named, key=lambda n: (os.path.getsize(named[n]), n)) if fnmatch.fnmatch(n, pattern)}


def undonated(path):
    text = subprocess.run(["zstd", "-qdc", path], check=True, capture_output=True, text=True).stdout
    return DONATION.sub("", text).replace("{, ", "{")


def simulated(text, profile):
    """The model's step of the program on one device, ns."""
    which = ["--device-file", profile] if os.path.exists(profile) else ["--device", profile]
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as f:
        f.write(text)
        f.flush()
        done = subprocess.run([TOOL, "simulate", f.name, *which, "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 2):
        raise ValueError(done.stderr.strip()[:300])
    return json.loads(done.stdout)["runtime_ns"]


def arguments_of(text, device):
    """Small random numbers, of integers 0 or 1, on the device."""
    import jax
    import jax.numpy as jnp
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        main = next(op for op in module.body.operations if op.operation.name == "func.func" and str(op.operation.attributes["sym_name"]) == '"main"')
        types = [ir.RankedTensorType(t) for t in ir.FunctionType(ir.TypeAttr(main.operation.attributes["function_type"]).value).inputs]
        plain = [(tuple(t.shape), str(t.element_type)) for t in types]
    named = {"bf16": jnp.bfloat16, "f16": jnp.float16, "f32": jnp.float32, "i1": jnp.bool_, "complex<f32>": jnp.complex64}
    found, key = [], jax.random.key(0)
    for shape, kind in plain:
        dtype = jnp.dtype(named[kind] if kind in named else re.sub(r"^(u?)i(\d+)$", r"\1int\2", kind))
        key, one = jax.random.split(key)
        integer = jnp.issubdtype(dtype, jnp.integer) or dtype == jnp.bool_
        value = jax.random.randint(one, shape, 0, 2) if integer else jax.random.normal(one, shape) * .02
        found.append(jax.device_put(value.astype(dtype), device))
    return found


def measured(text, device):
    """Seconds of a step: the median of ROUNDS, each of so many steps that it can be timed."""
    import jax
    from shardwright.compile_module import compile_text
    executable = compile_text(text, [device], None)
    arguments = arguments_of(text, device)

    def seconds(repeats):
        start = time.perf_counter()
        for _ in range(repeats):
            results = executable.execute_sharded(arguments)
        jax.block_until_ready([a for part in results.disassemble_into_single_device_arrays() for a in part])
        return time.perf_counter() - start

    seconds(1)
    repeats = max(1, min(200, int(LEAST_SECONDS / max(seconds(1), 1e-6))))
    return statistics.median(seconds(repeats) / repeats for _ in range(ROUNDS))


def measure_here(names):
    """In a process of its own: a line of JSON for each program, as [name, row], and first one about what is here."""
    import jax
    device = jax.local_devices()[0]
    jax.block_until_ready(jax.numpy.linalg.cholesky(jax.numpy.eye(2)))      # or jaxlib calls a LAPACK that it has not loaded
    print(json.dumps([None, {"hardware": device.device_kind, "jax": jax.__version__, "compiler": " ".join(str(device.client.platform_version).split())[:100]}]), flush=True)
    for name in names:
        try:
            row = {"step_ns": round(1e9 * measured(undonated(programs(name)[name]), device))}
        except Exception as error:
            row = {"error": " ".join(str(error).split())[:200]}
        print(json.dumps([name, row]), flush=True)


def rows_of(names, seconds):
    """[name, row] of each program. A loop that never ends with such numbers ends its process, and another one takes the rest."""
    names, told = list(names), False
    while names or not told:
        child = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--here", *names], stdout=subprocess.PIPE, bufsize=0)
        while True:
            waited = select.select([child.stdout], [], [], seconds)[0]
            line = child.stdout.readline() if waited else b""
            if not line:
                child.kill()
                child.wait()
                child.stdout.close()
                if not told:
                    sys.exit("on_device.py: no device")
                if names:
                    yield names.pop(0), {"error": "its process ended with %d" % child.returncode if waited else "nothing for %d s" % seconds}
                break
            name, row = json.loads(line)
            if name:
                names.remove(name)
            if name or not told:
                yield name, row
            told = True


def save(kept, path):
    with open(path + ".new", "w") as f:
        json.dump(kept, f, indent=0, sort_keys=True)
    os.replace(path + ".new", path)


def report(kept):
    """Of each profile: the errors of all steps."""
    print("%s, jax %s, %s: %d programs, each whole on one device\n" % (kept["hardware"], kept["jax"], kept["compiler"], len(kept["rows"])))
    rows = {n: r for n, r in kept["rows"].items() if "step_ns" in r}
    profiles = list(dict.fromkeys(p for r in rows.values() for p in r["model_ns"]))
    print("| profile | programs | median error | within 15% | within 25% | mean |\n|---|--:|--:|--:|--:|--:|")
    for p in profiles:
        errors = [r["model_ns"][p] / r["step_ns"] - 1 for r in rows.values() if p in r["model_ns"]]
        print("| %s | %d | %.1f%% | %.0f%% | %.0f%% | %+.1f%% |" % (p, len(errors), 100 * statistics.median(map(abs, errors)), 100 * statistics.mean(abs(e) <= .15 for e in errors),
                                                                  100 * statistics.mean(abs(e) <= .25 for e in errors), 100 * statistics.mean(errors)))
    print("\n| program | measured, ms |%s\n|---|--:|%s" % ("".join(" by %s |" % p for p in profiles), "--:|" * len(profiles)))
    for name, r in sorted(rows.items()):
        said = [r["model_ns"].get(p) for p in profiles]
        print("| %s | %.3f |%s" % (name, r["step_ns"] / 1e6, "".join(" - |" if s is None else " %.3f (%+.0f%%) |" % (s / 1e6, 100 * (s / r["step_ns"] - 1)) for s in said)))
    for name, r in sorted(kept["rows"].items()):
        if "error" in r:
            print("\n%s: %s" % (name, r["error"]))


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--profile", action="append", default=[], help="another profile, by its name or file, besides the built-in one of the device; may be repeated")
    parser.add_argument("--programs", default="*")
    parser.add_argument("--minutes", type=float, default=6)
    parser.add_argument("--seconds", type=float, default=60, help="that one program may take")
    parser.add_argument("--here", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--out", help="where the figures are kept, and looked up before")
    parser.add_argument("--report", nargs="+", metavar="FILE", help="measure nothing: the tables of these files")
    options = parser.parse_args(argv[1:])
    if options.report:
        for path in options.report:
            with open(path) as f:
                report(json.load(f))
        return 0
    if options.here is not None:
        measure_here(options.here)
        return 0
    paths, kept = programs(options.programs), {"rows": {}}
    if options.out and os.path.exists(options.out):
        with open(options.out) as f:
            kept = json.load(f)
    end = time.monotonic() + 60 * options.minutes
    for name, row in rows_of([n for n in paths if n not in kept["rows"]], options.seconds):
        if name is None:
            if kept.get("hardware", row["hardware"]) != row["hardware"]:
                sys.exit("%s has figures of %s, here is %s" % (options.out, kept["hardware"], row["hardware"]))
            kept.update(row)
            continue
        kept["rows"][name] = row
        print(name, row, file=sys.stderr, flush=True)
        if options.out:
            save(kept, options.out)
        if time.monotonic() > end:
            break
    built_in = calibration.profile_of(kept["hardware"])
    profiles = [*([built_in] if built_in else []), *options.profile]
    if not profiles:
        sys.exit("no built-in profile is of %s: name one (--profile)" % kept["hardware"])
    for name, row in kept["rows"].items():
        if "step_ns" in row and name in paths:
            row["model_ns"] = {os.path.basename(p): simulated(undonated(paths[name]), p) for p in profiles}
    if options.out:
        save(kept, options.out)
    report(kept)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
