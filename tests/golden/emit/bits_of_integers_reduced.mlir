// XLA for CPU and GPU has no and, or of integers over devices: they are reduced whole. Of single bits it has.
module @bits attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=4]>
  func.func @main(%arg0: tensor<8x6xi32>, %arg1: tensor<8xi1>) -> (tensor<6xi32>, tensor<6xi32>, tensor<i1>, tensor<i1>) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"a"}, {}]> : tensor<8x6xi32>
    %1 = sdy.sharding_constraint %arg1 <@mesh, [{"a"}]> : tensor<8xi1>
    %all = stablehlo.constant dense<-1> : tensor<i32>
    %none = stablehlo.constant dense<0> : tensor<i32>
    %true = stablehlo.constant dense<true> : tensor<i1>
    %false = stablehlo.constant dense<false> : tensor<i1>
    %2 = stablehlo.reduce(%0 init: %all) applies stablehlo.and across dimensions = [0] : (tensor<8x6xi32>, tensor<i32>) -> tensor<6xi32>
    %3 = stablehlo.reduce(%0 init: %none) applies stablehlo.or across dimensions = [0] : (tensor<8x6xi32>, tensor<i32>) -> tensor<6xi32>
    %4 = stablehlo.reduce(%1 init: %true) applies stablehlo.and across dimensions = [0] : (tensor<8xi1>, tensor<i1>) -> tensor<i1>
    %5 = stablehlo.reduce(%1 init: %false) applies stablehlo.or across dimensions = [0] : (tensor<8xi1>, tensor<i1>) -> tensor<i1>
    return %2, %3, %4, %5 : tensor<6xi32>, tensor<6xi32>, tensor<i1>, tensor<i1>
  }
}
