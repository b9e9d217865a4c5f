"""Sharding rules of random single ops, text against text with jaxlib's sdy-populate-op-sharding-rules."""
import re

import pytest

import cases
import child
import random_ops
import sdy


def jaxlib_rules(text, conservative):
    """[(op, rule or None)] in the order of the module."""
    import jax._src.interpreters.mlir as mlir
    from jaxlib.mlir import ir, passmanager
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        pipeline = "builtin.module(func.func(sdy-populate-op-sharding-rules{conservative-propagation=%s}))" % str(conservative).lower()
        passmanager.PassManager.parse(pipeline).run(module.operation)
        found = []

        def visit(op):
            rule = str(op.attributes["sdy.sharding_rule"]) if "sdy.sharding_rule" in op.attributes else None
            found.append((op.name, rule))
            for region in op.regions:
                for block in region:
                    for inner in block:
                        visit(inner.operation)
        for op in module.body:
            visit(op.operation)
        return [(name, rule) for name, rule in found if not re.search(r"\.return$|^func\.func$|^sdy\.mesh$", name)]


def our_rules(tool, text, conservative):
    lines = tool("rules", *(["--conservative"] if conservative else []), tool.file(text)).splitlines()
    found = [re.search(r": ([\w.-]+): (.*)$", line).groups() for line in lines]
    return [(name, rule if rule.startswith("#") else None) for name, rule in found]


def agree(tool, text, conservative):
    ours, expected = our_rules(tool, text, conservative), child.forked(jaxlib_rules, text, conservative)
    assert [name for name, _ in ours] == [name for name, _ in expected]
    assert [pair for pair in zip(ours, expected) if pair[0] != pair[1]] == []


@pytest.mark.parametrize("conservative", (False, True))
@pytest.mark.parametrize("seed", range(4))
def test_random_ops(tool, seed, conservative):
    agree(tool, random_ops.Ops(seed).module(150), conservative)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4, 60))
def test_more_random_ops(tool, seed):
    agree(tool, random_ops.Ops(seed).module(150), seed % 2 == 1)


@pytest.mark.parametrize("name", cases.SMALL + cases.MEDIUM)
def test_corpus(tool, name):
    agree(tool, cases.text_of(name), False)
