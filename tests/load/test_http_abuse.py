"""Requests that no client library would send, clients that are slow, clients that go away."""

import json
import socket
import threading
import time

import pytest

from daemon import eventually, module_text


def exchange(daemon, raw, timeout=10):
    """The status of the first answer (0: the connection was closed without one), and whether it was closed."""
    with daemon.socket(timeout) as s:
        s.sendall(raw)
        data = b""
        try:
            while True:
                more = s.recv(65536)
                if not more:
                    return int(data.split()[1]) if data else 0, True
                data += more
        except (TimeoutError, socket.timeout):
            return int(data.split()[1]) if data else 0, False
        except ConnectionResetError:
            return int(data.split()[1]) if data else 0, True


BODY = b"POST /v1/searches HTTP/1.1\r\nContent-Type: application/json\r\n"
TABLE = [
    # request, statuses, must be closed
    ("two lengths", BODY + b"Host: a\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}", {400}),
    ("different lengths", BODY + b"Host: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", {400}),
    ("length and chunked", BODY + b"Host: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", {400}),
    ("length list", BODY + b"Host: a\r\nContent-Length: 2, 2\r\n\r\n{}", {400, 0}),
    ("negative length", BODY + b"Host: a\r\nContent-Length: -2\r\n\r\n{}", {400, 0}),
    ("signed length", BODY + b"Host: a\r\nContent-Length: +2\r\n\r\n{}", {400, 0}),
    ("huge length", BODY + b"Host: a\r\nContent-Length: 99999999999999999999999\r\n\r\n{}", {400, 413, 0}),
    ("two hosts", b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", {400}),
    ("no host", b"GET /healthz HTTP/1.1\r\n\r\n", {400}),
    ("coding gzip", BODY + b"Host: a\r\nTransfer-Encoding: gzip\r\n\r\n{}", {501}),
    ("coding gzip, chunked", BODY + b"Host: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", {501}),
    ("coding twice", BODY + b"Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", {501}),
    ("coding with a space", BODY + b"Host: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", {400, 501, 0}),
    ("nul in a header", b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\nConnection: close\r\n\r\n", {200, 400, 0}),
    ("body announced, not sent", BODY + b"Host: a\r\nExpect: 100-continue\r\nContent-Length: 2000000\r\n\r\n", {413}),
    ("bad chunk size", BODY + b"Host: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", {400, 0}),
    ("huge chunk size", BODY + b"Host: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}", {400, 413, 0}),
    ("large head", b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 40000 + b"\r\n\r\n", {400, 413, 431, 0}),
    ("long path", b"GET /" + b"x" * 40000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", {400, 414, 431, 0}),
    ("not http", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", {400, 0}),
    ("http/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400, 404, 405, 505, 0}),
    ("body that is too long", BODY + b"Host: a\r\nContent-Length: 5000000000\r\n\r\n{}", {413}),
    ("unknown method", b"BREW /v1/modules HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", {405}),
]


@pytest.mark.parametrize("name, raw, statuses", TABLE, ids=[row[0] for row in TABLE])
def test_odd_requests(daemon, name, raw, statuses):
    status, closed = exchange(daemon, raw)
    assert status in statuses and closed, (status, closed)
    assert daemon.get("/healthz").status == 200


def test_pipelined_requests(daemon):
    with daemon.socket() as s:
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n" * 50 + b"GET /nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        data = b""
        while True:
            more = s.recv(65536)
            if not more:
                break
            data += more
    assert data.count(b"HTTP/1.1 200") == 50 and data.count(b"HTTP/1.1 404") == 1


def test_connection_survives_errors(daemon):
    conn = daemon.connect()
    for path, status in (("/nothing", 404), ("/v1/modules", 405), ("/v1/searches/x", 404), ("/healthz", 200)) * 3:
        conn.request("GET", path)
        response = conn.getresponse()
        response.read()
        assert response.status == status
        assert response.headers["Connection"] != "close"
    conn.close()


def test_clients_that_go_away(daemon):
    head = b"POST /v1/modules HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"
    for i in range(60):
        s = daemon.socket()
        s.sendall(head[: 10 + i] if i % 3 == 0 else head + b"x" * (i * 100))
        if i % 2:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        s.close()
    text = module_text(184).encode()
    for i in range(20):  # gone while the answer is being computed
        with daemon.socket() as s:
            s.sendall(b"POST /v1/simulate HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
    eventually(lambda: daemon.metric("shardwright_connections_open") == 1)
    eventually(lambda: not daemon.temporary_files())


def test_slow_clients_are_reaped(own):
    d = own("--header-timeout", "1", "--body-timeout", "2", "--idle-timeout", "3")
    head = b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: "
    body = b"POST /v1/modules HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"
    slow = [(d.socket(), head) for _ in range(100)] + [(d.socket(), body) for _ in range(100)]
    for s, text in slow:
        s.sendall(text)
        s.setblocking(False)
    closed = set()
    deadline = time.monotonic() + 12
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
        start = time.monotonic()
        assert d.get("/healthz").status == 200
        assert time.monotonic() - start < 1
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
    deadline = time.monotonic() + 10
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
