"""plan(): from a function and a mesh to a Plan."""
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from typing import Any

from .daemon import ask_daemon
from .errors import Error, NoAnswer, warn
from .hosts import agree_on, process_count
from .program import Program, ambient_explicit_axes, program_of
from .progress import Progress
from .shardings import JSON, mesh_words
from .strategy import Plan
from .tables import duration, size
from .tool import ask_tool, find_tool

MOST_ALTERNATIVES = 16
FALLBACKS = ("replicated", "data_parallel", "zero2", "zero3")


def plan(step: Callable[..., Any], *args: Any, mesh: Any = None, memory: Any = None, device: Any = None, server: str | None = None,
         kwargs: dict[str, Any] | None = None, static_argnums: Any = None, static_argnames: Any = None, donate_argnums: Any = None,
         donate_argnames: Any = None, objective: str | None = None, schedule: Any = None, evaluations: int | None = None,
         seconds: float | None = None, seed: int | None = None, threads: int | None = None, pins: Sequence[str] = (),
         forbids: Sequence[str] = (), groups: Sequence[str] = (), open_results: bool = False, apply: str | None = None,
         compiler_options: str | None = None, alternatives: int | None = None, trip_count: int | None = None, uncertainty_ppm: int | None = None,
         priors: str | None = None, verify: int | str | None = None, verify_by: str = "here",
         timeout: float | None = None, fallback: str | None = "data_parallel", ambient_mesh: str = "keep",
         progress: bool | Callable[[JSON], Any] | None = None, tool: str | None = None) -> Plan:
    """Search a sharding strategy for step(*args, **kwargs) on a mesh.

    step            a function, jitted or not; static_.. and donate_.. are for one that is not
    args, kwargs    arrays or jax.ShapeDtypeStruct, in the trees that step takes; their shardings are ignored
    mesh            "data=4,model=2", {"data": 4, "model": 2}, a jax.sharding.Mesh, or {"axes": [{"name", "size", "link"}..]}
    memory          limit per device, "16GiB" or bytes; default: what the device profile has
    device          name of a profile (`shardwright devices`), or a dict with a profile of your own
    server          URL of a daemon; default: SHARDWRIGHT_SERVER, and without it the command line tool
    schedule        {"tactics": [..]} or a list of tactics
    pins, forbids   "GLOB:SHARDING", "GLOB:DIM:AXIS" over argument names such as params['w1']
    groups          globs over argument names: what matches one is decided together, as one
    apply           how XLA will get the plan: "annotate", "exact" or "auto"; see plan.fn. Default: the tool's
    compiler_options  "best": try the options of the device's compiler that its profile has; plan.compiler_options are those the plan gains by
    alternatives    so many plans besides the answer that do something else: plan.alternatives
    trip_count      iterations of loops whose number the program does not say, as of decoding; default: their counter's bound, or 1
    uncertainty_ppm  of costs, in millionths: among plans this near to the cheapest the simplest is the answer. 0: the cheapest; default: the tool's
    priors          "store": tactics that won in the daemon's store are tried first; "uniform". Default: the tool's
    verify          K: compile the K best different plans and answer with the best by the compiler; "run": time them here
    verify_by       "here", or "server": a verifier of the daemon compiles (python -m shardwright.verifier), and this call waits for it
    timeout         seconds to wait; then the best so far is the answer, with a warning
    fallback        what to plan where nobody answers (no daemon, no plan in time): a baseline, with a warning; None: raise NoAnswer
    ambient_mesh    "keep", or "ignore": lower outside the mesh that jax.set_mesh has set, which pins what has explicit axes
    progress        None: on a terminal; True; False; or a function that is called with each event
    tool            path of the tool; default: SHARDWRIGHT, the one in the wheel, the PATH. Given, it wins over SHARDWRIGHT_SERVER

    plan(step, args, mesh, ..), with the arguments in one tuple and the mesh behind them, is understood too.

    -> Plan. Error with the tool's message if the search fails. A plan that does not fit is returned all the same; see plan.fits.
    In a job of several processes all must call; process 0 asks, and a difference between them is an Error in each.
    """
    if mesh is None:
        args, mesh, memory, device, server = _older_form(args, memory, device, server)
    if fallback is not None and fallback not in FALLBACKS:
        raise Error("fallback: expected None or one of %s, found %r" % (", ".join(FALLBACKS), fallback))
    if ambient_mesh not in ("keep", "ignore"):
        raise Error('ambient_mesh: expected "keep" or "ignore", found %r' % ambient_mesh)
    server = server or (None if tool else os.environ.get("SHARDWRIGHT_SERVER"))
    by_server = _is_by_server(verify, verify_by, server)
    program = program_of(step, args, dict(kwargs or {}), {"static_argnums": static_argnums, "static_argnames": static_argnames,
                                                          "donate_argnums": donate_argnums, "donate_argnames": donate_argnames},
                         ambient_mesh)
    if isinstance(schedule, (list, tuple)):
        schedule = {"tactics": list(schedule)}
    asked = {"mesh": mesh_words(mesh), "device": device, "memory": memory, "objective": objective, "schedule": schedule,
             "evaluations": evaluations, "seconds": seconds, "seed": seed, "threads": threads, "pins": list(pins),
             "forbids": list(forbids), "groups": list(groups), "open_results": open_results or None, "apply": apply,
             "compiler_options": compiler_options, "trip_count": trip_count,
             "alternatives": alternatives if alternatives is not None else _alternatives_for(verify),
             "uncertainty_ppm": uncertainty_ppm, "priors": priors,
             "verify": verify if by_server else None}
    wanted = {key: value for key, value in asked.items() if value is not None and value != []}
    with Progress(progress) as show:
        def answer(of: Program) -> JSON:
            return _answer(of, wanted, server, tool, timeout, fallback, show)

        try:
            found = _together(program, wanted, lambda: answer(program))
        except Error as error:
            if ambient_mesh == "keep" and ambient_explicit_axes() and "another mesh" in str(error):
                raise Error('%s; these come from jax.set_mesh with explicit axes (%s): plan(.., ambient_mesh="ignore") plans without them'
                            % (error, ", ".join(ambient_explicit_axes()))) from None
            raise
        result = Plan(found["document"], found["module"], program, tool=tool, fallback=found["fallback"],
                      device_profile=device if isinstance(device, dict) else None)
        result.verifications = found.get("verifications", [])
        if found.get("strategy"):
            result.strategy, result.server = found["strategy"], server
        if found["fallback"]:
            warn(found["fallback"])
        if ambient_mesh == "keep" and ambient_explicit_axes():
            _report_pins(program, result, answer)
        if verify and not by_server:
            if process_count() > 1:
                raise Error("verify compiles in processes of its own: verify the plan in one process, save it, and load it in the job")
            from .verification import verify as verify_plan
            result = verify_plan(result, verify, progress=show, arguments=(args, dict(kwargs or {})))
    return result


def _alternatives_for(verify: Any) -> int | None:
    """Plans besides the answer that a verification of so many programs may compile."""
    return min(verify, MOST_ALTERNATIVES) if isinstance(verify, int) and not isinstance(verify, bool) and verify > 1 else None


def _is_by_server(verify: Any, verify_by: str, server: str | None) -> bool:
    if verify_by not in ("here", "server"):
        raise Error('verify_by: expected "here" or "server", found %r' % verify_by)
    if not verify or verify_by == "here":
        return False
    if not server:
        raise Error('verify_by="server" needs the URL of a daemon: server=.. or SHARDWRIGHT_SERVER')
    if isinstance(verify, bool) or not isinstance(verify, int):
        raise Error('verify: a daemon verifies a number of programs, found %r' % (verify,))
    return True


def _older_form(args: tuple[Any, ...], memory: Any, device: Any, server: Any) -> tuple[Any, ...]:
    """plan(step, args, mesh, memory, device, server): a tuple of arguments, then the mesh."""
    if len(args) < 2 or not isinstance(args[0], (tuple, list)) or not (
            isinstance(args[1], (str, dict)) or hasattr(args[1], "axis_names")):
        raise Error('say the mesh by name: plan(step, *args, mesh="data=4,model=2")')
    rest = list(args[2:]) + [None] * 3
    return tuple(args[0]), args[1], memory if rest[0] is None else rest[0], device or rest[1], server or rest[2]


def _answer(program: Program, wanted: JSON, server: str | None, tool: str | None, timeout: float | None, fallback: str | None,
            show: Progress) -> JSON:
    """{"document", "module", "fallback"}; fallback: None, or in words why this is a baseline."""
    try:
        if server:
            return {**ask_daemon(server, program.text, wanted, timeout, show), "fallback": None}
        document, module = ask_tool(find_tool(tool), program.text, wanted, timeout, show if show.on else None)
        return {"document": document, "module": module, "fallback": None}
    except NoAnswer as error:
        if fallback is None:
            raise
        try:
            path = find_tool(tool)
        except Error as missing:
            raise NoAnswer("%s; and no fallback without a tool: %s" % (error, missing)) from error
        document, module = ask_tool(path, program.text, baseline_request(wanted, fallback), None, None)
        said = "%s: this is the baseline %s, not the answer of a search" % (error, fallback)
        return {"document": document, "module": module, "fallback": said}


def baseline_request(wanted: JSON, name: str) -> JSON:
    """The search that decides nothing but the baseline: its named tactics, one per axis, and no budget for more."""
    kept = ("mesh", "device", "memory", "pins", "forbids", "groups", "open_results", "apply", "compiler_options", "trip_count")
    keep = {key: value for key, value in wanted.items() if key in kept}
    axes = _axis_names(wanted["mesh"])
    tactics: list[JSON] = []
    if name in ("data_parallel", "zero2", "zero3"):
        tactics += [{"named": "data_parallel", "axis": axis} for axis in axes]
    if name in ("zero2", "zero3"):
        tactics += [{"named": name, "axis": axis} for axis in axes]
    if name == "replicated":
        tactics += [{"named": "replicate", "axis": axis} for axis in axes]
    return {**keep, "schedule": {"tactics": tactics}, "evaluations": 1}


def _axis_names(mesh: Any) -> list[str]:
    if isinstance(mesh, dict):
        return [axis["name"] for axis in mesh["axes"]]
    if "=" not in mesh and os.path.exists(mesh):
        with open(mesh) as f:
            return [axis["name"] for axis in json.load(f)["axes"]]
    return [part.split("=")[0].strip() for part in mesh.split(",")]


def _together(program: Program, wanted: JSON, ask: Callable[[], JSON]) -> JSON:
    """The answer; in a job of several processes that of process 0, in all of them."""
    if process_count() == 1:
        return ask()
    request = hashlib.sha256((program.digest() + json.dumps(wanted, sort_keys=True)).encode()).hexdigest()
    return agree_on(request, ask)


def _report_pins(program: Program, result: Plan, answer: Callable[[Program], JSON]) -> None:
    """Under explicit axes jax pins values into the module: say how many, and what a plan without them would take."""
    outer, inner = program.pinned()
    if not outer + inner:
        return
    said = "jax.set_mesh with explicit axes (%s) pins %d arguments and results and %d inner values of this program" % (
        ", ".join(ambient_explicit_axes()), outer, inner)
    try:
        free = answer(program.without_ambient_mesh())["document"]["cost"]
        said += ": %s and %s with them, %s and %s without" % (duration(result.cost["runtime_ns"]), size(result.cost["peak_bytes"]),
                                                             duration(free["runtime_ns"]), size(free["peak_bytes"]))
        said += '; plan(.., ambient_mesh="ignore") plans without them'
    except Error as error:
        said += "; without the mesh it cannot be planned: %s" % error
    warn(said)
