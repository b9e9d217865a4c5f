"""The strategies of PartIR's table of collectives as schedules (examples/partir): ours beside the paper's counts.

    SHARDWRIGHT=build/shardwright python tests/cli/test_partir.py      prints the table of docs/schedules.md

Counts are of instructions at the level `optimized` (sums before reductions, nothing combined), which is what the paper counts. Its models are
larger than ours; where a count is a formula in layers L or parameters P, ours is held to it."""
import json
import os
import subprocess
import tempfile

import pytest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.path.abspath(os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright")))
KINDS = ("all_gather", "all_reduce", "reduce_scatter", "all_to_all")
L, UNET, MQ = 4, 165, 2  # layers of transformer_4 and decode with 9 tensors each and the embedding; parameters of unet; layers of decode_multi_query_tiny

# program, schedule, the paper's name and counts (AG, AR, RS, A2A), ours, why they differ
ROWS = (
    ("transformer_4", "bp", "T32 BP", (0, 290, 0, 0), (0, 9 * L + 2, 0, 0), "the same: 9L+1 gradients and the loss"),
    ("transformer_4", "mp", "T32 MP", (0, 128, 0, 0), (0, 4 * L, 0, 0), "the same: 4L"),
    ("transformer_4", "bp_mp", "T32 BP+MP", (0, 418, 0, 0), (0, 13 * L + 2, 0, 0), "the same: the sum of both"),
    ("transformer_4", "bp_mp_z2", "T32 BP+MP+Z2", (129, 289, 129, 0), (39, 17, 37, 0),
     "all 9L+1 tensors are cut here, 4L+1 in the paper; two more gathers are of the batch, whose words add up in the embedding's gradient"),
    ("transformer_4", "bp_mp_z3", "T32 BP+MP+Z3", (259, 289, 129, 0), (76, 17, 38, 0), "2 uses of 9L+1 tensors and the two gathers of the batch; one more reduce_scatter sums looked-up rows"),
    ("unet", "bp", "UNet BP", (0, 503, 0, 0), (0, UNET + 1, 0, 0), "the same: P gradients and the loss"),
    ("unet", "bp_z2", "UNet BP+Z2", (517, 2, 501, 0), (184, 1, 146, 19),
     "P gathers of parameters; for 19 time projections the batch of 64 vectors is gathered and exchanged instead of scattering the gradient"),
    ("unet", "bp_z3", "UNet BP+Z3", (799, 2, 501, 0), (255, 1, 165, 37), "P reduce_scatters; 236 gathers are of parameters, 50 of them of kernels reversed for the backward pass; 19 are of the batch for the time projections, which run on cut weights and exchange their results, forward and backward"),
    ("graph_net", "es", "GNS ES", (0, 423, 0, 0), (0, 53, 0, 0), "one kind alone, as in the paper; another graph network, of 6 steps"),
    ("transformer_4", "mp_emb", "T32 EMB", (256, 193, 128, 0), (4 * L, 4 * L + 1, 4 * L, 0),
     "the sums of Megatron become reduce_scatters: 4L. Gathers are shared by the readers: 4 a layer, 8 in the paper. Norms sum over the width twice each, three times there"),
    ("transformer_4", "bp_mp_z3_emb", "T32 BP+MP+Z3+EMB", (515, 354, 257, 0), (92, 18, 54, 0), "BP+MP+Z3 and what EMB adds: 4L gathers (paper 8L), 4L reduce_scatters (the same), 1 sum (2L+1)"),
    ("decode", "bp", "IT32 BP", (0, 0, 0, 0), (0, 1, 0, 0), "one per step asks whether all sequences have ended"),
    ("decode", "mp", "IT32 MP", (0, 98304, 0, 0), (0, 2 * L, 0, 0), "2L per step, 1536 steps in the paper"),
    ("decode", "decode_bp_mp", "IT32 BP+MP", (0, 98304, 0, 0), (0, 2 * L + 1, 0, 0), "2L per step, and the one of BP"),
    ("decode_multi_query_tiny", "bp_mp_mq", "IT32 BP+MP+MQ", (64, 98304, 0, 98240), (0, 2 * MQ + 1, 0, 2 * MQ),
     "2L sums and 2L exchanges per step, before and behind the attention. In the paper 2L gathers stand for the exchanges of one step"),
)
STEPS = 1536  # of the paper's decoding, which its counts are of


def counts(program, schedule, folder):
    out = os.path.join(str(folder), "m.mlir")
    done = subprocess.run([TOOL, "search", os.path.join(ROOT, "tests", "corpus", program + ".mlir.zst"), "--mesh", "batch=4,model=2", "--device", "h100",
                           "--apply", "annotate", "--schedule", os.path.join(ROOT, "examples", "partir", schedule + ".json"), "--emit-mlir", out],
                          capture_output=True, text=True)
    assert done.returncode in (0, 2), done.stderr
    found = json.loads(subprocess.run([TOOL, "lower", out, "--device", "h100", "--json"], capture_output=True, text=True, check=True).stdout)
    return tuple(found["counts"]["optimized"][kind] for kind in KINDS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "%s-%s" % row[:2])
def test_counts(tmp_path, row):
    program, schedule, name, paper, ours, why = row
    found = counts(program, schedule, tmp_path)
    print("%-14s paper %s, ours %s: %s" % (name, paper, found, why))
    assert found == ours


def collectives(program, schedule, trip_count):
    """Kind -> executions per run, at the level `compiled`."""
    done = subprocess.run([TOOL, "search", os.path.join(ROOT, "tests", "corpus", program + ".mlir.zst"), "--mesh", "batch=4,model=2", "--device", "h100", "--apply", "annotate",
                           "--schedule", os.path.join(ROOT, "examples", "partir", schedule + ".json"), "--trip-count", str(trip_count), "--json"],
                          capture_output=True, text=True, check=True)
    return {kind: found["dynamic_count"] for kind, found in json.loads(done.stdout)["cost"]["collectives"].items() if found["dynamic_count"]}


@pytest.mark.parametrize("program,schedule,layers,exchanged", (("decode", "mp", L, 0), ("decode", "decode_bp_mp", L, 0), ("decode_multi_query_tiny", "bp_mp_mq", MQ, 1)))
def test_decoding_counts_its_steps(program, schedule, layers, exchanged):
    """The paper's IT32 rows are of all steps: 2L times 1536."""
    found = collectives(program, schedule, STEPS)
    ends = 0 if schedule == "mp" else STEPS  # whether all have ended
    print(program, schedule, found)
    assert found == {"all_reduce": 2 * layers * STEPS + ends, **({"all_to_all": 2 * layers * STEPS} if exchanged else {})}
    assert 2 * 32 * STEPS == 98304


def test_every_schedule_is_used():
    files = {name[:-5] for name in os.listdir(os.path.join(ROOT, "examples", "partir"))}
    assert files == {row[1] for row in ROWS}


def table():
    def cells(numbers):
        return " / ".join(map(str, numbers))
    lines = ["| the paper's | counts | ours | counts | |", "|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        for program, schedule, name, paper, _, why in ROWS:
            lines.append("| %s | %s | %s, [%s.json](../examples/partir/%s.json) | %s | %s |" % (
                name, cells(paper), program, schedule, schedule, cells(counts(program, schedule, folder)), why))
    return "\n".join(lines)


def test_documented():
    with open(os.path.join(ROOT, "docs", "schedules.md")) as f:
        page = f.read()
    for program, schedule, name, paper, ours, _ in ROWS:
        assert "| %s | %s | %s, " % (name, " / ".join(map(str, paper)), program) in page and " / ".join(map(str, ours)) in page, name


if __name__ == "__main__":
    print(table())
