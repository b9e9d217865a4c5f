"""The program of one device, run as replicas on CPU devices, gives the parts of the whole results.

Every op of op_samples.py, with random shardings of its arguments; docs/op-coverage.md counts these as tested. Then random
ops, loops, conditionals, calls and manual computations with every value cut at random (emitted.py), and what went wrong once."""
import glob
import os
import random
import re

import pytest

import emitted
import execute
import op_samples
import replicas

GROUPS = 4
NAMES = sorted(op_samples.SAMPLES)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("group", range(GROUPS))
def test_ops_on_shards(tool, group, seed):
    ops = NAMES[group::GROUPS]
    whole, owners, signature = op_samples.module(ops)
    sharded, _, _ = op_samples.module(ops, random.Random(seed * GROUPS + group))
    errors = replicas.errors(tool, tool.file(sharded), execute.run(whole), signature)
    assert [(op, e) for op, e in zip(owners, errors) if not e < 1e-4] == []


def seeds(fast, slow):
    return [*range(fast), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(fast, slow))]


def failures(found):
    return [(kind, failure, text) for kind, text, failure in found if failure and not failure.startswith("left out")]


@pytest.mark.parametrize("seed", seeds(3, 40))
def test_random_ops(tool, seed):
    assert failures(emitted.run_ops(tool, seed)) == []


@pytest.mark.parametrize("seed", seeds(3, 40))
def test_random_windows_and_shifts(tool, seed):
    assert failures(emitted.run_moves(tool, seed)) == []


@pytest.mark.parametrize("seed", seeds(6, 100))
def test_random_control_flow(tool, seed):
    assert failures(emitted.run_control(tool, seed)) == []


@pytest.mark.parametrize("seed", seeds(6, 100))
def test_random_manual_computations(tool, seed):
    assert failures(emitted.run_manual(tool, seed)) == []


GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "emit")


GOLDENS = sorted(os.path.basename(path)[:-5] for path in glob.glob(os.path.join(GOLDEN, "*.mlir")))


def golden_error(tool, name):
    """As one device computes it; what only many can, as XLA's own partitioner runs it."""
    path = os.path.join(GOLDEN, name + ".mlir")
    with open(path) as f:
        text = f.read()
    arguments = re.search(r"@main\((.*?)\) ->", text)[1]
    signature = [("arg%d" % i, emitted.shape_of(kind)) for i, kind in enumerate(re.findall(r"%\w+: (tensor<[^>]*>+)", arguments))]
    whole = text if "manual_computation" in text else re.sub(r'("\w+"=|num_partitions = )\d+', r"\g<1>1", text)
    return max(replicas.errors(tool, path, execute.run(whole), signature))


@pytest.mark.parametrize("name", GOLDENS)
def test_golden_programs(tool, name):
    assert golden_error(tool, name) < 1e-4
