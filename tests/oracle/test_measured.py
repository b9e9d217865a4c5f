"""A few rows of the published measurements (docs/measured.md), one of each kind: `make measured` has them all."""
import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "measured"))
measured = pytest.importorskip("measured")

ROWS = [("vtrain/multi.csv", 3072, 1, 8), ("vtrain/multi.csv", 3072, 4, 8), ("vtrain/multi.csv", 3072, 8, 8), ("vtrain/multi.csv", 6144, 8, 4)]


def pair(table, hidden, tensor, micro_batch):
    row, = (r for r in measured.rows_of(table) if (r["hidden"], r["tensor"], r["micro_batch"]) == (hidden, tensor, micro_batch))
    mesh = {"data": row["data"], "model": row["tensor"]}
    return measured.step_ms(measured.cost_of(measured.gpt, measured.shape_of(row), mesh, measured.cluster_profile()))[1], row["ms"]


def test_step_times_and_their_order():
    pairs = [pair(*row) for row in ROWS]
    assert all(abs(measured.error(*p)) <= 0.15 for p in pairs), pairs
    assert measured.spearman(pairs) == 1


def test_ranks():
    assert measured.spearman([(1, 10), (2, 20), (2, 30), (9, 40)]) == pytest.approx(0.9487, abs=1e-4)
    assert measured.spearman([(1, 3), (2, 2), (3, 1)]) == -1
    assert measured.regret([(1, 12), (2, 10)]) == pytest.approx(0.2)
