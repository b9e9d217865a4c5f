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
