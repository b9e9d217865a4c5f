"""Single ops that read other places of a dim than they write: windows with steps, holes and padding of either sign, gradients of
convolutions, pads, slices, joins and shifts, at sizes that meshes cut evenly and others."""
from random_ops import Ops, ints, tensor

SIZES = (4, 5, 6, 7, 8, 9, 12, 13, 16)
COMPARE = """({
^bb0(%%x: tensor<%s>, %%y: tensor<%s>):
  %%z = stablehlo.compare %s, %%x, %%y : (tensor<%s>, tensor<%s>) -> tensor<i1>
  stablehlo.return %%z : tensor<i1>
}, """


def misread(low, high):
    """On the CPU, jaxlib 0.10.2 reads in front of the operand of a convolution that is cut there and padded as much at its end."""
    return low < 0 and low + high == 0


def places(n, size, stride, low, high, base, dilation):
    """Windows in a dim; below 1: none."""
    padded = (n - 1) * base + 1 + low + high
    return (padded - ((size - 1) * dilation + 1)) // stride + 1


class Windows(Ops):
    """Ops.op(), of other kinds. Where a size is not positive, the next random numbers are taken."""

    def __init__(self, seed):
        super().__init__(seed)
        self.kinds = sorted(name[5:] for name in dir(self) if name.startswith("move_"))

    def op(self, kind=None):
        return getattr(self, "move_" + (kind or self.r.choice(self.kinds)))()

    def sizes(self, low=1, high=3):
        return [self.r.choice(SIZES + (1, 2, 3)) if self.r.random() < .3 else self.r.choice(SIZES) for _ in range(self.r.randint(low, high))]

    def window(self, n):
        """(size, stride, (low, high), base, dilation, places) over a dim of n elements."""
        if not n:  # no window has a place there
            return 1, 1, (0, 0), 1, 1, 0
        while True:
            size, stride = self.r.choice((1, 2, 3, 3, 4, 5, 7)), self.r.choice((1, 1, 1, 2, 2, 3, 4))
            base, dilation = self.r.choice((1, 1, 1, 2, 2, 3)), self.r.choice((1, 1, 1, 2, 3))
            low, high = (self.r.choice((0, 0, 1, 1, 2, 3, 5, -1, -2, -4)) for _ in range(2))
            if self.r.random() < .4:  # as many places as elements
                stride, base = 1, 1
                low = (size - 1) * dilation // 2
                high = (size - 1) * dilation - low
            if not misread(low, high) and (n - 1) * base + 1 + min(low, 0) + min(high, 0) >= 1 and places(n, size, stride, low, high, base, dilation) >= 1:
                return size, stride, (low, high), base, dilation, places(n, size, stride, low, high, base, dilation)

    def convolution(self, spatial, window, batch, in_feature, out_feature, groups=1, batch_groups=1):
        """window: (size, stride, pad, base, dilation, places) by dim. Dims of all tensors in random orders."""
        def place(tags, values):
            order = list(tags)
            self.r.shuffle(order)
            return order, [values[t] for t in order]
        names = [str(i) for i in range(len(spatial))]
        lt, lhs = place(["b", "f"] + names, dict(zip(names, spatial), b=batch, f=in_feature * groups))
        rt, rhs = place(["i", "o"] + names, dict(zip(names, (w[0] for w in window)), i=in_feature, o=out_feature))
        ot, res = place(["b", "f"] + names, dict(zip(names, (w[5] for w in window)), b=batch // batch_groups, f=out_feature))
        reverse = [self.r.random() < .3 for _ in window]
        words = "stride = %s, pad = %s, lhs_dilate = %s, rhs_dilate = %s, reverse = %s" % (
            [w[1] for w in window], [list(w[2]) for w in window], [w[3] for w in window], [w[4] for w in window], str(reverse).lower())
        return [tensor(lhs), tensor(rhs)], [
            "%%r = stablehlo.convolution(%%a0, %%a1) dim_numbers = [%s]x[%s]->[%s], window = {%s} "
            "{batch_group_count = %d : i64, feature_group_count = %d : i64} : (%s, %s) -> %s" % (
                ", ".join(lt), ", ".join(rt), ", ".join(ot), words, batch_groups, groups, tensor(lhs), tensor(rhs), tensor(res))]

    def features(self):
        groups, batch_groups = self.r.choice(((1, 1), (1, 1), (1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (1, 4)))
        return (self.r.choice((1, 2, 3, 4)) * batch_groups, self.r.choice((1, 2, 4, 5)), self.r.choice((1, 2, 3, 4)) * groups * batch_groups, groups, batch_groups)

    def move_convolution(self):
        spatial = [self.r.choice(SIZES) for _ in range(self.r.randint(1, 2))]
        return self.convolution(spatial, [self.window(n) for n in spatial], *self.features())

    def move_kernel_gradient(self):
        """The windows' taps are the large dim."""
        spatial, window = [], []
        for _ in range(self.r.randint(1, 2)):
            taps, dilation, n = self.r.choice(SIZES), self.r.choice((1, 1, 2)), self.r.choice((1, 2, 3, 3, 5))
            low, stride, base = self.r.choice((0, 1, 1, 2, -1)), self.r.choice((1, 1, 1, 2)), self.r.choice((1, 1, 1, 2))
            reach = (taps - 1) * dilation + (n - 1) * stride + 1
            size = max(-(-(reach - low - self.r.choice((0, 1, 2, -1)) - 1) // base) + 1, 2 - low if low < 0 else 1)
            high = reach - low - ((size - 1) * base + 1)
            if misread(low, high) or (size - 1) * base + 1 + min(low, 0) + min(high, 0) < 1:
                return self.move_kernel_gradient()
            spatial.append(size)
            window.append((taps, stride, (low, high), base, dilation, places(size, taps, stride, low, high, base, dilation)))
        return self.convolution(spatial, window, *self.features())

    def window_lists(self, windows, words=("window_dimensions", "window_strides", "base_dilations", "window_dilations")):
        lists = list(zip(*windows))
        given = dict(zip(("window_dimensions", "window_strides", "padding", "base_dilations", "window_dilations"), lists))
        pads = "padding = dense<%s> : tensor<%dx2xi64>" % ([list(p) for p in given["padding"]], len(windows))
        return ", ".join([pads] + ["%s = %s" % (word, ints(given[word])) for word in words])

    def move_reduce_window(self):
        s = self.sizes()
        windows = [self.window(n) if self.r.random() < .7 else (1, 1, (0, 0), 1, 1, n) for n in s]
        out, n = [w[5] for w in windows], self.r.choice((1, 1, 1, 2))
        word = self.r.choice(("add", "maximum", "minimum"))
        if n == 1:
            body = self.body(word)
        else:
            body = ("({\n^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %y0: tensor<f32>, %y1: tensor<f32>):\n"
                    "  %z0 = stablehlo.add %x0, %y0 : tensor<f32>\n  %z1 = stablehlo.maximum %x1, %y1 : tensor<f32>\n"
                    "  stablehlo.return %z0, %z1 : tensor<f32>, tensor<f32>\n})")
        types = [tensor(s)] * n + [tensor([])] * n
        lines, starts = [], ["%%a%d" % (n + i) for i in range(n)]
        if n == 1 and word == "add" and self.r.random() < .6:
            starts = ["%start"]
            lines = ["%start = stablehlo.constant dense<0.000000e+00> : tensor<f32>"]
        results = ", ".join([tensor(out)] * n)
        return types, lines + ['%%r%s = "stablehlo.reduce_window"(%s, %s) <{%s}> %s : (%s) -> %s' % (
            ":2" if n == 2 else "", ", ".join("%%a%d" % i for i in range(n)), ", ".join(starts), self.window_lists(windows), body.replace("%%", "%"),
            ", ".join(types), "(%s)" % results if n == 2 else results)]

    def move_cumulative_sum(self):
        s = self.sizes()
        d, back = self.r.randrange(len(s)), self.r.random() < .5
        windows = [(n, 1, (0, n - 1) if back else (n - 1, 0), 1, 1, n) if i == d else (1, 1, (0, 0), 1, 1, n) for i, n in enumerate(s)]
        return [tensor(s)], ["%start = stablehlo.constant dense<0.000000e+00> : tensor<f32>",
                             '%%r = "stablehlo.reduce_window"(%%a0, %%start) <{%s}> %s : (%s, tensor<f32>) -> %s' % (
                                 self.window_lists(windows), self.body(), tensor(s), tensor(s))]

    def move_select_and_scatter(self):
        s = self.sizes()
        windows = []
        for n in s:
            size, stride = self.r.choice((1, 2, 3, 3, 4)), self.r.choice((1, 2, 2, 3, 5))
            low, high = self.r.choice(((0, 0), (0, 0), (0, 1), (1, 1), (1, 0), (2, 1)))
            low, high = min(low, size - 1), min(high, size - 1)
            if self.r.random() < .3 or places(n, size, stride, low, high, 1, 1) < 1:
                size, stride, low, high = 1, 1, 0, 0
            windows.append((size, stride, (low, high), 1, 1, places(n, size, stride, low, high, 1, 1)))
        out = [w[5] for w in windows]
        select = COMPARE % ("f32", "f32", self.r.choice(("GE", "GE", "LE", "GT")), "f32", "f32")
        return [tensor(s), tensor(out), tensor([])], [
            '%%r = "stablehlo.select_and_scatter"(%%a0, %%a1, %%a2) <{%s}> %s : (%s, %s, tensor<f32>) -> %s' % (
                self.window_lists(windows, ("window_dimensions", "window_strides")), select.replace("%%", "%") + self.body()[1:], tensor(s), tensor(out), tensor(s))]

    def move_pad(self):
        s = self.sizes()
        inner = [self.r.choice((0, 0, 0, 1, 2)) for _ in s]
        low, high = ([self.r.choice((0, 0, 1, 2, 3, 9, -1, -2)) for _ in s] for _ in range(2))
        out = [n + l + h + (n - 1) * i for n, l, h, i in zip(s, low, high, inner)]
        if any((n - 1) * (i + 1) + 1 + min(l, 0) + min(h, 0) < 1 for n, l, h, i in zip(s, low, high, inner)):
            return self.move_pad()
        kind = self.r.choice(("f32", "f32", "i32", "bf16"))
        return [tensor(s, kind), tensor([], kind)], ["%%r = stablehlo.pad %%a0, %%a1, low = %s, high = %s, interior = %s : (%s, %s) -> %s" % (
            low, high, inner, tensor(s, kind), tensor([], kind), tensor(out, kind))]

    def move_slice(self):
        s = self.sizes()
        bounds, out = [], []
        for n in s:
            a = self.r.randint(0, n - 1)
            b = self.r.randint(a + 1, n)
            step = self.r.choice((1, 1, 1, 2, 3))
            bounds.append("%d:%d:%d" % (a, b, step))
            out.append(-(-(b - a) // step))
        return [tensor(s)], ["%%r = stablehlo.slice %%a0 [%s] : (%s) -> %s" % (", ".join(bounds), tensor(s), tensor(out))]

    def move_reverse(self):
        s = self.sizes()
        dims = sorted(self.r.sample(range(len(s)), self.r.randint(1, len(s))))
        return [tensor(s)], ["%%r = stablehlo.reverse %%a0, dims = %s : %s" % (dims, tensor(s))]

    def move_concatenate(self):
        s = self.sizes()
        d, n = self.r.randrange(len(s)), self.r.randint(1, 4)
        parts = [[self.r.choice(SIZES + (1, 2, 3)) if i == d else size for i, size in enumerate(s)] for _ in range(n)]
        out = [sum(p[d] for p in parts) if i == d else size for i, size in enumerate(s)]
        types = [tensor(p) for p in parts]
        return types, ["%%r = stablehlo.concatenate %s, dim = %d : (%s) -> %s" % (
            ", ".join("%%a%d" % i for i in range(n)), d, ", ".join(types), tensor(out))]

    def move_roll(self):
        """The end in front of the beginning."""
        s = self.sizes()
        d = self.r.randrange(len(s))
        if s[d] == 1:
            return self.move_roll()
        k, pieces, lines = self.r.randint(1, s[d] - 1), [], []
        for i, (a, b) in enumerate(((k, s[d]), (0, k))):
            piece = [b - a if j == d else n for j, n in enumerate(s)]
            bounds = ", ".join("%d:%d" % ((a, b) if j == d else (0, n)) for j, n in enumerate(s))
            lines.append("%%p%d = stablehlo.slice %%a0 [%s] : (%s) -> %s" % (i, bounds, tensor(s), tensor(piece)))
            pieces.append(tensor(piece))
        return [tensor(s)], lines + ["%%r = stablehlo.concatenate %%p0, %%p1, dim = %d : (%s) -> %s" % (d, ", ".join(pieces), tensor(s))]

    def starts(self, n, first):
        """Arguments or constants, some of them beyond either end: (types, lines, names)."""
        kind = self.r.choice(("i32", "i32", "i64", "ui32"))
        types, lines, names = [], [], []
        for i in range(n):
            if self.r.random() < .5:
                names.append("%%a%d" % (first + len(types)))
                types.append(tensor([], kind))
            else:
                names.append("%%c%d" % i)
                lines.append("%%c%d = stablehlo.constant dense<%d> : %s" % (i, self.r.choice((0, 1, 2, 3, 5, 8, 99) + (() if kind == "ui32" else (-4,))), tensor([], kind)))
        return kind, types, lines, names

    def move_dynamic_slice(self):
        s = self.sizes()
        out = [n if self.r.random() < .3 else self.r.choice((1, self.r.randint(1, n))) for n in s]
        kind, types, lines, names = self.starts(len(s), 1)
        elem = self.r.choice(("f32", "f32", "i32", "i1"))
        return [tensor(s, elem)] + types, lines + ["%%r = stablehlo.dynamic_slice %%a0, %s, sizes = %s : (%s) -> %s" % (
            ", ".join(names), out, ", ".join([tensor(s, elem)] + [tensor([], kind)] * len(s)), tensor(out, elem))]

    def move_dynamic_update_slice(self):
        s = self.sizes()
        part = [n if self.r.random() < .3 else self.r.choice((1, self.r.randint(1, n))) for n in s]
        kind, types, lines, names = self.starts(len(s), 2)
        return [tensor(s), tensor(part)] + types, lines + ["%%r = stablehlo.dynamic_update_slice %%a0, %%a1, %s : (%s) -> %s" % (
            ", ".join(names), ", ".join([tensor(s), tensor(part)] + [tensor([], kind)] * len(s)), tensor(s))]

    def move_iota(self):
        s = [self.r.choice(SIZES + (300,)) for _ in range(self.r.randint(1, 2))]
        return [], ["%%r = stablehlo.iota dim = %d : %s" % (self.r.randrange(len(s)), tensor(s, self.r.choice(("f32", "i32", "bf16", "ui32", "i64"))))]
