// passes: sdy-update-non-divisible-input-output-shardings
module {
sdy.mesh @mesh = <["m"=1, "x"=2, "d"=3]>
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"m", "x", "d"}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "m", "d"}]>}) {
  return
}
}
// -----
module {
  sdy.mesh @mesh = <["m"=1, "x"=2, "d"=3]>
  func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    return
  }
}
