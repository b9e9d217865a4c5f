func.func @main() {
  %28 = "foo.c"() {a = dense_resource<foo> : tensor<2xf32>, b = dense_resource<"with space"> : tensor<2xf32>} : () -> tensor<2xtf32>
  return
}
{-# dialect_resources: { builtin: { foo: "0x040000000000803F00000040", "with space": "0x040000000000803F00000040" } }, external_resources: { x: { y: "0x08000000", z: true, w: "s" } } #-}
