"""What a scan runs over on TPU: a part that lies in one lane of every tile is taken by a kernel of its own (libtpu 0.0.51: `sliced` in tests/judged/kernels.py). Times in us."""
import json
import os
import subprocess

import pytest

TOOL = os.environ.get("SHARDWRIGHT", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "shardwright"))
SCAN = """module {
  func.func public @main(%xs: STACK) -> PART {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %most = stablehlo.constant dense<256> : tensor<i32>
    %fill = stablehlo.constant dense<0.0> : tensor<f32>
    %from = stablehlo.broadcast_in_dim %fill, dims = [] : (tensor<f32>) -> PART
    %0:3 = stablehlo.while(%i = %zero, %v = %from, %a = %xs) : tensor<i32>, PART, STACK
    cond {
      %1 = stablehlo.compare LT, %i, %most : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.dynamic_slice %a, %i, ZEROS, sizes = [1, SIZES] : (STACK, tensor<i32>, TYPES) -> tensor<1xSHAPExf32>
      %2 = stablehlo.reshape %1 : (tensor<1xSHAPExf32>) -> PART
      %3 = stablehlo.tanh %v : PART
      %4 = stablehlo.add %3, %2 : PART
      %5 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %5, %4, %a : tensor<i32>, PART, STACK
    }
    return %0#1 : PART
  }
}
"""


def scan(*dims):
    text = SCAN.replace("STACK", "tensor<256xSHAPExf32>").replace("PART", "tensor<SHAPExf32>").replace("SHAPE", "x".join(map(str, dims)))
    return text.replace("SIZES", ", ".join(map(str, dims))).replace("ZEROS", ", ".join(["%zero"] * len(dims))).replace("TYPES", ", ".join(["tensor<i32>"] * len(dims)))


def turned(length, batch, width):
    """Of a batch of sequences, each place of all at a time."""
    text = scan(batch, width).replace("256x", "%dx" % length).replace("dense<256>", "dense<%d>" % length)
    text = text.replace("%%xs: tensor<%dx%dx%dxf32>" % (length, batch, width), "%%of: tensor<%dx%dx%dxf32>" % (batch, length, width))
    return text.replace("    %zero =", "    %%xs = stablehlo.transpose %%of, dims = [1, 0, 2] : (tensor<%dx%dx%dxf32>) -> tensor<%dx%dx%dxf32>\n    %%zero ="
                        % (batch, length, width, length, batch, width), 1)


def ops(folder, device, text):
    (folder / "m.mlir").write_text(text)
    done = subprocess.run([TOOL, "simulate", folder / "m.mlir", "--device", device, "--json", "--ops"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["ops"]


def slice_of(folder, device, text):
    return next(o for o in ops(folder, device, text) if o["name"] == "stablehlo.dynamic_slice")


# (device, dims of a part, libtpu's us where the stack is on the chip; in main memory it takes as long on v5e and v5p, on v6e 6.8 and 25.8)
APART = [("tpu-v5e", (8, 16, 64), 14.0), ("tpu-v5e", (32, 16, 64), 54.6), ("tpu-v5e", (8, 16, 16), 4.2), ("tpu-v5e", (64, 64), 7.2), ("tpu-v5p", (8, 16, 64), 5.0),
         ("tpu-v5p", (32, 16, 64), 18.7), ("tpu-v6e", (8, 16, 64), 4.5), ("tpu-v6e", (32, 16, 64), 16.7)]


@pytest.mark.parametrize("device, dims, us", APART)
def test_a_part_in_one_lane(tmp_path, device, dims, us):
    found = slice_of(tmp_path, device, scan(*dims))
    assert not found["fused"] and 0.7 * us < (found["end_ns"] - found["start_ns"]) / 1e3 < 1.4 * us


@pytest.mark.parametrize("device, dims", [("tpu-v5e", (8, 8, 128)), ("tpu-v5e", (128, 16, 64)), ("tpu-v5e", (16,)), ("h100", (8, 16, 64))])
def test_a_part_in_rows(tmp_path, device, dims):
    """Lanes that the numbers fill, or the batch; one too small for a kernel; no lanes."""
    assert slice_of(tmp_path, device, scan(*dims))["fused"]


@pytest.mark.parametrize("length, batch, width, us", [(256, 32, 1024, 4.1), (256, 8, 1024, 1.9), (64, 32, 512, 2.7), (256, 128, 512, 7.1)])
def test_a_part_in_one_row(tmp_path, length, batch, width, us):
    found = slice_of(tmp_path, "tpu-v5e", turned(length, batch, width))
    assert not found["fused"] and 0.7 * us < (found["end_ns"] - found["start_ns"]) / 1e3 < 1.4 * us
    assert slice_of(tmp_path, "tpu-v5e", scan(batch, width))["fused"]


def test_no_whole_tiles_of_rows(tmp_path):
    assert slice_of(tmp_path, "tpu-v5e", turned(20, 32, 512))["fused"]


def test_a_stack_of_another_loop(tmp_path):
    """What a loop leaves lies as it was written."""
    text, again = scan(8, 16, 64), scan(8, 16, 64).split("    %0:3 = ")[1].split("    return %0#1")[0]
    both = text.replace("    return %0#1", "    %9:3 = " + again.replace("%v = %from, %a = %xs", "%v = %0#1, %a = %0#2") + "    return %9#1")
    first, second = (o for o in ops(tmp_path, "tpu-v5e", both) if o["name"] == "stablehlo.dynamic_slice")
    assert not first["fused"] and second["fused"]
