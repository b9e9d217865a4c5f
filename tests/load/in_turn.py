"""Every call of SQLite and of zstd, and an allocation of every stack that allocates, which a daemon makes while it starts, serves each kind of request and stops,
fails in turn: alone, or with the next two hundred. The daemon may refuse (5xx), hang up, or end with a word; it may not say 404 of what it
acknowledged, and once nothing fails any more, in the same process and in the next one, all that was acknowledged is there and requests are served.

    python3 tests/load/in_turn.py [--kind memory|sqlite|zstd|mprintf] [--burst N] [--stride N] [--phase NAME] [--tls] [--seconds S] [--state FILE]        (make check-in-turn)

A failure of a request is made in a daemon that has served others before; where it does not come to the place that is to fail, in one that has just
started. Ends early after S seconds; with a state file it goes on from there.
"""

import argparse
import collections
import functools
import hashlib
import http.client
import json
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from daemon import SHARDWRIGHTD, Daemon, module_text
from script import KINDS, NEVER, Plan, Script, build, profile, steps


class Over(Exception):
    """The time, not the turns."""


class State:
    """How each turn went, on disk: a walk goes on where the last one ended. What was wrong is tried again."""

    def __init__(self, path, tls=False):
        programs = hashlib.sha256(b"".join(pathlib.Path(p).read_bytes() for p in (SHARDWRIGHTD, __file__, *(pathlib.Path(__file__).with_name(name) for name in ("script.py", "nth.c"))))).hexdigest() + " over TLS" * tls
        self.path, self.how = path, {}
        lines = path.read_text().splitlines() if path and path.exists() else []
        if lines and json.loads(lines[0]) == programs:
            self.how = dict(json.loads(line) for line in lines[1:])
        elif path:
            path.write_text(json.dumps(programs) + "\n")

    def done(self, key):
        return key in self.how and not self.how[key].startswith("WRONG")

    def note(self, key, how):
        self.how[key] = how
        if self.path:
            with open(self.path, "a") as f:
                f.write(json.dumps([key, how]) + "\n")

    def totals(self):
        totals = collections.Counter()
        for key, how in self.how.items():
            kind, burst = key.split()[:2]
            totals[f"{kind}, {burst} at a time: {how.split(':')[0]}"] += 1
        return totals


class Guarded(Daemon):
    """With a token, which all requests carry; with TLS where that is walked, too."""

    def __init__(self, folder, tls, *flags, **more):
        self.tls, files = tls, [folder / name for name in ("tokens", "cert", "key")]
        if tls:
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                "-out", files[1], "-keyout", files[2]], check=True, capture_output=True)
            flags += "--tls-cert", str(files[1]), "--tls-key", str(files[2])
        made = subprocess.run([SHARDWRIGHTD, "--tokens", files[0], "--new-token", "walk:admin"], capture_output=True, text=True, check=True)
        self.headers = {"Authorization": "Bearer " + made.stdout.strip()}
        super().__init__(folder, "--tokens", str(files[0]), *flags, **more)

    def request(self, method, path, body=None, headers=None, timeout=60):
        return super().request(method, path, body, {**self.headers, **(headers or {})}, timeout)

    def connect(self, timeout=60):
        if not self.tls:
            return super().connect(timeout)
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=ssl._create_unverified_context())


class Walk:
    def __init__(self, o, kind, burst, folder, library, state):
        self.o, self.kind, self.burst, self.state = o, kind, burst, state
        folder.mkdir()
        self.plan = Plan(folder / "plan")
        self.d = Guarded(folder, o.tls, "--workers", "1", "--worker-threads", "1", "--tool-threads", "1", "--keep-days", "1000",
                         env={"LD_PRELOAD": str(library), "NTH": str(self.plan.path)}, fixed=True)
        self.script = Script(self.d)
        self.seen, self.logged = set(), 0
        self.begin()

    def begin(self):
        """A store with an answer."""
        self.plan.heal()
        self.d.start()
        module = self.d.upload(module_text(8), {"X-Shardwright-Label": "first"}).json()["id"]
        body = {"module": module, "mesh": "data=2", "evaluations": 5}
        search = self.d.search(body).json()["id"]
        profiled = self.d.search({**body, "device": profile()}).json()["id"]
        self.known = {"module": module, "body": body, "search": search, "strategy": self.d.wait(search)["strategy"], "profiled": self.d.wait(profiled)["strategy"]}
        self.steps = steps(self.script, self.known)
        self.steps["guess"] = lambda: self.script.ask("GET", "/v1/searches", headers={"Authorization": "Bearer " + "0" * 64}, refused=401)
        self.script.modules, self.script.labels, self.script.searches = {module}, {(module, "first")}, {search}
        assert self.d.stop() == 0

    # ------------------------------------------------------------ a daemon in which nothing fails

    def start(self):
        """What the one before acknowledged is there."""
        self.plan.heal()
        self.d.start()
        self.script.verify(whole=True)
        self.script.forget()

    def stop(self):
        self.plan.heal()
        if self.d.alive():
            self.script.verify(whole=True)
        try:
            if self.d.alive() and (code := self.d.stop()):
                self.script.wrong.append(f"ended with {code} though nothing fails")
        except subprocess.TimeoutExpired:
            self.script.wrong.append("no end though nothing fails")
            self.d.kill()

    # ------------------------------------------------------------ turns

    def census(self, act, again=False):
        """What to fail in this: numbers of calls, or stacks that nothing before came from. again: those, too."""
        self.plan.fail(self.kind, NEVER, 0, census=1)
        act()
        self.plan.heal()
        if self.kind != "memory":
            return list(range(0, self.plan.calls(), self.o.stride))
        new = sorted(set(self.plan.stacks()) - (set() if again else self.seen))
        self.seen |= set(new)
        return new[::self.o.stride]

    def left(self, phase, turns):
        """Those that were not taken yet, as long as there is time."""
        for at in turns:
            if not self.state.done(f"{self.kind} {self.burst} {phase} {at}"):
                if time.monotonic() > self.o.until:
                    raise Over
                yield at

    def log(self):
        """Of this turn."""
        with open(self.d.folder / "log", "rb") as f:
            f.seek(self.logged)
            return f.read().decode(errors="replace")

    def note(self, phase, at, how):
        wrong, self.script.wrong = self.script.wrong, []
        log = self.log()
        if "event=no_sandbox" in log:
            wrong.append("workers are no longer confined")
        if wrong:
            print(f"{self.kind} {at}, {self.burst} at a time, {phase}, {how}:", *wrong[:4], sep="\n  ", flush=True)
            print("    " + "\n    ".join(line[:160] for line in log.splitlines()[:self.o.lines]), flush=True)
        self.logged = (self.d.folder / "log").stat().st_size
        self.state.note(f"{self.kind} {self.burst} {phase} {at}", "WRONG: " + wrong[0] if wrong else how)

    def ended(self, doing):
        """A daemon that is gone: with a word, and not by a crash."""
        code = self.d.gone(20)
        log = self.log()
        if code < 0 and code != -6:
            self.script.wrong.append("the daemon crashed")
        if code and "shardwright: out of memory" not in log and "shardwrightd: " not in log:
            self.script.wrong.append("the daemon ended without a word")
        return f"{doing} ({code})"

    def starts(self, phase, fresh):
        """With a store, or without one."""
        def away():
            if fresh:
                shutil.rmtree(self.d.store, ignore_errors=True)
                self.script.forget()
                self.script.measurements = 0

        away()
        turns = self.census(self.d.start)
        self.stop()
        for at in self.left(phase, turns):
            away()
            self.plan.fail(self.kind, at, self.burst)
            try:
                self.d.start()
                how = "served on"
            except AssertionError:
                how = self.ended("did not start")
            failed = self.plan.failed()
            self.plan.heal()
            if how != "served on":
                self.d.start()  # the next one does
            if not fresh:
                self.script.calm("GET", f"/v1/modules/{self.known['module']}")
            self.script.calm("GET", "/readyz")
            for name in ("devices", "version", "openapi", "page"):  # made ready by the start
                if not (answer := self.steps[name]()) or answer.status != 200:
                    self.script.wrong.append(f"{name} is {answer and answer.status} though nothing fails")
            self.stop()
            self.note(phase, at, how if failed else "not reached")

    def serve(self, name, ask):
        """One kind of request, in a daemon that has served, or in one that has just started."""
        self.start()
        turns = self.census(ask)
        cold = []
        if self.kind != "memory":
            cold, turns = turns, self.census(ask)
        for at in self.left(name, turns):
            if not self.turn(name, ask, at):
                cold.append(at)
        phase = name if self.kind == "memory" else name + ", first"
        for at in self.left(phase, cold):
            self.stop()
            self.start()
            if not self.turn(phase, ask, at):
                self.note(phase, at, "not reached")
        self.stop()

    def turn(self, phase, ask, at):
        """False: it did not come to where it should fail."""
        self.plan.fail(self.kind, at, self.burst)
        answer = ask()
        self.plan.heal()
        if answer and answer.status >= 500 and answer.status not in (503, 507) and self.burst == 1:
            self.script.wrong.append(f"answered {answer.status}")
        if self.d.alive():
            self.settle(ask, answer)
        how = "served on"
        if not self.d.alive():
            how = self.ended("ended")
            if self.burst == 1:
                self.script.wrong.append("one failure ended the daemon")
            self.start()
        if not self.plan.failed() and not self.script.wrong:
            return False
        self.note(phase, at, how)
        return True

    def settle(self, ask, answer):
        """Asked again, it is served; and what it acknowledged is there."""
        until, pause = time.monotonic() + 15, 0.001
        while self.d.alive() and (not answer or answer.status >= 500) and time.monotonic() < until:
            answer = ask()
            time.sleep(pause)
            pause = min(2 * pause, 0.1)
        if self.d.alive():
            if not answer or answer.status >= 500:
                self.script.wrong.append(f"still {answer and answer.status} though nothing fails")
            self.script.verify()

    def stops(self, phase):
        def work():
            self.start()
            for name in ("upload", "submit", "hit"):
                self.steps[name]()

        work()
        for at in self.left(phase, self.census(self.d.stop, again=True)):
            work()
            self.plan.fail(self.kind, at, self.burst)
            code = self.d.stop()
            failed = self.plan.failed()
            how = self.ended("ended") if code else "stopped"
            self.start()
            self.stop()
            self.note(phase, at, how if failed else "not reached")

    def reload(self):
        """By SIGHUP: what the daemon said of it last, or None where it is gone."""
        said = lambda: re.findall("event=(reloaded|reload_failed)", self.log())
        was, until = len(said()), time.monotonic() + 20
        self.d.process.send_signal(signal.SIGHUP)
        while self.d.alive() and len(said()) == was and time.monotonic() < until:
            time.sleep(0.01)
        return said()[-1] if len(said()) > was else None

    def reloads(self, phase):
        """Tokens and certificate: the old ones or the new ones count, and the next SIGHUP reads them."""
        self.start()
        for at in self.left(phase, self.census(self.reload, again=True)):
            self.plan.fail(self.kind, at, self.burst)
            how = self.reload()
            failed = self.plan.failed()
            self.plan.heal()
            if self.d.alive():
                if not how:
                    self.script.wrong.append("it said nothing of a SIGHUP")
                if self.reload() != "reloaded":
                    self.script.wrong.append("not reloaded though nothing fails")
                self.script.calm("GET", f"/v1/modules/{self.known['module']}")
            else:
                how = self.ended("ended")
                self.script.wrong.append("a failure ended the daemon")
                self.start()
            self.note(phase, at, how if failed else "not reached")
        self.stop()

    def all(self):
        """Every phase; at the end the database is sound."""
        phases = {"start": lambda: self.starts("start", False), **{name: functools.partial(self.serve, name, ask) for name, ask in self.steps.items()},
                  "reload": lambda: self.reloads("reload"), "stop": lambda: self.stops("stop"), "first start": lambda: self.starts("first start", True)}
        try:
            for name in self.o.phase or phases:
                phases[name]()
                if name != "first start":
                    assert self.d.rows("PRAGMA integrity_check") == [("ok",)] and not self.d.rows("PRAGMA foreign_key_check")
        finally:
            self.plan.heal()
            if self.d.alive():
                self.d.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=KINDS, help="one kind only")
    parser.add_argument("--phase", action="append", help="only this one, such as cancel or stop; may be given more than once")
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--burst", type=int, help="how many fail at a time; both 1 and 200 unless given")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--state", type=pathlib.Path, help="where the turns that were taken are kept")
    parser.add_argument("--tls", action="store_true", help="over TLS")
    parser.add_argument("--lines", type=int, default=0, help="of the daemon's log, where something is wrong")
    o = parser.parse_args()
    o.until = time.monotonic() + o.seconds
    state = State(o.state, o.tls)
    with tempfile.TemporaryDirectory() as folder:
        library = build(folder)
        try:
            for kind in [o.kind] if o.kind else KINDS:
                for burst in [o.burst] if o.burst else (1, 200):
                    Walk(o, kind, burst, pathlib.Path(folder) / f"{kind}-{burst}", library, state).all()
        except Over:
            print("time is over: the same command goes on from here" if o.state else "time is over")
    for how, n in sorted(state.totals().items()):
        print(f"{how:60} {n:,}")
    if any(how.startswith("WRONG") for how in state.how.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
