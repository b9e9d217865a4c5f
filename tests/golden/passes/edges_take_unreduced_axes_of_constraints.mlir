// passes: sdy-add-data-flow-edges,sdy-apply-sharding-constraints
module {
sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(%arg0: tensor<8x2xf32>, %arg1: tensor<i1>) -> tensor<8x2xf32> {
  %0 = stablehlo.while(%iterArg = %arg0) : tensor<8x2xf32>
  cond {
    stablehlo.return %arg1 : tensor<i1>
  } do {
    %1 = sdy.sharding_constraint %iterArg <@mesh, [{}, {"b"}], unreduced={"a"}> : tensor<8x2xf32>
    stablehlo.return %1 : tensor<8x2xf32>
  }
  return %0 : tensor<8x2xf32>
}
}
// -----
module {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func @main(%arg0: tensor<8x2xf32>, %arg1: tensor<i1>) -> tensor<8x2xf32> {
    %0 = stablehlo.while(%iterArg = %arg0) : tensor<8x2xf32>
    cond {
      stablehlo.return %arg1 : tensor<i1>
    } do {
      %2 = sdy.sharding_constraint %iterArg <@mesh, [{}, {"b"}], unreduced={"a"}> : tensor<8x2xf32>
      stablehlo.return %2 : tensor<8x2xf32>
    }
    %1 = sdy.data_flow_edge %0 sharding=<@mesh, [{?}, {?}], unreduced={"a"}> : tensor<8x2xf32>
    return %1 : tensor<8x2xf32>
  }
}
