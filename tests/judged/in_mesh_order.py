#!/usr/bin/env python3
"""The two judging scripts with devices in the order in which JAX lays a mesh over a TPU slice.

    in_mesh_order.py TOOLS MESH compile tpu TOPOLOGY MODULE --hlo HLO     as xla_oracle.py
    in_mesh_order.py TOOLS MESH walk TOPOLOGY HLO                         as xla_timeline.py

TOOLS: the scripts' folder; MESH: "data=4,model=4". A topology lists its chips host by host, so that four neighbours in that list are a
square of 2 x 2. `jax.make_mesh` (mesh_utils.create_device_mesh) sorts them: an axis of four is a row of the torus, with one link for every
step instead of two. Collectives along one axis take twice as long there; the scripts by themselves judge squares.
A loop whose text has no trip count runs from 0 to the number that its counter is compared with: the walk here divides that by the counter's step,
which is two in windowed einsums. SHARDWRIGHT_DUMP in the environment: the folder that XLA's dumps are kept in (alive.py).
"""
import contextlib
import importlib.util
import math
import os
import re
import sys
import tempfile
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
    return list(mesh_utils.create_device_mesh(sizes, devices, allow_split_physical_axes=True).flat)


def with_text(executable, folder):
    """What xla_oracle reads of an executable, its text from the compiler's dump in the folder where PJRT has none."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "clients", "python"))
    from shardwright.compile_module import text_of
    text = text_of(executable, folder)
    return types.SimpleNamespace(hlo_modules=lambda: [types.SimpleNamespace(to_string=lambda: text)], get_compiled_memory_stats=executable.get_compiled_memory_stats)


def step_of(walk, body, place):
    """By how much a loop's body raises the value at that place of its tuple; None where that is not plain to see."""
    instructions = {i[0]: i for i in walk.comps[body]}

    def raised(name, depth=8):
        _, _, opcode, rest = instructions.get(name, (None, None, "", ""))
        operands = walk.operands(rest)
        if opcode == "get-tuple-element":
            return 0 if re.search(r"index=%d\b" % place, rest) else None
        if opcode in ("copy", "bitcast") and depth:
            return raised(operands[0], depth - 1)
        if opcode != "add" or not depth:
            return None
        constants = [re.match(r"constant\((\d+)\)", instructions[o][3]) for o in operands if o in instructions]
        values = [raised(o, depth - 1) for o in operands]
        known, number = [v for v in values if v is not None], [int(c[1]) for c in constants if c]
        return known[0] + number[0] if len(known) == 1 and len(number) == 1 else None

    root = walk.comps[body][-1]
    operands = walk.operands(root[3])
    return raised(operands[place]) if root[2] == "tuple" and place < len(operands) else None


def trips_of(walk, rest, counted):
    """counted: what the walk takes for the trips."""
    condition, body = walk.called(rest, ("condition",)), walk.called(rest, ("body",))
    if counted <= 1 or "known_trip_count" in rest or not condition or not body:
        return counted
    place = [re.search(r"index=(\d+)", r) for _, _, opcode, r in walk.comps.get(condition[0], []) if opcode == "get-tuple-element"]
    step = step_of(walk, body[0], int(place[0][1])) if len(place) == 1 and place[0] else None
    return math.ceil(counted / step) if step else counted


def main(tools, mesh, *rest):
    if rest[0] == "compile":
        oracle = load(tools, "xla_oracle")
        plain = oracle.target_devices
        oracle.target_devices = lambda backend, topology: in_order(plain(backend, topology), mesh)
        compiled = oracle.figures
        kept = os.environ.get("SHARDWRIGHT_DUMP")
        with contextlib.nullcontext(kept) if kept else tempfile.TemporaryDirectory() as folder:
            os.environ["XLA_FLAGS"] = "--xla_dump_to=%s --xla_dump_hlo_as_text" % folder
            oracle.figures = lambda executable: compiled(with_text(executable, folder))
            return oracle.main(["xla_oracle.py", *rest])
    timeline = load(tools, "xla_timeline")
    topology = timeline.topology
    timeline.topology = lambda name: types.SimpleNamespace(devices=in_order(topology(name).devices, mesh))
    counted = timeline.Walk.trips
    timeline.Walk.trips = lambda walk, text: trips_of(walk, text, counted(walk, text))
    walked = timeline.Walk(open(rest[2]).read(), rest[1])
    print(timeline.json.dumps({key: round(value, 1) for key, value in walked.run(walked.entry).items()}))


if __name__ == "__main__":
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    main(*sys.argv[1:])
