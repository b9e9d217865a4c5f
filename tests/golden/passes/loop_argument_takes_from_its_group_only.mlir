// passes: sdy-add-data-flow-edges,sdy-basic-propagate
module {
sdy.mesh @mesh = <["a"=2]>
func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<i1>) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) {
  %0 = stablehlo.while(%iterArg = %arg0) : tensor<4xf32>
  cond {
    stablehlo.return %arg2 : tensor<i1>
  } do {
    sdy.sharding_group %iterArg group_id=0 : tensor<4xf32>
    sdy.sharding_group %arg1 group_id=0 : tensor<4xf32>
    stablehlo.return %iterArg : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
}
// -----
module {
  sdy.mesh @mesh = <["a"=2]>
  func.func @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", ?}]>}, %arg1: tensor<4xf32>, %arg2: tensor<i1>) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) {
    %0 = stablehlo.while(%iterArg = %arg0) : tensor<4xf32>
    cond {
      stablehlo.return %arg2 : tensor<i1>
    } do {
      sdy.sharding_group %iterArg group_id=0 : tensor<4xf32>
      sdy.sharding_group %arg1 group_id=0 : tensor<4xf32>
      stablehlo.return %iterArg : tensor<4xf32>
    }
    %1 = sdy.data_flow_edge %0 sharding=<@mesh, [{"a", ?}]> : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
