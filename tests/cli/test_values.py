"""Tactics about inner values: by location, op and type, by the stream of an argument's dimension, and kept free of an axis."""
import json
import os
import re
import subprocess
import tempfile

import pytest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.path.abspath(os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright")))
STEP = os.path.join(ROOT, "tests", "corpus", "transformer_2_tiny.mlir.zst")
MESH = ("--mesh", "data=2,model=2", "--device", "h100")

# main: hidden = tanh(x @ w), y = hidden @ v; a loop that doubles y; a function that main calls
SMALL = """module {
  func.func public @main(%arg0: tensor<16x32xf32> loc("x"), %arg1: tensor<32x64xf32> loc("w"), %arg2: tensor<64x32xf32> loc("v")) -> tensor<16x32xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32> loc("net.py":1:0)
    %1 = stablehlo.tanh %0 : tensor<16x64xf32> loc("net.py":2:0)
    %2 = stablehlo.dot_general %1, %arg2, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x32xf32>) -> tensor<16x32xf32> loc("net.py":3:0)
    %c = stablehlo.constant dense<0> : tensor<i32> loc("net.py":4:0)
    %3:2 = stablehlo.while(%i = %c, %a = %2) : tensor<i32>, tensor<16x32xf32>
     cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %b = stablehlo.add %a, %a : tensor<16x32xf32> loc("net.py":5:0)
      stablehlo.return %j, %b : tensor<i32>, tensor<16x32xf32>
    }
    %4 = func.call @inner(%3#1) : (tensor<16x32xf32>) -> tensor<16x32xf32>
    return %4 : tensor<16x32xf32>
  }
  func.func private @inner(%arg0: tensor<16x32xf32>) -> tensor<16x32xf32> {
    %0 = stablehlo.sine %arg0 : tensor<16x32xf32> loc("net.py":6:0)
    %1 = stablehlo.negate %0 : tensor<16x32xf32> loc("net.py":7:0)
    return %1 : tensor<16x32xf32>
  }
}
"""


def run(*words):
    return subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True)


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.mlir"
    path.write_text(SMALL)
    return str(path)


def search(module, tactics, *words, code=0):
    """-> (document, text of the module that carries the plan), or what was said."""
    with tempfile.TemporaryDirectory() as folder:
        schedule, out = os.path.join(folder, "schedule.json"), os.path.join(folder, "out.mlir")
        with open(schedule, "w") as f:
            json.dump({"tactics": tactics}, f)
        done = run("search", module, *MESH, "--schedule", schedule, "--apply", "annotate", "--emit-mlir", out, "--json", "--check", *words)
        assert done.returncode == code, done.stderr
        if code:
            return done.stderr
        with open(out) as f:
            return json.loads(done.stdout), f.read()


def constraints(text):
    return re.findall(r"sdy.sharding_constraint %\w+ (<.*>) :", text)


def manual(values, dimension=0, axis="model", **more):
    return {"manual": {"values": values, "dimension": dimension, "axis": axis, **more}}


@pytest.mark.parametrize("values,location", (
    ("net.py:2:*", "net.py:2:0"), ({"op": "*.tanh"}, "net.py:2:0"), ({"type": "tensor<16x64xf32>", "op": "stablehlo.tanh"}, "net.py:2:0"),
    ({"location": "net.py:?:0", "op": "*.tanh"}, "net.py:2:0"), (["nothing*", "net.py:2:*"], "net.py:2:0"), ("net.py:5:0", "net.py:5:0")))
def test_values_are_constrained(small, values, location):
    document, text = search(small, [manual(values, 1)])
    assert [c["location"] for c in document["constraints"]] == [location]
    assert document["constraints"][0]["sharding"][1] == ["model"]
    (action,) = document["actions"]
    assert (action["tactic"], action["kind"], action["constraints"], action["dimension"], action["axis"]) == ("manual", "constrain", [0], 1, "model")
    (written,) = constraints(text)
    assert '{"model"}' in written.split("}, ")[1] + "}"


def test_table_and_explanation(small, tmp_path):
    path = str(tmp_path / "plan.json")
    schedule = tmp_path / "s.json"
    schedule.write_text(json.dumps({"tactics": [manual("net.py:2:*", 1), {"named": "replicate", "axis": "data", "values": "net.py:3:*"}]}))
    said = run("search", small, *MESH, "--schedule", schedule, "--apply", "annotate", "--emit-strategy", path).stdout
    assert "constrain dim 1 at net.py:2:0 over model (1)" in said and "keep net.py:3:0 off data (1)" in said
    told = run("explain", small, "--strategy", path)
    assert told.returncode == 0 and "dim 1 over model: net.py:2:0 (1)" in told.stdout and "kept off data: net.py:3:0 (1)" in told.stdout
    document, again = json.load(open(path)), json.loads(run("evaluate", small, "--strategy", path, "--json").stdout)
    assert again == document["cost"]
    explained = json.loads(run("explain", small, "--strategy", path, "--json").stdout)
    assert [d["kind"] for d in explained["decisions"]] == ["constrain", "replicate"] and explained["cost"] == document["cost"]


def test_value_is_kept_free(small):
    """Without the tactic the axis runs from x into the tanh."""
    cut = {"manual": {"arguments": "x", "dimension": 0, "axis": "data"}}
    free, text = search(small, [{"named": "replicate", "axis": "data", "values": {"op": "*.tanh"}}, cut])
    (c,) = free["constraints"]
    assert c["sharding"]["dims"] == [[], []] and c["sharding"]["replicated"] == ["data"]
    assert constraints(text) == ['<@mesh, [{}, {}], replicated={"data"}>']
    assert free["actions"][0]["kind"] == "replicate" and free["actions"][0]["members"] == []
    assert sum(k["count"] for k in free["cost"]["collectives"].values()) > 0
    alone, _ = search(small, [cut])
    assert not alone["constraints"] and sum(k["count"] for k in alone["cost"]["collectives"].values()) == 0


def test_value_is_held(small):
    """By propagation the tanh is cut along its width; held, it stays so when its rows are cut over the same axis afterwards."""
    width, rows = {"manual": {"arguments": "w", "dimension": 1, "axis": "model"}}, {"manual": {"arguments": "x", "dimension": 0, "axis": "model"}}
    held, _ = search(small, [width, manual("net.py:2:*", 1), rows])
    assert [a["kind"] for a in held["actions"]] == ["partition", "constrain", "partition"]
    assert held["constraints"][0]["sharding"] == [[], ["model"]]


def test_axis_leaves_the_dim_that_propagation_gave_it(small):
    width = {"manual": {"arguments": "w", "dimension": 1, "axis": "model"}}
    moved, _ = search(small, [width, manual("net.py:2:*", 0)])
    assert moved["constraints"][0]["sharding"] == [["model"], []]
    assert moved["cost"]["collectives"]["all_to_all"]["count"] + moved["cost"]["collectives"]["all_gather"]["count"] > 0


def test_held_values_stay(small):
    said = search(small, [manual("net.py:2:*", 1), manual("net.py:2:*", 0)], code=1)
    assert "tactics[1]: manual: cannot shard dimension 0 of the value at net.py:2:0 over 'model': the axis is in use there" in said


def test_class_of_an_argument():
    """The width of the embedding is that of the hidden states of all layers: one constraint, and they are cut."""
    document, text = search(STEP, [{"manual": {"class_of": "params['embed']", "dimension": 1, "axis": "model"}}])
    assert len(document["constraints"]) == 1 and len(constraints(text)) == 1
    done = subprocess.run([TOOL, "opt", "--passes", "inline,symbol-dce,sdy-propagation-pipeline", "-"], input=text, capture_output=True, text=True, check=True)
    hidden = re.findall(r"stablehlo.add .*sdy.sharding_per_value<\[<@mesh, (\[[^]]*\])>\]>} : tensor<8x16x32xbf16>", done.stdout)
    assert len(hidden) >= 4 and all(sharding.endswith('{"model"}]') for sharding in hidden)


def test_with_automatic_tactics(small):
    """A search around it keeps it, on one thread and on two."""
    tactics = [manual("net.py:2:*", 1), {"auto": {"evaluations": 200}}, {"polish": {"evaluations": 100}}]
    one, two = (search(small, tactics, "--threads", n)[0] for n in (1, 2))
    for document in (one, two):
        document["search"] = {}
    assert one == two
    assert any(c["location"] == "net.py:2:0" and "model" in c["sharding"][1] for c in one["constraints"])


WRONG = (
    (manual("nothing*"), "tactics[0]: 'values' names no value; locations are as `shardwright lower` prints them"),
    (manual("net.py:4:*"), "'values' names only values that cannot be constrained: constants, results of main, or inside functions that main calls"),
    (manual("net.py:6:*"), "'values' names only values that cannot be constrained"),
    (manual("net.py:7:*"), "'values' names"),
    (manual("net.py:2:*", 2), "none of the values that 'values' names has a dimension 2"),
    (manual("net.py:2:*", 10**15), "none of the values that 'values' names has a dimension"),
    (manual({}), "'values': expected a glob over source locations, or an object with location, op or type"),
    (manual([]), "'values' names no value"),
    (manual(3), "'values': expected a glob over source locations"),
    (manual({"place": "x"}), "'values': 'place': expected location, op and type, each with a glob"),
    (manual({"op": 3}), "'values': 'op': expected location, op and type, each with a glob"),
    (manual("net.py:2:*", axis="stage"), "the mesh has no axis 'stage'"),
    (manual("net.py:2:*", arguments="x"), "expected one of 'arguments'"),
    ({"manual": {"dimension": 0, "axis": "model"}}, "expected one of 'arguments'"),
    ({"manual": {"class_of": "nothing", "axis": "model"}}, "'nothing' names no argument"),
    ({"manual": {"class_of": "x", "dimension": 5, "axis": "model"}}, "none of the values that 'class_of' names has a dimension 5"),
    ({"named": "zero3", "axis": "model", "values": "net.py:2:*"}, "unknown key 'values'"),
    ({"named": "replicate", "axis": "model", "values": "net.py:2:*", "arguments": "x"}, "'arguments' and 'values' exclude each other"),
)


@pytest.mark.parametrize("tactic,said", WRONG, ids=range(len(WRONG)))
def test_wrong(small, tactic, said):
    assert said in search(small, [tactic], code=1)


def test_more_values_than_a_tactic_takes(tmp_path):
    path = tmp_path / "long.mlir"
    ops = "".join("    %%%d = stablehlo.tanh %%%s : tensor<8xf32> loc(\"a.py\":1:0)\n" % (i, i - 1 if i else "arg0") for i in range(1100))
    path.write_text("module {\n  func.func public @main(%%arg0: tensor<8xf32>) -> tensor<8xf32> {\n%s    return %%1099 : tensor<8xf32>\n  }\n}\n" % ops)
    assert "'values' names more than 1024 values" in search(path, [manual("a.py*")], code=1)
