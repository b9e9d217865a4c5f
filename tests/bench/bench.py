"""The table of speeds (`make bench`): ours beside jaxlib's on the same text, medians, one run after the other.

Wall times depend on the machine; the ratios are what to compare."""
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
PROGRAMS = ["transformer_4_forward", "transformer_4", "transformer_32", "transformer_scan", "moe", "convnet"]
MESH = "data=4,model=4"

PEER = r"""
import sys, time, statistics, json
from jax._src.interpreters import mlir
from jaxlib.mlir import ir, passmanager
text = open(sys.argv[1]).read()
parse, pipe = [], []
with mlir.make_ir_context():
    for i in range(5):
        t = time.perf_counter(); module = ir.Module.parse(text); parse.append(time.perf_counter() - t)
        t = time.perf_counter(); passmanager.PassManager.parse("builtin.module(sdy-propagation-pipeline)").run(module.operation); pipe.append(time.perf_counter() - t)
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
    subprocess.run([TOOL, "search", path, "--mesh", MESH, "--schedule", schedule, "--evaluations", "1", "--emit-mlir", out, "--json"],
                   stdout=subprocess.DEVNULL, check=False)
    return out


def cold_start(path):
    runs = []
    for _ in range(3):
        start = time.perf_counter()
        done = subprocess.run([TOOL, "search", path, "--mesh", MESH, "--memory", "16GiB", "--json"], capture_output=True, text=True)
        runs.append(time.perf_counter() - start)
    search = json.loads(done.stdout)["search"]
    return statistics.median(runs), search


def main():
    print("| program | nodes | parse MB/s | jaxlib | ratio | pipeline ms | jaxlib ms | ratio | settle /s | evaluations /s | search s | RSS MiB |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or PROGRAMS:
            path = unpack(name, folder)
            dp = annotated(path, folder)
            ours = json.loads(subprocess.run([CORE, dp, MESH], capture_output=True, text=True, check=True).stdout)
            free = json.loads(subprocess.run([CORE, path, MESH], capture_output=True, text=True, check=True).stdout)
            peer = json.loads(subprocess.run([sys.executable, "-c", PEER, dp], capture_output=True, text=True, check=True,
                                             env={**os.environ, "JAX_PLATFORMS": "cpu"}).stdout)
            seconds, search = cold_start(path)
            mb = ours["bytes"] / 1e6
            parse = ours["parse_ns"] / 1e9
            pipeline = ours["pipeline_ns"] / 1e9
            print("| %s | %d | %.0f | %.0f | %.1fx | %.1f | %.0f | %.0fx | %.0f | %.0f | %.2f | %.0f |" % (
                name, free["nodes"], mb / parse, mb / peer[0], peer[0] / parse, pipeline * 1e3, peer[1] * 1e3, peer[1] / pipeline,
                free["decisions_per_second"], free["evaluations_per_second"], seconds, free["max_rss_bytes"] / 2 ** 20), flush=True)


if __name__ == "__main__":
    main()
