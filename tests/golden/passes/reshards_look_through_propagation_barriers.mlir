// passes: func.func(sdy-insert-explicit-reshards{enable-full-version=true})
module {
sdy.mesh @mesh = <["b"=4, "c"=2]>
func.func @main(%arg0: tensor<2x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"c"}, {}]>}) -> tensor<2x8xf32> {
  %0 = sdy.propagation_barrier %arg0 allowed_direction=NONE {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"b"}]>]>} : tensor<2x8xf32>
  %1 = sdy.propagation_barrier %arg0 allowed_direction=NONE : tensor<2x8xf32>
  %2 = stablehlo.add %0, %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"b"}]>]>} : tensor<2x8xf32>
  return %2 : tensor<2x8xf32>
}
}
// -----
module {
  sdy.mesh @mesh = <["b"=4, "c"=2]>
  func.func @main(%arg0: tensor<2x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"c"}, {}]>}) -> tensor<2x8xf32> {
    %0 = sdy.propagation_barrier %arg0 allowed_direction=NONE {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"b"}]>]>} : tensor<2x8xf32>
    %1 = sdy.propagation_barrier %arg0 allowed_direction=NONE : tensor<2x8xf32>
    %2 = sdy.reshard %0 <@mesh, [{"c"}, {"b"}]> : tensor<2x8xf32>
    %3 = sdy.reshard %1 <@mesh, [{"c"}, {"b"}]> : tensor<2x8xf32>
    %4 = stablehlo.add %2, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"c"}, {"b"}]>]>} : tensor<2x8xf32>
    %5 = sdy.reshard %4 <@mesh, [{}, {"b"}]> : tensor<2x8xf32>
    %6 = sdy.reshard %5 <@mesh, [{}, {}]> : tensor<2x8xf32>
    return %6 : tensor<2x8xf32>
  }
}
