"""The contracts of the command line: documents, exit codes, and that every road to a cost gives the same cost."""
import json
import os
import re
import subprocess

import pytest

TOOL = os.environ.get("SHARDWRIGHT", "build/shardwright")
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
EXAMPLE = os.path.join(ROOT, "examples", "mlp.mlir")
VOLATILE = ("seconds", "evaluations_per_second")
COST = {"runtime_ns", "compute_ns", "communication_ns", "exposed_communication_ns", "peak_bytes", "argument_bytes", "output_bytes", "alias_bytes",
        "temporary_bytes", "flops_per_device", "collectives"}


def corpus(name):
    return os.path.join(ROOT, "tests", "corpus", name + ".mlir.zst")


def run(*args, ok=(0,)):
    done = subprocess.run([TOOL, *map(str, args)], capture_output=True, text=True, timeout=600)
    assert done.returncode in ok, (args, done.returncode, done.stderr[-1000:])
    return done.stdout


def stable(document):
    if isinstance(document, dict):
        return {k: stable(v) for k, v in document.items() if k not in VOLATILE}
    return [stable(v) for v in document] if isinstance(document, list) else document


def plan(module, *args, ok=(0, 2)):
    return json.loads(run("search", module, *args, "--json", ok=ok))


def test_what_was_asked_for_is_in_the_document():
    """Who plans more for the same program has to keep it: a baseline that is verified beside the answer."""
    asked = ("--pin", "batch['x']:[[\"data\"],[]]", "--pin", "*w1*:[[],[]]", "--forbid", "*w2*:0:model")
    search = plan(corpus("mlp_tiny"), "--mesh", "data=2,model=4", "--evaluations", 20, *asked, "--open-results")["search"]
    assert search["pins"] == [asked[1], asked[3]] and search["forbids"] == [asked[5]] and search["open_results"] is True
    assert not {"pins", "forbids", "open_results"} & set(plan(corpus("mlp_tiny"), "--mesh", "data=2,model=4", "--evaluations", 20)["search"])


PROGRAMS = ["mlp", "mlp_tiny", "transformer_2_tiny", "transformer_4", "transformer_4_forward", "transformer_scan", "moe", "convnet",
            "llama_2_tiny", "llama_4", "encoder_decoder_tiny", "dit_tiny", "decode_tiny", "decode", "lora_tiny", "lora", "accumulate_tiny"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_road_to_a_cost(tmp_path, name):
    """search = evaluate of its strategy = simulate of its module; apply writes the emitted module; baselines are beaten."""
    module, mesh = corpus(name), ("--mesh", "data=2,model=4")
    mlir, strategy = tmp_path / "out.mlir", tmp_path / "s.json"
    document = plan(module, *mesh, "--evaluations", 150, "--emit-mlir", mlir, "--emit-strategy", strategy)
    cost = document["cost"]
    assert document["format"] == "shardwright.strategy/1" and COST <= set(cost)
    assert cost["peak_bytes"] == cost["argument_bytes"] + cost["output_bytes"] - cost["alias_bytes"] + cost["temporary_bytes"]
    assert document["fits"] == (cost["peak_bytes"] <= document["memory_limit_bytes"])
    fitting = [b["cost"]["runtime_ns"] for b in document["baselines"] if b["fits"]]
    assert not fitting or document["fits"] and cost["runtime_ns"] <= min(fitting)
    assert {"replicated", "data_parallel", "zero2", "zero3"} <= {b["name"] for b in document["baselines"]}
    assert stable(json.loads(strategy.read_text())) == stable(document)
    assert json.loads(run("evaluate", module, "--strategy", strategy, "--json", ok=(0, 2))) == cost
    assert json.loads(run("simulate", mlir, "--device", document["device"], "--json", ok=(0, 2))) == cost
    run("apply", module, "--strategy", strategy, "-o", tmp_path / "applied.mlir")
    assert (tmp_path / "applied.mlir").read_text() == mlir.read_text()
    assert document["unsupported"] == []
    assert len(run("explain", module, "--strategy", strategy)) > 100


@pytest.mark.parametrize("name", ["mlp", "transformer_2_tiny", "moe"])
def test_threads_do_not_change_the_document(name):
    args = (corpus(name), "--mesh", "data=2,model=4", "--evaluations", 200, "--seed", 3)
    one, two = plan(*args, "--threads", 1), plan(*args, "--threads", 2)
    assert stable(one) == stable(two)
    assert stable(plan(*args)) == stable(one)


def test_incremental_equals_unmemoised():
    for name in ("mlp", "transformer_2_tiny"):
        plan(corpus(name), "--mesh", "data=2,model=4", "--evaluations", 150, "--check")


def shardings(document, pattern):
    return [a["sharding"] for a in document["arguments"] if re.search(pattern, a["name"])]


def test_opt_keeps_the_program():
    text = run("opt", "--passes", "sdy-propagation-pipeline", EXAMPLE)
    assert "func.func" in text and text.count("stablehlo.dot_general") == open(EXAMPLE).read().count("stablehlo.dot_general")


def test_fingerprints():
    first = json.loads(run("fingerprint", EXAMPLE, "--json"))
    assert first["fingerprint"].startswith("sha256:") and first["arguments"] > 10
    assert json.loads(run("fingerprint", corpus("mlp"), "--json"))["fingerprint"] != first["fingerprint"]


def test_verbs_explain_themselves():
    out = run("help")
    for verb in ("search", "apply", "evaluate", "explain", "opt", "rules", "sbp", "hlo", "lower", "simulate", "layout", "convert", "devices"):
        assert verb in out
        assert len(run(verb, "--help")) > 60, verb
    assert "shardwright" in run("version")
    assert "tpu-v5e" in run("devices")


def test_trace(tmp_path):
    run("search", corpus("mlp"), "--mesh", "data=4", "--evaluations", 40, "--trace", tmp_path / "t.json", ok=(0, 2))
    events = json.loads((tmp_path / "t.json").read_text())
    events = events["traceEvents"] if isinstance(events, dict) else events
    assert any(e["ph"] == "X" and e["dur"] >= 0 for e in events) and any(e["ph"] == "C" for e in events)


def test_hand_written_strategy(tmp_path):
    path = tmp_path / "dp.json"
    path.write_text(json.dumps({"mesh": {"axes": [{"name": "data", "size": 8}]}, "arguments": [{"name": "batch*", "sharding": [["data"], []]}]}))
    module = corpus("mlp")
    document = plan(module, "--mesh", "data=8", "--evaluations", 50, "--baseline", path)
    names = {b["name"]: b for b in document["baselines"]}
    assert str(path) in names
    assert document["cost"]["runtime_ns"] <= names[str(path)]["cost"]["runtime_ns"]
