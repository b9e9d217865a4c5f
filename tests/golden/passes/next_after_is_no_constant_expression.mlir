// passes: sdy-constant-or-scalar-splitter
module {
func.func @main() -> tensor<f32> {
  %c = stablehlo.constant dense<1.000000e+00> : tensor<f32>
  %0 = chlo.next_after %c, %c : tensor<f32>, tensor<f32> -> tensor<f32>
  %1 = stablehlo.negate %0 : tensor<f32>
  return %1 : tensor<f32>
}
}
// -----
module {
  func.func @main() -> tensor<f32> {
    %0 = sdy.constant dense<1.000000e+00> : tensor<f32>
    %1 = chlo.next_after %0, %0 : tensor<f32>, tensor<f32> -> tensor<f32>
    %2 = stablehlo.negate %1 : tensor<f32>
    return %2 : tensor<f32>
  }
}
