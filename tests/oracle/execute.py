"""Run a whole module, partitioned or not, on forced host devices."""
import functools

import memory
from annotate import argument_names, main_of
from child import forked


def value(rng, name, shape, element):
    """Small random numbers, not below zero where a square root is taken of them."""
    import numpy as np
    if element == "i1":
        return rng.integers(0, 2, shape).astype(bool)
    if element.startswith(("i", "ui")):
        return rng.integers(0, 8, shape).astype(element.replace("i", "int"))
    numbers = rng.standard_normal(shape) * 0.1
    if element.startswith("complex"):
        return (numbers + 0.1j * rng.standard_normal(shape)).astype(np.complex64)
    return (np.abs(numbers) if name.startswith(("opt_state['v']", "positive")) or ".nu" in name else numbers).astype(element.replace("f", "float"))


def _names(text):
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        return argument_names(main_of(module))


# jaxlib 0.10.2 merges a slice into the gather before it as if no index were out of bounds, and leaves out what a sum of one
# element starts with.
PLAIN = {"xla_disable_hlo_passes": "algsimp"}


def _run(text, seed, like, simplify):
    executable, _, devices = memory.load(text, None if simplify else PLAIN)
    import jax
    import numpy as np
    jax.config.update("jax_enable_x64", True)  # else 64-bit arguments become 32-bit ones
    from jax._src import sharding_impls
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    with mlir.make_ir_context():
        module = ir.Module.parse(text)      # held: main must not outlive it
        main = main_of(module)
        kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)

        def plain(types):
            return [(tuple(ir.RankedTensorType(t).shape), str(ir.RankedTensorType(t).element_type)) for t in types]

        inputs, outputs = plain(kind.inputs), plain(kind.results)
    names = _names(like or text)

    rng = np.random.default_rng(seed)

    def shardings(ours):
        return [sharding_impls.GSPMDSharding(tuple(devices), s) for s in ours]

    given = shardings(executable.get_parameter_shardings() or []) or [jax.sharding.SingleDeviceSharding(devices[0])] * len(inputs)
    arguments = [jax.device_put(value(rng, name, *kind), s) for name, kind, s in zip(names, inputs, given)]
    parts = executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
    taken = shardings(executable.get_output_shardings() or []) or [jax.sharding.SingleDeviceSharding(devices[0])] * len(outputs)
    return [np.asarray(jax.make_array_from_single_device_arrays(shape, s, list(p))).astype(np.complex128 if "complex" in kind else np.float64)
            for (shape, kind), s, p in zip(outputs, taken, parts)]


@functools.lru_cache(4)
def run(text, seed=0, like=None, simplify=True):
    """Results of main as float64 (or complex128) arrays, for arguments that depend only on seed, names, shapes and order. like: the text that
    has the arguments' names when this one has lost them. simplify=False: with the PLAIN options."""
    return forked(_run, text, seed, like, simplify)
