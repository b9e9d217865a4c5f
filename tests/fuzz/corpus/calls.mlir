module @m { func.func @main(%a: tensor<4x6xf32> {tf.aliasing_output = 0 : i32} loc("w")) -> (tensor<4x6xf32>, tensor<f32>) {
  %0:2 = call @f(%a) : (tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<f32>)
  return %0#0, %0#1 : tensor<4x6xf32>, tensor<f32> }
  func.func private @f(%a: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<f32>) {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<f32>
  %1 = "mystery.op"(%a) {k = #x.y<z>, l = [1, "two", dense<[1, 2]> : tensor<2xi32>]} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %1, %0 : tensor<4x6xf32>, tensor<f32> } }
#loc = loc("a":1:2)
