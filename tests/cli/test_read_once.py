"""What kernels of a TPU read: of a sum that XLA reduces whole their own part, and of what is written into a larger value nothing, where it is written as it is made."""
import json
import os
import subprocess

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))
MEMORY = 819e9  # bytes a second of a v5e

# Its shards are summed up over all 16 devices, which XLA does with an all-reduce: 64 MiB on each, of which one reads 4.
SUMMED = """module {
  sdy.mesh @mesh = <["data"=4, "model"=4]>
  func.func public @main(%x: tensor<4096x8192xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data", "model"}]>}, %w: tensor<8192x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "model"}, {}]>})
      -> (tensor<4096x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "model"}, {}]>}) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4096x8192xbf16>, tensor<8192x4096xbf16>) -> tensor<4096x4096xf32>
    %1 = stablehlo.tanh %0 : tensor<4096x4096xf32>
    return %1 : tensor<4096x4096xf32>
  }
}
"""

# 256 MiB, more than the chip holds, are written where they belong by the kernel that makes them.
WRITTEN = """module {
  sdy.mesh @mesh = <["data"=1]>
  func.func public @main(%kept: tensor<4x8192x8192xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<8192x512xbf16>, %w: tensor<512x8192xbf16>, %at: tensor<i32>) -> (tensor<4x8192x8192xf32>, tensor<8192x8192xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8192x512xbf16>, tensor<512x8192xbf16>) -> tensor<8192x8192xf32>
    %1 = stablehlo.reshape %0 : (tensor<8192x8192xf32>) -> tensor<1x8192x8192xf32>
    %2 = stablehlo.dynamic_update_slice %kept, %1, %at, %zero, %zero : (tensor<4x8192x8192xf32>, tensor<1x8192x8192xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x8192x8192xf32>
    return %2, %0 : tensor<4x8192x8192xf32>, tensor<8192x8192xf32>
  }
}
"""


def seconds_of(path, text, name):
    path.write_text(text)
    done = subprocess.run([TOOL, "simulate", path, "--device", "tpu-v5e", "--json", "--ops"], capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 2), done.stderr
    of = [o for o in json.loads(done.stdout)["ops"] if o["name"] == name]
    return (of[0]["end_ns"] - of[0]["start_ns"]) / 1e9


def test_of_a_sum_that_is_reduced_whole_a_part_is_read(tmp_path):
    assert seconds_of(tmp_path / "m.mlir", SUMMED, "reduce_scatter") > 0
    # reads and writes 4 MiB
    assert 4 * 2**20 / MEMORY < seconds_of(tmp_path / "m.mlir", SUMMED, "stablehlo.tanh") < 4 * 8 * 2**20 / MEMORY


def test_what_is_written_where_it_is_made_is_not_read_again(tmp_path):
    assert 1 <= seconds_of(tmp_path / "m.mlir", WRITTEN, "stablehlo.dynamic_update_slice") / (256 * 2**20 / MEMORY) < 1.5
