// passes: sdy-propagate-sharding-from-func-to-call,sdy-insert-func-call-reshards
module {
sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0:3 = call @g(%a) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %1:2 = call @h(%a) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}]>, <mesh<[], device_ids=[0]>, []>]>} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %1#0 : tensor<8xf32>
}
func.func private @g(%a: tensor<8xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<[], device_ids=[0]>, []>}, tensor<8xf32>, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) {
  return %a, %a, %a : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
func.func private @h(%a: tensor<8xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<[], device_ids=[1]>, []>}, tensor<8xf32>) {
  return %a, %a : tensor<8xf32>, tensor<8xf32>
}
}
// -----
module {
  sdy.mesh @mesh = <["a"=2, "b"=4]>
  func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0:3 = call @g(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<mesh<[], device_ids=[0]>, []>, <@mesh, [{?}]>, <@mesh, [{"a"}]>]>} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    %1:2 = call @h(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>, <mesh<[], device_ids=[0]>, []>]>} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    %2 = sdy.reshard %1#0 <@mesh, [{"a"}]> : tensor<8xf32>
    return %2 : tensor<8xf32>
  }
  func.func private @g(%arg0: tensor<8xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<[], device_ids=[0]>, []>}, tensor<8xf32>, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) {
    return %arg0, %arg0, %arg0 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
  func.func private @h(%arg0: tensor<8xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<[], device_ids=[1]>, []>}, tensor<8xf32>) {
    return %arg0, %arg0 : tensor<8xf32>, tensor<8xf32>
  }
}
