"""A module annotated by SBP inference computes what the whole program does: arguments cut at random, partial sums through linear
ops, boxing in between, run as one program per device."""
import random
import re

import pytest

import emitted
import execute
import replicas

# Linear in the first part: sums of parts go through reshape, transpose, slice, concatenate, add and a product with a whole value.
PROGRAM = """module @program attributes {mhlo.num_partitions = %(devices)d : i32, mhlo.num_replicas = 1 : i32} {
sdy.mesh @mesh = <[%(axes)s]>
func.func public @main(%%x: tensor<8x16xf32>%(0)s, %%w: tensor<16x8xf32>%(1)s, %%b: tensor<8xf32>%(2)s, %%v: tensor<8x8xf32>%(3)s) -> (tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>) {
  %%zero = stablehlo.constant dense<0.0> : tensor<f32>
  %%half = stablehlo.constant dense<0.5> : tensor<8x8xf32>
  %%count = stablehlo.constant dense<3> : tensor<i32>
  %%one = stablehlo.constant dense<1> : tensor<i32>
  %%start = stablehlo.constant dense<0> : tensor<i32>
  %%0 = stablehlo.dot_general %%x, %%w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %%1 = stablehlo.transpose %%0, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %%2 = stablehlo.reshape %%1 : (tensor<8x8xf32>) -> tensor<2x4x8xf32>
  %%3 = stablehlo.reshape %%2 : (tensor<2x4x8xf32>) -> tensor<8x8xf32>
  %%4 = stablehlo.slice %%3 [0:8, 0:4] : (tensor<8x8xf32>) -> tensor<8x4xf32>
  %%5 = stablehlo.slice %%3 [0:8, 4:8] : (tensor<8x8xf32>) -> tensor<8x4xf32>
  %%6 = stablehlo.concatenate %%5, %%4, dim = 1 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  %%7 = stablehlo.multiply %%6, %%half : tensor<8x8xf32>
  %%8 = stablehlo.add %%7, %%0 : tensor<8x8xf32>
  %%9 = stablehlo.broadcast_in_dim %%b, dims = [1] : (tensor<8xf32>) -> tensor<8x8xf32>
  %%10 = stablehlo.add %%8, %%9 : tensor<8x8xf32>
  %%11 = stablehlo.tanh %%10 : tensor<8x8xf32>
  %%12 = stablehlo.multiply %%11, %%v : tensor<8x8xf32>
  %%13 = stablehlo.reduce(%%12 init: %%zero) applies stablehlo.add across dimensions = [1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  %%14:2 = stablehlo.while(%%i = %%start, %%a = %%half) : tensor<i32>, tensor<8x8xf32>
  cond {
    %%c = stablehlo.compare LT, %%i, %%count : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %%c : tensor<i1>
  } do {
    %%n = stablehlo.add %%i, %%one : tensor<i32>
    %%p = stablehlo.dot_general %%a, %%v, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    stablehlo.return %%n, %%p : tensor<i32>, tensor<8x8xf32>
  }
  return %%12, %%13, %%14#1 : tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>
}
}
"""
RANKS = (2, 2, 1, 2)
MESHES = ((("a", 4),), (("a", 2), ("b", 2)), (("a", 2), ("b", 4)))


def random_argument(rng, axes, rank):
    """Axes in the order of the mesh, each on one dimension or on none."""
    dims = [[] for _ in range(rank)]
    for name, _ in axes:
        where = rng.randrange(rank + 1)
        if where < rank:
            dims[where].append('"%s"' % name)
    return " {sdy.sharding = #sdy.sharding<@mesh, [%s]>}" % ", ".join("{%s}" % ", ".join(d) for d in dims)


@pytest.mark.parametrize("seed", range(6))
def test_random_arguments(tool, seed):
    rng = random.Random(seed)
    axes = MESHES[seed % len(MESHES)]
    devices = 1
    for _, size in axes:
        devices *= size
    words = {str(i): random_argument(rng, axes, rank) for i, rank in enumerate(RANKS)}
    text = PROGRAM % dict(words, devices=devices, axes=", ".join('"%s"=%d' % axis for axis in axes))
    whole = PROGRAM % dict({str(i): "" for i in range(4)}, devices=1, axes=", ".join('"%s"=1' % name for name, _ in axes))
    annotated = tool("sbp", tool.file(text), "--emit-mlir", "-")
    signature = [("arg%d" % i, emitted.shape_of(kind)) for i, kind in enumerate(re.findall(r"%\w+: (tensor<[^>]*>)", text.split(") -> (")[0]))]
    found = replicas.errors(tool, tool.file(annotated), execute.run(whole), signature)
    assert all(error < 1e-4 for error in found), (found, words)
