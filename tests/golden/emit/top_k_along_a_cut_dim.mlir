// Equal keys stay in the order of their positions, and zero comes before minus zero: numbers are few, so that most are equal. The last two look
// through whole rows: parts of unequal sizes, and more that is found than there is to look through.
module @top_k attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func @main(%arg0: tensor<6x64xi32>, %arg1: tensor<6x64xf32>, %arg2: tensor<6x30xf32>) -> (tensor<6x3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<6x3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<6x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<6x3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<6x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<6x3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<6x40xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<6x40xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"b"}, {"a"}]> : tensor<6x64xi32>
    %v0, %i0 = chlo.top_k(%0, k = 3) : tensor<6x64xi32> -> (tensor<6x3xi32>, tensor<6x3xi32>)
    %ten = stablehlo.constant dense<10.0> : tensor<6x64xf32>
    %1 = stablehlo.multiply %arg1, %ten : tensor<6x64xf32>
    %2 = stablehlo.round_nearest_even %1 : tensor<6x64xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<6x64xf32>
    %3 = stablehlo.minimum %2, %zero : tensor<6x64xf32>
    %4 = sdy.sharding_constraint %3 <@mesh, [{}, {"b", "a"}]> : tensor<6x64xf32>
    %v1, %i1 = chlo.top_k(%4, k = 3) : tensor<6x64xf32> -> (tensor<6x3xf32>, tensor<6x3xi32>)
    %5 = sdy.sharding_constraint %arg2 <@mesh, [{}, {"a", "b"}]> : tensor<6x30xf32>
    %v2, %i2 = chlo.top_k(%5, k = 3) : tensor<6x30xf32> -> (tensor<6x3xf32>, tensor<6x3xi32>)
    %v3, %i3 = chlo.top_k(%0, k = 40) : tensor<6x64xi32> -> (tensor<6x40xi32>, tensor<6x40xi32>)
    return %v0, %i0, %v1, %i1, %v2, %i2, %v3, %i3 : tensor<6x3xi32>, tensor<6x3xi32>, tensor<6x3xf32>, tensor<6x3xi32>, tensor<6x3xf32>, tensor<6x3xi32>, tensor<6x40xi32>, tensor<6x40xi32>
  }
}
