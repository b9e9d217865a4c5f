"""What is asked again is answered from what is kept ready, without the database and the parser. That is what makes the speed of make bench-hits
(docs/operations.md); a time would say nothing on a busy machine, so work is counted."""

import json

import pytest

from daemon import module_text
from script import JSON, NEVER, Plan

TIMES = 100


@pytest.fixture
def counted(own, shim, tmp_path):
    """(daemon, a request body whose answer is stored, the id of its strategy, count(kind, method, path, body): calls in TIMES requests of a connection)."""
    plan = Plan(tmp_path / "plan")
    d = own("--http-threads", "1", env={"LD_PRELOAD": shim("nth"), "NTH": str(plan.path)})
    body = {"module": d.upload(module_text(8)).json()["id"], "mesh": "data=2", "evaluations": 5}
    strategy = d.wait(d.search(body).json()["id"])["strategy"]

    def count(kind, method, path, text=None):
        conn = d.connect()
        for i in range(2 + TIMES):  # the first two open the connection, and make the answer that is kept
            if i == 2:
                plan.fail(kind, NEVER, 0, skip=NEVER)
            conn.request(method, path, text(i) if callable(text) else text, JSON if text else {})
            answer = conn.getresponse()
            assert answer.status == 200 and answer.read()
        plan.heal()
        conn.close()
        return plan.calls()

    return d, body, strategy, count


def test_a_stored_answer_that_is_asked_for_again_takes_little_work(counted):
    d, body, strategy, count = counted
    same, other = json.dumps(body), lambda i: json.dumps(body) + " " * i  # the same question in bytes that nobody has sent yet
    before = d.metric("shardwright_cache_hits")
    for method, path, text in (("POST", "/v1/searches", same), ("GET", f"/v1/strategies/{strategy}", None)):
        statements, allocations = count("sqlite", method, path, text), count("memory", method, path, text)
        print(f"{method}: {statements / TIMES} calls of SQLite, {allocations / TIMES} allocations")
        assert statements < 2 * TIMES  # 0.2 each: uses of answers are written down now and then, together
        assert allocations < 10 * TIMES  # 2.5 each
    assert d.metric("shardwright_cache_hits") - before == 2 * (2 + TIMES)
    statements, allocations = count("sqlite", "POST", "/v1/searches", other), count("memory", "POST", "/v1/searches", other)
    print(f"other bytes: {statements / TIMES} calls of SQLite, {allocations / TIMES} allocations")
    assert statements > 5 * TIMES and allocations > 20 * TIMES  # 14 and 34 each: the way through parser and database


def test_uses_are_counted_all_the_same(counted):
    d, body, _, count = counted
    count("sqlite", "POST", "/v1/searches", json.dumps(body))
    assert d.stop() == 0
    assert d.rows("SELECT sum(hits) FROM strategy_uses") == [(2 + TIMES,)]
