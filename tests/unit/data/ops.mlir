#map = affine_map<(d0) -> (d0)>
module @ops attributes {foo.map = #map, mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=4]>
  sdy.mesh @maximal = <[], device_ids=[3]>
  func.func private @none() {
    return
  }
  func.func private @callee(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {no_inline} {
    return %arg0 : tensor<4x8xf32>
  }
  func.func private @two(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>) {
    return %arg0, %arg1 : tensor<4x8xf32>, tensor<4x8xi32>
  }
  func.func private @declared(tensor<4xf32> {a.b = 1 : i32}, i32) -> (tensor<4xf32> {c.d})
  func.func public @main(%arg0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", ?}p1, {"b":(1)2}], replicated={"b":(2)2}>, tf.aliasing_output = 0 : i32}, %arg1: tensor<4x8xf32> {jax.buffer_donor = true, mhlo.sharding = "{replicated}"}) -> (tensor<4x8xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{?}, {}]>}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<[4, 8]> : tensor<2xi64>
    %0 = stablehlo.rng %cst, %cst, %c, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x8xf32>
    %1 = stablehlo.negate %0 : tensor<4x8xf32>
    %2 = sdy.data_flow_edge %1 sharding=<@mesh, [{"a"}, {}]> : tensor<4x8xf32>
    %3 = stablehlo.negate %0 : tensor<4x8xf32>
    %4 = sdy.data_flow_edge %3 : tensor<4x8xf32>
    %5 = sdy.func_data_flow_edge %arg0 : tensor<4x8xf32>
    return %5 : tensor<4x8xf32>
  }
  func.func @op0(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.abs %arg0 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op1(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.cbrt %arg0 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op2(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.ceil %arg0 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op3(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.cosine %arg0 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op4(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.exponential %arg0 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op5(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.exponential_minus_one %arg0 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op6(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.floor %arg0 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op7(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.log %arg0 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op8(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.log_plus_one %arg0 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op9(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.logistic %arg0 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op10(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.negate %arg0 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op11(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.round_nearest_even %arg0 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op12(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.round_nearest_afz %arg0 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op13(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.rsqrt %arg0 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op14(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.sign %arg0 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op15(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.sine %arg0 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op16(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.sqrt %arg0 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op17(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.tan %arg0 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op18(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.tanh %arg0 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op19(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op20(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.divide %arg0, %arg1 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op21(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.maximum %arg0, %arg1 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op22(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.minimum %arg0, %arg1 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op23(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.multiply %arg0, %arg1 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op24(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.power %arg0, %arg1 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op25(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.remainder %arg0, %arg1 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op26(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.subtract %arg0, %arg1 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op27(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.atan2 %arg0, %arg1 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op28(%arg0: tensor<4x8xi32>, %arg1: tensor<4x8xi32>) -> tensor<4x8xi32> {
    %0 = stablehlo.and %arg0, %arg1 : tensor<4x8xi32>
    return %0 : tensor<4x8xi32>
  }
  func.func @op29(%arg0: tensor<4x8xi32>, %arg1: tensor<4x8xi32>) -> tensor<4x8xi32> {
    %0 = stablehlo.or %arg0, %arg1 : tensor<4x8xi32>
    return %0 : tensor<4x8xi32>
  }
  func.func @op30(%arg0: tensor<4x8xi32>, %arg1: tensor<4x8xi32>) -> tensor<4x8xi32> {
    %0 = stablehlo.xor %arg0, %arg1 : tensor<4x8xi32>
    return %0 : tensor<4x8xi32>
  }
  func.func @op31(%arg0: tensor<4x8xi32>, %arg1: tensor<4x8xi32>) -> tensor<4x8xi32> {
    %0 = stablehlo.shift_left %arg0, %arg1 : tensor<4x8xi32>
    return %0 : tensor<4x8xi32>
  }
  func.func @op32(%arg0: tensor<4x8xi32>, %arg1: tensor<4x8xi32>) -> tensor<4x8xi32> {
    %0 = stablehlo.shift_right_arithmetic %arg0, %arg1 : tensor<4x8xi32>
    return %0 : tensor<4x8xi32>
  }
  func.func @op33(%arg0: tensor<4x8xi32>, %arg1: tensor<4x8xi32>) -> tensor<4x8xi32> {
    %0 = stablehlo.shift_right_logical %arg0, %arg1 : tensor<4x8xi32>
    return %0 : tensor<4x8xi32>
  }
  func.func @op34(%arg0: tensor<4x8xi32>) -> tensor<4x8xi32> {
    %0 = stablehlo.not %arg0 : tensor<4x8xi32>
    return %0 : tensor<4x8xi32>
  }
  func.func @op35(%arg0: tensor<4x8xi32>) -> tensor<4x8xi32> {
    %0 = stablehlo.count_leading_zeros %arg0 : tensor<4x8xi32>
    return %0 : tensor<4x8xi32>
  }
  func.func @op36(%arg0: tensor<4x8xi32>) -> tensor<4x8xi32> {
    %0 = stablehlo.popcnt %arg0 : tensor<4x8xi32>
    return %0 : tensor<4x8xi32>
  }
  func.func @op37(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.exponential %arg0 {result_accuracy = #stablehlo.result_accuracy<ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op38(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.tanh %arg0 {foo.bar = 1 : i32, result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op39(%arg0: tensor<4x8xf32>) -> tensor<4x8xi1> {
    %0 = stablehlo.is_finite %arg0 : (tensor<4x8xf32>) -> tensor<4x8xi1>
    return %0 : tensor<4x8xi1>
  }
  func.func @op40(%arg0: tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32> {
    %0 = stablehlo.real %arg0 : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op41(%arg0: tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32> {
    %0 = stablehlo.imag %arg0 : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op42(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xcomplex<f32>> {
    %0 = stablehlo.complex %arg0, %arg1 : tensor<4x8xcomplex<f32>>
    return %0 : tensor<4x8xcomplex<f32>>
  }
  func.func @op43(%arg0: tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32> {
    %0 = stablehlo.abs %arg0 : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op44(%arg0: tensor<4x8xf32>) -> tensor<4x8xbf16> {
    %0 = stablehlo.convert %arg0 : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    return %0 : tensor<4x8xbf16>
  }
  func.func @op45(%arg0: tensor<4x8xf32>) -> tensor<4x8xi32> {
    %0 = stablehlo.bitcast_convert %arg0 : (tensor<4x8xf32>) -> tensor<4x8xi32>
    return %0 : tensor<4x8xi32>
  }
  func.func @op46(%arg0: tensor<4xi64>) -> tensor<4x2xi32> {
    %0 = stablehlo.bitcast_convert %arg0 : (tensor<4xi64>) -> tensor<4x2xi32>
    return %0 : tensor<4x2xi32>
  }
  func.func @op47(%arg0: tensor<f32>, %arg1: tensor<4x8xf32>, %arg2: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.clamp %arg0, %arg1, %arg2 : (tensor<f32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op48(%arg0: tensor<i1>, %arg1: tensor<4x8xf32>, %arg2: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op49(%arg0: tensor<4x8xi1>, %arg1: tensor<4x8xf32>, %arg2: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<4x8xi1>, tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op50(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xi1> {
    %0 = stablehlo.compare LT, %arg0, %arg1, FLOAT : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    return %0 : tensor<4x8xi1>
  }
  func.func @op51(%arg0: tensor<4x8xi32>, %arg1: tensor<4x8xi32>) -> tensor<4x8xi1> {
    %0 = stablehlo.compare EQ, %arg0, %arg1 : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi1>
    return %0 : tensor<4x8xi1>
  }
  func.func @op52(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.reduce_precision %arg0, format = e5m10 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op53(%arg0: tensor<4x8xf32>) -> tensor<4x2x8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 2] : (tensor<4x8xf32>) -> tensor<4x2x8xf32>
    return %0 : tensor<4x2x8xf32>
  }
  func.func @op54(%arg0: tensor<f32>) -> tensor<4x8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op55(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<8x8xf32> {
    %0 = stablehlo.concatenate %arg0, %arg1, dim = 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
  func.func @op56() -> tensor<4x8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<4x8xf32>
    return %cst : tensor<4x8xf32>
  }
  func.func @op57() -> tensor<2x2xi32> {
    %c = stablehlo.constant {foo.x} dense<[[1, 2], [3, -4]]> : tensor<2x2xi32>
    return %c : tensor<2x2xi32>
  }
  func.func @op58() -> tensor<8xf32> {
    %cst = stablehlo.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 4.000000e+00, 5.000000e+00, 6.000000e+00, 7.000000e+00]> : tensor<8xf32>
    return %cst : tensor<8xf32>
  }
  func.func @op59() -> tensor<3xi1> {
    %c = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
    return %c : tensor<3xi1>
  }
  func.func @op60() -> tensor<2xcomplex<f32>> {
    %cst = stablehlo.constant dense<[(1.000000e+00,2.000000e+00), (3.000000e+00,4.000000e+00)]> : tensor<2xcomplex<f32>>
    return %cst : tensor<2xcomplex<f32>>
  }
  func.func @op61() -> tensor<0x4xf32> {
    %cst = stablehlo.constant dense<> : tensor<0x4xf32>
    return %cst : tensor<0x4xf32>
  }
  func.func @op62() -> tensor<f32> {
    %cst = stablehlo.constant dense<0x7F800000> : tensor<f32>
    return %cst : tensor<f32>
  }
  func.func @op63() -> tensor<8xf32> {
    %cst = stablehlo.constant dense_resource<blob> : tensor<8xf32>
    return %cst : tensor<8xf32>
  }
  func.func @op64() -> tensor<4x8xi32> {
    %0 = stablehlo.iota dim = 1 : tensor<4x8xi32>
    return %0 : tensor<4x8xi32>
  }
  func.func @op65(%arg0: tensor<4x8xf32>, %arg1: tensor<f32>) -> tensor<7x8xf32> {
    %0 = stablehlo.pad %arg0, %arg1, low = [1, 0], high = [2, 0], interior = [0, 0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<7x8xf32>
    return %0 : tensor<7x8xf32>
  }
  func.func @op66(%arg0: tensor<4x8xf32>) -> tensor<32xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<4x8xf32>) -> tensor<32xf32>
    return %0 : tensor<32xf32>
  }
  func.func @op67(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.reverse %arg0, dims = [0, 1] : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op68(%arg0: tensor<4x8xf32>) -> tensor<2x4xf32> {
    %0 = stablehlo.slice %arg0 [1:3, 0:8:2] : (tensor<4x8xf32>) -> tensor<2x4xf32>
    return %0 : tensor<2x4xf32>
  }
  func.func @op69(%arg0: tensor<4x8xf32>) -> tensor<8x4xf32> {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
  func.func @op70(%arg0: tensor<4x8xf32>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<2x8xf32> {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %arg2, sizes = [2, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x8xf32>
    return %0 : tensor<2x8xf32>
  }
  func.func @op71(%arg0: tensor<4x8xf32>, %arg1: tensor<2x8xf32>, %arg2: tensor<i32>, %arg3: tensor<i32>) -> tensor<4x8xf32> {
    %0 = stablehlo.dynamic_update_slice %arg0, %arg1, %arg2, %arg3 : (tensor<4x8xf32>, tensor<2x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op72(%arg0: tensor<4x8xf32>, %arg1: tensor<3x1xi32>) -> tensor<3x8xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
    return %0 : tensor<3x8xf32>
  }
  func.func @op73(%arg0: tensor<2x4x8xf32>, %arg1: tensor<2x3x1xi32>) -> tensor<2x3x8xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 8>}> : (tensor<2x4x8xf32>, tensor<2x3x1xi32>) -> tensor<2x3x8xf32>
    return %0 : tensor<2x3x8xf32>
  }
  func.func @op74(%arg0: tensor<4x8xf32>, %arg1: tensor<3x1xi32>, %arg2: tensor<3x8xf32>) -> tensor<4x8xf32> {
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<3x1xi32>, tensor<3x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op75(%arg0: tensor<4x8xf32>, %arg1: tensor<8x16xf32>) -> tensor<4x16xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, HIGHEST] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    return %0 : tensor<4x16xf32>
  }
  func.func @op76(%arg0: tensor<2x4x8xf32>, %arg1: tensor<2x8x16xf32>) -> tensor<2x4x16xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x4x8xf32>, tensor<2x8x16xf32>) -> tensor<2x4x16xf32>
    return %0 : tensor<2x4x16xf32>
  }
  func.func @op77(%arg0: tensor<4xf32>, %arg1: tensor<8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [] x [] : (tensor<4xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op78(%arg0: tensor<4x8xf32>, %arg1: tensor<8x16xf32>) -> tensor<4x16xf32> {
    %0 = stablehlo.dot %arg0, %arg1, precision = [DEFAULT, DEFAULT] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    return %0 : tensor<4x16xf32>
  }
  func.func @op79(%arg0: tensor<4x8xf32>, %arg1: tensor<8x16xf32>) -> tensor<4x16xf32> {
    %0 = stablehlo.dot %arg0, %arg1 : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    return %0 : tensor<4x16xf32>
  }
  func.func @op80(%arg0: tensor<1x8x8x4xf32>, %arg1: tensor<3x3x4x16xf32>) -> tensor<1x4x4x16xf32> {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [0, 1]], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x8x8x4xf32>, tensor<3x3x4x16xf32>) -> tensor<1x4x4x16xf32>
    return %0 : tensor<1x4x4x16xf32>
  }
  func.func @op81(%arg0: tensor<1x8x8x4xf32>, %arg1: tensor<3x3x4x16xf32>) -> tensor<1x6x6x16xf32> {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x16xf32>) -> tensor<1x6x6x16xf32>
    return %0 : tensor<1x6x6x16xf32>
  }
  func.func @op82(%arg0: tensor<4x8xf32>, %arg1: tensor<f32>) -> tensor<4xf32> {
    %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @op83(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xi32>, %arg2: tensor<f32>, %arg3: tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>) {
    %0:2 = stablehlo.reduce(%arg0 init: %arg2), (%arg1 init: %arg3) across dimensions = [1] {foo.x} : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
     reducer(%arg4: tensor<f32>, %arg6: tensor<f32>) (%arg5: tensor<i32>, %arg7: tensor<i32>)  {
      %1 = stablehlo.add %arg4, %arg6 : tensor<f32>
      %2 = stablehlo.add %arg5, %arg7 : tensor<i32>
      stablehlo.return %1, %2 : tensor<f32>, tensor<i32>
    }
    return %0#0, %0#1 : tensor<4xf32>, tensor<4xi32>
  }
  func.func @op84(%arg0: tensor<4x8xf32>, %arg1: tensor<f32>) -> tensor<2x8xf32> {
    %0 = "stablehlo.reduce_window"(%arg0, %arg1) <{padding = dense<0> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %1 = stablehlo.maximum %arg2, %arg3 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<2x8xf32>
    return %0 : tensor<2x8xf32>
  }
  func.func @op85(%arg0: tensor<4x8xf32>, %arg1: tensor<2x8xf32>, %arg2: tensor<f32>) -> tensor<4x8xf32> {
    %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = stablehlo.compare GE, %arg3, %arg4 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<2x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op86(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>) {
    %0:2 = "stablehlo.sort"(%arg0, %arg1) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>, %arg4: tensor<i32>, %arg5: tensor<i32>):
      %1 = stablehlo.compare LT, %arg2, %arg3, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }) : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
    return %0#0, %0#1 : tensor<4x8xf32>, tensor<4x8xi32>
  }
  func.func @op87(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = stablehlo.cholesky %arg0, lower = true : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @op88(%arg0: tensor<4x4xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = "stablehlo.triangular_solve"(%arg0, %arg1) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op89(%arg0: tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>> {
    %0 = stablehlo.fft %arg0, type = FFT, length = [8] : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>
    return %0 : tensor<4x8xcomplex<f32>>
  }
  func.func @op90(%arg0: tensor<2x4x8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>, %arg3: tensor<8xf32>, %arg4: tensor<8xf32>) -> tensor<2x4x8xf32> {
    %0 = "stablehlo.batch_norm_inference"(%arg0, %arg1, %arg2, %arg3, %arg4) <{epsilon = 1.000000e-03 : f32, feature_index = 2 : i64}> : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
    return %0 : tensor<2x4x8xf32>
  }
  func.func @op91(%arg0: tensor<2x4x8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %output, %batch_mean, %batch_var = "stablehlo.batch_norm_training"(%arg0, %arg1, %arg2) <{epsilon = 1.000000e-03 : f32, feature_index = 2 : i64}> : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>)
    return %output, %batch_mean, %batch_var : tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>
  }
  func.func @op92(%arg0: tensor<2x4x8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>, %arg3: tensor<8xf32>, %arg4: tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %grad_operand, %grad_scale, %grad_offset = "stablehlo.batch_norm_grad"(%arg0, %arg1, %arg2, %arg3, %arg4) <{epsilon = 1.000000e-03 : f32, feature_index = 2 : i64}> : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>)
    return %grad_operand, %grad_scale, %grad_offset : tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>
  }
  func.func @op93(%arg0: tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>) {
    %output_state, %output = stablehlo.rng_bit_generator %arg0, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
    return %output_state, %output : tensor<2xui64>, tensor<8xui32>
  }
  func.func @op94(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = "stablehlo.map"(%arg0, %arg1) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %1 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op95(%arg0: tensor<4x8xf32>, %arg1: tensor<8x16xf32>) -> tensor<4x16xf32> {
    %0 = stablehlo.einsum %arg0, %arg1, config = "ab,bc->ac" : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    return %0 : tensor<4x16xf32>
  }
  func.func @op96(%arg0: tensor<4x8xf32>, %arg1: tensor<3xi32>) -> tensor<3x8xf32> {
    %0 = "stablehlo.torch_index_select"(%arg0, %arg1) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<4x8xf32>, tensor<3xi32>) -> tensor<3x8xf32>
    return %0 : tensor<3x8xf32>
  }
  func.func @op97(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.composite "my.op" %arg0 {composite_attributes = {a = 1 : i64}, decomposition = @callee, version = 1 : i32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op98(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.custom_call @foo(%arg0, %arg1) {api_version = 2 : i32, backend_config = "x\22y", called_computations = [@callee], has_side_effect = true} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op99(%arg0: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
    %0:2 = stablehlo.custom_call @"foo bar"(%arg0) {api_version = 4 : i32, backend_config = {a = 1 : i32, "b c" = [1.000000e+00 : f32, "s"]}, mhlo.sharding = "{devices=[2,1]<=[2]}", operand_layouts = [dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    return %0#0, %0#1 : tensor<4x8xf32>, tensor<4x8xf32>
  }
  func.func @op100(%arg0: tensor<4x8xf32>, %arg1: tensor<3xi32>) -> tensor<4x?x8xf32> {
    %0 = stablehlo.dynamic_broadcast_in_dim %arg0, %arg1, dims = [0, 2] : (tensor<4x8xf32>, tensor<3xi32>) -> tensor<4x?x8xf32>
    return %0 : tensor<4x?x8xf32>
  }
  func.func @op101(%arg0: tensor<1x8x8x4xf32>, %arg1: tensor<3x3x4x16xf32>, %arg2: tensor<2x2xi32>) -> tensor<1x?x?x16xf32> {
    %0 = "stablehlo.dynamic_conv"(%arg0, %arg1, %arg2) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x16xf32>, tensor<2x2xi32>) -> tensor<1x?x?x16xf32>
    return %0 : tensor<1x?x?x16xf32>
  }
  func.func @op102(%arg0: tensor<4x8xf32>, %arg1: tensor<3x1xi32>, %arg2: tensor<2xi32>) -> tensor<3x?xf32> {
    %0 = "stablehlo.dynamic_gather"(%arg0, %arg1, %arg2) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x8xf32>, tensor<3x1xi32>, tensor<2xi32>) -> tensor<3x?xf32>
    return %0 : tensor<3x?xf32>
  }
  func.func @op103(%arg0: tensor<2xi32>) -> tensor<?x8xi32> {
    %0 = stablehlo.dynamic_iota %arg0, dim = 1 : (tensor<2xi32>) -> tensor<?x8xi32>
    return %0 : tensor<?x8xi32>
  }
  func.func @op104(%arg0: tensor<4x8xf32>, %arg1: tensor<f32>, %arg2: tensor<2xi32>, %arg3: tensor<2xi32>, %arg4: tensor<2xi32>) -> tensor<?x?xf32> {
    %0 = stablehlo.dynamic_pad %arg0, %arg1, %arg2, %arg3, %arg4 : (tensor<4x8xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
    return %0 : tensor<?x?xf32>
  }
  func.func @op105(%arg0: tensor<4x8xf32>, %arg1: tensor<2xi32>) -> tensor<?x8xf32> {
    %0 = stablehlo.dynamic_reshape %arg0, %arg1 : (tensor<4x8xf32>, tensor<2xi32>) -> tensor<?x8xf32>
    return %0 : tensor<?x8xf32>
  }
  func.func @op106(%arg0: tensor<4x8xf32>, %arg1: tensor<2xi32>, %arg2: tensor<2xi32>, %arg3: tensor<2xi32>) -> tensor<?x8xf32> {
    %0 = stablehlo.real_dynamic_slice %arg0, %arg1, %arg2, %arg3 : (tensor<4x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x8xf32>
    return %0 : tensor<?x8xf32>
  }
  func.func @op107(%arg0: tensor<?x8xf32, #stablehlo.bounds<4, ?>>) -> tensor<i32> {
    %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x8xf32, #stablehlo.bounds<4, ?>>) -> tensor<i32>
    return %0 : tensor<i32>
  }
  func.func @op108(%arg0: tensor<4x8xf32>, %arg1: tensor<i32>) -> tensor<?x8xf32, #stablehlo.bounds<4, ?>> {
    %0 = stablehlo.set_dimension_size %arg0, %arg1, dim = 0 : (tensor<4x8xf32>, tensor<i32>) -> tensor<?x8xf32, #stablehlo.bounds<4, ?>>
    return %0 : tensor<?x8xf32, #stablehlo.bounds<4, ?>>
  }
  func.func @op109(%arg0: tensor<?x8xf32, #stablehlo.bounds<4, ?>>, %arg1: tensor<?x8xf32, #stablehlo.bounds<4, ?>>) -> tensor<?x8xf32, #stablehlo.bounds<4, ?>> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<?x8xf32, #stablehlo.bounds<4, ?>>
    return %0 : tensor<?x8xf32, #stablehlo.bounds<4, ?>>
  }
  func.func @op110(%arg0: tensor<4x8xf32>) -> tensor<8x8xf32> {
    %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<4x8xf32>) -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
  func.func @op111(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = "stablehlo.all_reduce"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op112(%arg0: tensor<4x8xf32>) -> tensor<2x8xf32> {
    %0 = "stablehlo.reduce_scatter"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<4x8xf32>) -> tensor<2x8xf32>
    return %0 : tensor<2x8xf32>
  }
  func.func @op113(%arg0: tensor<4x8xf32>) -> tensor<8x4xf32> {
    %0 = "stablehlo.all_to_all"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<4x8xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
  func.func @op114(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op115(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = "stablehlo.collective_broadcast"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op116(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = "stablehlo.cross-replica-sum"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op117() -> tensor<ui32> {
    %0 = stablehlo.partition_id : tensor<ui32>
    return %0 : tensor<ui32>
  }
  func.func @op118() -> tensor<ui32> {
    %0 = stablehlo.replica_id : tensor<ui32>
    return %0 : tensor<ui32>
  }
  func.func @op119(%arg0: tensor<i32>, %arg1: tensor<4x8xf32>) -> (tensor<i32>, tensor<4x8xf32>) {
    %0:2 = stablehlo.while(%iterArg = %arg0, %iterArg_0 = %arg1) : tensor<i32>, tensor<4x8xf32> attributes {foo.x = 1 : i32}
    cond {
      %1 = stablehlo.compare LT, %iterArg, %iterArg : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      stablehlo.return %iterArg, %iterArg_0 : tensor<i32>, tensor<4x8xf32>
    }
    return %0#0, %0#1 : tensor<i32>, tensor<4x8xf32>
  }
  func.func @op120(%arg0: tensor<i32>) -> tensor<f32> {
    %0 = "stablehlo.case"(%arg0) ({
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      stablehlo.return %cst : tensor<f32>
    }, {
      %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      stablehlo.return %cst : tensor<f32>
    }, {
      %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      stablehlo.return %cst : tensor<f32>
    }) : (tensor<i32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @op121(%arg0: tensor<i1>) -> tensor<f32> {
    %0 = "stablehlo.if"(%arg0) ({
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      stablehlo.return %cst : tensor<f32>
    }, {
      %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      stablehlo.return %cst : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @op122(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>) {
    %0:2 = stablehlo.optimization_barrier %arg0, %arg1 : tensor<4x8xf32>, tensor<4x8xi32>
    return %0#0, %0#1 : tensor<4x8xf32>, tensor<4x8xi32>
  }
  func.func @op123(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.optimization_barrier %arg0 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op124() {
    stablehlo.optimization_barrier()
    return
  }
  func.func @op125(%arg0: !stablehlo.token, %arg1: !stablehlo.token) -> !stablehlo.token {
    %0 = stablehlo.after_all %arg0, %arg1 : !stablehlo.token
    return %0 : !stablehlo.token
  }
  func.func @op126() -> !stablehlo.token {
    %0 = stablehlo.create_token : !stablehlo.token
    return %0 : !stablehlo.token
  }
  func.func @op127() -> !stablehlo.token {
    %0 = stablehlo.after_all  : !stablehlo.token
    return %0 : !stablehlo.token
  }
  func.func @op128(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xi32>) -> tuple<tensor<4x8xf32>, tensor<4x8xi32>> {
    %0 = stablehlo.tuple %arg0, %arg1 : tuple<tensor<4x8xf32>, tensor<4x8xi32>>
    return %0 : tuple<tensor<4x8xf32>, tensor<4x8xi32>>
  }
  func.func @op129(%arg0: tuple<tensor<4x8xf32>, tensor<4x8xi32>>) -> tensor<4x8xi32> {
    %0 = stablehlo.get_tuple_element %arg0[1] : (tuple<tensor<4x8xf32>, tensor<4x8xi32>>) -> tensor<4x8xi32>
    return %0 : tensor<4x8xi32>
  }
  func.func @op130(%arg0: !stablehlo.token) -> (tensor<4x8xf32>, !stablehlo.token) {
    %0:2 = "stablehlo.infeed"(%arg0) <{infeed_config = "", layout = [[0, 1]]}> : (!stablehlo.token) -> (tensor<4x8xf32>, !stablehlo.token)
    return %0#0, %0#1 : tensor<4x8xf32>, !stablehlo.token
  }
  func.func @op131(%arg0: tensor<4x8xf32>, %arg1: !stablehlo.token) -> !stablehlo.token {
    %0 = "stablehlo.outfeed"(%arg0, %arg1) <{outfeed_config = ""}> : (tensor<4x8xf32>, !stablehlo.token) -> !stablehlo.token
    return %0 : !stablehlo.token
  }
  func.func @op132(%arg0: tensor<4x8xf32>, %arg1: !stablehlo.token) -> !stablehlo.token {
    %0 = "stablehlo.send"(%arg0, %arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (tensor<4x8xf32>, !stablehlo.token) -> !stablehlo.token
    return %0 : !stablehlo.token
  }
  func.func @op133(%arg0: !stablehlo.token) -> (tensor<4x8xf32>, !stablehlo.token) {
    %0:2 = "stablehlo.recv"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4x8xf32>, !stablehlo.token)
    return %0#0, %0#1 : tensor<4x8xf32>, !stablehlo.token
  }
  func.func @op134(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = chlo.acos %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op135(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = chlo.acosh %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op136(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = chlo.asin %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op137(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = chlo.asinh %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op138(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = chlo.atan %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op139(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = chlo.atanh %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op140(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = chlo.cosh %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op141(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = chlo.sinh %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op142(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = chlo.digamma %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op143(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = chlo.erf %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op144(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = chlo.erf_inv %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op145(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = chlo.erfc %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op146(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = chlo.lgamma %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op147(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = chlo.square %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op148(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = chlo.next_after %arg0, %arg1 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op149(%arg0: tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>) {
    %values, %indices = chlo.top_k(%arg0, k = 2) : tensor<4x8xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)
    return %values, %indices : tensor<4x2xf32>, tensor<4x2xi32>
  }
  func.func @op150(%arg0: tensor<11x5xf32>, %arg1: tensor<3x5x7xf32>, %arg2: tensor<3xi64>) -> tensor<11x7xf32> {
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>
    return %0 : tensor<11x7xf32>
  }
  func.func @op151(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>) {
    %0:2 = call @two(%arg0, %arg1) : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
    return %0#0, %0#1 : tensor<4x8xf32>, tensor<4x8xi32>
  }
  func.func @op152(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = call @callee(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op153() {
    call @none() : () -> ()
    return
  }
  func.func @op154() -> tensor<4x8xf32> {
    %0 = sdy.constant dense<1.000000e+00> : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op155(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"a"}, {?}]> : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op156(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = sdy.reshard %arg0 <@mesh, [{"a"}, {?}]> : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op157(%arg0: tensor<4x8xf32>) {
    sdy.sharding_group %arg0 group_id=3 : tensor<4x8xf32>
    return
  }
  func.func @op158(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = sdy.propagation_barrier %arg0 allowed_direction=FORWARD : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op159(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {}]>] out_shardings=[<@mesh, [{"a"}, {}]>] manual_axes={"a"} (%arg1: tensor<2x8xf32>) {
      sdy.return %arg1 : tensor<2x8xf32>
    } : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op160() {
    sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
      sdy.return
    } : () -> ()
    return
  }
  func.func @op161(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = sdy.named_computation<"n">(%arg0) (%arg1: tensor<4x8xf32>) {
      sdy.return %arg1 : tensor<4x8xf32>
    } : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op162(%arg0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) -> tensor<4x8xf32> {
    %0 = sdy.all_gather [{"a"}, {}] %arg0 out_sharding=<@mesh, [{}, {}]> : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op163(%arg0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) -> tensor<4x8xf32> {
    %0 = sdy.all_slice [{}, {"b"}] %arg0 out_sharding=<@mesh, [{"a"}, {"b"}]> : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op164(%arg0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) -> tensor<4x8xf32> {
    %0 = sdy.all_to_all [{"a"}: 0->1] %arg0 out_sharding=<@mesh, [{}, {"a"}]> : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op165(%arg0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b":(1)2}, {}]>}) -> tensor<4x8xf32> {
    %0 = sdy.collective_permute %arg0 out_sharding=<@mesh, [{"a"}, {}]> : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op166(%arg0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}], unreduced={"b"}>}) -> tensor<4x8xf32> {
    %0 = sdy.all_reduce {"b"} %arg0 out_sharding=<@mesh, [{"a"}, {}]> : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op167(%arg0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) -> tensor<4x8xf32> {
    %0 = sdy.reduce_scatter [{}, {"b"}] %arg0 out_sharding=<@mesh, [{"a"}, {"b"}]> : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op168(%arg0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) -> tensor<4x8xf32> {
    %0 = sdy.replicated_to_unreduced {"b"} %arg0 out_sharding=<@mesh, [{"a"}, {}], unreduced={"b"}> : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op169(%arg0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) -> tensor<4x8xf32> {
    %0 = sdy.sharded_to_unreduced [{"a"}, {}] %arg0 out_sharding=<@mesh, [{}, {}], unreduced={"a"}> : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op170(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.add %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}, {}]>]>} : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @op171(%arg0: tensor<4x8xf32>) {
    stablehlo.custom_call @none(%arg0) {has_side_effect = true} : (tensor<4x8xf32>) -> ()
    return
  }
  func.func private @unary(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xcomplex<f32>>) {
    %0 = chlo.bessel_i1e %arg0 : tensor<2x3xf32> -> tensor<2x3xf32>
    %1 = chlo.conj %arg1 : tensor<2x3xcomplex<f32>> -> tensor<2x3xcomplex<f32>>
    %2 = chlo.is_inf %arg0 : tensor<2x3xf32> -> tensor<2x3xi1>
    %3 = chlo.is_neg_inf %arg0 : tensor<2x3xf32> -> tensor<2x3xi1>
    %4 = chlo.is_pos_inf %arg0 : tensor<2x3xf32> -> tensor<2x3xi1>
    %5 = chlo.tan %arg0 : tensor<2x3xf32> -> tensor<2x3xf32>
    %6 = chlo._asin_acos_kernel %arg1 : tensor<2x3xcomplex<f32>> -> tensor<2x3xcomplex<f32>>
    %7 = "chlo.constant_like"(%arg0) <{value = 1.000000e+00 : f32}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %8 = chlo.constant dense<1> : tensor<2xi32>
    %9 = chlo.polygamma %arg0, %arg0 : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
    %10 = chlo.zeta %arg0, %arg0 : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
    %c = stablehlo.constant dense<1> : tensor<2xi32>
    %11 = chlo.mulhi %c, %c : tensor<2xi32>, tensor<2xi32> -> tensor<2xi32>
    return
  }
  func.func private @broadcast(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<2x3xi32>, %arg3: tensor<3xi32>, %arg4: tensor<2x3xi1>) {
    %0 = chlo.broadcast_add %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %1 = chlo.broadcast_add %arg0, %arg1 {broadcast_dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %2 = chlo.broadcast_and %arg2, %arg3 : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    %3 = chlo.broadcast_atan2 %arg0, %arg1 {broadcast_dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %4 = chlo.broadcast_compare %arg0, %arg1 {comparison_direction = #chlo<comparison_direction LT>} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
    %5 = chlo.broadcast_compare %arg0, %arg1 {broadcast_dimensions = array<i64: 1>, compare_type = #chlo<comparison_type TOTALORDER>, comparison_direction = #chlo<comparison_direction LT>} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
    %6 = chlo.broadcast_complex %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xcomplex<f32>>
    %7 = chlo.broadcast_divide %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %8 = chlo.broadcast_maximum %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %9 = chlo.broadcast_minimum %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %10 = chlo.broadcast_multiply %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %11 = chlo.broadcast_next_after %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %12 = chlo.broadcast_or %arg2, %arg3 : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    %13 = chlo.broadcast_polygamma %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %14 = chlo.broadcast_power %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %15 = chlo.broadcast_remainder %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %16 = chlo.broadcast_select %arg4, %arg0, %arg1 : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %17 = chlo.broadcast_shift_left %arg2, %arg3 : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    %18 = chlo.broadcast_shift_right_arithmetic %arg2, %arg3 : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    %19 = chlo.broadcast_shift_right_logical %arg2, %arg3 : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    %20 = chlo.broadcast_subtract %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %21 = chlo.broadcast_xor %arg2, %arg3 : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    %22 = chlo.broadcast_zeta %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    return
  }
  func.func private @scan(%arg0: tensor<4x3xf32>, %arg1: tensor<3xf32>) {
    %0:2 = chlo.scan(%arg0) inits (%arg1) dimension=0  attributes {is_reverse = true} {
    ^bb0(%input: tensor<3xf32>, %carry: tensor<3xf32>):
      %1 = stablehlo.add %input, %carry : tensor<3xf32>
      stablehlo.return %1, %1 : tensor<3xf32>, tensor<3xf32>
    } : (tensor<4x3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>)
    return
  }
  func.func private @async(%arg0: tensor<4x3xf32>) -> tensor<8x3xf32> {
    %0 = "stablehlo.async_start"(%arg0) ({
    ^bb0(%arg1: tensor<4x3xf32>):
      %2 = "stablehlo.all_gather"(%arg1) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x3xf32>) -> tensor<8x3xf32>
      stablehlo.return %2 : tensor<8x3xf32>
    }) : (tensor<4x3xf32>) -> !stablehlo.future<tensor<8x3xf32>>
    %1 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<8x3xf32>>) -> tensor<8x3xf32>
    return %1 : tensor<8x3xf32>
  }
  func.func private @shlo(%arg0: tensor<4x3xf32>) {
    %0 = stablehlo.broadcast %arg0, sizes = [5] : (tensor<4x3xf32>) -> tensor<5x4x3xf32>
    %1 = stablehlo.unary_einsum %arg0, config = "ab->a" : (tensor<4x3xf32>) -> tensor<4xf32>
    return
  }
  func.func private @callee_f(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    return %arg0 : tensor<4xf32>
  }
  func.func private @indirect(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %f = constant @callee_f : (tensor<4xf32>) -> tensor<4xf32>
    %0 = call_indirect %f(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call_indirect %f(%arg0) {a.b = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    %2 = builtin.unrealized_conversion_cast %1 : tensor<4xf32> to tensor<4xi32>
    %3:2 = builtin.unrealized_conversion_cast %1, %1 : tensor<4xf32>, tensor<4xf32> to i32, i64 {a}
    %4 = builtin.unrealized_conversion_cast to i32
    return %1 : tensor<4xf32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      blob: "0x040000000000803F000000400000404000008040000080400000A0400000C0400000E040"
    }
  }
#-}
