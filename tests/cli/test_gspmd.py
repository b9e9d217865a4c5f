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


MAPPED = """module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64x32xf32>) -> (tensor<64x32xf32>) {
    %0 = stablehlo.custom_call @Sharding(%arg0) {backend_config = "OPEN", mhlo.sharding = "WHOLE"} : (tensor<64x32xf32>) -> tensor<64x32xf32>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {backend_config = "OPEN", mhlo.sharding = "ENTER"} : (tensor<64x32xf32>) -> tensor<16x32xf32>
    %2 = call @body(%1) : (tensor<16x32xf32>) -> tensor<16x32xf32>
    %3 = stablehlo.custom_call @Sharding(%2) {backend_config = "OPEN", mhlo.sharding = "LEAVE"} : (tensor<16x32xf32>) -> tensor<16x32xf32>
    %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {backend_config = "OPEN", mhlo.sharding = "WHOLE"} : (tensor<16x32xf32>) -> tensor<64x32xf32>
    return %4 : tensor<64x32xf32>
  }
  func.func private @body(%arg0: tensor<16x32xf32>) -> tensor<16x32xf32> {
    %0 = stablehlo.tanh %arg0 : tensor<16x32xf32>
    %1 = stablehlo.custom_call @Sharding(%0) {backend_config = "unspecified_dims=[0]", mhlo.sharding = "INSIDE"} : (tensor<16x32xf32>) -> tensor<16x32xf32>
    return %1 : tensor<16x32xf32>
  }
}
"""
ROWS, BY_ROWS = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}", "{devices=[1,1,4,2]<=[8] last_tile_dims={manual, replicated}}"
MAP_PARTS = {"OPEN": "unspecified_dims=[0,1]", "WHOLE": ROWS, "ENTER": BY_ROWS, "LEAVE": BY_ROWS, "INSIDE": "{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dims={manual}}"}


def mapped(folder, **parts):
    text = MAPPED
    for word, value in {**MAP_PARTS, **parts}.items():
        text = text.replace(word, value)
    path = folder / "gspmd.mlir"
    path.write_text(text)
    return path


def test_shard_maps_are_manual_computations(tmp_path):
    """The whole axis is the program's own, the other one is the partitioner's: a constraint inside names it alone."""
    out = tmp_path / "out.mlir"
    done = run("search", mapped(tmp_path), "--mesh", "data=4,model=2", "--apply", "annotate", "--evaluations", 20, "--emit-mlir", out)
    assert done.returncode == 0, done.stderr
    text = out.read_text()
    edge = '[<@mesh, [{"data", ?}, {?}]>]'
    assert 'sdy.manual_computation(%%arg0) in_shardings=%s out_shardings=%s manual_axes={"data"}' % (edge, edge) in text
    assert 'sdy.sharding_constraint %0 <@mesh, [{?}, {"model"}]>' in text and "custom_call" not in text


BY_ALL = {"OPEN": "", "WHOLE": "{devices=[4,1,2]<=[8] last_tile_dim_replicate}", "ENTER": "{manual}", "LEAVE": "{manual}", "INSIDE": "{manual}"}
EARLY = {"call @body(%1) : (tensor<16x32xf32>) -> tensor<16x32xf32>": "stablehlo.tanh %1 : tensor<16x32xf32>"}
PLAIN_CALL = {"return %4": "%5 = stablehlo.slice %4 [0:16, 0:32] : (tensor<64x32xf32>) -> tensor<16x32xf32>\n    %6 = call @body(%5) : (tensor<16x32xf32>) -> tensor<16x32xf32>\n    return %4"}


def test_a_shard_map_of_all_axes(tmp_path):
    out = tmp_path / "out.mlir"
    done = run("search", mapped(tmp_path, **BY_ALL), "--mesh", "data=4,model=2", "--apply", "annotate", "--evaluations", 20, "--emit-mlir", out)
    assert done.returncode == 0, done.stderr
    assert 'in_shardings=[<@mesh, [{"data"}, {}]>] out_shardings=[<@mesh, [{"data"}, {}]>] manual_axes={"data", "model"}' in out.read_text()


@pytest.mark.parametrize("parts,mesh,line,said", (
    ({}, "data=2,model=4", 4, "it is manual along a part of an axis: give --mesh the axes of the shard_map"),
    ({}, "all=8", 4, "it is manual along a part of an axis: give --mesh the axes of the shard_map"),
    ({"LEAVE": "{manual}"}, "data=4,model=2", 6, "its edges are manual over other axes: lower with Shardy"),
    ({"INSIDE": "{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dim_replicate}"}, "data=4,model=2", 12, "it is in a shard_map, and not manual over its axes: lower with Shardy"),
    ({"WHOLE": BY_ROWS}, "data=4,model=2", 3, "it is manual, part of a shard_map that has no call here: lower with Shardy"),
    ({"WHOLE": "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"}, "data=4,model=2", 5,
     "operand 0 is tensor<16x32xf32> inside, expected tensor<32x32xf32> of tensor<64x32xf32> by its sharding"),
    ({"OPEN": "other"}, "data=4,model=2", 4, "expected unspecified_dims=[..]"),
    (EARLY, "data=4,model=2", 4, "its body is no function that is called: lower with Shardy"),
    ({"custom_call @SPMDFullToShardShape(%0)": "custom_call @Other(%0)"}, "data=4,model=2", 5, "an operand does not come from @Sharding and @SPMDFullToShardShape"),
    ({"return %4": "%5 = stablehlo.tanh %2 : tensor<16x32xf32>\n    return %4"}, "data=4,model=2", 5, "a result does not go to @Sharding and @SPMDShardToFullShape"),
    (PLAIN_CALL, "data=4,model=2", 14, "its function is called inside and outside of a shard_map: lower with Shardy"),
), ids=range(11))
def test_shard_maps_that_are_not_read(tmp_path, parts, mesh, line, said):
    done = run("search", mapped(tmp_path, **parts), "--mesh", mesh, "--evaluations", 20)
    assert done.returncode == 1 and said in done.stderr and "gspmd.mlir:%d:" % line in done.stderr
