// Two products of cut rows are added, one after the other and once transposed, to what a loop carries: one sum over devices, behind the loop.
module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=4, "b"=2]>
  func.func public @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "b"}, {}]>}, %y: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "b"}, {}]>}) -> (tensor<6x6xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %three = stablehlo.constant dense<3> : tensor<i32>
    %start = stablehlo.constant dense<0.000000e+00> : tensor<6x6xf32>
    %r:4 = stablehlo.while(%i = %zero, %sum = %start, %u = %x, %v = %y) : tensor<i32>, tensor<6x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>
     cond {
      %more = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %p = stablehlo.dot_general %u, %v, contracting_dims = [0] x [0] : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
      %first = stablehlo.add %sum, %p : tensor<6x6xf32>
      %w = stablehlo.tanh %u : tensor<8x6xf32>
      %q = stablehlo.dot_general %w, %v, contracting_dims = [0] x [0] : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
      %t = stablehlo.transpose %q, dims = [1, 0] : (tensor<6x6xf32>) -> tensor<6x6xf32>
      %second = stablehlo.add %t, %first : tensor<6x6xf32>
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %second, %w, %v : tensor<i32>, tensor<6x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>
    }
    return %r#1 : tensor<6x6xf32>
  }
}
