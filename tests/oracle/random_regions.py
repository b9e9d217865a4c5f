"""Random programs with regions: loops, conditionals, calls and manual computations, nested, cut at random on the way.

control(seed, axes) -> (text for one device, text with shardings, shapes of the arguments); the two compute the same.
manual(seed, axes) -> text for the devices of the mesh, shapes of the arguments."""
import random

from random_ops import tensor

SHAPES = ((6, 8), (8, 6), (5, 12), (7,), (3, 4, 2), ())
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_permute", "partition_id")


def rank_of(kind):
    return kind.count("x", 0, kind.rindex("x") + 1) if "x" in kind else 0


def product(axes):
    n = 1
    for _, size in axes:
        n *= size
    return n


class Writer:
    """Lines of a function; values are (name, shape)."""

    starts = (("add", "0.0"), ("maximum", "-2.0"), ("minimum", "2.0"))  # of reductions

    def __init__(self, rng, axes):
        self.r, self.axes, self.n = rng, axes, 0

    def name(self):
        self.n += 1
        return "%%v%d" % self.n

    def constant(self, lines, text, kind):
        name = self.name()
        lines.append("%s = stablehlo.constant dense<%s> : %s" % (name, text, kind))
        return name

    def vector(self, lines):
        out = self.name()
        lines.append("%s = stablehlo.iota dim = 0 : tensor<7xf32>" % out)
        return out, (7,)

    def elementwise(self, lines, values):
        name, shape = self.r.choice(values)
        same = [v for v, s in values if s == shape]
        out, t = self.name(), tensor(shape)
        if self.r.random() < .5:
            lines.append("%s = stablehlo.%s %s : %s" % (out, self.r.choice(("tanh", "cosine", "negate", "logistic")), name, t))
        else:
            lines.append("%s = stablehlo.%s %s, %s : %s" % (out, self.r.choice(("add", "multiply", "maximum", "subtract")), name, self.r.choice(same), t))
        return out, shape

    def contract(self, lines, values):
        name, shape = self.r.choice([v for v in values if v[1]] or [self.vector(lines)])
        other, right = self.r.choice([v for v in values if v[1]] or [self.vector(lines)])
        pairs = [(i, k) for i, n in enumerate(shape) for k, m in enumerate(right) if n == m]
        if not pairs or len(shape) + len(right) > 5:
            return self.elementwise(lines, values)
        i, k = self.r.choice(pairs)
        result = tuple(n for d, n in enumerate(shape) if d != i) + tuple(n for d, n in enumerate(right) if d != k)
        out, scaled = self.name(), self.name()
        lines.append("%s = stablehlo.dot_general %s, %s, contracting_dims = [%d] x [%d] : (%s, %s) -> %s" % (
            out, name, other, i, k, tensor(shape), tensor(right), tensor(result)))
        lines.append("%s = stablehlo.tanh %s : %s" % (scaled, out, tensor(result)))
        return scaled, result

    def reduce(self, lines, values):
        name, shape = self.r.choice([v for v in values if v[1]] or [self.vector(lines)])
        d, out = self.r.randrange(len(shape)), self.name()
        kind, start = self.r.choice(self.starts)
        init = self.constant(lines, start, "tensor<f32>")
        result = shape[:d] + shape[d + 1:]
        lines.append("%s = stablehlo.reduce(%s init: %s) applies stablehlo.%s across dimensions = [%d] : (%s, tensor<f32>) -> %s" % (
            out, name, init, kind, d, tensor(shape), tensor(result)))
        scaled = self.name()
        lines.append("%s = stablehlo.tanh %s : %s" % (scaled, out, tensor(result)))
        return scaled, result

    def transpose(self, lines, values):
        name, shape = self.r.choice([v for v in values if v[1]] or [self.vector(lines)])
        order, out = list(range(len(shape))), self.name()
        self.r.shuffle(order)
        result = tuple(shape[d] for d in order)
        lines.append("%s = stablehlo.transpose %s, dims = %s : (%s) -> %s" % (out, name, order, tensor(shape), tensor(result)))
        return out, result

    def moved(self, lines, values):
        """Another cut of a value; module() writes what the line becomes."""
        name, shape = self.r.choice(values)
        out = self.name()
        lines.append("CUT %s %s %s" % (out, name, tensor(shape)))
        return out, shape

    def scalar(self, lines, values):
        """A scalar of the data, whole on every device."""
        name, shape = self.r.choice(values)
        if not shape:
            return name
        out, init = self.name(), self.constant(lines, "0.0", "tensor<f32>")
        lines.append("%s = stablehlo.reduce(%s init: %s) applies stablehlo.add across dimensions = %s : (%s, tensor<f32>) -> tensor<f32>" % (
            out, name, init, list(range(len(shape))), tensor(shape)))
        return out


class Control(Writer):
    starts = Writer.starts + (("add", "1.0"),)  # which XLA's partitioner counts more than once inside of manual computations

    def __init__(self, rng, axes):
        super().__init__(rng, axes)
        self.functions = []

    def block(self, lines, values, depth, length=None):
        """Appends ops that read the values; -> all values then."""
        values = list(values)
        for _ in range(length or self.r.randint(2, 5)):
            choices = [self.elementwise, self.contract, self.reduce, self.transpose, self.moved, self.moved]
            if depth < 3:
                choices += [self.loop, self.branches, self.call]
            made = self.r.choice(choices)
            if made in (self.loop, self.branches, self.call):
                values += made(lines, values, depth)
            else:
                values.append(made(lines, values))
        return values

    def results(self, values, shapes):
        """The newest value of each shape."""
        return [next(v for v, s in reversed(values) if s == shape) for shape in shapes]

    def loop(self, lines, values, depth):
        taken = self.r.sample(values, min(len(values), self.r.randint(1, 3)))
        shapes = [s for _, s in taken]
        zero, one, trips = (self.constant(lines, n, "tensor<i32>") for n in (0, 1, self.r.randint(1, 3)))
        inside = [self.name() for _ in taken]
        count, out, test, inner = self.name(), self.name(), self.name(), []
        outside = [v for v in values if self.r.random() < .3]
        new = self.block(inner, [(n, s) for n, s in zip(inside, shapes)] + outside, depth + 1)
        more = self.name()
        inner.append("%s = stablehlo.add %s, %s : tensor<i32>" % (more, count, one))
        types = ", ".join([tensor(s) for s in shapes] + ["tensor<i32>"])
        own = [(v, s) for v, s in new if (v, s) not in outside]
        lines.append("%s:%d = stablehlo.while(%s) : %s cond {\n  %s = stablehlo.compare LT, %s, %s : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                     "  stablehlo.return %s : tensor<i1>\n} do {" % (
                         out, len(taken) + 1, ", ".join("%s = %s" % p for p in zip(inside + [count], [v for v, _ in taken] + [zero])), types,
                         test, count, trips, test))
        lines += inner + ["stablehlo.return %s : %s" % (", ".join(self.results(own, shapes) + [more]), types), "}"]
        return [("%s#%d" % (out, i), s) for i, s in enumerate(shapes)]

    def branches(self, lines, values, depth):
        shapes = [s for _, s in self.r.sample(values, min(len(values), self.r.randint(1, 2)))]
        types = ", ".join(map(tensor, shapes))
        which = self.r.choice(("case", "if"))
        sum_, index, out = self.scalar(lines, values), self.name(), self.name()
        if which == "case":
            large = self.name()
            lines.append("%s = stablehlo.multiply %s, %s : tensor<f32>" % (large, sum_, self.constant(lines, "10.0", "tensor<f32>")))
            lines.append("%s = stablehlo.convert %s : (tensor<f32>) -> tensor<i32>" % (index, large))
        else:
            lines.append("%s = stablehlo.compare LT, %s, %s : (tensor<f32>, tensor<f32>) -> tensor<i1>" % (
                index, sum_, self.constant(lines, "0.1", "tensor<f32>")))
        lines.append('%s:%d = "stablehlo.%s"(%s) ({' % (out, len(shapes), which, index))
        n = self.r.randint(1, 3) if which == "case" else 2
        for i in range(n):
            new = self.block(lines, values, depth + 1)
            lines += ["stablehlo.return %s : %s" % (", ".join(self.results(new, shapes)), types), "}, {" if i + 1 < n else
                      "}) : (tensor<%s>) -> (%s)" % ("i32" if which == "case" else "i1", types)]
        return [("%s#%d" % (out, i), s) for i, s in enumerate(shapes)]

    def call(self, lines, values, depth):
        taken = self.r.sample(values, min(len(values), self.r.randint(1, 3)))
        inside, inner = [(self.name(), s) for _, s in taken], []
        new = self.block(inner, inside, depth + 1)
        result = [s for _, s in self.r.sample(new, min(len(new), 2))]
        function, out = "f%d" % len(self.functions), self.name()
        types = ", ".join(map(tensor, result))
        self.functions.append("func.func private @%s(%s) -> (%s) {\n%s\nreturn %s : %s\n}" % (
            function, ", ".join("%s: %s" % (v, tensor(s)) for v, s in inside), types, "\n".join(inner), ", ".join(self.results(new, result)), types))
        lines.append("%s:%d = func.call @%s(%s) : (%s) -> (%s)" % (
            out, len(result), function, ", ".join(v for v, _ in taken), ", ".join(tensor(s) for _, s in taken), types))
        return [("%s#%d" % (out, i), s) for i, s in enumerate(result)]


def module(lines, functions, arguments, results, axes, cut, moved=None):
    """cut(type): a sharding of an argument, or None for the program of one device; moved(type): of values inside, if others."""
    def attribute(kind):
        text = cut(kind)
        return " {sdy.sharding = #sdy.sharding%s}" % text if text else ""

    def line(text):
        if not text.startswith("CUT "):
            return text
        _, out, name, kind = text.split(" ", 3)
        sharding = (moved or cut)(kind)
        return "%s = sdy.sharding_constraint %s %s : %s" % (out, name, sharding, kind) if sharding else "%s = stablehlo.optimization_barrier %s : %s" % (out, name, kind)

    mesh = "sdy.mesh @mesh = <[%s]>\n" % ", ".join('"%s"=%d' % axis for axis in axes) if axes else ""
    body = ["\n".join(map(line, f.split("\n"))) for f in ["\n".join(lines)] + functions]
    return ("module @regions attributes {mhlo.num_partitions = %d : i32, mhlo.num_replicas = 1 : i32} {\n%sfunc.func public @main(%s) -> (%s) {\n%s\nreturn %s : %s\n}\n%s\n}\n" % (
        product(axes), mesh, ", ".join('%s: %s%s loc("x%d")' % (v, tensor(s), attribute(tensor(s)), i) for i, (v, s) in enumerate(arguments)),
        ", ".join(tensor(s) for _, s in results), body[0], ", ".join(v for v, _ in results), ", ".join(tensor(s) for _, s in results), "\n".join(body[1:])))


def control(seed, axes, random_sharding):
    rng = random.Random(seed)
    w = Control(rng, axes)
    arguments = [(w.name(), s) for s in SHAPES]
    lines = []
    values = w.block(lines, arguments, 0, 8)
    results = [v for v in values[len(arguments):]]
    again = random.Random(seed)
    return (module(lines, w.functions, arguments, results, (), lambda kind: None),
            module(lines, w.functions, arguments, results, axes, lambda kind: random_sharding(again, axes, rank_of(kind))), [("x%d" % i, s) for i, (_, s) in enumerate(arguments)])


class Manual(Writer):
    """The body of a manual computation over the axes `taken`: shapes are of one device; other axes cut values further."""

    def __init__(self, rng, axes, taken):
        super().__init__(rng, axes)
        self.taken = taken

    def groups(self):
        """Devices that differ in some of the manual axes only, and how many they are."""
        chosen = self.r.sample(self.taken, self.r.randint(1, len(self.taken)))
        groups = {}
        for device in range(product(self.axes)):
            rest, at = device, {}
            for name, size in reversed(self.axes):
                rest, at[name] = divmod(rest, size)
            groups.setdefault(tuple(at[name] for name, _ in self.axes if all(name != c for c, _ in chosen)), []).append(device)
        out = list(groups.values())
        if self.r.random() < .3:
            for group in out:
                group.reverse()
        return out, len(out[0])

    def attributes(self, groups, more=""):
        return ('<{%schannel_handle = #stablehlo.channel_handle<handle = %d, type = 1>, replica_groups = dense<%s> : tensor<%dx%dxi64>%%s}>' % (
            more, self.n, groups, len(groups), len(groups[0])))

    def collective(self, lines, values):
        return getattr(self, self.r.choice(COLLECTIVES))(lines, *self.r.choice([v for v in values if v[1]]))

    def body(self, kind):
        a, b, c = self.name(), self.name(), self.name()
        return "({\n^bb0(%s: tensor<f32>, %s: tensor<f32>):\n  %s = stablehlo.%s %s, %s : tensor<f32>\n  stablehlo.return %s : tensor<f32>\n})" % (
            a, b, c, kind, a, b, c)

    def all_reduce(self, lines, name, shape):
        groups, _ = self.groups()
        out, t = self.name(), tensor(shape)
        lines.append('%s = "stablehlo.all_reduce"(%s) %s %s : (%s) -> %s' % (
            out, name, self.attributes(groups) % ", use_global_device_ids", self.body(self.r.choice(("add", "maximum", "minimum"))), t, t))
        return self.small(lines, out, shape)

    def small(self, lines, name, shape):
        out = self.name()
        lines.append("%s = stablehlo.tanh %s : %s" % (out, name, tensor(shape)))
        return out, shape

    def all_gather(self, lines, name, shape):
        groups, n = self.groups()
        d, out = self.r.randrange(len(shape)), self.name()
        result = tuple(s * n if i == d else s for i, s in enumerate(shape))
        if max(result) > 48:
            return self.all_reduce(lines, name, shape)
        lines.append('%s = "stablehlo.all_gather"(%s) %s : (%s) -> %s' % (
            out, name, self.attributes(groups, "all_gather_dim = %d : i64, " % d) % ", use_global_device_ids", tensor(shape), tensor(result)))
        return out, result

    def reduce_scatter(self, lines, name, shape):
        groups, n = self.groups()
        dims = [d for d, s in enumerate(shape) if s % n == 0]
        if not dims:
            return self.all_gather(lines, name, shape)
        d, out = self.r.choice(dims), self.name()
        result = tuple(s // n if i == d else s for i, s in enumerate(shape))
        lines.append('%s = "stablehlo.reduce_scatter"(%s) %s %s : (%s) -> %s' % (
            out, name, self.attributes(groups, "scatter_dimension = %d : i64, " % d) % ", use_global_device_ids", self.body("add"), tensor(shape), tensor(result)))
        return self.small(lines, out, result)

    def all_to_all(self, lines, name, shape):
        groups, n = self.groups()
        dims = [d for d, s in enumerate(shape) if s % n == 0]
        if not dims:
            return self.all_gather(lines, name, shape)
        split, concat, out = self.r.choice(dims), self.r.randrange(len(shape)), self.name()
        result = list(shape)
        result[split] //= n
        result[concat] *= n
        if max(result) > 48:
            return self.all_reduce(lines, name, shape)
        lines.append('%s = "stablehlo.all_to_all"(%s) %s : (%s) -> %s' % (
            out, name, self.attributes(groups, "split_dimension = %d : i64, concat_dimension = %d : i64, split_count = %d : i64, " % (split, concat, n)) % "",
            tensor(shape), tensor(result)))
        return out, tuple(result)

    def collective_permute(self, lines, name, shape):
        groups, n = self.groups()
        last = n - (self.r.random() < .3)  # devices that nobody sends to get zeros
        pairs = [[g[i], g[(i + 1) % n]] for g in groups for i in range(last)]
        out, t = self.name(), tensor(shape)
        lines.append('%s = "stablehlo.collective_permute"(%s) <{channel_handle = #stablehlo.channel_handle<handle = %d, type = 1>, '
                     "source_target_pairs = dense<%s> : tensor<%dx2xi64>}> : (%s) -> %s" % (out, name, self.n, pairs, len(pairs), t, t))
        return out, shape

    def partition_id(self, lines, name, shape):
        if len(self.taken) < len(self.axes):  # XLA has no number for the devices that it may still cut for
            return self.all_reduce(lines, name, shape)
        a, b, c, d = (self.name() for _ in range(4))
        t = tensor(shape)
        lines += ["%s = stablehlo.partition_id : tensor<ui32>" % a, "%s = stablehlo.convert %s : (tensor<ui32>) -> tensor<f32>" % (b, a),
                  "%s = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> %s" % (c, b, t), "%s = stablehlo.add %s, %s : %s" % (d, c, name, t)]
        return self.small(lines, d, shape)


def manual(seed, axes, random_sharding):
    """One manual computation over some axes: text, [(name, shape)] of the arguments."""
    rng = random.Random(seed)
    taken = rng.sample(axes, rng.randint(1, len(axes)))
    free = [axis for axis in axes if axis not in taken]
    w = Manual(rng, axes, taken)
    arguments, edges, inside, lines = [], [], [], []
    for _ in range(3):
        local = tuple(rng.choice((2, 3, 4, 6, 8)) for _ in range(rng.randint(1, 3)))
        shape, dims = list(local), [[] for _ in local]
        for name, size in rng.sample(taken, rng.randint(0, len(taken))):
            d = rng.randrange(len(shape))
            shape[d] *= size
            dims[d].append('"%s"' % name)
        arguments.append((w.name(), tuple(shape)))
        edges.append("<@mesh, [%s]>" % ", ".join("{%s}" % ", ".join(d + ["?"] * bool(free)) for d in dims))
        inside.append((w.name(), local))
    values = list(inside)
    for _ in range(rng.randint(4, 9)):
        values.append(rng.choice((w.collective, w.collective, w.elementwise, w.contract, w.reduce, w.transpose, w.moved if free else w.collective))(lines, values))
    own = [v for v in values[len(inside):] if v[1]][-4:]
    results, outer = [], []
    for name, shape in own:
        n = product(taken)
        results.append((w.name(), (shape[0] * n,) + shape[1:]))
        outer.append("<@mesh, [%s]>" % ", ".join(["{%s%s}" % (", ".join('"%s"' % a for a, _ in taken), ", ?" * bool(free))] + ["{?}" if free else "{}"] * (len(shape) - 1)))
    out = w.name()
    text = ["%s:%d = sdy.manual_computation(%s) in_shardings=[%s] out_shardings=[%s] manual_axes={%s} (%s) {" % (
        out, len(own), ", ".join(v for v, _ in arguments), ", ".join(edges), ", ".join(outer), ", ".join('"%s"' % axis[0] for axis in axes if axis in taken),
        ", ".join("%s: %s" % (v, tensor(s)) for v, s in inside))]
    text += lines + ["sdy.return %s : %s" % (", ".join(v for v, _ in own), ", ".join(tensor(s) for _, s in own)),
                     "} : (%s) -> (%s)" % (", ".join(tensor(s) for _, s in arguments), ", ".join(tensor(s) for _, s in results))]
    again = random.Random(seed)
    return (module(text, [], arguments, [("%s#%d" % (out, i), s) for i, (_, s) in enumerate(results)], axes,
                   lambda kind: random_sharding(again, axes, rank_of(kind)), lambda kind: random_sharding(again, free, rank_of(kind))),
            [("x%d" % i, s) for i, (_, s) in enumerate(arguments)])
