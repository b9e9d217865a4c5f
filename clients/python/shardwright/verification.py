"""The compiler's word on a plan: compile it and others, cost what was scheduled, take XLA's own memory; the best that fits is the answer."""
import concurrent.futures
import contextlib
import dataclasses
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

from .candidates import Candidate, candidates
from .errors import Error, warn
from .progress import Progress
from .shardings import JSON, device_count
from .source import Source
from .strategy import Plan
from .tables import duration, size
from .targets import target_of
from .tool import Folder, find_tool, run_tool

RUNS = 3
LOOK_SECONDS = 0.5
RUN_PROGRAMS = 4


def verify(plan: Plan, count: int | str = 2, *, seconds: float = 1800, processes: int | None = None, target: str | None = None,
           compiler_options: dict[str, Any] | None = None, progress: bool | Callable[[JSON], Any] | Progress | None = None,
           arguments: tuple[tuple[Any, ...], dict[str, Any]] | None = None) -> Plan:
    """Of this plan, the search's alternatives and the best baseline, each in both ways of applying it, `count` programs: the best by the compiler.

    count              how many different programs are compiled; "run" times steps of four on the devices that are here instead
    seconds            time limit of each compile, which has a process of its own; `processes` run at a time
    target             "tpu", "gpu" or "cpu"; default: the device's own compiler where it is installed. What the compiler
                       for CPU schedules says nothing of another device's time: it gives memory and refusals, the prediction ranks
    compiler_options   XLA's, beside the plan's own. Programs with options are compiled without them too
    arguments          (args, kwargs) for "run"; default: zeros

    -> the best Plan that fits, with .verifications: a dict for each program with "plan", "apply", "options", "fits", "runtime_ns",
    "peak_bytes", "predicted_runtime_ns", "predicted_peak_bytes", "source" ("compiled", "measured"), "compiler", "version", "seconds", "reason".
    The plan itself, with a warning, when nothing that was compiled fits.
    """
    if not (count == "run" or (isinstance(count, int) and not isinstance(count, bool) and count > 0)):
        raise Error('verify: expected a number of plans or "run", found %r' % (count,))
    found = candidates(plan._source, plan.document, plan.module, RUN_PROGRAMS if isinstance(count, str) else count,
                       {**plan.compiler_options, **(compiler_options or {})})
    with contextlib.ExitStack() as stack:
        show = progress if isinstance(progress, Progress) else stack.enter_context(Progress(progress))
        if count == "run":
            rows = [_measured(plan, one, arguments, show) for one in found]
        else:
            rows = compiled(plan._source, found, seconds=seconds, processes=processes, target=target, show=show)
    at = best_of(rows)
    if at is None:
        warn("nothing that was compiled fits; the plan is as it was predicted: %s" % "; ".join(
            "%s %s: %s" % (row["plan"], row["apply"], row["reason"] or size(row["peak_bytes"])) for row in rows))
        plan.verifications = rows
        return plan
    document = answered(found[at])
    answer = plan if document is plan.document else _plan_of(plan, dataclasses.replace(found[at], document=document))
    answer.verifications = rows
    return answer


def compiled(source: Source, found: list[Candidate], *, seconds: float, processes: int | None, target: str | None, show: Progress,
             stop: threading.Event | None = None) -> list[JSON]:
    """A row for each program, in the same order. Error where the target's compiler is not here. stop, once set, ends the compiles."""
    chosen, topology = _target(target, found[0].document)
    stop = stop or threading.Event()
    with concurrent.futures.ThreadPoolExecutor(processes or max(1, (os.cpu_count() or 2) // 2)) as pool:
        return list(pool.map(lambda one: _compiled(source, one, chosen, topology, seconds, show, stop), found))


def best_of(rows: list[JSON]) -> int | None:
    """The fastest that fits, marked "chosen"; by prediction where the compiler says nothing of time. None: nothing fits."""
    good = [i for i, row in enumerate(rows) if row["reason"] is None and row["fits"]]
    if not good:
        return None
    at = min(good, key=lambda i: rows[i]["predicted_runtime_ns"] if rows[i]["runtime_ns"] is None else rows[i]["runtime_ns"])
    rows[at]["chosen"] = True
    return at


def answered(one: Candidate) -> JSON:
    """The document of a candidate that is the answer, with the options it was compiled with."""
    if one.document.get("compiler_options", {}) == one.options:
        return one.document
    return dict(one.document, compiler_options=one.options)


def _target(target: str | None, document: JSON) -> tuple[str, str | None]:
    if target not in (None, "cpu", "gpu", "tpu"):
        raise Error('target: expected "tpu", "gpu" or "cpu", found %r' % target)
    if target == "cpu":
        return "cpu", None
    found = target_of(document["device"], device_count(document["mesh"]))
    if target and target != found[0]:
        raise Error("no compiler for %s that is called %s here: for TPU pip install libtpu, for H100 and H200 pip install jax[cuda12]"
                    % (document["device"], target))
    return found


def _plan_of(plan: Plan, one: Candidate) -> Plan:
    assert one.module is not None
    made = Plan(one.document, one.module, plan._program, tool=plan._source.tool, fallback=plan.fallback if one.name == "this plan" else None,
                device_profile=plan._source.profile)
    if one.document == plan.document:       # else it is another strategy, which no store has
        made.strategy, made.server = plan.strategy, plan.server
    return made


def _row(one: Candidate, source: str) -> JSON:
    cost = one.document["cost"]
    return {"plan": one.name, "apply": one.way, "options": one.options, "source": source, "fits": False, "runtime_ns": None, "peak_bytes": None,
            "predicted_runtime_ns": cost["runtime_ns"], "predicted_peak_bytes": cost["peak_bytes"], "compiler": None, "version": None,
            "seconds": None, "reason": None}


def _tell(row: JSON, show: Progress) -> None:
    took = row["reason"] or "%s (predicted %s), %s%s" % (
        duration(row["runtime_ns"]) + " per step" if row["runtime_ns"] is not None else "step not known", duration(row["predicted_runtime_ns"]),
        size(row["peak_bytes"]) if row["peak_bytes"] is not None else "memory not known", "" if row["fits"] else ", does not fit")
    show.line("verify: %-14s %-8s %s%s, %.0f s" % (row["plan"], row["apply"], "with options, " if row["options"] else "", took, row["seconds"]))


def _compiled(source: Source, one: Candidate, target: str, topology: str | None, seconds: float, show: Progress,
              stop: threading.Event) -> JSON:
    row, start = _row(one, "compiled"), time.monotonic()
    with Folder() as folder:
        request = {"module": folder.file("module.mlir", one.module), "mesh": one.document["mesh"], "target": target, "topology": topology,
                   "options": one.options}
        answer_path, hlo = folder.path("answer.json"), folder.path("compiled.hlo")
        said = _in_a_process([folder.file("request.json", request), answer_path, hlo], seconds, stop)
        row["seconds"] = time.monotonic() - start
        if said is None:
            with open(answer_path) as f:
                answer = json.load(f)
            said = answer.get("refused")
        row["reason"] = said
        if said is None:
            row.update(compiler=answer["compiler"], version=answer["version"])
            row["peak_bytes"] = sum(answer[part] for part in ("argument_bytes", "output_bytes", "temporary_bytes")) - answer["alias_bytes"]
            row["fits"] = row["peak_bytes"] <= one.document["memory_limit_bytes"]
            trips = one.document.get("trip_count")
            cost = json.loads(run_tool(find_tool(source.tool), "simulate", hlo, "--json", *(["--trip-count", str(trips)] if trips else []),
                                       *(source.device_words(folder) or ["--device", one.document["device"]])))
            row["collectives"] = cost["collectives"]
            if target != "cpu":
                row["runtime_ns"] = cost["runtime_ns"]
    _tell(row, show)
    return row


def _in_a_process(words: list[str], seconds: float, stop: threading.Event) -> str | None:
    """None, or why there is no answer."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH")))))
    with tempfile.TemporaryFile() as noise:
        process = subprocess.Popen([sys.executable, "-m", "shardwright.compile_module", *words], env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=noise, start_new_session=True)
        deadline = time.monotonic() + seconds
        try:
            while True:
                try:
                    code = process.wait(max(0.0, min(LOOK_SECONDS, deadline - time.monotonic())))
                    break
                except subprocess.TimeoutExpired:
                    if stop.is_set():
                        return "stopped"
                    if time.monotonic() >= deadline:
                        return "not compiled within %g s" % seconds
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)      # its own session: the compiler and what it has started
                process.wait()
        if not code:
            return None
        noise.seek(0)
        last = noise.read().decode(errors="replace").strip().splitlines()
        how = "signal %d" % -code if code < 0 else "exit %d" % code
        return "the compiler died (%s): %s" % (how, last[-1][:500] if last else "")


def _measured(plan: Plan, one: Candidate, arguments: tuple[tuple[Any, ...], dict[str, Any]] | None, show: Progress) -> JSON:
    import jax
    row, start = _row(one, "measured"), time.monotonic()
    try:
        function = _plan_of(plan, one).compile(compiler_options=one.options)
        memory = function.compiled.memory_analysis()
        row["peak_bytes"] = (memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes
                             - memory.alias_size_in_bytes)
        args, kwargs = plan._program.dynamic(*(arguments or (plan._program.args, plan._program.kwargs)))
        times = []
        for _ in range(RUNS + 1):
            placed = jax.device_put(_concrete((args, kwargs)), function.compiled.input_shardings, may_alias=False)
            jax.block_until_ready(placed)
            begin = time.perf_counter_ns()
            jax.block_until_ready(function.compiled(*placed[0], **placed[1]))
            times.append(time.perf_counter_ns() - begin)
        row.update(runtime_ns=int(statistics.median(times[1:])), fits=True, compiler=jax.devices()[0].platform, version="jax " + jax.__version__)
    except Exception as error:          # out of memory, refused: that plan falls out with the reason
        said = str(error).strip().splitlines()
        row["reason"] = "%s: %s" % (type(error).__name__, said[0][:500] if said else "")
    row["seconds"] = time.monotonic() - start
    _tell(row, show)
    return row


def _concrete(tree: Any) -> Any:
    """Zeros where there is a shape only."""
    import jax
    import jax.numpy as jnp

    def leaf(x: Any) -> Any:
        if not isinstance(x, jax.ShapeDtypeStruct):
            return x
        if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
            return jnp.broadcast_to(jax.random.key(0), x.shape)
        return jnp.zeros(x.shape, x.dtype)

    return jax.tree.map(leaf, tree)
