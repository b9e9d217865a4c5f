// passes: sdy-sharding-group-import
module {
func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>, %arg3: tensor<8xf32>) {
  sdy.sharding_group %arg0 group_id=5 : tensor<8xf32>
  sdy.sharding_group %arg1 group_id=2 : tensor<8xf32>
  sdy.sharding_group %arg2 group_id=3 : tensor<8xf32>
  sdy.sharding_group %arg3 group_id=2 : tensor<8xf32>
  sdy.sharding_group %arg3 group_id=1 : tensor<8xf32>
  return
}
}
// -----
module {
  func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>, %arg3: tensor<8xf32>) {
    sdy.sharding_group %arg0 group_id=0 : tensor<8xf32>
    sdy.sharding_group %arg1 group_id=1 : tensor<8xf32>
    sdy.sharding_group %arg2 group_id=2 : tensor<8xf32>
    sdy.sharding_group %arg3 group_id=1 : tensor<8xf32>
    return
  }
}
