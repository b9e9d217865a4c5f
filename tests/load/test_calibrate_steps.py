"""calibrate --store: rates fitted to measured and to compiled steps, on steps that a profile with known rates gave."""

import json
import random
import re
import shutil
import sqlite3
import subprocess

import pytest

from daemon import ROOT, SHARDWRIGHT, Daemon

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
    for name in ("memory_bytes_s", "vector_bytes_s", "matmul_intake_bytes_s", "reorder_elements_s"):
        by(profile[name], TRUE["memory"])
    for link in profile["links"]:
        by(link["bandwidth_bytes_s"], TRUE["links"])
    return {**profile, "name": "slower"}


def write_slower(folder):
    (folder / "slower.json").write_text(json.dumps(scaled(json.loads((ROOT / "costmodel" / "devices" / "tpu-v5e.json").read_text()))))


def slower_step(folder, module, document):
    """What a strategy takes on the device with the slower rates."""
    (folder / "s.json").write_text(json.dumps(document))
    path = folder / "store" / "objects" / module[7:9] / (module[9:] + ".zst")
    return json.loads(tool("evaluate", path, "--strategy", folder / "s.json", "--device-file", folder / "slower.json", "--json", code=(0, 2)))["runtime_ns"]


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A store with six strategies, a profile of slower rates, and what each strategy takes by that."""
    folder = tmp_path_factory.mktemp("filled")
    (folder / "jobs.jsonl").write_text("\n".join(
        json.dumps({"module": str(CORPUS / f"{p}.mlir.zst"), "mesh": mesh, "evaluations": 60}) for p in PROGRAMS for mesh in MESHES))
    tool("batch", folder / "jobs.jsonl", "--store", folder / "store", code=(0, 2))
    write_slower(folder)
    db = sqlite3.connect(folder / "store" / "shardwright.db")
    steps = {}
    for strategy, document, module in db.execute("SELECT id, document, module FROM strategies ORDER BY id"):
        steps[strategy] = slower_step(folder, module, json.loads(document))
    db.close()
    assert len(steps) == 6
    return folder, steps


def errors(said):
    """(before, after, left out), mean errors in percent."""
    return [float(x) for x in re.search(r"mean error +([\d.]+)% +([\d.]+)% +([\d.]+)%", said).groups()]


def test_refuses_too_little(filled):
    folder, steps = filled
    said = tool("calibrate", "--store", folder / "store", "-o", folder / "none.json", code=1)
    assert "0 measured strategies of 0 programs for tpu-v5e, and 0 compiled ones of 0" in said and "at least 5 of 2" in said
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


# ---------------------------------------------------------------- compiled steps

def row(plan, document, step, **more):
    return {"plan": plan, "apply": document["apply"], "source": "compiled", "compiler": "XLA for tpu", "version": "libtpu 1",
            "options": document["compiler_options"], "runtime_ns": step, "peak_bytes": 5000, "fits": True, "seconds": 1.5, "reason": None,
            "predicted_runtime_ns": document["cost"]["runtime_ns"], "predicted_peak_bytes": 4000, "chosen": False, **more}


def verify(d, folder, task, dice):
    """Answers as a verifier whose compiler makes of every program what the slower device takes for it."""
    planned = d.get(f"/v1/strategies/{task['strategy']}").json()
    common = {key: value for key, value in planned.items() if key not in ("alternatives", "actions", "simpler")}
    plans = [("this plan", {**planned, "apply": way}) for way in ("exact", "annotate")]
    plans += [("alternative %d" % i, {**common, **other}) for i, other in enumerate(planned["alternatives"], 1)]
    rows = [row(name, document, round(slower_step(folder, task["module"], document) * (1 + dice.uniform(-0.01, 0.01)))) for name, document in plans]
    best = min(range(len(rows)), key=lambda i: rows[i]["runtime_ns"])
    rows[best]["chosen"] = True
    rows.append(row("zero3", planned, 10 ** 9))                     # its decisions are nowhere
    rows.append(row("data_parallel", planned, None, fits=False, reason="refused"))
    body = {"attempt": task["attempt"], "verifications": rows}
    if plans[best][1] != planned:
        body["document"] = json.dumps({**plans[best][1], "cost": {**planned["cost"], "runtime_ns": 1}})
    said = d.request("POST", f"/v1/verifications/{task['search']}/result", json.dumps(body), {"Content-Type": "application/json"})
    assert said.status == 200, said.body
    return len(plans)


@pytest.fixture(scope="module")
def verified(tmp_path_factory):
    """A folder with a store of six verified searches, and how many of their steps have documents."""
    folder, dice, count = tmp_path_factory.mktemp("verified"), random.Random(4), 0
    write_slower(folder)
    d = Daemon(folder, "--workers", "2").start()
    try:
        for program in PROGRAMS:
            text = subprocess.run(["zstd", "-dcq", CORPUS / f"{program}.mlir.zst"], capture_output=True, check=True).stdout
            module = d.upload(text).json()["id"]
            for mesh in MESHES:
                asked = d.search({"module": module, "mesh": mesh, "evaluations": 60, "verify": 3})
                assert asked.status in (200, 202), asked.body
                assert d.wait(asked.json()["id"])["state"] == "succeeded"
        while (task := d.request("POST", "/v1/verifications/claim", "{}", {"Content-Type": "application/json"})).status == 200:
            count += verify(d, folder, task.json(), dice)
        beside = tool("calibrate", "--store", d.store, "-o", folder / "beside.json", "--name", "mine")
    finally:
        assert d.stop() == 0
    assert tool("calibrate", "--store", d.store, "-o", folder / "alone.json", "--name", "mine") == beside
    return folder, count


def rates(said):
    return [dict(zip(TRUE, map(float, found))) for found in re.findall(r"rates: compute x([\d.]+), memory x([\d.]+), links x([\d.]+)", said)]


def test_learns_from_compiled_steps(verified, tmp_path):
    """Without measurements, what verifiers found is fitted: both ways of a plan and its alternatives, each program by the others, too."""
    folder, count = verified
    said = tool("calibrate", "--store", folder / "store", "-o", tmp_path / "fitted.json")
    before, after, left_out = errors(said)
    assert before > 15 and after < before / 2 and left_out < before * 0.7, said
    found, = rates(said)
    assert all(abs(found[k] / TRUE[k] - 1) < 0.1 for k in ("memory", "links")), said
    assert "COMPILED" in said and "MEASURED" not in said and re.search(r"  alternative 1, (exact|annotate)$", said, re.M), said
    assert "left out: 6 baselines, whose decisions are not kept" in said, said
    assert len(re.findall(r", (exact|annotate)$", said, re.M)) == count > 12, said
    assert f"calibrated to {count} compiled steps" in said.splitlines()
    profile = json.loads((tmp_path / "fitted.json").read_text())
    assert profile["name"] == "tpu-v5e-calibrated" and profile["memory_bytes_s"]["source"] == f"calibrated to {count} compiled steps"
    assert abs(profile["memory_bytes_s"]["value"] / (819e9 * found["memory"]) - 1) < 2e-3


def changed(folder, tmp_path, sql):
    """A copy of the store, with another row or two."""
    store = shutil.copytree(folder / "store", tmp_path / "store")
    with sqlite3.connect(store / "shardwright.db") as db:
        db.executescript(sql)
    db.close()
    return store


def test_alternatives_without_what_the_answer_decided(verified, tmp_path):
    """An alternative has no actions: those of the answer name constraints that it may not have."""
    folder, count = verified
    store = changed(folder, tmp_path, "DELETE FROM verifications WHERE plan = 'this plan';"
                    """UPDATE strategies SET document = json_set(document, '$.actions', json('[{"constraints":[0]}]'));""")
    said = tool("calibrate", "--store", store, "-o", tmp_path / "fitted.json")
    assert "alternative 1" in said and "this plan" not in said and f"calibrated to {count - 12} compiled steps" in said, said


def test_a_schedule_that_is_far_off_pulls_little(verified, tmp_path):
    """One program that the compiler makes six times as slow: the rates of the others stay."""
    folder, _ = verified
    whole, = rates(tool("calibrate", "--store", folder / "store", "-o", tmp_path / "a.json"))
    store = changed(folder, tmp_path, "UPDATE verifications SET runtime_ns = runtime_ns * 6 WHERE number ="
                    " (SELECT min(number) FROM verifications WHERE plan = 'this plan' AND apply = 'annotate')")
    odd, = rates(tool("calibrate", "--store", store, "-o", tmp_path / "b.json"))
    assert all(abs(odd[k] / whole[k] - 1) < 0.12 for k in TRUE), (whole, odd)


def test_says_when_nothing_is_learned(verified, tmp_path):
    """Schedules that take what was predicted leave the rates as they are."""
    folder, _ = verified
    store = changed(folder, tmp_path, "DELETE FROM verifications WHERE plan = 'this plan'; UPDATE verifications SET runtime_ns = predicted_runtime_ns;")
    said = tool("calibrate", "--store", store, "-o", tmp_path / "fitted.json")
    assert errors(said) == [0, 0, 0] and rates(said) == [dict.fromkeys(TRUE, 1)] and "predicted no better: keep the profile" in said, said
    assert "predicted no better" not in tool("calibrate", "--store", folder / "store", "-o", tmp_path / "fitted.json")


def test_another_cost_model_is_left_out(verified, tmp_path):
    """Schedules were costed by the model of their time: what they say of that one's rates is nothing for this one."""
    folder, _ = verified
    store = changed(folder, tmp_path, "UPDATE strategies SET cost_model = '1'")
    said = tool("calibrate", "--store", store, "-o", tmp_path / "none.json", code=1)
    assert "0 compiled ones of 0, beside those of another cost model" in said, said


def test_measured_steps_are_preferred(verified, tmp_path):
    """Two measurements are predicted with the rates of compiled steps; six decide. Both are shown apart."""
    folder, count = verified
    store = shutil.copytree(folder / "store", tmp_path / "store")
    with sqlite3.connect(store / "shardwright.db") as db:
        planned = db.execute("SELECT j.planned, t.module, t.document FROM verification_jobs j JOIN strategies t ON t.id = j.planned"
                             " ORDER BY t.fingerprint, t.mesh").fetchall()
    db.close()
    steps = [(strategy, 2 * slower_step(folder, module, json.loads(document))) for strategy, module, document in planned]
    for strategy, step in steps[:2]:
        tool("record", strategy, "--step-ns", step, "--store", store)
    few = tool("calibrate", "--store", store, "-o", tmp_path / "few.json")
    compiled, measured = few.split("MEASURED")
    assert "COMPILED" in compiled and rates(compiled) == rates(measured) and "too few rows to fit, as by compiled steps" in measured, few
    assert f"calibrated to {count} compiled steps" in few and "AFTER" in measured
    for strategy, step in steps[2:]:
        tool("record", strategy, "--step-ns", step, "--store", store)
    said = tool("calibrate", "--store", store, "-o", tmp_path / "fitted.json")
    compiled, measured = said.split("MEASURED")
    assert rates(compiled) == rates(few)[:1] and errors(measured)[1] < 6, said
    assert rates(measured)[0]["memory"] < 0.6 * rates(compiled)[0]["memory"], said
    source = f"calibrated to 6 measured steps, near the rates of {count} compiled ones"
    profile = json.loads((tmp_path / "fitted.json").read_text())
    assert source in said and profile["memory_bytes_s"]["source"] == source
    assert abs(profile["memory_bytes_s"]["value"] / (819e9 * rates(measured)[0]["memory"]) - 1) < 2e-3
