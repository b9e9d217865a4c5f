// passes: sdy-propagation-pipeline{dedup-functions-fully=true}
module {
sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}, %w: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"a"}]>}) -> tensor<8x4xf32> {
  %0:2 = call @layer(%a, %w) : (tensor<8x4xf32>, tensor<4x4xf32>) -> (tensor<8x4xf32>, tensor<4x4xf32>)
  %1:2 = call @layer(%0#0, %0#1) : (tensor<8x4xf32>, tensor<4x4xf32>) -> (tensor<8x4xf32>, tensor<4x4xf32>)
  return %1#0 : tensor<8x4xf32>
}
func.func private @layer(%a: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> (tensor<8x4xf32>, tensor<4x4xf32>) {
  %0 = call @half(%w) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.dot_general %a, %0, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %1, %0 : tensor<8x4xf32>, tensor<4x4xf32>
}
func.func private @half(%w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.negate %w : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
}
// -----
module {
  sdy.mesh @mesh = <["a"=2, "b"=4]> {stablehlo.mesh = {axes = [{name = "a", size = 2 : i64}, {name = "b", size = 4 : i64}]}}
  func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}, %arg1: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"a"}]>}) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {"a"}]>}) {
    %0 = sdy.reshard %arg0 <@mesh, [{"b"}, {"a"}]> : tensor<8x4xf32>
    %1:2 = call @layer(%0, %arg1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"b"}, {"a"}]>, <@mesh, [{}, {"a"}]>]>} : (tensor<8x4xf32>, tensor<4x4xf32>) -> (tensor<8x4xf32>, tensor<4x4xf32>)
    %2:2 = call @layer(%1#0, %1#1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"b"}, {"a"}]>, <@mesh, [{}, {"a"}]>]>} : (tensor<8x4xf32>, tensor<4x4xf32>) -> (tensor<8x4xf32>, tensor<4x4xf32>)
    return %2#0 : tensor<8x4xf32>
  }
  func.func private @layer(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {"a"}]>}, %arg1: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"a"}]>}) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {"a"}]>}, tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"a"}]>}) {
    %0 = call @half(%arg1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"a"}]>]>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = stablehlo.dot_general %arg0, %0, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"b"}, {"a"}]>]>} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    return %1, %0 : tensor<8x4xf32>, tensor<4x4xf32>
  }
  func.func private @half(%arg0: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"a"}]>}) -> (tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"a"}]>}) {
    %0 = stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"a"}]>]>} : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}
