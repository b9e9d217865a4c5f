#!/usr/bin/env python3
"""Asks a daemon for a plan before a run, and uses a stated baseline where there is none, loudly. As a module:

    document, source = plan("step.mlir", "data=4,model=4", "tpu-v5e", baseline="data_parallel.json")

or as a program, which starts a command with PLAN (a file) and PLAN_SOURCE ("daemon" or "baseline") in its environment:

    launch.py STEP.mlir MESH DEVICE BASELINE.json -- COMMAND ARGUMENTS..

Standard library and the shardwright command only.
"""

import json
import os
import subprocess
import sys
import tempfile
import warnings

REASONS = {
    1: "the search failed, or was refused",
    2: "the best plan does not fit the memory",
    69: "no daemon answered",
    75: "no plan is stored yet, or the time was over",
}


def plan(step, mesh, device, baseline, seconds=20.0, search=True):
    """(strategy document, "daemon" or "baseline"). Takes `seconds` at most, plus a little; a baseline is never used in silence."""
    with open(baseline) as f:  # before anything else: what one falls back to has to be there
        known = json.load(f)
    command = [os.environ.get("SHARDWRIGHT", "shardwright"), "submit", step, "--mesh", mesh, "--device", device, "--json"]
    command += ["--wait" if search else "--only-if-cached", "--connect-timeout", "2", "--retry", "5", "--timeout", str(seconds)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 10)
        reason, told = REASONS.get(done.returncode, "the daemon failed"), done.stderr.strip()
        if done.returncode == 0:
            return json.loads(done.stdout), "daemon"
    except (OSError, ValueError, subprocess.TimeoutExpired) as e:
        reason, told = "shardwright submit could not be run", str(e)
    warnings.warn(f"{reason}: this run uses the baseline {baseline}, which may be slower ({told})", stacklevel=2)
    return known, "baseline"


def main(arguments):
    if len(arguments) < 6 or arguments[4] != "--":
        sys.exit("usage: launch.py STEP.mlir MESH DEVICE BASELINE.json -- COMMAND ARGUMENTS..")
    step, mesh, device, baseline = arguments[:4]
    document, source = plan(step, mesh, device, baseline, float(os.environ.get("PLAN_SECONDS", 20)), os.environ.get("PLAN_SEARCH") != "no")
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(document, f)
        f.flush()
        return subprocess.run(arguments[5:], env={**os.environ, "PLAN": f.name, "PLAN_SOURCE": source}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
