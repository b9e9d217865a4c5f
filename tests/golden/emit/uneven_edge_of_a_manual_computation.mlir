// Six elements, halved by the manual axis: two parts of two are free to cut each half, not the same as four parts of six. The body of the all_reduce has a constraint, as jax.shard_map writes it.
module @edge attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func @main(%arg0: tensor<6x4xf32>) -> (tensor<6x4xf32>) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a", ?}, {?}]>] out_shardings=[<@mesh, [{"a", ?}, {?}]>] manual_axes={"a"} (%x: tensor<3x4xf32>) {
      %1 = sdy.sharding_constraint %x <@mesh, [{"b"}, {}]> : tensor<3x4xf32>
      %2 = stablehlo.tanh %1 : tensor<3x4xf32>
      %3 = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %r = stablehlo.add %p, %q : tensor<f32>
        %s = sdy.sharding_constraint %r <@mesh, []> : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<3x4xf32>) -> tensor<3x4xf32>
      %4 = stablehlo.subtract %3, %2 : tensor<3x4xf32>
      %5 = sdy.sharding_constraint %4 <@mesh, [{"b"}, {}]> : tensor<3x4xf32>
      sdy.return %5 : tensor<3x4xf32>
    } : (tensor<6x4xf32>) -> tensor<6x4xf32>
    %6 = sdy.sharding_constraint %0 <@mesh, [{"a", "b"}, {}]> : tensor<6x4xf32>
    return %6 : tensor<6x4xf32>
  }
}
