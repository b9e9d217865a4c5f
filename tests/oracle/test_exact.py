"""The program of one device inside a manual computation (apply "exact"): it computes what the whole program does, its bytes per device and
its collectives are those that are costed, and a training loop can go on with what it returns."""
import collections
import json
import math
import os
import re
import subprocess
import sys

import pytest

import cases
import emitted
import execute
import memory
import replicas
from annotate import annotate, main_of
from child import forked
from test_numerics import GOLDENS, failures, golden_error, seeds
from test_replay import BYTES, DEVICE, search

EXACT = ("--level", "exact", "--global")
WIDTH = {"f32": 4, "bf16": 2, "f16": 2, "f64": 8, "i1": 1, "i8": 1, "ui8": 1, "i32": 4, "ui32": 4, "i64": 8}


@pytest.fixture
def exact(tool):
    tool.emit = EXACT
    return tool


EXECUTED = [("mlp_tiny", "zero3_donated"), ("transformer_2_tiny", "data_megatron"), ("transformer_2_tiny", "sub_axes"), ("accumulate_tiny", "zero3_donated"),
            ("shard_map_step_tiny", "data_megatron"), ("ssm_tiny", "states"), ("resnet_tiny", "spatial")] + [
    pytest.param(name, label, marks=pytest.mark.slow) for label in ("data", "zero3_donated", "random_0", "random_1")
    for name in (*cases.TINY, "graph_net_tiny", "ssm_tiny", "resnet_tiny", "shard_map_step_tiny", "mixed_precision_tiny", "flax_step_tiny", "optax_step_tiny")]


@pytest.mark.parametrize("name,label", EXECUTED)
def test_exact_program_computes_the_same(exact, name, label):
    text = cases.text_of(name)
    annotated = annotate(text, cases.MESH, *cases.strategies(name, text)[label])
    whole = execute.run(annotate(text, cases.MESH, []) if cases.own_mesh(text) else text)
    assert max(replicas.errors(exact, exact.file(annotated), whole, cases.signature(text))) < 5e-2


@pytest.mark.parametrize("seed", seeds(2, 40))
def test_random_ops(exact, seed):
    assert failures(emitted.run_ops(exact, seed)) == []


@pytest.mark.parametrize("seed", seeds(4, 100))
def test_random_control_flow(exact, seed):
    assert failures(emitted.run_control(exact, seed)) == []


@pytest.mark.parametrize("seed", seeds(4, 100))
def test_random_manual_computations(exact, seed):
    assert failures(emitted.run_manual(exact, seed)) == []


@pytest.mark.parametrize("name", GOLDENS)
def test_golden_programs(exact, name):
    assert golden_error(exact, name) < 1e-4


@pytest.mark.parametrize("seed", seeds(2, 20))
def test_random_programs_and_steps(tool, seed):
    """What `make exact` runs by the thousand: the next seeds would be its own, so these are others."""
    words = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "exact.py"), "--tool", tool.path, "--seed", 2000000 + seed, "--count", 5, "--steps", 1,
             "--state", os.path.join(tool.folder, "exact.jsonl")]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    counts = dict(line.split()[:2] for line in done.stdout.replace("steps ", "steps_").splitlines() if line.startswith(("cuts", "search", "steps", "all")))
    assert counts == {"cuts": "5", "search": "5", "steps_cut": "1", "steps_searched": "1", "all": "12"}


def steps(text, count, seed=0):
    """Results of the last of `count` steps, each with the results of the one before where they replace arguments (as many first
    arguments as there are results of their types)."""
    executable, _, devices = memory.load(text)
    import jax
    import numpy as np
    from jax._src import sharding_impls
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        main = main_of(module)
        kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
        inputs, outputs = ([(tuple(ir.RankedTensorType(t).shape), str(ir.RankedTensorType(t).element_type)) for t in types]
                           for types in (kind.inputs, kind.results))
    names = execute._names(text)

    def shardings(given, n):
        return [sharding_impls.GSPMDSharding(tuple(devices), s) for s in given or []] or [jax.sharding.SingleDeviceSharding(devices[0])] * n

    given, taken = shardings(executable.get_parameter_shardings(), len(inputs)), shardings(executable.get_output_shardings(), len(outputs))
    rng = np.random.default_rng(seed)
    values = [execute.value(rng, name, *kind) for name, kind in zip(names, inputs)]
    for _ in range(count):
        arguments = [jax.device_put(value, s) for value, s in zip(values, given)]
        parts = executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
        results = [np.asarray(jax.make_array_from_single_device_arrays(shape, s, list(p))) for (shape, _), s, p in zip(outputs, taken, parts)]
        for i, result in enumerate(results):
            if i < len(values) and outputs[i] == inputs[i]:
                values[i] = result
    return [np.asarray(result, np.float64) for result in results]


@pytest.mark.parametrize("name", ["transformer_2_tiny"] + [pytest.param(name, marks=pytest.mark.slow) for name in (
    "mlp_tiny", *cases.TINY, "graph_net_tiny", "ssm_tiny", "resnet_tiny", "mixed_precision_tiny", "flax_step_tiny", "optax_step_tiny")])
def test_three_steps(tool, name):
    _, text = search(tool, name, "--apply", "exact", "--memory", "768KiB")
    alone, parted = forked(steps, annotate(cases.text_of(name), "all=1", []), 3), forked(steps, text, 3)
    for one, other in zip(alone, parted):
        far = abs(one - other) > 4e-2 * (abs(one) + 1e-3)
        assert far.sum() <= max(1, 0.02 * one.size), (one, other)


def moved(text):
    """Bytes by kind of collective in StableHLO text: of the larger side of each."""
    found, pending = collections.Counter(), None
    for line in text.splitlines():
        started = re.search(r'"stablehlo\.(all_reduce|all_gather|reduce_scatter|all_to_all|collective_permute)"', line)
        pending = started[1] if started else pending
        types = re.search(r": \(tensor<(\w+)>\) -> tensor<(\w+)>", line)
        if pending and types:
            sizes = [math.prod(map(int, t.split("x")[:-1])) * WIDTH[t.split("x")[-1]] for t in types.groups()]
            found[pending] += max(sizes)
            pending = None
    return found


@pytest.mark.parametrize("name", ["mlp", "transformer_2_tiny", "llama_2_tiny", "lora_tiny"] + [
    pytest.param(name, marks=pytest.mark.slow) for name in ("encoder_decoder_tiny", "moe", "mixed_precision_tiny", "dit_tiny", "transformer_4", "graph_net_tiny", "flax_step_tiny", "optax_step_tiny", "convnet", "resnet_tiny")])
def test_what_is_costed_is_what_is_written(tool, name):
    """Bytes of arguments, results and donated ones as XLA has them; collectives of the text as the cost counts them. A reshard of two dims at
    once is two collectives in the text, of which the cost counts the larger one."""
    document, text = search(tool, name, "--apply", "exact")
    assert document["apply"] == "exact"
    cost, measured = document["cost"], memory.measure(text)
    assert {word: cost[word] for word in BYTES} == {word: measured[word] for word in BYTES}
    found = moved(text)
    for kind, costed in cost["collectives"].items():
        assert costed["bytes"] <= found[kind] <= 1.34 * costed["bytes"] + 64, (kind, costed, found)
    simulated = json.loads(tool("simulate", tool.file(text), "--device", DEVICE, "--json"))
    assert {word: simulated[word] for word in BYTES} == {word: measured[word] for word in BYTES}
    assert abs(simulated["runtime_ns"] - cost["runtime_ns"]) <= 0.02 * cost["runtime_ns"]


def test_the_document_says_how(tool):
    """apply takes the way from the document, or from the flag."""
    document, text = search(tool, "mlp_tiny", "--apply", "exact")
    module, path = "%s/mlp_tiny.mlir.zst" % cases.CORPUS, tool.file(json.dumps(document), "s.json")
    assert tool("apply", module, "--strategy", path, "-o", "-") == text and "sdy.manual_computation" in text
    annotated = tool("apply", module, "--strategy", path, "-o", "-", "--apply", "annotate")
    assert "sdy.manual_computation" not in annotated
    assert json.loads(tool("evaluate", module, "--strategy", path, "--device", DEVICE, "--json", codes=(0, 2))) == document["cost"]
