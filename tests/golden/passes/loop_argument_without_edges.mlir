// passes: sdy-aggressive-propagate
module {
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<i1>) {
  %0 = stablehlo.while(%iterArg = %arg0) : tensor<8xf32>
  cond {
    stablehlo.return %arg2 : tensor<i1>
  } do {
    %1 = sdy.sharding_constraint %iterArg <@mesh, [{"x"}]> : tensor<8xf32>
    stablehlo.return %arg1 : tensor<8xf32>
  }
  return
}
}
// -----
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<i1>) {
    %0 = stablehlo.while(%iterArg = %arg0) : tensor<8xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>}
    cond {
      stablehlo.return %arg2 : tensor<i1>
    } do {
      %1 = sdy.sharding_constraint %iterArg <@mesh, [{"x"}]> : tensor<8xf32>
      stablehlo.return %arg1 : tensor<8xf32>
    }
    return
  }
}
