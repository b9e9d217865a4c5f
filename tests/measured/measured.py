#!/usr/bin/env python3
"""The cost model against published measurements: tables in Markdown on standard output.

    measured.py [SECTION ...]       all sections: nccl, nodes, node, korthikanti, maxtext, a3, lingvo
    measured.py --write             all sections, into docs/measured.md

`make measured` runs it with the jax of the tests. Programs are lowered here and kept under build/measured; nothing is
fetched. The model's numbers are those of the built-in profiles; none is fitted to the step times (docs/measured.md).
"""
import contextlib
import csv
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path[:0] = [HERE, os.path.join(HERE, "..", "oracle")]
sys.dont_write_bytecode = True

from child import forked  # noqa: E402
import gpt  # noqa: E402
import llama  # noqa: E402

TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))
CACHE = os.path.join(ROOT, "build", "measured")
BEGIN, END = "<!-- tables: written by measured.py -->\n", "<!-- end of tables -->\n"
VOCABULARY = 51200
# (hidden, tensor, micro-batch) far off the rows beside them. They count; a second mean leaves them out.
OUTLIERS = {(3072, 8, 64), (3072, 4, 2)}
HOST_BOUND = 1.5


def run(*words):
    done = subprocess.run([TOOL, *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit("%s: %s" % (" ".join(words), done.stderr))
    return done.stdout


# ---------------------------------------------------------------- rows and programs

def rows_of(name):
    """Rows of a table as dictionaries."""
    def value(text):
        try:
            return float(text) if "." in text else int(text)
        except ValueError:
            return text
    with open(os.path.join(HERE, name)) as f:
        lines = (line for line in f if not line.startswith("#"))
        return [{k: value(v) for k, v in row.items()} for row in csv.DictReader(lines)]


def shape_of(row):
    return gpt.Shape(layers=row["layers"], hidden=row["hidden"], heads=row["heads"], sequence=row["sequence"], vocabulary=VOCABULARY,
                     copies=row["data"], micro_batches=row["batch"] // row["data"] // row["micro_batch"], micro_batch=row["micro_batch"])


def module_of(model, shape, mesh):
    """Path of the module with its shardings; lowered once per version of what it is made from."""
    digest = hashlib.sha256(repr((shape, mesh, gpt.jax.__version__)).encode())
    with open(model.__file__, "rb") as f:
        digest.update(f.read())
    path = os.path.join(CACHE, digest.hexdigest()[:32] + ".mlir.zst")
    if not os.path.exists(path):
        os.makedirs(CACHE, exist_ok=True)
        text = forked(model.lower, shape, mesh)     # lowering starts threads, and tests fork after it
        subprocess.run(["zstd", "-q", "-f", "-o", path + ".new", "-"], check=True, input=text.encode())
        os.replace(path + ".new", path)
    return path


def profile_of(device):
    return json.loads(run("devices", device))


def cost_of(model, shape, mesh, device):
    return json.loads(run("simulate", module_of(model, shape, mesh), *device, "--json"))


# ---------------------------------------------------------------- figures

def error(model, measured):
    return model / measured - 1


def mape(pairs):
    return sum(abs(error(*p)) for p in pairs) / len(pairs)


def ranks(values):
    """Rank of each value, ties at their mean."""
    order = sorted(values)
    return [order.index(v) + (order.count(v) - 1) / 2 for v in values]


def spearman(pairs):
    a, b = ranks([p[0] for p in pairs]), ranks([p[1] for p in pairs])
    middle = (len(pairs) - 1) / 2
    top = sum((x - middle) * (y - middle) for x, y in zip(a, b))
    return top / (sum((x - middle) ** 2 for x in a) * sum((y - middle) ** 2 for y in b)) ** 0.5


def regret(pairs):
    """How much slower than the best what the model thinks best was measured to be."""
    return min(pairs)[1] / min(p[1] for p in pairs) - 1


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "--:|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def percent(x):
    return "%+.1f%%" % (100 * x)


def goal(what, value, text, met):
    print("%s: %s (%s: %s)" % (what, value, text, "met" if met else "MISSED"))


# ---------------------------------------------------------------- sections

def network_profile(device, bits_s, source):
    """The device with another network: bits per second of a node of 8."""
    profile = profile_of(device)
    nic = next(link for link in profile["links"] if link["name"] == "nic")
    nic["bandwidth_bytes_s"] = {"value": bits_s // 8 // 8, "source": source}
    path = os.path.join(CACHE, "%s-%dg.json" % (device, bits_s // 10**9))
    os.makedirs(CACHE, exist_ok=True)
    with open(path, "w") as f:
        json.dump(profile, f, indent=1)
    return ["--device-file", path]


def cluster_profile():
    """The cluster that vTrain's step times are from. The built-in profile has 1600 Gb/s per node."""
    return network_profile("a100", 800 * 10**9, "VIA-Research/vTrain, config/validation: 800 Gb/s per node of 8")


def step_ms(cost):
    """-> (as simulated, with nothing hidden). The second is what the system did: it waits for every reduction, of
    activations where it is made and of gradients after the last micro-batch."""
    return cost["runtime_ns"] / 1e6, (cost["compute_ns"] + cost["communication_ns"]) / 1e6


def nccl():
    print("## NCCL all_reduce, one node\n\nFitted by `calibrate` to every other size, the rest predicted.\n")
    out, worst = [], 0
    for gpu in ("a100", "v100"):
        text = subprocess.run(["zstd", "-qdc", os.path.join(HERE, "vtrain", "allreduce_%s.csv.zst" % gpu)], check=True, capture_output=True).stdout.decode()
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        with tempfile.TemporaryDirectory() as folder:
            halves = []
            for odd in (0, 1):
                halves.append(os.path.join(folder, "half%d.csv" % odd))
                with open(halves[-1], "w") as f:
                    f.write("\n".join([lines[0]] + [line for line in lines[1:] if int(line.split(",")[1]) // 2**20 % 2 == odd]) + "\n")
            fitted = os.path.join(folder, "fitted.json")
            run("calibrate", halves[0], "--device", "a100", "-o", fitted)
            # before a fit: how the profile that was fitted to the other half does
            report = run("calibrate", halves[1], "--device-file", fitted, "-o", os.path.join(folder, "again.json"))
        for words in (line.split() for line in report.splitlines() if line.startswith("nvlink ")):
            out.append([gpu, *words[1:4]])
            worst = max(worst, float(words[3].rstrip("%")))
    table(["GPU", "group", "rows predicted", "mean error"], out)
    goal("NCCL tables, mean error of the worst group", "%.1f%%" % worst, "goal 5% from 16 MiB", worst <= 5)
    print()


def nodes():
    print("## Step times, several nodes\n")
    device, out, pairs, groups = cluster_profile(), [], [], {}
    for row in rows_of("vtrain/multi.csv"):
        overlapped, serial = step_ms(cost_of(gpt, shape_of(row), {"data": row["data"], "model": row["tensor"]}, device))
        outlier = (row["hidden"], row["tensor"], row["micro_batch"]) in OUTLIERS
        out.append([row["hidden"], row["gpus"], row["tensor"], row["data"], row["micro_batch"], "%.0f%s" % (row["ms"], " (outlier)" if outlier else ""),
                    "%.0f" % serial, percent(error(serial, row["ms"])), "%.0f" % overlapped, percent(error(overlapped, row["ms"]))])
        pairs.append((serial, overlapped, row["ms"], outlier))
        groups.setdefault(row["hidden"], []).append((serial, row["ms"], row["tensor"], outlier))
    table(["hidden", "GPUs", "tensor", "data", "micro-batch", "measured ms", "model ms", "error", "with overlap", "error"], out)
    every, kept = [p[::2] for p in pairs], [(s, ms) for s, _, ms, outlier in pairs if not outlier]
    goal("step time, all %d rows, mean absolute error" % len(every), "%.1f%%" % (100 * mape([p[:2] for p in every])), "goal 15%",
         mape([p[:2] for p in every]) <= 0.15)
    print("without the two outliers: %.1f%%; with overlap, all rows: %.1f%%" % (100 * mape(kept), 100 * mape([(o, ms) for _, o, ms, _ in pairs])))
    goal("ranking over all rows, Spearman", "%.3f" % spearman([p[:2] for p in every]), "goal 0.85", spearman([p[:2] for p in every]) >= 0.85)
    for hidden, group in sorted(groups.items()):
        best = [p[:2] for p in group]
        print("hidden %d, %d rows: Spearman %.3f, without outliers %.3f, regret %.1f%%" %
              (hidden, len(group), spearman(best), spearman([p[:2] for p in group if not p[3]]), 100 * regret(best)))
    print()


def host_bound(row, times):
    """Does the host that launches kernels set the pace? Then twice the micro-batch takes about as long. A statement about
    the measurement alone."""
    def of(micro_batch):
        found = times.get((row["hidden"], row["tensor"], row["data"], row["batch"], micro_batch))
        return found and found / (row["batch"] // row["data"] // micro_batch)
    here, half, double = of(row["micro_batch"]), of(row["micro_batch"] // 2), of(2 * row["micro_batch"])
    return here / half < HOST_BOUND if half else bool(double) and double / here < HOST_BOUND


def node():
    print("## Step times, one node\n")
    rows = rows_of("vtrain/single.csv")
    times = {(r["hidden"], r["tensor"], r["data"], r["batch"], r["micro_batch"]): r["ms"] for r in rows}
    groups, free = {}, []
    for row in rows:
        _, serial = step_ms(cost_of(gpt, shape_of(row), {"data": row["data"], "model": row["tensor"]}, ["--device", "a100"]))
        bound = host_bound(row, times)
        groups.setdefault((row["hidden"], row["tensor"]), []).append((serial, row["ms"], bound))
        if not bound:
            free.append((serial, row["ms"]))
    out = []
    for (hidden, tensor), group in sorted(groups.items()):
        device = [p[:2] for p in group if not p[2]]
        host = [p[:2] for p in group if p[2]]
        mean = [percent(sum(error(*p) for p in part) / len(part)) if part else "-" for part in (device, host)]
        out.append([hidden, tensor, len(device), "%.1f%%" % (100 * mape(device)) if device else "-", mean[0], len(host), mean[1]])
    table(["hidden", "tensor", "rows", "mean absolute error", "mean error", "rows the host bounds", "mean error"], out)
    print("%d rows of %d that the host does not bound: mean absolute error %.1f%%, Spearman %.3f; all: Spearman %.3f\n" %
          (len(free), len(rows), 100 * mape(free), spearman(free), spearman([p[:2] for g in groups.values() for p in g])))


def korthikanti():
    """Korthikanti et al. 2022, table 5: 22B parameters on one node of 8 A100 80 GB, tensor parallelism 8, one batch of 4, every
    layer computed again: 1.42 s. The only row of that table without a pipeline; its others recompute attention alone."""
    shape = gpt.Shape(layers=48, hidden=6144, heads=64, sequence=2048, vocabulary=VOCABULARY, copies=1, micro_batches=1, micro_batch=4)
    _, serial = step_ms(cost_of(gpt, shape, {"data": 1, "model": 8}, ["--device", "a100"]))
    print("Korthikanti et al., 22B on 8 A100: model %.2f s, measured 1.42 s (%s)\n" % (serial / 1e3, percent(error(serial, 1420))))


def model_flops(row, shape):
    """Of one step, as MaxText counts: no recomputation, attention over all pairs of positions."""
    tokens, inner = shape.batch * shape.sequence, row["heads"] * row["head"]
    layer = (18 if row["gated"] else 12) * row["width"] * row["hidden"] + 24 * row["width"] * inner + 12 * shape.sequence * inner
    return tokens * (row["layers"] * layer + 6 * row["width"] * shape.vocabulary)


def llama_shape(row, sequence=2048, **rest):
    chips = row["slices"] * row["fsdp"] * row["tensor"]
    return llama.Shape(layers=row["layers"], width=row["width"], hidden=row["hidden"], gated=bool(row["gated"]), heads=row["heads"], head=row["head"],
                       batch=row["tokens"] * chips // sequence, sequence=sequence, vocabulary=32000, remat=row["remat"], **rest)


def maxtext():
    print("## MaxText on TPU\n")
    out, pairs, hidden, sliced = [], [], [], []
    for row in rows_of("maxtext.csv"):
        chips = row["slices"] * row["fsdp"] * row["tensor"]
        shape = llama_shape(row)
        cost = cost_of(llama, shape, {"replica": row["slices"], "fsdp": row["fsdp"], "tensor": row["tensor"]}, ["--device", row["device"]])
        model, measured = cost["runtime_ns"] / 1e9, model_flops(row, shape) / chips / row["tflops"] / 1e12
        usable = profile_of(row["device"])["usable_bytes"]["value"]
        out.append([row["name"], row["device"], chips, row["slices"], row["tensor"], row["remat"], row["tflops"], "%.2f" % measured, "%.2f" % model,
                    percent(error(model, measured)), percent(error(cost["compute_ns"] / 1e9, measured)), "%.1f" % (cost["peak_bytes"] / 2**30),
                    "yes" if cost["peak_bytes"] <= usable else "NO"])
        if row["slices"] == 1:
            pairs.append((model, measured))
            hidden.append((cost["compute_ns"] / 1e9, measured))
        if (row["name"], row["device"]) == ("16B", "tpu-v5e"):
            sliced.append((model, measured))
    table(["model", "device", "chips", "slices", "tensor", "remat", "TFLOP/s per chip", "measured s", "model s", "error", "computing alone", "peak GiB", "fits"], out)
    goal("step time, %d rows of one slice, mean absolute error" % len(pairs), "%.1f%%" % (100 * mape(pairs)), "goal 20%", mape(pairs) <= 0.2)
    print("computing alone, all collectives hidden: %.1f%%" % (100 * mape(hidden)))
    rising = all(a[0] <= 1.001 * b[0] for a, b in zip(sliced, sliced[1:]))
    goal("more slices of 16B never make a step shorter, to 0.1%", "yes" if rising else "no", "goal yes", rising)
    print("32 slices to one, 16B: measured %+.1f%%, model %+.1f%%\n" % tuple(100 * error(sliced[-1][i], sliced[0][i]) for i in (1, 0)))


def a3():
    print("## MaxText on GPU: Llama 2 7B on nodes of 8 H100\n")
    device, out, pairs = network_profile("h100", 800 * 10**9, "Google Cloud, A3 High: 4 NICs of 200 Gb/s for 8 GPUs"), [], []
    for row in rows_of("maxtext_a3.csv"):
        shape = llama_shape(dict(row, fsdp=8, tensor=1, slices=row["nodes"], tokens=4 * 4096), sequence=4096, scanned=False)
        cost = cost_of(llama, shape, {"replica": row["nodes"], "fsdp": 8, "tensor": 1}, device)
        model, measured = cost["runtime_ns"] / 1e9, model_flops(row, shape) / (8 * row["nodes"]) / row["tflops"] / 1e12
        out.append([row["nodes"], row["tflops"], "%.2f" % measured, "%.2f" % model, percent(error(model, measured)), "%.1f" % (cost["peak_bytes"] / 2**30)])
        pairs.append((model, measured))
    table(["nodes", "TFLOP/s per GPU", "measured s", "model s", "error", "peak GiB"], out)
    goal("step time, %d rows, mean absolute error" % len(pairs), "%.1f%%" % (100 * mape(pairs)), "goal 20%", mape(pairs) <= 0.2)
    print()


def lingvo():
    print("## GSPMD's dense models on TPU v3\n")
    device, out, pairs = os.path.join(HERE, "tpu-v3-core.json"), [], []
    with open(device) as f:
        usable = json.load(f)["usable_bytes"]["value"]
    for row in rows_of("lingvo.csv"):
        shape = llama.Shape(layers=row["layers"], width=row["width"], hidden=row["hidden"], gated=bool(row["gated"]), heads=row["heads"], head=128,
                            batch=row["batch"], sequence=row["sequence"], vocabulary=32000, remat="full", fused=False, factored=bool(row["factored"]))
        cost = cost_of(llama, shape, {"replica": 1, "fsdp": row["fsdp"], "tensor": row["tensor"]}, ["--device-file", device])
        model, measured = cost["runtime_ns"] / 1e9, row["batch"] * row["sequence"] / row["tokens_s"]
        out.append([row["name"], "%dx%d" % (row["fsdp"], row["tensor"]), row["tokens_s"], "%.2f" % measured, "%.2f" % model, percent(error(model, measured)),
                    "%.1f" % (cost["peak_bytes"] / 2**30), "yes" if cost["peak_bytes"] <= usable else "NO"])
        pairs.append((model, measured))
    table(["model", "cores", "tokens/s", "measured s", "model s", "error", "peak GiB", "fits"], out)
    goal("step time, %d rows, mean absolute error" % len(pairs), "%.1f%%" % (100 * mape(pairs)), "goal 20%", mape(pairs) <= 0.2)
    print()


SECTIONS = {"nccl": nccl, "nodes": nodes, "node": node, "korthikanti": korthikanti, "maxtext": maxtext,
            "a3": a3, "lingvo": lingvo}


def write_tables():
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        main([])
    page = os.path.join(ROOT, "docs", "measured.md")
    with open(page) as f:
        head, rest = f.read().split(BEGIN)
    with open(page, "w") as f:
        f.write(head + BEGIN + "\n" + text.getvalue() + END + rest.split(END)[1])
    print(text.getvalue(), end="")


def main(argv):
    if argv == ["--write"]:
        return write_tables()
    if set(argv) - set(SECTIONS):
        sys.exit(__doc__)
    for name in argv or SECTIONS:
        SECTIONS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
