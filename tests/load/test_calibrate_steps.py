"""calibrate --store: rates fitted to measured steps, on steps that a profile with known rates gave."""

import json
import random
import re
import sqlite3
import subprocess

import pytest

from daemon import ROOT, SHARDWRIGHT

CORPUS = ROOT / "tests" / "corpus"
PROGRAMS = ("mlp", "transformer_4_forward", "decode")
MESHES = ("data=4,model=4", "data=2,model=2")
TRUE = {"compute": 0.7, "memory": 0.8, "links": 0.5}


def tool(*words, code=0):
    done = subprocess.run([SHARDWRIGHT, *map(str, words)], capture_output=True, text=True, timeout=300)
    assert done.returncode in (code if isinstance(code, tuple) else (code,)), done
    return done.stdout if code != 1 and code != 64 else done.stderr


def scaled(profile):
    """The profile with its rates times TRUE."""
    def by(entry, factor):
        value = entry["value"]
        entry["value"] = [round(v * factor) for v in value] if isinstance(value, list) else round(value * factor)

    for entry in (*profile["peak_flops"].values(), profile["vector_flops"], profile["matmul_results_s"], profile["vector_elements_s"], profile["lone_elements_s"]):
        by(entry, TRUE["compute"])
    for name in ("memory_bytes_s", "reorder_elements_s"):
        by(profile[name], TRUE["memory"])
    for link in profile["links"]:
        by(link["bandwidth_bytes_s"], TRUE["links"])
    return {**profile, "name": "slower"}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A store with six strategies, a profile of slower rates, and what each strategy takes by that."""
    folder = tmp_path_factory.mktemp("filled")
    (folder / "jobs.jsonl").write_text("\n".join(
        json.dumps({"module": str(CORPUS / f"{p}.mlir.zst"), "mesh": mesh, "evaluations": 60}) for p in PROGRAMS for mesh in MESHES))
    tool("batch", folder / "jobs.jsonl", "--store", folder / "store", code=(0, 2))
    (folder / "slower.json").write_text(json.dumps(scaled(json.loads((ROOT / "costmodel" / "devices" / "tpu-v5e.json").read_text()))))
    db = sqlite3.connect(folder / "store" / "shardwright.db")
    steps = {}
    for strategy, document, module in db.execute("SELECT id, document, module FROM strategies ORDER BY id"):
        (folder / "s.json").write_text(document)
        path = folder / "store" / "objects" / module[7:9] / (module[9:] + ".zst")
        assert path.exists(), list((folder / "store" / "objects").iterdir())
        steps[strategy] = json.loads(tool("evaluate", path, "--strategy", folder / "s.json", "--device-file", folder / "slower.json", "--json", code=(0, 2)))["runtime_ns"]
    db.close()
    assert len(steps) == 6
    return folder, steps


def errors(said):
    """(before, after, left out), mean errors in percent."""
    return [float(x) for x in re.search(r"mean error +([\d.]+)% +([\d.]+)% +([\d.]+)%", said).groups()]


def test_refuses_too_little(filled):
    folder, steps = filled
    said = tool("calibrate", "--store", folder / "store", "-o", folder / "none.json", code=1)
    assert "0 measured strategies of 0 programs for tpu-v5e" in said and "at least 5 of 2" in said
    assert not (folder / "none.json").exists()
    assert "no store" in tool("calibrate", "--store", folder / "nothing", "-o", "-", code=1)
    for wrong in (["table.csv"], ["--group", "2"], ["--link", "ici"]):
        assert "--store takes no tables" in tool("calibrate", "--store", folder / "store", "-o", "-", *wrong, code=64)
    assert "-o DEVICE.json" in tool("calibrate", "--store", folder / "store", code=64)


def test_finds_known_rates(filled):
    """Steps of a device whose rates are known, 1% of noise: the factors come back, and a program that was left out is predicted."""
    folder, steps = filled
    dice = random.Random(3)
    for strategy, step in steps.items():
        tool("record", strategy, "--step-ns", round(step * (1 + dice.uniform(-0.01, 0.01))), "--store", folder / "store")
    said = tool("calibrate", "--store", folder / "store", "-o", folder / "fitted.json", "--name", "mine")
    before, after, left_out = errors(said)
    assert before > 15 and after < 3 and left_out < before / 2, said
    rates = dict(zip(TRUE, map(float, re.search(r"compute x([\d.]+), memory x([\d.]+), links x([\d.]+)", said).groups())))
    assert all(abs(rates[k] / TRUE[k] - 1) < 0.2 for k in ("memory", "links")), said
    fitted = json.loads((folder / "fitted.json").read_text())
    assert fitted["name"] == "mine" and "6 measured steps" in fitted["memory_bytes_s"]["source"]
    assert fitted["memory_bytes_s"]["value"] == round(819e9 * rates["memory"], -9) or abs(fitted["memory_bytes_s"]["value"] / (819e9 * rates["memory"]) - 1) < 1e-3
    assert tool("calibrate", "--store", folder / "store", "-o", folder / "again.json", "--name", "mine") == said  # and again the same
    assert (folder / "again.json").read_text() == (folder / "fitted.json").read_text()
    tool("search", CORPUS / "mlp_tiny.mlir.zst", "--mesh", "data=4", "--device-file", folder / "fitted.json", "--evaluations", 20)
