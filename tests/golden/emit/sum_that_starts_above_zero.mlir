// What a sum starts with, and what a scatter adds to, counts once, on however many devices it is. XLA forgets the start of
// the sum when there is one element to add, as on every device here.
module @starts attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=4]>
  func.func @main(%arg0: tensor<6x4xf32>, %arg1: tensor<5x3xf32>, %arg2: tensor<8x1xi32>, %arg3: tensor<8x3xf32>) -> (tensor<6xf32>, tensor<5x3xf32>) {
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{}, {"a"}]> : tensor<6x4xf32>
    %1 = stablehlo.reduce(%0 init: %one) applies stablehlo.add across dimensions = [1] : (tensor<6x4xf32>, tensor<f32>) -> tensor<6xf32>
    %2 = sdy.sharding_constraint %arg3 <@mesh, [{"a"}, {}]> : tensor<8x3xf32>
    %3 = "stablehlo.scatter"(%arg1, %arg2, %2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %z = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %z : tensor<f32>
    }) : (tensor<5x3xf32>, tensor<8x1xi32>, tensor<8x3xf32>) -> tensor<5x3xf32>
    return %1, %3 : tensor<6xf32>, tensor<5x3xf32>
  }
}
