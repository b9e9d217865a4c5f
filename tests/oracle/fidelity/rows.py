"""The compared rows: program x strategy x target. Programs are those of tests/corpus, strategies those of
tests/oracle/cases.py or of EXTRA."""
import collections
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import cases  # noqa: E402
from annotate import annotate  # noqa: E402

Row = collections.namedtuple("Row", "target program strategy topology mesh")
# target -> (topology, mesh, device profile)
TARGETS = {"tpu": ("v5e:2x4", "data=4,model=2", "tpu-v5e"), "gpu": ("1x1x8", "data=4,model=2", "h100"), "cpu": ("8", "data=4,model=2", "cpu-host")}
LISTS = {
    "tpu": ("mlp megatron", "mlp zero2", "mlp data_donated",
            "transformer_4_forward data_megatron", "transformer_4_forward data", "transformer_4_forward sequence", "transformer_4_forward megatron",
            "convnet data_donated", "convnet channels", "convnet spatial", "resnet_tiny spatial",
            "decode multi_query_batch", "decode data_megatron",
            "transformer_4 data_megatron", "transformer_4 zero3_donated", "transformer_4 megatron_zero2", "transformer_4 data_donated", "transformer_4 sequence",
            "moe experts", "moe experts_data", "graph_net edges", "graph_net data_donated",
            "transformer_scan zero3_donated", "accumulate data_megatron", "ssm states"),
    "gpu": ("mlp zero2", "transformer_4 data_megatron", "transformer_4 zero3_donated", "transformer_4 megatron_zero2", "transformer_4 data_donated",
            "transformer_4 sequence", "moe experts", "graph_net edges", "convnet spatial", "decode multi_query_batch", "transformer_scan zero3_donated", "accumulate data_megatron"),
    "cpu": ("mlp zero2", "transformer_4 data_megatron", "moe experts")}
ROWS = [Row(target, *words.split(), *TARGETS[target][:2]) for target in LISTS for words in LISTS[target]]


def name_of(row):
    return "_".join((row.target, row.program, row.strategy))


def device_of(row):
    return TARGETS[row.target][2]


def extra(text):
    """Strategies of decoding: query heads and the MLP over one axis, keys and values whole, the cache by sequences."""
    weights = [("*'wq']", cases.dims(3, model=1)), ("*'wo']", cases.dims(3, model=0)),
               *(("*'%s']" % name, cases.dims(2, model=cases.MEGATRON[name])) for name in ("w_gate", "w_up", "w_down"))]
    return {"multi_query_batch": (weights + [("cache*", [["data", "model"], [], [], []]), ("tokens", [["data"], []])], "donated")}


def module_of(row):
    """The annotated module."""
    text = cases.text_of(row.program)
    known = cases.strategies(row.program, text)
    patterns, results = known[row.strategy] if row.strategy in known else extra(text)[row.strategy]
    return annotate(text, row.mesh, patterns, results)
