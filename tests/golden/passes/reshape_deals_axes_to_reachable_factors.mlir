// passes: func.func(sdy-insert-explicit-reshards{enable-full-version=true})
module {
sdy.mesh @mesh = <["a"=2, "b"=5, "c"=3]>
func.func @main(%arg0: tensor<15x3x32xf32>, %arg1: tensor<12x3x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"c"}, {}, {}]>}) -> (tensor<1440xf32>, tensor<2x8x2x2x9xf32>) {
  %0 = stablehlo.reshape %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a", "b"}]>]>} : (tensor<15x3x32xf32>) -> tensor<1440xf32>
  %1 = stablehlo.reshape %arg1 : (tensor<12x3x16xf32>) -> tensor<2x8x2x2x9xf32>
  return %0, %1 : tensor<1440xf32>, tensor<2x8x2x2x9xf32>
}
}
// -----
module {
  sdy.mesh @mesh = <["a"=2, "b"=5, "c"=3]>
  func.func @main(%arg0: tensor<15x3x32xf32>, %arg1: tensor<12x3x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"c"}, {}, {}]>}) -> (tensor<1440xf32>, tensor<2x8x2x2x9xf32>) {
    %0 = stablehlo.reshape %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<15x3x32xf32>) -> tensor<1440xf32>
    %1 = sdy.reshard %0 <@mesh, [{"a", "b"}]> : tensor<1440xf32>
    %2 = sdy.reshard %arg1 <@mesh, [{}, {"c"}, {}]> : tensor<12x3x16xf32>
    %3 = stablehlo.reshape %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}, {}, {"c"}]>]>} : (tensor<12x3x16xf32>) -> tensor<2x8x2x2x9xf32>
    %4 = sdy.reshard %3 <@mesh, [{}, {}, {}, {}, {}]> : tensor<2x8x2x2x9xf32>
    %5 = sdy.reshard %1 <@mesh, [{}]> : tensor<1440xf32>
    return %5, %4 : tensor<1440xf32>, tensor<2x8x2x2x9xf32>
  }
}
