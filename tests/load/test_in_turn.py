"""Every call of SQLite, and an allocation of every stack, of one request after the other fails in turn, in one daemon that goes on. What a daemon does
from its start to its end is walked by in_turn.py (make check-in-turn)."""

import itertools
import json

import pytest

from daemon import eventually, module_text
from in_turn import JSON, NEVER, Plan, Script


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
    rows, keys = itertools.count(100), itertools.count()
    get = lambda path: lambda: script.ask("GET", path)
    post = lambda path, value: lambda: script.ask("POST", path, json.dumps(value()), {**JSON, "Idempotency-Key": f"k{next(keys)}"})
    return d, plan, script, {
        "module": get(f"/v1/modules/{module}"), "text": get(f"/v1/modules/{module}.mlir"), "search": get(f"/v1/searches/{search}"),
        "strategy": get(f"/v1/strategies/{strategy}"), "applied": get(f"/v1/strategies/{strategy}.mlir"), "events": get(f"/v1/searches/{search}/events"),
        "modules": get("/v1/modules?label=first"), "searches": get("/v1/searches"), "strategies": get("/v1/strategies"), "metrics": get("/metrics"), "page": get("/"),
        "hit": lambda: script.ask("POST", "/v1/searches", json.dumps(body), JSON),
        "upload": lambda: script.ask("POST", "/v1/modules", module_text(next(rows)), {"X-Shardwright-Label": "new"}),
        "submit": post("/v1/searches", lambda: {**body, "mesh": f"data={next(rows)}", "tags": ["a"]}),
        "cancel": lambda: script.ask("POST", f"/v1/searches/{search}/cancel"),
        "labels": post(f"/v1/modules/{module}/labels", lambda: {"add": [f"l{next(rows) % 30}"], "remove": []}),
        "measure": post(f"/v1/strategies/{strategy}/measurements", lambda: {"step_ns": 1000000}),
    }


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
