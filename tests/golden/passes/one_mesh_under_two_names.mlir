// passes: sdy-insert-func-call-reshards,func.func(sdy-insert-explicit-reshards{enable-full-version=true})
module {
sdy.mesh @twin = <["a"=2]>
sdy.mesh @mesh = <["a"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@twin, [{"a"}]>}) -> tensor<8xf32> {
  %0 = call @g(%a) {sdy.sharding = #sdy.sharding_per_value<[<@twin, [{"a"}]>]>} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @g(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) {
  return %a : tensor<8xf32>
}
}
// -----
module {
  sdy.mesh @twin = <["a"=2]>
  sdy.mesh @mesh = <["a"=2]>
  func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@twin, [{"a"}]>}) -> tensor<8xf32> {
    %0 = sdy.reshard %arg0 <@mesh, [{"a"}]> : tensor<8xf32>
    %1 = call @g(%0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}]>]>} : (tensor<8xf32>) -> tensor<8xf32>
    %2 = sdy.reshard %1 <@twin, [{"a"}]> : tensor<8xf32>
    %3 = sdy.reshard %2 <@twin, [{}]> : tensor<8xf32>
    return %3 : tensor<8xf32>
  }
  func.func private @g(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) {
    return %arg0 : tensor<8xf32>
  }
}
