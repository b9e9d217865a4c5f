// Two parts of 3, then three parts of 2 and an empty one: the second of these lies in both halves. Both operands of the sum
// must be cut alike, whichever way they came.
module @nest attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2, "c"=2]>
  func.func @main(%arg0: tensor<6x5xf32>, %arg1: tensor<6x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> (tensor<6x5xf32>, tensor<6x5xf32>) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"a"}, {}]> : tensor<6x5xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"a", "b"}, {}]> : tensor<6x5xf32>
    %2 = sdy.sharding_constraint %arg1 <@mesh, [{"b", "a"}, {}]> : tensor<6x5xf32>
    %3 = sdy.sharding_constraint %2 <@mesh, [{"a", "b"}, {}]> : tensor<6x5xf32>
    %4 = stablehlo.add %1, %3 : tensor<6x5xf32>
    %5 = sdy.sharding_constraint %4 <@mesh, [{"a", "b", "c"}, {}]> : tensor<6x5xf32>
    %6 = sdy.sharding_constraint %5 <@mesh, [{"a"}, {"c", "b"}]> : tensor<6x5xf32>
    %7 = sdy.sharding_constraint %6 <@mesh, [{}, {"a", "c"}]> : tensor<6x5xf32>
    return %4, %7 : tensor<6x5xf32>, tensor<6x5xf32>
  }
}
