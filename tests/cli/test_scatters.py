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
