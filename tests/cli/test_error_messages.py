"""Every bad module gets one error: at its position, with what was expected, exit code 1 and nothing left behind."""
import os
import re
import subprocess

import pytest

TOOL = os.path.abspath(os.environ.get("SHARDWRIGHT", "build/shardwright"))
MODULE = """module {
  sdy.mesh @mesh = <["x"=2, "y"=4, "z"=8]>
  func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
    BODY
    return %a : tensor<8x16xf32>
  }
}
"""

# (the fourth line of MODULE, column, message)
BODIES = [
    ('%0 = stablehlo.negate %b : tensor<8x16xf32>',
     27, "use of undeclared SSA value name '%b'"),
    ('%0 = stablehlo.negate %a : tensor<8x15xf32>',
     27, "'%a' has type tensor<8x16xf32>, but is used as tensor<8x15xf32>"),
    ('%0 = stablehlo.negate %a tensor<8x16xf32>',
     30, "expected ':', found 'tensor'"),
    ('%0 = stablehlo.frobnicate %a : tensor<8x16xf32>',
     10, "unknown operation 'stablehlo.frobnicate'; others than the known ones are read in generic form only"),
    ('%0 = stablehlo.gather %a : tensor<8x16xf32>',
     10, "expected 'stablehlo.gather' in its generic form, with quotes"),
    ('%0 = "stablehlo.negate"(%a) : (tensor<8x16xf32>, f32) -> tensor<8x16xf32>',
     35, '2 operand types for 1 operands'),
    ('%0 = "stablehlo.negate"(%a) {a = 1, a = 2} : (tensor<8x16xf32>) -> tensor<8x16xf32>',
     10, "attribute 'a' is given twice"),
    ('%0, %1 = stablehlo.negate %a : tensor<8x16xf32>',
     5, '2 names for 1 results'),
    ('%0 = stablehlo.reshape %a : (tensor<8x16xf32>) -> tensor<100xf32>',
     10, 'reshape: 128 elements become 100 (tensor<8x16xf32> to tensor<100xf32>)'),
    ('%0 = stablehlo.transpose %a, dims = [0, 0] : (tensor<8x16xf32>) -> tensor<8x16xf32>',
     10, 'transpose: permutation has dimension 0 twice'),
    ('%0 = stablehlo.transpose %a, dims = [0, 2] : (tensor<8x16xf32>) -> tensor<8x16xf32>',
     10, 'transpose: permutation has 2, expected a dimension from 0 to 1'),
    ('%0 = stablehlo.slice %a [0:9, 0:16] : (tensor<8x16xf32>) -> tensor<9x16xf32>',
     10, 'slice: [0:9:1] is no range of dimension 0 of tensor<8x16xf32>'),
    ('%0 = stablehlo.concatenate %a, %a, dim = 2 : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>',
     10, 'concatenate: dimension is 2, expected a dimension from 0 to 1'),
    ('%0 = stablehlo.constant dense<[1, 2]> : tensor<3xi32>',
     35, 'the literal has 2 elements in 1 nested lists, expected those of tensor<3xi32>'),
    ('%0 = stablehlo.constant dense<1.5> : tensor<3xi32>',
     35, 'expected a whole number as element of tensor<3xi32>'),
    ('%0 = stablehlo.constant dense<1> : tensor<3xf32>',
     35, 'expected a number with a decimal point as element of tensor<3xf32>'),
    ('%0 = stablehlo.constant dense<300> : tensor<3xi8>',
     35, 'expected a number that fits as element of tensor<3xi8>'),
    ('%0 = stablehlo.constant dense<[1, , 2]> : tensor<2xi32>',
     39, "expected an element, found ','"),
    ('%0 = stablehlo.constant dense<"0x0"> : tensor<i8>',
     35, 'the literal has 0 bytes, expected 1 of tensor<i8>'),
    ('%0 = stablehlo.constant dense<"0x0102"> : tensor<i8>',
     35, 'the literal has 2 bytes, expected 1 of tensor<i8>'),
    ('%0 = stablehlo.constant dense<1> : tensor<?xi32>',
     35, 'a literal of type tensor<?xi32>, expected a static shape'),
    ('%0 = "foo.x"() {s = "a\\q"} : () -> i32',
     27, 'expected \\n, \\t, \\", \\\\ or two hexadecimal digits after the backslash'),
    ('%0 = "foo.x"() {s = "a',
     25, 'the string that starts here has no end on its line'),
    ('%0 = "foo.x"() {n = 99999999999999999999} : () -> i32',
     25, "expected a number that fits as i64, found '99999999999999999999'"),
    ('%0 = "foo.x"() {n = array<i8: 300>} : () -> i32',
     35, 'expected a number that fits as i8'),
    ('%0 = "foo.x"() {n = #nope} : () -> i32',
     25, "undefined attribute alias '#nope'"),
    ('%0 = "foo.x"() {n = !nope} : () -> i32',
     25, "undefined type alias '!nope'"),
    ('%0 = "foo.x"() {n = [1, 2} : () -> i32',
     30, "expected ']', found '}'"),
    ('%0 = call @nope(%a) : (tensor<8x16xf32>) -> tensor<8x16xf32>',
     10, "call of the undefined function '@nope'"),
    ('%0 = call @main(%a) : (tensor<8x16xf32>) -> tensor<8x15xf32>',
     10, 'func.call: result 0 has type tensor<8x15xf32>, expected tensor<8x16xf32>'),
    ('cf.br ^bb1',
     5, "'cf.br': control flow between blocks is not supported"),
    ('"cf.br"()[^bb1] : () -> ()',
     14, 'successor blocks: control flow between blocks is not supported'),
    ('stablehlo.return %a : tensor<8x16xf32>',
     5, 'stablehlo.return is not the last operation of a region'),
    ('%0 = stablehlo.reduce(%a init: %a) applies stablehlo.divide across dimensions = [0] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16xf32>',
     48, "expected a commutative operation of two operands, found 'stablehlo.divide'"),
    ('%0 = stablehlo.negate %a : tensor<8x16xf32> loc(#nope)',
     53, "location alias '#nope' is never defined"),
    ('%0 = stablehlo.negate %a : tensor<8x16xf32> loc("f":1)',
     58, "expected ':', found ')'"),
    ('%0 = sdy.sharding_constraint %a <@mesh, [{"x"}]> : tensor<8x16xf32>',
     10, "sharding doesn't match tensor rank: 1 != 2"),
    ('%0 = sdy.sharding_constraint %a <@mesh, [{"w"}, {}]> : tensor<8x16xf32>',
     47, 'unknown axis name: "w"'),
    ('%0 = sdy.sharding_constraint %a <@nope, [{"x"}, {}]> : tensor<8x16xf32>',
     38, 'unknown mesh: @nope'),
    ('%0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {"x"}]> : tensor<8x16xf32>',
     54, 'duplicate axis ref: "x"'),
    ('%0 = sdy.sharding_constraint %a <@mesh, [{"z":(1)2}, {"z"}]> : tensor<8x16xf32>',
     59, 'both sub-axis and full-axis are used: "z":(1)2, "z"'),
    ('%0 = sdy.sharding_constraint %a <@mesh, [{"z":(1)4}, {"z":(2)2}]> : tensor<8x16xf32>',
     59, 'overlapping sub-axes: "z":(1)4, "z":(2)2'),
    ('%0 = sdy.sharding_constraint %a <@mesh, [{"z":(1)2, "z":(2)4}, {}]> : tensor<8x16xf32>',
     57, 'two consecutive sub-axes can be merged: "z":(1)2, "z":(2)4'),
    ('%0 = sdy.sharding_constraint %a <@mesh, [{"z":(1)3}, {}]> : tensor<8x16xf32>',
     47, 'sub-axis doesn\'t divide the size of the full axis 8: "z":(1)3'),
    ('%0 = sdy.sharding_constraint %a <@mesh, [{"z":(1)8}, {}]> : tensor<8x16xf32>',
     47, 'sub-axis size is equal to the full axis size: "z":(1)8'),
    ('%0 = sdy.sharding_constraint %a <@mesh, [{"z":(1)1}, {}]> : tensor<8x16xf32>',
     47, 'sub-axis sizes must be greater than 1: "z":(1)1'),
    ('%0 = sdy.sharding_constraint %a <@mesh, [{}p0, {}]> : tensor<8x16xf32>',
     37, 'dim 0 is empty and closed but has a priority'),
    ('%0 = sdy.sharding_constraint %a <@mesh, [{"x"}p01, {}]> : tensor<8x16xf32>',
     51, 'a priority has no leading zeros'),
    ('%0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}], replicated={"y", "x"}> : tensor<8x16xf32>',
     75, 'replicated axes are not ordered w.r.t. mesh'),
    ('%0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}], replicated={"x"}> : tensor<8x16xf32>',
     70, 'duplicate axis ref: "x"'),
    ('%0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}], unreduced={"x"}> : tensor<8x16xf32>',
     69, 'duplicate axis ref: "x"'),
    ('%0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}], unreduced=max{"y"}> : tensor<8x16xf32>',
     68, "expected '{' before the axes, found 'm'"),
    ('%0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<8x16xf32>) { sdy.return %b : tensor<8x16xf32> } : (tensor<8x16xf32>) -> tensor<8x16xf32>',
     10, 'sdy.manual_computation: operand 0 is tensor<8x16xf32> inside, expected tensor<4x16xf32> of tensor<8x16xf32> by its sharding'),
    ('%0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"y", "x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) { sdy.return %b : tensor<4x16xf32> } : (tensor<8x16xf32>) -> tensor<8x16xf32>',
     10, 'sdy.manual_computation: manual axes must come before free axes in a dimension, found manual axis "x" after a free axis'),
    ('%0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"w"} (%b: tensor<8x16xf32>) { sdy.return %b : tensor<8x16xf32> } : (tensor<8x16xf32>) -> tensor<8x16xf32>',
     10, 'sdy.manual_computation: unknown manual axis: "w"'),
    ('%0 = sdy.all_gather [{"x"}, {}] %a out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>',
     10, 'sdy.all_gather: a collective on an operand without sharding'),
    ('%0 = sdy.all_slice [{"x"}, {}] %a out_sharding=<@mesh, [{"y"}, {}]> : tensor<8x16xf32>',
     10, 'sdy.all_slice: the result\'s sharding of dimension 0 does not match the expected {"x"}'),
    ('%0 = sdy.propagation_barrier %a allowed_direction=BOTH : tensor<8x16xf32>',
     10, 'sdy.propagation_barrier: allowed_direction BOTH blocks nothing, expected NONE, FORWARD or BACKWARD'),
    ('%0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>} : tensor<8x16xf32>',
     10, 'expected #sdy.sharding_per_value<[..]> as sdy.sharding of an operation'),
    ('%0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>]>} : tensor<8x16xf32>',
     10, '2 shardings for 1 results'),
    ('%0 = stablehlo.negate %a {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i]) {i=8, j=16}>} : tensor<8x16xf32>',
     10, 'negate: sdy.sharding_rule: result 0: mapping rank must match: 1 != 2'),
    ('sdy.mesh @inner = <["x"=2]>',
     5, 'sdy.mesh: a mesh stands in a module, not inside another operation'),
]

# (text, line:column, message)
TEXTS = [
    ('sdy.mesh @mesh = <["x"=2, "x"=4]>', "1:27", 'duplicate axis name "x"'),
    ('sdy.mesh @mesh = <["x"=0]>', "1:20", 'axis "x" has size 0, expected at least 1'),
    ('sdy.mesh @mesh = <["x"=2], device_ids=[1, 1]>', "1:18", 'device ids are not the numbers 0 to 1, each once'),
    ('func.func @f() { return }\nfunc.func @f() { return }', "2:11", "redefinition of symbol '@f'"),
    ('func.func @f(%a: tensor<-1xf32>) { return }', "1:25", "expected an element type, found '-1xf32'"),
    ('func.func @f(%a: tensor<4xf33>) { return }', "1:27", "unknown element type 'f33'"),
    ('#a.b = 1\nmodule {}', "1:1", "expected the name of an alias without '.', found '#a.b'"),
    ('{-# dialect_resources', "1:1", 'the resources that start here have no end, #-}'),
    ('module {} module {}', "1:11", 'expected the end of the text after the module, found another module'),
    ('func.func @f() { return', "1:24", "expected '}', found the end of the text"),
    ('module {\n  func.func @f() {\n    return\n', "4:1", "expected '}', found the end of the text"),
    ('func.func @f(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding_per_value<[]>}) { return }', "1:17", 'expected one sharding, #sdy.sharding<..>'),
    ('"builtin.module"() ({\n  func.func @f() { return }\n}, {\n}) : () -> ()', "3:2", "expected ')', found ','"),
]


def refused(folder, text, place, message):
    path = os.path.join(folder, "m.mlir")
    with open(path, "w") as f:
        f.write(text)
    done = subprocess.run([TOOL, "opt", "--passes", "", "-o", os.path.join(folder, "out.mlir"), "m.mlir"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 1, done
    assert done.stdout == ""
    assert os.listdir(folder) == ["m.mlir"]
    lines = done.stderr.rstrip("\n").split("\n")
    assert lines[0] == "m.mlir:%s: error: %s" % (place, message), done.stderr
    assert done.stderr.count("error:") == 1
    line, column = map(int, place.split(":"))
    at = text.split("\n")[line - 1:line]
    if len(lines) == 3:  # the excerpt and a caret below the column; long lines are cut on both sides
        assert lines[2].strip() == "^" and lines[1] in text
        assert at[0][column - 1:column] == lines[1][len(lines[2]) - 1:len(lines[2])]
    else:
        assert at == [""] and len(lines) == 1 or len(lines) == 2, done.stderr


@pytest.mark.parametrize("body, column, message", BODIES)
def test_body(tmp_path, body, column, message):
    refused(str(tmp_path), MODULE.replace("BODY", body), "4:%d" % column, message)


@pytest.mark.parametrize("text, place, message", TEXTS)
def test_text(tmp_path, text, place, message):
    refused(str(tmp_path), text, place, message)


def test_messages_are_phrases():
    """Lower case, without a full stop: they stand behind `error:`."""
    messages = [m for *_, m in BODIES + TEXTS]
    assert len(messages) > 70 and len(set(messages)) > 60
    for message in messages:
        assert re.match(r"[a-z0-9'#]", message) and not message.endswith((".", "!", " ")), message
