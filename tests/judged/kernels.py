#!/usr/bin/env python3
"""Single kernels as XLA for TPU estimates them: what the rates of the TPU profiles were read from, with no program of the tables in it.

    kernels.py [v5e:4x4 v5p:2x2x2 v6e:2x4]

Compiles small functions for one chip of each topology and prints the compiler's own estimate (estimated_cycles) of every kernel in them:

    update    an optimizer's update of n x 4096 elements, all of it in main memory: us = launch + 26 bytes an element / rate
    convert   float32 to bfloat16 and nothing else: cycles for 1024 elements
    fused     elementwise kernels whose values are on the chip, with one and two operands: cycles for 1024 elements
    stream    elementwise kernels of one to three operands, and a sum, of 2048 x 2048 values on the chip and 16384 x 4096 in memory: cycles for 1024 elements
    product   of bfloat16 matrices on the chip, results in bfloat16 and in float32: us, and us beyond what the peak takes
    split     layers of two products, whose operands do not fit on the chip at once, by rows, width and inner width: us of each product
    behind    two products with work of several sorts between them: in the kernel of the first, in that of the second, or in one of its own
    eight     two products, the first one's result quantised to eight bits between them, and what is summed up of it: in which kernel
    weights   products with float32 weights that are rounded first, us of each kernel: of rank 2 and 3, in both directions
    images    three 3x3 convolutions with their gradients, of 4 and of 8 images: cycles for 1024 elements (features padded to the lanes)
    features  a 3x3 convolution of so many features to 64 others, 16 images of 56 x 56: us of the product alone, images on the chip and in main memory
    lanes     three 3x3 convolutions with their gradients, of so many images and features: us of each kernel
    normed    three 1x1 convolutions of so many images, places and features; behind the first one nothing, a norm over the features of each place, and one over all
              images: us of each kernel
    holes     the gradient of a 3 (3x3) convolution of stride 2 by its input, of so many images, places and features: us of its longest kernel
    chains    of so many operations on 2048 x 2048 integers and floats: cycles each for 1024 elements
    matmul    products in main memory of so many rows, summands and columns, and 3x3 convolutions of so many features to as many: part of the peak
    function  one function of 2048 x 2048 floats in a chain of them: vector operations, an addition of 0.26 cycles for 1024 elements being one
    front     rows that are normalised, times weights in main memory: us where the rows come from there too, where they are on the chip, and of the product alone
    channels  convolutions of each channel alone with both gradients: us of each kernel, and products of one of them
    rows      a table looked up in, and the gradient of that: us of each kernel by the width of its rows
    narrow    65,536 rows of a table looked up, times a factor each, then summed: all, of each, and 16 at a time; and multiplied by a matrix: us of each kernel by width of rows
    windows   zeros written to memory; then windows of a table looked up, scaled and added up by where they go, and windows written into a table (v5e): us
              of each kernel that has an estimate
    vectors   a product of which one side is a vector, dot products, an outer product; then so many queries, one for each head, that are projected and
              read two caches into which a word is written (64 texts of 1024 words): us of each kernel
    moves     tanh, then slices, pads, a concatenation, a reversal of it: us of each kernel
    softmax   of attention over so many places, its operands projected first: us of each kernel; then over 512, with work between products and their maximum:
              "with" where the numerators are made with the products, else "apart"; then the same with a factor, by queries, keys and depth, without and with gradients
    grouped   attention of so many sequences, two queries to a key, without and with gradients: what the kernel of the first product writes, numerators or scores
    pieces    two values side by side as an operand of one product, and of two: what is written
    start     weights that are there before the program starts, of the products of a small network: in bfloat16, and in float32 that is rounded first
    results   a product of few summands, 4096 x 4096 results, in float32 and bfloat16: us where the next kernel reads them from the chip, and
              where they are in main memory
    small     many products of small matrices: ns for each, and for each result with padding to tiles of 8 x 128
    batches   so many products of attention over so many places, so deep: us of scores, of what they make of values, and of the gradient of keys
    places    attention with its gradients over so many places: us of all kernels, of copies among them
    again     a bfloat16 value made from others (their bytes per element) that two or three products read: apart where it has a kernel of its own
    sorts     a sort of one array and top_ks, of so many rows and elements: us of copies, positions and slices around the sort, which has no estimate
    rows of   products of 262144 rows by their summands and columns: us
    loop      a sum of products that a loop carries: us of an iteration, S1 where the sum stays on the chip
    few       products of so many queries with keys and values of 2,048 places of 8 texts and 8 heads on the chip, of 32 texts in main memory, and of so many rows with
              weights on the chip: us
    caches    a word written into caches of 8 bits with so many heads, and into their scales: us of copies
    stacked   what loops write turn by turn: how many of the zeros that they begin with are filled, of a loop forwards, of one backwards, and of two alike
    sliced    a scan over so many turns of so large parts: us of the kernel that takes a part, 0 where it has none of its own
    words     two words of random bits from so many rounds, by a key that is known and by one that is not: us of each kernel
    operands  a float32 value times so many vectors, written and summed up: cycles for 1024 elements
    losses    of so many rows and widths over so many words, with gradients: us of each kernel
    turned    what a product leaves, of so many rows and columns, where it is centred over its columns, where it is not, and where its rows are merged behind that: "rows"
              where the columns are in the lanes, else which dim is; then a centred product that is returned: us of each kernel
    chip      an elementwise result of so many MiB, and a product's: S1 where they stay on the chip

Needs jax and libtpu; minutes for each topology, most of them for the convolutions.
"""
import functools
import os
import re
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
for key, value in (("TPU_SKIP_MDS_QUERY", "1"), ("TPU_WORKER_HOSTNAMES", "localhost"), ("TPU_ACCELERATOR_TYPE", "v5litepod-8"), ("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")):
    os.environ.setdefault(key, value)
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy  # noqa: E402
from jax.experimental import topologies  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

CLOCK = {"v5e": 1.5e9, "v5p": 1.75e9, "v6e": 1.75e9}
PEAK = {"v5e": 197e12, "v5p": 459e12, "v6e": 918e12}
MEMORY = {"v5e": 819e9, "v5p": 2765e9, "v6e": 1640e9}
BF16, F32 = jnp.bfloat16, jnp.float32
apart = jax.lax.optimization_barrier


def update(p, m, v, g):
    g = g.astype(F32)
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    return p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), m, v


def fused(x):
    y = apart(jnp.tanh(x))
    z = apart(y * 2 + 1)
    return jnp.sum(apart(z * y + z))


STREAMS = {"one": (1, lambda a: a * 2 + 1), "two": (2, lambda a, b: a * b + 1), "three": (3, lambda a, b, c: a * b + c), "two results": (1, lambda a: (a * 2 + 1, a * 3 + 2)),
           "of 16 bits": (1, lambda a: (a * 2 + 1).astype(BF16)), "of 32": (1, lambda a: (a * 2 + 1).astype(F32)), "of 1": (1, lambda a: a > .5), "sum": (1, lambda a: jnp.sum(a.astype(F32) * 2, 1))}


def stream(function, near):
    def read(*values):
        made = apart(function(*[apart(jnp.tanh(v)) for v in values] if near else values))
        return jax.tree.map(lambda v: v.astype(F32) + 1, made) if near else made
    return read


def product(a, b, result=BF16):
    x, y = apart(jnp.sin(a) * 2 + a), apart(jnp.sin(b) * 2 + b)
    return apart(apart((x @ y).astype(result)) * 2 + 1)


def layers(x, *weights):
    for w in weights:
        x = apart(x @ w)
    return x


BETWEEN = {"nothing": lambda scores: scores, "a factor": lambda scores: scores * .125, "a mask": lambda scores: jnp.where(jnp.tril(jnp.ones((512, 512), bool)), scores, -1e9),
           "a bias": lambda scores: scores + jnp.arange(512, dtype=F32).astype(scores.dtype), "a conversion": lambda scores: scores.astype(F32),
           "a conversion and a mask": lambda scores: jnp.where(jnp.tril(jnp.ones((512, 512), bool)), scores.astype(F32) * .125, -1e30)}


def behind(between):
    def loss(x, *weights):
        return across(between)(x, x, *weights)
    return jax.grad(loss, (0, 1, 2, 3))


def across(between):
    def loss(x, y, *weights):
        q, k, v = (jnp.einsum("bsd,dhk->bshk", t, w) for t, w in zip((x, y, y), weights))
        numbers = jax.nn.softmax(between(jnp.einsum("bqhk,bthk->bhqt", q, k)), axis=-1).astype(x.dtype)
        return jnp.sum(jnp.einsum("bhqt,bthk->bqhk", numbers, v).astype(F32) ** 2)
    return loss


def of_groups(x, wq, wk, wv):
    """Two queries to a key; the sum of squares of what comes out."""
    q, k, v = (jnp.einsum("bsd,dhk->bshk", x, w) for w in (wq, wk, wv))
    q = q.reshape(*k.shape[:3], 2, -1)
    shares = jax.nn.softmax(jnp.einsum("bqgrk,btgk->bgrqt", q, k).astype(F32) * .088, axis=-1).astype(x.dtype)
    return jnp.sum(jnp.einsum("bgrqt,btgk->bqgrk", shares, v).astype(F32) ** 2)


def beside(a, b, w):
    return jnp.concatenate([a, b], -1) @ w


def weights(equation):
    return lambda x, w: jnp.einsum(equation, x, w.astype(BF16))


def images(x, k1, k2, k3, target):
    def loss(*kernels):
        y = x
        for k in kernels:
            y = jax.nn.relu(jax.lax.conv_general_dilated(y, k.astype(BF16), (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
        return jnp.sum(y.astype(F32) * target.astype(F32))
    return jax.grad(loss, argnums=(0, 1, 2))(k1, k2, k3)


def convolved(x, first, second):
    def loss(x, first, second):
        def over(x, w):
            return jax.lax.conv_general_dilated(x, w.astype(BF16), (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        y = over(x, first)
        y = y + over(jax.nn.relu(y), second)
        return jnp.mean((y + over(jax.nn.relu(y), second)).astype(F32) ** 2)
    return jax.grad(loss, (1, 2))(x, first, second)


def features(x, w):
    return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def features_near(x, w):
    """Features of what is on the chip, read by a kernel that does more with them."""
    z = apart(features(apart(jnp.tanh(x) * 2), w))
    return jnp.sum(jnp.sin(z.astype(F32)), (0, 1, 2))


def with_holes(x, w):
    """The gradient of a convolution of stride 2 by its input, which reads the gradient of its result with holes between the elements."""
    places = "HW"[:x.ndim - 2]
    numbers = ("N%sC" % places, "%sIO" % places, "N%sC" % places)
    return jax.lax.conv_general_dilated(x, w, (1,) * len(places), [(1, 2)] * len(places), lhs_dilation=(2,) * len(places), dimension_numbers=numbers)


def chain(rounds, integers):
    def function(x, y):
        x, y = apart(x + 1), apart(y + 1)
        for i in range(rounds):
            if integers:
                x, y = x + y, (y << (13 + i % 7)) | (y >> (19 - i % 7))
                y = x ^ y
            else:
                x = x * y + 1.5
                y = jnp.maximum(y, x) * x
        return apart((x, y))[0] + 1
    return function


FUNCTIONS = {"exp": jnp.exp, "sqrt": jnp.sqrt, "rsqrt": jax.lax.rsqrt, "tanh": jnp.tanh, "log": jnp.log, "logistic": jax.nn.sigmoid, "sin": jnp.sin, "erf": jax.lax.erf}


def function_chain(rounds, function):
    def of_both(x, y):
        x, y = apart(x + 1), apart(y + 1)
        for _ in range(rounds):
            y = function(y) + x
        return apart((x, y))[1] + 1
    return of_both


def normalised(near):
    def function(x, scale, w):
        x = apart(jnp.tanh(x) * 2) if near else x
        return (x.astype(F32) * scale[:, None]).astype(BF16) @ w
    return function


def channels(x, w, target):
    def conv(x, w):
        return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=x.shape[-1])
    y, pull = jax.vjp(conv, x, w)
    return y, pull(target)


def rows(table, places, target):
    _, pull = jax.vjp(lambda t: t.astype(BF16)[places], table)
    return table - pull(target)[0]


def narrow(reduced):
    """Rows that are looked up, times a factor each, and what becomes of them."""
    return lambda table, places, share: reduced(jnp.tanh(table[places].astype(F32)) * share[:, None])


NARROW = {"all": lambda y: jnp.sum(y, 0), "each": lambda y: jnp.sum(y, 1), "of 16": lambda y: jnp.sum(y.reshape(-1, 16, y.shape[-1]), 1),
          "product": lambda y: y.astype(BF16) @ jnp.ones((y.shape[-1], 256), BF16)}


def scattered(window, inserted, indexed):
    """Adds windows of a table's rows; which dims of a window the updates leave out, and which ones indices point into."""
    dims = jax.lax.ScatterDimensionNumbers(update_window_dims=tuple(range(1, 3 - len(inserted))), inserted_window_dims=inserted, scatter_dims_to_operand_dims=indexed)
    shape = tuple(w for d, w in enumerate(window) if d not in inserted)

    def add(table, places, updates):
        return jax.lax.scatter_add(table, places, updates, dims, mode=jax.lax.GatherScatterMode.FILL_OR_DROP)
    return add, shape


def attention(x, wq, wk, wv):
    q, k, v = (jnp.einsum("bsd,dhk->bshk", x, w) for w in (wq, wk, wv))
    scores = jnp.einsum("bqhk,bthk->bhqt", q, k).astype(F32) * q.shape[-1] ** -0.5
    seen = jax.lax.broadcasted_iota(jnp.int32, scores.shape[-2:], 0) >= jax.lax.broadcasted_iota(jnp.int32, scores.shape[-2:], 1)
    weights = jax.nn.softmax(jnp.where(seen, scores, -1e30), axis=-1).astype(BF16)
    return jnp.einsum("bhqt,bthk->bqhk", weights, v)


def chip_values(x, w):
    y = apart(x @ w)
    z = apart(jnp.tanh(y) * 2)
    return jnp.sum(apart(apart(z @ w) * z).astype(F32))


def result_of(dtype):
    return lambda a, b: jnp.dot(a, b, preferred_element_type=F32).astype(dtype)


def result_near(dtype):
    def read(a, b, c):
        y = result_of(dtype)(a, b)
        return jnp.sin((y - y.max(axis=0)).astype(F32)) * c
    return read


def summed(xs, ys):
    def step(total, each):
        return total + jnp.dot(each[0].T, each[1], preferred_element_type=F32), None
    return jax.lax.scan(step, jnp.zeros((xs.shape[2], ys.shape[2]), F32), (xs, ys))[0]


def block(p, x):
    """Attention and what is before and behind it, with gradients."""
    def loss(p, x):
        q, k, v = (jnp.einsum("bsd,dhk->bshk", x, p[n].astype(x.dtype)) for n in "qkv")
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(F32) * q.shape[-1] ** -0.5
        y = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1).astype(x.dtype), v)
        return jnp.mean((x + jnp.einsum("bshk,hkd->bsd", y, p["out"].astype(x.dtype))).astype(F32) ** 2)
    return jax.grad(loss, (0, 1))(p, x)


def attention_block(heads, depth):
    def function(q, k, v, out, x):
        return block({"q": q, "k": k, "v": v, "out": out}, x)
    weights = [((heads * depth, heads, depth), F32)] * 3 + [((heads, depth, heads * depth), F32)]
    return function, weights


def read_by(products, terms):
    """A sum of squares of so many values, rounded, as an operand of so many products."""
    def function(left, right, *values):
        y = sum(v.astype(F32) * v.astype(F32) for v in values[:terms]).astype(BF16)
        return (y @ left, right @ y, y.T @ left)[:products]
    return function


def masked(mask_of):
    """Gradients of a product whose operand is masked."""
    def function(w1, w2, x, source):
        def loss(w1, w2, x):
            hidden = x @ w1
            return jnp.sum((jnp.where(mask_of(source, hidden), hidden / 0.9, 0) @ w2) ** 2)
        return jax.grad(loss, (0, 1, 2))(w1, w2, x)
    return function


def of_bits(bits, _):
    ones = jax.lax.bitcast_convert_type(jax.lax.shift_right_logical(bits, jnp.uint32(9)) | jnp.uint32(0x3f800000), F32)
    return ones - 1 < 0.9


def activated(depth):
    """Two products of a value that is made of one along 3 ** depth ways."""
    def function(x, bias, left, right):
        y = apart(x) + bias
        z = y
        for _ in range(depth):
            z = z * z * z + z * z * 0.5
        return (z.astype(BF16) @ left, right @ (z * y).astype(BF16))
    return function


def halves(x):
    y = jnp.tanh(x) * 2
    return y[:, ::2] * y[:, 1::2]


def spread(x):
    y = jnp.tanh(x) * 2
    return jax.lax.pad(y, 0.0, ((0, 0, 0), (0, 1, 1), (0, 0, 0))) + jax.lax.pad(y * y, 0.0, ((0, 0, 0), (1, 0, 1), (0, 0, 0)))


def zeros(dtype):
    return lambda x: (apart(jnp.zeros((65536, 512), dtype)), x)


def messages(table, share, sources, targets):
    """Windows of a table looked up, scaled, and added up by where they go."""
    scale = share[(...,) + (None,) * (table.ndim - share.ndim)].astype(table.dtype)
    return jax.ops.segment_sum(table[sources] * scale, targets, len(table))


def asked(q, w, keys, values, key, value, at):
    keys, values = (jax.lax.dynamic_update_slice(c, new[:, None], (0, at, 0, 0)) for c, new in ((keys, key), (values, value)))
    scores = jnp.einsum("bhk,bshk->bhs", jnp.einsum("bhk,kl->bhl", q, w), keys)
    return jnp.einsum("bhs,bshk->bhk", jax.nn.softmax(scores.astype(F32)).astype(BF16), values), keys, values


def moved(move):
    return lambda x: move(jnp.tanh(x))


MOVES = {"halves": lambda y: y[:, :512] * y[:, 512:], "pad": lambda y: -jnp.pad(y, ((0, 0), (0, 1023), (0, 0))), "borders": lambda y: (y, y[:, :1], y[:, -1:]),
         "joined": lambda y: jnp.concatenate([y, jnp.exp(y)], 1) * 2, "turned": lambda y: y[:, ::-1] * 2}


def network(x, *weights):
    for up, down in zip(weights[::2], weights[1::2]):
        x = x + jax.nn.silu(x @ up.astype(BF16)) @ down.astype(BF16)
    return x


def wide(x, w):
    return jnp.dot(x, w, preferred_element_type=F32)


BEHIND = {"convert": lambda x, a, b, c: wide(x, a).astype(BF16) @ c, "relu": lambda x, a, b, c: jax.nn.relu(x @ a) @ c, "sum": lambda x, a, b, c: (x + x @ a) @ c,
          "gate": lambda x, a, b, c: (jax.nn.silu(wide(x, a)) * wide(x, b)).astype(BF16) @ c, "gelu": lambda x, a, b, c: jax.nn.gelu(wide(x, a)).astype(BF16) @ c}


def eight(summed, to):
    """What the first product makes, in so many bits, into the second one; and a sum of it as it was."""
    def function(x, w, v, scale):
        y = x @ w
        most = 127.0 if to == jnp.int8 else 448.0
        scaled = jnp.clip(y.astype(F32) / scale, -most, most)
        quantised = (jnp.round(scaled) if to == jnp.int8 else scaled).astype(to)
        return jnp.einsum("ij,jk->ik", quantised, v.astype(to), preferred_element_type=jnp.int32 if to == jnp.int8 else BF16), summed(y)
    return function


EIGHT = {"its maximum": lambda y: jnp.max(jnp.abs(y)), "the maximum of its rows": lambda y: jnp.max(jnp.abs(y), 1), "the sum of its columns": lambda y: jnp.sum(y.astype(F32), 0), "itself": lambda y: y}


def few(equation, near):
    def multiplied(a, b):
        a = apart(jnp.tanh(a))
        made = apart(jnp.einsum(equation, a, apart(jnp.tanh(b)) if near else b))
        return apart(made * 2 + 1)
    return multiplied


def cached(cache, word, at):
    cache = cache.at[jnp.arange(at.shape[0]), at].set(word.astype(cache.dtype))
    return cache, jnp.max(cache.astype(BF16), axis=1)


def stacked(backwards, loops):
    def run(x, w):
        def turn(x, _):
            x = jnp.tanh(x @ w)
            return x, x * 2
        out = []
        for i in range(loops):
            x, made = jax.lax.scan(turn, x + i, None, length=16, reverse=backwards)
            out.append(made)
        return out
    return run


def scanned(xs):
    return jax.lax.scan(lambda carried, x: (jnp.tanh(carried) + x, None), jnp.zeros(xs.shape[1:]), xs)[0]


class Chip:
    def __init__(self, topology):
        self.name = topology.split(":")[0]
        device = topologies.get_topology_desc(platform="tpu", topology_name=topology).devices[0]
        self.sharding = NamedSharding(Mesh(numpy.array([device]), ("x",)), PartitionSpec())

    def text(self, function, *arguments, donated=()):
        args = [jax.ShapeDtypeStruct(shape, dtype, sharding=self.sharding) for shape, dtype in arguments]
        return jax.jit(function, out_shardings=self.sharding, donate_argnums=donated).lower(*args).compile().as_text()

    def kernels(self, function, *arguments, donated=()):
        """(line of the scheduled text, us) of every kernel that has an estimate."""
        for line in self.text(function, *arguments, donated=donated).splitlines():
            cycles = re.search(r'estimated_cycles":"(\d+)"', line)
            if cycles:
                yield line.strip().split("metadata")[0], int(cycles[1]) / CLOCK[self.name] * 1e6

    def listed(self, function, *arguments, least=2, donated=()):
        """Kernels of so many us, as words."""
        return ", ".join("%s %.0f" % (line.replace("ROOT ", "").split(" = ")[0].strip("%"), us) for line, us in self.kernels(function, *arguments, donated=donated) if us >= least)

    def lanes_of(self, function, shape, arguments):
        """Which dim is in the lanes of most values of that shape between the kernels."""
        text = self.text(function, *arguments)
        found = re.findall(r"= \(?[^=]*?bf16\[%s\]\{(\d)" % ",".join(map(str, shape)), text[text.index("\nENTRY"):])
        most = int(max(set(found), key=found.count)) if found else -1
        return "-" if most < 0 else "rows" if most == len(shape) - 1 else "dim %d" % most

    def worked(self, function, *arguments):
        """us of each kernel that has an estimate, and what is worked in it besides a product, as words."""
        text = self.text(function, *arguments)
        bodies = {found[1]: found[2] for found in re.finditer(r"^%?([\w.-]+) \([^\n]*\{\n(.*?)^\}", text, re.DOTALL | re.MULTILINE)}

        def ops(name):
            for op, rest in re.findall(r" = \S+ ([\w-]+)\(([^\n]*)", bodies[name]):
                if op == "fusion":
                    yield from ops(re.search(r"calls=%?([\w.-]+)", rest)[1])
                elif op not in ("parameter", "constant", "bitcast", "broadcast", "convolution"):
                    yield op
        of_each = []
        for line in text[text.index("\nENTRY"):].splitlines():
            cycles, called = re.search(r'estimated_cycles":"(\d+)"', line), re.search(r"calls=%?([\w.-]+)", line)
            if cycles:
                of_each.append("%.0f %s" % (int(cycles[1]) / CLOCK[self.name] * 1e6, "+".join(sorted(set(ops(called[1])))) if called else ""))
        return ", ".join(map(str.strip, of_each))

    def per_1024(self, us, elements):
        return us * 1e-6 * CLOCK[self.name] * 1024 / elements

    def say(self, what, *words):
        print(self.name, "%-8s" % what, *words, flush=True)


def normed(axes):
    """1x1 convolutions, the first one's result normalised over these axes, if over any."""
    def run(x, a, b, c):
        y = features(x, a)
        if axes is not None:
            wide = y.astype(F32)
            mean = jnp.mean(wide, axes, keepdims=True)
            y = ((wide - mean) * jax.lax.rsqrt(jnp.mean(jnp.square(wide - mean), axes, keepdims=True) + 1e-5)).astype(BF16)
        return features(features(jax.nn.relu(y), b), c)
    return run


def centred(x):
    wide = x.astype(F32)
    wide = wide - jnp.mean(wide, axis=-1, keepdims=True)
    return (wide * jax.lax.rsqrt(jnp.mean(jnp.square(wide), axis=-1, keepdims=True) + 1e-5)).astype(BF16)


def turned(x, w, v):
    """A product, and what is made of it centred."""
    y = x @ w
    return (y + jax.nn.gelu(centred(y) @ v) @ v) @ v


TURNED = (("summed", turned), ("not summed", lambda x, w, v: jax.nn.gelu(x @ w) @ v), ("merged", lambda x, w, v: centred(x @ w).reshape(-1, w.shape[1]) @ v))


def words(rounds, known):
    def run(a, b, key, turns):
        for i in range(rounds):
            turn = jnp.uint32((13, 15, 26, 6)[i % 4]) if known else turns[i]
            a, b = a + b, (b << turn) | (b >> (jnp.uint32(32) - turn))
            b = a ^ b
        return a + key[0], b + key[1] + key[2]
    return run


def times_all(x, *vectors):
    return functools.reduce(jnp.multiply, vectors, x)


def loss(x, table, labels):
    def of(x, table):
        logits = (x @ table.astype(BF16)).astype(F32)
        return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - jnp.take_along_axis(logits, labels[:, None], axis=-1)[:, 0])
    return jax.value_and_grad(of, argnums=(0, 1))(x, table)


def main(topologies_wanted):
    for chip in map(Chip, topologies_wanted):
        for n in (8, 128, 2048, 32768):
            us = sum(t for _, t in chip.kernels(update, *[((n, 4096), F32)] * 3, ((n, 4096), BF16)))
            chip.say("update", "%5d rows: %8.1f us, %.3f of the memory's rate without a launch of 1.2 us" % (n, us, 26 * n * 4096 / MEMORY[chip.name] / (us - 1.2) * 1e6))
        us = sum(t for _, t in chip.kernels(lambda x: x.astype(BF16), ((8192, 2048), F32)))
        chip.say("convert", "%.1f" % chip.per_1024(us, 8192 * 2048))
        for dtype in (BF16, F32):
            of_each = [chip.per_1024(t, 2048 * 2048) for line, t in chip.kernels(fused, ((2048, 2048), dtype)) if " fusion(" in line]
            chip.say("fused", dtype.__name__, " ".join("%.1f" % c for c in of_each[:2]))
        for dtype, near in ((F32, True), (BF16, True), (F32, False), (BF16, False)):
            shape = (2048, 2048) if near else (16384, 4096)
            of_each = {}
            for name, (operands, function) in STREAMS.items():
                found = [t for line, t in chip.kernels(stream(function, near), *[(shape, dtype)] * operands) if " fusion(" in line]
                of_each[name] = "%s %.1f" % (name, chip.per_1024(found[0], shape[0] * shape[1])) if found else name + " -"
            chip.say("stream", dtype.__name__, "on the chip:" if near else "in memory:", ", ".join(of_each.values()))
        for m, k, n in ((128, 128, 128), (512, 512, 512), (1024, 1024, 1024), (1024, 2048, 2048), (2048, 2048, 4096), (4096, 4096, 4096)):
            us = [next(t for line, t in chip.kernels(lambda a, b: product(a, b, result), ((m, k), BF16), ((k, n), BF16)) if "convolution" in line or "kOutput" in line) for result in (BF16, F32)]
            chip.say("product", "%d x %d x %d: " % (m, k, n) + ", ".join("%.2f and %.2f us" % (t, t - 2e6 * m * k * n / PEAK[chip.name]) for t in us))
        for rows, width, inner in ((1024, 4096, 4096), (2048, 4096, 14336), (8192, 4096, 14336), (4096, 2048, 20480), (4096, 1024, 40960)):
            found = chip.kernels(layers, ((rows, width), BF16), *[((width, inner), BF16), ((inner, width), BF16)] * 2)
            at_peak = 2e6 * rows * width * inner / PEAK[chip.name]
            chip.say("split", "%d x %d x %d, %.1f us at the peak rate:" % (rows, width, inner, at_peak), ", ".join("%.1f" % t for line, t in found if "kOutput" in line))
        for equation, name in (("bgrk,btgk->bgrt", "scores"), ("bgrt,btgk->bgrk", "values")):
            for texts, queries, near in ((8, 4, True), (8, 8, True), (8, 32, True), (32, 4, False)):
                few_ones = (texts, 8, queries, 128 if name == "scores" else 2048)
                chip.say("few", name, "%d queries," % queries, "on the chip:" if near else "in memory:", chip.listed(few(equation, near), (few_ones, BF16), ((texts, 2048, 8, 128), BF16)))
        for rows in (4, 8, 32, 64):
            chip.say("few", "%d rows:" % rows, chip.listed(few("bk,kn->bn", True), ((rows, 4096), BF16), ((4096, 4096), BF16)))
        for heads, dtype in ((2, jnp.int8), (3, jnp.int8), (4, jnp.int8), (2, BF16)):
            chip.say("caches", dtype.__name__, "%d heads:" % heads, chip.listed(cached, ((32, 2048, heads, 128), dtype), ((32, heads, 128), BF16), ((32,), jnp.int32), donated=(0,)))
        for heads in (2, 8, 64):
            chip.say("caches", "scales of %d heads:" % heads, chip.listed(cached, ((32, 2048, heads), F32), ((32, heads), F32), ((32,), jnp.int32), donated=(0,)))
        for backwards, loops in ((False, 1), (True, 1), (False, 2)):
            text = chip.text(stacked(backwards, loops), ((256, 1024), BF16), ((1024, 1024), BF16))
            chip.say("stacked", "%d loops" % loops, "backwards:" if backwards else "forwards:", "%d filled" % len(re.findall(r" = bf16\[16,256,1024\]\S* broadcast\(", text)))
        for name, function in BEHIND.items():
            chip.say("behind", name, chip.worked(function, ((16384, 4096), BF16), *[((4096, 4096), BF16)] * 3))
        for to in (jnp.float8_e4m3fn, jnp.int8):
            for name, summed in EIGHT.items():
                chip.say("eight", to.__name__, "and", name + ":", chip.worked(eight(summed, to), ((2048, 2048), BF16), ((2048, 8192), BF16), ((8192, 2048), BF16), ((), F32)))
        chip.say("eight", "bfloat16 and its maximum:", chip.worked(eight(EIGHT["its maximum"], BF16), ((2048, 2048), BF16), ((2048, 8192), BF16), ((8192, 2048), BF16), ((), F32)))
        for equation, x, w in (("bd,df->bf", (1024, 3072), (3072, 3072)), ("bd,dhk->bhk", (1024, 3072), (3072, 24, 128)),
                               ("bhk,dhk->bd", (1024, 24, 128), (3072, 24, 128)), ("bhk,hkd->bd", (1024, 24, 128), (24, 128, 3072)),
                               *(("bd,dhk->bhk", (1024, 3072), (3072, heads, 128)) for heads in (4, 6, 8, 12, 16)), ("bd,dhk->bhk", (1024, 1024), (1024, 16, 64))):
            chip.say("weights", equation, "x".join(map(str, w)), chip.listed(weights(equation), (x, BF16), (w, F32), least=0))
        for n in (4, 8):
            us = sum(t for _, t in chip.kernels(images, ((n, 32, 32, 128), BF16), *[((3, 3, 128, 128), F32)] * 3, ((n, 32, 32, 128), BF16)))
            chip.say("images", "%d: %8.1f us, %.0f" % (n, us, chip.per_1024(us, n * 32 * 32 * 128)))
        for n in (16, 32, 64, 96):
            args = ((16, 56, 56, n), BF16), ((3, 3, n, 64), BF16)
            near = max(t for line, t in chip.kernels(features_near, *args) if "kOutput" in line)
            far = next(t for line, t in chip.kernels(features, *args) if " fusion(" in line)
            chip.say("features", "%d: %.1f, %.1f us" % (n, near, far))
        for n, size, of in ((16, 128, 32), (128, 40, 32), (16, 88, 64), (64, 40, 64), (128, 32, 64), (160, 24, 64), (16, 72, 96), (128, 24, 96), (16, 48, 192), (128, 16, 192)):
            found = chip.listed(convolved, ((n, size, size, of), BF16), *[((3, 3, of, of), F32)] * 2, least=20)
            chip.say("lanes", "%d of %d x %d, %d:" % (n, size, size, of), found)
        for n, size, of in ((32, 32, 256), (32, 32, 128), (128, 16, 256), (16, 32, 256)):
            args = [((n, size, size, 16), BF16), ((1, 1, 16, of), BF16), ((1, 1, of, of), BF16), ((1, 1, of, 16), BF16)]
            found = ["%s: %s" % (name, chip.listed(normed(axes), *args)) for name, axes in (("nothing", None), ("features", 3), ("images", (0, 1, 2)))]
            chip.say("normed", "%d of %d x %d, %d, %s" % (n, size, size, of, "; ".join(found)))
        for shape in ((8, 4096, 512), (8, 16384, 512), (32, 4096, 512), (8, 28, 28, 256), (16, 28, 28, 256), (32, 28, 28, 256)):
            us = max(t for _, t in chip.kernels(with_holes, (shape, BF16), ((3,) * (len(shape) - 2) + shape[-1:] * 2, BF16)))
            chip.say("holes", "%s: %.1f us" % (" x ".join(map(str, shape)), us))
        for integers, each in ((True, 5), (False, 4)):
            us = [max(t for _, t in chip.kernels(chain(n, integers), *[((2048, 2048), jnp.uint32 if integers else F32)] * 2)) for n in (32, 64)]
            chip.say("chains", "of %s: %.3f" % ("integers" if integers else "floats", chip.per_1024(us[1] - us[0], 2048 * 2048) / (32 * each)))
        for m, k, n in ((1024, 4096, 4096), (4096, 2048, 8192), (2048, 4096, 14336), (4096, 4096, 14336), (8192, 4096, 14336), (1024, 4096, 128256)):
            us = sum(t for _, t in chip.kernels(lambda x, w: x @ w, ((m, k), BF16), ((k, n), BF16)))
            chip.say("matmul", "%d x %d x %d: %.1f us, %.3f" % (m, k, n, us, 2 * m * k * n / PEAK[chip.name] / us * 1e6))
        for n, images, size in ((n, *each) for n in (128, 256) for each in ((16, 56), (8, 28), (8, 14))):
            us = max(t for line, t in chip.kernels(features_near, ((images, size, size, n), BF16), ((3, 3, n, n), BF16)) if "kOutput" in line)
            chip.say("matmul", "3 x 3 of %d features, %d x %d x %d: %.1f us, %.3f" % (n, images, size, size, us, 2 * images * size ** 2 * (3 * n) ** 2 / PEAK[chip.name] / us * 1e6))
        for name, function in FUNCTIONS.items():
            us = [max(t for _, t in chip.kernels(function_chain(n, function), *[((2048, 2048), F32)] * 2)) for n in (16, 48)]
            chip.say("function", "%s: %.1f" % (name, chip.per_1024(us[1] - us[0], 2048 * 2048) / 32 / .26 - 1))
        for m, k, n in ((1024, 4096, 28672), (1024, 4096, 128256), (4096, 4096, 28672)):
            args = ((m, k), BF16), ((m,), F32), ((k, n), BF16)
            far, near = (max(t for _, t in chip.kernels(normalised(near), *args)) for near in (False, True))
            alone = max(t for _, t in chip.kernels(lambda x, scale, w: apart(jnp.tanh(x) * 2) @ w, *args))
            chip.say("front", "%d x %d x %d: %.0f, %.0f, %.0f" % (m, k, n, far, near, alone))
        for n, size, width, window in ((16, 56, 128, 3), (16, 56, 128, 7), (16, 28, 256, 7), (64, 28, 256, 5)):
            x = ((n, size, size, width), BF16)
            chip.say("channels", "%d x %d x %d x %d, %d x %d, %d million products:" % (n, size, size, width, window, window, n * size * size * width * window ** 2 // 10 ** 6),
                     chip.listed(channels, x, ((window, window, 1, width), BF16), x))
        # wider tables on v5p and v6e are for the sparse cores, of whose programs PJRT reads no text
        for n, width in ((262144, 64), (262144, 128), (262144, 192), (1048576, 16)) if chip.name == "v5e" else ():
            chip.say("rows", "%d of %d:" % (n, width), chip.listed(rows, ((n, width), F32), ((4096,), jnp.int32), ((4096, width), BF16)))
        for dtype, width, name in ((dtype, width, name) for dtype in (F32, BF16) for width in (8, 32, 64) for name in NARROW):
            found = chip.listed(narrow(NARROW[name]), ((32768, width), dtype), ((65536,), jnp.int32), ((65536,), F32))
            chip.say("narrow", "%s, rows of %d, %s:" % (dtype.__name__, width, name), found)
        for window, inserted, indexed in (((1, 128), (0,), (0,)), ((1, 128), (), (0,)), ((1, 128), (), (0, 1)), ((2, 128), (), (0,))):
            add, shape = scattered(window, inserted, indexed)
            args = ((32768, 128), F32), ((16384, len(indexed)), jnp.int32), ((16384,) + shape, F32)
            turn = [us for _, us in chip.kernels(add, *args)]
            loops = " while(" in chip.text(add, *args)
            chip.say("scatter", "%d x %d, inserted %s, indexed %s: %s" % (*window, inserted, indexed, "a loop of %d kernels, %.2f us a turn" % (len(turn), sum(turn)) if loops else
                                                                          chip.listed(add, *args)))
        for dtype in (F32, BF16):
            chip.say("windows", "zeros of 65536 x 512 in %s:" % dtype.__name__, chip.listed(zeros(dtype), ((8,), F32)))
        # v5p and v6e look rows up on cores of their own, and programs that do so cannot be printed
        for window in ((64,), (1, 64), (2, 64), (8, 64), (2, 128), (4, 128), (8, 16), (64, 3), (4, 2, 64)) if chip.name == "v5e" else ():
            args = ((32768, *window), BF16), ((65536, *window[:-1]), F32), ((65536,), jnp.int32), ((65536,), jnp.int32)
            chip.say("windows", " x ".join(map(str, window)) + ":", chip.listed(messages, *args, least=5))
        for window in ((64, 2), (256, 4), (1024, 1), (1024, 2), (1024, 4), (1024, 8), (1024, 16)):
            args = ((65536 // window[0], *window, 128), BF16), ((65536 // window[0],), jnp.int32)
            chip.say("windows", "%d of %d x %d x 128:" % (65536 // window[0], *window), chip.listed(lambda t, i: t[i], *args, least=5))
        for window in ((8, 128), (8, 64), (8, 8), (2, 64), (16, 64)) if chip.name == "v5e" else ():
            args = ((65536, *window), F32), ((4096,), jnp.int32), ((4096, *window), F32)
            chip.say("windows", "4096 of %s written into 65536:" % " x ".join(map(str, window)), chip.listed(lambda t, i, u: t.at[i].set(u), *args, least=5))
        for dtype in (BF16, F32):
            for name, function, shapes in (("matrix x vector", lambda a, b: a @ b, ((8192, 4096), (4096,))), ("vector x matrix", lambda a, b: a @ b, ((8192,), (8192, 4096))),
                                           ("dot products", lambda a, b: jnp.einsum("bd,bd->b", a, b), ((65536, 512), (65536, 512))),
                                           ("outer products", lambda a, b: jnp.einsum("bi,bj->bij", a, b), ((512, 512), (512, 512)))):
                chip.say("vectors", "%s, %s: %s" % (name, dtype.__name__, chip.listed(function, *[(s, dtype) for s in shapes])))
        for heads in (1, 2, 4, 8, 16):
            q, cache = ((64, heads, 128), BF16), ((64, 1024, heads, 128), BF16)
            chip.say("vectors", "%d queries: %s" % (heads, chip.listed(asked, q, ((128, 128), BF16), cache, cache, q, q, ((), jnp.int32), donated=(2, 3), least=5)))
        for name, move in MOVES.items():
            chip.say("moves", name + ":", chip.listed(moved(move), ((4, 1024, 1024), F32)))
        for places in (1024, 2048, 2560, 3072, 4096):
            chip.say("softmax", "%d:" % places, chip.listed(attention, ((1, places, 1024), BF16), *[((1024, 8, 128), BF16)] * 3, least=40))
        for dtype in (F32, BF16):
            made = {name: "with" if "reduce-window" in chip.text(behind(between), ((4, 512, 512), dtype), *[((512, 8, 64), dtype)] * 3) else "apart" for name, between in BETWEEN.items()}
            chip.say("softmax", dtype.__name__, ", ".join("%s: %s" % each for each in made.items()))
        of_factor = across(lambda scores: scores.astype(F32) * .125)
        for queries, keys, depth in ((2048, 2048, 128), (3072, 3072, 128), (512, 4096, 64), (4096, 4096, 64), (1024, 4096, 128), (4096, 4096, 128), (1024, 5120, 128), (512, 8192, 64)):
            shapes = ((2, queries, 512), BF16), ((2, keys, 512), BF16), *[((512, 8, depth), BF16)] * 3
            alone = r" = (?:f32|bf16)\[2,8,%d,%d\]\S* fusion\([^)]*\), kind=kOutput" % (queries, keys)
            made = ["apart" if re.search(alone, chip.text(f, *shapes).split("\nENTRY")[1]) else "with" for f in (of_factor, jax.grad(of_factor, (2, 3, 4)))]
            chip.say("softmax", "%d x %d, %d deep: %s; with gradients: %s" % (queries, keys, depth, *made))
        for sequences in (1, 4):
            shapes = ((sequences, 1024, 512), BF16), ((512, 8, 128), BF16), *[((512, 4, 128), BF16)] * 2
            numerators = r" = \(f32\[[\d,]+\]\S*, f32\[(?:4,)?4,(?:1024,1024,2|2,1024,1024)\]\S*\) fusion\([^)]*\), kind=kOutput"
            made = ["numerators" if re.search(numerators, chip.text(f, *shapes).split("\nENTRY")[1]) else "scores" for f in (of_groups, jax.grad(of_groups, (1, 2, 3)))]
            chip.say("grouped", "%d sequences: %s; with gradients: %s" % (sequences, *made))
        halves = ((65536, 256), BF16), ((65536, 256), BF16), ((512, 512), BF16)
        for name, function in (("one", beside), ("two", jax.grad(lambda *a: jnp.sum(beside(*a).astype(F32) ** 2), 2))):
            chip.say("pieces", name, "product%s:" % ("" if name == "one" else "s"), chip.listed(function, *halves))
        for dtype in (BF16, F32):
            for width, hidden in ((3072, 4096), (3072, 6144), (2048, 16384)):
                text = chip.text(network, ((4096, width), BF16), *[((width, hidden), dtype), ((hidden, width), dtype)] * 3)
                found = re.findall(r"= \((\w+\[[\d,]*\])[^\n]*cross_program_prefetch_index", text)
                chip.say("start", "%s, %d x %d: %s" % (dtype.__name__, width, hidden, ", ".join(found) or "none"))
        for summands in (128, 512, 2048):
            args, words = [((4096, summands), BF16), ((summands, 4096), BF16)], []
            for dtype in (F32, BF16):
                near = next(t for _, t in chip.kernels(result_near(dtype), *args, ((4096, 4096), F32)))
                far = sum(t for _, t in chip.kernels(result_of(dtype), *args))
                words.append("%s %.1f, %.1f" % (dtype.__name__, near, far))
            chip.say("results", "of %d summands:" % summands, "; ".join(words))
        for m, k in ((16, 128), (32, 32), (49, 32), (64, 32), (128, 32), (128, 64)):
            us = next(t for line, t in chip.kernels(lambda a, b: jnp.einsum("bmk,bnk->bmn", a, b), *[((4096, m, k), BF16)] * 2) if " fusion(" in line)
            chip.say("small", "%d x %d x %d: %.1f, %.4f" % (m, k, m, us / 4.096, us / 4.096 / (-(-m // 8) * 8 * (-(-m // 128) * 128))))
        for batch, places, depth in ((1024, 128, 128), (1024, 128, 64), (512, 256, 64), (512, 256, 128), (128, 512, 64), (128, 512, 128), (64, 1024, 64), (64, 1024, 128),
                                     (8192, 128, 128), (4096, 256, 64), (2048, 512, 128), (1024, 1024, 128)):
            narrow, square = ((batch, places, depth), BF16), ((batch, places, places), BF16)
            made = (("bqk,btk->bqt", narrow, narrow), ("bqt,btk->bqk", square, narrow), ("bqt,bqk->btk", square, narrow))
            chip.say("batches", "%d x %d, %d deep: %s" % (batch, places, depth, ", ".join("%.0f" % sum(
                us for _, us in chip.kernels(lambda a, b, numbers=numbers: jnp.einsum(numbers, a, b), *shapes)) for numbers, *shapes in made)))
        for batch, places, heads, depth in ((1024, 49, 16, 32), (512, 77, 8, 64), (256, 197, 12, 64), (256, 256, 12, 64), (64, 196, 16, 64), (128, 577, 16, 64)):
            function, weights_of = attention_block(heads, depth)
            found = list(chip.kernels(function, *weights_of, ((batch, places, heads * depth), BF16)))
            chip.say("places", "%d x %d, %d heads of %d: %.0f, %.0f" % (batch, places, heads, depth, sum(us for _, us in found),
                                                                        sum(us for line, us in found if line.startswith(("%copy", "copy")))))
        for n, row, k, dtype in ((8192, 1024, 16, F32), (8192, 1024, 16, BF16), (65536, 256, 8, F32), (2048, 32768, 64, BF16), (512, 32768, 0, F32), (8192, 1024, 0, F32)):
            function = (lambda x, k=k: jax.lax.top_k(x, k)) if k else jnp.sort
            chip.say("sorts", "%d x %d %s, %s: %s" % (n, row, dtype.__name__, "top %d" % k if k else "sort", chip.listed(function, ((n, row), dtype))))
        for n in (256, 512, 1024, 2048):
            for k in (128, 256, 512, 1024, 2048):
                chip.say("rows of", "%d, %d: %s" % (k, n, chip.listed(lambda a, b: a @ b, ((262144, k), BF16), ((k, n), BF16))))
        for products in (2, 3):
            for dtypes in ((BF16,) * 2, (F32, BF16), (BF16,) * 3, (F32,) * 2):
                args = [((8192, 2048), BF16), ((2048, 8192), BF16), *[((8192, 8192), dtype) for dtype in dtypes]]
                found = [line for line, us in chip.kernels(read_by(products, len(dtypes)), *args) if us > 5 and " copy(" not in line]
                chip.say("again", "%d products, %d bytes: %s" % (products, sum(4 if d == F32 else 2 for d in dtypes), "apart" if len(found) > products else "in each"))
        for name, mask_of, source in (("bits", of_bits, jnp.uint32), ("its sign", lambda _, hidden: hidden > 0, F32)):
            text = chip.text(masked(mask_of), *[((1024, 1024), F32)] * 2, ((2048, 1024), F32), ((2048, 1024), source))
            chip.say("masks", "of %s: %s" % (name, "kept" if re.search(r"= \(?[^=]*pred\[2048,1024\][^=]* fusion\(", text[text.index("\nENTRY"):]) else "made again"))
        for name, function in (("a chain of products", lambda x, a, b, c: (x @ a) @ b), ("read by two products", lambda x, a, b, c: ((x @ a) @ b, (x @ a) @ c)),
                               ("read by a product and a sum", lambda x, a, b, c: ((x @ a) @ b, x @ a + x))):
            entry = chip.text(function, ((2048, 1024), F32), *[((1024, 1024), F32)] * 3).split("\nENTRY")[1]
            chip.say("rounded", "%s: %s" % (name, ", ".join(re.sub(r"\{[^}]*\}", "", t) for t in re.findall(r"fusion[.\d]* = (.*?) fusion\(", entry))))
        for name, function in (("halves", halves), ("spread", spread)):
            entry = chip.text(function, ((4, 1024, 1024), F32)).split("\nENTRY")[1]
            ops = re.findall(r"= \(?(\w+\[[\d,]*\]).*? (slice|pad|fusion|multiply|add)\(", entry)
            chip.say("skips", "%s: %s" % (name, ", ".join("%s %s" % (op, shape) for shape, op in ops)))
        for depth in (1, 3, 5):
            found = list(chip.kernels(activated(depth), ((2048, 2048), F32), ((2048,), F32), *[((2048, 2048), BF16)] * 2))
            chip.say("readers", "%d ways: %d kernels" % (3 ** depth, sum(us > 5 for _, us in found)))
        for m, k in ((2048, 16), (2048, 128), (4096, 128)):
            line, us = max(chip.kernels(summed, ((8, k, m), BF16), ((8, k, 8192), BF16)), key=lambda kernel: kernel[1])
            chip.say("loop", "%d x %d of %d: %.1f %s" % (m, 8192, k, us, "S1" if "S(1)" in line.split("fusion(")[0] else "-"))
        for shape in ((256, 8, 16, 64), (100, 8, 16, 64), (64, 8, 16, 64), (256, 32, 16, 64), (256, 8, 16, 16), (256, 64, 64), (256, 8, 8, 128), (256, 128, 16, 64), (256, 8, 4, 64)):
            found = [us for line, us in chip.kernels(scanned, (shape, F32)) if "dynamic-slice_reduce" in line.split(" = ")[0]]
            chip.say("sliced", "%s: %.1f" % (" x ".join(map(str, shape)), sum(found)))
        for length, batch, width in ((256, 32, 1024), (256, 8, 1024), (64, 32, 512), (20, 32, 512), (256, 128, 512)):
            found = [us for line, us in chip.kernels(lambda x: scanned(jnp.moveaxis(x * 2, 1, 0)), ((batch, length, width), F32)) if "dynamic-slice" in line.split(" = ")[0]]
            chip.say("sliced", "%d x %d x %d, turned: %.1f" % (length, batch, width, sum(found)))
        for rounds, known in ((2, True), (4, True), (2, False), (4, False)):
            chip.say("words", "%d rounds, %s:" % (rounds, "known" if known else "not known"),
                     chip.listed(words(rounds, known), *[((4096, 8192), jnp.uint32)] * 2, ((3,), jnp.uint32), ((8,), jnp.uint32)))
        for name, function in (("written", times_all), ("summed up", lambda x, *v: jnp.sum(times_all(x, *v), axis=1))):
            of_each = [chip.per_1024(max(us for _, us in chip.kernels(function, ((8192, 4096), F32), *[((4096,), F32)] * n)), 8192 * 4096) for n in (8, 11, 12, 30)]
            chip.say("operands", "%s, 9, 12, 13 and 31: %s" % (name, " ".join("%.1f" % c for c in of_each)))
        for rows, width, many in ((4096, 1024, 32768), (8192, 1024, 32768), (8192, 2048, 32768), (2048, 4096, 32768), (4096, 768, 50304)) if chip.name == "v5e" else ():
            chip.say("losses", "%d x %d, %d words:" % (rows, width, many), chip.listed(loss, ((rows, width), BF16), ((width, many), F32), ((rows,), jnp.int32)))
        for shape in ((8, 512, 512), (8, 384, 512), (8, 640, 512), (8, 1000, 512), (8, 512, 768), (64, 128, 512), (1024, 64, 256), (512, 192, 256), (4096, 128, 256), (8192, 512),
                      (512, 768), (8, 32, 32, 256), (256, 8, 8, 128), (2, 256, 256, 128)):
            args = [((*shape[:-1], 64), BF16), ((64, shape[-1]), BF16), ((shape[-1], shape[-1]), BF16)]
            chip.say("turned", "%s: %s" % (" x ".join(map(str, shape)), "; ".join("%s %s" % (name, chip.lanes_of(function, shape, args)) for name, function in TURNED[:2])))
        for name, function in TURNED[2:]:
            args = [((8, 1024, 64), BF16), ((64, 512), BF16), ((512, 512), BF16)]
            chip.say("turned", "8 x 1024 x 512, %s: %s" % (name, chip.lanes_of(function, (8, 1024, 512), args)))
        for rows, columns in ((32768, 256), (32768, 1024), (8192, 512)):
            chip.say("turned", "%d x %d, returned: %s" % (rows, columns, chip.listed(lambda x, w: centred(x @ w), ((rows, 64), BF16), ((64, columns), BF16))))
        for mib in (40, 44, 48, 88, 96, 112):
            text = chip.text(chip_values, ((mib << 8, 2048), BF16), ((2048, 2048), BF16))
            found = re.findall(r"%%(tanh|fusion)[^ ]* = bf16\[%d,2048\]\{([^}]*)\}" % (mib << 8), text[text.index("\nENTRY"):])
            chip.say("chip", "%d MiB:" % mib, ", ".join("%s %s" % ("elementwise" if name == "tanh" else "product", "S1" if "S(1)" in layout else "-") for name, layout in found))


if __name__ == "__main__":
    main(sys.argv[1:] or ["v5e:4x4", "v5p:2x2x2", "v6e:2x4"])
