"""Zeros that a loop writes what it makes into: filled before by XLA for TPU where the loop runs backwards, and where two loops begin with equal ones."""
import json
import os
import subprocess

import pytest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))
LEAST_NS = 20000  # a fill of 32 MiB takes more, nothing else of these constants does
STATE, KEPT = "tensor<512x1024xf32>", "tensor<16x512x1024xf32>"

LOOP = """    %z{i} = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> KEPT
    %l{i}:3 = stablehlo.while(%at = %first, %s = {start}, %kept = %z{i}) : tensor<i32>, STATE, KEPT
    cond {{
      %more = stablehlo.compare LT, %at, %last, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    }} do {{
      %t = stablehlo.tanh %s : STATE
      %p = stablehlo.reshape %t : (STATE) -> tensor<1x512x1024xf32>
{place}
      %u = stablehlo.dynamic_update_slice %kept, %p, %place, %first, %first : (KEPT, tensor<1x512x1024xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> KEPT
      %n = stablehlo.add %at, %one : tensor<i32>
      stablehlo.return %n, %t, %u : tensor<i32>, STATE, KEPT
    }}
"""
PLACES = {"forwards": "      %place = stablehlo.add %at, %first : tensor<i32>", "backwards": "      %place = stablehlo.subtract %top, %at : tensor<i32>"}


def program(direction, loops):
    body = "".join(LOOP.format(i=i, start="%%l%d#1" % (i - 1) if i else "%x", place=PLACES[direction]) for i in range(loops))
    out = ", ".join("%%l%d#2" % i for i in range(loops))
    types = ", ".join(["KEPT"] * loops)
    return ("""module {
  sdy.mesh @mesh = <["data"=1]>
  func.func public @main(%%x: STATE) -> (%s) {
    %%zero = stablehlo.constant dense<0.0> : tensor<f32>
    %%first = stablehlo.constant dense<0> : tensor<i32>
    %%one = stablehlo.constant dense<1> : tensor<i32>
    %%last = stablehlo.constant dense<16> : tensor<i32>
    %%top = stablehlo.constant dense<15> : tensor<i32>
%s    return %s : %s
  }
}
""" % (types, body, out, types)).replace("STATE", STATE).replace("KEPT", KEPT)


def filled(path, text, device):
    """How many of the zeros take time."""
    path.write_text(text)
    done = subprocess.run([TOOL, "simulate", path, "--device", device, "--json", "--ops"], capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 2), done.stderr
    return sum(o["end_ns"] - o["start_ns"] > LEAST_NS for o in json.loads(done.stdout)["ops"] if o["name"] == "stablehlo.broadcast_in_dim")


@pytest.mark.parametrize("device", ("tpu-v5e", "tpu-v5p", "tpu-v6e"))
@pytest.mark.parametrize("direction, loops, expected", (("forwards", 1, 0), ("backwards", 1, 1), ("forwards", 2, 2)))
def test_zeros_of_loops(tmp_path, device, direction, loops, expected):
    assert filled(tmp_path / "m.mlir", program(direction, loops), device) == expected
