"""What an expert would have chosen must be found: batch + Megatron, ZeRO where memory asks for it, experts on the MoE."""
import json
import os
import re
import subprocess
import sys

import test_contracts
from test_contracts import corpus

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))
sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))
from experts import Program, experts_of  # noqa: E402


def plan(module, *more):
    """The cheapest plan that is found; which of those that cost as much is the answer, test_simpler.py says."""
    return test_contracts.plan(module, *more, "--uncertainty-ppm", 0)


def axes(document, pattern, dimension):
    """The axes that the arguments matching the pattern have on a dimension, decided or propagated; a set of tuples."""
    found = [a["sharding"] or a["propagated"] for a in document["arguments"] if re.search(pattern, a["name"])]
    assert found, pattern
    return {tuple(s[dimension]) for s in found}


def elements(text):
    product = 1
    for size in re.findall(r"(\d+)x", text):
        product *= int(size)
    return product


def expert_time(name, program, mesh, limit, tmp_path):
    """Step time of a strategy of tests/bench/experts, which has to fit."""
    known = Program(program, TOOL)
    path = tmp_path / "expert.json"
    path.write_text(json.dumps(dict(experts_of(known, mesh))[name]))
    done = subprocess.run([TOOL, "evaluate", known.path, "--strategy", str(path), "--device", "tpu-v5e", "--json"], capture_output=True, text=True)
    cost = json.loads(done.stdout)
    assert cost["peak_bytes"] <= limit, name
    return cost["runtime_ns"]


def parts(document, argument):
    """Devices that hold different parts of the argument."""
    sizes, product = {a["name"]: a["size"] for a in document["mesh"]["axes"]}, 1
    for dim in argument["sharding"] or argument["propagated"]:
        for axis in dim:
            product *= sizes[axis.split(":")[0]]
    return product


def test_transformer_composite_under_a_memory_limit(tmp_path):
    """5B parameters on 16 devices of 16 GiB: better than ZeRO-3 by a tenth, and than the textbook mixture of data
    parallelism, Megatron and ZeRO-3; parameters, state and batch are all sharded."""
    document = plan(corpus("transformer_32"), "--mesh", "data=4,model=4", "--memory", "16GiB", "--evaluations", 1000)
    baselines = {b["name"]: b for b in document["baselines"]}
    assert document["fits"] and not baselines["data_parallel"]["fits"] and not baselines["zero2"]["fits"]
    assert document["cost"]["runtime_ns"] * 10 < baselines["zero3"]["cost"]["runtime_ns"] * 9
    textbook = expert_time("batch(data) megatron(model) embed_vocabulary(model) zero3(data)", "transformer_32", {"data": 4, "model": 4},
                           document["memory_limit_bytes"], tmp_path)
    assert document["cost"]["runtime_ns"] <= textbook
    assert any(axes(document, r"^batch", 0))     # the targets may be whole, where the loss is cut by words
    for role, share in (("parameter", 2), ("state", 8)):
        sizes = [(a, elements(a["type"])) for a in document["arguments"] if a["role"] == role]
        whole = sum(n for _, n in sizes)
        held = sum(n / parts(document, a) for a, n in sizes)
        assert held * share <= whole, role


def test_memory_limit_is_respected_at_every_level():
    """Tighter limits are met as long as anything meets them, at growing cost."""
    program, mesh = corpus("transformer_4"), ("--mesh", "data=4,model=4")
    free = plan(program, *mesh)
    last = free["cost"]["runtime_ns"]
    zero3 = next(b["cost"] for b in free["baselines"] if b["name"] == "zero3")
    least = plan(program, *mesh, "--objective", "memory")["cost"]["peak_bytes"]
    for limit in (free["cost"]["peak_bytes"] * 95 // 100, least * 103 // 100, zero3["peak_bytes"]):
        tight = plan(program, *mesh, "--memory", limit)
        assert tight["fits"] and tight["cost"]["peak_bytes"] <= limit
        assert tight["cost"]["runtime_ns"] * 103 >= last * 100, "a tighter limit cannot be cheaper, but for how far answers spread"


def test_moe_shards_experts():
    document = plan(corpus("moe"), "--mesh", "data=2,expert=8")
    assert document["fits"]
    for name in ("w_in", "w_out"):
        (got,) = axes(document, r"^params.*\['%s'\]" % name, 0)
        assert got, name
    best_baseline = min(b["cost"]["runtime_ns"] for b in document["baselines"] if b["fits"])
    assert document["cost"]["runtime_ns"] * 2 < best_baseline


def test_axes_that_share_weights_and_batch(tmp_path):
    """Experts over two axes, their hidden dim over the third, the batch over all: no axis would choose that on its own."""
    program, mesh = corpus("moe"), ("--mesh", "replica=2,data=2,model=4")
    by_hand = [{"manual": {"arguments": "params*'w_in'*", "dimension": 2, "axis": "data"}}]
    by_hand += [{"named": "data_parallel", "axis": axis} for axis in ("data", "model", "replica")]
    by_hand += [{"manual": {"arguments": "params*'w_in'*", "dimension": 0, "axis": axis}} for axis in ("model", "replica")]
    by_hand += [{"named": "zero2", "axis": axis} for axis in ("replica", "data", "model")]
    schedule = tmp_path / "schedule.json"
    schedule.write_text(json.dumps({"tactics": by_hand}))
    wanted = plan(program, *mesh, "--schedule", schedule)
    for seed in (1, 2):
        assert plan(program, *mesh, "--seed", seed)["cost"]["runtime_ns"] <= wanted["cost"]["runtime_ns"]


def scheduled(tmp_path, program, options, *tactics):
    """tactics: (arguments, dimension, axis) or (name, axis)."""
    path = tmp_path / "schedule.json"
    path.write_text(json.dumps({"tactics": [{"named": t[0], "axis": t[1]} if len(t) == 2 else {"manual": {"arguments": t[0], "dimension": t[1], "axis": t[2]}}
                                            for t in tactics]}))
    return plan(corpus(program), *options, "--schedule", path)


def test_experts_behind_the_batch(tmp_path):
    """The hidden dim before the batch, which is over all axes, and the experts behind it over those that hold its last parts."""
    options = ("--mesh", "a=2,b=2,c=4", "--device", "tpu-v5p")
    wanted = scheduled(tmp_path, "moe", options, ("params*'w_in'*", 2, "c"), *(("data_parallel", axis) for axis in "cba"),
                       ("params*'w_in'*", 0, "b"), ("params*'w_in'*", 0, "a"), *(("zero3", axis) for axis in "abc"))
    assert plan(corpus("moe"), *options)["cost"]["runtime_ns"] <= wanted["cost"]["runtime_ns"]


FOUR_LAYERS = ("--mesh", "data=16,model=16", "--device", "tpu-v5e")


# Of the two inner weights (arguments 3 and 5), over which axis the values come out of one, over that axis the next one takes them in;
# the biases of the hidden layers over both axes.
BOTH_WAYS = [(3, 0, "data"), (5, 0, "model"), (3, 1, "model"), (5, 1, "data"), ([0, 2, 4], 0, "data"), ([0, 2, 4], 0, "model")]


def test_weights_cut_both_ways(tmp_path):
    wanted = scheduled(tmp_path, "mlp", FOUR_LAYERS, *BOTH_WAYS)
    for seed in (1, 2):
        found = plan(corpus("mlp"), *FOUR_LAYERS, "--seed", seed)
        assert found["cost"]["runtime_ns"] * 100 <= wanted["cost"]["runtime_ns"] * 101


def test_later_axes_do_not_come_early(tmp_path):
    """Each of the biases has one axis from a weight and gets the other by the last two decisions. With the steps of their first axes for
    priorities, both would come before the weights' second axes, and XLA would not arrive at what was decided."""
    found = scheduled(tmp_path, "mlp", FOUR_LAYERS, *BOTH_WAYS)
    assert found["search"]["replay_gap_ppm"] == 0
    by_name = {a["name"]: a for a in found["arguments"]}
    assert by_name["params['layers'][2]['b']"]["priority"][0] > max(by_name["params['layers'][1]['w']"]["priority"])


def first_close(program, *args):
    """Evaluations until an answer was found that is within 2% of the last one."""
    found = plan(corpus(program), *args)["search"]["incumbents"]
    return next(e["evaluation"] for e in found if e["runtime_ns"] * 100 <= found[-1]["runtime_ns"] * 102)


def test_good_answers_come_early():
    """What every axis should do is found on one of them first; and what a descent finds is told at once."""
    assert first_close("transformer_32", "--mesh", "data=4,model=4", "--device", "tpu-v5p") < 900
    assert first_close("mlp", "--mesh", "data=4,model=4") < 500  # 352
    assert first_close("mlp", "--mesh", "data=4,model=4", "--apply", "annotate") < 2500  # 2279 of 4,571: what leads there costs more on its own
    assert first_close("decode", "--mesh", "data=4,model=4") < 2400  # 2180


def against_baselines(name, mesh, device, *more):
    """The step time beside that of the best baseline that fits."""
    document = plan(corpus(name), "--mesh", mesh, "--device", device, *more)
    return document["cost"]["runtime_ns"] / min(b["cost"]["runtime_ns"] for b in document["baselines"] if b["fits"])


def test_room_in_front_of_decisions():
    """The router's state over the axis of the batch, decided in front of the experts, which may come last: a twelfth of the step."""
    assert against_baselines("moe", "data=16,model=16", "tpu-v5e") < 0.24  # 0.236; 0.245 where decisions keep their places


def test_starts_unlike_each_other():
    """All parameters over both axes, to which no descent leads from the plans with tensor parallelism that are faster before it."""
    for seed in (1, 2):
        assert against_baselines("llama_4", "data=4,model=4", "tpu-v5p", "--seed", seed) < 0.75  # 0.739; 0.775 with seed 2 and most others where starts are alike


def test_decisions_on_other_axes():
    """The state of most weights over the second axis, which a class of inner dims has to leave first: a step that is slower alone."""
    assert against_baselines("llama_8b", "data=16,model=16", "tpu-v5p", "--seed", 6, "--apply", "annotate") < 0.415  # 0.407 with cost model 15; before 0.394, of a baseline that is 6% faster than when it was 0.370 with and 0.388 without


def schedule(tmp_path, *tactics):
    path = tmp_path / "schedule.json"
    path.write_text(json.dumps({"tactics": tactics}))
    return path


BATCH = {"manual": {"arguments": "batch*", "dimension": 0, "axis": "data"}}


def test_a_schedule_gets_composites_too(tmp_path):
    """A polish behind the user's decisions starts from composite plans that keep them."""
    path = schedule(tmp_path, BATCH, {"auto": {"axes": ["model"]}}, {"polish": {}})
    assert against_baselines("convnet", "data=4,model=4", "a100", "--schedule", path) < 4  # 2.9; 6.0 from what trees find


def test_decisions_behind_a_polish_stay(tmp_path):
    """What the first polish started from does not know of the decision behind it."""
    path = schedule(tmp_path, {"auto": {"axes": ["model"], "evaluations": 100}}, {"polish": {"evaluations": 2000}}, BATCH, {"polish": {"evaluations": 2000}})
    document = plan(corpus("mlp"), "--mesh", "data=4,model=2", "--schedule", path)
    assert "data" in [a["axis"] for a in document["actions"] if a["tactic"] == "manual"]


def test_manual_decisions_behind_automatic_ones_stay(tmp_path):
    """What a polish puts in front of a manual decision may not take its axis."""
    path = schedule(tmp_path, {"auto": {"axes": ["data", "model"], "evaluations": 300}}, BATCH, {"polish": {"evaluations": 300}})
    for seed in (1, 2):
        document = plan(corpus("transformer_2_tiny"), "--mesh", "data=4,model=4", "--schedule", path, "--seed", seed)
        assert [a["axis"] for a in document["actions"] if a["tactic"] == "manual"] == ["data"]


def test_two_axes_of_three_as_one():
    """Weights over two axes before the batch over all three, whatever the seed."""
    for seed in (3, 8):
        assert against_baselines("transformer_scan", "data=2,seq=2,model=4", "a100", "--seed", seed) < 0.82  # 0.81; up to 0.88


def test_parameters_over_some_of_the_batch_axes():
    """Most parameters over all three axes, some over two, as hybrid sharded data parallelism has it."""
    assert against_baselines("dit", "data=2,seq=2,model=4", "a100", "--apply", "annotate") < 0.9  # 0.89 of ZeRO-3 over all


def test_seeds_agree():
    times = [plan(corpus("transformer_2_tiny"), "--mesh", "data=2,model=4", "--seed", seed)["cost"]["runtime_ns"] for seed in range(1, 6)]
    assert max(times) <= min(times) * 1.1, times


def test_a_search_ends_when_nothing_more_is_expected():
    """As long without a better plan as it took to find the last one; a budget of the user's is used up."""
    search = plan(corpus("mlp"), "--mesh", "data=2,model=2")["search"]
    last = [i["evaluation"] for i in search["incumbents"]][-2]  # the last one is the answer as it is written
    assert 1500 < search["evaluations"] < 4400 and search["evaluations"] > last
    assert plan(corpus("mlp"), "--mesh", "data=4,model=4", "--evaluations", 4000)["search"]["evaluations"] > 3900  # two by two the tree is done by then


def test_alternatives_are_plans_of_their_own(tmp_path):
    """Each is a strategy document in the place of the answer, costs what it says, and does something else."""
    document = plan(corpus("mlp"), "--mesh", "data=4,model=4", "--alternatives", 3)
    others = document.pop("alternatives")
    assert len(others) == 3
    for other in others:
        path = tmp_path / "other.json"
        path.write_text(json.dumps({**document, **other}))
        done = subprocess.run([TOOL, "evaluate", corpus("mlp"), "--strategy", path, "--json"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["runtime_ns"] == other["cost"]["runtime_ns"]
        assert other["cost"]["runtime_ns"] >= 0.999 * document["cost"]["runtime_ns"]  # the search had them in order; applied, an instruction may be combined otherwise
        assert "cut otherwise" in other["difference"] or "moves" in other["difference"]
    assert "alternatives" not in plan(corpus("mlp"), "--mesh", "data=4,model=4")


def test_threads_do_not_change_the_answer():
    """Two threads finish in another order each time: a search that looked at what an evaluator happened to be at differed one time in ten."""
    def answer(threads):
        document = plan(corpus("decode"), "--mesh", "data=4,model=4", "--evaluations", 1500, "--threads", threads)
        for key in ("seconds", "evaluations_per_second"):
            del document["search"][key]
        for mark in document["search"]["incumbents"]:
            del mark["seconds"]
        return document

    one = answer(1)
    for _ in range(3):
        assert answer(2) == one
