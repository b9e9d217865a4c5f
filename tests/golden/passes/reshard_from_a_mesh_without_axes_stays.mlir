// passes: sdy-propagation-pipeline,func.func(sdy-insert-explicit-reshards{enable-full-version=true}),func.func(sdy-reshard-to-collectives)
module {
sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) {
  %0 = sdy.sharding_constraint %a <mesh<[]>, [{}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}
}
// -----
module {
  sdy.mesh @mesh = <["a"=2, "b"=4]> {stablehlo.mesh = {axes = [{name = "a", size = 2 : i64}, {name = "b", size = 4 : i64}]}}
  sdy.mesh @empty_mesh = <[]> {stablehlo.mesh = {axes = []}}
  func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) {
    %0 = sdy.reshard %arg0 <@mesh, [{"a"}]> : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
