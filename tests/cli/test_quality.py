"""What an expert would have chosen must be found: batch + Megatron, ZeRO where memory asks for it, experts on the MoE."""
import re

from test_contracts import corpus, plan


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


def test_transformer_composite_under_a_memory_limit():
    """5B parameters on 16 devices of 16 GiB: the batch on one axis, Megatron on the other, parameters and state sharded too."""
    document = plan(corpus("transformer_32"), "--mesh", "data=4,model=4", "--memory", "16GiB")
    baselines = {b["name"]: b for b in document["baselines"]}
    assert document["fits"] and not baselines["data_parallel"]["fits"] and not baselines["zero2"]["fits"]
    assert document["cost"]["runtime_ns"] * 10 < baselines["zero3"]["cost"]["runtime_ns"] * 9, "better than ZeRO-3 by a tenth"
    (batch,), = axes(document, r"^batch", 0),
    assert batch and len(batch) == 1
    other = "model" if batch[0] == "data" else "data"
    # column, then row: heads and feed-forward columns on the other axis, wo and w_down on their contracting dimension
    for name, dimension in (("wq", 1), ("wk", 1), ("wv", 1), ("wo", 0), ("w_gate", 1), ("w_up", 1), ("w_down", 0)):
        for parts in ("params", r"opt_state\['m'\]", r"opt_state\['v'\]"):
            (got,) = axes(document, r"^%s.*\['%s'\]" % (parts, name), dimension)
            assert got and other in got, (parts, name, got)
    # ZeRO: most bytes of the state are sharded over the batch axis as well
    state = [(a, elements(a["type"])) for a in document["arguments"] if a["role"] == "state"]
    sharded = sum(n for a, n in state if any(batch[0] in dim for dim in a["sharding"] or a["propagated"]))
    assert sharded * 2 > sum(n for _, n in state)


def test_memory_limit_is_respected_at_every_level():
    """Tighter limits are met as long as anything meets them, at growing cost."""
    program, mesh = corpus("transformer_4"), ("--mesh", "data=4,model=4")
    free = plan(program, *mesh)
    last = free["cost"]["runtime_ns"]
    zero3 = next(b["cost"] for b in free["baselines"] if b["name"] == "zero3")
    for limit in (free["cost"]["peak_bytes"] * 8 // 10, zero3["peak_bytes"]):
        tight = plan(program, *mesh, "--memory", limit)
        assert tight["fits"] and tight["cost"]["peak_bytes"] <= limit
        assert tight["cost"]["runtime_ns"] * 101 >= last * 100, "a tighter limit cannot be cheaper"


def test_moe_shards_experts():
    document = plan(corpus("moe"), "--mesh", "data=2,expert=8")
    assert document["fits"]
    for name in ("w_in", "w_out"):
        (got,) = axes(document, r"^params.*\['%s'\]" % name, 0)
        assert got, name
    best_baseline = min(b["cost"]["runtime_ns"] for b in document["baselines"] if b["fits"])
    assert document["cost"]["runtime_ns"] * 2 < best_baseline


def test_seeds_agree():
    times = [plan(corpus("transformer_2_tiny"), "--mesh", "data=2,model=4", "--seed", seed)["cost"]["runtime_ns"] for seed in range(1, 6)]
    assert max(times) <= min(times) * 1.1, times
