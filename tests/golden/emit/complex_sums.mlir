module @c attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=4, "b"=2]>
  func.func public @main(%arg0: tensor<16x32xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>} loc("arg0"), %arg1: tensor<16x24xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>} loc("arg1")) -> (tensor<32x24xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [0] x [0] : (tensor<16x32xcomplex<f32>>, tensor<16x24xcomplex<f32>>) -> tensor<32x24xcomplex<f32>>
    return %0 : tensor<32x24xcomplex<f32>>
  }
}
