"""Every call of SQLite, and an allocation of every stack, of one request after the other fails in turn, in one daemon that goes on. What a daemon does
from its start to its end is walked by in_turn.py (make check-in-turn)."""

import contextlib
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys

import pytest

from daemon import STORE_VERSION, Daemon, eventually, module_text
from script import NEVER, Plan, Script, steps
from tools_in_turn import ACTIONS, Tools, walk


# Of all requests, these are left to in_turn.py, which has the time.
SLOW = ("nothing", "submit", "cancel", "twice", "arguments", "annotated", "explanation", "timeline", "shardings", "outline", "exact", "packed upload", "detailed", "verification",
        "no JSON", "no field", "no program", "no parameter", "foreign")


@pytest.fixture
def served(own, shim, tmp_path):
    """A daemon with an answer, what fails in it, and the requests: name -> function."""
    plan = Plan(tmp_path / "plan")
    d = own("--workers", "1", env={"LD_PRELOAD": shim("nth"), "NTH": str(plan.path)}, fixed=True)
    module = d.upload(module_text(8), {"X-Shardwright-Label": "first"}).json()["id"]
    body = {"module": module, "mesh": "data=2", "evaluations": 5}
    search = d.search(body).json()["id"]
    strategy = d.wait(search)["strategy"]
    script = Script(d)
    requests = steps(script, {"module": module, "body": body, "search": search, "strategy": strategy})
    for name in SLOW:
        requests.pop(name)
    return d, plan, script, requests


def turns(plan, kind, ask):
    """What to fail in this request: numbers of calls, or stacks."""
    plan.fail(kind, NEVER, 0, census=1)
    ask()
    plan.heal()
    return plan.stacks() if kind == "memory" else range(plan.calls())


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_each_fails_in_turn(served, kind):
    d, plan, script, requests = served
    failed = 0
    for name, ask in requests.items():
        eventually(lambda: ask().status < 300)
        for at in turns(plan, kind, ask):
            plan.fail(kind, at, 1)
            answer = ask()
            plan.heal()
            failed += plan.failed()
            assert not script.wrong, (name, at, script.wrong, d.log()[-3000:])
            assert d.alive(), (name, at, d.log()[-3000:])
            assert not answer or answer.status in (200, 201, 202, 503, 507, 429), (name, at, answer.status, answer.body, d.log()[-3000:])
    print(f"{kind}: {failed} failed")
    assert failed > 100
    eventually(lambda: all(ask().status < 300 for ask in requests.values()))
    assert d.stop() == 0
    assert d.rows("PRAGMA integrity_check") == [("ok",)]


def test_a_migration_is_whole(tmp_path):
    """Each call of SQLite on the way from the version before fails: the store is of this version with all its rows, and what was to be canceled is,
    or it can be brought there afterwards."""
    tools = Tools(tmp_path)
    good, turns = tools.turns("sqlite", "migrate")
    wrong = [fault for at in turns if (fault := tools.turn("sqlite", "migrate", at, good))]
    assert not wrong, "\n".join(wrong)
    assert good[3]["version"] == (STORE_VERSION,) and any("'canceled'" in row for row in good[3]["searches"]) and len(turns) > 40


def schema(store):
    with contextlib.closing(sqlite3.connect(store / "shardwright.db")) as db:
        return db.execute("PRAGMA user_version").fetchone(), sorted(db.execute("SELECT type, name, sql FROM sqlite_schema"), key=str)


def test_a_step_of_a_migration_without_its_commit(tmp_path):
    """The text of its last statement is made at run time, and there may be no memory for it: a daemon on that store would undo the step at its first
    write, and then say that the store has this version."""
    tools = Tools(tmp_path)
    (tmp_path / "served").mkdir()
    d = Daemon(tmp_path / "served", "--workers", "1", env={"LD_PRELOAD": str(tools.library), "NTH": str(tools.plan.path)}, fixed=True)
    at, failed = 0, True
    try:
        while failed:
            shutil.rmtree(d.store, ignore_errors=True)
            shutil.copytree(tools.old, d.store)
            tools.plan.fail("mprintf", at, 1)
            try:
                d.start()
            except AssertionError:
                assert d.process.wait(20) > 0
            failed = tools.plan.failed()
            tools.plan.heal()
            if d.alive():
                eventually(lambda: d.upload(module_text(10)).status in (200, 201))
                assert d.stop() == 0
            d.start()
            eventually(lambda: d.get("/readyz").status == 200)
            assert d.stop() == 0
            assert schema(d.store) == schema(tmp_path / "store"), at
            at += 1
    finally:
        if d.process and d.alive():
            d.kill()
    assert at > 2  # the copy, the step, and one turn in which nothing fails


@pytest.mark.parametrize("action", ["check", "import"])
def test_zstd_without_memory_is_no_verdict(tmp_path, action):
    """A text that cannot be unpacked now is not damaged."""
    tools = Tools(tmp_path)
    good, turns = tools.turns("zstd", action)
    wrong = [fault for at in turns if (fault := tools.turn("zstd", action, at, good))]
    assert not wrong, "\n".join(wrong)
    assert len(turns) > 2


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_shortage_is_no_verdict_on_a_store(tmp_path, kind):
    """Every few of those that tools_in_turn.py walks through."""
    totals, wrong = walk(tmp_path, kind, sample=True)
    print(totals)
    assert not wrong, "\n".join(wrong)
    assert all(totals[action, "failed"] > 2 for action in ACTIONS), totals


@pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl program")
def test_a_handshake_without_memory():
    """GMP, which does the arithmetic of TLS, aborts the process when it gets nothing: it gets its memory from the daemon's reserve."""
    walk = pathlib.Path(__file__).with_name("in_turn.py")
    done = subprocess.run([sys.executable, walk, "--kind", "memory", "--burst", "1", "--tls", "--phase", "health", "--seconds", "300"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"served on\s+([\d,]+)", done.stdout)[1].replace(",", "")) > 30, done.stdout
