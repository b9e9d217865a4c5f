"""Programs of the corpus and the strategies they are tested under."""
import math
import os
import random
import re

from annotate import read

HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.path.join(HERE, "..", "corpus")
MESH = "data=4,model=2"
TINY = ("llama_2_tiny", "encoder_decoder_tiny", "dit_tiny", "decode_tiny", "lora_tiny", "accumulate_tiny")
SMALL = ("mlp_tiny", "mlp", "transformer_2_tiny", *TINY)
MEDIUM = ("transformer_4", "transformer_4_forward", "transformer_scan", "moe", "convnet",
          "graph_net_tiny", "ssm_tiny", "resnet_tiny", "shard_map_step_tiny", "mixed_precision_tiny", "flax_step_tiny", "optax_step_tiny")
LARGE = ("transformer_32", "llama_4", "llama_8b", "encoder_decoder", "dit", "decode", "lora", "accumulate",
         "unet_tiny", "unet", "graph_net", "ssm", "resnet", "shard_map_step", "mixed_precision", "flax_step", "optax_step")

# Megatron: the dimension of each weight that the model axis takes. The scanned model has one more dimension in front.
MEGATRON = {"wq": 1, "wk": 1, "wv": 1, "wo": 0, "w_gate": 1, "w_up": 1, "w_down": 0}
# The largest dimension that a batch axis divides; rank and dimension. The embedding stays out where counts are exact:
# a sharded embedding changes how its lookup and its scatter move.
ZERO = {"ln1": (1, 0), "ln2": (1, 0), "wq": (3, 0), "wk": (3, 0), "wv": (3, 0), "wo": (3, 2),
        "w_gate": (2, 1), "w_up": (2, 1), "w_down": (2, 0)}
# Dimension of ZERO next to Megatron's: the other one.
ZERO_BESIDE = {"wq": 0, "wk": 0, "wv": 0, "wo": 2, "w_gate": 0, "w_up": 0, "w_down": 1}
RANK = {"ln1": 1, "ln2": 1, "wq": 3, "wk": 3, "wv": 3, "wo": 3, "w_gate": 2, "w_up": 2, "w_down": 2, "embed": 2}
OPTIMIZER = ("opt_state['m']", "opt_state['v']")
# Where programs keep their optimizer's state and their parameters; flax keeps both in one state.
STATE, PARAMETERS = ("opt_state", "state.opt_state"), ("params", "state.params")


def text_of(name):
    return read(os.path.join(CORPUS, name + ".mlir.zst"))


def reshaped(found):
    """The op as a reshape when its types have as many elements."""
    size = [math.prod(int(d) for d in re.findall(r"\d+(?=x)", found[i].split("<")[0])) for i in (2, 3)]
    return "stablehlo.reshape %s : (tensor<%s>) -> tensor<%s>" % (found[1], found[2], found[3]) if size[0] == size[1] else found[0]


def expanded(text):
    """The text as XLA has it when it propagates, as far as sharding goes: without chlo ops, broadcasts that add nothing as reshapes.

    Shardy has no rule for chlo ops, so `opt` agrees with jaxlib on the text as it stands. XLA expands chlo before it
    propagates; `lower`, `simulate` and `search` therefore give these ops the rule of their expansion: an elementwise op's,
    or the one of the call that stands for top_k. They also take a broadcast that only adds dims of one element for the reshape
    that XLA makes of it. Where those are compared with Shardy, Shardy gets the expanded text."""
    text = re.sub(r"stablehlo\.broadcast_in_dim (%[\w#]+), dims = \[[\d, ]*\] : \(tensor<(\S+)>\) -> tensor<(\S+)>", reshaped, text)
    text = re.sub(r"chlo\.\w+ (%\w+) : (tensor<\S+>) -> \2", r"stablehlo.abs \1 : \2", text)
    return re.sub(r"chlo\.top_k\((%\w+), k = \d+\) : (tensor<\S+>) -> ", r'"stablehlo.custom_call"(\1) {call_target_name = "mhlo.topk"} : (\2) -> ', text)


def signature(text):
    """[(name, shape)] of main's arguments, from the text JAX prints."""
    line = next(line for line in text.splitlines() if "func.func public @main(" in line)
    found = re.findall(r'%arg\d+: tensor<([\dx]*?)x?(?:bf16|[a-z]+\d+)>(?: \{[^}]*\})? loc\("([^"]*)"', line)
    return [(name, [int(d) for d in dims.split("x") if d]) for dims, name in found]


def own_mesh(text):
    """The mesh that the program is written for, None if it is for any."""
    own = re.search(r"(?m)^  sdy\.mesh @mesh = <\[(.*?)\]>", text)
    return {name: int(size) for name, size in re.findall(r'"(\w+)"=(\d+)', own[1])} if own else None


def dims(rank, **at):
    """dims(3, data=0) -> [["data"], [], []]"""
    out = [[] for _ in range(rank)]
    for axis, dimension in at.items():
        out[dimension].append(axis)
    return out


def later(sharding, dimension, priority=1):
    """The sharding with a user priority on one dimension."""
    return {"dims": sharding, "priority": [priority if i == dimension else 0 for i in range(len(sharding))]}


def batch(text, axes=("data",)):
    """Patterns that shard the first dimension of every data argument."""
    return [(name, [list(axes)] + [[]] * (len(shape) - 1)) for name, shape in signature(text)
            if name.startswith(("batch", "cache")) or name == "tokens"]


def megatron(extra=0):
    return [("*'%s']" % name, dims(RANK[name] + extra, model=at + extra)) for name, at in MEGATRON.items()]


def zero(trees, names=ZERO, extra=0):
    return [("%s*'%s']" % (tree, name), later(dims(rank + extra, data=at + extra), at + extra))
            for tree in trees for name, (rank, at) in names.items()]


def replicated_parameters(extra=0):
    return [("params*'%s']" % name, [[]] * (rank + (extra if name != "embed" else 0))) for name, rank in RANK.items()]


def megatron_zero2():
    patterns = megatron()
    for tree in OPTIMIZER:
        for name, at in ZERO_BESIDE.items():
            sharding = dims(RANK[name], model=MEGATRON[name], data=at)
            patterns.append(("%s*'%s']" % (tree, name), later(sharding, at)))
    return patterns


def largest(text, trees, priority=1):
    """Every tensor of the trees on its largest dimension that the data axis divides, whatever the program."""
    out = []
    for name, shape in signature(text):
        at = max((i for i in range(len(shape)) if shape[i] % 4 == 0), key=lambda i: (shape[i], -i), default=None)
        if at is not None and any(name.startswith(tree) for tree in trees):
            out.append((name, later(dims(len(shape), data=at), at, priority)))
    return out


def random_patterns(text, seed, share=0.3):
    """Shardings nobody would write: random axes, sub-axes, open dimensions, priorities and replicated axes."""
    pick = random.Random(seed)
    out = []
    for name, shape in signature(text):
        if pick.random() > share:
            continue
        axes = pick.choice((["data", "model"], ["model", "data"], ["data:(1)2", "model"], ["data:(2)2"], ["data:(1)2", "data:(2)2"]))
        placed = [[] for _ in shape]
        replicated = []
        for axis in axes:
            where = pick.randrange(-1, len(shape) + 1)
            if where == len(shape):
                replicated.append(axis)
            elif where >= 0:
                placed[where].append(axis)
        for i, used in enumerate(placed):
            if used == ["data:(1)2", "data:(2)2"]:
                placed[i] = ["data"]
        if replicated == ["data:(1)2", "data:(2)2"]:
            replicated = ["data"]
        order = {"data": 0, "data:(1)2": 0, "data:(2)2": 1, "model": 2}
        is_open = [pick.random() < 0.5 for _ in shape]
        out.append((name, {"dims": placed, "open": is_open, "replicated": sorted(replicated, key=order.get),
                           "priority": [pick.choice((0, 0, 1, 2)) if used or o else 0 for used, o in zip(placed, is_open)]}))
    return out


def strategies(name, text):
    """label -> (patterns, results) for annotate(); the labels every program has come first."""
    out = {"none": ([], "open"),
           "data": (batch(text), "open"),
           "data_donated": (batch(text), "donated"),
           "both_axes": (batch(text, ("data", "model")), "open"),
           "zero2": (batch(text) + largest(text, STATE), "open"),
           "zero3_donated": (batch(text) + largest(text, PARAMETERS + STATE), "donated"),
           "zero3_one_priority": (batch(text) + largest(text, PARAMETERS + STATE, 0), "open")}
    if name.startswith(("transformer", "llama", "accumulate", "lora", "decode", "optax_step", "shard_map_step")):
        extra = int(name == "transformer_scan")
        out["megatron"] = (megatron(extra), "open")
        out["data_megatron"] = (batch(text) + megatron(extra), "donated")
        out["sequence"] = ([("batch*", [["data"], ["model"]]), ("tokens", [["data"], ["model"]])], "open")
        out["width"] = ([("*'embed']", [[], ["model"]]), ("batch*", [["data"], []])], "donated")
        out["vocabulary"] = ([("*'embed']", [["model"], []]), ("batch*", [["data"], []])], "donated")
        out["sub_axes"] = ([("*'w_up']", [[]] * extra + [["data:(1)2"], ["model", "data:(2)2"]]), ("batch*", [["data:(2)2"], []])], "open")
    if name == "transformer_4":
        out["megatron_zero2"] = (batch(text) + replicated_parameters()[-1:] + megatron_zero2(), "donated")
    if name == "moe":
        out["experts"] = (batch(text) + [("*'w_in']", dims(3, model=0)), ("*'w_out']", dims(3, model=0))], "donated")
        out["experts_data"] = (batch(text) + [("*'w_in']", dims(3, data=0)), ("*'w_out']", dims(3, data=0))], "open")
        out["hidden"] = ([("*'w_in']", dims(3, model=2)), ("*'w_out']", dims(3, model=1))], "open")
    if name == "convnet":
        out["channels"] = (batch(text) + [("*'w1']", dims(4, model=3)), ("*'w2']", dims(4, model=2))], "donated")
        out["spatial"] = ([("batch['images']", [[], ["data"], ["model"], []])], "open")
    if name.startswith("unet"):
        out["channels"] = (batch(text) + [("*'conv1']", dims(4, model=3)), ("*'conv2']", dims(4, model=2)), *(("*'w%s']" % part, dims(3, model=1)) for part in "qkv")], "donated")
        out["spatial"] = ([("batch*", [[], ["data"], ["model"], []])], "open")
    if name.startswith("resnet"):
        out["channels"] = (batch(text) + [("*'conv2']", dims(4, model=3)), ("*'conv3']", dims(4, model=2))], "donated")
        out["spatial"] = ([("batch['images']", [[], ["data"], ["model"], []])], "open")
    if name.startswith("graph_net"):
        out["edges"] = ([("batch['%s']" % edge, [["data", "model"]] + [[]] * (edge == "edges")) for edge in ("edges", "senders", "receivers")], "open")
        out["nodes"] = ([("batch['nodes']", [["data"], []]), ("batch['edges']", [["model"], []]), ("*'w1']", dims(2, model=1))], "donated")
    if name.startswith("ssm"):
        out["states"] = (batch(text) + [("*'%s']" % word, dims(2, model=1)) for word in ("w_step", "b_real", "b_imag")]
                         + [("*'%s']" % word, dims(2, model=0)) for word in ("c_real", "c_imag")], "donated")
        out["sequence"] = ([("batch*", [["data"], ["model"]])], "open")
    if name.startswith("mixed_precision"):
        out["megatron"] = (batch(text) + [("*'layers'*'w1']", dims(2, model=1)), ("*'layers'*'w2']", dims(2, model=0))], "donated")
        out["vocabulary"] = ([("batch*", [["data"], []]), ("frozen*", [["model"], []])], "donated")
    if name.startswith("flax_step"):
        out["megatron"] = (batch(text) + [("*'Dense_0']['kernel']", dims(2, model=1)), ("*'Dense_1']['kernel']", dims(2, model=0)),
                                          ("*'query']['kernel']", dims(3, model=1)), ("*'out']['kernel']", dims(3, model=0))], "donated")
    if name == "mlp":
        out["megatron"] = ([("*[0]['w']", dims(2, model=1)), ("*[1]['w']", dims(2, model=0)),
                            ("*[2]['w']", dims(2, model=1)), ("*[3]['w']", dims(2, model=0))], "donated")
    if name == "mlp_tiny":
        out["megatron"] = ([("*'w1']", dims(2, model=1)), ("*'w2']", dims(2, model=0))], "donated")
    for seed in range(2):
        out["random_%d" % seed] = (random_patterns(text, seed), "open")
    return out
