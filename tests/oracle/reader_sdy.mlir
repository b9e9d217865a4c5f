// mc ok
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc wrong local
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<8x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  sdy.return %1 : tensor<8x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc wrong local out
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<4x16xf32>) -> tensor<8x16xf32>
  sdy.return %1 : tensor<8x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc elem
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xi32>) {
  %1 = "foo.x"(%b) : (tensor<4x16xi32>) -> tensor<4x16xi32>
  sdy.return %1 : tensor<4x16xi32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc rank
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4xf32>) {
  %1 = "foo.x"(%b) : (tensor<4xf32>) -> tensor<4xf32>
  sdy.return %1 : tensor<4xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc unknown axis
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"w"} (%b: tensor<8x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  sdy.return %1 : tensor<8x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc dup axis
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x", "x"} (%b: tensor<4x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc axis order
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"y", "x"} (%b: tensor<4x4xf32>) {
  %1 = "foo.x"(%b) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  sdy.return %1 : tensor<4x4xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc two axes
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x", "y"} (%b: tensor<4x4xf32>) {
  %1 = "foo.x"(%b) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  sdy.return %1 : tensor<4x4xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc free axis before manual
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"y", "x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc manual before free
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x", "y"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc no axes
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={} (%b: tensor<8x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  sdy.return %1 : tensor<8x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc sub axis
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"z":(1)2}, {}]>] out_shardings=[<@mesh, [{"z":(1)2}, {}]>] manual_axes={"z"} (%b: tensor<4x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc open dim
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x", ?}, {?}]>] out_shardings=[<@mesh, [{"x", ?}, {?}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc indivisible
func.func @main(%a: tensor<7x16xf32>) -> tensor<7x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<7x16xf32>) -> tensor<7x16xf32>
 return %0 : tensor<7x16xf32> }
// -----
// mc indivisible floor
func.func @main(%a: tensor<7x16xf32>) -> tensor<7x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<3x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<3x16xf32>) -> tensor<3x16xf32>
  sdy.return %1 : tensor<3x16xf32>
 } : (tensor<7x16xf32>) -> tensor<7x16xf32>
 return %0 : tensor<7x16xf32> }
// -----
// mc count
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc count out
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc count 0
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc meshes differ
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@other, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc meshes differ2
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@small, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc repl manual
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{}, {}], replicated={"x"}>] out_shardings=[<@mesh, [{}, {}], replicated={"x"}>] manual_axes={"x"} (%b: tensor<8x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  sdy.return %1 : tensor<8x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc manual unused
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"x"} (%b: tensor<8x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  sdy.return %1 : tensor<8x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc manual unused open
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{?}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"x"} (%b: tensor<8x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  sdy.return %1 : tensor<8x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc sharding rank
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc bad axis
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"w"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc unreduced
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{}, {}], unreduced={"x"}>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<8x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<8x16xf32>) -> tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc out unreduced
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{}, {}], unreduced={"x"}>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<4x16xf32>) -> tensor<8x16xf32>
  sdy.return %1 : tensor<8x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc block args
func.func @main(%a: tensor<8x16xf32>) { sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[] manual_axes={"x"} () { sdy.return } : (tensor<8x16xf32>) -> () return }
// -----
// mc result count
func.func @main(%a: tensor<8x16xf32>) { %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) { sdy.return } : (tensor<8x16xf32>) -> tensor<8x16xf32> return }
// -----
// mc empty
func.func @main() { sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () { sdy.return } : () -> () return }
// -----
// mc empty axes
func.func @main() { sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={"x"} () { sdy.return } : () -> () return }
// -----
// mc nested
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = sdy.manual_computation(%b) in_shardings=[<@mesh, [{"y"}, {}]>] out_shardings=[<@mesh, [{"y"}, {}]>] manual_axes={"y"} (%c: tensor<1x16xf32>) {
   sdy.return %c : tensor<1x16xf32> } : (tensor<4x16xf32>) -> tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc nested same axis
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = sdy.manual_computation(%b) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%c: tensor<2x16xf32>) {
   sdy.return %c : tensor<2x16xf32> } : (tensor<4x16xf32>) -> tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc nested other mesh
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = sdy.manual_computation(%b) in_shardings=[<@other, [{"y"}, {}]>] out_shardings=[<@other, [{"y"}, {}]>] manual_axes={"y"} (%c: tensor<1x16xf32>) {
   sdy.return %c : tensor<1x16xf32> } : (tensor<4x16xf32>) -> tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc inner op uses manual
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = stablehlo.negate %b {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc inner op free
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = stablehlo.negate %b {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}]>]>} : tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc inner op other mesh
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = stablehlo.negate %b {sdy.sharding = #sdy.sharding_per_value<[<@other, [{"y"}, {}]>]>} : tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc inner constraint manual
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = sdy.sharding_constraint %b <@mesh, [{"x"}, {}]> : tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc inner constraint repl
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = sdy.sharding_constraint %b <@mesh, [{}, {}], replicated={"x"}> : tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc inner sub
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"z"}, {}]>] out_shardings=[<@mesh, [{"z"}, {}]>] manual_axes={"z"} (%b: tensor<1x16xf32>) {
  %1 = stablehlo.negate %b {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z":(1)2}, {}]>]>} : tensor<1x16xf32>
  sdy.return %1 : tensor<1x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc maximal
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@max, []>] out_shardings=[<@max, []>] manual_axes={} (%b: tensor<8x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  sdy.return %1 : tensor<8x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc maximal axes
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@max, []>] out_shardings=[<@max, []>] manual_axes={"x"} (%b: tensor<8x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  sdy.return %1 : tensor<8x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc ids
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@small, [{"x"}, {}]>] out_shardings=[<@ids, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc inline mesh
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<mesh<["x"=2]>, [{"x"}, {}]>] out_shardings=[<mesh<["x"=2]>, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc inline mesh diff
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<mesh<["x"=2]>, [{"x"}, {}]>] out_shardings=[<mesh<["x"=4]>, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc token
func.func @main(%a: !stablehlo.token) { %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, []>] out_shardings=[<@mesh, []>] manual_axes={"x"} (%b: !stablehlo.token) { sdy.return %b : !stablehlo.token } : (!stablehlo.token) -> !stablehlo.token return }
// -----
// mc dynamic
func.func @main(%a: tensor<?x16xf32>) -> tensor<?x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<?x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<?x16xf32>) -> tensor<?x16xf32>
  sdy.return %1 : tensor<?x16xf32>
 } : (tensor<?x16xf32>) -> tensor<?x16xf32>
 return %0 : tensor<?x16xf32> }
// -----
// ag ok
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_gather [{"x"}, {}] %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ag ok2
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x", "y"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_gather [{"y"}, {}] %0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 return }
// -----
// ag prefix
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x", "y"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_gather [{"x"}, {}] %0 out_sharding=<@mesh, [{"y"}, {}]> : tensor<8x16xf32>
 return }
// -----
// ag out
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_gather [{"x"}, {}] %0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 return }
// -----
// ag rank
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_gather [{"x"}] %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ag unknown
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_gather [{"w"}, {}] %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ag sub
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"z"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_gather [{"z":(2)4}, {}] %0 out_sharding=<@mesh, [{"z":(1)2}, {}]> : tensor<8x16xf32>
 return }
// -----
// ag sub bad
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"z"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_gather [{"z":(1)2}, {}] %0 out_sharding=<@mesh, [{"z":(2)4}, {}]> : tensor<8x16xf32>
 return }
// -----
// ag dup
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_gather [{"x"}, {"x"}] %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ag empty
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_gather [{}, {}] %0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 return }
// -----
// ag mesh
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_gather [{"x"}, {}] %0 out_sharding=<@other, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ag mesh2
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_gather [{"x"}, {}] %0 out_sharding=<@small, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ag ids
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@small, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_gather [{"x"}, {}] %0 out_sharding=<@ids, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ag repl
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_gather [{"x"}, {}] %0 out_sharding=<@mesh, [{}, {}], replicated={"y"}> : tensor<8x16xf32>
 return }
// -----
// ag open
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x", ?}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_gather [{"x"}, {}] %0 out_sharding=<@mesh, [{?}, {}]> : tensor<8x16xf32>
 return }
// -----
// ag open2
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_gather [{"x"}, {}] %0 out_sharding=<@mesh, [{?}, {}]> : tensor<8x16xf32>
 return }
// -----
// ag unreduced kept
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}], unreduced={"y"}> : tensor<8x16xf32>
 %1 = sdy.all_gather [{"x"}, {}] %0 out_sharding=<@mesh, [{}, {}], unreduced={"y"}> : tensor<8x16xf32>
 return }
// -----
// ag unreduced lost
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}], unreduced={"y"}> : tensor<8x16xf32>
 %1 = sdy.all_gather [{"x"}, {}] %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// as ok
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_slice [{"x"}, {}] %0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 return }
// -----
// as bad
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_slice [{"x"}, {}] %0 out_sharding=<@mesh, [{"y"}, {}]> : tensor<8x16xf32>
 return }
// -----
// as twice
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_slice [{"x"}, {}] %0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 return }
// -----
// as merge
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"z":(1)2}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_slice [{"z":(2)4}, {}] %0 out_sharding=<@mesh, [{"z"}, {}]> : tensor<8x16xf32>
 return }
// -----
// a2a ok
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_to_all [{"x"}: 0->1] %0 out_sharding=<@mesh, [{}, {"x"}]> : tensor<8x16xf32>
 return }
// -----
// a2a bad
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_to_all [{"x"}: 0->1] %0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 return }
// -----
// a2a same
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_to_all [{"x"}: 0->0] %0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 return }
// -----
// a2a range
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_to_all [{"x"}: 0->2] %0 out_sharding=<@mesh, [{}, {"x"}]> : tensor<8x16xf32>
 return }
// -----
// a2a empty axes
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_to_all [{}: 0->1] %0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 return }
// -----
// a2a none
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_to_all [] %0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 return }
// -----
// a2a two
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {"y"}]> : tensor<8x16xf32>
 %1 = sdy.all_to_all [{"x"}: 0->1, {"y"}: 1->0] %0 out_sharding=<@mesh, [{"y"}, {"x"}]> : tensor<8x16xf32>
 return }
// -----
// a2a dup dim
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x", "y"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_to_all [{"x"}: 0->1, {"y"}: 0->1] %0 out_sharding=<@mesh, [{}, {"x", "y"}]> : tensor<8x16xf32>
 return }
// -----
// cp ok
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.collective_permute  %0 out_sharding=<@mesh, [{}, {"x"}]> : tensor<8x16xf32>
 return }
// -----
// cp ok2
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.collective_permute  %0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 return }
// -----
// cp sizes
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.collective_permute  %0 out_sharding=<@mesh, [{"y"}, {}]> : tensor<8x16xf32>
 return }
// -----
// cp same
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x", "y"}, {}]> : tensor<8x16xf32>
 %1 = sdy.collective_permute  %0 out_sharding=<@mesh, [{"y", "x"}, {}]> : tensor<8x16xf32>
 return }
// -----
// cp mesh
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.collective_permute  %0 out_sharding=<@other, [{"x"}, {}]> : tensor<8x16xf32>
 return }
// -----
// cp ids
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@small, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.collective_permute  %0 out_sharding=<@ids, [{"x"}, {}]> : tensor<8x16xf32>
 return }
// -----
// ar ok
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}], unreduced={"x"}> : tensor<8x16xf32>
 %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ar not unreduced
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ar used
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 return }
// -----
// ar differs
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"y"}, {}], unreduced={"x"}> : tensor<8x16xf32>
 %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ar left
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}], unreduced={"x"}> : tensor<8x16xf32>
 %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}], unreduced={"x"}> : tensor<8x16xf32>
 return }
// -----
// ar empty
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_reduce {} %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ar order
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}], unreduced={"x", "y"}> : tensor<8x16xf32>
 %1 = sdy.all_reduce {"y", "x"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ar repl
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}], replicated={"x"}> : tensor<8x16xf32>
 %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ar unknown
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}], unreduced={"x"}> : tensor<8x16xf32>
 %1 = sdy.all_reduce {"w"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ar max
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}], unreduced={"x"}> : tensor<8x16xf32>
 %1 = sdy.all_reduce max {"x"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ar sum
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}], unreduced={"x"}> : tensor<8x16xf32>
 %1 = sdy.all_reduce sum {"x"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ar foo
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}], unreduced={"x"}> : tensor<8x16xf32>
 %1 = sdy.all_reduce foo {"x"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// rs ok
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}], unreduced={"x"}> : tensor<8x16xf32>
 %1 = sdy.reduce_scatter [{"x"}, {}] %0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 return }
// -----
// rs bad
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}], unreduced={"x"}> : tensor<8x16xf32>
 %1 = sdy.reduce_scatter [{"x"}, {}] %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// rs no unreduced
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<8x16xf32>
 %1 = sdy.reduce_scatter [{"x"}, {}] %0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 return }
// -----
// rs rank
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}], unreduced={"x"}> : tensor<8x16xf32>
 %1 = sdy.reduce_scatter [{"x"}] %0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 return }
// -----
// s2u ok
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.sharded_to_unreduced [{"x"}, {}] %0 out_sharding=<@mesh, [{}, {}], unreduced={"x"}> : tensor<8x16xf32>
 return }
// -----
// s2u bad
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.sharded_to_unreduced [{"x"}, {}] %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// s2u bad2
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<8x16xf32>
 %1 = sdy.sharded_to_unreduced [{"x"}, {}] %0 out_sharding=<@mesh, [{}, {}], unreduced={"x"}> : tensor<8x16xf32>
 return }
// -----
// r2u ok
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<8x16xf32>
 %1 = sdy.replicated_to_unreduced {"x"} %0 out_sharding=<@mesh, [{}, {}], unreduced={"x"}> : tensor<8x16xf32>
 return }
// -----
// r2u repl
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}], replicated={"x"}> : tensor<8x16xf32>
 %1 = sdy.replicated_to_unreduced {"x"} %0 out_sharding=<@mesh, [{}, {}], unreduced={"x"}> : tensor<8x16xf32>
 return }
// -----
// r2u bad
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<8x16xf32>
 %1 = sdy.replicated_to_unreduced {"x"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// r2u used
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.replicated_to_unreduced {"x"} %0 out_sharding=<@mesh, [{"x"}, {}], unreduced={"x"}> : tensor<8x16xf32>
 return }
// -----
// ag no in sharding
func.func @main(%a: tensor<8x16xf32>) { %1 = sdy.all_gather [{"x"}, {}] %a out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32> return }
// -----
// ar no in sharding
func.func @main(%a: tensor<8x16xf32>) { %1 = sdy.all_reduce {"x"} %a out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32> return }
// -----
// as no in sharding
func.func @main(%a: tensor<8x16xf32>) { %1 = sdy.all_slice [{"x"}, {}] %a out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x16xf32> return }
// -----
// cp no in sharding
func.func @main(%a: tensor<8x16xf32>) { %1 = sdy.collective_permute %a out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x16xf32> return }
// -----
// ag arg sharding
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) { %1 = sdy.all_gather [{"x"}, {}] %a out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32> return }
// -----
// rule 0 ([i, j], [j, k])->([i, k]) {i=8, j=16, k=4}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=8, j=16, k=4}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 1 ([i, j], [j, k])->([i, k]) {i=8, j=16, k=4} reduction={j}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=8, j=16, k=4} reduction={j}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 2 ([i, j], [j, k])->([i, k]) {i=8, j=16, k=5}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=8, j=16, k=5}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 3 ([i, j], [j, k])->([i, k]) {i=8, j=16}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=8, j=16}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 4 ([i, j], [j, k])->([i]) {i=8, j=16, k=4}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i]) {i=8, j=16, k=4}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 5 ([i, j])->([i, k]) {i=8, j=16, k=4}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, k]) {i=8, j=16, k=4}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 6 ([i, j], [j, k])->([i, k], [i, k]) {i=8, j=16, k=4}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k], [i, k]) {i=8, j=16, k=4}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 7 ([j, i], [j, k])->([i, k]) {j=8, i=16, k=4}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([j, i], [j, k])->([i, k]) {j=8, i=16, k=4}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 8 ([i, j], [j, k])->([i, k]) {i=8, j=16, k=4} reduction={w}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=8, j=16, k=4} reduction={w}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 9 ([i, j], [j, k])->([i, k]) {i=8, j=16, k=4} reduction={j} need_replication={j}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=8, j=16, k=4} reduction={j} need_replication={j}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 10 ([i, j], [j, k])->([i, k]) {i=8, j=16, k=4} need_replication={i} reduction={j}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=8, j=16, k=4} need_replication={i} reduction={j}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 11 ([i, j], [j, k])->([i, k]) {i=8, j=16, k=4} reduction={k, j}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=8, j=16, k=4} reduction={k, j}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 12 ([i, j], [j, k])->([i, k]) {i=8, j=16, k=4} reduction={j, k}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=8, j=16, k=4} reduction={j, k}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 13 ([i, j], [j, k])->([i, k]) {i=8, j=16, k=4} permutation={j}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=8, j=16, k=4} permutation={j}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 14 ([i, j], [j, k])->([i, k]) {i=8, j=16, k=4} blocked_propagation={j}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=8, j=16, k=4} blocked_propagation={j}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 15 ([i, j], [j, k])->([i, k]) {i=8, j=16, k=4} foo={j}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=8, j=16, k=4} foo={j}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 16 ([il, j], [j, k])->([il, k]) {i=2, j=16, k=4, l=4}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([il, j], [j, k])->([il, k]) {i=2, j=16, k=4, l=4}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 17 ([ij, k], [k, l])->([ij, l]) {i=2, j=4, k=16, l=4}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([ij, k], [k, l])->([ij, l]) {i=2, j=4, k=16, l=4}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 18 ([ij, k], [k, l])->([ij, l]) {i=2, j=3, k=16, l=4}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([ij, k], [k, l])->([ij, l]) {i=2, j=3, k=16, l=4}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 19 ([ij, k], [k, l])->([ij, l]) {i=1, j=8, k=16, l=4}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([ij, k], [k, l])->([ij, l]) {i=1, j=8, k=16, l=4}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 20 ([ij, k], [k, l])->([ji, l]) {i=2, j=4, k=16, l=4}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([ij, k], [k, l])->([ji, l]) {i=2, j=4, k=16, l=4}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 21 ([ij, k], [k, l])->([ii, l]) {i=2, j=4, k=16, l=4}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([ij, k], [k, l])->([ii, l]) {i=2, j=4, k=16, l=4}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 22 ([i, j], [j, k])->([i, k]) {i=8, j=16, k=4, l=3}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=8, j=16, k=4, l=3}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 23 ([i, j], [j, k])->([i, k]) {i=8, k=4, j=16}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=8, k=4, j=16}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 24 ([i, i], [j, k])->([i, k]) {i=8, j=16, k=4}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, i], [j, k])->([i, k]) {i=8, j=16, k=4}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 25 ([i, j], [j, k])->([i, k]) {i=0, j=16, k=4}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=0, j=16, k=4}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 26 ([i, j], [j, k])->([i, k]) {i=8, j=16, k=4}, custom
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=8, j=16, k=4}, custom>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 27 ([i, j], [j, k])->([i, k]) {i=8, j=16, k=4} reduction={j}, custom
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=8, j=16, k=4} reduction={j}, custom>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 28 ([i], [j, k])->([i, k]) {i=8, j=16, k=4}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [j, k])->([i, k]) {i=8, j=16, k=4}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 29 ([], [j, k])->([i, k]) {i=8, j=16, k=4}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([], [j, k])->([i, k]) {i=8, j=16, k=4}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 30 ([i, j], [j, k]) {i=8}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k]) {i=8}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 31 ([i, j], [j, k])->([i, k])
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k])>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 32 ([i, j], [j, k])->([i, k]) {}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 33 ([z_1, j], [j, k])->([z_1, k]) {z_1=8, j=16, k=4}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([z_1, j], [j, k])->([z_1, k]) {z_1=8, j=16, k=4}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 34 ([i, j], [j, k])->([k, i]) {i=8, j=16, k=4}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([k, i]) {i=8, j=16, k=4}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 35 ([{i}, j], [j, k])->([k, i]) {i=8, j=16, k=4}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([{i}, j], [j, k])->([k, i]) {i=8, j=16, k=4}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 36 ([i, j], [j, k])->([i, k]) {i=16, j=16, k=4}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=16, j=16, k=4}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 37 ([i, j], [j, k])->([i, k]) {i=4, j=16, k=4}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=4, j=16, k=4}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// rule 38 ([ij, k], [k, l])->([ij, l]) {i=2, j=4, k=16, l=4} reduction={j}
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) { %0 = stablehlo.dot %a, %b {sdy.sharding_rule = #sdy.op_sharding_rule<([ij, k], [k, l])->([ij, l]) {i=2, j=4, k=16, l=4} reduction={j}>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> return }
// -----
// mesh <["x"=2, "x"=2]>
sdy.mesh @mine = <["x"=2, "x"=2]>
// -----
// mesh <["x"=0]>
sdy.mesh @mine = <["x"=0]>
// -----
// mesh <["x"=-1]>
sdy.mesh @mine = <["x"=-1]>
// -----
// mesh <["x"=2], device_ids=[0, 1]>
sdy.mesh @mine = <["x"=2], device_ids=[0, 1]>
// -----
// mesh <["x"=2], device_ids=[1, 0]>
sdy.mesh @mine = <["x"=2], device_ids=[1, 0]>
// -----
// mesh <["x"=2], device_ids=[1]>
sdy.mesh @mine = <["x"=2], device_ids=[1]>
// -----
// mesh <["x"=2], device_ids=[2, 3]>
sdy.mesh @mine = <["x"=2], device_ids=[2, 3]>
// -----
// mesh <["x"=2], device_ids=[0, -1]>
sdy.mesh @mine = <["x"=2], device_ids=[0, -1]>
// -----
// mesh <["x"=2], device_ids=[]>
sdy.mesh @mine = <["x"=2], device_ids=[]>
// -----
// mesh <[], device_ids=[0]>
sdy.mesh @mine = <[], device_ids=[0]>
// -----
// mesh <[], device_ids=[0, 1]>
sdy.mesh @mine = <[], device_ids=[0, 1]>
// -----
// mesh <[], device_ids=[-1]>
sdy.mesh @mine = <[], device_ids=[-1]>
// -----
// mesh <["x"=1], device_ids=[0]>
sdy.mesh @mine = <["x"=1], device_ids=[0]>
// -----
// mesh <["x"=1], device_ids=[3]>
sdy.mesh @mine = <["x"=1], device_ids=[3]>
// -----
// mesh <[]>
sdy.mesh @mine = <[]>
// -----
// mesh <[""=2]>
sdy.mesh @mine = <[""=2]>
// -----
// mesh <["a b"=2]>
sdy.mesh @mine = <["a b"=2]>
// -----
// mesh <["x"=2], ["y"=3]>
sdy.mesh @mine = <["x"=2], ["y"=3]>
// -----
// mesh <["x"=2,]>
sdy.mesh @mine = <["x"=2,]>
// -----
// mesh <["x"]>
sdy.mesh @mine = <["x"]>
// -----
// mesh <[x=2]>
sdy.mesh @mine = <[x=2]>
// -----
// mesh <["x"=2, "y"=99999999999]>
sdy.mesh @mine = <["x"=2, "y"=99999999999]>
// -----
// mesh <["x"=9223372036854775808]>
sdy.mesh @mine = <["x"=9223372036854775808]>
// -----
// mesh <["x"=2]
sdy.mesh @mine = <["x"=2]
// -----
// mesh ["x"=2]
sdy.mesh @mine = ["x"=2]
// -----
// mesh <["x"=2]> {a.b = 1}
sdy.mesh @mine = <["x"=2]> {a.b = 1}
// -----
// mesh <["x"=2]> {a = 1}
sdy.mesh @mine = <["x"=2]> {a = 1}
// -----
// mesh <["a\22b"=2]>
sdy.mesh @mine = <["a\22b"=2]>
// -----
// mesh dup
sdy.mesh @mesh = <["x"=2]>
// -----
// mesh in func
func.func @main() { sdy.mesh @k = <["x"=2]>
 return }
// -----
// mesh func same name
func.func @mesh() { return }
// -----
// per value 2
func.func @main(%a: tensor<8x16xf32>) { %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>]>} : tensor<8x16xf32>
 return }
// -----
// per value 0
func.func @main(%a: tensor<8x16xf32>) { %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[]>} : tensor<8x16xf32>
 return }
// -----
// per value string
func.func @main(%a: tensor<8x16xf32>) { %0 = stablehlo.negate %a {sdy.sharding = "x"} : tensor<8x16xf32>
 return }
// -----
// per value rank
func.func @main(%a: tensor<8x16xf32>) { %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<8x16xf32>
 return }
// -----
// group ok
func.func @main(%a: tensor<8x16xf32>) { %0 = stablehlo.negate %a : tensor<8x16xf32>
 sdy.sharding_group %a group_id=3 : tensor<8x16xf32>
 return }
// -----
// group neg
func.func @main(%a: tensor<8x16xf32>) { %0 = stablehlo.negate %a : tensor<8x16xf32>
 sdy.sharding_group %a group_id=-1 : tensor<8x16xf32>
 return }
// -----
// group big
func.func @main(%a: tensor<8x16xf32>) { %0 = stablehlo.negate %a : tensor<8x16xf32>
 sdy.sharding_group %a group_id=9223372036854775808 : tensor<8x16xf32>
 return }
// -----
// barrier
func.func @main(%a: tensor<8x16xf32>) { %0 = sdy.propagation_barrier %a allowed_direction=NONE : tensor<8x16xf32>
 return }
// -----
// barrier2
func.func @main(%a: tensor<8x16xf32>) { %0 = sdy.propagation_barrier %a allowed_direction=FOO : tensor<8x16xf32>
 return }
// -----
// barrier3
func.func @main(%a: tensor<8x16xf32>) { %0 = sdy.propagation_barrier %a allowed_direction=BOTH : tensor<8x16xf32>
 return }
// -----
// edge arg
func.func @main(%a: tensor<8x16xf32>) { %0 = sdy.data_flow_edge %a sharding=<@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 return }
// -----
// edge rank
func.func @main(%a: tensor<8x16xf32>) { %0 = sdy.data_flow_edge %a sharding=<@mesh, [{"x"}]> : tensor<8x16xf32>
 return }
// -----
// fedge
func.func @main(%a: tensor<8x16xf32>) { %0 = sdy.func_data_flow_edge %a sharding=<@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 return }
// -----
// sharding rule noresult
func.func @main(%a: tensor<8x16xf32>) { %0 = stablehlo.negate %a : tensor<8x16xf32>
 "foo.x"() {sdy.sharding = #sdy.sharding_per_value<[]>} : () -> ()
%1 = stablehlo.negate %a : tensor<8x16xf32>
 return }
// -----
// ret sharding
func.func @main(%a: tensor<8x16xf32>) { %0 = stablehlo.negate %a : tensor<8x16xf32>
 return {sdy.sharding = #sdy.sharding_per_value<[]>}
}
func.func @q(%a: tensor<8x16xf32>) { %2 = stablehlo.negate %a : tensor<8x16xf32>
 return }
// -----
// mesh not dominated
func.func @main(%a: tensor<8x16xf32>) { %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@late, [{"x"}, {}]>]>} : tensor<8x16xf32>
 return }
sdy.mesh @late = <["x"=2]>
// -----
// noncommut
func.func @main(%a: tensor<8x16xf32>) { %0 = stablehlo.negate %a {sdy.unknown = 1} : tensor<8x16xf32>
 return }
// -----
// manual axes attr
func.func @main(%a: tensor<8x16xf32>) { %0 = stablehlo.negate %a {foo.m = #sdy<manual_axes{"x"}>} : tensor<8x16xf32>
 return }
// -----
// arg per value
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}) { return }
// -----
// res per value
func.func @main(%a: tensor<8x16xf32>) -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}) { return %a : tensor<8x16xf32> }
// -----
// func attr sharding
func.func @main(%a: tensor<8x16xf32>) attributes {sdy.sharding = #sdy.sharding_per_value<[]>} { return }
// -----
// func attr sharding2
func.func @main(%a: tensor<8x16xf32>) attributes {sdy.sharding = #sdy.sharding<@mesh, []>} { return }
// -----
// module attr sharding
module attributes {sdy.sharding = #sdy.sharding<mesh<["x"=2]>, []>} {}
// -----
// tuple 1
func.func @main(%a: tensor<8x16xf32>) { %0 = stablehlo.custom_call @f(%a) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<8x16xf32>) -> tuple<tensor<8x16xf32>> return }
// -----
// tuple 2
func.func @main(%a: tensor<8x16xf32>) { %0 = stablehlo.custom_call @f(%a) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<8x16xf32>) -> tuple<tensor<8x16xf32>, tensor<8x16xf32>> return }
// -----
// tuple rank
func.func @main(%a: tensor<8x16xf32>) { %0 = stablehlo.custom_call @f(%a) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<8x16xf32>) -> tuple<tensor<8x16xf32>> return }
// -----
// unranked
func.func @main(%a: tensor<*xf32> {sdy.sharding = #sdy.sharding<@mesh, []>}) { return }
// -----
// dyn sharding
func.func @main(%a: tensor<?x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) { return }
// -----
// memref sharding
func.func @main(%a: memref<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) { return }
// -----
// memref sharding 0
func.func @main(%a: memref<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, []>}) { return }
// -----
// decl sharding
func.func private @main(tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
// -----
// nc
func.func @main(%a: tensor<8x16xf32>) { %0 = sdy.named_computation<"f">(%a) (%b: tensor<8x16xf32>) { sdy.return %b : tensor<8x16xf32> } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return }
// -----
// nc in
func.func @main(%a: tensor<8x16xf32>) { %0 = sdy.named_computation<"f">(%a) in_shardings=[<@mesh, [{"x"}, {}]>] (%b: tensor<8x16xf32>) { sdy.return %b : tensor<8x16xf32> } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return }
// -----
// nc out
func.func @main(%a: tensor<8x16xf32>) { %0 = sdy.named_computation<"f">(%a) out_shardings=[<@mesh, [{"x"}, {}]>] (%b: tensor<8x16xf32>) { sdy.return %b : tensor<8x16xf32> } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return }
// -----
// nc both
func.func @main(%a: tensor<8x16xf32>) { %0 = sdy.named_computation<"f">(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] (%b: tensor<8x16xf32>) { sdy.return %b : tensor<8x16xf32> } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return }
// -----
// nc in 2
func.func @main(%a: tensor<8x16xf32>) { %0 = sdy.named_computation<"f">(%a) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] (%b: tensor<8x16xf32>) { sdy.return %b : tensor<8x16xf32> } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return }
// -----
// nc rank
func.func @main(%a: tensor<8x16xf32>) { %0 = sdy.named_computation<"f">(%a) in_shardings=[<@mesh, [{"x"}]>] (%b: tensor<8x16xf32>) { sdy.return %b : tensor<8x16xf32> } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return }
// -----
// nc out rank
func.func @main(%a: tensor<8x16xf32>) { %0 = sdy.named_computation<"f">(%a) out_shardings=[<@mesh, [{"x"}]>] (%b: tensor<8x16xf32>) { sdy.return %b : tensor<8x16xf32> } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return }
// -----
// nc empty
func.func @main(%a: tensor<8x16xf32>) { %0 = sdy.named_computation<"f">(%a) in_shardings=[] (%b: tensor<8x16xf32>) { sdy.return %b : tensor<8x16xf32> } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return }
// -----
// nc meshes
func.func @main(%a: tensor<8x16xf32>) { %0 = sdy.named_computation<"f">(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@other, [{"x"}, {}]>] (%b: tensor<8x16xf32>) { sdy.return %b : tensor<8x16xf32> } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return }
// -----
// nc types
func.func @main(%a: tensor<8x16xf32>) { %0 = sdy.named_computation<"f">(%a) (%b: tensor<8x15xf32>) { sdy.return %b : tensor<8x15xf32> } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return }
// -----
// noin all_slice
func.func @main(%a: tensor<8x16xf32>) { %1 = sdy.all_slice [{"x"}, {}] %a out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x16xf32> return }
// -----
// openin all_slice
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>}) { %1 = sdy.all_slice [{"x"}, {}] %a out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x16xf32> return }
// -----
// noin reduce_scatter
func.func @main(%a: tensor<8x16xf32>) { %1 = sdy.reduce_scatter [{"x"}, {}] %a out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x16xf32> return }
// -----
// openin reduce_scatter
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>}) { %1 = sdy.reduce_scatter [{"x"}, {}] %a out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x16xf32> return }
// -----
// noin all_to_all
func.func @main(%a: tensor<8x16xf32>) { %1 = sdy.all_to_all [{"x"}: 0->1] %a out_sharding=<@mesh, [{}, {"x"}]> : tensor<8x16xf32> return }
// -----
// openin all_to_all
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>}) { %1 = sdy.all_to_all [{"x"}: 0->1] %a out_sharding=<@mesh, [{}, {"x"}]> : tensor<8x16xf32> return }
// -----
// noin sharded_to_unreduced
func.func @main(%a: tensor<8x16xf32>) { %1 = sdy.sharded_to_unreduced [{"x"}, {}] %a out_sharding=<@mesh, [{}, {}], unreduced={"x"}> : tensor<8x16xf32> return }
// -----
// openin sharded_to_unreduced
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>}) { %1 = sdy.sharded_to_unreduced [{"x"}, {}] %a out_sharding=<@mesh, [{}, {}], unreduced={"x"}> : tensor<8x16xf32> return }
// -----
// noin replicated_to_unreduced
func.func @main(%a: tensor<8x16xf32>) { %1 = sdy.replicated_to_unreduced {"x"} %a out_sharding=<@mesh, [{}, {}], unreduced={"x"}> : tensor<8x16xf32> return }
// -----
// openin replicated_to_unreduced
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>}) { %1 = sdy.replicated_to_unreduced {"x"} %a out_sharding=<@mesh, [{}, {}], unreduced={"x"}> : tensor<8x16xf32> return }
// -----
// noin all_reduce
func.func @main(%a: tensor<8x16xf32>) { %1 = sdy.all_reduce {"x"} %a out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32> return }
// -----
// openin all_reduce
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>}) { %1 = sdy.all_reduce {"x"} %a out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32> return }
// -----
// noin collective_permute
func.func @main(%a: tensor<8x16xf32>) { %1 = sdy.collective_permute  %a out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32> return }
// -----
// openin collective_permute
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>}) { %1 = sdy.collective_permute  %a out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32> return }
// -----
// ar eq 0
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}], replicated={"y"}> : tensor<8x16xf32>
 %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ag eq 0
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}], replicated={"y"}> : tensor<8x16xf32>
 %1 = sdy.all_gather [{}, {}] %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// as eq 0
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}], replicated={"y"}> : tensor<8x16xf32>
 %1 = sdy.all_slice [{}, {}] %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// r2u eq 0
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}], replicated={"y"}> : tensor<8x16xf32>
 %1 = sdy.replicated_to_unreduced {"x"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ar eq 1
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}], unreduced={"x", "y"}> : tensor<8x16xf32>
 %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ag eq 1
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}], unreduced={"x", "y"}> : tensor<8x16xf32>
 %1 = sdy.all_gather [{}, {}] %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// as eq 1
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}], unreduced={"x", "y"}> : tensor<8x16xf32>
 %1 = sdy.all_slice [{}, {}] %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// r2u eq 1
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}], unreduced={"x", "y"}> : tensor<8x16xf32>
 %1 = sdy.replicated_to_unreduced {"x"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ar eq 2
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}], unreduced={"x", "y"}> : tensor<8x16xf32>
 %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}], unreduced={"y"}> : tensor<8x16xf32>
 return }
// -----
// ag eq 2
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}], unreduced={"x", "y"}> : tensor<8x16xf32>
 %1 = sdy.all_gather [{}, {}] %0 out_sharding=<@mesh, [{}, {}], unreduced={"y"}> : tensor<8x16xf32>
 return }
// -----
// as eq 2
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}], unreduced={"x", "y"}> : tensor<8x16xf32>
 %1 = sdy.all_slice [{}, {}] %0 out_sharding=<@mesh, [{}, {}], unreduced={"y"}> : tensor<8x16xf32>
 return }
// -----
// r2u eq 2
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}], unreduced={"x", "y"}> : tensor<8x16xf32>
 %1 = sdy.replicated_to_unreduced {"x"} %0 out_sharding=<@mesh, [{}, {}], unreduced={"y"}> : tensor<8x16xf32>
 return }
// -----
// ar eq 3
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}], unreduced={"y"}> : tensor<8x16xf32>
 return }
// -----
// ag eq 3
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_gather [{}, {}] %0 out_sharding=<@mesh, [{}, {}], unreduced={"y"}> : tensor<8x16xf32>
 return }
// -----
// as eq 3
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_slice [{}, {}] %0 out_sharding=<@mesh, [{}, {}], unreduced={"y"}> : tensor<8x16xf32>
 return }
// -----
// r2u eq 3
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<8x16xf32>
 %1 = sdy.replicated_to_unreduced {"x"} %0 out_sharding=<@mesh, [{}, {}], unreduced={"y"}> : tensor<8x16xf32>
 return }
// -----
// ar eq 4
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{?}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {?}]> : tensor<8x16xf32>
 return }
// -----
// ag eq 4
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{?}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_gather [{}, {}] %0 out_sharding=<@mesh, [{}, {?}]> : tensor<8x16xf32>
 return }
// -----
// as eq 4
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{?}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_slice [{}, {}] %0 out_sharding=<@mesh, [{}, {?}]> : tensor<8x16xf32>
 return }
// -----
// r2u eq 4
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{?}, {}]> : tensor<8x16xf32>
 %1 = sdy.replicated_to_unreduced {"x"} %0 out_sharding=<@mesh, [{}, {?}]> : tensor<8x16xf32>
 return }
// -----
// ar eq 5
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"y"}p1, {}]> : tensor<8x16xf32>
 %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{"y"}p2, {}]> : tensor<8x16xf32>
 return }
// -----
// ag eq 5
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"y"}p1, {}]> : tensor<8x16xf32>
 %1 = sdy.all_gather [{}, {}] %0 out_sharding=<@mesh, [{"y"}p2, {}]> : tensor<8x16xf32>
 return }
// -----
// as eq 5
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"y"}p1, {}]> : tensor<8x16xf32>
 %1 = sdy.all_slice [{}, {}] %0 out_sharding=<@mesh, [{"y"}p2, {}]> : tensor<8x16xf32>
 return }
// -----
// r2u eq 5
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"y"}p1, {}]> : tensor<8x16xf32>
 %1 = sdy.replicated_to_unreduced {"x"} %0 out_sharding=<@mesh, [{"y"}p2, {}]> : tensor<8x16xf32>
 return }
// -----
// ar eq 6
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"z":(1)2, "z":(4)2}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{"z":(1)2, "z":(4)2}, {}]> : tensor<8x16xf32>
 return }
// -----
// ag eq 6
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"z":(1)2, "z":(4)2}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_gather [{}, {}] %0 out_sharding=<@mesh, [{"z":(1)2, "z":(4)2}, {}]> : tensor<8x16xf32>
 return }
// -----
// as eq 6
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"z":(1)2, "z":(4)2}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_slice [{}, {}] %0 out_sharding=<@mesh, [{"z":(1)2, "z":(4)2}, {}]> : tensor<8x16xf32>
 return }
// -----
// r2u eq 6
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"z":(1)2, "z":(4)2}, {}]> : tensor<8x16xf32>
 %1 = sdy.replicated_to_unreduced {"x"} %0 out_sharding=<@mesh, [{"z":(1)2, "z":(4)2}, {}]> : tensor<8x16xf32>
 return }
// -----
// ar eq 7
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_reduce {"x"} %0 out_sharding=<@other, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ag eq 7
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_gather [{}, {}] %0 out_sharding=<@other, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// as eq 7
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_slice [{}, {}] %0 out_sharding=<@other, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// r2u eq 7
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<8x16xf32>
 %1 = sdy.replicated_to_unreduced {"x"} %0 out_sharding=<@other, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ar sub overlap
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_reduce {"z":(1)2, "z":(2)2} %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ar sub overlap2
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_reduce {"z":(1)4, "z":(2)2} %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ar dup
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_reduce {"z", "z"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ar full and sub
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_reduce {"z", "z":(2)2} %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ag sub3
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"z"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_gather [{"z":(1)3}, {}] %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return }
// -----
// ag merge
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"z"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_gather [{"z":(2)2, "z":(4)2}, {}] %0 out_sharding=<@mesh, [{"z":(1)2}, {}]> : tensor<8x16xf32>
 return }
// -----
// ag two dims overlap
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"z"}, {}]> : tensor<8x16xf32>
 %1 = sdy.all_gather [{"z":(2)4}, {"z":(1)4}] %0 out_sharding=<@mesh, [{"z":(1)2}, {}]> : tensor<8x16xf32>
 return }
// -----
// s2u two
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {"y"}], unreduced={"z":(1)2}> : tensor<8x16xf32>
 %1 = sdy.sharded_to_unreduced [{"x"}, {"y"}] %0 out_sharding=<@mesh, [{}, {}], unreduced={"x", "y", "z":(1)2}> : tensor<8x16xf32>
 return }
// -----
// s2u merge
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"z":(2)2}, {}], unreduced={"z":(1)2}> : tensor<8x16xf32>
 %1 = sdy.sharded_to_unreduced [{"z":(2)2}, {}] %0 out_sharding=<@mesh, [{}, {}], unreduced={"z":(1)4}> : tensor<8x16xf32>
 return }
// -----
// s2u mesh
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.sharded_to_unreduced [{"x"}, {}] %0 out_sharding=<@small, [{}, {}], unreduced={"x"}> : tensor<8x16xf32>
 return }
// -----
// r2u order
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<8x16xf32>
 %1 = sdy.replicated_to_unreduced {"y", "x"} %0 out_sharding=<@mesh, [{}, {}], unreduced={"x", "y"}> : tensor<8x16xf32>
 return }
// -----
// r2u operand used
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
 %1 = sdy.replicated_to_unreduced {"x"} %0 out_sharding=<@mesh, [{}, {}], unreduced={"x"}> : tensor<8x16xf32>
 return }
// -----
// r2u differs
func.func @main(%a: tensor<8x16xf32>) {
 %0 = sdy.sharding_constraint %a <@mesh, [{"y"}, {}]> : tensor<8x16xf32>
 %1 = sdy.replicated_to_unreduced {"x"} %0 out_sharding=<@mesh, [{}, {}], unreduced={"x"}> : tensor<8x16xf32>
 return }
// -----
// fedge attr
func.func @main(%a: tensor<8x16xf32>) { %0 = sdy.func_data_flow_edge %a {sharding = #sdy.sharding<@mesh, [{"x"}, {}]>} : tensor<8x16xf32>
 return }
// -----
// fedge attr2
func.func @main(%a: tensor<8x16xf32>) { %0 = sdy.func_data_flow_edge %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x16xf32>
 return }
// -----
// fedge two uses
func.func @main(%a: tensor<8x16xf32>) { %0 = sdy.func_data_flow_edge %a : tensor<8x16xf32>
%1 = stablehlo.negate %a : tensor<8x16xf32>
 return }
// -----
// edge two uses
func.func @main(%a: tensor<8x16xf32>) { %0 = sdy.data_flow_edge %a : tensor<8x16xf32>
%1 = stablehlo.negate %a : tensor<8x16xf32>
 return }
// -----
// edge dynamic
func.func @main(%a: tensor<?x16xf32>) { %0 = sdy.data_flow_edge %a : tensor<?x16xf32>
 return }
// -----
// edge of reshard
func.func @main(%a: tensor<8x16xf32>) { %1 = sdy.reshard %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
%0 = sdy.data_flow_edge %1 : tensor<8x16xf32>
 return }
// -----
// fedge of reshard
func.func @main(%a: tensor<8x16xf32>) { %1 = sdy.reshard %a <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
%0 = sdy.func_data_flow_edge %1 : tensor<8x16xf32>
 return }
// -----
// no results []
func.func @main(%a: tensor<8x16xf32>) { stablehlo.custom_call @f(%a) {sdy.sharding = #sdy.sharding_per_value<[]>} : (tensor<8x16xf32>) -> ()
 return }
// -----
// func attr []
func.func @main(%a: tensor<8x16xf32>) attributes {sdy.sharding = #sdy.sharding_per_value<[]>} { return }
// -----
// no results [<@mesh, []>]
func.func @main(%a: tensor<8x16xf32>) { stablehlo.custom_call @f(%a) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<8x16xf32>) -> ()
 return }
// -----
// func attr [<@mesh, []>]
func.func @main(%a: tensor<8x16xf32>) attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} { return }
// -----
// no results [<@max, []>]
func.func @main(%a: tensor<8x16xf32>) { stablehlo.custom_call @f(%a) {sdy.sharding = #sdy.sharding_per_value<[<@max, []>]>} : (tensor<8x16xf32>) -> ()
 return }
// -----
// func attr [<@max, []>]
func.func @main(%a: tensor<8x16xf32>) attributes {sdy.sharding = #sdy.sharding_per_value<[<@max, []>]>} { return }
// -----
// no results [<@mesh, [{"x"}]>]
func.func @main(%a: tensor<8x16xf32>) { stablehlo.custom_call @f(%a) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<8x16xf32>) -> ()
 return }
// -----
// func attr [<@mesh, [{"x"}]>]
func.func @main(%a: tensor<8x16xf32>) attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} { return }
// -----
// no results [<@max, []>, <@max, []>]
func.func @main(%a: tensor<8x16xf32>) { stablehlo.custom_call @f(%a) {sdy.sharding = #sdy.sharding_per_value<[<@max, []>, <@max, []>]>} : (tensor<8x16xf32>) -> ()
 return }
// -----
// func attr [<@max, []>, <@max, []>]
func.func @main(%a: tensor<8x16xf32>) attributes {sdy.sharding = #sdy.sharding_per_value<[<@max, []>, <@max, []>]>} { return }
// -----
// no results [<@mesh, [{}]>]
func.func @main(%a: tensor<8x16xf32>) { stablehlo.custom_call @f(%a) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<8x16xf32>) -> ()
 return }
// -----
// func attr [<@mesh, [{}]>]
func.func @main(%a: tensor<8x16xf32>) attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} { return }
// -----
// no results [<@mesh, [], replicated={"x"}>]
func.func @main(%a: tensor<8x16xf32>) { stablehlo.custom_call @f(%a) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [], replicated={"x"}>]>} : (tensor<8x16xf32>) -> ()
 return }
// -----
// func attr [<@mesh, [], replicated={"x"}>]
func.func @main(%a: tensor<8x16xf32>) attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [], replicated={"x"}>]>} { return }
// -----
// mc empty with body
func.func @main() { sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={"x"} () { %0 = stablehlo.constant dense<1> : tensor<i32>
 sdy.return } : () -> () return }
// -----
// mc two empty
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@empty, [{}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<8x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<8x16xf32>) -> tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc all empty
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@empty, [{}, {}]>] out_shardings=[<@empty, [{}, {}]>] manual_axes={"x"} (%b: tensor<8x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  sdy.return %1 : tensor<8x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc all empty no axes
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@empty, [{}, {}]>] out_shardings=[<@empty, [{}, {}]>] manual_axes={} (%b: tensor<8x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  sdy.return %1 : tensor<8x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// mc no axes other meshes
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@small, [{"x"}, {}]>] manual_axes={} (%b: tensor<8x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  sdy.return %1 : tensor<8x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// nc in manual
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = sdy.named_computation<"f">(%b) in_shardings=[<@mesh, [{"x"}, {}]>] (%c: tensor<4x16xf32>) { sdy.return %c : tensor<4x16xf32> } : (tensor<4x16xf32>) -> tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// nc in manual free
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = sdy.named_computation<"f">(%b) in_shardings=[<@mesh, [{"y"}, {}]>] (%c: tensor<4x16xf32>) { sdy.return %c : tensor<4x16xf32> } : (tensor<4x16xf32>) -> tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// in manual unreduced
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = sdy.sharding_constraint %b <@mesh, [{}, {}], unreduced={"x"}> : tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// coll in manual
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x", "y"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = sdy.all_gather [{"y"}, {}] %b out_sharding=<@mesh, [{}, {}]> : tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 return %0 : tensor<8x16xf32> }
// -----
// coll of mc
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
 %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
  %1 = "foo.x"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  sdy.return %1 : tensor<4x16xf32>
 } : (tensor<8x16xf32>) -> tensor<8x16xf32>
 %5 = sdy.all_gather [{"x"}, {}] %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 return %5 : tensor<8x16xf32> }
// -----
// coll of while arg
func.func @main(%a: tensor<8x16xf32>) { %0 = stablehlo.while(%x = %a) : tensor<8x16xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} cond { %c = stablehlo.constant dense<true> : tensor<i1>
 stablehlo.return %c : tensor<i1> } do { %g = sdy.all_gather [{"x"}, {}] %x out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
 stablehlo.return %g : tensor<8x16xf32> } return }
// -----
// rule string
func.func @main(%a: tensor<8x16xf32>) { %0 = stablehlo.negate %a {sdy.sharding_rule = "x"} : tensor<8x16xf32> return }
// -----
// rule noop
func.func @main(%a: tensor<8x16xf32>) { "foo.x"(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->() {i=8, j=16}>} : (tensor<8x16xf32>) -> () return }
// -----
// rule scalar
func.func @main(%a: tensor<f32>) { %0 = stablehlo.negate %a {sdy.sharding_rule = #sdy.op_sharding_rule<([])->([])>} : tensor<f32> return }
// -----
// rule dyn
func.func @main(%a: tensor<?xf32>) { %0 = stablehlo.negate %a {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=3}>} : tensor<?xf32> return }
