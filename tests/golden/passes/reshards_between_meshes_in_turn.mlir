// passes: func.func(sdy-reshard-to-collectives)
module {
  sdy.mesh @mesh = <["x"=4]>
  sdy.mesh @other = <["x"=4], device_ids=[1, 2, 0, 3]>
  func.func @main(%arg0: tensor<2x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x"}>}, %arg1: tensor<2x8xf32>) -> (tensor<2x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, tensor<2x8xf32>) {
    %0 = sdy.reshard %arg0 <@other, [{}, {}]> : tensor<2x8xf32>
    %1 = sdy.reshard %0 <@mesh, [{}, {"x"}]> : tensor<2x8xf32>
    %2 = sdy.reshard %arg1 <@other, [{}, {}]> : tensor<2x8xf32>
    %3 = sdy.reshard %2 <@mesh, [{}, {"x"}]> : tensor<2x8xf32>
    %4 = sdy.reshard %2 <@other, [{}, {"x"}]> : tensor<2x8xf32>
    %5 = stablehlo.add %3, %4 : tensor<2x8xf32>
    return %1, %5 : tensor<2x8xf32>, tensor<2x8xf32>
  }
}
// -----
module {
  sdy.mesh @mesh = <["x"=4]>
  sdy.mesh @other = <["x"=4], device_ids=[1, 2, 0, 3]>
  func.func @main(%arg0: tensor<2x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x"}>}, %arg1: tensor<2x8xf32>) -> (tensor<2x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, tensor<2x8xf32>) {
    %0 = sdy.all_slice [{}, {"x"}] %arg0 out_sharding=<@mesh, [{}, {"x"}]> : tensor<2x8xf32>
    %1 = sdy.all_slice [{}, {"x"}] %arg1 out_sharding=<@mesh, [{}, {"x"}]> : tensor<2x8xf32>
    %2 = sdy.all_slice [{}, {"x"}] %arg1 out_sharding=<@other, [{}, {"x"}]> : tensor<2x8xf32>
    %3 = stablehlo.add %1, %2 : tensor<2x8xf32>
    return %0, %3 : tensor<2x8xf32>, tensor<2x8xf32>
  }
}
