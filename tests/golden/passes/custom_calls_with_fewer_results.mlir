// passes: func.func(sdy-populate-op-sharding-rules)
module {
func.func @main(%a: tensor<4x8x8xf32>) {
  %0 = stablehlo.custom_call @Eigh(%a) : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %1 = stablehlo.custom_call @ApproxTopK(%a) : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  return
}
}
// -----
module {
  func.func @main(%arg0: tensor<4x8x8xf32>) {
    %0 = stablehlo.custom_call @Eigh(%arg0) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, j, k]) {i=4, j=8, k=8}>} : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
    %1 = stablehlo.custom_call @ApproxTopK(%arg0) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, j, k]) {i=4, j=8, k=8}>} : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
    return
  }
}
