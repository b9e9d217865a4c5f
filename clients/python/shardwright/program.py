"""The jitted function as it is planned: lowered from shapes, with the text that is searched."""
import contextlib
import functools
import hashlib
import re
from collections.abc import Callable
from typing import Any

from .errors import Error
from .source import without_locations

RECIPES = {
    "equinox": "equinox: dynamic, static = eqx.partition(arguments, eqx.is_array), and plan jax.jit(lambda dynamic: "
               "eqx.filter(step(*eqx.combine(dynamic, static)), eqx.is_array)) with dynamic as its argument",
    "flax": "flax nnx: graphdef, state = nnx.split(model), and plan jax.jit of a function that takes state, calls "
            "nnx.merge(graphdef, state) and returns nnx.state(model) beside its results",
}


class Program:
    """A function with the arguments it is planned for.

    jitted     jax.jit of the function
    args       positional arguments as jax.ShapeDtypeStruct, static ones as they are; kwargs the same
    lowered    jax.stages.Lowered on no particular device
    text       StableHLO with locations, what the tool reads
    """

    def __init__(self, jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any], ambient_mesh: str = "keep"):
        self.jitted = jitted
        info = getattr(jitted, "_jit_info", None)
        self._static_positions = tuple(getattr(info, "static_argnums", None) or ())
        self._static_names = tuple(getattr(info, "static_argnames", None) or ())
        self.args = tuple(a if i in self.static_positions(len(args)) else abstract(a) for i, a in enumerate(args))
        self.kwargs = {name: a if name in self._static_names else abstract(a) for name, a in kwargs.items()}
        self.lowered = self._lower(ambient_mesh)
        self.text = self.lowered.as_text(debug_info=True)

    def static_positions(self, count: int) -> set[int]:
        return {i if i >= 0 else count + i for i in self._static_positions}

    def _lower(self, ambient_mesh: str) -> Any:
        with with_shardy(), no_ambient_mesh() if ambient_mesh == "ignore" else contextlib.nullcontext():
            try:
                return self.jitted.lower(*self.args, **self.kwargs)
            except Exception as error:
                raise Error(_why_not(self.jitted, error, self.args, self.kwargs)) from error

    def dynamic(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments that the program has: without static ones, which must be those that were planned for."""
        static = self.static_positions(len(args))
        for i in static:
            if i < len(args) and (i >= len(self.args) or args[i] != self.args[i]):
                planned = repr(self.args[i]) if i < len(self.args) else "nothing"
                raise Error("static argument %d is %r, the plan is for %s: make a plan for each value" % (i, args[i], planned))
        for name in self._static_names:
            if name in kwargs and kwargs[name] != self.kwargs.get(name):
                raise Error("static argument %s is %r, the plan is for %r: make a plan for each value" % (name, kwargs[name], self.kwargs.get(name)))
        missing = [name for name in self.kwargs if name not in kwargs]
        if missing or len(args) != len(self.args):
            raise Error("the plan is for %d positional arguments%s, called with %d%s" % (
                len(self.args), _and_names(self.kwargs), len(args), _and_names(kwargs)))
        return (tuple(a for i, a in enumerate(args) if i not in static),
                {name: a for name, a in kwargs.items() if name not in self._static_names})

    def kept(self) -> list[int]:
        """Positions, among the flat dynamic arguments, of those that the program has: jax drops what nothing reads."""
        return sorted(self.lowered._lowering.compile_args["kept_var_idx"])

    def flat_count(self) -> int:
        return int(self.lowered.in_tree.num_leaves)

    def digest(self) -> str:
        """Of the program without its source locations: equal for the same function in another process."""
        return hashlib.sha256(without_locations(self.text).encode()).hexdigest()

    def without_ambient_mesh(self) -> "Program":
        return Program(self.jitted, self.args, self.kwargs, ambient_mesh="ignore")

    def pinned(self) -> tuple[int, int]:
        """How many arguments and results, and how many inner values, the program itself gives a sharding."""
        main = re.search(r"func\.func public @main.*", self.text)
        head = main[0].count("sdy.sharding = ") if main else 0
        return head, self.text.count("sdy.sharding_constraint ")


def program_of(step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], jit_options: dict[str, Any],
               ambient_mesh: str = "keep") -> Program:
    """jit_options: static_argnums and the like, for a step that is not jitted. ambient_mesh: "ignore" lowers outside jax.set_mesh."""
    given = {name: value for name, value in jit_options.items() if value is not None}
    kind = type(step).__module__.split(".")[0]
    if kind in RECIPES and not hasattr(step, "_jit_info"):
        raise Error("a function wrapped by %s cannot be planned as it is; %s" % (kind, RECIPES[kind]))
    if hasattr(step, "lower"):
        if given:
            raise Error("%s: the function is jitted already; give it to its jax.jit" % ", ".join(given))
        return Program(step, args, kwargs, ambient_mesh)
    if not callable(step):
        raise Error("expected a function, found %s" % type(step).__name__)
    import jax
    return Program(jax.jit(step, **given), args, kwargs, ambient_mesh)


def abstract(tree: Any) -> Any:
    """Shapes and types only, so that no array's place counts; leaves that are neither stay as they are."""
    import jax

    def leaf(x: Any) -> Any:
        if hasattr(x, "shape") and hasattr(x, "dtype"):
            return jax.ShapeDtypeStruct(x.shape, x.dtype, weak_type=getattr(x, "weak_type", False))
        return x

    return jax.tree.map(leaf, tree)


def ambient_explicit_axes() -> tuple[str, ...]:
    """Axes of type Explicit in the mesh that jax.set_mesh has set, over which jax pins shardings into what it lowers."""
    import jax
    try:
        mesh = jax.sharding.get_abstract_mesh()
        return tuple(mesh.explicit_axes)
    except AttributeError:
        return ()


def with_shardy() -> Any:
    """A context in which jax writes and compiles shardings for Shardy, also in a process that is set to GSPMD: those would not be read."""
    try:
        from jax._src.config import use_shardy_partitioner
        return use_shardy_partitioner(True)
    except (ImportError, AttributeError, TypeError):        # another jax: as it is set
        return contextlib.nullcontext()


def no_ambient_mesh() -> Any:
    import jax
    return jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((), ()))


def _and_names(kwargs: dict[str, Any]) -> str:
    return " and %s by name" % ", ".join(sorted(kwargs)) if kwargs else ""


def _name_of(step: Any) -> str:
    while isinstance(step, functools.partial):
        step = step.func
    return str(getattr(step, "__name__", None) or type(step).__name__)


def _why_not(step: Any, error: Exception, args: Any, kwargs: Any) -> str:
    """One message for a function that jax cannot trace or lower."""
    import jax
    said = str(error).strip().splitlines()
    text = "jax cannot trace %s: %s: %s" % (_name_of(step), type(error).__name__, said[0] if said else "")
    kinds = {type(leaf).__module__.split(".")[0] for leaf in jax.tree.leaves((args, kwargs))}
    whole = {type(a).__module__.split(".")[0] for a in (*args, *kwargs.values())}
    if "Tracer" in type(error).__name__ or "Concretization" in type(error).__name__:
        text += "; a value that decides what is computed must be static (static_argnames), or the branch a jax.lax.cond"
    elif "is not a valid JAX type" in str(error) or isinstance(error, TypeError):
        text += "; what is not an array must be static: jax.jit(.., static_argnames=..) or plan(.., static_argnames=..)"
        for recipe in RECIPES:
            if recipe in kinds | whole:
                text += "; " + RECIPES[recipe]
    elif isinstance(error, ValueError) and "mesh" in str(error):
        text += "; plan under the mesh that the function asks for (jax.set_mesh), or without one"
    return text
