"""Programs, meshes and devices whose plans XLA judges; and the hand-written plans that they are held against."""
import collections
import json
import os
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))
from experts import Program, experts_of  # noqa: E402

TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))

# family: programs of one kind share it; figures of a fit are reported on families that were left out of it
Case = collections.namedtuple("Case", "family program mesh device topology")

V5E = ("tpu-v5e", "v5e:4x4")
V5P = ("tpu-v5p", "v5p:2x2x2")
V6E = ("tpu-v6e", "v6e:2x4")
CASES = [Case(family, program, mesh, *target) for family, program, mesh, target in (
    ("mlp", "mlp", "data=4,model=4", V5E),
    ("transformer", "transformer_4_forward", "data=4,model=4", V5E),
    ("transformer", "mixed_precision", "data=4,model=4", V5E),
    ("transformer", "transformer_4", "data=4,model=4", V5E),
    ("convolution", "convnet", "data=4,model=4", V5E),
    ("mixture of experts", "moe", "data=4,model=4", V5E),
    ("graph network", "graph_net", "data=4,model=4", V5E),
    ("decode", "decode", "data=4,model=4", V5E),
    ("diffusion", "dit", "data=4,model=4", V5E),
    ("encoder-decoder", "encoder_decoder", "data=4,model=4", V5E),
    ("low rank", "lora", "data=4,model=4", V5E),
    ("flax", "flax_step", "data=4,model=4", V5E),
    ("optax", "optax_step", "data=4,model=4", V5E),
    ("state space", "ssm", "data=4,model=4", V5E),
    ("convolution", "resnet", "data=4,model=4", V5E),
    ("u-net", "unet", "data=4,model=4", V5E),
    ("llama", "llama_4", "data=4,model=4", V5E),
    ("mlp", "mlp", "data=2,model=4", V5P),
    ("diffusion", "dit", "data=2,model=4", V5P),
    ("graph network", "graph_net", "data=2,model=4", V5P),
    ("mlp", "mlp", "data=2,model=4", V6E),
    ("encoder-decoder", "encoder_decoder", "data=2,model=4", V6E),
    ("mlp", "mlp", "data=4,fsdp=2,model=2", V5E),
    ("transformer", "mixed_precision", "data=4,fsdp=2,model=2", V5E),
    ("transformer", "transformer_4_forward", "data=2,model=4", V5P),
    ("transformer", "transformer_4_forward", "data=2,model=4", V6E),
    ("transformer", "mixed_precision", "data=2,fsdp=2,model=2", V5P),
    ("transformer", "mixed_precision", "data=2,model=4", V6E),
    ("low rank", "lora", "data=2,fsdp=2,model=2", V5P),
    ("low rank", "lora", "data=2,model=4", V6E),
    ("convolution", "convnet", "data=2,model=4", V5P),
    ("convolution", "convnet", "data=2,model=4", V6E),
    ("mixture of experts", "moe", "data=2,fsdp=2,model=2", V5P),
    ("mixture of experts", "moe", "data=2,model=4", V6E),
    ("optax", "optax_step", "data=2,model=4", V6E),
    ("flax", "flax_step", "data=2,model=4", V6E),
    ("llama", "llama_4", "data=2,model=4", V6E),
    ("layers in a loop", "transformer_scan", "data=4,model=4", V5E),
    ("accumulated gradients", "accumulate", "data=4,model=4", V5E),
    ("recommendation", "recommender", "data=4,model=4", V5E),
    ("contrastive", "contrastive", "data=4,model=4", V5E),
    ("recurrent", "recurrent", "data=4,model=4", V5E),
    ("mixer", "mixer", "data=4,model=4", V5E),
    ("depthwise convolution", "depthwise", "data=4,model=4", V5E),
    ("masked autoencoder", "masked", "data=4,model=4", V5E),
    ("rematerialised loop", "remat", "data=4,model=4", V5E),
    ("prefill", "prefill", "data=4,model=4", V5E),
    ("retrieval", "two_tower", "data=4,model=4", V5E),
    ("speech", "conformer", "data=4,model=4", V5E),
    ("quantised autoencoder", "codebook", "data=4,model=4", V5E),
    ("radiance field", "radiance", "data=4,model=4", V5E),
    ("video", "video", "data=4,model=4", V5E),
    ("windowed attention", "windows", "data=4,model=4", V5E),
    ("latent vectors", "latents", "data=4,model=4", V5E),
    ("differential equation", "dynamics", "data=4,model=4", V5E),
    ("linear attention", "linear_attention", "data=4,model=4", V5E),
    ("near and far attention", "local_global", "data=4,model=4", V5E),
    ("pairs of places", "pairs", "data=4,model=4", V5E),
    ("masked words", "masked_words", "data=4,model=4", V5E),
    ("sparse autoencoder", "dictionary", "data=4,model=4", V5E),
    ("Fourier operator", "spectral", "data=4,model=4", V5E),
    ("policy gradient", "policy", "data=4,model=4", V5E),
    ("detector", "pyramid", "data=4,model=4", V5E),
    ("point cloud", "points", "data=4,model=4", V5E),
    ("ensemble", "ensemble", "data=4,model=4", V5E),
    ("meta learning", "adapted", "data=4,model=4", V5E),
    ("self distillation", "distilled", "data=4,model=4", V5E),
    ("segmentation", "segmented", "data=4,model=4", V5E),
    ("vision transformer", "classified", "data=4,model=4", V5E),
    ("clips by frames and places", "factorised", "data=4,model=4", V5E),
    ("short texts", "captions", "data=4,model=4", V5E),
    ("super resolution", "sharpened", "data=4,model=4", V5E),
    ("chosen words", "depths", "data=4,model=4", V5E),
    ("sound", "waves", "data=4,model=4", V5E),
    ("tables", "tabular", "data=4,model=4", V5E),
    ("super resolution", "sharpened", "data=2,model=4", V6E),
    ("chosen words", "depths", "data=2,model=4", V6E),
    ("sound", "waves", "data=2,model=4", V5P),
    ("tables", "tabular", "data=2,model=4", V5P),
    ("inverted bottlenecks", "squeezed", "data=4,model=4", V5E),
    ("adversarial", "adversarial", "data=4,model=4", V5E),
    ("sorted experts", "sorted_experts", "data=4,model=4", V5E),
    ("state by heads", "time_mix", "data=4,model=4", V5E),
    ("bags of rows", "bags", "data=4,model=4", V5E),
    ("graph attention", "neighbours", "data=4,model=4", V5E),
    ("transcription", "transcribed", "data=4,model=4", V5E),
    ("actor and critic", "actor_critic", "data=4,model=4", V5E),
    ("orthogonal momentum", "orthogonal", "data=4,model=4", V5E),
    ("hashed tables", "hashed", "data=4,model=4", V5E),
    ("preferences", "preferred", "data=4,model=4", V5E),
    ("sampled attention", "sampled", "data=4,model=4", V5E),
    ("pages of caches", "paged", "data=4,model=4", V5E),
    ("long texts in blocks", "blocks", "data=4,model=4", V5E),
    ("two streams", "streams", "data=4,model=4", V5E),
    ("beam search", "beams", "data=4,model=4", V5E),
    ("gated recurrences", "gated", "data=4,model=4", V5E),
    ("stages in a loop", "staged", "data=4,model=4", V5E),
    ("motion between pictures", "refined", "data=4,model=4", V5E),
    ("compressed keys and values", "compressed", "data=4,model=4", V5E),
    ("state space duals", "duals", "data=4,model=4", V5E),
    ("flows", "flows", "data=4,model=4", V5E),
    ("retrieval", "retrieved", "data=4,model=4", V5E),
    ("sound codec", "sounds", "data=4,model=4", V5E),
    ("compressed keys and values", "compressed", "data=2,model=4", V6E),
    ("state space duals", "duals", "data=2,model=4", V5P),
    ("retrieval", "retrieved", "data=2,model=4", V6E),
    ("sound codec", "sounds", "data=2,model=4", V5P),
    ("long texts in blocks", "blocks", "data=2,model=4", V6E),
    ("beam search", "beams", "data=2,model=4", V5P),
    ("gated recurrences", "gated", "data=2,model=4", V5P),
    ("stages in a loop", "staged", "data=2,model=4", V6E),
    ("inverted bottlenecks", "squeezed", "data=2,model=4", V6E),
    ("bags of rows", "bags", "data=2,model=4", V6E),
    ("graph attention", "neighbours", "data=2,model=4", V5P),
    ("transcription", "transcribed", "data=2,model=4", V5P),
    ("actor and critic", "actor_critic", "data=2,model=4", V6E),
    ("near and far attention", "local_global", "data=2,model=4", V6E),
    ("pairs of places", "pairs", "data=2,model=4", V6E),
    ("masked words", "masked_words", "data=2,model=4", V6E),
    ("sparse autoencoder", "dictionary", "data=2,model=4", V6E),
    ("near and far attention", "local_global", "data=2,model=4", V5P),
    ("point cloud", "points", "data=2,model=4", V5P),
    ("self distillation", "distilled", "data=2,model=4", V5P),
    ("detector", "pyramid", "data=2,model=4", V5P),
    ("large table for both", "tied", "data=4,model=4", V5E),
    ("bytes by patches", "bytes", "data=4,model=4", V5E),
    ("world model", "world", "data=4,model=4", V5E),
    ("experts that choose", "chosen_experts", "data=4,model=4", V5E),
    ("delta rule", "deltas", "data=4,model=4", V5E),
    ("standardised weights", "standardised", "data=4,model=4", V5E),
    ("differential attention", "differential", "data=4,model=4", V5E),
    ("matrix memories", "memories", "data=4,model=4", V5E),
    ("object slots", "slots", "data=4,model=4", V5E),
    ("histories of items", "interests", "data=4,model=4", V5E),
    ("residuals of equations", "residuals", "data=4,model=4", V5E),
    ("several next words", "ahead", "data=4,model=4", V5E),
    ("eight-bit serving", "served", "data=4,model=4", V5E),
    ("capped scores", "softcapped", "data=4,model=4", V5E),
    ("biases by distance", "biased", "data=4,model=4", V5E),
    ("parallel layers", "parallel", "data=2,model=4", V6E),
    ("feature crosses", "crossed", "data=4,model=4", V5E),
    ("series by patches", "series", "data=2,model=4", V5P),
    ("texts compared", "triplets", "data=2,model=4", V6E),
    ("one layer in rounds", "rounded", "data=2,model=4", V5P),
    ("dense links", "linked", "data=4,model=4", V5E),
    ("values of actions", "valued", "data=4,model=4", V5E),
    ("blended distributions", "blended", "data=2,model=4", V6E),
    ("generated weights", "generated", "data=4,model=4", V5E),
    ("associative scans", "scanned", "data=2,model=4", V5P),
    ("molecules", "molecules", "data=4,model=4", V5E),
    ("poses", "posed", "data=2,model=4", V6E),
    ("restored pictures", "restored", "data=4,model=4", V5E),
    ("alignments", "aligned", "data=4,model=4", V5E),
    ("people's own weights", "personal", "data=4,model=4", V5E),
    ("hashed letters", "spelled", "data=4,model=4", V5E),
    ("drafts of words", "drafted", "data=4,model=4", V5E),
    ("readings filtered", "filtered", "data=4,model=4", V5E),
    ("answers in order", "ranked", "data=4,model=4", V5E),
    ("tags", "tagged", "data=4,model=4", V5E),
    ("covered pictures", "covered", "data=4,model=4", V5E),
    ("matched points", "matched", "data=4,model=4", V5E),
    ("forgetting", "dropped", "data=4,model=4", V5E),
    ("styles", "styled", "data=4,model=4", V5E),
    ("translation by cells", "translated", "data=4,model=4", V5E),
    ("features apart", "decorrelated", "data=4,model=4", V5E),
    ("memories of text", "recalled", "data=4,model=4", V5E),
    ("layers for some words", "routed", "data=4,model=4", V5E),
    ("words in buckets", "bucketed", "data=4,model=4", V5E),
    ("splines", "splined", "data=4,model=4", V5E),
    ("retention", "retained", "data=4,model=4", V5E),
    ("windows of pictures", "augmented", "data=4,model=4", V5E),
)]


def name_of(case):
    return "%s %s %s" % (case.program, case.mesh, case.device)


def run(*words, codes=(0, 2)):
    done = subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True)
    if done.returncode not in codes:
        raise RuntimeError("%s: %s" % (" ".join(map(str, words[:2])), done.stderr[-500:]))
    return done.stdout


def corpus(case):
    """Its text: of tests/corpus, or of the programs that are here alone."""
    paths = [os.path.join(ROOT, "tests", folder, case.program + ".mlir.zst") for folder in ("corpus", os.path.join("judged", "programs"))]
    return next(filter(os.path.exists, paths))


def cost_of(case, path, way):
    """What we say of a strategy document, applied so; the way is written into it."""
    with open(path) as f:
        document = json.load(f)
    with open(path, "w") as f:
        json.dump({**document, "apply": way}, f)
    return json.loads(run("evaluate", corpus(case), "--strategy", path, "--device", case.device, "--json"))


def model_of(path):
    """The cost model that a strategy document is of."""
    with open(path) as f:
        return json.load(f)["tool"]["cost_model"]


def hand_written(case, folder, most, known=None):
    """The expert strategies that we say are fastest among those that fit, annotated as people write them, no two of the same cost:
    [(name, path of its document, our cost)]. known: these and no others."""
    mesh = {axis: int(size) for axis, size in (a.split("=") for a in case.mesh.split(","))}
    found = []
    for i, (name, document) in enumerate(experts_of(Program(case.program, TOOL, corpus(case)), mesh)):
        if known is not None and name not in known:
            continue
        path = os.path.join(folder, "expert%d.json" % i)
        with open(path, "w") as f:
            json.dump(document, f)
        cost = cost_of(case, path, "annotate")
        fits = subprocess.run([TOOL, "evaluate", corpus(case), "--strategy", path, "--device", case.device], capture_output=True).returncode == 0
        found.append((not fits, cost["runtime_ns"], name, path, cost))
    found.sort(key=lambda x: x[:3])
    kept, seen = [], set()
    for _, runtime, name, path, cost in found:
        if known is not None or ((runtime, cost["peak_bytes"]) not in seen and len(kept) < most):
            seen.add((runtime, cost["peak_bytes"]))
            kept.append((name, path, cost))
    return kept
