"""How far apart the answers of ten seeds are, and how soon the first one comes that is good enough (`make bench-seeds`): 40 cases, default budget, one
thread.

    seeds.py [--case PROGRAM/MESH/DEVICE,..] [--seeds N] [--again] [--table | --endings]

One record per search goes to build/bench-seeds.jsonl; those of this build that are there already are not repeated. The tables go to
docs/search-quality.md. --table: only write, from the records at hand. --endings: only print what searches would have found by then, had they ended sooner."""
import argparse
import hashlib
import json
import math
import os
import re
import resource
import statistics
import subprocess

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))
RECORDS = os.environ.get("BENCH_SEEDS_RECORDS", os.path.join(ROOT, "build", "bench-seeds.jsonl"))
PAGE = os.path.join(ROOT, "docs", "search-quality.md")
MESHES = {"4x4": "data=4,model=4", "16x16": "data=16,model=16", "2x2x4": "replica=2,data=2,model=4"}
CASES = ["mlp/4x4/tpu-v5e", "mlp/16x16/tpu-v5e", "mlp/2x2x4/a100", "moe/16x16/tpu-v5e", "moe/16x16/tpu-v5p", "moe/4x4/h100", "moe/2x2x4/tpu-v5p",
         "transformer_scan/16x16/tpu-v5p", "transformer_scan/2x2x4/a100", "transformer_scan/2x2x4/h100", "transformer_4/4x4/a100",
         "transformer_4/2x2x4/tpu-v5p", "transformer_4_forward/4x4/tpu-v5e", "transformer_32/4x4/tpu-v5e", "llama_8b/16x16/h100", "llama_8b/16x16/tpu-v5p",
         "llama_4/4x4/tpu-v5p", "llama_4/2x2x4/tpu-v5p", "accumulate/2x2x4/a100", "accumulate/16x16/tpu-v5e", "convnet/2x2x4/tpu-v5p",
         "convnet/4x4/tpu-v5e", "decode/2x2x4/tpu-v5p", "decode/4x4/tpu-v5e", "decode/16x16/h100", "ssm/4x4/tpu-v5e", "dit/2x2x4/a100", "dit/2x2x4/h100",
         "encoder_decoder/2x2x4/tpu-v5e", "encoder_decoder/4x4/tpu-v5e", "flax_step/4x4/tpu-v5e", "graph_net/4x4/tpu-v5e", "graph_net/2x2x4/a100",
         "lora/4x4/tpu-v5e", "mixed_precision/4x4/tpu-v5e", "optax_step/2x2x4/tpu-v5p", "optax_step/16x16/h100", "resnet/4x4/tpu-v5e",
         "resnet/2x2x4/a100", "unet/4x4/tpu-v5e"]
TOLERANCE = 1.02


def run(case, seed, build):
    program, mesh, device = case.split("/")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([TOOL, "search", os.path.join(ROOT, "tests", "corpus", program + ".mlir.zst"), "--mesh", MESHES[mesh], "--device", device,
                           "--seed", str(seed), "--threads", "1", "--json"], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 2):
        raise RuntimeError("%s: %s" % (case, done.stderr))
    d = json.loads(done.stdout)
    last = d["cost"]["runtime_ns"]
    soon = next((i for i in d["search"]["incumbents"] if i["runtime_ns"] <= TOLERANCE * last and i["peak_bytes"] <= d["memory_limit_bytes"]), None)
    return {"case": case, "seed": seed, "build": build, "cost_model": d["tool"]["cost_model"], "runtime_ns": last, "fits": d["fits"],
            "found": [[i["evaluation"], i["runtime_ns"], i["peak_bytes"] <= d["memory_limit_bytes"]] for i in d["search"]["incumbents"]],
            "evaluations": d["search"]["evaluations"], "soon": soon and soon["evaluation"], "soon_s": soon and soon["seconds"],
            "search_s": d["search"]["seconds"], "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def tables(records, asked):
    """Per case: how far apart the seeds' answers are, evaluations until the first answer within 2% of the last one, and in all."""
    lines = ["| program, mesh, device | fastest | slowest | median | within 2% after | evaluations | seeds |", "|---|--:|--:|--:|--:|--:|--:|"]
    full, near, factors = 0, 0, []
    for case in CASES:
        runs = [r for (c, _), r in records.items() if c == case]
        if not runs:
            continue
        times = [r["runtime_ns"] for r in runs]
        spread, middle = max(times) / min(times), statistics.median(times) / min(times)
        soon, all_of_it = (statistics.median(r[key] or r["evaluations"] for r in runs) for key in ("soon", "evaluations"))
        factors.append(all_of_it / soon)
        if len(runs) >= asked:
            full, near = full + 1, near + (spread <= TOLERANCE and all(r["fits"] for r in runs))
        apart = "+%.1f%% | +%.1f%%" % (100 * (spread - 1), 100 * (middle - 1)) if len(runs) > 1 else "- | -"
        lines.append("| %s | %.4g ms | %s | %d | %d | %d |" % (case.replace("/", ", "), min(times) / 1e6, apart, soon, all_of_it, len(runs)))
    models = sorted({r["cost_model"] for r in records.values()})
    lines += ["", "Cost model %s. In %d of the %d cases with %d seeds or more all answers are within 2%% of the fastest. A search takes %.1f times the evaluations of its first "
              "answer within 2%% of the last, in the median case; at most three times in %d of %d." % (
                  " and ".join(models), near, full, asked, statistics.median(factors) if factors else float("nan"), sum(f <= 3 for f in factors), len(factors))]
    return lines


def answer_of(found, idle):
    """Evaluations, and the step of the best plan that fits by then, of a search that ends after so many evaluations without one better by a thousandth, or
    as many as it took to find the last one. found: of replayed plans. None: nothing that fits was found."""
    best, at = None, 0
    for evaluation, ns, fits in sorted(found):
        if best is not None and evaluation - at > max(at, idle):
            break
        if fits and (best is None or ns < best):
            at = evaluation if best is None or ns < best * 0.999 else at
            best = ns
    return None if best is None else (at + max(at, idle), best)


def endings(records):
    """For each limit of idle evaluations: how answers compare with those of today, how much was saved, and how many searches end within three times
    their first good answer."""
    for idle in (1500, 1000, 800, 600, 400):
        ends = [(answer_of(r["found"], idle), r) for r in records.values() if r.get("soon")]
        ends = [(min(end[0], r["evaluations"]), end[1] / r["runtime_ns"], r) for end, r in ends if end]
        ratios = [ratio for _, ratio, _ in ends]
        print("%4d idle evaluations: steps %.3f of today's, within 2%% in %d of %d, worst %.2f; %.2f of the evaluations, at most three times those of the first good answer in %d" % (
            idle, math.exp(statistics.mean(map(math.log, ratios))), sum(ratio <= TOLERANCE for ratio in ratios), len(ratios), max(ratios),
            statistics.mean(end / r["evaluations"] for end, _, r in ends), sum(end <= 3 * r["soon"] for end, _, r in ends)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", default=",".join(CASES))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--endings", action="store_true")
    options = parser.parse_args()
    with open(TOOL, "rb") as f:
        build = hashlib.sha256(f.read()).hexdigest()[:12]
    records = {}
    if os.path.exists(RECORDS):
        with open(RECORDS) as f:
            records = {(r["case"], r["seed"]): r for r in map(json.loads, f)}
    if options.endings:
        return endings(records)
    for seed in [] if options.table else range(1, options.seeds + 1):
        for case in options.case.split(","):
            if not options.again and records.get((case, seed), {}).get("build") == build:
                continue
            records[case, seed] = run(case, seed, build)
            with open(RECORDS, "a") as f:
                f.write(json.dumps(records[case, seed]) + "\n")
        print("seed %d done" % seed, flush=True)
    with open(PAGE) as f:
        page = f.read()
    page = re.sub(r"(<!-- seeds: .*? -->\n).*?(<!-- end of seeds -->)", lambda m: m[1] + "\n".join(tables(records, options.seeds)) + "\n" + m[2], page, flags=re.DOTALL)
    with open(PAGE, "w") as f:
        f.write(page)


if __name__ == "__main__":
    main()
