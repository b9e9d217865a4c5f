"""Loops: counts that the program says, those that it does not say, and --trip-count."""
import json
import os
import subprocess

import pytest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.path.abspath(os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright")))
DECODE = os.path.join(ROOT, "tests", "corpus", "decode_tiny.mlir.zst")
SCAN = os.path.join(ROOT, "tests", "corpus", "transformer_scan.mlir.zst")
MESH = ("--mesh", "data=2,model=2")
BOUND = "counts 15 times, the bound of its counter: it may end early; --trip-count N gives another number"


def run(*words, code=0):
    done = subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout if code in (0, 2) else done.stderr


def cost(*words):
    return json.loads(run(*words, "--json"))


def test_body_counts_as_often_as_said():
    one, two, many, bound, given = (cost("simulate", DECODE, "--device", "h100", *(["--trip-count", n] if n else [])) for n in (1, 2, 14, None, 15))
    body = two["flops_per_device"] - one["flops_per_device"]
    assert body > 0 and many["flops_per_device"] == one["flops_per_device"] + 13 * body
    assert many["runtime_ns"] - one["runtime_ns"] == 13 * (two["runtime_ns"] - one["runtime_ns"])
    assert one["peak_bytes"] == many["peak_bytes"]
    assert bound["flops_per_device"] == given["flops_per_device"] == one["flops_per_device"] + 14 * body
    said = [(entry["trips"], entry["by"]) for c in (one, many, bound, given) for entry in c["uncounted_loops"]]
    assert said == [(1, "request"), (14, "request"), (15, "bound"), (15, "request")]
    assert one["uncounted_loops"][0]["location"].startswith("models/decode.py:") and one["uncounted_loops"][0]["count"] == 1


def test_tables_say_it():
    assert BOUND in run("simulate", DECODE)
    assert "counts 9 times, as --trip-count says" in run("simulate", DECODE, "--trip-count", 9)
    assert BOUND in run("search", DECODE, *MESH) and BOUND not in run("search", DECODE, *MESH, "--trip-count", 9)


def test_counts_of_the_program_are_not_overridden():
    known = cost("simulate", SCAN)
    assert "uncounted_loops" not in known and cost("simulate", SCAN, "--trip-count", 3) == known


@pytest.mark.parametrize("way", ("exact", "annotate"))
def test_document_carries_it(tmp_path, way):
    path = str(tmp_path / "plan.json")
    pin = ("--pin", 'tokens:[["data"],[]]', "--pin", '*\'wq\'*:[[],["model"],[]]')
    document = json.loads(run("search", DECODE, *MESH, *pin, "--trip-count", 14, "--apply", way, "--emit-strategy", path, "--json"))
    assert document["trip_count"] == 14 and document["cost"]["uncounted_loops"][0]["trips"] == 14
    alone = json.loads(run("search", DECODE, *MESH, *pin, "--apply", way, "--json"))
    assert "trip_count" not in alone and alone["cost"]["uncounted_loops"][0]["trips"] == 15
    again = cost("evaluate", DECODE, "--strategy", path)
    assert again == document["cost"]
    dynamic = [c["dynamic_count"] for c in again["collectives"].values() if c["count"]]
    assert dynamic and max(dynamic) >= 14
    once = cost("evaluate", DECODE, "--strategy", path, "--trip-count", 1)
    assert once["runtime_ns"] * 10 < again["runtime_ns"]
    told = json.loads(run("explain", DECODE, "--strategy", path, "--alternatives", 0, "--json"))
    assert told["cost"] == document["cost"]
    assert max(c["executions"] for c in told["collectives"]) >= 14


def test_check_holds_with_it():
    run("search", DECODE, *MESH, "--trip-count", 15, "--evaluations", 60, "--check")


def test_lower_lists_executions(tmp_path):
    plan = str(tmp_path / "plan.mlir")
    run("search", DECODE, *MESH, "--pin", '*\'wq\'*:[[],["model"],[]]', "--apply", "annotate", "--emit-mlir", plan)
    for words, trips in (((), 15), (("--trip-count", 40), 40)):
        counts = {c["trip_count"] for c in json.loads(run("lower", plan, "--json", *words))["collectives"]}
        assert trips in counts and counts <= {1, trips}


HLO = """HloModule loop, is_scheduled=true

cond {
  p = (s32[], f32[64,64]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(9)
  le = pred[] compare(i, n), direction=LT
  x = f32[64,64] get-tuple-element(p), index=1
  zero = s32[] constant(0)
  e = f32[1,1] dynamic-slice(x, zero, zero), dynamic_slice_sizes={1,1}
  s = f32[] reshape(e)
  c = f32[] constant(0)
  more = pred[] compare(s, c), direction=GT
  ROOT both = pred[] and(le, more)
}

body {
  p.1 = (s32[], f32[64,64]) parameter(0)
  i.1 = s32[] get-tuple-element(p.1), index=0
  one = s32[] constant(1)
  next = s32[] add(i.1, one)
  x.1 = f32[64,64] get-tuple-element(p.1), index=1
  y = f32[64,64] dot(x.1, x.1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (s32[], f32[64,64]) tuple(next, y)
}

ENTRY main {
  a = f32[64,64] parameter(0)
  start = s32[] constant(0)
  init = (s32[], f32[64,64]) tuple(start, a)
  w = (s32[], f32[64,64]) while(init), condition=cond, body=body
  ROOT r = f32[64,64] get-tuple-element(w), index=1
}
"""


def test_compiled_programs_take_it(tmp_path):
    path = tmp_path / "loop.hlo"
    path.write_text(HLO)
    flops = [cost("simulate", path, "--trip-count", n)["flops_per_device"] for n in (1, 2, 9)]
    assert flops[2] - flops[0] == 8 * (flops[1] - flops[0]) > 0
    assert cost("simulate", path)["flops_per_device"] == flops[2] == cost("simulate", path, "--trip-count", 10)["flops_per_device"]
    assert "1 loops that may end early or begin late were taken to run from 0 to their bound; --trip-count N gives another" in run("simulate", path)
    assert "taken to run as often as --trip-count says, at most to their bound" in run("simulate", path, "--trip-count", 9)
    path.write_text(HLO.replace("ROOT both", "both").replace("more = pred", "ROOT more = pred"))
    assert cost("simulate", path)["flops_per_device"] < flops[1]
    assert "1 loops of unknown trip count were taken to run once; --trip-count N gives it" in run("simulate", path)
    assert "taken to run 9 times, as --trip-count says" in run("simulate", path, "--trip-count", 9)


@pytest.mark.parametrize("verb", (("search", *MESH), ("simulate",), ("lower",)))
@pytest.mark.parametrize("wrong", ("0", "-3", "x", "1.5", "1000000001", ""))
def test_not_a_count(verb, wrong):
    said = run(verb[0], DECODE, *verb[1:], "--trip-count", wrong, code=64)
    assert "--trip-count: expected a whole number from 1 to 1000000000, found '%s'" % wrong in said


@pytest.mark.parametrize("wrong", (0, 1.5, "7", -1, 1e12, None))
def test_not_a_count_in_a_document(tmp_path, wrong):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"mesh": "data=2", "arguments": [], "trip_count": wrong}))
    assert "strategy: 'trip_count': expected a whole number from 1 to 1000000000" in run("evaluate", DECODE, "--strategy", path, code=1)
