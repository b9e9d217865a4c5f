"""What XLA's partitioner makes of scatters that add, a batching dim (texts) cut by one axis and the updates by another: collectives of the annotated module.

Recorded from XLA for CPU (jaxlib 0.10.2, 16 devices). Where the result's texts are cut by their own axis and then by that of the updates it has an all-gather and an all-reduce of all 64 texts.
With the two axes in the other order, and along the rows of a table, it sums a device's own part.
"""
import json
import os
import subprocess

import pytest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))
SUM = """module {
  sdy.mesh @mesh = <["data"=4, "model"=4]>
  func.func public @main(%%rows: %(rows)s {sdy.sharding = #sdy.sharding<@mesh, %(rows_at)s>}, %%at: %(at)s {sdy.sharding = #sdy.sharding<@mesh, %(at_at)s>}, %%c: tensor<f32>)
      -> (%(sum)s {sdy.sharding = #sdy.sharding<@mesh, %(sum_at)s>}) {
    %%zero = stablehlo.constant dense<0.0> : tensor<f32>
    %(zeros)s
    %%0 = "stablehlo.scatter"(%%zeros, %%at, %%rows) <{indices_are_sorted = false, unique_indices = false, scatter_dimension_numbers = #stablehlo.scatter<%(dims)s>}> ({
    ^bb0(%%a: tensor<f32>, %%b: tensor<f32>):
      %%s = stablehlo.add %%a, %%b : tensor<f32>
      stablehlo.return %%s : tensor<f32>
    }) : (%(sum)s, %(at)s, %(rows)s) -> %(sum)s
    %%k = stablehlo.broadcast_in_dim %%c, dims = [] : (tensor<f32>) -> %(sum)s
    %%1 = stablehlo.multiply %%0, %%k : %(sum)s
    return %%1 : %(sum)s
  }
}
"""
OF_TEXTS = {"rows": "tensor<64x16x128x128xf32>", "at": "tensor<64x16x128x1xi32>", "sum": "tensor<64x1024x128xf32>",
            "dims": "update_window_dims = [3], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 3",
            "zeros": """%spread = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<1024x128xf32>
    %zeros = stablehlo.broadcast_in_dim %spread, dims = [1, 2] : (tensor<1024x128xf32>) -> tensor<64x1024x128xf32>"""}
OF_TABLE = {"rows": "tensor<64x128x512xf32>", "at": "tensor<64x128x1xi32>", "sum": "tensor<4096x512xf32>", "dims": "update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2",
            "zeros": "%zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<4096x512xf32>"}
ALL, OWN = [("all_gather", 33554432), ("all_reduce", 33554432)], [("reduce_scatter", 8388608)]


def collectives(path, **parts):
    path.write_text(SUM % parts)
    done = subprocess.run([TOOL, "simulate", path, "--device", "tpu-v5e", "--json", "--ops"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return [(o["name"], o["bytes"]) for o in json.loads(done.stdout)["ops"] if o["stream"] != "compute"]


@pytest.mark.parametrize("texts, rows, wanted", [
    ("model", "data", ('[{"model", "data"}, {}, {}]', ALL)), ("data", "model", ('[{"data", "model"}, {}, {}]', ALL)),
    ("model", "data", ('[{"data", "model"}, {}, {}]', [*OWN, ("collective_permute", 2097152)])), ("model", "data", ('[{"model"}, {}, {}]', [("all_reduce", 8388608)]))])
def test_texts_that_are_cut_further_behind_a_scatter(texts, rows, wanted, tmp_path):
    """Nor are the zeros of jax.vmap, spread twice, gathered."""
    at, expected = wanted
    of = '[{"%s"}, {"%s"}, {}, {}]' % (texts, rows)
    assert collectives(tmp_path / "m.mlir", rows_at=of, at_at=of, sum_at=at, **OF_TEXTS) == expected


def test_rows_of_a_table_that_are_cut_further_behind_a_scatter(tmp_path):
    found = collectives(tmp_path / "m.mlir", rows_at='[{"data"}, {}, {}]', at_at='[{"data"}, {}, {}]', sum_at='[{"model", "data"}, {}]', **OF_TABLE)
    assert found == [("reduce_scatter", 2097152)]


@pytest.mark.parametrize("rows, cut, gathered", [(4096, "{\"model\", \"data\"}, {}", ["rows", "at"]), (2048, "{\"model\", \"data\"}, {}", ["rows", "at"]), (5120, "{\"model\", \"data\"}, {}", []),
                                                 (4096, "{\"data\", \"model\"}, {}", ["rows", "at"]), (4096, "{\"data\"}, {\"model\"}", []), (4096, "{\"data\"}, {}", [])])
def test_a_table_in_more_parts_than_what_is_added_to_it_stays(rows, cut, gathered, tmp_path):
    """By XLA for CPU it turns between 4,160 and 4,164 such rows for a table of 4,096; cut along the rows by one axis alone between 3,840 and 3,904."""
    of = {"rows": "tensor<%dx16xf32>" % rows, "at": "tensor<%dx1xi32>" % rows, "sum": "tensor<4096x16xf32>",
          "dims": "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
          "zeros": "%zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<4096x16xf32>"}
    found = collectives(tmp_path / "m.mlir", rows_at='[{"data"}, {}]', at_at='[{"data"}, {}]', sum_at="[%s]" % cut, **of)
    whole = {"rows": ("all_gather", 64 * rows), "at": ("all_gather", 4 * rows)}
    assert sorted(c for c in found if c in whole.values()) == sorted(whole[g] for g in gathered)
    assert bool(gathered) != any(name in ("all_reduce", "reduce_scatter") for name, _ in found), found


READ = """module {
  sdy.mesh @mesh = <["data"=4, "model"=4]>
  func.func public @main(%%table: tensor<4096x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [%(cut)s]>}, %%at: tensor<%(n)dx1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>})
      -> (tensor<%(n)dx16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
    %%0 = "stablehlo.gather"(%%table, %%at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
      slice_sizes = array<i64: 1, 16>}> : (tensor<4096x16xf32>, tensor<%(n)dx1xi32>) -> tensor<%(n)dx16xf32>
    return %%0 : tensor<%(n)dx16xf32>
  }
}
"""


@pytest.mark.parametrize("rows, cut, wanted", [
    (4736, '{"model", "data"}, {}', [("all_gather", 4 * 4736), ("all_reduce", 64 * 4736)]), (4928, '{"model", "data"}, {}', [("all_gather", 65536), ("all_reduce", 16 * 4928)]),
    (3840, '{"data"}, {}', [("collective_permute", 3840), ("all_reduce", 16 * 3840), ("collective_permute", 16 * 3840)]),
    (3904, '{"data"}, {}', [("collective_permute", 65536), ("all_reduce", 16 * 3904)])])
def test_a_table_in_more_parts_than_what_is_read_stays(rows, cut, wanted, tmp_path):
    """XLA for CPU has the same collectives, and turns between 4,800 and 4,864 rows that are read, and between 3,840 and 3,904."""
    (tmp_path / "m.mlir").write_text(READ % {"cut": cut, "n": rows})
    done = subprocess.run([TOOL, "simulate", tmp_path / "m.mlir", "--device", "tpu-v5e", "--json", "--ops"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert [(o["name"], o["bytes"]) for o in json.loads(done.stdout)["ops"] if o["stream"] != "compute"] == wanted


@pytest.mark.parametrize("table, wanted", [(1024, [("all_reduce", 65536), ("collective_permute", 65536)]), (8192, [("all_reduce", 65536), ("collective_permute", 2048), ("collective_permute", 65536)])])
def test_tables_go_to_a_part_of_a_larger_free_axis(table, wanted, tmp_path):
    """Of two devices and four, XLA for CPU (8 devices) moves what is cut by the two to two of the four."""
    text = READ % {"cut": '{"data"}, {}', "n": 1024}
    (tmp_path / "m.mlir").write_text(text.replace('"data"=4', '"data"=2').replace("tensor<4096x16xf32>", "tensor<%dx32xf32>" % table).replace("x16xf32", "x32xf32").replace("1, 16>", "1, 32>"))
    done = subprocess.run([TOOL, "simulate", tmp_path / "m.mlir", "--device", "tpu-v5e", "--json", "--ops"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert sorted((o["name"], o["bytes"]) for o in json.loads(done.stdout)["ops"] if o["stream"] != "compute") == wanted
