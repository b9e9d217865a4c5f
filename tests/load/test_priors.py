"""Priors of the search tree from what a store has: the daemon, batch, and search --store --priors store."""

import json
import sqlite3

import pytest

from daemon import ROOT
from test_warm import stable, tool, uploaded

MESH = "data=2,model=2"


def corpus(name):
    return str(ROOT / "tests" / "corpus" / f"{name}.mlir.zst")


def cuts(document):
    """What each axis cuts, from the document alone."""
    found = {a["name"]: set() for a in document["mesh"]["axes"]}
    for a in document["actions"]:
        role = document["arguments"][a["members"][0]]["role"] if a.get("members") else None
        if a["kind"] == "replicate":
            continue
        if a["tactic"] in ("data_parallel", "zero2", "zero3"):
            word = {"data_parallel": "batch"}.get(a["tactic"], a["tactic"])
        elif role in ("parameter", "state"):
            word = {"parameter": "weights", "state": "zero2"}[role]
        else:
            word = "batch" if role == "data" and a["dimension"] == 0 else "data"
        found[a["axis"]].add(word)
    return [sorted(words) for words in found.values()]


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A store of three programs on two axes, one of them on a mesh of one axis too, and one that fits nowhere."""
    folder = tmp_path_factory.mktemp("filled")
    jobs = [{"module": corpus(p), "mesh": MESH, "evaluations": 150} for p in ("mlp", "convnet", "decode")]
    jobs += [{"module": corpus("mlp"), "mesh": "data=4", "evaluations": 100}, {"module": corpus("lora_tiny"), "mesh": MESH, "evaluations": 40, "memory": "100KiB"}]
    (folder / "jobs.jsonl").write_text("\n".join(map(json.dumps, jobs)))
    tool("batch", folder / "jobs.jsonl", "--store", folder / "store", code=2)
    return folder


def documents(folder):
    db = sqlite3.connect(folder / "store" / "shardwright.db")
    return {name: json.loads(text) for name, text in db.execute(
        "SELECT m.ops, t.document FROM strategies t JOIN modules m ON m.id = t.module WHERE t.fits AND t.mesh = ?", [MESH])}


def search(program, *more):
    return json.loads(tool("search", corpus(program), "--mesh", MESH, "--evaluations", 400, "--json", *more))


def test_what_won_is_read_from_the_store(filled, tmp_path):
    """Of a program that the store does not know: the same as with the statistics that its documents say."""
    won = [cuts(d) for d in documents(filled).values()]
    assert len(won) == 3 and all(any(axis) for axis in won)
    (tmp_path / "won.json").write_text(json.dumps(won))
    of_store = [search("accumulate_tiny", "--store", filled / "store", "--priors", "store", "--threads", n) for n in (1, 2)]
    of_file = search("accumulate_tiny", "--tactic-statistics", tmp_path / "won.json")
    assert stable(of_store[0]) == stable(of_store[1]) == stable(of_file) and of_file["search"]["prior_plans"] == 3


def test_they_are_off_by_default(filled):
    plain = stable(search("accumulate_tiny"))
    for more in ((), ("--priors", "uniform"), ("--priors", "store", "--no-warm-start")):
        assert stable(search("accumulate_tiny", "--store", filled / "store", *more)) == plain, more
    assert "prior_plans" not in plain["search"]
    assert "--priors: expected store or uniform" in tool("search", corpus("mlp"), "--mesh", MESH, "--priors", "store,", code=64)


def test_programs_of_the_structure_count_alone(filled):
    assert search("mlp", "--store", filled / "store", "--priors", "store")["search"]["prior_plans"] == 1


def test_what_won_changes_where_the_tree_goes(tmp_path):
    """The same search begins with other plans, when others won."""
    found = {}
    for word in ("batch", "weights"):
        (tmp_path / "won.json").write_text(json.dumps([[[word], [word]]] * 9))
        found[word] = [i["runtime_ns"] for i in search("mlp", "--tactic-statistics", tmp_path / "won.json")["search"]["incumbents"]]
    assert found["batch"] != found["weights"]


def test_statistics_that_are_none(tmp_path):
    for text in ("", "{}", "[[[3]]]", '[[["nothing"]]]'):
        (tmp_path / "won.json").write_text(text)
        assert "tactic statistics: expected" in tool("search", corpus("mlp_tiny"), "--mesh", MESH, "--tactic-statistics", tmp_path / "won.json", code=1)
    assert "No such file" in tool("search", corpus("mlp_tiny"), "--mesh", MESH, "--tactic-statistics", tmp_path / "none", code=1)


def test_the_daemon_and_batch_take_them(own, tmp_path):
    d = own()
    ids = [uploaded(d, corpus(p))["id"] for p in ("mlp", "decode_tiny")]

    def prior_plans(module, **more):
        answer = d.wait(d.search({"module": module, "mesh": MESH, "evaluations": 100, **more}, {"Cache-Control": "no-cache"}).json()["id"])
        return d.get(f"/v1/strategies/{answer['strategy']}").json()["search"].get("prior_plans")

    assert prior_plans(ids[0]) is None
    assert prior_plans(ids[1], priors="store") == 1
    assert prior_plans(ids[1], priors="store", mesh="data=4") == 0  # nothing on one axis
    assert prior_plans(ids[1], priors="store", warm_start=False) is None
    assert d.search({"module": ids[0], "mesh": MESH, "priors": "all"}).status == 400
    assert not list((d.store / "work").iterdir())
    jobs = tmp_path / "jobs.jsonl"
    jobs.write_text("\n".join(json.dumps({"module": corpus(p), "mesh": MESH, "evaluations": 100, "priors": "store"}) for p in ("mlp", "decode_tiny")))
    tool("batch", jobs, "--store", tmp_path / "of_batch", "--workers", 1)
    db = sqlite3.connect(tmp_path / "of_batch" / "shardwright.db")
    assert sorted(db.execute("SELECT t.document ->> '$.search.prior_plans' FROM strategies t")) == [(0,), (1,)]
