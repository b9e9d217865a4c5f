// passes: func.func(sdy-insert-explicit-reshards{enable-full-version=true})
module {
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<4x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x2xf32>, tensor<4x2xi32>) {
  %0:2 = stablehlo.custom_call @mhlo.topk(%arg0) : (tensor<4x12xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
  return %0#0, %0#1 : tensor<4x2xf32>, tensor<4x2xi32>
}
}
// -----
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%arg0: tensor<4x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x2xf32>, tensor<4x2xi32>) {
    %0:2 = stablehlo.custom_call @mhlo.topk(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>]>} : (tensor<4x12xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
    %1 = sdy.reshard %0#0 <@mesh, [{}, {}]> : tensor<4x2xf32>
    %2 = sdy.reshard %0#1 <@mesh, [{?}, {?}]> : tensor<4x2xi32>
    return %1, %2 : tensor<4x2xf32>, tensor<4x2xi32>
  }
}
