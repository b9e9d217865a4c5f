// passes: canonicalize
module {
sdy.mesh @mesh = <["a"=2, "b"=2, "c"=2]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"a", "b"}>]>} : tensor<8x8xf32>
  %1 = sdy.all_reduce {"a", "b"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
  %2 = sdy.all_slice [{"b"}, {"a", "c"}] %1 out_sharding=<@mesh, [{"b"}, {"a", "c"}]> : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
}
// -----
module {
  sdy.mesh @mesh = <["a"=2, "b"=2, "c"=2]>
  func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"a", "b"}>]>} : tensor<8x8xf32>
    %1 = sdy.reduce_scatter [{"b"}, {"a"}] %0 out_sharding=<@mesh, [{"b"}, {"a"}]> : tensor<8x8xf32>
    %2 = sdy.all_slice [{}, {"c"}] %1 out_sharding=<@mesh, [{"b"}, {"a", "c"}]> : tensor<8x8xf32>
    return %2 : tensor<8x8xf32>
  }
}
