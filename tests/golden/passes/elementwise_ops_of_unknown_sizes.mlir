// passes: func.func(sdy-insert-explicit-reshards{enable-full-version=true})
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%arg0: tensor<?x3x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}, %arg1: tensor<?x3x16xf32>) -> tensor<?x3x16xf32> {
    %0 = stablehlo.add %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"x"}]>]>} : tensor<?x3x16xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}, {}]> : tensor<?x3x16xf32>
    %2 = stablehlo.negate %1 : tensor<?x3x16xf32>
    return %2 : tensor<?x3x16xf32>
  }
}
// -----
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%arg0: tensor<?x3x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}, %arg1: tensor<?x3x16xf32>) -> tensor<?x3x16xf32> {
    %0 = sdy.reshard %arg0 <@mesh, [{}, {}, {"x"}]> : tensor<?x3x16xf32>
    %1 = sdy.reshard %arg1 <@mesh, [{}, {}, {"x"}]> : tensor<?x3x16xf32>
    %2 = stablehlo.add %0, %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"x"}]>]>} : tensor<?x3x16xf32>
    %3 = sdy.sharding_constraint %2 <@mesh, [{}, {}, {"x"}]> : tensor<?x3x16xf32>
    %4 = sdy.reshard %3 <@mesh, [{"x"}, {}, {}]> : tensor<?x3x16xf32>
    %5 = stablehlo.negate %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}, {}]>]>} : tensor<?x3x16xf32>
    %6 = sdy.reshard %5 <@mesh, [{}, {}, {}]> : tensor<?x3x16xf32>
    return %6 : tensor<?x3x16xf32>
  }
}
