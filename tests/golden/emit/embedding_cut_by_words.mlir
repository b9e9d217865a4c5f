// Each device looks up and adds to the words that it has; indices out of bounds mean the nearest word, or none.
module @embedding attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=4]>
  func.func @main(%arg0: tensor<6x3xf32>, %arg1: tensor<5x1xi32>, %arg2: tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<6x3xf32>) {
    %three = stablehlo.constant dense<3> : tensor<5x1xi32>
    %0 = stablehlo.subtract %arg1, %three : tensor<5x1xi32>
    %1 = sdy.sharding_constraint %arg0 <@mesh, [{"a"}, {}]> : tensor<6x3xf32>
    %2 = "stablehlo.gather"(%1, %0) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>}> : (tensor<6x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
    %3 = "stablehlo.scatter"(%1, %0, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %z = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %z : tensor<f32>
    }) : (tensor<6x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<6x3xf32>
    return %2, %3 : tensor<5x3xf32>, tensor<6x3xf32>
  }
}
