// passes: func.func(sdy-insert-explicit-reshards{enable-full-version=true})
module {
sdy.mesh @mesh = <["x"=2, "y"=2, "z"=4]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"z":(2)2}>}) {
  %0 = sdy.reshard %arg0 <@mesh, [{}, {}], unreduced={"z":(2)2}> : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
}
// -----
module {
  sdy.mesh @mesh = <["x"=2, "y"=2, "z"=4]>
  func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"z":(2)2}>}) {
    %0 = sdy.reshard %arg0 <@mesh, [{}, {}]> : tensor<8x8xf32>
    %1 = sdy.replicated_to_unreduced {"z":(2)2} %0 out_sharding=<@mesh, [{}, {}], unreduced={"z":(2)2}> : tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  }
}
