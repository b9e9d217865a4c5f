"""Which steps are XLA's to judge. libtpu gives some kernels no estimate, and its schedule counts them as nothing: a step of which they are a part is a lower bound.

They are sorts and top_ks, slices that skip elements, and pads that spread them; an associative scan is made of the last two. On v5p gathers and scatters run on cores of their own,
and have none either.
"""
import json
import os
import re
import subprocess

import cases

MOST = .05  # of our step in such kernels
SORTED = {"stablehlo.sort", "chlo.top_k"}
SKIPS = re.compile(r"stablehlo\.slice [^\n]*\[[^\]\n]*:\d+:(?:[2-9]|\d\d)")
SPREADS = re.compile(r"interior = \[[^\]]*[1-9]")


def without_estimate(text, device):
    """Names of the ops whose kernels have none, in a program's text."""
    found = {name for name in SORTED if name in text}
    if SKIPS.search(text):
        found.add("stablehlo.slice")
    if SPREADS.search(text):
        found.add("stablehlo.pad")
    if device == "tpu-v5p":
        found |= {"stablehlo.gather", "stablehlo.scatter"}
    return found


def share_of(case, path, way, folder):
    """What part of our step is in such kernels, of a strategy document applied so."""
    module = os.path.join(folder, "module.mlir")
    cases.run("apply", cases.corpus(case), "--strategy", path, "--apply", way, "-o", module)
    with open(module) as f:
        names = without_estimate(f.read(), case.device)
    if not names:
        return 0
    done = subprocess.run([cases.TOOL, "simulate", module, "--device", case.device, "--json", "--ops"], check=False, capture_output=True, text=True)  # 2: does not fit
    found = json.loads(done.stdout)
    return sum((op["end_ns"] - op["start_ns"]) * op["executions"] for op in found["ops"]
               if op["name"] in names and op["stream"] == "compute" and not op["fused"]) / found["runtime_ns"]
