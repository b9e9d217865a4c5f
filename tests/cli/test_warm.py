"""Searches that begin with the decisions of another document (--start), and what such documents tell (decisions, structure)."""
import hashlib
import json
import os
import random
import subprocess

import pytest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.path.abspath(os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright")))
CORPUS = os.path.join(ROOT, "tests", "corpus")


def run(*words, code=(0, 2)):
    done = subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True, timeout=300)
    assert done.returncode in (code if isinstance(code, tuple) else (code,)), done.stderr[-2000:]
    return done.stdout if done.returncode in (0, 2) else done.stderr


def search(program, mesh, *more):
    return json.loads(run("search", os.path.join(CORPUS, program + ".mlir.zst"), "--mesh", mesh, "--json", *more))


def structure(program):
    return json.loads(run("fingerprint", os.path.join(CORPUS, program + ".mlir.zst"), "--json"))["structure"]


def stable(d):
    if isinstance(d, dict):
        return {k: stable(v) for k, v in d.items() if k not in ("seconds", "evaluations_per_second")}
    return [stable(v) for v in d] if isinstance(d, list) else d


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The answer for two layers; (path, id)."""
    path = tmp_path_factory.mktemp("warm") / "small.json"
    run("search", os.path.join(CORPUS, "transformer_4.mlir.zst"), "--mesh", "data=4,model=4", "--evaluations", 1500, "--emit-strategy", path)
    return path, "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()


def test_structure_is_of_the_kind_of_program():
    """Sizes, element types and the number of layers do not change it; another model does."""
    assert structure("transformer_2_tiny") == structure("transformer_4") == structure("transformer_32")
    assert structure("llama_2_tiny") == structure("llama_8b")
    assert structure("resnet_tiny") == structure("resnet")
    assert len({structure(p) for p in ("transformer_4", "llama_4", "resnet", "moe", "mlp", "transformer_scan")}) == 6


def test_decisions_name_no_numbers(small):
    document = json.loads(small[0].read_text())
    names = [e["name"] for d in document["decisions"] for e in d.get("arguments", [])]
    assert any("['layers'][#]" in n for n in names) and not any(c.isdigit() for n in names for c in n)
    assert {d["axis"] for d in document["decisions"]} <= {"data", "model"}
    assert all("tactic" in d or "inner" in d or d["arguments"] for d in document["decisions"])


def test_more_layers_begin_near_the_end(small):
    """The plan for 4 layers is, at once, one for 32 that a search needs hundreds of evaluations for."""
    cold = search("transformer_32", "data=4,model=4", "--evaluations", 700)
    warm = search("transformer_32", "data=4,model=4", "--evaluations", 60, "--start", small[0])
    assert warm["cost"]["runtime_ns"] <= cold["cost"]["runtime_ns"] * 1.02
    assert "warm_start" not in cold["search"]
    started = warm["search"]["warm_start"]
    assert [s["strategy"] for s in started] == [small[1]] and 1 <= started[0]["plans"] <= 8 and started[0]["fits"]


def test_the_answer_does_not_depend_on_threads(small):
    documents = [stable(search("transformer_4", "x=2,y=8", "--evaluations", 300, "--threads", n, "--start", small[0], "--check")) for n in (1, 2)]
    assert documents[0] == documents[1] and documents[0]["search"]["warm_start"][0]["plans"] > 1


def test_other_meshes(small):
    """One axis, three axes, axes of other names and sizes: always an answer, never worse than the baselines."""
    for mesh in ("data=16", "a=2,b=2,c=4", "model=4,data=2", "only=1"):
        d = search("transformer_2_tiny", mesh, "--evaluations", 150, "--start", small[0])
        fitting = [b["cost"]["runtime_ns"] for b in d["baselines"] if b["fits"]]
        assert d["fits"] and d["cost"]["runtime_ns"] <= min(fitting), mesh


def test_pins_schedules_and_forbids_hold(small, tmp_path):
    d = search("transformer_2_tiny", "data=4,model=4", "--evaluations", 150, "--start", small[0], "--pin", 'params*wq*:[[],["model"],[]]', "--forbid", "batch*:0:data")
    assert all(a["sharding"] == [[], ["model"], []] for a in d["arguments"] if a["name"].startswith("params") and "wq" in a["name"])
    assert all("data" not in (a["sharding"] or a["propagated"])[0] for a in d["arguments"] if a["name"].startswith("batch"))
    schedule = tmp_path / "s.json"
    schedule.write_text(json.dumps({"tactics": [{"named": "data_parallel", "axis": "data"}, {"auto": {"axes": ["model"], "arguments": "params*"}}]}))
    d = search("transformer_2_tiny", "data=4,model=4", "--evaluations", 150, "--start", small[0], "--schedule", schedule)
    used = [a for a in d["actions"] if a["axis"] == "data"]
    assert all(a["tactic"] == "data_parallel" for a in used)
    assert {d["arguments"][m]["name"].split("[")[0] for a in d["actions"] if a["axis"] == "model" for m in a["members"]} <= {"params"}


def test_what_is_no_document_is_refused(tmp_path):
    for text in ("", "{", "[]", "{}", '{"format":"shardwright.strategy/2"}', "null"):
        path = tmp_path / "x.json"
        path.write_text(text)
        said = run("search", os.path.join(CORPUS, "mlp_tiny.mlir.zst"), "--mesh", "data=4", "--start", path, code=1)
        assert "is no strategy document" in said
    assert "No such file" in run("search", os.path.join(CORPUS, "mlp_tiny.mlir.zst"), "--mesh", "data=4", "--start", tmp_path / "none", code=1)


def damaged(value, random):
    """The JSON value with one part replaced by nonsense."""
    nonsense = random.choice([None, True, -1, 3, 1e300, 0.5, "largest", "", "x" * 300, [], {}, [[]], {"name": 3}])
    if isinstance(value, dict) and value and random.random() < 0.9:
        key = random.choice(list(value))
        return {**value, key: damaged(value[key], random)}
    if isinstance(value, list) and value and random.random() < 0.9:
        at = random.randrange(len(value))
        return [damaged(v, random) if i == at else v for i, v in enumerate(value)]
    return nonsense


def test_damaged_decisions_do_no_harm(small, tmp_path):
    dice, document = random.Random(5), json.loads(small[0].read_text())
    kept = {"format": document["format"], "mesh": document["mesh"], "decisions": document["decisions"]}
    words = []
    for i in range(40):
        path = tmp_path / f"{i}.json"
        path.write_text(json.dumps({**kept, **{k: damaged(kept[k], dice) for k in ("mesh", "decisions")}}))
        words += ["--start", path]
        if i % 4 == 3:
            assert len(search("transformer_2_tiny", "data=2,model=2", "--evaluations", 60, *words)["search"]["warm_start"]) == 4
            words = []
