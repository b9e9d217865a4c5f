// passes: sdy-add-data-flow-edges,sdy-apply-sharding-constraints
module {
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<3xf32>) {
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{}]> : tensor<3xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{}]> : tensor<3xf32>
  %2 = sdy.sharding_constraint %1 <@mesh, [{}]> : tensor<3xf32>
  %3 = stablehlo.minimum %arg0, %arg0 : tensor<3xf32>
  %4 = stablehlo.reshape %1 : (tensor<3xf32>) -> tensor<1x3xf32>
  return
}
}
// -----
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%arg0: tensor<3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{}]> {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=3}>} : tensor<3xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{}]> : tensor<3xf32>
    %2 = sdy.sharding_constraint %1 <@mesh, [{}]> : tensor<3xf32>
    %3 = stablehlo.minimum %arg0, %arg0 : tensor<3xf32>
    %4 = stablehlo.reshape %1 : (tensor<3xf32>) -> tensor<1x3xf32>
    return
  }
}
