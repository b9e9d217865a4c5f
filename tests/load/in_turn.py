"""Every call of SQLite, and an allocation of every stack that allocates, which a daemon makes while it starts and serves a fixed list of requests,
fails in turn: alone, or with the next two hundred. Each time a fresh daemon is started; it may refuse (5xx), hang up, or end; it may not say 404 of
what it acknowledged, and once nothing fails any more, in the same process or the next one, all that was acknowledged is there and new requests are
served.

    python3 tests/load/in_turn.py [--kind memory|sqlite] [--stride N] [--first N] [--burst N] [--seconds S]        (make check-in-turn STRIDE=1)

Ends early after S seconds and says where to go on (--first).
"""

import argparse
import http.client
import json
import mmap
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from daemon import FINAL, SHARDWRIGHT, SHARDWRIGHTD, Daemon, module_text

KINDS = ("memory", "sqlite")
JSON = {"Content-Type": "application/json"}
NEVER = 1 << 60


def build(folder):
    out = pathlib.Path(folder) / "nth.so"
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-o", out, pathlib.Path(__file__).with_name("nth.c"), "-ldl"], check=True)
    return out


class Plan:
    """The file that the preloaded library maps: see nth.c."""

    HEAD, STACKS = 48, 1 << 15

    def __init__(self, path):
        self.path = path
        path.write_bytes(bytes(self.HEAD + 8 * self.STACKS))
        with open(path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), 0)

    def fail(self, kind, at, burst, census=0):
        self.map[:] = struct.pack("6q", KINDS.index(kind), at, burst, 0, 0, census) + bytes(8 * self.STACKS)

    def heal(self):
        self.map[8:24] = struct.pack("2q", NEVER, 0)

    def failed(self):
        return struct.unpack("q", self.map[24:32])[0]

    def calls(self):
        return struct.unpack("q", self.map[32:40])[0]

    def stacks(self):
        return sorted({n for n, in struct.iter_unpack("q", self.map[self.HEAD:]) if n})


class Script:
    """The requests, and what of them was acknowledged."""

    def __init__(self, daemon):
        self.d = daemon
        self.wrong = []
        self.modules, self.labels, self.searches, self.strategies, self.measurements = set(), set(), set(), set(), 0

    def ask(self, method, path, body=None, headers=None, known=True):
        """The answer, or None. known: a 404 would be a lie."""
        try:
            answer = self.d.request(method, path, body, headers, timeout=30)
        except TimeoutError:
            self.wrong.append(f"{method} {path} was not answered within 30 s")
            return None
        except (OSError, http.client.HTTPException):
            return None
        if answer.status == 404 and known:
            self.wrong.append(f"404 of what there is: {method} {path}: {answer.body[:200]}")
        elif 400 <= answer.status < 500 and answer.status not in (404, 429):
            self.wrong.append(f"{answer.status}, as if the request were wrong: {method} {path}: {answer.body[:200]}")
        elif answer.status < 300 and answer.headers.get("Content-Type", "").startswith("application/json"):
            try:
                answer.json()
            except ValueError:
                self.wrong.append(f"no JSON: {method} {path}: {answer.body[:200]}")
        return answer

    def upload(self, rows, label):
        answer = self.ask("POST", "/v1/modules", module_text(rows), {"X-Shardwright-Label": label})
        if answer and answer.status in (200, 201):
            module = answer.json()["id"]
            self.modules.add(module)
            self.labels.add((module, label))
            return module

    def search(self, body, key):
        answer = self.ask("POST", "/v1/searches", json.dumps(body), {**JSON, "Idempotency-Key": key})
        if answer and answer.status in (200, 202):
            self.searches.add(answer.json()["id"])
            return answer.json()["id"]

    def ended(self, search):
        answer = self.ask("GET", f"/v1/searches/{search}?wait=5s")
        if answer and answer.status == 200 and answer.json()["state"] == "succeeded":
            self.strategies.add(answer.json()["strategy"])
            return answer.json()["strategy"]

    def strategy(self, strategy):
        for path in ("", "?apply=annotate", ".mlir", "/explanation", "/shardings?to=jax", "/timeline"):
            self.ask("GET", f"/v1/strategies/{strategy}{path}")
        measured = self.ask("POST", f"/v1/strategies/{strategy}/measurements", json.dumps({"step_ns": 1000000}), JSON)
        self.measurements += bool(measured and measured.status == 201)
        self.ask("GET", f"/v1/strategies/{strategy}/measurements")

    def run(self, rows):
        module = self.upload(rows, "first")
        self.upload(rows, "again")
        other = self.upload(rows + 1, "second")
        if module:
            body = {"module": module, "mesh": "data=2", "evaluations": 5, "tags": ["a", "b"]}
            search = self.search(body, "one")
            self.search(body, "one")
            if search:
                strategy = self.ended(search)
                self.ask("GET", f"/v1/searches/{search}/events")
                cached = self.ask("POST", "/v1/searches", json.dumps({k: v for k, v in body.items() if k != "tags"}), JSON)
                if cached and cached.status == 202:
                    self.searches.add(cached.json()["id"])
                if strategy:
                    self.strategy(strategy)
            changed = self.ask("POST", f"/v1/modules/{module}/labels", json.dumps({"add": ["third"], "remove": ["again"]}), JSON)
            if changed and changed.status == 200:
                self.labels = (self.labels | {(module, "third")}) - {(module, "again")}
            else:
                self.labels -= {(module, "again")}  # it may have been taken away
            for path in ("", ".mlir", "/arguments"):
                self.ask("GET", f"/v1/modules/{module}{path}")
        if other:
            search = self.search({"module": other, "mesh": "data=4", "evaluations": 5}, "two")
            if search:
                self.ask("POST", f"/v1/searches/{search}/cancel")
        for path in ("/v1/modules?label=first", "/v1/searches?tag=a", "/v1/strategies", "/v1/devices", "/metrics", "/", "/v1/layout?mesh=data=2&shape=8x16&sharding=%5B%5B%22data%22%5D,%5B%5D%5D"):
            self.ask("GET", path)
        self.ask("GET", "/v1/searches/s-0", known=False)

    def verify(self):
        """Nothing fails any more: all that was acknowledged is there and well, by the API."""
        for module in self.modules:
            answer = self.calm("GET", f"/v1/modules/{module}")
            names = {label for m, label in self.labels if m == module}
            if answer and not names <= set(answer.json()["labels"]):
                self.wrong.append(f"labels lost: {names} of {answer.json()['labels']}")
            self.calm("GET", f"/v1/modules/{module}.mlir")
        for search in self.searches:
            state = self.d.wait(search, 60)
            if state["state"] == "failed":
                self.wrong.append(f"a search failed: {state['error']}")
        for strategy in self.strategies:
            self.calm("GET", f"/v1/strategies/{strategy}")
        if self.measurements and self.d.rows("SELECT count(*) FROM measurements") < [(self.measurements,)]:
            self.wrong.append("a measurement is lost")

    def calm(self, method, path):
        """200, within a few seconds: a store that could not be written finds out by itself that it can."""
        until = time.monotonic() + 15
        while True:
            answer = self.ask(method, path)
            if answer and answer.status == 200:
                return answer
            if time.monotonic() > until:
                self.wrong.append(f"{method} {path} is {answer and answer.status} though nothing fails")
                return None
            time.sleep(0.1)


def d_code(how):
    return int(how.split("(")[1][:-1]) if how[-1] == ")" else 0


def one_run(folder, library, plan, kind, at, burst):
    """[what was wrong], and how the daemon took it."""
    d = Daemon(folder, "--workers", "1", "--worker-threads", "1", "--tool-threads", "1", env={"LD_PRELOAD": str(library), "NTH": str(plan.path)}, fixed=True)
    script = Script(d)
    plan.fail(kind, at, burst, census=not burst)
    how = "served on"
    try:
        d.start()
    except AssertionError:
        d.process.wait(20)
        how = f"did not start ({d.process.returncode})"
    if how == "served on":
        script.run(8)
        plan.heal()
        if d.alive():
            script.verify()
            try:
                code = d.stop() if d.alive() else d.process.wait()
            except subprocess.TimeoutExpired:
                code = "no end"
                d.kill()
            if code:
                script.wrong.append(f"ended with {code} though nothing fails")
        else:
            how = f"ended ({d.process.returncode})"
            if burst == 1:
                script.wrong.append("one failure ended the daemon")
    plan.heal()
    if not plan.failed() and burst:
        how = "nothing failed"
    log = d.log()
    if d_code(how) < 0 and d_code(how) != -6:
        script.wrong.append("the daemon crashed")
    if how[-1] == ")" and "shardwright: out of memory" not in log and "shardwrightd: " not in log:
        script.wrong.append("the daemon ended without a word")
    d.start()  # and nothing fails
    script.verify()
    if d.request("POST", "/v1/modules", module_text(77)).status not in (200, 201):
        script.wrong.append("a new module is refused though nothing fails")
    if d.stop() or d.rows("PRAGMA integrity_check") != [("ok",)] or d.rows("PRAGMA foreign_key_check"):
        script.wrong.append("the database is unsound, or the last stop failed")
    return script.wrong, how


def walk(o, kind, burst, folder, library, plan, totals):
    """False: time is over."""
    base = pathlib.Path(folder)
    shutil.rmtree(base / "d", ignore_errors=True)
    (base / "d").mkdir()
    wrong, _ = one_run(base / "d", library, plan, kind, NEVER, 0)
    assert not wrong, wrong
    print(f"{kind}, {burst} at a time: {plan.calls():,} calls in a run where none fails, {len(plan.stacks()):,} stacks", flush=True)
    turns = plan.stacks() if kind == "memory" else range(plan.calls())
    for number in range(o.first, len(turns), o.stride):
        at = turns[number]
        if time.monotonic() > o.until:
            print(f"time is over: go on with --kind {kind} --burst {burst} --first {number}")
            return False
        shutil.rmtree(base / "d")
        (base / "d").mkdir()
        wrong, how = one_run(base / "d", library, plan, kind, at, burst)
        totals[how] = totals.get(how, 0) + 1
        if wrong:
            totals["wrong"] = totals.get("wrong", 0) + 1
            print(f"{kind} {number}, {burst} at a time, {how}:", *wrong[:4], sep="\n  ", flush=True)
            log = (base / "d" / "log").read_text(errors="replace")
            print("    " + "\n    ".join(line[:160] for line in log.splitlines()[:o.lines]), flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=KINDS, help="one kind only")
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--burst", type=int, help="how many fail at a time; both 1 and 200 unless given")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--lines", type=int, default=0, help="of the daemon's log, where something is wrong")
    o = parser.parse_args()
    o.until = time.monotonic() + o.seconds
    totals = {}
    with tempfile.TemporaryDirectory() as folder:
        library, plan = build(folder), Plan(pathlib.Path(folder) / "plan")
        all((walk(o, kind, burst, folder, library, plan, totals)) for kind in ([o.kind] if o.kind else KINDS) for burst in ([o.burst] if o.burst else (1, 200)))
    for how, n in sorted(totals.items()):
        print(f"{how:30} {n:,}")
    if totals.get("wrong"):
        sys.exit(1)


if __name__ == "__main__":
    main()
