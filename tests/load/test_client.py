"""shardwright submit, wait, cancel, strategies."""

import json
import os
import subprocess

import pytest

from daemon import ROOT, SHARDWRIGHT, module_text


@pytest.fixture
def cli(daemon, tmp_path):
    module = tmp_path / "step.mlir"

    def run(*args, rows=8, server=None):
        module.write_text(module_text(rows))
        env = {**os.environ, "SHARDWRIGHT_SERVER": server or f"http://127.0.0.1:{daemon.port}"}
        return subprocess.run([SHARDWRIGHT, *map(str, args)], capture_output=True, text=True, timeout=60, env=env, cwd=tmp_path)

    return run


def test_submit_and_wait(cli, daemon):
    run = cli("submit", "step.mlir", "--mesh", "data=2,model=2", "--evaluations", 20, "--memory", "16GiB", "--wait", "--json", rows=200)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["format"] == "shardwright.strategy/1"
    again = cli("submit", "step.mlir", "--mesh", "data=2,model=2", "--evaluations", 20, "--memory", "16GiB", rows=200)
    assert again.returncode == 0 and ", strategy sha256:" in again.stdout  # a hit needs no wait
    assert cli("submit", "step.mlir", "--mesh=data=4", "--only-if-cached", rows=200).returncode == 75


def test_separate_steps(cli, daemon):
    large = ROOT / "tests" / "corpus" / "transformer_4.mlir.zst"
    run = cli("submit", large, "--mesh", "data=2,model=2", "--seconds", 60)
    assert run.returncode == 0 and run.stdout.startswith("s-"), run
    search = run.stdout.strip()
    slow = cli("wait", search, "--timeout", "0.5")
    assert slow.returncode == 75 and "still under way" in slow.stderr
    assert cli("cancel", search).returncode == 0
    assert cli("wait", search).returncode == 130


def test_strategies(cli, daemon, tmp_path):
    cli("submit", "step.mlir", "--mesh", "data=2", "--evaluations", 10, "--wait", rows=216)
    listed = cli("strategies", "--module", "step.mlir", "--json", rows=216)
    found = json.loads(listed.stdout)["strategies"]
    assert listed.returncode == 0 and len(found) == 1
    table = cli("strategies", "--mesh", "data=2", rows=216)
    assert found[0]["id"] in table.stdout
    document = cli("strategies", found[0]["id"], rows=216)
    assert json.loads(document.stdout)["cost"]["runtime_ns"] == found[0]["runtime_ns"]
    pasted = cli("strategies", found[0]["id"], "--notation", "dtensor", rows=216)
    assert pasted.returncode == 0 and 'mesh = init_device_mesh("cuda", (2,), mesh_dim_names=("data",))' in pasted.stdout
    assert cli("strategies", found[0]["id"], "--notation", "torch", rows=216).returncode == 64
    assert cli("strategies", "--notation", "jax", rows=216).returncode == 64
    assert cli("strategies", found[0]["id"], "--mlir", "out.mlir", rows=216).returncode == 0
    assert "stablehlo.dot_general" in (tmp_path / "out.mlir").read_text()


def test_exact_strategies(cli, daemon, tmp_path):
    """The way a plan is applied is part of the question, and the module is written so."""
    run = cli("submit", "step.mlir", "--mesh", "data=2", "--evaluations", 10, "--apply", "exact", "--wait", "--json", rows=232)
    assert run.returncode == 0 and json.loads(run.stdout)["apply"] == "exact", run.stderr
    found = json.loads(cli("strategies", "--module", "step.mlir", "--json", rows=232).stdout)["strategies"]
    for way, told in (("exact", True), ("annotate", False)):
        text = daemon.get("/v1/strategies/%s.mlir?apply=%s" % (found[0]["id"], way))
        assert text.status == 200 and (b"sdy.manual_computation" in text.body) == told
    assert daemon.get("/v1/strategies/%s.mlir?apply=both" % found[0]["id"]).status == 400
    assert cli("strategies", found[0]["id"], "--mlir", "exact.mlir", rows=232).returncode == 0
    assert "sdy.manual_computation" in (tmp_path / "exact.mlir").read_text()


def test_large_modules_travel_compressed(cli, daemon):
    before = daemon.metric("shardwright_upload_bytes")
    module = module_text(224) + "// " + "x" * 200000 + "\n"
    path = daemon.folder / "large.mlir"
    path.write_text(module)
    run = cli("submit", path, "--mesh", "data=2", "--evaluations", 10, "--wait")
    assert run.returncode == 0, run.stderr
    assert daemon.metric("shardwright_upload_bytes") - before < 10000


def test_errors(cli, tmp_path):
    assert cli("submit").returncode == 64
    assert cli("submit", "step.mlir").returncode == 64
    assert cli("submit", "step.mlir", "--mesh", "data=2", "--nonsense", "1").returncode == 64
    assert cli("wait").returncode == 64
    missing = cli("submit", "nothing.mlir", "--mesh", "data=2")
    assert missing.returncode == 1 and "nothing.mlir" in missing.stderr
    bad = cli("submit", "step.mlir", "--mesh", "data")
    assert bad.returncode == 1 and "/mesh" in bad.stderr
    (tmp_path / "bad.mlir").write_text(module_text(8).replace("stablehlo.dot_general", "garbage ! garbage"))
    bad = cli("submit", "bad.mlir", "--mesh", "data=2")
    assert bad.returncode == 1 and bad.stderr.startswith("bad.mlir:3:"), bad.stderr
    assert cli("wait", "s-0").returncode == 1
    nobody = cli("wait", "s-0", server="http://127.0.0.1:1")
    assert nobody.returncode == 69 and "no answer" in nobody.stderr


def test_unix_socket(own, cli, tmp_path):
    d = own("--unix", str(tmp_path / "sock"))
    run = cli("submit", "step.mlir", "--mesh", "data=2", "--evaluations", 10, "--wait", server=f"unix:{tmp_path / 'sock'}")
    assert run.returncode == 0, run.stderr
    assert d.rows("SELECT count(*) FROM strategies") == [(1,)]
