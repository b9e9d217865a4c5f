"""Compilers that need no device: which one is here for a device profile, and the devices it compiles for."""
import importlib.util
import os
from typing import Any

# Topologies that libtpu knows, by generation and devices; a smaller mesh takes the first devices of the next one.
_FLAT = {4: "2x2", 8: "2x4", 16: "4x4", 32: "4x8", 64: "8x8", 128: "8x16", 256: "16x16"}
_DEEP = {4: "2x2x1", 8: "2x2x2", 16: "2x2x4", 32: "2x4x4", 64: "4x4x4", 128: "4x4x8", 256: "4x8x8", 512: "8x8x8"}
TOPOLOGIES = {"tpu-v5e": ("v5e", _FLAT), "tpu-v6e": ("v6e", _FLAT), "tpu-v5p": ("v5p", _DEEP), "tpu-v4": ("v4", _DEEP)}
GPUS = ("h100", "h200")         # one chip, two memories
GPUS_PER_HOST = 8
CUDA = ("jax_plugins.xla_cuda12", "jax_plugins.xla_cuda13")
# What XLA asks a driver for, of an H100 SXM: stream_executor's GpuTargetConfigProto.
H100_TARGET = """
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


def _is_here(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:         # of the package around it
        return False


def target_of(device: str, count: int) -> tuple[str, str | None]:
    """("tpu" or "gpu", topology) where a compiler for that device is installed, else ("cpu", None)."""
    if device in TOPOLOGIES and _is_here("libtpu"):
        name, shapes = TOPOLOGIES[device]
        fitting = [chips for chips in shapes if chips >= count]
        if fitting:
            return "tpu", "%s:%s" % (name, shapes[min(fitting)])
    if device in GPUS and any(map(_is_here, CUDA)):
        return "gpu", "1x%dx%d" % (-(-count // GPUS_PER_HOST), min(count, GPUS_PER_HOST))
    return "cpu", None


def set_environment(target: str, count: int) -> None:
    """Before jax is imported."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    flags = {"cpu": "--xla_force_host_platform_device_count=%d" % count, "gpu": "--xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false"}
    if target == "tpu":
        for name, value in (("TPU_SKIP_MDS_QUERY", "1"), ("TPU_WORKER_HOSTNAMES", "localhost"), ("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")):
            os.environ.setdefault(name, value)
    else:
        os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " " + flags[target]
    if target == "gpu":
        os.environ.update(CUDA_VISIBLE_DEVICES="-1", JAX_SKIP_CUDA_CONSTRAINTS_CHECK="1")


def devices_of(target: str, topology: str | None) -> list[Any]:
    """Of a target whose environment is set."""
    import jax
    if target == "cpu":
        return list(jax.devices())
    from jax.experimental import topologies
    if target == "tpu":
        return list(topologies.get_topology_desc(platform="tpu", topology_name=topology).devices)
    from jax._src import xla_bridge
    plain = xla_bridge.canonicalize_platform
    xla_bridge.canonicalize_platform = lambda name: "cuda" if name in ("cuda", "gpu") else plain(name)      # it looks for a device
    return list(topologies.get_topology_desc(platform="cuda", topology=topology, target_config=H100_TARGET).devices)


def version_of(target: str) -> str:
    from importlib.metadata import version
    return ("libtpu " + version("libtpu")) if target == "tpu" else "jaxlib " + version("jaxlib")
