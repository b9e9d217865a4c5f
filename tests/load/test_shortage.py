"""A shortage inside never looks like an answer: memory, the disk, a lock, a lost file. That of workers: test_starts.py."""

import hashlib
import json
import random
import resource
import sqlite3
import subprocess
import threading
import time

import pytest

from daemon import SHARDWRIGHTD, eventually, from_address, module_text, unavailable, upload_head

SPACE = 512 << 20
JSON = {"Content-Type": "application/json"}


def resident(d):
    status = open(f"/proc/{d.process.pid}/status").read()
    return int(status.split("VmRSS:")[1].split()[0]) << 10


# ---------------------------------------------------------------- memory


def zstd_frame(window_log, text):
    """The begin of a frame that asks for a window: no content size, one raw block, more to come."""
    return b"\x28\xb5\x2f\xfd" + bytes([0, (window_log - 10) << 3]) + (len(text) << 3).to_bytes(3, "little") + text


def large_request(module, n):
    """A search request of nearly 1 MiB."""
    return json.dumps({"module": module, "mesh": "data=2", "memory": n, "evaluations": 1, "pins": ["x" * 4000 + ":[[],[]]"] * 250})


def start_small(own, *flags):
    return own("--workers", "1", *flags, limits={resource.RLIMIT_AS: SPACE})


def alive_and_well(d):
    assert d.alive(), d.log()[-3000:]
    eventually(lambda: d.get("/healthz").status == 200)


def send_some(sockets, d, data):
    """Opens a connection and sends; one that the daemon refuses or resets is fine."""
    try:
        s = d.socket()
        s.sendall(data)
        sockets.append(s)
    except OSError:
        pass


def test_lists_of_large_requests(own):
    """Answers that nobody reads, of lists whose searches have requests of a mebibyte each."""
    d = start_small(own)
    module = d.module()
    d.until(d.search(d.long()).json()["id"], "running")  # the others wait behind it
    ids = [d.search(large_request(module, n + 1)).json()["id"] for n in range(40)]
    page = d.get("/v1/searches?page_size=1000").json()
    assert [s["id"] for s in page["searches"]][-2::-1] == ids and all("request" not in s for s in page["searches"])
    assert len(d.get("/v1/searches/" + ids[0]).json()["request"]["pins"]) == 250
    unread = []
    for _ in range(40):
        send_some(unread, d, b"GET /v1/searches?page_size=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    for search in ids:
        send_some(unread, d, f"GET /v1/searches/{search} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    for n in range(80):
        send_some(unread, d, f"GET /v1/searches/{ids[n % 40]} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * 20)
    time.sleep(0.5)
    alive_and_well(d)
    for s in unread:
        s.close()
    eventually(lambda: d.metric("shardwright_memory_bytes") < 1 << 20)
    assert d.get("/v1/searches/" + ids[0]).status == 200


def test_a_list_ends_at_its_most_bytes(own):
    d = own("--workers", "1")
    module = d.module()
    busy = d.search(d.long()).json()["id"]
    d.until(busy, "running")
    axes = ",".join(f"{'a' * 60}{i}=1" for i in range(32))
    total = 420
    for n in range(total):
        assert d.search({"module": module, "mesh": axes, "memory": n + 1}).status == 202
    seen, token, pages = 0, "", 0
    while token is not None:
        answer = d.get("/v1/searches?page_size=1000" + (f"&page_token={token}" if token else ""))
        assert len(answer.body) < (1 << 20) + 10000
        seen, token, pages = seen + len(answer.json()["searches"]), answer.json()["next_page"], pages + 1
    assert seen == total + 1 and pages == 2


def test_uploads_that_do_not_end(own):
    d = start_small(own)
    held = []
    for _ in range(40):  # windows: far too large, too large, as large as may be
        send_some(held, d, upload_head(1 << 20) + zstd_frame(27, b"x" * 1000))
        send_some(held, d, upload_head(1 << 20) + zstd_frame(24, b"x" * 1000))
        send_some(held, d, upload_head(1 << 20) + zstd_frame(23, b"x" * 1000))
    time.sleep(0.5)
    alive_and_well(d)
    assert resident(d) < 300 << 20
    for _ in range(400):
        send_some(held, d, upload_head(64 << 20) + b"// " + b"x" * 5000)
    time.sleep(0.5)
    alive_and_well(d)
    assert d.metric("shardwright_memory_bytes") <= d.metric("shardwright_memory_limit_bytes")
    for s in held:
        s.close()
    eventually(lambda: d.metric("shardwright_memory_bytes") < 1 << 20)
    assert d.upload(module_text(32)).status == 201
    eventually(lambda: not d.temporary_files())


def test_a_window_that_is_too_large_is_refused(daemon):
    answer = daemon.upload(zstd_frame(24, b"x"))
    assert answer.status == 413 and "RFC 9659" in answer.json()["detail"]
    assert daemon.upload(zstd_frame(23, b"x")).status == 400  # truncated, but read


def test_bodies_that_do_not_end(own):
    d = start_small(own)
    held = []
    head = b"POST /v1/searches HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
    for _ in range(100):
        send_some(held, d, head + b" " * 900000)
    tool = b"POST /v1/opt?passes=inline HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8000000\r\n\r\n"
    for _ in range(20):
        send_some(held, d, tool + b"/" * 7000000)
    alive_and_well(d)
    assert d.metric("shardwright_memory_refusals") > 0
    answers = [d.search(json.dumps({"module": "sha256:" + "0" * 64, "mesh": "a=2"})) for _ in range(5)]
    assert all(a.status == 404 for a in answers), "small requests go on beside large ones"
    for s in held:
        s.close()
    eventually(lambda: d.metric("shardwright_memory_bytes") < 1 << 20)


def test_json_that_is_dear_to_parse(own):
    """Forty bytes of tree for each byte of text, from many clients at once."""
    d = start_small(own)
    body = b'{"module":[' + b"1," * 190000 + b"1]}"
    raw = b"POST /v1/searches HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    held = []
    for _ in range(60):
        send_some(held, d, raw)
    alive_and_well(d)
    assert d.search(body.decode()).status == 400
    for s in held:
        s.close()


def test_large_outputs_nobody_reads(own):
    d = start_small(own)
    line = "    %{0} = stablehlo.add %{1}, %{1} : tensor<8x16xf32>\n"
    text = "module {\n  func.func public @main(%arg0: tensor<8x16xf32>) -> tensor<8x16xf32> {\n    %0 = stablehlo.add %arg0, %arg0 : tensor<8x16xf32>\n"
    text += "".join(line.format(i, i - 1) for i in range(1, 40000)) + "    return %39999 : tensor<8x16xf32>\n  }\n}\n"
    body = text.encode()
    held = []
    for _ in range(12):
        send_some(held, d, b"POST /v1/opt?passes=inline HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    eventually(lambda: d.metric("shardwright_tool_runs") >= 12, 60)
    eventually(lambda: d.metric("shardwright_memory_bytes") < 8 << 20)
    alive_and_well(d)
    held[0].settimeout(20)
    data = b""
    while len(data) < 2_000_000:
        data += held[0].recv(1 << 20)
    assert data.startswith(b"HTTP/1.1 200")
    for s in held:
        s.close()


def test_large_documents_are_streamed(own):
    """A strategy of megabytes, put into the store as a worker's answer would be."""
    d = own("--workers", "1")
    module = d.module()
    question = {"module": module, "mesh": "data=2", "evaluations": 10}
    end = d.wait(d.search(question).json()["id"])
    document = d.get("/v1/strategies/" + end["strategy"]).json()
    assert d.stop() == 0
    document["filling"] = ["x" * 1000] * 3000
    text = json.dumps(document)
    name = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    db = sqlite3.connect(d.store / "shardwright.db")
    db.execute("PRAGMA defer_foreign_keys = ON")
    db.execute("UPDATE strategies SET id = ?, document = ? WHERE id = ?", (name, text, end["strategy"]))
    db.execute("UPDATE searches SET strategy = ? WHERE strategy = ?", (name, end["strategy"]))
    db.commit()
    db.close()
    d.start()
    answer = d.get("/v1/strategies/" + name)
    assert answer.body.decode() == text and answer.headers["ETag"] == f'"{name}"' and "immutable" in answer.headers["Cache-Control"]
    hit = d.search(question)
    assert hit.status == 200 and hit.json()["document"] == document and hit.json()["id"] == end["id"]
    assert d.get("/v1/strategies/" + name + ".mlir").status in (200, 500)
    held = []
    for _ in range(30):
        send_some(held, d, f"GET /v1/strategies/{name} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * 4)
    time.sleep(0.3)
    assert d.metric("shardwright_memory_bytes") < 30 << 20
    for s in held:
        s.close()


def test_everything_at_once(own):
    """All of the above from six clients for a while; then everything is given back."""
    d = start_small(own)
    module = d.module()
    busy = d.search(d.long()).json()["id"]
    ids = [d.search(large_request(module, n + 1)).json()["id"] for n in range(8)]
    json_head = b"POST /v1/searches HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
    kinds = [
        b"GET /v1/searches?page_size=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n" * 5,
        f"GET /v1/searches/{ids[0]} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * 10,
        f"GET /v1/searches/{busy}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(),
        upload_head(1 << 20) + zstd_frame(23, b"x" * 1000),
        upload_head(64 << 20) + b"// " + b"x" * 200_000,
        json_head + b'{"module":[' + b"1," * 190_000,
        b"POST /v1/opt?passes=inline HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8000000\r\n\r\n" + b"/" * 3_000_000,
        b"GET /heal",
    ]

    def client(number):
        rng, held = random.Random(number), []
        until = time.monotonic() + 6
        while time.monotonic() < until and len(held) < 300:
            try:
                s = from_address(d, f"127.0.0.{2 + number}")
                held.append(s)
                s.settimeout(1)
                s.sendall(rng.choice(kinds))
            except OSError:
                pass
        for s in held:
            s.close()

    threads = [threading.Thread(target=client, args=(n,)) for n in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert d.alive(), d.log()[-3000:]
    eventually(lambda: d.metric("shardwright_memory_bytes") < 1 << 20, 60)
    eventually(lambda: d.upload(module_text(56)).status == 201, 60)  # it may be short of connections a while longer
    eventually(lambda: d.get("/v1/searches/" + ids[0]).status == 200, 60)
    assert d.stop() == 0


# ---------------------------------------------------------------- reads that fail


@pytest.mark.parametrize("name", ["pread", "open"])
def test_a_failed_read_is_no_404(own, faults, name):
    env, fault = faults
    d = own("--workers", "1", "--http-threads", "1", env=env)
    module = d.module()
    question = {"module": module, "mesh": "data=2", "evaluations": 10}
    search = d.search(question).json()["id"]
    strategy = d.wait(search)["strategy"]
    assert d.stop() == 0
    d.start()  # nothing is in a cache yet
    fault(name)
    paths = [f"/v1/modules/{module}", f"/v1/modules/{module}.mlir", f"/v1/searches/{search}", f"/v1/searches/{search}?wait=1s",
        f"/v1/searches/{search}/events", f"/v1/strategies/{strategy}", f"/v1/strategies/{strategy}.mlir", "/v1/searches", "/v1/strategies"]
    for path in paths:
        unavailable(d.get(path))
    unavailable(d.search(question))
    unavailable(d.search(question, {"Cache-Control": "only-if-cached"}))
    unavailable(d.upload(module_text()))
    fault(name, False)
    for path in paths:
        assert d.get(path).status == 200, path
    for path in ("/v1/modules/sha256:0", "/v1/searches/s-" + "0" * 32, "/v1/strategies/sha256:0"):
        assert d.get(path).status == 404, path


# ---------------------------------------------------------------- starting where nothing can be written


def finished_store(d):
    """A module, an answered question and one that waits; the daemon is stopped."""
    module = d.module()
    question = {"module": module, "mesh": "data=2", "evaluations": 10}
    end = d.wait(d.search(question).json()["id"])
    return module, question, end["strategy"]


def serves_hits(d, module, question, strategy):
    assert d.get("/readyz").status == 503
    assert d.search(question).status == 200
    assert d.get("/v1/strategies/" + strategy).status == 200
    assert d.get("/v1/modules/" + module).status == 200
    assert d.upload(module_text()).status == 200  # known already
    refused = d.search({**question, "mesh": "data=4"})
    assert refused.status == 507 and refused.headers["Retry-After"]


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_start_on_a_full_disk(own, how):
    """A limit of file size stands in for a disk without room."""
    d = own("--workers", "1")
    module, question, strategy = finished_store(d)
    running = d.search(d.long()).json()["id"]
    d.until(running, "running")
    if how == "stopped":
        assert d.stop() == 0
    else:
        d.kill()
    d.shorten(running)
    d.limits = {resource.RLIMIT_FSIZE: (0, resource.RLIM_INFINITY)}
    d.start()
    serves_hits(d, module, question, strategy)
    resource.prlimit(d.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    eventually(lambda: d.get("/readyz").status == 200)
    assert d.wait(running)["state"] == "succeeded"
    assert d.stop() == 0
    assert d.rows("PRAGMA integrity_check") == [("ok",)]


def stays_unready(d):
    """While the daemon itself looks for work: transactions that write nothing."""
    done = d.metric("shardwright_store_commits")
    eventually(lambda: d.metric("shardwright_store_commits") > done + 2)
    assert d.get("/readyz").status == 503


def test_an_idle_daemon_on_a_full_disk(own):
    """It has nothing to write, and does not take that for room."""
    room = lambda bytes: resource.prlimit(d.process.pid, resource.RLIMIT_FSIZE, (bytes, resource.RLIM_INFINITY))
    d = own("--workers", "1")
    module, question, strategy = finished_store(d)
    room(0)
    assert d.search({**question, "mesh": "data=8"}).status == 507
    stays_unready(d)
    assert d.stop() == 0
    d.limits = {resource.RLIMIT_FSIZE: (0, resource.RLIM_INFINITY)}
    d.start()
    serves_hits(d, module, question, strategy)
    stays_unready(d)
    room(resource.RLIM_INFINITY)
    eventually(lambda: d.get("/readyz").status == 200)
    assert d.wait(d.search({**question, "mesh": "data=8"}).json()["id"])["state"] == "succeeded"
    assert d.log().count("event=transaction_failed") < 12  # not one a second


def test_start_behind_a_foreign_lock(own):
    d = own("--workers", "1")
    module, question, strategy = finished_store(d)
    running = d.search(d.long()).json()["id"]
    d.until(running, "running")
    d.kill()
    d.shorten(running)
    db = sqlite3.connect(d.store / "shardwright.db", isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    d.start()
    serves_hits(d, module, question, strategy)
    db.execute("ROLLBACK")
    db.close()
    eventually(lambda: d.get("/readyz").status == 200)
    assert d.wait(running)["state"] == "succeeded"
    assert d.stop() == 0


# ---------------------------------------------------------------- lost texts


def check(d):
    run = subprocess.run([SHARDWRIGHTD, "--check", "--store", str(d.store)], capture_output=True, text=True, timeout=60)
    return run.returncode, run.stdout


def test_a_lost_text(own):
    d = own("--workers", "1")
    module = d.module()
    lost = d.store / "objects" / module[7:9] / (module[9:] + ".zst")
    assert check(d) == (0, "1 modules, 0 texts lost or damaged\n")
    assert d.get("/readyz").body == b"ready\n"
    good = lost.read_bytes()
    lost.unlink()
    assert d.get(f"/v1/modules/{module}.mlir").status == 500
    assert d.get("/readyz").status == 200 and b"lost_objects 1\n" in d.get("/readyz").body
    assert d.metric("shardwright_objects_lost") == 1
    code, text = check(d)
    assert code == 1 and module in text and "lost: upload it again" in text
    refused = d.search({"module": module, "mesh": "data=2", "evaluations": 10})
    assert refused.status == 404 and refused.json()["errors"][0]["pointer"] == "/module" and "lost" in refused.json()["detail"]
    assert d.upload(module_text()).status == 201
    assert lost.exists() and d.get(f"/v1/modules/{module}.mlir").body.decode() == module_text()
    assert d.get("/readyz").body == b"ready\n"
    assert d.search({"module": module, "mesh": "data=2", "evaluations": 10}).status == 202
    lost.write_bytes(good[:-9] + bytes(9))
    code, text = check(d)
    assert code == 1 and "damaged" in text
    lost.unlink()
    assert d.stop() == 0
    d.start()
    assert b"lost_objects 1\n" in d.get("/readyz").body


# ---------------------------------------------------------------- alarms


def test_answers_that_are_no_alarm(own):
    d = own()
    module = d.module()
    assert d.search({"module": module, "mesh": "data=2"}, {"Cache-Control": "only-if-cached"}).status == 504
    with d.socket() as s:
        s.sendall(b"POST /v1/searches HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n")
        assert s.recv(4096).startswith(b"HTTP/1.1 501")
    assert d.metric("shardwright_responses_5xx") == 0
    assert d.metric("shardwright_responses_4xx") == 2
