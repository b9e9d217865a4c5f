"""The compiler's word on a plan: compile it and others, cost what was scheduled, take XLA's own memory; the best that fits is the answer."""
import concurrent.futures
import contextlib
import importlib.util
import json
import os
import signal
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from .errors import Error, PlanWarning
from .program import without_locations
from .progress import Progress
from .request import baseline_request
from .shardings import JSON, device_count
from .strategy import Plan
from .tables import duration, size
from .tool import Folder, ask_tool, find_tool, run_tool

RUNS = 3
# Topologies that libtpu knows, by generation and devices; a smaller mesh takes the first devices of the next one.
_FLAT = {4: "2x2", 8: "2x4", 16: "4x4", 32: "4x8", 64: "8x8", 128: "8x16", 256: "16x16"}
_DEEP = {4: "2x2x1", 8: "2x2x2", 16: "2x2x4", 32: "2x4x4", 64: "4x4x4", 128: "4x4x8", 256: "4x8x8", 512: "8x8x8"}
TOPOLOGIES = {"tpu-v5e": ("v5e", _FLAT), "tpu-v6e": ("v6e", _FLAT), "tpu-v5p": ("v5p", _DEEP), "tpu-v4": ("v4", _DEEP)}


def target_of(device: str, count: int) -> tuple[str, str | None]:
    """("tpu", topology) where libtpu can compile for that device, else ("cpu", None)."""
    if device in TOPOLOGIES and importlib.util.find_spec("libtpu"):
        name, shapes = TOPOLOGIES[device]
        fitting = [chips for chips in shapes if chips >= count]
        if fitting:
            return "tpu", "%s:%s" % (name, shapes[min(fitting)])
    return "cpu", None


def verify(plan: Plan, count: int | str = 2, *, seconds: float = 1800, processes: int | None = None, target: str | None = None,
           compiler_options: dict[str, Any] | None = None, progress: bool | Callable[[JSON], Any] | Progress | None = None,
           arguments: tuple[tuple[Any, ...], dict[str, Any]] | None = None) -> Plan:
    """Of this plan in both ways of applying it and the best baselines that fit, `count` different programs: the best by the compiler.

    count              how many programs are compiled; "run" times steps of four on the devices that are here instead
    seconds            time limit of each compile, which has a process of its own; `processes` run at a time
    target             "tpu" or "cpu"; default: libtpu's compiler where it is installed and the plan is for a TPU. What the compiler
                       for CPU schedules says nothing of another device's time: it gives memory and refusals, the prediction ranks
    arguments          (args, kwargs) for "run"; default: zeros

    -> the best Plan that fits, with .verifications: a dict for each program with "plan", "apply", "fits", "runtime_ns", "peak_bytes",
    "predicted_runtime_ns", "predicted_peak_bytes", "source" ("compiled", "measured"), "compiler", "version", "seconds", "reason".
    The plan itself, with a warning, when nothing that was compiled fits.
    """
    if not (count == "run" or (isinstance(count, int) and not isinstance(count, bool) and count > 0)):
        raise Error('verify: expected a number of plans or "run", found %r' % (count,))
    if target not in (None, "cpu", "tpu"):
        raise Error('target: expected "tpu" or "cpu", found %r' % target)
    found = _candidates(plan, 4 if isinstance(count, str) else count)
    with contextlib.ExitStack() as stack:
        show = progress if isinstance(progress, Progress) else stack.enter_context(Progress(progress))
        options = {**plan.compiler_options, **(compiler_options or {})}
        if count == "run":
            rows = [_measured(name, candidate, options, arguments, show) for name, candidate in found]
        else:
            chosen, topology = target_of(plan.document["device"], device_count(plan.document["mesh"]))
            if target == "cpu":
                chosen, topology = "cpu", None
            elif target == "tpu" and chosen != "tpu":
                raise Error("no compiler for %s here: pip install libtpu, and plan for a TPU" % plan.document["device"])
            with concurrent.futures.ThreadPoolExecutor(processes or max(1, (os.cpu_count() or 2) // 2)) as pool:
                rows = list(pool.map(lambda one: _compiled(one[0], one[1], chosen, topology, options, seconds, show), found))
    return _best(plan, found, rows)


def _candidates(plan: Plan, count: int) -> list[tuple[str, Plan]]:
    """(name, plan), the most promising first, programs that are equal once."""
    made: list[tuple[str, Plan]] = []
    seen: set[str] = set()

    def take(name: str, make: Callable[[], Plan]) -> None:
        if len(made) >= count:
            return
        try:
            one = make()
        except Error as error:          # the program of one device cannot always be written
            warnings.warn("%s is not verified: %s" % (name, error), PlanWarning, stacklevel=5)
            return
        text = without_locations(one.module)
        if text not in seen:
            seen.add(text)
            made.append((name, one))

    def both_ways(name: str, one: Plan) -> None:
        take(name, lambda: one)
        other = "annotate" if one.document.get("apply") == "exact" else "exact"
        take(name, lambda: _other_way(one, other))

    both_ways("this plan", plan)
    fitting = sorted((b for b in plan.document["baselines"] if b["fits"] and b["name"] in ("replicated", "data_parallel", "zero2", "zero3")),
                     key=lambda b: b["cost"]["runtime_ns"])
    for baseline in fitting:
        if len(made) >= count:
            break
        both_ways(baseline["name"], _baseline(plan, baseline["name"]))
    return made


def _other_way(plan: Plan, way: str) -> Plan:
    """The same strategy applied in the other way, with the cost that it has so."""
    document = dict(plan.document, apply=way)
    module = plan.module_applied(way)
    with Folder() as folder:
        words = ["evaluate", folder.file("module.mlir", plan._program.text), "--strategy", folder.file("plan.json", document), "--json"]
        document["cost"] = json.loads(run_tool(find_tool(plan._tool), *words, *plan._device_words(folder)))
    document["fits"] = document["cost"]["peak_bytes"] <= document["memory_limit_bytes"]
    return Plan(document, module, plan._program, tool=plan._tool, fallback=plan.fallback, device_profile=plan._profile)


def _baseline(plan: Plan, name: str) -> Plan:
    document = plan.document
    wanted: JSON = {"mesh": document["mesh"], "memory": document["memory_limit_bytes"], "device": plan._profile or document["device"],
                    "apply": document.get("apply")}
    answer, module = ask_tool(find_tool(plan._tool), plan._program.text, baseline_request(wanted, name), None, None)
    return Plan(answer, module, plan._program, tool=plan._tool, device_profile=plan._profile)


def _row(name: str, plan: Plan, source: str) -> JSON:
    return {"plan": name, "apply": plan.document.get("apply", "annotate"), "source": source, "fits": False, "runtime_ns": None, "peak_bytes": None,
            "predicted_runtime_ns": plan.cost["runtime_ns"], "predicted_peak_bytes": plan.cost["peak_bytes"], "compiler": None, "version": None,
            "seconds": None, "reason": None}


def _tell(row: JSON, show: Progress) -> None:
    took = row["reason"] or "%s (predicted %s), %s%s" % (
        duration(row["runtime_ns"]) + " per step" if row["runtime_ns"] is not None else "step not known", duration(row["predicted_runtime_ns"]),
        size(row["peak_bytes"]) if row["peak_bytes"] is not None else "memory not known", "" if row["fits"] else ", does not fit")
    show.line("verify: %-14s %-8s %s, %.0f s" % (row["plan"], row["apply"], took, row["seconds"]))


def _compiled(name: str, plan: Plan, target: str, topology: str | None, options: dict[str, Any], seconds: float, show: Progress) -> JSON:
    row, start = _row(name, plan, "compiled"), time.monotonic()
    with Folder() as folder:
        request = {"module": folder.file("module.mlir", plan.module), "target": target, "topology": topology, "options": options}
        answer_path, hlo = folder.path("answer.json"), folder.path("compiled.hlo")
        said = _in_a_process([folder.file("request.json", request), answer_path, hlo], seconds)
        row["seconds"] = time.monotonic() - start
        if said is None:
            with open(answer_path) as f:
                answer = json.load(f)
            said = answer.get("refused")
        row["reason"] = said
        if said is None:
            row.update(compiler=answer["compiler"], version=answer["version"])
            row["peak_bytes"] = sum(answer[part] for part in ("argument_bytes", "output_bytes", "temporary_bytes")) - answer["alias_bytes"]
            row["fits"] = row["peak_bytes"] <= plan.document["memory_limit_bytes"]
            cost = json.loads(run_tool(find_tool(plan._tool), "simulate", hlo, "--json",
                                       *(plan._device_words(folder) or ["--device", plan.document["device"]])))
            row["collectives"] = cost["collectives"]
            if target != "cpu":
                row["runtime_ns"] = cost["runtime_ns"]
    _tell(row, show)
    return row


def _in_a_process(words: list[str], seconds: float) -> str | None:
    """None, or why there is no answer."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH")))))
    process = subprocess.Popen([sys.executable, "-m", "shardwright.compile_module", *words], env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
    try:
        _, noise = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        return "not compiled within %g s" % seconds
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)      # its own session: the compiler and what it has started
            process.communicate()
    if process.returncode:
        last = noise.strip().splitlines()
        how = "signal %d" % -process.returncode if process.returncode < 0 else "exit %d" % process.returncode
        return "the compiler died (%s): %s" % (how, last[-1][:500] if last else "")
    return None


def _measured(name: str, plan: Plan, options: dict[str, Any], arguments: tuple[tuple[Any, ...], dict[str, Any]] | None, show: Progress) -> JSON:
    import jax
    row, start = _row(name, plan, "measured"), time.monotonic()
    try:
        function = plan.compile(compiler_options=options)
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


def _best(plan: Plan, found: list[tuple[str, Plan]], rows: list[JSON]) -> Plan:
    good = [(row, one) for (_, one), row in zip(found, rows, strict=True) if row["reason"] is None and row["fits"]]
    if not good:
        warnings.warn("nothing that was compiled fits; the plan is as it was predicted: %s" % "; ".join(
            "%s %s: %s" % (row["plan"], row["apply"], row["reason"] or size(row["peak_bytes"])) for row in rows), PlanWarning, stacklevel=4)
        plan.verifications = rows
        return plan
    row, answer = min(good, key=lambda pair: pair[0]["predicted_runtime_ns"] if pair[0]["runtime_ns"] is None else pair[0]["runtime_ns"])
    answer.verifications = rows
    row["chosen"] = True
    return answer
