// passes: func.func(sdy-insert-explicit-reshards)
module {
sdy.mesh @mesh = <["a"=4, "b"=2]>
func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0:2 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>, <@mesh, [{}, {}], unreduced={"a"}>]>} %arg0, %arg0 : tensor<8x8xf32>, tensor<8x8xf32>
  %1 = sdy.data_flow_edge %0#1 sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
}
// -----
module {
  sdy.mesh @mesh = <["a"=4, "b"=2]>
  func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0:2 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>, <@mesh, [{}, {}], unreduced={"a"}>]>} %arg0, %arg0 : tensor<8x8xf32>, tensor<8x8xf32>
    %1 = sdy.data_flow_edge %0#1 sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  }
}
