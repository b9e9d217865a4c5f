"""docs/op-coverage.md says what the op table and the tests say."""
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.path.abspath(os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright")))


def test_page_is_up_to_date():
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "op-coverage"), "--check"], capture_output=True, text=True,
                          env=dict(os.environ, SHARDWRIGHT=TOOL), timeout=60)
    assert done.returncode == 0, done.stderr


def test_rows_are_complete():
    """Every row of ir/ops.def is listed, with something in every column."""
    with open(os.path.join(ROOT, "ir", "ops.def")) as f:
        table = re.findall(r'^OP\(\w+, *"([\w.-]+)"', f.read(), re.M)
    listed = subprocess.run([TOOL, "rules", "--list"], capture_output=True, text=True, timeout=60).stdout.splitlines()[1:]
    assert [line.split()[0] for line in listed] == table and all(len(line.split(None, 4)) == 5 for line in listed)
    ways = {line.split()[0]: line.split(None, 4)[4] for line in listed}
    assert ways["stablehlo.add"] == "shards" and ways["stablehlo.iota"] == "shards" and ways["stablehlo.rng"] == "whole" and ways["stablehlo.all_reduce"] == "manual"
    assert ways["func.call"] == "inlined" and ways["stablehlo.tuple"].startswith("refused: ")
