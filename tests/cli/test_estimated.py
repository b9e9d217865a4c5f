"""Which steps XLA's schedule judges in part only: kernels that libtpu gives no estimate for (tests/judged/estimated.py)."""
import os
import sys

import pytest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "judged"))
import estimated  # noqa: E402

OPS = [("%s = stablehlo.slice %x [0:16:2, 0:128] : (tensor<16x128xf32>) -> tensor<8x128xf32>", {"stablehlo.slice"}),
       ("%s = stablehlo.slice %x [0:16, 4:128:16] : (tensor<16x128xf32>) -> tensor<16x8xf32>", {"stablehlo.slice"}),
       ("%s = stablehlo.slice %x [0:8, 0:128] : (tensor<16x128xf32>) -> tensor<8x128xf32>", set()),
       ("%s = stablehlo.pad %x, %z, low = [0], high = [0], interior = [1] : (tensor<8xf32>, tensor<f32>) -> tensor<15xf32>", {"stablehlo.pad"}),
       ("%s = stablehlo.pad %x, %z, low = [1], high = [0], interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<9xf32>", set()),
       ("%v, %i = chlo.top_k(%x, k = 4) : tensor<8xf32> -> (tensor<4xf32>, tensor<4xi32>)", {"chlo.top_k"})]


@pytest.mark.parametrize("text, names", OPS)
def test_ops_without_estimate(text, names):
    assert estimated.without_estimate(text, "tpu-v5e") == names
    assert estimated.without_estimate(text, "tpu-v5p") == names | {"stablehlo.gather", "stablehlo.scatter"}
