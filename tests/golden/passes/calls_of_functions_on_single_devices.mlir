// passes: func.func(sdy-insert-explicit-reshards{enable-full-version=true})
module {
sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}, %t: !stablehlo.token) {
  %0:2 = call @g(%t, %a) : (!stablehlo.token, tensor<8xf32>) -> (!stablehlo.token, tensor<8xf32>)
  return
}
func.func private @g(%t: !stablehlo.token {sdy.sharding = #sdy.sharding<mesh<[], device_ids=[0]>, []>}, %a: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<[], device_ids=[0]>, []>}) -> (!stablehlo.token, tensor<8xf32>) {
  return %t, %a : !stablehlo.token, tensor<8xf32>
}
}
// -----
module {
  sdy.mesh @mesh = <["a"=2, "b"=4]>
  func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}, %arg1: !stablehlo.token) {
    %0 = sdy.reshard %arg0 <@mesh, [{}]> : tensor<8xf32>
    %1:2 = call @g(%arg1, %0) : (!stablehlo.token, tensor<8xf32>) -> (!stablehlo.token, tensor<8xf32>)
    return
  }
  func.func private @g(%arg0: !stablehlo.token {sdy.sharding = #sdy.sharding<mesh<[], device_ids=[0]>, []>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<[], device_ids=[0]>, []>}) -> (!stablehlo.token, tensor<8xf32>) {
    return %arg0, %arg1 : !stablehlo.token, tensor<8xf32>
  }
}
