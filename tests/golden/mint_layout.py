"""Asks JAX for HloSharding texts and device slices of random partition specs; writes layout_jax.h.

    pip install jax==0.10.2; python tests/golden/mint_layout.py > tests/golden/layout_jax.h
"""
import itertools
import os
import random

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=24"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

MESHES = [(4,), (6,), (2, 4), (4, 2), (3, 2), (1, 4), (2, 2, 2), (2, 3, 4), (4, 1, 3), (2, 2, 6)]


def random_spec(rng, names, rank):
    """Dims' axis lists and unreduced axes: every axis goes somewhere or nowhere."""
    dims, unreduced = [[] for _ in range(rank)], []
    for name in rng.sample(names, len(names)):
        where = rng.randrange(rank + 2)
        if where < rank:
            dims[where].append(name)
        elif where == rank and rng.random() < 0.3:
            unreduced.append(name)
    return dims, sorted(unreduced)


def quote(text):
    return '"' + text.replace('"', '\\"') + '"'


def json_text(dims, unreduced):
    lists = "[" + ",".join("[" + ",".join(f'"{a}"' for a in d) + "]" for d in dims) + "]"
    if not unreduced:
        return lists
    return '{"dims":' + lists + ',"unreduced":[' + ",".join(f'"{a}"' for a in unreduced) + "]}"


def spec_text(dims, unreduced):
    words = []
    for d in dims:
        names = ", ".join(f"'{a}'" for a in d)
        words.append("None" if not d else names if len(d) == 1 else f"({names})")
    if unreduced:
        words.append("unreduced={" + ", ".join(f"'{a}'" for a in unreduced) + "}")
    return "PartitionSpec(" + ", ".join(words) + ")"


def row(sizes, dims, unreduced, rng):
    names = "abc"[: len(sizes)]
    mesh = Mesh(np.array(jax.devices()[: int(np.prod(sizes))]).reshape(sizes), tuple(names), axis_types=(AxisType.Explicit,) * len(sizes))
    size_of = dict(zip(names, sizes))
    shape = [int(np.prod([size_of[a] for a in d], initial=1)) * rng.randint(1, 3) for d in dims]
    entries = [None if not d else d[0] if len(d) == 1 else tuple(d) for d in dims]
    sharding = NamedSharding(mesh, PartitionSpec(*entries, unreduced=set(unreduced)))
    # JAX gives no slices for unreduced arrays; they are those of the same dims
    slices = NamedSharding(mesh, PartitionSpec(*entries)).devices_indices_map(tuple(shape))
    by_device = sorted((device.id, index) for device, index in slices.items())
    ranges = ";".join(",".join("%d:%d" % i.indices(n)[:2] for i, n in zip(index, shape)) for _, index in by_device)
    columns = [
        ",".join(f"{a}={n}" for a, n in zip(names, sizes)), "x".join(map(str, shape)), json_text(dims, unreduced),
        str(sharding._to_xla_hlo_sharding(len(shape))), spec_text(dims, unreduced), ranges,
    ]
    return "\t{" + ", ".join(map(quote, columns)) + "},"


def main():
    rng = random.Random(20)
    seen = set()
    print("/* Written by tests/golden/mint_layout.py with jax %s. */" % jax.__version__)
    print("static const struct {\n\tconst char *mesh, *shape, *json, *gspmd, *spec, *ranges;\n} layout_jax[] = {")
    for sizes, rank, _ in itertools.product(MESHES, (1, 2, 3), range(3)):
        dims, unreduced = random_spec(rng, list("abc"[: len(sizes)]), rank)
        key = (sizes, str(dims), str(unreduced))
        if key not in seen:
            seen.add(key)
            print(row(sizes, dims, unreduced, rng))
    print("};")


main()
