import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from daemon import SHARDWRIGHT, SHARDWRIGHTD, Daemon


def pytest_collection_modifyitems(items):
    if not (os.access(SHARDWRIGHT, os.X_OK) and os.access(SHARDWRIGHTD, os.X_OK)):
        skip = pytest.mark.skip(reason="the programs are not built: SHARDWRIGHT, SHARDWRIGHTD")
        for item in items:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def daemon(tmp_path_factory):
    """One daemon for all tests that do not end it."""
    d = Daemon(tmp_path_factory.mktemp("daemon"), "--workers", "2", "--upload-limit", "1MiB", "--module-limit", "4MiB").start()
    yield d
    assert d.alive(), d.log()[-4000:]
    assert d.stop() == 0
    assert d.rows("PRAGMA integrity_check") == [("ok",)]


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    """Path of a C file of this folder as a library to preload."""

    def build(name):
        out = tmp_path_factory.mktemp("shim") / (name + ".so")
        source = pathlib.Path(__file__).with_name(name + ".c")
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", out, source, "-ldl"], check=True)
        return str(out)

    return build


@pytest.fixture
def faults(shim, tmp_path):
    """(environment of a daemon, fault(name, on)): see faults.c."""
    folder = tmp_path / "faults"
    folder.mkdir()

    def fault(name, on=True):
        if on:
            (folder / name).touch()
        else:
            (folder / name).unlink(missing_ok=True)

    return {"LD_PRELOAD": shim("faults"), "FAULTS": str(folder)}, fault


@pytest.fixture
def own(tmp_path):
    """Makes daemons that the test may kill; own(flags...)."""
    made = []

    def make(*flags, **more):
        made.append(Daemon(tmp_path, *flags, **more).start())
        return made[-1]

    yield make
    for d in made:
        if d.alive():
            d.kill()


@pytest.fixture
def public():
    """A folder that other users may enter. Pytest's own are closed again by every run of it that begins."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o711)
        yield folder
