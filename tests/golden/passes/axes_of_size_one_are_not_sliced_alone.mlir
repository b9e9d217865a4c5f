// passes: func.func(sdy-reshard-to-collectives)
module {
sdy.mesh @mesh = <["a"=1, "x"=2]>
func.func @main(%arg0: tensor<8x8xf32>, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "x"}, {}]>}) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = sdy.reshard %arg0 <@mesh, [{"a"}, {}]> : tensor<8x8xf32>
  %1 = sdy.reshard %arg0 <@mesh, [{"a", "x"}, {}]> : tensor<8x8xf32>
  %2 = sdy.reshard %arg1 <@mesh, [{"x"}, {"a"}]> : tensor<8x8xf32>
  return %0, %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
}
// -----
module {
  sdy.mesh @mesh = <["a"=1, "x"=2]>
  func.func @main(%arg0: tensor<8x8xf32>, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "x"}, {}]>}) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
    %0 = sdy.all_slice [{"a", "x"}, {}] %arg0 out_sharding=<@mesh, [{"a", "x"}, {}]> : tensor<8x8xf32>
    %1 = sdy.collective_permute %arg1 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x8xf32>
    return %arg0, %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
}
