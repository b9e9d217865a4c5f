"""Values that a strategy holds to what its decisions led to, where shardings of arguments cannot say it."""
import json
import os
import subprocess

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))
CORPUS = os.path.join(ROOT, "tests", "corpus")
PROGRAM = os.path.join(CORPUS, "mixed_precision.mlir.zst")


def run(*words):
    done = subprocess.run([TOOL, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, 2), done.stderr
    return done.stdout


def test_an_order_of_decisions_that_arguments_cannot_say(tmp_path):
    """Weights over one axis, the batch over two, then both over what is left: without what is held propagation comes to something slower."""
    path = str(tmp_path / "plan.json")
    told = run("search", PROGRAM, "--mesh", "data=4,fsdp=2,model=2", "--apply", "exact", "--evaluations", "600", "--check", "--emit-strategy", path)
    with open(path) as f:
        plan = json.load(f)
    decided = {i for a in plan["actions"] for i in a.get("constraints", [])}
    held = [c for i, c in enumerate(plan["constraints"]) if i not in decided]
    assert held and "HELD" in told and held[0]["location"] in told
    assert json.loads(run("evaluate", PROGRAM, "--strategy", path, "--json"))["runtime_ns"] == plan["cost"]["runtime_ns"]
    less = str(tmp_path / "less.json")
    with open(less, "w") as f:
        json.dump({**plan, "constraints": [], "actions": []}, f)
    assert json.loads(run("evaluate", PROGRAM, "--strategy", less, "--json"))["runtime_ns"] > 1.05 * plan["cost"]["runtime_ns"]


def test_decisions_beside_what_is_held_are_explained(tmp_path):
    path = str(tmp_path / "plan.json")
    run("search", PROGRAM, "--mesh", "data=4,fsdp=2,model=2", "--apply", "exact", "--evaluations", "600", "--emit-strategy", path)
    explained = json.loads(run("explain", PROGRAM, "--strategy", path, "--json"))
    assert any(d["alternatives"] for d in explained["decisions"])
