"""Plan the sharding of a JAX program with Shardwright, and run it.

    import jax, shardwright
    step = jax.jit(train_step, donate_argnums=(0, 1))
    plan = shardwright.plan(step, (params, opt_state, batch), "data=4,model=2", memory="16GiB")
    print(plan.table())
    mesh = plan.mesh()                                  # or a jax.sharding.Mesh of your own with these axes
    fast = plan.jit(mesh)                               # jax.jit with plan.in_shardings(mesh), plan.out_shardings(mesh)
    params, opt_state, loss = fast(params, opt_state, batch)

The module that is searched is what jax.jit(step).lower(args) prints, so only shapes and types of `args` matter.
The search runs in the command line tool (`SHARDWRIGHT`, default `shardwright` on the PATH) or, with `server=` or
`SHARDWRIGHT_SERVER`, in a daemon, which remembers answers. Standard library only; jax is imported when it is needed.

What a NamedSharding cannot say. A strategy may hold user priorities, internal sharding constraints and sub-axes;
jax.sharding.NamedSharding has none of them. `plan.losses()` lists what would be lost. `plan.jit` hands the shardings of
arguments and results to jax.jit, where priorities and constraints are dropped: mostly the same program, but a ZeRO
dimension may then win over the batch dimension inside. `plan.compile` compiles the module that the search emitted, with
everything in it, and is called like the function; it relies on internals of the jax version named in COMPILES_WITH.
"""
import gzip
import json
import os
import re
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

__all__ = ["plan", "Plan", "Error"]
COMPILES_WITH = "0.10.2"


class Error(Exception):
    """The search failed, or a plan cannot do what was asked."""


def plan(step, args, mesh, memory=None, device=None, server=None, *, kwargs=None, donate_argnums=None, objective=None, schedule=None,
         evaluations=None, seconds=None, seed=None, threads=None, pins=(), forbids=(), open_results=False, apply=None, timeout=None, tool=None):
    """Search a sharding strategy for step(*args, **kwargs) on a mesh.

    step            a function, jitted or not; donate_argnums counts only for one that is not
    args, kwargs    arrays or jax.ShapeDtypeStruct, in the trees that step takes; their shardings are ignored
    mesh            "data=4,model=2", {"data": 4, "model": 2}, a jax.sharding.Mesh, or {"axes": [{"name", "size", "link"}..]}
    memory          limit per device, "16GiB" or bytes; default: what the device profile has
    device          name of a profile (`shardwright devices`), or a dict with a profile of your own
    server          URL of a daemon; default: SHARDWRIGHT_SERVER, and without it the command line tool
    schedule        {"tactics": [..]} or a list of tactics
    pins, forbids   "GLOB:SHARDING", "GLOB:DIM:AXIS" over argument names such as params['w1']
    apply           how XLA will get the plan: "annotate" (default), "exact" or "auto"; see plan.fn
    timeout         seconds to wait for the answer

    -> Plan. Error with the tool's message if the search fails. A plan that does not fit is returned all the same; see plan.fits.
    """
    import jax
    jitted = step if hasattr(step, "lower") else jax.jit(step, donate_argnums=donate_argnums)
    args, kwargs = _abstract(tuple(args)), _abstract(dict(kwargs or {}))
    lowered = jitted.lower(*args, **kwargs)
    text = lowered.as_text(debug_info=True)
    if isinstance(schedule, (list, tuple)):
        schedule = {"tactics": list(schedule)}
    wanted = {"mesh": _mesh_words(mesh), "device": device, "memory": memory, "objective": objective, "schedule": schedule,
              "evaluations": evaluations, "seconds": seconds, "seed": seed, "threads": threads, "pins": list(pins),
              "forbids": list(forbids), "open_results": open_results, "apply": apply}
    wanted = {key: value for key, value in wanted.items() if value not in (None, [], False)}
    server = server or (None if tool else os.environ.get("SHARDWRIGHT_SERVER"))
    document, emitted = _ask_server(server, text, wanted, timeout) if server else _ask_tool(tool, text, wanted, timeout)
    return Plan(document, emitted, step=jitted, args=args, kwargs=kwargs, lowered=lowered)


class Plan:
    """A strategy, tied to the function and arguments it was found for.

    document    the strategy document, format shardwright.strategy/1
    module      StableHLO text that carries the plan; XLA compiles it as it is. Annotated: with mesh, shardings, priorities and constraints.
                Exact: the program of one device in one manual computation, its arguments and results whole arrays with their shardings
    """

    def __init__(self, document, module, step, args, kwargs, lowered):
        self.document, self.module = document, module
        self._step, self._args, self._kwargs, self._lowered = step, args, kwargs, lowered
        self._fn = None

    @property
    def fits(self):
        """Whether the predicted peak memory keeps the limit."""
        return self.document["fits"]

    @property
    def cost(self):
        """The "cost" object of the document: nanoseconds, bytes, collectives."""
        return self.document["cost"]

    def mesh(self, devices=None):
        """A jax.sharding.Mesh with the plan's axes over devices (default: the first ones of jax.devices()).

        A device order in the plan is kept."""
        import jax
        import numpy as np
        axes = self.document["mesh"]["axes"]
        shape = [axis["size"] for axis in axes]
        count = int(np.prod(shape))
        devices = list(jax.devices() if devices is None else devices)
        if len(devices) < count:
            raise Error("the plan needs %d devices, found %d" % (count, len(devices)))
        order = self.document["mesh"].get("device_order") or range(count)
        grid = np.array([devices[i] for i in order], dtype=object).reshape(shape)
        return jax.sharding.Mesh(grid, tuple(axis["name"] for axis in axes))

    def in_shardings(self, mesh):
        """Shardings of the positional arguments, in the tree of args, for jax.jit(step, in_shardings=..).

        A leaf is a NamedSharding, or None where the plan leaves the argument to the compiler. Function arguments that
        jax drops because nothing reads them are None too. Axes of the mesh that are not of type Auto are taken as Auto."""
        import jax
        flat = self._flat_arguments(mesh)
        tree = jax.tree.structure((self._args, self._kwargs))
        args, kwargs = jax.tree.unflatten(tree, flat)
        if kwargs:
            raise Error("jax.jit takes no in_shardings for keyword arguments; pass them by position")
        return args

    def out_shardings(self, mesh):
        """Shardings of the results, in the tree that step returns, for jax.jit(step, out_shardings=..)."""
        import jax
        leaves, tree = jax.tree.flatten(self._lowered.out_info)
        results = self.document["results"]
        if len(results) != len(leaves):
            raise Error("the plan has %d results, the function %d" % (len(results), len(leaves)))
        return jax.tree.unflatten(tree, [self._named(mesh, r["sharding"], "result %d" % r["index"]) for r in results])

    def losses(self):
        """What in_shardings and out_shardings cannot say of this plan, as lines of text; empty if they say everything."""
        found = []
        if self.document.get("apply") == "exact":
            found.append("the program of one device: jit lets XLA partition, which the plan's cost knows nothing of; use plan.fn")
        late = [a["name"] for a in self.document["arguments"] if any(_parts(a["sharding"])[2]) or any(a.get("priority") or [])]
        if late:
            found.append("user priorities on %d arguments, such as %s" % (len(late), late[0]))
        if self.document["constraints"]:
            found.append("%d internal sharding constraints" % len(self.document["constraints"]))
        split = [a["name"] for a in self.document["arguments"] if any(":" in axis for dim in _parts(a["sharding"])[0] for axis in dim)]
        if split:
            found.append("sub-axes on %d arguments, such as %s" % (len(split), split[0]))
        return found

    def jit(self, mesh=None, **options):
        """jax.jit of the function with the plan's shardings; donated as the function was. Options go to jax.jit."""
        import jax
        mesh = mesh or self.mesh()
        options.setdefault("donate_argnums", self._donated())
        return jax.jit(self._step, in_shardings=self.in_shardings(mesh), out_shardings=self.out_shardings(mesh), **options)

    @property
    def fn(self):
        """The program that was planned, on plan.mesh(): plan.compile(), made once. Call it like the function."""
        if self._fn is None:
            self._fn = self.compile()
        return self._fn

    def compile(self, mesh=None, compiler_options=None):
        """Compile the emitted module, priorities and constraints included; -> a jax.stages.Compiled, called as the function.

        Its arguments may lie anywhere, also as numpy arrays: they are placed as the module asks. Uses internals of jax
        COMPILES_WITH; Error on a jax where they are missing."""
        import jax
        mesh = mesh or self.mesh()
        try:
            from jax._src.interpreters import mlir
            from jaxlib.mlir import ir
            arguments, results = self._unsplit(mesh)
            lowered = jax.jit(self._step, donate_argnums=self._donated(), in_shardings=arguments, out_shardings=results,
                              keep_unused=False).lower(*self._args)
            with mlir.make_ir_context():
                lowered._lowering._hlo = ir.Module.parse(self.module)
                compiled = lowered.compile(compiler_options)
            wanted = compiled.input_shardings[0]
        except (AttributeError, ImportError, TypeError) as error:
            raise Error("plan.compile works with jax %s, this is %s (%s); use plan.jit" % (COMPILES_WITH, jax.__version__, error)) from error

        def call(*args):
            return compiled(*jax.device_put(args, wanted))

        call.compiled = compiled
        return call

    def table(self):
        """The plan as text: one line per argument group with equal shapes and shardings, then cost and baselines."""
        rows, order = {}, []
        for a in self.document["arguments"]:
            name = re.sub(r"\[\d+\]", "[*]", a["name"])
            key = (name, a["type"], _sharding_text(a["sharding"], a.get("priority")), a["role"])
            if key not in rows:
                order.append(key)
            rows[key] = rows.get(key, 0) + 1
        lines = [("argument", "type", "sharding", "role", "count")] + [(*key, str(rows[key])) for key in order]
        widths = [max(len(line[i]) for line in lines) for i in range(5)]
        out = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
        out += ["", "%-24s %12s %12s  %s" % ("", "step", "peak", "")]

        def price(name, cost, fits):
            return "%-24s %12s %12s  %s" % (name, _duration(cost["runtime_ns"]), _size(cost["peak_bytes"]), "" if fits else "does not fit")

        out.append(price("this plan", self.cost, self.fits).rstrip())
        out += [price(b["name"], b["cost"], b["fits"]).rstrip() for b in self.document["baselines"]]
        moved = self.cost["collectives"]
        out.append("")
        out += ["%-24s %8d per step %12s" % (kind, c["dynamic_count"], _size(c["bytes"])) for kind, c in sorted(moved.items()) if c["count"]]
        out += ["%s not understood, treated as replicated: %d times, first at %s" % (u["op"], u["count"], u["location"])
                for u in self.document["unsupported"]]
        return "\n".join(out).rstrip() + "\n"

    def __repr__(self):
        return "<shardwright.Plan %s, %s per step, %s peak%s>" % (
            _mesh_text(self.document["mesh"]), _duration(self.cost["runtime_ns"]), _size(self.cost["peak_bytes"]),
            "" if self.fits else ", does not fit")

    def _donated(self):
        """Positional arguments whose leaves are donated."""
        import jax
        infos, _ = self._lowered.args_info
        return tuple(i for i, info in enumerate(infos) if jax.tree.leaves(info) and all(leaf.donated for leaf in jax.tree.leaves(info)))

    def _kept(self):
        """Positions of the flat arguments that main has: jax drops those that nothing reads."""
        import jax
        count = len(jax.tree.leaves((self._args, self._kwargs)))
        arguments = len(self.document["arguments"])
        kept = range(count)
        if arguments != count:
            try:
                kept = sorted(self._lowered._lowering.compile_args["kept_var_idx"])
            except (AttributeError, KeyError):
                kept = ()
        if len(kept) != arguments:
            raise Error("the plan has %d arguments, the function %d" % (arguments, count))
        return kept, count

    def _flat_arguments(self, mesh):
        kept, count = self._kept()
        flat = [None] * count
        for at, argument in zip(kept, self.document["arguments"]):
            flat[at] = self._named(mesh, argument["sharding"], argument["name"])
        return flat

    def _unsplit(self, mesh):
        """Shardings for compile: those of jit, but a sub-axis leaves the argument to the module. At least one is named,
        so that jax compiles for the whole mesh."""
        import jax

        def soft(value, name):
            try:
                return self._named(mesh, value, name)
            except Error:
                return None

        kept, count = self._kept()
        flat = [None] * count
        for at, argument in zip(kept, self.document["arguments"]):
            flat[at] = soft(argument["sharding"], argument["name"])
        arguments, kwargs = jax.tree.unflatten(jax.tree.structure((self._args, self._kwargs)), flat)
        if kwargs:
            raise Error("plan.compile takes positional arguments only")
        results = jax.tree.unflatten(jax.tree.structure(self._lowered.out_info),
                                     [soft(r["sharding"], "result") for r in self.document["results"]])
        if all(s is None for s in jax.tree.leaves((arguments, results))):
            flat[kept[0]] = self._free(mesh)
            arguments = jax.tree.unflatten(jax.tree.structure((self._args, self._kwargs)), flat)[0]
        return arguments, results

    def _free(self, mesh):
        """Names the mesh and says nothing else: jax needs it on one value, the module has its own word on the sharding."""
        from jax.sharding import NamedSharding, PartitionSpec
        return NamedSharding(mesh, PartitionSpec())

    def _named(self, mesh, value, name):
        """NamedSharding for a sharding of the document; None stays None."""
        from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
        if value is None:
            return None
        if any(kind != AxisType.Auto for kind in mesh.axis_types):      # explicit axes would ask the function for its shardings
            mesh = Mesh(mesh.devices, mesh.axis_names)
        planned = {axis["name"]: axis["size"] for axis in self.document["mesh"]["axes"]}
        if dict(mesh.shape) != planned:
            raise Error("the plan is for mesh %s, not %s" % (_mesh_text(self.document["mesh"]), dict(mesh.shape)))
        dims, is_open, _ = _parts(value)
        spec = []
        for axes, free in zip(dims, is_open):
            split = [axis for axis in axes if ":" in axis]
            if split:
                raise Error("%s: a NamedSharding has no sub-axes (%s); use plan.compile, or plan with a finer mesh" % (name, split[0]))
            spec.append(PartitionSpec.UNCONSTRAINED if free and not axes else None if not axes else axes[0] if len(axes) == 1 else tuple(axes))
        return NamedSharding(mesh, PartitionSpec(*spec))


def _parts(value):
    """Sharding in JSON -> (axes per dimension, open per dimension, priority per dimension)."""
    if value is None:
        return [], [], []
    if isinstance(value, list):
        return value, [False] * len(value), [0] * len(value)
    dims = value["dims"]
    return dims, value.get("open") or [False] * len(dims), value.get("priority") or [0] * len(dims)


def _sharding_text(value, priority=None):
    if value is None:
        return "-"
    dims, is_open, own = _parts(value)
    priority = priority or own
    words = []
    for axes, free, p in zip(dims, is_open, list(priority) + [0] * len(dims)):
        words.append(("+".join(axes) or ".") + ("?" if free else "") + (" p%d" % p if p and axes else ""))
    return "[" + ", ".join(words) + "]"


def _duration(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return "%.4g %s" % (ns / size, unit)
    return "%d ns" % ns


def _size(count):
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return "%.2f %s" % (count / size, unit)
    return "%d B" % count


def _mesh_text(mesh):
    return ",".join("%s=%d" % (axis["name"], axis["size"]) for axis in mesh["axes"])


def _mesh_words(mesh):
    """Any accepted form of mesh -> the text or JSON form that tool and daemon take."""
    if isinstance(mesh, str):
        return mesh
    if hasattr(mesh, "axis_names"):
        return ",".join("%s=%d" % (name, mesh.shape[name]) for name in mesh.axis_names)
    if "axes" in mesh:
        return mesh
    return ",".join("%s=%d" % item for item in mesh.items())


def _abstract(tree):
    """Shapes and types only; leaves that are neither stay as they are."""
    import jax

    def leaf(x):
        if hasattr(x, "shape") and hasattr(x, "dtype"):
            return jax.ShapeDtypeStruct(x.shape, x.dtype, weak_type=getattr(x, "weak_type", False))
        return x

    return jax.tree.map(leaf, tree)


# --- the command line tool ---------------------------------------------------------------------------------------------

FLAGS = {"mesh": "--mesh", "device": "--device", "memory": "--memory", "objective": "--objective", "schedule": "--schedule",
         "evaluations": "--evaluations", "seconds": "--seconds", "seed": "--seed", "threads": "--threads", "apply": "--apply"}


def _ask_tool(tool, text, wanted, timeout):
    tool = tool or os.environ.get("SHARDWRIGHT", "shardwright")
    with tempfile.TemporaryDirectory(prefix="shardwright-") as folder:
        def file(name, content):
            path = os.path.join(folder, name)
            with open(path, "w") as f:
                f.write(content if isinstance(content, str) else json.dumps(content))
            return path

        out = os.path.join(folder, "planned.mlir")
        words = [tool, "search", file("module.mlir", text), "--json", "--emit-mlir", out]
        for key, flag in FLAGS.items():
            value = wanted.get(key)
            if value is None:
                continue
            if isinstance(value, dict):
                flag = "--device-file" if key == "device" else flag
                value = file(key + ".json", value)
            words += [flag, str(value)]
        for key, flag in (("pins", "--pin"), ("forbids", "--forbid")):
            for value in wanted.get(key, ()):
                words += [flag, value]
        if wanted.get("open_results"):
            words.append("--open-results")
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=timeout)
        except FileNotFoundError:
            raise Error("no tool %r: put shardwright on the PATH or name it in SHARDWRIGHT" % tool) from None
        except subprocess.TimeoutExpired:
            raise Error("no answer within %s s" % timeout) from None
        if done.returncode not in (0, 2):
            raise Error(done.stderr.strip() or "%s: exit %d" % (tool, done.returncode))
        with open(out) as f:
            return json.loads(done.stdout), f.read()


# --- the daemon --------------------------------------------------------------------------------------------------------


def _request(server, method, path, body=None, headers=None, timeout=60):
    """-> (status, body). Error with the text of an RFC 9457 problem on a failure."""
    headers = dict(headers or {})
    token = os.environ.get("SHARDWRIGHT_TOKEN")
    if token:
        headers["Authorization"] = "Bearer " + token
    request = urllib.request.Request(urllib.parse.urljoin(server.rstrip("/") + "/", path.lstrip("/")), data=body, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        said = error.read().decode(errors="replace")
        try:
            problem = json.loads(said)
            said = ": ".join(problem[word] for word in ("title", "detail") if problem.get(word))
        except (ValueError, TypeError, AttributeError):
            pass
        raise Error("%s %s: %d %s" % (method, path, error.code, said[:2000])) from None
    except urllib.error.URLError as error:
        raise Error("no daemon at %s: %s" % (server, error.reason)) from None


def _ask_server(server, text, wanted, timeout):
    deadline = None if timeout is None else time.monotonic() + timeout
    _, answer = _request(server, "POST", "/v1/modules", gzip.compress(text.encode(), 6, mtime=0),
                         {"Content-Type": "text/plain", "Content-Encoding": "gzip"})
    body = dict(wanted, module=json.loads(answer)["id"])
    _, answer = _request(server, "POST", "/v1/searches", json.dumps(body).encode(), {"Content-Type": "application/json"})
    search = json.loads(answer)
    while search["state"] in ("queued", "running"):
        left = 30 if deadline is None else min(30, int(deadline - time.monotonic()))
        if left <= 0:
            raise Error("no answer within %s s; search %s goes on" % (timeout, search["id"]))
        _, answer = _request(server, "GET", "/v1/searches/%s?wait=%ds" % (urllib.parse.quote(search["id"], safe=":"), left), timeout=left + 30)
        search = json.loads(answer)
    if search["state"] != "succeeded" or not search.get("strategy"):
        raise Error("search %s %s: %s" % (search.get("id"), search["state"], search.get("error") or search.get("detail") or "no strategy"))
    path = "/v1/strategies/" + urllib.parse.quote(search["strategy"], safe=":")
    document = json.loads(_request(server, "GET", path)[1])
    return document, _request(server, "GET", path + ".mlir")[1].decode()
