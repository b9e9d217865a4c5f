"""Who may do what: names and origins, the Unix socket, tokens."""

import http.client
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import time

import pytest

from daemon import SHARDWRIGHT, SHARDWRIGHTD, eventually, module_text

JSON = {"Content-Type": "application/json"}


# ---------------------------------------------------------------- names and origins


def ask(d, method, path, host, headers=None, body=None):
    conn = d.connect()
    conn.putrequest(method, path, skip_host=True)
    conn.putheader("Host", host)
    for name, value in (headers or {}).items():
        conn.putheader(name, value)
    if body is not None:
        conn.putheader("Content-Length", str(len(body)))
    conn.endheaders(body)
    response = conn.getresponse()
    response.read()
    conn.close()
    return response.status


def test_a_name_that_was_pointed_here_is_refused(daemon):
    """What a page does that makes its own name resolve to 127.0.0.1: every request, reads too."""
    for host in ("evil.example", "evil.example:7070", "localhost.evil.example", "127.0.0.1.evil.example", "192.0.2.1", "[2001:db8::1]", "0.0.0.0"):
        for path in ("/v1/searches", "/", "/healthz", "/openapi.json"):
            assert ask(daemon, "GET", path, host) == 421, (host, path)
    for host in (f"127.0.0.1:{daemon.port}", "localhost", "LOCALHOST:1", "localhost.", "[::1]:7070", "127.9.9.9", "[::ffff:127.0.0.1]", socket.gethostname()):
        assert ask(daemon, "GET", "/v1/searches", host) == 200, host


def test_names_that_are_given(own):
    d = own("--host", "plans.example,10.1.2.3")
    for host, status in (("plans.example", 200), ("Plans.Example:443", 200), ("10.1.2.3", 200), ("x.plans.example", 421), ("plans.example.org", 421)):
        assert ask(d, "GET", "/v1/searches", host) == status, host
    d.kill()
    d = own("--host", "*")
    assert ask(d, "GET", "/v1/searches", "anything.example") == 200


def own_address():
    """One that others reach this machine by, or None. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))
        except OSError:
            return None
        return s.getsockname()[0]


@pytest.mark.skipif(own_address() is None, reason="a machine without an address")
def test_its_own_address_is_a_name(tmp_path):
    """Whoever reached it by an address may call it by that, and by no other."""
    address, statuses = own_address(), {}
    command = [SHARDWRIGHTD, "--listen", f"{address}:0", "--insecure", "--store", str(tmp_path / "store"), "--worker-binary", SHARDWRIGHT]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            port = int(process.stdout.readline().decode().rsplit(":", 1)[1])
            for host in (address, f"{address}:{port}", "192.0.2.1", "evil.example"):
                conn = http.client.HTTPConnection(address, port, timeout=20)
                conn.request("GET", "/v1/searches", headers={"Host": host})
                statuses[host] = conn.getresponse().status
                conn.close()
        finally:
            process.terminate()
    assert list(statuses.values()) == [200, 200, 421, 421], statuses


def cross_site(d, headers):
    """What a browser sends for a page of another origin; all that changes something has to be refused."""
    host = f"127.0.0.1:{d.port}"
    module, search = module_text(960).encode(), "s-" + "0" * 32
    text, form = {"Content-Type": "text/plain;charset=UTF-8"}, {"Content-Type": "application/x-www-form-urlencoded"}
    return [
        ask(d, "POST", "/v1/modules", host, {**headers, **text}, module),
        ask(d, "POST", "/v1/searches", host, {**headers, **JSON}, b"{}"),
        ask(d, "POST", "/v1/searches", host, {**headers, **text}, b"{}"),
        ask(d, "POST", f"/v1/searches/{search}/cancel", host, {**headers, **form}, b""),
        ask(d, "POST", "/v1/opt?passes=inline", host, {**headers, **text}, module),
        ask(d, "POST", "/v1/simulate", host, {**headers, **text}, module),
    ]


def test_pages_of_other_origins_change_nothing(daemon):
    before = daemon.rows("SELECT count(*) FROM modules")
    port = daemon.port
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
        {"Origin": f"http://127.0.0.1:{port + 1}", "Sec-Fetch-Site": "same-site"},
        {"Origin": f"http://localhost:{port}"},
        {"Origin": f"http://127.0.0.1:{port}.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": ""},
    ):
        assert set(cross_site(daemon, headers)) == {403}, headers
    assert daemon.rows("SELECT count(*) FROM modules") == before
    # The browser asks before it sends JSON for another origin, and is told nothing that lets it.
    answer = daemon.request("OPTIONS", "/v1/searches", headers={"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"})
    assert answer.status == 405 and not any(name.lower().startswith("access-control") for name in answer.headers)


def test_its_own_page_may(daemon):
    for headers in ({"Origin": f"http://127.0.0.1:{daemon.port}", "Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}, {}):
        statuses = cross_site(daemon, headers)
        assert 403 not in statuses and statuses[0] in (200, 201) and statuses[2] == 415, (headers, statuses)


# ---------------------------------------------------------------- the Unix socket


def over(path, method="GET", target="/v1/searches", headers=None):
    conn = http.client.HTTPConnection("localhost")
    conn.sock = socket.socket(socket.AF_UNIX)
    conn.sock.connect(str(path))
    conn.request(method, target, headers=headers or {})
    response = conn.getresponse()
    response.read()
    conn.close()
    return response.status


CLIENT = """
import http.client, socket, sys
conn = http.client.HTTPConnection("localhost")
conn.sock = socket.socket(socket.AF_UNIX)
conn.sock.connect(sys.argv[1])
conn.request("GET", "/v1/searches")
print(conn.getresponse().status)
"""


def as_user(path, **who):
    run = subprocess.run(["/usr/bin/python3", "-c", CLIENT, str(path)], capture_output=True, text=True, timeout=20, cwd="/", **who)
    return int(run.stdout) if run.returncode == 0 else run.stderr.splitlines()[-1]


def new_token(tokens, name, scopes):
    run = subprocess.run([SHARDWRIGHTD, "--tokens", str(tokens), "--new-token", f"{name}:{scopes}"], capture_output=True, text=True, timeout=20)
    assert run.returncode == 0, run.stderr
    return {"Authorization": "Bearer " + run.stdout.strip()}


@pytest.mark.parametrize("threads", [[], ["--http-threads", "1"]], ids=["default pool", "one thread"])
def test_the_same_user_needs_no_token(own, tmp_path, threads):
    path, tokens = tmp_path / "s", tmp_path / "tokens"
    secret = new_token(tokens, "reader", "read")
    d = own("--unix", str(path), "--tokens", str(tokens), *threads)
    for _ in range(8):  # whichever thread of the pool takes it
        assert over(path) == 200
    assert d.get("/v1/searches").status == 401
    assert d.get("/v1/searches", secret).status == 200


def test_a_proxy_speaks_for_others(own, tmp_path):
    path, tokens = tmp_path / "s", tmp_path / "tokens"
    secret = new_token(tokens, "reader", "read")
    d = own("--unix", str(path), "--tokens", str(tokens))
    for name in ("X-Forwarded-For", "Forwarded", "Via", "X-Real-IP", "X-Forwarded-Host"):
        assert over(path, headers={name: "192.0.2.1"}) == 401, name
        assert over(path, headers={name: "192.0.2.1", **secret}) == 200
    d.kill()
    d = own("--unix", str(path))
    assert over(path) == 200
    assert over(path, headers={"X-Forwarded-For": "192.0.2.1"}) == 403
    assert over(path, target="/healthz", headers={"X-Forwarded-For": "192.0.2.1"}) == 200


@pytest.mark.skipif(os.geteuid() != 0 or not os.path.exists("/usr/bin/python3"), reason="needs root to be somebody else")
def test_other_users_of_the_socket(own, public):
    path = public / "s"
    d = own("--unix", str(path), "--unix-group", "4242")
    assert path.stat().st_mode & 0o777 == 0o660 and path.stat().st_gid == 4242
    assert as_user(path, user=65534, group=65534, extra_groups=[4242]) == 200
    assert as_user(path, user=65534, group=4242, extra_groups=[]) == 200
    assert "Permission denied" in as_user(path, user=65534, group=65534, extra_groups=[])
    path.chmod(0o666)  # the mode of the socket alone does not decide
    assert as_user(path, user=65534, group=65534, extra_groups=[]) == 403
    assert d.stop() == 0
    bad = subprocess.run([SHARDWRIGHTD, "--unix", str(path), "--unix-group", "no such group", "--store", str(d.store), "--listen", "",
        "--worker-binary", SHARDWRIGHT], capture_output=True, text=True, timeout=20)
    assert bad.returncode == 1 and "no group" in bad.stderr


# ---------------------------------------------------------------- tokens


def test_what_belongs_to_whom(own, tmp_path):
    tokens = tmp_path / "tokens"
    one, two, reader, boss = (new_token(tokens, name, scopes) for name, scopes in
        (("one", "read,submit"), ("two", "read,submit"), ("reader", "read"), ("boss", "admin")))
    d = own("--workers", "1", "--tokens", str(tokens), "--unix", str(tmp_path / "s"))
    questions = [d.long(headers=boss) for _ in range(3)]  # admin may all: upload, too
    searches = [d.search(question, one).json()["id"] for question in questions]
    assert d.get("/v1/searches/" + searches[0], reader).json()["owner"] == "one"
    assert {s["owner"] for s in d.get("/v1/searches", boss).json()["searches"]} == {"one"}

    def cancel(search, headers):
        return d.request("POST", f"/v1/searches/{search}/cancel", headers=headers).status

    for search in searches:
        assert cancel(search, two) == 403 and cancel(search, reader) == 403
        assert d.get("/v1/searches/" + search, one).json()["state"] in ("queued", "running")
    assert cancel(searches[2], one) == 200 and cancel(searches[1], boss) == 200
    assert over(tmp_path / "s", "POST", f"/v1/searches/{searches[0]}/cancel") in (200, 202)  # the daemon's own user
    log = d.log()
    for line in (f'event=submit search={searches[0]} owner="one" address=127.0.0.1', f'event=cancel search={searches[1]} owner="boss"',
            f"event=upload module={questions[0]['module']}"):
        assert line in log, line
    assert f'event=cancel search={searches[2]} owner="two"' not in log


def test_tokens_come_and_go(own, tmp_path):
    """By SIGHUP, without a restart; a file with a fault changes nothing."""
    tokens = tmp_path / "tokens"
    first = new_token(tokens, "first", "read")
    d = own("--tokens", str(tokens))
    second = new_token(tokens, "second", "read")
    assert d.get("/v1/searches", second).status == 401
    d.process.send_signal(signal.SIGHUP)
    eventually(lambda: "event=reloaded" in d.log())
    assert d.get("/v1/searches", second).status == 200 and d.get("/v1/searches", first).status == 200
    lines = tokens.read_text().splitlines(True)
    tokens.write_text("".join(line for line in lines if not line.startswith("first")))
    d.process.send_signal(signal.SIGHUP)
    eventually(lambda: 'event=token_removed name="first"' in d.log())
    assert d.get("/v1/searches", first).status == 401 and d.get("/v1/searches", second).status == 200
    assert 'event=token_added name="second"' in d.log()
    tokens.write_text("nonsense\n")
    d.process.send_signal(signal.SIGHUP)
    eventually(lambda: "event=reload_failed" in d.log())
    assert d.get("/v1/searches", second).status == 200 and d.alive()
    assert d.stop() == 0


def test_tokens_expire(own, faults, tmp_path):
    env, _ = faults
    tokens = tmp_path / "tokens"
    past, future = new_token(tokens, "past", "read:2020-01-31"), new_token(tokens, "future", "read:2120-01-31T10:00:00Z")
    moment = new_token(tokens, "moment", "read:" + time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600)))
    d = own("--tokens", str(tokens), env=env)
    assert d.get("/v1/searches", moment).status == 200
    assert d.get("/v1/searches", past).status == 401 and d.get("/v1/searches", future).status == 200
    (pathlib.Path(env["FAULTS"]) / "clock").write_text("3700")  # a little over an hour later
    eventually(lambda: d.get("/v1/searches", moment).status == 401)
    assert d.get("/v1/searches", future).status == 200
    for bad in ("x:read:soon", "x:read:", "x:read:2030-13-01", "unix:read", "x:write"):
        run = subprocess.run([SHARDWRIGHTD, "--tokens", str(tokens), "--new-token", bad], capture_output=True, text=True, timeout=20)
        assert run.returncode == 1 and "--new-token takes" in run.stderr, bad


def test_guesses_are_slow_and_logged(own, tmp_path):
    tokens = tmp_path / "tokens"
    good = new_token(tokens, "reader", "read")
    d = own("--tokens", str(tokens))
    conn = d.connect()
    for n in range(2):
        start = time.monotonic()
        conn.request("GET", "/v1/searches", headers={"Authorization": "Bearer " + str(n) * 64})
        response = conn.getresponse()
        response.read()
        assert response.status == 401 and time.monotonic() - start > 0.9
    conn.close()
    assert d.log().count("event=token_refused address=127.0.0.1 route=/v1/searches") == 2
    assert d.metric_as(good, "shardwright_tokens_refused") == 2
    with d.socket() as s:  # nor does one who asks before sending get a quick answer
        start = time.monotonic()
        s.sendall(b"POST /v1/modules HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n")
        assert s.recv(4096).startswith(b"HTTP/1.1 100")
        s.sendall(b"x")
        assert b"HTTP/1.1 401" in s.recv(4096) and time.monotonic() - start > 0.9


# ---------------------------------------------------------------- TLS


def certificate(folder, name):
    """A certificate that signs itself, and its key."""
    files = folder / (name + ".pem"), folder / (name + ".key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", f"/CN={name}",
        "-addext", "subjectAltName=IP:127.0.0.1", "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    return files


def secure(d, trusted):
    context = ssl.create_default_context(cafile=str(trusted))
    return context.wrap_socket(d.socket(), server_hostname="127.0.0.1")


def exchange(s, raw):
    data = b""
    with s:
        s.sendall(raw)
        try:
            while more := s.recv(65536):
                data += more
        except OSError:
            pass
    return data


GET = b"GET /v1/version HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of asking for an old version
@pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl program")
def test_tls(own, tmp_path):
    (cert, key), (other, other_key) = certificate(tmp_path, "one"), certificate(tmp_path, "two")
    d = own("--tls-cert", str(cert), "--tls-key", str(key), "--unix", str(tmp_path / "s"))
    last = GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    assert exchange(secure(d, cert), GET + last).count(b"HTTP/1.1 200") == 2
    # the gate looks behind the decryption
    for bad in (b"GET / HTTP/1.1\nHost: 127.0.0.1\n\n", b"POST /v1/searches HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n"):
        data = exchange(secure(d, cert), GET + bad + GET)
        assert data.count(b"HTTP/1.1 200") == 1 and data.count(b"HTTP/1.1 400") == 1 and data.count(b"HTTP/1.1 ") == 2, data
    text = module_text(8).encode() + b"// " + b"x" * 300_000 + b"\n"
    head = b"POST /v1/modules HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(text)
    assert exchange(secure(d, cert), head + text).startswith(b"HTTP/1.1 201")
    assert over(tmp_path / "s") == 200
    with d.socket() as s:
        assert b"HTTP" not in exchange(s, GET)  # not in the clear
    with pytest.raises(ssl.SSLError):
        secure(d, other)
    cert.write_bytes(other.read_bytes())  # half of a change: the key is still the old one
    d.process.send_signal(signal.SIGHUP)
    eventually(lambda: "event=reload_failed" in d.log())
    with pytest.raises(ssl.SSLError):
        secure(d, other)
    key.write_bytes(other_key.read_bytes())
    d.process.send_signal(signal.SIGHUP)
    eventually(lambda: "event=reloaded" in d.log())
    assert exchange(secure(d, other), last).startswith(b"HTTP/1.1 200")
    old = ssl.create_default_context(cafile=str(other))
    old.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, OSError)):
        old.wrap_socket(d.socket(), server_hostname="127.0.0.1")
    assert d.stop() == 0


def test_tls_needs_both_files(tmp_path):
    for flags, text in ((["--tls-cert", "/nonexistent"], "go together"), (["--tls-cert", "/nonexistent", "--tls-key", "/nonexistent"], "/nonexistent")):
        run = subprocess.run([SHARDWRIGHTD, "--store", str(tmp_path / "store"), "--listen", "127.0.0.1:0", "--worker-binary", SHARDWRIGHT, *flags],
            capture_output=True, text=True, timeout=20)
        assert run.returncode == 1 and text in run.stderr, run.stderr
