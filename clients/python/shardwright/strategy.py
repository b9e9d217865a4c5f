"""A plan: a strategy, tied to the function and arguments it was found for."""
import gzip
import json
import os
from collections.abc import Callable
from typing import Any

from .errors import Error, warn
from .executable import PlannedFunction, compile_plan
from .program import Program
from .shardings import JSON, check_mesh, is_open, make_mesh, mesh_text, named, parts, split_axis
from .source import Source, alternatives_of
from .tables import document_table, duration, size
from .version import __version__

FORMAT = "shardwright.plan/1"


class Plan:
    """A strategy, tied to the function and arguments it was found for.

    document       the strategy document, format shardwright.strategy/1
    module         StableHLO text that carries the plan; XLA compiles it as it is. Annotated: with mesh, shardings, priorities and
                   constraints. Exact: the program of one device in one manual computation, its arguments and results whole arrays
    fallback       None, or why this is not the answer of a search but a baseline
    verifications  what the compiler said of this plan and others; see verify
    strategy       the id of the strategy in the store of the daemon that planned it; None: it is in none
    server         the URL of that daemon
    """

    def __init__(self, document: JSON, module: str, program: Program, *, tool: str | None = None, fallback: str | None = None,
                 device_profile: JSON | None = None):
        self.document, self.module, self.fallback = document, module, fallback
        self.verifications: list[JSON] = []
        self.strategy: str | None = None
        self.server: str | None = None
        self._program, self._source = program, Source(program.text, tool, device_profile)
        self._functions: dict[str, PlannedFunction] = {}
        self._warned = False

    # --- what it is

    @property
    def fits(self) -> bool:
        """Whether the peak memory keeps the limit: as the compiler says if verified, as predicted otherwise."""
        return bool((self.verified or self.document)["fits"])

    @property
    def verified(self) -> JSON | None:
        """What the compiler said of this plan: its row of `verifications`; None if it was not asked, or if it refused."""
        return next((row for row in self.verifications if row.get("chosen")), None)

    @property
    def cost(self) -> JSON:
        """The "cost" object of the document: nanoseconds, bytes, collectives."""
        return dict(self.document["cost"])

    @property
    def alternatives(self) -> list[JSON]:
        """Other plans that the search found, where its document has them: strategy documents of their own."""
        return alternatives_of(self.document)

    @property
    def compiler_options(self) -> dict[str, Any]:
        """XLA options that the plan asks for, where its document has them."""
        return dict(self.document.get("compiler_options", {}))

    def table(self) -> str:
        """The plan as text: one line per argument group with equal shapes and shardings, then cost and baselines."""
        return document_table(self.document)

    def explain(self) -> str:
        """What each decision brings and which source line every collective comes from, as `shardwright explain` prints it."""
        return self._source.explained(self.document)

    def __repr__(self) -> str:
        return "<shardwright.Plan %s, %s per step, %s peak%s%s>" % (
            mesh_text(self.document["mesh"]), duration(self.cost["runtime_ns"]), size(self.cost["peak_bytes"]),
            "" if self.fits else ", does not fit", ", a fallback" if self.fallback else "")

    # --- running it

    def mesh(self, devices: Any = None) -> Any:
        """A jax.sharding.Mesh with the plan's axes over devices (default: the first ones of jax.devices())."""
        return make_mesh(self.document["mesh"], devices)

    @property
    def fn(self) -> PlannedFunction:
        """The program that was planned, on plan.mesh(), compiled when it is first asked for. Call it as the function."""
        return self.function()

    def function(self, apply: str | None = None) -> PlannedFunction:
        """As fn, with the plan applied in a way of your choice: "exact" or "annotate". Compiled once each."""
        way = apply or self.document.get("apply", "annotate")
        if way not in self._functions:
            self._functions[way] = self.compile(apply=way)
        return self._functions[way]

    def compile(self, mesh: Any = None, compiler_options: dict[str, Any] | None = None, apply: str | None = None) -> PlannedFunction:
        """Compile the planned module, priorities and constraints included; -> a callable. Its .compiled is a jax.stages.Compiled.

        Uses internals of the jax named in COMPILES_WITH; Error on a jax where they are missing."""
        mesh = check_mesh(mesh, self.document["mesh"]) if mesh is not None else self.mesh()
        return compile_plan(self._program, self.document, self.module_applied(apply), mesh, {**self.compiler_options, **(compiler_options or {})})

    def module_applied(self, apply: str | None = None) -> str:
        """The module that carries the plan in one of the two ways; Error where the program of one device cannot be written."""
        if apply in (None, self.document.get("apply", "annotate")):
            return self.module
        return self._source.applied(self.document, str(apply))

    # --- for people who jit themselves

    def in_shardings(self, mesh: Any = None) -> Any:
        """Shardings of the positional arguments, in the tree of args without static ones, for jax.jit(step, in_shardings=..).

        What the plan leaves to propagation gets what propagation gave. None: an argument that jax drops because nothing reads
        it. Axes of the mesh that are not of type Auto are taken as Auto. Warns of losses()."""
        import jax
        self._warn_of_losses()
        mesh = check_mesh(mesh, self.document["mesh"]) if mesh is not None else self.mesh()
        flat: list[Any] = [None] * self._program.flat_count()
        avals = jax.tree.leaves(self._program.lowered.in_avals)
        for at, argument in zip(self._kept(), self.document["arguments"], strict=True):
            value = argument["sharding"]
            if value is None and not split_axis(argument.get("propagated")):
                value = argument.get("propagated")
            flat[at] = named(mesh, value, argument["name"], avals[at].ndim)
        args, kwargs = jax.tree.unflatten(self._program.lowered.in_tree, flat)
        if kwargs:
            raise Error("jax.jit takes no in_shardings for keyword arguments (%s): plan and call with them by position, or use plan.fn"
                        % ", ".join(sorted(kwargs)))
        return args

    def out_shardings(self, mesh: Any = None) -> Any:
        """Shardings of the results, in the tree that step returns, for jax.jit(step, out_shardings=..). Warns of losses()."""
        import jax
        self._warn_of_losses()
        mesh = check_mesh(mesh, self.document["mesh"]) if mesh is not None else self.mesh()
        leaves, tree = jax.tree.flatten(self._program.lowered.out_info)
        results = self.document["results"]
        if len(results) != len(leaves):
            raise Error("the plan has %d results, the function %d" % (len(results), len(leaves)))
        return jax.tree.unflatten(tree, [
            named(mesh, r["sharding"], "result %d" % r["index"], leaf.ndim) for r, leaf in zip(results, leaves, strict=True)])

    def losses(self) -> list[str]:
        """What in_shardings and out_shardings cannot say of this plan, as lines of text; empty if they say everything."""
        found = []
        if self.document.get("apply") == "exact":
            found.append("the program of one device: jit lets XLA partition, which the plan's cost knows nothing of; use plan.fn")
        late = [a["name"] for a in self.document["arguments"] if any(parts(a["sharding"])[2]) or any(a.get("priority") or [])]
        if late:
            found.append("user priorities on %d arguments, such as %s" % (len(late), late[0]))
        if self.document["constraints"]:
            found.append("%d internal sharding constraints" % len(self.document["constraints"]))
        split = [(a["name"], axis) for a in self.document["arguments"] if (axis := split_axis(a["sharding"]))]
        if split:
            found.append("sub-axes on %d arguments, such as %s" % (len(split), split[0][0]))
        return found

    def jit_cost(self) -> JSON:
        """The cost object of what plan.jit gives: shardings of arguments and results only, XLA partitions. Beside `cost`."""
        def plain(value: Any) -> Any:
            return {"dims": parts(value)[0], "open": parts(value)[1]} if is_open(value) else parts(value)[0] if value is not None else None

        document = {key: value for key, value in self.document.items() if key not in ("apply", "constraints", "actions")}
        document["arguments"] = [{"index": a["index"], "sharding": plain(a["sharding"] if a["sharding"] is not None else a.get("propagated"))}
                                 for a in self.document["arguments"]]
        document["results"] = [{"index": r["index"], "sharding": plain(r["sharding"])} for r in self.document["results"]]
        document.update(constraints=[], actions=[], apply="annotate")
        return self._source.cost(document)

    def jit(self, mesh: Any = None, **options: Any) -> Any:
        """jax.jit of the function with in_shardings and out_shardings; donated as the function was. Options go to jax.jit."""
        import jax
        mesh = check_mesh(mesh, self.document["mesh"]) if mesh is not None else self.mesh()
        arguments, results = self.in_shardings(mesh), self.out_shardings(mesh)
        step = self._program.jitted
        options.setdefault("donate_argnums", self._donated())
        options.setdefault("static_argnums", tuple(sorted(self._program.static_positions(len(self._program.args)))) or None)
        return jax.jit(step, in_shardings=arguments, out_shardings=results, **options)

    # --- keeping it

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan to a file, compressed; shardwright.load reads it beside the same function."""
        content = {"format": FORMAT, "version": __version__, "program": self._program.digest(), "document": self.document,
                   "module": self.module, "fallback": self.fallback, "device_profile": self._source.profile, "verifications": self.verifications,
                   "strategy": self.strategy, "server": self.server}
        part = "%s.part" % os.fspath(path)
        with open(part, "wb") as f:
            f.write(gzip.compress(json.dumps(content).encode(), 6, mtime=0))
        os.replace(part, path)

    # --- the compiler's word

    def verify(self, count: int | str = 2, **options: Any) -> "Plan":
        """Compile this plan and others and answer with the best by the compiler; see shardwright.verification.verify."""
        from .verification import verify
        return verify(self, count, **options)

    def record(self, step: float, peak: int | None = None, *, steps: int | None = None, device: str | None = None, source: str | None = None,
               server: str | None = None) -> JSON | None:
        """Tell the daemon that planned this what a step takes, in seconds, and a device's peak memory, in bytes: answers prefer what was measured.

        steps: how many the time is taken from; source: how, such as "profiler". device: the profile of the devices here, where it is not the
        plan's. -> the measurement as the daemon keeps it; None in all but the first process of a job. Error if no daemon planned this."""
        from .measurement import record
        where = server or self.server
        if not self.strategy or not where:
            raise Error("record: this plan is in no daemon's store; plan with server=.. or SHARDWRIGHT_SERVER")
        return record(where, self.strategy, self.document["device"], step=step, peak=peak, steps=steps, device=device, source=source,
                      options=self.compiler_options or None)

    # --- inside

    def _warn_of_losses(self) -> None:
        found = self.losses()
        if not found or self._warned:
            return
        self._warned = True
        try:
            cost = self.jit_cost()
            price = "predicted %s and %s with them, %s and %s as planned" % (
                duration(cost["runtime_ns"]), size(cost["peak_bytes"]), duration(self.cost["runtime_ns"]), size(self.cost["peak_bytes"]))
        except Error as error:
            price = "what they cost is not known: %s" % error
        warn("NamedShardings lose part of this plan (%s): %s. plan.fn runs what was planned" % ("; ".join(found), price))

    def _donated(self) -> tuple[int, ...]:
        """Positional arguments, static ones counted, whose leaves are all donated."""
        import jax
        infos, _ = self._program.lowered.args_info
        count = len(self._program.args)
        positions = [i for i in range(count) if i not in self._program.static_positions(count)]
        found = []
        for i, info in zip(positions, infos, strict=True):
            leaves = jax.tree.leaves(info)
            if leaves and all(leaf.donated for leaf in leaves):
                found.append(i)
            elif any(leaf.donated for leaf in leaves):
                raise Error("argument %d is donated in part, which jax.jit cannot say again: use plan.fn" % i)
        return tuple(found)

    def _kept(self) -> list[int]:
        kept = self._program.kept()
        if len(kept) != len(self.document["arguments"]):
            raise Error("the plan has %d arguments, the function %d" % (len(self.document["arguments"]), len(kept)))
        return kept


def load(path: str | os.PathLike[str], step: Callable[..., Any], *args: Any, kwargs: dict[str, Any] | None = None, tool: str | None = None,
         **jit_options: Any) -> Plan:
    """A saved plan, for the same function and arguments. Error if the program is another one: its plan would run the old program."""
    from .program import program_of
    try:
        with gzip.open(path) as f:
            content = json.loads(f.read())
        if content["format"] != FORMAT:
            raise ValueError("format %s, expected %s" % (content["format"], FORMAT))
    except FileNotFoundError:
        raise Error("no plan at %s" % os.fspath(path)) from None
    except (ValueError, KeyError, EOFError, OSError, TypeError) as error:
        raise Error("%s is not a saved plan: %s" % (os.fspath(path), error)) from error
    program = program_of(step, args, dict(kwargs or {}), jit_options)
    if program.digest() != content["program"]:
        raise Error("%s is a plan for another program (other shapes, another function, or another jax): plan again" % os.fspath(path))
    plan = Plan(content["document"], content["module"], program, tool=tool, fallback=content["fallback"], device_profile=content["device_profile"])
    plan.verifications = content["verifications"]
    plan.strategy, plan.server = content.get("strategy"), content.get("server")
    return plan
