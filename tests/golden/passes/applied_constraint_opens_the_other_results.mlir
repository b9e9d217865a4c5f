// passes: sdy-apply-sharding-constraints
module {
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<i1>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0:2 = "stablehlo.if"(%arg0) ({
    stablehlo.return %arg1, %arg1 : tensor<8xf32>, tensor<8xf32>
  }, {
    stablehlo.return %arg1, %arg1 : tensor<8xf32>, tensor<8xf32>
  }) : (tensor<i1>) -> (tensor<8xf32>, tensor<8xf32>)
  %1 = sdy.sharding_constraint %0#0 <@mesh, [{"x"}]> : tensor<8xf32>
  %2 = sdy.sharding_constraint %0#1 <@mesh, [{"x"}]> : tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}
}
// -----
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%arg0: tensor<i1>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0:2 = "stablehlo.if"(%arg0) ({
      stablehlo.return %arg1, %arg1 : tensor<8xf32>, tensor<8xf32>
    }, {
      stablehlo.return %arg1, %arg1 : tensor<8xf32>, tensor<8xf32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>, <@mesh, [{?}]>]>} : (tensor<i1>) -> (tensor<8xf32>, tensor<8xf32>)
    %1 = sdy.sharding_constraint %0#0 <@mesh, [{"x"}]> {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}>} : tensor<8xf32>
    %2 = sdy.sharding_constraint %0#1 <@mesh, [{"x"}]> : tensor<8xf32>
    return %1, %2 : tensor<8xf32>, tensor<8xf32>
  }
}
