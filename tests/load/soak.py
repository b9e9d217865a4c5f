"""Hours of everything at once: a daemon under mixed load from many clients while it is killed, its workers are killed, its disk is full, its
descriptors are few, its clock jumps, and calls of it fail. Ends with figures, and with an error when one thing that was acknowledged is
lost, a search ended twice, the database is unsound, or memory only grows.

    python3 tests/load/soak.py --seconds 3600 [--seed N] [--json FILE]         (make soak SECONDS=3600)
"""

import argparse
import collections
import errno
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from daemon import FINAL, ROOT, SHARDWRIGHT, Daemon, children, module_text

JSON = {"Content-Type": "application/json"}
GARBAGE = [
    b"GET / HTTP/1.1\r\nHost : x\r\n\r\n", b"\0" * 100, b"POST /v1/searches HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    b"POST /v1/modules HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"GET /v1/searches/" + b"a" * 5000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"PATCH /v1/modules HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", b"POST /v1/searches HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{\"a\":[[[[",
]


# Calls that libfiu lets fail now and then, with an error that they can have (fiu-run -x; Debian: fiu-utils, libfiu0). Not among them: read() and write(),
# which libmicrohttpd makes of its eventfd, and close(): no system lets those fail.
FIU = pathlib.Path("/usr/lib/fiu")
FIU_POINTS = [("posix/io/oc/open", errno.EMFILE), ("posix/io/rw/pread", errno.EIO), ("posix/io/rw/pread/reduce", 0), ("posix/io/rw/pwrite", errno.ENOSPC),
              ("posix/io/rw/pwrite/reduce", 0), ("posix/io/sync/fsync", errno.EIO), ("posix/io/sync/fdatasync", errno.EIO), ("posix/io/rw/ftruncate", errno.EIO),
              ("posix/io/dir/rename", errno.EIO), ("posix/io/dir/unlink", errno.EIO), ("posix/io/dir/opendir", errno.EMFILE), ("posix/proc/fork", errno.EAGAIN),
              ("posix/mm/mmap", errno.ENOMEM), ("libc/mm/*", errno.ENOMEM), ("libc/str/strdup", errno.ENOMEM), ("posix/io/net/accept", errno.EMFILE),
              ("posix/io/net/recv", errno.ECONNRESET), ("posix/io/net/send", errno.ECONNRESET)]


class Soak:
    def __init__(self, folder, seed):
        self.random = random.Random(seed)
        self.counts = collections.Counter()
        self.lock = threading.Lock()
        self.modules, self.searches, self.labels, self.strategies = set(), {}, set(), set()  # all that was acknowledged
        self.acknowledged = {}  # search -> when, for the last time
        self.stop = threading.Event()
        self.up = threading.Event()  # calm: the daemon is there and nothing is made to fail
        self.rss = []
        self.errors = []
        self.faults = folder / "faults"
        self.faults.mkdir()
        shim = folder / "faults.so"
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", shim, pathlib.Path(__file__).with_name("faults.c"), "-ldl"], check=True)
        env = {"LD_PRELOAD": str(shim), "FAULTS": str(self.faults)}
        self.fiu = folder / "fiu" if shutil.which("fiu-ctrl") and FIU.is_dir() else None
        if self.fiu:
            env |= {"LD_PRELOAD": f"{shim} {FIU / 'fiu_run_preload.so'} {FIU / 'fiu_posix_preload.so'}", "FIU_CTRL_FIFO": str(self.fiu)}
        else:
            print("without libfiu (apt install fiu-utils libfiu0): its faults are left out", file=sys.stderr)
        self.d = Daemon(folder, "--workers", "2", "--worker-threads", "1", "--lease", "5", "--keep-size", "64MiB", "--queue", "500", "--memory", "64MiB", "--search-seconds", "20", env=env)
        self.d.start()
        self.up.set()

    def count(self, name, n=1):
        with self.lock:
            self.counts[name] += n

    # ------------------------------------------------------------ clients

    def ask(self, method, path, body=None, headers=None):
        """The answer, or None where there was none. A 5xx is allowed while something is made to fail."""
        calm = self.up.is_set()
        try:
            answer = self.d.request(method, path, body, headers, timeout=30)
        except OSError:
            answer = None
        except Exception:  # half an answer of a daemon that was killed
            answer = None
        self.count("requests")
        if answer is None:
            self.count("unanswered")
            time.sleep(0.1)
        else:
            self.count("status 429" if answer.status == 429 else f"status {answer.status // 100}xx")
            if answer.status >= 500:
                time.sleep(0.05)
            if answer.status == 500 and calm and self.up.is_set():
                self.errors.append(f"{method} {path}: {answer.body[:300]}")
            if 400 <= answer.status < 500 and answer.status != 429:  # all of it was acknowledged, and is well formed
                self.errors.append(f"{method} {path}: {answer.status}: {answer.body[:300]}")
                self.count("answers that blame the request")
        return answer

    def upload(self, r):
        rows, label = r.randrange(1, 40), f"label {r.randrange(200)}"
        answer = self.ask("POST", "/v1/modules", module_text(rows).encode(), {"X-Shardwright-Label": label})
        if answer and answer.status in (200, 201):
            module = answer.json()["id"]
            with self.lock:
                self.modules.add(module)
                if label in answer.json()["labels"]:
                    self.labels.add((module, label))
            self.count("acknowledged")

    def search(self, r):
        with self.lock:
            known = sorted(self.modules)
        if not known:
            return
        body = {"module": r.choice(known), "mesh": r.choice(["data=2", "data=4", "data=2,model=2"]), "evaluations": r.choice([5, 10, 20]), "priority": r.randrange(-3, 4),
                "tags": [f"t{r.randrange(5)}"] * r.randrange(2)}
        headers = dict(JSON)
        if r.random() < 0.3:
            headers |= {"Cache-Control": "no-cache", "Idempotency-Key": f"k{r.randrange(1 << 40)}"}
        answer = self.ask("POST", "/v1/searches", json.dumps(body), headers)
        if answer and answer.status in (200, 202):
            with self.lock:
                self.searches[answer.json()["id"]] = answer.json().get("strategy")
                self.acknowledged[answer.json()["id"]] = time.monotonic()
                if answer.json().get("strategy"):
                    self.strategies.add(answer.json()["strategy"])
            self.count("acknowledged")
            if "Idempotency-Key" in headers:
                again = self.ask("POST", "/v1/searches", json.dumps(body), headers)
                if again and again.status in (200, 202) and again.json()["id"] != answer.json()["id"]:
                    self.errors.append("a request that was sent twice became two searches")

    def read(self, r):
        with self.lock:
            known, documents = list(self.searches), list(self.strategies)
        path = r.choice(["/v1/searches?page_size=20", "/v1/strategies?page_size=20", "/v1/modules?page_size=20", "/metrics", "/readyz", "/", "/v1/devices"])
        if known and r.random() < 0.6:
            search, how = r.choice(known), r.choice(["", "?wait=1s", "/events"])
            if how == "/events":
                return self.follow(search, r.random() * 2)
            path = f"/v1/searches/{search}{how}"
        if documents and r.random() < 0.2:
            path = f"/v1/strategies/{r.choice(documents)}" + r.choice(["", ".mlir"])
        self.ask("GET", path)

    def follow(self, search, seconds):
        """The events of a search, for a moment: the streams of those that wait would hold every client back once the queue is long."""
        self.count("requests")
        until = time.monotonic() + seconds
        try:
            with self.d.socket(timeout=seconds + 1) as s:
                s.sendall(f"GET /v1/searches/{search}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                head = s.recv(4096)
                self.count("event streams")
                if b" 404 " in head[:20]:
                    self.errors.append(f"404 of the events of a search that was acknowledged: {search}")
                while head and (left := until - time.monotonic()) > 0:
                    s.settimeout(left + 0.01)
                    head = s.recv(65536)
        except OSError:
            pass

    def garbage(self, r):
        try:
            with self.d.socket(timeout=5) as s:
                s.sendall(r.choice(GARBAGE) if r.random() < 0.7 else bytes(r.randrange(256) for _ in range(r.randrange(1, 400))))
                if r.random() < 0.5:
                    s.recv(1000)
        except OSError:
            pass
        self.count("malformed")

    def client(self, number):
        r = random.Random(number)
        while not self.stop.is_set():
            pick = r.random()
            (self.upload if pick < 0.1 else self.search if pick < 0.5 else self.read if pick < 0.85 else self.garbage)(r)

    # ------------------------------------------------------------ what goes wrong

    def kill_daemon(self):
        self.d.kill()
        time.sleep(self.random.random())
        self.d.start()
        self.count("kills of the daemon")

    def stop_daemon(self):
        assert self.d.stop() == 0, self.d.log()[-3000:]
        self.d.start()
        self.count("stops of the daemon")

    def kill_worker(self):
        for pid in children(self.d.process.pid)[:1]:
            try:
                os.kill(pid, self.random.choice([signal.SIGKILL, signal.SIGSTOP]))
                self.count("kills of workers")
            except ProcessLookupError:
                pass

    def limited(self, which, most, name):
        was = resource.prlimit(self.d.process.pid, which)
        resource.prlimit(self.d.process.pid, which, (most, was[1]))
        time.sleep(2)
        resource.prlimit(self.d.process.pid, which, was)
        self.count(name)

    def full_disk(self):
        self.limited(resource.RLIMIT_FSIZE, max((p.stat().st_size for p in self.d.store.glob("shardwright.db*")), default=0) // 2 + 4096, "full disks")

    def few_descriptors(self):
        self.limited(resource.RLIMIT_NOFILE, len(os.listdir(f"/proc/{self.d.process.pid}/fd")) + 2, "shortages of descriptors")

    def failing(self, fault, name, value=""):
        (self.faults / fault).write_text(value)
        time.sleep(1.5)
        (self.faults / fault).unlink()
        self.count(name)

    def control(self, command):
        pid = self.d.process.pid
        return subprocess.run(["fiu-ctrl", "-f", self.fiu, "-c", command, str(pid)], capture_output=True, timeout=20).returncode == 0

    def some_fail(self):
        """One kind of call fails in a part of the cases."""
        name, code = self.random.choice(FIU_POINTS)
        if self.control(f"enable_random name={name},probability={self.random.choice([0.02, 0.1, 0.5])},failinfo={code}"):
            time.sleep(1.5)
            self.count("faults by libfiu")
            while self.d.alive() and not self.control(f"disable name={name}"):
                time.sleep(0.1)

    def disturb(self):
        what = self.random.choice([self.kill_daemon, self.kill_daemon, self.stop_daemon, self.kill_worker, self.kill_worker, self.full_disk, self.few_descriptors,
                                   lambda: self.failing("fork", "failed forks"), lambda: self.failing("pread", "failed reads"), lambda: self.failing("open", "failed opens"),
                                   lambda: self.failing("write", "failed writes"), lambda: self.failing("sync", "failed syncs"),
                                   lambda: self.failing("clock", "jumps of the clock", str(self.random.choice([-86400, -60, 60, 86400])))])
        if self.fiu and self.random.random() < 0.25:
            what = self.some_fail
        self.up.clear()
        what()
        if not self.d.alive():
            self.errors.append("the daemon ended by itself: " + self.d.log()[-2000:])
            self.d.start()
        time.sleep(0.3)
        self.up.set()

    # ------------------------------------------------------------ what has to hold

    def memory(self):
        for line in pathlib.Path(f"/proc/{self.d.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) << 10

    def verify(self):
        """Everything that was acknowledged is there, but for as many searches as the daemon's log says that retention deleted,
        which were acknowledged an hour ago: above --keep-size it deletes what is older."""
        for path in self.faults.iterdir():
            path.unlink()
        left, deadline = None, time.monotonic() + 180
        while left != 0 and time.monotonic() < deadline:  # as long as the queue gets shorter
            now, = self.d.rows("SELECT count(*) FROM searches WHERE state IN ('queued', 'running')")[0]
            if left is None or now < left:
                left, deadline = now, time.monotonic() + 180
            time.sleep(0.5)
        ids = {row[0]: row for row in self.d.rows("SELECT id, state, strategy FROM searches")}
        gone = set(self.searches) - set(ids)
        old = {search for search in gone if time.monotonic() - self.acknowledged[search] >= 3600}
        deleted = sum(map(int, re.findall(r"event=retention .*?searches=(\d+)", self.d.log())))
        lost = gone if len(old) > deleted else gone - old
        self.counts["left to retention"] = len(gone - lost)
        changed = [s for s, strategy in self.searches.items() if s in ids and strategy and ids[s][2] != strategy]
        unfinished = [s for s in self.searches if s in ids and ids[s][1] not in FINAL]
        modules = {row[0] for row in self.d.rows("SELECT id FROM modules")}
        labels = set(self.d.rows("SELECT module, label FROM labels"))
        twice = self.d.rows("SELECT search, count(*) FROM events WHERE kind = 'state' AND body LIKE '%\"state\":\"succeeded\"%' GROUP BY search HAVING count(*) > 1")
        lost_all = len(lost) + len(self.modules - modules) + len(self.labels - labels)
        for name, wrong in (("lost searches", lost), ("changed answers", changed), ("unfinished searches", unfinished), ("lost modules", self.modules - modules),
                            ("lost labels", self.labels - labels), ("searches that ended twice", twice)):
            if wrong:
                self.errors.append(f"{len(wrong)} {name}: {list(wrong)[:3]}")
        assert self.d.stop() == 0
        check = subprocess.run([SHARDWRIGHT, "store", "check", "--store", self.d.store], capture_output=True, text=True)
        if check.returncode:
            self.errors.append("store check: " + check.stdout + check.stderr)
        return lost_all

    def run(self, seconds, clients):
        threads = [threading.Thread(target=self.client, args=(n,)) for n in range(clients)]
        for t in threads:
            t.start()
        began, told = time.monotonic(), 0
        while time.monotonic() - began < seconds:
            time.sleep(3 + self.random.random() * 5)  # a store that could not be written finds out within five seconds that it can
            self.rss.append(self.memory())
            self.disturb()
            if time.monotonic() - began > told + 30:
                told = time.monotonic() - began
                print(f"{told:.0f} s: {dict(self.counts)}", file=sys.stderr, flush=True)
        self.stop.set()
        for t in threads:
            t.join()
        lost = self.verify()
        return {"seconds": round(time.monotonic() - began), **dict(sorted(self.counts.items())), "searches": len(self.searches), "lost": lost,
                "rss MiB": f"{self.rss[0] >> 20} at start, {max(self.rss) >> 20} most, {self.rss[-1] >> 20} at end"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--json", help="where the figures go")
    o = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="shardwright-soak-"))
    print(f"seed {o.seed}, {folder}", file=sys.stderr)
    soak = Soak(folder, o.seed)
    try:
        figures = soak.run(o.seconds, o.clients)
    finally:
        soak.stop.set()
        if soak.d.alive():
            soak.d.kill()
    for name, value in figures.items():
        print(f"{name:26} {value if isinstance(value, str) else format(value, ',')}")
    if o.json:
        pathlib.Path(o.json).write_text(json.dumps(figures) + "\n")
    for error in soak.errors[:20]:
        print("WRONG:", error, file=sys.stderr)
    if soak.errors:
        sys.exit(f"{len(soak.errors)} things were wrong; everything is left in {folder}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
