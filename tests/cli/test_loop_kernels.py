"""What shares a kernel on TPU: updates of a loop's stacks, sums of what an earlier kernel makes, slices of pads (libtpu 0.0.51; kernels of `transcribed`, `molecules` and `aligned`
of the judged programs, v5e). Times in ns; a kernel of its own takes 1.2 us at least."""
import json
import os
import subprocess

TOOL = os.environ.get("SHARDWRIGHT", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "shardwright"))
LAUNCH = 1000
STACKS = """module {
  func.func public @main(%s: PART) -> (STACK, STACK, PART) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %most = stablehlo.constant dense<64> : tensor<i32>
    %fill = stablehlo.constant dense<0.0> : tensor<f32>
    %stack = stablehlo.broadcast_in_dim %fill, dims = [] : (tensor<f32>) -> STACK
    %0:4 = stablehlo.while(%i = %zero, %v = %s, %a = %stack, %b = %stack) : tensor<i32>, PART, STACK, STACK
    cond {
      %1 = stablehlo.compare LT, %i, %most : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.exponential %v : PART
      %2 = stablehlo.tanh %v : PART
      %3 = stablehlo.multiply %1, %2 : PART
      %4 = stablehlo.reshape %1 : (PART) -> tensor<1x16x64xf32>
      %5 = stablehlo.reshape %2 : (PART) -> tensor<1x16x64xf32>
      %6 = stablehlo.dynamic_update_slice %a, %4, %i, %zero, %zero : (STACK, tensor<1x16x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> STACK
      %7 = stablehlo.dynamic_update_slice %b, %5, %i, %zero, %zero : (STACK, tensor<1x16x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> STACK
      %8 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %8, %3, %6, %7 : tensor<i32>, PART, STACK, STACK
    }
    return %0#2, %0#3, %0#1 : STACK, STACK, PART
  }
}
""".replace("PART", "tensor<16x64xf32>").replace("STACK", "tensor<64x16x64xf32>")
SUM = """module {
  func.func public @main(%a: tensor<16x32x128x64xbf16>, %b: tensor<64x256xbf16>, %c: tensor<16x128x64xbf16>) -> (WIDE, tensor<16x256x32xbf16>) {
    %p = stablehlo.dot_general %a, %b, contracting_dims = [3] x [0] : (tensor<16x32x128x64xbf16>, tensor<64x256xbf16>) -> WIDE
    %q = OTHER
    %r = stablehlo.dot_general %p, %q, batching_dims = [0, 3] x [0, 2], contracting_dims = [2] x [1] : (WIDE, PART) -> tensor<16x256x32xbf16>
    return %p, %r : WIDE, tensor<16x256x32xbf16>
  }
}
""".replace("WIDE", "tensor<16x32x128x256xbf16>").replace("PART", "tensor<16x128x256xbf16>")
FREE = "stablehlo.dot_general %c, %b, contracting_dims = [2] x [0] : (tensor<16x128x64xbf16>, tensor<64x256xbf16>) -> tensor<16x128x256xbf16>"
MADE_OF_IT = """stablehlo.slice %p [0:16, 0:1, 0:128, 0:256] : (tensor<16x32x128x256xbf16>) -> tensor<16x1x128x256xbf16>
    %t = stablehlo.reshape %q : (tensor<16x1x128x256xbf16>) -> tensor<16x128x256xbf16>"""
PAD = """module {
  func.func public @main(%x: tensor<16x129xf32>) -> tensor<16x129xf32> {
    %f = stablehlo.constant dense<-1.0> : tensor<f32>
    %e = stablehlo.exponential %x : tensor<16x129xf32>
    %p = stablehlo.pad %x, %f, low = [0, 1], high = [0, 0], interior = [0, 0] : (tensor<16x129xf32>, tensor<f32>) -> tensor<16x130xf32>
    %s = stablehlo.slice %p [0:16, 0:129] : (tensor<16x130xf32>) -> tensor<16x129xf32>
    %r = stablehlo.add %e, %s : tensor<16x129xf32>
    return %r : tensor<16x129xf32>
  }
}
"""


def ops(folder, text):
    (folder / "m.mlir").write_text(text)
    done = subprocess.run([TOOL, "simulate", folder / "m.mlir", "--device", "tpu-v5e", "--json", "--ops"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["ops"]


def took(found, name):
    return [o["end_ns"] - o["start_ns"] for o in found if o["name"] == name and not o["fused"]]


def test_updates_by_equal_parts_are_one_kernel(tmp_path):
    first, second = took(ops(tmp_path, STACKS), "stablehlo.dynamic_update_slice")
    assert first > LAUNCH > second
    other = STACKS.replace("%5 = stablehlo.reshape %2 : (tensor<16x64xf32>) -> tensor<1x16x64xf32>", "%5 = stablehlo.slice %4 [0:1, 0:8, 0:64] : (tensor<1x16x64xf32>) -> tensor<1x8x64xf32>")
    other = other.replace("%b, %5, %i, %zero, %zero : (tensor<64x16x64xf32>, tensor<1x16x64xf32>", "%b, %5, %i, %zero, %zero : (tensor<64x16x64xf32>, tensor<1x8x64xf32>")
    assert all(each > LAUNCH for each in took(ops(tmp_path, other), "stablehlo.dynamic_update_slice"))


def test_a_sum_joins_a_product_that_the_rest_does_not_wait_for(tmp_path):
    """A product with one vector for each of many rows is a sum."""
    joined = took(ops(tmp_path, SUM.replace("OTHER", FREE)), "stablehlo.dot_general")[-1]
    apart = took(ops(tmp_path, SUM.replace("%q, batching", "%t, batching").replace("OTHER", MADE_OF_IT)), "stablehlo.dot_general")[-1]
    assert 4 * joined < apart


def test_a_slice_reads_through_a_pad(tmp_path):
    assert took(ops(tmp_path, PAD), "stablehlo.pad") == []
