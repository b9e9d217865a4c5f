"""Modules that were lowered for GSPMD: taken over a mesh, or refused at their position with what to do."""
import json
import os
import subprocess

import pytest

TOOL = os.path.abspath(os.environ.get("SHARDWRIGHT", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "shardwright")))

TEXT = """module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16x32xf32> {mhlo.sharding = "WEIGHTS"}, %arg1: tensor<8x16xf32> {mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"}) -> (tensor<8x32xf32> {mhlo.sharding = "RESULT"}) {
    %0 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    %1 = stablehlo.custom_call @Sharding(%0) {backend_config = "CONFIG", mhlo.sharding = "HIDDEN"} : (tensor<8x32xf32>) -> tensor<8x32xf32>
    %2 = stablehlo.tanh %1 : tensor<8x32xf32>
    return %2 : tensor<8x32xf32>
  }
}
"""
PARTS = {"WEIGHTS": "{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dim_replicate}", "RESULT": "{devices=[4,2]<=[8]}", "CONFIG": "", "HIDDEN": "{devices=[4,2]<=[8]}"}


def run(*words):
    return subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True)


def module(folder, **parts):
    text = TEXT
    for word, value in {**PARTS, **parts}.items():
        text = text.replace(word, value)
    path = folder / "gspmd.mlir"
    path.write_text(text)
    return path


def test_shardings_are_pins(tmp_path):
    path = module(tmp_path)
    out, plan = tmp_path / "out.mlir", tmp_path / "plan.json"
    done = run("search", path, "--mesh", "data=4,model=2", "--json", "--emit-mlir", out, "--emit-strategy", plan, "--apply", "annotate")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [a["sharding"] for a in document["arguments"]] == [[[], ["model"]], [["data"], []]] and not document["actions"]
    text = out.read_text()
    assert "@Sharding" not in text and "mhlo.sharding" not in text
    assert 'sdy.sharding_constraint %0 <@mesh, [{"data"}, {"model"}]>' in text and '-> (tensor<8x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>}' in text
    assert json.loads(run("evaluate", path, "--strategy", plan, "--json").stdout) == document["cost"]
    assert json.loads(run("simulate", out, "--json").stdout) == document["cost"]
    assert run("explain", path, "--strategy", plan).returncode == 0
    assert run("fingerprint", path).stdout.split()[0] == document["module"]["fingerprint"]


def test_other_axes_of_the_same_devices(tmp_path):
    """Eight devices in other axes: tiles are expressed by parts of an axis."""
    document = json.loads(run("search", module(tmp_path), "--mesh", "all=8", "--json").stdout)
    assert [a["sharding"] for a in document["arguments"]] == [[[], ["all:(4)2"]], [["all:(1)4"], []]]


def test_unspecified_dims_are_open(tmp_path):
    out = tmp_path / "out.mlir"
    run("search", module(tmp_path, CONFIG="unspecified_dims=[0]", HIDDEN="{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dim_replicate}"), "--mesh", "data=4,model=2", "--apply", "annotate", "--emit-mlir", out)
    assert 'sdy.sharding_constraint %0 <@mesh, [{?}, {"model"}]>' in out.read_text()


WRONG = (
    ({"WEIGHTS": "{devices=[1,16]<=[16]}"}, 2, "argument 0 has a sharding for GSPMD that does not fit the mesh, {devices=[1,16]<=[16]}"),
    ({"WEIGHTS": "{devices=[1,3]<=[3]}"}, 2, "argument 0 has a sharding"),
    ({"WEIGHTS": "{maximal device=3}"}, 2, "argument 0 has a sharding for GSPMD that does not fit the mesh, {maximal device=3}: it is on one device"),
    ({"WEIGHTS": "{manual}"}, 2, "it is manual, part of a shard_map"),
    ({"WEIGHTS": "{devices=[1,2"}, 2, "argument 0 has a sharding"),
    ({"WEIGHTS": ""}, 2, "argument 0 has a sharding"),
    ({"RESULT": "{devices=[8]<=[8]}"}, 2, "result 0 has a sharding"),
    ({"HIDDEN": "{devices=[8]<=[8]}"}, 4, "the constraint has a sharding for GSPMD that does not fit the mesh"),
    ({"HIDDEN": "{manual}"}, 4, "the constraint has a sharding"),
    ({"CONFIG": "unspecified_dims=[2]"}, 4, "expected unspecified_dims=[..] with dimensions below 2"),
    ({"CONFIG": "unspecified_dims=[99999999999999999999]"}, 4, "expected unspecified_dims=[..] with dimensions below 2"),
    ({"CONFIG": "unspecified_dims=[0 1]"}, 4, "expected unspecified_dims=[..] with dimensions below 2"),
    ({"CONFIG": "other"}, 4, "expected unspecified_dims=[..]"),
    ({"CONFIG": "unspecified_dims=[0"}, 4, "expected unspecified_dims=[..]"),
    ({"CONFIG": "unspecified_dims=[]"}, 4, "expected unspecified_dims=[..]"),
)


@pytest.mark.parametrize("parts,line,said", WRONG, ids=range(len(WRONG)))
def test_wrong(tmp_path, parts, line, said):
    path = module(tmp_path, **parts)
    done = run("search", path, "--mesh", "data=4,model=2")
    assert done.returncode == 1 and said in done.stderr and "gspmd.mlir:%d:" % line in done.stderr


@pytest.mark.parametrize("words", (("simulate",), ("lower",), ("sbp",)))
def test_without_a_mesh_it_is_refused(tmp_path, words):
    done = run(*words, module(tmp_path))
    assert done.returncode == 1 and "gspmd.mlir:2:" in done.stderr
    assert "argument 0 has a sharding for GSPMD (mhlo.sharding), which without a mesh says nothing: lower with Shardy" in done.stderr


def test_both_kinds_contradict(tmp_path):
    path = module(tmp_path)
    path.write_text(path.read_text().replace("module @jit_f", "module @jit_f", 1).replace(" {\n  func.func", ' {\n  sdy.mesh @mesh = <["data"=4, "model"=2]>\n  func.func', 1).replace(
        '{mhlo.sharding = "{devices=[1,2', '{sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>, mhlo.sharding = "{devices=[1,2', 1))
    done = run("search", path, "--mesh", "data=4,model=2")
    assert done.returncode == 1 and "it has one for Shardy, too" in done.stderr
