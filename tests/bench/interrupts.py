#!/usr/bin/env python3
"""What an interrupt takes at any moment of a search: CPU seconds from SIGINT to the end of the command.

    interrupts.py MODULE.mlir [--every SECONDS] [--seed N] [-- more options of search]

The command runs once, from reading the module to writing the document and the module with the plan. At random moments of its CPU time,
SECONDS apart in the mean, a copy of it is interrupted (interrupts.c). `make zoo` makes large modules (build/zoo/NAME.mlir).
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))


def measure(module, every, seed, more):
    """Of each interrupt: when it came, what it took (both in CPU seconds), how the command ended."""
    with tempfile.TemporaryDirectory() as folder:
        library, log = os.path.join(folder, "interrupts.so"), os.path.join(folder, "log")
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, os.path.join(HERE, "interrupts.c")], check=True)
        words = [TOOL, "search", module, "--mesh", "data=4,model=4", "--device", "tpu-v5e", "--threads", "1", "--json",
                 "--emit-mlir", os.path.join(folder, "planned.mlir"), "--emit-strategy", os.path.join(folder, "plan.json")]
        environment = os.environ | {"LD_PRELOAD": library, "INTERRUPTS_LOG": log, "INTERRUPTS_US": str(int(every * 1e6)),
                                    "INTERRUPTS_SEED": str(seed), "OMP_NUM_THREADS": "1"}
        ended = subprocess.run(words + more, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, check=False)
        if ended.returncode not in (0, 2):
            sys.exit("interrupts: the search itself ended with %d" % ended.returncode)
        return [(int(at) / 1e6, int(took) / 1e6, int(end)) for at, took, end in (line.split() for line in open(log))]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("module")
    parser.add_argument("--every", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("more", nargs="*")
    args = parser.parse_args()
    found = measure(args.module, args.every, args.seed, args.more)
    took = sorted(t for _, t, _ in found)
    print("%s: %d interrupts, CPU seconds to the end: median %.2f, nine tenths within %.2f, most %.2f; ended with %s" % (
        os.path.basename(args.module), len(found), statistics.median(took), took[int(len(took) * 0.9)], took[-1],
        ", ".join("%d (%d times)" % (e, sum(x[2] == e for x in found)) for e in sorted({x[2] for x in found}))))
    for at, t, end in sorted(found, key=lambda x: -x[1])[:8]:
        print("  after %.2f s of CPU: %.2f s, exit code %d" % (at, t, end))


if __name__ == "__main__":
    main()
