"""Compiled HLO text of XLA's CPU, GPU and TPU compilers: what `simulate` and `lower` make of it, against figures of the
compilers themselves and against a plain reading of the text with regular expressions."""
import collections
import json
import os
import re
import statistics
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "oracle", "fidelity"))
import xla_text  # noqa: E402

TOOL = os.environ.get("SHARDWRIGHT", "build/shardwright")
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "hlo")
with open(os.path.join(FOLDER, "figures.json")) as f:
    FIGURES = json.load(f)
DEVICE = {"cpu": "cpu-host", "gpu": "h100", "tpu": "tpu-v5e"}
CLOCK_HZ = 1.5e9   # TPU v5e


def path(name):
    return os.path.join(FOLDER, name + ".hlo.zst")


def text(name):
    return subprocess.run(["zstd", "-qdc", path(name)], check=True, capture_output=True).stdout.decode()


def tool(*words, codes=(0,), data=None):
    done = subprocess.run([TOOL, *map(str, words)], capture_output=True, timeout=300, input=data)
    assert done.returncode in codes, (words, done.returncode, done.stderr[-1000:])
    return done.stdout.decode() if 0 in codes and done.returncode == 0 else done.stderr.decode()


def cost(name, *more):
    return json.loads(tool("simulate", path(name), "--device", DEVICE[name[:3]], "--json", *more))


# ---------------------------------------------------------------- collectives by regular expressions

@pytest.mark.parametrize("name", sorted(FIGURES))
def test_collectives_are_those_of_the_text(name):
    document = json.loads(tool("lower", path(name), "--device", DEVICE[name[:3]], "--json"))
    ours = collections.Counter((c["kind"], c["bytes"], c["trip_count"]) for c in document["collectives"])
    assert ours == collections.Counter((c.kind, c.written, c.times) for c in xla_text.collectives(text(name), 8))
    counts = collections.Counter(c["kind"] for c in document["collectives"])
    assert {k: v for k, v in document["counts"]["compiled"].items() if v} == counts
    for c in document["collectives"]:
        members = [d for group in c["groups"] for d in group]
        assert members and set(members) <= set(range(8)), c
        if c["kind"] != "collective_permute":
            assert sorted(members) == list(range(8)) and len({len(g) for g in c["groups"]}) == 1, c


# ---------------------------------------------------------------- memory and time against the compilers

@pytest.mark.parametrize("name", sorted(FIGURES))
def test_ends_are_those_of_the_compiler(name):
    """Arguments and donated bytes exactly; outputs up to the tuple's table, which the TPU compiler counts too."""
    ours, xla = cost(name), FIGURES[name]
    assert ours["argument_bytes"] == xla["argument_bytes"]
    assert ours["alias_bytes"] == xla["alias_bytes"]
    assert abs(ours["output_bytes"] - xla["output_bytes"]) <= 1024
    assert ours["peak_bytes"] == ours["argument_bytes"] + ours["output_bytes"] - ours["alias_bytes"] + ours["temporary_bytes"]


def test_temporaries_are_close_to_the_compilers():
    errors = {name: cost(name)["temporary_bytes"] / xla["temporary_bytes"] - 1 for name, xla in FIGURES.items() if xla["temporary_bytes"] > 32 << 20}
    assert len(errors) >= 5
    assert max(map(abs, errors.values())) < 0.05, errors
    assert statistics.median(map(abs, errors.values())) < 0.01, errors


def test_compute_is_close_to_the_tpu_compilers_estimate():
    errors = {name: cost(name)["compute_ns"] / (xla["estimated_cycles"] / CLOCK_HZ * 1e9) - 1
              for name, xla in FIGURES.items() if xla["estimated_cycles"] > 10_000_000}
    assert len(errors) >= 2
    assert max(map(abs, errors.values())) < 0.01, errors


# ---------------------------------------------------------------- the tool

def test_json_ops_and_trace(tmp_path):
    name = "gpu_transformer_4_zero3_donated"
    document = cost(name, "--ops", "--trace", tmp_path / "t.json")
    trace = json.loads((tmp_path / "t.json").read_text())
    assert {"runtime_ns", "collectives"} <= set(document)
    ops = document["ops"]
    assert any(o["stream"] == "nvlink" or o["opcode"] == "all_gather" for o in ops)
    assert sum(o.get("exposed_ns", 0) for o in ops) <= document["exposed_communication_ns"]
    assert max(o["end_ns"] for o in ops) <= document["runtime_ns"]
    assert any("transformer.py" in o["location"] for o in ops)
    assert document["compute_ns"] <= document["runtime_ns"] <= document["compute_ns"] + document["communication_ns"] + sum(
        o["end_ns"] - o["start_ns"] for o in ops if o["stream"] == "copies")
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert len(spans) >= len(ops)
    assert any(e["ph"] == "C" for e in trace["traceEvents"])


def test_a_loop_counts_as_often_as_it_runs():
    name = "cpu_transformer_scan_zero3_donated"
    plain = text(name)
    counts = set(re.findall(r'known_trip_count":\{"n":"(\d+)"', plain))
    assert "32" in counts
    halved = re.sub(r'(known_trip_count":\{"n":")32"', r'\g<1>16"', plain)
    whole = cost(name)
    half = json.loads(tool("simulate", "-", "--device", "cpu-host", "--json", data=halved.encode()))
    assert half["temporary_bytes"] == whole["temporary_bytes"]
    assert half["flops_per_device"] < 0.6 * whole["flops_per_device"]
    assert half["collectives"]["all_gather"]["bytes"] < whole["collectives"]["all_gather"]["bytes"]
    assert half["collectives"]["all_gather"]["count"] == whole["collectives"]["all_gather"]["count"]


def test_human_tables():
    out = tool("simulate", path("tpu_mlp_megatron"))
    assert "step time" in out and "TEMPORARIES AT THE PEAK" in out and "mlp.py" in out
    out = tool("lower", path("tpu_mlp_megatron"))
    assert "4 x 2" in out and "all_reduce" in out


def test_errors_name_file_line_and_both_instructions(tmp_path):
    bad = tmp_path / "bad.hlo"
    bad.write_text("HloModule m\n\nENTRY %main {\n  %p = f32[8]{0} parameter(0)\n  %s = (f32[8]{0}, f32[8]{0}, u32[]) copy-start(%p)\n"
                   "  ROOT %n = (f32[8]{0}, f32[8]{0}, u32[]) copy(%s)\n}\n")
    error = tool("simulate", bad, codes=(1,))
    assert "bad.hlo:6:9: error:" in error and "'n' (copy)" in error and "'s' (copy-start)" in error
