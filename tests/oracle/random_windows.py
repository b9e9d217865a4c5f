"""Single ops that read other places of a dim than they write: windows with steps, holes and padding of either sign, gradients of
convolutions, pads, slices, joins and shifts, at sizes that meshes cut evenly and others."""
from random_ops import Ops, ints, tensor

SIZES = (4, 5, 6, 7, 8, 9, 12, 13, 16)
COMPARE = """({
^bb0(%%x: tensor<%s>, %%y: tensor<%s>):
  %%z = stablehlo.compare %s, %%x, %%y : (tensor<%s>, tensor<%s>) -> tensor<i1>
  stablehlo.return %%z : tensor<i1>
}, """


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
        while True:
            size, stride = self.r.choice((1, 2, 3, 3, 4, 5, 7)), self.r.choice((1, 1, 1, 2, 2, 3, 4))
            base, dilation = self.r.choice((1, 1, 1, 2, 2, 3)), self.r.choice((1, 1, 1, 2, 3))
            low, high = (self.r.choice((0, 0, 1, 1, 2, 3, 5, -1, -2, -4)) for _ in range(2))
            if self.r.random() < .4:  # as many places as elements
                stride, base = 1, 1
                low = (size - 1) * dilation // 2
                high = (size - 1) * dilation - low
            if (n - 1) * base + 1 + min(low, 0) + min(high, 0) >= 1 and places(n, size, stride, low, high, base, dilation) >= 1:
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
        if groups * batch_groups > 1 and any(min(w[2]) < 0 for w in window):
            groups = batch_groups = 1  # jaxlib 0.10.2 reads beyond the operand of groups on the CPU
            batch, in_feature, out_feature = (min(n, 4) for n in (batch, in_feature, out_feature))
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
            if (size - 1) * base + 1 + min(low, 0) + min(high, 0) < 1:
                return self.move_kernel_gradient()
            spatial.append(size)
            window.append((taps, stride, (low, high), base, dilation, places(size, taps, stride, low, high, base, dilation)))
        return self.convolution(spatial, window, *self.features())
