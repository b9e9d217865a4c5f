// The padding of the contracted dim is infinite on both sides: it may not count.
module @dot attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=4]>
  func.func @main(%arg0: tensor<6x5xf32>, %arg1: tensor<5x3xf32>) -> (tensor<6x3xf32>) {
    %one = stablehlo.constant dense<1.0> : tensor<6x5xf32>
    %ones = stablehlo.constant dense<1.0> : tensor<5x3xf32>
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{}, {"a"}]> : tensor<6x5xf32>
    %1 = stablehlo.divide %one, %0 : tensor<6x5xf32>
    %2 = sdy.sharding_constraint %arg1 <@mesh, [{"a"}, {}]> : tensor<5x3xf32>
    %3 = stablehlo.divide %ones, %2 : tensor<5x3xf32>
    %4 = stablehlo.dot_general %1, %3, contracting_dims = [1] x [0] : (tensor<6x5xf32>, tensor<5x3xf32>) -> tensor<6x3xf32>
    return %4 : tensor<6x3xf32>
  }
}
