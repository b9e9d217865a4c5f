#!/usr/bin/env python3
"""Compile corpus programs under shardings with XLA and keep the scheduled HLO text and what XLA says about it.

    mint_hlo.py BACKEND TOPOLOGY PROGRAM STRATEGY [--mesh data=4,model=2] [--out DIR]
    mint_hlo.py --golden BACKEND [--out DIR]       the files of tests/golden/hlo of one backend

BACKEND   cpu (TOPOLOGY: device count), tpu (v5e:2x4 ..; needs libtpu), gpu (1x1x8; needs jax[cuda12])
Writes DIR/BACKEND_PROGRAM_STRATEGY.hlo.zst and an entry of DIR/figures.json: bytes per device by XLA's memory analysis,
cycles by the TPU compiler. No accelerator is needed. Strategies are those of tests/oracle/cases.py.
"""
import argparse
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "oracle"))
GOLDEN = {"cpu": ("8", ["mlp_tiny megatron", "transformer_scan zero3_donated"]),
          "tpu": ("v5e:2x4", ["mlp megatron", "mlp zero2", "accumulate_tiny data_donated", "transformer_4_forward data_megatron", "transformer_4 zero3_donated"]),
          "gpu": ("1x1x8", ["mlp_tiny megatron", "transformer_4 zero3_donated", "transformer_scan data_megatron"])}
H100 = """
gpu_device_info { threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152
  shared_memory_per_core: 233472 threads_per_core_limit: 2048 core_count: 132 fpus_per_core: 128
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  memory_bandwidth: 3352320000000 l2_cache_size: 52428800 clock_rate_ghz: 1.98
  device_memory_size: 84929347584 shared_memory_per_block_optin: 232448
  cuda_compute_capability { major: 9 } registers_per_core_limit: 65536 registers_per_block_limit: 65536 }
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 7 }
runtime_version { major: 12 minor: 8 patch: 0 }
device_description_str: "NVIDIA H100 80GB HBM3"
"""


def environment(backend, topology):
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    if backend == "cpu":
        os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=" + topology
    if backend == "tpu":
        os.environ["TPU_SKIP_MDS_QUERY"] = "1"
    if backend == "gpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
        os.environ["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"] = "1"
        os.environ["XLA_FLAGS"] = "--xla_gpu_enable_triton_gemm=false --xla_gpu_autotune_level=0"


def devices_of(backend, topology):
    import jax
    if backend == "cpu":
        return jax.devices()
    from jax.experimental import topologies
    if backend == "tpu":
        return topologies.get_topology_desc(platform="tpu", topology_name=topology).devices
    from jax._src import xla_bridge
    original = xla_bridge.canonicalize_platform
    xla_bridge.canonicalize_platform = lambda p: "cuda" if p in ("cuda", "gpu") else original(p)
    return topologies.get_topology_desc(platform="cuda", topology=topology, target_config=H100).devices


def compile_text(backend, topology, text, compiler_options=None):
    """-> (executable, number of results of main)"""
    import numpy as np
    from annotate import main_of
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client
    from jaxlib.mlir import ir
    devices = devices_of(backend, topology)
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        n = ir.IntegerAttr(module.operation.attributes["mhlo.num_partitions"]).value
        main = main_of(module)
        kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)

        def free(side, count):
            if side not in main.attributes:
                return [True] * count
            return ["sdy.sharding" not in attributes for attributes in main.attributes[side]]

        options = compiler.get_compile_options(num_replicas=1, num_partitions=n, device_assignment=np.array(devices[:n]).reshape(1, n),
                                               env_options_overrides=compiler_options)
        build = options.executable_build_options
        build.use_spmd_partitioning = True
        build.use_shardy_partitioner = True
        build.allow_spmd_sharding_propagation_to_parameters = free("arg_attrs", len(kind.inputs))
        build.allow_spmd_sharding_propagation_to_output = free("res_attrs", len(kind.results))
        return compiler.backend_compile_and_load(devices[0].client, module, xla_client.DeviceList(tuple(devices[:n])), options, []), len(kind.results)


def mint(o):
    environment(o.backend, o.topology)
    import cases
    from annotate import annotate
    text = cases.text_of(o.program)
    patterns, results = cases.strategies(o.program, text)[o.strategy]
    executable, n_results = compile_text(o.backend, o.topology, annotate(text, o.mesh, patterns, results))
    hlo = executable.hlo_modules()[0].to_string()
    stats = executable.get_compiled_memory_stats()
    # the CPU and GPU compilers count the table of the result tuple as output
    table = 8 * n_results if n_results > 1 and o.backend != "tpu" else 0
    figures = {"argument_bytes": stats.argument_size_in_bytes, "output_bytes": stats.output_size_in_bytes - table,
               "alias_bytes": stats.alias_size_in_bytes, "temporary_bytes": stats.temp_size_in_bytes,
               "estimated_cycles": sum(map(int, re.findall(r'estimated_cycles":"(\d+)"', hlo)))}
    name = "_".join((o.backend, o.program, o.strategy))
    subprocess.run(["zstd", "-19", "-q", "-f", "-o", os.path.join(o.out, name + ".hlo.zst")], input=hlo.encode(), check=True)
    path = os.path.join(o.out, "figures.json")
    known = json.load(open(path)) if os.path.exists(path) else {}
    known[name] = figures
    with open(path, "w") as f:
        json.dump(known, f, indent=1, sort_keys=True)
        f.write("\n")
    print(name, len(hlo), json.dumps(figures))


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--golden", choices=sorted(GOLDEN))
    for name in ("backend", "topology", "program", "strategy"):
        parser.add_argument(name, nargs="?")
    parser.add_argument("--mesh", default="data=4,model=2")
    parser.add_argument("--out", default=os.path.join(HERE, "hlo"))
    o = parser.parse_args(argv)
    os.makedirs(o.out, exist_ok=True)
    if not o.golden:
        mint(o)
        return
    topology, rows = GOLDEN[o.golden]
    for row in rows:        # one process each: a compiler keeps its settings
        subprocess.run([sys.executable, __file__, o.golden, topology, *row.split(), "--mesh", o.mesh, "--out", o.out], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
