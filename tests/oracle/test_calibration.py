"""python -m shardwright.calibration: what is timed is what it says, and a profile comes out; tests/measured/on_device.py times whole programs."""
import csv
import json
import os
import subprocess
import sys

import pytest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [os.path.join(ROOT, "clients", "python"), os.path.join(ROOT, "tests", "measured")]
TOOL = os.path.abspath(os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright")))

import on_device  # noqa: E402
from shardwright import calibration  # noqa: E402

QUICK = "import sys; from shardwright import calibration as c; c.ROUNDS, c.LEAST_SECONDS = 3, 1e-3; c.TINY_LENGTHS = c.TINY_COLLECTIVES = (2, 8); sys.exit(c.main(sys.argv))"


def environment(devices):
    return {**os.environ, "JAX_PLATFORMS": "cpu", "SHARDWRIGHT": TOOL, "PYTHONPATH": os.path.join(ROOT, "clients", "python"),
            "XLA_FLAGS": "--xla_force_host_platform_device_count=%d" % devices}


def measure(words, devices=2):
    return subprocess.run([sys.executable, "-c", QUICK, *map(str, words)], capture_output=True, text=True, timeout=300, env=environment(devices))


def rows_of(path):
    with open(path) as f:
        return list(csv.DictReader(line for line in f if not line.startswith("#")))


def test_a_profile_of_what_is_here(tmp_path):
    done = measure(["-o", tmp_path / "mine.json", "--tables", tmp_path, "--largest", "256KiB"])
    assert done.returncode == 0, done.stderr
    kernels, collectives = rows_of(tmp_path / "kernels.csv"), rows_of(tmp_path / "collectives.csv")
    assert {r["kernel"] for r in kernels} <= {"matmul", "elementwise"} and any(r["kernel"] == "matmul" for r in kernels)
    assert all(int(r["bytes"]) <= 512 << 10 and float(r["time_us"]) > 0 for r in kernels)
    assert {r["group"] for r in collectives} == {"2"} and len({r["collective"] for r in collectives}) >= 3
    assert "KERNEL" in done.stdout and "LINK" in done.stdout and "kernels: launch" in done.stdout
    profile = json.loads((tmp_path / "mine.json").read_text())
    assert profile["name"] == "cpu-host-calibrated" and "kernels.csv" in profile["op_launch_ns"]["source"]
    module = os.path.join(ROOT, "tests", "corpus", "mlp_tiny.mlir.zst")
    said = subprocess.run([TOOL, "simulate", module, "--device-file", tmp_path / "mine.json", "--json"], capture_output=True, text=True)
    assert said.returncode == 0 and json.loads(said.stdout)["runtime_ns"] > 0, said.stderr


def test_one_device_has_no_collectives(tmp_path):
    done = measure(["-o", tmp_path / "mine.json", "--tables", tmp_path, "--largest", "64KiB"], devices=1)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "collectives.csv").exists() and "LINK" not in done.stdout


@pytest.mark.parametrize("words, said", [(["--largest", "0"], "expected a size as 64MiB"), (["--device", "abacus"], "abacus"), (["--device-file", "none.json"], "none.json")])
def test_refusals_leave_nothing(tmp_path, words, said):
    done = measure(["-o", tmp_path / "mine.json", "--largest", "8KiB", *words], devices=1)
    assert done.returncode in (1, 2) and said in done.stderr, done.stderr
    assert not (tmp_path / "mine.json").exists()


CHAINS = """
import jax, json, numpy as np
from jax.sharding import Mesh, PartitionSpec
from shardwright import calibration
mesh, axis, found = Mesh(np.array(jax.devices()), ("x",)), PartitionSpec("x"), {}
for like in calibration.COLLECTIVES:
    for name in (like, None):
        chain = jax.shard_map(calibration.collective_chain(name, like, 4, 5), mesh=mesh, in_specs=axis, out_specs=axis, check_vma=False)
        text = jax.jit(chain).lower(jax.ShapeDtypeStruct((4 * 4096,), np.float32)).compile().as_text()
        found["%s of %s" % (name, like)] = [text.count(" %s(" % word.replace("_", "-")) for word in calibration.COLLECTIVES]
print(json.dumps(found))
"""


def test_chains_have_the_collectives_that_they_time():
    done = subprocess.run([sys.executable, "-c", CHAINS], capture_output=True, text=True, timeout=300, env=environment(4))
    assert done.returncode == 0, done.stderr
    wanted = {"%s of %s" % (name, like): [5 if name == kind else 0 for kind in calibration.COLLECTIVES]
              for like in calibration.COLLECTIVES for name in (like, None)}
    assert json.loads(done.stdout) == wanted


def test_kernels_are_what_they_say():
    found = calibration.kernels(2, 1 << 30)
    assert len(found) > 30 and all(k.bytes <= 2 << 30 for k in found)
    for k in found:
        if k.kind == "matmul":
            (m, inner), (same, n) = k.shapes[:2]
            assert inner == same and k.flops == 2 * m * inner * n and k.bytes == 2 * (m * inner + inner * n + m * n)
            assert k.shapes[-1][1] == inner         # what comes out of the last one goes into the first
        else:
            assert k.bytes == 2 * 2 * k.shapes[0][0] and not k.flops


@pytest.mark.parametrize("kind, name", [("NVIDIA H100 80GB HBM3", "h100"), ("NVIDIA H200", "h200"), ("NVIDIA A100-SXM4-80GB", "a100-80g"), ("TPU v5 lite", "tpu-v5e"),
                                        ("TPU v5", "tpu-v5p"), ("TPU v6 lite", "tpu-v6e"), ("cpu", "cpu-host"), ("Tesla T4", None)])
def test_profiles_by_what_jax_calls_a_device(kind, name):
    assert calibration.profile_of(kind) == name


def test_whole_programs_are_timed(tmp_path):
    command = [sys.executable, os.path.join(ROOT, "tests", "measured", "on_device.py"), "--programs", "mlp_tiny", "--out", tmp_path / "steps.json"]
    first, again = (subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment(1)) for _ in range(2))
    assert first.returncode == 0 and again.returncode == 0, first.stderr + again.stderr
    kept = json.loads((tmp_path / "steps.json").read_text())
    assert kept["hardware"] == "cpu" and kept["rows"]["mlp_tiny"]["step_ns"] > 0 and list(kept["rows"]["mlp_tiny"]["model_ns"]) == ["cpu-host"]
    assert "| mlp_tiny |" in first.stdout and first.stdout == again.stdout          # what was measured is not measured again


def test_a_program_that_hangs_or_crashes_is_a_row(tmp_path, monkeypatch):
    child = tmp_path / "child"
    child.write_text("""#!/bin/bash
shift 2
echo '[null, {"hardware": "none"}]'
for name; do
	case $name in
	hangs) exec sleep 60 ;;
	crashes) exit 7 ;;
	*) echo "[\\"$name\\", {\\"step_ns\\": 1}]" ;;
	esac
done
""")
    child.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(child))
    rows = list(on_device.rows_of(["a", "hangs", "b", "crashes", "c"], 2))
    assert rows == [(None, {"hardware": "none"}), ("a", {"step_ns": 1}), ("hangs", {"error": "nothing for 2 s"}), ("b", {"step_ns": 1}),
                    ("crashes", {"error": "its process ended with 7"}), ("c", {"step_ns": 1})]
