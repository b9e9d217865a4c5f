// passes: func.func(sdy-reshard-to-collectives)
module {
sdy.mesh @mesh = <["x"=2, "y"=2, "z"=2]>
func.func @main(%arg0: tensor<8x8xf32>, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}], unreduced={"y"}>}) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = sdy.reshard %arg0 <@mesh, [{}, {"x"}], unreduced={"y"}> : tensor<8x8xf32>
  %1 = sdy.reshard %arg1 <@mesh, [{"z"}, {"x"}], unreduced={"y"}> : tensor<8x8xf32>
  %2 = sdy.reshard %arg1 <@mesh, [{}, {}], unreduced={"y"}> : tensor<8x8xf32>
  return %0, %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
}
// -----
module {
  sdy.mesh @mesh = <["x"=2, "y"=2, "z"=2]>
  func.func @main(%arg0: tensor<8x8xf32>, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}], unreduced={"y"}>}) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
    %0 = sdy.all_slice [{}, {"x"}] %arg0 out_sharding=<@mesh, [{}, {"x"}], unreduced={"y"}> : tensor<8x8xf32>
    %1 = sdy.all_slice [{}, {"z"}] %arg1 out_sharding=<@mesh, [{"x"}, {"z"}], unreduced={"y"}> : tensor<8x8xf32>
    %2 = sdy.collective_permute %1 out_sharding=<@mesh, [{"z"}, {"x"}], unreduced={"y"}> : tensor<8x8xf32>
    %3 = sdy.all_gather [{"x"}, {}] %arg1 out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
    return %0, %2, %3 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
}
