// passes: sdy-basic-propagate
module {
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<2xf32>) {
  %0 = sdy.manual_computation(%arg1) in_shardings=[<@mesh, [{}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%arg2: tensor<2xf32>) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<4xf32>
    sdy.return %cst : tensor<4xf32>
  } : (tensor<2xf32>) -> tensor<8xf32>
  sdy.sharding_group %0 group_id=0 : tensor<8xf32>
  sdy.sharding_group %arg0 group_id=0 : tensor<8xf32>
  return
}
}
// -----
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<2xf32>) {
    %0 = sdy.manual_computation(%arg1) in_shardings=[<@mesh, [{}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%arg2: tensor<2xf32>) {
      %cst = stablehlo.constant dense<1.000000e+00> : tensor<4xf32>
      sdy.return %cst : tensor<4xf32>
    } : (tensor<2xf32>) -> tensor<8xf32>
    sdy.sharding_group %0 group_id=0 : tensor<8xf32>
    sdy.sharding_group %arg0 group_id=0 : tensor<8xf32>
    return
  }
}
