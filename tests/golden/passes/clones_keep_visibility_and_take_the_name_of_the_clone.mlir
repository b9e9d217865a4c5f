// passes: sdy-flatten-call-graph
module {
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @g(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = call @g(%0) : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func @g(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @h(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = call @h(%0) : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @h(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
}
// -----
module {
  func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @g(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = call @g_3(%0) : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  func.func @g(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @h(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = call @h_0(%0) : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  func.func private @h(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    return %arg0 : tensor<8xf32>
  }
  func.func private @h_0(%arg0: tensor<8xf32>) -> tensor<8xf32> attributes {sdy.original_func_name = "h"} {
    return %arg0 : tensor<8xf32>
  }
  func.func private @h_1(%arg0: tensor<8xf32>) -> tensor<8xf32> attributes {sdy.original_func_name = "h"} {
    return %arg0 : tensor<8xf32>
  }
  func.func private @h_0_2(%arg0: tensor<8xf32>) -> tensor<8xf32> attributes {sdy.original_func_name = "h"} {
    return %arg0 : tensor<8xf32>
  }
  func.func @g_3(%arg0: tensor<8xf32>) -> tensor<8xf32> attributes {sdy.original_func_name = "g"} {
    %0 = call @h_1(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = call @h_0_2(%0) : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
