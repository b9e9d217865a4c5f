"""`shardwright opt` prints what jaxlib's Shardy makes of the same text, value by value."""
import itertools
import re

import numpy
import pytest

import cases
import execute
import sdy
from annotate import annotate

PLACED_ON = ("data", "data_megatron", "megatron", "zero2", "zero3_donated", "experts", "channels", "sequence", "sub_axes")


def report(found):
    return "%d differences\n" % len(found) + "\n".join(
        "%s: %s\n   ours   %s\n   jaxlib %s" % tuple(str(part)[:600] for part in d) for d in found[:20])


def agree(tool, passes, text):
    expected = sdy.run(passes, text, generic=True)
    ours = tool("opt", "--passes", passes, tool.file(text))
    found = sdy.compare(ours, expected)
    assert not found, report(found)


def parameters(names, wanted=None):
    out = []
    for name in names:
        marks = [pytest.mark.slow] if name in cases.LARGE else []
        for label in cases.strategies(name, cases.text_of(name)):
            if wanted is None or label in wanted:
                out.append(pytest.param(name, label, marks=marks, id="%s-%s" % (name, label)))
    return out


def parameters_of(names):
    return [pytest.param(name, marks=[pytest.mark.slow] if name in cases.LARGE else []) for name in names]


ALL = cases.SMALL + cases.MEDIUM + cases.LARGE


@pytest.mark.parametrize("name,label", parameters(ALL))
def test_propagation(tool, name, label):
    text = cases.text_of(name)
    patterns, results = cases.strategies(name, text)[label]
    agree(tool, sdy.PROPAGATE, annotate(text, cases.MESH, patterns, results))


@pytest.mark.parametrize("name,label", parameters(ALL, PLACED_ON))
def test_placed_collectives(tool, name, label):
    text = cases.text_of(name)
    patterns, results = cases.strategies(name, text)[label]
    agree(tool, sdy.PLACED, tool.inlined(annotate(text, cases.MESH, patterns, results)))


@pytest.mark.parametrize("name", parameters_of(ALL))
def test_inline(tool, name):
    """No text to compare with: jaxlib's build does not inline. No call is left, jaxlib's verifier takes the result, and
    small programs compute the same."""
    text = cases.text_of(name)
    text = annotate(text, cases.own_mesh(text) or "all=1", [])
    inlined = tool("opt", "--passes", "inline,symbol-dce", tool.file(text))
    assert not re.search(r"\bcall @|func\.call", inlined) and inlined.count("func.func") == 1
    sdy.run("", inlined)
    if name in ("mlp_tiny", "transformer_2_tiny"):
        for one, other in zip(execute.run(text), execute.run(inlined, like=text), strict=True):
            assert numpy.array_equal(one, other, equal_nan=True) or abs(one - other).max() <= 1e-6 * abs(one).max()


def two_calls(first, argument, second, returned):
    """Two calls of one function whose operands, argument and result may disagree about their sharding."""
    at = ["" if s is None else " {sdy.sharding = #sdy.sharding<@mesh, [%s]>}" % s for s in (first, argument, second, returned)]
    return """module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @main(%%a: tensor<8xf32>%s, %%b: tensor<8xf32>%s) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %%c = stablehlo.cosine %%b : tensor<8xf32>
    %%0:2 = call @f(%%a) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    %%1:2 = call @f(%%c) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}]>, <@mesh, [{?}]>]>} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    return %%0#0, %%1#0, %%1#1 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
  func.func private @f(%%a: tensor<8xf32>%s) -> (tensor<8xf32>%s, tensor<8xf32>) {
    %%0 = stablehlo.sine %%a : tensor<8xf32>
    return %%0, %%a : tensor<8xf32>, tensor<8xf32>
  }
}
""" % (at[0], at[2], at[1], at[3])


@pytest.mark.parametrize("passes", ("sdy-insert-func-call-reshards", "sdy-unflatten-call-graph",
                                    "sdy-unflatten-call-graph{dedup-functions-fully=true}", sdy.PROPAGATE))
def test_calls(tool, passes):
    some = (None, '{"x"}', '{"y"}')
    for sides in itertools.product(some, some, some[:2], ("{}", *some)):
        agree(tool, passes, two_calls(*sides))


@pytest.mark.parametrize("name", cases.SMALL + cases.MEDIUM)
def test_rules(tool, name):
    agree(tool, "func.func(sdy-populate-op-sharding-rules)", cases.text_of(name))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 42))
@pytest.mark.parametrize("name", ("mlp_tiny", "transformer_2_tiny", "moe", "convnet", "transformer_scan"))
def test_random(tool, name, seed):
    text = cases.text_of(name)
    try:
        annotated = annotate(text, "data=4,model=2" if seed % 2 else "data=4,model=4", cases.random_patterns(text, seed))
        inlined = tool.inlined(annotated)
        sdy.run(sdy.PLACED, inlined)
    except sdy.Crash as crash:
        pytest.skip("jaxlib itself fails: " + crash.args[0].splitlines()[-1][:200])
    agree(tool, sdy.PROPAGATE, annotated)
    agree(tool, sdy.PLACED, inlined)
