import os
import pathlib
import sys

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


@pytest.fixture
def own(tmp_path):
    """Makes daemons that the test may kill; own(flags...)."""
    made = []

    def make(*flags):
        made.append(Daemon(tmp_path, *flags).start())
        return made[-1]

    yield make
    for d in made:
        if d.alive():
            d.kill()
