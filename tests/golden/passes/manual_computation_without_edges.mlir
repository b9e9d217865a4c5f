// passes: sdy-aggressive-propagate
module {
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<4x4xf32>) -> tensor<4xf32> {
  %0:2 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{}, {"y"}]>] out_shardings=[<@mesh, [{"x"}]>, <@mesh, [{}]>] manual_axes={"x"} (%arg1: tensor<4x4xf32>) {
    %1 = "stablehlo.reduce_scatter"(%arg1) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      stablehlo.return %arg2 : tensor<f32>
    }) : (tensor<4x4xf32>) -> tensor<2x4xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<2xf32>
    sdy.return %cst, %cst : tensor<2xf32>, tensor<2xf32>
  } : (tensor<4x4xf32>) -> (tensor<4xf32>, tensor<2xf32>)
  %2 = sdy.sharding_constraint %0#0 <@mesh, [{?}]> : tensor<4xf32>
  return %2 : tensor<4xf32>
}
}
// -----
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @main(%arg0: tensor<4x4xf32>) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}]>}) {
    %0:2 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{}, {"y"}]>] out_shardings=[<@mesh, [{"x"}]>, <@mesh, [{}]>] manual_axes={"x"} (%arg1: tensor<4x4xf32>) {
      %2 = "stablehlo.reduce_scatter"(%arg1) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
      ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
        stablehlo.return %arg2 : tensor<f32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"y", ?}]>]>} : (tensor<4x4xf32>) -> tensor<2x4xf32>
      %cst = stablehlo.constant dense<1.000000e+00> : tensor<2xf32>
      sdy.return %cst, %cst : tensor<2xf32>, tensor<2xf32>
    } : (tensor<4x4xf32>) -> (tensor<4xf32>, tensor<2xf32>)
    %1 = sdy.sharding_constraint %0#0 <@mesh, [{"x", ?}]> : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
