/* Words of small programs on a mesh d=4, m=2: check_optimize.c, check_combine.c. */
#ifndef OPTIMIZE_FIXTURE_H
#define OPTIMIZE_FIXTURE_H

#include "lower_fixture.h"

#define MESH "<[\"d\"=4, \"m\"=2]>"
#define ROWS "{sdy.sharding = #sdy.sharding<@mesh, [{\"d\"}, {}]>}"
#define COLUMNS "{sdy.sharding = #sdy.sharding<@mesh, [{}, {\"d\"}]>}"
#define WHOLE "{sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}"
#define T "tensor<16x16xf32>"
#define DOT(r, a, b) \
	"  %" r " = stablehlo.dot_general %" a ", %" b ", contracting_dims = [1] x [0] : (" T ", " T \
	") -> " T "\n"
#define ON_ROWS "{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{\"d\"}, {}]>]>}"
#define ZERO "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
#define SPREAD(r, a) \
	"  %" r " = stablehlo.broadcast_in_dim %" a ", dims = [] " ON_ROWS " : (tensor<f32>) -> " T "\n"
#define MAIN(results) \
	"func.func @main(%a: " T " " COLUMNS ", %b: " T " " ROWS ", %c: " T " " ROWS ", %w: " T \
	" " WHOLE ") -> (" results ") {\n"

#endif
