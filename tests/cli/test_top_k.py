"""What XLA's compilers make of a top_k, and our own program: a sort that is partitioned as one, the largest of the parts' largest, or all of it on
every device.

Recorded from libtpu 0.0.51 (v5e:2x2) and XLA for GPU (jaxlib 0.10.2, H100): kinds and bytes of the collectives of single ops, 64 rows. On GPU keys and
positions travel in one instruction, where something reads the positions: a program that only returns them loses them in XLA (docs). Exact programs
have no outside reference here: `tests/golden/emit/top_k_along_a_cut_dim.mlir` runs one.
"""
import json
import os
import subprocess

import pytest

TOOL = os.environ.get("SHARDWRIGHT", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "shardwright"))
FOUR, TWO = '"x"=4', '"x"=2, "y"=2'
ROW, BATCH, NONE = '{}, {"x"}', '{"x"}, {}', "{}, {}"
BYTES = {"f32": 4, "bf16": 2}


def collectives(folder, device, apply, mesh, n, k, element, cut, wanted):
    keys, values, places = ("tensor<64x%dx%s>" % each for each in ((n, element), (k, element), (k, "i32")))
    at = "{sdy.sharding = #sdy.sharding<@mesh, [%s]>}"
    (folder / "m.mlir").write_text("""module {
  sdy.mesh @mesh = <[%s]>
  func.func public @main(%%a: %s %s) -> (%s %s, %s %s) {
    %%0 = stablehlo.add %%a, %%a : %s
    %%v, %%i = chlo.top_k(%%0, k = %d) : %s -> (%s, %s)
    return %%v, %%i : %s, %s
  }
}
""" % (mesh, keys, at % cut, values, at % wanted, places, at % wanted, keys, k, keys, values, places, values, places))
    done = subprocess.run([TOOL, "simulate", folder / "m.mlir", "--device", device, "--apply", apply, "--json", "--ops"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return sorted((o["name"], o["bytes"]) for o in json.loads(done.stdout)["ops"] if o["stream"] != "compute")


def candidates(n, element):
    """Keys and positions of that many in all."""
    return sorted([("all_gather", 64 * n * BYTES[element]), ("all_gather", 64 * n * 4)])


@pytest.mark.parametrize("n, k, element, wanted", [
    # one pass: few of a row, or a long row
    (128, 2, "f32", candidates(8, "f32")), (2048, 16, "f32", candidates(64, "f32")), (4096, 8, "f32", candidates(32, "f32")), (16384, 100, "f32", candidates(400, "f32")),
    (65536, 256, "f32", candidates(1024, "f32")), (65536, 64, "bf16", candidates(256, "bf16")), (1048576, 8, "bf16", candidates(32, "bf16")),
    # packed: keys and positions in one word of 32 bits, which no partitioner takes apart
    (256, 2, "bf16", [("all_gather", 64 * 256 * 4)]), (4096, 8, "bf16", [("all_gather", 64 * 4096 * 4)]), (49152, 8, "bf16", [("all_gather", 64 * 49152 * 4)]),
    # found in all of a long row
    (1048576, 1024, "f32", [("all_gather", 64 * 1048576 * 4)])])
def test_tpu(tmp_path, n, k, element, wanted):
    assert collectives(tmp_path, "tpu-v5e", "annotate", FOUR, n, k, element, ROW, NONE) == wanted


@pytest.mark.parametrize("n, k, element", [(64, 2, "f32"), (2048, 32, "f32"), (8192, 128, "f32"), (128, 2, "bf16"), (8192, 63, "bf16"), (32768, 64, "bf16")])
def test_tpu_sorts_many_of_a_row(tmp_path, n, k, element):
    """Keys go out and come back, 16-bit ones in one word with their positions."""
    moved = collectives(tmp_path, "tpu-v5e", "annotate", FOUR, n, k, element, ROW, NONE)
    assert [m for m in moved if m[0] == "all_to_all"] == [("all_to_all", 64 * n * 4 // 4 * (2 if element == "bf16" else 3))]


@pytest.mark.parametrize("k, element, wanted", [(8, "f32", []), (64, "f32", []), (64, "bf16", []), (8, "bf16", [("all_gather", 64 * 4096 * 4)])])
def test_tpu_rows_that_are_whole(tmp_path, k, element, wanted):
    assert collectives(tmp_path, "tpu-v5e", "annotate", FOUR, 4096, k, element, BATCH, BATCH) == wanted


@pytest.mark.parametrize("n, k, element", [(128, 2, "f32"), (4096, 64, "bf16"), (131072, 1000, "f32")])
def test_gpu(tmp_path, n, k, element):
    assert collectives(tmp_path, "h100", "annotate", FOUR, n, k, element, ROW, NONE) == candidates(4 * k, element)


@pytest.mark.parametrize("device", ["h100", "tpu-v5e"])
@pytest.mark.parametrize("cut, wanted_at, wanted", [
    ('{"y"}, {"x"}', '{"y"}, {}', [("all_gather", 32 * 16 * 4)] * 2), ('{"y"}, {"x"}', '{"y", "x"}, {}', [("all_gather", 32 * 16 * 4)] * 2),
    ('{}, {"x", "y"}', NONE, [("all_gather", 64 * 32 * 4)] * 2),
    # two devices have the same part
    ('{}, {"x"}', NONE, [("all_gather", 64 * 4096 * 4)]), (BATCH, BATCH, [("all_gather", 64 * 4096 * 4)]), ('{}, {"x"}', BATCH, [("all_gather", 64 * 4096 * 4)])])
def test_parts_that_devices_share(tmp_path, device, cut, wanted_at, wanted):
    assert collectives(tmp_path, device, "annotate", TWO, 4096, 8, "f32", cut, wanted_at) == wanted


@pytest.mark.parametrize("device", ["h100", "tpu-v5e", "cpu"])
def test_exact_programs_find_candidates_where_they_are_fewer(tmp_path, device):
    moved = lambda n, k: collectives(tmp_path, device, "exact", TWO, n, k, "f32", '{}, {"x"}', NONE)
    assert moved(4096, 8) == candidates(16, "f32") and moved(4096, 1023) == candidates(2046, "f32")
    assert ("all_to_all", 64 * 4096 // 2 * 4) in moved(4096, 1024)
    for n, k in ((4096, 4096), (4095, 8)):  # nothing left out, and parts of unequal sizes
        assert max(size for _, size in moved(n, k)) >= 64 * n // 2 * 4


def test_scores_are_rounded_in_the_kernel(tmp_path):
    """libtpu keeps the product in two bytes (`retrieved` of the judged programs), not what top_k compares."""
    (tmp_path / "m.mlir").write_text("""module {
  func.func public @main(%a: tensor<64x256xbf16>, %b: tensor<256x1048576xbf16>) -> (tensor<64x64xf32>, tensor<64x64xi32>) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x256xbf16>, tensor<256x1048576xbf16>) -> tensor<64x1048576xbf16>
    %1 = stablehlo.convert %0 : (tensor<64x1048576xbf16>) -> tensor<64x1048576xf32>
    %v, %i = chlo.top_k(%1, k = 64) : tensor<64x1048576xf32> -> (tensor<64x64xf32>, tensor<64x64xi32>)
    return %v, %i : tensor<64x64xf32>, tensor<64x64xi32>
  }
}
""")
    done = subprocess.run([TOOL, "simulate", tmp_path / "m.mlir", "--device", "tpu-v5e", "--json"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert 128 << 20 <= json.loads(done.stdout)["temporary_bytes"] < 132 << 20
