"""The two passes that place communication, against jaxlib's: random shardings by the hundred, and random single ops."""
import json
import random
import re

import pytest

import cases
import execute
import random_ops
import replicas
import sdy
from annotate import annotate
from child import Crash, forked

COLLECTIVES = "func.func(sdy-reshard-to-collectives)"
EXPLICIT = "func.func(sdy-insert-explicit-reshards{enable-full-version=%s})"


def pieces(rng, axes):
    """Every axis whole or cut into parts, as (name, None) or (name, (pre, size))."""
    out = []
    for name, size in axes:
        cuts, pre = [], 1
        while pre < size:
            parts = [d for d in range(2, size // pre + 1) if size // pre % d == 0]
            part = rng.choice(parts) if rng.random() < .4 else size // pre
            cuts.append((name, (pre, part)))
            pre *= part
        out += cuts if len(cuts) > 1 else [(name, None)]
    return out


def merged(refs, sizes):
    out = []
    for name, sub in refs:
        if out and sub and out[-1][0] == name and out[-1][1] and out[-1][1][0] * out[-1][1][1] == sub[0]:
            joined = (out[-1][1][0], out[-1][1][1] * sub[1])
            out[-1] = (name, None if joined == (1, sizes[name]) else joined)
        else:
            out.append((name, sub))
    return out


def random_sharding(rng, axes, rank):
    dims = [[] for _ in range(rank)]
    refs = pieces(rng, axes)
    rng.shuffle(refs)
    for ref in refs if rank else ():
        if rng.random() < .72:
            dims[rng.randrange(rank)].append(ref)
    words = ["{" + ", ".join('"%s"' % name + (":(%d)%d" % sub if sub else "") for name, sub in merged(d, dict(axes))) + "}" for d in dims]
    return "<@mesh, [%s]>" % ", ".join(words)


def random_mesh(rng, pool):
    return [("xyzw"[i], rng.choice(pool)) for i in range(rng.randint(1, 4))]


def mesh_line(axes):
    return "sdy.mesh @mesh = <[%s]>" % ", ".join('"%s"=%d' % axis for axis in axes)


def reshards(seed, pool, count):
    rng = random.Random(seed)
    axes = random_mesh(rng, pool)
    lines = [mesh_line(axes)]
    for i in range(count):
        shape = [rng.choice((6, 8, 64, 480, 720, 1024)) for _ in range(rng.randint(1, 3))]
        t = random_ops.tensor(shape)
        lines.append("func.func @f%d(%%a: %s {sdy.sharding = #sdy.sharding%s}) -> %s {\n  %%r = sdy.reshard %%a %s : %s\n  return %%r : %s\n}" % (
            i, t, random_sharding(rng, axes, len(shape)), t, random_sharding(rng, axes, len(shape)), t, t))
    return "module {\n" + "\n".join(lines) + "\n}\n"


def agree(tool, passes, text):
    found = sdy.compare(tool("opt", "--passes", passes, tool.file(text)), sdy.run(passes, text))
    assert not found, "%d differences\n" % len(found) + "\n".join("%s: %s\n   ours   %s\n   jaxlib %s" % tuple(map(str, d)) for d in found[:10])


@pytest.mark.parametrize("seed", range(8))
def test_reshards(tool, seed):
    agree(tool, COLLECTIVES, reshards(seed, (2, 2, 4, 8), 60))


def functions(text):
    """Function name -> its lines."""
    return {re.search(r"@(\w+)", part)[1]: part for part in re.split(r"(?m)^  func\.func ", text)[1:]}


def arrives(part):
    """Whether the returned value's sharding is the one that was asked for, as the test wrote it on the result."""
    last = re.findall(r"out_sharding=(<.*>) :", part)
    return not last or last[-1] == re.search(r"-> \(.*?#sdy\.sharding(<@mesh.*?\]>)", part)[1]


@pytest.mark.parametrize("seed", range(100, 106))
def test_reshards_of_odd_sizes(tool, seed):
    """Sizes that do not divide one another. Shardy gives up on a few of these before it arrives; we go on."""
    text = re.sub(r"-> (tensor<\S+>) \{\n  %r = sdy.reshard %a (<.*>) :", r"-> (\1 {sdy.sharding = #sdy.sharding\2}) {\n  %r = sdy.reshard %a \2 :",
                  reshards(seed, (2, 3, 5, 6), 40))
    ours = tool("opt", "--passes", COLLECTIVES, tool.file(text))
    compared = 0
    try:
        theirs = functions(sdy.run(COLLECTIVES, text))
    except Crash:
        pytest.skip("jaxlib aborts on one of these")
    for name, part in functions(sdy.run("", ours)).items():
        assert arrives(part), part
        if arrives(theirs[name]):
            compared += 1
            assert part == theirs[name]
    assert compared > 20


def _annotate(text, seed):
    """Random shardings on arguments and results of every op."""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    rng = random.Random(seed)
    axes = [("a", 2), ("b", 4)]

    def sharding(kind):
        if not isinstance(kind, ir.RankedTensorType):
            return None
        shape = kind.shape
        return random_sharding(rng, axes, len(shape)) if 0 not in shape else None

    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        for op in module.body.operations:
            if op.operation.name != "func.func":
                continue
            body = op.operation.regions[0].blocks[0]
            given = [sharding(a.type) for a in body.arguments]
            op.operation.attributes["arg_attrs"] = ir.ArrayAttr.get([
                ir.DictAttr.get({"sdy.sharding": ir.Attribute.parse("#sdy.sharding" + s)} if s else {}) for s in given])
            for inner in body.operations:
                inner = inner.operation
                if not inner.results or inner.name == "sdy.sharding_constraint":
                    continue
                all_of_them = [sharding(r.type) for r in inner.results]
                if all(all_of_them):
                    inner.attributes["sdy.sharding"] = ir.Attribute.parse("#sdy.sharding_per_value<[%s]>" % ", ".join(all_of_them))
        return module.operation.get_asm(enable_debug_info=False)


@pytest.mark.parametrize("full", ("true", "false"))
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))])
def test_explicit_reshards(tool, seed, full):
    """Shardy aborts on some ops: each function is compared when jaxlib survives it."""
    text = forked(_annotate, random_ops.Ops(seed + 500).module(60), seed)
    passes = EXPLICIT % full
    head = "module {\n  sdy.mesh @mesh = <[\"a\"=2, \"b\"=4]>\n  func.func "
    compared = 0
    for part in functions(text).values():
        one = head + part if part.rstrip().endswith("}\n}") else head + part + "}\n"
        try:
            expected = sdy.run(passes, one)
        except Crash:
            continue
        compared += 1
        ours = tool("opt", "--passes", passes, tool.file(one))
        found = sdy.compare(ours, expected)
        assert not found, one + "\n" + "\n".join("%s: %s\n   ours   %s\n   jaxlib %s" % tuple(map(str, d)) for d in found[:6])
    assert compared > 30


EXECUTED = [("mlp_tiny", label) for label in ("data", "both_axes", "zero2", "zero3_donated", "megatron")] + [
    pytest.param("mlp", "zero2", marks=pytest.mark.slow)] + [
    ("transformer_2_tiny", label) for label in ("data_megatron", "zero3_donated", "sequence", "width", "vocabulary", "sub_axes")] + [
    pytest.param(name, "zero3_donated", marks=[pytest.mark.slow] * (name in ("llama_2_tiny", "encoder_decoder_tiny", "dit_tiny", "lora_tiny", "accumulate_tiny"))) for name in cases.TINY] + [
    pytest.param(name, "data", marks=pytest.mark.slow) for name in cases.TINY] + [
    pytest.param(name, "data_megatron", marks=pytest.mark.slow) for name in cases.TINY if name not in ("encoder_decoder_tiny", "dit_tiny")] + [
    ("graph_net_tiny", "edges"), ("mixed_precision_tiny", "megatron")] + [
    pytest.param(name, label, marks=pytest.mark.slow) for name, label in (("resnet_tiny", "spatial"), ("ssm_tiny", "states"), ("shard_map_step_tiny", "data_megatron"))] + [  # test_exact.py has them
    pytest.param(name, label, marks=pytest.mark.slow) for label in ("random_0", "random_1")
    for name in (*cases.TINY, "graph_net_tiny", "ssm_tiny", "resnet_tiny", "shard_map_step_tiny", "mixed_precision_tiny", "flax_step_tiny", "optax_step_tiny")] + [
    pytest.param(name, label, marks=pytest.mark.slow) for name, label in (
        ("graph_net_tiny", "nodes"), ("graph_net_tiny", "zero2"), ("mixed_precision_tiny", "vocabulary"), ("resnet_tiny", "channels"),
        ("flax_step_tiny", "megatron"), ("flax_step_tiny", "zero3_donated"), ("optax_step_tiny", "data_megatron"), ("unet_tiny", "spatial"),
        ("shard_map_step_tiny", "zero3_donated"))]


@pytest.mark.parametrize("name,label", EXECUTED)
def test_emitted_program_computes_the_same(tool, name, label):
    """The program of one device, run as replicas on CPU devices, gives every device its part of the whole results.

    Only many devices can run a program with a mesh of its own: there XLA's partitioner says what is right."""
    text = cases.text_of(name)
    patterns, pinned = cases.strategies(name, text)[label]
    annotated = annotate(text, cases.MESH, patterns, pinned)
    whole = execute.run(annotate(text, cases.MESH, []) if cases.own_mesh(text) else text)
    assert max(replicas.errors(tool, tool.file(annotated), whole, cases.signature(text))) < 5e-2


@pytest.mark.parametrize("name,label", [
    ("mlp_tiny", "random_0"), ("transformer_2_tiny", "zero3_donated"), ("transformer_2_tiny", "data_megatron"), ("graph_net_tiny", "edges"),
    ("transformer_2_tiny", "vocabulary"), ("decode_tiny", "zero3_donated"), ("ssm_tiny", "states"), ("moe", "experts"), ("resnet_tiny", "channels"), ("mixed_precision_tiny", "zero3_donated")])
def test_emitted_program_communicates_as_placed(tool, name, label):
    """No op of these strategies is gathered to run whole: the program has the collectives that the level counts."""
    text = cases.text_of(name)
    path = tool.file(annotate(text, cases.MESH, *cases.strategies(name, text)[label]))
    placed = json.loads(tool("lower", path, "--json"))["counts"]["placed"]
    del placed["all_slice"]  # moves nothing
    emitted = tool("lower", path, "--emit-mlir", "-")
    assert {kind: emitted.count('"stablehlo.%s"' % kind) for kind in placed} == placed


CONVOLUTION = """module {
  sdy.mesh @mesh = <["a"=4, "b"=2]>
  func.func @main(%%x: tensor<2x16x16x4xf32> %s, %%w: tensor<3x3x4x4xf32>) -> (tensor<2x16x16x4xf32> %s) {
    %%r = stablehlo.convolution(%%x, %%w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {
      batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x16x16x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x16x16x4xf32>
    return %%r : tensor<2x16x16x4xf32>
  }
}
"""


def test_borders_are_sent_and_nothing_is_gathered(tool):
    """Of a convolution cut in space: one permute per side and dim, each of a border."""
    space = '{sdy.sharding = #sdy.sharding<@mesh, [{}, {"a"}, {"b"}, {}]>}'
    emitted = tool("lower", tool.file(CONVOLUTION % (space, space)), "--emit-mlir", "-")
    sent = re.findall(r'"stablehlo\.collective_permute".* -> tensor<([\dx]+)f32>', emitted)
    assert sorted(sent) == ["2x1x8x4x", "2x1x8x4x", "2x6x1x4x", "2x6x1x4x"]
    assert not re.findall(r"stablehlo\.(?:all_gather|all_reduce|all_to_all)", emitted)
