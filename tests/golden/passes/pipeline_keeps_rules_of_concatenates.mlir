// passes: sdy-propagation-pipeline
module {
sdy.mesh @mesh = <["a"=4]>
func.func @main(%arg0: tensor<f32>) -> tensor<16x2xf32> {
  %0 = stablehlo.broadcast_in_dim %arg0, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<f32>) -> tensor<8x2xf32>
  %1 = stablehlo.slice %0 [4:8, 0:2] : (tensor<8x2xf32>) -> tensor<4x2xf32>
  %2 = stablehlo.slice %0 [3:7, 0:2] : (tensor<8x2xf32>) -> tensor<4x2xf32>
  %3 = stablehlo.concatenate %0, %1, %2, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}, {}]>]>} : (tensor<8x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<16x2xf32>
  return %3 : tensor<16x2xf32>
}
}
// -----
module {
  sdy.mesh @mesh = <["a"=4]> {stablehlo.mesh = {axes = [{name = "a", size = 4 : i64}]}}
  func.func @main(%arg0: tensor<f32>) -> (tensor<16x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<f32>) -> tensor<8x2xf32>
    %1 = stablehlo.slice %0 [4:8, 0:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}, {}]>]>} : (tensor<8x2xf32>) -> tensor<4x2xf32>
    %2 = stablehlo.slice %0 [3:7, 0:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}, {}]>]>} : (tensor<8x2xf32>) -> tensor<4x2xf32>
    %3 = sdy.reshard %1 <@mesh, [{}, {}]> : tensor<4x2xf32>
    %4 = sdy.reshard %2 <@mesh, [{}, {}]> : tensor<4x2xf32>
    %5 = stablehlo.concatenate %0, %3, %4, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<8x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<16x2xf32>
    %6 = sdy.reshard %5 <@mesh, [{"a"}, {}]> : tensor<16x2xf32>
    return %6 : tensor<16x2xf32>
  }
}
