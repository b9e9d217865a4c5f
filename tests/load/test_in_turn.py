"""Every call of SQLite, and an allocation of every stack, of one request after the other fails in turn, in one daemon that goes on. What a daemon does
from its start to its end is walked by in_turn.py (make check-in-turn)."""


import pytest

from daemon import eventually, module_text
from script import NEVER, Plan, Script, steps
from tools_in_turn import ACTIONS, walk


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
    for name in ("nothing", "submit", "cancel", "twice", "arguments", "annotated", "explanation", "timeline", "shardings"):  # in_turn.py has time for these
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


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_shortage_is_no_verdict_on_a_store(tmp_path, kind):
    """Every few of those that tools_in_turn.py walks through."""
    totals, wrong = walk(tmp_path, kind, sample=True)
    print(totals)
    assert not wrong, "\n".join(wrong)
    assert all(totals[action, "failed"] > 2 for action in ACTIONS), totals
