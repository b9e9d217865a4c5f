// passes: func.func(sdy-constant-or-scalar-merger)
module {
func.func @main() -> (tensor<i32>, tensor<i32>) {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = sdy.constant dense<0> : tensor<i32>
  return %c, %0 : tensor<i32>, tensor<i32>
}
}
// -----
module {
  func.func @main() -> (tensor<i32>, tensor<i32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    return %c, %c : tensor<i32>, tensor<i32>
  }
}
