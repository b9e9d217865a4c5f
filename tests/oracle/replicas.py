"""Run the program of one device as replicas on forced host devices, and compare with the whole program's results."""
import re

import numpy as np

import execute
from child import forked


def io_shardings(text):
    """Axes by dimension of every argument and result of main: [[[(name, pre, size), ..], ..], ..] twice, and the mesh."""
    from annotate import main_of
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        sizes = {}
        for op in module.body.operations:
            if op.operation.name == "sdy.mesh":
                sizes = {name: int(size) for name, size in re.findall(r'"(\w+)"=(\d+)', str(op.operation.attributes["mesh"]))}
        main = main_of(module)
        kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)

        def side(name, types):
            given = list(main.attributes[name]) if name in main.attributes else [{}] * len(types)
            out = []
            for kind, attributes in zip(types, given):
                dims = [[] for _ in ir.RankedTensorType(kind).shape]
                if "sdy.sharding" in attributes:
                    listed = str(attributes["sdy.sharding"]).split("[", 1)[1]
                    for dim, words in zip(dims, re.findall(r"\{(.*?)\}", listed)):
                        dim += [(a, int(pre or 1), int(part or sizes[a])) for a, pre, part in re.findall(r'"(\w+)"(?::\((\d+)\)(\d+))?', words)]
                out.append(dims)
            return out

        return side("arg_attrs", kind.inputs), side("res_attrs", kind.results), sizes


def slices(dims, shape, device, sizes):
    """The part of a value that a device holds."""
    names, coordinates = list(sizes), {}
    for name in reversed(names):
        device, coordinates[name] = divmod(device, sizes[name])
    out = []
    for refs, size in zip(dims, shape):
        index, parts = 0, 1
        for name, pre, part in refs:
            index = index * part + coordinates[name] // (sizes[name] // (pre * part)) % part
            parts *= part
        out.append(slice(index * size // parts, (index + 1) * size // parts))
    return tuple(out)


def far(mine, want):
    """The largest difference where the whole value is a number; NaN there is infinitely far. Where it is NaN, anything will do."""
    mine, known = np.asarray(mine).astype(want.dtype), ~np.isnan(want)
    apart = np.abs(np.where(mine == want, 0, mine - want)[known])
    return float(np.where(np.isnan(apart), np.inf, apart).max(initial=0))


def scale_of(want):
    finite = want[np.isfinite(want)]
    return float(np.abs(finite).max(initial=0)) + 1e-3


def _run(text, whole, signature, arguments, results, sizes, seed, simplify):
    import os
    n = 1
    for size in sizes.values():
        n *= size
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=%d" % n
    import jax
    import numpy as np
    from annotate import main_of
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client
    from jaxlib.mlir import ir
    jax.config.update("jax_enable_x64", True)
    devices = jax.devices()[:n]
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        kind = ir.FunctionType(ir.TypeAttr(main_of(module).attributes["function_type"]).value)
        elements = [str(ir.RankedTensorType(t).element_type) for t in kind.inputs]
        options = compiler.get_compile_options(num_replicas=n, num_partitions=1, device_assignment=np.array(devices).reshape(n, 1),
                                               env_options_overrides=None if simplify else execute.PLAIN)
        executable = compiler.backend_compile_and_load(devices[0].client, module, xla_client.DeviceList(tuple(devices)), options, [])
    rng = np.random.default_rng(seed)
    mesh = jax.sharding.Mesh(np.array(devices), "i")
    given = []
    for element, (name, shape), dims in zip(elements, signature, arguments):
        whole_value = execute.value(rng, name, shape, element)
        parts = [jax.device_put(whole_value[slices(dims, shape, k, sizes)], d) for k, d in enumerate(devices)]
        spec = jax.sharding.PartitionSpec("i") if shape else jax.sharding.PartitionSpec()
        stacked = (n * parts[0].shape[0],) + parts[0].shape[1:] if shape else ()
        given.append(jax.make_array_from_single_device_arrays(stacked, jax.sharding.NamedSharding(mesh, spec), parts))
    errors = []
    for want, dims, parts in zip(whole, results, executable.execute_sharded(given).disassemble_into_single_device_arrays()):
        worst = 0.0
        for k, part in enumerate(parts):
            mine = want[slices(dims, want.shape, k, sizes)]
            assert mine.shape == part.shape
            worst = max(worst, far(part, mine) / scale_of(want))
        errors.append(worst)
    return errors


def run(text, whole, signature, arguments, results, sizes, seed=0, simplify=True):
    """The largest relative error of any device, by result, against the slices of the whole results.

    signature: (name, shape) of every argument; arguments, results: axes by dim; values as execute.run gives them for the seed.
    simplify: as for execute.run."""
    return forked(_run, text, whole, signature, arguments, results, sizes, seed, simplify)


def errors(tool, path, whole, signature, simplify=True):
    """The same for a module of sharded text: the program of one device that `lower` makes of it against the whole results.

    tool.emit: further flags of lower. With --global the module is run as it is, partitioned over the devices."""
    text = tool("lower", path, "--emit-mlir", "-", *tool.emit)
    if "--global" in tool.emit:
        found = execute.run(text, simplify=simplify)
        return [far(mine, want) / scale_of(want) for mine, want in zip(found, whole)]
    arguments, results, sizes = forked(io_shardings, tool("opt", "--passes", "inline,symbol-dce,sdy-propagation-pipeline", path))
    return run(text, whole, signature, arguments, results, sizes, simplify=simplify)
