"""The tables of speeds (`make bench`): ours beside jaxlib's on the same text, medians, one run after the other; then time
and memory against the number of ops.

Times depend on the machine; the ratios are what to compare. Reading and the pipeline are CPU times of one thread on both
sides."""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))
CORE = os.path.join(ROOT, "build", "bench", "bench_core")
SCALE = os.path.join(ROOT, "build", "bench", "bench_scale")
SIZES = [10000, 60000, 1000000]
PROGRAMS = ["transformer_4_forward", "transformer_4", "transformer_32", "llama_8b", "transformer_scan", "moe", "convnet"]
MESH = "data=4,model=4"

PEER = r"""
import sys, time, statistics, json
from jax._src.interpreters import mlir
from jaxlib.mlir import ir, passmanager
text = open(sys.argv[1]).read()
parse, pipe, clock = [], [], time.process_time
with mlir.make_ir_context() as context:
    context.enable_multithreading(False)
    for i in range(5):
        t = clock(); module = ir.Module.parse(text); parse.append(clock() - t)
        t = clock(); passmanager.PassManager.parse("builtin.module(sdy-propagation-pipeline)").run(module.operation); pipe.append(clock() - t)
print(json.dumps([statistics.median(parse), statistics.median(pipe)]))
"""


def unpack(name, folder):
    path = os.path.join(folder, name + ".mlir")
    with open(path, "wb") as f:
        subprocess.run(["zstd", "-dc", os.path.join(ROOT, "tests", "corpus", name + ".mlir.zst")], stdout=f, check=True)
    return path


def annotated(path, folder):
    """The module with data parallelism on it, as the pipeline would get it."""
    out = os.path.join(folder, "dp.mlir")
    schedule = os.path.join(folder, "dp.json")
    with open(schedule, "w") as f:
        json.dump({"tactics": [{"named": "data_parallel", "axis": "data"}]}, f)
    subprocess.run([TOOL, "search", path, "--mesh", MESH, "--schedule", schedule, "--evaluations", "1", "--apply", "annotate", "--emit-mlir", out, "--json"],
                   stdout=subprocess.DEVNULL, check=False)
    return out


def cold_start(path, threads):
    runs = []
    for _ in range(3):
        start = time.perf_counter()
        done = subprocess.run([TOOL, "search", path, "--mesh", MESH, "--memory", "16GiB", "--threads", str(threads), "--json"], capture_output=True, text=True)
        runs.append(time.perf_counter() - start)
    search = json.loads(done.stdout)["search"]
    return statistics.median(runs), search


def scale():
    print("\n| ops | parse us/op | propagation us/op | pipeline us/op | module bytes/op | propagation bytes/op | together | evaluation us/op | /s | folded /s |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for n in SIZES:
        got = json.loads(subprocess.run([SCALE, str(n)], capture_output=True, text=True, check=True).stdout)
        ops = got["ops"]
        print("| %d | %.2f | %.2f | %.2f | %d | %d | %d | %.2f | %.1f | %.0f |" % (
            ops, got["parse_ns"] / 1e3 / ops, got["propagate_ns"] / 1e3 / ops, got["pipeline_ns"] / 1e3 / ops, got["module_bytes"] / ops,
            got["propagation_bytes"] / ops, (got["module_bytes"] + got["propagation_bytes"]) / ops, got["unfolded_ns"] / 1e3 / ops,
            1e9 / got["unfolded_ns"], 1e9 / got["folded_ns"]), flush=True)


def core(path):
    return json.loads(subprocess.run([CORE, path, MESH], capture_output=True, text=True, check=True).stdout)


def stages(names, folder):
    print("| program | ops | parse MB/s | jaxlib | ratio | pipeline ms | jaxlib ms | ratio |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name in names:
        dp = annotated(unpack(name, folder), folder)
        ours = core(dp)
        peer = json.loads(subprocess.run([sys.executable, "-c", PEER, dp], capture_output=True, text=True, check=True,
                                         env={**os.environ, "JAX_PLATFORMS": "cpu"}).stdout)
        mb, parse, pipeline = ours["bytes"] / 1e6, ours["parse_ns"] / 1e9, ours["pipeline_ns"] / 1e9
        print("| %s | %d | %.0f | %.0f | %.1fx | %.1f | %.0f | %.0fx |" % (
            name, ours["ops"], mb / parse, mb / peer[0], peer[0] / parse, pipeline * 1e3, peer[1] * 1e3, peer[1] / pipeline), flush=True)


def searches(names, folder):
    print("\n| program | nodes | settle /s | lower /s | simulate /s | evaluations /s | folded: nodes | settle /s | evaluations /s | search s | one thread | RSS MiB |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name in names:
        path = unpack(name, folder)
        got = core(path)
        whole, folded = got["unfolded"], got.get("folded")
        cells = ["%d" % folded["nodes"], "%.0f" % folded["decisions_per_second"], "%.0f" % folded["evaluations_per_second"]] if folded else ["-"] * 3
        seconds, one = cold_start(path, 2)[0], cold_start(path, 1)[0]
        print("| %s | %d | %.0f | %.0f | %.0f | %.0f | %s | %.2f | %.1fx | %.0f |" % (
            name, whole["nodes"], whole["decisions_per_second"], whole["lowerings_per_second"], whole["simulations_per_second"], whole["evaluations_per_second"], " | ".join(cells), seconds, one / seconds,
            got["max_rss_bytes"] / 2 ** 20), flush=True)


def main():
    """bench.py [stages|searches|scale] [PROGRAM..]"""
    tables = [word for word in sys.argv[1:] if word in ("stages", "searches", "scale")] or ["stages", "searches", "scale"]
    names = [word for word in sys.argv[1:] if word not in tables] or PROGRAMS
    with tempfile.TemporaryDirectory() as folder:
        if "stages" in tables:
            stages(names, folder)
        if "searches" in tables:
            searches(names, folder)
    if "scale" in tables:
        scale()


if __name__ == "__main__":
    main()
