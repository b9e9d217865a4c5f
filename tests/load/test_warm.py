"""Searches that begin with what the store has for programs of the same structure: the daemon, batch, and search --store."""

import json
import sqlite3
import subprocess

import pytest

from daemon import ROOT, SHARDWRIGHT

SMALL, LARGE = (str(ROOT / "tests" / "corpus" / f"{name}.mlir.zst") for name in ("transformer_4", "transformer_32"))
MESH = "data=4,model=4"


def tool(*words, code=0):
    done = subprocess.run([SHARDWRIGHT, *map(str, words)], capture_output=True, text=True, timeout=240)
    assert done.returncode == code, done
    return done.stdout if code == 0 else done.stderr


def uploaded(d, path):
    answer = d.upload(open(path, "rb").read())
    assert answer.status in (200, 201), answer.body
    return answer.json()


def begun(d, search):
    """The warm_start of a search's answer."""
    return d.get(f"/v1/strategies/{search['strategy']}").json()["search"].get("warm_start")


def stable(d):
    if isinstance(d, dict):
        return {k: stable(v) for k, v in d.items() if k not in ("seconds", "evaluations_per_second")}
    return [stable(v) for v in d] if isinstance(d, list) else d


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A store that has searched four layers."""
    folder = tmp_path_factory.mktemp("filled")
    (folder / "jobs.jsonl").write_text(json.dumps({"module": SMALL, "mesh": MESH, "evaluations": 1500}))
    tool("batch", folder / "jobs.jsonl", "--store", folder / "store")
    return folder


def test_the_daemon_begins_warm(own):
    d = own()
    small, large = uploaded(d, SMALL), uploaded(d, LARGE)
    assert small["structure"] == large["structure"] and small["fingerprint"] != large["fingerprint"]
    first = d.wait(d.search({"module": small["id"], "mesh": MESH, "evaluations": 1500}).json()["id"])
    assert begun(d, first) is None  # nothing was there
    question = {"module": large["id"], "mesh": MESH, "evaluations": 60}
    cold = d.wait(d.search({**question, "warm_start": False}).json()["id"])
    assert begun(d, cold) is None
    warm = d.wait(d.search(question, {"Cache-Control": "no-cache"}).json()["id"])
    started = begun(d, warm)
    assert {s["strategy"] for s in started} == {first["strategy"], cold["strategy"]} and started[0]["plans"] > 0
    assert warm["best"]["runtime_ns"] < cold["best"]["runtime_ns"]
    # an answer to the same question, whatever it began with
    assert d.search({**question, "warm_start": False}).json()["id"] == warm["id"]
    assert d.search({**question, "warm_start": 1}).status == 400
    assert not list((d.store / "work").iterdir())
    assert d.rows("SELECT count(DISTINCT structure), count(*) FROM structures") == [(1, 3)]


def test_off_for_all(own):
    d = own("--warm-start", "0")
    module = uploaded(d, SMALL)["id"]
    for memory in ("15GiB", "14GiB"):
        assert begun(d, d.wait(d.search({"module": module, "mesh": MESH, "evaluations": 40, "memory": memory}).json()["id"])) is None


def test_search_with_a_store(filled):
    words = ["search", LARGE, "--mesh", MESH, "--evaluations", 60, "--json"]
    cold = json.loads(tool(*words))
    warm = [json.loads(tool(*words, "--store", filled / "store", "--threads", n)) for n in (1, 2)]
    assert stable(warm[0]) == stable(warm[1])
    known = tool("store", "best", "--store", filled / "store", "--csv").split()[-1].split(",")[-1]
    assert [s["strategy"] for s in warm[0]["search"]["warm_start"]] == [known]
    assert warm[0]["cost"]["runtime_ns"] < cold["cost"]["runtime_ns"]
    assert stable(json.loads(tool(*words, "--store", filled / "store", "--no-warm-start"))) == stable(cold)
    assert json.loads(tool("search", ROOT / "tests/corpus/mlp_tiny.mlir.zst", "--mesh", "data=4", "--json", "--store", filled / "store"))["search"].get("warm_start") is None
    assert "no store" in tool(*words, "--store", filled / "none", code=1)


def test_a_batch_begins_warm(filled, tmp_path):
    jobs = tmp_path / "jobs.jsonl"
    jobs.write_text("\n".join(json.dumps({"module": LARGE, "mesh": MESH, "evaluations": 60, **more}) for more in ({}, {"memory": "15GiB", "warm_start": False})))
    cold = tmp_path / "cold"
    subprocess.run(["cp", "-r", filled / "store", tmp_path / "store"], check=True)
    subprocess.run(["cp", "-r", filled / "store", cold], check=True)
    tool("batch", jobs, "--store", tmp_path / "store", "--workers", 1)
    tool("batch", jobs, "--store", cold, "--no-warm-start")

    def found(store):
        db = sqlite3.connect(store / "shardwright.db")
        return db.execute("SELECT json_array_length(t.document, '$.search.warm_start') FROM searches s JOIN strategies t ON t.id = s.strategy"
                          " WHERE s.module = (SELECT id FROM modules ORDER BY ops DESC LIMIT 1) ORDER BY s.memory_bytes").fetchall()

    assert found(tmp_path / "store") == [(1,), (None,)]
    assert found(cold) == [(None,), (None,)]


def test_a_module_of_an_earlier_version(own):
    """Its structure becomes known when it is uploaded or searched again."""
    d = own()
    ids = [uploaded(d, path)["id"] for path in (SMALL, LARGE)]
    assert d.stop() == 0
    db = sqlite3.connect(d.store / "shardwright.db")
    db.execute("UPDATE modules SET structure = NULL")
    db.commit()
    db.close()
    d = own()
    assert d.get(f"/v1/modules/{ids[0]}").json()["structure"] is None
    first = d.wait(d.search({"module": ids[0], "mesh": MESH, "evaluations": 40}).json()["id"])
    assert d.get(f"/v1/modules/{ids[0]}").json()["structure"].startswith("sha256:")
    second = d.wait(d.search({"module": ids[1], "mesh": MESH, "evaluations": 40}).json()["id"])
    assert begun(d, second) is None  # it was not known what it is like
    third = d.wait(d.search({"module": ids[1], "mesh": MESH, "evaluations": 50}).json()["id"])
    assert {s["strategy"] for s in begun(d, third)} == {first["strategy"], second["strategy"]}
