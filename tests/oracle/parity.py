#!/usr/bin/env python3
"""Random programs through Shardy's passes, ours against jaxlib's: each pass on its own, with its options.

    parity.py [--programs random|constructs] [--count N] [--seed S] [--passes REGEX] [--jobs J] [--state FILE] [--server PROGRAM]
    parity.py --seed S --passes NAME --shrink     one program's difference, made as small as it gets
    parity.py --seed S --passes NAME --show       the program and both answers

Programs are long ones of ordinary ops (programs.py) or short ones of all that Shardy's dialect has (constructs.py).
Every program has a seed; --count N takes seeds S .. S+N-1 through every pass. Texts are equal when jaxlib prints both
alike. What jaxlib does not parse, or dies of, is counted and left out. Finished parts go to the state file, and the
same command goes on where it stopped, as long as the server and the generator are the same. Exit code 1 when anything
differs."""
import argparse
import collections
import hashlib
import io
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import constructs  # noqa: E402
import programs  # noqa: E402
from child import Crash, Resident, forked  # noqa: E402

CHUNK = 50
HANG_S = 20
EDGES = "sdy-add-data-flow-edges,"
CLOSED = EDGES + "sdy-aggressive-propagate,func.func(sdy-sink-data-flow-edges),func.func(sdy-sharding-constraint-to-reshard),sdy-close-shardings,"
FULL = "func.func(sdy-insert-explicit-reshards{enable-full-version=true})"
COLLECTIVES = "func.func(sdy-reshard-to-collectives)"


def propagation(name, *more):
    """The pass with its options; a program takes one of these by its seed."""
    plain = [EDGES + name, name, EDGES + name + "{keep-sharding-rules=true}", EDGES + name + "{conservative-propagation=true}"]
    return plain + [EDGES + name + m for m in more]


# What runs for a row of the table: one of its pipelines, by the program's seed.
PASSES = {
    "sdy-populate-op-sharding-rules": ["func.func(sdy-populate-op-sharding-rules)",
                                       "func.func(sdy-populate-op-sharding-rules{conservative-propagation=true})"],
    "sdy-basic-propagate": propagation("sdy-basic-propagate"),
    "sdy-aggressive-propagate": propagation("sdy-aggressive-propagate", "{propagation-strategy=basic-then-aggressive}", "{propagation-strategy=basic}"),
    "sdy-op-priority-propagate": propagation("sdy-op-priority-propagate", "{run-op-priority-propagation=false}",
                                             "{propagation-strategy=basic-then-aggressive}"),
    "sdy-user-priority-propagate": propagation("sdy-user-priority-propagate", "{run-op-priority-propagation=false}",
                                               "{propagation-strategy=basic-then-aggressive}"),
    "sdy-propagation-pipeline": ["sdy-propagation-pipeline"],
    "sdy-propagation-pipeline, functions kept": ["sdy-propagation-pipeline{dedup-functions-fully=true}"],
    "propagation across calls": ["sdy-add-func-data-flow-edges,sdy-%s-propagate%s" % (p, sink) for p in ("basic", "aggressive", "op-priority", "user-priority")
                                 for sink in ("", ",func.func(sdy-sink-func-data-flow-edges)")],
    "sdy-add-func-data-flow-edges": ["sdy-add-func-data-flow-edges"],
    "sdy-propagation-pipeline, in steps": ["sdy-import-pipeline,sdy-user-priority-propagate%s,sdy-export-pipeline" % o
                                           for o in ("", "{conservative-propagation=true}", "{propagation-strategy=basic-then-aggressive}")],
    "sdy-insert-explicit-reshards, minimal": [CLOSED + "func.func(sdy-insert-explicit-reshards)", "func.func(sdy-insert-explicit-reshards)"],
    "sdy-insert-explicit-reshards, full": [CLOSED + FULL, FULL, "sdy-propagation-pipeline," + FULL],
    "sdy-reshard-to-collectives": ["sdy-propagation-pipeline,%s,%s" % (FULL, COLLECTIVES), "sdy-close-shardings," + COLLECTIVES],
    "sdy-import-pipeline": ["sdy-import-pipeline", "sdy-import-pipeline", "sdy-import-pipeline{dedup-functions-fully=true}"],
    "sdy-export-pipeline": [EDGES + "sdy-aggressive-propagate,sdy-export-pipeline"],
    "sdy-add-data-flow-edges": ["sdy-add-data-flow-edges"],
    "sdy-sink-data-flow-edges": [EDGES + "func.func(sdy-sink-data-flow-edges)", EDGES + "sdy-aggressive-propagate,func.func(sdy-sink-data-flow-edges)"],
    "sdy-apply-sharding-constraints": ["sdy-apply-sharding-constraints", EDGES + "sdy-apply-sharding-constraints"],
    "sdy-constant-or-scalar-splitter": ["sdy-constant-or-scalar-splitter"],
    "sdy-constant-or-scalar-merger": ["func.func(sdy-constant-or-scalar-merger)",
                                      "sdy-constant-or-scalar-splitter,func.func(sdy-constant-or-scalar-merger)"],
    "sdy-sharding-group-import": ["sdy-sharding-group-import"],
    "sdy-remove-sharding-groups": ["sdy-remove-sharding-groups"],
    "sdy-lift-inlined-meshes": ["sdy-inline-meshes,sdy-lift-inlined-meshes", "sdy-inline-meshes"],
    "sdy-remove-size-one-axes": ["sdy-remove-size-one-axes"],
    "sdy-manual-axes-cleanup": ["sdy-manual-axes-cleanup"],
    "sdy-close-shardings": ["sdy-close-shardings"],
    "sdy-update-non-divisible-input-output-shardings": ["sdy-update-non-divisible-input-output-shardings",
                                                        EDGES + "sdy-aggressive-propagate,func.func(sdy-sink-data-flow-edges),sdy-update-non-divisible-input-output-shardings"],
    "sdy-remove-sub-axes-in-input-output-shardings": ["sdy-remove-sub-axes-in-input-output-shardings"],
    "sdy-sharding-constraint-to-reshard": ["func.func(sdy-sharding-constraint-to-reshard)"],
    "sdy-drop-sharding-rules": ["func.func(sdy-populate-op-sharding-rules),func.func(sdy-drop-sharding-rules)"],
    "sdy-propagate-sharding-from-func-to-call": ["sdy-propagate-sharding-from-func-to-call"],
    "sdy-flatten-call-graph": ["sdy-flatten-call-graph"],
    "sdy-import-func-calls": ["sdy-flatten-call-graph,symbol-dce,sdy-import-func-calls"],
    "sdy-export-named-computations": ["sdy-flatten-call-graph,symbol-dce,sdy-import-func-calls,symbol-dce,sdy-aggressive-propagate,sdy-export-named-computations",
                                      "sdy-export-named-computations"],
    "sdy-propagate-to-func-results": ["sdy-propagate-to-func-results"],
    "sdy-unflatten-call-graph": ["sdy-flatten-call-graph,symbol-dce,sdy-unflatten-call-graph", "sdy-unflatten-call-graph{dedup-functions-fully=true}"],
    "sdy-insert-func-call-reshards": ["sdy-insert-func-call-reshards"],
    "sdy-pre-order-funcs": ["sdy-pre-order-funcs"],
    "symbol-dce": ["symbol-dce"],
    "canonicalize, collectives": ["canonicalize{enable-patterns=sdy-collective}"],
}
GENERATORS = {"random": programs.text, "constructs": constructs.text}
SAME = ("equal", "refused by both")
# jaxlib's own passes make what its verifier refuses: nothing to be equal to. Which ones is in the state file.
SKIPPED = ("not parsed by jaxlib", "jaxlib crashed", "jaxlib hung", "refused by jaxlib alone")


def pipeline_of(name, seed):
    return PASSES[name][(seed * 2654435761 >> 7) % len(PASSES[name])]


# ---------------------------------------------------------------- both sides


class Server:
    """Our passes in a process of their own, started again when it dies."""

    def __init__(self, path):
        self.path, self.process = path, None

    def send(self, pipeline, text):
        if self.process is None:
            self.process = subprocess.Popen([self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        raw = text.encode()
        try:
            self.process.stdin.write(b"%d %s\n" % (len(raw), pipeline.encode()) + raw)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def answer(self):
        """(status, text); a status of None: it died, and the text says of what."""
        head = self.process.stdout.readline().split()
        if len(head) == 2:
            return int(head[0]), self.process.stdout.read(int(head[1])).decode()
        said = self.process.stderr.read().decode(errors="replace")
        code = self.process.wait()
        self.process = None
        return None, "died with %d: %s" % (code, said[-2000:])

    def run(self, pipeline, text):
        self.send(pipeline, text)
        return self.answer()

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()


class Judge:
    """Compares in this process; its jaxlib context lives as long. Only for children (see child.py)."""

    def __init__(self, server=None):
        from jax._src.interpreters import mlir
        from jaxlib.mlir import ir, passmanager
        self.ir, self.passmanager, self.server = ir, passmanager, server
        self.context = mlir.make_ir_context()
        self.context.enable_multithreading(False)
        self.managers = {}
        self.text = self.parsed = None

    def manager(self, pipeline):
        if pipeline not in self.managers:
            self.managers[pipeline] = self.passmanager.PassManager.parse("builtin.module(%s)" % pipeline)
        return self.managers[pipeline]

    def copy(self, text):
        """An operation of its own, of a text that is parsed once for all passes."""
        if text != self.text:
            self.parsed = None
            self.parsed, self.text = self.ir.Module.parse(text), text
        return self.parsed.operation.clone()

    def verdict(self, text, pipeline):
        """(word, jaxlib's text or error, our text or error); of equal ones both are ours"""
        with self.context:
            try:
                module = self.copy(text)
            except self.ir.MLIRError as error:
                return "not parsed by jaxlib", str(error), ""
            self.server.send(pipeline, text)
            signal.setitimer(signal.ITIMER_REAL, HANG_S)
            refusal = None
            try:
                self.manager(pipeline).run(module)
            except self.ir.MLIRError as error:
                refusal = str(error)
            signal.setitimer(signal.ITIMER_REAL, 0)
            status, ours = self.server.answer()
            if refusal is not None:
                return "refused by both" if status else "refused by jaxlib alone", refusal, ours
            if status == 0:
                return self.compared(module, ours)
            theirs = module.get_asm(assume_verified=True)
            return "ours crashed" if status is None else "refused by ours alone", theirs, ours

    def compared(self, module, ours):
        try:
            again = self.ir.Module.parse(ours).operation
        except self.ir.MLIRError as error:
            return "ours is not parsed by jaxlib", module.get_asm(assume_verified=True), "%s\n%s" % (error, ours)
        # Equal bytecode is an equal module and written faster than text; an equal module may have other bytecode. The short
        # form of reduce leaves out the attributes of its body, so the text is the generic one.
        if self.bytecode(again) == self.bytecode(module) or self.generic(again) == self.generic(module):
            return "equal", ours, ours
        return "different", module.get_asm(assume_verified=True), again.get_asm()

    def bytecode(self, operation):
        self.manager("strip-debuginfo").run(operation)
        out = io.BytesIO()
        operation.write_bytecode(out)
        return out.getvalue()

    @staticmethod
    def generic(operation):
        return operation.get_asm(print_generic_op_form=True, assume_verified=True)


def complaint(message):
    """What a refusal says, without names and numbers."""
    lines = [line.split("error:")[1] for line in message.splitlines() if "error:" in line]
    return re.sub(r"\d+", "N", re.sub(r'"-":\d+:\d+:', "", lines[0]))[:160].strip() if lines else ""


def work(judge, server_path, generate, tasks, out):
    """tasks: [(seed, pass)]; writes one pickled (seed, pass, word, complaint) per task as it goes."""
    judge.server = Server(server_path)
    text, last = None, None
    for seed, name in tasks:
        if seed != last:
            text, last = generate(seed), seed
        word, theirs, _ = judge.verdict(text, pipeline_of(name, seed))
        pickle.dump((seed, name, word, complaint(theirs) if word == "refused by jaxlib alone" else None), out)
        out.flush()
    judge.server.close()


def in_children(judge, server_path, generate, tasks):
    """Yields (seed, pass, word, complaint) of all tasks; a child that dies takes one task with it.

    The judge's context has no threads, so children inherit it: making one takes ten times as long as a fork."""
    done = 0
    while done < len(tasks):
        readable, writable = os.pipe()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.close(readable)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                with os.fdopen(writable, "wb") as out:
                    work(judge, server_path, generate, tasks[done:], out)
                code = 0
            except BaseException as error:  # noqa: BLE001
                os.write(1, ("worker: %r at %s\n" % (error, tasks[done:done + 1])).encode())
            finally:
                os._exit(code)
        os.close(writable)
        with os.fdopen(readable, "rb") as answers:
            while True:
                try:
                    yield pickle.load(answers)
                    done += 1
                except (EOFError, pickle.UnpicklingError):
                    break
        _, status = os.waitpid(child, 0)
        if done < len(tasks):
            hung = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
            yield tasks[done] + ("jaxlib hung" if hung else "jaxlib crashed", None)
            done += 1


def check_pipelines(names):
    """In a child: jaxlib knows every pipeline."""
    judge = Judge()
    with judge.context:
        for name in names:
            for pipeline in PASSES[name]:
                judge.manager(pipeline)


resident, judges = Resident(), []


def judged(server_path, text, pipeline):
    """In the resident child."""
    if not judges:
        judges.append(Judge(Server(server_path)))
    return judges[0].verdict(text, pipeline)


def one_verdict(server_path, text, pipeline):
    """A crash of jaxlib is a verdict."""
    try:
        return resident(judged, server_path, text, pipeline)
    except Crash as crash:
        return "jaxlib crashed", crash.args[0], ""


# ---------------------------------------------------------------- running many


def manage(options, names, parts):
    """One worker: its parts of the seeds, a line of the state file for each."""
    judge = Judge()
    for first, n in parts:
        begin = time.time()
        counts, differ, complaints = {name: collections.Counter() for name in names}, [], collections.Counter()
        tasks = [(seed, name) for seed in range(first, first + n) for name in names]
        for seed, name, word, said in in_children(judge, options.server, GENERATORS[options.programs], tasks):
            counts[name][word] += 1
            if said:
                complaints[said] += 1
            if word not in SAME + SKIPPED:
                differ.append([seed, name, word])
        line = {"build": options.build, "programs": options.programs, "first": first, "n": n, "passes": counts, "different": differ, "complaints": complaints, "seconds": round(time.time() - begin, 2)}
        with open(options.state, "a") as f:
            f.write(json.dumps(line) + "\n")
        for seed, name, word in differ:
            print("seed %d: %s: %s" % (seed, name, word))
        sys.stdout.flush()


def build_of(server):
    """What answers depend on: the server's bytes and the generator's."""
    digest = hashlib.sha256()
    for path in [server] + [os.path.join(HERE, name + ".py") for name in ("parity", "programs", "constructs", "random_ops")]:
        with open(path, "rb") as f:
            digest.update(f.read())
    return digest.hexdigest()[:16]


def finished(state, build, kind):
    """Lines that this build wrote of this kind of programs."""
    lines = []
    if os.path.exists(state):
        with open(state) as f:
            lines = [json.loads(line) for line in f if line.endswith("\n")]
    return [line for line in lines if line["build"] == build and line["programs"] == kind]


def table(lines, names):
    """Prints the figures of every pass; returns how many differ."""
    total = {name: collections.Counter() for name in names}
    for line in lines:
        for name, counts in line["passes"].items():
            if name in total:
                total[name].update(counts)
    print("%-50s %9s %9s %9s %8s %9s" % ("pass", "programs", "equal", "different", "skipped", "share"))
    bad = 0
    for name in names:
        skipped = sum(total[name][w] for w in SKIPPED)
        compared = sum(total[name].values()) - skipped
        same = sum(total[name][w] for w in SAME)
        bad += compared - same
        print("%-50s %9d %9d %9d %8d %8.3f%%" % (name, compared, same, compared - same, skipped, 100 * same / max(compared, 1)))
    words = sum(total.values(), collections.Counter())
    print("; ".join("%s %d" % pair for pair in sorted(words.items())))
    for text, n in sum((collections.Counter(line["complaints"]) for line in lines), collections.Counter()).most_common():
        print("jaxlib alone refused %d: %s" % (n, text))
    seconds = sum(line["seconds"] for line in lines)
    print("%d runs in %.0f worker seconds, %.0f per second" % (sum(words.values()), seconds, sum(words.values()) / max(seconds, 1e-9)))
    return bad


def run_many(options, names):
    import jax._src.interpreters.mlir  # noqa: F401  loaded once, inherited by the children
    import jaxlib.mlir.passmanager  # noqa: F401
    forked(check_pipelines, names)
    own = not options.state
    if own:
        options.state = os.path.join("build", "parity-%d.jsonl" % os.getpid())
    options.build = build_of(options.server)
    parts = [(first, min(CHUNK, options.seed + options.count - first)) for first in range(options.seed, options.seed + options.count, CHUNK)]

    def lines_of_parts():
        return [line for line in finished(options.state, options.build, options.programs) if (line["first"], line["n"]) in parts]
    done = {(line["first"], line["n"]) for line in lines_of_parts() if set(names) <= set(line["passes"])}
    todo = [p for p in parts if p not in done]
    children = []
    for j in range(options.jobs):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                manage(options, names, todo[j::options.jobs])
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    failed = [os.waitpid(child, 0)[1] for child in children]
    bad = table(lines_of_parts(), names)
    if own and os.path.exists(options.state):
        os.unlink(options.state)
    return 1 if bad or any(failed) else 0


def show(options, name):
    text, pipeline = GENERATORS[options.programs](options.seed), pipeline_of(name, options.seed)
    if options.shrink:
        import jax._src.interpreters.mlir  # noqa: F401  loaded once, inherited by the children
        import jaxlib.mlir.passmanager  # noqa: F401
        import shrink
        word = one_verdict(options.server, text, pipeline)[0]
        text = shrink.smallest(text, lambda t: one_verdict(options.server, t, pipeline)[0] == word)
    word, theirs, ours = one_verdict(options.server, text, pipeline)
    print("// passes: %s\n%s\n// %s\n// ---- jaxlib\n%s\n// ---- ours\n%s" % (pipeline, text, word, theirs, ours))
    return 0 if word in SAME + SKIPPED else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", choices=sorted(GENERATORS), default="random")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--passes", default="", help="only the rows of the table whose name this regular expression finds")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--state", help="file that finished parts go to")
    parser.add_argument("--server", default="build/oracle/pass_server")
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    names = [name for name in PASSES if re.search(options.passes, name)]
    if not names:
        parser.error("no pass has '%s' in its name" % options.passes)
    if options.shrink or options.show:
        return show(options, names[0])
    return run_many(options, names)


if __name__ == "__main__":
    sys.exit(main())
