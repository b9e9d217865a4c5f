"""Random programs to run: chains of ops of every kind and element type that the program of one device is written for, with regions.

program(seed, parts) -> Program. A part is a chain of ops of its own; it is the same whatever parts stand beside it.

Every value knows how far it can be trusted. Integers, and floats that are integers small enough for their type, are the same in
whatever order they are added: `bound` says how large they get, and the program of one device has to give them bit by bit. Of the
others, `err` is a first-order estimate of the relative error that another order of additions may make. Ops that jump (floor,
compare, sort by a key, conversions to integers) are only made of the former."""
import math
import random
import re

from random_ops import Ops, tensor
from random_windows import COMPARE, Windows

FLOATS = {"f32": (24, 6e-8), "f64": (53, 1.1e-16), "bf16": (8, 4e-3), "f16": (11, 5e-4)}  # bits of a mantissa, half of its last one
INTEGERS = {"i8": 127, "i16": 32767, "i32": 2 ** 31 - 1, "i64": 2 ** 63 - 1, "ui8": 255, "ui32": 2 ** 32 - 1}
KINDS = ("f32",) * 8 + ("bf16", "bf16", "f16", "f64", "i32", "i32", "i8", "ui8", "i16", "i64", "ui32", "i1", "complex<f32>")
SIZES = (1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 12, 16)
SMOOTH = "tanh sine cosine logistic atan erf asinh exponential log_plus_one sqrt rsqrt cbrt exponential_minus_one".split()
# Outcomes differ among the ways to round, however whole the numbers are.
ROUNDED = "divide power atan2".split()
MAX_ELEMENTS = 4096


def eps(kind):
    return FLOATS["f32" if kind.startswith("complex") else kind][1]


class Value:
    def __init__(self, name, shape, kind, bound=None, rms=2.0, err=0.0):
        self.name, self.shape, self.kind, self.bound, self.rms, self.err = name, tuple(shape), kind, bound, rms, err

    @property
    def type(self):
        return tensor(self.shape, self.kind)

    @property
    def sure(self):
        return self.bound is not None


class Shapes(Windows):
    """Ops of random_ops and random_windows whose shapes are mostly those of values at hand."""

    def __init__(self, rng, chain):
        super().__init__(0)
        self.r, self.chain = rng, chain

    def shape(self, low=0, high=4, sizes=SIZES):
        fits = [v.shape for v in self.chain.pool[-10:] if low <= len(v.shape) <= high and max(v.shape, default=0) <= 32]
        if fits and self.r.random() < .6 and sizes in (SIZES, Ops.shape.__defaults__[2]):
            return list(self.r.choice(fits))
        return [self.r.choice(sizes) for _ in range(self.r.randint(low, high))]

    def sizes(self, low=1, high=3):
        return self.shape(low, high, SIZES)


# Ops taken from random_ops and random_windows as they are: by what the result is of the operands.
# moved: the same numbers elsewhere; summed: products or sums of them; rough: neither.
TAKEN = {"moved": ("gen_broadcast_in_dim gen_concatenate gen_slice gen_reverse gen_transpose gen_reshape gen_reshape gen_dynamic_slice gen_dynamic_update_slice "
                   "gen_gather move_pad move_slice move_reverse move_concatenate move_roll move_dynamic_slice move_dynamic_update_slice").split(),
         "summed": "gen_dot_general gen_dot_general gen_dot_general gen_dot move_convolution move_convolution move_kernel_gradient move_reduce_window move_cumulative_sum".split(),
         "scattered": "gen_scatter move_select_and_scatter".split(),
         "rough": "gen_batch_norm gen_fft".split()}


class Chain:
    """One part: its arguments, lines and results."""

    def __init__(self, seed, number, mesh, density, moved):
        self.r = random.Random("%s %s" % (seed, number))
        self.plan = random.Random("plan %s %s" % (seed, number))
        self.prefix, self.n = "p%d" % number, 0
        self.mesh, self.density, self.cut = mesh, density, moved
        self.args, self.lines, self.pool, self.used, self.depth = [], [], [], set(), 0
        self.ops = Shapes(self.r, self)
        self.kind = self.r.choice(KINDS)
        for _ in range(self.r.randint(1, 3)):
            self.argument([self.r.choice(SIZES) for _ in range(self.r.randint(1, 3))], self.kind)
        for _ in range(self.r.randint(3, 9)):
            self.op()

    # ------------------------------------------------------------ values

    def name(self):
        self.n += 1
        return "%%%s_%d" % (self.prefix, self.n)

    def argument(self, shape, kind):
        bound = 1 if kind == "i1" else 7 if kind.startswith("ui") else 4
        v = Value("%%%s_arg%d" % (self.prefix, len(self.args)), shape, kind, bound)
        self.args.append(v)
        if self.depth == 0:
            self.pool.append(v)
        return v

    def line(self, text, shape, kind, bound=None, rms=2.0, err=0.0):
        """An op of one result, which may get a cut of its own; numbers that are no longer whole are kept near one."""
        name = self.name()
        self.lines.append("%s = %s" % (name, text))
        return self.keep(name, shape, kind, bound, rms, err)

    def keep(self, name, shape, kind, bound=None, rms=2.0, err=0.0):
        v = Value(name, shape, kind, bound, rms, err)
        if kind in INTEGERS or kind == "i1":
            v.bound = min(bound if bound is not None else INTEGERS.get(kind, 1), INTEGERS.get(kind, 1))
            if kind in INTEGERS and bound is not None and bound > INTEGERS[kind]:
                v.bound = INTEGERS[kind]
        elif bound is not None and bound < 2 ** FLOATS["f32" if kind.startswith("c") else kind][0]:
            v.rms = max(1.0, bound / 2)
        else:
            v.bound, v.err = None, max(err, eps(kind))
            if not 1 / 16 < rms < 16:
                k = -round(math.log2(rms)) if rms > 0 else 0
                by = self.constant("%.17g" % 2.0 ** max(-14, min(14, k)), v.shape, kind)
                v = Value(self.name(), shape, kind, None, rms * 2.0 ** max(-14, min(14, k)), v.err)
                self.lines.append("%s = stablehlo.multiply %s, %s : %s" % (v.name, name, by, v.type))
        self.used.discard(v.name)
        v = self.placed(v)
        self.pool.append(v)
        return v

    def placed(self, v):
        """The value, cut at random."""
        if self.plan.random() >= self.density:
            return v
        w = Value(self.name(), v.shape, v.kind, v.bound, v.rms, v.err)
        self.lines.append("%s = sdy.sharding_constraint %s %s : %s" % (w.name, v.name, self.cut(self.plan, self.mesh, len(v.shape)), v.type))
        return w

    def constant(self, text, shape, kind):
        name = self.name()
        if kind.startswith("complex"):
            text = "(%s, 0.0)" % text
        self.lines.append("%s = stablehlo.constant dense<%s> : %s" % (name, text, tensor(shape, kind)))
        return name

    def number(self, value, shape, kind):
        """A constant of the value in the way that its kind is written."""
        if kind == "i1":
            return self.constant("true" if value else "false", shape, kind)
        return self.constant(str(int(value)) if kind in INTEGERS else "%.17g" % value if "." in "%.17g" % value else "%d.0" % value, shape, kind)

    def pick(self, test=lambda v: True):
        found = [v for v in self.pool if test(v)]
        if not found:
            return None
        v = found[-1 - min(len(found) - 1, int(self.r.expovariate(.5)))] if self.r.random() < .75 else self.r.choice(found)
        self.used.add(v.name)
        return v

    def numeric(self, test=lambda v: True):
        return self.pick(lambda v: v.kind != "i1" and test(v)) or self.operand([4, 6], "f32")

    def operand(self, shape, kind, sure=False):
        """A value of the type: one at hand, one made to fit, or a new argument."""
        shape = tuple(shape)

        def fits(v):
            return v.kind == kind and (v.sure or not sure)
        v = self.pick(lambda v: v.shape == shape and fits(v)) if self.r.random() < .8 else None
        if v is None and self.r.random() < .6:
            v = self.adapted(shape, kind, fits)
        if v is None:
            v = self.argument(shape, kind) if kind != "ui64" else None
            self.used.add(v.name)
        return v

    def adapted(self, shape, kind, fits):
        """By a reshape, with a cut or a pad before it where the numbers of elements differ."""
        have = self.pick(lambda v: fits(v) and 0 < math.prod(v.shape) <= MAX_ELEMENTS)
        n = math.prod(shape)
        if have is None or n == 0:
            return None
        m = math.prod(have.shape)
        if m != n:
            flat = self.line("stablehlo.reshape %s : (%s) -> %s" % (have.name, have.type, tensor([m], kind)), [m], kind, have.bound, have.rms, have.err)
            if m > n:
                have = self.line("stablehlo.slice %s [%d:%d] : (%s) -> %s" % (flat.name, m - n, m, flat.type, tensor([n], kind)), [n], kind, flat.bound, flat.rms, flat.err)
            else:
                zero = self.number(0, [], kind)
                have = self.line("stablehlo.pad %s, %s, low = [%d], high = [%d], interior = [0] : (%s, %s) -> %s" % (
                    flat.name, zero, (n - m) // 2, n - m - (n - m) // 2, flat.type, tensor([], kind), tensor([n], kind)), [n], kind, flat.bound, flat.rms, flat.err)
        out = self.line("stablehlo.reshape %s : (%s) -> %s" % (have.name, tensor(have.shape, kind), tensor(shape, kind)), shape, kind, have.bound, have.rms, have.err)
        self.used.update((have.name, out.name))
        return out

    # ------------------------------------------------------------ ops

    def op(self):
        kinds = [k for k in dir(self) if k.startswith("make_")]
        if self.depth >= 2:
            kinds = [k for k in kinds if k not in ("make_while", "make_case", "make_call")]
        before = len(self.pool), len(self.lines), self.n
        try:
            getattr(self, self.r.choice(kinds + ["make_binary", "make_taken", "make_taken", "make_taken", "make_reduce"]))()
        except Unfit:
            del self.pool[before[0]:], self.lines[before[1]:]

    def make_unary(self):
        v = self.numeric(lambda v: not v.kind.startswith("complex"))
        if v.kind in INTEGERS:
            word = self.r.choice(["not", "popcnt", "count_leading_zeros"] + ["negate", "sign"] * (v.kind[0] == "i") + ["abs"] * (v.kind[0] == "i"))
            return self.line("stablehlo.%s %s : %s" % (word, v.name, v.type), v.shape, v.kind)
        if v.sure and self.r.random() < .4:
            word = self.r.choice("floor ceil round_nearest_even round_nearest_afz sign negate abs".split())
            return self.line("stablehlo.%s %s : %s" % (word, v.name, v.type), v.shape, v.kind, v.bound)
        word = self.r.choice(SMOOTH)
        x = v
        if word in ("log_plus_one", "sqrt", "rsqrt", "cbrt"):
            x = self.line("stablehlo.abs %s : %s" % (v.name, v.type), v.shape, v.kind, v.bound, v.rms, v.err)
            one = self.number(1, v.shape, v.kind)
            x = self.line("stablehlo.add %s, %s : %s" % (x.name, one, x.type), x.shape, x.kind, x.bound and x.bound + 1, x.rms + 1, x.err)
        if word.startswith("exponential"):
            x = self.line("stablehlo.tanh %s : %s" % (x.name, x.type), x.shape, x.kind, None, .7, x.err)
        text = "chlo.%s %s : %s -> %s" % (word, x.name, x.type, x.type) if word in ("atan", "erf", "asinh") else "stablehlo.%s %s : %s" % (word, x.name, x.type)
        return self.line(text, x.shape, x.kind, None, .7, 2 * max(x.rms, 1) * x.err + 4 * eps(x.kind))

    def make_binary(self):
        a = self.numeric()
        b = self.operand(a.shape, a.kind)
        words = ["add", "subtract", "multiply"]
        if a.kind in INTEGERS:
            words += "maximum minimum and or xor divide remainder shift_left shift_right_logical shift_right_arithmetic".split()
        elif not a.kind.startswith("complex"):
            words += ["maximum", "minimum"] + ROUNDED + ["remainder"] * (a.sure and b.sure)
        word = self.r.choice(words)
        sure = a.sure and b.sure
        bound = sure and {"multiply": a.bound * b.bound}.get(word, a.bound + b.bound)
        if a.kind in INTEGERS and word in ("divide", "remainder") or word.startswith("shift"):
            bound = None
            fix = self.name()
            other = self.number(7 if word.startswith("shift") else 1, b.shape, b.kind)
            self.lines.append("%s = stablehlo.%s %s, %s : %s" % (fix, "and" if word.startswith("shift") else "or", b.name, other, b.type))
            b = Value(fix, b.shape, b.kind, None)
        elif a.kind in INTEGERS and word in ("and", "or", "xor"):
            bound = None
        elif word in ROUNDED + ["remainder"]:
            b = self.line("stablehlo.abs %s : %s" % (b.name, b.type), b.shape, b.kind, b.bound, b.rms, b.err)
            b = self.line("stablehlo.add %s, %s : %s" % (b.name, self.number(1, b.shape, b.kind), b.type), b.shape, b.kind, b.bound and b.bound + 1, b.rms + 1, b.err)
            if word == "power":
                a, b = b, self.line("stablehlo.tanh %s : %s" % (a.name, a.type), a.shape, a.kind, None, .7, a.err)
            bound = a.bound if word == "remainder" else None
        rms = {"multiply": a.rms * b.rms, "power": 2.0, "atan2": 1.0, "divide": a.rms / 2}.get(word, math.hypot(a.rms, b.rms))
        return self.line("stablehlo.%s %s, %s : %s" % (word, a.name, b.name, a.type), a.shape, a.kind, bound or None, rms, (a.err + b.err) * (3 if word == "power" else 1) + 4 * eps(a.kind) if a.kind not in INTEGERS else 0)

    def make_bool(self):
        a = self.pick(lambda v: v.kind == "i1") or self.argument([self.r.choice(SIZES) for _ in range(2)], "i1")
        if self.r.random() < .3:
            return self.line("stablehlo.not %s : %s" % (a.name, a.type), a.shape, "i1", 1)
        b = self.operand(a.shape, "i1")
        return self.line("stablehlo.%s %s, %s : %s" % (self.r.choice(("and", "or", "xor")), a.name, b.name, a.type), a.shape, "i1", 1)

    def make_remainder(self):
        """Whole numbers stay small: seven is no power of two."""
        v = self.numeric(lambda v: v.sure and v.kind in FLOATS and v.bound > 6)
        if not v.sure or v.kind not in FLOATS:
            raise Unfit
        return self.line("stablehlo.remainder %s, %s : %s" % (v.name, self.number(7, v.shape, v.kind), v.type), v.shape, v.kind, 6)

    def make_compare(self):
        a = self.numeric(lambda v: v.sure and not v.kind.startswith("complex"))
        b = self.operand(a.shape, a.kind, sure=True)
        if not a.sure or a.kind.startswith("complex"):
            raise Unfit
        t = tensor(a.shape, "i1")
        return self.line("stablehlo.compare %s, %s, %s : (%s, %s) -> %s" % (self.r.choice(("LT", "GE", "EQ", "NE")), a.name, b.name, a.type, a.type, t), a.shape, "i1", 1)

    def make_select(self):
        a = self.pick() or self.operand([3, 5], "f32")
        b = self.operand(a.shape, a.kind)
        p = self.operand(a.shape if self.r.random() < .7 else [], "i1")
        bound = max(a.bound, b.bound) if a.sure and b.sure else None
        return self.line("stablehlo.select %s, %s, %s : %s, %s" % (p.name, a.name, b.name, p.type, a.type), a.shape, a.kind, bound, max(a.rms, b.rms), max(a.err, b.err))

    def make_clamp(self):
        a = self.numeric(lambda v: not v.kind.startswith("complex"))
        low, high = (self.number(n, [], a.kind) for n in (1 if a.kind[0] == "u" else -2, 3))
        t = tensor([], a.kind)
        return self.line("stablehlo.clamp %s, %s, %s : (%s, %s, %s) -> %s" % (low, a.name, high, t, a.type, t, a.type), a.shape, a.kind, 3 if a.sure else None, min(a.rms, 2), a.err)

    def make_convert(self):
        a = self.pick() or self.operand([3, 5], "f32")
        kind = self.r.choice([k for k in KINDS if not k.startswith("complex")])
        if a.kind.startswith("complex") or a.kind in FLOATS and kind not in FLOATS and not (a.sure and (kind == "i1" or a.bound <= INTEGERS[kind] and kind[0] == "i")):
            raise Unfit
        bound = 1 if kind == "i1" else a.bound
        return self.line("stablehlo.convert %s : (%s) -> %s" % (a.name, a.type, tensor(a.shape, kind)), a.shape, kind, bound, a.rms if a.kind not in INTEGERS else max(1.0, a.bound / 2), a.err)

    def make_bitcast(self):
        a = self.numeric(lambda v: v.sure and v.kind in ("f32", "i32", "ui32", "i16", "i8", "ui8", "i64"))
        if a.kind in ("f32", "i32", "ui32") and a.sure:
            kind, more = self.r.choice((("i32", []), ("ui32", []), ("i8", [4]), ("i16", [2])))
        elif a.kind in ("i8", "ui8") and a.shape and a.shape[-1] == 4:
            kind, more = "i32", None
        else:
            raise Unfit
        shape = a.shape[:-1] if more is None else [*a.shape, *more]
        return self.line("stablehlo.bitcast_convert %s : (%s) -> %s" % (a.name, a.type, tensor(shape, kind)), shape, kind)

    def make_complex(self):
        v = self.pick(lambda v: v.kind.startswith("complex"))
        if v is None or self.r.random() < .3:
            a = self.operand(v.shape if v else self.ops.shape(1, 3), "f32")
            b = self.operand(a.shape, "f32")
            bound = max(a.bound, b.bound) if a.sure and b.sure else None
            return self.line("stablehlo.complex %s, %s : %s" % (a.name, b.name, tensor(a.shape, "complex<f32>")), a.shape, "complex<f32>", bound, max(a.rms, b.rms), a.err + b.err)
        word = self.r.choice(("real", "imag", "abs"))
        return self.line("stablehlo.%s %s : (%s) -> %s" % (word, v.name, v.type, tensor(v.shape)), v.shape, "f32", None if word == "abs" else v.bound, v.rms, v.err + 1e-7)

    def make_iota(self):
        shape = self.ops.shape(1, 3)
        kind = self.r.choice(("f32", "i32", "bf16", "ui8", "i64"))
        d = self.r.randrange(len(shape))
        return self.line("stablehlo.iota dim = %d : %s" % (d, tensor(shape, kind)), shape, kind, max(1, shape[d] - 1))

    def make_table(self):
        """A constant with a number of its own at every place."""
        shape = [self.r.choice(SIZES[:9]) for _ in range(self.r.randint(1, 2))]
        kind = self.r.choice(("f32", "i32", "bf16"))
        numbers = iter([self.r.randint(-4, 4) for _ in range(math.prod(shape))])

        def text(dims):
            return "[%s]" % ", ".join(text(dims[1:]) for _ in range(dims[0])) if dims else "%d" % next(numbers) + ".0" * (kind != "i32")
        return self.line("stablehlo.constant dense<%s> : %s" % (text(shape), tensor(shape, kind)), shape, kind, 4)

    def make_reduce(self):
        v = self.pick(lambda v: v.shape) or self.operand([4, 6], "f32")
        dims = sorted(self.r.sample(range(len(v.shape)), self.r.randint(1, len(v.shape))))
        n = math.prod(v.shape[d] for d in dims)
        words = {"add": 0, "maximum": -3, "minimum": 3, "multiply": 1}
        if v.kind == "i1":
            words = {"and": 1, "or": 0, "xor": 0}
        elif v.kind in INTEGERS:
            words.update({"and": 1, "or": 0, "xor": 0, "maximum": 1, "minimum": 1})
        elif v.kind.startswith("complex"):
            words = {"add": 0}
        word = self.r.choice(list(words) + ["add"] * (v.kind != "i1"))
        if word == "multiply" and v.kind not in INTEGERS:
            word = "add"
        # StableHLO asks for a start value that changes nothing; XLA for CPU adds any other one several times where it sums more than this.
        odd = (word != "add" or n <= 16) and self.r.random() < .2
        start = self.number((2 if v.kind != "i1" else 0) if odd else words[word], [], v.kind)
        out = [s for d, s in enumerate(v.shape) if d not in dims]
        bound = None if not v.sure or word in ("and", "or", "xor", "multiply") and v.kind in INTEGERS else max(v.bound, 3) if word in ("maximum", "minimum", "and", "or", "xor") else v.bound * n + 3
        rms = v.rms if word in ("maximum", "minimum") else v.rms * math.sqrt(n)
        err = 0 if v.kind in INTEGERS or v.kind == "i1" else v.err + (1 + math.sqrt(n)) * eps(v.kind)
        return self.line("stablehlo.reduce(%s init: %s) applies stablehlo.%s across dimensions = %s : (%s, %s) -> %s" % (
            v.name, start, word, dims, v.type, tensor([], v.kind), tensor(out, v.kind)), out, v.kind, bound, rms, err)

    def make_argmax(self):
        v = self.numeric(lambda v: v.sure and v.shape and not v.kind.startswith("complex"))
        if not v.sure or not v.shape or v.kind.startswith("complex"):
            raise Unfit
        d = self.r.randrange(len(v.shape))
        out = [s for i, s in enumerate(v.shape) if i != d]
        index = self.name()
        self.lines.append("%s = stablehlo.iota dim = %d : %s" % (index, d, tensor(v.shape, "i32")))
        low, zero, name, k = self.number(-5 if v.kind[0] != "u" else 0, [], v.kind), self.number(0, [], "i32"), self.name(), v.kind
        s, p = tensor([], k), "tensor<i1>"
        self.lines.append("""%s:2 = "stablehlo.reduce"(%s, %s, %s, %s) <{dimensions = array<i64: %d>}> ({
^bb0(%%x: %s, %%i: tensor<i32>, %%y: %s, %%j: tensor<i32>):
  %%ge = stablehlo.compare GT, %%x, %%y : (%s, %s) -> %s
  %%eq = stablehlo.compare EQ, %%x, %%y : (%s, %s) -> %s
  %%lt = stablehlo.compare LT, %%i, %%j : (tensor<i32>, tensor<i32>) -> %s
  %%both = stablehlo.and %%eq, %%lt : %s
  %%first = stablehlo.or %%ge, %%both : %s
  %%v = stablehlo.select %%first, %%x, %%y : %s, %s
  %%k = stablehlo.select %%first, %%i, %%j : %s, tensor<i32>
  stablehlo.return %%v, %%k : %s, tensor<i32>
}) : (%s, %s, %s, tensor<i32>) -> (%s, %s)""" % (
            name, v.name, index, low, zero, d, s, s, s, s, p, s, s, p, p, p, p, p, s, p, s, v.type, tensor(v.shape, "i32"), s, tensor(out, k), tensor(out, "i32")))
        self.keep(name + "#0", out, k, max(v.bound, 5))
        self.keep(name + "#1", out, "i32", v.shape[d])

    def make_sort(self):
        v = self.numeric(lambda v: v.shape and not v.kind.startswith("complex"))
        if not v.shape or v.kind.startswith("complex"):
            raise Unfit
        d, name, s = self.r.randrange(len(v.shape)), self.name(), tensor([], v.kind)
        extra = v.sure and self.r.random() < .5
        other = self.operand(v.shape, self.r.choice(("f32", "i32", "i1"))) if extra else None
        more = [other.kind] if extra else []
        args = ", ".join("%%x%d: tensor<%s>, %%y%d: tensor<%s>" % (i, k, i, k) for i, k in enumerate([v.kind] + more))
        types = ", ".join([v.type] + ([other.type] if extra else []))
        body, keys = "", ("%x0", "%y0")
        if v.kind in FLOATS and self.r.random() < .4:  # as jnp.sort has it: zeros of either sign are equal
            for i, key in enumerate(keys):
                body += ("  %%n%d = stablehlo.constant dense<0.0> : %s\n  %%e%d = stablehlo.compare EQ, %s, %%n%d : (%s, %s) -> tensor<i1>\n"
                         "  %%k%d = stablehlo.select %%e%d, %%n%d, %s : tensor<i1>, %s\n") % (i, s, i, key, i, s, s, i, i, i, key, s)
            keys = "%k0", "%k1"
        self.lines.append('%s:%d = "stablehlo.sort"(%s) <{dimension = %d : i64, is_stable = true}> ({\n^bb0(%s):\n%s  %%z = stablehlo.compare %s, %s, %s : (%s, %s) -> tensor<i1>\n'
                          "  stablehlo.return %%z : tensor<i1>\n}) : (%s) -> (%s)" % (
                              name, 1 + extra, ", ".join([v.name] + ([other.name] if extra else [])), d, args, body, self.r.choice(("LT", "GT")), *keys, s, s, types, types))
        self.keep(name + "#0", v.shape, v.kind, v.bound, v.rms, v.err)
        if extra:
            self.keep(name + "#1", other.shape, other.kind, other.bound, other.rms, other.err)

    def make_top_k(self):
        v = self.numeric(lambda v: v.shape and v.sure and not v.kind.startswith("complex"))
        if not v.shape or not v.shape[-1] or not v.sure or v.kind.startswith("complex"):
            raise Unfit
        k, name = self.r.randint(1, v.shape[-1]), self.name()
        out = [*v.shape[:-1], k]
        self.lines.append("%s:2 = chlo.top_k(%s, k = %d) : %s -> (%s, %s)" % (name, v.name, k, v.type, tensor(out, v.kind), tensor(out, "i32")))
        self.keep(name + "#0", out, v.kind, v.bound)
        self.keep(name + "#1", out, "i32", v.shape[-1])

    def make_random(self):
        shape = self.ops.shape(1, 3)
        kind = self.r.choice(("ui32", "ui32", "ui8"))
        key = self.name()
        self.lines.append("%s = stablehlo.constant dense<[%d, 7]> : tensor<2xui64>" % (key, self.r.randint(0, 99)))
        name = self.name()
        self.lines.append("%s, %s = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, %s)" % (
            name + "s", name, key, tensor(shape, kind)))
        return self.keep(name, shape, kind)

    def make_cholesky(self):
        n = self.r.choice((2, 3, 4))
        v = self.operand(self.ops.shape(0, 2) + [n, n], "f32")
        rank = len(v.shape)
        batch = list(range(rank - 2))
        small = self.line("stablehlo.tanh %s : %s" % (v.name, v.type), v.shape, "f32", None, .7, v.err)
        square = self.line("stablehlo.dot_general %s, %s, %scontracting_dims = [%d] x [%d] : (%s, %s) -> %s" % (
            small.name, small.name, "batching_dims = %s x %s, " % (batch, batch) if batch else "", rank - 1, rank - 1, v.type, v.type, v.type), v.shape, "f32", None, 1, small.err)
        sum_, rows = self.with_diagonal(square)
        lines = self.lines
        lower = self.r.choice(("true", "false"))
        factor = self.line("stablehlo.cholesky %s, lower = %s : %s" % (sum_.name, lower, v.type), v.shape, "f32", None, 1, 4 * sum_.err)
        # The other triangle has whatever the compiler left there.
        mask = self.name()
        lines.append("%s = stablehlo.compare %s, %s, %s : (%s, %s) -> %s" % (mask, "GE" if lower == "true" else "LE", *rows, *[tensor(v.shape, "i32")] * 2, tensor(v.shape, "i1")))
        self.pool.remove(factor)
        zero = self.number(0, v.shape, "f32")
        return self.line("stablehlo.select %s, %s, %s : %s, %s" % (mask, factor.name, zero, tensor(v.shape, "i1"), v.type), v.shape, "f32", None, 1, factor.err)

    def make_map(self):
        """Two operands through a body that has a constant of its own."""
        v = self.numeric(lambda v: v.kind in FLOATS and v.sure)
        if v.kind not in FLOATS or not v.sure:
            raise Unfit
        b, s = self.operand(v.shape, v.kind, sure=True), tensor([], v.kind)
        return self.line('"stablehlo.map"(%s, %s) <{dimensions = array<i64%s>}> ({\n^bb0(%%x: %s, %%y: %s):\n  %%two = stablehlo.constant dense<2.0> : %s\n'
                         "  %%z = stablehlo.multiply %%x, %%two : %s\n  %%w = stablehlo.add %%z, %%y : %s\n  stablehlo.return %%w : %s\n}) : (%s, %s) -> %s" % (
                             v.name, b.name, ": " * bool(v.shape) + ", ".join(map(str, range(len(v.shape)))), s, s, s, s, s, s, v.type, b.type, v.type), v.shape, v.kind, 2 * v.bound + b.bound)

    def make_average(self):
        """A reduction whose body is no single op."""
        v = self.pick(lambda v: v.kind == "f32" and v.shape) or self.operand([4, 6], "f32")
        d = self.r.randrange(len(v.shape))
        out, zero = [n for i, n in enumerate(v.shape) if i != d], self.number(0, [], "f32")
        return self.line('"stablehlo.reduce"(%s, %s) <{dimensions = array<i64: %d>}> ({\n^bb0(%%x: tensor<f32>, %%y: tensor<f32>):\n  %%half = stablehlo.constant dense<0.5> : tensor<f32>\n'
                         "  %%u = stablehlo.multiply %%x, %%half : tensor<f32>\n  %%v = stablehlo.multiply %%y, %%half : tensor<f32>\n  %%w = stablehlo.add %%u, %%v : tensor<f32>\n"
                         "  %%z = stablehlo.add %%w, %%w : tensor<f32>\n  stablehlo.return %%z : tensor<f32>\n}) : (%s, tensor<f32>) -> %s" % (
                             v.name, zero, d, v.type, tensor(out)), out, "f32", None, v.rms * math.sqrt(v.shape[d]), v.err + (1 + math.sqrt(v.shape[d])) * eps("f32"))

    def make_precision(self):
        v = self.numeric(lambda v: v.kind == "f32" and v.sure and v.bound < 2048)
        if v.kind != "f32" or not v.sure or v.bound >= 2048:
            raise Unfit
        return self.line("stablehlo.reduce_precision %s, format = e5m10 : %s" % (v.name, v.type), v.shape, v.kind, v.bound)

    def make_finite(self):
        v = self.numeric(lambda v: v.kind in FLOATS)
        if v.kind not in FLOATS:
            raise Unfit
        return self.line("stablehlo.is_finite %s : (%s) -> %s" % (v.name, v.type, tensor(v.shape, "i1")), v.shape, "i1", 1)

    def make_batch_norm_grad(self):
        v = self.pick(lambda v: v.kind == "f32" and v.shape) or self.operand([4, 6], "f32")
        f, name = self.r.randrange(len(v.shape)), self.name()
        per = tensor([v.shape[f]])
        scale, mean = (self.operand([v.shape[f]], "f32") for _ in range(2))
        spread = self.line("stablehlo.abs %s : %s" % (scale.name, per), [v.shape[f]], "f32", scale.bound, scale.rms, scale.err)
        up = self.operand(v.shape, "f32")
        given = [v, scale, mean, spread, up]
        self.lines.append('%s:3 = "stablehlo.batch_norm_grad"(%s) <{epsilon = 1.0 : f32, feature_index = %d : i64}> : (%s) -> (%s, %s, %s)' % (
            name, ", ".join(x.name for x in given), f, ", ".join(x.type for x in given), v.type, per, per))
        n = math.prod(v.shape) / v.shape[f]
        err = 8 * sum(x.err for x in given) + (4 + math.sqrt(n)) * 4 * eps("f32")
        self.keep(name + "#0", v.shape, "f32", None, 4, err)
        for i in (1, 2):
            self.keep("%s#%d" % (name, i), [v.shape[f]], "f32", None, 4 * math.sqrt(n), err)

    def with_diagonal(self, v):
        """v and one more on the diagonal of its last two dims; the names of where rows and columns are."""
        names, rank = [self.name() for _ in range(4)], len(v.shape)
        numbers = [tensor(v.shape, "i32")] * 2
        self.lines += ["%s = stablehlo.iota dim = %d : %s" % (names[i], rank - 2 + i, numbers[0]) for i in range(2)]
        self.lines.append("%s = stablehlo.compare EQ, %s, %s : (%s, %s) -> %s" % (names[2], names[0], names[1], *numbers, tensor(v.shape, "i1")))
        self.lines.append("%s = stablehlo.convert %s : (%s) -> %s" % (names[3], names[2], tensor(v.shape, "i1"), v.type))
        return self.line("stablehlo.add %s, %s : %s" % (v.name, names[3], v.type), v.shape, "f32", None, 1, v.err), names[:2]

    def make_triangular_solve(self):
        """Its triangle has a diagonal away from zero."""
        n, k, batch, left = self.r.choice((2, 3, 4)), self.r.choice((1, 2, 8)), self.ops.shape(0, 2), self.r.random() < .5
        v, b = self.operand(batch + [n, n], "f32"), self.operand(batch + ([n, k] if left else [k, n]), "f32")
        small = self.line("stablehlo.logistic %s : %s" % (v.name, v.type), v.shape, "f32", None, .7, v.err)
        a, _ = self.with_diagonal(small)
        return self.line('"stablehlo.triangular_solve"(%s, %s) <{left_side = %s, lower = true, transpose_a = #stablehlo<transpose %s>, unit_diagonal = false}> : (%s, %s) -> %s' % (
            a.name, b.name, str(left).lower(), self.r.choice(("TRANSPOSE", "ADJOINT", "NO_TRANSPOSE")), a.type, b.type, b.type), b.shape, "f32", None, b.rms, 8 * (a.err + b.err + eps("f32")))

    def make_barrier(self):
        v = self.pick()
        if v:
            return self.line("stablehlo.optimization_barrier %s : %s" % (v.name, v.type), v.shape, v.kind, v.bound, v.rms, v.err)

    def make_taken(self):
        """An op of random_ops or random_windows, of another element type where it can have one."""
        family = self.r.choice(("moved", "moved", "moved", "summed", "summed", "summed", "scattered", "rough"))
        word = self.r.choice(TAKEN[family])
        if word.startswith("gen_"):
            types, lines = getattr(self.ops, word)()
        else:
            types, lines = self.ops.op(word[5:])
        kind = self.r.choice(KINDS) if self.r.random() < .5 else self.kind
        if family == "rough" or kind == "i1" and family != "moved" or kind != "f32" and any("f32" in t and "complex" in t for t in types):
            kind = "f32"
        text = "\n".join(lines)
        if kind.startswith("complex") and re.search(r"(reduce_window|compare|maximum|minimum)", text):
            kind = "f32"
        if any("f32" not in t and "i32" not in t and "i64" not in t for t in types) or "bf16" in text or "i1>" in "".join(types):
            kind = "f32"
        if kind != "f32":
            types = [t.replace("f32", kind) for t in types]
            text = text.replace("f32", kind).replace("0.000000e+00", "false" if kind == "i1" else "(0.0, 0.0)" if kind.startswith("c") else "0" if kind in INTEGERS else "0.0")
            if kind in INTEGERS:
                text = text.replace(", FLOAT", "")
        return self.take(family, word, types, text)

    def take(self, family, word, types, text):
        shapes = [(tuple(int(n) for n in re.findall(r"(\d+)x", t)), re.search(r"<(?:\d+x)*(.*)>$", t)[1]) for t in types]
        if any(math.prod(s) > MAX_ELEMENTS for s, _ in shapes):
            raise Unfit
        operands = [self.operand(s, k, sure=family == "scattered" and "select_and" in word and i == 0) for i, (s, k) in enumerate(shapes)]
        names = {"a%d" % i: v.name for i, v in enumerate(operands)}
        base = self.name()
        text = re.sub(r"%([a-z]\w*)", lambda m: names.get(m[1]) or "%s_%s" % (base, m[1]), text)
        body = text.split("\n")
        tail = text.rpartition("-> ")[2] if "->" in body[-1] else text.rpartition(" : ")[2]
        results = re.findall(r"tensor<((?:\d+x)*)([a-z0-9]+(?:<f32>)?)>", tail)
        if any(math.prod(int(n) for n in d.split("x") if n) > MAX_ELEMENTS for d, _ in results):
            raise Unfit
        self.lines.append(text)
        left = next(line for line in reversed(body) if re.match(r"%\w+(:\d+)?(, %\w+)* = ", line) and ("%s_" % base[1:]) in line.split(" = ")[0]).split(" = ")[0]
        # The op may span lines; its results are those of the last line that begins one outside of a region.
        starts = [line for line in body if not line.startswith((" ", "^", "}"))]
        left = starts[-1].split(" = ")[0]
        given = left.split(", ") if len(results) == left.count(",") + 1 and ":" not in left else ["%s#%d" % (left.split(":")[0], i) for i in range(len(results))]
        numbers = [v for v in operands if v.kind not in ("i32", "i64", "ui32") or v.kind == shapes[0][1]]
        for name, (dims, kind) in zip(given, results):
            self.keep(name, [int(n) for n in dims.split("x") if n], kind, *self.quality(family, word, text, numbers, kind))

    def quality(self, family, word, text, operands, kind):
        """(bound, rms, err) of what an op that was taken gives."""
        same = [v for v in operands if v.kind == kind] or operands
        err = sum(v.err for v in operands)
        bound = max((v.bound for v in same), default=1) if all(v.sure for v in same) else None
        rms = max((v.rms for v in same), default=1.0)
        if family == "moved" or kind == "i1":
            return bound, rms, err
        if kind in INTEGERS:
            return None, rms, 0
        n = max(math.prod(v.shape) for v in operands)
        if family == "rough" or "multiply" in text or kind == "complex<f32>" and family == "scattered":
            return None, rms, (4 + math.sqrt(n)) * (err + eps(kind))
        if "dot" in word or "convolution" in word or "kernel" in word:
            k = min(math.prod(v.shape) for v in operands)
            product = operands[0].bound * operands[1].bound if bound is not None and all(v.sure for v in operands) else None
            return product and product * k, operands[0].rms * operands[1].rms * max(1, k) ** .25, err + math.sqrt(k) * eps(kind)
        return bound and bound * n, rms, err + math.sqrt(n) * eps(kind)

    # ------------------------------------------------------------ regions

    def inside(self, arguments, n):
        """Runs n ops into lines of their own, which see the values outside; -> (lines, values made)."""
        lines, pool = self.lines, self.pool
        self.lines, self.pool = [], pool + arguments
        self.depth += 1
        for _ in range(n):
            self.op()
        self.depth -= 1
        made, values = self.lines, self.pool[len(pool):]
        self.lines, self.pool = lines, pool
        return made, values

    def returned(self, lines, values, shape, kind):
        """A value of the type, kept small, for a region to return."""
        v = next((v for v in reversed(values) if v.shape == tuple(shape) and v.kind == kind), None)
        outer, self.lines = self.lines, lines
        try:
            if v is None:
                return Value(self.number(1, shape, kind), shape, kind, 1)
            if kind == "i1" or kind in INTEGERS or kind.startswith("complex"):
                return v
            low, high, name, s = self.number(-4, [], kind), self.number(4, [], kind), self.name(), tensor([], kind)
            lines.append("%s = stablehlo.clamp %s, %s, %s : (%s, %s, %s) -> %s" % (name, low, v.name, high, s, v.type, s, v.type))
            return Value(name, shape, kind, 4 if v.sure else None, 2, v.err)
        finally:
            self.lines = outer

    def make_while(self):
        taken = [v for v in (self.pick(lambda v: not v.kind.startswith("complex")) for _ in range(self.r.randint(1, 3))) if v]
        if not taken:
            raise Unfit
        trips = self.r.randint(1, 4)
        # What goes round is not whole but for integers: the second round has the numbers that the first one made.
        inner = [Value(self.name(), v.shape, v.kind, INTEGERS.get(v.kind, 1) if v.kind not in FLOATS else None, 2, 0 if v.kind not in FLOATS else v.err + 4 * eps(v.kind)) for v in taken]
        zero, one, most, i, test, more, out = self.number(0, [], "i32"), self.number(1, [], "i32"), self.number(trips, [], "i32"), self.name(), self.name(), self.name(), self.name()
        lines, values = self.inside([Value(i, [], "i32", 4)] + inner, self.r.randint(1, 5))
        back = [self.returned(lines, values[1:], v.shape, v.kind) for v in inner]
        types = ", ".join(["tensor<i32>"] + [v.type for v in inner])
        head = "%s:%d = stablehlo.while(%s) : %s cond {" % (out, 1 + len(inner), ", ".join("%s = %s" % p for p in [(i, zero)] + [(a.name, v.name) for a, v in zip(inner, taken)]), types)
        self.lines.append("\n".join([head, "%s = stablehlo.compare LT, %s, %s : (tensor<i32>, tensor<i32>) -> tensor<i1>" % (test, i, most), "stablehlo.return %s : tensor<i1>" % test, "} do {",
                                     *lines, "%s = stablehlo.add %s, %s : tensor<i32>" % (more, i, one), "stablehlo.return %s : %s" % (", ".join([more] + [v.name for v in back]), types), "}"]))
        for k, (v, b) in enumerate(zip(inner, back)):
            self.keep("%s#%d" % (out, k + 1), v.shape, v.kind, None if v.kind in FLOATS else b.bound, 2, 3 ** trips * (b.err + v.err))

    def make_case(self):
        wanted = [v for v in (self.pick() for _ in range(self.r.randint(1, 2))) if v]
        if not wanted:
            raise Unfit
        which = self.r.choice(("case", "if"))
        index, out, n = self.operand([], "i32" if which == "case" else "i1"), self.name(), self.r.randint(1, 3) if which == "case" else 2
        types, regions, results = ", ".join(v.type for v in wanted), [], [[] for _ in wanted]
        for _ in range(n):
            lines, values = self.inside([], self.r.randint(1, 3))
            back = [self.returned(lines, values or wanted, v.shape, v.kind) for v in wanted]
            for b, all_ in zip(back, results):
                all_.append(b)
            regions.append("{\n%s\nstablehlo.return %s : %s\n}" % ("\n".join(lines), ", ".join(v.name for v in back), types))
        self.lines.append('%s:%d = "stablehlo.%s"(%s) (%s) : (%s) -> (%s)' % (out, len(wanted), which, index.name, ", ".join(regions), index.type, types))
        for k, v in enumerate(wanted):
            bound = max(b.bound for b in results[k]) if all(b.sure for b in results[k]) else None
            self.keep("%s#%d" % (out, k), v.shape, v.kind, bound, max(b.rms for b in results[k]), max(b.err for b in results[k]))

    def results(self):
        """What nothing else reads, the newest values first; some that something reads."""
        out = [v for v in self.pool if v not in self.args and v.name not in self.used][-5:]
        out += [v for v in self.pool if v not in self.args and v not in out and self.r.random() < .15][:2]
        return out or self.pool[-1:]


class Unfit(Exception):
    """The op at hand cannot be made of what there is: another one is."""


class Program:
    """text: with random cuts. Whole numbers and errors of the results; which part each one is of."""

    def __init__(self, seed, mesh, density, arguments, cut, parts, donate):
        chains = [(k, Chain(seed, k, mesh, density, cut)) for k in parts]
        given, returned, lines, self.checks = [], [], [], []
        for k, chain in chains:
            results = chain.results()
            lines += chain.lines
            donated = {}
            for i, v in enumerate(results):
                free = [a for a in chain.args if a.type == v.type and a.name not in donated]
                if free and chain.plan.random() < donate:
                    donated[free[0].name] = len(returned) + i
            shared = {}
            for a in chain.args:
                attributes = []
                if a.name in donated:
                    attributes.append("tf.aliasing_output = %d : i32" % donated[a.name])
                if chain.plan.random() < arguments:
                    shared[a.name] = cut(chain.plan, mesh, len(a.shape))
                    attributes.append("sdy.sharding = #sdy.sharding" + shared[a.name])
                given.append("%s: %s%s" % (a.name, a.type, " {%s}" % ", ".join(attributes) if attributes else ""))
            at = {i: name for name, i in donated.items()}
            for i, v in enumerate(results):
                own = shared.get(at.get(len(returned)))
                own = own or (cut(chain.plan, mesh, len(v.shape)) if chain.plan.random() < arguments / 2 else None)
                returned.append((v.name, v.type + (" {sdy.sharding = #sdy.sharding%s}" % own if own else ""), v.type))
                self.checks.append((k, v.sure, 40 * v.err, v.rms))
        n = math.prod(size for _, size in mesh)
        self.text = "module @chains attributes {mhlo.num_partitions = %d : i32, mhlo.num_replicas = 1 : i32} {\nsdy.mesh @mesh = <[%s]>\nfunc.func public @main(%s) -> (%s) {\n%s\nreturn %s : %s\n}\n}\n" % (
            n, ", ".join('"%s"=%d' % axis for axis in mesh), ", ".join(given), ", ".join(t for _, t, _ in returned), "\n".join(lines),
            ", ".join(name for name, _, _ in returned), ", ".join(t for _, _, t in returned))


def whole(text):
    """The text for one device: without its mesh, shardings and constraints."""
    text = re.sub(r"sdy\.sharding_constraint (%[\w#]+) <@mesh, \[[^\]]*\][^>]*> : ", r"stablehlo.optimization_barrier \1 : ", text)
    text = re.sub(r"(?:, )?sdy\.sharding = #sdy\.sharding<@mesh, \[[^\]]*\][^>]*>", "", text).replace(" {}", "").replace("{, ", "{")
    text = re.sub(r"sdy\.mesh @mesh = .*\n", "", text)
    return re.sub(r"num_partitions = \d+", "num_partitions = 1", text)
