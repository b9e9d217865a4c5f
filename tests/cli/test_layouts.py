"""Products on TPU whose weights lie in another order of dims than the product wants: libtpu rounds them in a kernel of its own
(tests/judged/kernels.py prints its estimates)."""
import json
import os
import subprocess

import pytest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))
MODULE = """module {
  func.func public @main(%%x: tensor<%sxbf16>, %%w: tensor<%sx%s>) -> tensor<%sxbf16> {
    %s
    %%y = stablehlo.dot_general %%x, %%c, contracting_dims = %s x %s : (tensor<%sxbf16>, tensor<%sxbf16>) -> tensor<%sxbf16>
    return %%y : tensor<%sxbf16>
  }
}
"""
FLAT, HEADS = "3072x3072", "3072x24x128"


def kernels(tmp_path, device, x, w, result, contracted, made):
    source = {"argument": ("f32", "%%c = stablehlo.convert %%w : (tensor<%sxf32>) -> tensor<%sxbf16>" % (w, w)),
              "made": ("f32", "%%e = stablehlo.exponential %%w : tensor<%sxf32>\n    %%b = stablehlo.optimization_barrier %%e : tensor<%sxf32>\n"
                              "    %%c = stablehlo.convert %%b : (tensor<%sxf32>) -> tensor<%sxbf16>" % (w, w, w, w))}[made]
    path = tmp_path / "product.mlir"
    path.write_text(MODULE % (x, w, source[0], result, source[1].replace("%%", "%"), *contracted, x, w, result, result))
    done = subprocess.run([TOOL, "simulate", path, "--device", device, "--json", "--ops"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [op["name"].split(".")[1] for op in json.loads(done.stdout)["ops"] if op["stream"] == "compute" and not op["fused"] and op["end_ns"] > op["start_ns"]]


@pytest.mark.parametrize("device", ("tpu-v5e", "tpu-v5p", "tpu-v6e"))
def test_rounded_apart(tmp_path, device):
    def of(*words):
        return kernels(tmp_path, device, *words)
    assert of("1024x3072", FLAT, "1024x3072", ("[1]", "[0]"), "argument") == ["dot_general"]
    assert of("1024x3072", HEADS, "1024x24x128", ("[1]", "[0]"), "argument") == ["convert", "dot_general"]
    assert of("1024x24x128", HEADS, "1024x3072", ("[1, 2]", "[1, 2]"), "argument") == ["convert", "dot_general"]
    assert of("1024x24x128", "24x128x3072", "1024x3072", ("[1, 2]", "[0, 1]"), "argument") == ["dot_general"]


def test_what_is_made_lies_as_it_is_wanted(tmp_path):
    assert kernels(tmp_path, "tpu-v5e", "1024x3072", HEADS, "1024x24x128", ("[1]", "[0]"), "made") == ["exponential", "dot_general"]
    assert kernels(tmp_path, "h100", "1024x3072", HEADS, "1024x24x128", ("[1]", "[0]"), "argument") == ["convert", "dot_general"]
