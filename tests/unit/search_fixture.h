/* A small training step, and what searches on a text start from. */
#ifndef SW_SEARCH_FIXTURE_H
#define SW_SEARCH_FIXTURE_H

#include "search/tree/runner.h"

#include <check.h>

static const char *const mlp =
	"module @jit_step {\n"
	"  func.func public @main(%arg0: tensor<512x2048xf32> {tf.aliasing_output = 0 : i32} "
	"loc(\"params['w1']\"), %arg1: tensor<2048x512xf32> {tf.aliasing_output = 1 : i32} "
	"loc(\"params['w2']\"), %arg2: tensor<64x512xf32> loc(\"batch['x']\"), %arg3: "
	"tensor<64x512xf32> loc(\"batch['y']\")) -> (tensor<512x2048xf32>, "
	"tensor<2048x512xf32>, tensor<f32>) {\n"
	"    %0 = stablehlo.dot_general %arg2, %arg0, contracting_dims = [1] x [0] : "
	"(tensor<64x512xf32>, tensor<512x2048xf32>) -> tensor<64x2048xf32>\n"
	"    %1 = stablehlo.tanh %0 : tensor<64x2048xf32>\n"
	"    %3 = stablehlo.multiply %1, %1 : tensor<64x2048xf32>\n"
	"    %5 = stablehlo.dot_general %1, %arg1, contracting_dims = [1] x [0] : "
	"(tensor<64x2048xf32>, tensor<2048x512xf32>) -> tensor<64x512xf32>\n"
	"    %6 = stablehlo.subtract %5, %arg3 : tensor<64x512xf32>\n"
	"    %7 = stablehlo.multiply %6, %6 : tensor<64x512xf32>\n"
	"    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>\n"
	"    %8 = stablehlo.reduce(%7 init: %cst) applies stablehlo.add across dimensions = [0, 1] : "
	"(tensor<64x512xf32>, tensor<f32>) -> tensor<f32>\n"
	"    %9 = stablehlo.dot_general %1, %6, contracting_dims = [0] x [0] : (tensor<64x2048xf32>, "
	"tensor<64x512xf32>) -> tensor<2048x512xf32>\n"
	"    %10 = stablehlo.dot_general %6, %arg1, contracting_dims = [1] x [1] : "
	"(tensor<64x512xf32>, tensor<2048x512xf32>) -> tensor<64x2048xf32>\n"
	"    %11 = stablehlo.multiply %10, %3 : tensor<64x2048xf32>\n"
	"    %12 = stablehlo.dot_general %arg2, %11, contracting_dims = [0] x [0] : "
	"(tensor<64x512xf32>, tensor<64x2048xf32>) -> tensor<512x2048xf32>\n"
	"    %13 = stablehlo.subtract %arg0, %12 : tensor<512x2048xf32>\n"
	"    %14 = stablehlo.subtract %arg1, %9 : tensor<2048x512xf32>\n"
	"    return %13, %14, %8 : tensor<512x2048xf32>, tensor<2048x512xf32>, tensor<f32>\n"
	"  }\n"
	"}\n";

typedef struct fixture {
	module *m;
	device dev;
	search_options o;
} fixture;

static void setup(fixture *f, const char *text, const char *mesh_text)
{
	diag d = {0};
	*f = (fixture){0};
	ck_assert_msg(module_read(text, strlen(text), "test", NULL, &f->m, &d) == ST_OK, "%s", d.msg);
	ck_assert_int_eq(device_find("tpu-v5e", &f->dev, &d), ST_OK);
	ck_assert_int_eq(mesh_parse_flag(f->m->shardings, mesh_text, &f->o.mesh, &d), ST_OK);
	f->o.device = &f->dev;
	f->o.seed = 5;
	f->o.threads = 1;
}

static void teardown(fixture *f) { module_free(f->m); }

#endif
