#!/usr/bin/env python3
"""Bytes per device that XLA's CPU compiler gives an annotated module.

    memory.py MODULE[.zst] [--options NAME=VALUE,..]     print JSON: argument, output, alias, temporary bytes

The module must be complete: mhlo.num_partitions, a mesh, shardings. As under jax.jit, arguments and results without a
sharding get the one that propagation chooses.

How XLA counts, seen with jaxlib 0.10.2:
- argument bytes: every argument of main that XLA keeps, local shape, without padding between buffers;
- output bytes: local bytes of all results, plus the table of a tuple: 8 bytes per result when main has two or more.
  One result is returned bare and has no table. `output_bytes` here is without the table; `table_bytes` says what it took;
- alias bytes: the donated results' bytes, table not included;
- temporary bytes: the heap of the buffer assignment, a property of this compiler and not of the strategy.
"""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from annotate import main_of, read  # noqa: E402
from child import Crash, forked  # noqa: E402


def partitions_of(text):
    import re
    return int(re.search(r"mhlo\.num_partitions = (\d+)", text)[1])


def load(text, backend_options=None):
    """Compile on as many forced host devices as the module has partitions. Only in a child.

    -> (executable, number of results, devices)"""
    n = partitions_of(text)
    os.environ["JAX_PLATFORMS"] = "cpu"
    if "device_count" not in os.environ.get("XLA_FLAGS", ""):  # of a child that runs many modules
        os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=%d" % n
    import jax
    import numpy as np
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client
    from jaxlib.mlir import ir
    devices = jax.devices()
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        main = main_of(module)
        kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)

        def free(side, count):
            if side not in main.attributes:
                return [True] * count
            return ["sdy.sharding" not in attributes for attributes in main.attributes[side]]

        options = compiler.get_compile_options(num_replicas=1, num_partitions=n,
                                               device_assignment=np.array(devices[:n]).reshape(1, n),
                                               env_options_overrides=backend_options)
        build = options.executable_build_options
        build.use_spmd_partitioning = True
        build.use_shardy_partitioner = True
        build.allow_spmd_sharding_propagation_to_parameters = free("arg_attrs", len(kind.inputs))
        build.allow_spmd_sharding_propagation_to_output = free("res_attrs", len(kind.results))
        executable = compiler.backend_compile_and_load(devices[0].client, module,
                                                       xla_client.DeviceList(tuple(devices[:n])), options, [])
        return executable, len(kind.results), devices[:n]


def _measure(text, backend_options):
    executable, results, _ = load(text, backend_options)
    stats = executable.get_compiled_memory_stats()
    table = 8 * results if results > 1 else 0
    return {"argument_bytes": stats.argument_size_in_bytes, "output_bytes": stats.output_size_in_bytes - table,
            "alias_bytes": stats.alias_size_in_bytes, "temporary_bytes": stats.temp_size_in_bytes, "table_bytes": table}


def measure(text, backend_options=None, seconds=600):
    """-> {"argument_bytes", "output_bytes" (without the tuple's table), "alias_bytes", "temporary_bytes", "table_bytes"}."""
    return forked(_measure, text, backend_options, seconds=seconds)


def main(argv):
    options = dict(word.split("=", 1) for word in argv[2].split(",")) if len(argv) == 3 and argv[1] == "--options" else None
    if len(argv) != 1 and options is None:
        sys.exit(__doc__)
    try:
        print(json.dumps(measure(read(argv[0]), options)))
    except Crash as crash:
        sys.exit("XLA failed: " + crash.args[0])


if __name__ == "__main__":
    main(sys.argv[1:])
