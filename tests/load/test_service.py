"""The daemon under a service manager: notifications, watchdog, sockets it is given, the unit; metrics and the log."""

import http.client
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess

import pytest

from daemon import ROOT, SHARDWRIGHT, SHARDWRIGHTD, eventually, module_text


class Manager:
    """What systemd does: hears notifications, and holds the listening socket."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.notes = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notes.bind(str(self.folder / "notify"))
        self.notes.settimeout(20)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.local = socket.socket(socket.AF_UNIX)
        self.local.bind(str(self.folder / "local"))
        self.local.listen()
        self.port = self.listener.getsockname()[1]
        self.process = None

    def start(self, *flags, watchdog_s=0.6):
        first, second = os.dup(self.listener.fileno()), os.dup(self.local.fileno())
        env = {**os.environ, "NOTIFY_SOCKET": str(self.folder / "notify"), "WATCHDOG_USEC": str(int(watchdog_s * 1e6)), "LISTEN_FDS": "2"}

        def sockets():
            os.dup2(first, 13)
            os.dup2(second, 14)
            os.dup2(13, 3)
            os.dup2(14, 4)
            os.closerange(5, 64)

        command = ["sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh", SHARDWRIGHTD, "--store", str(self.folder / "store"), "--worker-binary", SHARDWRIGHT, *flags]
        log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(command, env=env, stdout=log, stderr=log, preexec_fn=sockets, close_fds=False)
        os.close(first)
        os.close(second)
        assert self.heard() == "READY=1", self.log()
        return self

    def heard(self):
        return self.notes.recv(4096).decode()

    def log(self):
        return (self.folder / "log").read_text()

    def get(self, path):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        c.request("GET", path)
        return c.getresponse().read()


@pytest.fixture
def manager(tmp_path):
    m = Manager(tmp_path)
    yield m
    if m.process and m.process.poll() is None:
        m.process.kill()
        m.process.wait()


def test_notifications(manager):
    manager.start()
    assert [manager.heard() for _ in range(3)] == ["WATCHDOG=1"] * 3
    manager.process.send_signal(signal.SIGHUP)
    said = [manager.heard() for _ in range(3)]
    said = [s for s in said if s != "WATCHDOG=1"][:2]
    assert re.fullmatch(r"RELOADING=1\nMONOTONIC_USEC=\d+", said[0]) and (said[1:] or [manager.heard()]) == ["READY=1"]
    manager.process.send_signal(signal.SIGTERM)
    while (said := manager.heard()) != "STOPPING=1":
        assert said == "WATCHDOG=1"
    assert manager.process.wait(20) == 0


def test_a_restart_refuses_nobody(manager):
    """Who comes while no daemon runs waits in the manager's socket and is answered by the next."""
    manager.start()
    assert manager.get("/healthz") == b"ok\n"
    for how in (signal.SIGTERM, signal.SIGKILL):
        manager.process.send_signal(how)
        manager.process.wait(20)
        early = socket.create_connection(("127.0.0.1", manager.port), timeout=30)
        early.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        manager.notes.setblocking(False)
        try:
            while manager.notes.recv(4096):
                pass
        except BlockingIOError:
            manager.notes.settimeout(20)
        manager.start()
        assert early.makefile("rb").read().endswith(b"ok\n")
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(str(manager.folder / "local"))
        s.sendall(b"GET /v1/searches HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert b" 200 OK" in s.makefile("rb").readline()


def test_a_socket_beyond_loopback_needs_tokens(tmp_path):
    m = Manager(tmp_path)
    m.listener.close()
    m.listener = socket.create_server(("0.0.0.0", 0))
    with pytest.raises(AssertionError, match="reachable by others"):
        m.notes.settimeout(1)
        try:
            m.start()
        except TimeoutError:
            m.process.wait(60)  # it has nothing to say to its manager, but a reason
            raise AssertionError(m.log()) from None
    m.process.wait(20)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd here")
def test_the_unit(tmp_path):
    """systemd reads it without a complaint, and judges it as closed."""
    for name in ("shardwrightd.service", "shardwrightd.socket"):
        text = (ROOT / "tools" / "systemd" / name).read_text()
        (tmp_path / name).write_text(text.replace("/usr/local/bin/shardwrightd", SHARDWRIGHTD))
    run = subprocess.run(["systemd-analyze", "verify", "--man=no", "./shardwrightd.service", "./shardwrightd.socket"], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0 and not run.stderr.strip(), run
    judged = subprocess.run(["systemd-analyze", "security", "--offline=true", "./shardwrightd.service"], cwd=tmp_path, capture_output=True, text=True)
    exposure = re.search(r"Overall exposure level for \S+: ([\d.]+)", judged.stdout)
    assert exposure and float(exposure.group(1)) < 2, judged


def test_tokens_as_a_credential(own, tmp_path):
    """As LoadCredential leaves it: mode 0400, in a folder that is the service's."""
    secret = subprocess.run([SHARDWRIGHTD, "--tokens", tmp_path / "tokens", "--new-token", "t:read"], capture_output=True, text=True).stdout.strip()
    (tmp_path / "tokens").chmod(0o400)
    d = own("--tokens", str(tmp_path / "tokens"))
    assert d.get("/v1/searches", {"Authorization": "Bearer " + secret}).status == 200


# ---------------------------------------------------------------- metrics and the log


def test_histograms(own):
    d = own()
    module = d.module()
    done = d.wait(d.search({"module": module, "mesh": "data=2", "evaluations": 10}).json()["id"])
    for _ in range(10):
        assert d.get(f"/v1/strategies/{done['strategy']}").status == 200
    text = d.get("/metrics").body.decode()
    label = 'method="GET",route="/v1/strategies/{id}"'
    below = [int(n) for n in re.findall(re.escape("shardwright_request_seconds_bucket{" + label) + r',le="[^"]+"} (\d+)', text)]
    assert len(below) == 16 and below == sorted(below) and below[-1] == 10
    assert f"shardwright_request_seconds_count{{{label}}} 10" in text
    for name in ("queue", "search", "commit"):
        assert int(re.search(rf"^shardwright_{name}_seconds_count (\d+)$", text, re.M).group(1)) >= 1, name
        assert float(re.search(rf"^shardwright_{name}_seconds_sum ([\d.]+)$", text, re.M).group(1)) > 0
    families = re.findall(r"^# TYPE (\S+)", text, re.M)
    assert len(families) == len(set(families))
    for line in text.splitlines():  # the text format of Prometheus
        assert re.fullmatch(r'# (HELP|TYPE) .+|[a-z0-9_]+(\{([a-z]+="[^"\\]*",?)*\})? -?\d+(\.\d+)?', line), line


def logfmt(line):
    """{field: value} of a line behind its time and level."""
    out = {}
    for name, quoted, bare in re.findall(r'(\w+)=(?:"((?:[^"\\]|\\.)*)"|(\S*))', line):
        assert name not in out, line
        out[name] = re.sub(r"\\(.)", r"\1", quoted) if quoted else bare
    return out


def test_the_log_cannot_be_forged(own):
    """Whatever a client names is one value; the address is in every line of audit and of requests."""
    d = own("--log-requests")
    label = 'a" owner="root" event="token_added'
    d.upload(module_text(), {"X-Shardwright-Label": label, "X-Forwarded-For": '10.0.0.1" owner="root'})
    d.get('/v1/modules/x%22%20owner=%22root')
    eventually(lambda: d.log().count("event=request") >= 2)
    upload = next(line for line in d.log().splitlines() if "event=upload" in line)
    assert logfmt(upload)["label"] == label and logfmt(upload)["owner"] == "" and logfmt(upload)["forwarded"] == '10.0.0.1" owner="root'
    for line in d.log().splitlines():
        if "event=request" in line or " audit " in line:
            assert logfmt(line)["address"] == "127.0.0.1", line
    asked = next(line for line in d.log().splitlines() if "/v1/modules/{id}" in line)
    assert logfmt(asked)["id"] == 'x" owner="root' and logfmt(asked)["owner"] == ""
