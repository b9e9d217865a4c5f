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
  %10 = "foo.a"() {l = loc("x"), l2 = #l} : () -> i32
  return loc(#l2)
} loc("m")
#l = loc("later"(#l2))
#l2 = loc(fused[#l3, "x"])
#l3 = loc("q\22uote\\")
// -----
#foo.bar = 1
module {}
// -----
func.func private @decl(tensor<4xf32>, i32) -> (f32, tensor<2xi1>)
func.func private @decl2(%a: tensor<4xf32> {x.y}, %b: i32)
func.func nested @n() attributes {a.b} { return }
func.func @"a b\22c"() { call @"a b\22c"() : () -> () return }
func.func @-x() { return }
// -----
func.func @r(%a: tensor<4x5xf32>, %b: tensor<4x5xi32>, %z: tensor<f32>, %i: tensor<i32>) {
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<f32>
  %1:2 = stablehlo.reduce(%a init: %z), (%b init: %i) across dimensions = [1] {x.y = 1} : (tensor<4x5xf32>, tensor<4x5xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
   reducer(%p: tensor<f32>, %q: tensor<f32>) (%s: tensor<i32>, %t: tensor<i32>) { stablehlo.return %p, %t : tensor<f32>, tensor<i32> }
  %2 = stablehlo.reduce(%a init: %z) applies stablehlo.complex across dimensions = [0, 1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<f32>
  return
}
// -----
func.func @main(%a: tensor<-1xf32>) { return }
// -----
func.func @main(%a: tensor<99999999999999999999999x3xf32>) { return }
// -----
func.func @main() { %0 = "foo.x"() {a = 99999999999999999999 : i64} : () -> i32 return }
// -----
func.func @main() { %0 = "foo.x"() {a = 300 : i8} : () -> i32 return }
// -----
func.func @main() { %0 = "foo.x"() {a = 1, a = 2} : () -> i32 return }
// -----
func.func @main() { %0 = stablehlo.constant dense<[1, 2]> : tensor<3xi32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<[[1, 2], [3]]> : tensor<2x2xi32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<1.5> : tensor<2xi32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<300> : tensor<2xi8> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<true> : tensor<2xi8> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<"0x00"> : tensor<2xi32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<"0x0z"> : tensor<i8> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<-1> : tensor<2xui8> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<abc> : tensor<2xui8> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<(1,2)> : tensor<2xcomplex<f32>> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<1> : tensor<2xf32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<[(1.0,2.0), 3.0]> : tensor<2xcomplex<f32>> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<[1.0,,2.0]> : tensor<2xf32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<[1.0 2.0]> : tensor<2xf32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<[1.0, 2.0,]> : tensor<2xf32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<2> : tensor<2xi1> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<256> : tensor<2xi8> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<-129> : tensor<2xi8> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<0x1FF> : tensor<2xi8> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<18446744073709551616> : tensor<2xi64> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<0x7FC00000FF> : tensor<2xf32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<-0x7F> : tensor<2xf32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<1e5> : tensor<2xf32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<.5> : tensor<2xf32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<1.0> : tensor<2xcomplex<f32>> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<true> : tensor<2xf32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<true> : tensor<2xcomplex<f32>> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<16> : tensor<2xi4> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<(1.0, 2.0, 3.0)> : tensor<2xcomplex<f32>> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<(1.0 2.0)> : tensor<2xcomplex<f32>> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<((1.0, 2.0))> : tensor<2xcomplex<f32>> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<(1, 2)> : tensor<2xcomplex<f32>> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<[1 2]> : tensor<1xi32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<[1, 2.0]> : tensor<2xi32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<[1, 2.0]> : tensor<2xf32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<[,1]> : tensor<1xi32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<[[1],,[2]]> : tensor<2x1xi32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<[[1][2]]> : tensor<2x1xi32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<[[1]2]> : tensor<2x1xi32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<["a", "b"]> : tensor<2xi32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<[-1]> : tensor<1xui32> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<[(1.0, 2.0), (3.0)]> : tensor<2xcomplex<f32>> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<[(1, 2)]> : tensor<1xcomplex<f32>> return }
// -----
func.func @main() { %0 = "foo.x"() {a = 1.5 : i32} : () -> i32 return }
// -----
func.func @main() { %0 = "foo.x"() {a = 1 : f32} : () -> i32 return }
// -----
func.func @main() { %0 = "foo.x"() {a = -1 : ui8} : () -> i32 return }
// -----
func.func @main() { %0 = "foo.x"() {a = 0x12345 : bf16} : () -> i32 return }
// -----
func.func @main() { %0 = "foo.x"() {a = 1 : tensor<2xf32>} : () -> i32 return }
// -----
func.func @main() { %0 = "foo.x"() {a = array<i8: 300>} : () -> i32 return }
// -----
func.func @main() { %0 = "foo.x"() {a = array<i32: 1.5>} : () -> i32 return }
// -----
func.func @main() { %0 = "foo.x"() {a = array<f32: 1>} : () -> i32 return }
// -----
func.func @main() { %0 = "foo.x"() {a = array<f32: abc>} : () -> i32 return }
// -----
func.func @main() { %0 = "foo.x"() {a = array<i1: 1, 0>} : () -> i32 return }
// -----
func.func @main() { %0 = "foo.x"() {a = array<index: 1>} : () -> i32 return }
// -----
func.func @main() { %0 = "foo.x"() {a = array<i4: 1>} : () -> i32 return }
// -----
func.func @main() { %0 = "foo.x"() {a = "a
b"} : () -> i32 return }
// -----
func.func @main() { %0 = "foo.x"() {a = "\q"} : () -> i32 return }
// -----
func.func @main() { %0 = stablehlo.constant dense<"0x0"> : tensor<i8> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<"0xFFF"> : tensor<i8> return }
// -----
func.func @main() { %0 = stablehlo.constant dense<"0x12FF"> : tensor<9xi1> return }
