func.func @main(%a: tuple<tensor<2xf32>, tuple<>, !stablehlo.token>, %b: tensor<?x3xf32, #stablehlo.bounds<4, ?>>, %c: tensor<*xf32>, %d: memref<2xf32>, %e: vector<4xf32>, %f: none, %g: index, %h: (i32) -> (), %i: complex<f32>, %j: !stablehlo.future<tensor<2xf32>>, %k: tensor<2xf32, {a = 1}>, %l: tensor<2xf32, "enc">, %m: ui8, %n: si32, %o: i1234, %p: f80, %q: f128, %r: memref<*xf32>, %s: vector<[4]xf32>, %t: memref<?x2xf32, strided<[2, 1], offset: ?>, 3>, %u: tensor<2xsi32>, %v : tensor<2xcomplex<i32>>, %w: tensor<2xvector<2xf32>>) {
  return
}
