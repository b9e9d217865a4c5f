"""The hlo verb: printing is the identity on what XLA prints, and asynchronous ops go from sugar to the generic form and back."""
import glob
import json
import os
import re
import subprocess

import pytest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.path.abspath(os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright")))
DUMPS = sorted(glob.glob(os.path.join(ROOT, "tests", "golden", "hlo", "*.hlo.zst")))
# The third example of XLA's page on asynchronous instructions (op is negate), and what it stands for.
SUGAR = """HloModule example

ENTRY %main (operand: f32[64]) -> f32[64] {
  %operand = f32[64] parameter(0)
  %op-start = (f32[64], f32[64], s32[]) negate-start(f32[64] %operand), op_specific_attr="foo"
  %op-update0 = (f32[64], f32[64], s32[]) negate-update((f32[64], f32[64], s32[]) %op-start), op_specific_attr="foo"
  %op-update1 = (f32[64], f32[64], s32[]) negate-update((f32[64], f32[64], s32[]) %op-update0), op_specific_attr="foo"
  ROOT %op-done = f32[64] negate-done((f32[64], f32[64], s32[]) %op-update1)
}

"""
GENERIC = """HloModule example

%async_op-start (param_0: f32[64]) -> f32[64] {
  %param_0 = f32[64] parameter(0)
  ROOT %inner = f32[64] negate(f32[64] %param_0), op_specific_attr="foo"
}

ENTRY %main (operand: f32[64]) -> f32[64] {
  %operand = f32[64] parameter(0)
  %op-start = (f32[64], f32[64], s32[]) async-start(f32[64] %operand), calls=%async_op-start
  %op-update0 = (f32[64], f32[64], s32[]) async-update((f32[64], f32[64], s32[]) %op-start)
  %op-update1 = (f32[64], f32[64], s32[]) async-update((f32[64], f32[64], s32[]) %op-update0)
  ROOT %op-done = f32[64] async-done((f32[64], f32[64], s32[]) %op-update1)
}

"""


def hlo(text, *flags):
    done = subprocess.run([TOOL, "hlo", "-", *flags], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_pages_example():
    assert hlo(SUGAR) == SUGAR
    assert hlo(SUGAR, "--generic") == GENERIC
    assert hlo(GENERIC, "--sugar") == SUGAR
    assert hlo(GENERIC, "--generic") == GENERIC


@pytest.mark.parametrize("path", DUMPS, ids=lambda p: os.path.basename(p)[:-8])
def test_dumps(tmp_path, path):
    text = subprocess.run(["zstdcat", path], capture_output=True, text=True, check=True).stdout
    generic = hlo(text, "--generic")
    assert hlo(text) == text
    assert hlo(generic, "--sugar") == hlo(text, "--sugar") == text  # XLA prints sugar
    assert not re.search(r" (slice|dynamic-slice|fusion|custom-call)-(start|update|done)\(", generic)
    if "slice-start(" in text:
        (tmp_path / "generic.hlo").write_text(generic)
        costs = [json.loads(subprocess.run([TOOL, "simulate", p, "--json"], capture_output=True, text=True, check=True).stdout)["runtime_ns"]
                 for p in (path, str(tmp_path / "generic.hlo"))]
        assert "async-start(" in generic and costs[0] == costs[1]


PAIR = """HloModule pair

%%c (a: f32[8], b: f32[8]) -> f32[8] {
  %%a = f32[8] parameter(0)
  %%b = f32[8] parameter(1)
  ROOT %%inner = f32[8] %s
}

ENTRY %%main (p: f32[8], q: f32[8]) -> f32[8] {
  %%p = f32[8] parameter(0)
  %%q = f32[8] parameter(1)
  %%start = ((f32[8], f32[8]), f32[8], s32[]) async-start(%%p, %%q), calls=%%c%s
  ROOT %%done = f32[8] async-done(%%start)
}

"""


@pytest.mark.parametrize("inner, outer, generic", [
    ("subtract(%a, %b)", "", False),
    ("subtract(%b, %a)", "", True),  # sugar takes operands in order
    ("unheard-of(%a, %b)", "", True),  # a reader would not know its halves
    ('subtract(%a, %b), metadata={op_name="x"}', "", False),
    ('subtract(%a, %b), metadata={op_name="x"}', ', metadata={op_name="y"}', True),  # sugar has room for one
])
def test_what_stays_generic(inner, outer, generic):
    text = PAIR % (inner, outer)
    assert ("async-start(" in hlo(text, "--sugar")) == generic
    assert hlo(text, "--generic") == hlo(text) == text


def test_refusals(tmp_path):
    module = os.path.join(ROOT, "examples", "mlp.mlir")
    assert subprocess.run([TOOL, "hlo", module], capture_output=True).returncode == 1
    assert subprocess.run([TOOL, "hlo", "-", "--sugar", "--generic"], input=b"", capture_output=True).returncode == 64
    bad = subprocess.run([TOOL, "hlo", "-"], input=SUGAR.replace("%operand)", "%nothing)"), capture_output=True, text=True)
    assert bad.returncode == 1 and ":5:" in bad.stderr


SCHEDULE = """HloModule t, is_scheduled=true

ENTRY %%main (p: f32[4194304], q: f32[1048576]) -> f32[1048576] {
  %%p = f32[4194304]{0} parameter(0)
  %%q = f32[1048576]{0} parameter(1)
  %%n = f32[4194304]{0} negate(%%p)
  %%slice-start = ((f32[4194304]{0}), f32[1048576]{0}, s32[]) slice-start(%%n), slice={[0:1048576]}
%s
  ROOT %%r = f32[1048576]{0} add(%%y, %%slice-done)
}

"""
DONE = "  %slice-done = f32[1048576]{0} slice-done(%slice-start)"
WORK = "  %x = f32[1048576]{0} negate(%q)\n  %y = f32[1048576]{0} add(%x, %q)"


@pytest.mark.parametrize("form", ["--sugar", "--generic"])
def test_operands_live_until_done(tmp_path, form):
    """16 MiB of operand and 4 of result beside 4 of what runs meanwhile; done first, the operand is gone by then. No collective, so
    nothing of it is communication."""
    temporary = []
    for order in (WORK + "\n" + DONE, DONE + "\n" + WORK):
        path = tmp_path / "t.hlo"
        path.write_text(hlo(SCHEDULE % order, form))
        found = json.loads(subprocess.run([TOOL, "simulate", str(path), "--device", "h100", "--json"], capture_output=True, text=True, check=True).stdout)
        temporary.append(found["temporary_bytes"])
        assert found["communication_ns"] == found["exposed_communication_ns"] == 0
    state = 4  # of the asynchronous op
    assert temporary == [(24 << 20) + state, (20 << 20) + state]
