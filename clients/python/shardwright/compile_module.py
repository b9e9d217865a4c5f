"""Compile one planned module ahead of time, in a process of its own: python -m shardwright.compile_module REQUEST.json ANSWER.json HLO.txt

REQUEST   {"module": path, "mesh": {"axes": [..]}, "target": "tpu", "gpu" or "cpu", "topology": "v5e:4x4", "options": {..}}
ANSWER    {"compiler", "version", "argument_bytes", "output_bytes", "alias_bytes", "temporary_bytes"} or {"refused": reason}
HLO       the scheduled program, as compiled.as_text() prints it

No device is needed: the compilers for TPU and GPU are given a topology; for CPU devices are forced. The devices lie in the mesh as
jax.make_mesh lays them. Uses internals of jax. Ends with the process that started it.
"""
import ctypes
import glob
import json
import os
import signal
import sys
import tempfile
from typing import Any

from .shardings import device_count, make_mesh
from .targets import devices_of, set_environment, version_of

PR_SET_PDEATHSIG = 1


def _has_sharding(module: Any, side: str) -> list[bool]:
    """For every argument (arg_attrs) or result (res_attrs) of main: whether the module says its sharding."""
    from jaxlib.mlir import ir
    main = next(op for op in module.body.operations
                if op.operation.name == "func.func" and str(op.operation.attributes["sym_name"]) == '"main"')
    kind = ir.FunctionType(ir.TypeAttr(main.operation.attributes["function_type"]).value)
    if side in main.operation.attributes:
        return ["sdy.sharding" in attributes for attributes in main.operation.attributes[side]]
    return [False] * len(kind.inputs if side == "arg_attrs" else kind.results)


def compile_text(text: str, devices: Any, options: dict[str, Any] | None) -> Any:
    """The loaded or unloaded executable of a module over these devices, as jax.jit would compile it."""
    import numpy as np
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client
    from jaxlib.mlir import ir
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        count = ir.IntegerAttr(module.operation.attributes["mhlo.num_partitions"]).value
        if count != len(devices):
            raise ValueError("the module is for %d devices, the mesh has %d" % (count, len(devices)))
        wanted = compiler.get_compile_options(num_replicas=1, num_partitions=count, env_options_overrides=options or None,
                                              device_assignment=np.array(devices).reshape(1, count))
        build = wanted.executable_build_options
        build.use_spmd_partitioning = build.use_shardy_partitioner = count > 1
        build.allow_spmd_sharding_propagation_to_parameters = [not said for said in _has_sharding(module, "arg_attrs")]
        build.allow_spmd_sharding_propagation_to_output = [not said for said in _has_sharding(module, "res_attrs")]
        return compiler.backend_compile_and_load(devices[0].client, module, xla_client.DeviceList(tuple(devices)), wanted, [])


def text_of(executable: Any, dumps: str) -> str:
    """The scheduled program. PJRT cannot hand out one with a gather on the sparse cores of TPU v5p and v6e, as every embedding makes: its reader
    takes one operand of an async-update where there are three (libtpu 0.0.51). The compiler has written the text into the folder of dumps by then."""
    from jax.errors import JaxRuntimeError
    try:
        return str(executable.hlo_modules()[0].to_string())
    except JaxRuntimeError:
        written = sorted(glob.glob(os.path.join(glob.escape(dumps), "module_0000.*.after_codegen.txt")))
        if not written:
            raise
        with open(written[0]) as f:
            return f.read()


def _answer(request: dict[str, Any], hlo_path: str) -> dict[str, Any]:
    with open(request["module"]) as f:
        text = f.read()
    set_environment(request["target"], device_count(request["mesh"]))
    dumps = tempfile.mkdtemp(dir=os.path.dirname(os.path.abspath(hlo_path)))      # goes with the folder of the request
    if request["target"] == "tpu":
        os.environ["XLA_FLAGS"] = "%s --xla_dump_to=%s --xla_dump_hlo_as_text" % (os.environ.get("XLA_FLAGS", ""), dumps)
    devices = devices_of(request["target"], request["topology"])
    try:
        executable = compile_text(text, list(make_mesh(request["mesh"], devices).devices.flat), request.get("options"))
    except Exception as error:      # the compiler's own word is the answer, whatever it raises
        said = str(error).strip().splitlines()
        return {"refused": "%s: %s" % (type(error).__name__, said[0][:500] if said else "")}
    with open(hlo_path, "w") as f:
        f.write(text_of(executable, dumps))
    memory = executable.get_compiled_memory_stats()
    return {"compiler": "XLA for " + request["target"], "version": version_of(request["target"]),
            "argument_bytes": memory.argument_size_in_bytes, "output_bytes": memory.output_size_in_bytes,
            "alias_bytes": memory.alias_size_in_bytes, "temporary_bytes": memory.temp_size_in_bytes}


def _end_with_parent() -> None:
    """A compile takes minutes of a core: whoever asked for it and is killed must not leave it behind. Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def main(argv: list[str]) -> None:
    _end_with_parent()
    with open(argv[1]) as f:
        request = json.load(f)
    answer = _answer(request, argv[3])
    with open(argv[2], "w") as f:
        json.dump(answer, f)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(sys.argv)
