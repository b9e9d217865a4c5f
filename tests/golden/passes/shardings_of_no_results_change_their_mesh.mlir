// passes: sdy-lift-inlined-meshes
module {
func.func @main(%a: tensor<8xf32>) {
  stablehlo.custom_call @effect(%a) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<mesh<[], device_ids=[0]>, []>]>} : (tensor<8xf32>) -> ()
  return
}
}
// -----
module {
  sdy.mesh @maximal_mesh_0 = <[], device_ids=[0]> {stablehlo.mesh = {axes = [], device_ids = dense<0> : tensor<1xi64>}}
  func.func @main(%arg0: tensor<8xf32>) {
    stablehlo.custom_call @effect(%arg0) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@maximal_mesh_0, []>]>} : (tensor<8xf32>) -> ()
    return
  }
}
