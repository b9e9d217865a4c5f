// passes: sdy-propagation-pipeline
module {
sdy.mesh @mesh = <["m"=2]>
func.func @main(%arg0: tensor<8x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"m"}>}) {
  %0 = stablehlo.optimization_barrier %arg0 : tensor<8x1xf32>
  return
}
}
// -----
module {
  sdy.mesh @mesh = <["m"=2]> {stablehlo.mesh = {axes = [{name = "m", size = 2 : i64}]}}
  func.func @main(%arg0: tensor<8x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"m"}>}) {
    %0 = sdy.all_reduce {"m"} %arg0 out_sharding=<@mesh, [{}, {}]> : tensor<8x1xf32>
    return
  }
}
