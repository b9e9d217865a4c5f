"""Single ops on shards: the program of one device, run as replicas on CPU devices, gives the parts of the whole results.

Every op of op_samples.py, with random shardings of its arguments; docs/op-coverage.md counts these as tested."""
import random

import pytest

import child
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
    path = tool.file(sharded)
    arguments, results, sizes = child.forked(replicas.io_shardings, tool("opt", "--passes", "sdy-propagation-pipeline", path))
    emitted = tool("lower", path, "--emit-mlir", "-")
    errors = replicas.run(emitted, execute.run(whole), signature, arguments, results, sizes)
    assert [(op, e) for op, e in zip(owners, errors) if not e < 1e-4] == []
