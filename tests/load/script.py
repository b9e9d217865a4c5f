"""What in_turn.py and its tests make fail, and ask: the file that nth.c maps, and a fixed list of requests with what of them was acknowledged."""

import gzip
import http.client
import itertools
import json
import mmap
import os
import pathlib
import struct
import subprocess
import time

from daemon import FINAL, ROOT, module_text

KINDS = ("memory", "sqlite", "zstd", "mprintf")  # as in nth.c
JSON = {"Content-Type": "application/json"}
NEVER = 1 << 60
VERIFIED = {"plan": "this plan", "apply": "exact", "source": "compiled", "compiler": "XLA for cpu", "version": "jaxlib 1", "options": {},
            "runtime_ns": 900, "peak_bytes": 5000, "fits": True, "predicted_runtime_ns": 1000, "predicted_peak_bytes": 4000, "seconds": 1.5, "reason": None, "chosen": True}
DETAILED = {"mesh": {"axes": [{"name": "data", "size": 2, "link": "ici"}, {"name": "model", "size": 2}], "device_order": [0, 2, 1, 3]},
            "schedule": {"tactics": [{"named": "data_parallel", "axis": "data"}]}, "objective": "memory", "trip_count": 3}


def build(folder):
    out = pathlib.Path(folder) / "nth.so"
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-o", out, pathlib.Path(__file__).with_name("nth.c"), "-ldl"], check=True)
    return out


class Plan:
    """The file that the preloaded library maps: see nth.c."""

    HEAD, STACKS = 56, 1 << 15

    def __init__(self, path):
        self.path = path
        path.write_bytes(bytes(self.HEAD + 16 * self.STACKS))
        with open(path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), 0)

    def fail(self, kind, at, burst, census=0, skip=0):
        self.map[:self.HEAD] = struct.pack("7q", KINDS.index(kind), at, burst, 0, 0, census, skip)
        if census:
            self.map[self.HEAD:] = bytes(16 * self.STACKS)

    def heal(self):
        """Nothing fails, and nothing is looked at: finding out where an allocation comes from takes longer than all else."""
        self.map[0:24] = struct.pack("3q", -1, NEVER, 0)

    def failed(self):
        return struct.unpack("q", self.map[24:32])[0]

    def calls(self):
        return struct.unpack("q", self.map[32:40])[0]

    def stacks(self):
        return sorted(self.first())

    def first(self):
        """Each stack of the census, and the number of the first call that came from it."""
        entries = struct.unpack(f"{2 * self.STACKS}q", self.map[self.HEAD:])
        return {stack: call for stack, call in zip(entries[:self.STACKS], entries[self.STACKS:]) if stack}


class Script:
    """The requests, and what of them was acknowledged."""

    def __init__(self, daemon):
        self.d = daemon
        self.wrong = []
        self.measurements = 0  # of all processes
        self.verified = set()  # searches whose verification was acknowledged
        self.forget()

    def forget(self):
        """What was verified in two processes needs no third."""
        self.modules, self.labels, self.searches, self.strategies = set(), set(), set(), set()
        self.looked = set()  # of these, what was found since this process started

    def ask(self, method, path, body=None, headers=None, known=True, refused=None):
        """The answer, or None. known: a 404 would be a lie. refused: what a request that is wrong is answered, and nothing else that is no failure."""
        try:
            answer = self.d.request(method, path, body, headers, timeout=30)
        except TimeoutError:
            self.wrong.append(f"{method} {path} was not answered within 30 s")
            return None
        except (OSError, http.client.HTTPException):
            return None
        if refused:
            if answer.status != refused and answer.status < 500:
                self.wrong.append(f"{answer.status} instead of {refused}: {method} {path}: {answer.body[:200]}")
        elif answer.status == 404 and known:
            self.wrong.append(f"404 of what there is: {method} {path}: {answer.body[:200]}")
        elif 400 <= answer.status < 500 and answer.status not in (404, 429):
            self.wrong.append(f"{answer.status}, as if the request were wrong: {method} {path}: {answer.body[:200]}")
        elif answer.status < 300 and answer.body and answer.headers.get("Content-Type", "").startswith("application/json"):
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
        return answer

    def label(self, module, label):
        answer = self.ask("POST", f"/v1/modules/{module}/labels", json.dumps({"add": [label], "remove": []}), JSON)
        if answer and answer.status == 200:
            self.modules.add(module)
            self.labels.add((module, label))
        return answer

    def search(self, body, key):
        answer = self.ask("POST", "/v1/searches", json.dumps(body), {**JSON, "Idempotency-Key": key})
        if answer and answer.status in (200, 202):
            self.searches.add(answer.json()["id"])
        return answer

    def ended(self, asked):
        """A search that was asked for, until it ends."""
        if not asked or asked.status != 202:
            return asked
        answer = self.ask("GET", f"/v1/searches/{asked.json()['id']}?wait=5s")
        if answer and answer.status == 200 and answer.json()["state"] == "succeeded":
            self.strategies.add(answer.json()["strategy"])
        return answer

    def cancel(self, asked):
        return self.ask("POST", f"/v1/searches/{asked.json()['id']}/cancel") if asked and asked.status == 202 else asked

    def measure(self, strategy):
        answer = self.ask("POST", f"/v1/strategies/{strategy}/measurements", json.dumps({"step_ns": 1000000}), JSON)
        self.measurements += bool(answer and answer.status == 201)
        return answer

    def verification(self, body, key):
        """A search whose plan is to be compiled, and the part of the verifier: whatever job is the next one."""
        searched = self.ended(self.search({**body, "verify": 1}, key))
        task = self.ask("POST", "/v1/verifications/claim", json.dumps({"verifier": "in turn"}), JSON)
        if task and task.status == 204 and searched and searched.status == 200 and searched.json()["state"] == "succeeded":
            self.wrong.append(f"no job of a search that ended: {searched.body[:200]}")
        if not task or task.status != 200:
            return task if task and task.status >= 500 else None
        job = task.json()
        path, attempt = f"/v1/verifications/{job['search']}", {"attempt": job["attempt"]}
        self.ask("POST", path + "/heartbeat", json.dumps(attempt), JSON)
        answer = self.ask("POST", path + "/result", json.dumps({**attempt, "verifications": [VERIFIED]}), JSON)
        if answer and answer.status == 200:
            self.verified.add(job["search"])
        return answer

    def verify(self, whole=False):
        """Nothing fails any more: what was acknowledged is there and well, by the API. All of it, or what nobody has looked for yet: after each
        turn all of it would take longer with each."""
        if whole:
            self.looked = set()
        for module in {m for m, _ in self.labels - self.looked} | (self.modules - self.looked):
            answer = self.calm("GET", f"/v1/modules/{module}")
            names = {label for m, label in self.labels if m == module}
            if answer and not names <= set(answer.json()["labels"]):
                self.wrong.append(f"labels lost: {names} of {answer.json()['labels']}")
            self.calm("GET", f"/v1/modules/{module}.mlir")
        for search in self.searches - self.looked:
            until, state = time.monotonic() + 60, None
            while time.monotonic() < until and not (state and state["state"] in FINAL):
                answer = self.calm("GET", f"/v1/searches/{search}?wait=5s")
                state = answer and answer.json()
            if not state or state["state"] not in FINAL[::2]:
                self.wrong.append(f"a search was not found to its end: {state}")
        for strategy in self.strategies - self.looked:
            self.calm("GET", f"/v1/strategies/{strategy}")
        for search in self.verified:
            answer = self.calm("GET", f"/v1/searches/{search}")
            if answer and answer.json()["verification"]["state"] != "done":
                self.wrong.append(f"a verification is lost: {answer.json()['verification']}")
        self.verified = set()
        self.looked |= self.modules | self.labels | self.searches | self.strategies
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



unique = itertools.count(100)

# What these answer does not change: a shortage may refuse it, and may not answer something else.
CONSTANT = ("text", "strategy", "devices", "page", "layout", "version", "openapi", "page's worker", "simulate", "passes", "arguments", "applied", "annotated", "explanation",
            "timeline", "shardings", "outline", "exact", "profiled")


def profile():
    """A device that nobody has: of a request, not of the daemon."""
    found = json.loads((ROOT / "costmodel" / "devices" / "tpu-v5e.json").read_text())
    found["name"] = "mine"
    found["memory_bytes_s"]["value"] //= 4
    return found


def constant(script, name, ask):
    """The same answer each time, where it is one."""
    first = None

    def asked():
        nonlocal first
        answer = ask()
        if answer and answer.status == 200:
            first = first or answer.body
            if answer.body != first:
                script.wrong.append(f"{name}: not the answer that it was: {answer.body[:200]}")
        return answer
    return asked


def steps(script, known):
    """The requests: name -> function. Each may be made any number of times, and is new each time where it makes something."""
    d, module, strategy = script.d, known["module"], known["strategy"]
    get = lambda path, **more: lambda: script.ask("GET", path, **more)
    key = lambda: f"k{next(unique)}"
    new = lambda: {**known["body"], "memory": (1 << 34) + next(unique), "tags": ["a", "b"]}

    def made(folder, path):
        """With the part of the worker: what it made the last time is thrown away."""
        def ask():
            for file in (d.store / folder).rglob("*.zst"):
                file.unlink()
            return script.ask("GET", path)
        return ask

    def twice():
        body, k = new(), key()
        script.search(body, k)
        return script.search(body, k)

    of = f"/v1/strategies/{strategy}"
    requests = {
        "health": get("/healthz"), "ready": get("/readyz"), "module": get(f"/v1/modules/{module}"), "text": get(f"/v1/modules/{module}.mlir"),
        "search": get(f"/v1/searches/{known['search']}"), "events": get(f"/v1/searches/{known['search']}/events"), "strategy": get(of),
        "measurements": get(of + "/measurements"), "modules": get("/v1/modules?label=first"), "searches": get("/v1/searches?tag=a"), "strategies": get("/v1/strategies"),
        "devices": get("/v1/devices"), "metrics": get("/metrics"), "page": get("/"),
        "layout": get("/v1/layout?mesh=data=2&shape=8x16&sharding=%5B%5B%22data%22%5D,%5B%5D%5D"), "nothing": get("/v1/searches/s-0", known=False),
        "hit": lambda: script.ask("POST", "/v1/searches", json.dumps(known["body"]), JSON),
        "hit by another text": lambda: script.ask("POST", "/v1/searches", json.dumps({**known["body"], "priority": next(unique) % 9}), JSON),
        "known upload": lambda: script.upload(8, "again"), "upload": lambda: script.upload(next(unique), "new"), "labels": lambda: script.label(module, f"l{next(unique) % 30}"),
        "submit": lambda: script.ended(script.search(new(), key())), "twice": twice, "cancel": lambda: script.cancel(script.search(new(), key())),
        "measure": lambda: script.measure(strategy), "arguments": made("arguments", f"/v1/modules/{module}/arguments"), "applied": made("emitted", of + ".mlir"),
        "annotated": made("annotate", of + "?apply=annotate"), "explanation": made("explanation", of + "/explanation"), "timeline": made("timeline", of + "/timeline"),
        "shardings": made("as-jax", of + "/shardings?to=jax"), "outline": made("outline", of + "/outline"), "exact": made("exact", of + ".mlir?apply=exact"),
        "wait": get(f"/v1/searches/{known['search']}?wait=1s"), "verifications": get(of + "/verifications"),
        "packed upload": lambda: script.ask("POST", "/v1/modules", gzip.compress(module_text(next(unique)).encode()), {"Content-Encoding": "gzip"}),
        "detailed": lambda: script.ended(script.search({**new(), **DETAILED}, key())), "verification": lambda: script.verification(new(), key()),
        "simulate": lambda: script.ask("POST", "/v1/simulate", module_text(8)), "passes": lambda: script.ask("POST", "/v1/opt?passes=inline", module_text(8)),
        "version": get("/v1/version"), "openapi": get("/openapi.json"), "page's worker": get("/worker.js"),
        "no JSON": lambda: script.ask("POST", "/v1/searches", '{"module":', JSON, refused=400),
        "no field": lambda: script.ask("POST", "/v1/searches", '{"mesh":3}', JSON, refused=400),
        "no program": lambda: script.ask("POST", "/v1/modules", "module {", refused=400), "no parameter": lambda: script.ask("GET", "/v1/searches?tags=a", refused=400),
        "foreign": lambda: script.ask("POST", "/v1/searches", "{}", {**JSON, "Origin": "http://evil.example"}, refused=403),
    }
    if "profiled" in known:
        requests["profiled"] = made("explanation", f"/v1/strategies/{known['profiled']}/explanation")
    return {name: constant(script, name, ask) if name in CONSTANT else ask for name, ask in requests.items()}
