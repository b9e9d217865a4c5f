#!/usr/bin/env python3
"""The table of docs/zoo.md: programs of JAX packages, planned for 16 TPU v5e and compiled by XLA with the plan.

    zoo.py [NAME..]          all programs, or some; what is in build/zoo already is not done again
    zoo.py --table           only writes the table of what is there

Every program is lowered, searched as a user would (`shardwright search`), and the module that the search emits is compiled ahead of
time for 16 CPU devices. Bytes of arguments, outputs and collectives are compared with those of what XLA compiled.
"""
import json
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))
PYTHON = os.path.join(ROOT, "build", "zoo-venv", "bin", "python")
WORK = os.path.join(ROOT, "build", "zoo")
TABLE = os.path.join(ROOT, "docs", "zoo.md")
MARK = "<!-- table -->\n"
BASELINES = ("data_parallel", "data_parallel_first_axis", "zero2", "zero3")
COMPILE_SECONDS = int(os.environ.get("ZOO_COMPILE_SECONDS", "240"))
COMPILE = """
import json, sys
sys.path.insert(0, sys.argv[1])
from memory import load
executable, results, _ = load(open(sys.argv[2]).read())
s = executable.get_compiled_memory_stats()
open(sys.argv[3], "w").write(executable.hlo_modules()[0].to_string())
print(json.dumps({"argument": s.argument_size_in_bytes, "output": s.output_size_in_bytes - (8 * results if results > 1 else 0)}))
"""


def path(name, ending):
    return os.path.join(WORK, name + ending)


def run(words, seconds, **more):
    """What a command did: exit code (None: out of time), CPU seconds, MiB."""
    log = more.pop("log")
    with open(log, "w") as err:
        p = subprocess.Popen(words, stderr=err, start_new_session=True, **more)
        end = time.monotonic() + seconds
        while True:
            done, status, used = os.wait4(p.pid, os.WNOHANG)
            if done:
                p.returncode = os.waitstatus_to_exitcode(status)
                return p.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
            if time.monotonic() > end:
                p.kill()
                os.wait4(p.pid, 0)
                p.returncode = -9
                return None, 0, 0
            time.sleep(0.05)


def last_line(log):
    """What an error says, without paths."""
    lines = [s.strip() for s in open(log) if re.match(r"\S*(Error|Exception)\b|(\S+: )?error:", s)]
    return re.sub(r"\S*/\S*", "..", lines[-1])[:120] if lines else "no message"


def lower(name):
    target = path(name, ".mlir")
    if os.path.exists(target):
        return None
    with open(target + ".part", "w") as out:
        code, _, _ = run([PYTHON, os.path.join(HERE, "programs.py"), name], 600, stdout=out, log=path(name, ".log"))
    if code != 0:
        return "not lowered: " + ("out of time" if code is None else last_line(path(name, ".log")))
    os.rename(target + ".part", target)
    return None


def search(name):
    words = [TOOL, "search", path(name, ".mlir"), "--mesh", "data=4,model=4", "--device", "tpu-v5e", "--threads", "1", "--json",
             "--emit-mlir", path(name, ".planned.mlir")]
    with open(path(name, ".json"), "w") as out:
        code, seconds, mebibytes = run(words, 900, stdout=out, log=path(name, ".search.log"))
    if code not in (0, 2):
        return {"error": "search: " + last_line(path(name, ".search.log"))}
    document = json.load(open(path(name, ".json")))
    best = [(not b["fits"], b["cost"]["runtime_ns"], b["name"]) for b in document["baselines"] if b["name"] in BASELINES and "cost" in b]
    return {"cpu": seconds, "mib": mebibytes, "step": document["cost"]["runtime_ns"], "peak": document["cost"]["peak_bytes"], "fits": document["fits"],
            "best": min(best) if best else None}


def compile_planned(name):
    code, _, _ = run([PYTHON, "-c", COMPILE, os.path.join(ROOT, "tests", "oracle"), path(name, ".planned.mlir"), path(name, ".hlo")], COMPILE_SECONDS, stdout=open(path(name, ".xla.json"), "w"), log=path(name, ".xla.log"))
    if code is None:
        return {"xla": "over %d s" % COMPILE_SECONDS}
    if code:
        return {"xla": "refused: " + last_line(path(name, ".xla.log"))}
    theirs = json.load(open(path(name, ".xla.json")))
    ours, hlo = ({k: c[k] for k in ("argument_bytes", "output_bytes", "collectives")} for c in (costs(name, ".planned.mlir"), costs(name, ".hlo")))
    return {"xla": "compiled", "ours": ours, "theirs": theirs | {"collectives": hlo["collectives"]}}


def costs(name, ending):
    return json.loads(subprocess.run([TOOL, "simulate", path(name, ending), "--device", "cpu", "--trip-count", "1", "--json"], stdout=subprocess.PIPE, check=False).stdout)


def one(name):
    record = {"error": lower(name)}
    if not record["error"]:
        record = {"lines": sum(1 for _ in open(path(name, ".mlir")))} | search(name)
    if "step" in record:
        record |= compile_planned(name)
    json.dump(record, open(path(name, ".result.json"), "w"), indent=1)
    return record


def duration(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return "%.3g %s" % (ns / size, unit)
    return "%d ns" % ns


def row(name, package, what, r):
    if "step" not in r:
        return "| %s | %s | %s | %s | | | | | |" % (package, what, r.get("lines", ""), r["error"])
    best = r["best"]
    against = "" if not best else "%s %s%s" % (best[2], duration(best[1]), ", too large" if best[0] else "")
    return "| %s | %s | %s | %.1f | %d | %s, %.2f GiB%s | %s | %s |" % (
        package, what, "{:,}".format(r["lines"]), r["cpu"], r["mib"], duration(r["step"]), r["peak"] / 2 ** 30, "" if r["fits"] else ", too large", against, verdict(r))


def moved(collectives):
    return sum(c["bytes"] for c in collectives.values()) / 2 ** 20


def verdict(r):
    if "theirs" not in r:
        return r.get("xla", "")
    ours, theirs = r["ours"], r["theirs"]
    ends = ours["argument_bytes"] == theirs["argument"] and ours["output_bytes"] == theirs["output"]
    kinds = all(c["bytes"] == theirs["collectives"][k]["bytes"] for k, c in ours["collectives"].items())
    ours, theirs = moved(ours["collectives"]), moved(theirs["collectives"])
    less = ours - theirs
    rest = "%.4g MiB, XLA %.4g" % (ours, theirs)
    if abs(less) < ours / 100:
        rest = "equal but for %.0f KiB of %.4g MiB that XLA moves %s" % (abs(less) * 1024, ours, "less" if less > 0 else "more")
    return "arguments and outputs %s; collectives %s" % ("equal" if ends else "differ", "equal" if kinds else rest)


def write_table():
    sys.path.insert(0, HERE)
    from programs import PROGRAMS
    rows = ["| package | program | lines | CPU seconds | MiB | step and peak | best baseline | XLA for CPU |", "|---|---|---|---|---|---|---|---|"]
    text = open(TABLE).read()
    earlier = [line for line in text[text.index(MARK):].splitlines() if line.startswith("| ")]
    for name, (package, program) in PROGRAMS.items():
        if os.path.exists(path(name, ".result.json")):
            rows.append(row(name, package, program.__doc__, json.load(open(path(name, ".result.json")))))
        else:  # what was not run again keeps its row
            rows += [line for line in earlier if line.startswith("| %s | %s |" % (package, program.__doc__))]
    open(TABLE, "w").write(text[:text.index(MARK) + len(MARK)] + "\n" + "\n".join(rows) + "\n")


def main():
    os.makedirs(WORK, exist_ok=True)
    names = [n for n in sys.argv[1:] if not n.startswith("-")]
    if "--table" not in sys.argv:
        listed = subprocess.run([PYTHON, os.path.join(HERE, "programs.py"), "--list"], capture_output=True, text=True, check=True).stdout.split()
        for name in names or listed:
            if not os.path.exists(path(name, ".result.json")):
                r = one(name)
                print(name, {k: v for k, v in r.items() if k not in ("ours", "theirs")}, flush=True)
    subprocess.run([PYTHON, "-c", "import sys; sys.path.insert(0, %r); import zoo; zoo.write_table()" % HERE], check=True)


if __name__ == "__main__":
    main()
