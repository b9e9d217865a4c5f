// passes: func.func(sdy-insert-explicit-reshards{enable-full-version=true})
module {
  sdy.mesh @mesh = <["x"=2, "data"=1]>
  func.func public @main(%arg0: tensor<8x4x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "data"}, {}, {}]>}) {
    %0 = stablehlo.reshape %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}, {"data"}, {}]>]>} : (tensor<8x4x1xf32>) -> tensor<2x1x4x4xf32>
    return
  }
}
// -----
module {
  sdy.mesh @mesh = <["x"=2, "data"=1]>
  func.func public @main(%arg0: tensor<8x4x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "data"}, {}, {}]>}) {
    %0 = sdy.reshard %arg0 <@mesh, [{"x", "data"}, {}, {}]> : tensor<8x4x1xf32>
    %1 = stablehlo.reshape %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}, {"data"}, {}]>]>} : (tensor<8x4x1xf32>) -> tensor<2x1x4x4xf32>
    return
  }
}
