"""Roles in the strategy document: what optimizers and simulations carry from call to call."""
import json
import os
import re
import subprocess

import pytest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))


def text_of(program):
    return subprocess.run(["zstd", "-qdc", os.path.join(ROOT, "tests", "corpus", program + ".mlir.zst")], check=True, capture_output=True).stdout.decode()


def search(text, tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text(text)
    done = subprocess.run([TOOL, "search", str(path), "--mesh", "data=4", "--device", "tpu-v5e", "--evaluations", "20", "--json"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def roles_of(document):
    return {a["name"]: a["role"] for a in document["arguments"]}


@pytest.mark.parametrize("donated", [True, False], ids=["donated", "not donated"])
@pytest.mark.parametrize("optimizer, not_states", [
    ("lamb", ()), ("adafactor", ()), ("muon", ("ns_coeffs",)), ("schedule_free", ()), ("shampoo", ()), ("soap", ()), ("psgd", ())])
def test_moments_are_state(optimizer, not_states, donated, tmp_path):
    """Also of optimizers whose updates take norms, means of rows, matrix products or roots of the moments."""
    text = text_of(optimizer + "_tiny")
    if not donated:
        text = re.sub(r"tf\.aliasing_output = \d+ : i32(, )?", "", text)
    document = search(text, tmp_path)
    roles = roles_of(document)
    for argument in document["arguments"]:
        name, single = argument["name"], "x" not in argument["type"]
        if name.startswith("params"):
            assert roles[name] == "parameter", name
        elif name.startswith("opt_state") and not single and "<1x" not in argument["type"] and not name.endswith(not_states or "?"):
            assert roles[name] == "state", name
    costs = {b["name"]: b["cost"] for b in document["baselines"]}
    assert costs["zero2"]["peak_bytes"] < costs["data_parallel"]["peak_bytes"]
    assert costs["zero2"] != costs["data_parallel"]


@pytest.mark.parametrize("donated", [True, False], ids=["donated", "not donated"])
def test_simulated_bodies_are_data(donated, tmp_path):
    text = text_of("physics_tiny")
    if not donated:
        text = re.sub(r"tf\.aliasing_output = \d+ : i32(, )?", "", text)
    document = search(text, tmp_path)
    assert roles_of(document) == {"policy['bias']": "parameter", "policy['inward']": "parameter", "policy['outward']": "parameter",
                                  "position": "data", "velocity": "data"}
    assert [b["name"] for b in document["baselines"]][1] == "data_parallel"


def test_weights_without_tokens_are_parameters(tmp_path):
    """A training step over floats alone is no simulation."""
    roles = roles_of(search(text_of("mlp_tiny"), tmp_path))
    assert sorted(roles.values()) == ["data", "data", "parameter", "parameter"]
