#!/usr/bin/env python3
"""Have XLA compile our answers and hand-written plans, and keep what its schedules say in figures.json.

    mint.py [--cases GLOB] [--experts 4] [--ways exact,annotate] [--written annotate] [--same] [--alternatives 0] [--again] [--known] [--seconds 900]
            [--keep DIR] [--tools DIR]

Of every case of cases.py: the default search's plan applied exactly (with --same as annotations, too), the plan that is searched for annotations, the best of the search's
alternatives, applied exactly, and hand-written plans. A
row that is there is left alone, so that it can be stopped and started again; rows of another answer are minted anew. Needs jax and
libtpu in the environment that runs it, no accelerator, and a folder with two scripts (--tools; ../shared/tools beside the checkout):
xla_oracle.py compiles ahead of time, xla_timeline.py walks XLA's schedule, both with devices in the order in which JAX lays a mesh over a
slice (in_mesh_order.py). One compile at a time, most take one to four minutes.

A row: case, plan, way it is applied (same: --same); our cost; of our answers the cost model that they are of (their documents go to
answers.json.zst: with --known, a row that is no answer of today's any more gets today's cost of the plan that it was); `xla`: core, HBM
queue, links and step in us; `listed_us`: the step with devices in the order in which the topology lists them; what the compiler says of
memory; seconds.
"""
import argparse
import fnmatch
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import cases  # noqa: E402

FIGURES = os.path.join(HERE, "figures.json")
ANSWERS = os.path.join(HERE, "answers.json.zst")  # documents of our answers that were compiled, by key of the row
NO_MEMORY = re.compile(r"RESOURCE_EXHAUSTED|[Oo]ut of memory|Ran out of memory")


def load(path=FIGURES):
    if not os.path.exists(path):
        return {}
    with open(path) as f:
        return json.load(f)


def in_lines(rows):
    return "{\n" + ",\n".join("%s: %s" % (json.dumps(k), json.dumps(rows[k], sort_keys=True)) for k in sorted(rows)) + "\n}\n"


def save(figures, path=FIGURES):
    with open(path + ".new", "w") as f:
        f.write(in_lines(figures))
    os.replace(path + ".new", path)


def load_answers(path=ANSWERS):
    if not os.path.exists(path):
        return {}
    return json.loads(subprocess.run(["zstd", "-qdc", path], check=True, capture_output=True).stdout)


def save_answers(answers, path=ANSWERS):
    subprocess.run(["zstd", "-q", "-19", "-f", "-o", path + ".new", "-"], check=True, input=in_lines(answers).encode())
    os.replace(path + ".new", path)


def without_search(path):
    """The document of an answer, without what its search says of itself."""
    with open(path) as f:
        document = json.load(f)
    return {k: v for k, v in document.items() if k not in ("search", "baselines", "alternatives", "verified")}


def keep_answer(answers, key, path):
    """Keeps the document of an answer for costs of later models."""
    answers[key] = without_search(path)
    save_answers(answers)


def ours_of(cost):
    return {"runtime_ns": cost["runtime_ns"], "peak_bytes": cost["peak_bytes"], "compute_ns": cost["compute_ns"], "temporary_bytes": cost["temporary_bytes"]}


def cost_of_kept(case, key, answers, folder):
    """What we say now of an answer of an earlier cost model; None where its document was not kept."""
    if key not in answers:
        return None
    path = os.path.join(folder, "kept.json")
    with open(path, "w") as f:
        json.dump(answers[key], f)
    way = key.split(" | ")[2]
    return ours_of(cases.cost_of(case, path, "annotate" if way == "same" else way))


def compile_module(module, case, options):
    """In a process of its own, which is ended after so many seconds: (figures of xla_oracle.py or None, {"compile_s", perhaps what went wrong}); the schedule is in MODULE.hlo."""
    start = time.monotonic()
    command = [sys.executable, os.path.join(HERE, "in_mesh_order.py"), options.tools, case.mesh, "compile", "tpu", case.topology, module, "--hlo", module + ".hlo"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.seconds, env=dict(os.environ, ALLOW_MULTIPLE_LIBTPU_LOAD="1"))
    except subprocess.TimeoutExpired:
        return None, {"compile_s": options.seconds, "error": "no answer after %d s" % options.seconds}
    row = {"compile_s": round(time.monotonic() - start, 1)}
    if done.returncode:
        said = done.stderr.strip().split("\n")[-1]  # the exception, without the files that it came through
        return None, {**row, "out_of_memory" if NO_MEMORY.search(done.stderr) else "error": said[-400:]}
    return json.loads(done.stdout), row


def judge(module, key, case, options):
    hlo = module + ".hlo"
    tools = [sys.executable, os.path.join(HERE, "in_mesh_order.py"), options.tools, case.mesh]
    figures, row = compile_module(module, case, options)
    if not figures:
        return row
    row["memory"] = {k: figures[k] for k in ("argument_bytes", "output_bytes", "alias_bytes", "temp_bytes")}
    row["xla"] = json.loads(subprocess.run([*tools, "walk", case.topology, hlo], capture_output=True, text=True, check=True).stdout)
    listed = subprocess.run([sys.executable, os.path.join(options.tools, "xla_timeline.py"), case.topology, hlo], capture_output=True, text=True, check=True)
    row["listed_us"] = json.loads(listed.stdout)["step"]
    try:
        row["simulated_ns"] = json.loads(cases.run("simulate", hlo, "--device", case.device, "--json"))["runtime_ns"]
    except RuntimeError as refused:  # a defect of ours, and not of the row
        row["not_simulated"] = str(refused).split("\n")[0].replace(hlo, "HLO")[:300]
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
        kept = os.path.join(options.keep, re.sub(r"\W+", "_", os.path.basename(module)))
        subprocess.run(["zstd", "-qf", hlo, "-o", kept + ".hlo.zst"], check=True)
        with open(kept + ".json", "w") as f:  # for simulated.py
            json.dump({"key": key, "mesh": case.mesh, "device": case.device, "topology": case.topology}, f)
    return row


def alternatives_of(case, folder, most):
    """The search's alternatives as documents of their own, applied exactly."""
    if not most:
        return
    path = os.path.join(folder, "alternatives.json")
    cases.run("search", cases.corpus(case), "--mesh", case.mesh, "--device", case.device, "--apply", "exact", "--alternatives", most, "--emit-strategy", path)
    with open(path) as f:
        document = json.load(f)
    del document["decisions"], document["actions"]  # they are the answer's
    for i, alternative in enumerate(document.pop("alternatives"), 1):
        path = os.path.join(folder, "alternative%d.json" % i)
        with open(path, "w") as f:
            json.dump({**document, **alternative}, f)
        yield "alternative %d" % i, "exact", path, alternative["cost"]


def plans_of(case, figures, folder, options):
    """(plan, way, document, our cost), our own answers first."""
    name = cases.name_of(case)
    known = {key.split(" | ")[1] for key in figures if key.startswith(name + " | ")} if options.known else None
    for way in filter(None, options.ways.split(",")):
        path = os.path.join(folder, way + ".json")
        cases.run("search", cases.corpus(case), "--mesh", case.mesh, "--device", case.device, "--apply", way, "--emit-strategy", path)
        with open(path) as f:
            document = json.load(f)
        yield "search", way, path, document["cost"]
        if way == "exact" and options.same:
            yield "search", "same", path, cases.cost_of(case, path, "annotate")
    yield from alternatives_of(case, folder, options.alternatives)
    for name, path, cost in cases.hand_written(case, folder, options.experts, known):
        for way in options.written.split(","):
            yield name, way, path, cost if way == "annotate" else cases.cost_of(case, path, way)


def mint(case, figures, answers, options):
    with tempfile.TemporaryDirectory() as folder:
        for plan, way, path, cost in plans_of(case, figures, folder, options):
            key = "%s | %s | %s" % (cases.name_of(case), plan, way)
            module = os.path.join(folder, re.sub(r"\W+", "_", key) + ".mlir")
            cases.run("apply", cases.corpus(case), "--strategy", path, "--apply", "annotate" if way == "same" else way, "-o", module)
            with open(module, "rb") as f:
                digest = hashlib.sha256(f.read()).hexdigest()[:16]
            old = figures.get(key)
            if old and old["module"] == digest and ("listed_us" in old or "xla" not in old) and not options.again:
                old["ours"] = ours_of(cost)
                if plan == "search":
                    old["cost_model"] = cases.model_of(path)
                    keep_answer(answers, key, path)
                continue
            if options.known:
                if old and plan == "search":
                    print("%s is another answer by now" % key, flush=True)
                    old["ours"] = cost_of_kept(case, key, answers, folder) or old["ours"]
                elif old:  # the same plan, written in another way by now
                    old["ours"] = ours_of(cost)
                continue
            figures[key] = {"family": case.family, "module": digest, "ours": ours_of(cost), **judge(module, key, case, options)}
            if plan == "search":
                figures[key]["cost_model"] = cases.model_of(path)
                keep_answer(answers, key, path)
            save(figures)
            row = figures[key]
            print("%-80s ours %9.3f ms  XLA %s  %5.0f s" % (key, cost["runtime_ns"] / 1e6, "%9.3f ms" % (row["xla"]["step"] / 1e3) if "xla" in row else
                                                        "out of memory" if "out_of_memory" in row else "failed", row["compile_s"]), flush=True)
    save(figures)


def parser_of(description):
    """With what every script that compiles takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seconds", type=int, default=900, help="for one compile")
    parser.add_argument("--keep", help="folder for the scheduled texts; simulated.py --kept reads it")
    parser.add_argument("--tools", default=os.path.join(cases.ROOT, "..", "shared", "tools"))
    return parser


def main():
    parser = parser_of(__doc__.splitlines()[0])
    parser.add_argument("--cases", default="*", help="of those whose name this matches, such as 'moe *'")
    parser.add_argument("--experts", type=int, default=4, help="hand-written plans per case")
    parser.add_argument("--ways", default="exact,annotate", help="in which our own answer is applied; empty: hand-written plans alone")
    parser.add_argument("--written", default="annotate", help="ways in which hand-written plans are applied")
    parser.add_argument("--same", action="store_true", help="our exact answer as annotations, too: a row of its own")
    parser.add_argument("--alternatives", type=int, default=0, help="so many alternatives of the search")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--known", action="store_true", help="compile nothing: our costs of all rows that are there, anew")
    options = parser.parse_args()
    figures, answers = load(), load_answers()
    for case in cases.CASES:
        if fnmatch.fnmatch(cases.name_of(case), options.cases):
            try:
                mint(case, figures, answers, options)
            except RuntimeError as error:
                print("%s: %s" % (cases.name_of(case), error), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
