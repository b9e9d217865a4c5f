module @outer {
  module @inner attributes {a.b = 1 : i32} {
    func.func private @f(%arg0: tensor<4xf32>) -> tensor<4xf32> {
      return %arg0 : tensor<4xf32>
    }
    module {
    }
    func.func @g(%arg0: tensor<4xf32>) -> tensor<4xf32> {
      %0 = call @f(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
  func.func @f() {
    return
  }
  func.func @main() {
    call @f() : () -> ()
    return
  }
}
