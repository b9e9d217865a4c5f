"""What workers may do and get: memory, privileges, environment, threads; and one that freezes."""

import ctypes
import os
import pathlib
import signal
import subprocess

import pytest

from daemon import SHARDWRIGHT, SHARDWRIGHTD, eventually, module_text

LANDLOCK = ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1) > 0  # landlock_create_ruleset: which version the kernel has


def running_worker(d, **fields):
    search = d.search({**d.long(), **fields}).json()["id"]
    d.until(search, "running")
    worker = d.worker()
    eventually(lambda: pathlib.Path(f"/proc/{worker}/cmdline").read_text().count("--progress-json") == 1)
    return search, worker


def status_of(pid):
    return dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)


def test_a_worker_is_confined(own):
    d = own(env={"SHARDWRIGHT_TOKEN": "secret", "CREDENTIALS_DIRECTORY": "/run/credentials", "HOME": "/root", "LANG": "C.UTF-8"})
    assert "event=no_sandbox" not in d.log()
    _, worker = running_worker(d)
    status = status_of(worker)
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    names = {entry.split("=")[0] for entry in pathlib.Path(f"/proc/{worker}/environ").read_text().split("\0") if entry}
    assert "LANG" in names and not names & {"SHARDWRIGHT_TOKEN", "CREDENTIALS_DIRECTORY", "HOME", "FAULTS"}
    limits = pathlib.Path(f"/proc/{worker}/limits").read_text()
    space = [line.split()[3] for line in limits.splitlines() if line.startswith("Max address space")]
    assert space[0] != "unlimited" and int(space[0]) >= 2 << 30
    eventually(lambda: sorted(os.listdir(f"/proc/{worker}/fd")) == ["0", "1", "2"])  # while it starts it reads files of its own


PROBE = r"""#!/usr/bin/python3 -IS
import os, signal, socket, sys
if sys.argv[1:2] == ["devices"]:
    print('{"devices":["default"]}'); sys.exit()
if sys.argv[1:2] == ["version"]:
    print("shardwright 0 (cost model probe)"); sys.exit()
if sys.argv[1:2] == ["fingerprint"]:
    print('{"fingerprint":"sha256:0","shardings":"sha256:0","name":"x","ops":1,"arguments":1}'); sys.exit()
module, store = sys.argv[2] if sys.argv[1] == "search" else sys.argv[-1], @STORE@
def attempt(name, what):
    try:
        what(); return name + "=yes"
    except OSError as e:
        return name + "=" + os.strerror(e.errno)
tells = [
    attempt("module", lambda: open(module, "rb").read()),
    attempt("database", lambda: open(store + "/shardwright.db", "rb")),
    attempt("write", lambda: open(store + "/tmp/x", "w")),
    attempt("elsewhere", lambda: open(store + "/../secret")),
    attempt("passwd", lambda: open("/etc/passwd")),
    attempt("parent", lambda: open("/proc/%d/environ" % os.getppid())),
    attempt("chmod", lambda: os.chmod(store + "/lock", 0o777)),
    attempt("network", lambda: socket.socket()),
    attempt("signal", lambda: os.kill(os.getppid(), 0)),
    attempt("shell", lambda: os.execv(store + "/../run", ["run"])),
]
print("error: " + " ".join(tells), file=sys.stderr)
sys.exit(1)
"""


@pytest.mark.skipif(not os.path.exists("/usr/bin/python3"), reason="no /usr/bin/python3")
def test_what_a_worker_can_reach(own, tmp_path):
    """A program in a worker's place that tries what a worker led astray would."""
    probe = tmp_path / "probe"
    probe.write_text(PROBE.replace("@STORE@", repr(str(tmp_path / "store"))))
    (tmp_path / "secret").write_text("x")
    (tmp_path / "run").write_text("#!/bin/sh\n")
    for name in ("probe", "run"):
        (tmp_path / name).chmod(0o755)
    d = own("--worker-binary", str(probe))
    module = d.module()
    refused = d.wait(d.search({"module": module, "mesh": "data=2"}).json()["id"])["error"]["detail"]
    got = dict(word.split("=", 1) for word in refused.replace("Permission denied", "EACCES").replace("Operation not permitted", "EPERM").split())
    assert got.pop("module") == "yes"
    assert set(got.values()) <= {"EACCES", "EPERM"} and len(got) == 9, got


@pytest.mark.skipif(not LANDLOCK, reason="a kernel without Landlock")
@pytest.mark.parametrize("fault", ["path", "rule"])
def test_a_sandbox_without_all_its_rules(own, faults, fault):
    """It starts no worker: that would find its own files forbidden, and its search would have failed for good."""
    env, make = faults
    d = own("--workers", "1", env=env)
    module = d.module()
    (pathlib.Path(env["FAULTS"]) / fault).write_text("/store/objects")
    search = d.search({"module": module, "mesh": "data=2", "evaluations": 5}).json()["id"]
    eventually(lambda: d.metric("shardwright_workers_not_started") > 0)
    refused = d.upload(module_text(31))  # a tool reads it first
    assert refused.status == 503 and int(refused.headers["Retry-After"]) > 0, refused.body
    waits = d.get(f"/v1/searches/{search}").json()
    assert waits["state"] in ("queued", "running") and waits["failures"] == 0  # claimed for a moment, at each try
    make(fault, False)
    end = d.wait(search)
    assert (end["state"], end["failures"], end["attempt"]) == ("succeeded", 0, 1)
    assert d.upload(module_text(31)).status == 201


@pytest.mark.skipif(not LANDLOCK, reason="a kernel without Landlock")
@pytest.mark.parametrize("fault", ["path", "rule"])
def test_a_start_in_a_shortage_does_not_drop_the_sandbox(tmp_path, faults, fault):
    """Where workers cannot be confined for want of something, there is no daemon, rather than one whose workers are not confined."""
    env, make = faults
    make(fault)
    run = subprocess.run([SHARDWRIGHTD, "--listen", "127.0.0.1:0", "--store", tmp_path / "store", "--worker-binary", SHARDWRIGHT],
                         env={**os.environ, **env}, capture_output=True, text=True, timeout=60)
    assert run.returncode != 0 and "no worker can be started now" in run.stderr and "no_sandbox" not in run.stderr, run.stderr


def test_threads_of_a_request_stay_below_the_daemons(own):
    d = own("--worker-threads", "1")
    search, worker = running_worker(d, threads=64)
    arguments = pathlib.Path(f"/proc/{worker}/cmdline").read_text().split("\0")
    assert arguments[arguments.index("--threads") + 1] == "1"
    assert "OMP_NUM_THREADS=1" in pathlib.Path(f"/proc/{worker}/environ").read_text().split("\0")
    assert d.get("/v1/searches/" + search).json()["request"]["threads"] == 64
    d.request("POST", f"/v1/searches/{search}/cancel")
    d.wait(search)
    d.kill()
    d = own()
    _, worker = running_worker(d, threads=1024)
    arguments = pathlib.Path(f"/proc/{worker}/cmdline").read_text().split("\0")
    assert int(arguments[arguments.index("--threads") + 1]) <= os.cpu_count()


def test_a_frozen_worker_is_found(own):
    d = own("--worker-silence", "4")
    search, worker = running_worker(d)
    d.shorten(search)
    os.kill(worker, signal.SIGSTOP)
    end = d.wait(search)
    assert end["state"] == "succeeded" and end["failures"] == 1 and end["attempt"] == 2, end
    assert "event=worker_frozen" in d.log() and d.metric("shardwright_workers_crashed") == 1


def test_a_busy_worker_is_not_frozen(own):
    d = own("--worker-silence", "3")
    end = d.wait(d.search(d.long(8)).json()["id"])
    assert end["state"] == "succeeded" and end["failures"] == 0, end
