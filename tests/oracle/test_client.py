"""The Python client: plans that run, unused arguments, errors, and the daemon's protocol."""
import gzip
import http.server
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import pytest

from child import Crash, forked
from conftest import ROOT

sys.path.insert(0, os.path.join(ROOT, "clients", "python"))


def devices(count=8):
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=%d" % count


def small_step():
    import jax
    import jax.numpy as jnp

    def step(params, unused, x):
        def loss_of(params):
            return jnp.mean((jnp.tanh(x @ params["w1"]) @ params["w2"] - x) ** 2)
        loss, grads = jax.value_and_grad(loss_of)(params)
        return jax.tree.map(lambda p, g: p - g, params, grads), loss

    params = {"w1": jnp.ones((64, 128)), "w2": jnp.full((128, 64), 0.1)}
    return step, (params, jnp.ones((3,)), jnp.arange(32 * 64.).reshape(32, 64) / 2048)


def plan_and_run(path, pins, groups):
    devices()
    import jax
    import numpy as np
    import shardwright
    step, args = small_step()
    # arguments are compared with the CPU's, which does not pad them
    plan = shardwright.plan(step, args, "data=4,model=2", donate_argnums=0, device="h100", evaluations=100, seed=1, pins=pins, groups=groups, tool=path)
    expected = jax.jit(step)(*args)
    host = jax.tree.map(np.asarray, args)      # donation takes the arrays: give each run its own
    mesh = plan.mesh()
    shardings = plan.in_shardings(mesh)
    assert shardings[1] is None                # jax drops what nothing reads
    for run in (plan.jit(mesh), plan.compile(mesh), jax.jit(step, in_shardings=shardings)):
        found = run(*host)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), found, expected)
        assert np.isfinite(run(found[0], host[1], host[2])[1])
    donated = plan.compile(mesh).compiled.memory_analysis().alias_size_in_bytes
    assert donated == plan.cost["alias_bytes"], (donated, plan.cost)
    assert "params['w1']" in plan.table()
    return [str(s.spec) for s in jax.tree.leaves(shardings)], plan.document


@pytest.mark.parametrize("pins, groups", (((), ()), (("x:[[\"data\"],[]]", "params['w1']:[[],[\"model\"]]"), ()), ((), ("params*",))))
def test_plan(tool, pins, groups):
    specs, document = forked(plan_and_run, tool.path, pins, groups)
    assert document["format"] == "shardwright.strategy/1"
    assert [g["glob"] for g in document.get("groups", [])] == list(groups)
    if groups:
        assert specs[0] == specs[1], specs
    if pins:
        assert any(spec.endswith("(None, 'model')") for spec in specs), specs


def run_exactly(path):
    devices()
    import jax
    import numpy as np
    import shardwright
    step, args = small_step()
    plan = shardwright.plan(step, args, "data=4,model=2", donate_argnums=0, device="h100", evaluations=100, seed=1, apply="exact", tool=path)
    assert plan.document["apply"] == "exact" and "sdy.manual_computation" in plan.module and "one device" in plan.losses()[0]
    expected, host = jax.jit(step)(*args), jax.tree.map(np.asarray, args)
    found = plan.fn(*host)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), found, expected)
    assert np.isfinite(plan.fn(found[0], host[1], host[2])[1]) and plan.fn is plan.fn
    memory = plan.fn.compiled.memory_analysis()
    return memory.alias_size_in_bytes - plan.cost["alias_bytes"], memory.argument_size_in_bytes - plan.cost["argument_bytes"]


def test_exact_plan(tool):
    """plan.fn is the program that was planned: it computes the same, gives back donated buffers, and takes its own results."""
    assert forked(run_exactly, tool.path) == (0, 0)


def plan_only(**more):
    devices()
    import shardwright
    step, args = small_step()
    plan = shardwright.plan(step, args, "data=4,model=2", device="tpu-v5e", evaluations=100, seed=1, **more)
    # locations name the line that called; two calls of the same search differ there
    return plan.document["arguments"], re.sub(r"^#loc.*\n| loc\(#.*?\)", "", plan.module, flags=re.MULTILINE)


def test_errors(tool):
    with pytest.raises(Crash, match="shardwright.Error: no tool"):
        forked(lambda: plan_only(tool="/nowhere/shardwright"))
    with pytest.raises(Crash, match="shardwright.Error: .*nosuch"):
        forked(lambda: plan_only(tool=tool.path, pins=["*:[[\"nosuch\"],[]]"]))
    with pytest.raises(Crash, match="shardwright.NoAnswer: no daemon"):
        forked(lambda: plan_only(server="http://127.0.0.1:9", fallback=None))


class Daemon(http.server.BaseHTTPRequestHandler):
    """The two posts and three gets that the client uses, answered by the tool."""
    tool, modules, polls = None, {}, 0

    def log_message(self, *args):
        pass

    def answer(self, status, body):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/v1/modules":
            self.modules["text"] = gzip.decompress(body).decode()
            return self.answer(201, {"id": "sha256:00"})
        wanted = json.loads(body)
        if wanted["module"] != "sha256:00" or wanted["mesh"] != "data=4,model=2":
            return self.answer(400, {"title": "bad request", "detail": "no such module"})
        return self.answer(202, {"id": "s1", "state": "queued", "strategy": None})

    def do_GET(self):
        if self.path.startswith("/v1/searches/s1?wait="):
            Daemon.polls += 1
            if Daemon.polls < 2:
                return self.answer(200, {"id": "s1", "state": "running", "strategy": None})
            out = os.path.join(self.tool.folder, "served.mlir")
            self.modules["document"] = self.tool("search", self.tool.file(self.modules["text"]), "--mesh", "data=4,model=2", "--device", "tpu-v5e",
                                                 "--evaluations", 100, "--seed", 1, "--json", "--emit-mlir", out, codes=(0, 2))
            with open(out) as f:
                self.modules["emitted"] = f.read()
            return self.answer(200, {"id": "s1", "state": "succeeded", "strategy": "sha256:ab"})
        if self.path == "/v1/strategies/sha256:ab":
            return self.answer(200, self.modules["document"].encode())
        if self.path == "/v1/strategies/sha256:ab.mlir":
            return self.answer(200, self.modules["emitted"].encode())
        return self.answer(404, {"title": "not found", "detail": self.path})


def test_protocol(tool):
    Daemon.tool = tool
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Daemon)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        served = forked(lambda: plan_only(server="http://127.0.0.1:%d" % server.server_port))
    finally:
        server.shutdown()
    assert served == forked(lambda: plan_only(tool=tool.path))


def recorded(url, path):
    """A step that was measured, under the platform that it ran on, once however often the request was sent."""
    import shardwright
    step, args = small_step()
    plan = shardwright.plan(step, args, "data=4,model=2", device="h100", evaluations=60, seed=1, server=url)
    assert plan.strategy.startswith("sha256:") and plan.server == url
    row = plan.record(step=0.0125, peak=1 << 20, steps=3, source="wall clock")
    assert row["step_ns"] == 12500000 and row["device"] == "cpu" and row["strategy"] == plan.strategy and row["jax"] and row["hardware"]
    with tempfile.TemporaryDirectory() as folder:
        plan.save(folder + "/plan")
        again = shardwright.load(folder + "/plan", step, *args)
        assert again.record(0.5, device="h100")["device"] == "h100"
    with urllib.request.urlopen(url + "/v1/strategies/%s/measurements" % plan.strategy) as answer:
        found = json.load(answer)
    assert [m["step_ns"] for m in found["measurements"]] == [12500000, 500000000] and found["measured"]["step_ns"] == 500000000
    for wrong in (0, -1, "1ms", float("nan"), True):
        with pytest.raises(shardwright.Error, match="expected seconds"):
            plan.record(wrong)
    with pytest.raises(shardwright.Error, match="no daemon's store"):
        shardwright.plan(step, args, "data=4,model=2", device="h100", evaluations=20, tool=path).record(1.0)
    return True


def test_daemon(tool):
    daemon = os.path.join(os.path.dirname(tool.path), "shardwrightd")
    if not os.path.exists(daemon):
        pytest.skip("no daemon beside the tool: %s" % daemon)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = "http://127.0.0.1:%d" % port
    process = subprocess.Popen([daemon, "--listen", "127.0.0.1:%d" % port, "--store", tool.folder, "--workers", "1"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            try:
                urllib.request.urlopen(url + "/readyz", timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        first = forked(lambda: plan_only(server=url))
        assert first == forked(lambda: plan_only(server=url))        # the second answer comes from the cache
        assert first == forked(lambda: plan_only(tool=tool.path))
        forked(lambda: recorded(url, tool.path))
    finally:
        process.terminate()
        process.wait(20)
