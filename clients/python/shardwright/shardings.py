"""Meshes and shardings: between the words of a strategy document and jax's objects."""
from typing import Any

from .errors import Error

JSON = dict[str, Any]


def mesh_words(mesh: Any) -> Any:
    """Any accepted form of mesh -> the text or JSON form that tool and daemon take."""
    if isinstance(mesh, str):
        return mesh
    if hasattr(mesh, "axis_names"):
        return ",".join("%s=%d" % (name, mesh.shape[name]) for name in mesh.axis_names)
    if isinstance(mesh, dict) and "axes" in mesh:
        return mesh
    if isinstance(mesh, dict):
        return ",".join("%s=%d" % item for item in mesh.items())
    raise Error('mesh: expected "data=4,model=2", a dict of sizes or a jax.sharding.Mesh, found %s' % type(mesh).__name__)


def mesh_text(mesh: JSON) -> str:
    return ",".join("%s=%d" % (axis["name"], axis["size"]) for axis in mesh["axes"])


def device_count(mesh: JSON) -> int:
    count = 1
    for axis in mesh["axes"]:
        count *= axis["size"]
    return count


def make_mesh(mesh: JSON, devices: Any = None) -> Any:
    """A jax.sharding.Mesh with the axes of a document's mesh; a device order in it is kept.

    Otherwise the devices lie as jax.make_mesh lays them: on a TPU slice, an axis is a row of the torus where it can be one."""
    import jax
    import numpy as np
    count = device_count(mesh)
    devices = list(jax.devices() if devices is None else devices)
    if len(devices) < count:
        hint = ""
        if devices and devices[0].platform == "cpu":
            hint = "; XLA_FLAGS=--xla_force_host_platform_device_count=%d, set before jax starts, makes them of the CPU" % count
        raise Error("the plan needs %d devices (%s), jax has %d%s" % (count, mesh_text(mesh), len(devices), hint))
    sizes, names = [axis["size"] for axis in mesh["axes"]], tuple(axis["name"] for axis in mesh["axes"])
    if not mesh.get("device_order"):
        try:
            return jax.make_mesh(sizes, names, devices=devices[:count], axis_types=(jax.sharding.AxisType.Auto,) * len(names))
        except (ValueError, NotImplementedError, AssertionError):
            pass            # several slices, or no layout of these axes over the torus: as the devices are listed
    order = mesh.get("device_order") or range(count)
    grid = np.array([devices[i] for i in order], dtype=object).reshape(sizes)
    return jax.sharding.Mesh(grid, names)


def check_mesh(mesh: Any, planned: JSON) -> Any:
    """mesh with axes of type Auto; Error if it is not the planned one. Explicit axes would ask the function for its shardings."""
    from jax.sharding import AxisType, Mesh
    if dict(mesh.shape) != {axis["name"]: axis["size"] for axis in planned["axes"]}:
        raise Error("the plan is for mesh %s, not %s" % (mesh_text(planned), mesh_words(mesh)))
    if any(kind != AxisType.Auto for kind in mesh.axis_types):
        return Mesh(mesh.devices, mesh.axis_names)
    return mesh


def parts(value: Any) -> tuple[list[list[str]], list[bool], list[int]]:
    """Sharding in JSON -> (axes per dimension, open per dimension, priority per dimension)."""
    if value is None:
        return [], [], []
    if isinstance(value, list):
        return value, [False] * len(value), [0] * len(value)
    dims = value["dims"]
    return dims, value.get("open") or [False] * len(dims), value.get("priority") or [0] * len(dims)


def split_axis(value: Any) -> str | None:
    """The first sub-axis, such as "model:(1)2", or None."""
    return next((axis for dim in parts(value)[0] for axis in dim if ":" in axis), None)


def is_open(value: Any) -> bool:
    return any(parts(value)[1])


def is_extended(aval: Any) -> bool:
    """Whether a value has a type of jax's own, such as jax.random.key: its array in the program has more dimensions."""
    import jax
    return bool(jax.dtypes.issubdtype(aval.dtype, jax.dtypes.extended))


def named(mesh: Any, value: Any, name: str, rank: int | None = None) -> Any:
    """NamedSharding for a sharding of the document; None stays None. Error on sub-axes, which it cannot say.

    rank: dimensions that jax counts, where the program has more."""
    from jax.sharding import NamedSharding, PartitionSpec
    if value is None:
        return None
    split = split_axis(value)
    if split:
        raise Error("%s: a NamedSharding has no sub-axes (%s); use plan.fn, or plan with a finer mesh" % (name, split))
    spec: list[Any] = []
    dims, free, _ = parts(value)
    for axes, more in zip(dims, free, strict=True):
        spec.append(PartitionSpec.UNCONSTRAINED if more and not axes else None if not axes else axes[0] if len(axes) == 1 else tuple(axes))
    return NamedSharding(mesh, PartitionSpec(*spec[:rank]))


def sharding_text(value: Any, priority: list[int] | None = None) -> str:
    if value is None:
        return "-"
    dims, free, own = parts(value)
    words = []
    late = list(priority or own) + [0] * len(dims)
    for axes, more, p in zip(dims, free, late, strict=False):
        words.append(("+".join(axes) or ".") + ("?" if more else "") + (" p%d" % p if p and axes else ""))
    return "[" + ", ".join(words) + "]"
