"""explain: its numbers are those of replays, one decision changed at a time."""
import json
import os
import subprocess

import pytest

from test_contracts import COST, corpus, plan, run

MESH = ("--mesh", "data=4,model=2")


def explained(module, strategy, *args):
    return json.loads(run("explain", module, "--strategy", strategy, "--json", *args))


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    strategy = tmp_path_factory.mktemp("explain") / "s.json"
    document = plan(corpus("mlp"), *MESH, "--evaluations", 800, "--emit-strategy", strategy)
    return document, strategy, explained(corpus("mlp"), strategy)


def test_document(answer):
    document, _, told = answer
    assert told["cost"] == document["cost"] and COST <= set(told["cost"]) and told["fits"] == document["fits"]
    assert told["device"] == document["device"] and told["memory_limit_bytes"] == document["memory_limit_bytes"]
    # Bytes by source add up to the cost's; what XLA combines into one instruction has several sources.
    for kind, total in told["cost"]["collectives"].items():
        rows = [c for c in told["collectives"] if c["kind"] == kind]
        assert sum(c["bytes"] for c in rows) == total["bytes"]
        assert sum(c["executions"] for c in rows) >= total["dynamic_count"]
    assert any(c["location"].startswith("models/mlp.py:") for c in told["collectives"])
    times = [c["time_ns"] for c in told["collectives"]]
    assert times == sorted(times, reverse=True)
    assert len(told["decisions"]) == len(document["actions"])
    for d, a in zip(told["decisions"], document["actions"]):
        assert [d[key] for key in ("tactic", "kind", "axis", "members")] == [a[key] for key in ("tactic", "kind", "axis", "members")] and d["names"]
        assert 0 < len(d["alternatives"]) <= 8


def decided_by_hand(tmp_path, decisions):
    """Cost of the decisions as a schedule of manual tactics; those that no longer apply after the others are left out."""
    schedule, tactics, cost = tmp_path / "schedule.json", [], None
    for d in decisions:
        trial = tactics + [{"manual": {"arguments": d["members"], "dimension": d["dimension"], "axis": d["axis"]}}]
        schedule.write_text(json.dumps({"tactics": trial}))
        out = run("search", corpus("mlp"), *MESH, "--schedule", schedule, "--evaluations", 1, "--json", ok=(0, 1, 2))
        if out:
            tactics, cost = trial, json.loads(out)["cost"]
    return cost


def test_variants_are_other_decisions(tmp_path):
    """Without a decision, or with another one in its place: what deciding so from the start costs."""
    schedule, strategy = tmp_path / "by_hand.json", tmp_path / "by_hand_strategy.json"
    schedule.write_text(json.dumps({"tactics": [{"manual": {"arguments": name, "dimension": dimension, "axis": axis}} for name, dimension, axis in
                                                [("batch*", 0, "data"), ("params['layers'][0]['w']", 1, "model"), ("opt_state['m']['layers'][1]['w']", 0, "data")]]}))
    plan(corpus("mlp"), *MESH, "--schedule", schedule, "--evaluations", 1, "--emit-strategy", strategy)
    told = explained(corpus("mlp"), strategy)
    decisions = told["decisions"]
    checked = 0
    assert len(decisions) > 1 and all(d["kind"] == "partition" for d in decisions)
    for i, d in enumerate(decisions):
        cost = decided_by_hand(tmp_path, decisions[:i] + decisions[i + 1:])
        assert (cost["runtime_ns"], cost["peak_bytes"]) == (d["without"]["runtime_ns"], d["without"]["peak_bytes"])
        for kind, total in told["cost"]["collectives"].items():
            change = sum(c["bytes"] for c in d["without"]["collectives"] if c["kind"] == kind)
            assert cost["collectives"][kind]["bytes"] == total["bytes"] + change
        for other in [a for a in d["alternatives"] if a["kind"] == "partition"][:2]:
            cost = decided_by_hand(tmp_path, decisions[:i] + [dict(other, members=d["members"])] + decisions[i + 1:])
            assert (cost["runtime_ns"], cost["peak_bytes"]) == (other["runtime_ns"], other["peak_bytes"])
            checked += 1
    assert checked


def test_variants_of_shardings(tmp_path):
    """Without actions a variant is the same document with one dimension cut otherwise."""
    module, path = corpus("mlp"), tmp_path / "s.json"
    document = {"mesh": "data=4,model=2", "arguments": [
        {"name": "batch*", "sharding": [["data"], []]}, {"name": "params*[1]*'w'*", "sharding": [["model"], []]}]}
    path.write_text(json.dumps(document))
    told = explained(module, path, "--alternatives", "20")
    (weight,) = [d for d in told["decisions"] if d["axis"] == "model"]
    (column,) = [a for a in weight["alternatives"] if (a.get("dimension"), a["axis"]) == (1, "model")]
    (argument,) = weight["members"]
    # What propagation leaves of the result is pinned to the argument, as a training loop needs it.
    document["arguments"][1]["sharding"] = [[], ["model"]]
    path.write_text(json.dumps(document))
    loose = json.loads(run("evaluate", module, "--strategy", path, "--json"))
    document["results"] = [{"index": argument, "sharding": [[], ["model"]]}]
    path.write_text(json.dumps(document))
    tied = json.loads(run("evaluate", module, "--strategy", path, "--json"))
    assert column["runtime_ns"] in (loose["runtime_ns"], tied["runtime_ns"])


def test_hand_written(tmp_path):
    """Without actions, a decision is what arguments of one name pattern and type have in common."""
    module, path = corpus("mlp"), tmp_path / "s.json"
    path.write_text(json.dumps({"mesh": "data=8", "arguments": [
        {"name": "batch*", "sharding": [["data"], []]}, {"name": "params*[0]*'w'*", "sharding": [[], []]}]}))
    told = explained(module, path)
    assert [(d["kind"], d["names"], len(d["members"]), d["tactic"]) for d in told["decisions"]] == [
        ("replicate", ["params['layers'][*]['w']"], 1, ""), ("partition", ["batch['x']"], 1, ""), ("partition", ["batch['y']"], 1, "")]
    whole, x = told["cost"]["runtime_ns"], told["decisions"][1]
    assert x["without"]["runtime_ns"] == whole, "the other half of the batch brings it back by propagation"
    assert told["decisions"][0]["alternatives"]
    # One replay less for each alternative that is not asked for.
    assert all(len(d["alternatives"]) <= 1 for d in explained(module, path, "--alternatives", "1")["decisions"])
    assert not any(d["alternatives"] for d in explained(module, path, "--alternatives", "0")["decisions"])


def test_text(answer):
    _, strategy, told = answer
    text = run("explain", corpus("mlp"), "--strategy", strategy)
    for word in ("COST", "COLLECTIVES BY SOURCE", "DECISIONS", "without it", "kept off", told["collectives"][0]["location"]):
        assert word in text, word


def test_usage(answer):
    _, strategy, _ = answer
    for wrong in ("-1", "many", "1001"):
        done = subprocess.run([os.environ.get("SHARDWRIGHT", "build/shardwright"), "explain", corpus("mlp"), "--strategy", strategy, "--alternatives", wrong],
                              capture_output=True, text=True)
        assert done.returncode == 64 and "--alternatives" in done.stderr
