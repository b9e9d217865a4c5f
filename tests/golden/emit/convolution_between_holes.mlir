// The gradient by the input of a convolution with steps: holes between elements, parts that begin in front of one or behind.
module @ops attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=4, "b"=2]>
  func.func @main(%arg0: tensor<2x8x6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"a"}, {"b"}, {}]>}, %arg1: tensor<3x3x4x4xf32>) -> (tensor<2x16x12x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"a"}, {"b"}, {}]>}) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {pad = [[2, 1], [1, 2]], lhs_dilate = [2, 2], reverse = [true, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x6x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x16x12x4xf32>
    return %0 : tensor<2x16x12x4xf32>
  }
}
