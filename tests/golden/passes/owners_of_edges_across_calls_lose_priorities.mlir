// passes: sdy-add-func-data-flow-edges,sdy-user-priority-propagate
module {
sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = call @g(%a) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"b"}p1, {?}]>]>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
func.func private @g(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"a"}p0]>}) -> tensor<8x4xf32> {
  %0 = stablehlo.negate %a : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
}
// -----
module {
  sdy.mesh @mesh = <["a"=2, "b"=4]>
  func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b", ?}, {"a", ?}]>}) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b", ?}, {"a", ?}]>}) {
    %0 = call @g(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"b"}, {?}]>]>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %1 = sdy.func_data_flow_edge %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"b"}, {"a", ?}]>]>} : tensor<8x4xf32>
    return %1 : tensor<8x4xf32>
  }
  func.func private @g(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"a"}]>}) -> tensor<8x4xf32> {
    %0 = sdy.func_data_flow_edge %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"b", ?}, {"a"}]>]>} : tensor<8x4xf32>
    %1 = stablehlo.negate %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"b", ?}, {"a", ?}]>]>} : tensor<8x4xf32>
    return %1 : tensor<8x4xf32>
  }
}
