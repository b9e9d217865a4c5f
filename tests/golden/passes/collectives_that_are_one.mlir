// passes: sdy-propagation-pipeline
module {
sdy.mesh @mesh = <["a"=2, "b"=2, "c"=2]>
func.func @main(%a: tensor<8x8x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}, {"b"}, {}]>}) -> (tensor<8x8x8x8xf32>, tensor<8x8x8x8xf32>, tensor<8x8x8x8xf32>) {
  %0 = sdy.all_to_all [{"b"}: 2->3] %a out_sharding=<@mesh, [{"a"}, {}, {}, {"b"}]> : tensor<8x8x8x8xf32>
  %1 = sdy.all_to_all [{"a"}: 0->1] %0 out_sharding=<@mesh, [{}, {"a"}, {}, {"b"}]> : tensor<8x8x8x8xf32>
  %2 = sdy.all_gather [{"a"}, {}, {"b"}, {}] %a out_sharding=<@mesh, [{}, {}, {}, {}]> : tensor<8x8x8x8xf32>
  %3 = sdy.all_slice [{"a"}, {}, {"b"}, {}] %2 out_sharding=<@mesh, [{"a"}, {}, {"b"}, {}]> : tensor<8x8x8x8xf32>
  %4 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}, {}, {"b"}, {}], unreduced={"c"}>]>} : tensor<8x8x8x8xf32>
  %5 = sdy.collective_permute %a out_sharding=<@mesh, [{"a"}, {}, {"b"}, {}]> : tensor<8x8x8x8xf32>
  %6 = sdy.all_to_all [{"b"}: 2->3] %a out_sharding=<@mesh, [{"a"}, {}, {}, {"b"}]> : tensor<8x8x8x8xf32>
  return %1, %3, %5 : tensor<8x8x8x8xf32>, tensor<8x8x8x8xf32>, tensor<8x8x8x8xf32>
}
}
// -----
module {
  sdy.mesh @mesh = <["a"=2, "b"=2, "c"=2]> {stablehlo.mesh = {axes = [{name = "a", size = 2 : i64}, {name = "b", size = 2 : i64}, {name = "c", size = 2 : i64}]}}
  func.func @main(%arg0: tensor<8x8x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}, {"b"}, {}]>}) -> (tensor<8x8x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"a"}, {}, {"b"}]>}, tensor<8x8x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}, {"b"}, {}]>}, tensor<8x8x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}, {"b"}, {}]>}) {
    %0 = sdy.all_to_all [{"a"}: 0->1, {"b"}: 2->3] %arg0 out_sharding=<@mesh, [{}, {"a"}, {}, {"b"}]> : tensor<8x8x8x8xf32>
    %1 = sdy.all_gather [{"a"}, {}, {"b"}, {}] %arg0 out_sharding=<@mesh, [{}, {}, {}, {}]> : tensor<8x8x8x8xf32>
    return %0, %arg0, %arg0 : tensor<8x8x8x8xf32>, tensor<8x8x8x8xf32>, tensor<8x8x8x8xf32>
  }
}
