"""A million requests that are none, against a daemon (build it with sanitizers: make check-malformed): valid ones with bytes changed, cut, doubled,
moved and put in, over TCP. Every one has to be answered with a refusal or a hang-up, or be valid by chance; the daemon has to live, to answer
others meanwhile, and to end without a sanitizer's report.

    python3 tests/load/malformed.py --requests 1000000 [--seed N]
"""

import argparse
import json
import multiprocessing
import pathlib
import random
import socket
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from daemon import Daemon, module_text

BATCH = 100
HEADS = ["Content-Length", "Transfer-Encoding", "Host", "Content-Type", "Expect", "Connection", "Idempotency-Key", "X-Shardwright-Label", "Authorization", "Origin",
         "Accept-Encoding", "If-None-Match", "Range", "Content-Encoding", "Cache-Control", "X-Forwarded-For", "Upgrade"]
COLONS = [":", " :", ": ", ":\t", ""]
VALUES = ["", "5", "chunked", "x", "0", "a, b", "*", "bytes=0-", "100-continue", '"1"']
BYTES = [b"\0", b"\r", b"\n", b"\r\n", b" ", b"\t", b":", b"%00", b"%", b"\xff", b"\x80", b"/", b"?", b"&", b"=", b"{", b"[", b'"', b"\\", b"-1", b"99999999999999999999", b"0x10", b"chunked", b"_"]


def seeds():
    module = module_text().encode()
    search = json.dumps({"module": "sha256:" + "0" * 64, "mesh": "data=2", "tags": ["a"], "priority": 1, "pins": ["w*:[[\"data\"]]"]}).encode()
    post = lambda path, body, *more: b"\r\n".join([b"POST " + path + b" HTTP/1.1", b"Host: localhost", b"Content-Length: %d" % len(body), *more, b"", body])
    chunked = b"POST /v1/modules HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n" + module[:16] + b"\r\n0\r\n\r\n"
    get = lambda path: b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: zstd\r\n\r\n"
    return [post(b"/v1/modules", module, b"X-Shardwright-Label: a label"), post(b"/v1/searches", search, b"Content-Type: application/json", b"Idempotency-Key: k"), chunked,
            post(b"/v1/modules/sha256:" + b"0" * 64 + b"/labels", b'{"add":["x"],"remove":[]}', b"Content-Type: application/json"), post(b"/v1/opt?passes=inline", module),
            get(b"/v1/searches?tag=a&label=b&page_size=5&page_token=9"), get(b"/v1/modules?label=%C3%BC&page_token=1-x"), get(b"/v1/strategies/sha256:00.mlir?apply=exact"),
            get(b"/v1/layout?mesh=data=2&shape=8x16&sharding=[[%22data%22],[]]"), get(b"/v1/searches/s-0/events?last_event_id=3")]


def mutate(r, data):
    for _ in range(r.choice([1, 1, 2, 3, 6])):
        at, how = r.randrange(len(data) + 1), r.random()
        if how < 0.25:
            data = data[:at] + r.choice(BYTES) + data[at:]
        elif how < 0.4:
            data = data[:at] + bytes([r.randrange(256)]) + data[at + 1:]
        elif how < 0.5:
            data = data[:at] + data[at + r.randrange(1, 20):]
        elif how < 0.6:
            data = data[:at] + data[max(0, at - r.randrange(1, 60)):at] + data[at:]
        elif how < 0.7:
            data = data[:at]
        elif how < 0.95:
            line = (r.choice(HEADS) + r.choice(COLONS) + r.choice(VALUES)).encode()
            first = data.find(b"\r\n") + 2
            data = data[:first] + line + r.choice([b"\r\n", b"\n", b"\r"]) + data[first:]
        else:
            data = data + data
    return data


def attack(port, count, seed):
    """In batches: one that is cut short is hung up on after a second."""
    r, valid, answered = random.Random(seed), seeds(), 0
    for begun in range(0, count, BATCH):
        sockets = []
        for _ in range(min(BATCH, count - begun)):
            try:
                s = socket.create_connection(("127.0.0.1", port), timeout=30)
                sockets.append(s)
                s.sendall(mutate(r, r.choice(valid)))
                s.shutdown(socket.SHUT_WR)
            except (ConnectionError, OSError):
                pass
        for s in sockets:
            try:
                answered += s.recv(12)[:5] == b"HTTP/"
            except (ConnectionError, OSError):
                pass
            s.close()
        with socket.create_connection(("127.0.0.1", port), timeout=30) as s:
            s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert s.recv(15) == b"HTTP/1.1 200 OK"
    return answered


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=1000000)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        d = Daemon(folder, "--connections", "8192", "--address-connections", "8192").start()
        began = time.monotonic()
        with multiprocessing.Pool(o.processes) as pool:
            jobs = [pool.apply_async(attack, (d.port, o.requests // o.processes, o.seed * 1000 + n)) for n in range(o.processes)]
            answered = sum(job.get() for job in jobs)
        alive, code = d.alive(), d.stop() if d.alive() else d.process.returncode
        reports = [line for line in d.log().splitlines() if "Sanitizer" in line or "runtime error" in line]
        print(f"{o.requests:,} malformed requests in {time.monotonic() - began:.0f} s, {answered:,} answered, the rest hung up on; the daemon ended with {code}, {len(reports)} reports")
        if not alive or code or reports:
            sys.exit("\n".join(reports) + d.log()[-3000:])


if __name__ == "__main__":
    main()
