// passes: sdy-basic-propagate
module {
func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<i1>) {
  %0 = "stablehlo.if"(%arg1) ({
    %1 = "stablehlo.if"(%arg1) ({
      stablehlo.return %arg0 : tensor<8xf32>
    }, {
      %2 = stablehlo.custom_call @unheard_of(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
      stablehlo.return %arg0 : tensor<8xf32>
    }) : (tensor<i1>) -> tensor<8xf32>
    stablehlo.return %arg0 : tensor<8xf32>
  }, {
    stablehlo.return %arg0 : tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
  return
}
}
// -----
module {
  func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<i1>) {
    return
  }
}
