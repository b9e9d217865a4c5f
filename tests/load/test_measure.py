"""Measured steps: recorded over HTTP and on the command line, listed, preferred by answers, carried from store to store."""

import json
import sqlite3
import subprocess

import pytest

from daemon import SHARDWRIGHT, events

STEP = {"step_ns": 2_000_000}


def post(d, strategy, body, **headers):
    return d.request("POST", f"/v1/strategies/{strategy}/measurements", body if isinstance(body, str) else json.dumps(body),
                     {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}})


def answer(d, rows=8, **more):
    """A search that has ended."""
    asked = d.search({"module": d.module(rows), "mesh": "data=2", "evaluations": 20, **more})
    assert asked.status in (200, 202), asked.body
    return d.wait(asked.json()["id"])


def tool(*words, code=0):
    done = subprocess.run([SHARDWRIGHT, *map(str, words)], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done
    return done.stdout if code == 0 else done.stderr


def test_record_and_list(own):
    d = own()
    strategy = answer(d)["strategy"]
    path = f"/v1/strategies/{strategy}/measurements"
    assert d.get(path).json() == {"measurements": [], "measured": None}
    body = {"step_ns": 2_000_000, "peak_bytes": 5000, "steps": 10, "hardware": "TPU v5 lite", "jax": "0.8.0", "jaxlib": "0.8.0",
            "compiler": "libtpu 1", "options": {"xla_a": True}, "source": "profiler", "measured": "2026-01-31T12:00:00.250Z"}
    first = post(d, strategy, body)
    assert first.status == 201, first.body
    row = first.json()
    assert row["strategy"] == strategy and row["device"] == "tpu-v5e" and row["owner"] is None and row["id"].startswith("m-")
    assert {key: row[key] for key in body} == {**body, "measured": "2026-01-31T12:00:00Z"}
    for step in (4_000_000, 3_000_000):
        assert post(d, strategy, {"step_ns": step, "peak_bytes": 6000}).status == 201
    assert post(d, strategy, {"step_ns": 1, "device": "h100"}).status == 201  # elsewhere: listed, and not part of the figure
    listed = d.get(path).json()
    assert [r["step_ns"] for r in listed["measurements"]] == [2_000_000, 4_000_000, 3_000_000, 1]
    assert listed["measured"] == {"measurements": 3, "step_ns": 3_000_000, "peak_bytes": 6000}
    assert "event=measured " in d.log()
    predicted = d.get(f"/v1/strategies/{strategy}").json()["cost"]["runtime_ns"]
    rows = json.loads(tool("store", "measured", "--store", d.store, "--json"))["rows"]
    assert [(r["step_ns"], r["predicted_step_ns"], r["ran_on"]) for r in rows if r["step_ns"] == 4_000_000] == [(4_000_000, predicted, "tpu-v5e")]
    assert len(rows) == 4 and rows[0]["verified_step_ns"] is None
    known = json.loads(tool("store", "known", "--store", d.store, "--json"))["rows"]
    assert [(r["known"], r["step_ns"], r["measurements"]) for r in known] == [("measured", 3_000_000, 3)]
    assert d.rows("SELECT strategies, measurements, predicted_of_measured FROM cost_model_accuracy") == [(1, 3, round(predicted / 3e6, 3))]


def test_a_repeated_post_counts_once(own):
    d = own()
    strategy = answer(d)["strategy"]
    first, second = (post(d, strategy, STEP, Idempotency_Key="step-1") for _ in range(2))
    assert (first.status, second.status) == (201, 200) and first.json() == second.json()
    assert post(d, strategy, {"step_ns": 3}, Idempotency_Key="step-1").status == 422
    d.kill()
    d = own()
    assert post(d, strategy, STEP, Idempotency_Key="step-1").json() == first.json()
    assert len(d.get(f"/v1/strategies/{strategy}/measurements").json()["measurements"]) == 1


@pytest.mark.parametrize("body, pointer", [
    ({}, "/step_ns"), ({"step_ns": 0}, "/step_ns"), ({"step_ns": 1.5}, "/step_ns"), ({"step_ns": "1ms"}, "/step_ns"), ({"step_ns": -1}, "/step_ns"),
    ({"step_ns": 2**60}, "/step_ns"), ({**STEP, "peak_bytes": 0}, "/peak_bytes"), ({**STEP, "steps": 0}, "/steps"), ({**STEP, "jax": 3}, "/jax"),
    ({**STEP, "hardware": "x" * 201}, "/hardware"), ({**STEP, "options": []}, "/options"), ({**STEP, "options": {"a": "x" * 9000}}, "/options"),
    ({**STEP, "measured": "yesterday"}, "/measured"), ({**STEP, "measured": "2999-01-01T00:00:00Z"}, "/measured"),
    ({**STEP, "measured": "2026-13-01T00:00:00Z"}, "/measured"), ({**STEP, "speed": 1}, "/speed"), ([], ""), ("{", None)])
def test_what_is_refused(daemon, body, pointer):
    strategy = answer(daemon)["strategy"]
    refused = post(daemon, strategy, body)
    assert refused.status == 400, refused.body
    problem = refused.json()
    assert pointer is None or not pointer or problem["errors"][0]["pointer"] == pointer
    assert daemon.get(f"/v1/strategies/{strategy}/measurements").json()["measurements"] == []


def test_unknown_strategies_and_full_ones(own):
    d = own()
    assert post(d, "sha256:" + "0" * 64, STEP).status == 404 and post(d, "x" * 200, STEP).status == 404
    assert d.get("/v1/strategies/nothing/measurements").status == 404
    strategy = answer(d)["strategy"]
    for _ in range(1000):
        last = post(d, strategy, STEP)
    assert last.status == 201
    full = post(d, strategy, STEP)
    assert full.status == 422 and "1000 measurements" in full.json()["detail"]


def test_answers_prefer_what_was_measured(own):
    """Two answers to one question: the simulated cost chooses, until one is measured; then the better measured one."""
    d = own()
    # of a budget in seconds, since equal budgets in evaluations give equal documents but for their times
    question = {"module": d.module(64), "mesh": "data=2", "evaluations": 20}
    first = d.wait(d.search(question).json()["id"])
    second = d.wait(d.search({**question, "seed": 5}, {"Cache-Control": "no-cache"}).json()["id"])
    assert first["strategy"] != second["strategy"]
    assert d.search(question).json()["id"] == first["id"]  # as good, and older
    assert post(d, second["strategy"], {"step_ns": 9_000_000, "device": "h100"}).status == 201
    assert d.search(question).json()["id"] == first["id"]  # on other devices: no word on this question
    assert post(d, second["strategy"], {"step_ns": 9_000_000}).status == 201
    assert d.search(question).json()["id"] == second["id"]
    assert d.get(f"/v1/searches/{second['id']}").json()["revision"] > second["revision"]
    assert post(d, first["strategy"], {"step_ns": 8_000_000}).status == 201
    assert d.search(question).json()["id"] == first["id"]
    for _ in range(2):  # the median speaks, not the best run
        assert post(d, first["strategy"], {"step_ns": 10_000_000}).status == 201
    assert d.search(question).json()["id"] == second["id"]


def test_on_the_command_line(own, tmp_path):
    d = own()
    strategy = answer(d)["strategy"]
    server = f"http://127.0.0.1:{d.port}"
    said = tool("record", strategy, "--step", "12.5ms", "--peak", "1MiB", "--hardware", "TPU v5 lite", "--option", "xla_a=1", "--server", server)
    assert "12.5 ms a step" in said and "tpu-v5e" in said
    document = tmp_path / "s.json"
    tool("strategies", strategy, "-o", document, "--server", server)
    row = json.loads(tool("record", document, "--step-ns", 7, "--key", "k", "--server", server, "--json"))
    assert row["strategy"] == strategy and row["step_ns"] == 7
    assert json.loads(tool("record", document, "--step-ns", 7, "--key", "k", "--server", server, "--json")) == row
    assert "there is no strategy" in tool("record", "sha256:12", "--step", "1s", "--server", server, code=1)
    assert "in use" in tool("record", strategy, "--step", "1s", "--store", d.store, code=1)  # the daemon has it
    assert d.stop() == 0
    assert json.loads(tool("record", "--strategy", strategy, "--step", "1.5s", "--store", d.store, "--json"))["step_ns"] == 1_500_000_000
    assert "no strategy" in tool("record", "sha256:12", "--step", "1s", "--store", d.store, code=1)
    assert "no store" in tool("record", strategy, "--step", "1s", "--store", tmp_path / "none", code=1)
    assert "measured: " in tool("record", strategy, "--step", "1s", "--at", "now", "--store", d.store, code=1)
    for wrong in (["--step", "12"], ["--step", "-1ms"], ["--step", "1h"], [], ["--step", "1s", "--peak", "x"], ["--step", "1s", "--option", "a"],
                  ["--step", "1s", "--store", "a", "--server", "b"], ["--step", "1s", "more"]):
        tool("record", strategy, *wrong, code=64)
    assert len(d.rows("SELECT * FROM measurements")) == 3
    assert "measured" in tool("store", "known", "--store", d.store)


def verified(d, other=True, **row):
    """A search whose verification chose another document, or else the planned one; (search, planned, chosen). row: what the compiler said."""
    search = answer(d, 64, verify=2)
    planned = search["strategy"]
    document = d.get(f"/v1/strategies/{planned}").json()
    task = d.request("POST", "/v1/verifications/claim", "{}", {"Content-Type": "application/json"}).json()
    row = {"plan": "this plan", "apply": "annotate", "source": "compiled", "runtime_ns": 800, "peak_bytes": 5000, "fits": True, "predicted_runtime_ns": 1000,
           "predicted_peak_bytes": 4000, "seconds": 1.5, "chosen": True, **row}
    result = {"attempt": task["attempt"], "verifications": [row], **({"document": json.dumps({**document, "apply": "annotate"})} if other else {})}
    said = d.request("POST", f"/v1/verifications/{search['id']}/result", json.dumps(result), {"Content-Type": "application/json"})
    assert said.status == 200, said.body
    return search["id"], planned, said.json()["strategy"]


@pytest.mark.parametrize("way", ["merge", "export"])
def test_carried_from_store_to_store(own, tmp_path, way):
    d = own()
    plain = answer(d)
    assert post(d, plain["strategy"], STEP).status == 201
    search, planned, chosen = verified(d)
    assert post(d, planned, {"step_ns": 5}).status == 201 and post(d, chosen, {"step_ns": 4}).status == 201
    assert d.stop() == 0
    tables = ("measurements", "verification_jobs", "verifications", "searches", "strategies")
    before = {table: len(d.rows(f"SELECT * FROM {table}")) for table in tables}

    def rows(sql):

        db = sqlite3.connect(tmp_path / "into" / "shardwright.db")
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()

    for again in (False, True):
        if way == "merge":
            said = json.loads(tool("batch", "--merge", d.store, "--store", tmp_path / "into", "--json"))
        else:
            tool("store", "export", tmp_path / "file", "--store", d.store)
            said = json.loads(tool("store", "import", tmp_path / "file", "--store", tmp_path / "into", "--json"))
        assert (said["verifications"], said["measurements"]) == ((0, 0) if again else (1, 3)), said
        assert {table: len(rows(f"SELECT * FROM {table}")) for table in tables} == before
        assert rows("PRAGMA foreign_key_check") == []
    assert rows(f"SELECT strategy FROM searches WHERE id = '{search}'") == [(chosen,)]
    assert rows("SELECT known, step_ns FROM best_known WHERE fingerprint = (SELECT fingerprint FROM searches WHERE id = '%s')" % search) == [("measured", 4)]


def test_a_verification_that_came_later_is_merged(own, tmp_path):
    d = own()
    search = answer(d, 64)["id"]
    assert d.stop() == 0
    tool("batch", "--merge", d.store, "--store", tmp_path / "into")
    d = own()
    assert verified(d)[0] == search
    assert d.stop() == 0
    assert "1 verifications" in tool("batch", "--merge", d.store, "--store", tmp_path / "into")
    known = json.loads(tool("store", "known", "--store", tmp_path / "into", "--json"))["rows"]
    assert [(r["known"], r["step_ns"]) for r in known] == [("verified", 800)]


@pytest.mark.parametrize("way", ["merge", "export"])
@pytest.mark.parametrize("order", ["slow first", "fast first"])
def test_conflicts_keep_the_better_verified_plan(own, tmp_path, way, order):
    """Two stores have answered one question and had their plans compiled: what the compiler said decides, as the predictions are equal."""
    made = {}
    for name, ns in (("slow", 900), ("fast", 700)):
        d = own()
        made[name] = (*verified(d, other=name == "slow", runtime_ns=ns), d.get("/v1/searches").json()["searches"][0]["module"])
        assert d.stop() == 0
        d.store.rename(tmp_path / name)
    for name in order.split()[0], "fast" if order.startswith("slow") else "slow":
        if way == "merge":
            tool("batch", "--merge", tmp_path / name, "--store", tmp_path / "into")
        else:
            tool("store", "export", tmp_path / f"{name}.swx", "--store", tmp_path / name)
            tool("store", "import", tmp_path / f"{name}.swx", "--store", tmp_path / "into")
    (tmp_path / "into").rename(d.store)
    d = own()
    hit = d.search({"module": made["fast"][3], "mesh": "data=2", "evaluations": 20})
    assert hit.status == 200 and (hit.json()["id"], hit.json()["strategy"]) == (made["fast"][0], made["fast"][1])
    assert made["fast"][1] != made["slow"][2]
    assert len(d.rows("SELECT * FROM verification_jobs WHERE state = 'done'")) == 2


def test_retention_keeps_what_a_verification_names(own):
    """The planned strategy of a verified search is nobody's answer, and goes with its search, not before."""
    d = own()
    _, planned, chosen = verified(d)
    assert d.stop() == 0

    db = sqlite3.connect(d.store / "shardwright.db")
    db.execute("UPDATE strategies SET created_us = 1 WHERE id = ?", (planned,))
    db.execute("DELETE FROM uses")
    db.commit()
    db.close()
    assert json.loads(tool("store", "prune", "--keep-days", 1, "--store", d.store, "--json"))["strategies"] == 0
    assert {r[0] for r in d.rows("SELECT id FROM strategies")} == {planned, chosen}


def test_verifications_among_events_and_lists(own):
    d = own()
    search, planned, chosen = verified(d)
    plain = answer(d)
    assert post(d, plain["strategy"], STEP).status == 201

    def told(query=""):
        return [(kind, data["state"]) for _, kind, data in events(d.get(f"/v1/searches/{search}/events{query}").body) if kind in ("state", "verification")]

    seen = told("?until=verified")
    assert seen == told() and [s for k, s in seen if k == "verification"] == ["queued", "running", "done"]
    assert [s for k, s in seen if k == "state"] == ["queued", "running", "succeeded"]
    assert d.get(f"/v1/searches/{search}/events?until=never").status == 400
    listed = {s["id"]: s["verification"] for s in d.get("/v1/searches").json()["searches"]}
    assert set(listed) == {search, plain["id"]} and listed[plain["id"]] is None
    assert (listed[search]["state"], listed[search]["plans"], listed[search]["planned"]) == ("done", 2, planned)
    rows = {s["id"]: (s["verified"], s["measured"]) for s in d.get("/v1/strategies").json()["strategies"]}
    assert rows[chosen] == ({"compiler": None, "version": None, "step_ns": 800, "peak_bytes": 5000}, None) and rows[planned] == (None, None)
    assert rows[plain["strategy"]] == (None, {"measurements": 1, "step_ns": 2_000_000, "peak_bytes": None})


def test_a_stream_waits_for_the_verification(own):
    """Opened while nobody has taken the job: it ends when a verifier has answered."""
    d = own()
    search = answer(d, 64, verify=1)["id"]
    with d.socket() as s:
        s.sendall(f"GET /v1/searches/{search}/events?until=verified HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        s.settimeout(1)
        got = b""
        with pytest.raises(TimeoutError):
            while piece := s.recv(65536):
                got += piece
        assert b"succeeded" in got and b'"running"' in got
        task = d.request("POST", "/v1/verifications/claim", "{}", {"Content-Type": "application/json"}).json()
        d.request("POST", f"/v1/verifications/{search}/result", json.dumps({"attempt": task["attempt"], "error": "no compiler"}), {"Content-Type": "application/json"})
        s.settimeout(20)
        while piece := s.recv(65536):
            got += piece
    assert b'"state":"failed","plans":1' in got and b"no compiler" in got
