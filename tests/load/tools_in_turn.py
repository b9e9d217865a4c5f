"""Every call of SQLite and of zstd, and an allocation of every stack that allocates, of the tools that work on a store fails in turn: such a tool does the
whole of its work, or ends with an error that blames neither the store nor the file, and then can do it again on what it left.

    python3 tests/load/tools_in_turn.py [--kind memory|sqlite|zstd|mprintf] [--action check|export|import|best|merge|migrate] [--seconds S] [--state FILE]

(make check-in-turn.) With a state file it goes on where it ended. The folder of temporary files may be one in memory (TMPDIR=/dev/shm): it is quicker.
"""

import argparse
import collections
import contextlib
import ctypes
import hashlib
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from daemon import SHARDWRIGHT, STORE_VERSION, Daemon, as_version, module_text
from script import KINDS, NEVER, Plan, build

ACTIONS = ("check", "export", "import", "best", "merge", "migrate")
BLAME = ("damaged", "lost", "no export", "another one", "missing", "corrupt", "there is no store")
LIBC, ADDR_NO_RANDOMIZE = ctypes.CDLL(None), 0x0040000
SAMPLE = {"memory": 40, "sqlite": 4, "zstd": 1, "mprintf": 1}


def crash_of_openssl(err):
    """OpenSSL 3.0 uses what it could not allocate while it makes its default context, once in a process; nobody can ask it not to."""
    return "libcrypto.so" in err and "(CRYPTO_THREAD_run_once+" in err


def same_addresses():
    """As setarch -R, whose own allocations would count."""
    assert LIBC.personality(ADDR_NO_RANDOMIZE) >= 0


def contents(file):
    """All rows of an export or a store, but for when they were made, and its version."""
    db = sqlite3.connect(file)
    tables = [name for name, in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")]
    kept = {name: ", ".join(row[1] for row in db.execute(f"PRAGMA table_info({name})") if row[1] not in ("ended_us", "at_us")) for name in tables}
    rows = {name: sorted(map(repr, db.execute(f"SELECT {columns} FROM {name}"))) for name, columns in kept.items()}
    rows["version"] = db.execute("PRAGMA user_version").fetchone()
    db.close()
    return rows


class Tools:
    """A store with an answer, an export of it, the store in an earlier version, and what to do with them."""

    def __init__(self, folder, version=STORE_VERSION - 1):
        self.folder, self.library, self.plan, self.redone = folder, build(folder), Plan(folder / "plan"), set()
        d = Daemon(folder, "--workers", "1").start()
        module = d.upload(module_text(8), {"X-Shardwright-Label": "first"}).json()["id"]
        other = d.upload(module_text(9)).json()["id"]
        d.wait(d.search({"module": module, "mesh": "data=2", "evaluations": 5}).json()["id"])
        d.wait(d.search({"module": other, "mesh": "data=16", "evaluations": 5}).json()["id"])
        assert d.stop() == 0
        self.plan.heal()
        kept, again, self.into, self.old = folder / "kept.swx", folder / "again.swx", folder / "into", folder / "earlier"
        shutil.copytree(d.store, self.old)
        as_version(self.old, version)
        with contextlib.closing(sqlite3.connect(self.old / "shardwright.db")) as db:  # a cancel that its worker had not seen
            assert db.execute("UPDATE searches SET cancel = 1, strategy = NULL WHERE state = 'running'").rowcount == 1
            db.commit()
        self.made = {"export": again, "import": self.into / "shardwright.db", "merge": self.into / "shardwright.db", "migrate": self.into / "shardwright.db"}
        of, label = ("--store", d.store), ("--label", "first")
        self.commands = {
            "check": ("store", "check", *of), "export": ("store", "export", again, *of, *label), "import": ("store", "import", kept, "--store", self.into),
            "best": ("store", "best", "--json", *of), "merge": ("batch", "--merge", d.store, "--store", self.into, "--json"),
            "migrate": ("store", "prune", "--keep-days", 10000, "--store", self.into)}
        code, out, err = self.run("store", "export", kept, *of, *label)
        assert code == 0, out + err

    def run(self, *args):
        done = subprocess.run([SHARDWRIGHT, *map(str, args)], capture_output=True, text=True, errors="replace", timeout=300, preexec_fn=same_addresses,
                              env={**os.environ, "LD_PRELOAD": str(self.library), "NTH": str(self.plan.path)})
        return done.returncode, done.stdout, done.stderr

    def clear(self, action):
        shutil.rmtree(self.into, ignore_errors=True)
        if action == "export":
            self.made[action].unlink(missing_ok=True)
        if action == "migrate":
            shutil.copytree(self.old, self.into)

    def act(self, action):
        """How it ended, what it said, what it made."""
        code, out, err = self.run(*self.commands[action])
        return code, out, err, contents(self.made[action]) if action in self.made and code == 0 else None

    def turns(self, kind, action):
        """What a whole run is like, and what to fail in it."""
        self.clear(action)
        self.plan.fail(kind, NEVER, 0, census=1)
        good = self.act(action)
        self.plan.heal()
        assert good[0] == 0, good
        self.calls, self.first = self.plan.calls(), self.plan.first() if kind == "memory" else {}
        return good, sorted(self.first, key=self.first.get) or list(range(self.calls))

    def left(self, action):
        """All bytes and names of what it made, as one value."""
        place = self.made[action] if action == "export" else self.into
        files = sorted(place.rglob("*") if place.is_dir() else place.parent.glob(place.name + "*"))
        digest = hashlib.sha256(repr((action, [str(f) for f in files])).encode())
        for f in files:
            digest.update(hashlib.sha256(f.read_bytes() if f.is_file() else b"").digest())
        return digest.digest()

    def failing(self, kind, action, at, skip):
        self.clear(action)
        self.plan.fail(kind, at, 1, skip=skip)
        ended = self.act(action)
        self.plan.heal()
        self.failed = self.plan.failed()
        return ended

    def turn(self, kind, action, at, good):
        """None, or what is wrong."""
        code, out, err, made = self.failing(kind, action, at, self.first.get(at, 0))
        if not self.failed and at in self.first:
            code, out, err, made = self.failing(kind, action, at, 0)  # this time it came from there earlier
        told = (out + err).lower().replace("0 texts lost or damaged", "")
        wrong = None
        if code == 0:
            if (out, made) != (good[1], good[3]):
                wrong = "not all of its work, and no error"
        elif code != -11 or not crash_of_openssl(err):
            if code != 3 and "shardwright: out of memory" not in err:
                wrong = f"ended with {code}"
            else:
                wrong = next((f"says '{word}'" for word in BLAME if word in told), None if err else "says nothing")
        if code and not wrong and action in self.made and (left := self.left(action)) not in self.redone:
            code, said, _, made = self.act(action)  # on what the failure left
            if code or made != good[3]:
                wrong = f"cannot be done again: {code} {said}"
            else:
                self.redone.add(left)  # byte for byte the same need not be tried again
        return wrong and f"{action}, {kind} {at}: {wrong}: {out}{err}"


class State:
    """The turns in which nothing was wrong, on disk, as long as the program and what fails in it are the same."""

    def __init__(self, path):
        files = (SHARDWRIGHT, __file__, *(pathlib.Path(__file__).with_name(name) for name in ("daemon.py", "script.py", "nth.c")))
        programs = hashlib.sha256(b"".join(pathlib.Path(p).read_bytes() for p in files)).hexdigest()
        self.path, lines = path, path.read_text().splitlines() if path and path.exists() else []
        self.done = set(lines[1:]) if lines and lines[0] == programs else set()
        if path and not self.done:
            path.write_text(programs + "\n")

    def note(self, key):
        self.done.add(key)
        if self.path:
            with open(self.path, "a") as f:
                f.write(key + "\n")


def walk(folder, kind, actions=ACTIONS, sample=False, until=float("inf"), tell=lambda line: None, state=None):
    """(counts, what was wrong); tell: of each as it comes."""
    tools, totals, wrong, state = Tools(folder), collections.Counter(), [], state or State(None)
    for action in actions:
        good, turns = tools.turns(kind, action)
        totals[action, "turns"] = len(turns)
        for at in turns[::SAMPLE[kind]] if sample else turns:
            key = f"{action} {kind} {at}"
            if key in state.done:
                totals[action, "before"] += 1
                continue
            if time.monotonic() > until:
                break
            fault = tools.turn(kind, action, at, good)
            totals[action, "failed" if tools.failed else "not reached"] += 1
            if fault:
                wrong.append(fault)
                tell(fault)
            elif tools.failed:
                state.note(key)
        tell(f"{action}, {kind}: {totals[action, 'failed']:,} failed, {totals[action, 'before']:,} did before, "
             f"{totals[action, 'not reached']:,} were not reached, of {totals[action, 'turns']:,} ({tools.calls:,} calls)")
    return totals, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--action", choices=ACTIONS)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--state", type=pathlib.Path, help="where the turns that were taken are kept")
    o = parser.parse_args()
    until, failed, state = time.monotonic() + o.seconds, False, State(o.state)
    for kind in [o.kind] if o.kind else KINDS:
        with tempfile.TemporaryDirectory() as folder:
            _, wrong = walk(pathlib.Path(folder), kind, [o.action] if o.action else ACTIONS, until=until, tell=lambda line: print(line, flush=True), state=state)
        failed |= bool(wrong)
    sys.exit(failed)


if __name__ == "__main__":
    main()
