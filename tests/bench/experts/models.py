"""What an expert knows of a model: which dimension of which tensor the model axis takes, and what else can be cut.

Names are regular expressions over argument names; dimensions count from the end where layers may be stacked in front.
Optimizer state is named as its parameter is, so one pattern speaks of both."""

ATTENTION = {r"'w[qkv]'\]$": -2, r"'wo'\]$": -3}
GATED_MLP = {r"'w_(gate|up)'\]$": -1, r"'w_down'\]$": -2}
TRANSFORMER = {**ATTENTION, **GATED_MLP}

# program -> variants of tensor parallelism: name -> {pattern: dimension}
MEGATRON = {
    "transformer": {"megatron": TRANSFORMER},
    "moe": {"megatron": {**ATTENTION, r"'w_in'\]$": -1, r"'w_out'\]$": -2},
            "experts": {r"'w_(in|out)'\]$": -3},
            "experts_attention": {**ATTENTION, r"'w_(in|out)'\]$": -3}},
    "mlp": {"megatron": {r"\[[02]\]\['w'\]$": -1, r"\[[02]\]\['b'\]$": -1, r"\[[13]\]\['w'\]$": -2},
            "megatron_last": {r"\[[1]\]\['w'\]$": -1, r"\[[1]\]\['b'\]$": -1, r"\[[2]\]\['w'\]$": -2}},
    "mlp_tiny": {"megatron": {r"'w1'\]$": -1, r"'w2'\]$": -2}},
    "convnet": {"channels": {r"'w1'\]$": -1, r"'norm1'\]": -1, r"'w2'\]$": -2},
                "channels_all": {r"'w[12]?'\]$": -1, r"'skip'\]$": -1, r"'norm\d?'\]": -1, r"'stem'\].*'(mean|var)'\]$": -1}},
}
# The table that serves lookup and logits: over the vocabulary, or over the width.
EMBEDDING = {"transformer": r"'embed'\]$", "moe": r"'embed'\]$"}
# Dimensions of the data beside the batch: the sequence, rows and columns of images.
SPATIAL = {"transformer": {r"^batch|^tokens": 1}, "moe": {r"^batch": 1}, "convnet": {r"'images'\]$": 1}}


def of(table, program):
    """The entry of the longest key that the program's name starts with."""
    keys = [k for k in table if program == k or program.startswith(k + "_")]
    return table[max(keys, key=len)] if keys else None
