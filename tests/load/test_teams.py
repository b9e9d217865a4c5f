"""What a team needs of one daemon: names, requests that may be sent twice, fair service; and stores of earlier versions."""

import concurrent.futures
import contextlib
import json
import pathlib
import sqlite3
import subprocess
import time

import pytest

from daemon import SHARDWRIGHTD, STORE_VERSION, as_version, eventually, module_text

JSON = {"Content-Type": "application/json"}


def token(folder, spec):
    run = subprocess.run([SHARDWRIGHTD, "--tokens", folder / "tokens", "--new-token", spec], capture_output=True, text=True, check=True)
    return {"Authorization": "Bearer " + run.stdout.strip()}


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokens")
    specs = {"alice": "read,submit", "bob": "read,submit", "root": "admin"}
    return {"file": folder / "tokens", **{name: token(folder, f"{name}:{scopes}") for name, scopes in specs.items()}}


# ---------------------------------------------------------------- names


def test_labels_of_modules(daemon):
    first = daemon.upload(module_text(301), {"X-Shardwright-Label": "gpt2 step 7"})
    assert first.status == 201 and first.json()["labels"] == ["gpt2 step 7"]
    again = daemon.upload(module_text(301), {"X-Shardwright-Label": "gpt2 nightly"})
    assert again.status == 200 and again.json()["labels"] == ["gpt2 nightly", "gpt2 step 7"]
    other = daemon.upload(module_text(302), {"X-Shardwright-Label": "gpt2 nightly"}).json()["id"]
    module = first.json()["id"]
    listed = daemon.get("/v1/modules?label=gpt2%20nightly").json()["modules"]
    assert [m["id"] for m in listed] == [other, module]
    assert [m["id"] for m in daemon.get("/v1/modules?label=gpt2%20step%207").json()["modules"]] == [module]
    assert daemon.get("/v1/modules?label=nothing").json() == {"modules": [], "next_page": None}
    one = daemon.get("/v1/modules?label=gpt2%20nightly&page_size=1").json()
    two = daemon.get(f"/v1/modules?label=gpt2%20nightly&page_size=1&page_token={one['next_page']}").json()
    assert [m["id"] for m in one["modules"] + two["modules"]] == [other, module]
    assert daemon.get("/v1/modules?page_token=7").status == 400


def test_labels_are_changed(daemon):
    module = daemon.module(303)
    post = lambda body: daemon.request("POST", f"/v1/modules/{module}/labels", json.dumps(body), JSON)
    assert post({"add": ["a", "b", "ü"]}).json()["labels"] == ["a", "b", "ü"]
    assert post({"remove": ["a", "never there"], "add": ["c"]}).json()["labels"] == ["b", "c", "ü"]
    for wrong in ({"add": "a"}, {"add": [""]}, {"add": ["x" * 101]}, {"add": ["a\nb"]}, {"add": [" a"]}, {"give": []}, [], {"add": ["x"] * 17}):
        assert post(wrong).status == 400, wrong
    assert daemon.request("POST", "/v1/modules/sha256:0/labels", "{}", JSON).status == 404
    assert daemon.upload(module_text(303), {"X-Shardwright-Label": "x" * 101}).status == 400
    for i in range(10):  # no module has more than 64
        assert post({"add": [f"{i}-{k}" for k in range(10)]}).status == 200
    assert len(daemon.get(f"/v1/modules/{module}").json()["labels"]) == 64


def test_tags_of_searches(daemon):
    module = daemon.module(304)
    daemon.upload(module_text(304), {"X-Shardwright-Label": "tagged"})
    body = {"module": module, "mesh": "data=2", "evaluations": 10, "tags": ["nightly", "team a"]}
    search = daemon.search(body).json()
    assert sorted(search["tags"]) == ["nightly", "team a"] and search["labels"] == ["tagged"]
    daemon.wait(search["id"])
    hit = daemon.search({**body, "tags": ["sweep"]})  # the same question, asked for something else
    assert hit.status == 200 and sorted(hit.json()["tags"]) == ["nightly", "sweep", "team a"] and hit.json()["document"]
    for query, found in (("tag=sweep", True), ("label=tagged", True), ("tag=none", False), ("label=none", False), ("tag=nightly&label=tagged&owner=", True)):
        ids = [s["id"] for s in daemon.get("/v1/searches?" + query).json()["searches"]]
        assert (search["id"] in ids) == found, query
    for query, count in (("tag=nightly", 1), ("label=tagged", 1), ("tag=none", 0)):
        rows = daemon.get("/v1/strategies?" + query).json()["strategies"]
        assert len(rows) == count and all(sorted(r["tags"]) == ["nightly", "sweep", "team a"] and r["labels"] == ["tagged"] for r in rows), query
    for wrong in ("x", [1], [""], ["a\tb"], ["x"] * 17):
        answer = daemon.search({**body, "tags": wrong})
        assert answer.status == 400 and answer.json()["errors"][0]["pointer"].startswith("/tags"), wrong
    for wrong in (101, -101, 0.5, "high"):
        assert daemon.search({**body, "priority": wrong}).json()["errors"][0]["pointer"] == "/priority"


def test_labels_belong_to_who_gave_them(own, people):
    d = own("--tokens", str(people["file"]))
    module = d.upload(module_text(), {**people["alice"], "X-Shardwright-Label": "alice's"}).json()["id"]
    post = lambda who, body: d.request("POST", f"/v1/modules/{module}/labels", json.dumps(body), {**JSON, **people[who]})
    assert post("bob", {"remove": ["alice's"], "add": ["bob's"]}).status == 403
    assert d.get(f"/v1/modules/{module}", people["bob"]).json()["labels"] == ["alice's"]  # none of it was done
    assert post("bob", {"add": ["bob's"]}).status == 200
    assert post("alice", {"remove": ["alice's"]}).json()["labels"] == ["bob's"]
    assert post("root", {"remove": ["bob's"]}).json()["labels"] == []


# ---------------------------------------------------------------- requests that may be sent twice


def test_a_request_sent_twice_is_one_search(own):
    d = own()
    busy = d.search(d.long()).json()["id"]
    d.until(busy, "running")
    body = {"module": d.module(), "mesh": "data=2", "evaluations": 10}
    key = {"Idempotency-Key": "launch-7", "Cache-Control": "no-cache"}
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: d.search(body, key), range(16)))
    assert {a.status for a in answers} == {202} and len({a.json()["id"] for a in answers}) == 1
    assert d.search(body, {"Cache-Control": "no-cache"}).json()["id"] != answers[0].json()["id"]  # without a key: a new one
    other = d.search({**body, "mesh": "data=4"}, key)
    assert other.status == 422 and "another request" in other.json()["detail"]
    assert d.search(body, {"Idempotency-Key": "launch-7"}).status == 422  # not fresh: another request
    for wrong in ("", "x" * 256, "a b"):
        assert d.search(body, {"Idempotency-Key": wrong}).status == 400
    first = answers[0].json()["id"]
    d.kill()
    d = own()
    d.cancel(busy)
    assert d.search(body, key).json()["id"] == first  # it outlives the daemon
    d.wait(first)
    done = d.search(body, key)
    assert done.status == 200 and done.json()["id"] == first and done.json()["document"]
    assert d.rows("SELECT count(*) FROM searches WHERE mesh = 'data=2' AND module = ?", body["module"]) == [(2,)]


def test_a_key_outlives_a_jump_of_the_clock(own, faults):
    env, fault = faults
    d = own(env=env)
    body, key = {"module": d.module(), "mesh": "data=2", "evaluations": 10}, {"Idempotency-Key": "k", "Cache-Control": "no-cache"}
    first = d.search(body, key).json()["id"]
    for jump in (86400, -86400):
        (pathlib.Path(env["FAULTS"]) / "clock").write_text(str(jump))
        assert d.search(body, key).json()["id"] == first


def test_an_upload_sent_twice(daemon):
    key = {"Idempotency-Key": "upload-1", "X-Shardwright-Label": "once"}
    assert daemon.upload(module_text(305), key).status == 201
    assert daemon.upload(module_text(305), key).status == 200
    assert daemon.upload(module_text(306), key).status == 422
    assert daemon.upload(module_text(305), {"Idempotency-Key": "a b"}).status == 400


# ---------------------------------------------------------------- fair service


def started(d):
    """Ids in the order in which they were started."""
    return [row[0] for row in d.rows("SELECT id FROM searches WHERE started_us IS NOT NULL ORDER BY started_us")]


def test_a_small_search_overtakes_thirty_long_ones(own):
    """Of one owner: the short one first."""
    d = own()
    module = d.module()
    first = d.search(d.long(60)).json()["id"]
    d.until(first, "running")
    thirty = [d.search(d.long(60)).json()["id"] for _ in range(30)]
    small = d.search({"module": module, "mesh": "data=2", "evaluations": 10}).json()["id"]
    d.request("POST", f"/v1/searches/{first}/cancel")
    assert d.wait(first)["state"] == "canceled"
    assert d.wait(small)["state"] == "succeeded"
    assert started(d)[:2] == [first, small]
    eventually(lambda: any(s in started(d) for s in thirty))
    urgent = d.search({**d.long(60), "priority": 5}).json()["id"]
    d.request("POST", f"/v1/searches/{next(s for s in thirty if s in started(d))}/cancel")
    eventually(lambda: urgent in started(d))
    assert len(started(d)) == 4
    assert d.rows("SELECT id FROM queue")[1:3] == [(s,) for s in [s for s in thirty if s not in started(d)][:2]]


def check_turns(d, alice, bob):
    """By the times of the store: whenever a worker got free while searches of both waited, the owner who had used less of it was served.
    What a search used is noted at a moment of its own, next to its end: a second in all is more than that comes to."""
    times = {i: row for i, *row in d.rows("SELECT id, created_us, started_us, ended_us FROM searches WHERE started_us IS NOT NULL")}
    used = lambda who, now: sum(times[s][2] - times[s][1] for s in who if s in times and times[s][2] and times[s][2] <= now)
    contested = 0
    for search, (_, now, _) in times.items():
        mine, others = (alice, bob) if search in alice else (bob, alice)
        waited = [s for s in others if d.rows("SELECT 1 FROM searches WHERE id = ? AND created_us < ? AND coalesce(started_us, ?) > ?", s, now, now + 1, now)]
        if waited and search in alice + bob:
            contested += 1
            assert used(mine, now) <= used(others, now) + 1_000_000, (search, used(mine, now), used(others, now))
    assert contested >= 4


def test_owners_take_turns(own, people):
    """Twelve searches of one owner do not stand before one of another, whatever its priority."""
    d = own("--tokens", str(people["file"]), "--shares", "bob=1,alice=1")
    ask = lambda who, **more: d.search({**d.long(0.2), **more}, people[who]).json()["id"]
    busy = d.search(d.long(headers=people["root"]), people["root"]).json()["id"]
    eventually(lambda: d.rows("SELECT 1 FROM searches WHERE state = 'running'"))
    alice = [ask("alice", priority=9) for _ in range(12)]
    bob = [ask("bob") for _ in range(3)]
    d.request("POST", f"/v1/searches/{busy}/cancel", headers=people["root"])
    eventually(lambda: d.rows("SELECT count(*) FROM searches WHERE state = 'succeeded'") == [(15,)], 120)
    check_turns(d, alice, bob)
    assert d.rows("SELECT count(*) FROM owners WHERE owner IN ('alice', 'bob') AND used_us > 0")[0][0] == 2


@pytest.mark.parametrize("shares, next_one", [("alice=1", "alice"), ("alice=1,bob=3", "bob"), ("bob=1000", "bob")])
def test_shares_divide_what_was_used(own, people, shares, next_one):
    """Bob has taken twice as much of the workers as Alice: it is his turn all the same where his share is three times hers."""
    flags = ("--tokens", str(people["file"]), "--workers", "1")
    d = own(*flags)
    busy = d.search(d.long(headers=people["root"]), people["root"]).json()["id"]
    eventually(lambda: d.rows("SELECT 1 FROM searches WHERE state = 'running'"))
    asked = {who: d.search(d.long(headers=people[who]), people[who]).json()["id"] for who in ("alice", "bob")}
    d.kill()
    with contextlib.closing(sqlite3.connect(d.store / "shardwright.db")) as db:
        now = int(time.time() * 1e6)
        db.executemany("INSERT OR REPLACE INTO owners VALUES (?, ?, ?)", [("alice", 600_000_000, now), ("bob", 1_200_000_000, now), ("root", 0, now)])
        db.commit()
    d = own(*flags, "--shares", shares)
    eventually(lambda: d.rows("SELECT state FROM searches WHERE id = ?", busy) == [("running",)])  # nothing is less than anything
    d.request("POST", f"/v1/searches/{busy}/cancel", headers=people["root"])
    eventually(lambda: len(started(d)) == 2)
    assert set(started(d)) == {busy, asked[next_one]}


def test_shares_and_quotas(own, people):
    d = own("--tokens", str(people["file"]), "--workers", "3", "--shares", "alice=1,bob=3", "--owner-workers", "2", "--owner-queue", "4")
    ask = lambda who: d.search(d.long(headers=people[who]), people[who])
    running = lambda who: d.rows("SELECT count(*) FROM searches WHERE state = 'running' AND owner = ?", who)[0][0]
    assert [ask("alice").status for _ in range(2)] == [202, 202]
    eventually(lambda: running("alice") == 2)
    assert [ask("alice").status for _ in range(4)] == [202] * 4  # wait: the third worker stays free for others
    refused = ask("alice")
    assert refused.status == 429 and "of your searches" in refused.json()["detail"]
    assert ask("bob").status == 202
    eventually(lambda: running("bob") == 1)
    assert running("alice") == 2
    for wrong in ("alice", "alice=0", "=1", "alice=1001", "a=1,,"):
        run = subprocess.run([SHARDWRIGHTD, "--listen", "127.0.0.1:0", "--store", str(d.folder / "other"), "--shares", wrong], capture_output=True, text=True)
        assert run.returncode == 1 and "--shares" in run.stderr, wrong


# ---------------------------------------------------------------- earlier versions


@pytest.mark.parametrize("version", range(1, STORE_VERSION))
def test_a_store_of_an_earlier_version(own, version):
    """It becomes one of this version, a copy stays, nothing is lost, answers are found."""
    d = own()
    module = d.module()
    question = {"module": module, "mesh": "data=2", "evaluations": 10}
    done = d.wait(d.search(question).json()["id"])
    busy = d.search(d.long()).json()["id"]
    d.until(busy, "running")
    waiting = [d.search({**question, "mesh": mesh}).json()["id"] for mesh in ("data=16", "data=8")]
    document = d.get(f"/v1/strategies/{done['strategy']}").body
    d.kill()
    as_version(d.store, version)
    assert d.rows("PRAGMA user_version") == [(version,)]
    before = d.rows("SELECT id, key, created_us FROM searches ORDER BY id")
    d = own()
    assert d.rows("PRAGMA user_version") == [(STORE_VERSION,)]
    assert d.rows("SELECT id, key, created_us FROM searches ORDER BY id") == before
    hit = d.search(question)
    assert hit.status == 200 and hit.json()["id"] == done["id"]
    assert d.get(f"/v1/strategies/{done['strategy']}").body == document
    d.cancel(busy)
    for search in waiting:
        assert d.wait(search)["state"] == "succeeded"
    copy = sqlite3.connect(f"file:{d.store / f'shardwright.db.version-{version}'}?mode=ro", uri=True)
    assert copy.execute("PRAGMA user_version").fetchone() == (version,)
    assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert copy.execute("SELECT id, key, created_us FROM searches ORDER BY id").fetchall() == before
    assert d.stop() == 0
    assert d.rows("PRAGMA integrity_check") == [("ok",)] and d.rows("PRAGMA foreign_key_check") == []


def test_without_a_copy_nothing_is_changed(own):
    d = own()
    d.wait(d.search({"module": d.module(), "mesh": "data=2", "evaluations": 10}).json()["id"])
    d.kill()
    as_version(d.store, 2)
    (d.store / f"shardwright.db.version-2.part").mkdir()  # what stands in the way of the copy
    run = subprocess.run([SHARDWRIGHTD, "--listen", "127.0.0.1:0", "--store", str(d.store)], capture_output=True, text=True, timeout=20)
    assert run.returncode != 0 and "no copy of it can be written" in run.stderr, run.stderr
    assert d.rows("PRAGMA user_version") == [(2,)]
    (d.store / f"shardwright.db.version-2.part").rmdir()
    d = own()
    assert d.rows("PRAGMA user_version") == [(STORE_VERSION,)]
