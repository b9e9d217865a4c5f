#map = affine_map<(d0) -> (d0)>
"builtin.module"() <{sym_name = "ops"}> ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["a"=2, "b"=4]>, sym_name = "mesh"}> : () -> ()
  "sdy.mesh"() <{mesh = #sdy.mesh<[], device_ids=[3]>, sym_name = "maximal"}> : () -> ()
  "func.func"() <{function_type = () -> (), sym_name = "none", sym_visibility = "private"}> ({
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, no_inline, sym_name = "callee", sym_visibility = "private"}> ({
  ^bb0(%arg280: tensor<4x8xf32>):
    "func.return"(%arg280) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>), sym_name = "two", sym_visibility = "private"}> ({
  ^bb0(%arg278: tensor<4x8xf32>, %arg279: tensor<4x8xi32>):
    "func.return"(%arg278, %arg279) : (tensor<4x8xf32>, tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{a.b = 1 : i32}, {}], function_type = (tensor<4xf32>, i32) -> tensor<4xf32>, res_attrs = [{c.d}], sym_name = "declared", sym_visibility = "private"}> ({
  }) : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"a", ?}p1, {"b":(1)2}], replicated={"b":(2)2}>, tf.aliasing_output = 0 : i32}, {jax.buffer_donor = true, mhlo.sharding = "{replicated}"}], function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, res_attrs = [{jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{?}, {}]>}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg276: tensor<4x8xf32>, %arg277: tensor<4x8xf32>):
    %184 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %185 = "stablehlo.constant"() <{value = dense<[4, 8]> : tensor<2xi64>}> : () -> tensor<2xi64>
    %186 = "stablehlo.rng"(%184, %184, %185) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x8xf32>
    %187 = "stablehlo.negate"(%186) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %188 = "sdy.data_flow_edge"(%187) <{sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %189 = "stablehlo.negate"(%186) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %190 = "sdy.data_flow_edge"(%189) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %191 = "sdy.func_data_flow_edge"(%arg276) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%191) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op0"}> ({
  ^bb0(%arg275: tensor<4x8xf32>):
    %183 = "stablehlo.abs"(%arg275) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%183) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op1"}> ({
  ^bb0(%arg274: tensor<4x8xf32>):
    %182 = "stablehlo.cbrt"(%arg274) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%182) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op2"}> ({
  ^bb0(%arg273: tensor<4x8xf32>):
    %181 = "stablehlo.ceil"(%arg273) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%181) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op3"}> ({
  ^bb0(%arg272: tensor<4x8xf32>):
    %180 = "stablehlo.cosine"(%arg272) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%180) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op4"}> ({
  ^bb0(%arg271: tensor<4x8xf32>):
    %179 = "stablehlo.exponential"(%arg271) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%179) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op5"}> ({
  ^bb0(%arg270: tensor<4x8xf32>):
    %178 = "stablehlo.exponential_minus_one"(%arg270) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%178) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op6"}> ({
  ^bb0(%arg269: tensor<4x8xf32>):
    %177 = "stablehlo.floor"(%arg269) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%177) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op7"}> ({
  ^bb0(%arg268: tensor<4x8xf32>):
    %176 = "stablehlo.log"(%arg268) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%176) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op8"}> ({
  ^bb0(%arg267: tensor<4x8xf32>):
    %175 = "stablehlo.log_plus_one"(%arg267) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%175) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op9"}> ({
  ^bb0(%arg266: tensor<4x8xf32>):
    %174 = "stablehlo.logistic"(%arg266) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%174) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op10"}> ({
  ^bb0(%arg265: tensor<4x8xf32>):
    %173 = "stablehlo.negate"(%arg265) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%173) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op11"}> ({
  ^bb0(%arg264: tensor<4x8xf32>):
    %172 = "stablehlo.round_nearest_even"(%arg264) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%172) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op12"}> ({
  ^bb0(%arg263: tensor<4x8xf32>):
    %171 = "stablehlo.round_nearest_afz"(%arg263) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%171) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op13"}> ({
  ^bb0(%arg262: tensor<4x8xf32>):
    %170 = "stablehlo.rsqrt"(%arg262) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%170) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op14"}> ({
  ^bb0(%arg261: tensor<4x8xf32>):
    %169 = "stablehlo.sign"(%arg261) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%169) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op15"}> ({
  ^bb0(%arg260: tensor<4x8xf32>):
    %168 = "stablehlo.sine"(%arg260) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%168) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op16"}> ({
  ^bb0(%arg259: tensor<4x8xf32>):
    %167 = "stablehlo.sqrt"(%arg259) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%167) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op17"}> ({
  ^bb0(%arg258: tensor<4x8xf32>):
    %166 = "stablehlo.tan"(%arg258) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%166) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op18"}> ({
  ^bb0(%arg257: tensor<4x8xf32>):
    %165 = "stablehlo.tanh"(%arg257) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%165) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op19"}> ({
  ^bb0(%arg255: tensor<4x8xf32>, %arg256: tensor<4x8xf32>):
    %164 = "stablehlo.add"(%arg255, %arg256) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%164) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op20"}> ({
  ^bb0(%arg253: tensor<4x8xf32>, %arg254: tensor<4x8xf32>):
    %163 = "stablehlo.divide"(%arg253, %arg254) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%163) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op21"}> ({
  ^bb0(%arg251: tensor<4x8xf32>, %arg252: tensor<4x8xf32>):
    %162 = "stablehlo.maximum"(%arg251, %arg252) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%162) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op22"}> ({
  ^bb0(%arg249: tensor<4x8xf32>, %arg250: tensor<4x8xf32>):
    %161 = "stablehlo.minimum"(%arg249, %arg250) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%161) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op23"}> ({
  ^bb0(%arg247: tensor<4x8xf32>, %arg248: tensor<4x8xf32>):
    %160 = "stablehlo.multiply"(%arg247, %arg248) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%160) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op24"}> ({
  ^bb0(%arg245: tensor<4x8xf32>, %arg246: tensor<4x8xf32>):
    %159 = "stablehlo.power"(%arg245, %arg246) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%159) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op25"}> ({
  ^bb0(%arg243: tensor<4x8xf32>, %arg244: tensor<4x8xf32>):
    %158 = "stablehlo.remainder"(%arg243, %arg244) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%158) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op26"}> ({
  ^bb0(%arg241: tensor<4x8xf32>, %arg242: tensor<4x8xf32>):
    %157 = "stablehlo.subtract"(%arg241, %arg242) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%157) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op27"}> ({
  ^bb0(%arg239: tensor<4x8xf32>, %arg240: tensor<4x8xf32>):
    %156 = "stablehlo.atan2"(%arg239, %arg240) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%156) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>, sym_name = "op28"}> ({
  ^bb0(%arg237: tensor<4x8xi32>, %arg238: tensor<4x8xi32>):
    %155 = "stablehlo.and"(%arg237, %arg238) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    "func.return"(%155) : (tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>, sym_name = "op29"}> ({
  ^bb0(%arg235: tensor<4x8xi32>, %arg236: tensor<4x8xi32>):
    %154 = "stablehlo.or"(%arg235, %arg236) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    "func.return"(%154) : (tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>, sym_name = "op30"}> ({
  ^bb0(%arg233: tensor<4x8xi32>, %arg234: tensor<4x8xi32>):
    %153 = "stablehlo.xor"(%arg233, %arg234) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    "func.return"(%153) : (tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>, sym_name = "op31"}> ({
  ^bb0(%arg231: tensor<4x8xi32>, %arg232: tensor<4x8xi32>):
    %152 = "stablehlo.shift_left"(%arg231, %arg232) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    "func.return"(%152) : (tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>, sym_name = "op32"}> ({
  ^bb0(%arg229: tensor<4x8xi32>, %arg230: tensor<4x8xi32>):
    %151 = "stablehlo.shift_right_arithmetic"(%arg229, %arg230) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    "func.return"(%151) : (tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>, sym_name = "op33"}> ({
  ^bb0(%arg227: tensor<4x8xi32>, %arg228: tensor<4x8xi32>):
    %150 = "stablehlo.shift_right_logical"(%arg227, %arg228) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    "func.return"(%150) : (tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xi32>) -> tensor<4x8xi32>, sym_name = "op34"}> ({
  ^bb0(%arg226: tensor<4x8xi32>):
    %149 = "stablehlo.not"(%arg226) : (tensor<4x8xi32>) -> tensor<4x8xi32>
    "func.return"(%149) : (tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xi32>) -> tensor<4x8xi32>, sym_name = "op35"}> ({
  ^bb0(%arg225: tensor<4x8xi32>):
    %148 = "stablehlo.count_leading_zeros"(%arg225) : (tensor<4x8xi32>) -> tensor<4x8xi32>
    "func.return"(%148) : (tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xi32>) -> tensor<4x8xi32>, sym_name = "op36"}> ({
  ^bb0(%arg224: tensor<4x8xi32>):
    %147 = "stablehlo.popcnt"(%arg224) : (tensor<4x8xi32>) -> tensor<4x8xi32>
    "func.return"(%147) : (tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op37"}> ({
  ^bb0(%arg223: tensor<4x8xf32>):
    %146 = "stablehlo.exponential"(%arg223) <{result_accuracy = #stablehlo.result_accuracy<ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%146) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op38"}> ({
  ^bb0(%arg222: tensor<4x8xf32>):
    %145 = "stablehlo.tanh"(%arg222) <{result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>}> {foo.bar = 1 : i32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%145) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xi1>, sym_name = "op39"}> ({
  ^bb0(%arg221: tensor<4x8xf32>):
    %144 = "stablehlo.is_finite"(%arg221) : (tensor<4x8xf32>) -> tensor<4x8xi1>
    "func.return"(%144) : (tensor<4x8xi1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>, sym_name = "op40"}> ({
  ^bb0(%arg220: tensor<4x8xcomplex<f32>>):
    %143 = "stablehlo.real"(%arg220) : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
    "func.return"(%143) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>, sym_name = "op41"}> ({
  ^bb0(%arg219: tensor<4x8xcomplex<f32>>):
    %142 = "stablehlo.imag"(%arg219) : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
    "func.return"(%142) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xcomplex<f32>>, sym_name = "op42"}> ({
  ^bb0(%arg217: tensor<4x8xf32>, %arg218: tensor<4x8xf32>):
    %141 = "stablehlo.complex"(%arg217, %arg218) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xcomplex<f32>>
    "func.return"(%141) : (tensor<4x8xcomplex<f32>>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>, sym_name = "op43"}> ({
  ^bb0(%arg216: tensor<4x8xcomplex<f32>>):
    %140 = "stablehlo.abs"(%arg216) : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
    "func.return"(%140) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xbf16>, sym_name = "op44"}> ({
  ^bb0(%arg215: tensor<4x8xf32>):
    %139 = "stablehlo.convert"(%arg215) : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    "func.return"(%139) : (tensor<4x8xbf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xi32>, sym_name = "op45"}> ({
  ^bb0(%arg214: tensor<4x8xf32>):
    %138 = "stablehlo.bitcast_convert"(%arg214) : (tensor<4x8xf32>) -> tensor<4x8xi32>
    "func.return"(%138) : (tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xi64>) -> tensor<4x2xi32>, sym_name = "op46"}> ({
  ^bb0(%arg213: tensor<4xi64>):
    %137 = "stablehlo.bitcast_convert"(%arg213) : (tensor<4xi64>) -> tensor<4x2xi32>
    "func.return"(%137) : (tensor<4x2xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<f32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op47"}> ({
  ^bb0(%arg210: tensor<f32>, %arg211: tensor<4x8xf32>, %arg212: tensor<4x8xf32>):
    %136 = "stablehlo.clamp"(%arg210, %arg211, %arg212) : (tensor<f32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%136) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op48"}> ({
  ^bb0(%arg207: tensor<i1>, %arg208: tensor<4x8xf32>, %arg209: tensor<4x8xf32>):
    %135 = "stablehlo.select"(%arg207, %arg208, %arg209) : (tensor<i1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%135) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op49"}> ({
  ^bb0(%arg204: tensor<4x8xi1>, %arg205: tensor<4x8xf32>, %arg206: tensor<4x8xf32>):
    %134 = "stablehlo.select"(%arg204, %arg205, %arg206) : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%134) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>, sym_name = "op50"}> ({
  ^bb0(%arg202: tensor<4x8xf32>, %arg203: tensor<4x8xf32>):
    %133 = "stablehlo.compare"(%arg202, %arg203) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    "func.return"(%133) : (tensor<4x8xi1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi1>, sym_name = "op51"}> ({
  ^bb0(%arg200: tensor<4x8xi32>, %arg201: tensor<4x8xi32>):
    %132 = "stablehlo.compare"(%arg200, %arg201) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi1>
    "func.return"(%132) : (tensor<4x8xi1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op52"}> ({
  ^bb0(%arg199: tensor<4x8xf32>):
    %131 = "stablehlo.reduce_precision"(%arg199) <{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%131) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x2x8xf32>, sym_name = "op53"}> ({
  ^bb0(%arg198: tensor<4x8xf32>):
    %130 = "stablehlo.broadcast_in_dim"(%arg198) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<4x8xf32>) -> tensor<4x2x8xf32>
    "func.return"(%130) : (tensor<4x2x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<f32>) -> tensor<4x8xf32>, sym_name = "op54"}> ({
  ^bb0(%arg197: tensor<f32>):
    %129 = "stablehlo.broadcast_in_dim"(%arg197) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8xf32>
    "func.return"(%129) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>, sym_name = "op55"}> ({
  ^bb0(%arg195: tensor<4x8xf32>, %arg196: tensor<4x8xf32>):
    %128 = "stablehlo.concatenate"(%arg195, %arg196) <{dimension = 0 : i64}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    "func.return"(%128) : (tensor<8x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<4x8xf32>, sym_name = "op56"}> ({
    %127 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<4x8xf32>}> : () -> tensor<4x8xf32>
    "func.return"(%127) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<2x2xi32>, sym_name = "op57"}> ({
    %126 = "stablehlo.constant"() <{value = dense<[[1, 2], [3, -4]]> : tensor<2x2xi32>}> {foo.x} : () -> tensor<2x2xi32>
    "func.return"(%126) : (tensor<2x2xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<8xf32>, sym_name = "op58"}> ({
    %125 = "stablehlo.constant"() <{value = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 4.000000e+00, 5.000000e+00, 6.000000e+00, 7.000000e+00]> : tensor<8xf32>}> : () -> tensor<8xf32>
    "func.return"(%125) : (tensor<8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<3xi1>, sym_name = "op59"}> ({
    %124 = "stablehlo.constant"() <{value = dense<[true, false, true]> : tensor<3xi1>}> : () -> tensor<3xi1>
    "func.return"(%124) : (tensor<3xi1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<2xcomplex<f32>>, sym_name = "op60"}> ({
    %123 = "stablehlo.constant"() <{value = dense<[(1.000000e+00,2.000000e+00), (3.000000e+00,4.000000e+00)]> : tensor<2xcomplex<f32>>}> : () -> tensor<2xcomplex<f32>>
    "func.return"(%123) : (tensor<2xcomplex<f32>>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<0x4xf32>, sym_name = "op61"}> ({
    %122 = "stablehlo.constant"() <{value = dense<> : tensor<0x4xf32>}> : () -> tensor<0x4xf32>
    "func.return"(%122) : (tensor<0x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<f32>, sym_name = "op62"}> ({
    %121 = "stablehlo.constant"() <{value = dense<0x7F800000> : tensor<f32>}> : () -> tensor<f32>
    "func.return"(%121) : (tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<8xf32>, sym_name = "op63"}> ({
    %120 = "stablehlo.constant"() <{value = dense_resource<blob> : tensor<8xf32>}> : () -> tensor<8xf32>
    "func.return"(%120) : (tensor<8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<4x8xi32>, sym_name = "op64"}> ({
    %119 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<4x8xi32>
    "func.return"(%119) : (tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<f32>) -> tensor<7x8xf32>, sym_name = "op65"}> ({
  ^bb0(%arg193: tensor<4x8xf32>, %arg194: tensor<f32>):
    %118 = "stablehlo.pad"(%arg193, %arg194) <{edge_padding_high = array<i64: 2, 0>, edge_padding_low = array<i64: 1, 0>, interior_padding = array<i64: 0, 0>}> : (tensor<4x8xf32>, tensor<f32>) -> tensor<7x8xf32>
    "func.return"(%118) : (tensor<7x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<32xf32>, sym_name = "op66"}> ({
  ^bb0(%arg192: tensor<4x8xf32>):
    %117 = "stablehlo.reshape"(%arg192) : (tensor<4x8xf32>) -> tensor<32xf32>
    "func.return"(%117) : (tensor<32xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op67"}> ({
  ^bb0(%arg191: tensor<4x8xf32>):
    %116 = "stablehlo.reverse"(%arg191) <{dimensions = array<i64: 0, 1>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%116) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<2x4xf32>, sym_name = "op68"}> ({
  ^bb0(%arg190: tensor<4x8xf32>):
    %115 = "stablehlo.slice"(%arg190) <{limit_indices = array<i64: 3, 8>, start_indices = array<i64: 1, 0>, strides = array<i64: 1, 2>}> : (tensor<4x8xf32>) -> tensor<2x4xf32>
    "func.return"(%115) : (tensor<2x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<8x4xf32>, sym_name = "op69"}> ({
  ^bb0(%arg189: tensor<4x8xf32>):
    %114 = "stablehlo.transpose"(%arg189) <{permutation = array<i64: 1, 0>}> : (tensor<4x8xf32>) -> tensor<8x4xf32>
    "func.return"(%114) : (tensor<8x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x8xf32>, sym_name = "op70"}> ({
  ^bb0(%arg186: tensor<4x8xf32>, %arg187: tensor<i32>, %arg188: tensor<i32>):
    %113 = "stablehlo.dynamic_slice"(%arg186, %arg187, %arg188) <{slice_sizes = array<i64: 2, 8>}> : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x8xf32>
    "func.return"(%113) : (tensor<2x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<2x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>, sym_name = "op71"}> ({
  ^bb0(%arg182: tensor<4x8xf32>, %arg183: tensor<2x8xf32>, %arg184: tensor<i32>, %arg185: tensor<i32>):
    %112 = "stablehlo.dynamic_update_slice"(%arg182, %arg183, %arg184, %arg185) : (tensor<4x8xf32>, tensor<2x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
    "func.return"(%112) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>, sym_name = "op72"}> ({
  ^bb0(%arg180: tensor<4x8xf32>, %arg181: tensor<3x1xi32>):
    %111 = "stablehlo.gather"(%arg180, %arg181) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
    "func.return"(%111) : (tensor<3x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x4x8xf32>, tensor<2x3x1xi32>) -> tensor<2x3x8xf32>, sym_name = "op73"}> ({
  ^bb0(%arg178: tensor<2x4x8xf32>, %arg179: tensor<2x3x1xi32>):
    %110 = "stablehlo.gather"(%arg178, %arg179) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 8>}> : (tensor<2x4x8xf32>, tensor<2x3x1xi32>) -> tensor<2x3x8xf32>
    "func.return"(%110) : (tensor<2x3x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<3x1xi32>, tensor<3x8xf32>) -> tensor<4x8xf32>, sym_name = "op74"}> ({
  ^bb0(%arg173: tensor<4x8xf32>, %arg174: tensor<3x1xi32>, %arg175: tensor<3x8xf32>):
    %108 = "stablehlo.scatter"(%arg173, %arg174, %arg175) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg176: tensor<f32>, %arg177: tensor<f32>):
      %109 = "stablehlo.add"(%arg176, %arg177) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%109) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>, tensor<3x1xi32>, tensor<3x8xf32>) -> tensor<4x8xf32>
    "func.return"(%108) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>, sym_name = "op75"}> ({
  ^bb0(%arg171: tensor<4x8xf32>, %arg172: tensor<8x16xf32>):
    %107 = "stablehlo.dot_general"(%arg171, %arg172) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>]}> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    "func.return"(%107) : (tensor<4x16xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x4x8xf32>, tensor<2x8x16xf32>) -> tensor<2x4x16xf32>, sym_name = "op76"}> ({
  ^bb0(%arg169: tensor<2x4x8xf32>, %arg170: tensor<2x8x16xf32>):
    %106 = "stablehlo.dot_general"(%arg169, %arg170) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<2x4x8xf32>, tensor<2x8x16xf32>) -> tensor<2x4x16xf32>
    "func.return"(%106) : (tensor<2x4x16xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>, tensor<8xf32>) -> tensor<4x8xf32>, sym_name = "op77"}> ({
  ^bb0(%arg167: tensor<4xf32>, %arg168: tensor<8xf32>):
    %105 = "stablehlo.dot_general"(%arg167, %arg168) <{dot_dimension_numbers = #stablehlo.dot<>}> : (tensor<4xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    "func.return"(%105) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>, sym_name = "op78"}> ({
  ^bb0(%arg165: tensor<4x8xf32>, %arg166: tensor<8x16xf32>):
    %104 = "stablehlo.dot"(%arg165, %arg166) <{precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    "func.return"(%104) : (tensor<4x16xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>, sym_name = "op79"}> ({
  ^bb0(%arg163: tensor<4x8xf32>, %arg164: tensor<8x16xf32>):
    %103 = "stablehlo.dot"(%arg163, %arg164) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    "func.return"(%103) : (tensor<4x16xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<1x8x8x4xf32>, tensor<3x3x4x16xf32>) -> tensor<1x4x4x16xf32>, sym_name = "op80"}> ({
  ^bb0(%arg161: tensor<1x8x8x4xf32>, %arg162: tensor<3x3x4x16xf32>):
    %102 = "stablehlo.convolution"(%arg161, %arg162) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, padding = dense<[[0, 1], [0, 1]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 2, 2>}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x16xf32>) -> tensor<1x4x4x16xf32>
    "func.return"(%102) : (tensor<1x4x4x16xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<1x8x8x4xf32>, tensor<3x3x4x16xf32>) -> tensor<1x6x6x16xf32>, sym_name = "op81"}> ({
  ^bb0(%arg159: tensor<1x8x8x4xf32>, %arg160: tensor<3x3x4x16xf32>):
    %101 = "stablehlo.convolution"(%arg159, %arg160) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x16xf32>) -> tensor<1x6x6x16xf32>
    "func.return"(%101) : (tensor<1x6x6x16xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>, sym_name = "op82"}> ({
  ^bb0(%arg155: tensor<4x8xf32>, %arg156: tensor<f32>):
    %99 = "stablehlo.reduce"(%arg155, %arg156) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg157: tensor<f32>, %arg158: tensor<f32>):
      %100 = "stablehlo.add"(%arg157, %arg158) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%100) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    "func.return"(%99) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>), sym_name = "op83"}> ({
  ^bb0(%arg147: tensor<4x8xf32>, %arg148: tensor<4x8xi32>, %arg149: tensor<f32>, %arg150: tensor<i32>):
    %96:2 = "stablehlo.reduce"(%arg147, %arg148, %arg149, %arg150) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg151: tensor<f32>, %arg152: tensor<i32>, %arg153: tensor<f32>, %arg154: tensor<i32>):
      %97 = "stablehlo.add"(%arg151, %arg153) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %98 = "stablehlo.add"(%arg152, %arg154) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%97, %98) : (tensor<f32>, tensor<i32>) -> ()
    }) {foo.x} : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
    "func.return"(%96#0, %96#1) : (tensor<4xf32>, tensor<4xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<f32>) -> tensor<2x8xf32>, sym_name = "op84"}> ({
  ^bb0(%arg143: tensor<4x8xf32>, %arg144: tensor<f32>):
    %94 = "stablehlo.reduce_window"(%arg143, %arg144) <{padding = dense<0> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
    ^bb0(%arg145: tensor<f32>, %arg146: tensor<f32>):
      %95 = "stablehlo.maximum"(%arg145, %arg146) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%95) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<2x8xf32>
    "func.return"(%94) : (tensor<2x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<2x8xf32>, tensor<f32>) -> tensor<4x8xf32>, sym_name = "op85"}> ({
  ^bb0(%arg136: tensor<4x8xf32>, %arg137: tensor<2x8xf32>, %arg138: tensor<f32>):
    %91 = "stablehlo.select_and_scatter"(%arg136, %arg137, %arg138) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
    ^bb0(%arg141: tensor<f32>, %arg142: tensor<f32>):
      %93 = "stablehlo.compare"(%arg141, %arg142) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%93) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg139: tensor<f32>, %arg140: tensor<f32>):
      %92 = "stablehlo.add"(%arg139, %arg140) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%92) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>, tensor<2x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    "func.return"(%91) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>), sym_name = "op86"}> ({
  ^bb0(%arg130: tensor<4x8xf32>, %arg131: tensor<4x8xi32>):
    %89:2 = "stablehlo.sort"(%arg130, %arg131) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg132: tensor<f32>, %arg133: tensor<f32>, %arg134: tensor<i32>, %arg135: tensor<i32>):
      %90 = "stablehlo.compare"(%arg132, %arg133) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%90) : (tensor<i1>) -> ()
    }) : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
    "func.return"(%89#0, %89#1) : (tensor<4x8xf32>, tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x4xf32>) -> tensor<4x4xf32>, sym_name = "op87"}> ({
  ^bb0(%arg129: tensor<4x4xf32>):
    %88 = "stablehlo.cholesky"(%arg129) <{lower = true}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "func.return"(%88) : (tensor<4x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op88"}> ({
  ^bb0(%arg127: tensor<4x4xf32>, %arg128: tensor<4x8xf32>):
    %87 = "stablehlo.triangular_solve"(%arg127, %arg128) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%87) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>, sym_name = "op89"}> ({
  ^bb0(%arg126: tensor<4x8xcomplex<f32>>):
    %86 = "stablehlo.fft"(%arg126) <{fft_length = array<i64: 8>, fft_type = #stablehlo<fft_type FFT>}> : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>
    "func.return"(%86) : (tensor<4x8xcomplex<f32>>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>, sym_name = "op90"}> ({
  ^bb0(%arg121: tensor<2x4x8xf32>, %arg122: tensor<8xf32>, %arg123: tensor<8xf32>, %arg124: tensor<8xf32>, %arg125: tensor<8xf32>):
    %85 = "stablehlo.batch_norm_inference"(%arg121, %arg122, %arg123, %arg124, %arg125) <{epsilon = 1.000000e-03 : f32, feature_index = 2 : i64}> : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
    "func.return"(%85) : (tensor<2x4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>), sym_name = "op91"}> ({
  ^bb0(%arg118: tensor<2x4x8xf32>, %arg119: tensor<8xf32>, %arg120: tensor<8xf32>):
    %84:3 = "stablehlo.batch_norm_training"(%arg118, %arg119, %arg120) <{epsilon = 1.000000e-03 : f32, feature_index = 2 : i64}> : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>)
    "func.return"(%84#0, %84#1, %84#2) : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>), sym_name = "op92"}> ({
  ^bb0(%arg113: tensor<2x4x8xf32>, %arg114: tensor<8xf32>, %arg115: tensor<8xf32>, %arg116: tensor<8xf32>, %arg117: tensor<2x4x8xf32>):
    %83:3 = "stablehlo.batch_norm_grad"(%arg113, %arg114, %arg115, %arg116, %arg117) <{epsilon = 1.000000e-03 : f32, feature_index = 2 : i64}> : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>)
    "func.return"(%83#0, %83#1, %83#2) : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>), sym_name = "op93"}> ({
  ^bb0(%arg112: tensor<2xui64>):
    %82:2 = "stablehlo.rng_bit_generator"(%arg112) <{rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
    "func.return"(%82#0, %82#1) : (tensor<2xui64>, tensor<8xui32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op94"}> ({
  ^bb0(%arg108: tensor<4x8xf32>, %arg109: tensor<4x8xf32>):
    %80 = "stablehlo.map"(%arg108, %arg109) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg110: tensor<f32>, %arg111: tensor<f32>):
      %81 = "stablehlo.add"(%arg110, %arg111) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%81) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%80) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>, sym_name = "op95"}> ({
  ^bb0(%arg106: tensor<4x8xf32>, %arg107: tensor<8x16xf32>):
    %79 = "stablehlo.einsum"(%arg106, %arg107) <{einsum_config = "ab,bc->ac"}> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    "func.return"(%79) : (tensor<4x16xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<3xi32>) -> tensor<3x8xf32>, sym_name = "op96"}> ({
  ^bb0(%arg104: tensor<4x8xf32>, %arg105: tensor<3xi32>):
    %78 = "stablehlo.torch_index_select"(%arg104, %arg105) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<4x8xf32>, tensor<3xi32>) -> tensor<3x8xf32>
    "func.return"(%78) : (tensor<3x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op97"}> ({
  ^bb0(%arg103: tensor<4x8xf32>):
    %77 = "stablehlo.composite"(%arg103) <{composite_attributes = {a = 1 : i64}, decomposition = @callee, name = "my.op", version = 1 : i32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%77) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op98"}> ({
  ^bb0(%arg101: tensor<4x8xf32>, %arg102: tensor<4x8xf32>):
    %76 = "stablehlo.custom_call"(%arg101, %arg102) <{api_version = 2 : i32, backend_config = "x\22y", call_target_name = "foo", called_computations = [@callee], has_side_effect = true}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%76) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>), sym_name = "op99"}> ({
  ^bb0(%arg100: tensor<4x8xf32>):
    %75:2 = "stablehlo.custom_call"(%arg100) <{api_version = 4 : i32, backend_config = {a = 1 : i32, "b c" = [1.000000e+00 : f32, "s"]}, call_target_name = "foo bar", operand_layouts = [dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>]}> {mhlo.sharding = "{devices=[2,1]<=[2]}"} : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    "func.return"(%75#0, %75#1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<3xi32>) -> tensor<4x?x8xf32>, sym_name = "op100"}> ({
  ^bb0(%arg98: tensor<4x8xf32>, %arg99: tensor<3xi32>):
    %74 = "stablehlo.dynamic_broadcast_in_dim"(%arg98, %arg99) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<4x8xf32>, tensor<3xi32>) -> tensor<4x?x8xf32>
    "func.return"(%74) : (tensor<4x?x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<1x8x8x4xf32>, tensor<3x3x4x16xf32>, tensor<2x2xi32>) -> tensor<1x?x?x16xf32>, sym_name = "op101"}> ({
  ^bb0(%arg95: tensor<1x8x8x4xf32>, %arg96: tensor<3x3x4x16xf32>, %arg97: tensor<2x2xi32>):
    %73 = "stablehlo.dynamic_conv"(%arg95, %arg96, %arg97) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x16xf32>, tensor<2x2xi32>) -> tensor<1x?x?x16xf32>
    "func.return"(%73) : (tensor<1x?x?x16xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<3x1xi32>, tensor<2xi32>) -> tensor<3x?xf32>, sym_name = "op102"}> ({
  ^bb0(%arg92: tensor<4x8xf32>, %arg93: tensor<3x1xi32>, %arg94: tensor<2xi32>):
    %72 = "stablehlo.dynamic_gather"(%arg92, %arg93, %arg94) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x8xf32>, tensor<3x1xi32>, tensor<2xi32>) -> tensor<3x?xf32>
    "func.return"(%72) : (tensor<3x?xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2xi32>) -> tensor<?x8xi32>, sym_name = "op103"}> ({
  ^bb0(%arg91: tensor<2xi32>):
    %71 = "stablehlo.dynamic_iota"(%arg91) <{iota_dimension = 1 : i64}> : (tensor<2xi32>) -> tensor<?x8xi32>
    "func.return"(%71) : (tensor<?x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>, sym_name = "op104"}> ({
  ^bb0(%arg86: tensor<4x8xf32>, %arg87: tensor<f32>, %arg88: tensor<2xi32>, %arg89: tensor<2xi32>, %arg90: tensor<2xi32>):
    %70 = "stablehlo.dynamic_pad"(%arg86, %arg87, %arg88, %arg89, %arg90) : (tensor<4x8xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
    "func.return"(%70) : (tensor<?x?xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<2xi32>) -> tensor<?x8xf32>, sym_name = "op105"}> ({
  ^bb0(%arg84: tensor<4x8xf32>, %arg85: tensor<2xi32>):
    %69 = "stablehlo.dynamic_reshape"(%arg84, %arg85) : (tensor<4x8xf32>, tensor<2xi32>) -> tensor<?x8xf32>
    "func.return"(%69) : (tensor<?x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x8xf32>, sym_name = "op106"}> ({
  ^bb0(%arg80: tensor<4x8xf32>, %arg81: tensor<2xi32>, %arg82: tensor<2xi32>, %arg83: tensor<2xi32>):
    %68 = "stablehlo.real_dynamic_slice"(%arg80, %arg81, %arg82, %arg83) : (tensor<4x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x8xf32>
    "func.return"(%68) : (tensor<?x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<?x8xf32, #stablehlo.bounds<4, ?>>) -> tensor<i32>, sym_name = "op107"}> ({
  ^bb0(%arg79: tensor<?x8xf32, #stablehlo.bounds<4, ?>>):
    %67 = "stablehlo.get_dimension_size"(%arg79) <{dimension = 0 : i64}> : (tensor<?x8xf32, #stablehlo.bounds<4, ?>>) -> tensor<i32>
    "func.return"(%67) : (tensor<i32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<i32>) -> tensor<?x8xf32, #stablehlo.bounds<4, ?>>, sym_name = "op108"}> ({
  ^bb0(%arg77: tensor<4x8xf32>, %arg78: tensor<i32>):
    %66 = "stablehlo.set_dimension_size"(%arg77, %arg78) <{dimension = 0 : i64}> : (tensor<4x8xf32>, tensor<i32>) -> tensor<?x8xf32, #stablehlo.bounds<4, ?>>
    "func.return"(%66) : (tensor<?x8xf32, #stablehlo.bounds<4, ?>>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<?x8xf32, #stablehlo.bounds<4, ?>>, tensor<?x8xf32, #stablehlo.bounds<4, ?>>) -> tensor<?x8xf32, #stablehlo.bounds<4, ?>>, sym_name = "op109"}> ({
  ^bb0(%arg75: tensor<?x8xf32, #stablehlo.bounds<4, ?>>, %arg76: tensor<?x8xf32, #stablehlo.bounds<4, ?>>):
    %65 = "stablehlo.add"(%arg75, %arg76) : (tensor<?x8xf32, #stablehlo.bounds<4, ?>>, tensor<?x8xf32, #stablehlo.bounds<4, ?>>) -> tensor<?x8xf32, #stablehlo.bounds<4, ?>>
    "func.return"(%65) : (tensor<?x8xf32, #stablehlo.bounds<4, ?>>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<8x8xf32>, sym_name = "op110"}> ({
  ^bb0(%arg74: tensor<4x8xf32>):
    %64 = "stablehlo.all_gather"(%arg74) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<4x8xf32>) -> tensor<8x8xf32>
    "func.return"(%64) : (tensor<8x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op111"}> ({
  ^bb0(%arg71: tensor<4x8xf32>):
    %62 = "stablehlo.all_reduce"(%arg71) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%arg72: tensor<f32>, %arg73: tensor<f32>):
      %63 = "stablehlo.add"(%arg72, %arg73) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%63) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%62) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<2x8xf32>, sym_name = "op112"}> ({
  ^bb0(%arg68: tensor<4x8xf32>):
    %60 = "stablehlo.reduce_scatter"(%arg68) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
    ^bb0(%arg69: tensor<f32>, %arg70: tensor<f32>):
      %61 = "stablehlo.add"(%arg69, %arg70) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%61) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>) -> tensor<2x8xf32>
    "func.return"(%60) : (tensor<2x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<8x4xf32>, sym_name = "op113"}> ({
  ^bb0(%arg67: tensor<4x8xf32>):
    %59 = "stablehlo.all_to_all"(%arg67) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<4x8xf32>) -> tensor<8x4xf32>
    "func.return"(%59) : (tensor<8x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op114"}> ({
  ^bb0(%arg66: tensor<4x8xf32>):
    %58 = "stablehlo.collective_permute"(%arg66) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%58) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op115"}> ({
  ^bb0(%arg65: tensor<4x8xf32>):
    %57 = "stablehlo.collective_broadcast"(%arg65) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%57) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op116"}> ({
  ^bb0(%arg64: tensor<4x8xf32>):
    %56 = "stablehlo.cross-replica-sum"(%arg64) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%56) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<ui32>, sym_name = "op117"}> ({
    %55 = "stablehlo.partition_id"() : () -> tensor<ui32>
    "func.return"(%55) : (tensor<ui32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<ui32>, sym_name = "op118"}> ({
    %54 = "stablehlo.replica_id"() : () -> tensor<ui32>
    "func.return"(%54) : (tensor<ui32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i32>, tensor<4x8xf32>) -> (tensor<i32>, tensor<4x8xf32>), sym_name = "op119"}> ({
  ^bb0(%arg58: tensor<i32>, %arg59: tensor<4x8xf32>):
    %52:2 = "stablehlo.while"(%arg58, %arg59) ({
    ^bb0(%arg62: tensor<i32>, %arg63: tensor<4x8xf32>):
      %53 = "stablehlo.compare"(%arg62, %arg62) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%53) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg60: tensor<i32>, %arg61: tensor<4x8xf32>):
      "stablehlo.return"(%arg60, %arg61) : (tensor<i32>, tensor<4x8xf32>) -> ()
    }) {foo.x = 1 : i32} : (tensor<i32>, tensor<4x8xf32>) -> (tensor<i32>, tensor<4x8xf32>)
    "func.return"(%52#0, %52#1) : (tensor<i32>, tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i32>) -> tensor<f32>, sym_name = "op120"}> ({
  ^bb0(%arg57: tensor<i32>):
    %48 = "stablehlo.case"(%arg57) ({
      %51 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      "stablehlo.return"(%51) : (tensor<f32>) -> ()
    }, {
      %50 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      "stablehlo.return"(%50) : (tensor<f32>) -> ()
    }, {
      %49 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      "stablehlo.return"(%49) : (tensor<f32>) -> ()
    }) : (tensor<i32>) -> tensor<f32>
    "func.return"(%48) : (tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i1>) -> tensor<f32>, sym_name = "op121"}> ({
  ^bb0(%arg56: tensor<i1>):
    %45 = "stablehlo.if"(%arg56) ({
      %47 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      "stablehlo.return"(%47) : (tensor<f32>) -> ()
    }, {
      %46 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      "stablehlo.return"(%46) : (tensor<f32>) -> ()
    }) : (tensor<i1>) -> tensor<f32>
    "func.return"(%45) : (tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>), sym_name = "op122"}> ({
  ^bb0(%arg54: tensor<4x8xf32>, %arg55: tensor<4x8xi32>):
    %44:2 = "stablehlo.optimization_barrier"(%arg54, %arg55) : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
    "func.return"(%44#0, %44#1) : (tensor<4x8xf32>, tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op123"}> ({
  ^bb0(%arg53: tensor<4x8xf32>):
    %43 = "stablehlo.optimization_barrier"(%arg53) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%43) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> (), sym_name = "op124"}> ({
    "stablehlo.optimization_barrier"() : () -> ()
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!stablehlo.token, !stablehlo.token) -> !stablehlo.token, sym_name = "op125"}> ({
  ^bb0(%arg51: !stablehlo.token, %arg52: !stablehlo.token):
    %42 = "stablehlo.after_all"(%arg51, %arg52) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
    "func.return"(%42) : (!stablehlo.token) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> !stablehlo.token, sym_name = "op126"}> ({
    %41 = "stablehlo.create_token"() : () -> !stablehlo.token
    "func.return"(%41) : (!stablehlo.token) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> !stablehlo.token, sym_name = "op127"}> ({
    %40 = "stablehlo.after_all"() : () -> !stablehlo.token
    "func.return"(%40) : (!stablehlo.token) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xi32>) -> tuple<tensor<4x8xf32>, tensor<4x8xi32>>, sym_name = "op128"}> ({
  ^bb0(%arg49: tensor<4x8xf32>, %arg50: tensor<4x8xi32>):
    %39 = "stablehlo.tuple"(%arg49, %arg50) : (tensor<4x8xf32>, tensor<4x8xi32>) -> tuple<tensor<4x8xf32>, tensor<4x8xi32>>
    "func.return"(%39) : (tuple<tensor<4x8xf32>, tensor<4x8xi32>>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tuple<tensor<4x8xf32>, tensor<4x8xi32>>) -> tensor<4x8xi32>, sym_name = "op129"}> ({
  ^bb0(%arg48: tuple<tensor<4x8xf32>, tensor<4x8xi32>>):
    %38 = "stablehlo.get_tuple_element"(%arg48) <{index = 1 : i32}> : (tuple<tensor<4x8xf32>, tensor<4x8xi32>>) -> tensor<4x8xi32>
    "func.return"(%38) : (tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!stablehlo.token) -> (tensor<4x8xf32>, !stablehlo.token), sym_name = "op130"}> ({
  ^bb0(%arg47: !stablehlo.token):
    %37:2 = "stablehlo.infeed"(%arg47) <{infeed_config = "", layout = [[0, 1]]}> : (!stablehlo.token) -> (tensor<4x8xf32>, !stablehlo.token)
    "func.return"(%37#0, %37#1) : (tensor<4x8xf32>, !stablehlo.token) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, !stablehlo.token) -> !stablehlo.token, sym_name = "op131"}> ({
  ^bb0(%arg45: tensor<4x8xf32>, %arg46: !stablehlo.token):
    %36 = "stablehlo.outfeed"(%arg45, %arg46) <{outfeed_config = ""}> : (tensor<4x8xf32>, !stablehlo.token) -> !stablehlo.token
    "func.return"(%36) : (!stablehlo.token) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, !stablehlo.token) -> !stablehlo.token, sym_name = "op132"}> ({
  ^bb0(%arg43: tensor<4x8xf32>, %arg44: !stablehlo.token):
    %35 = "stablehlo.send"(%arg43, %arg44) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (tensor<4x8xf32>, !stablehlo.token) -> !stablehlo.token
    "func.return"(%35) : (!stablehlo.token) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (!stablehlo.token) -> (tensor<4x8xf32>, !stablehlo.token), sym_name = "op133"}> ({
  ^bb0(%arg42: !stablehlo.token):
    %34:2 = "stablehlo.recv"(%arg42) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4x8xf32>, !stablehlo.token)
    "func.return"(%34#0, %34#1) : (tensor<4x8xf32>, !stablehlo.token) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op134"}> ({
  ^bb0(%arg41: tensor<4x8xf32>):
    %33 = "chlo.acos"(%arg41) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%33) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op135"}> ({
  ^bb0(%arg40: tensor<4x8xf32>):
    %32 = "chlo.acosh"(%arg40) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%32) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op136"}> ({
  ^bb0(%arg39: tensor<4x8xf32>):
    %31 = "chlo.asin"(%arg39) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%31) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op137"}> ({
  ^bb0(%arg38: tensor<4x8xf32>):
    %30 = "chlo.asinh"(%arg38) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%30) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op138"}> ({
  ^bb0(%arg37: tensor<4x8xf32>):
    %29 = "chlo.atan"(%arg37) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%29) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op139"}> ({
  ^bb0(%arg36: tensor<4x8xf32>):
    %28 = "chlo.atanh"(%arg36) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%28) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op140"}> ({
  ^bb0(%arg35: tensor<4x8xf32>):
    %27 = "chlo.cosh"(%arg35) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%27) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op141"}> ({
  ^bb0(%arg34: tensor<4x8xf32>):
    %26 = "chlo.sinh"(%arg34) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%26) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op142"}> ({
  ^bb0(%arg33: tensor<4x8xf32>):
    %25 = "chlo.digamma"(%arg33) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%25) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op143"}> ({
  ^bb0(%arg32: tensor<4x8xf32>):
    %24 = "chlo.erf"(%arg32) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%24) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op144"}> ({
  ^bb0(%arg31: tensor<4x8xf32>):
    %23 = "chlo.erf_inv"(%arg31) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%23) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op145"}> ({
  ^bb0(%arg30: tensor<4x8xf32>):
    %22 = "chlo.erfc"(%arg30) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%22) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op146"}> ({
  ^bb0(%arg29: tensor<4x8xf32>):
    %21 = "chlo.lgamma"(%arg29) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%21) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op147"}> ({
  ^bb0(%arg28: tensor<4x8xf32>):
    %20 = "chlo.square"(%arg28) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%20) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op148"}> ({
  ^bb0(%arg26: tensor<4x8xf32>, %arg27: tensor<4x8xf32>):
    %19 = "chlo.next_after"(%arg26, %arg27) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%19) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>), sym_name = "op149"}> ({
  ^bb0(%arg25: tensor<4x8xf32>):
    %18:2 = "chlo.top_k"(%arg25) <{k = 2 : i64}> : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
    "func.return"(%18#0, %18#1) : (tensor<4x2xf32>, tensor<4x2xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>, sym_name = "op150"}> ({
  ^bb0(%arg22: tensor<11x5xf32>, %arg23: tensor<3x5x7xf32>, %arg24: tensor<3xi64>):
    %17 = "chlo.ragged_dot"(%arg22, %arg23, %arg24) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>
    "func.return"(%17) : (tensor<11x7xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>), sym_name = "op151"}> ({
  ^bb0(%arg20: tensor<4x8xf32>, %arg21: tensor<4x8xi32>):
    %16:2 = "func.call"(%arg20, %arg21) <{callee = @two}> : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
    "func.return"(%16#0, %16#1) : (tensor<4x8xf32>, tensor<4x8xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op152"}> ({
  ^bb0(%arg19: tensor<4x8xf32>):
    %15 = "func.call"(%arg19) <{callee = @callee}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%15) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> (), sym_name = "op153"}> ({
    "func.call"() <{callee = @none}> : () -> ()
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> tensor<4x8xf32>, sym_name = "op154"}> ({
    %14 = "sdy.constant"() <{value = dense<1.000000e+00> : tensor<4x8xf32>}> : () -> tensor<4x8xf32>
    "func.return"(%14) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op155"}> ({
  ^bb0(%arg18: tensor<4x8xf32>):
    %13 = "sdy.sharding_constraint"(%arg18) <{sharding = #sdy.sharding<@mesh, [{"a"}, {?}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%13) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op156"}> ({
  ^bb0(%arg17: tensor<4x8xf32>):
    %12 = "sdy.reshard"(%arg17) <{sharding = #sdy.sharding<@mesh, [{"a"}, {?}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%12) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> (), sym_name = "op157"}> ({
  ^bb0(%arg16: tensor<4x8xf32>):
    "sdy.sharding_group"(%arg16) <{group_id = 3 : i64}> : (tensor<4x8xf32>) -> ()
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op158"}> ({
  ^bb0(%arg15: tensor<4x8xf32>):
    %11 = "sdy.propagation_barrier"(%arg15) <{allowed_direction = 1 : i32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%11) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op159"}> ({
  ^bb0(%arg13: tensor<4x8xf32>):
    %10 = "sdy.manual_computation"(%arg13) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"a"}, {}]>]>, manual_axes = #sdy<manual_axes{"a"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{"a"}, {}]>]>}> ({
    ^bb0(%arg14: tensor<2x8xf32>):
      "sdy.return"(%arg14) : (tensor<2x8xf32>) -> ()
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%10) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> (), sym_name = "op160"}> ({
    "sdy.manual_computation"() <{in_shardings = #sdy.sharding_per_value<[]>, manual_axes = #sdy<manual_axes{}>, out_shardings = #sdy.sharding_per_value<[]>}> ({
      "sdy.return"() : () -> ()
    }) : () -> ()
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op161"}> ({
  ^bb0(%arg11: tensor<4x8xf32>):
    %9 = "sdy.named_computation"(%arg11) <{name = "n"}> ({
    ^bb0(%arg12: tensor<4x8xf32>):
      "sdy.return"(%arg12) : (tensor<4x8xf32>) -> ()
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%9) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}], function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op162"}> ({
  ^bb0(%arg10: tensor<4x8xf32>):
    %8 = "sdy.all_gather"(%arg10) <{gathering_axes = #sdy<list_of_axis_ref_lists[{"a"}, {}]>, out_sharding = #sdy.sharding<@mesh, [{}, {}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%8) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}], function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op163"}> ({
  ^bb0(%arg9: tensor<4x8xf32>):
    %7 = "sdy.all_slice"(%arg9) <{out_sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>, slicing_axes = #sdy<list_of_axis_ref_lists[{}, {"b"}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%7) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}], function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op164"}> ({
  ^bb0(%arg8: tensor<4x8xf32>):
    %6 = "sdy.all_to_all"(%arg8) <{out_sharding = #sdy.sharding<@mesh, [{}, {"a"}]>, params = #sdy<all_to_all_param_list[{"a"}: 0->1]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%6) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"b":(1)2}, {}]>}], function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op165"}> ({
  ^bb0(%arg7: tensor<4x8xf32>):
    %5 = "sdy.collective_permute"(%arg7) <{out_sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%5) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}], unreduced={"b"}>}], function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op166"}> ({
  ^bb0(%arg6: tensor<4x8xf32>):
    %4 = "sdy.all_reduce"(%arg6) <{out_sharding = #sdy.sharding<@mesh, [{"a"}, {}]>, reduction_axes = #sdy<axis_ref_list{"b"}>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%4) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}], function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op167"}> ({
  ^bb0(%arg5: tensor<4x8xf32>):
    %3 = "sdy.reduce_scatter"(%arg5) <{out_sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>, reduce_scatter_axes = #sdy<list_of_axis_ref_lists[{}, {"b"}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%3) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}], function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op168"}> ({
  ^bb0(%arg4: tensor<4x8xf32>):
    %2 = "sdy.replicated_to_unreduced"(%arg4) <{axes = #sdy<axis_ref_list{"b"}>, out_sharding = #sdy.sharding<@mesh, [{"a"}, {}], unreduced={"b"}>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%2) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}], function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op169"}> ({
  ^bb0(%arg3: tensor<4x8xf32>):
    %1 = "sdy.sharded_to_unreduced"(%arg3) <{axes = #sdy<list_of_axis_ref_lists[{"a"}, {}]>, out_sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"a"}>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%1) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "op170"}> ({
  ^bb0(%arg1: tensor<4x8xf32>, %arg2: tensor<4x8xf32>):
    %0 = "stablehlo.add"(%arg1, %arg2) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}, {}]>]>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%0) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> (), sym_name = "op171"}> ({
  ^bb0(%arg0: tensor<4x8xf32>):
    "stablehlo.custom_call"(%arg0) <{call_target_name = "none", has_side_effect = true}> : (tensor<4x8xf32>) -> ()
    "func.return"() : () -> ()
  }) : () -> ()
}) {foo.map = #map, mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

{-#
  dialect_resources: {
    builtin: {
      blob: "0x040000000000803F000000400000404000008040000080400000A0400000C0400000E040"
    }
  }
#-}
