"""The example of tools/nginx, with nginx in front of a daemon's Unix socket."""

import http.client
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import time

import pytest

from daemon import ROOT, SHARDWRIGHT, SHARDWRIGHTD, Daemon, eventually, module_text

pytestmark = pytest.mark.skipif(not (shutil.which("nginx") and shutil.which("openssl")), reason="no nginx here")
JSON = {"Content-Type": "application/json"}
AROUND = """
daemon off; master_process off; pid {0}/nginx.pid; error_log {0}/nginx.log; worker_processes 1;
events {{ worker_connections 256; }}
http {{ access_log off; client_body_temp_path {0}/t1; proxy_temp_path {0}/t2; fastcgi_temp_path {0}/t3; uwsgi_temp_path {0}/t4; scgi_temp_path {0}/t5;
{1}
  server {{ listen 127.0.0.1:{2}; location / {{ proxy_pass http://shardwright; proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $remote_addr; }} }} }}
"""


class Site:
    def __init__(self, folder, port, plain_port, token, daemon):
        self.folder, self.port, self.plain_port, self.token, self.daemon = folder, port, plain_port, token, daemon
        self.context = ssl.create_default_context(cafile=folder / "cert.pem")

    def connect(self):
        c = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=self.context)
        c._http_vsn_str = "HTTP/1.1"
        return c

    def request(self, method, path, body=None, headers=None, token=True, host="plans.example"):
        c = self.connect()
        c.putrequest(method, path, skip_host=True)
        for name, value in {"Host": f"{host}:{self.port}", **(headers or {}), **({"Authorization": "Bearer " + self.token} if token else {})}.items():
            c.putheader(name, value)
        if body is not None:
            c.putheader("Content-Length", str(len(body)))
        c.endheaders(body)
        response = c.getresponse()
        return response.status, response.read()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nginx")
    secret = subprocess.run([SHARDWRIGHTD, "--tokens", folder / "tokens", "--new-token", "ada:read,submit"], capture_output=True, text=True).stdout.strip()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=plans.example", "-addext",
                    "subjectAltName=DNS:plans.example,IP:127.0.0.1", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"], check=True, capture_output=True)
    d = Daemon(folder, "--unix", str(folder / "sock"), "--host", "plans.example", "--tokens", str(folder / "tokens"), "--upload-limit", "1MiB", "--stream-heartbeat", "1", "--workers", "1").start()
    with socket.create_server(("127.0.0.1", 0)) as s, socket.create_server(("127.0.0.1", 0)) as plain:
        port, plain_port = s.getsockname()[1], plain.getsockname()[1]
    text = (ROOT / "tools" / "nginx" / "shardwright.conf").read_text()
    for was, now in (("/run/shardwright/sock;", f"{folder}/sock;"), ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"), ("/etc/ssl/plans.example.pem", f"{folder}/cert.pem"),
                     ("/etc/ssl/private/plans.example.key", f"{folder}/key.pem")):
        assert was in text
        text = text.replace(was, now)
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(user + AROUND.format(folder, text, plain_port))
    nginx = subprocess.Popen(["nginx", "-c", folder / "nginx.conf", "-p", folder], stderr=open(folder / "stderr", "wb"))

    def serves():
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) == 0

    eventually(serves)
    yield Site(folder, port, plain_port, secret, d)
    nginx.terminate()
    nginx.wait(20)
    d.kill()


def test_a_search_through_it(site):
    status, body = site.request("POST", "/v1/modules", module_text().encode())
    assert status == 201
    module = json.loads(body)["id"]
    status, body = site.request("POST", "/v1/searches", json.dumps({"module": module, "mesh": "data=2", "evaluations": 10}).encode(), JSON)
    assert status == 202
    status, body = site.request("GET", f"/v1/searches/{json.loads(body)['id']}?wait=30s")
    assert status == 200 and json.loads(body)["owner"] == "ada"
    assert site.request("GET", "/")[0] == 200
    assert site.request("POST", "/v1/modules", os.urandom(2 << 20))[0] == 413


def test_who_comes_through_it_needs_a_token(site):
    """nginx runs as the daemon's user here, which over the socket itself would need none."""
    assert site.request("GET", "/v1/searches", token=False)[0] == 401
    assert site.request("GET", "/v1/searches", headers={"X-Forwarded-For": ""}, token=False)[0] == 401


def test_names_and_origins_through_it(site):
    assert site.request("GET", "/v1/searches", host="evil.example")[0] == 421
    body = module_text(16).encode()
    own, foreign = {"Origin": f"https://plans.example:{site.port}"}, {"Origin": "https://evil.example"}
    assert site.request("POST", "/v1/modules", body, foreign)[0] == 403
    assert site.request("POST", "/v1/modules", body, {**own, "Sec-Fetch-Site": "same-origin"})[0] == 201


def test_events_come_one_by_one(site):
    step = (ROOT / "tests" / "corpus" / "transformer_4.mlir.zst").read_bytes()
    module = json.loads(site.request("POST", "/v1/modules", step)[1])["id"]
    ask = lambda memory: json.loads(site.request("POST", "/v1/searches", json.dumps(
        {"module": module, "mesh": "data=2,model=2", "seconds": 60, "memory": memory}).encode(), JSON)[1])["id"]
    state = lambda of: json.loads(site.request("GET", f"/v1/searches/{of}")[1])["state"]
    busy = ask(1 << 34)
    eventually(lambda: state(busy) == "running")
    search = ask(1 << 35)  # of one that waits there is one event, too small to fill a proxy's buffer
    c = site.connect()
    c.putrequest("GET", f"/v1/searches/{search}/events", skip_host=True)
    c.putheader("Host", f"plans.example:{site.port}")
    c.putheader("Authorization", "Bearer " + site.token)
    c.endheaders()
    response = c.getresponse()
    first = next(line for line in iter(response.readline, b"") if line.startswith(b"id:"))
    assert first.startswith(b"id: 1")
    assert state(search) == "queued"
    for each in search, busy:
        site.request("POST", f"/v1/searches/{each}/cancel", b"")
    assert b'"state":"' in response.read()


def test_a_daemon_that_is_away(site, tmp_path):
    """The proxy's 502 is no daemon, to a launcher; and is waited for."""
    (tmp_path / "step.mlir").write_text(module_text())
    env = {**os.environ, "SHARDWRIGHT_TOKEN": site.token}
    command = [SHARDWRIGHT, "submit", tmp_path / "step.mlir", "--mesh", "data=2", "--evaluations", "10", "--wait", "--server", f"http://127.0.0.1:{site.plain_port}"]
    run = subprocess.run(command, env=env, capture_output=True, text=True, timeout=30)
    assert run.returncode == 0, run
    site.daemon.kill()
    run = subprocess.run(command, env=env, capture_output=True, text=True, timeout=30)
    assert run.returncode == 69 and "from a proxy" in run.stderr, run
    later = subprocess.Popen([*command, "--retry", "20"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(0.5)
    site.daemon.start()
    out, err = later.communicate(timeout=40)
    assert later.returncode == 0 and re.search(rb"strategy sha256:", out), err
