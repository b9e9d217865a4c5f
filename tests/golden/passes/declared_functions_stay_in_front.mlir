// passes: sdy-pre-order-funcs
module {
func.func @main(%a: tensor<8xf32>) {
  %0 = call @ext(%a) : (tensor<8xf32>) -> tensor<8xf32>
  return
}
func.func private @ext(tensor<8xf32>) -> tensor<8xf32>
}
// -----
module {
  func.func private @ext(tensor<8xf32>) -> tensor<8xf32>
  func.func @main(%arg0: tensor<8xf32>) {
    %0 = call @ext(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    return
  }
}
