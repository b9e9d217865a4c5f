// passes: sdy-add-data-flow-edges,sdy-basic-propagate
module {
sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @main(%a: tensor<8x4xf32>, %t: !stablehlo.token) {
  %0:2 = sdy.named_computation<"t">(%t, %a) in_shardings=[<@mesh, []>, <@mesh, [{"a"}, {}]>] out_shardings=[<@mesh, []>, <@mesh, [{}, {}]>] (%u: !stablehlo.token, %b: tensor<8x4xf32>) {
    sdy.return %u, %b : !stablehlo.token, tensor<8x4xf32>
  } : (!stablehlo.token, tensor<8x4xf32>) -> (!stablehlo.token, tensor<8x4xf32>)
  return
}
}
// -----
module {
  sdy.mesh @mesh = <["a"=2, "b"=4]>
  func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", ?}, {?}]>}, %arg1: !stablehlo.token) {
    %0:2 = sdy.named_computation<"t">(%arg1, %arg0) in_shardings=[<@mesh, []>, <@mesh, [{"a"}, {}]>] out_shardings=[<@mesh, []>, <@mesh, [{}, {}]>] (%arg2: !stablehlo.token, %arg3: tensor<8x4xf32>) {
      %2 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{"a"}, {}]> : tensor<8x4xf32>
      sdy.return %arg2, %2 : !stablehlo.token, tensor<8x4xf32>
    } : (!stablehlo.token, tensor<8x4xf32>) -> (!stablehlo.token, tensor<8x4xf32>)
    %1 = sdy.data_flow_edge %0#1 sharding=<@mesh, [{}, {}]> : tensor<8x4xf32>
    return
  }
}
