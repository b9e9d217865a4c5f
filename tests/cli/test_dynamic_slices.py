"""What XLA's partitioner makes of a dynamic_slice of a dim that is cut, as loops over time have it: it works where its result is, on the whole of that dim.

Recorded from XLA for CPU (jaxlib 0.10.2, 16 devices).
"""
import json
import os
import subprocess

import pytest

TOOL = os.environ.get("SHARDWRIGHT", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "shardwright"))
SLICE = """module {
  sdy.mesh @mesh = <["data"=4, "model"=4]>
  func.func public @main(%%all: tensor<128x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [%s]>}, %%i: tensor<i32>) -> (tensor<1x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [%s]>}) {
    %%c = stablehlo.constant dense<0> : tensor<i32>
    %%0 = stablehlo.dynamic_slice %%all, %%i, %%c, sizes = [1, 2048] : (tensor<128x2048xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2048xf32>
    return %%0 : tensor<1x2048xf32>
  }
}
"""


@pytest.mark.parametrize("device", ["cpu", "h100", "tpu-v5e"])
@pytest.mark.parametrize("cut, wanted_at, wanted", [
    ('{"data"}, {"model"}', '{}, {"model"}', [("all_gather", 262144)]), ('{"data"}, {}', "{}, {}", [("all_gather", 1048576)]),
    ('{"data"}, {}', '{}, {"data"}', [("all_to_all", 262144)]), ('{"data"}, {}', '{}, {"model"}', [("all_to_all", 262144), ("collective_permute", 262144)]),
    ('{"data"}, {"model"}', '{}, {"model", "data"}', [("all_to_all", 65536)]), ('{}, {"model"}', '{}, {"model"}', [])])
def test_a_slice_is_where_its_result_is(cut, wanted_at, wanted, device, tmp_path):
    (tmp_path / "m.mlir").write_text(SLICE % (cut, wanted_at))
    done = subprocess.run([TOOL, "simulate", tmp_path / "m.mlir", "--device", device, "--json", "--ops"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert sorted((o["name"], o["bytes"]) for o in json.loads(done.stdout)["ops"] if o["stream"] != "compute") == wanted
