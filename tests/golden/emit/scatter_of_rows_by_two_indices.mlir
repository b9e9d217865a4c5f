// Windows of one element by all of a dim: written as updates of rows. An index other than 0 into the whole dim drops the update.
module @rows attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=4]>
  func.func @main(%arg0: tensor<6x8xf32>, %arg1: tensor<12x1xi32>, %arg2: tensor<12x1x8xf32>, %arg3: tensor<12x8x1xf32>) -> (tensor<6x8xf32>, tensor<6x8xf32>, tensor<8x6xf32>) {
    %three = stablehlo.constant dense<3> : tensor<12x1xi32>
    %one = stablehlo.constant dense<1> : tensor<12x1xi32>
    %zero = stablehlo.constant dense<0> : tensor<12x1xi32>
    %row = stablehlo.subtract %arg1, %three : tensor<12x1xi32>
    %odd = stablehlo.and %arg1, %one : tensor<12x1xi32>
    %0 = stablehlo.concatenate %row, %odd, dim = 1 : (tensor<12x1xi32>, tensor<12x1xi32>) -> tensor<12x2xi32>
    %1 = stablehlo.concatenate %row, %zero, dim = 1 : (tensor<12x1xi32>, tensor<12x1xi32>) -> tensor<12x2xi32>
    %2 = stablehlo.concatenate %odd, %row, dim = 1 : (tensor<12x1xi32>, tensor<12x1xi32>) -> tensor<12x2xi32>
    %3 = sdy.sharding_constraint %arg0 <@mesh, [{}, {"a"}]> : tensor<6x8xf32>
    %4 = "stablehlo.scatter"(%3, %0, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %z = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %z : tensor<f32>
    }) : (tensor<6x8xf32>, tensor<12x2xi32>, tensor<12x1x8xf32>) -> tensor<6x8xf32>
    %5 = sdy.sharding_constraint %1 <@mesh, [{"a"}, {}]> : tensor<12x2xi32>
    %6 = "stablehlo.scatter"(%arg0, %5, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %z = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %z : tensor<f32>
    }) : (tensor<6x8xf32>, tensor<12x2xi32>, tensor<12x1x8xf32>) -> tensor<6x8xf32>
    %7 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<6x8xf32>) -> tensor<8x6xf32>
    %8 = "stablehlo.scatter"(%7, %2, %arg3) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %z = stablehlo.maximum %x, %y : tensor<f32>
      stablehlo.return %z : tensor<f32>
    }) : (tensor<8x6xf32>, tensor<12x2xi32>, tensor<12x8x1xf32>) -> tensor<8x6xf32>
    return %4, %6, %8 : tensor<6x8xf32>, tensor<6x8xf32>, tensor<8x6xf32>
  }
}
