"""Options of the device's compiler: searched for, named by the plan, and counted where the plan is costed again."""
import json
import os
import subprocess

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))
STEP = os.path.join(ROOT, "tests", "corpus", "transformer_4.mlir.zst")
ASYNC, WINDOWED = "xla_tpu_enable_async_all_to_all", "xla_jf_spmd_threshold_for_windowed_einsum_mib"
PREFETCHES = "xla_max_cross_program_prefetches"


def run(*words):
    return subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True, timeout=300)


def search(path, *more, step=STEP, mesh="data=4,model=4"):
    done = run("search", step, "--mesh", mesh, "--evaluations", 1500, "--emit-strategy", path, *more)
    assert done.returncode == 0, done.stderr
    return json.loads(path.read_text()), done.stdout


def evaluate(path, document, device=(), step=STEP):
    path.write_text(json.dumps(document))
    done = run("evaluate", step, "--strategy", path, "--json", *device)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["runtime_ns"], done.stderr


def test_the_plan_names_what_its_cost_assumes(tmp_path):
    moves = {"step": os.path.join(ROOT, "tests", "corpus", "encoder_decoder.mlir.zst")}  # by all_to_all, on this mesh
    plain, _ = search(tmp_path / "default.json", **moves, mesh="data=8,model=2")
    best, table = search(tmp_path / "best.json", "--compiler-options", "best", "--alternatives", 2, **moves, mesh="data=8,model=2")
    assert plain["compiler_options"] == {} and best["compiler_options"] == {ASYNC: "true"}
    assert best["cost"]["runtime_ns"] <= plain["cost"]["runtime_ns"]
    assert "to be compiled with %s=true" % ASYNC in table
    assert all(WINDOWED not in other["compiler_options"] for other in best["alternatives"])
    assert evaluate(tmp_path / "s.json", best, **moves) == (best["cost"]["runtime_ns"], "")
    without, _ = evaluate(tmp_path / "s.json", {**best, "compiler_options": {}}, **moves)
    assert without > best["cost"]["runtime_ns"] * 1.001
    done = run("apply", moves["step"], "--strategy", tmp_path / "best.json", "-o", tmp_path / "out.mlir")
    assert done.returncode == 0 and 'compiler_options={"%s": "true"}' % ASYNC in done.stderr


def test_what_a_plan_would_gain_is_told(tmp_path):
    """On a device whose option makes all collectives asynchronous."""
    profile = json.loads(run("devices", "tpu-v5e").stdout)
    profile["asynchronous"] = []
    profile["compiler_options"] = [{"name": "xla_all", "value": "on", "asynchronous": ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_permute"]}]
    (tmp_path / "d.json").write_text(json.dumps(profile))
    document, table = search(tmp_path / "s.json", "--device-file", tmp_path / "d.json")
    better = document["better_compiler_options"]
    assert better["compiler_options"] == {"xla_all": "on"} and better["runtime_ns"] < document["cost"]["runtime_ns"] * 0.99
    assert "compiled with xla_all=on a step would take" in table
    told, _ = evaluate(tmp_path / "t.json", {**document, **better}, ("--device-file", tmp_path / "d.json"))
    assert told == better["runtime_ns"]


def test_an_argument_that_takes_the_chip(tmp_path):
    """Frozen weights of 112 MiB are fetched before the program starts; without them there the rest has room."""
    lora = os.path.join(ROOT, "tests", "corpus", "lora.mlir.zst")
    found = {}
    for way in ("default", "best"):
        done = run("search", lora, "--mesh", "data=4,model=4", "--evaluations", 300, "--compiler-options", way, "--emit-strategy", tmp_path / way)
        assert done.returncode == 0, done.stderr
        found[way] = json.loads((tmp_path / way).read_text())
    assert found["default"]["better_compiler_options"]["compiler_options"] == {PREFETCHES: "0"}
    assert found["best"]["compiler_options"] == {PREFETCHES: "0"}
    assert found["best"]["cost"]["runtime_ns"] < found["default"]["cost"]["runtime_ns"] * 0.98


def test_annotations_are_not_made_worse(tmp_path):
    plain, _ = search(tmp_path / "a.json", "--apply", "annotate")
    best, _ = search(tmp_path / "b.json", "--apply", "annotate", "--compiler-options", "best")
    assert best["cost"]["runtime_ns"] <= plain["cost"]["runtime_ns"] * 1.02  # another search, on another clock
    assert evaluate(tmp_path / "s.json", best)[0] == best["cost"]["runtime_ns"]
    assert evaluate(tmp_path / "s.json", {**plain, "compiler_options": {WINDOWED: "1000000"}})[0] != plain["cost"]["runtime_ns"]


def test_bad_input(tmp_path):
    done = run("search", STEP, "--mesh", "data=4", "--compiler-options", "worst")
    assert done.returncode == 64 and "--compiler-options: expected default or best, found 'worst'" in done.stderr
    document, _ = search(tmp_path / "s.json")
    runtime, said = evaluate(tmp_path / "t.json", {**document, "compiler_options": {"xla_unheard_of": "1"}})
    assert runtime == document["cost"]["runtime_ns"] and "xla_unheard_of=1: the profile of tpu-v5e lacks it" in said
    for options, told in (([], "expected an object of names and values"), ({"a": 1}, "'a': expected a string")):
        (tmp_path / "t.json").write_text(json.dumps({**document, "compiler_options": options}))
        done = run("evaluate", STEP, "--strategy", tmp_path / "t.json")
        assert done.returncode == 1 and "t.json" in done.stderr and told in done.stderr
    profile = json.loads(run("devices", "tpu-v5e").stdout)
    for options, told in (([{"name": "a", "value": "b"}], "compiler_options[0]: expected what it changes"),
                          ([{"name": "a", "value": "b", "asynchronous": ["send"]}], "compiler_options[0].asynchronous[0]: expected a collective"),
                          ([{"name": "a", "value": "b", "windowed_einsums": True}], "compiler_options[0].windowed_einsums: expected false"),
                          ([{"name": "a", "value": "b", "windowed_einsums": False}] * 2, "compiler_options[1]: option given twice"),
                          ([{"name": str(i), "value": "b", "windowed_einsums": False} for i in range(9)], "expected a list of at most 8 options")):
        (tmp_path / "d.json").write_text(json.dumps({**profile, "compiler_options": options}))
        done = run("search", STEP, "--mesh", "data=4", "--device-file", tmp_path / "d.json")
        assert done.returncode == 1 and told in done.stderr, done.stderr
