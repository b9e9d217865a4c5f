// passes: func.func(sdy-reshard-to-collectives)
module {
sdy.mesh @mesh = <["a"=4, "b"=2]>
sdy.mesh @empty = <[]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}) -> tensor<8x8xf32> {
  %0 = sdy.reshard %arg0 <@empty, [{}, {}]> : tensor<8x8xf32>
  %1 = sdy.reshard %0 <@mesh, [{"a"}, {}]> : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
}
// -----
module {
  sdy.mesh @mesh = <["a"=4, "b"=2]>
  sdy.mesh @empty = <[]>
  func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}) -> tensor<8x8xf32> {
    %0 = sdy.all_gather [{"b"}, {}] %arg0 out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
    %1 = sdy.reshard %0 <@mesh, [{"a"}, {}]> : tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  }
}
