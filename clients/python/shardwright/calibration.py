"""Measure what the devices here can do, and fit a device profile to it: python -m shardwright.calibration [--device NAME] -o DEVICE.json

Times matmuls and elementwise kernels of one device, and collectives between the devices of this host, over sizes from kilobytes to a gigabyte. The
tables go to `shardwright calibrate`, which fits launch, latency, bandwidth and efficiencies of the profile to them and says how far off it was
before and is after. Needs jax, some minutes, and devices that nothing else uses. What the profile is good for: --device-file DEVICE.json.

A time is a slope: of a program that does the same thing one after the other, and of one that does it four times as often. So neither Python nor what
starts a program counts. Of collectives it is what they add to the same program without them. On TPU kernels are left out, as the profiles have the
rates of its compiler's own estimates there; collectives are measured.
"""
import argparse
import functools
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .errors import Error
from .tool import Folder, find_tool, run_tool

KINDS = {"h100": "h100", "h200": "h200", "a100": "a100-80g", "b200": "b200", "mi300x": "mi300x", "tpu v4": "tpu-v4", "tpu v5 lite": "tpu-v5e",
         "tpu v5": "tpu-v5p", "tpu v6 lite": "tpu-v6e", "cpu": "cpu-host"}      # in what jax calls a device: built-in profile
ROUNDS, TRIES = 5, 4
LEAST_SECONDS = 0.02        # of what is timed at once
MOST_REPEATS = 4000
LENGTHS = (2, 8)            # of the two chains
TINY_LENGTHS = (32, 128)    # .. of kernels that take microseconds: their starts would hide behind Python's
TINY_COLLECTIVES = (8, 32)
TINY = 1 << 24              # bytes of those, and flops by a thousandth
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
Step = Callable[..., Any]


class Kernel(NamedTuple):
    """Something to time on one device."""
    kind: str
    flops: int
    bytes: int
    shapes: list[tuple[int, ...]]


def profile_of(kind: str) -> str | None:
    """The built-in profile of what jax calls a device, the longest name that is in it."""
    found = [name for name in KINDS if name in kind.lower()]
    return KINDS[max(found, key=len)] if found else None


def kernels(width: int, largest: int) -> list[Kernel]:
    """Products of square matrices and of many rows with those of a layer of a language model; passes over arrays. width: bytes of an element."""
    found = []
    side = 128
    while 3 * side * side * width <= largest and side <= 16384:
        found.append(Kernel("matmul", 2 * side ** 3, 3 * side * side * width, [(side, side), (side, side)]))
        side = side * 3 // 2 // 64 * 64
    for rows in (1024, 4096, 16384):
        for inner, outer in ((1024, 4096), (4096, 11008), (8192, 28672)):
            moved = (rows * inner + inner * outer + rows * outer) * width
            if moved <= largest:
                found.append(Kernel("matmul", 2 * rows * inner * outer, moved, [(rows, inner), (inner, outer), (outer, inner)]))
    size = 4096
    while size <= largest:
        found.append(Kernel("elementwise", 0, 2 * size, [(size // width,)]))
        size *= 2
    return found


def _pass(x: Any, more: Any = 0.5) -> Any:
    """Reads the array and writes it, in a kernel of its own."""
    import jax
    return jax.lax.optimization_barrier(x * 1.001 + more)


def kernel_chain(kernel: Kernel, length: int) -> Step:
    """A function of arrays of the kernel's shapes that does it so often, `length` an even number."""
    def products(x: Any, *weights: Any) -> Any:
        for k in range(length):
            x = x @ weights[k % len(weights)]
        return x

    def passes(x: Any) -> Any:
        for _ in range(length):
            x = _pass(x)
        return x
    return products if kernel.kind == "matmul" else passes


def collective_chain(collective: str | None, like: str, group: int, length: int) -> Step:
    """The collective, and what makes its result an operand again; None: that alone. Of one device, under shard_map over an axis x."""
    import jax
    import jax.numpy as jnp

    def mine() -> Any:          # another number on each device: what is equal everywhere needs no collective
        return jax.lax.axis_index("x").astype(jnp.float32) * 1e-3

    def own(x: Any) -> Any:
        size = x.shape[0] // group
        return jax.lax.dynamic_slice_in_dim(x, jax.lax.axis_index("x") * size, size)

    def step(x: Any) -> Any:
        more = mine().astype(x.dtype)
        if like == "all_reduce":
            return _pass(jax.lax.psum(x, "x") / group if collective else x, more)
        if like == "all_gather":
            return _pass(own(jax.lax.all_gather(x, "x", tiled=True)) if collective else x, more)
        if like == "reduce_scatter":
            part = _pass(jax.lax.psum_scatter(x, "x", tiled=True) / group if collective else own(x), more)
            return jax.lax.dynamic_update_slice_in_dim(x, part, jax.lax.axis_index("x") * part.shape[0], 0)
        return _pass(jax.lax.all_to_all(x, "x", 0, 0, tiled=True) if collective else x, more)

    def chain(x: Any) -> Any:
        for _ in range(length):
            x = step(x)
        return x
    return chain


def _seconds(run: Step, arguments: list[Any]) -> float:
    """Of one call, of so many that it can be timed."""
    import jax
    jax.block_until_ready(run(*arguments))
    repeats, spent = 1, 0.0
    while True:
        start = time.perf_counter()
        for _ in range(repeats):
            last = run(*arguments)
        jax.block_until_ready(last)
        spent = time.perf_counter() - start
        if spent >= LEAST_SECONDS or repeats >= MOST_REPEATS:
            return spent / repeats
        repeats = min(MOST_REPEATS, max(2 * repeats, math.ceil(1.2 * repeats * LEAST_SECONDS / max(spent, 1e-6))))


def slope(chain: Callable[[int], Step], lengths: tuple[int, int], arguments: list[Any]) -> float:
    """Seconds of one link of a chain, which is compiled with two lengths: by the medians of ROUNDS, in turn."""
    runs = [chain(n) for n in lengths]
    spent = [[_seconds(run, arguments) for run in runs] for _ in range(ROUNDS)]
    short, long = (statistics.median(of) for of in zip(*spent, strict=True))
    return (long - short) / (lengths[1] - lengths[0])


def measure_kernel(kernel: Kernel, element: str) -> float:
    """Seconds of one, on the first device."""
    import jax
    import numpy as np
    draw = np.random.default_rng(0)
    home = jax.local_devices()[0]
    arrays = [draw.standard_normal(s, dtype=np.float32) / (math.sqrt(s[0]) if i else 1) for i, s in enumerate(kernel.shapes)]
    arguments = [jax.device_put(jax.numpy.asarray(a, dtype=element), home) for a in arrays]
    tiny = kernel.bytes <= TINY and kernel.flops <= 1000 * TINY
    return slope(lambda n: jax.jit(kernel_chain(kernel, n)), TINY_LENGTHS if tiny else LENGTHS, arguments)


def measure_collective(collective: str, group: int, size: int, element: str) -> float:
    """Seconds of one over the first devices of this host; size: bytes as `shardwright calibrate` counts them."""
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec
    axis = PartitionSpec("x")
    mesh = Mesh(np.array(jax.local_devices()[:group]), ("x",))
    here = size // group if collective == "all_gather" else size
    count = max(here // jax.numpy.dtype(element).itemsize // group, 1) * group      # of a device, which divides by the group
    x = jax.device_put(jax.numpy.ones(count * group, dtype=element), NamedSharding(mesh, axis))

    def timed(name: str | None) -> float:
        def chain(n: int) -> Step:
            return jax.jit(jax.shard_map(collective_chain(name, collective, group, n), mesh=mesh, in_specs=axis, out_specs=axis, check_vma=False))
        return slope(chain, TINY_COLLECTIVES if size <= TINY else LENGTHS, [x])
    return timed(collective) - timed(None)


def _again(measured: Callable[[], float]) -> float:
    """What a clock tells apart; after TRIES what it says all the same."""
    return next((seconds for _ in range(TRIES - 1) if (seconds := measured()) > 0), 0.0) or measured()


def kernel_rows(element: str, largest: int) -> Iterator[str]:
    """The table of kernels, its header first."""
    import jax.numpy as jnp
    names = {"bfloat16": "bf16", "float16": "f16", "float32": "f32"}
    yield "kernel,type,flops,bytes,time_us"
    for kernel in kernels(jnp.dtype(element).itemsize, largest):
        seconds = _again(functools.partial(measure_kernel, kernel, element))
        if seconds > 0:
            yield "%s,%s,%d,%d,%.3f" % (kernel.kind, names[element], kernel.flops, kernel.bytes, max(seconds * 1e6, 0.001))


def collective_rows(element: str, largest: int) -> Iterator[str]:
    """The table of collectives over 2, 4, .. and all devices of this host."""
    import jax
    count = jax.local_device_count()
    yield "collective,group,bytes,time_us"
    for group in sorted({2 ** k for k in range(1, 10) if 2 ** k < count} | {count}):
        for collective in COLLECTIVES:
            size = 65536
            while size <= largest:
                seconds = _again(functools.partial(measure_collective, collective, group, size, element))
                if seconds > 0:
                    yield "%s,%d,%d,%.3f" % (collective, group, size, max(seconds * 1e6, 0.001))
                size *= 4


def write_table(path: str, rows: Iterator[str], about: str, note: Callable[[str], None]) -> None:
    with open(path, "w") as f:
        f.write("# %s\n" % about)
        for row in rows:
            note(row)
            f.write(row + "\n")
            f.flush()


def measure(folder: str, element: str, largest: int, note: Callable[[str], None] = lambda row: None) -> list[str]:
    """The paths of the tables that were written into the folder."""
    import jax
    first = jax.local_devices()[0]
    compiler = " ".join(str(first.client.platform_version).split())[:100]
    about = "%s x %d, jax %s, %s" % (first.device_kind, jax.local_device_count(), jax.__version__, compiler)
    tables = []
    if first.platform != "tpu":
        tables.append(os.path.join(folder, "kernels.csv"))
        write_table(tables[-1], kernel_rows(element, largest), about, note)
    if jax.local_device_count() > 1:
        tables.append(os.path.join(folder, "collectives.csv"))
        write_table(tables[-1], collective_rows(element, largest), about, note)
    if not tables:
        raise Error("one TPU device: nothing to measure, as its profile has the rates of its compiler's estimates")
    return tables


def bytes_of(text: str) -> int:
    """1GiB, 64MiB, 4096."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("", 1)):
        number = text.removesuffix(unit)
        if text.endswith(unit) and number.isdigit() and int(number):
            return int(number) * factor
    raise argparse.ArgumentTypeError("expected a size as 64MiB, found %r" % text)


def main(argv: list[str]) -> int:
    summary, _, about = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(prog="python -m shardwright.calibration", description=summary.partition(": python")[0] + ".", epilog=about,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", dest="out", required=True, metavar="DEVICE.json", help="the profile that is written")
    parser.add_argument("--device", help="the profile to start from (default: the built-in one of these devices)")
    parser.add_argument("--device-file", metavar="F", help="the same, of one's own")
    parser.add_argument("--tables", metavar="DIR", help="keep the tables there")
    parser.add_argument("--largest", type=bytes_of, default=1 << 30, help="bytes of the largest kernel and collective (default: 1GiB)")
    parser.add_argument("--type", choices=["bfloat16", "float16", "float32"], help="of elements (default: bfloat16, on CPU float32)")
    options = parser.parse_args(argv[1:])
    try:
        tool = find_tool()
        import jax
        first = jax.local_devices()[0]
        base = options.device or profile_of(first.device_kind)
        if not base and not options.device_file:
            raise Error("no built-in profile is of %s: name one that is like it (--device), see `shardwright devices`" % first.device_kind)
        with Folder() as folder:
            where = options.tables or folder.path("tables")
            os.makedirs(where, exist_ok=True)
            tables = measure(where, options.type or ("float32" if first.platform == "cpu" else "bfloat16"), options.largest,
                             lambda row: print(row, file=sys.stderr, flush=True))
            which = ["--device-file", options.device_file] if options.device_file else ["--device", str(base)]
            print(run_tool(tool, "calibrate", *tables, *which, "-o", options.out, codes=(0,)), end="")
    except (Error, OSError, ImportError) as error:
        print("shardwright.calibration: %s" % error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
