"""Workers that are short of something: descriptors, processes, threads, memory, their program. That is no attempt of a search, and no verdict on a text."""

import json
import os
import pathlib
import resource
import shutil
import threading
import time

import pytest

from daemon import SHARDWRIGHT, SHARDWRIGHTD, Daemon, eventually, from_address, module_text, unavailable, upload_head

JSON = {"Content-Type": "application/json"}


def test_begun_uploads_harm_nobody_else(own):
    """They take all that one address may have; what others do goes on, searches start."""
    d = own("--workers", "1", limits={resource.RLIMIT_NOFILE: 400})
    assert "event=fewer_connections" in d.log()
    module = d.module()
    held = []
    for _ in range(300):
        try:
            s = from_address(d, "127.0.0.2")
            s.sendall(upload_head(1 << 20) + b"// unfinished")
            held.append(s)
        except OSError:
            pass
    time.sleep(0.3)
    for n in range(3):
        search = d.search({"module": module, "mesh": "data=2", "evaluations": 10 + n}).json()["id"]
        end = d.wait(search)
        assert end["state"] == "succeeded" and end["failures"] == 0 and end["attempt"] == 1, end
    assert d.upload(module_text(40)).status == 201
    assert len(os.listdir(f"/proc/{d.process.pid}/fd")) < 390
    for s in held:
        s.close()


def test_a_start_that_fails_is_no_attempt(own, faults):
    env, fault = faults
    d = own("--workers", "1", env=env)
    module = d.module()
    fault("fork")
    began = time.monotonic()
    search = d.search({"module": module, "mesh": "data=2", "evaluations": 10}).json()["id"]
    eventually(lambda: d.metric("shardwright_workers_not_started") >= 2)
    state = d.get("/v1/searches/" + search).json()
    assert state["state"] in ("queued", "running") and state["failures"] == 0 and state["attempt"] <= 1, state
    starts = d.metric("shardwright_workers_not_started")
    assert time.monotonic() - began >= 2 * (2 ** (starts - 1) - 1), "starts are spaced: by 2 s, 4 s, .."
    unavailable(d.upload(module_text(48)))
    unavailable(d.request("POST", "/v1/opt?passes=inline", module_text()))
    fault("fork", False)
    end = d.wait(search)
    assert end["state"] == "succeeded" and end["attempt"] == 1 and end["failures"] == 0
    assert d.metric("shardwright_workers_crashed") == 0
    assert d.upload(module_text(48)).status == 201


def test_a_start_without_descriptors_is_no_attempt(own):
    """None is left, not even of those that are kept aside for workers."""
    d = own("--workers", "1")
    body = json.dumps({"module": d.module(), "mesh": "data=2", "evaluations": 10})
    conn = d.connect()
    conn.request("POST", "/v1/searches", body, {**JSON, "Cache-Control": "only-if-cached"})  # its thread has the store open
    conn.getresponse().read()
    was = resource.prlimit(d.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(d.process.pid, resource.RLIMIT_NOFILE, (3, was[1]))
    conn.request("POST", "/v1/searches", body, JSON)
    asked = conn.getresponse()
    assert asked.status == 202, asked.read()
    search = json.loads(asked.read())["id"]
    eventually(lambda: "event=worker_not_started" in d.log())
    resource.prlimit(d.process.pid, resource.RLIMIT_NOFILE, was)
    end = d.wait(search)
    assert end["state"] == "succeeded" and end["attempt"] == 1 and end["failures"] == 0
    assert d.metric("shardwright_workers_crashed") == 0


def test_a_search_with_fewer_threads(own):
    """The address space of a worker has no room for the stacks of its threads: the text is not to blame, and fewer do the work."""
    d = own("--workers", "1", "--worker-threads", "4")
    body = {"module": d.module(), "mesh": "data=2", "evaluations": 20}
    answer = lambda search: d.get(f"/v1/strategies/{d.wait(search)['strategy']}").json()
    whole = answer(d.search(body).json()["id"])
    assert d.stop() == 0
    d = own("--workers", "1", "--worker-threads", "4", "--worker-memory", "64MiB", "--warm-start", "0")
    end = d.wait(d.search(body, {"Cache-Control": "no-cache"}).json()["id"])
    assert end["state"] == "succeeded" and end["attempt"] == 1, end
    assert answer(end["id"])["cost"] == whole["cost"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be a user who has a limit of processes")
@pytest.mark.parametrize("worker_threads", [1, 4])
def test_uploads_leave_processes_for_searches(public, worker_threads):
    """Room for the daemon's threads, a worker and the tools, and nothing else: as many tools as clients can think of take no worker's place.
    A worker of several threads takes what tools leave. One that loses a thread between its own try and that of its OpenMP runtime starts again."""
    public.chmod(0o777)
    programs = [shutil.copy(program, public) for program in (SHARDWRIGHT, SHARDWRIGHTD)]
    d = Daemon(public, "--workers", "1", "--worker-threads", str(worker_threads), "--tool-threads", "2", "--http-threads", "2", "--worker-binary", programs[0], user=54321)
    d.program = programs[1]
    d.start()
    try:
        module, threads = d.module(), len(os.listdir(f"/proc/{d.process.pid}/task"))
        assert d.stop() == 0
        d.limits = {resource.RLIMIT_NPROC: threads + 3}
        d.start()
        over = threading.Event()

        def client(number):
            while not over.is_set():
                try:
                    answer = d.request("POST", "/v1/opt?passes=inline", module_text(100 + number))
                    assert answer.status in (200, 429, 503), answer.body
                except OSError:
                    pass

        clients = [threading.Thread(target=client, args=(n,)) for n in range(6)]
        for c in clients:
            c.start()
        ends = [d.wait(d.search({"module": module, "mesh": "data=2", "evaluations": 10 + n}).json()["id"]) for n in range(5)]
        over.set()
        for c in clients:
            c.join()
        assert all(end["state"] == "succeeded" and end["attempt"] == 1 and end["failures"] == 0 for end in ends), ends
        assert d.metric("shardwright_tool_runs") > 5  # uploads were at work meanwhile; how many depends on the machine
        assert worker_threads > 1 or d.metric("shardwright_workers_not_started") == 0, d.log()
    finally:
        if d.alive():
            d.kill()


@pytest.fixture
def replaceable(tmp_path):
    """(a worker program, become): another text takes its place, or, without one, the program itself again."""
    program, away = tmp_path / "program", tmp_path / "away"

    def become(text=None):
        away.write_bytes(text.encode() if text else pathlib.Path(SHARDWRIGHT).read_bytes())
        away.chmod(0o755)
        away.rename(program)

    become()
    return str(program), become


@pytest.mark.parametrize("code, words", [(1, "\\nlibgomp: Thread creation failed: Resource temporarily unavailable"), (3, "error: cannot open it: Too many open files in system")])
def test_a_worker_that_is_short_of_something_is_no_attempt(own, replaceable, code, words):
    """Between what the program tried and what its OpenMP runtime does somebody else may have taken the last thread, or the machine's last descriptor
    before it came to its text: its words are no verdict on that."""
    program, become = replaceable
    d = own("--workers", "1", "--worker-binary", program)
    module = d.module()
    become(f"#!/bin/sh\nprintf '{words}\\n' >&2\nexit {code}\n")
    search = d.search({"module": module, "mesh": "data=2", "evaluations": 10}).json()["id"]
    eventually(lambda: d.metric("shardwright_workers_not_started") >= 1)
    unavailable(d.upload(module_text(48)))
    become()
    end = d.wait(search)
    assert end["state"] == "succeeded" and end["attempt"] == 1 and end["failures"] == 0, end
    assert d.metric("shardwright_workers_crashed") == 0


@pytest.mark.parametrize("words, status", [("libgomp: Out of memory allocating 640 bytes", 422), ("something else", 500)])
def test_last_words_that_are_no_verdict(own, replaceable, words, status):
    """A program that ends with 1 has said why, or it did not come so far."""
    program, become = replaceable
    d = own("--workers", "1", "--worker-binary", program)
    module = d.module()
    become(f"#!/bin/sh\nprintf '\\n{words}\\n' >&2\nexit 1\n")
    for answer in (d.upload(module_text(48)), d.request("POST", "/v1/opt?passes=inline", module_text())):
        assert answer.status == status, answer.body
    end = d.wait(d.search({"module": module, "mesh": "data=2", "evaluations": 10}).json()["id"])
    assert end["state"] == "failed" and end["error"]["status"] == status, end
    assert ("out of memory" if status == 422 else words) in end["error"]["detail"] and end["failures"] == (0 if status == 422 else 3), end


def test_a_program_that_cannot_be_run_is_no_attempt(own, replaceable):
    """The worker program goes away for a moment, as it does while it is being replaced."""
    program, become = replaceable
    d = own("--workers", "1", "--worker-binary", program)
    module = d.module()
    os.unlink(program)
    search = d.search({"module": module, "mesh": "data=2", "evaluations": 10}).json()["id"]
    eventually(lambda: d.metric("shardwright_workers_not_started") >= 1)
    assert d.get("/v1/searches/" + search).json()["failures"] == 0
    become()
    assert d.wait(search)["state"] == "succeeded"


def test_a_worker_without_memory_fails_once(own):
    d = own("--workers", "1", "--worker-memory", "48MiB")
    question = d.long()
    end = d.wait(d.search(question).json()["id"])
    assert end["state"] == "failed" and end["failures"] == 0 and end["attempt"] == 1, end
    assert end["error"]["status"] == 422 and "out of memory" in end["error"]["detail"] and "48 MiB" in end["error"]["detail"]
    eventually(lambda: d.metric("shardwright_workers_out_of_memory") == 1)  # counted once the end is stored
    assert d.metric("shardwright_workers_crashed") == 0
