"""The expert strategies of tests/bench/experts are what their names say."""
import glob
import json
import os
import re
import subprocess
import sys

import pytest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))
sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))
from experts import Program, experts_of, models  # noqa: E402
from experts.program import CORPUS  # noqa: E402

MESH = {"data": 4, "model": 2}
FLAG = "data=4,model=2"


def run(*words, codes=(0, 2)):
    done = subprocess.run([TOOL, *words], capture_output=True, text=True)
    assert done.returncode in codes, done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=["mlp", "transformer_4"])
def program(request):
    return Program(request.param, TOOL)


@pytest.fixture
def cost_of(program, tmp_path):
    documents = dict(experts_of(program, MESH))

    def cost(name):
        path = tmp_path / "strategy.json"
        path.write_text(json.dumps({**documents[name], "apply": "exact"}))
        return json.loads(run("evaluate", program.path, "--strategy", str(path), "--device", "tpu-v5e", "--json"))
    return cost


def test_baselines(program, cost_of):
    """Data parallelism and ZeRO, written by hand, cost what the built-in baselines cost."""
    built_in = {b["name"]: b["cost"] for b in json.loads(run("search", program.path, "--mesh", FLAG, "--evaluations", "1", "--json"))["baselines"]}
    for ours, name in (("replicated", "replicated"), ("batch(data+model)", "data_parallel"), ("batch(data)", "data_parallel_first_axis"),
                       ("batch(data+model) zero2(data+model)", "zero2"), ("batch(data+model) zero3(data+model)", "zero3")):
        assert cost_of(ours) == built_in[name], name


def test_megatron_counts(tmp_path):
    """Four all_reduce per layer and step, two each way; data parallelism adds one per trainable tensor and the loss."""
    program = Program("transformer_4", TOOL)
    documents = dict(experts_of(program, MESH))
    layers, tensors = 4, 9 * 4 + 1
    expected = {"megatron(data+model)": {"all_reduce": 4 * layers},
                "batch(data)": {"all_reduce": tensors + 1},
                "batch(data) megatron(model)": {"all_reduce": tensors + 1 + 4 * layers}}
    for name, counts in expected.items():
        strategy, module = tmp_path / "strategy.json", tmp_path / "module.mlir"
        strategy.write_text(json.dumps(documents[name]))
        run("apply", program.path, "--strategy", str(strategy), "-o", str(module))
        found = json.loads(run("lower", str(module), "--json"))["counts"]["optimized"]
        found.pop("all_slice", None)
        assert {kind: n for kind, n in found.items() if n} == counts, name


def test_all_evaluate(program, cost_of):
    """Every document is one that evaluate takes, and no strategy of the list is there twice."""
    named = experts_of(program, MESH)
    assert len({name for name, _ in named}) == len(named)
    assert all(cost_of(name)["runtime_ns"] > 0 for name, _ in named)


def programs():
    return sorted(os.path.basename(p)[:-len(".mlir.zst")] for p in glob.glob(os.path.join(CORPUS, "*.mlir.zst")))


@pytest.mark.parametrize("name", programs())
def test_patterns_name_arguments(name):
    """What an expert knows of a model names arguments of it, and the dimension is one of theirs."""
    known = Program(name, TOOL)
    rules = list(models.of(models.TENSOR, name).values()) + list(models.of(models.EMBEDDING, name).values()) + list(models.of(models.SPATIAL, name).values())
    for pattern, dimension in [item for table in rules for item in table.items()]:
        found = known.named(pattern)
        assert found, pattern
        assert any(-len(a.shape) <= dimension < len(a.shape) for a in found), pattern
    assert known.of_role("data") and not [a for a in known.arguments if re.match("(params|frozen)", a.name) and a.role == "data"]
