"""Searches that a verifier compiles: the queue, leases, what is kept, and kill -9 of the verifier and of the daemon."""

import json
import os
import subprocess
import sys
import time

import pytest

from daemon import ROOT, SHARDWRIGHT, eventually, module_text

VENV = ROOT / "build" / "venv" / "bin" / "python"
CLAIM = "/v1/verifications/claim"


def post(d, path, body, timeout=60):
    return d.request("POST", path, json.dumps(body), {"Content-Type": "application/json"}, timeout=timeout)


def ask(d, plans=2, rows=8, **more):
    answer = d.search({"module": d.module(rows), "mesh": "data=2", "evaluations": 20, "verify": plans, **more})
    assert answer.status in (200, 202), answer.body
    return answer.json()


def row(**more):
    return {"plan": "this plan", "apply": "exact", "source": "compiled", "compiler": "XLA for cpu", "version": "jaxlib 1", "options": {},
            "runtime_ns": 900, "peak_bytes": 5000, "fits": True, "predicted_runtime_ns": 1000, "predicted_peak_bytes": 4000, "seconds": 1.5,
            "reason": None, "chosen": False, **more}


def taken(d, **more):
    answer = post(d, CLAIM, {"verifier": "test", **more})
    assert answer.status == 200, (answer.status, answer.body)
    return answer.json()


def test_life_of_a_job(own):
    d = own()
    search = ask(d)["id"]
    end = d.wait(search)
    assert end["state"] == "succeeded" and end["verification"]["state"] in ("queued", "running")
    planned = end["strategy"]
    # lists show it as the search does, and are filtered by its state
    assert d.get("/v1/searches").json()["searches"][0]["verification"] == end["verification"]
    assert [s["id"] for s in d.get("/v1/searches?verification=queued").json()["searches"]] == [search]
    assert d.get("/v1/searches?verification=done").json()["searches"] == []
    assert d.get("/v1/searches?verification=soon").status == 400
    task = taken(d)
    assert task["search"] == search and task["strategy"] == planned and task["plans"] == 2 and task["attempt"] == 1 and task["device_profile"] is None
    nothing = post(d, CLAIM, {})
    assert (nothing.status, nothing.body, nothing.headers["Content-Type"], nothing.headers["Content-Length"]) == (204, b"", None, None)  # RFC 9110, 8.6: no length
    assert post(d, f"/v1/verifications/{search}/heartbeat", {"attempt": 1}).json() == {"lease_seconds": 60}
    assert post(d, f"/v1/verifications/{search}/heartbeat", {"attempt": 2}).status == 409
    assert d.get(f"/v1/searches/{search}?wait=200ms&until=verified").json()["verification"]["state"] == "running"
    document = d.get(f"/v1/strategies/{planned}").json()
    other = json.dumps({**document, "apply": "annotate", "cost": {**document["cost"], "runtime_ns": 1234}})
    result = {"attempt": 1, "document": other, "verifications": [row(), row(apply="annotate", runtime_ns=800, chosen=True),
                                                                 row(plan="zero3", fits=False, runtime_ns=None, peak_bytes=None, reason="refused")]}
    answer = post(d, f"/v1/verifications/{search}/result", result)
    assert answer.status == 200 and answer.json()["repeated"] is False, answer.body
    chosen = answer.json()["strategy"]
    assert post(d, f"/v1/verifications/{search}/result", result).json()["repeated"] is True
    # the search answers with the verified one now, and so does whoever asks again
    now = d.get(f"/v1/searches/{search}?wait=10s&until=verified").json()
    assert now["strategy"] == chosen != planned and now["best"]["runtime_ns"] == 1234
    assert now["verification"]["state"] == "done" and now["verification"]["planned"] == planned and now["verification"]["best"]["runtime_ns"] == 800
    assert now["revision"] > end["revision"]
    assert d.get(f"/v1/strategies/{chosen}").body.decode() == other
    again = ask(d)
    assert again["id"] == search and again["document"]["apply"] == "annotate"
    for path in (f"/v1/strategies/{planned}", f"/v1/strategies/{chosen}", f"/v1/searches/{search}"):
        rows = d.get(path + "/verifications").json()["verifications"]
        assert [r["plan"] for r in rows] == ["this plan", "this plan", "zero3"] and [r["chosen"] for r in rows] == [False, True, False]
        assert rows[1]["strategy"] == chosen and rows[2]["reason"] == "refused" and rows[2]["strategy"] is None and rows[0]["seconds"] == 1.5
    assert [s["verification"]["best"]["runtime_ns"] for s in d.get("/v1/searches?verification=any").json()["searches"]] == [800]
    assert d.rows("SELECT plan, of_predicted_runtime, of_predicted_peak FROM predicted_and_verified WHERE chosen") == [("this plan", 0.8, 1.25)]
    listed = subprocess.run([SHARDWRIGHT, "store", "verified", "--store", str(d.store), "--json"], capture_output=True, text=True, timeout=20)
    found = [(r["plan"], r["apply"], r["chosen"], r["devices"], r["runtime_ns"]) for r in json.loads(listed.stdout)["rows"]]
    assert found == [("this plan", "annotate", True, 2, 800), ("this plan", "exact", False, 2, 900), ("zero3", "exact", False, 2, None)], listed
    # more programs than before are a new job, from what the search itself had planned
    more = ask(d, plans=5)
    assert more["verification"]["state"] == "queued" and more["verification"]["plans"] == 5
    task = taken(d)
    assert task["strategy"] == planned and task["attempt"] == 2
    assert post(d, f"/v1/verifications/{search}/result", {"attempt": 2, "error": "no compiler"}).status == 200
    failed = d.get(f"/v1/searches/{search}").json()
    assert failed["state"] == "succeeded" and failed["verification"]["state"] == "failed" and failed["verification"]["error"] == "no compiler"
    assert failed["strategy"] == chosen


def test_verified_answers_are_preferred(own):
    d = own()
    question = {"module": d.module(56), "mesh": "data=2", "evaluations": 20}
    first = d.search(question).json()["id"]
    d.wait(first)
    second = d.search({**question, "verify": 1}, {"Cache-Control": "no-cache"}).json()["id"]
    d.wait(second)
    assert d.search(question).json()["id"] == first != second
    assert taken(d)["search"] == second
    assert d.search(question).json()["id"] == first
    assert post(d, f"/v1/verifications/{second}/result", {"attempt": 1, "verifications": [row(chosen=True)]}).status == 200
    assert d.search(question).json()["id"] == second
    kept = d.search({**question, "verify": 1})
    assert kept.status == 200 and kept.json()["id"] == second and kept.headers["Cache-Status"].endswith("hit")
    assert post(d, CLAIM, {}).status == 204                             # what was asked for is there already
    only = d.search({**question, "verify": 9}, {"Cache-Control": "only-if-cached"})
    assert only.status == 200 and only.json()["verification"]["plans"] == 1  # and this starts no work


def test_refused_results(own):
    d = own()
    search = ask(d, rows=24)["id"]
    planned = d.wait(search)["strategy"]
    document = d.get(f"/v1/strategies/{planned}").json()
    taken(d)
    path = f"/v1/verifications/{search}/result"
    for body, status, words in (
            ({"attempt": 1}, 400, "expected an array of 1 to"),
            ({"attempt": 1, "verifications": [row(apply="both")]}, 400, 'expected \\"annotate\\" or'),
            ({"attempt": 1, "verifications": [row(predicted_runtime_ns=0.5)]}, 400, "whole number"),
            ({"attempt": 1, "verifications": [row(peak_bytes=-1)]}, 400, "expected a number from 0"),
            ({"attempt": 1, "verifications": [row(chosen=True), row(chosen=True)]}, 400, "one chosen row at most"),
            ({"attempt": 1, "verifications": [row(fits=False, chosen=True)]}, 400, "of a program that fits"),
            ({"attempt": 1, "verifications": [row(taste="sweet")]}, 400, "/verifications/0/taste"),
            ({"attempt": 1, "verifications": [row(chosen=True)], "document": "{}"}, 400, "not a strategy"),
            ({"attempt": 1, "verifications": [row(chosen=True)], "document": json.dumps({**document, "mesh": {"axes": [{"name": "data", "size": 4}]}})},
             400, "not a strategy for the program and the mesh"),
            ({"attempt": 1, "verifications": [row()], "document": json.dumps(document)}, 400, "where nothing is chosen"),
            ({"attempt": 7, "verifications": [row()]}, 409, "does not hold")):
        answer = post(d, path, body)
        assert answer.status == status and words in answer.body.decode(), (body, answer.body)
    assert post(d, f"/v1/verifications/{'s-' + '0' * 32}/result", {"attempt": 1, "verifications": [row()]}).status == 404
    assert d.request("POST", path, "not json", {"Content-Type": "application/json"}).status == 400
    assert d.request("POST", path, "{}", {"Content-Type": "text/plain"}).status == 415
    assert d.search({"module": d.module(24), "mesh": "data=2", "verify": 0}).status == 400
    assert d.get(f"/v1/searches/{search}?until=sunday").status == 400
    # nothing of this changed anything
    assert d.rows("SELECT count(*) FROM verifications") == [(0,)]
    assert post(d, path, {"attempt": 1, "verifications": [row(chosen=True)]}).json()["strategy"] == planned


def test_leases(own):
    """A verifier without a heartbeat loses its search, its late answer is refused, and the fifth that dies ends the job."""
    d = own()
    search = ask(d, rows=32)["id"]
    d.wait(search)
    for attempt in range(1, 6):
        until = time.monotonic() + 60
        while (answer := post(d, CLAIM, {"verifier": f"v{attempt}", "lease_seconds": 1})).status == 204:
            assert time.monotonic() < until
            time.sleep(0.1)
        assert answer.json()["attempt"] == attempt
        if attempt == 2:
            assert post(d, f"/v1/verifications/{search}/result", {"attempt": 1, "verifications": [row()]}).status == 409
    # a lease that ran out is still the verifier's as long as nobody else has taken the search
    time.sleep(1.2)
    assert post(d, f"/v1/verifications/{search}/heartbeat", {"attempt": 5, "lease_seconds": 1}).status == 200
    time.sleep(1.2)
    assert post(d, CLAIM, {}).status == 204
    job = d.get(f"/v1/searches/{search}").json()["verification"]
    assert job["state"] == "failed" and "5 times: the last was v5" in job["error"]
    assert ask(d, rows=32)["verification"]["state"] == "queued"  # asking again gives it another chance


def test_what_is_taken(own):
    """Other devices wait for their verifier; a search that failed or was canceled is nobody's."""
    d = own("--workers", "1")
    tpu = ask(d, rows=40, device="tpu-v5e")["id"]
    h100 = ask(d, rows=40, device="h100")["id"]
    bad = ask(d, rows=40, pins=["nothing*:[[\"data\"],[]]"])["id"]
    for search in (tpu, h100, bad):
        d.wait(search)
    assert d.get(f"/v1/searches/{bad}?wait=5s&until=verified").json()["verification"]["state"] == "canceled"
    assert taken(d, devices=["h100", "a100"])["search"] == h100
    assert post(d, CLAIM, {"devices": ["h100"]}).status == 204
    assert taken(d)["search"] == tpu
    assert post(d, CLAIM, {"devices": "h100"}).status == 400
    assert [r[0] for r in d.rows("SELECT search FROM verification_queue")] == [tpu, h100]


def test_scope(own, tmp_path):
    tokens = tmp_path / "tokens"
    secrets = {}
    for name, scopes in (("trainer", "read,submit"), ("verifier", "admin")):
        from daemon import SHARDWRIGHTD
        run = subprocess.run([SHARDWRIGHTD, "--tokens", str(tokens), "--new-token", f"{name}:{scopes}"], capture_output=True, text=True, timeout=20)
        assert run.returncode == 0, run.stderr
        secrets[name] = run.stdout.split()[-1]
    d = own("--tokens", str(tokens))
    answers = {name: d.request("POST", CLAIM, "{}", {"Content-Type": "application/json", "Authorization": "Bearer " + secret}).status
               for name, secret in secrets.items()}
    assert answers == {"trainer": 403, "verifier": 204}


def test_command_line(own, tmp_path):
    """submit --verify answers with the plan so far; --verified waits for the verifier."""
    d = own()
    step = tmp_path / "step.mlir"
    step.write_text(module_text(48))
    where = ["--server", f"http://127.0.0.1:{d.port}"]

    def run(*words):
        return subprocess.run([SHARDWRIGHT, *words, *where], capture_output=True, text=True, timeout=60)

    first = run("submit", str(step), "--mesh", "data=2", "--evaluations", "20", "--verify", "2", "--wait")
    assert first.returncode == 0 and "verification queued" in first.stdout, first
    search = first.stdout.split()[1]
    assert run("wait", search).returncode == 0
    slow = run("wait", search, "--verified", "--timeout", "0.3")
    assert slow.returncode == 75 and "still under way" in slow.stderr
    taken(d)
    assert post(d, f"/v1/verifications/{search}/result", {"attempt": 1, "verifications": [row(chosen=True)]}).status == 200
    end = run("wait", search, "--verified")
    assert end.returncode == 0 and "verified by XLA for cpu, jaxlib 1: 900 ns a step" in end.stdout, end
    again = run("submit", str(step), "--mesh", "data=2", "--evaluations", "20", "--verified")
    assert again.returncode == 0 and "verified by" in again.stdout


# ---------------------------------------------------------------- the verifier itself

needs_jax = pytest.mark.skipif(not VENV.exists() or subprocess.run([str(VENV), "-c", "import jax"], capture_output=True).returncode != 0,
                               reason="no jax in build/venv")


def verifier(d, *flags):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "clients" / "python"), "JAX_PLATFORMS": "cpu"}
    python = str(VENV) if VENV.exists() else sys.executable
    return subprocess.Popen([python, "-m", "shardwright.verifier", "--server", f"http://127.0.0.1:{d.port}", "--tool", SHARDWRIGHT, "--target", "cpu",
                             "--lease", "2", "--poll", "0.2", *flags], env=environment, stderr=subprocess.PIPE, text=True)


@needs_jax
def test_verifier_answers(own):
    d = own()
    search = ask(d, rows=64)["id"]
    d.wait(search)
    v = verifier(d, "--once")
    said = v.communicate(timeout=120)[1]
    assert v.returncode == 0, said
    now = d.get(f"/v1/searches/{search}").json()
    assert now["verification"]["state"] == "done" and now["verification"]["best"]["fits"], (now, said)
    rows = d.get(f"/v1/searches/{search}/verifications").json()["verifications"]
    assert 1 <= len(rows) <= 2 and all(r["compiler"] == "XLA for cpu" and r["peak_bytes"] > 0 for r in rows), rows
    assert d.get(f"/v1/strategies/{now['strategy']}").status == 200


@needs_jax
def test_kill_9_of_either_loses_nothing(own):
    """Verifiers and daemons die while searches wait and are compiled; in the end each is verified once, and no compiler is left behind."""
    d = own()
    searches = [ask(d, plans=1, rows=8 * k)["id"] for k in range(11, 14)]
    for search in searches:
        d.wait(search)

    def state():
        return [job for job, in d.rows("SELECT state FROM verification_jobs ORDER BY created_us")]

    v = verifier(d)
    eventually(lambda: "running" in state(), 60)
    v.kill()                            # 1: the verifier, with a search in its hands
    v.communicate()
    v = verifier(d)
    eventually(lambda: d.rows("SELECT max(attempt) FROM verification_jobs") == [(2,)] or "done" in state(), 60)
    port = d.port
    d.kill()                            # 2: the daemon, while it is compiled
    d.flags = [*d.flags, "--listen", f"127.0.0.1:{port}"]
    d.start()
    eventually(lambda: state() == ["done"] * 3, 120)
    d.kill()                            # 3: again, behind the last answer
    v.kill()
    v.communicate()
    d.start()
    for search in searches:
        now = d.get(f"/v1/searches/{search}").json()
        assert now["verification"]["state"] == "done" and now["verification"]["best"] is not None and now["strategy"]
    once = d.rows("SELECT search, count(DISTINCT attempt), sum(chosen) FROM verifications GROUP BY search")
    assert sorted(s for s, _, _ in once) == sorted(searches) and all(attempts == 1 and chosen == 1 for _, attempts, chosen in once), once
    assert d.rows("PRAGMA integrity_check") == [("ok",)] and d.rows("PRAGMA foreign_key_check") == []
    eventually(lambda: not compilers(), 10)


def compilers():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read()
            with open(f"/proc/{pid}/environ", "rb") as f:
                ours = str(ROOT).encode() in f.read()
        except OSError:
            continue
        if b"shardwright.compile_module" in words and ours:
            found.append(int(pid))
    return found


PLAN = """
import json, sys, warnings
import jax, jax.numpy as jnp, shardwright
args = jax.ShapeDtypeStruct((64, 32), jnp.float32), jax.ShapeDtypeStruct((16, 64), jnp.float32)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    plan = shardwright.plan(lambda w, x: jnp.tanh(x @ w), *args, mesh="data=2", evaluations=20, server=sys.argv[1], verify=2, verify_by="server",
                            timeout=float(sys.argv[2]))
print(json.dumps([plan.verified, [str(w.message) for w in told]]))
"""


@needs_jax
def test_plan_by_server(own):
    """shardwright.plan waits for the daemon's verifier, and takes the plan so far when there is none in time."""
    d = own()
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "clients" / "python"), "JAX_PLATFORMS": "cpu"}

    def plan(seconds):
        run = subprocess.run([str(VENV), "-c", PLAN, f"http://127.0.0.1:{d.port}", str(seconds)], env=environment, capture_output=True, text=True, timeout=120)
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout)

    plan(2)  # whether the search has ended by then or not
    for search, in d.rows("SELECT id FROM searches"):
        assert d.wait(search)["state"] == "succeeded"
    verified, told = plan(5)
    assert verified is None and "is not verified: its verification is queued" in told[0], told
    v = verifier(d, "--once")
    verified, told = plan(100)
    v.communicate(timeout=60)
    assert verified["compiler"] == "XLA for cpu" and verified["fits"] and not told, told
