"""The reader takes what jaxlib's parser takes, refuses the shardings that Shardy's verifier refuses, and prints what jaxlib
reads as the same module."""
import importlib
import itertools
import os

import pytest

import cases
import child
import random_ops
import reader

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = [open(os.path.join(reader.DATA, name)).read() for name in ("ops.mlir", "ops_generic.mlir")]
MESHES = """sdy.mesh @mesh = <["x"=2, "y"=4, "z"=8]>
sdy.mesh @other = <["x"=2, "y"=4, "z"=8]>
sdy.mesh @ids = <["x"=2, "y"=4], device_ids=[7,6,5,4,3,2,1,0]>
sdy.mesh @small = <["x"=2, "y"=4]>
sdy.mesh @empty = <[]>
sdy.mesh @max = <[], device_ids=[3]>
sdy.mesh @six = <["s"=6]>
"""

# What jaxlib takes and we do not, or the other way round, with the reason (docs/modules.md says so too).
LIMITS = {
    "func.func @main(%c: i1)": "control flow between blocks",
    "99999999999x99999999999": "more than 2^56 elements",
    "dense<(1.0,2.0)> : tensor<2xf32>": "a pair as two elements of a real tensor",
    "dense<[- 1]>": "a blank behind the minus of a list element",
    "\"y\"=99999999999": "a mesh of more than 2^24 devices",
    "// group big": "group ids beyond 64 bits",
    "// memref sharding": "shardings of memrefs",
    "// module attr sharding": "a sharding of the module op itself",
}
SUB_AXES = "sub-axes that cannot both divide their axis, which Shardy's verifier lets pass and its passes do not survive"
SHARDING_LIMITS = {"p99999,": "priorities above 32767", "p32768": "priorities above 32767", "p2147483648": "priorities above 32767",
                   "p9223372036854775807": "priorities above 32767", '"y":(1)2}, {"y":(3)2}': SUB_AXES, '"y":(1)2}, {"y":(3)4}': SUB_AXES,
                   ',{}], replicated={"y":(3)4}': SUB_AXES}

SHARDINGS = [
    '<@mesh, [{"x"}, {}]>',
    '<@mesh, [{"x"}]>',
    '<@mesh, [{"x"}, {}, {}]>',
    '<@mesh, []>',
    '<@mesh, [{"w"}, {}]>',
    '<@nomesh, [{"x"}, {}]>',
    '<@mesh, [{"x"}, {"x"}]>',
    '<@mesh, [{"x", "x"}, {}]>',
    '<@mesh, [{"z":(1)2}, {"z":(2)4}]>',
    '<@mesh, [{"z":(1)2, "z":(2)4}, {}]>',
    '<@mesh, [{"z":(1)4}, {"z":(2)2}]>',
    '<@mesh, [{"z":(1)2}, {"z"}]>',
    '<@mesh, [{"z":(1)3}, {}]>',
    '<@mesh, [{"z":(1)8}, {}]>',
    '<@mesh, [{"z":(1)1}, {}]>',
    '<@mesh, [{"z":(0)2}, {}]>',
    '<@mesh, [{"z":(2)8}, {}]>',
    '<@mesh, [{"z":(3)2}, {}]>',
    '<@mesh, [{"z":(4)2}, {"z":(1)2}]>',
    '<@mesh, [{"z":(4)2, "z":(1)2}, {}]>',
    '<@mesh, [{"z":(1)2, "x", "z":(2)2}, {}]>',
    '<@mesh, [{}, {}], replicated={"x"}>',
    '<@mesh, [{}, {}], replicated={"y", "x"}>',
    '<@mesh, [{"x"}, {}], replicated={"x"}>',
    '<@mesh, [{}, {}], replicated={}>',
    '<@mesh, [{}, {}], unreduced={"x"}>',
    '<@mesh, [{}, {}], unreduced={"y", "x"}>',
    '<@mesh, [{}, {}], unreduced={"x"}, replicated={"x"}>',
    '<@mesh, [{}, {}], unreduced={"x"}, replicated={"y"}>',
    '<@mesh, [{}, {}], replicated={"y"}, unreduced={"x"}>',
    '<@mesh, [{}, {}], replicated={"y"}, replicated={"x"}>',
    '<@mesh, [{"z":(1)2}, {}], replicated={"z":(2)2}>',
    '<@mesh, [{"z":(1)2}, {}], replicated={"z":(2)2, "z":(4)2}>',
    '<@mesh, [{}, {}], replicated={"z":(2)2, "z":(1)2}>',
    '<@mesh, [{}, {}], unreduced=max{"x"}>',
    '<@mesh, [{}, {}], unreduced=sum{"x"}>',
    '<@mesh, [{}p0, {}]>',
    '<@mesh, [{?}p0, {}]>',
    '<@mesh, [{"x"}p1, {?}p0]>',
    '<@mesh, [{"x"}p01, {}]>',
    '<@mesh, [{"x"}p-1, {}]>',
    '<@mesh, [{"x"}q1, {}]>',
    '<@mesh, [{"x"} p1, {}]>',
    '<@mesh, [{"x"}p 1, {}]>',
    '<@mesh, [{"x"}p99999, {}]>',
    '<@mesh, [{"x"}p32768, {}]>',
    '<@mesh, [{"x"}p99999999999999999999, {}]>',
    '<@mesh, [{"x"}p2147483648, {}]>',
    '<@mesh, [{"x"}p9223372036854775807, {}]>',
    '<@mesh, [{"x", ?}, {?}]>',
    '<@mesh, [{?, "x"}, {?}]>',
    '<@mesh, [{"x",}, {}]>',
    '<@mesh, [{"x" "y"}, {}]>',
    '<@mesh, [{"x"}, {},]>',
    '<@mesh [{"x"}, {}]>',
    '<mesh<["x"=2, "y"=4]>, [{"x"}, {}]>',
    '<mesh<["x"=2, "x"=4]>, [{"x"}, {}]>',
    '<mesh<["x"=0]>, [{"x"}, {}]>',
    '<mesh<["x"=-2]>, [{"x"}, {}]>',
    '<mesh<[]>, [{}, {}]>',
    '<mesh<[], device_ids=[0]>, [{}, {}]>',
    '<mesh<[], device_ids=[0]>, []>',
    '<mesh<["x"=2], device_ids=[0, 1]>, [{}, {}]>',
    '<mesh<["x"=2], device_ids=[1, 0]>, [{}, {}]>',
    '<mesh<["x"=2], device_ids=[1, 1]>, [{}, {}]>',
    '<mesh<["x"=2], device_ids=[1]>, [{}, {}]>',
    '<mesh<["x"=2], device_ids=[1,2]>, [{}, {}]>',
    '<@max, []>',
    '<@max, [{}, {}]>',
    '<@max, [], replicated={"x"}>',
    '<@empty, [{}, {}]>',
    '<@empty, []>',
    '<@empty, [{"x"}, {}]>',
    '<@small, [{"x", "y"}, {}]>',
    '<@ids, [{"x"}, {}]>',
    '<@"mesh", [{"x"}, {}]>',
    '<[{"x"}, {}]>',
    '<@mesh, {"x"}, {}>',
    '<@mesh>',
    '<@mesh, [{"x"}, {}], foo={"x"}>',
    '<@mesh, [{x}, {}]>',
    '<@mesh, [{"x":2}, {}]>',
    '<@mesh, [{"x":(1)}, {}]>',
    '<@mesh, [{"z":(-1)2}, {}]>',
    '<@mesh, [{"z":(1)-2}, {}]>',
    '<@mesh, [{"x"}, {"y":(1)2}], replicated={"y":(2)2, "z"}>',
    '<@mesh, [{"y", "x"}, {"z"}]>',
    '<@mesh, [{"z":(2)2}, {"z":(1)4}]>',
    '<mesh<["x"=1]>, [{"x"}, {}]>',
    '<mesh<["x"=1, "y"=6]>, [{"x", "y":(2)3}, {"y":(1)2}]>',
    '<mesh<["y"=6]>, [{"y":(1)2}, {"y":(1)3}]>',
    '<mesh<["y"=6]>, [{"y":(1)2}, {"y":(3)2}]>',
    '<mesh<["y"=12]>, [{"y":(1)2}, {"y":(3)2}]>',
    '<mesh<["y"=12]>, [{"y":(2)2}, {"y":(1)3}]>',
    '<mesh<["y"=24]>, [{"y":(1)2}, {"y":(3)4}]>',
    '<mesh<["y"=24]>, [{"y":(1)2}], replicated={"y":(3)4}>',
    '<mesh<["y"=24]>, [{"y":(1)2},{}], replicated={"y":(3)4}>',
]
# Where a sharding of a tensor<8x16xf32> stands.
PLACES = {
    "argument": "func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding@S}) { return }",
    "token": "func.func @main(%a: !stablehlo.token {sdy.sharding = #sdy.sharding@S}) { return }",
    "scalar": "func.func @main(%a: tensor<f32> {sdy.sharding = #sdy.sharding@S}) { return }",
    "result": "func.func @main(%a: tensor<8x16xf32>) -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding@S}) { return %a : tensor<8x16xf32> }",
    "op": "func.func @main(%a: tensor<8x16xf32>) { %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[@S]>} : tensor<8x16xf32>\n return }",
    "op without list": "func.func @main(%a: tensor<8x16xf32>) { %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding@S} : tensor<8x16xf32>\n return }",
    "generic": '"func.func"() <{function_type = (tensor<8x16xf32>) -> (), sym_name = "main", arg_attrs = [{sdy.sharding = #sdy.sharding@S}]}> ({\n'
               '^bb0(%a: tensor<8x16xf32>):\n "func.return"() : () -> ()\n}) : () -> ()',
    "constraint": "func.func @main(%a: tensor<8x16xf32>) { %0 = sdy.sharding_constraint %a @S : tensor<8x16xf32>\n return }",
    "reshard": "func.func @main(%a: tensor<8x16xf32>) { %0 = sdy.reshard %a @S : tensor<8x16xf32>\n return }",
    "edge": "func.func @main(%a: tensor<8x16xf32>) { %0 = sdy.data_flow_edge %a sharding=@S : tensor<8x16xf32>\n return }",
    "unknown op": 'func.func @main(%a: tensor<8x16xf32>) { %0 = "foo.x"(%a) <{p = 1}> {sdy.sharding = #sdy.sharding_per_value<[@S]>} : '
                  "(tensor<8x16xf32>) -> tensor<8x16xf32>\n return }",
}


def reason(table, text):
    return next((why for part, why in table.items() if part in text), None)


def judge(found, table, text):
    """A difference must be in the table of limits, and what is in the table must be one."""
    why = reason(table, text)
    assert bool(found) == bool(why), (text, found, why)


def _names(text):
    out, module = set(), reader.parse(text)[0]  # the module must outlive its operations
    todo = [module.operation]
    while todo:
        op = todo.pop()
        out.add(op.name)
        todo += [inner.operation for region in op.regions for block in region for inner in block]
    return out


def test_every_op_has_a_case():
    """The data files hold every op that jaxlib's bindings know in these dialects, in its pretty and its generic form."""
    known = set()
    for dialect in ("stablehlo", "chlo", "sdy", "func", "builtin"):
        module = importlib.import_module("jaxlib.mlir.dialects._%s_ops_gen" % dialect)
        known |= {c.OPERATION_NAME for c in vars(module).values() if isinstance(c, type) and hasattr(c, "OPERATION_NAME")}
    assert len(known) > 190
    for text in DATA:
        # jaxlib knows the quantised ops, but not the types they need
        assert known - child.forked(_names, text) == {"stablehlo.uniform_quantize", "stablehlo.uniform_dequantize"}


@pytest.mark.parametrize("text", DATA, ids=("pretty", "generic"))
def test_every_op(text):
    assert reader.check(text) is None


def test_accepted():
    texts = [text for _, text in reader.cases("reader_accepted.mlir")]
    assert len(texts) > 45
    assert [(text, found) for text, found in zip(texts, reader.each(lambda t: reader._check(t, True), texts)) if found] == []


def test_refused():
    """Malformed text that both refuse."""
    texts = [text for _, text in reader.cases("reader_refused.mlir")]
    assert len(texts) > 60
    for text, found in zip(texts, child.forked(lambda: [(reader.parse(t)[0] is None, not reader.through_tool(t)[0]) for t in texts])):
        assert found == (True, True), text


def test_limits():
    texts = ["func.func @main(%c: i1) {\n  cf.br ^bb1\n^bb1:\n  return\n}", "func.func @main(%a: tensor<99999999999x99999999999xf32>) { return }",
             "func.func @main() { %0 = stablehlo.constant dense<(1.0,2.0)> : tensor<2xf32> return }",
             "func.func @main() { %0 = stablehlo.constant dense<[- 1]> : tensor<1xi32> return }"]
    for text, found in zip(texts, reader.each(lambda t: reader._check(t, True), texts)):
        judge(found, LIMITS, text)


@pytest.mark.parametrize("place", [p if p in ("argument", "op", "unknown op") else pytest.param(p, marks=pytest.mark.slow) for p in PLACES])
def test_shardings(place):
    texts = [MESHES + PLACES[place].replace("@S", sharding) for sharding in SHARDINGS]
    found = reader.each(lambda t: reader._check(t, False), texts)
    for text, difference in zip(texts, found):
        jaxlib_refuses_all = place in ("token", "scalar", "op without list")
        judge(difference, {} if jaxlib_refuses_all else SHARDING_LIMITS, text)


def test_sdy_ops():
    """Manual computations, collectives, rules, meshes, groups: one case each, accepted or refused as by Shardy's verifier."""
    texts = [text if "\nmodule" in text else MESHES + text for _, text in reader.cases("reader_sdy.mlir")]
    refused = 0
    for text, found in zip(texts, reader.each(reader.acceptance, texts)):
        if found is None:  # jaxlib dies
            continue
        jaxlib_takes, difference, said = found
        refused += not jaxlib_takes
        judge(difference, LIMITS, text)
        if not said.startswith("module"):
            assert said.startswith("<stdin>:") and "error: " in said and "^" in said, said
    assert len(texts) > 300 and refused > 120


@pytest.mark.parametrize("seed", range(3))
def test_random_ops(seed):
    assert reader.check(random_ops.Ops(seed).module(60)) is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 60))
def test_more_random_ops(seed):
    assert reader.check(random_ops.Ops(seed).module(150)) is None


@pytest.mark.parametrize("name", ["mlp_tiny"] + [pytest.param(n, marks=pytest.mark.slow) for n in cases.SMALL[1:] + cases.MEDIUM])
def test_corpus(name):
    assert reader.check(cases.text_of(name)) is None


def mutation_sources():
    sdy = [MESHES + text for _, text in reader.cases("reader_sdy.mlir") if "module" not in text]
    return sdy + [MESHES + PLACES[p].replace("@S", s) for p, s in itertools.product(("argument", "op", "constraint"), SHARDINGS[:60])] + \
        [text for _, text in reader.cases("reader_accepted.mlir")]


@pytest.mark.parametrize("seed", [0] + [pytest.param(s, marks=pytest.mark.slow) for s in range(1, 30)])
def test_mutations(seed):
    """Mutated text that jaxlib takes is taken and printed back; a sharding that jaxlib objects to is refused."""
    found = reader.mutations(mutation_sources(), 150 if seed == 0 else 1000, seed)
    found = [f for f in found if not reason(LIMITS, f[0]) and not reason(SHARDING_LIMITS, f[0])]
    assert found == []
