#map = affine_map<(d0) -> (d0)>
"builtin.module"() <{sym_name = "ops"}> ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["a"=2, "b"=4]>, sym_name = "mesh"}> : () -> ()
  "sdy.mesh"() <{mesh = #sdy.mesh<[], device_ids=[3]>, sym_name = "maximal"}> : () -> ()
  "func.func"() <{function_type = () -> (), sym_name = "none", sym_visibility = "private"}> ({
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, no_inline, sym_name = "callee", sym_visibility = "private"}> ({
  ^bb0(%arg296: tensor<4x8xf32>):
    "func.return"(%arg296) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>), sym_name = "two", sym_visibility = "private"}> ({
  ^bb0(%arg294: tensor<4x8xf32>, %arg295: tensor<4x8xi32>):
    "func.return"(%arg294, %arg295) : (tensor<4x8xf32>, tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{a.b = 1 : i32}, {}], function_type = (tensor<4xf32>, i32) -> tensor<4xf32>, res_attrs = [{c.d}], sym_name = "declared", sym_visibility = "private"}> ({
  }) : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"a", ?}p1, {"b":(1)2}], replicated={"b":(2)2}>, tf.aliasing_output = 0 : i32}, {jax.buffer_donor = true, mhlo.sharding = "{replicated}"}], function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, res_attrs = [{jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{?}, {}]>}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg292: tensor<4x8xf32>, %arg293: tensor<4x8xf32>):
    %233 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %234 = "stablehlo.constant"() <{value = dense<[4, 8]> : tensor<2xi64>}> : () -> tensor<2xi64>
    %235 = "stablehlo.rng"(%233, %233, %234) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x8xf32>
    %236 = "stablehlo.negate"(%235) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %237 = "sdy.data_flow_edge"(%236) <{sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %238 = "stablehlo.negate"(%235) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %239 = "sdy.data_flow_edge"(%238) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %240 = "sdy.func_data_flow_edge"(%arg292) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%240) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op0"}> ({
  ^bb0(%arg291: tensor<4x8xf32>):
    %232 = "stablehlo.abs"(%arg291) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%232) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op1"}> ({
  ^bb0(%arg290: tensor<4x8xf32>):
    %231 = "stablehlo.cbrt"(%arg290) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%231) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op2"}> ({
  ^bb0(%arg289: tensor<4x8xf32>):
    %230 = "stablehlo.ceil"(%arg289) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%230) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op3"}> ({
  ^bb0(%arg288: tensor<4x8xf32>):
    %229 = "stablehlo.cosine"(%arg288) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%229) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op4"}> ({
  ^bb0(%arg287: tensor<4x8xf32>):
    %228 = "stablehlo.exponential"(%arg287) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%228) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op5"}> ({
  ^bb0(%arg286: tensor<4x8xf32>):
    %227 = "stablehlo.exponential_minus_one"(%arg286) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%227) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op6"}> ({
  ^bb0(%arg285: tensor<4x8xf32>):
    %226 = "stablehlo.floor"(%arg285) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%226) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op7"}> ({
  ^bb0(%arg284: tensor<4x8xf32>):
    %225 = "stablehlo.log"(%arg284) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%225) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op8"}> ({
  ^bb0(%arg283: tensor<4x8xf32>):
    %224 = "stablehlo.log_plus_one"(%arg283) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%224) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op9"}> ({
  ^bb0(%arg282: tensor<4x8xf32>):
    %223 = "stablehlo.logistic"(%arg282) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%223) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op10"}> ({
  ^bb0(%arg281: tensor<4x8xf32>):
    %222 = "stablehlo.negate"(%arg281) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%222) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op11"}> ({
  ^bb0(%arg280: tensor<4x8xf32>):
    %221 = "stablehlo.round_nearest_even"(%arg280) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%221) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op12"}> ({
  ^bb0(%arg279: tensor<4x8xf32>):
    %220 = "stablehlo.round_nearest_afz"(%arg279) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%220) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op13"}> ({
  ^bb0(%arg278: tensor<4x8xf32>):
    %219 = "stablehlo.rsqrt"(%arg278) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%219) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op14"}> ({
  ^bb0(%arg277: tensor<4x8xf32>):
    %218 = "stablehlo.sign"(%arg277) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%218) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op15"}> ({
  ^bb0(%arg276: tensor<4x8xf32>):
    %217 = "stablehlo.sine"(%arg276) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%217) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op16"}> ({
  ^bb0(%arg275: tensor<4x8xf32>):
    %216 = "stablehlo.sqrt"(%arg275) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%216) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op17"}> ({
  ^bb0(%arg274: tensor<4x8xf32>):
    %215 = "stablehlo.tan"(%arg274) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%215) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op18"}> ({
  ^bb0(%arg273: tensor<4x8xf32>):
    %214 = "stablehlo.tanh"(%arg273) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%214) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op19"}> ({
  ^bb0(%arg271: tensor<4x8xf32>, %arg272: tensor<4x8xf32>):
    %213 = "stablehlo.add"(%arg271, %arg272) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%213) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op20"}> ({
  ^bb0(%arg269: tensor<4x8xf32>, %arg270: tensor<4x8xf32>):
    %212 = "stablehlo.divide"(%arg269, %arg270) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%212) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op21"}> ({
  ^bb0(%arg267: tensor<4x8xf32>, %arg268: tensor<4x8xf32>):
    %211 = "stablehlo.maximum"(%arg267, %arg268) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%211) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op22"}> ({
  ^bb0(%arg265: tensor<4x8xf32>, %arg266: tensor<4x8xf32>):
    %210 = "stablehlo.minimum"(%arg265, %arg266) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%210) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op23"}> ({
  ^bb0(%arg263: tensor<4x8xf32>, %arg264: tensor<4x8xf32>):
    %209 = "stablehlo.multiply"(%arg263, %arg264) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%209) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op24"}> ({
  ^bb0(%arg261: tensor<4x8xf32>, %arg262: tensor<4x8xf32>):
    %208 = "stablehlo.power"(%arg261, %arg262) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%208) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op25"}> ({
  ^bb0(%arg259: tensor<4x8xf32>, %arg260: tensor<4x8xf32>):
    %207 = "stablehlo.remainder"(%arg259, %arg260) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%207) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op26"}> ({
  ^bb0(%arg257: tensor<4x8xf32>, %arg258: tensor<4x8xf32>):
    %206 = "stablehlo.subtract"(%arg257, %arg258) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%206) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op27"}> ({
  ^bb0(%arg255: tensor<4x8xf32>, %arg256: tensor<4x8xf32>):
    %205 = "stablehlo.atan2"(%arg255, %arg256) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%205) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>, sym_name = "op28"}> ({
  ^bb0(%arg253: tensor<4x8xi32>, %arg254: tensor<4x8xi32>):
    %204 = "stablehlo.and"(%arg253, %arg254) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    "func.return"(%204) : (tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>, sym_name = "op29"}> ({
  ^bb0(%arg251: tensor<4x8xi32>, %arg252: tensor<4x8xi32>):
    %203 = "stablehlo.or"(%arg251, %arg252) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    "func.return"(%203) : (tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>, sym_name = "op30"}> ({
  ^bb0(%arg249: tensor<4x8xi32>, %arg250: tensor<4x8xi32>):
    %202 = "stablehlo.xor"(%arg249, %arg250) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    "func.return"(%202) : (tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>, sym_name = "op31"}> ({
  ^bb0(%arg247: tensor<4x8xi32>, %arg248: tensor<4x8xi32>):
    %201 = "stablehlo.shift_left"(%arg247, %arg248) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    "func.return"(%201) : (tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>, sym_name = "op32"}> ({
  ^bb0(%arg245: tensor<4x8xi32>, %arg246: tensor<4x8xi32>):
    %200 = "stablehlo.shift_right_arithmetic"(%arg245, %arg246) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    "func.return"(%200) : (tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>, sym_name = "op33"}> ({
  ^bb0(%arg243: tensor<4x8xi32>, %arg244: tensor<4x8xi32>):
    %199 = "stablehlo.shift_right_logical"(%arg243, %arg244) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    "func.return"(%199) : (tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xi32>) -> tensor<4x8xi32>, sym_name = "op34"}> ({
  ^bb0(%arg242: tensor<4x8xi32>):
    %198 = "stablehlo.not"(%arg242) : (tensor<4x8xi32>) -> tensor<4x8xi32>
    "func.return"(%198) : (tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xi32>) -> tensor<4x8xi32>, sym_name = "op35"}> ({
  ^bb0(%arg241: tensor<4x8xi32>):
    %197 = "stablehlo.count_leading_zeros"(%arg241) : (tensor<4x8xi32>) -> tensor<4x8xi32>
    "func.return"(%197) : (tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xi32>) -> tensor<4x8xi32>, sym_name = "op36"}> ({
  ^bb0(%arg240: tensor<4x8xi32>):
    %196 = "stablehlo.popcnt"(%arg240) : (tensor<4x8xi32>) -> tensor<4x8xi32>
    "func.return"(%196) : (tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op37"}> ({
  ^bb0(%arg239: tensor<4x8xf32>):
    %195 = "stablehlo.exponential"(%arg239) <{result_accuracy = #stablehlo.result_accuracy<ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%195) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op38"}> ({
  ^bb0(%arg238: tensor<4x8xf32>):
    %194 = "stablehlo.tanh"(%arg238) <{result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>}> {foo.bar = 1 : i32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%194) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xi1>, sym_name = "op39"}> ({
  ^bb0(%arg237: tensor<4x8xf32>):
    %193 = "stablehlo.is_finite"(%arg237) : (tensor<4x8xf32>) -> tensor<4x8xi1>
    "func.return"(%193) : (tensor<4x8xi1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>, sym_name = "op40"}> ({
  ^bb0(%arg236: tensor<4x8xcomplex<f32>>):
    %192 = "stablehlo.real"(%arg236) : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
    "func.return"(%192) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>, sym_name = "op41"}> ({
  ^bb0(%arg235: tensor<4x8xcomplex<f32>>):
    %191 = "stablehlo.imag"(%arg235) : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
    "func.return"(%191) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xcomplex<f32>>, sym_name = "op42"}> ({
  ^bb0(%arg233: tensor<4x8xf32>, %arg234: tensor<4x8xf32>):
    %190 = "stablehlo.complex"(%arg233, %arg234) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xcomplex<f32>>
    "func.return"(%190) : (tensor<4x8xcomplex<f32>>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>, sym_name = "op43"}> ({
  ^bb0(%arg232: tensor<4x8xcomplex<f32>>):
    %189 = "stablehlo.abs"(%arg232) : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
    "func.return"(%189) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xbf16>, sym_name = "op44"}> ({
  ^bb0(%arg231: tensor<4x8xf32>):
    %188 = "stablehlo.convert"(%arg231) : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    "func.return"(%188) : (tensor<4x8xbf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xi32>, sym_name = "op45"}> ({
  ^bb0(%arg230: tensor<4x8xf32>):
    %187 = "stablehlo.bitcast_convert"(%arg230) : (tensor<4x8xf32>) -> tensor<4x8xi32>
    "func.return"(%187) : (tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xi64>) -> tensor<4x2xi32>, sym_name = "op46"}> ({
  ^bb0(%arg229: tensor<4xi64>):
    %186 = "stablehlo.bitcast_convert"(%arg229) : (tensor<4xi64>) -> tensor<4x2xi32>
    "func.return"(%186) : (tensor<4x2xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<f32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op47"}> ({
  ^bb0(%arg226: tensor<f32>, %arg227: tensor<4x8xf32>, %arg228: tensor<4x8xf32>):
    %185 = "stablehlo.clamp"(%arg226, %arg227, %arg228) : (tensor<f32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%185) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op48"}> ({
  ^bb0(%arg223: tensor<i1>, %arg224: tensor<4x8xf32>, %arg225: tensor<4x8xf32>):
    %184 = "stablehlo.select"(%arg223, %arg224, %arg225) : (tensor<i1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%184) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op49"}> ({
  ^bb0(%arg220: tensor<4x8xi1>, %arg221: tensor<4x8xf32>, %arg222: tensor<4x8xf32>):
    %183 = "stablehlo.select"(%arg220, %arg221, %arg222) : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%183) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>, sym_name = "op50"}> ({
  ^bb0(%arg218: tensor<4x8xf32>, %arg219: tensor<4x8xf32>):
    %182 = "stablehlo.compare"(%arg218, %arg219) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    "func.return"(%182) : (tensor<4x8xi1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi1>, sym_name = "op51"}> ({
  ^bb0(%arg216: tensor<4x8xi32>, %arg217: tensor<4x8xi32>):
    %181 = "stablehlo.compare"(%arg216, %arg217) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi1>
    "func.return"(%181) : (tensor<4x8xi1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op52"}> ({
  ^bb0(%arg215: tensor<4x8xf32>):
    %180 = "stablehlo.reduce_precision"(%arg215) <{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%180) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x2x8xf32>, sym_name = "op53"}> ({
  ^bb0(%arg214: tensor<4x8xf32>):
    %179 = "stablehlo.broadcast_in_dim"(%arg214) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<4x8xf32>) -> tensor<4x2x8xf32>
    "func.return"(%179) : (tensor<4x2x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<f32>) -> tensor<4x8xf32>, sym_name = "op54"}> ({
  ^bb0(%arg213: tensor<f32>):
    %178 = "stablehlo.broadcast_in_dim"(%arg213) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8xf32>
    "func.return"(%178) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>, sym_name = "op55"}> ({
  ^bb0(%arg211: tensor<4x8xf32>, %arg212: tensor<4x8xf32>):
    %177 = "stablehlo.concatenate"(%arg211, %arg212) <{dimension = 0 : i64}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    "func.return"(%177) : (tensor<8x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<4x8xf32>, sym_name = "op56"}> ({
    %176 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<4x8xf32>}> : () -> tensor<4x8xf32>
    "func.return"(%176) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<2x2xi32>, sym_name = "op57"}> ({
    %175 = "stablehlo.constant"() <{value = dense<[[1, 2], [3, -4]]> : tensor<2x2xi32>}> {foo.x} : () -> tensor<2x2xi32>
    "func.return"(%175) : (tensor<2x2xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<8xf32>, sym_name = "op58"}> ({
    %174 = "stablehlo.constant"() <{value = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 4.000000e+00, 5.000000e+00, 6.000000e+00, 7.000000e+00]> : tensor<8xf32>}> : () -> tensor<8xf32>
    "func.return"(%174) : (tensor<8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<3xi1>, sym_name = "op59"}> ({
    %173 = "stablehlo.constant"() <{value = dense<[true, false, true]> : tensor<3xi1>}> : () -> tensor<3xi1>
    "func.return"(%173) : (tensor<3xi1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<2xcomplex<f32>>, sym_name = "op60"}> ({
    %172 = "stablehlo.constant"() <{value = dense<[(1.000000e+00,2.000000e+00), (3.000000e+00,4.000000e+00)]> : tensor<2xcomplex<f32>>}> : () -> tensor<2xcomplex<f32>>
    "func.return"(%172) : (tensor<2xcomplex<f32>>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<0x4xf32>, sym_name = "op61"}> ({
    %171 = "stablehlo.constant"() <{value = dense<> : tensor<0x4xf32>}> : () -> tensor<0x4xf32>
    "func.return"(%171) : (tensor<0x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<f32>, sym_name = "op62"}> ({
    %170 = "stablehlo.constant"() <{value = dense<0x7F800000> : tensor<f32>}> : () -> tensor<f32>
    "func.return"(%170) : (tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<8xf32>, sym_name = "op63"}> ({
    %169 = "stablehlo.constant"() <{value = dense_resource<blob> : tensor<8xf32>}> : () -> tensor<8xf32>
    "func.return"(%169) : (tensor<8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<4x8xi32>, sym_name = "op64"}> ({
    %168 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<4x8xi32>
    "func.return"(%168) : (tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<f32>) -> tensor<7x8xf32>, sym_name = "op65"}> ({
  ^bb0(%arg209: tensor<4x8xf32>, %arg210: tensor<f32>):
    %167 = "stablehlo.pad"(%arg209, %arg210) <{edge_padding_high = array<i64: 2, 0>, edge_padding_low = array<i64: 1, 0>, interior_padding = array<i64: 0, 0>}> : (tensor<4x8xf32>, tensor<f32>) -> tensor<7x8xf32>
    "func.return"(%167) : (tensor<7x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<32xf32>, sym_name = "op66"}> ({
  ^bb0(%arg208: tensor<4x8xf32>):
    %166 = "stablehlo.reshape"(%arg208) : (tensor<4x8xf32>) -> tensor<32xf32>
    "func.return"(%166) : (tensor<32xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op67"}> ({
  ^bb0(%arg207: tensor<4x8xf32>):
    %165 = "stablehlo.reverse"(%arg207) <{dimensions = array<i64: 0, 1>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%165) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<2x4xf32>, sym_name = "op68"}> ({
  ^bb0(%arg206: tensor<4x8xf32>):
    %164 = "stablehlo.slice"(%arg206) <{limit_indices = array<i64: 3, 8>, start_indices = array<i64: 1, 0>, strides = array<i64: 1, 2>}> : (tensor<4x8xf32>) -> tensor<2x4xf32>
    "func.return"(%164) : (tensor<2x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<8x4xf32>, sym_name = "op69"}> ({
  ^bb0(%arg205: tensor<4x8xf32>):
    %163 = "stablehlo.transpose"(%arg205) <{permutation = array<i64: 1, 0>}> : (tensor<4x8xf32>) -> tensor<8x4xf32>
    "func.return"(%163) : (tensor<8x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x8xf32>, sym_name = "op70"}> ({
  ^bb0(%arg202: tensor<4x8xf32>, %arg203: tensor<i32>, %arg204: tensor<i32>):
    %162 = "stablehlo.dynamic_slice"(%arg202, %arg203, %arg204) <{slice_sizes = array<i64: 2, 8>}> : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x8xf32>
    "func.return"(%162) : (tensor<2x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<2x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>, sym_name = "op71"}> ({
  ^bb0(%arg198: tensor<4x8xf32>, %arg199: tensor<2x8xf32>, %arg200: tensor<i32>, %arg201: tensor<i32>):
    %161 = "stablehlo.dynamic_update_slice"(%arg198, %arg199, %arg200, %arg201) : (tensor<4x8xf32>, tensor<2x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
    "func.return"(%161) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>, sym_name = "op72"}> ({
  ^bb0(%arg196: tensor<4x8xf32>, %arg197: tensor<3x1xi32>):
    %160 = "stablehlo.gather"(%arg196, %arg197) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
    "func.return"(%160) : (tensor<3x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x4x8xf32>, tensor<2x3x1xi32>) -> tensor<2x3x8xf32>, sym_name = "op73"}> ({
  ^bb0(%arg194: tensor<2x4x8xf32>, %arg195: tensor<2x3x1xi32>):
    %159 = "stablehlo.gather"(%arg194, %arg195) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 8>}> : (tensor<2x4x8xf32>, tensor<2x3x1xi32>) -> tensor<2x3x8xf32>
    "func.return"(%159) : (tensor<2x3x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<3x1xi32>, tensor<3x8xf32>) -> tensor<4x8xf32>, sym_name = "op74"}> ({
  ^bb0(%arg189: tensor<4x8xf32>, %arg190: tensor<3x1xi32>, %arg191: tensor<3x8xf32>):
    %157 = "stablehlo.scatter"(%arg189, %arg190, %arg191) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg192: tensor<f32>, %arg193: tensor<f32>):
      %158 = "stablehlo.add"(%arg192, %arg193) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%158) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>, tensor<3x1xi32>, tensor<3x8xf32>) -> tensor<4x8xf32>
    "func.return"(%157) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>, sym_name = "op75"}> ({
  ^bb0(%arg187: tensor<4x8xf32>, %arg188: tensor<8x16xf32>):
    %156 = "stablehlo.dot_general"(%arg187, %arg188) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>]}> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    "func.return"(%156) : (tensor<4x16xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x4x8xf32>, tensor<2x8x16xf32>) -> tensor<2x4x16xf32>, sym_name = "op76"}> ({
  ^bb0(%arg185: tensor<2x4x8xf32>, %arg186: tensor<2x8x16xf32>):
    %155 = "stablehlo.dot_general"(%arg185, %arg186) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<2x4x8xf32>, tensor<2x8x16xf32>) -> tensor<2x4x16xf32>
    "func.return"(%155) : (tensor<2x4x16xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>, tensor<8xf32>) -> tensor<4x8xf32>, sym_name = "op77"}> ({
  ^bb0(%arg183: tensor<4xf32>, %arg184: tensor<8xf32>):
    %154 = "stablehlo.dot_general"(%arg183, %arg184) <{dot_dimension_numbers = #stablehlo.dot<>}> : (tensor<4xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    "func.return"(%154) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>, sym_name = "op78"}> ({
  ^bb0(%arg181: tensor<4x8xf32>, %arg182: tensor<8x16xf32>):
    %153 = "stablehlo.dot"(%arg181, %arg182) <{precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    "func.return"(%153) : (tensor<4x16xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>, sym_name = "op79"}> ({
  ^bb0(%arg179: tensor<4x8xf32>, %arg180: tensor<8x16xf32>):
    %152 = "stablehlo.dot"(%arg179, %arg180) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    "func.return"(%152) : (tensor<4x16xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<1x8x8x4xf32>, tensor<3x3x4x16xf32>) -> tensor<1x4x4x16xf32>, sym_name = "op80"}> ({
  ^bb0(%arg177: tensor<1x8x8x4xf32>, %arg178: tensor<3x3x4x16xf32>):
    %151 = "stablehlo.convolution"(%arg177, %arg178) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, padding = dense<[[0, 1], [0, 1]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 2, 2>}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x16xf32>) -> tensor<1x4x4x16xf32>
    "func.return"(%151) : (tensor<1x4x4x16xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<1x8x8x4xf32>, tensor<3x3x4x16xf32>) -> tensor<1x6x6x16xf32>, sym_name = "op81"}> ({
  ^bb0(%arg175: tensor<1x8x8x4xf32>, %arg176: tensor<3x3x4x16xf32>):
    %150 = "stablehlo.convolution"(%arg175, %arg176) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x16xf32>) -> tensor<1x6x6x16xf32>
    "func.return"(%150) : (tensor<1x6x6x16xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>, sym_name = "op82"}> ({
  ^bb0(%arg171: tensor<4x8xf32>, %arg172: tensor<f32>):
    %148 = "stablehlo.reduce"(%arg171, %arg172) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg173: tensor<f32>, %arg174: tensor<f32>):
      %149 = "stablehlo.add"(%arg173, %arg174) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%149) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    "func.return"(%148) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>), sym_name = "op83"}> ({
  ^bb0(%arg163: tensor<4x8xf32>, %arg164: tensor<4x8xi32>, %arg165: tensor<f32>, %arg166: tensor<i32>):
    %145:2 = "stablehlo.reduce"(%arg163, %arg164, %arg165, %arg166) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg167: tensor<f32>, %arg168: tensor<i32>, %arg169: tensor<f32>, %arg170: tensor<i32>):
      %146 = "stablehlo.add"(%arg167, %arg169) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %147 = "stablehlo.add"(%arg168, %arg170) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%146, %147) : (tensor<f32>, tensor<i32>) -> ()
    }) {foo.x} : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
    "func.return"(%145#0, %145#1) : (tensor<4xf32>, tensor<4xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<f32>) -> tensor<2x8xf32>, sym_name = "op84"}> ({
  ^bb0(%arg159: tensor<4x8xf32>, %arg160: tensor<f32>):
    %143 = "stablehlo.reduce_window"(%arg159, %arg160) <{padding = dense<0> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
    ^bb0(%arg161: tensor<f32>, %arg162: tensor<f32>):
      %144 = "stablehlo.maximum"(%arg161, %arg162) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%144) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<2x8xf32>
    "func.return"(%143) : (tensor<2x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<2x8xf32>, tensor<f32>) -> tensor<4x8xf32>, sym_name = "op85"}> ({
  ^bb0(%arg152: tensor<4x8xf32>, %arg153: tensor<2x8xf32>, %arg154: tensor<f32>):
    %140 = "stablehlo.select_and_scatter"(%arg152, %arg153, %arg154) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
    ^bb0(%arg157: tensor<f32>, %arg158: tensor<f32>):
      %142 = "stablehlo.compare"(%arg157, %arg158) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%142) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg155: tensor<f32>, %arg156: tensor<f32>):
      %141 = "stablehlo.add"(%arg155, %arg156) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%141) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>, tensor<2x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    "func.return"(%140) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>), sym_name = "op86"}> ({
  ^bb0(%arg146: tensor<4x8xf32>, %arg147: tensor<4x8xi32>):
    %138:2 = "stablehlo.sort"(%arg146, %arg147) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg148: tensor<f32>, %arg149: tensor<f32>, %arg150: tensor<i32>, %arg151: tensor<i32>):
      %139 = "stablehlo.compare"(%arg148, %arg149) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%139) : (tensor<i1>) -> ()
    }) : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
    "func.return"(%138#0, %138#1) : (tensor<4x8xf32>, tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x4xf32>) -> tensor<4x4xf32>, sym_name = "op87"}> ({
  ^bb0(%arg145: tensor<4x4xf32>):
    %137 = "stablehlo.cholesky"(%arg145) <{lower = true}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "func.return"(%137) : (tensor<4x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op88"}> ({
  ^bb0(%arg143: tensor<4x4xf32>, %arg144: tensor<4x8xf32>):
    %136 = "stablehlo.triangular_solve"(%arg143, %arg144) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%136) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>, sym_name = "op89"}> ({
  ^bb0(%arg142: tensor<4x8xcomplex<f32>>):
    %135 = "stablehlo.fft"(%arg142) <{fft_length = array<i64: 8>, fft_type = #stablehlo<fft_type FFT>}> : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>
    "func.return"(%135) : (tensor<4x8xcomplex<f32>>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>, sym_name = "op90"}> ({
  ^bb0(%arg137: tensor<2x4x8xf32>, %arg138: tensor<8xf32>, %arg139: tensor<8xf32>, %arg140: tensor<8xf32>, %arg141: tensor<8xf32>):
    %134 = "stablehlo.batch_norm_inference"(%arg137, %arg138, %arg139, %arg140, %arg141) <{epsilon = 1.000000e-03 : f32, feature_index = 2 : i64}> : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
    "func.return"(%134) : (tensor<2x4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>), sym_name = "op91"}> ({
  ^bb0(%arg134: tensor<2x4x8xf32>, %arg135: tensor<8xf32>, %arg136: tensor<8xf32>):
    %133:3 = "stablehlo.batch_norm_training"(%arg134, %arg135, %arg136) <{epsilon = 1.000000e-03 : f32, feature_index = 2 : i64}> : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>)
    "func.return"(%133#0, %133#1, %133#2) : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>), sym_name = "op92"}> ({
  ^bb0(%arg129: tensor<2x4x8xf32>, %arg130: tensor<8xf32>, %arg131: tensor<8xf32>, %arg132: tensor<8xf32>, %arg133: tensor<2x4x8xf32>):
    %132:3 = "stablehlo.batch_norm_grad"(%arg129, %arg130, %arg131, %arg132, %arg133) <{epsilon = 1.000000e-03 : f32, feature_index = 2 : i64}> : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>)
    "func.return"(%132#0, %132#1, %132#2) : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>), sym_name = "op93"}> ({
  ^bb0(%arg128: tensor<2xui64>):
    %131:2 = "stablehlo.rng_bit_generator"(%arg128) <{rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
    "func.return"(%131#0, %131#1) : (tensor<2xui64>, tensor<8xui32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op94"}> ({
  ^bb0(%arg124: tensor<4x8xf32>, %arg125: tensor<4x8xf32>):
    %129 = "stablehlo.map"(%arg124, %arg125) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg126: tensor<f32>, %arg127: tensor<f32>):
      %130 = "stablehlo.add"(%arg126, %arg127) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%130) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%129) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>, sym_name = "op95"}> ({
  ^bb0(%arg122: tensor<4x8xf32>, %arg123: tensor<8x16xf32>):
    %128 = "stablehlo.einsum"(%arg122, %arg123) <{einsum_config = "ab,bc->ac"}> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    "func.return"(%128) : (tensor<4x16xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<3xi32>) -> tensor<3x8xf32>, sym_name = "op96"}> ({
  ^bb0(%arg120: tensor<4x8xf32>, %arg121: tensor<3xi32>):
    %127 = "stablehlo.torch_index_select"(%arg120, %arg121) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<4x8xf32>, tensor<3xi32>) -> tensor<3x8xf32>
    "func.return"(%127) : (tensor<3x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op97"}> ({
  ^bb0(%arg119: tensor<4x8xf32>):
    %126 = "stablehlo.composite"(%arg119) <{composite_attributes = {a = 1 : i64}, decomposition = @callee, name = "my.op", version = 1 : i32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%126) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op98"}> ({
  ^bb0(%arg117: tensor<4x8xf32>, %arg118: tensor<4x8xf32>):
    %125 = "stablehlo.custom_call"(%arg117, %arg118) <{api_version = 2 : i32, backend_config = "x\22y", call_target_name = "foo", called_computations = [@callee], has_side_effect = true}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%125) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>), sym_name = "op99"}> ({
  ^bb0(%arg116: tensor<4x8xf32>):
    %124:2 = "stablehlo.custom_call"(%arg116) <{api_version = 4 : i32, backend_config = {a = 1 : i32, "b c" = [1.000000e+00 : f32, "s"]}, call_target_name = "foo bar", operand_layouts = [dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>]}> {mhlo.sharding = "{devices=[2,1]<=[2]}"} : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    "func.return"(%124#0, %124#1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<3xi32>) -> tensor<4x?x8xf32>, sym_name = "op100"}> ({
  ^bb0(%arg114: tensor<4x8xf32>, %arg115: tensor<3xi32>):
    %123 = "stablehlo.dynamic_broadcast_in_dim"(%arg114, %arg115) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<4x8xf32>, tensor<3xi32>) -> tensor<4x?x8xf32>
    "func.return"(%123) : (tensor<4x?x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<1x8x8x4xf32>, tensor<3x3x4x16xf32>, tensor<2x2xi32>) -> tensor<1x?x?x16xf32>, sym_name = "op101"}> ({
  ^bb0(%arg111: tensor<1x8x8x4xf32>, %arg112: tensor<3x3x4x16xf32>, %arg113: tensor<2x2xi32>):
    %122 = "stablehlo.dynamic_conv"(%arg111, %arg112, %arg113) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x16xf32>, tensor<2x2xi32>) -> tensor<1x?x?x16xf32>
    "func.return"(%122) : (tensor<1x?x?x16xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<3x1xi32>, tensor<2xi32>) -> tensor<3x?xf32>, sym_name = "op102"}> ({
  ^bb0(%arg108: tensor<4x8xf32>, %arg109: tensor<3x1xi32>, %arg110: tensor<2xi32>):
    %121 = "stablehlo.dynamic_gather"(%arg108, %arg109, %arg110) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x8xf32>, tensor<3x1xi32>, tensor<2xi32>) -> tensor<3x?xf32>
    "func.return"(%121) : (tensor<3x?xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2xi32>) -> tensor<?x8xi32>, sym_name = "op103"}> ({
  ^bb0(%arg107: tensor<2xi32>):
    %120 = "stablehlo.dynamic_iota"(%arg107) <{iota_dimension = 1 : i64}> : (tensor<2xi32>) -> tensor<?x8xi32>
    "func.return"(%120) : (tensor<?x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>, sym_name = "op104"}> ({
  ^bb0(%arg102: tensor<4x8xf32>, %arg103: tensor<f32>, %arg104: tensor<2xi32>, %arg105: tensor<2xi32>, %arg106: tensor<2xi32>):
    %119 = "stablehlo.dynamic_pad"(%arg102, %arg103, %arg104, %arg105, %arg106) : (tensor<4x8xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
    "func.return"(%119) : (tensor<?x?xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<2xi32>) -> tensor<?x8xf32>, sym_name = "op105"}> ({
  ^bb0(%arg100: tensor<4x8xf32>, %arg101: tensor<2xi32>):
    %118 = "stablehlo.dynamic_reshape"(%arg100, %arg101) : (tensor<4x8xf32>, tensor<2xi32>) -> tensor<?x8xf32>
    "func.return"(%118) : (tensor<?x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x8xf32>, sym_name = "op106"}> ({
  ^bb0(%arg96: tensor<4x8xf32>, %arg97: tensor<2xi32>, %arg98: tensor<2xi32>, %arg99: tensor<2xi32>):
    %117 = "stablehlo.real_dynamic_slice"(%arg96, %arg97, %arg98, %arg99) : (tensor<4x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x8xf32>
    "func.return"(%117) : (tensor<?x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<?x8xf32, #stablehlo.bounds<4, ?>>) -> tensor<i32>, sym_name = "op107"}> ({
  ^bb0(%arg95: tensor<?x8xf32, #stablehlo.bounds<4, ?>>):
    %116 = "stablehlo.get_dimension_size"(%arg95) <{dimension = 0 : i64}> : (tensor<?x8xf32, #stablehlo.bounds<4, ?>>) -> tensor<i32>
    "func.return"(%116) : (tensor<i32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<i32>) -> tensor<?x8xf32, #stablehlo.bounds<4, ?>>, sym_name = "op108"}> ({
  ^bb0(%arg93: tensor<4x8xf32>, %arg94: tensor<i32>):
    %115 = "stablehlo.set_dimension_size"(%arg93, %arg94) <{dimension = 0 : i64}> : (tensor<4x8xf32>, tensor<i32>) -> tensor<?x8xf32, #stablehlo.bounds<4, ?>>
    "func.return"(%115) : (tensor<?x8xf32, #stablehlo.bounds<4, ?>>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<?x8xf32, #stablehlo.bounds<4, ?>>, tensor<?x8xf32, #stablehlo.bounds<4, ?>>) -> tensor<?x8xf32, #stablehlo.bounds<4, ?>>, sym_name = "op109"}> ({
  ^bb0(%arg91: tensor<?x8xf32, #stablehlo.bounds<4, ?>>, %arg92: tensor<?x8xf32, #stablehlo.bounds<4, ?>>):
    %114 = "stablehlo.add"(%arg91, %arg92) : (tensor<?x8xf32, #stablehlo.bounds<4, ?>>, tensor<?x8xf32, #stablehlo.bounds<4, ?>>) -> tensor<?x8xf32, #stablehlo.bounds<4, ?>>
    "func.return"(%114) : (tensor<?x8xf32, #stablehlo.bounds<4, ?>>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<8x8xf32>, sym_name = "op110"}> ({
  ^bb0(%arg90: tensor<4x8xf32>):
    %113 = "stablehlo.all_gather"(%arg90) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<4x8xf32>) -> tensor<8x8xf32>
    "func.return"(%113) : (tensor<8x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op111"}> ({
  ^bb0(%arg87: tensor<4x8xf32>):
    %111 = "stablehlo.all_reduce"(%arg87) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%arg88: tensor<f32>, %arg89: tensor<f32>):
      %112 = "stablehlo.add"(%arg88, %arg89) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%112) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%111) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<2x8xf32>, sym_name = "op112"}> ({
  ^bb0(%arg84: tensor<4x8xf32>):
    %109 = "stablehlo.reduce_scatter"(%arg84) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
    ^bb0(%arg85: tensor<f32>, %arg86: tensor<f32>):
      %110 = "stablehlo.add"(%arg85, %arg86) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%110) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>) -> tensor<2x8xf32>
    "func.return"(%109) : (tensor<2x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<8x4xf32>, sym_name = "op113"}> ({
  ^bb0(%arg83: tensor<4x8xf32>):
    %108 = "stablehlo.all_to_all"(%arg83) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<4x8xf32>) -> tensor<8x4xf32>
    "func.return"(%108) : (tensor<8x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op114"}> ({
  ^bb0(%arg82: tensor<4x8xf32>):
    %107 = "stablehlo.collective_permute"(%arg82) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%107) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op115"}> ({
  ^bb0(%arg81: tensor<4x8xf32>):
    %106 = "stablehlo.collective_broadcast"(%arg81) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%106) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op116"}> ({
  ^bb0(%arg80: tensor<4x8xf32>):
    %105 = "stablehlo.cross-replica-sum"(%arg80) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%105) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<ui32>, sym_name = "op117"}> ({
    %104 = "stablehlo.partition_id"() : () -> tensor<ui32>
    "func.return"(%104) : (tensor<ui32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<ui32>, sym_name = "op118"}> ({
    %103 = "stablehlo.replica_id"() : () -> tensor<ui32>
    "func.return"(%103) : (tensor<ui32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i32>, tensor<4x8xf32>) -> (tensor<i32>, tensor<4x8xf32>), sym_name = "op119"}> ({
  ^bb0(%arg74: tensor<i32>, %arg75: tensor<4x8xf32>):
    %101:2 = "stablehlo.while"(%arg74, %arg75) ({
    ^bb0(%arg78: tensor<i32>, %arg79: tensor<4x8xf32>):
      %102 = "stablehlo.compare"(%arg78, %arg78) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%102) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg76: tensor<i32>, %arg77: tensor<4x8xf32>):
      "stablehlo.return"(%arg76, %arg77) : (tensor<i32>, tensor<4x8xf32>) -> ()
    }) {foo.x = 1 : i32} : (tensor<i32>, tensor<4x8xf32>) -> (tensor<i32>, tensor<4x8xf32>)
    "func.return"(%101#0, %101#1) : (tensor<i32>, tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i32>) -> tensor<f32>, sym_name = "op120"}> ({
  ^bb0(%arg73: tensor<i32>):
    %97 = "stablehlo.case"(%arg73) ({
      %100 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      "stablehlo.return"(%100) : (tensor<f32>) -> ()
    }, {
      %99 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      "stablehlo.return"(%99) : (tensor<f32>) -> ()
    }, {
      %98 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      "stablehlo.return"(%98) : (tensor<f32>) -> ()
    }) : (tensor<i32>) -> tensor<f32>
    "func.return"(%97) : (tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i1>) -> tensor<f32>, sym_name = "op121"}> ({
  ^bb0(%arg72: tensor<i1>):
    %94 = "stablehlo.if"(%arg72) ({
      %96 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      "stablehlo.return"(%96) : (tensor<f32>) -> ()
    }, {
      %95 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      "stablehlo.return"(%95) : (tensor<f32>) -> ()
    }) : (tensor<i1>) -> tensor<f32>
    "func.return"(%94) : (tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>), sym_name = "op122"}> ({
  ^bb0(%arg70: tensor<4x8xf32>, %arg71: tensor<4x8xi32>):
    %93:2 = "stablehlo.optimization_barrier"(%arg70, %arg71) : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
    "func.return"(%93#0, %93#1) : (tensor<4x8xf32>, tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op123"}> ({
  ^bb0(%arg69: tensor<4x8xf32>):
    %92 = "stablehlo.optimization_barrier"(%arg69) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%92) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> (), sym_name = "op124"}> ({
    "stablehlo.optimization_barrier"() : () -> ()
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!stablehlo.token, !stablehlo.token) -> !stablehlo.token, sym_name = "op125"}> ({
  ^bb0(%arg67: !stablehlo.token, %arg68: !stablehlo.token):
    %91 = "stablehlo.after_all"(%arg67, %arg68) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
    "func.return"(%91) : (!stablehlo.token) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> !stablehlo.token, sym_name = "op126"}> ({
    %90 = "stablehlo.create_token"() : () -> !stablehlo.token
    "func.return"(%90) : (!stablehlo.token) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> !stablehlo.token, sym_name = "op127"}> ({
    %89 = "stablehlo.after_all"() : () -> !stablehlo.token
    "func.return"(%89) : (!stablehlo.token) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xi32>) -> tuple<tensor<4x8xf32>, tensor<4x8xi32>>, sym_name = "op128"}> ({
  ^bb0(%arg65: tensor<4x8xf32>, %arg66: tensor<4x8xi32>):
    %88 = "stablehlo.tuple"(%arg65, %arg66) : (tensor<4x8xf32>, tensor<4x8xi32>) -> tuple<tensor<4x8xf32>, tensor<4x8xi32>>
    "func.return"(%88) : (tuple<tensor<4x8xf32>, tensor<4x8xi32>>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tuple<tensor<4x8xf32>, tensor<4x8xi32>>) -> tensor<4x8xi32>, sym_name = "op129"}> ({
  ^bb0(%arg64: tuple<tensor<4x8xf32>, tensor<4x8xi32>>):
    %87 = "stablehlo.get_tuple_element"(%arg64) <{index = 1 : i32}> : (tuple<tensor<4x8xf32>, tensor<4x8xi32>>) -> tensor<4x8xi32>
    "func.return"(%87) : (tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!stablehlo.token) -> (tensor<4x8xf32>, !stablehlo.token), sym_name = "op130"}> ({
  ^bb0(%arg63: !stablehlo.token):
    %86:2 = "stablehlo.infeed"(%arg63) <{infeed_config = "", layout = [[0, 1]]}> : (!stablehlo.token) -> (tensor<4x8xf32>, !stablehlo.token)
    "func.return"(%86#0, %86#1) : (tensor<4x8xf32>, !stablehlo.token) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, !stablehlo.token) -> !stablehlo.token, sym_name = "op131"}> ({
  ^bb0(%arg61: tensor<4x8xf32>, %arg62: !stablehlo.token):
    %85 = "stablehlo.outfeed"(%arg61, %arg62) <{outfeed_config = ""}> : (tensor<4x8xf32>, !stablehlo.token) -> !stablehlo.token
    "func.return"(%85) : (!stablehlo.token) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, !stablehlo.token) -> !stablehlo.token, sym_name = "op132"}> ({
  ^bb0(%arg59: tensor<4x8xf32>, %arg60: !stablehlo.token):
    %84 = "stablehlo.send"(%arg59, %arg60) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (tensor<4x8xf32>, !stablehlo.token) -> !stablehlo.token
    "func.return"(%84) : (!stablehlo.token) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!stablehlo.token) -> (tensor<4x8xf32>, !stablehlo.token), sym_name = "op133"}> ({
  ^bb0(%arg58: !stablehlo.token):
    %83:2 = "stablehlo.recv"(%arg58) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4x8xf32>, !stablehlo.token)
    "func.return"(%83#0, %83#1) : (tensor<4x8xf32>, !stablehlo.token) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op134"}> ({
  ^bb0(%arg57: tensor<4x8xf32>):
    %82 = "chlo.acos"(%arg57) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%82) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op135"}> ({
  ^bb0(%arg56: tensor<4x8xf32>):
    %81 = "chlo.acosh"(%arg56) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%81) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op136"}> ({
  ^bb0(%arg55: tensor<4x8xf32>):
    %80 = "chlo.asin"(%arg55) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%80) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op137"}> ({
  ^bb0(%arg54: tensor<4x8xf32>):
    %79 = "chlo.asinh"(%arg54) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%79) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op138"}> ({
  ^bb0(%arg53: tensor<4x8xf32>):
    %78 = "chlo.atan"(%arg53) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%78) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op139"}> ({
  ^bb0(%arg52: tensor<4x8xf32>):
    %77 = "chlo.atanh"(%arg52) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%77) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op140"}> ({
  ^bb0(%arg51: tensor<4x8xf32>):
    %76 = "chlo.cosh"(%arg51) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%76) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op141"}> ({
  ^bb0(%arg50: tensor<4x8xf32>):
    %75 = "chlo.sinh"(%arg50) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%75) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op142"}> ({
  ^bb0(%arg49: tensor<4x8xf32>):
    %74 = "chlo.digamma"(%arg49) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%74) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op143"}> ({
  ^bb0(%arg48: tensor<4x8xf32>):
    %73 = "chlo.erf"(%arg48) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%73) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op144"}> ({
  ^bb0(%arg47: tensor<4x8xf32>):
    %72 = "chlo.erf_inv"(%arg47) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%72) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op145"}> ({
  ^bb0(%arg46: tensor<4x8xf32>):
    %71 = "chlo.erfc"(%arg46) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%71) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op146"}> ({
  ^bb0(%arg45: tensor<4x8xf32>):
    %70 = "chlo.lgamma"(%arg45) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%70) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op147"}> ({
  ^bb0(%arg44: tensor<4x8xf32>):
    %69 = "chlo.square"(%arg44) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%69) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op148"}> ({
  ^bb0(%arg42: tensor<4x8xf32>, %arg43: tensor<4x8xf32>):
    %68 = "chlo.next_after"(%arg42, %arg43) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%68) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>), sym_name = "op149"}> ({
  ^bb0(%arg41: tensor<4x8xf32>):
    %67:2 = "chlo.top_k"(%arg41) <{k = 2 : i64}> : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
    "func.return"(%67#0, %67#1) : (tensor<4x2xf32>, tensor<4x2xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>, sym_name = "op150"}> ({
  ^bb0(%arg38: tensor<11x5xf32>, %arg39: tensor<3x5x7xf32>, %arg40: tensor<3xi64>):
    %66 = "chlo.ragged_dot"(%arg38, %arg39, %arg40) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>
    "func.return"(%66) : (tensor<11x7xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>), sym_name = "op151"}> ({
  ^bb0(%arg36: tensor<4x8xf32>, %arg37: tensor<4x8xi32>):
    %65:2 = "func.call"(%arg36, %arg37) <{callee = @two}> : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
    "func.return"(%65#0, %65#1) : (tensor<4x8xf32>, tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op152"}> ({
  ^bb0(%arg35: tensor<4x8xf32>):
    %64 = "func.call"(%arg35) <{callee = @callee}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%64) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> (), sym_name = "op153"}> ({
    "func.call"() <{callee = @none}> : () -> ()
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<4x8xf32>, sym_name = "op154"}> ({
    %63 = "sdy.constant"() <{value = dense<1.000000e+00> : tensor<4x8xf32>}> : () -> tensor<4x8xf32>
    "func.return"(%63) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op155"}> ({
  ^bb0(%arg34: tensor<4x8xf32>):
    %62 = "sdy.sharding_constraint"(%arg34) <{sharding = #sdy.sharding<@mesh, [{"a"}, {?}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%62) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op156"}> ({
  ^bb0(%arg33: tensor<4x8xf32>):
    %61 = "sdy.reshard"(%arg33) <{sharding = #sdy.sharding<@mesh, [{"a"}, {?}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%61) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> (), sym_name = "op157"}> ({
  ^bb0(%arg32: tensor<4x8xf32>):
    "sdy.sharding_group"(%arg32) <{group_id = 3 : i64}> : (tensor<4x8xf32>) -> ()
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op158"}> ({
  ^bb0(%arg31: tensor<4x8xf32>):
    %60 = "sdy.propagation_barrier"(%arg31) <{allowed_direction = 1 : i32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%60) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op159"}> ({
  ^bb0(%arg29: tensor<4x8xf32>):
    %59 = "sdy.manual_computation"(%arg29) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"a"}, {}]>]>, manual_axes = #sdy<manual_axes{"a"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{"a"}, {}]>]>}> ({
    ^bb0(%arg30: tensor<2x8xf32>):
      "sdy.return"(%arg30) : (tensor<2x8xf32>) -> ()
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%59) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> (), sym_name = "op160"}> ({
    "sdy.manual_computation"() <{in_shardings = #sdy.sharding_per_value<[]>, manual_axes = #sdy<manual_axes{}>, out_shardings = #sdy.sharding_per_value<[]>}> ({
      "sdy.return"() : () -> ()
    }) : () -> ()
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op161"}> ({
  ^bb0(%arg27: tensor<4x8xf32>):
    %58 = "sdy.named_computation"(%arg27) <{name = "n"}> ({
    ^bb0(%arg28: tensor<4x8xf32>):
      "sdy.return"(%arg28) : (tensor<4x8xf32>) -> ()
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%58) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}], function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op162"}> ({
  ^bb0(%arg26: tensor<4x8xf32>):
    %57 = "sdy.all_gather"(%arg26) <{gathering_axes = #sdy<list_of_axis_ref_lists[{"a"}, {}]>, out_sharding = #sdy.sharding<@mesh, [{}, {}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%57) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}], function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op163"}> ({
  ^bb0(%arg25: tensor<4x8xf32>):
    %56 = "sdy.all_slice"(%arg25) <{out_sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>, slicing_axes = #sdy<list_of_axis_ref_lists[{}, {"b"}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%56) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}], function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op164"}> ({
  ^bb0(%arg24: tensor<4x8xf32>):
    %55 = "sdy.all_to_all"(%arg24) <{out_sharding = #sdy.sharding<@mesh, [{}, {"a"}]>, params = #sdy<all_to_all_param_list[{"a"}: 0->1]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%55) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"b":(1)2}, {}]>}], function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op165"}> ({
  ^bb0(%arg23: tensor<4x8xf32>):
    %54 = "sdy.collective_permute"(%arg23) <{out_sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%54) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}], unreduced={"b"}>}], function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op166"}> ({
  ^bb0(%arg22: tensor<4x8xf32>):
    %53 = "sdy.all_reduce"(%arg22) <{out_sharding = #sdy.sharding<@mesh, [{"a"}, {}]>, reduction_axes = #sdy<axis_ref_list{"b"}>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%53) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}], function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op167"}> ({
  ^bb0(%arg21: tensor<4x8xf32>):
    %52 = "sdy.reduce_scatter"(%arg21) <{out_sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>, reduce_scatter_axes = #sdy<list_of_axis_ref_lists[{}, {"b"}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%52) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}], function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op168"}> ({
  ^bb0(%arg20: tensor<4x8xf32>):
    %51 = "sdy.replicated_to_unreduced"(%arg20) <{axes = #sdy<axis_ref_list{"b"}>, out_sharding = #sdy.sharding<@mesh, [{"a"}, {}], unreduced={"b"}>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%51) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}], function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op169"}> ({
  ^bb0(%arg19: tensor<4x8xf32>):
    %50 = "sdy.sharded_to_unreduced"(%arg19) <{axes = #sdy<list_of_axis_ref_lists[{"a"}, {}]>, out_sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"a"}>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%50) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op170"}> ({
  ^bb0(%arg17: tensor<4x8xf32>, %arg18: tensor<4x8xf32>):
    %49 = "stablehlo.add"(%arg17, %arg18) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}, {}]>]>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%49) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> (), sym_name = "op171"}> ({
  ^bb0(%arg16: tensor<4x8xf32>):
    "stablehlo.custom_call"(%arg16) <{call_target_name = "none", has_side_effect = true}> : (tensor<4x8xf32>) -> ()
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x3xf32>, tensor<2x3xcomplex<f32>>) -> (), sym_name = "unary", sym_visibility = "private"}> ({
  ^bb0(%arg14: tensor<2x3xf32>, %arg15: tensor<2x3xcomplex<f32>>):
    %36 = "chlo.bessel_i1e"(%arg14) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %37 = "chlo.conj"(%arg15) : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>>
    %38 = "chlo.is_inf"(%arg14) : (tensor<2x3xf32>) -> tensor<2x3xi1>
    %39 = "chlo.is_neg_inf"(%arg14) : (tensor<2x3xf32>) -> tensor<2x3xi1>
    %40 = "chlo.is_pos_inf"(%arg14) : (tensor<2x3xf32>) -> tensor<2x3xi1>
    %41 = "chlo.tan"(%arg14) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %42 = "chlo._asin_acos_kernel"(%arg15) : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>>
    %43 = "chlo.constant_like"(%arg14) <{value = 1.000000e+00 : f32}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %44 = "chlo.constant"() <{value = dense<1> : tensor<2xi32>}> : () -> tensor<2xi32>
    %45 = "chlo.polygamma"(%arg14, %arg14) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %46 = "chlo.zeta"(%arg14, %arg14) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %47 = "stablehlo.constant"() <{value = dense<1> : tensor<2xi32>}> : () -> tensor<2xi32>
    %48 = "chlo.mulhi"(%47, %47) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xi32>, tensor<3xi32>, tensor<2x3xi1>) -> (), sym_name = "broadcast", sym_visibility = "private"}> ({
  ^bb0(%arg9: tensor<2x3xf32>, %arg10: tensor<3xf32>, %arg11: tensor<2x3xi32>, %arg12: tensor<3xi32>, %arg13: tensor<2x3xi1>):
    %13 = "chlo.broadcast_add"(%arg9, %arg10) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %14 = "chlo.broadcast_add"(%arg9, %arg10) <{broadcast_dimensions = array<i64: 1>}> : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %15 = "chlo.broadcast_and"(%arg11, %arg12) : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    %16 = "chlo.broadcast_atan2"(%arg9, %arg10) <{broadcast_dimensions = array<i64: 1>}> : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %17 = "chlo.broadcast_compare"(%arg9, %arg10) <{comparison_direction = #chlo<comparison_direction LT>}> : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
    %18 = "chlo.broadcast_compare"(%arg9, %arg10) <{broadcast_dimensions = array<i64: 1>, compare_type = #chlo<comparison_type TOTALORDER>, comparison_direction = #chlo<comparison_direction LT>}> : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
    %19 = "chlo.broadcast_complex"(%arg9, %arg10) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xcomplex<f32>>
    %20 = "chlo.broadcast_divide"(%arg9, %arg10) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %21 = "chlo.broadcast_maximum"(%arg9, %arg10) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %22 = "chlo.broadcast_minimum"(%arg9, %arg10) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %23 = "chlo.broadcast_multiply"(%arg9, %arg10) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %24 = "chlo.broadcast_next_after"(%arg9, %arg10) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %25 = "chlo.broadcast_or"(%arg11, %arg12) : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    %26 = "chlo.broadcast_polygamma"(%arg9, %arg10) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %27 = "chlo.broadcast_power"(%arg9, %arg10) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %28 = "chlo.broadcast_remainder"(%arg9, %arg10) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %29 = "chlo.broadcast_select"(%arg13, %arg9, %arg10) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %30 = "chlo.broadcast_shift_left"(%arg11, %arg12) : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    %31 = "chlo.broadcast_shift_right_arithmetic"(%arg11, %arg12) : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    %32 = "chlo.broadcast_shift_right_logical"(%arg11, %arg12) : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    %33 = "chlo.broadcast_subtract"(%arg9, %arg10) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %34 = "chlo.broadcast_xor"(%arg11, %arg12) : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    %35 = "chlo.broadcast_zeta"(%arg9, %arg10) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x3xf32>, tensor<3xf32>) -> (), sym_name = "scan", sym_visibility = "private"}> ({
  ^bb0(%arg5: tensor<4x3xf32>, %arg6: tensor<3xf32>):
    %11:2 = "chlo.scan"(%arg5, %arg6) <{dimension = 0 : i64, is_reverse = true, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg7: tensor<3xf32>, %arg8: tensor<3xf32>):
      %12 = "stablehlo.add"(%arg7, %arg8) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      "stablehlo.return"(%12, %12) : (tensor<3xf32>, tensor<3xf32>) -> ()
    }) : (tensor<4x3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>)
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x3xf32>) -> tensor<8x3xf32>, sym_name = "async", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<4x3xf32>):
    %8 = "stablehlo.async_start"(%arg3) ({
    ^bb0(%arg4: tensor<4x3xf32>):
      %10 = "stablehlo.all_gather"(%arg4) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x3xf32>) -> tensor<8x3xf32>
      "stablehlo.return"(%10) : (tensor<8x3xf32>) -> ()
    }) : (tensor<4x3xf32>) -> !stablehlo.future<tensor<8x3xf32>>
    %9 = "stablehlo.async_done"(%8) : (!stablehlo.future<tensor<8x3xf32>>) -> tensor<8x3xf32>
    "func.return"(%9) : (tensor<8x3xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x3xf32>) -> (), sym_name = "shlo", sym_visibility = "private"}> ({
  ^bb0(%arg2: tensor<4x3xf32>):
    %6 = "stablehlo.broadcast"(%arg2) <{broadcast_sizes = array<i64: 5>}> : (tensor<4x3xf32>) -> tensor<5x4x3xf32>
    %7 = "stablehlo.unary_einsum"(%arg2) <{einsum_config = "ab->a"}> : (tensor<4x3xf32>) -> tensor<4xf32>
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "callee_f", sym_visibility = "private"}> ({
  ^bb0(%arg1: tensor<4xf32>):
    "func.return"(%arg1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "indirect", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<4xf32>):
    %0 = "func.constant"() <{value = @callee_f}> : () -> ((tensor<4xf32>) -> tensor<4xf32>)
    %1 = "func.call_indirect"(%0, %arg0) : ((tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = "func.call_indirect"(%0, %arg0) {a.b = 1 : i64} : ((tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %3 = "builtin.unrealized_conversion_cast"(%2) : (tensor<4xf32>) -> tensor<4xi32>
    %4:2 = "builtin.unrealized_conversion_cast"(%2, %2) {a} : (tensor<4xf32>, tensor<4xf32>) -> (i32, i64)
    %5 = "builtin.unrealized_conversion_cast"() : () -> i32
    "func.return"(%2) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) {foo.map = #map, mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

{-#
  dialect_resources: {
    builtin: {
      blob: "0x040000000000803F000000400000404000008040000080400000A0400000C0400000E040"
    }
  }
#-}
