"""A whole strategy in another notation: the text runs as a program of that system and says what the strategy says.

JAX is the real one. PyTorch, MindSpore and OneFlow are stood in for by classes of the same names; `make notations` asks the real ones."""
import json
import os
import re
import subprocess
import sys

import pytest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.path.abspath(os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright")))

NAMES = ["params['w1']", "params['b']['c']", "batch"]
PLAN = {"format": "shardwright.strategy/1", "mesh": {"axes": [{"name": "data", "size": 2}, {"name": "model", "size": 4}]}, "arguments": [
    {"index": 0, "name": "params['w1']", "sharding": [[], ["model"]], "priority": [0, 1]},
    {"index": 1, "name": "params['b']['c']", "sharding": None, "propagated": [["model", "data"]]},
    {"index": 2, "name": "batch", "sharding": [["data"], []]}],
    "results": [{"index": 0, "sharding": [["data"], []]}, {"index": 1, "sharding": None}]}


def text_of(tmp_path, notation, plan=PLAN):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan))
    return subprocess.run([TOOL, "convert", "--strategy", str(path), "--to", notation], capture_output=True, text=True)


class Word:
    def __init__(self, name):
        self.name = name

    def __getattr__(self, name):
        return Word(self.name + "." + name)

    def __call__(self, *args, **how):
        return Word("%s(%s)" % (self.name, ", ".join([repr(a) for a in args] + ["%s=%r" % item for item in how.items()])))

    def __repr__(self):
        return self.name


def run(text):
    """The variables of the text, imports replaced by words."""
    scope = {}
    for line in re.findall(r"^(?:from \S+ )?import (.*)$", text, re.M):
        for name in line.split(", "):
            name = name.split(" as ")[-1]
            scope[name] = Word(name)
    exec(re.sub(r"^(from|import) .*$", "", text, flags=re.M), scope)
    return scope


def test_torch(tmp_path):
    scope = run(text_of(tmp_path, "dtensor").stdout)
    assert repr(scope["mesh"]) == "init_device_mesh('cuda', (2, 4), mesh_dim_names=('data', 'model'))"
    assert {name: repr(p) for name, p in scope["placements"].items()} == {
        NAMES[0]: "[Replicate(), Shard(1)]", NAMES[1]: "[_StridedShard(0, split_factor=4), Shard(0)]", NAMES[2]: "[Shard(0), Replicate()]"}
    assert repr(scope["results"]) == "[[Shard(0), Replicate()], None]"


def test_mindspore(tmp_path):
    layouts = run(text_of(tmp_path, "mindspore").stdout)["layouts"]
    assert repr(layouts[NAMES[1]]) == "Layout((2, 4), ('data', 'model'))(('model', 'data'))"
    assert list(layouts) == NAMES


def test_oneflow(tmp_path):
    scope = run(text_of(tmp_path, "sbp").stdout)
    assert repr(scope["placement"]) == "flow.placement(type='cuda', ranks=[[0, 1, 2, 3], [4, 5, 6, 7]])"
    assert repr(scope["tensors"][NAMES[0]]["sbp"]) == "[flow.sbp.broadcast, flow.sbp.split(1)]"
    own = scope["tensors"][NAMES[1]]
    assert repr(own["placement"]) == "flow.placement(type='cuda', ranks=[[0, 4], [1, 5], [2, 6], [3, 7]])"
    assert repr(own["sbp"]) == "[flow.sbp.split(0), flow.sbp.split(0)]"


CHILD = """
import os, sys
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"
exec(open(sys.argv[1]).read())
import jax.numpy as jnp
args = dict(params={"w1": jnp.ones((8, 8)), "b": {"c": jnp.ones(8)}}, batch=jnp.ones((8, 8)))
if callable(in_shardings):
    args["params"]["b"] = (jnp.ones(8),)
    in_shardings = in_shardings(**args)
step = jax.jit(lambda params, batch: batch @ params["w1"], in_shardings=(in_shardings["params"], in_shardings["batch"]))
compiled = step.lower(args["params"], args["batch"]).compile()
(params, batch), _ = compiled.input_shardings
print(tuple(params["w1"].spec), tuple(batch.spec))
"""


@pytest.mark.parametrize("leaf", ["params['b']['c']", "params['b'][0]"])
def test_jax(tmp_path, leaf):
    plan = json.loads(json.dumps(PLAN))
    plan["arguments"][1]["name"] = leaf
    (tmp_path / "specs.py").write_text(text_of(tmp_path, "jax", plan).stdout)
    done = subprocess.run([sys.executable, "-c", CHILD, str(tmp_path / "specs.py")], capture_output=True, text=True)
    assert done.stdout.strip() == "(None, 'model') ('data', None)", done.stderr[-2000:]


def test_lines(tmp_path):
    assert text_of(tmp_path, "gspmd").stdout.splitlines() == [
        '# mesh <["data"=2, "model"=4]>', "params['w1']  {devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}",
        "# params['b']['c']  left to the compiler", "batch  {devices=[2,1,4]<=[8] last_tile_dim_replicate}"]
    assert json.loads(text_of(tmp_path, "json").stdout) == {NAMES[0]: [[], ["model"]], NAMES[1]: None, NAMES[2]: [["data"], []]}
    assert 'batch  #sdy.sharding<@mesh, [{"data"}, {}]>' in text_of(tmp_path, "sdy").stdout


@pytest.mark.parametrize("change, words", [
    (lambda plan: plan.pop("mesh"), 'a strategy has "mesh" and "arguments"'),
    (lambda plan: plan["arguments"][0].pop("name"), 'an argument of the strategy has no "name"'),
    (lambda plan: plan["arguments"][0].update(sharding=[["z"]]), 'params[\'w1\']: '),
    (lambda plan: plan["arguments"][0].update(sharding=[["model:(1)2"]]), 'params[\'w1\']: cannot be expressed in jax: it has no sub-axes'),
])
def test_refused(tmp_path, change, words):
    plan = json.loads(json.dumps(PLAN))
    change(plan)
    done = text_of(tmp_path, "jax", plan)
    assert done.returncode == 1 and words in done.stderr


def test_search_prints_it(tmp_path):
    module = os.path.join(ROOT, "examples", "mlp.mlir")
    words = [TOOL, "search", module, "--mesh", "data=2,model=2", "--evaluations", "50"]
    shown = subprocess.run([*words, "--notation", "dtensor", "--emit-strategy", str(tmp_path / "s.json")], capture_output=True, text=True)
    again = subprocess.run([TOOL, "convert", "--strategy", str(tmp_path / "s.json"), "--to", "dtensor"], capture_output=True, text=True)
    assert shown.returncode == 0 and shown.stdout == again.stdout and "placements = {" in shown.stdout
    assert subprocess.run([*words, "--notation", "torch"], capture_output=True).returncode == 64
    assert subprocess.run([*words, "--notation", "jax", "--json"], capture_output=True).returncode == 64
