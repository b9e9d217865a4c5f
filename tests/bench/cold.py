#!/usr/bin/env python3
"""From a cold start to a good answer (`make bench-cold`): the command line tool with its default budget, on text on disk.

    cold.py [--runs 3] [PROGRAM,MESH,DEVICE ..]

Of each case, medians over the runs: seconds until the first answer within 2% of the run's last one, seconds until the command ends, and
the same in evaluations. An answer counts where it fits as the last one does. Alone on the machine, or the seconds say nothing.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))
CASES = ["transformer_4_forward,4x4,tpu-v5e", "transformer_32,4x4,tpu-v5e", "transformer_32,4x4,tpu-v5p", "llama_8b,4x4,tpu-v5p",
         "moe,16x16,tpu-v5e", "graph_net,4x4,tpu-v5e", "unet,4x4,tpu-v5e"]
GOOD = 1.02


def run(module, mesh, device):
    """(seconds to a good answer, seconds in all, evaluations to it, evaluations in all)"""
    start = time.monotonic()
    done = subprocess.run([TOOL, "search", module, "--mesh", mesh, "--device", device, "--json", "--progress-json"], capture_output=True, text=True)
    ended = time.monotonic() - start
    if done.returncode not in (0, 2):
        raise SystemExit("cold.py: %s: exit code %d: %s" % (module, done.returncode, done.stderr[-300:]))
    events = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    found = [e for e in events if e["event"] == "incumbent"]
    last, evaluations = found[-1], max(e["evaluation"] for e in events if "evaluation" in e)
    key = "runtime_ns" if last["fits"] else "peak_bytes"
    good = next(e for e in found if e["fits"] == last["fits"] and e[key] <= GOOD * last[key])
    return good["seconds"], ended, good["evaluation"], evaluations


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("cases", nargs="*", default=CASES)
    options = parser.parse_args()
    print("| program | mesh, device | first answer within 2% of the last | the command ends | times as long | evaluations |")
    print("|---|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for case in options.cases:
            program, mesh, device = case.split(",")
            module = os.path.join(folder, program + ".mlir")
            subprocess.run(["zstd", "-qdf", os.path.join(ROOT, "tests", "corpus", program + ".mlir.zst"), "-o", module], check=True)
            sizes = mesh.split("x")
            axes = ["data", "model"] if len(sizes) == 2 else ["replica", "data", "model"]
            rows = [run(module, ",".join("%s=%s" % pair for pair in zip(axes, sizes)), device) for _ in range(options.runs)]
            good, ended, to_good, evaluations = (statistics.median(column) for column in zip(*rows))
            print("| %s | %s %s | %.2f s | %.1f s | %.1f | %d of %d |" % (program, mesh, device, good, ended, ended / good, to_good, evaluations), flush=True)


if __name__ == "__main__":
    main()
