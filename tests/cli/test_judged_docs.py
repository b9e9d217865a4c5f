"""The tables of docs/judged.md and docs/judged-answers.md are what scripts print (tests/judged/docs.py --write writes them)."""
import importlib.util
import os

import pytest

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "judged", "docs.py")
SPEC = importlib.util.spec_from_file_location("judged_docs", PATH)
docs = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(docs)


@pytest.mark.parametrize("name", docs.BLOCKS)
def test_a_table_is_what_is_printed(name):
    assert docs.shown(name) == docs.printed(name)
