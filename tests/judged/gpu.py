#!/usr/bin/env python3
"""Have XLA for GPU compile our answers and hand-written plans, and keep in gpu.json what its ahead-of-time compiler says of them.

    gpu.py [--cases GLOB] [--experts 4] [--ways exact,annotate] [--again] [--jobs 2] [--seconds 900] [--keep DIR] [--tools DIR]
    gpu.py --known                our costs of all rows that are there, anew
    gpu.py --simulate --keep DIR  the kept texts, read anew
    gpu.py --report               tables of what is there

Needs jax[cuda12] in the environment that compiles (several GB), no GPU, and xla_oracle.py in --tools. A row that is there is left alone, so that it can be stopped and
started again; rows of another answer are minted anew.

A row: family, digest of the module, our cost, what the compiler says of memory, bytes and instructions of collectives, compile seconds, and what `shardwright simulate`
says of the scheduled text, in us. `rates`: XLA's kernels, collectives and schedule at the rates of our profile. `xla`: what XLA's own models estimate of kernels and
collectives (--xla_gpu_collect_cost_model_stats) in their place, where they do; they do not of copies, reduce-scatters, all-to-alls and products of 8 bits (`unestimated`: of
kernels). Neither is a measurement: nothing was run. Products are cuBLAS calls here: Triton's are chosen by running them. Documents of answers are in gpu_answers.json.zst.
"""
import concurrent.futures
import fnmatch
import hashlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import cases  # noqa: E402
import mint  # noqa: E402

FIGURES = os.path.join(HERE, "gpu.json")
ANSWERS = os.path.join(HERE, "gpu_answers.json.zst")  # documents of our answers that were compiled, by key of the row
MEMORY = ("argument_bytes", "output_bytes", "alias_bytes", "temp_bytes")
BANDWIDTH = {"h100": "3352320000000", "h200": "4800000000000"}  # bytes/s, as their device descriptions have it
H100 = ("h100", "1x1x8")
H200 = ("h200", "1x1x8")
# Every program of cases.py once, on one server of eight; some on the other GPU and a mesh of three axes.
PROGRAMS = list(dict.fromkeys((c.family, c.program) for c in cases.CASES))
CASES = [cases.Case(family, program, "data=2,model=4", *H100) for family, program in PROGRAMS]
CASES += [cases.Case(family, program, "data=2,fsdp=2,model=2", *H200) for family, program in PROGRAMS if program in
          ("transformer_4", "moe", "llama_4", "decode", "dit", "unet", "recommender", "gated", "blocks", "ssm", "lora", "encoder_decoder")]


def compile_here(tools, device, topology, module, hlo):
    """xla_oracle.py with that GPU's bandwidth, and the compiler's estimates in the text. In a process of its own."""
    sys.path.insert(0, tools)
    import xla_oracle
    xla_oracle.H100_TARGET = xla_oracle.H100_TARGET.replace(BANDWIDTH["h100"], BANDWIDTH[device]).replace("H100 80GB HBM3", device.upper())
    return xla_oracle.main(["xla_oracle.py", "compile", "gpu", topology, module, "--hlo", hlo, "--option", "xla_gpu_collect_cost_model_stats=True"])


def collectives_of(cost):
    """Bytes of the larger sides and instructions of a step, by kind."""
    kinds = {kind: c for kind, c in cost["collectives"].items() if c["dynamic_count"]}
    return {"bytes": {kind: c["bytes"] for kind, c in kinds.items()}, "instructions": {kind: c["dynamic_count"] for kind, c in kinds.items()}}


def times_of(hlo, device):
    said = json.loads(cases.run("simulate", hlo, "--device", device, "--json"))
    times = {name: round(said[ns] / 1e3, 1) for name, ns in (("step", "runtime_ns"), ("compute", "compute_ns"), ("links", "communication_ns"),
                                                             ("exposed", "exposed_communication_ns"))}
    return times, said


def simulated(hlo, device):
    """What `simulate` says of a scheduled text: with XLA's estimates, and with the profile's rates alone."""
    times, said = times_of(hlo, device)
    with open(hlo) as f:
        text = f.read()
    plain = hlo + ".plain"
    with open(plain, "w") as f:
        f.write(re.sub(r'"reification_cost":\[[^\]]*\]', '"reification_cost":[]', text))
    kernels = said["sources"]["kernels"]
    return {"xla": {**times, "unestimated": round(kernels.get("model", {"ns": 0})["ns"] / 1e3, 1)}, "rates": times_of(plain, device)[0],
            "kernels": sum(k["count"] for k in kernels.values()), **collectives_of(said)}


def kept_at(folder, key):
    return os.path.join(folder, re.sub(r"\W+", "_", key) + ".hlo.zst")


def simulate_kept(figures, options):
    """The kept texts of all rows, read anew."""
    def again(key):
        path = kept_at(options.keep, key)
        if not os.path.exists(path):
            return
        with tempfile.TemporaryDirectory() as folder:
            hlo = os.path.join(folder, "m.hlo")
            subprocess.run(["zstd", "-qd", path, "-o", hlo], check=True)
            figures[key].pop("not_simulated", None)
            figures[key].update(simulated(hlo, key.split(" | ")[0].split(" ")[-1]))

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(again, figures))
    mint.save(figures, FIGURES)


def judge(module, key, case, options):
    hlo, start = module + ".hlo", time.monotonic()
    command = [sys.executable, os.path.abspath(__file__), "--compile", options.tools, case.device, case.topology, module, hlo]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.seconds)
    except subprocess.TimeoutExpired:
        return {"compile_s": options.seconds, "error": "no answer after %d s" % options.seconds}
    row = {"compile_s": round(time.monotonic() - start, 1)}
    if done.returncode:
        said = done.stderr.strip().split("\n")[-1]
        return {**row, "out_of_memory" if mint.NO_MEMORY.search(done.stderr) else "error": said[-300:]}
    row["memory"] = {k: json.loads(done.stdout)[k] for k in MEMORY}
    try:
        row.update(simulated(hlo, case.device))
    except RuntimeError as refused:  # a defect of ours, and not of the row
        row["not_simulated"] = str(refused).split("\n")[0].replace(hlo, "HLO")[:300]
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
        subprocess.run(["zstd", "-qf", hlo, "-o", kept_at(options.keep, key)], check=True)
    return row


def ours_of(cost):
    own = {**mint.ours_of(cost), "communication_ns": cost["communication_ns"], "exposed_communication_ns": cost["exposed_communication_ns"]}
    return {**own, **collectives_of(cost)}


def mint_case(case, figures, answers, lock, options):
    with tempfile.TemporaryDirectory() as folder:
        for plan, way, path, cost in mint.plans_of(case, figures, folder, options):
            key = "%s | %s | %s" % (cases.name_of(case), plan, way)
            module = os.path.join(folder, re.sub(r"\W+", "_", key) + ".mlir")
            cases.run("apply", cases.corpus(case), "--strategy", path, "--apply", way, "-o", module)
            with open(module, "rb") as f:
                digest = hashlib.sha256(f.read()).hexdigest()[:16]
            old = figures.get(key)
            if old and old["module"] == digest and not options.again:
                old["ours"] = ours_of(cost)
            else:
                row = {"family": case.family, "module": digest, "ours": ours_of(cost), **judge(module, key, case, options)}
                with lock:
                    figures[key] = row
                    mint.save(figures, FIGURES)
                    print("%-80s ours %9.3f ms  XLA %s  %5.0f s" % (key, cost["runtime_ns"] / 1e6, "%9.3f ms" % (row["xla"]["step"] / 1e3) if "xla" in row else
                                                                "out of memory" if "out_of_memory" in row else "failed", row["compile_s"]), flush=True)
            if plan == "search":
                figures[key]["cost_model"] = cases.model_of(path)
                answers[key] = mint.without_search(path)


def known(case, figures, answers):
    """Our costs of a case's rows, anew: of the answers' documents, and of hand-written plans."""
    prefix = cases.name_of(case) + " | "
    mesh = {axis: int(size) for axis, size in (a.split("=") for a in case.mesh.split(","))}
    written = dict(cases.experts_of(cases.Program(case.program, cases.TOOL, cases.corpus(case)), mesh))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s.json")
        for key in (k for k in figures if k.startswith(prefix)):
            _, plan, way = key.split(" | ")
            document = answers.get(key) if plan == "search" else written.get(plan)
            if document:
                with open(path, "w") as f:
                    json.dump(document, f)
                figures[key]["ours"] = ours_of(cases.cost_of(case, path, way))


def error(ours, theirs):
    return ours / theirs - 1 if theirs else float(ours > 0)


# Of a row of a plan: (what we say, what XLA's program has), None where that is too small to say anything.
COMPARED = {
    "computing time, XLA's kernels at our rates": lambda r: (r["ours"]["compute_ns"] / 1e3, r["rates"]["compute"]),
    "communication, XLA's collectives at our rates": lambda r: (r["ours"]["communication_ns"] / 1e3, r["rates"]["links"]) if r["rates"]["links"] > 100 else None,
    "step, XLA's schedule at our rates": lambda r: (r["ours"]["runtime_ns"] / 1e3, r["rates"]["step"]),
    "computing time by XLA's estimates": lambda r: (r["ours"]["compute_ns"] / 1e3, r["xla"]["compute"]),
    "step by XLA's estimates": lambda r: (r["ours"]["runtime_ns"] / 1e3, r["xla"]["step"]),
    "temporaries above 64 MiB": lambda r: (r["ours"]["temporary_bytes"], r["memory"]["temp_bytes"]) if r["memory"]["temp_bytes"] > 64 << 20 else None,
}


def print_errors(rows, title):
    print("| %s | rows | median error | within 15%% | within 25%% | mean |\n|---|--:|--:|--:|--:|--:|" % title)
    for what, pair in COMPARED.items():
        errors = [error(*p) for p in map(pair, rows) if p]
        if not errors:
            continue
        sizes = [abs(e) for e in errors]
        within = [100 * sum(e <= most for e in sizes) / len(sizes) for most in (.15, .25)]
        print("| %s | %d | %.1f%% | %.0f%% | %.0f%% | %+.1f%% |" % (what, len(sizes), 100 * statistics.median(sizes), *within, 100 * statistics.fmean(errors)))
    equal = sum(abs(error(sum(r["ours"]["bytes"].values()), sum(r["bytes"].values()))) <= .01 for r in rows)
    print("\nbytes of all collectives within 1%%: %d of %d\n" % (equal, len(rows)))


def print_answers(by_case, clock):
    """Ratios of our answers to the best hand-written plan of the case, and what our first choice among those costs."""
    regrets = []
    for way in ("exact", "annotate"):
        ratios = []
        for case, rows in by_case.items():
            written = [r[clock]["step"] for plan, _, r in rows if plan != "search"]
            ours = [r[clock]["step"] for plan, w, r in rows if plan == "search" and w == way]
            if written and ours:
                ratios.append((ours[0] / min(written), case))
        if ratios:
            behind = ", ".join("%s %.2f" % (case.split(" ")[0], ratio) for ratio, case in sorted(ratios, reverse=True) if ratio > 1.03)
            print("%s, %s: geometric mean %.2f of %d, at most 1.03: %d; behind: %s" % (
                clock, way, statistics.geometric_mean(r for r, _ in ratios), len(ratios), sum(r <= 1.03 for r, _ in ratios), behind or "none"))
    for case, rows in by_case.items():
        written = [(r["ours"]["runtime_ns"], r[clock]["step"]) for plan, _, r in rows if plan != "search"]
        if len(written) > 2:
            regrets.append((min(written)[1] / min(step for _, step in written), case))
    far = ", ".join("%s %.2f" % (case.split(" ")[0], ratio) for ratio, case in sorted(regrets, reverse=True) if ratio > 1.1)
    print("%s: first choice among hand-written plans within 3%%: %d of %d; more than 10%%: %s\n" % (clock, sum(r <= 1.03 for r, _ in regrets), len(regrets), far or "none"))


def report(figures):
    by_case = {}
    for key, row in figures.items():
        if "rates" in row:
            case, plan, way = key.split(" | ")
            by_case.setdefault(case, []).append((plan, way, row))
    rows = [(plan, row) for rows in by_case.values() for plan, _, row in rows]
    print("%d programs, %d plans on %d cases; without figures: %d\n" % (len({c.split(" ")[0] for c in by_case}), len(rows), len(by_case), len(figures) - len(rows)))
    print_errors([r for plan, r in rows if plan != "search"], "hand-written plans")
    print_errors([r for plan, r in rows if plan == "search"], "answers")
    for clock in ("rates", "xla"):
        print_answers(by_case, clock)


def main():
    if sys.argv[1:2] == ["--compile"]:
        return compile_here(*sys.argv[2:])
    parser = mint.parser_of(__doc__.splitlines()[0])
    parser.add_argument("--cases", default="*", help="of those whose name this matches, such as 'moe *'")
    parser.add_argument("--experts", type=int, default=4, help="hand-written plans per case")
    parser.add_argument("--ways", default="exact,annotate", help="in which our own answer is applied; empty: hand-written plans alone")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--known", action="store_true", help="compile nothing: our costs of all rows that are there, anew")
    parser.add_argument("--report", action="store_true", help="compile nothing: tables")
    parser.add_argument("--simulate", action="store_true", help="compile nothing: read the texts in the --keep folder anew")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    options.written, options.same, options.alternatives = "annotate", False, 0
    figures, answers, lock = mint.load(FIGURES), mint.load_answers(ANSWERS), threading.Lock()
    if options.report:
        return report(figures)
    if options.simulate:
        return simulate_kept(figures, options)

    def work(case):
        try:
            if options.known:
                return known(case, figures, answers)
            mint_case(case, figures, answers, lock, options)
            with lock:
                mint.save_answers(answers, ANSWERS)
        except RuntimeError as error:
            print("%s: %s" % (cases.name_of(case), error), file=sys.stderr, flush=True)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(work, [c for c in CASES if fnmatch.fnmatch(cases.name_of(c), options.cases)]))
    mint.save(figures, FIGURES)


if __name__ == "__main__":
    sys.exit(main())
