"""What a worker makes on demand: arguments of a module, explanation and timeline of a strategy; and layouts."""

import json
import subprocess
import urllib.parse

import pytest

from daemon import ROOT, module_text
from test_daemon import finished


def zstandard_text(name):
    return subprocess.run(["zstdcat", ROOT / "tests" / "corpus" / (name + ".mlir.zst")], capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def strategy(daemon):
    return finished(daemon, 512)


def test_arguments(daemon, strategy):
    for _ in range(2):  # the second answer is what was kept
        answer = daemon.get(f"/v1/modules/{strategy[0]}/arguments")
        assert answer.status == 200 and answer.headers["Content-Type"] == "application/json"
        assert answer.json()["arguments"] == [
            {"index": 0, "name": "arg0", "type": "tensor<512x16xf32>", "role": "data", "bytes": 512 * 16 * 4},
            {"index": 1, "name": "arg1", "type": "tensor<16x32xf32>", "role": "parameter", "bytes": 16 * 32 * 4},
        ]


def test_explanation_is_of_the_strategy(daemon, strategy):
    document = daemon.get("/v1/strategies/" + strategy[1]["strategy"]).json()
    answer = daemon.get(f"/v1/strategies/{strategy[1]['strategy']}/explanation")
    explanation = answer.json()
    assert explanation["cost"] == document["cost"] and explanation["fits"] is document["fits"]
    assert explanation["memory_limit_bytes"] == document["memory_limit_bytes"]
    assert [d["axis"] for d in explanation["decisions"]] == [a["axis"] for a in document["actions"]]
    assert "immutable" in answer.headers["Cache-Control"]


def test_outline_is_the_document_in_rows(daemon, strategy):
    path = "/v1/strategies/" + strategy[1]["strategy"]
    document, answer = daemon.get(path).json(), daemon.get(path + "/outline")
    outline = answer.json()
    assert answer.status == 200 and answer.headers["Content-Type"] == "application/json" and "immutable" in answer.headers["Cache-Control"]
    assert [(r["name"], r["members"], r["sharding"]) for r in outline["rows"]] == [(a["name"], [[a["index"], 1, 1]], a["sharding"]) for a in document["arguments"]]
    assert {k: v for k, v in outline.items() if k not in ("rows", "actions", "groups")} == {k: v for k, v in document.items() if k not in ("arguments", "results", "actions", "groups")}
    assert daemon.get(path + "/outline").body == answer.body  # the second answer is what was kept


def test_timeline_ends_with_the_step(daemon, strategy):
    cost = daemon.get("/v1/strategies/" + strategy[1]["strategy"]).json()["cost"]
    answer = daemon.get(f"/v1/strategies/{strategy[1]['strategy']}/timeline")
    assert answer.status == 200, answer.body
    events = answer.json()["traceEvents"]
    runs = [e for e in events if e["ph"] == "X"]
    assert round(max(e["ts"] + e["dur"] for e in runs) * 1000) == cost["runtime_ns"]
    kernels = [e for e in runs if "limit" in e["args"]]
    assert kernels and {e["args"]["limit"] for e in kernels} <= {"compute", "memory", "launch"}
    assert round(sum(e["dur"] for e in kernels) * 1000) == cost["compute_ns"]


@pytest.mark.parametrize("to,holds", [("jax", "PartitionSpec("), ("dtensor", "Shard("), ("mindspore", "Layout("), ("sbp", "flow.sbp.split(0)"), ("sdy", "#sdy.sharding"), ("gspmd", "devices=[")])
def test_shardings_ready_to_paste(daemon, strategy, to, holds):
    path = f"/v1/strategies/{strategy[1]['strategy']}/shardings"
    answer = daemon.get(f"{path}?to={to}")
    assert answer.status == 200 and answer.headers["Content-Type"].startswith("text/plain"), answer.body
    assert holds in answer.body.decode() and "arg0" in answer.body.decode()
    assert daemon.get(f"{path}?to={to}").body == answer.body  # the second answer is what was kept
    refused = daemon.get(path + "?to=cobol")
    assert refused.status == 400 and "jax dtensor mindspore sbp sdy gspmd" in refused.json()["detail"]
    assert daemon.get(path).status == 400


def test_a_device_of_ones_own(daemon):
    profile = json.loads((ROOT / "costmodel" / "devices" / "tpu-v5e.json").read_text())
    profile["name"] = "mine"
    profile["memory_bytes_s"]["value"] //= 4
    _, end = finished(daemon, 520, device=profile)
    cost = daemon.get("/v1/strategies/" + end["strategy"]).json()["cost"]
    explanation = daemon.get(f"/v1/strategies/{end['strategy']}/explanation").json()
    assert explanation["device"] == "mine" and explanation["cost"] == cost
    answer = daemon.get(f"/v1/strategies/{end['strategy']}/timeline")
    assert answer.status == 200, answer.body
    runs = [e for e in answer.json()["traceEvents"] if e["ph"] == "X"]
    assert round(max(e["ts"] + e["dur"] for e in runs) * 1000) == cost["runtime_ns"]


@pytest.mark.parametrize("path", ["/v1/modules/sha256:00/arguments", "/v1/strategies/sha256:00/explanation", "/v1/strategies/sha256:00/outline", "/v1/strategies/x/timeline"])
def test_of_nothing(daemon, path):
    answer = daemon.get(path)
    assert answer.status == 404 and answer.json()["type"].endswith("not-found")


def test_hostile_names_arrive_as_text(daemon):
    text = module_text(528).replace("%arg0: tensor<528x16xf32>", '%arg0: tensor<528x16xf32> loc("<script>x")', 1)
    module = daemon.upload(text).json()["id"]
    assert daemon.get(f"/v1/modules/{module}/arguments").json()["arguments"][0]["name"] == "<script>x"


def layout(daemon, **query):
    return daemon.get("/v1/layout?" + urllib.parse.urlencode(query))


def test_layout(daemon):
    answer = layout(daemon, mesh="data=2,model=2", shape="7x4", sharding='[["data"],["model"]]').json()
    notations = answer.pop("notations")
    assert notations["jax"] == "PartitionSpec('data', 'model')" and notations["gspmd"] == "{devices=[2,2]<=[4]}"
    assert layout(daemon, mesh="data=4", shape="8", sharding='[["data:(1)2"]]').json()["notations"]["jax"] is None
    assert answer == {
        "count": 4, "parts": [2, 2], "devices": [
            {"device": 0, "slice": 0, "ranges": [[0, 4], [0, 2]]}, {"device": 1, "slice": 1, "ranges": [[0, 4], [2, 4]]},
            {"device": 2, "slice": 2, "ranges": [[4, 7], [0, 2]]}, {"device": 3, "slice": 3, "ranges": [[4, 7], [2, 4]]}]}
    many = layout(daemon, mesh="a=4096,b=4096", shape="scalar", sharding="[]").json()
    assert many["count"] == 1 << 24 and len(many["devices"]) == 4096


@pytest.mark.parametrize("query", [
    {}, {"mesh": "data=2", "shape": "8"}, {"mesh": "/etc/passwd", "shape": "8", "sharding": "[[]]"},
    {"mesh": "mesh.json", "shape": "8", "sharding": "[[]]"}, {"mesh": "data=2", "shape": "8x", "sharding": "[[],[]]"},
    {"mesh": "data=2", "shape": "-8", "sharding": "[[]]"}, {"mesh": "data=2", "shape": "x".join("1" * 99), "sharding": "[]"},
    {"mesh": "data=2", "shape": "8", "sharding": '[["model"]]'}, {"mesh": "data=2", "shape": "8", "sharding": "[" * 3000},
    {"mesh": "data=2", "shape": "99999999999999999999", "sharding": "[[]]"}])
def test_layouts_that_are_none(daemon, query):
    answer = layout(daemon, **query)
    assert answer.status == 400 and answer.json()["detail"], answer.body


def test_trip_count_of_the_request(daemon):
    """It reaches the search, its explanation and its timeline."""
    text = zstandard_text("decode_tiny")
    module = daemon.upload(text).json()["id"]
    documents = []
    for n in (1, 14):
        answer = daemon.search({"module": module, "mesh": "data=2,model=2", "evaluations": 5, "trip_count": n, "pins": ['tokens:[["data"],[]]']})
        strategy = daemon.wait(answer.json()["id"])["strategy"]
        documents.append(daemon.get(f"/v1/strategies/{strategy}").json())
        assert documents[-1]["trip_count"] == n and documents[-1]["cost"]["uncounted_loops"][0]["trips"] == n
        assert daemon.get(f"/v1/strategies/{strategy}/explanation").json()["cost"] == documents[-1]["cost"]
        events = daemon.get(f"/v1/strategies/{strategy}/timeline").json()["traceEvents"]
        last = max(e["ts"] + e["dur"] for e in events if e["ph"] == "X")
        assert round(last * 1000) == documents[-1]["cost"]["runtime_ns"]
    simulated = [daemon.request("POST", "/v1/simulate" + query, text.encode()).json() for query in ("", "?ops=true&device=h100&trip_count=14")]
    assert [cost["uncounted_loops"][0]["trips"] for cost in simulated] == [15, 14]
    assert documents[1]["cost"]["runtime_ns"] > 10 * documents[0]["cost"]["runtime_ns"]
