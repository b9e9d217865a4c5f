#!/usr/bin/env python3
"""The two judging scripts with devices in the order in which JAX lays a mesh over a TPU slice.

    in_mesh_order.py TOOLS MESH compile tpu TOPOLOGY MODULE --hlo HLO     as xla_oracle.py
    in_mesh_order.py TOOLS MESH walk TOPOLOGY HLO                         as xla_timeline.py

TOOLS: the scripts' folder; MESH: "data=4,model=4". A topology lists its chips host by host, so that four neighbours in that list are a
square of 2 x 2. `jax.make_mesh` (mesh_utils.create_device_mesh) sorts them: an axis of four is a row of the torus, with one link for every
step instead of two. Collectives along one axis take twice as long there; the scripts by themselves judge squares.
"""
import importlib.util
import math
import os
import sys
import types


def load(folder, name):
    spec = importlib.util.spec_from_file_location(name, os.path.join(folder, name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def in_order(devices, mesh):
    """The devices as jax.make_mesh lays them, the last axis innermost."""
    from jax.experimental import mesh_utils
    sizes = [int(axis.split("=")[1]) for axis in mesh.split(",")]
    if math.prod(sizes) != len(devices):
        sys.exit("in_mesh_order.py: %s has %d devices, the topology %d" % (mesh, math.prod(sizes), len(devices)))
    return list(mesh_utils.create_device_mesh(sizes, devices).flat)


def main(tools, mesh, *rest):
    if rest[0] == "compile":
        oracle = load(tools, "xla_oracle")
        plain = oracle.target_devices
        oracle.target_devices = lambda backend, topology: in_order(plain(backend, topology), mesh)
        return oracle.main(["xla_oracle.py", *rest])
    timeline = load(tools, "xla_timeline")
    topology = timeline.topology
    timeline.topology = lambda name: types.SimpleNamespace(devices=in_order(topology(name).devices, mesh))
    walked = timeline.Walk(open(rest[2]).read(), rest[1])
    print(timeline.json.dumps({key: round(value, 1) for key, value in walked.run(walked.entry).items()}))


if __name__ == "__main__":
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    main(*sys.argv[1:])
