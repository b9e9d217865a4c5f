// passes: sdy-add-data-flow-edges,sdy-op-priority-propagate
module {
sdy.mesh @mesh = <["a"=2]>
func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<i1>) {
  %0 = "stablehlo.if"(%arg1) ({
    stablehlo.return %arg0 : tensor<4xf32>
  }, {
    stablehlo.return %arg0 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  %1 = stablehlo.reshape %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}]>]>} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.add %1, %0 : tensor<4xf32>
  return
}
}
// -----
module {
  sdy.mesh @mesh = <["a"=2]>
  func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<i1>) {
    return
  }
}
