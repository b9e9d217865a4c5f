"""What survives: kill -9 of the daemon under load, restarts, crashing workers."""

import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import threading
import time

from daemon import SHARDWRIGHT, SHARDWRIGHTD, eventually, module_text

KILLS = int(os.environ.get("SHARDWRIGHT_KILLS", "10"))


class Load(threading.Thread):
    """Uploads and asks until it is told to stop; remembers what was acknowledged."""

    def __init__(self, daemon, number):
        super().__init__()
        self.daemon_under_test = daemon
        self.rng = random.Random(number)
        self.modules, self.searches, self.done = set(), set(), False

    def run(self):
        d = self.daemon_under_test
        while not self.done:
            try:
                answer = d.upload(module_text(8 * self.rng.randrange(1, 1000)))
                if answer.status not in (200, 201):
                    continue
                module = answer.json()["id"]
                self.modules.add(module)
                for _ in range(3):
                    answer = d.search({"module": module, "mesh": "data=2", "memory": self.rng.randrange(1, 1 << 40), "evaluations": 5})
                    if answer.status in (200, 202):
                        self.searches.add(answer.json()["id"])
            except (OSError, ValueError, json.JSONDecodeError):
                time.sleep(0.02)
            except Exception as e:  # http.client's errors of a connection that died
                if type(e).__module__ != "http.client":
                    raise
                time.sleep(0.02)


def test_kill_9_loses_nothing_that_was_acknowledged(own):
    d = own("--workers", "2")
    rng = random.Random(7)
    modules, searches, longest = set(), set(), 0.6
    for i in range(KILLS):
        load = [Load(d, 100 * i + k) for k in range(3)]
        for t in load:
            t.start()
        time.sleep(rng.uniform(0.05, longest))
        longest *= 1 if searches else 1.5
        d.kill()
        for t in load:
            t.done = True
        for t in load:
            t.join()
            modules |= t.modules
            searches |= t.searches
        db = sqlite3.connect(d.store / "shardwright.db")
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        db.close()
        d.start()
    assert modules and searches
    known = {row[0] for row in d.rows("SELECT id FROM searches")}
    assert searches <= known
    assert modules <= {row[0] for row in d.rows("SELECT id FROM modules")}
    for module in modules:
        hex_digits = module.split(":")[1]
        assert (d.store / "objects" / hex_digits[:2] / (hex_digits[2:] + ".zst")).exists()
    # The queue drains, each search ends once, and none fails because its daemon died.
    deadline = time.monotonic() + 60 + KILLS * 5
    while d.rows("SELECT count(*) FROM searches WHERE state IN ('queued', 'running')") != [(0,)]:
        assert time.monotonic() < deadline, d.rows("SELECT state, count(*) FROM searches GROUP BY state")
        time.sleep(0.1)
    assert d.rows("SELECT count(*) FROM searches WHERE state <> 'succeeded'") == [(0,)], d.rows("SELECT error FROM searches WHERE state = 'failed' LIMIT 3")
    ends = d.rows("SELECT search, count(*) FROM events WHERE kind = 'state' AND body ->> 'state' = 'succeeded' GROUP BY search HAVING count(*) <> 1")
    assert ends == []
    assert d.stop() == 0
    assert d.rows("PRAGMA integrity_check") == [("ok",)] and d.rows("PRAGMA foreign_key_check") == []


def test_restart_goes_on_with_the_queue(own):
    d = own("--workers", "1")
    module = d.module()
    running = d.search(d.long()).json()["id"]
    d.until(running, "running")
    waiting = d.search({"module": module, "mesh": "data=2", "evaluations": 10}).json()["id"]
    assert d.stop() == 0
    rows = d.rows("SELECT state, failures FROM searches ORDER BY number")
    assert rows == [("queued", 0), ("queued", 0)]
    d.start()
    again = d.until(running, "running")
    assert again["attempt"] == 2 and again["failures"] == 0
    d.request("POST", f"/v1/searches/{running}/cancel")
    assert d.wait(running)["state"] == "canceled"
    assert d.wait(waiting)["state"] == "succeeded"


def test_a_start_drops_what_was_left_and_keeps_what_was_made(own):
    d = own()
    strategy = d.wait(d.search({"module": d.module(), "mesh": "data=2", "evaluations": 10}).json()["id"])["strategy"]
    notations = ("jax", "dtensor", "mindspore", "sbp", "sdy", "gspmd")
    texts = {n: d.get(f"/v1/strategies/{strategy}/shardings?to={n}").body for n in notations}
    runs = d.metric("shardwright_tool_runs")
    assert runs >= len(notations)
    d.kill()
    for name in ("tmp", "work"):
        (d.store / name / "folder").mkdir()
        for i in range(50):  # the first names that a daemon takes
            (d.store / name / str(i)).write_text("left")
        (d.store / name / "folder" / "file").write_text("left")
    d.start()
    assert not list((d.store / "tmp").iterdir()) and not list((d.store / "work").iterdir())
    for kind in ("outline", "explanation", "timeline"):
        assert d.get(f"/v1/strategies/{strategy}/{kind}").status == 200, kind
    made = d.metric("shardwright_tool_runs")
    assert {n: d.get(f"/v1/strategies/{strategy}/shardings?to={n}").body for n in notations} == texts
    assert d.metric("shardwright_tool_runs") == made


def test_workers_die_with_the_daemon(own):
    d = own()
    search = d.search(d.long()).json()["id"]
    d.until(search, "running")
    worker = d.worker()
    d.kill()
    deadline = time.monotonic() + 30
    while os.path.exists(f"/proc/{worker}") and open(f"/proc/{worker}/stat").read().rsplit(")", 1)[1].split()[0] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    d.start()
    assert d.until(search, "running")["failures"] == 0


def test_cancel_is_remembered_over_a_crash(own):
    d = own()
    search = d.search(d.long()).json()["id"]
    d.until(search, "running")
    os.kill(d.worker(), signal.SIGSTOP)  # it will not hear the cancel
    assert d.request("POST", f"/v1/searches/{search}/cancel").status == 202
    d.kill()
    d.start()
    assert d.wait(search)["state"] == "canceled"


def test_a_crashed_worker_is_tried_again(own):
    d = own()
    search = d.search(d.long()).json()["id"]
    d.until(search, "running")
    d.shorten(search)
    os.kill(d.worker(), signal.SIGSEGV)
    end = d.wait(search)
    assert end["state"] == "succeeded" and end["failures"] == 1 and end["attempt"] == 2
    assert d.metric("shardwright_workers_crashed") == 1


def test_a_search_that_always_crashes_fails(own):
    d = own("--search-attempts", "2")
    search = d.search(d.long()).json()["id"]
    for attempt in (1, 2):
        deadline = time.monotonic() + 60
        while not (d.get(f"/v1/searches/{search}").json()["attempt"] == attempt and d.workers()):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.kill(d.worker(), signal.SIGKILL)
    end = d.wait(search)
    assert end["state"] == "failed" and end["failures"] == 2
    assert "signal 9" in end["error"]["detail"] and end["error"]["status"] == 500
    assert d.get("/healthz").status == 200


def test_a_worker_that_does_not_listen_is_killed(own):
    d = own()
    search = d.search(d.long()).json()["id"]
    d.until(search, "running")
    os.kill(d.worker(), signal.SIGSTOP)
    d.request("POST", f"/v1/searches/{search}/cancel")
    end = d.wait(search)
    assert end["state"] == "canceled" and end["strategy"] is None
    assert d.workers() == []


def test_memory_limit_of_workers(own):
    d = own()
    module = d.module()
    assert d.stop() == 0
    d.start("--worker-memory", "1MiB", "--search-attempts", "1")
    search = d.search({"module": module, "mesh": "data=2", "evaluations": 10}).json()["id"]
    assert d.wait(search)["state"] == "failed"
    answer = d.upload(module_text(16))
    assert answer.status == 422 and "crash, or out of memory" in answer.json()["detail"]
    assert d.get("/healthz").status == 200


def test_full_disk(own):
    """A limit of file size stands in for a disk without room."""
    d = own("--workers", "1")
    module = d.module()
    busy = d.search(d.long()).json()["id"]
    d.until(busy, "running")
    unlimited = resource.prlimit(d.process.pid, resource.RLIMIT_FSIZE)
    room = max(p.stat().st_size for p in d.store.iterdir()) + 150_000
    resource.prlimit(d.process.pid, resource.RLIMIT_FSIZE, (room, unlimited[1]))
    acknowledged, refused = [], None
    for i in range(2000):
        answer = d.search({"module": module, "mesh": "data=2", "memory": 1 << 30, "evaluations": i + 1}, {"Cache-Control": "no-cache"})
        if answer.status != 202:
            refused = answer
            break
        acknowledged.append(answer.json()["id"])
    assert refused.status == 507 and refused.headers["Retry-After"]
    assert refused.json()["type"] == "urn:shardwright:problem:storage"
    assert acknowledged and d.get("/readyz").status == 503
    for search in (busy, acknowledged[0], acknowledged[-1]):
        assert d.get(f"/v1/searches/{search}").status == 200
    resource.prlimit(d.process.pid, resource.RLIMIT_FSIZE, unlimited)
    eventually(lambda: d.get("/readyz").status == 200)
    assert d.search({"module": module, "mesh": "data=4", "evaluations": 10}).status == 202
    assert set(acknowledged) <= {row[0] for row in d.rows("SELECT id FROM searches")}
    assert d.stop() == 0
    assert d.rows("PRAGMA integrity_check") == [("ok",)]


def test_a_stop_among_new_connections(own, faults):
    """Main thread and threads of the HTTP library both take the listening socket out of the same set."""
    env, fault = faults
    fault("epoll")
    for _ in range(3):
        d = own("--http-threads", "4", env=env)
        ended = threading.Event()

        def connect():
            while not ended.is_set():
                try:
                    d.get("/healthz")
                except OSError:
                    return

        clients = [threading.Thread(target=connect) for _ in range(6)]
        for client in clients:
            client.start()
        time.sleep(0.05)
        try:
            assert d.stop() == 0, d.log()[-2000:]
        finally:
            ended.set()
            for client in clients:
                client.join()


def test_a_database_of_another_kind_is_refused(own):
    d = own()
    assert d.stop() == 0
    command = [SHARDWRIGHTD, "--store", str(d.store), "--listen", "127.0.0.1:0", "--worker-binary", SHARDWRIGHT]
    db = sqlite3.connect(d.store / "shardwright.db")
    db.execute("PRAGMA user_version = 99")
    db.close()
    run = subprocess.run(command, capture_output=True, text=True, timeout=20)
    assert run.returncode == 1 and "version 99" in run.stderr
    db = sqlite3.connect(d.store / "shardwright.db")
    db.execute("PRAGMA user_version = 1")
    db.execute("PRAGMA application_id = 7")
    db.close()
    run = subprocess.run(command, capture_output=True, text=True, timeout=20)
    assert run.returncode == 1 and "another program" in run.stderr
