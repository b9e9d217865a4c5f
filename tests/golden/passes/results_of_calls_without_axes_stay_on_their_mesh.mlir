// passes: sdy-insert-func-call-reshards
module {
sdy.mesh @mesh = <["x"=4]>
sdy.mesh @twin = <["x"=4]>
func.func @main(%arg0: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0:2 = call @g(%arg0, %arg0) {sdy.sharding = #sdy.sharding_per_value<[<@twin, [{}]>, <@twin, [{"x"}]>]>} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}
func.func private @g(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  return %arg0, %arg1 : tensor<8xf32>, tensor<8xf32>
}
}
// -----
module {
  sdy.mesh @mesh = <["x"=4]>
  sdy.mesh @twin = <["x"=4]>
  func.func @main(%arg0: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0:2 = call @g(%arg0, %arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, [{"x"}]>]>} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    %1 = sdy.reshard %0#1 <@twin, [{"x"}]> : tensor<8xf32>
    return %0#0, %1 : tensor<8xf32>, tensor<8xf32>
  }
  func.func private @g(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    return %arg0, %arg1 : tensor<8xf32>, tensor<8xf32>
  }
}
