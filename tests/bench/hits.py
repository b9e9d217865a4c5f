"""Requests a second for an answer of the store, POST and GET, beside nginx serving the same bytes from a file: wrk, one thread, 32
connections, alternating rounds, medians. Needs nginx and wrk (Debian packages). Prints a table for docs/operations.md."""

import argparse
import json
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "load"))
from daemon import ROOT, Daemon, eventually, module_text

NGINX = """
daemon off; worker_processes {workers}; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{ access_log off; sendfile on; tcp_nopush on; open_file_cache max=100; keepalive_requests 1000000; types {{ application/json json; }}
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{ listen 127.0.0.1:{port}; root {folder}/www; }} }}
"""


def wrk(url, seconds, script=None):
    command = ["wrk", "-t1", "-c32", f"-d{seconds}s", *(["-s", script] if script else []), url]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Non-2xx" not in out and "Socket errors" not in out, out
    return float(re.search(r"Requests/sec:\s+([\d.]+)", out).group(1))


def serves(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--port", type=int, default=17081)
    o = parser.parse_args()
    if not (shutil.which("nginx") and shutil.which("wrk")):
        sys.exit("needs nginx and wrk")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)  # nginx leaves root
        (folder / "www").mkdir()
        d = Daemon(folder).start()
        print("| answer | bytes | POST /v1/searches | GET /v1/strategies/ID | nginx, a file | POST / nginx | GET / nginx |")
        print("|---|---|---|---|---|---|---|")
        for label, text in (("a small program", module_text().encode()), ("a transformer", (ROOT / "tests" / "corpus" / "transformer_4.mlir.zst").read_bytes())):
            body = {"module": d.upload(text).json()["id"], "mesh": "data=2,model=2", "evaluations": 50}
            done = d.wait(d.search(body).json()["id"])
            hit = d.search(body)
            assert hit.status == 200
            (folder / "www" / "answer.json").write_bytes(hit.body)
            (folder / "post.lua").write_text(
                f"wrk.method = 'POST'\nwrk.body = '{json.dumps(body)}'\nwrk.headers['Content-Type'] = 'application/json'\n")
            (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=o.port, workers=2))
            nginx = subprocess.Popen(["nginx", "-c", folder / "nginx.conf", "-p", folder])
            try:
                eventually(lambda: serves(o.port))
                rates = {"post": [], "get": [], "nginx": []}
                for _ in range(o.rounds):
                    rates["nginx"].append(wrk(f"http://127.0.0.1:{o.port}/answer.json", o.seconds))
                    rates["post"].append(wrk(f"http://127.0.0.1:{d.port}/v1/searches", o.seconds, folder / "post.lua"))
                    rates["get"].append(wrk(f"http://127.0.0.1:{d.port}/v1/strategies/{done['strategy']}", o.seconds))
            finally:
                nginx.terminate()
                nginx.wait()
            post, get, file = (statistics.median(rates[k]) for k in ("post", "get", "nginx"))
            print(f"| {label} | {len(hit.body):,} | {post:,.0f} | {get:,.0f} | {file:,.0f} | {post / file:.2f} | {get / file:.2f} |", flush=True)
        d.stop()


if __name__ == "__main__":
    main()
