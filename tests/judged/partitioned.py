#!/usr/bin/env python3
"""Small functions over a mesh as XLA for TPU partitions and schedules them: what rules of the simulator were read from, beside kernels.py.

    partitioned.py [v5e:4x4 v5p:2x2x2 v6e:2x4]

Compiles them for all chips of each topology, with the batch cut by all of them where nothing else is said, and prints:

    scattered  the gradient of a weight of so many rows and columns, which is cut along one of them, by a windowed einsum: which operand of its loop has the
               contracted dim in the lanes, that which is cut into pieces or the whole one, us of its copy, and of the loop
    borders    3x3 convolutions with a relu between them, images cut by rows: us of kernels that pad without a convolution, and of slices of borders
    reversed   the gradient of two transposed convolutions of so many images, places and features: us of reversals
    late       two layers with their gradients reduced and gathered behind an update by parts (ZeRO-2): kernels of loops and gathers in the order in which they run

Needs jax and libtpu.
"""
import re
import sys

import jax
import jax.numpy as jnp
import numpy
from kernels import BF16, CLOCK, F32
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec

SHAPE = r"(\w+\[[\d,]*\]\{[^}]*\})"


class Slice:
    def __init__(self, topology):
        self.name = topology.split(":")[0]
        devices = topologies.get_topology_desc(platform="tpu", topology_name=topology).devices
        self.mesh = Mesh(numpy.array(devices), ("all",))
        self.size = len(devices)

    def lines(self, function, *operands, results=None, donated=()):
        """Instructions of the scheduled module. operands: (shape, dtype, dim that is cut or None)."""
        def placed(cut):
            return NamedSharding(self.mesh, PartitionSpec(*[None] * (cut or 0), *(["all"] if cut is not None else [])))
        arguments = [jax.ShapeDtypeStruct(shape, dtype, sharding=placed(cut)) for shape, dtype, cut in operands]
        out = None if results is None else tuple(placed(cut) for cut in results)
        return jax.jit(function, out_shardings=out, donate_argnums=donated).lower(*arguments).compile().as_text().split("\n")

    def us(self, line):
        found = re.search(r'"estimated_cycles":"(\d+)"', line)
        return int(found[1]) / CLOCK[self.name] * 1e6 if found else 0.0

    def say(self, *words):
        print(self.name, *words, flush=True)


def entry(lines):
    """Those of the program itself, without computations that others call."""
    start = next(i for i, line in enumerate(lines) if line.startswith("ENTRY"))
    return lines[start:]


def gradient(weight, x, above):
    def loss(w, x):
        return jnp.sum((x @ w.astype(BF16) * above).astype(F32))
    new, of_x = jax.grad(loss, (0, 1))(weight, x)
    return weight - new, of_x


def convolved(x, w):
    return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def bordered(x, a, b, c):
    return jnp.max(convolved(jax.nn.relu(convolved(jax.nn.relu(convolved(x, a)), b)), c), axis=(1, 2))


def enlarged(x, a, b, c):
    def transposed(x, w):
        return jax.lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def loss(weights):
        y = jax.nn.relu(convolved(x, weights[0]))
        for w in weights[1:]:
            y = jax.nn.relu(transposed(y, w))
        y = convolved(y, jnp.swapaxes(weights[0], 2, 3))
        return jnp.sum((y * y).astype(F32))
    return jax.grad(loss)((a, b, c))


def layers(first, second, states, x, target):
    def loss(weights):
        y = jax.nn.relu(x @ weights[0].astype(BF16)) @ weights[1].astype(BF16)
        return jnp.mean(jnp.square(y - target).astype(F32))
    gradients = jax.grad(loss)((first, second))
    states = [s * 0.9 + g for s, g in zip(states, gradients)]
    return first - states[0], second - states[1], states


def loop_us(chips, lines, loop):
    """Of all turns: each multiplies two pieces, one for each direction of the ring, twice."""
    body = re.search(r"body=(%[\w.]+)", loop)[1]
    start = next(i for i, line in enumerate(lines) if line.startswith(body + " ("))
    end = next(i for i in range(start, len(lines)) if lines[i].startswith("}"))
    return chips.size // 4 * sum(map(chips.us, lines[start:end]))


def scattered(chips):
    for batch, length, rows, columns, cut in ((4, 512, 1024, 32768, 1), (4, 512, 32768, 1024, 0), (4, 512, 1024, 32768, 0), (4, 512, 1024, 4096, 1), (4, 512, 4096, 1024, 0), (4, 512, 4096, 1024, 1)):
        many = batch * chips.size
        found = chips.lines(gradient, ((rows, columns), F32, cut), ((many, length, rows), BF16, 0), ((many, length, columns), BF16, 0), results=(cut, 0), donated=(0,))
        loop = next((line for line in found if " while(" in line and "windowed_dot_general_body_rs" in line), None)
        if not loop:
            chips.say("scattered", "%d x %d cut along %d: no loop" % (rows, columns, cut))
            continue
        operands = re.findall(SHAPE, loop)[:2]
        turned = [shape for shape in operands if shape.split("{")[1].startswith("1,")]
        pieces = (rows, columns)[cut]
        which = ["pieces" if ",%d]" % pieces in shape else "whole" for shape in turned]
        copies = [chips.us(line) for line in entry(found) for shape in turned if " = " + shape.split(":")[0] in line and (" copy(" in line or " fusion(" in line)]
        chips.say("scattered", "%d x %d cut along %d:" % (rows, columns, cut), " and ".join(which), " ".join("%.1f" % t for t in copies if t), "loop %.1f" % loop_us(chips, found, loop))


def borders(chips):
    for images, side, features in ((128, 16, 64), (32, 16, 128), (8, 16, 256)):
        found = entry(chips.lines(bordered, ((images, side * chips.size, 64, 16), BF16, 1), *[((3, 3, a, b), BF16, None) for a, b in ((16, features), (features, features), (features, features))]))
        pads = [chips.us(line) for line in found if re.match(r"\s+%pad_maximum_fusion\S* = ", line)]
        slices = [chips.us(line) for line in found if re.match(r"\s+%%(slice|fusion)\S* = \(?bf16\[%d,1,64," % images, line)]
        chips.say("borders", "%d images, %d features:" % (images, features), "pads", " ".join("%.1f" % t for t in pads if t) or "-", "slices", " ".join("%.1f" % t for t in slices if t))


def reversed_operands(chips):
    for images, side, features in ((128, 16, 64), (32, 16, 64), (32, 16, 128), (8, 16, 128), (16, 16, 256)):
        weights = [((3, 3, 3, features), BF16, None), *[((4, 4, features, features), BF16, None)] * 2]
        found = entry(chips.lines(enlarged, ((images * chips.size, side, side, 3), BF16, 0), *weights))
        chips.say("reversed", "%d images, %d x %d, %d features:" % (images, 4 * side, 4 * side, features), " ".join("%.1f" % chips.us(line) for line in found if " reverse(" in line))


def late(chips):
    width, inner, tokens = 2048, 16384, 2048 * chips.size
    weights = ((width, inner), (inner, width))

    def step(a, b, c, d, x, target):
        first, second, states = layers(a, b, (c, d), x, target)
        return first, second, *states
    cut = (1, 0)
    found = entry(chips.lines(step, *[(w, F32, None) for w in weights], *[(w, F32, at) for w, at in zip(weights, cut)], ((tokens, width), BF16, 0), ((tokens, width), BF16, 0), results=(None, None, *cut), donated=(0, 1, 2, 3)))
    order = []
    for line in found:
        if " while(" in line and "windowed" in line:
            order.append("loop")
        elif re.search(r" all-gather(-start)?\(|%async-collective-start\S* = ", line):
            order.append("gather")
    chips.say("late", " ".join(order))


def main(wanted):
    for chips in map(Slice, wanted):
        for section in scattered, borders, reversed_operands, late:
            section(chips)


if __name__ == "__main__":
    main(sys.argv[1:] or ["v5e:4x4", "v5p:2x2x2", "v6e:2x4"])
