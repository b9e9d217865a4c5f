"""How many instructions of XLA for TPU carry a whole step's sums: an equation solved by a network that is read several times, under ZeRO-3 (`residuals` of the judged programs).
Its text has three all_reduces and no reduce_scatter."""
import json
import os
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "judged"))
import cases  # noqa: E402
from experts import Program, experts_of  # noqa: E402


def test_sums_of_a_step(tmp_path):
    case = next(c for c in cases.CASES if c.program == "residuals")
    mesh = {axis: int(size) for axis, size in (a.split("=") for a in case.mesh.split(","))}
    plans = dict(experts_of(Program(case.program, cases.TOOL, cases.corpus(case)), mesh))
    (tmp_path / "s.json").write_text(json.dumps({**plans["batch(data+model) zero3(data+model)"], "apply": "annotate"}))
    done = subprocess.run([cases.TOOL, "evaluate", cases.corpus(case), "--strategy", tmp_path / "s.json", "--device", case.device, "--json"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["collectives"]
    assert found["all_reduce"]["count"] + found["reduce_scatter"]["count"] <= 10
