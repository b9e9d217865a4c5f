"""The life of a search: upload, search, poll, cache, dedupe, cancel, lists, pages."""

import gzip
import hashlib
import http.client
import json
import os
import pathlib
import re
import socket
import stat
import subprocess
import threading

import pytest

from daemon import ROOT, SHARDWRIGHT, SHARDWRIGHTD, eventually, module_text


def finished(daemon, rows, **fields):
    """Id of a module and the final state of a search on it."""
    module = daemon.module(rows)
    answer = daemon.search({"module": module, "mesh": "data=2,model=2", "evaluations": 50, **fields})
    assert answer.status in (200, 202), answer.body
    return module, daemon.wait(answer.json()["id"])


def test_upload_answers_the_id_of_the_text(daemon):
    text = module_text(24)
    first = daemon.upload(text)
    assert first.status == 201
    body = first.json()
    assert body["id"] == "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    assert body["fingerprint"].startswith("sha256:") and body["arguments"] == 2
    assert first.headers["Location"] == "/v1/modules/" + body["id"]
    again = daemon.upload(text)
    assert again.status == 200 and again.json() == body
    assert daemon.get("/v1/modules/" + body["id"]).json() == body
    assert daemon.get("/v1/modules/" + body["id"] + ".mlir").body.decode() == text


def test_full_life(daemon):
    module = daemon.module(40)
    answer = daemon.search({"module": module, "mesh": "data=2,model=2", "memory": "16GiB", "evaluations": 50, "seed": 3})
    assert answer.status == 202
    body = answer.json()
    assert answer.headers["Location"] == "/v1/searches/" + body["id"]
    assert body["state"] in ("queued", "running") and body["strategy"] is None
    end = daemon.wait(body["id"])
    assert end["state"] == "succeeded" and end["error"] is None, end
    assert end["request"]["seed"] == 3 and end["request"]["memory"] == 16 << 30
    strategy = daemon.get("/v1/strategies/" + end["strategy"])
    assert strategy.status == 200
    assert "immutable" in strategy.headers["Cache-Control"]
    assert strategy.headers["ETag"] == f'"{end["strategy"]}"'
    document = strategy.json()
    assert document["format"] == "shardwright.strategy/1"
    assert document["cost"]["runtime_ns"] == end["best"]["runtime_ns"]
    assert daemon.get("/v1/strategies/" + end["strategy"], {"If-None-Match": strategy.headers["ETag"]}).status == 304
    assert daemon.get("/v1/strategies/" + end["strategy"]).body == strategy.body


def test_emitted_module(daemon):
    _, end = finished(daemon, 48)
    path = "/v1/strategies/" + end["strategy"] + ".mlir"
    first = daemon.get(path)
    assert first.status == 200 and b"stablehlo.dot_general" in first.body
    assert daemon.get(path).body == first.body
    packed = daemon.get(path, {"Accept-Encoding": "zstd"})
    assert packed.headers["Content-Encoding"] == "zstd" and packed.body[:4] == b"\x28\xb5\x2f\xfd"


def test_second_request_is_a_hit(daemon):
    module, end = finished(daemon, 56)
    started = daemon.metric("shardwright_workers_started")
    hit = daemon.search({"module": module, "mesh": "data=2,model=2", "evaluations": 50})
    assert hit.status == 200 and "hit" in hit.headers["Cache-Status"]
    body = hit.json()
    assert body["strategy"] == end["strategy"] and body["document"]["format"] == "shardwright.strategy/1"
    # seed, threads, a smaller budget and another way to write the mesh ask the same question
    for same in ({"seed": 9}, {"threads": 1}, {"evaluations": 10}, {"mesh": {"axes": [{"name": "data", "size": 2}, {"name": "model", "size": 2}]}}):
        assert daemon.search({"module": module, "mesh": "data=2,model=2", "evaluations": 50, **same}).status == 200, same
    assert daemon.metric("shardwright_workers_started") == started


def test_other_questions_are_misses(daemon):
    module, _ = finished(daemon, 64)
    base = {"module": module, "mesh": "data=2,model=2", "evaluations": 50}
    cached = {"Cache-Control": "only-if-cached"}
    for other in (
        {"evaluations": 51},
        {"mesh": "data=4"},
        {"objective": "memory"},
        {"memory": "1GiB"},
        {"pins": ["arg0:[[],[]]"]},
        {"groups": ["arg*"]},
        {"open_results": True},
        {"apply": "exact"},
        {"trip_count": 7},
        {"schedule": {"tactics": [{"named": "zero2", "axis": "data"}]}},
        {"schedule": {"tactics": [{"manual": {"values": {"op": "*"}, "dimension": 0, "axis": "data"}}]}},
        {"schedule": {"tactics": [{"manual": {"class_of": "arg0", "dimension": 0, "axis": "data"}}]}},
        {"schedule": {"tactics": [{"named": "replicate", "values": "*", "axis": "data"}]}},
    ):
        answer = daemon.search({**base, **other}, cached)
        assert answer.status == 504, (other, answer.body)
        assert answer.json()["type"] == "urn:shardwright:problem:not-cached"
    assert daemon.search(base, {"Prefer": "only-if-cached"}).status == 200


def test_renamed_program_shares_the_answer(daemon):
    text = module_text(72)
    one = daemon.upload(text).json()
    two = daemon.upload(text.replace("    %0", "\n    %0")).json()
    assert one["id"] != two["id"] and one["fingerprint"] == two["fingerprint"]
    first = daemon.search({"module": one["id"], "mesh": "data=2", "evaluations": 20})
    daemon.wait(first.json()["id"])
    assert daemon.search({"module": two["id"], "mesh": "data=2", "evaluations": 20}).status == 200


def test_no_cache_starts_a_new_search(daemon):
    module, end = finished(daemon, 80)
    fresh = daemon.search({"module": module, "mesh": "data=2,model=2", "evaluations": 50}, {"Cache-Control": "no-cache"})
    assert fresh.status == 202 and fresh.json()["id"] != end["id"]
    assert daemon.wait(fresh.json()["id"])["state"] == "succeeded"


def test_requests_in_flight_are_joined(daemon):
    question = daemon.long()
    ids = []

    def post():
        ids.append(daemon.search(question).json()["id"])

    threads = [threading.Thread(target=post) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(ids) == 8 and len(set(ids)) == 1
    assert daemon.rows("SELECT count(*) FROM searches WHERE memory_bytes = ?", question["memory"]) == [(1,)]
    daemon.request("POST", f"/v1/searches/{ids[0]}/cancel")
    assert daemon.wait(ids[0])["state"] == "canceled"


def test_cancel_keeps_the_best_so_far(daemon):
    question = daemon.long()
    search = daemon.search(question).json()["id"]
    eventually(lambda: daemon.get(f"/v1/searches/{search}").json()["best"])
    for _ in range(2):
        assert daemon.request("POST", f"/v1/searches/{search}/cancel").status in (200, 202)
    end = daemon.wait(search)
    assert end["state"] == "canceled" and end["partial"] is True and end["strategy"]
    assert daemon.get("/v1/strategies/" + end["strategy"]).status == 200
    assert daemon.request("POST", f"/v1/searches/{search}/cancel").json()["state"] == "canceled"
    # a partial answer is no answer to the next one who asks
    assert daemon.search(question, {"Cache-Control": "only-if-cached"}).status == 504


def test_stop_while_requests_come(own, tmp_path, monkeypatch):
    """The HTTP library's thread may still be at the listening socket when the daemon stops."""
    shim = tmp_path / "slow_epoll.so"
    source = pathlib.Path(__file__).with_name("slow_epoll.c")
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(shim))
    d = own()
    monkeypatch.delenv("LD_PRELOAD")
    answered = threading.Event()

    def ask():
        try:
            while d.get("/v1/devices").status == 200:
                answered.set()
        except (OSError, http.client.HTTPException):
            pass  # it has stopped

    thread = threading.Thread(target=ask)
    thread.start()
    assert answered.wait(20)
    code = d.stop()
    thread.join()
    assert code == 0, d.log()[-2000:]


def test_cancel_of_a_waiting_search(own):
    d = own("--workers", "1")
    first = d.search(d.long()).json()["id"]
    d.until(first, "running")
    second = d.search(d.long()).json()["id"]
    answer = d.request("POST", f"/v1/searches/{second}/cancel")
    assert answer.status == 200 and answer.json()["state"] == "canceled" and answer.json()["attempt"] == 0
    assert d.get(f"/v1/searches/{first}").json()["state"] == "running"
    assert d.stop() == 0


def test_queue_limit(own):
    d = own("--workers", "1", "--queue", "2")
    d.until(d.search(d.long()).json()["id"], "running")
    assert [d.search(d.long()).status for _ in range(3)] == [202, 202, 429]
    answer = d.search(d.long())
    assert answer.headers["Retry-After"] and answer.json()["status"] == 429


def test_nothing_fits_is_an_answer(daemon):
    module, end = finished(daemon, 104, memory=1)
    assert end["state"] == "succeeded" and end["best"]["fits"] is False
    assert daemon.get("/v1/strategies/" + end["strategy"]).json()["fits"] is False


def test_time_limit_keeps_the_best(own):
    d = own("--search-seconds", "1")
    end = d.wait(d.search(d.long()).json()["id"])
    assert end["state"] == "succeeded" and end["partial"] is True and end["strategy"]


def test_cache_of_workers(own):
    """Handed on to every search; small tables answer the same."""
    d = own()
    module = d.module()
    question = {"module": module, "mesh": "data=2,model=2", "evaluations": 60}
    first = d.wait(d.search(question).json()["id"])["strategy"]
    assert d.stop() == 0
    d.start("--worker-cache", "1MiB")
    again = d.wait(d.search(question, {"Cache-Control": "no-cache"}).json()["id"])["strategy"]
    assert d.get("/v1/strategies/" + again).json()["cost"] == d.get("/v1/strategies/" + first).json()["cost"]
    busy = d.search(d.long()).json()["id"]
    d.until(busy, "running")
    given = pathlib.Path("/proc/%d/cmdline" % d.worker())
    eventually(lambda: "--cache-memory\x001048576\x00" in given.read_text())  # from its exec on, not from its fork


def test_lists(daemon):
    module, end = finished(daemon, 112)
    page = daemon.get(f"/v1/searches?module={module}&state=succeeded").json()
    assert [s["id"] for s in page["searches"]] == [end["id"]] and page["next_page"] is None
    found = daemon.get(f"/v1/strategies?module={module}&mesh=data%3D2,model%3D2").json()["strategies"]
    assert [s["id"] for s in found] == [end["strategy"]]
    assert daemon.get(f"/v1/strategies?module={module}&mesh=data%3D8").json()["strategies"] == []
    fingerprint = found[0]["fingerprint"]
    assert daemon.get(f"/v1/strategies?module={fingerprint}").json()["strategies"]
    seen, token = [], ""
    while True:
        page = daemon.get("/v1/searches?page_size=2" + (f"&page_token={token}" if token else "")).json()
        seen += [s["id"] for s in page["searches"]]
        token = page["next_page"]
        if not token:
            break
    everything = daemon.rows("SELECT count(*) FROM searches")[0][0]
    assert len(seen) == len(set(seen)) == everything


def test_tools(daemon):
    text = module_text(8)
    answer = daemon.request("POST", "/v1/opt?passes=inline", text.encode())
    assert answer.status == 200 and b"stablehlo.dot_general" in answer.body
    assert answer.headers["Content-Type"].startswith("text/plain")
    answer = daemon.request("POST", "/v1/simulate", text.encode())
    assert answer.status == 200 and answer.json()["runtime_ns"] >= 0
    device = daemon.get("/v1/devices").json()
    device = (device if isinstance(device, list) else device["devices"])[0]
    name = device if isinstance(device, str) else device["name"]
    assert daemon.request("POST", f"/v1/simulate?device={name}", text.encode()).status == 200


def test_pages(daemon):
    page = daemon.get("/")
    assert page.status == 200 and b"<!doctype html>" in page.body[:40].lower()
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src 'sha256-" in policy and "unsafe" not in policy
    assert "require-trusted-types-for 'script'" in policy and "connect-src 'self'" in policy
    # its service worker, for which one policy gives one address, asks nobody else
    assert "worker-src 'self'" in policy and policy.count("trusted-types shardwright") == 1 and policy.endswith("'")
    worker = daemon.get("/worker.js")
    assert worker.status == 200 and worker.headers["Content-Type"].startswith("text/javascript")
    assert worker.headers["Content-Security-Policy"] == "default-src 'none'; connect-src 'self'"
    assert worker.headers["Cache-Control"] == "no-cache"
    small = daemon.get("/", {"Accept-Encoding": "gzip"})
    assert small.headers["Content-Encoding"] == "gzip" and gzip.decompress(small.body) == page.body
    assert daemon.get("/", {"If-None-Match": page.headers["ETag"]}).status == 304
    assert daemon.get("/healthz").body == b"ok\n"
    assert daemon.get("/readyz").status == 200
    assert daemon.get("/v1/version").json()["daemon"]
    assert b"# TYPE shardwright_requests counter" in daemon.get("/metrics").body
    head = daemon.request("HEAD", "/healthz")
    assert head.status == 200 and head.body == b""


def test_openapi_names_every_route(daemon):
    spec = daemon.get("/openapi.json").json()
    assert spec["openapi"].startswith("3.1")
    for path, methods in spec["paths"].items():
        concrete = path.replace("{id}", "x").replace("{strategy}", "sha256:0")
        for method in methods:
            if method == "parameters":
                continue
            answer = daemon.request(method.upper(), concrete)
            assert answer.status != 405, (method, path)
            if answer.status == 404:
                assert "nothing is at" not in answer.json()["detail"], path
    # and nothing is served that it does not name
    known = {(m.upper(), p) for p, ms in spec["paths"].items() for m in ms if m != "parameters"}
    source = (ROOT / "server" / "routes.c").read_text()
    for method, path in re.findall(r'\{"(GET|POST)", "([^"]+)"', source):
        assert (method, path) in known, (method, path)


def test_store_is_open_to_sql(daemon):
    _, end = finished(daemon, 120)
    best = daemon.rows("SELECT id, fits FROM best_strategies WHERE id = ?", end["strategy"])
    assert best == [(end["strategy"], 1)]
    assert len(daemon.rows("SELECT name FROM strategy_arguments WHERE strategy = ?", end["strategy"])) >= 1
    daemon.rows("SELECT * FROM strategy_collectives WHERE strategy = ?", end["strategy"])
    daemon.rows("SELECT * FROM queue")
    document = daemon.rows("SELECT document ->> '$.format' FROM strategies WHERE id = ?", end["strategy"])
    assert document == [("shardwright.strategy/1",)]


def test_one_daemon_per_store(own):
    d = own()
    second = subprocess.run([SHARDWRIGHTD, "--listen", "127.0.0.1:0", "--store", str(d.store), "--worker-binary", SHARDWRIGHT],
        capture_output=True, timeout=20)
    assert second.returncode == 1 and b"in use by another daemon" in second.stderr
    assert d.get("/healthz").status == 200


@pytest.mark.parametrize("flags, code, text", [
    (["--lissten", "x"], 64, "unknown flag"),
    (["--workers", "many"], 64, "expected a number"),
    (["--workers", "0"], 64, "expected 1 to 256"),
    (["--listen", "nowhere"], 1, "expected HOST:PORT"),
    (["--worker-binary", "/nonexistent"], 1, "cannot be run"),
    (["--listen", "0.0.0.0:0"], 1, "give --tokens"),
])
def test_bad_settings(tmp_path, flags, code, text):
    command = [SHARDWRIGHTD, "--store", str(tmp_path / "store"), "--listen", "127.0.0.1:0", "--worker-binary", SHARDWRIGHT]
    run = subprocess.run(command + flags, capture_output=True, text=True, timeout=20)
    assert run.returncode == code and text in run.stderr, run


def test_config_file_and_help(tmp_path):
    config = tmp_path / "c.json"
    config.write_text(json.dumps({"workers": 2, "worker_memory": "1GiB", "insecure": False, "lissten": "x"}))
    run = subprocess.run([SHARDWRIGHTD, "--config", str(config)], capture_output=True, text=True, timeout=20)
    assert run.returncode == 1 and "unknown setting 'lissten'" in run.stderr and "c.json" in run.stderr
    text = subprocess.run([SHARDWRIGHTD, "--help"], capture_output=True, text=True, timeout=20)
    assert text.returncode == 0 and "--worker-memory SIZE" in text.stdout and "curl" in text.stdout


def test_tokens(own, tmp_path):
    tokens = tmp_path / "tokens"
    secrets = {}
    for name, scopes in (("reader", "read"), ("trainer", "read,submit")):
        run = subprocess.run([SHARDWRIGHTD, "--tokens", str(tokens), "--new-token", f"{name}:{scopes}"], capture_output=True, text=True, timeout=20)
        assert run.returncode == 0
        secrets[name] = {"Authorization": "Bearer " + run.stdout.strip()}
        assert run.stdout.strip() not in tokens.read_text()
    d = own("--tokens", str(tokens))
    assert d.get("/healthz").status == 200
    nobody = d.get("/v1/searches")
    assert nobody.status == 401 and nobody.headers["WWW-Authenticate"] == "Bearer"
    assert d.get("/v1/searches", {"Authorization": "Bearer " + "0" * 64}).status == 401
    assert d.get("/v1/searches", secrets["reader"]).status == 200
    assert d.upload(module_text(), secrets["reader"]).status == 403
    module = d.upload(module_text(), secrets["trainer"]).json()["id"]
    search = d.search({"module": module, "mesh": "data=2", "evaluations": 10}, secrets["trainer"]).json()["id"]
    assert d.rows("SELECT owner FROM searches WHERE id = ?", search) == [("trainer",)]
    tokens.chmod(0o644)
    assert d.stop() == 0
    run = subprocess.run([SHARDWRIGHTD, "--tokens", str(tokens), "--store", str(d.store), "--worker-binary", SHARDWRIGHT,
        "--listen", "127.0.0.1:0"], capture_output=True, text=True, timeout=20)
    assert run.returncode == 1 and "mode 0600" in run.stderr


def test_unix_socket(own, tmp_path):
    path = tmp_path / "s"
    d = own("--unix", str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    conn = http.client.HTTPConnection("localhost")
    conn.sock = socket.socket(socket.AF_UNIX)
    conn.sock.connect(str(path))
    conn.request("GET", "/healthz")
    assert conn.getresponse().read() == b"ok\n"
    conn.close()
    d.kill()
    d.start()  # the dead one's socket is in the way
    assert d.stop() == 0 and not path.exists()
