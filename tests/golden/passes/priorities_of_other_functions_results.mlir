// passes: sdy-user-priority-propagate
module {
sdy.mesh @mesh = <["x"=2]>
func.func @main() {
  return
}
func.func private @f(%arg0: tensor<8xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}p1]>}) {
  return %arg0 : tensor<8xf32>
}
}
// -----
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main() {
    return
  }
  func.func private @f(%arg0: tensor<8xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}]>}) {
    return %arg0 : tensor<8xf32>
  }
}
