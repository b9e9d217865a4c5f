"""Random shardings in the notations of PyTorch and MindSpore, evaluated by the libraries themselves.

    make notations [CASES=2000]      compares; its own virtual environment, as both packages are large
    ... notations.py --mint          writes tests/golden/layout_frameworks.h, which make check compares with

Both libraries say which part of a tensor a device keeps: PyTorch's placements cut a tensor of indices, MindSpore's parallel._tensor
does. OneFlow's wheel on PyPI (0.7.0) has no native library and cannot be imported, so its text is read back only.
"""
import argparse
import json
import os
import random
import subprocess
import sys

import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.path.abspath(os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright")))
MESHES = [(4,), (6,), (2, 4), (4, 2), (3, 2), (1, 4), (2, 2, 2), (2, 3, 4), (4, 1, 3), (2, 2, 6), (8, 2)]


def tool(*words):
    """Standard output, or the error message."""
    done = subprocess.run([TOOL, *words], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit("%s: exit code %d\n%s" % (" ".join(words), done.returncode, done.stderr))
    return done.returncode, (done.stdout if done.returncode == 0 else done.stderr).strip()


def random_case(rng, uneven):
    """Mesh sizes, a list of (axis, pre, size) per dimension, and a shape."""
    sizes = rng.choice(MESHES)
    parts = []
    for axis, size in enumerate(sizes):
        pre, left = 1, size
        while left > 1 and rng.random() < 0.25:
            cut = rng.choice([d for d in range(2, left + 1) if left % d == 0])
            parts.append((axis, pre, cut))
            pre, left = pre * cut, left // cut
        if pre == 1:
            parts.append((axis, 1, size))
    dims = [[] for _ in range(rng.randint(1, 3))]
    for part in rng.sample(parts, len(parts)):
        where = rng.randrange(len(dims) + 1)
        if where < len(dims) and not (dims[where] and dims[where][-1][0] == part[0] and dims[where][-1][1] * dims[where][-1][2] == part[1]):
            dims[where].append(part)
    shape = []
    for dim in dims:
        ways = int(np.prod([p[2] for p in dim], initial=1))
        shape.append(rng.randint(1, 3 * ways) if uneven else ways * rng.randint(1, 3))
    return sizes, dims, shape


def json_of(sizes, dims):
    def name(axis, pre, size):
        return "xyz"[axis] if size == sizes[axis] else "%s:(%d)%d" % ("xyz"[axis], pre, size)
    return json.dumps([[name(*part) for part in dim] for dim in dims])


def mesh_of(sizes):
    return ",".join("%s=%d" % pair for pair in zip("xyz", sizes))


# ---------------------------------------------------------------- PyTorch

def torch_slices(text, sizes, shape):
    """Per device, the sorted indices it holds of every dimension, as torch's own placements cut a tensor of indices."""
    import torch
    from torch.distributed.tensor import Partial, Replicate, Shard
    from torch.distributed.tensor.placement_types import _StridedShard
    words = {"Shard": Shard, "Replicate": Replicate, "Partial": Partial, "_StridedShard": _StridedShard, "DeviceMesh": lambda kind, ids: np.array(ids)}
    value = eval(text, words)
    array, placements = value if isinstance(value, tuple) else (np.arange(int(np.prod(sizes))).reshape(sizes), value)
    return torch_held(array, placements, shape)


def torch_held(array, placements, shape):
    """The same of placements over an array of device numbers."""
    import torch
    from torch.distributed.tensor import Shard
    from torch.distributed.tensor.placement_types import _StridedShard
    held = {}
    for place in np.ndindex(array.shape):
        parts = [torch.arange(n) for n in shape]
        for axis, placement in enumerate(placements):
            if not isinstance(placement, (Shard, _StridedShard)):
                continue
            alone = type(placement)(0) if isinstance(placement, Shard) else _StridedShard(0, split_factor=placement.split_factor)
            pieces, _ = alone._split_tensor(parts[placement.dim], array.shape[axis], with_padding=False, contiguous=False)
            parts[placement.dim] = pieces[place[axis]]
        held[int(array[place])] = [part.tolist() for part in parts]
    return [held[d] for d in sorted(held)]


# ---------------------------------------------------------------- MindSpore

def mindspore_slices(text, shape):
    """The same from a Layout: its own __call__ checks the map, its own slicing functions cut."""
    from mindspore.parallel import Layout
    return mindspore_held(eval(text, {"Layout": Layout}), shape)


def mindspore_held(layout, shape):
    from mindspore.parallel._tensor import _chunk_tensor_by_strategy, _get_tensor_slice_index, _get_tensor_strategy
    layout = layout.to_dict()
    matrix, held = list(layout["device_matrix"]), {}
    for place, rank in enumerate(layout["rank_list"]):
        parts = []
        for size, entry in zip(shape, layout["tensor_map"]):
            # one device dimension after another, as MindSpore expands a dimension that several cut
            part = np.arange(size)
            for k in entry if isinstance(entry, tuple) else (entry,):
                strategy = _get_tensor_strategy(matrix, [k])
                index = _get_tensor_slice_index(matrix, strategy, [k], place)
                part = _chunk_tensor_by_strategy(part, strategy)[int(index)]
            parts.append(part.tolist())
        held[rank] = parts
    return [held[d] for d in sorted(held)]


# ---------------------------------------------------------------- comparing

def ours(notation, text, sizes, shape):
    code, out = tool("layout", "--mesh", mesh_of(sizes), "--shape", "x".join(map(str, shape)), "--notation", notation, "--sharding", text, "--json")
    if code:
        return out
    return [[list(range(*r)) for r in device["ranges"]] for device in json.loads(out)["devices"]]


def contiguous(devices):
    return all(part == list(range(part[0], part[0] + len(part))) for device in devices for part in device if part)


def check(rng, number, counts, rows):
    uneven = number % 3 == 0
    sizes, dims, shape = random_case(rng, uneven)
    divides = all(n % int(np.prod([p[2] for p in dim], initial=1)) == 0 for n, dim in zip(shape, dims))
    sharding = json_of(sizes, dims)
    for notation in ("dtensor", "mindspore", "sbp"):
        code, text = tool("convert", "--mesh", mesh_of(sizes), "--rank", str(len(shape)), "--from", "json", "--to", notation, sharding)
        if code:
            sys.exit("%s over %s in %s: %s" % (sharding, mesh_of(sizes), notation, text))
        mine = ours(notation, text, sizes, shape)
        if notation == "sbp":
            theirs = ours("json", sharding, sizes, shape) if divides else None
        elif notation == "mindspore":
            theirs = mindspore_slices(text, shape) if divides else None
        else:
            theirs = torch_slices(text, sizes, shape)
        what = "%s of %s over %s, %s" % (text, shape, mesh_of(sizes), notation)
        if isinstance(mine, str):
            # refused: not divisible, and torch has separate ranges or the text its own devices
            if divides or (notation == "dtensor" and contiguous(theirs) and "DeviceMesh" not in text):
                sys.exit("%s: refused: %s" % (what, mine))
            counts[notation, "refused"] = counts.get((notation, "refused"), 0) + 1
            continue
        if theirs is not None and mine != theirs:
            sys.exit("%s:\n ours   %s\n theirs %s" % (what, mine, theirs))
        if divides and mine != ours("json", sharding, sizes, shape):
            sys.exit("%s: other slices than %s" % (what, sharding))
        key = notation, "uneven" if not divides else "even"
        counts[key] = counts.get(key, 0) + 1
        if notation != "sbp":
            rows.append((notation, mesh_of(sizes), "x".join(map(str, shape)), text,
                         ";".join(",".join("%d:%d" % (p[0], p[-1] + 1) if p else "-" for p in device) for device in mine)))


ARGUMENTS = 20


def random_strategy(rng):
    """A document over one mesh, and by name the sharding and the shape of every argument; sizes divide, axes are whole, as in answers of a search."""
    sizes = rng.choice(MESHES)
    arguments, wanted = [], {}
    for i in range(ARGUMENTS):
        dims = [[] for _ in range(rng.randint(1, 4))]
        for axis in rng.sample(range(len(sizes)), len(sizes)):
            if rng.random() < 0.7:
                rng.choice(dims).append("xyz"[axis])
        name = rng.choice(("params['w%d']", "params['layers'][%d]['b']", "w%d")) % i
        known = rng.choice(({"sharding": dims}, {"sharding": None, "propagated": dims}))
        arguments.append({"name": name, **known})
        wanted[name] = dims, [rng.randint(1, 2) * int(np.prod([sizes["xyz".index(axis)] for axis in dim], initial=1)) for dim in dims]
    mesh = {"axes": [{"name": name, "size": size} for name, size in zip("xyz", sizes)]}
    if rng.random() < 0.25:
        n = int(np.prod(sizes))
        mesh["device_order"] = rng.sample(range(n), n)
    return {"mesh": mesh, "arguments": arguments, "results": [{"sharding": dims}]}, sizes, wanted


def defined_slices(dims, mesh, sizes, shape):
    """By the definition: axes cut from major to minor, devices are laid row-major, or in the order given."""
    held = {}
    for place, at in enumerate(np.ndindex(*sizes)):
        parts = []
        for dim, size in zip(dims, shape):
            index, ways = 0, 1
            for axis in dim:
                k = "xyz".index(axis)
                index, ways = index * sizes[k] + at[k], ways * sizes[k]
            parts.append(list(range(index * size // ways, (index + 1) * size // ways)))
        held[mesh["device_order"][place] if "device_order" in mesh else place] = parts
    return [held[d] for d in sorted(held)]


def check_strategies(rng, n):
    """Whole strategies, printed and run as programs of the libraries; of PyTorch only the mesh, which wants running processes, is stood in for.
    -> arguments that were compared, by notation."""
    import tempfile

    import torch.distributed.device_mesh

    class Mesh:
        def __init__(self, kind, ids, mesh_dim_names):
            self.array, self.names = np.array(ids), mesh_dim_names

    torch.distributed.device_mesh.DeviceMesh = Mesh
    torch.distributed.device_mesh.init_device_mesh = lambda kind, sizes, mesh_dim_names: Mesh(kind, np.arange(int(np.prod(sizes))).reshape(sizes), mesh_dim_names)
    counts = {"dtensor": 0, "mindspore": 0}
    for _ in range(n):
        document, sizes, wanted = random_strategy(rng)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            json.dump(document, f)
            f.flush()
            texts = {notation: tool("convert", "--strategy", f.name, "--to", notation) for notation in counts}
        for notation, (code, text) in texts.items():
            scope = {}
            if code:
                sys.exit("%s: refused: %s\n%s" % (notation, text, document))
            exec(text, scope)
            found = scope["placements" if notation == "dtensor" else "layouts"]
            if set(found) != set(wanted):
                sys.exit("%s: other arguments\n%s" % (notation, text))
            for name, (dims, shape) in wanted.items():
                theirs = torch_held(scope["mesh"].array, found[name], shape) if notation == "dtensor" else mindspore_held(found[name], shape)
                if theirs != defined_slices(dims, document["mesh"], sizes, shape):
                    sys.exit("%s: %s of %s over %s: other slices than %s\n%s" % (notation, name, shape, document["mesh"], dims, text))
                counts[notation] += 1
    return counts


def check_interleaved():
    """MindSpore takes what we take of interleaved_parallel, and refuses what we refuse."""
    from mindspore.parallel import Layout
    texts = ("Layout((2, 4, 2), ('x', 'y', 'interleaved_parallel'))(('x', 'interleaved_parallel'), 'y')",
             "Layout((2, 4, 2), ('x', 'interleaved_parallel', 'y'))('x', 'y')", "Layout((2, 4), ('x', 'x'))('x', 'None')", "Layout((2, 4), ('x', 'None'))('x', 'None')",
             "Layout((2, 4), ('x', 'y'))('x', 'z')", "Layout((2, 4), ('x', 'y'))('x', 'x')", "Layout((2, 4), ('x', 'y'), [0, 1])('x', 'y')")
    for text in texts:
        try:
            eval(text, {"Layout": Layout})
            taken = True
        except ValueError:
            taken = False
        code, _ = tool("layout", "--shape", "16x16", "--notation", "mindspore", "--sharding", text)
        assert taken == (code == 0), text
    return len(texts)


def write_golden(rows):
    import mindspore
    import torch
    path = os.path.join(ROOT, "tests", "golden", "layout_frameworks.h")
    with open(path, "w") as out:
        out.write("/* Written by tests/notations/notations.py --mint with torch %s and mindspore %s. */\n" % (torch.__version__.split("+")[0], mindspore.__version__))
        out.write("static const struct {\n\tconst char *notation, *mesh, *shape, *text, *ranges;\n} layout_frameworks[] = {\n")
        for row in rows:
            out.write("\t{" + ", ".join('"' + column.replace('"', '\\"') + '"' for column in row) + "},\n")
        out.write("};\n")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--cases", type=int, default=2000)
    arguments.add_argument("--seed", type=int, default=27)
    arguments.add_argument("--mint", action="store_true")
    o = arguments.parse_args()
    rng, counts, rows = random.Random(o.seed), {}, []
    o.cases = 120 if o.mint else o.cases
    for number in range(o.cases):
        check(rng, number, counts, rows)
    for notation, n in check_strategies(rng, 4 if o.mint else max(o.cases // 20, 1)).items():
        counts[notation, "in strategies"] = n
        o.cases += n
    o.cases += check_interleaved()
    for (notation, kind), n in sorted(counts.items()):
        print("%-10s %-13s %d" % (notation, kind, n))
    if o.mint:
        write_golden([row for row in rows if len(row[4]) < 500])
    print("notations: %d cases passed, 0 failed" % o.cases)


main()
