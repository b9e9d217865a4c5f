"""A real daemon on a free port in a folder of its own, and a small HTTP client. Standard library only."""

import http.client
import itertools
import json
import os
import pathlib
import re
import resource
import select
import signal
import socket
import sqlite3
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARDWRIGHT = os.path.abspath(os.environ.get("SHARDWRIGHT", ROOT / "build" / "shardwright"))
SHARDWRIGHTD = os.path.abspath(os.environ.get("SHARDWRIGHTD", ROOT / "build" / "shardwrightd"))

STORE_VERSION = int(re.search(r"STORE_VERSION = (\d+)", (ROOT / "server" / "store_private.h").read_text()).group(1))
unique = itertools.count(1)  # 16 GiB itself is what a request without a limit gets

FINAL = ("succeeded", "failed", "canceled")


def module_text(rows=8, name="jit_step"):
    return (
        f"module @{name} {{\n"
        f"  func.func public @main(%arg0: tensor<{rows}x16xf32>, %arg1: tensor<16x32xf32>) -> tensor<{rows}x32xf32> {{\n"
        f"    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : "
        f"(tensor<{rows}x16xf32>, tensor<16x32xf32>) -> tensor<{rows}x32xf32>\n"
        f"    return %0 : tensor<{rows}x32xf32>\n"
        "  }\n"
        "}\n"
    )


class Answer:
    def __init__(self, response, body):
        self.status = response.status
        self.headers = response.headers
        self.body = body

    def json(self):
        return json.loads(self.body)


def children(pid):
    """Process ids of a process's children."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            if int(stat.rsplit(")", 1)[1].split()[1]) == pid:
                found.append(int(entry.name))
    return found


class Daemon:
    """start() waits until it listens; the store survives stop() and kill()."""

    def __init__(self, folder, *flags, limits=None, env=None, fixed=False, user=None):
        self.folder = pathlib.Path(folder)
        self.user, self.program = user, SHARDWRIGHTD  # root may start it as another user, from where that one may go
        self.limits = limits or {}  # resource: most, of the next start
        self.env = env or {}
        self.fixed = ["setarch", "-R"] if fixed else []  # every start has the same addresses
        self.store = self.folder / "store"
        self.flags = list(flags)
        self.process = None
        self.port = None
        self.large = None

    def start(self, *more):
        log = open(self.folder / "log", "ab")
        command = [*self.fixed, self.program, "--listen", "127.0.0.1:0", "--store", str(self.store), "--worker-binary", SHARDWRIGHT]
        limits = dict(self.limits)

        def restrict():
            for which, most in limits.items():
                resource.setrlimit(which, most if isinstance(most, tuple) else (most, most))

        self.process = subprocess.Popen(command + self.flags + list(more), stdout=subprocess.PIPE, stderr=log, preexec_fn=restrict, env={**os.environ, **self.env}, user=self.user)
        line = self.process.stdout.readline().decode()
        assert line.startswith(("listening on http://127.0.0.1:", "listening on https://127.0.0.1:")), line + self.log()[-2000:]
        self.port = int(line.rsplit(":", 1)[1])
        return self

    def log(self):
        return (self.folder / "log").read_text(errors="replace")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.gone()

    def gone(self, seconds=60):
        """Its exit code, as soon as there is one: Popen.wait(seconds) looks every 50 ms."""
        if self.alive():
            fd = os.pidfd_open(self.process.pid)
            try:
                select.select([fd], [], [], seconds)
            finally:
                os.close(fd)
        code = self.process.wait(0.1)
        self.process.stdout.close()
        return code

    def kill(self):
        self.process.kill()
        self.process.wait(20)
        self.process.stdout.close()

    def alive(self):
        return self.process.poll() is None

    def connect(self, timeout=60):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def socket(self, timeout=20):
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def request(self, method, path, body=None, headers=None, timeout=60):
        conn = self.connect(timeout)
        try:
            conn.request(method, path, body.encode() if isinstance(body, str) else body, headers or {})
            response = conn.getresponse()
            return Answer(response, response.read())
        finally:
            conn.close()

    def get(self, path, headers=None):
        return self.request("GET", path, headers=headers)

    def upload(self, text, headers=None):
        return self.request("POST", "/v1/modules", text if isinstance(text, bytes) else text.encode(), headers)

    def module(self, rows=8):
        answer = self.upload(module_text(rows))
        assert answer.status in (200, 201), answer.body
        return answer.json()["id"]

    def search(self, body, headers=None):
        if isinstance(body, dict):
            body = json.dumps(body)
        return self.request("POST", "/v1/searches", body, {"Content-Type": "application/json", **(headers or {})})

    def long(self, seconds=60, headers=None):
        """A request that nobody has made before, and that keeps a worker busy: for its seconds, or until its search has converged (18 s alone).
        A search of module_text() is over at once, whatever its seconds. The headers are those of who uploads the module, the first time.
        A test that has to catch it while it runs takes 60 s, and ends it by cancel(), or by shorten() for its next attempt."""
        if not self.large:
            self.large = self.upload((ROOT / "tests" / "corpus" / "transformer_4.mlir.zst").read_bytes(), headers).json()["id"]
        return {"module": self.large, "mesh": "data=2,model=2", "seconds": seconds, "memory": (16 << 30) + next(unique)}

    def shorten(self, search, seconds=0.5):
        """The next attempt of a search takes so long; the one that runs goes on as it was."""
        shorten(self.store, search, seconds)

    def cancel(self, search):
        return self.request("POST", f"/v1/searches/{search}/cancel")

    def wait(self, search, seconds=120):
        until = time.monotonic() + seconds
        while True:
            answer = self.get(f"/v1/searches/{search}?wait=10s")
            assert answer.status == 200, answer.body
            state = answer.json()
            if state["state"] in FINAL:
                return state
            assert time.monotonic() < until, state

    def until(self, search, state, seconds=60):
        deadline = time.monotonic() + seconds
        while True:
            now = self.get(f"/v1/searches/{search}").json()
            if now["state"] == state:
                return now
            assert time.monotonic() < deadline and now["state"] not in FINAL, now
            time.sleep(0.02)

    def metric(self, name):
        return self.metric_as({}, name)

    def metric_as(self, headers, name):
        """A daemon that is short of connections is asked again."""
        deadline = time.monotonic() + 60
        while (answer := self.get("/metrics", headers)).status == 503 and time.monotonic() < deadline:
            time.sleep(0.05)
        for line in answer.body.decode().splitlines():
            if line.startswith(name + " "):
                return int(line.split()[1])
        raise AssertionError("no metric " + name)

    def rows(self, sql, *values):
        db = sqlite3.connect(f"file:{self.store / 'shardwright.db'}?mode=ro", uri=True)
        try:
            return db.execute(sql, values).fetchall()
        finally:
            db.close()

    def workers(self):
        return children(self.process.pid)

    def worker(self):
        """A worker's process id; the row says running a moment before there is one."""
        eventually(self.workers)
        return self.workers()[0]

    def temporary_files(self):
        return list((self.store / "tmp").iterdir())


def shorten(store, search, seconds=0.5):
    db = sqlite3.connect(store / "shardwright.db", timeout=20)
    changed = db.execute("UPDATE searches SET request = json_set(request, '$.seconds', ?) WHERE id = ? AND budget = 'seconds'", (seconds, search)).rowcount
    db.commit()
    db.close()
    assert changed == 1


def as_version(store, version):
    """The store's database with the schema of an earlier version; a search that was running, and one that waits, come with it."""
    path = store / "shardwright.db"
    new = sqlite3.connect(path)
    old = sqlite3.connect(store / "old.db")
    for n in range(1, version + 1):
        old.executescript((ROOT / "server" / ("schema.sql" if n == 1 else f"schema_{n}.sql")).read_text())
    for table in ("modules", "strategies", "searches", "events"):
        columns = ", ".join(row[1] for row in old.execute(f"PRAGMA table_info({table})"))
        rows = new.execute(f"SELECT {columns} FROM {table}").fetchall()
        old.executemany(f"INSERT INTO {table}({columns}) VALUES ({', '.join('?' * (columns.count(',') + 1))})", rows)
    old.execute("UPDATE searches SET state = 'running', attempt = 1, lease_us = 1, started_us = created_us WHERE mesh = 'data=16'")
    old.commit()
    old.executescript(f"PRAGMA application_id = 0x53574431; PRAGMA user_version = {version};")
    old.close()
    new.close()
    for end in ("", "-wal", "-shm"):
        (store / f"shardwright.db{end}").unlink(missing_ok=True)
    (store / "old.db").rename(path)


def eventually(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def events(body):
    """[(id, kind, data)] of an event stream's text."""
    out = []
    for block in body.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and not line.startswith(":"))
        if "data" in fields:
            out.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
    return out


def unavailable(answer):
    assert answer.status == 503 and int(answer.headers["Retry-After"]) > 0, (answer.status, answer.body[:300])
    assert answer.json()["type"] == "urn:shardwright:problem:unavailable"


def from_address(d, address):
    """A connection whose source is another loopback address: another client."""
    return socket.create_connection(("127.0.0.1", d.port), timeout=20, source_address=(address, 0))


def upload_head(length):
    return b"POST /v1/modules HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % length
