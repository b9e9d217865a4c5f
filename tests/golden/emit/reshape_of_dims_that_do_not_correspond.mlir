// The rule has a factor for dim 1 of the operand and another for dim 3 of the result: each may be cut, not the op.
module @reshape attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=8]>
  func.func @main(%arg0: tensor<8x6x15xf32>) -> (tensor<15x2x8x3xf32>) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{}, {"a"}, {}]> : tensor<8x6x15xf32>
    %1 = stablehlo.reshape %0 : (tensor<8x6x15xf32>) -> tensor<15x2x8x3xf32>
    %2 = sdy.sharding_constraint %1 <@mesh, [{}, {}, {"a"}, {}]> : tensor<15x2x8x3xf32>
    return %2 : tensor<15x2x8x3xf32>
  }
}
