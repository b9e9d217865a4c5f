"""shardwright submit as launchers use it, and the launchers of examples/launch, with the daemon killed under them."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time

import pytest

from daemon import ROOT, SHARDWRIGHT, Daemon, eventually, module_text

NOBODY = "http://127.0.0.1:1"


@pytest.fixture
def step(tmp_path):
    path = tmp_path / "step.mlir"
    path.write_text(module_text(40))
    return path


def submit(step, server, *flags):
    return subprocess.run([SHARDWRIGHT, "submit", step, "--mesh", "data=2", "--server", server, *map(str, flags)], capture_output=True, text=True, timeout=120)


def url(d):
    return f"http://127.0.0.1:{d.port}"


# ---------------------------------------------------------------- exit codes and times


def test_exit_codes_tell_what_is_wrong(daemon, step):
    run = submit(step, NOBODY)
    assert run.returncode == 69 and "no answer from" in run.stderr
    run = submit(step, url(daemon), "--only-if-cached")
    assert run.returncode == 75 and "no answer to this yet" in run.stderr
    run = submit(step, url(daemon), "--wait", "--pin", "nothing*:[[\"data\"]]")
    assert run.returncode == 1, run  # the search failed
    assert submit(step, url(daemon), "--wait", "--evaluations", 10).returncode == 0
    assert submit(step, url(daemon), "--wait", "--evaluations", 10, "--memory", "1KiB").returncode == 2
    for wrong in ("x", "-1", ""):
        assert submit(step, url(daemon), "--timeout", wrong).returncode == 1


def test_names_from_the_command_line(daemon, step):
    flags = ("--wait", "--evaluations", 11, "--label", "named here", "--tag", "one", "--tag", "two", "--priority", 3)
    assert submit(step, url(daemon), *flags).returncode == 0
    search = daemon.get("/v1/searches?label=named%20here&tag=one").json()["searches"][0]
    assert search["tags"] == ["one", "two"] and search["priority"] == 3
    listed = subprocess.run([SHARDWRIGHT, "strategies", "--label", "named here", "--tag", "two", "--server", url(daemon)], capture_output=True, text=True)
    assert "named here" in listed.stdout and search["strategy"] in listed.stdout


def test_a_daemon_that_says_nothing(step):
    """It takes the connection and is silent: the total time ends it."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        began = time.monotonic()
        run = submit(step, f"http://127.0.0.1:{s.getsockname()[1]}", "--timeout", 1)  # without it: a wait for as long as the test may take
    assert run.returncode == 69 and time.monotonic() - began > 0.9


def test_a_daemon_that_takes_no_connection(step):
    """As a host that is gone: the time to connect ends it, long before the total time, or the kernel's own two minutes."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as s, contextlib.ExitStack() as held:
        for _ in range(3):  # what comes behind them gets no answer
            client = held.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(s.getsockname())
        run = submit(step, f"http://127.0.0.1:{s.getsockname()[1]}", "--connect-timeout", 0.5)
    assert run.returncode == 69 and "no answer from" in run.stderr, run


def test_a_wait_ends_in_time(own, step):
    d = own()
    d.until(d.search(d.long()).json()["id"], "running")
    run = submit(step, url(d), "--wait", "--timeout", 1.5)
    assert run.returncode == 75 and "still under way" in run.stderr
    assert d.rows("SELECT state FROM searches ORDER BY number") == [("running",), ("queued",)]  # it did not wait for their end


def test_submit_over_a_restart(own, step, tmp_path):
    """Killed while somebody waits, started again on its port: one search, and its answer."""
    d = own()
    busy = d.search(d.long()).json()["id"]
    d.until(busy, "running")
    result = {}
    waiter = threading.Thread(target=lambda: result.update(run=submit(step, url(d), "--fresh", "--wait", "--evaluations", 20, "--timeout", 100)))
    waiter.start()
    eventually(lambda: d.rows("SELECT 1 FROM searches WHERE mesh = 'data=2'"))
    port = d.port
    d.kill()
    time.sleep(1)
    again = Daemon(tmp_path, "--listen", f"127.0.0.1:{port}").start()
    try:
        again.cancel(busy)
        waiter.join(110)
        assert result["run"].returncode == 0 and "strategy sha256:" in result["run"].stdout, result["run"]
        assert again.rows("SELECT count(*) FROM searches WHERE mesh = 'data=2'") == [(1,)]
    finally:
        again.kill()


def test_submit_before_the_daemon_is_there(step, tmp_path):
    """--retry: the launcher was quicker than the daemon."""
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    result = {}
    asker = threading.Thread(target=lambda: result.update(run=submit(step, f"http://127.0.0.1:{port}", "--wait", "--evaluations", 20, "--retry", 60)))
    asker.start()
    time.sleep(0.7)
    d = Daemon(tmp_path, "--listen", f"127.0.0.1:{port}").start()
    try:
        asker.join(110)
        assert result["run"].returncode == 0, result["run"]
    finally:
        d.kill()


# ---------------------------------------------------------------- launchers

LAUNCHERS = [["sh", str(ROOT / "examples" / "launch" / "launch.sh")], [sys.executable, str(ROOT / "examples" / "launch" / "launch.py")]]
TRAIN = "import json, os; print(os.environ['PLAN_SOURCE'], json.load(open(os.environ['PLAN']))['fits'])"


def launch(launcher, step, baseline, server, **settings):
    env = {**os.environ, "SHARDWRIGHT": SHARDWRIGHT, "SHARDWRIGHT_SERVER": server, **settings}
    command = [*launcher, str(step), "data=2", "tpu-v5e", str(baseline), "--", sys.executable, "-c", TRAIN]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=env)


@pytest.fixture
def baseline(step, tmp_path):
    """Data parallel, as one would make it before the first run."""
    (tmp_path / "dp.json").write_text(json.dumps({"tactics": [{"named": "data_parallel", "axis": "data"}]}))
    out = tmp_path / "baseline.json"
    command = [SHARDWRIGHT, "search", step, "--mesh", "data=2", "--device", "tpu-v5e", "--schedule", tmp_path / "dp.json", "--emit-strategy", out]
    subprocess.run(command, check=True, capture_output=True)
    return out


@pytest.mark.parametrize("launcher", LAUNCHERS, ids=["shell", "python"])
def test_launchers(own, step, baseline, launcher, tmp_path):
    d = own()
    planned = launch(launcher, step, baseline, url(d))
    assert planned.returncode == 0 and planned.stdout == "daemon True\n", planned
    stored = launch(launcher, step, baseline, url(d), PLAN_SEARCH="no")
    assert stored.stdout == "daemon True\n" and "baseline" not in stored.stderr
    step.write_text(module_text(41))
    unknown = launch(launcher, step, baseline, url(d), PLAN_SEARCH="no")
    assert unknown.stdout == "baseline True\n" and "no plan is stored yet" in unknown.stderr and str(baseline) in unknown.stderr
    d.until(d.search(d.long()).json()["id"], "running")  # the search has to wait behind this one's worker
    done = {}
    running = threading.Thread(target=lambda: done.update(run=launch(launcher, step, baseline, url(d), PLAN_SECONDS="8")))
    running.start()
    eventually(lambda: d.rows("SELECT 1 FROM searches WHERE state = 'queued'"))
    d.kill()
    running.join(60)
    assert done["run"].returncode == 0 and done["run"].stdout == "baseline True\n", done
    assert "no daemon answered" in done["run"].stderr and str(baseline) in done["run"].stderr
    assert launch(launcher, step, tmp_path / "none.json", NOBODY).returncode != 0  # no baseline, no run
