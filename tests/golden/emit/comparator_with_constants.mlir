// As jnp.sort has it: zeros of either sign are equal. The constants of a comparator and of a reduction's body stay with them.
module @sort attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=4]>
  func.func @main(%arg0: tensor<8x6xf32>) -> (tensor<8x6xf32>, tensor<6xf32>) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"a"}, {}]> : tensor<8x6xf32>
    %1 = "stablehlo.sort"(%0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %2 = stablehlo.compare EQ, %x, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %zero_0 = stablehlo.constant dense<0.0> : tensor<f32>
      %3 = stablehlo.select %2, %zero_0, %x : tensor<i1>, tensor<f32>
      %4 = stablehlo.compare LT, %3, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    }) : (tensor<8x6xf32>) -> tensor<8x6xf32>
    %none = stablehlo.constant dense<0.0> : tensor<f32>
    %5 = "stablehlo.reduce"(%1, %none) <{dimensions = array<i64: 0>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %half = stablehlo.constant dense<0.5> : tensor<f32>
      %6 = stablehlo.multiply %y, %half : tensor<f32>
      %7 = stablehlo.multiply %x, %half : tensor<f32>
      %8 = stablehlo.add %6, %7 : tensor<f32>
      %9 = stablehlo.add %8, %8 : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) : (tensor<8x6xf32>, tensor<f32>) -> tensor<6xf32>
    return %1, %5 : tensor<8x6xf32>, tensor<6xf32>
  }
}
