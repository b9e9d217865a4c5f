"""docs/python.md: the example's output is the real one, and every argument and member is told.

WRITE_DOCS=1 writes the output anew."""
import inspect
import os
import re
import subprocess
import sys

import pytest

from child import forked
from conftest import ROOT

DOC = os.path.join(ROOT, "docs", "python.md")
OUTPUT = re.compile(r"(<!-- output of examples/train.py -->\n```\n)(.*?)(```\n)", re.S)
LOSS = re.compile(r"\b\d+\.\d{5}\b")


def doc():
    with open(DOC) as f:
        return f.read()


def test_example(tool):
    done = subprocess.run([sys.executable, os.path.join(ROOT, "examples", "train.py")], capture_output=True, text=True,
                          env=dict(os.environ, SHARDWRIGHT=tool.path), timeout=300)
    assert done.returncode == 0 and "losses agree" in done.stdout, done.stdout + done.stderr
    assert "NamedShardings lose part of this plan" in done.stderr
    text = doc()
    told = OUTPUT.search(text)[2]
    found = done.stdout[done.stdout.index(told.splitlines()[0]):]
    if os.environ.get("WRITE_DOCS"):
        with open(DOC, "w") as f:
            f.write(OUTPUT.sub(lambda m: m[1] + found + m[3], text))
        told = found
    # losses depend on the CPU in their last digits
    assert LOSS.sub("LOSS", found) == LOSS.sub("LOSS", told)
    for a, b in zip(LOSS.findall(found), LOSS.findall(told), strict=True):
        assert abs(float(a) - float(b)) < 1e-3, (a, b)


TORCH = os.path.join(ROOT, "build", "torch-venv", "bin", "python")
TORCH_OUTPUT = re.compile(r"(<!-- output of make torch -->\n```\n)(.*?)(```\n)", re.S)


@pytest.mark.skipif(not os.path.exists(TORCH), reason="no torch: make torch")
def test_torch_example(tool):
    done = subprocess.run([TORCH, os.path.join(ROOT, "examples", "torch_dtensor.py")], capture_output=True, text=True,
                          env=dict(os.environ, SHARDWRIGHT=tool.path), timeout=300)
    assert done.returncode == 0 and "losses agree" in done.stdout, done.stdout + done.stderr
    found, told = done.stdout[done.stdout.index("placements = "):], TORCH_OUTPUT.search(doc())[2]
    assert LOSS.sub("LOSS", found) == LOSS.sub("LOSS", told)


def public():
    sys.path.insert(0, os.path.join(ROOT, "clients", "python"))
    import shardwright
    members = [name for name in vars(shardwright.Plan) if not name.startswith("_")]
    return list(inspect.signature(shardwright.plan).parameters), [*members, "document", "module", "fallback", "verifications"]


def test_everything_is_told():
    text = doc()
    arguments, members = forked(public)
    told = set(re.findall(r"\w+", "".join(re.findall(r"`[^`\n]*`", text)))) | {"static_argnums", "static_argnames", "donate_argnums", "donate_argnames"}
    assert not set(arguments) - told and not set(members) - told, (set(arguments) - told, set(members) - told)
    signature = re.search(r"^plan\((.*?)\) -> Plan", text, re.S | re.M)[1]
    assert re.findall(r"(\w+)(?:=|,|$)", re.sub(r"=[^,]*", "=", signature)) == arguments


def flags_of_verifier():
    sys.path.insert(0, os.path.join(ROOT, "clients", "python"))
    from shardwright import verifier
    import contextlib
    import io
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
        verifier.main(["--help"])
    return text.getvalue()


def test_every_flag_of_the_verifier_is_told():
    section = doc().split("### Verifiers")[1].split("\n## ")[0]
    flags = set(re.findall(r"--[a-z]+", forked(flags_of_verifier))) - {"--help"}
    assert len(flags) > 8 and flags == set(re.findall(r"--[a-z]+", section))
