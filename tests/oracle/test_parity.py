"""Passes on random programs, ours against jaxlib's: a fixed slice of what `make parity` runs, and the kept differences."""
import glob
import os
import subprocess
import sys

import pytest

import sdy

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
SERVER = os.path.join(ROOT, "build", "oracle", "pass_server")
GOLDEN = sorted(glob.glob(os.path.join(HERE, "..", "golden", "passes", "*.mlir")))
SEEDS = (3, 60)  # first, how many


# What constructs reach: pipelines, and what is of calls and collectives alone.
CONSTRUCTS = ["--programs", "constructs", "--passes", "pipeline|across calls|func|canonicalize"]


@pytest.mark.parametrize("more", [[], CONSTRUCTS], ids=["random", "constructs"])
def test_slice(more):
    """A few differences are known (docs/propagation-differences.md); the programs of the slice have none of them."""
    subprocess.run(["make", "-C", ROOT, "build/oracle/pass_server"], check=True, capture_output=True)
    done = subprocess.run([sys.executable, os.path.join(HERE, "parity.py"), "--seed", str(SEEDS[0]), "--count", str(SEEDS[1]),
                           "--server", SERVER] + more, capture_output=True, text=True, timeout=600, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    print(done.stdout)


def test_a_difference_is_found(tmp_path):
    """The comparison can fail: a server that answers with the module as it came."""
    fake = tmp_path / "server"
    fake.write_text("#!%s\nimport sys\ninput = sys.stdin.buffer\nwhile line := input.readline():\n"
                    "    text = input.read(int(line.split()[0]))\n    sys.stdout.buffer.write(b'0 %%d\\n' %% len(text) + text)\n"
                    "    sys.stdout.flush()\n" % sys.executable)
    fake.chmod(0o755)
    done = subprocess.run([sys.executable, os.path.join(HERE, "parity.py"), "--count", "20", "--passes", "^sdy-propagation-pipeline$",
                           "--server", str(fake)], capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert done.returncode == 1 and "sdy-propagation-pipeline: different" in done.stdout


@pytest.mark.parametrize("path", GOLDEN, ids=os.path.basename)
def test_golden_is_what_jaxlib_says(path):
    """tests/unit/check_golden.c replays these without jaxlib."""
    with open(path) as f:
        head, rest = f.read().split("\n", 1)
    before, after = rest.split("// -----\n")
    assert sdy.run(head.removeprefix("// passes: "), before).strip() == after.strip()
