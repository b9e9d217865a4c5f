"""Requests that no client library would send, clients that are slow, clients that go away."""

import json
import re
import socket
import threading
import time

import pytest

from daemon import eventually, module_text


def exchange(daemon, raw, timeout=10):
    """The statuses of the answers, and whether the connection was closed."""
    with daemon.socket(timeout) as s:
        data, closed = b"", True
        try:
            s.sendall(raw)
            while True:
                more = s.recv(65536)
                if not more:
                    break
                data += more
        except (TimeoutError, socket.timeout):
            closed = False
        except OSError:
            pass
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d\d\d) ", data)], closed


BODY = b"POST /v1/searches HTTP/1.1\r\nContent-Type: application/json\r\n"
TABLE = [
    # request, statuses, must be closed
    ("two lengths", BODY + b"Host: localhost\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}", {400}),
    ("different lengths", BODY + b"Host: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", {400}),
    ("length and chunked", BODY + b"Host: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", {400}),
    ("length list", BODY + b"Host: localhost\r\nContent-Length: 2, 2\r\n\r\n{}", {400, 0}),
    ("negative length", BODY + b"Host: localhost\r\nContent-Length: -2\r\n\r\n{}", {400, 0}),
    ("signed length", BODY + b"Host: localhost\r\nContent-Length: +2\r\n\r\n{}", {400, 0}),
    ("huge length", BODY + b"Host: localhost\r\nContent-Length: 99999999999999999999999\r\n\r\n{}", {400, 413, 0}),
    ("two hosts", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", {400}),
    ("no host", b"GET /healthz HTTP/1.1\r\n\r\n", {400}),
    ("coding gzip", BODY + b"Host: localhost\r\nTransfer-Encoding: gzip\r\n\r\n{}", {501}),
    ("coding gzip, chunked", BODY + b"Host: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", {501}),
    ("coding twice", BODY + b"Host: localhost\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", {501}),
    ("coding with a space", BODY + b"Host: localhost\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", {400}),
    ("coding with an underscore", BODY + b"Host: localhost\r\nContent-Length: 2\r\nTransfer_Encoding: chunked\r\n\r\n{}", {400}),
    ("length with an underscore", BODY + b"Host: localhost\r\nContent_Length: 2\r\n\r\n{}", {400}),
    ("length with a space", BODY + b"Host: localhost\r\nContent-Length : 2\r\n\r\n{}", {400}),
    ("empty name", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n: x\r\n\r\n", {400}),
    ("line without a colon", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nwhat is this\r\n\r\n", {400}),
    ("folded line", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n", {400}),
    ("folded length", BODY + b"Host: localhost\r\nContent-Length:\r\n 2\r\n\r\n{}", {400}),
    ("folded first line", b"GET /healthz HTTP/1.1\r\n Host: localhost\r\n\r\n", {400}),
    ("bare CR in a header", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\rY: b\r\n\r\n", {400}),
    ("bare CR ends the head", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\rX: a\r\n\r\n", {400}),
    ("bare LF in a header", b"GET /healthz HTTP/1.1\r\nHost: localhost\nX: a\r\n\r\n", {400}),
    ("bare LF ends the head", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\n", {400}),
    ("bare LF in the first line", b"GET /healthz HTTP/1.1\nHost: localhost\r\n\r\n", {400}),
    ("nothing but LF", b"GET /healthz HTTP/1.1\nHost: localhost\n\n", {400}),
    ("nul in a header", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\nConnection: close\r\n\r\n", {400}),
    ("nul in a name", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX\x00: a\r\n\r\n", {400}),
    ("nul in the target", b"GET /healthz\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    ("nul before the request", b"\x00GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    ("control character in a header", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\x0bb\r\n\r\n", {400}),
    ("two spaces in the first line", b"GET  /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    ("tab in the first line", b"GET\t/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    ("no version", b"GET /healthz\r\nHost: localhost\r\n\r\n", {400}),
    ("empty host", b"GET /healthz HTTP/1.1\r\nHost:\r\n\r\n", {400}),
    ("host with a path", b"GET /healthz HTTP/1.1\r\nHost: localhost/x\r\n\r\n", {400}),
    ("host with a user", b"GET /healthz HTTP/1.1\r\nHost: me@localhost\r\n\r\n", {400}),
    ("host with two ports", b"GET /healthz HTTP/1.1\r\nHost: localhost:1:2\r\n\r\n", {400}),
    ("host list", b"GET /healthz HTTP/1.1\r\nHost: localhost, localhost\r\n\r\n", {400}),
    ("host without its bracket", b"GET /healthz HTTP/1.1\r\nHost: [::1\r\n\r\n", {400}),
    ("chunk with an extension", BODY + b"Host: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\n{}\r\n0\r\n\r\n", {400, 0}),
    ("chunk longer than its size", BODY + b"Host: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}{}\r\n0\r\n\r\n", {400}),
    ("chunk with bare LF", BODY + b"Host: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\n{}\n0\n\n", {400, 0}),
    ("length in the trailer", BODY + b"Host: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n", {400}),
    ("length and chunked, in pieces", BODY + b"Host: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    ("body announced, not sent", BODY + b"Host: localhost\r\nExpect: 100-continue\r\nContent-Length: 2000000\r\n\r\n", {413}),
    ("bad chunk size", BODY + b"Host: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", {400}),
    ("huge chunk size", BODY + b"Host: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}", {400, 413, 0}),
    ("large head", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 40000 + b"\r\n\r\n", {400, 413, 431, 0}),
    ("long path", b"GET /" + b"x" * 40000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", {400, 414, 431, 0}),
    ("not http", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", {400, 0}),
    ("http/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400, 404, 405, 505, 0}),
    ("body that is too long", BODY + b"Host: localhost\r\nContent-Length: 5000000000\r\n\r\n{}", {413}),
    ("target of another host", b"GET http://elsewhere.example/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", {421}),
    ("target here, host elsewhere", b"GET http://localhost/healthz HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n", {421}),
    ("target with a user", b"GET http://me@localhost/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    ("target without a host", b"GET http:///healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    ("target with a long host", b"GET http://" + b"x" * 400 + b"/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    ("unknown method", b"BREW /v1/modules HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", {405}),
]


@pytest.mark.parametrize("name, raw, statuses", TABLE, ids=[row[0] for row in TABLE])
def test_odd_requests(daemon, name, raw, statuses):
    answers, closed = exchange(daemon, raw)
    assert len(answers) <= 1 and (answers or [0])[0] in statuses and closed, (answers, closed)
    assert daemon.get("/healthz").status == 200


@pytest.mark.parametrize("name, raw, statuses", TABLE, ids=[row[0] for row in TABLE])
def test_odd_requests_behind_a_good_one(daemon, name, raw, statuses):
    """In one piece and byte by byte: the good one is answered first, and nothing of the odd one is taken for a third."""
    good = b"GET /v1/version HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answers, closed = exchange(daemon, good + raw + good)
    assert answers[:1] in ([200], []) and len(answers) <= 2 and (answers[1:] or [0])[0] in statuses and closed, (answers, closed)
    if len(raw) > 300:
        return
    with daemon.socket() as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        data = b""
        try:
            for i in range(len(raw)):
                s.send(raw[i : i + 1])
            s.settimeout(10)
            while more := s.recv(65536):
                data += more
        except OSError:
            pass
    answers = [int(status) for status in re.findall(rb"HTTP/1\.1 (\d\d\d) ", data)]
    assert len(answers) <= 1 and (answers or [0])[0] in statuses | {0}, answers


def test_targets_with_a_host(daemon):
    """RFC 9112, 3.2.2: they have to be taken."""
    one = "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"
    targets = ["http://localhost/healthz", "HTTP://localhost:%d/v1/modules?page_size=1" % daemon.port, "https://localhost/healthz", "http://localhost", "/healthz"]
    answers, closed = exchange(daemon, "".join(one % t for t in targets).encode() + b"GET http://127.0.0.1/nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert answers == [200] * len(targets) + [404] and closed


def test_pipelined_requests(daemon):
    with daemon.socket() as s:
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50 + b"GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        data = b""
        while True:
            more = s.recv(65536)
            if not more:
                break
            data += more
    assert data.count(b"HTTP/1.1 200") == 50 and data.count(b"HTTP/1.1 404") == 1


def test_connection_survives_errors(daemon):
    conn = daemon.connect()
    for path, status in (("/nothing", 404), ("/v1/opt", 405), ("/v1/searches/x", 404), ("/healthz", 200)) * 3:
        conn.request("GET", path)
        response = conn.getresponse()
        response.read()
        assert response.status == status
        assert response.headers["Connection"] != "close"
    conn.close()


def test_clients_that_go_away(daemon):
    head = b"POST /v1/modules HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"
    for i in range(60):
        s = daemon.socket()
        s.sendall(head[: 10 + i] if i % 3 == 0 else head + b"x" * (i * 100))
        if i % 2:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        s.close()
    text = module_text(184).encode()
    for i in range(20):  # gone while the answer is being computed
        with daemon.socket() as s:
            s.sendall(b"POST /v1/simulate HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
    eventually(lambda: daemon.metric("shardwright_connections_open") == 1)
    eventually(lambda: not daemon.temporary_files())


def test_slow_clients_are_reaped(own):
    d = own("--header-timeout", "1", "--body-timeout", "2", "--idle-timeout", "3")
    head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: "
    body = b"POST /v1/modules HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"
    slow = []
    for text in [head] * 100 + [body] * 100:
        s = d.socket()
        s.sendall(text)
        s.setblocking(False)
        slow.append((s, text))
    closed = set()
    deadline = time.monotonic() + 60
    while len(closed) < len(slow):
        assert time.monotonic() < deadline, len(closed)
        for i, (s, _) in enumerate(slow):
            if i in closed:
                continue
            try:
                s.send(b"x")
                if s.recv(4096) == b"":
                    closed.add(i)
            except BlockingIOError:
                pass
            except OSError:
                closed.add(i)
        assert d.request("GET", "/healthz", timeout=20).status == 200  # others are served meanwhile
        time.sleep(0.1)
    assert d.metric("shardwright_connections_reaped") >= 200
    for s, _ in slow:
        s.close()


def test_connection_limit(own):
    d = own("--connections", "40", "--http-threads", "2")
    held = [d.socket() for _ in range(60)]
    time.sleep(0.3)
    for s in held:
        s.close()
    deadline = time.monotonic() + 60
    while True:
        try:
            assert d.request("GET", "/healthz", timeout=2).status == 200
            break
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_many_clients_at_once(daemon):
    module = daemon.module(192)
    first = daemon.search({"module": module, "mesh": "data=2", "evaluations": 10}).json()["id"]
    strategy = daemon.wait(first)["strategy"]
    body = json.dumps({"module": module, "mesh": "data=2", "evaluations": 10})
    wrong = []

    def client():
        conn = daemon.connect()
        for i in range(60):
            if i % 2:
                conn.request("GET", "/v1/strategies/" + strategy)
            else:
                conn.request("POST", "/v1/searches", body, {"Content-Type": "application/json"})
            response = conn.getresponse()
            if response.status != 200 or not response.read():
                wrong.append(response.status)
        conn.close()

    threads = [threading.Thread(target=client) for _ in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []
