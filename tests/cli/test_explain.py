"""opt --explain: selectors, forms, and on real programs: every axis that propagation gave has one path, back to an annotation."""
import json
import math
import os
import re
import subprocess

import pytest

TOOL = os.environ.get("SHARDWRIGHT", "build/shardwright")
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PIPELINE = "inline,symbol-dce,sdy-propagation-pipeline"
MODULE = """module {
  sdy.mesh @mesh = <["data"=4, "model"=2]>
  func.func @main(%arg0: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("batch['x']"),
                  %arg1: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>} loc("params['w']")) -> tensor<64x16xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x16xf32>) -> tensor<64x16xf32> loc("src/net.py":7:3)
    %1 = stablehlo.tanh %0 : tensor<64x16xf32> loc("src/net.py":8:3)
    return %1 : tensor<64x16xf32>
  }
}
"""


def run(*args, code=0):
    done = subprocess.run([TOOL, "opt", *map(str, args)], capture_output=True, text=True, timeout=600)
    assert done.returncode == code, (args, done.returncode, done.stderr[-1000:])
    return done.stdout if code == 0 else done.stderr


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "net.mlir"
    path.write_text(MODULE)
    return path


@pytest.mark.parametrize("selectors, values", [
    (["%0"], ["%0"]), (["%arg1"], ["%arg1 (params['w'])"]), (["params*"], ["%arg1 (params['w'])"]), (["net.py:7"], ["%0"]),
    (["src/net.py:8:3"], ["%1"]), (["result0"], ["result 0"]), (["%1", "batch*"], ["%arg0 (batch['x'])", "%1"]),
])
def test_selectors(module, selectors, values):
    out = run("--passes", PIPELINE, "--json", *["--explain=" + s for s in selectors], module)
    assert [v["value"] for v in json.loads(out)["runs"][0]["values"]] == values


def test_conflict_and_path(module):
    text = run("--passes", PIPELINE, "--explain=%1", module)
    assert '%1 dim 0 got "data" from operand %0 of this op, factor i, forward, user priority 0, op priority 2' in text
    assert '''    %0 dim 0 got "data" from operand %arg0 (batch['x']) of stablehlo.dot_general at src/net.py:7:3, factor i''' in text
    assert '''    %arg0 (batch['x']) dim 0 has "data" from its own annotation in the module''' in text
    lost = json.loads(run("--passes", PIPELINE, "--explain=%0", "--json", module))["runs"][0]["values"][0]["lost"]
    assert [(x["dimension"], x["axis"], x["reason"], x["factor"], x["from"], x["winner"]) for x in lost] == [
        (1, "data", "taken", "j", "%arg1 (params['w'])", "%0")]


def test_the_module_goes_to_a_file(module, tmp_path):
    out = tmp_path / "out.mlir"
    text = run("--passes", PIPELINE, "--explain", "-o", out, module)
    assert out.read_text() == run("--passes", PIPELINE, module) and "func.func" not in text


def test_two_passes_two_runs(module):
    runs = json.loads(run("--passes", "sdy-basic-propagate,sdy-aggressive-propagate", "--explain", "--json", module))["runs"]
    assert [r["pass"] for r in runs] == ["sdy-basic-propagate", "sdy-aggressive-propagate"]
    assert not runs[0]["values"] and [v["value"] for v in runs[1]["values"]] == ["%0", "result 0", "%1"]


def test_limit(module):
    assert "3 values changed, 1 of 3 stories told" in run("--passes", PIPELINE, "--explain", "--explain-limit", 1, module)


@pytest.mark.parametrize("args, code, message", [
    (["--passes", PIPELINE, "--explain=%17"], 1, "no value matches '%17'"),
    (["--passes", "symbol-dce", "--explain"], 1, "no pass of the pipeline propagates"),
    (["--passes", PIPELINE, "--json"], 64, "--json"),
    (["--passes", PIPELINE, "--explain", "--explain-limit", "-1"], 64, "--explain-limit"),
    (["--passes", PIPELINE, "--explain", "-o", "-"], 64, "standard output"),
])
def test_refusals(module, args, code, message):
    assert message in run(*args, module, code=code)


def sizes(text):
    return {name: int(size) for name, size in re.findall(r'"(\w+)"=(\d+)', re.search(r"sdy.mesh @mesh = <\[(.*?)\]", text)[1])}


def axis_size(axis, mesh):
    return int(axis.rsplit(")", 1)[1]) if ":(" in axis else mesh[axis]


@pytest.mark.parametrize("name", ["mlp", "transformer_4", "transformer_scan", "moe", "convnet"])
def test_every_axis_has_one_path(tmp_path, name):
    """On whole training steps with a strategy on them: what the sharding has by dim is what the paths explain."""
    annotated = tmp_path / "annotated.mlir"
    subprocess.run([TOOL, "search", os.path.join(ROOT, "tests", "corpus", name + ".mlir.zst"), "--mesh", "data=2,model=4", "--evaluations", "60",
                    "--apply", "annotate", "--emit-mlir", annotated], stdout=subprocess.DEVNULL, timeout=600)
    mesh = sizes(annotated.read_text())
    told = 0
    for run_ in json.loads(run("--passes", PIPELINE, "--explain", "--explain-limit", 0, "--json", annotated))["runs"]:
        for value in run_["values"]:
            dims = value["after"] if isinstance(value["after"], list) else value["after"]["dims"]
            for d, axes in enumerate(dims):
                parts = [a["axis"] for a in value["axes"] if a["dimension"] == d]
                assert math.prod(axis_size(a, mesh) for a in parts) == math.prod(axis_size(a, mesh) for a in axes), value["value"]
                assert {a.split(":")[0] for a in parts} == {a.split(":")[0] for a in axes}
            for axis in value["axes"]:
                path = axis["path"]
                assert path[-1]["how"] in ("annotated", "imported") and all(hop["how"] in ("propagated", "sharding_group") for hop in path[:-1])
                for hop, source in zip(path, path[1:]):
                    assert source.get("left_out_before") or hop["from"] == source["value"], hop["text"]
            told += 1 + value["more_alike"]
            assert all(loss["reason"] != "no_step" for loss in value["lost"]), value["value"]
    assert told > 100
