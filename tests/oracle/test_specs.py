"""Strategies printed as JAX PartitionSpecs, run by jax: each device must hold the slice that the strategy says."""
import itertools
import json
import math
import random

import pytest

from child import forked

MESHES = ((8,), (2, 4), (4, 2), (2, 2, 2), (3, 2), (1, 6), (2, 1, 3))
STRATEGIES, ARGUMENTS = 120, 25


def random_strategy(rng):
    """A document and the shapes of its arguments, whose sizes divide."""
    sizes = rng.choice(MESHES)
    n = math.prod(sizes)
    mesh = {"axes": [{"name": name, "size": size} for name, size in zip("xyz", sizes)]}
    if rng.random() < 0.25:
        mesh["device_order"] = rng.sample(range(n), n)
    arguments, shapes = [], {}
    for i in range(ARGUMENTS):
        dims = [[] for _ in range(rng.randint(0, 4))]
        for axis in rng.sample(range(len(sizes)), len(sizes)):
            if dims and rng.random() < 0.7:
                rng.choice(dims).append("xyz"[axis])
        name = rng.choice(("params['w%d']", "params['layers'][%d]", "w%d")) % i
        shapes[name] = [rng.randint(1, 3) * math.prod(sizes["xyz".index(axis)] for axis in dim) for dim in dims]
        arguments.append({"name": name, "sharding": dims if rng.random() < 0.9 else None})
    return {"mesh": mesh, "arguments": arguments, "results": []}, shapes


def held_by_jax(cases):
    """Text and shapes of every strategy -> name -> the slices of all devices."""
    import jax
    jax.config.update("jax_num_cpu_devices", 8)
    out = []
    for text, shapes, n in cases:
        scope, held = {}, {}
        exec(text, scope)
        mesh, devices = scope["mesh"], jax.devices()[:n]
        assert all(kind == jax.sharding.AxisType.Auto for kind in mesh.axis_types)
        for name, spec in scope["specs"].items():
            if spec is None:
                continue
            indices = jax.sharding.NamedSharding(mesh, spec).devices_indices_map(tuple(shapes[name]))
            held[name] = [[list(cut.indices(size)[:2]) for cut, size in zip(indices[device], shapes[name])] for device in devices]
        out.append(held)
    return out


def test_thousands_of_arguments(tool, tmp_path):
    rng, cases, wanted = random.Random(27), [], []
    for _ in range(STRATEGIES):
        document, shapes = random_strategy(rng)
        path = tmp_path / "plan.json"
        path.write_text(json.dumps(document))
        n = math.prod(axis["size"] for axis in document["mesh"]["axes"])
        cases.append((tool("convert", "--strategy", path, "--to", "jax"), shapes, n))
        wanted.append({a["name"]: (a["sharding"], document["mesh"]) for a in document["arguments"] if a["sharding"] is not None})
    held = forked(held_by_jax, cases)
    compared = 0
    for (_, shapes, n), found, expected in zip(cases, held, wanted):
        assert set(found) == set(expected)
        for name, (sharding, mesh) in expected.items():
            assert found[name] == slices(sharding, mesh, shapes[name]), (name, sharding, mesh)
            compared += 1
    assert compared > 2000


def slices(sharding, mesh, shape):
    """By the definition: axes of a dimension cut it from major to minor; devices are laid row-major, or in the order given."""
    sizes = {axis["name"]: axis["size"] for axis in mesh["axes"]}
    held = {}
    for place, at in enumerate(itertools.product(*(range(size) for size in sizes.values()))):
        where = dict(zip(sizes, at))
        ranges = []
        for dim, size in zip(sharding, shape):
            index, parts = 0, 1
            for axis in dim:
                index, parts = index * sizes[axis] + where[axis], parts * sizes[axis]
            ranges.append([index * size // parts, (index + 1) * size // parts])
        held[mesh["device_order"][place] if "device_order" in mesh else place] = ranges
    return [held[device] for device in sorted(held)]


@pytest.mark.parametrize("shape,sharding", (((8, 8), [["x"], ["y"]]), ((8,), [["y", "x"]]), ((4, 4), [[], ["x"]])))
def test_definition_is_that_of_layout(tool, shape, sharding):
    mesh = {"axes": [{"name": "x", "size": 2}, {"name": "y", "size": 4}]}
    found = json.loads(tool("layout", "--mesh", "x=2,y=4", "--shape", "x".join(map(str, shape)), "--sharding", json.dumps(sharding), "--json"))
    assert [device["ranges"] for device in found["devices"]] == slices(sharding, mesh, shape)
