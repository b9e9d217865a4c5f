// passes: sdy-flatten-call-graph,symbol-dce,sdy-import-func-calls
module {
sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @main(%a: tensor<8xf32>, %t: !stablehlo.token) -> tensor<8xf32> {
  %0:2 = call @g(%t, %a) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <mesh<[], device_ids=[0]>, []>]>} : (!stablehlo.token, tensor<8xf32>) -> (!stablehlo.token, tensor<8xf32>)
  return %0#1 : tensor<8xf32>
}
func.func private @g(%t: !stablehlo.token, %a: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<[], device_ids=[0]>, []>}) -> (!stablehlo.token, tensor<8xf32>) {
  return %t, %a : !stablehlo.token, tensor<8xf32>
}
}
// -----
module {
  sdy.mesh @mesh = <["a"=2, "b"=4]>
  func.func @main(%arg0: tensor<8xf32>, %arg1: !stablehlo.token) -> tensor<8xf32> {
    %0:2 = sdy.named_computation<"g">(%arg1, %arg0) out_shardings=[<@mesh, []>, <mesh<[], device_ids=[0]>, []>] (%arg2: !stablehlo.token, %arg3: tensor<8xf32>) {
      %2 = sdy.data_flow_edge %arg3 : tensor<8xf32>
      sdy.return %arg2, %2 : !stablehlo.token, tensor<8xf32>
    } : (!stablehlo.token, tensor<8xf32>) -> (!stablehlo.token, tensor<8xf32>)
    %1 = sdy.data_flow_edge %0#1 sharding=<mesh<[], device_ids=[0]>, []> : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
