"""Tests against jaxlib's Shardy and XLA.

    build/venv/bin/python -m pytest tests/oracle            the fast set
    build/venv/bin/python -m pytest tests/oracle --slow     everything (or SHARDWRIGHT_SLOW=1)

SHARDWRIGHT names the tool; default build/shardwright under the repository root.
"""
import os
import subprocess
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import pytest  # noqa: E402

WANTED = "0.10.2"
ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

try:
    import jaxlib
    # Imported once here, so that forked children start quickly. Contexts are made in children only (see child.py).
    import jaxlib.mlir.ir
    import jaxlib.mlir.passmanager
    import jax._src.interpreters.mlir  # noqa: F401
    MISSING = None if jaxlib.__version__ == WANTED else "jaxlib is %s, the oracle is %s" % (jaxlib.__version__, WANTED)
except ImportError as error:
    MISSING = "no jaxlib: %s (pip install -r tests/requirements.txt)" % error


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the slow tests too")


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: minutes; runs with --slow or SHARDWRIGHT_SLOW=1")


def pytest_collection_modifyitems(config, items):
    slow = config.getoption("--slow") or os.environ.get("SHARDWRIGHT_SLOW", "0") not in ("", "0")
    for item in items:
        if MISSING:
            item.add_marker(pytest.mark.skip(reason=MISSING))
        elif "slow" in item.keywords and not slow:
            item.add_marker(pytest.mark.skip(reason="slow: run with --slow"))


def threads():
    return len(os.listdir("/proc/self/task"))


@pytest.fixture(autouse=True)
def no_threads_left():
    """The rule of child.py: a test that starts MLIR's or XLA's threads in this process makes every later child hang."""
    before = threads()
    yield
    assert threads() <= before, "the test left threads behind: compile and lower in a child (child.forked)"


class Tool:
    """The built command line tool. Every call checks the exit code."""

    def __init__(self, path, folder):
        self.path, self.folder = path, folder
        self.emit = ()  # flags of `lower --emit-mlir` beyond the defaults: replicas.py

    def file(self, text, name="module.mlir"):
        path = os.path.join(self.folder, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def __call__(self, *words, codes=(0,), seconds=300):
        done = subprocess.run([self.path, *map(str, words)], capture_output=True, text=True, timeout=seconds)
        assert done.returncode in codes, "%s: exit %d\n%s" % (" ".join(map(str, words)), done.returncode, done.stderr[-3000:])
        return done.stdout

    def inlined(self, text):
        """The text with its calls inlined, which jaxlib's passes cannot do; test_inline says that it computes the same."""
        return self("opt", "--passes", "inline,symbol-dce", self.file(text)) if " call @" in text or "func.call" in text else text


@pytest.fixture
def tool(tmp_path):
    path = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))
    path = path if os.path.isabs(path) else os.path.abspath(path)
    assert os.access(path, os.X_OK), "no tool at %s: build it, or name it in SHARDWRIGHT" % path
    return Tool(path, str(tmp_path))
