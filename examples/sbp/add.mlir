// t1 + t2 of OneFlow's document on SBP inference: t1 cut into rows, t2 into columns, on ranks [0, 1].
sdy.mesh @ranks = <["rank"=2]>
func.func @main(%t1: tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@ranks, [{"rank"}, {}]>},
                %t2: tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@ranks, [{}, {"rank"}]>}) -> tensor<2x4xf32> {
  %t3 = stablehlo.add %t1, %t2 : tensor<2x4xf32>
  return %t3 : tensor<2x4xf32>
}
