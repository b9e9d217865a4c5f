"""A million requests that are none, against a daemon (build it with sanitizers: make check-malformed): valid ones with bytes changed, cut, doubled,
moved and put in, over TCP. Every one has to be answered with a refusal or a hang-up, or be valid by chance; the daemon has to live, to answer
others meanwhile, and to end without a sanitizer's report.

    python3 tests/load/malformed.py --requests 1000000 [--seed N] [--first N] [--seconds S]
"""

import argparse
import json
import multiprocessing
import pathlib
import random
import selectors
import socket
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from daemon import Daemon, module_text

AT_A_TIME, PART = 1000, 10000  # connections of one process; requests of one job
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


def place(r, data):
    """Mostly in the head: programs and JSON that are none have their own fuzzers, and a worker would start for each program."""
    head = data.find(b"\r\n\r\n")
    return r.randrange((head + 4 if head >= 0 and r.random() < 0.9 else len(data)) + 1)


WEIGHTS = [4, 4, 4, 4, 1, 4, 4, 4, 4, 4]  # opt starts a worker each time


def mutate(r, data):
    for _ in range(r.choice([1, 1, 2, 3, 6])):
        at, how = place(r, data), r.random()
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


def probe(port):
    """Others are served meanwhile."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as s:
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert s.recv(15) == b"HTTP/1.1 200 OK"


class Attack:
    """Many connections at a time: one whose request is cut short is hung up on after a second, which holds back none of the others."""

    def __init__(self, port, count, seed):
        self.port, self.count, self.r, self.valid = port, count, random.Random(seed), seeds()
        self.selector = selectors.DefaultSelector()
        self.answered = self.ended = self.begun = self.refused = 0

    def begin(self):
        self.begun += 1
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex(("127.0.0.1", self.port))
        self.selector.register(s, selectors.EVENT_WRITE, [mutate(self.r, self.r.choices(self.valid, WEIGHTS)[0]), b""])

    def end(self, s):
        self.selector.unregister(s)
        s.close()
        self.ended += 1

    def send(self, s, state):
        state[0] = state[0][s.send(state[0]):]
        if not state[0]:
            s.shutdown(socket.SHUT_WR)
            self.selector.modify(s, selectors.EVENT_READ, state)

    def receive(self, s, state):
        """Until it hangs up, or as far as the first bytes of the answer."""
        piece = s.recv(64)
        state[1] += piece
        if len(state[1]) >= 5:
            self.answered += state[1][:5] == b"HTTP/"
            self.end(s)
        elif not piece:
            self.end(s)

    def turn(self):
        for key, what in self.selector.select(60):
            try:
                (self.send if what & selectors.EVENT_WRITE else self.receive)(key.fileobj, key.data)
            except ConnectionRefusedError:
                self.refused += 1
                self.end(key.fileobj)
            except OSError:  # it hung up
                self.end(key.fileobj)

    def run(self):
        while self.ended < self.count:
            while self.begun < self.count and self.begun - self.ended < AT_A_TIME:
                self.begin()
            was = self.ended
            self.turn()
            if was // 1000 != self.ended // 1000:
                probe(self.port)
        assert not self.refused, f"{self.refused:,} connections were refused: nobody listens"
        return self.answered


def attack(port, count, seed):
    return Attack(port, count, seed).run()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=1000000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="go on with this one")
    parser.add_argument("--seconds", type=float, default=1e9, help="end early")
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        d = Daemon(folder, "--connections", "8192", "--address-connections", "8192").start()
        began, answered, done = time.monotonic(), 0, 0
        parts = [(d.port, min(PART, o.requests - n * PART), o.seed * 1000003 + n) for n in range(o.first // PART, -(-o.requests // PART))]
        with multiprocessing.Pool(o.processes) as pool:
            while parts and time.monotonic() - began < o.seconds:
                now, parts = parts[:o.processes], parts[o.processes:]
                answered += sum(pool.starmap(attack, now))
                done += sum(count for _, count, _ in now)
                print(f"{done:,} in {time.monotonic() - began:.0f} s; go on with --first {o.first // PART * PART + done}", file=sys.stderr, flush=True)
        alive, code = d.alive(), d.stop() if d.alive() else d.process.returncode
        reports = [line for line in d.log().splitlines() if "Sanitizer" in line or "runtime error" in line]
        print(f"{done:,} malformed requests in {time.monotonic() - began:.0f} s, {answered:,} answered, the rest hung up on; the daemon ended with {code}, {len(reports)} reports")
        if not alive or code or reports:
            sys.exit("\n".join(reports) + d.log()[-3000:])


if __name__ == "__main__":
    main()
