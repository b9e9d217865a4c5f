"""Every call of SQLite, and an allocation of every stack that allocates, of the tools that work on a store (shardwright store ..) fails in turn: such a
tool does the whole of its work, or ends with an error that blames neither the store nor the file.

    python3 tests/load/tools_in_turn.py [--kind memory|sqlite] [--action check|export|import|best] [--seconds S]        (make check-in-turn)
"""

import argparse
import collections
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from daemon import SHARDWRIGHT, Daemon, module_text
from script import KINDS, NEVER, Plan, build

ACTIONS = ("check", "export", "import", "best")
BLAME = ("damaged", "lost", "no export", "another one", "missing", "corrupt", "there is no store")
SAMPLE = {"memory": 40, "sqlite": 4}


def contents(file):
    """All rows of an export or a store."""
    db = sqlite3.connect(file)
    tables = [name for name, in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")]
    rows = {name: sorted(map(repr, db.execute(f"SELECT * FROM {name}"))) for name in tables}
    db.close()
    return rows


class Tools:
    """A store with an answer, an export of it, and what to do with them."""

    def __init__(self, folder):
        self.folder, self.library, self.plan = folder, build(folder), Plan(folder / "plan")
        d = Daemon(folder, "--workers", "1").start()
        module = d.upload(module_text(8), {"X-Shardwright-Label": "first"}).json()["id"]
        d.upload(module_text(9))
        d.wait(d.search({"module": module, "mesh": "data=2", "evaluations": 5}).json()["id"])
        assert d.stop() == 0
        self.store, self.kept, self.again, self.into = d.store, folder / "kept.swx", folder / "again.swx", folder / "into"
        self.plan.heal()
        export = ["--store", self.store, "--label", "first"]
        assert self.run("export", self.kept, *export)[0] == 0
        self.actions = {"check": ((*export[:2],), None), "export": ((self.again, *export), self.again), "import": ((self.kept, "--store", self.into), self.into / "shardwright.db"),
                        "best": (("--json", *export[:2]), None)}

    def run(self, *args):
        shutil.rmtree(self.into, ignore_errors=True)
        self.again.unlink(missing_ok=True)
        done = subprocess.run(["setarch", "-R", SHARDWRIGHT, "store", *map(str, args)], capture_output=True, text=True, errors="replace", timeout=300,
                              env={**os.environ, "LD_PRELOAD": str(self.library), "NTH": str(self.plan.path)})
        return done.returncode, done.stdout, done.stderr

    def act(self, action):
        """How it ended, what it said, what it made."""
        args, made = self.actions[action]
        code, out, err = self.run(action, *args)
        return code, out, err, contents(made) if made and code == 0 else None

    def turns(self, kind, action):
        """What a whole run is like, and what to fail in it."""
        self.plan.fail(kind, NEVER, 0, census=1)
        good = self.act(action)
        self.plan.heal()
        assert good[0] == 0, good
        return good, self.plan.stacks() if kind == "memory" else list(range(self.plan.calls()))

    def turn(self, kind, action, at, good):
        """None, or what is wrong."""
        self.plan.fail(kind, at, 1)
        code, out, err, made = self.act(action)
        self.plan.heal()
        told = (out + err).lower().replace("0 texts lost or damaged", "")
        if code == 0:
            wrong = "not all of its work, and no error" if (out, made) != (good[1], good[3]) else None
        elif code == -11 and "libcrypto.so" in err:
            wrong = None  # OpenSSL 3.0 crashes where it makes its own tables: no verdict either
        elif code != 3 and "shardwright: out of memory" not in err:
            wrong = f"ended with {code}"
        else:
            wrong = next((f"says '{word}'" for word in BLAME if word in told), None if err else "says nothing")
        return wrong and f"{action}, {kind} {at}: {wrong}: {out}{err}"


def walk(folder, kind, actions=ACTIONS, sample=False, until=float("inf"), tell=lambda line: None):
    """(counts, what was wrong); tell: of each as it comes."""
    tools, totals, wrong = Tools(folder), collections.Counter(), []
    for action in actions:
        good, turns = tools.turns(kind, action)
        totals[action, "turns"] = len(turns)
        for at in turns[::SAMPLE[kind]] if sample else turns:
            if time.monotonic() > until:
                break
            fault = tools.turn(kind, action, at, good)
            totals[action, "failed"] += tools.plan.failed()
            if fault:
                wrong.append(fault)
                tell(fault)
        tell(f"store {action}, {kind}: {totals[action, 'failed']:,} failed, of {totals[action, 'turns']:,}")
    return totals, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--action", choices=ACTIONS)
    parser.add_argument("--seconds", type=float, default=1e9)
    o = parser.parse_args()
    until, failed = time.monotonic() + o.seconds, False
    for kind in [o.kind] if o.kind else KINDS:
        with tempfile.TemporaryDirectory() as folder:
            _, wrong = walk(pathlib.Path(folder), kind, [o.action] if o.action else ACTIONS, until=until, tell=lambda line: print(line, flush=True))
        failed |= bool(wrong)
    sys.exit(failed)


if __name__ == "__main__":
    main()
