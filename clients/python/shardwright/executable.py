"""Compile the text of a planned module in place of the one that jax lowered, and call it as the function."""
import copy
from typing import Any

from .errors import Error
from .program import Program, with_shardy
from .shardings import JSON, is_extended, is_open, named, split_axis

COMPILES_WITH = "0.10.2"


class PlannedFunction:
    """The program that was planned, on one mesh. Call it as the function: arrays may lie anywhere, host arrays too.
    What the function donates is donated.

    compiled        jax.stages.Compiled
    """

    def __init__(self, program: Program, compiled: Any):
        self._program, self.compiled = program, compiled

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        import jax
        args, kwargs = self._program.dynamic(args, kwargs)
        wanted = self.compiled.input_shardings
        try:
            args, kwargs = jax.device_put((args, kwargs), wanted)
        except ValueError:
            found, planned = jax.tree.structure((args, kwargs)), self._program.lowered.in_tree
            if found != planned:
                raise Error("the arguments are not those of the plan: %s, planned %s" % (found, planned)) from None
            raise
        try:
            return self.compiled(*args, **kwargs)
        except TypeError as error:
            said = str(error).split("The mismatches are:\n")
            if len(said) < 2:
                raise
            raise Error("the arguments are not those of the plan, make one for each of their shapes: %s" % "; ".join(said[1].splitlines())) from None


def compile_plan(program: Program, document: JSON, module: str, mesh: Any, compiler_options: dict[str, Any] | None = None) -> PlannedFunction:
    """module compiled for mesh, with the arguments, results, static values and donation of the program.

    An argument or result that the plan leaves open, or cuts over sub-axes, gets what the compiled program says."""
    import jax
    try:
        from jax._src.interpreters import mlir
        from jax._src.lib import xla_client
        from jax._src.sharding_impls import UNSPECIFIED
        from jaxlib.mlir import ir
        lowering = copy.copy(program.lowered._lowering)

        def words(value: Any, name: str, aval: Any) -> Any:
            unsaid = value is None or split_axis(value) or is_open(value) or is_extended(aval)
            return UNSPECIFIED if unsaid else named(mesh, value, name)

        effects = len(lowering.compile_args["ordered_effects"])
        if effects:
            raise Error("the program has ordered effects (jax.debug.print(.., ordered=True) and the like), which XLA cannot partition")
        arguments, results = lowering.compile_args["global_in_avals"], lowering.compile_args["global_out_avals"]
        for side, planned, had in (("arguments", document["arguments"], arguments), ("results", document["results"], results)):
            if len(planned) != len(had):
                raise Error("the plan has %d %s, the function %d" % (len(planned), side, len(had)))
        lowering.compile_args = dict(
            lowering.compile_args, committed=True, num_devices=mesh.devices.size, context_mesh=mesh,
            in_shardings=tuple(words(a["sharding"], a["name"], aval) for a, aval in zip(document["arguments"], arguments, strict=True)),
            out_shardings=tuple(words(r["sharding"], "result %d" % r["index"], aval)
                                for r, aval in zip(document["results"], results, strict=True)))
        lowering._device_list = xla_client.DeviceList(tuple(mesh.devices.flat))
        lowering._executable = None
        lowered = copy.copy(program.lowered)
        lowered._lowering = lowering
        with with_shardy(), mlir.make_ir_context():
            lowering._hlo = ir.Module.parse(module)
            return PlannedFunction(program, lowered.compile(compiler_options or None))
    except (AttributeError, ImportError, TypeError, KeyError) as error:
        raise Error("plan.fn works with jax %s, this is %s (%s: %s); use plan.jit" % (
            COMPILES_WITH, jax.__version__, type(error).__name__, error)) from error
