"""What the other tests take for granted about jaxlib and about the corpus; needs no tool."""
import os
import subprocess
import sys

import pytest

import cases
import memory
import sdy
from annotate import annotate
from test_counts import DEPTHS, expert, formula


@pytest.mark.parametrize("layers,name", DEPTHS)
@pytest.mark.parametrize("strategy", ("data", "megatron", "data_megatron"))
def test_experts_are_clean(strategy, layers, name):
    """The corpus holds no surprise: an expert strategy places the textbook collectives and nothing else."""
    text = cases.text_of(name)
    patterns, results = expert(strategy, text)
    assert sdy.placed_counts(annotate(text, cases.MESH, patterns, results)) == formula(strategy, layers, "placed")


def test_megatron_forward_is_clean():
    text = cases.text_of("transformer_4_forward")
    assert sdy.placed_counts(annotate(text, cases.MESH, cases.megatron())) == {"all_reduce": 8}


@pytest.mark.parametrize("name", ("mlp_tiny", "mlp", "transformer_2_tiny", "transformer_4_forward", "transformer_scan"))
@pytest.mark.parametrize("label", ("none", "data", "megatron", "zero2", "zero3_donated"))
def test_bytes_follow_from_shardings(name, label):
    """XLA's argument and output bytes are those of the propagated shardings; the tuple's table is 8 bytes per result."""
    text = cases.text_of(name)
    patterns, results = cases.strategies(name, text)[label]
    annotated = annotate(text, cases.MESH, patterns, results)
    measured = memory.measure(annotated)
    expected = sdy.local_bytes(annotated)
    assert {word: measured[word] for word in expected} == expected


def test_compare_finds_differences():
    text = annotate(cases.text_of("mlp_tiny"), cases.MESH, [("batch*", [["data"], []])])
    a = sdy.run(sdy.PROPAGATE, text)
    assert sdy.compare(a, a) == []
    b = a.replace('[{"data"}, {}]', '[{"model"}, {}]', 1)
    assert len(sdy.compare(a, b)) == 1 and sdy.compare(a, b)[0].a != sdy.compare(a, b)[0].b
    assert sdy.compare(a, a.replace("stablehlo.tanh", "stablehlo.cosine"))[0].value == "structure: op"
    assert sdy.compare(a, a.replace("contracting_dims = [1] x [0]", "contracting_dims = [0] x [1]", 0)) == []


def test_crash_is_reported():
    with pytest.raises(sdy.Crash):
        sdy.run(sdy.PROPAGATE, "module { func.func @main( }")


@pytest.mark.parametrize("names", [pytest.param(cases.SMALL, id="small"), pytest.param((), id="all", marks=pytest.mark.slow)])
def test_corpus_is_current(names):
    mint = os.path.join(cases.CORPUS, "mint.py")
    done = subprocess.run([sys.executable, mint, "--check", *names], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
