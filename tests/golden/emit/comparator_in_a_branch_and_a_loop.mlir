// A comparator that reads constants of its own, of the branch or of the loop around it, and of the program.
module @sort attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=4]>
  func.func @main(%arg0: tensor<8x6xf32>, %arg1: tensor<f32>) -> (tensor<8x6xf32>, tensor<8x6xf32>) {
    %half = stablehlo.constant dense<0.5> : tensor<f32>
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"a"}, {}]> : tensor<8x6xf32>
    %1 = stablehlo.compare LT, %arg1, %arg1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.convert %1 : (tensor<i1>) -> tensor<i32>
    %3 = "stablehlo.case"(%2) ({
      %near = stablehlo.constant dense<0.25> : tensor<f32>
      %4 = "stablehlo.sort"(%0) <{dimension = 0 : i64, is_stable = true}> ({
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %5 = stablehlo.subtract %x, %half : tensor<f32>
        %6 = stablehlo.abs %5 : tensor<f32>
        %7 = stablehlo.maximum %6, %near : tensor<f32>
        %8 = stablehlo.subtract %y, %half : tensor<f32>
        %9 = stablehlo.abs %8 : tensor<f32>
        %10 = stablehlo.maximum %9, %near : tensor<f32>
        %11 = stablehlo.compare LT, %7, %10, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %11 : tensor<i1>
      }) : (tensor<8x6xf32>) -> tensor<8x6xf32>
      stablehlo.return %4 : tensor<8x6xf32>
    }, {
      stablehlo.return %0 : tensor<8x6xf32>
    }) : (tensor<i32>) -> tensor<8x6xf32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %three = stablehlo.constant dense<3> : tensor<i32>
    %12:2 = stablehlo.while(%i = %zero, %s = %0) : tensor<i32>, tensor<8x6xf32>
    cond {
      %13 = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %13 : tensor<i1>
    } do {
      %factor = stablehlo.constant dense<-1.0> : tensor<f32>
      %14 = "stablehlo.sort"(%s) <{dimension = 1 : i64, is_stable = true}> ({
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %15 = stablehlo.multiply %x, %factor : tensor<f32>
        %16 = stablehlo.minimum %15, %half : tensor<f32>
        %17 = stablehlo.multiply %y, %factor : tensor<f32>
        %18 = stablehlo.minimum %17, %half : tensor<f32>
        %19 = stablehlo.compare LT, %16, %18, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %19 : tensor<i1>
      }) : (tensor<8x6xf32>) -> tensor<8x6xf32>
      %20 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %20, %14 : tensor<i32>, tensor<8x6xf32>
    }
    return %3, %12#1 : tensor<8x6xf32>, tensor<8x6xf32>
  }
}
