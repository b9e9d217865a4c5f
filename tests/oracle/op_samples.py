"""One small program per op of the op table that a CPU can run, for checking sharded execution against whole execution.

SAMPLES: op -> (types of the arguments, lines, types of the results). Lines use $0, $1, .. for arguments; %r, or %r#0,
%r#1, .. are the results. No jax here: tools/op-coverage reads it too."""
import re

ADD = """({
^bb0(%%x: tensor<%s>, %%y: tensor<%s>):
  %%q = stablehlo.%s %%x, %%y : tensor<%s>
  stablehlo.return %%q : tensor<%s>
})"""
F, I, P, S = "tensor<8x8xf32>", "tensor<8x8xi32>", "tensor<8x8xi1>", "tensor<f32>"
V, C, T, N = "tensor<8xf32>", "tensor<8x8xcomplex<f32>>", "tensor<4x8x8xf32>", "tensor<i32>"
# jaxlib's passes know no rule for chlo, but a program of one device takes them as elementwise
RULE = "{sdy.sharding_rule = #sdy.op_sharding_rule<(%s)->([i, j]) {i=8, j=8}>}"
ONE, TWO = RULE % "[i, j]", RULE % "[i, j], [i, j]"
SAMPLES = {}


WHOLE = {}  # lines that say the same for one device, where the sample itself cannot run there


def sample(op, arguments, lines, *results):
    SAMPLES[op] = (list(arguments), [lines] if isinstance(lines, str) else list(lines), list(results))


def body(op="add", kind="f32"):
    return ADD % (kind, kind, op, kind, kind)


for name in ("abs cbrt ceil cosine exponential exponential_minus_one floor log log_plus_one logistic negate round_nearest_even round_nearest_afz "
             "rsqrt sign sine sqrt tan tanh").split():
    sample("stablehlo." + name, [F], "%%r = stablehlo.%s $0 : %s" % (name, F), F)
for name in "add atan2 divide maximum minimum multiply power remainder subtract".split():
    sample("stablehlo." + name, [F, F], "%%r = stablehlo.%s $0, $1 : %s" % (name, F), F)
for name in "and or xor shift_left shift_right_arithmetic shift_right_logical".split():
    sample("stablehlo." + name, [I, I], "%%r = stablehlo.%s $0, $1 : %s" % (name, I), I)
for name in "not popcnt count_leading_zeros".split():
    sample("stablehlo." + name, [I], "%%r = stablehlo.%s $0 : %s" % (name, I), I)
for name in "asin asinh atan atanh bessel_i1e cosh sinh erf erf_inv erfc square tan".split():
    sample("chlo." + name, [F], "%%r = chlo.%s $0 %s : %s -> %s" % (name, ONE, F, F), F)
for name in "acos digamma lgamma".split():
    sample("chlo." + name, [F], ["%one = stablehlo.constant dense<0.5> : " + F, "%x = stablehlo.add $0, %one : " + F,
                                 "%%r = chlo.%s %%x %s : %s -> %s" % (name, ONE, F, F)], F)
sample("chlo.acosh", [F], ["%one = stablehlo.constant dense<1.5> : " + F, "%x = stablehlo.add $0, %one : " + F, "%%r = chlo.acosh %%x %s : %s -> %s" % (ONE, F, F)], F)
for name in "is_inf is_neg_inf is_pos_inf".split():
    sample("chlo." + name, [F], "%%r = chlo.%s $0 %s : %s -> %s" % (name, ONE, F, P), P)
for name in "polygamma zeta".split():
    sample("chlo." + name, [F, F], ["%two = stablehlo.constant dense<2.0> : " + F, "%x = stablehlo.add $0, %two : " + F, "%y = stablehlo.add $1, %two : " + F,
                                    "%%r = chlo.%s %%x, %%y %s : %s, %s -> %s" % (name, TWO, F, F, F)], F)
for name in "add atan2 divide maximum minimum multiply next_after power remainder subtract".split():
    sample("chlo.broadcast_" + name, [F, F], "%%r = chlo.broadcast_%s $0, $1 %s : (%s, %s) -> %s" % (name, TWO, F, F, F), F)
for name in "and or xor shift_left shift_right_arithmetic shift_right_logical".split():
    sample("chlo.broadcast_" + name, [I, I], "%%r = chlo.broadcast_%s $0, $1 %s : (%s, %s) -> %s" % (name, TWO, I, I, I), I)
sample("stablehlo.broadcast", [V], '%%r = stablehlo.broadcast $0, sizes = [4] : (%s) -> tensor<4x8xf32>' % V, "tensor<4x8xf32>")
sample("chlo.next_after", [F, F], "%%r = chlo.next_after $0, $1 %s : %s, %s -> %s" % (TWO, F, F, F), F)
sample("chlo.top_k", [F], "%%r:2 = chlo.top_k($0, k = 4) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j], [i, j]) {i=8, j=8} need_replication={j} "
       "blocked_propagation={j}>} : %s -> (tensor<8x4xf32>, tensor<8x4xi32>)" % F, "tensor<8x4xf32>", "tensor<8x4xi32>")

# elementwise with types of their own
sample("stablehlo.clamp", [S, F, F], "%%r = stablehlo.clamp $0, $1, $2 : (%s, %s, %s) -> %s" % (S, F, F, F), F)
sample("stablehlo.compare", [F, F], "%%r = stablehlo.compare LT, $0, $1, FLOAT : (%s, %s) -> %s" % (F, F, P), P)
sample("stablehlo.complex", [F, F], ["%%c = stablehlo.complex $0, $1 : %s" % C, "%%r = stablehlo.imag %%c : (%s) -> %s" % (C, F)], F)
sample("stablehlo.real", [C], "%%r = stablehlo.real $0 : (%s) -> %s" % (C, F), F)
sample("stablehlo.imag", [C], "%%r = stablehlo.imag $0 : (%s) -> %s" % (C, F), F)
sample("stablehlo.convert", [I], "%%r = stablehlo.convert $0 : (%s) -> %s" % (I, F), F)
sample("stablehlo.is_finite", [F], "%%r = stablehlo.is_finite $0 : (%s) -> %s" % (F, P), P)
sample("stablehlo.reduce_precision", [F], "%%r = stablehlo.reduce_precision $0, format = e5m10 : %s" % F, F)
sample("stablehlo.select", [P, F, F], "%%r = stablehlo.select $0, $1, $2 : %s, %s" % (P, F), F)
sample("stablehlo.bitcast_convert", [F], "%%r = stablehlo.bitcast_convert $0 : (%s) -> %s" % (F, I), I)
sample("stablehlo.map", [F, F], '%%r = "stablehlo.map"($0, $1) <{dimensions = array<i64: 0, 1>}> %s : (%s, %s) -> %s' % (body("multiply"), F, F, F), F)

# shape
sample("stablehlo.broadcast_in_dim", [V], "%%r = stablehlo.broadcast_in_dim $0, dims = [1] : (%s) -> %s" % (V, T.replace("4x8x8", "4x8")), "tensor<4x8xf32>")
sample("stablehlo.concatenate", [F, F], "%%r = stablehlo.concatenate $0, $1, dim = 0 : (%s, %s) -> tensor<16x8xf32>" % (F, F), "tensor<16x8xf32>")
sample("stablehlo.constant", [F], ["%%c = stablehlo.constant dense<0.25> : %s" % F, "%%r = stablehlo.add $0, %%c : %s" % F], F)
sample("sdy.constant", [F], ["%%c = sdy.constant dense<0.25> : %s" % F, "%%r = stablehlo.add $0, %%c : %s" % F], F)
sample("stablehlo.iota", [F], ["%%i = stablehlo.iota dim = 1 : %s" % F, "%%r = stablehlo.add $0, %%i : %s" % F], F)
sample("stablehlo.pad", [F, S], "%%r = stablehlo.pad $0, $1, low = [0, 2], high = [0, 6], interior = [0, 0] : (%s, %s) -> tensor<8x16xf32>" % (F, S), "tensor<8x16xf32>")
sample("stablehlo.reshape", [T], "%%r = stablehlo.reshape $0 : (%s) -> tensor<32x8xf32>" % T, "tensor<32x8xf32>")
sample("stablehlo.reverse", [F], "%%r = stablehlo.reverse $0, dims = [1] : %s" % F, F)
sample("stablehlo.slice", [F], "%%r = stablehlo.slice $0 [0:8, 2:6] : (%s) -> tensor<8x4xf32>" % F, "tensor<8x4xf32>")
sample("stablehlo.transpose", [T], "%%r = stablehlo.transpose $0, dims = [2, 0, 1] : (%s) -> tensor<8x4x8xf32>" % T, "tensor<8x4x8xf32>")
sample("stablehlo.dynamic_slice", [F, N, N], "%%r = stablehlo.dynamic_slice $0, $1, $2, sizes = [8, 4] : (%s, %s, %s) -> tensor<8x4xf32>" % (F, N, N), "tensor<8x4xf32>")
sample("stablehlo.dynamic_update_slice", [F, "tensor<8x4xf32>", N, N],
       "%%r = stablehlo.dynamic_update_slice $0, $1, $2, $3 : (%s, tensor<8x4xf32>, %s, %s) -> %s" % (F, N, N, F), F)
sample("stablehlo.gather", [F, "tensor<4x1xi32>"],
       '%%r = "stablehlo.gather"($0, $1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], '
       "index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (%s, tensor<4x1xi32>) -> tensor<4x8xf32>" % F, "tensor<4x8xf32>")
sample("stablehlo.scatter", [F, "tensor<4x1xi32>", "tensor<4x8xf32>"],
       '%%r = "stablehlo.scatter"($0, $1, $2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], '
       "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> %s : "
       "(%s, tensor<4x1xi32>, tensor<4x8xf32>) -> %s" % (body(), F, F), F)
sample("stablehlo.torch_index_select", [F, "tensor<4xi32>"],
       '%%r = "stablehlo.torch_index_select"($0, $1) <{dim = 0 : i64, batch_dims = 0 : i64}> : (%s, tensor<4xi32>) -> tensor<4x8xf32>' % F, "tensor<4x8xf32>")

# contractions and reductions
sample("stablehlo.dot_general", [T, T], "%%r = stablehlo.dot_general $0, $1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (%s, %s) -> %s" % (T, T, T), T)
sample("stablehlo.dot", [F, F], "%%r = stablehlo.dot $0, $1 : (%s, %s) -> %s" % (F, F, F), F)
sample("stablehlo.einsum", [F, F], '%%r = stablehlo.einsum $0, $1, config = "ij,jk->ik" : (%s, %s) -> %s' % (F, F, F), F)
sample("stablehlo.convolution", ["tensor<4x8x8x4xf32>", "tensor<3x3x4x8xf32>"],
       "%r = stablehlo.convolution($0, $1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} "
       "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<4x8x8x8xf32>", "tensor<4x8x8x8xf32>")
sample("stablehlo.reduce", [F], ["%z = stablehlo.constant dense<0.0> : tensor<f32>",
                                 "%%r = stablehlo.reduce($0 init: %%z) applies stablehlo.add across dimensions = [1] : (%s, %s) -> %s" % (F, S, V)], V)
sample("stablehlo.reduce_window", [F], [
    "%z = stablehlo.constant dense<0.0> : tensor<f32>",
    '%%r = "stablehlo.reduce_window"($0, %%z) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> %s : (%s, %s) -> tensor<8x4xf32>' % (
        body("maximum"), F, S)], "tensor<8x4xf32>")
sample("stablehlo.select_and_scatter", [F, "tensor<8x4xf32>"], [
    "%z = stablehlo.constant dense<0.0> : tensor<f32>",
    '%r = "stablehlo.select_and_scatter"($0, $1, %z) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({\n'
    "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n  %c = stablehlo.compare GE, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "  stablehlo.return %c : tensor<i1>\n}, " + body()[1:] + " : (" + F + ", tensor<8x4xf32>, tensor<f32>) -> " + F], F)
sample("stablehlo.sort", [F], '%%r = "stablehlo.sort"($0) <{dimension = 1 : i64, is_stable = true}> ({\n^bb0(%%x: tensor<f32>, %%y: tensor<f32>):\n'
       "  %%c = stablehlo.compare LT, %%x, %%y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n  stablehlo.return %%c : tensor<i1>\n}) : (%s) -> %s" % (F, F), F)
DIAGONAL = ["%%i = stablehlo.iota dim = 1 : %s" % T.replace("f32", "i32"), "%%j = stablehlo.iota dim = 2 : %s" % T.replace("f32", "i32"),
            "%%e = stablehlo.compare EQ, %%i, %%j, SIGNED : (%s, %s) -> %s" % (T.replace("f32", "i32"), T.replace("f32", "i32"), T.replace("f32", "i1")),
            "%%d = stablehlo.convert %%e : (%s) -> %s" % (T.replace("f32", "i1"), T), "%%m = stablehlo.add %%d, %%d : %s" % T]
sample("stablehlo.cholesky", [T], DIAGONAL + [
    "%%t = stablehlo.transpose $0, dims = [0, 2, 1] : (%s) -> %s" % (T, T), "%%s = stablehlo.multiply %%t, $0 : %s" % T, "%%p = stablehlo.add %%m, %%s : %s" % T,
    "%%r = stablehlo.cholesky %%p, lower = true : %s" % T], T)
sample("stablehlo.triangular_solve", [T, T], DIAGONAL + [
    "%%p = stablehlo.add %%m, $0 : %s" % T,
    '%%r = "stablehlo.triangular_solve"(%%p, $1) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : '
    "(%s, %s) -> %s" % (T, T, T)], T)
sample("stablehlo.fft", [C], ["%%f = stablehlo.fft $0, type = FFT, length = [8] : (%s) -> %s" % (C, C), "%%r = stablehlo.real %%f : (%s) -> %s" % (C, F)], F)
sample("stablehlo.batch_norm_inference", [F, V, V, V, V],
       '%%r = "stablehlo.batch_norm_inference"($0, $1, $2, $3, $4) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (%s, %s, %s, %s, %s) -> %s' % (F, V, V, V, V, F), F)
sample("stablehlo.batch_norm_training", [F, V, V],
       '%%r:3 = "stablehlo.batch_norm_training"($0, $1, $2) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (%s, %s, %s) -> (%s, %s, %s)' % (F, V, V, F, V, V), F, V, V)
sample("stablehlo.batch_norm_grad", [F, V, V, V, F],
       '%%r:3 = "stablehlo.batch_norm_grad"($0, $1, $2, $3, $4) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (%s, %s, %s, %s, %s) -> (%s, %s, %s)' % (
           F, V, V, V, F, F, V, V), F, V, V)
sample("stablehlo.rng_bit_generator", [F], [
    "%t = stablehlo.constant dense<[3, 5]> : tensor<2xui64>",
    "%s, %b = stablehlo.rng_bit_generator %t, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8x8xui32>)",
    "%k = stablehlo.constant dense<16> : tensor<8x8xui32>", "%h = stablehlo.shift_right_logical %b, %k : tensor<8x8xui32>",
    "%%f = stablehlo.convert %%h : (tensor<8x8xui32>) -> %s" % F, "%%r = stablehlo.add %%f, $0 : %s" % F], F)

sample("stablehlo.custom_call", [F], "%%r = stablehlo.custom_call @mhlo.erf($0) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (%s) -> %s" % (F, F), F)

# control flow
sample("stablehlo.while", [F, N], [
    "%c = stablehlo.constant dense<3> : tensor<i32>", "%one = stablehlo.constant dense<1> : tensor<i32>", "%zero = stablehlo.constant dense<0> : tensor<i32>",
    "%%w:2 = stablehlo.while(%%x = $0, %%i = %%zero) : %s, tensor<i32> cond { %%p = stablehlo.compare LT, %%i, %%c : (tensor<i32>, tensor<i32>) -> tensor<i1> "
    "stablehlo.return %%p : tensor<i1> } do { %%y = stablehlo.tanh %%x : %s\n%%n = stablehlo.add %%i, %%one : tensor<i32>\nstablehlo.return %%y, %%n : %s, tensor<i32> }" % (F, F, F),
    "%%r = stablehlo.negate %%w#0 : %s" % F], F)
sample("stablehlo.case", [N, F], '%%r = "stablehlo.case"($0) ({\n  %%x = stablehlo.tanh $1 : %s\n  stablehlo.return %%x : %s\n}, {\n  %%y = stablehlo.negate $1 : %s\n'
       "  stablehlo.return %%y : %s\n}) : (%s) -> %s" % (F, F, F, F, N, F), F)
sample("stablehlo.optimization_barrier", [F], "%%r = stablehlo.optimization_barrier $0 : %s" % F, F)
sample("sdy.sharding_constraint", [F], '%%r = sdy.sharding_constraint $0 <@mesh, [{"b"}, {?}]> : %s' % F, F)
sample("sdy.propagation_barrier", [F], "%%r = sdy.propagation_barrier $0 allowed_direction=NONE : %s" % F, F)
sample("sdy.sharding_group", [F, F], ["sdy.sharding_group $0 group_id=$GROUP : %s" % F, "sdy.sharding_group $1 group_id=$GROUP : %s" % F,
                                      "%%r = stablehlo.add $0, $1 : %s" % F], F)
sample("sdy.manual_computation", [F], [
    '%%r = sdy.manual_computation($0) in_shardings=[<@mesh, [{"a"}, {?}]>] out_shardings=[<@mesh, [{"a"}, {?}]>] manual_axes={"a"} (%%m: tensor<4x8xf32>) {\n'
    "  %%y = stablehlo.tanh %%m : tensor<4x8xf32>\n  sdy.return %%y : tensor<4x8xf32>\n} : (%s) -> %s" % (F, F)], F)
WHOLE["sdy.manual_computation"] = ["%%r = stablehlo.tanh $0 : %s" % F]

# what tools other than JAX write
sample("chlo._asin_acos_kernel", [C], ["%%x = chlo._asin_acos_kernel $0 %s : %s -> %s" % (ONE, C, C), "%%r = stablehlo.real %%x : (%s) -> %s" % (C, F)], F)
sample("chlo.conj", [C], "%%r = chlo.conj $0 %s : %s -> %s" % (ONE, C, C), C)
sample("chlo.mulhi", [I, I], "%%r = chlo.mulhi $0, $1 %s : %s, %s -> %s" % (TWO, I, I, I), I)
sample("chlo.constant", [F], ["%%c = chlo.constant dense<0.25> : %s" % F, "%%r = stablehlo.add $0, %%c : %s" % F], F)
sample("chlo.constant_like", [F], ['%%c = "chlo.constant_like"($0) <{value = 0.25 : f32}> : (%s) -> %s' % (F, F), "%%r = stablehlo.add $0, %%c : %s" % F], F)
sample("chlo.broadcast_compare", [F, F],
       "%%r = chlo.broadcast_compare $0, $1 {comparison_direction = #chlo<comparison_direction LT>} : (%s, %s) -> %s" % (F, F, P), P)
sample("chlo.broadcast_complex", [F, F], "%%r = chlo.broadcast_complex $0, $1 : (%s, %s) -> %s" % (F, F, C), C)
sample("chlo.broadcast_select", [P, F, F], "%%r = chlo.broadcast_select $0, $1, $2 : (%s, %s, %s) -> %s" % (P, F, F, F), F)
for name in "polygamma zeta".split():
    sample("chlo.broadcast_" + name, [F, F], [
        "%%two = stablehlo.constant dense<2.0> : %s" % F, "%%x = stablehlo.add $0, %%two : %s" % F, "%%y = stablehlo.add $1, %%two : %s" % F,
        "%%r = chlo.broadcast_%s %%x, %%y : (%s, %s) -> %s" % (name, F, F, F)], F)
sample("chlo.scan", [F, V], [
    "%%q:2 = chlo.scan($0) inits ($1) dimension=0  attributes {is_reverse = true} {\n^bb0(%%x: %s, %%y: %s):\n  %%z = stablehlo.add %%x, %%y : %s\n"
    "  stablehlo.return %%z, %%z : %s, %s\n} : (%s, %s) -> (%s, %s)" % (V, V, V, V, V, F, V, F, V), "%%r = stablehlo.add %%q#0, $0 : %s" % F], F)
sample("stablehlo.rng", [S], ["%s = stablehlo.constant dense<8> : tensor<2xi64>",
                              "%%x = stablehlo.rng $0, $0, %%s, distribution = UNIFORM : (%s, %s, tensor<2xi64>) -> %s" % (S, S, F),
                              "%%r = stablehlo.floor %%x : %s" % F], F)  # an empty interval: random numbers are the device's own
sample("builtin.unrealized_conversion_cast", [F], ["%%x = builtin.unrealized_conversion_cast $0 : %s to %s" % (F, F), "%%r = stablehlo.negate %%x : %s" % F], F)
sample("stablehlo.composite", [F], '%%r = stablehlo.composite "my.tanh" $0 {decomposition = @decomposed} : (%s) -> %s' % (F, F), F)
sample("func.call", [F], "%%r = func.call @decomposed($0) : (%s) -> %s" % (F, F), F)

# sizes from tensors, of static shape all the same
PAIR = "tensor<2xi32>"
sample("stablehlo.dynamic_broadcast_in_dim", [V], [
    "%s = stablehlo.constant dense<[4, 8]> : tensor<2xi32>",
    "%%r = stablehlo.dynamic_broadcast_in_dim $0, %%s, dims = [1] : (%s, %s) -> tensor<4x8xf32>" % (V, PAIR)], "tensor<4x8xf32>")
sample("stablehlo.dynamic_gather", [F, "tensor<4x1xi32>"], [
    "%s = stablehlo.constant dense<[1, 8]> : tensor<2xi32>",
    '%%r = "stablehlo.dynamic_gather"($0, $1, %%s) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], '
    "start_index_map = [0], index_vector_dim = 1>}> : (%s, tensor<4x1xi32>, %s) -> tensor<4x8xf32>" % (F, PAIR)], "tensor<4x8xf32>")
sample("stablehlo.dynamic_iota", [F], ["%s = stablehlo.constant dense<8> : tensor<2xi32>", "%%i = stablehlo.dynamic_iota %%s, dim = 1 : (%s) -> %s" % (PAIR, F),
                                       "%%r = stablehlo.add $0, %%i : %s" % F], F)
sample("stablehlo.dynamic_pad", [F, S], [
    "%l = stablehlo.constant dense<[0, 2]> : tensor<2xi32>", "%h = stablehlo.constant dense<[0, 6]> : tensor<2xi32>",
    "%n = stablehlo.constant dense<0> : tensor<2xi32>",
    "%%r = stablehlo.dynamic_pad $0, $1, %%l, %%h, %%n : (%s, %s, %s, %s, %s) -> tensor<8x16xf32>" % (F, S, PAIR, PAIR, PAIR)], "tensor<8x16xf32>")
sample("stablehlo.dynamic_reshape", [F], ["%s = stablehlo.constant dense<[4, 16]> : tensor<2xi32>",
                                          "%%r = stablehlo.dynamic_reshape $0, %%s : (%s, %s) -> tensor<4x16xf32>" % (F, PAIR)], "tensor<4x16xf32>")
sample("stablehlo.real_dynamic_slice", [F], [
    "%s = stablehlo.constant dense<[0, 2]> : tensor<2xi32>", "%l = stablehlo.constant dense<[8, 6]> : tensor<2xi32>",
    "%o = stablehlo.constant dense<1> : tensor<2xi32>",
    "%%r = stablehlo.real_dynamic_slice $0, %%s, %%l, %%o : (%s, %s, %s, %s) -> tensor<8x4xf32>" % (F, PAIR, PAIR, PAIR)], "tensor<8x4xf32>")
sample("stablehlo.get_dimension_size", [F], "%%r = stablehlo.get_dimension_size $0, dim = 1 : (%s) -> %s" % (F, N), N)
sample("stablehlo.set_dimension_size", [F], ["%n = stablehlo.constant dense<8> : tensor<i32>",
                                             "%%r = stablehlo.set_dimension_size $0, %%n, dim = 1 : (%s, %s) -> %s" % (F, N, F)], F)

# control flow, tokens and sdy
sample("stablehlo.if", [N, F], [
    "%%three = stablehlo.constant dense<3> : %s" % N, "%%p = stablehlo.compare LT, $0, %%three : (%s, %s) -> tensor<i1>" % (N, N),
    '%%r = "stablehlo.if"(%%p) ({\n  %%x = stablehlo.tanh $1 : %s\n  stablehlo.return %%x : %s\n}, {\n  %%y = stablehlo.negate $1 : %s\n'
    "  stablehlo.return %%y : %s\n}) : (tensor<i1>) -> %s" % (F, F, F, F, F)], F)
TOKEN = "%t = stablehlo.create_token : !stablehlo.token"
sample("stablehlo.create_token", [F], [TOKEN, "%%r = stablehlo.negate $0 : %s" % F], F)
sample("stablehlo.after_all", [F], [TOKEN, "%u = stablehlo.after_all %t, %t : !stablehlo.token", "%%r = stablehlo.negate $0 : %s" % F], F)
sample("sdy.reshard", [F], ['%%x = sdy.reshard $0 <@mesh, [{"b"}, {"a"}]> : %s' % F, "%%r = stablehlo.negate %%x : %s" % F], F)
WHOLE["sdy.reshard"] = ["%%r = stablehlo.negate $0 : %s" % F]
sample("sdy.named_computation", [F], [
    '%%r = sdy.named_computation<"n">($0) in_shardings=[<@mesh, [{"a"}, {}]>] out_shardings=[<@mesh, [{}, {"b"}]>] (%%x: %s) {\n'
    "  %%y = stablehlo.tanh %%x : %s\n  sdy.return %%y : %s\n} : (%s) -> %s" % (F, F, F, F, F)], F)
WHOLE["sdy.named_computation"] = ["%%r = stablehlo.tanh $0 : %s" % F]

# Why an op that is written has no sample.
STRUCTURE = "every program has it"
UNTESTED = {
    "stablehlo.return": STRUCTURE, "func.func": STRUCTURE, "func.return": STRUCTURE, "builtin.module": STRUCTURE, "sdy.mesh": STRUCTURE, "sdy.return": STRUCTURE,
    "stablehlo.uniform_quantize": "jaxlib reads no quantised types", "stablehlo.uniform_dequantize": "jaxlib reads no quantised types",
    "stablehlo.unary_einsum": "XLA refuses it", "stablehlo.dynamic_conv": "XLA refuses it",
    "chlo.ragged_dot": "XLA has no code for it on the CPU", "stablehlo.collective_broadcast": "XLA has no code for it on the CPU",
    "sdy.data_flow_edge": "only propagation makes it", "sdy.func_data_flow_edge": "only propagation makes it",
}


def module(ops, rng=None, mesh=(("a", 2), ("b", 2))):
    """All samples in one function. With a random source: random shardings on arguments. -> (text, op of each result, (name, shape) of arguments)"""
    arguments, lines, returned, types, owners, signature = [], [], [], [], [], []
    for index, op in enumerate(ops):
        given, text, results = SAMPLES[op]
        first = len(arguments)
        for kind in given:
            shape = [int(n) for n in re.findall(r"(\d+)x", kind)]
            signature.append(("positive%d" % len(arguments), tuple(shape)))
            note = ""
            if rng:
                dims = [[] for _ in shape]
                for axis, size in mesh:
                    at = rng.randrange(len(shape) + 1)
                    if at < len(shape) and shape[at] % (size * 2) == 0:
                        dims[at].append('"%s"' % axis)
                note = ' {sdy.sharding = #sdy.sharding<@mesh, [%s]>}' % ", ".join("{%s}" % ", ".join(d + ["?"] * rng.randint(0, 1)) for d in dims)
            arguments.append("%%a%d: %s%s loc(\"positive%d\")" % (len(arguments), kind, note, len(arguments)))
        for line in text if rng else WHOLE.get(op, text):
            line = re.sub(r"%(\w+)", r"%%s%d_\1" % index, line).replace("$GROUP", str(index))
            lines.append(re.sub(r"\$(\d+)", lambda m: "%%a%d" % (first + int(m[1])), line))
        for i, kind in enumerate(results):
            returned.append("%%s%d_r%s" % (index, "#%d" % i if len(results) > 1 else ""))
            types.append(kind)
            owners.append(op)
    n = 1
    for _, size in mesh if rng else ():
        n *= size
    text = "module @samples attributes {mhlo.num_partitions = %d : i32, mhlo.num_replicas = 1 : i32} {\n  sdy.mesh @mesh = <[%s]>\n" % (
        n, ", ".join('"%s"=%d' % (name, size if rng else 1) for name, size in mesh))
    text += "  func.func @main(%s) -> (%s) {\n" % (", ".join(arguments), ", ".join(types))
    text += "\n".join("    " + line.replace("\n", "\n    ") for line in lines) + "\n    return %s : %s\n  }\n" % (", ".join(returned), ", ".join(types))
    text += "  func.func private @decomposed(%%x: %s) -> %s {\n    %%r = stablehlo.tanh %%x : %s\n    return %%r : %s\n  }\n}\n" % (F, F, F, F)
    return text, owners, signature
