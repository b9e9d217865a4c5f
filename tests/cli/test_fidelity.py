"""The comparison with XLA's figures (tests/oracle/fidelity): how it counts, on cases made by hand, and that it runs."""
import collections
import json
import os
import re
import subprocess
import sys

import pytest

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "oracle", "fidelity")
sys.path.insert(0, FOLDER)
import report  # noqa: E402
import rows  # noqa: E402
import xla_text  # noqa: E402

GATHER, REDUCE, WIDE = ("all_gather", 4, 100), ("all_reduce", 2, 50), ("all_reduce", 2, 100)


@pytest.mark.parametrize("mine,other,wide,matched,left,missing", (
    ({GATHER: 2, REDUCE: 1}, {GATHER: 2, REDUCE: 1}, None, 250, {}, {}),
    ({GATHER: 2}, {GATHER: 5}, None, 200, {}, {GATHER: 3}),
    ({GATHER: 5}, {GATHER: 2}, None, 200, {GATHER: 3}, {}),
    ({("all_gather", 2, 100): 1}, {GATHER: 1}, None, 0, {("all_gather", 2, 100): 1}, {GATHER: 1}),
    ({("reduce_scatter", 4, 100): 1}, {GATHER: 1}, None, 0, {("reduce_scatter", 4, 100): 1}, {GATHER: 1}),
    ({REDUCE: 3}, {WIDE: 2}, {WIDE: 2}, 200, {REDUCE: 1}, {}),       # float32 for bfloat16
    ({REDUCE: 3}, {WIDE: 2}, None, 100, {REDUCE: 1}, {WIDE: 1}),
    ({REDUCE: 1}, {WIDE: 2}, None, 0, {REDUCE: 1}, {WIDE: 2}),
    ({REDUCE: 1, WIDE: 1}, {WIDE: 2}, {WIDE: 2}, 200, {}, {}),
    ({REDUCE: 1, WIDE: 1}, {WIDE: 1, ("all_reduce", 2, 200): 1}, {WIDE: 1, ("all_reduce", 2, 200): 1}, 300, {}, {}),  # not 100 for 100
    ({REDUCE: 7}, {("all_reduce", 2, 150): 2}, None, 300, {REDUCE: 1}, {}),      # matmuls made one
    ({REDUCE: 5}, {("all_reduce", 2, 250): 1}, None, 0, {REDUCE: 5}, {("all_reduce", 2, 250): 1}),
))
def test_match(mine, other, wide, matched, left, missing):
    counted = [collections.Counter(c) for c in (mine, other, wide or {})]
    assert report.match(counted[0], counted[1], counted[2] if wide else None) == (matched, left, missing)


def test_figures_count_members_times_executions():
    figures = {"collectives": [["all_reduce", 4, 3, 2, [["f32", 8], ["f32", 16]]], ["all_reduce", 4, 1, 1, [["f32", 8]]], ["all_gather", 1, 1, 1, [["f32", 8]]]]}
    assert report.theirs(figures) == {("all_reduce", 4, 8): 7, ("all_reduce", 4, 16): 6}


def test_our_groups_are_products_of_axes():
    document = {"collectives": [{"kind": "all_gather", "axes": ["a", "b:(1)2"], "bytes": 7, "trip_count": 3},
                                {"kind": "collective_permute", "axes": ["b"], "bytes": 5, "trip_count": 1}]}
    assert report.ours(document, "a=4,b=6") == {("all_gather", 8, 7): 3, ("collective_permute", None, 5): 1}


TEXT = """HloModule m
%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

%start (p: bf16[4]) -> (bf16[4], bf16[16]) {
  %p = bf16[4]{0} parameter(0)
  %g = bf16[16]{0} all-gather(%p), channel_id=7, replica_groups={{0,1,2,3},{4,5,6,7}}, dimensions={0}
  ROOT %c = (bf16[4]{0}, bf16[16]{0}) custom-call(%g), custom_call_target="AsyncCollectiveStart"
}

%more (q: bf16[4]) -> bf16[16] {
  %q = bf16[4]{0} parameter(0)
  ROOT %h = bf16[16]{0} all-gather(%q), channel_id=7, replica_groups={{0,1,2,3},{4,5,6,7}}, dimensions={0}
}

%done (j: bf16[4]) -> bf16[16] {
  %j = bf16[4]{0} parameter(0)
  %b = bf16[16]{0} all-gather(%j), channel_id=7, replica_groups={{0,1,2,3},{4,5,6,7}}, dimensions={0}
  ROOT %a = bf16[16]{0} custom-call(%b), custom_call_target="AsyncCollectiveDone"
}

%all-reduce-scatter.1 (x: f32[16]) -> f32[5] {
  %x = f32[16]{0} parameter(0)
  %y = f32[20]{0} pad(%x, %x), padding=0_4
  %z = f32[20]{0} all-reduce(%y), channel_id=3, replica_groups=[2,4]<=[8], to_apply=%add
  ROOT %w = f32[5]{0} dynamic-slice(%z, %z), dynamic_slice_sizes={5}
}

%body (t: (s32[], f32[8])) -> (s32[], f32[8]) {
  %t = (s32[], f32[8]{0}) parameter(0)
  %v = f32[8]{0} get-tuple-element(%t), index=1
  %r = (f32[8]{0}, f32[8]{0}) all-reduce(%v, %v), channel_id=4, replica_groups=mesh['a'=4,'b'=2] {'a':(1)2,'b'}, to_apply=%add, backend_config={"estimated_cycles":"10"}
  ROOT %n = (s32[], f32[8]{0}) tuple(%t, %v)
}

%test (u: (s32[], f32[8])) -> pred[] {
  %u = (s32[], f32[8]{0}) parameter(0)
  %i = s32[] get-tuple-element(%u), index=0
  %k = s32[] constant(6)
  ROOT %l = pred[] compare(%i, %k), direction=LT
}

ENTRY %main (e: bf16[4], f: f32[16]) -> f32[5] {
  %e = bf16[4]{0} parameter(0)
  %f = f32[16]{0} parameter(1)
  %s1 = (bf16[4]{0}, bf16[16]{0}) fusion(%e), kind=kCustom, calls=%start
  %s2 = bf16[16]{0} fusion(%e), kind=kCustom, calls=%more, backend_config={"estimated_cycles":"5"}
  %s3 = bf16[16]{0} fusion(%s1), kind=kCustom, calls=%done
  %o = (s32[], f32[8]{0}) while(%f), condition=%test, body=%body
  %m = f32[8]{0} collective-permute(%f), channel_id=5, source_target_pairs={{0,1},{1,0}}
  ROOT %d = f32[5]{0} fusion(%f), kind=kCustom, calls=%all-reduce-scatter.1
}
"""


def test_text_is_counted():
    found = {(c.kind, c.group, c.times, tuple(c.parts)) for c in xla_text.collectives(TEXT, 8)}
    assert found == {("all_gather", 4, 1, (("bf16", 32),)), ("all_reduce", 4, 6, (("f32", 32), ("f32", 32))),
                     ("collective_permute", None, 1, (("f32", 64),)), ("reduce_scatter", 4, 1, (("f32", 64),))}
    assert sorted((c.kind, c.behind) for c in xla_text.collectives(TEXT, 8)) == [
        ("all_gather", 5), ("all_reduce", 0), ("collective_permute", 0), ("reduce_scatter", 0)]
    assert xla_text.estimated_cycles(TEXT) == 6 * 10 + 5
    noted = TEXT.replace("body=%body", 'body=%body, backend_config={"known_trip_count":{"n":"9"}}')
    assert {c.times for c in xla_text.collectives(noted, 8)} == {1, 9}
    both = TEXT.replace("compare(%i, %k), direction=LT", "compare(%i, %k), direction=NE")
    assert {c.times for c in xla_text.collectives(both, 8)} == {1}


def test_formulas():
    mesh = "data=4,model=2"
    wire = 3 / 4 * 45e6 / 45e9
    assert report.seconds_of("all_gather", 4, 45_000_000, mesh) == pytest.approx(wire)
    assert report.seconds_of("all_reduce", 4, 45_000_000, mesh) == pytest.approx(2 * wire)
    assert report.seconds_of("all_gather", 4, 4, mesh) == pytest.approx(3e-6)
    assert report.seconds_of("reduce_scatter", 8, 45_000_000, mesh) == pytest.approx(7 / 8 * 45e6 / 90e9)
    assert report.seconds_of("collective_permute", None, 45_000_000, mesh) == pytest.approx(1e-6 + 1e-3)
    assert report.rank_program([(1, 5, 1, 0), (2, 6, 0, 0), (3, 9, 1, 0)]) == {
        "spearman_max": 1, "regret_max": 0, "spearman_sum": pytest.approx(0.8660254), "regret_sum": 0, "spearman_schedule": 1, "regret_schedule": 0}


def test_schedule():
    """What a collective hides behind counts off, down to nothing."""
    figures = {"estimated_cycles": 3_000_000, "collectives": [["all_gather", 4, 2, 3, [["bf16", 45_000_000]], [0, 300_000, 9_000_000]], ["all_reduce", 1, 1, 1, [["f32", 8]], [0]]]}
    one = 3 / 4 * 45e6 / 45e9
    assert report.step_seconds(figures, "data=4,model=2") == pytest.approx((2e-3, 6 * one, 2 * (one + one - 2e-4)))


def test_report_runs():
    words = [sys.executable, os.path.join(FOLDER, "report.py"), "--rows", "tpu_mlp_*"]
    done = subprocess.run([*words, "--json"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-1000:]
    document = json.loads(done.stdout)
    names = {rows.name_of(r) for r in rows.ROWS if rows.name_of(r).startswith("tpu_mlp_")}
    assert {f["row"] for f in document["tpu"]["rows"]} == names and len(names) >= 3
    for f in document["tpu"]["rows"]:
        assert 0 <= f["matched_bytes"] <= min(f["xla_bytes"], f["our_bytes"])
    assert {f["row"]: f["match"] for f in document["tpu"]["rows"]}["tpu_mlp_megatron"] == 1
    printed = subprocess.run(words, capture_output=True, text=True, timeout=300).stdout
    assert all(name in printed for name in names)
    assert re.search(r"(?m)^(ok  |MISS) collective bytes that match: \d", printed)
