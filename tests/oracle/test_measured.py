"""A few rows of the published measurements (docs/measured.md), one of each kind: `make measured` has them all."""
import math
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


def elements(shapes):
    return sum(math.prod(shape) for shape in measured.gpt.jax.tree.leaves(shapes, is_leaf=lambda x: isinstance(x, tuple)))


def gpt_of(layers, hidden, heads, **rest):
    return measured.gpt.Shape(layers=layers, hidden=hidden, heads=heads, sequence=2048, vocabulary=51200, **rest)


@pytest.mark.parametrize("layers,hidden,heads,billions", [(24, 2304, 24, 1.7), (30, 3072, 32, 3.6), (40, 6144, 48, 18.4), (96, 16384, 128, 310.1)])
def test_parameters_of_gpt(layers, hidden, heads, billions):
    """Sizes of Megatron-LM's table 1, and the formula that its authors give: without the last normalisation."""
    found = elements(measured.gpt.parameters(gpt_of(layers, hidden, heads, copies=1, micro_batches=1, micro_batch=1)))
    assert round(found / 1e9, 1) == billions
    assert found - 2 * hidden == 12 * layers * hidden**2 + 13 * layers * hidden + (51200 + 2048) * hidden


@pytest.mark.parametrize("name,device,billions", [("32B", "tpu-v5p", 31.1), ("128B", "tpu-v5p", 124.6), ("1024B", "tpu-v5p", 996.4),
                                                  ("16B", "tpu-v5e", 15.6), ("22B", "tpu-v4", 21.7)])
def test_parameters_of_llama(name, device, billions):
    """The published counts are those of the layers."""
    row = next(r for r in measured.rows_of("maxtext.csv") if (r["name"], r["device"]) == (name, device))
    layers = measured.llama.parameters(measured.llama_shape(row))["layers"]
    assert round(sum(math.prod(shape) for shape, _ in layers.values()) / 1e9, 1) == billions


def test_flops():
    """96 B s l h^2 (1 + s / 6h + V / 16lh), what Megatron's authors count with every layer computed again."""
    s = gpt_of(30, 3072, 32, copies=8, micro_batches=8, micro_batch=8)
    cost = measured.cost_of(measured.gpt, s, {"data": 8, "model": 8}, ["--device", "a100"])
    batch = s.copies * s.micro_batches * s.micro_batch
    flops = 96 * batch * s.sequence * s.layers * s.hidden**2 * (1 + s.sequence / (6 * s.hidden) + s.vocabulary / (16 * s.layers * s.hidden))
    assert 0 < cost["flops_per_device"] * 64 / flops - 1 < 0.02     # elementwise work on top


def test_ranks():
    assert measured.spearman([(1, 10), (2, 20), (2, 30), (9, 40)]) == pytest.approx(0.9487, abs=1e-4)
    assert measured.spearman([(1, 3), (2, 2), (3, 1)]) == -1
    assert measured.regret([(1, 12), (2, 10)]) == pytest.approx(0.2)
