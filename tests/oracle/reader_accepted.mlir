module { module @inner { func.func @f() { return } } func.func @main() { return } }
// -----
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "foo.bar"(%a) {x = #foo.bar<abc, [1, 2], "a b">, y = !foo.type<3>, z = 3.0 : f32, w = -0.0 : f64, n = 0x7fc00000 : f32, nan = 0x7FF8000000000000 : f64, big = 123456789012345678901234567890 : i128, neg = -128 : i8, hex = 0xFF : i32, b = true, e = [], d = {}, u, s = "a\22b\\c\0A\t", sym = @foo::@bar, sy2 = @"a b", arr = array<f32: 1.0, 2.5e10, -0.0>, arr2 = array<i1: true, false>, arr3 = array<i8: -1, 2>, arr4 = array<i64>, loc = loc("x")} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
#map = affine_map<(d0, d1) -> (d0 + d1)>
#set = affine_set<(d0) : (d0 >= 0)>
!t = tensor<2xf32>
#alias = {a = 1, b = "x"}
#x = dense<1> : tensor<2xi32>
func.func @main(%a: !t) -> !t attributes {m = #map, s = #set, al = #alias, xx = #x} {
  return %a : !t
}
// -----
func.func @main() {
  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = stablehlo.constant dense<"0x0000803F00000040"> : tensor<2xf32>
  %2 = stablehlo.constant dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>
  %3 = stablehlo.constant dense<[(1.0, 2.0), (3.0,4.0)]> : tensor<2xcomplex<f32>>
  %4 = stablehlo.constant dense<true> : tensor<2xi1>
  %5 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %6 = stablehlo.constant dense<"0x01"> : tensor<2xi1>
  %7 = stablehlo.constant dense<"0xFF"> : tensor<2xi1>
  %8 = stablehlo.constant dense<0x7FC00000> : tensor<2xf32>
  %9 = stablehlo.constant dense<[0x7FC00000, 0xFF800000]> : tensor<2xf32>
  %10 = stablehlo.constant dense<> : tensor<0xf32>
  %11 = stablehlo.constant dense<[]> : tensor<0xf32>
  %12 = stablehlo.constant dense<[[], []]> : tensor<2x0xf32>
  %13 = stablehlo.constant dense<-1> : tensor<2xi4>
  %14 = stablehlo.constant dense<[1, -2, 0, 1]> : tensor<4xi2>
  %15 = stablehlo.constant dense<1.0> : tensor<f8E4M3FN>
  %16 = stablehlo.constant dense<1.0> : tensor<f8E4M3>
  %17 = stablehlo.constant dense<1.0> : tensor<f8E3M4>
  %18 = stablehlo.constant dense<1.0> : tensor<f8E4M3B11FNUZ>
  %19 = stablehlo.constant dense<1.0> : tensor<f8E4M3FNUZ>
  %20 = stablehlo.constant dense<1.0> : tensor<f8E5M2>
  %21 = stablehlo.constant dense<1.0> : tensor<f8E5M2FNUZ>
  %22 = stablehlo.constant dense<1.0> : tensor<f8E8M0FNU>
  %23 = stablehlo.constant dense<1.0> : tensor<f4E2M1FN>
  %24 = stablehlo.constant dense<1.0> : tensor<f6E2M3FN>
  %25 = stablehlo.constant dense<1.0> : tensor<f6E3M2FN>
  %26 = stablehlo.constant dense<1.0> : tensor<bf16>
  %27 = stablehlo.constant dense<1.0> : tensor<f16>
  %29 = stablehlo.constant dense<1.0> : tensor<f64>
  %30 = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
  %31 = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
  %32 = stablehlo.constant dense<1> : tensor<ui4>
  return
}
// -----
func.func @main() {
  %28 = "foo.c"() {v = dense<1.0> : tensor<tf32>, w = dense<"abc"> : tensor<2x!foo.str>, x = dense<["a", "b"]> : tensor<2x!foo.str>, sp = sparse<[[0, 0], [1, 2]], [1, 5]> : tensor<3x4xi32>, y = dense<1> : vector<4xi32>, z = dense<1> : tensor<3xindex>, z2 = dense<[1,2,3]> : tensor<3xindex>} : () -> tensor<2xtf32>
  return
}
// -----
func.func @main() {
  %28 = "foo.c"() {a = dense_resource<foo> : tensor<2xf32>, b = dense_resource<"with space"> : tensor<2xf32>} : () -> tensor<2xtf32>
  return
}
{-# dialect_resources: { builtin: { foo: "0x040000000000803F00000040", "with space": "0x040000000000803F00000040" } }, external_resources: { x: { y: "0x08000000", z: true, w: "s" } } #-}
// -----
func.func @main(%a: tensor<4x!quant.uniform<i8:f32, 1.0>>, %b: tensor<4x!quant.uniform<i8<-127:127>:f32:0, {1.0, 2.0:3, 3.0, 4.0}>>, %c: !quant.uniform<u8:f32, 2.0:-1>) {
  return
}
// -----
func.func @main(%a: tuple<tensor<2xf32>, tuple<>, !stablehlo.token>, %b: tensor<?x3xf32, #stablehlo.bounds<4, ?>>, %c: tensor<*xf32>, %d: memref<2xf32>, %e: vector<4xf32>, %f: none, %g: index, %h: (i32) -> (), %i: complex<f32>, %j: !stablehlo.future<tensor<2xf32>>, %k: tensor<2xf32, {a = 1}>, %l: tensor<2xf32, "enc">, %m: ui8, %n: si32, %o: i1234, %p: f80, %q: f128, %r: memref<*xf32>, %s: vector<[4]xf32>, %t: memref<?x2xf32, strided<[2, 1], offset: ?>, 3>, %u: tensor<2xsi32>, %v : tensor<2xcomplex<i32>>, %w: tensor<2xvector<2xf32>>) {
  return
}
// -----
"builtin.module"() ({
  "func.func"() <{function_type = () -> (), sym_name = "main"}> ({
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
// -----
module @m attributes {mhlo.num_partitions = 1 : i32, jax.uses_shape_polymorphism = false, a.b = [1, "x", {y = 2}]} {
 func.func public @main(%arg0: tensor<2xf32> {mhlo.sharding = "{devices=[2]0,1}", tf.aliasing_output = 0 : i32, jax.buffer_donor = true} loc("x")) -> (tensor<2xf32> {jax.result_info = "result['a']"}) attributes {x.y = 1} {
   return %arg0 : tensor<2xf32> loc("r")
 } loc("f")
} loc("m")
// -----
func.func @main(%a: tensor<4xf32>) {
  %0 = "foo.x"() {l = loc("a"), m = loc("f":1:2), n = loc(fused["a", "b"]), o = loc(callsite("a" at "b"))} : () -> i32 loc("a")
  return
}
// -----
func.func @main(%a: tensor<4xf32>) {
  %0 = "foo.x"() {a = affine_map<(d0)[s0] -> (d0 floordiv 2 + s0 mod 3, d0 ceildiv 4)>, b = affine_set<(d0)[s0] : (d0 - s0 >= 0, d0 == 4)>, c = strided<[1, ?], offset: ?>, d = distinct[0]<"x">, e = distinct[1]<>, sp = sparse<[[0, 0], [1, 2]], [1, 5]> : tensor<3x4xi32>, sp1 = sparse<0, 1.0> : tensor<3xf32>, sp2 = sparse<> : tensor<3xf32>, f = tensor<2xf32>, g = (i32) -> i32, h = () -> (), i = none, k = vector<2xi8>, l = @a::@b::@"c d", m = dense<"a\22b"> : tensor<2x!foo.str>, n = dense<["a", "b>"]> : tensor<2x!foo.str>, o = dense_resource<q> : tensor<4xf32>, p = 1 : index, q = -5 : si8, r = 200 : ui8, s = 1 : i1, t = 1.0e-3 : bf16, u = 0xABCD : f16, v = 1.5, w = [unit, 1, "x" : i32], "quoted name" = 1, "a.b-c" = 2, x = array<i16: 1>, y = array<f64: 1.5, 0x7FF8000000000000>, z = 18446744073709551615 : ui64} : () -> i32
  return
}
// -----
module attributes {foo.a, foo.b = unit, foo.c = #foo.bar, foo.d = #foo<bar 1 2 "x" [ {a} ]>, foo.e = !foo<bar [1]>, foo.f = #foo.bar<"a>b">, foo.g = #foo<"]">} {}
// -----
module {
  "foo.region"() ({
  ^bb0(%a: i32, %b: f32):
    %0 = "foo.x"(%a) : (i32) -> i32
    "foo.end"(%0) : (i32) -> ()
  }, {
  }, {
    "foo.end"() : () -> ()
  }) {a = 1} : () -> ()
  "foo.region"() <{p = 1}> ({
    "foo.end"() : () -> ()
  }) {d.a = 1} : () -> ()
  "foo.none"() <{}> : () -> ()
}
// -----
func.func @s(%arg0: tensor<4xf32>, %arg1: tensor<f32>) -> (tensor<4xf32>, tensor<f32>) {
  %0:2 = stablehlo.composite "a.b" %arg0, %arg1 {composite_attributes = {x = 1 : i64, y = "s", z = [1, 2], t = dense<1> : tensor<2xi64>, e = #stablehlo<precision DEFAULT>}, decomposition = @d, version = 3 : i32} : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<f32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<f32>
}
func.func private @d(%arg0: tensor<4xf32>, %arg1: tensor<f32>) -> (tensor<4xf32>, tensor<f32>) { return %arg0, %arg1 : tensor<4xf32>, tensor<f32> }
// -----
func.func @cc(%a: tensor<4x8xf32>, %b: tensor<4xi32>) -> (tensor<4x8xf32>, tensor<4xi32>) {
  %0:2 = stablehlo.custom_call @foo(%a, %b) {api_version = 4 : i32, backend_config = {a = 1 : i64, b = "x", c = [1.0 : f32]}, called_computations = [@cc], has_side_effect = true, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], mhlo.frontend_attributes = {x = "y"}} : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<4x8xf32>, tensor<4xi32>)
  %1:2 = stablehlo.custom_call @"foo bar"(%a, %b) {backend_config = "a\0Ab", mhlo.sharding = "{replicated}"} : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<4x8xf32>, tensor<4xi32>)
  %2 = stablehlo.custom_call @t(%a) : (tensor<4x8xf32>) -> tuple<tensor<4xf32>, tensor<i32>>
  stablehlo.custom_call @none() {has_side_effect = true} : () -> ()
  return %0#0, %0#1 : tensor<4x8xf32>, tensor<4xi32>
}
// -----
func.func @dyn(%a: tensor<?x3xf32>, %s: tensor<2xi32>) -> tensor<?x?xf32> {
  %0 = stablehlo.dynamic_reshape %a, %s : (tensor<?x3xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %1 = stablehlo.add %a, %a : tensor<?x3xf32>
  %2 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [0, 1] {known_expanding_dimensions = array<i64: 0>} : (tensor<?x3xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %3 = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
  %4 = stablehlo.set_dimension_size %a, %3, dim = 0 : (tensor<?x3xf32>, tensor<i32>) -> tensor<?x3xf32, #stablehlo.bounds<8, ?>>
  return %0 : tensor<?x?xf32>
}
// -----
func.func @case(%i: tensor<i32>, %p: tensor<i1>, %a: tensor<4xf32>) {
  %0:2 = "stablehlo.case"(%i) ({ stablehlo.return %a, %a : tensor<4xf32>, tensor<4xf32> }, { %1 = stablehlo.negate %a : tensor<4xf32> 
   stablehlo.return %1, %a : tensor<4xf32>, tensor<4xf32> }) : (tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>)
  %2 = "stablehlo.if"(%p) ({ stablehlo.return %a : tensor<4xf32> }, { stablehlo.return %a : tensor<4xf32> }) : (tensor<i1>) -> tensor<4xf32>
  %3:2 = stablehlo.while(%x = %i, %y = %a) : tensor<i32>, tensor<4xf32> attributes {a.b = 1} cond { %c = stablehlo.compare LT, %x, %x, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1> } do { stablehlo.return %x, %y : tensor<i32>, tensor<4xf32> }
  return
}
// -----
func.func @r(%a: tensor<4x5xf32>, %b: tensor<4x5xi32>, %z: tensor<f32>, %i: tensor<i32>) {
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.minimum across dimensions = [] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4x5xf32>
  %1 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 0>}> ({
   ^bb0(%x: tensor<f32>, %y: tensor<f32>):
   "stablehlo.return"(%x) : (tensor<f32>) -> ()
  }) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j],[])->([j]) {i=4, j=5} reduction={i}>} : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf32>
  return
}
// -----
func.func @main(%a: tensor<0x10xf32>) { return }
// -----
func.func @main(%a: tensor<2 x 3 x f32>, %b : tensor<f32, >) { return }
// -----
func.func @main(%a: tensor<2 x 3 x f32>, %b : tensor< f32 >, %c : tensor<99999999999x3xf32>) { return }
// -----
func.func @main() { %0 = stablehlo.constant dense<[0xFF, 0x1]> : tensor<2xi32> 
  %1 = stablehlo.constant dense<[ // comment
   1, 2]> : tensor<2xi32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<1> : tensor<2xi1> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<-1> : tensor<2xi1> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<255> : tensor<2xi8> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<-128> : tensor<2xi8> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<0xFF> : tensor<2xi8> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<-0xF> : tensor<2xi8> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<0x00FF> : tensor<2xi8> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<18446744073709551615> : tensor<2xi64> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<0x7F> : tensor<2xf32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<1.e5> : tensor<2xf32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<7> : tensor<2xi4> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<(0x7F800000, 2.0)> : tensor<2xcomplex<f32>> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<[true, 1]> : tensor<2xi1> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<[-1]> : tensor<1xi32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<[0xFF, 0x7F800000, 1.0]> : tensor<3xf32> return }
// -----
func.func @main() { %0 = "foo.x"() {a = 255 : i8, b = -1 : index, c = 9223372036854775808 : i64, d = 0xFFFFFFFFFFFFFFFF : i64} : () -> i32 return }
// -----
func.func @main() { %0 = "foo.x"() {a = 18446744073709551615 : ui64, c = -1 : si8, d = 0x12 : f8E4M3FN} : () -> i32 return }
// -----
func.func @main() { %0 = "foo.x"() {a = 9223372036854775808} : () -> i32 return }
// -----
func.func @main() { %0 = "foo.x"() {a = array<ui8: 1>} : () -> i32 return }
// -----
func.func @main() { %0 = "foo.x"() {a = array<i64: 0x10, -1>} : () -> i32 return }
// -----
func.func @main() { %0 = "foo.x"() {a = "\tab\n\\\"\41"} : () -> i32 return }
// -----
func.func @main() { %0 = "foo.x"() {a = "ÄÖ €"} : () -> i32 return }
// -----
func.func @main() { %0 = stablehlo.constant dense<"0x0Fff"> : tensor<2xi8> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<"0xFF"> : tensor<8xi1> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<"0x12"> : tensor<2xi4> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<"0x1202"> : tensor<2xi4> return }
// -----
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
// -----
func.func @main() {
  %0 = "foo.a"() : () -> i32 loc("n")
  %1 = "foo.a"() : () -> i32 loc("f.py":1:2)
  %2 = "foo.a"() : () -> i32 loc("n"("f.py":1:2))
  %3 = "foo.a"() : () -> i32 loc(fused["a", "b", callsite("c" at "d")])
  %4 = "foo.a"() : () -> i32 loc(fused<"meta">["a", "b"])
  %5 = "foo.a"() : () -> i32 loc(unknown)
  %6 = "foo.a"() : () -> i32 loc(callsite("x"("f":1:1) at callsite(unknown at "z")))
  %7 = "foo.a"() : () -> i32 loc("f.py":1:2 to 3:4)
  %8 = "foo.a"() : () -> i32 loc("f.py":1:2 to :4)
  %9 = "foo.a"() : () -> i32 loc(#l)
  %10 = "foo.a"() {l = loc("x"), m = loc(callsite("a" at fused<{k = 1}>["b", unknown]))} : () -> i32
  return loc(#l2)
}
#l3 = loc("q\22uote\\")
#l2 = loc(fused[#l3, "x"])
#l = loc("later"(#l2))
