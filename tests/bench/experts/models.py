"""What an expert knows of a model: which dimension of which tensor a mesh axis takes, beside the batch and ZeRO.

Names are regular expressions over argument names; dimensions count from the end where layers may be stacked in front.
Optimizer state is named as its parameter is, so one pattern speaks of both. Keys are the starts of program names; the longest that fits counts."""

ATTENTION = {r"'w[qkv]'\]$": -2, r"'wo'\]$": -3}
GATED_MLP = {r"'w_(gate|up)'\]$": -1, r"'w_down'\]$": -2}
TRANSFORMER = {**ATTENTION, **GATED_MLP}
ENCODER = {r"'wqkv'\]$": -2, r"'wo'\]$": -3, r"'w_in'\]$": -1, r"'w_out'\]$": -2}
PLAIN = {r"'[qkv]'\]$": -2, r"'attention'\]\['out'\]$": -3, r"'up'\]$": -1, r"'down'\]$": -2}
LORA = {r"'w[qv]'\]\['b'\]$": -2}
NORM = r"'norm%s'\]\['(scale|bias|mean|var)'\]$"

# Tensor parallelism: program -> name -> {pattern: dimension}.
TENSOR = {
    "transformer": {"megatron": TRANSFORMER},
    "accumulate": {"megatron": TRANSFORMER},
    "optax_step": {"megatron": TRANSFORMER},
    "shard_map_step": {"megatron": TRANSFORMER},
    "llama": {"megatron": TRANSFORMER},
    "lora": {"megatron": {**TRANSFORMER, **LORA}},
    # Multi-query: keys and values stay whole where their heads are fewer than the devices of the axis.
    "decode": {"megatron": {**TRANSFORMER, r"^cache.*'[kv]'\]$": -2},
               "multi_query": {r"'wq'\]$": -2, r"'wo'\]$": -3, **GATED_MLP},
               "multi_query_batch": {r"'wq'\]$": -2, r"'wo'\]$": -3, **GATED_MLP, r"^cache.*'[kv]'\]$": 0},
               "multi_query_length": {r"'wq'\]$": -2, r"'wo'\]$": -3, **GATED_MLP, r"^cache.*'[kv]'\]$": 1}},
    "encoder_decoder": {"megatron": {**ATTENTION, r"'w_in'\]$": -1, r"'w_out'\]$": -2, r"coder'\]\['bias'\]$": -1}},
    "dit": {"megatron": {r"'wqkv'\]$": -2, r"'wo'\]$": -3, r"'up'\]\['[wb]'\]$": -1, r"'down'\]\['w'\]$": -2},
            "megatron_mlp": {r"'up'\]\['[wb]'\]$": -1, r"'down'\]\['w'\]$": -2}},
    "flax_step": {"megatron": {r"'(query|key|value)'\]\['(kernel|bias)'\]$": -2, r"'out'\]\['kernel'\]$": -3,
                               r"'Mlp_0'\]\['Dense_0'\]": -1, r"'Mlp_0'\]\['Dense_1'\]\['kernel'\]$": -2},
                  "megatron_mlp": {r"'Mlp_0'\]\['Dense_0'\]": -1, r"'Mlp_0'\]\['Dense_1'\]\['kernel'\]$": -2}},
    "mixed_precision": {"megatron": {r"'layers'\].*'w1'\]$": -1, r"'layers'\].*'w2'\]$": -2}},
    "ssm": {"states": {r"'(w_step|decay|frequency|b_real|b_imag)'\]$": -1, r"'c_(real|imag)'\]$": -2},
            "states_gate": {r"'(w_step|decay|frequency|b_real|b_imag|w_gate)'\]$": -1, r"'(c_real|c_imag|w_out)'\]$": -2}},
    "moe": {"megatron": {**ATTENTION, r"'w_in'\]$": -1, r"'w_out'\]$": -2},
            "experts": {r"'w_(in|out)'\]$": -3},
            "experts_attention": {**ATTENTION, r"'w_(in|out)'\]$": -3}},
    "mlp": {"megatron": {r"\[[02]\]\['w'\]$": -1, r"\[[02]\]\['b'\]$": -1, r"\[[13]\]\['w'\]$": -2},
            "megatron_inner": {r"\[1\]\['w'\]$": -1, r"\[1\]\['b'\]$": -1, r"\[2\]\['w'\]$": -2}},
    "mlp_tiny": {"megatron": {r"'w1'\]$": -1, r"'w2'\]$": -2}},
    "convnet": {"channels": {r"'w1'\]$": -1, NORM % 1: -1, r"'w2'\]$": -2},
                "channels_all": {r"'(w|w1|w2|skip)'\]$": -1, NORM % r"\d?": -1, r"'stem'\]\['(mean|var)'\]$": -1}},
    "resnet": {"channels": {r"'conv2'\]$": -1, NORM % 2: -1, r"'conv3'\]$": -2},
               "channels_first": {r"'conv1'\]$": -1, NORM % 1: -1, r"'conv2'\]$": -2},
               "channels_all": {r"'(stem|conv\d|skip)'\]$": -1, NORM % r"\d?": -1}},
    "unet": {"channels": {r"'(conv1|time)'\](\['[wb]'\])?$": -1, NORM % 2: -1, r"'conv2'\]$": -2, **ATTENTION},
             "channels_all": {r"'(stem|conv1|conv2|skip|down|up)'\]$": -1, r"'time'\]\['[wb]'\]$": -1, NORM % r"\d": -1, **ATTENTION}},
    "graph_net": {"megatron": {r"'[wb]1'\]$": -1, r"'w2'\]$": -2}},
    "recommender": {"tables_rows": {r"'tables'": 0}, "tables_width": {r"'tables'": 1}},
    "two_tower": {"tables_rows": {r"'items'\]$": 0}, "tables_width": {r"'items'\]$": 1}},
    "contrastive": {"megatron": ENCODER},
    "masked": {"megatron": ENCODER},
    "mixer": {"megatron": {r"'(w|tokens)_in'\]$": -1, r"'(w|tokens)_out'\]$": -2}},
    "depthwise": {"channels": {r"'w_in'\]$": -1, r"'w_out'\]$": -2}},
    "recurrent": {"hidden": {r"'(w_input|w_hidden|b)'\]$": -1}},
    "remat": {"megatron": TRANSFORMER},
    "prefill": {"megatron": TRANSFORMER},
    "local_global": {"megatron": TRANSFORMER},
    "masked_words": {"megatron": PLAIN},
    "distilled": {"megatron": PLAIN},
    "dictionary": {"codes": {r"'(read|bias)'\]$": -1, r"'written'\]$": -2}},
    "sorted_experts": {"experts": {r"'experts'\]\['(gate|up|down)'\]$": -3},
                       "experts_attention": {r"'[qkv]'\]$": -2, r"'attention'\]\['out'\]$": -3, r"'experts'\]\['(gate|up|down)'\]$": -3}},
    "time_mix": {"megatron": {r"'[rkvgw]'\]$": -1, r"'time'\]\['out'\]$": -2, r"'up'\]$": -1, r"'down'\]$": -2}},
    "transcribed": {"megatron": PLAIN},
    "bags": {"tables_rows": {r"'tables'": 0}, "tables_width": {r"'tables'": 1}},
    "orthogonal": {"megatron": {r"'[qkv]'\]$": -1, r"'out'\]$": -2, r"'up'\]$": -1, r"'down'\]$": -2}},
    "preferred": {"megatron": PLAIN},
    "hashed": {"tables_rows": {r"'tables'": 0}},
    "sampled": {"megatron": {r"'value'\]$": -2, r"'offset'\]$": -3, r"'share'\]$": -2, r"'out'\]$": -3, r"'up'\]$": -1, r"'down'\]$": -2}},
    "paged": {"megatron": {r"'[qkv]'\]$": -2, r"'out'\]$": -3, r"'(gate|up)'\]$": -1, r"'down'\]$": -2, r"^caches": -2}},
    "blocks": {"megatron": PLAIN},
    "streams": {"megatron": PLAIN},
    "beams": {"megatron": {**PLAIN, r"^caches": -2}},
    "gated": {"megatron": {r"'(gate|in|taps|decay|left|right)'\]$": -1, r"'(forget|input)'\]\['(scale|bias)'\]$": -1, r"'q'\]$": -2, r"'mixed'\]\['out'\]$": -2, r"'down'\]$": -2}},
    "staged": {"stages": {r"'layers'\]": 0}, "megatron": PLAIN},
    "compressed": {"megatron": {r"'(q|kv)'\]$": -2, r"'out'\]$": -3, r"'(gate|up)'\]$": -1, r"'down'\]$": -2}},
    "duals": {"megatron": {r"'(gate|in|step)'\]$": -1, r"'(bias|decay|skip|norm)'\]$": 0, r"'out'\]$": -2}},
    "flows": {"channels": {r"'first'\]$": -1, r"'second'\]$": -2}},
    "retrieved": {"table_rows": {r"^(table|values)$": 0}, "table_width": {r"^(table|values)$": 1}},
    "tied": {"megatron": {r"'q'\]$": -2, r"'attention'\]\['out'\]$": -3, r"'(gate|up)'\]$": -1, r"'down'\]$": -2}},
    "bytes": {"megatron": ENCODER},
    "chosen_experts": {"experts": {r"'experts'\]\['(up|down)'\]$": -3},
                       "experts_attention": {r"'[qkv]'\]$": -2, r"'attention'\]\['out'\]$": -3, r"'experts'\]\['(up|down)'\]$": -3}},
    "deltas": {"megatron": {r"'([qkv]|open|beta)'\]$": -1, r"'out'\]$": -2, r"'(gate|up)'\]$": -1, r"'down'\]$": -2}},
    "differential": {"megatron": {r"'[qk]'\]$": -3, r"'v'\]$": -2, r"'attention'\]\['out'\]$": -3, r"'(gate|up)'\]$": -1, r"'down'\]$": -2}},
    "memories": {"megatron": {r"'([qkv]|open|keep|gate)'\]$": -1, r"'down'\]$": -2}},
    "slots": {"channels": {r"'(down|up)'\]\[\d\]$": -1}},
    "interests": {"tables_rows": {r"^(params|opt).*'(items|fields)'": 0}, "tables_width": {r"^(params|opt).*'(items|fields)'": 1}},
    "residuals": {"megatron": {r"\[[024]\]\['[wb]'\]$": -1, r"\[[135]\]\['w'\]$": -2}},
    "ahead": {"megatron": PLAIN},
    "served": {"megatron": {r"'([qkv]|gate|up)'\]\['(w|scale)'\]$": -1, r"'(out|down)'\]\['w'\]$": -2, r"^caches\[\d\]\[[02]\]$": -2, r"^caches\[\d\]\[[13]\]$": -1}},
    "softcapped": {"megatron": {r"'[qkv]'\]$": -2, r"'out'\]$": -3, r"'(gate|up)'\]$": -1, r"'down'\]$": -2}},
    "biased": {"megatron": {r"'[qkv]'\]$": -2, r"'distances'\]$": -1, r"'out'\]$": -3, r"'(gate|up)'\]$": -1, r"'down'\]$": -2}},
    "parallel": {"megatron": {r"'q'\]$": -2, r"'out'\]$": -3, r"'(gate|up)'\]$": -1, r"'down'\]$": -2}},
    "crossed": {"tables_rows": {r"'tables'": 0}, "tables_width": {r"'tables'": 1}},
    "series": {"megatron": ENCODER}, "triplets": {"megatron": ENCODER}, "rounded": {"megatron": ENCODER},
    "blended": {"megatron": ENCODER},
    "generated": {"megatron": {r"'first'\]$": -1, r"'second'\]$": -2}, "made": {r"'made'\]\[\d\]\['[wb]'\]$": -1}},
    "scanned": {"megatron": {r"'(gate|new|up)'\]$": -1, r"'(out|down)'\]$": -2}},
    "molecules": {"megatron": {r"'(near|mix)'\]$": -1, r"'(filter|out)'\]$": -2}},
    "valued": {"megatron": {r"\[[02]\]\['[wb]'\]$": -1, r"\[[13]\]\['w'\]$": -2}},
    "aligned": {"megatron": {r"\[[02]\]\['[wb]'\]$": -1, r"\[[13]\]\['w'\]$": -2}},
    "personal": {"tables_rows": {r"'(users|things)'\]$": 0}, "tables_width": {r"'(users|things)'\]$": 1}},
    "spelled": {"megatron": {r"'(gate|up)'\]$": -1, r"'down'\]$": -2}, "tables_rows": {r"'tables'": 0}},
    "drafted": {"megatron": {r"'up'\]$": -1, r"'down'\]$": -2}}, "ranked": {"megatron": {r"'up'\]$": -1, r"'down'\]$": -2}},
    "filtered": {"megatron": {r"\[[02]\]\['[wb]'\]$": -1, r"\[1\]\['w'\]$": -2}},
    "tagged": {"megatron": {r"'up'\]$": -1, r"'down'\]$": -2}}, "matched": {"megatron": {r"'up'\]$": -1, r"'down'\]$": -2}},
    "covered": {"megatron": {r"'[qkv]'\]$": -2, r"'out'\]$": -3, r"'up'\]$": -1, r"'down'\]$": -2}},
    "dropped": {"megatron": {r"'[qkv]'\]$": -2, r"'out'\]$": -3, r"'up'\]$": -1, r"'down'\]$": -2}},
    "recalled": {"megatron": {r"'[qkv]'\]$": -2, r"'out'\]$": -3, r"'up'\]$": -1, r"'down'\]$": -2, r"'far'\]$": -2, r"'bias_(k|far)'\]$": 0}},
    "decorrelated": {"megatron": {r"'up'\]$": -1, r"'out'\]$": -2}},
    "styled": {"channels": {r"'(first|second)'\]\['(taps|scale)'\]$": -1}},
    "translated": {"megatron": {r"'(gates|new)_[xh]'\]$": -1}},
    "ensemble": {"members": {r"'(w|b)'\]\[\d+\]$": 0, r"'out'\]$": 0}},
}
# The table that serves lookup and logits: over the vocabulary, or over the width.
TIED = {"vocabulary": {r"'embed'\]$": 0}, "width": {r"'embed'\]$": -1}}
OWN_HEAD = {"vocabulary": {r"'embed'\]$": 0, r"'head'\]$": -1}, "width": {r"'embed'\]$": -1, r"'head'\]$": -2}, "head": {r"'head'\]$": -1}}
WORDS = {"vocabulary": {r"'words'\]$": 0, r"'head'\]$": -1}, "width": {r"'words'\]$": -1, r"'head'\]$": -2}}
EMBEDDING = {"transformer": TIED, "accumulate": TIED, "optax_step": TIED, "shard_map_step": TIED, "moe": TIED, "ssm": TIED,
             "llama": OWN_HEAD, "lora": OWN_HEAD, "decode": OWN_HEAD, "encoder_decoder": OWN_HEAD,
             "contrastive": WORDS, "recurrent": WORDS, "remat": WORDS, "prefill": WORDS, "local_global": TIED,
             "masked_words": {"vocabulary": {r"^(params|opt).*'words'\]$": 0}, "width": {r"^(params|opt).*'words'\]$": -1}},
             "sorted_experts": {"vocabulary": {r"^(params|opt).*'words'\]$": 0}, "width": {r"^(params|opt).*'words'\]$": -1}},
             "time_mix": {"vocabulary": {r"^(params|opt).*'words'\]$": 0, r"'head'\]$": -1}, "head": {r"'head'\]$": -1}},
             "orthogonal": {"vocabulary": {r"^(params|opt|momenta).*'words'\]$": 0}},
             "preferred": {"vocabulary": {r"'words'\]$": 0, r"'head'\]$": -1}, "head": {r"'head'\]$": -1}},
             "paged": {"vocabulary": {r"'words'\]$": 0, r"'head'\]$": -1}, "head": {r"'head'\]$": -1}},
             "blocks": WORDS, "staged": WORDS, "compressed": WORDS, "duals": {"vocabulary": {r"^(params|opt).*'words'\]$": 0}},
             "beams": {"vocabulary": {r"'words'\]$": 0, r"'head'\]$": -1}, "head": {r"'head'\]$": -1}},
             "gated": {"vocabulary": {r"^(params|opt).*'words'\]$": 0}, "width": {r"^(params|opt).*'words'\]$": -1}},
             "tied": {"vocabulary": {r"^(params|opt).*'words'\]$": 0}, "width": {r"^(params|opt).*'words'\]$": -1}}, "deltas": {"vocabulary": {r"^(params|opt).*'words'\]$": 0}}, "chosen_experts": WORDS,
             "differential": WORDS, "memories": WORDS, "ahead": {"vocabulary": {r"^(params|opt).*'words'\]$": 0}}, "served": {"head": {r"'head'\]\['(w|scale)'\]$": -1}},
             "softcapped": {"vocabulary": {r"^(params|opt).*'words'\]$": 0}}, "biased": WORDS, "parallel": {"vocabulary": {r"^(params|opt).*'words'\]$": 0}},
             "triplets": {"vocabulary": {r"^(params|opt).*'words'\]$": 0}}, "dropped": {"vocabulary": {r"^(params|opt).*'words'\]$": 0}}, "recalled": WORDS, "rounded": WORDS, "blended": WORDS, "scanned": WORDS, "drafted": WORDS,
             "distilled": {"head": {r"'prototypes'\]$": -1, r"'centre'\]$": 0}},
             "mixed_precision": {"vocabulary": {r"'(words|scales)'\]$": 0}, "width": {r"'words'\]$": -1}}}
# What else of the data can be cut: the sequence, rows of images, the edges of a graph while its nodes are whole.
SEQUENCE, IMAGES = {"sequence": {r"^batch": 1}}, {"rows": {r"^batch": 1}}
SPATIAL = {"transformer": {"sequence": {r"^(batch|tokens)": 1}}, "accumulate": SEQUENCE, "optax_step": SEQUENCE, "shard_map_step": SEQUENCE, "moe": SEQUENCE,
           "ssm": SEQUENCE, "llama": SEQUENCE, "lora": SEQUENCE, "encoder_decoder": SEQUENCE, "mixed_precision": SEQUENCE,
           "remat": SEQUENCE, "prefill": {"sequence": {r"^tokens": 1}}, "dit": IMAGES, "depthwise": IMAGES, "flax_step": IMAGES, "convnet": IMAGES, "resnet": IMAGES, "unet": IMAGES,
           "policy": {"games": {r"^batch": 1}}, "actor_critic": {"games": {r"^batch": 1}}, "squeezed": IMAGES, "transcribed": {"samples": {r"^batch\['samples'\]": 1}},
           "pyramid": {"rows": {r"^batch\['images'\]": 1}}, "segmented": IMAGES, "pairs": {"rows": {r"^batch": 1}},
           "blocks": SEQUENCE, "gated": SEQUENCE, "compressed": SEQUENCE, "tied": SEQUENCE, "differential": SEQUENCE, "ahead": SEQUENCE, "slots": {"rows": {r"^batch\['pictures'\]": 1}}, "standardised": {"rows": {r"^batch\['images'\]": 1}}, "sounds": {"samples": {r"^batch\['samples'\]": 1}}, "streams": {"places": {r"^batch\['(latents|noise)'\]": 1}}, "refined": {"rows": {r"^batch": 1}},
           "softcapped": SEQUENCE, "biased": SEQUENCE, "parallel": SEQUENCE, "series": {"channels": {r"^batch": 1, r"'scale'\]$": 0}},
           "triplets": SEQUENCE, "rounded": SEQUENCE, "blended": SEQUENCE, "molecules": {"atoms": {r"^batch\['(kinds|places)'\]": 1}}, "linked": {"rows": {r"^batch\['images'\]": 1}},
           "posed": IMAGES, "decorrelated": IMAGES, "restored": IMAGES, "aligned": {"frames": {r"^batch\['frames'\]": 1}}, "spelled": SEQUENCE, "ranked": {"answers": {r"^batch": 1}},
           "neighbours": {"edges": {r"^batch\['(from|to)'\]": 0}, "nodes": {r"^batch\['(nodes|labels)'\]": 0}},
           "graph_net": {"edges": {r"^batch\['(edges|senders|receivers)'\]": 0}, "nodes": {r"^batch\['(nodes|targets)'\]": 0}}}


def of(table, program):
    """The entry of the longest key that is the program's name or its start."""
    keys = [k for k in table if program == k or program.startswith(k + "_")]
    return table[max(keys, key=len)] if keys else {}
