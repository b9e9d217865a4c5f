"""Random annotated programs of 5 to 60 ops for comparing passes: all op kinds, regions, calls, groups, computations.

programs.text(seed) is the same text for the same seed. Ops come from random_ops; their operands are values made before
(mostly recent ones), arguments or constants; whatever was made may get a sharding, and some of it is never used."""
import random
import re

from random_ops import Ops, ints, tensor

AXIS_SIZES = (2, 2, 2, 2, 4, 4, 4, 8, 3, 6, 12, 1, 5)
REGION_KINDS = ("while", "while", "case", "if", "map", "manual", "manual", "call", "call")
SHARDED_KINDS = ("constraint", "constraint", "constraints", "reshard", "barrier", "block", "group", "rule", "reshaped", "scalars")
RARE_KINDS = ("tokens", "ids", "composite", "batch_norm_grad", "integers", "odd_floats", "sums", "named")


class Value:
    def __init__(self, name, kind):
        self.name, self.type = name, kind
        dims = re.fullmatch(r"tensor<((?:\d+x)*)(.*)>", kind)
        self.shape = [int(d) for d in dims[1].split("x") if d] if dims and "?" not in kind else None
        self.elem = dims[2] if dims else None


class ChainedOps(Ops):
    """Ops whose shapes are mostly those of values at hand."""

    def __init__(self, rng, program):
        super().__init__(0)
        self.r, self.program = rng, program

    def shape(self, low=0, high=4, sizes=(1, 2, 3, 4, 4, 6, 8, 8, 12, 16)):
        sizes = [s for s in sizes if s]
        least = min(sizes)
        fits = [v.shape for v in self.program.pool[-12:] if v.shape is not None and low <= len(v.shape) <= high and max(v.shape, default=0) <= 64
                and min(v.shape, default=1) >= least and (least == 1 or all(s % 2 == 0 for s in v.shape))]
        if fits and self.r.random() < .7:
            return list(self.r.choice(fits))
        return [self.r.choice(sizes) for _ in range(self.r.randint(low, high))]


# The kinds of random_ops, the frequent ones of real programs more often.
WEIGHTS = {"unary": 4, "binary": 8, "dot_general": 5, "reshape": 5, "transpose": 4, "reduce": 4, "broadcast_in_dim": 4, "slice": 2,
           "concatenate": 2, "dynamic_slice": 2, "dynamic_update_slice": 2, "gather": 2, "scatter": 2, "convolution": 2, "select": 2,
           "compare": 1, "convert": 2, "while": 0, "constraint": 0, "iota": 1}


class Program:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.count, self.depth = 0, 0
        self.pool, self.lines, self.args, self.funcs = [], [], [], []
        self.free_arguments = True  # new arguments can be made for the function at hand
        self.meshes = self.make_meshes()
        self.mesh = "mesh"
        self.manual = ()  # axes that the bodies around are manual over
        self.priorities = self.r.random() < .25
        self.density = self.r.choice((.05, .15, .15, .3))
        self.sub_axes = self.r.random() < .4
        self.open_chance = self.r.choice((.2, .5, .8))
        self.wild = self.r.random() < .15  # axes where they do not divide
        self.special = self.r.choice((0, .1, .1, .25))  # chance of ops with regions, groups, barriers, ..
        self.ops = ChainedOps(self.r, self)
        names = sorted(WEIGHTS.get(k, 1) and k for k in self.ops.kinds if WEIGHTS.get(k, 1))
        self.kinds = [k for k in names for _ in range(WEIGHTS.get(k, 1))]
        self.groups = {}

    # ------------------------------------------------------------ meshes and shardings

    def make_meshes(self):
        while True:
            n = self.r.choice((1, 2, 2, 2, 3, 3, 4))
            sizes = [self.r.choice(AXIS_SIZES) for _ in range(n)]
            devices = 1
            for s in sizes:
                devices *= s
            if 1 < devices <= 256 and max(sizes) > 1:
                break
        names = ("a", "b", "c", "d") if self.r.random() < .5 else ("x", "data", "m_1", "e")
        axes = dict(zip(names, sizes))
        body = ", ".join('"%s"=%d' % pair for pair in axes.items())
        meshes = {"mesh": (axes, "<[%s]>" % body)}
        if self.r.random() < .06:
            order = list(range(devices))
            self.r.shuffle(order)
            meshes["other"] = (axes, "<[%s], device_ids=%s>" % (body, order))
        if self.r.random() < .02:
            meshes["single"] = ({}, "<[], device_ids=[0]>")
        if self.r.random() < .02:
            meshes["empty"] = ({}, "<[]>")
        return meshes

    def axes(self):
        return self.meshes[self.mesh][0]

    def pieces(self):
        """Axes and sub-axes that can be used together, shuffled."""
        pieces = []
        for name, size in self.axes().items():
            if name in self.manual:
                continue
            divisors = [d for d in range(2, size) if size % d == 0]
            if self.sub_axes and divisors and self.r.random() < .5:
                first = self.r.choice(divisors)
                pieces += [(name, 1, first), (name, first, size // first)]
            else:
                pieces.append((name, 1, size))
        self.r.shuffle(pieces)
        return pieces

    def piece_text(self, piece):
        name, pre, size = piece
        return '"%s"' % name if size == self.axes()[name] else '"%s":(%d)%d' % piece

    def sharding(self, shape, priorities=False, manual=(), manual_dims=()):
        """manual: axes of a computation's border; manual_dims: the dim each one stands in, None for replicated."""
        self.mesh = "mesh" if self.r.random() < .95 or self.manual or manual else self.r.choice(list(self.meshes))
        try:
            if self.mesh == "single":
                return "<@single, []>" if not shape else self.any_empty(shape, "mesh")
            if self.mesh == "empty":
                return self.any_empty(shape, "empty")
            return self.full_sharding(shape, priorities, manual, manual_dims)
        finally:
            self.mesh = "mesh"

    def any_empty(self, shape, mesh):
        return "<@%s, [%s]>" % (mesh, ", ".join(self.r.choice(("{}", "{?}")) for _ in shape))

    def full_sharding(self, shape, priorities, manual, manual_dims):
        pieces, dims = [p for p in self.pieces() if p[0] not in manual], []
        # jaxlib dies when a dead op has a priority, so ops get them rarely
        priorities = self.priorities and (priorities or self.r.random() < .1)
        for d, size in enumerate(shape):
            axes = []
            left = size
            while pieces and self.r.random() < (.45 if size > 1 else .08) and len(axes) < 3:
                if axes and axes[-1][0] == pieces[-1][0] and axes[-1][1] * axes[-1][2] == pieces[-1][1]:
                    break
                if left % pieces[-1][2] and not (self.wild and self.r.random() < .5):
                    pieces.insert(0, pieces.pop())
                    if self.r.random() < .6:
                        break
                    continue
                left //= pieces[-1][2]
                axes.append(pieces.pop())
            words = ['"%s"' % a for a, where in zip(manual, manual_dims) if where == d] + [self.piece_text(p) for p in axes]
            is_open = self.r.random() < self.open_chance
            priority = ""
            if priorities and (words or is_open) and self.r.random() < .4:
                priority = "p%d" % self.r.randrange(4)
            dims.append("{%s}%s" % (", ".join(words + ["?"] * is_open), priority))
        order = list(self.axes())
        replicated = [(a, 1, self.axes()[a]) for a, where in zip(manual, manual_dims) if where is None]
        unreduced = []
        if pieces and self.r.random() < .12:
            replicated.append(pieces.pop())
        if pieces and self.r.random() < .04:
            unreduced.append(pieces.pop())
        tail = ""
        for word, axes in (("replicated", replicated), ("unreduced", unreduced)):
            if axes:
                tail += ", %s={%s}" % (word, ", ".join(map(self.piece_text, sorted(axes, key=lambda p: (order.index(p[0]), p[1])))))
        return "<@%s, [%s]%s>" % (self.mesh, ", ".join(dims), tail)

    def per_value(self, values):
        """One sharding attribute for an op's results, or none."""
        return ", ".join(self.sharding(v.shape or []) if v.shape is not None else "<@mesh, []>" for v in values)

    # ------------------------------------------------------------ values

    def name(self, word="v"):
        self.count += 1
        return "%%%s%d" % (word, self.count)

    def pick(self, test=lambda v: True):
        found = [v for v in self.pool if test(v)]
        if not found:
            return None
        if self.r.random() < .7:
            return found[-1 - min(len(found) - 1, int(self.r.expovariate(.4)))]
        return self.r.choice(found)

    def number(self):
        """Some f32 tensor of rank 1 to 4."""
        v = self.pick(lambda v: v.elem == "f32" and v.shape and len(v.shape) < 5)
        return v or self.operand(tensor([self.r.choice((4, 8)), self.r.choice((2, 6, 8))]))

    def operand(self, kind):
        """A value of the type: one at hand, one made to fit, or a new argument."""
        v = self.pick(lambda v: v.type == kind)
        if v and self.r.random() < .85:
            return v
        wanted = Value("", kind)
        if wanted.shape is None:
            return v
        if not wanted.shape and self.r.random() < .8 and wanted.elem in ("f32", "i32", "ui64", "i1"):
            return self.constant(wanted)
        chance = self.r.random()
        if chance < .45 and wanted.shape:
            made = self.adapted(wanted)
            if made:
                return made
        if self.free_arguments and chance < .9:
            return self.argument(kind)
        return v or self.constant(wanted)

    def argument(self, kind):
        v = Value("%%arg%d" % len(self.args), kind)
        self.args.append((v, self.sharding(v.shape, True) if self.r.random() < .5 else None))
        self.pool.append(v)
        return v

    def constant(self, v):
        text = {"f": "1.000000e+00", "b": "1.000000e+00", "i": "true" if v.elem == "i1" else "1", "u": "1", "c": "(1.000000e+00,0.000000e+00)"}[v.elem[0]]
        return self.emit("stablehlo.constant dense<%s> : %s" % (text, v.type), [v.type], plain=True)[0]

    def adapted(self, wanted):
        """An equally typed value by reshape, broadcast, slice or convert."""
        def count(shape):
            n = 1
            for s in shape:
                n *= s
            return n
        same = self.pick(lambda v: v.shape is not None and v.elem == wanted.elem and count(v.shape) == count(wanted.shape))
        if same and self.r.random() < .6:
            return self.emit("stablehlo.reshape %s : (%s) -> %s" % (same.name, same.type, wanted.type), [wanted.type])[0]
        other = self.pick(lambda v: v.shape == wanted.shape and v.elem in ("f32", "i32", "bf16"))
        if other and wanted.elem in ("f32", "i32", "bf16", "i1", "ui32"):
            return self.emit("stablehlo.convert %s : (%s) -> %s" % (other.name, other.type, wanted.type), [wanted.type])[0]
        small = self.pick(lambda v: v.shape is not None and v.elem == wanted.elem and len(v.shape) <= len(wanted.shape) and set(v.shape) <= set(wanted.shape + [1]))
        if small:
            at, dims = 0, []
            for s in small.shape:
                while at < len(wanted.shape) and s not in (1, wanted.shape[at]):
                    at += 1
                if at == len(wanted.shape):
                    return None
                dims.append(at)
                at += 1
            return self.emit("stablehlo.broadcast_in_dim %s, dims = %s : (%s) -> %s" % (small.name, dims, small.type, wanted.type), [wanted.type])[0]
        return None

    def emit(self, text, types, plain=False, where=None, attributes=True):
        """One op: text without its results, which have these types. where: the text that a sharding goes behind."""
        base = self.name()
        if len(types) == 1:
            left, values = base, [Value(base, types[0])]
        else:
            left, values = "%s:%d" % (base, len(types)), [Value("%s#%d" % (base, i), t) for i, t in enumerate(types)]
        if attributes and not plain and values and self.r.random() < self.density:
            text = with_attribute(text, "sdy.sharding = #sdy.sharding_per_value<[%s]>" % self.per_value(values), where)
        self.lines.append((left + " = " if values else "") + text)
        self.pool += values
        return values

    # ------------------------------------------------------------ ops

    def op(self):
        r = self.r
        if r.random() < self.special:
            kinds = SHARDED_KINDS + (REGION_KINDS if self.depth < 2 else ())
            if r.random() < .15:
                kinds = RARE_KINDS if self.depth < 2 else RARE_KINDS[:-1]
            return getattr(self, "make_" + r.choice(kinds))()
        kind = r.choice(self.kinds)
        types, lines = getattr(self.ops, "gen_" + kind)()
        operands = [self.operand(t) for t in types]
        if None in operands:
            return
        self.take(lines, operands)

    def take(self, lines, operands):
        """Lines of random_ops with their own names; %aN are the operands."""
        names = {"a%d" % i: v.name for i, v in enumerate(operands)}
        for line in lines:
            defined = re.match(r"((?:%\w+(?::\d+)?(?:, )?)+) = ", line)
            words = re.findall(r"%(\w+)", defined[1])
            types = result_types(line)
            new = [Value(self.name(), t) for t in types] if len(words) == len(types) else None
            if new:
                left = ", ".join(v.name for v in new)
                names.update((w, v.name) for w, v in zip(words, new))
            else:
                base = self.name()
                left, new = "%s:%d" % (base, len(types)), [Value("%s#%d" % (base, i), t) for i, t in enumerate(types)]
            text = re.sub(r"%(\w+)", lambda found: names.get(found[1], found[0]), line[defined.end():])
            if self.r.random() < self.density and all(v.shape is not None for v in new):
                text = with_attribute(text, "sdy.sharding = #sdy.sharding_per_value<[%s]>" % self.per_value(new))
            self.lines.append(left + " = " + text)
            self.pool += new

    def make_constraint(self):
        a = self.number()
        return self.emit("sdy.sharding_constraint %s %s : %s" % (a.name, self.sharding(a.shape), a.type), [a.type], attributes=False)[0]

    def make_constraints(self):
        a = self.make_constraint()
        for _ in range(self.r.randint(1, 2)):
            a = self.emit("sdy.sharding_constraint %s %s : %s" % (a.name, self.sharding(a.shape), a.type), [a.type], attributes=False)[0]

    def make_reshard(self):
        a = self.number()
        self.emit("sdy.reshard %s %s : %s" % (a.name, self.sharding(a.shape), a.type), [a.type], attributes=False)

    def make_reshaped(self):
        """A sharded value resharded: what becomes collectives."""
        a = self.number()
        b = self.emit("stablehlo.negate %s {sdy.sharding = #sdy.sharding_per_value<[%s]>} : %s" % (a.name, self.closed(a.shape), a.type), [a.type], plain=True)[0]
        self.emit("sdy.reshard %s %s : %s" % (b.name, self.closed(a.shape), a.type), [a.type], attributes=False)

    def closed(self, shape):
        return re.sub(r"p\d|(, )?\?", "", self.full_sharding(shape, False, (), ()))

    def make_barrier(self):
        values = [self.number() for _ in range(self.r.randint(1, 3))]
        types = [v.type for v in values]
        self.emit("stablehlo.optimization_barrier %s : %s" % (", ".join(v.name for v in values), ", ".join(types)), types,
                  where="stablehlo.optimization_barrier")

    def make_block(self):
        a = self.number()
        word = self.r.choice(("FORWARD", "BACKWARD", "NONE"))
        self.emit("sdy.propagation_barrier %s allowed_direction=%s : %s" % (a.name, word, a.type), [a.type])

    def make_group(self):
        a = self.number()
        key = (self.r.randrange(3), tuple(a.shape), self.manual)
        group = self.groups.setdefault(key, len(self.groups) * self.r.choice((1, 3)))
        for v in [a] + [self.pick(lambda v: v.shape == a.shape and v.elem == "f32") for _ in range(self.r.randint(0, 2))]:
            self.lines.append("sdy.sharding_group %s group_id=%d : %s" % (v.name, group, v.type))

    def make_rule(self):
        """A custom call with a rule of the user's."""
        operands = [self.number() for _ in range(self.r.randint(1, 3))]
        shapes = [v.shape for v in operands]
        dims = [s for shape in shapes for s in shape]
        result = [self.r.choice(dims) for _ in range(self.r.randint(1, 3))]
        sizes, reduced, tensors = [], set(), []
        for t, shape in enumerate(shapes + [result]):
            used, mapping = set(), []
            for size in shape:
                fits = [f for f, s in enumerate(sizes) if s == size and f not in used]
                if fits and self.r.random() < .8:
                    factors = [self.r.choice(fits)]
                else:
                    split = [d for d in range(2, size) if size % d == 0]
                    parts = [size]
                    if split and self.r.random() < .2:
                        d = self.r.choice(split)
                        parts = [d, size // d]
                    factors = list(range(len(sizes), len(sizes) + len(parts)))
                    sizes += parts
                used.update(factors)
                mapping.append(factors)
            tensors.append(mapping)
        if len(sizes) > 17:
            return
        in_result = {f for m in tensors[-1] for f in m}
        kinds = {"reduction": [], "need_replication": [], "permutation": []}
        for f in range(len(sizes)):
            word = self.r.choice(("", "", "") + tuple(kinds))
            if word and not (word == "reduction" and f in in_result):
                kinds[word].append(f)
        blocked = [f for f in range(len(sizes)) if self.r.random() < .1]
        letter = [chr(ord("i") + f) for f in range(len(sizes))]

        def mapped(mapping):
            return "[%s]" % ", ".join("".join(letter[f] for f in factors) for factors in mapping)
        text = "(%s)->(%s) {%s}" % (", ".join(map(mapped, tensors[:-1])), mapped(tensors[-1]), ", ".join("%s=%d" % p for p in zip(letter, sizes)))
        for word, factors in list(kinds.items()) + [("blocked_propagation", blocked)]:
            if factors:
                text += " %s={%s}" % (word, ", ".join(letter[f] for f in factors))
        call = "stablehlo.custom_call @by_rule(%s) {sdy.sharding_rule = #sdy.op_sharding_rule<%s%s>} : (%s) -> %s" % (
            ", ".join(v.name for v in operands), text, ", custom" if self.r.random() < .8 else "", ", ".join(v.type for v in operands), tensor(result))
        self.emit(call, [tensor(result)])

    def make_scalars(self):
        """Constant expressions that several ops use."""
        shape = self.number().shape
        t = tensor(shape)
        c = self.emit("stablehlo.constant dense<%s> : tensor<f32>" % self.r.choice(("1.000000e+00", "2.000000e+00")), ["tensor<f32>"])[0]
        if self.r.random() < .5:
            c = self.emit("stablehlo.constant dense<1.000000e+00> : %s" % t, [t])[0]
        else:
            c = self.emit("stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> %s" % (c.name, t), [t])[0]
        if self.r.random() < .3:
            c = self.emit("stablehlo.negate %s : %s" % (c.name, t), [t])[0]
        for _ in range(self.r.randint(1, 2)):
            b = self.operand(t)
            self.emit("stablehlo.add %s, %s : %s" % (b.name, c.name, t), [t])

    def make_batch_norm_grad(self):
        a = self.number()
        f = self.r.randrange(len(a.shape))
        v = tensor([a.shape[f]])
        values = [a] + [self.operand(v) for _ in range(3)] + [self.operand(a.type)]
        self.emit('"stablehlo.batch_norm_grad"(%s) <{epsilon = 0.1 : f32, feature_index = %d : i64}> : (%s) -> (%s)' % (
            ", ".join(x.name for x in values), f, ", ".join(x.type for x in values), ", ".join([a.type, v, v])), [a.type, v, v])

    def make_tokens(self):
        t = self.emit("stablehlo.create_token : !stablehlo.token", ["!stablehlo.token"], plain=True)[0]
        self.emit("stablehlo.after_all %s, %s : !stablehlo.token" % (t.name, t.name), ["!stablehlo.token"], plain=True)

    def make_ids(self):
        self.emit("stablehlo.%s : tensor<ui32>" % self.r.choice(("partition_id", "replica_id")), ["tensor<ui32>"], plain=True)

    def make_integers(self):
        v = self.pick(lambda v: v.elem == "i32" and v.shape) or self.operand(tensor(self.number().shape, "i32"))
        if self.r.random() < .5:
            self.emit("stablehlo.%s %s : %s" % (self.r.choice(("not", "popcnt", "count_leading_zeros")), v.name, v.type), [v.type])
        else:
            word = self.r.choice(("shift_left", "shift_right_logical", "shift_right_arithmetic", "and", "or", "xor"))
            self.emit("stablehlo.%s %s, %s : %s" % (word, v.name, self.operand(v.type).name, v.type), [v.type])

    def make_odd_floats(self):
        v = self.number()
        which = self.r.randrange(4)
        if which == 0:
            t = tensor(v.shape, "i1")
            self.emit("stablehlo.is_finite %s : (%s) -> %s" % (v.name, v.type, t), [t])
        elif which == 1:
            t = tensor(v.shape, "complex<f32>")
            c = self.emit("stablehlo.complex %s, %s : %s" % (v.name, self.operand(v.type).name, t), [t])[0]
            self.emit("stablehlo.imag %s : (%s) -> %s" % (c.name, t, v.type), [v.type])
        elif which == 2:
            self.emit("stablehlo.reduce_precision %s, format = e5m10 : %s" % (v.name, v.type), [v.type])
        else:
            t = tensor(v.shape, "!quant.uniform<i8:f32, 0.5:10>")
            q = self.emit("stablehlo.uniform_quantize %s : (%s) -> %s" % (v.name, v.type, t), [t])[0]
            self.emit("stablehlo.uniform_dequantize %s : (%s) -> %s" % (q.name, t, v.type), [v.type])

    def make_sums(self):
        """Contractions and look-ups that Shardy has no rule for."""
        m, k, n = (self.r.choice((2, 4, 8)) for _ in range(3))
        a = self.operand(tensor([m, k]))
        if self.r.random() < .5:
            b = self.operand(tensor([k, n]))
            t = tensor([m, n])
            self.emit('stablehlo.einsum %s, %s, config = "ab,bc->ac" : (%s, %s) -> %s' % (a.name, b.name, a.type, b.type, t), [t])
        else:
            i = self.operand(tensor([n], "i32"))
            t = tensor([n, k])
            self.emit('"stablehlo.torch_index_select"(%s, %s) <{batch_dims = 0 : i64, dim = 0 : i64}> : (%s, %s) -> %s' % (a.name, i.name, a.type, i.type, t), [t])

    def make_composite(self):
        if not self.funcs:
            return
        f = self.r.choice(self.funcs)
        values = [self.operand(t) for t in f.inputs]
        if None not in values:
            self.emit('stablehlo.composite "our.%s" %s {decomposition = @%s} : (%s) -> %s' % (
                f.name, ", ".join(v.name for v in values), f.name, ", ".join(f.inputs), paren(f.outputs)), f.outputs)

    # ------------------------------------------------------------ regions

    def body(self, arguments, n_ops, isolated=False, only=None):
        """Lines of a region's ops, and the pool in it."""
        outer_pool, outer_lines, outer_free = self.pool, self.lines, self.free_arguments
        self.pool = list(arguments) if isolated else outer_pool + list(arguments)
        self.lines = []
        if isolated:
            self.free_arguments = False
        self.depth += 1
        for _ in range(n_ops):
            self.op()
        self.depth -= 1
        made, pool = self.lines, self.pool
        self.pool, self.lines, self.free_arguments = outer_pool, outer_lines, outer_free
        # arguments made meanwhile are values of the function
        self.pool += [v for v, _ in self.args if v in pool and v not in self.pool]
        return made, pool

    def returned(self, lines, pool, kind):
        """A value of the type for a region to return."""
        found = [v for v in pool if v.type == kind]
        recent = found[-4:] if self.r.random() < .8 else found
        if recent:
            return self.r.choice(recent)
        base = self.name()
        lines.append("%s = stablehlo.constant dense<1.000000e+00> : %s" % (base, kind))
        return Value(base, kind)

    def make_while(self):
        carried = [self.number() for _ in range(self.r.randint(1, 3))]
        counter = self.operand("tensor<i32>")
        base = self.name("w")
        i = Value(base + "_i", "tensor<i32>")
        inner = [Value("%s_%d" % (base, k), v.type) for k, v in enumerate(carried)]
        lines, pool = self.body([i] + inner, self.r.randint(1, 6))
        back = [self.returned(lines, pool, v.type) for v in inner]
        types = ["tensor<i32>"] + [v.type for v in carried]
        attribute = ""
        if self.r.random() < self.density:
            results = [Value("", t) for t in types]
            attribute = " attributes {sdy.sharding = #sdy.sharding_per_value<[%s]>}" % self.per_value(results)
        head = "%s:%d = stablehlo.while(%s) : %s%s" % (base, len(types), ", ".join("%s = %s" % (a.name, v.name) for a, v in zip([i] + inner, [counter] + carried)),
                                                      ", ".join(types), attribute)
        n, p, one, top = (self.name() for _ in range(4))
        self.lines.append("\n".join(
            [head, "cond {", "  %s = stablehlo.constant dense<4> : tensor<i32>" % top,
             "  %s = stablehlo.compare LT, %s, %s, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>" % (p, i.name, top),
             "  stablehlo.return %s : tensor<i1>" % p, "} do {", "  %s = stablehlo.constant dense<1> : tensor<i32>" % one,
             "  %s = stablehlo.add %s, %s : tensor<i32>" % (n, i.name, one)]
            + ["  " + line for line in lines] + ["  stablehlo.return %s : %s" % (", ".join([n] + [v.name for v in back]), ", ".join(types)), "}"]))
        self.pool += [Value("%s#%d" % (base, k), t) for k, t in enumerate(types)]

    def branches(self, word, selector, n):
        values = [self.number() for _ in range(self.r.randint(1, 2))]
        types = [v.type for v in values]
        regions = []
        for _ in range(n):
            lines, pool = self.body([], self.r.randint(0, 3))
            back = [self.returned(lines, pool, t) for t in types]
            regions.append("{\n%s\n}" % "\n".join("  " + line for line in lines + ["stablehlo.return %s : %s" % (", ".join(v.name for v in back), ", ".join(types))]))
        self.emit('"stablehlo.%s"(%s) (%s) : (%s) -> %s' % (word, selector.name, ", ".join(regions), selector.type, paren(types)), types)

    def make_case(self):
        self.branches("case", self.operand("tensor<i32>"), self.r.randint(1, 3))

    def make_if(self):
        self.branches("if", self.operand("tensor<i1>"), 2)

    def make_map(self):
        a = self.number()
        b = self.operand(a.type)
        self.emit('"stablehlo.map"(%s, %s) <{dimensions = %s}> ({\n^bb0(%%x: tensor<f32>, %%y: tensor<f32>):\n  %%z = stablehlo.add %%x, %%y : tensor<f32>\n'
                  "  stablehlo.return %%z : tensor<f32>\n}) : (%s, %s) -> %s" % (a.name, b.name, ints(range(len(a.shape))), a.type, a.type, a.type), [a.type])

    def computation(self, word, manual, attribute):
        def border(v, shape):
            """(sharding, local shape)"""
            local, where = list(shape), []
            for axis in manual:
                fits = [d for d, s in enumerate(local) if s % self.axes()[axis] == 0]
                d = self.r.choice(fits + [None])
                if d is not None:
                    local[d] //= self.axes()[axis]
                where.append(d)
            return where, local
        operands = [self.number() for _ in range(self.r.randint(1, 2))]
        inside, in_shardings = [], []
        for v in operands:
            where, local = border(v, v.shape)
            in_shardings.append(self.sharding(v.shape, True, manual, where))
            inside.append(Value(self.name("m"), tensor(local)))
        outer, self.manual = self.manual, self.manual + tuple(manual)
        lines, pool = self.body(inside, self.r.randint(1, 5), isolated=True)
        self.manual = outer
        back, types, out_shardings = [], [], []
        for _ in range(self.r.randint(1, 2)):
            found = [v for v in pool if v.elem == "f32" and v.shape and len(v.shape) < 5]
            v = self.r.choice(found[-4:])
            where = [self.r.choice(list(range(len(v.shape))) + [None]) for _ in manual]
            full = list(v.shape)
            for axis, d in zip(manual, where):
                if d is not None:
                    full[d] *= self.axes()[axis]
            back.append(v)
            types.append(tensor(full))
            out_shardings.append(self.sharding(full, True, manual, where))
        text = "%s(%s) in_shardings=[%s] out_shardings=[%s]%s (%s) {\n%s\n} : (%s) -> %s" % (
            word, ", ".join(v.name for v in operands), ", ".join(in_shardings), ", ".join(out_shardings), attribute,
            ", ".join("%s: %s" % (v.name, v.type) for v in inside),
            "\n".join("  " + line for line in lines + ["sdy.return %s : %s" % (", ".join(v.name for v in back), ", ".join(v.type for v in back))]),
            ", ".join(v.type for v in operands), paren(types))
        self.emit(text, types, attributes=False)

    def make_manual(self):
        free = [a for a in self.axes() if a not in self.manual]
        if free:
            order = list(self.axes())
            manual = sorted(self.r.sample(free, min(len(free), self.r.choice((1, 1, 1, 2)))), key=order.index)
            self.computation("sdy.manual_computation", manual, " manual_axes={%s}" % ", ".join('"%s"' % a for a in manual))

    def make_named(self):
        if not self.manual:
            self.computation('sdy.named_computation<"part%d">' % self.r.randrange(3), [], "")

    # ------------------------------------------------------------ functions

    def make_call(self):
        if not self.funcs or self.manual:
            return
        f = self.r.choice(self.funcs)
        values = [self.operand(t) for t in f.inputs]
        if None in values:
            return
        self.emit("func.call @%s(%s) : (%s) -> %s" % (f.name, ", ".join(v.name for v in values), ", ".join(f.inputs), paren(f.outputs)), f.outputs)

    def returnable(self, v):
        return v.shape is not None

    def border(self, v):
        return self.sharding(v.shape, True)

    def function(self, name, n_ops, visibility):
        """Text of a function; its types are added to what calls can call."""
        self.pool, self.lines, self.args, self.free_arguments = [], [], [], True
        for _ in range(self.r.randint(1, 4)):
            shape = [self.r.choice((2, 3, 4, 4, 6, 8, 8, 12, 16)) for _ in range(self.r.randint(1, 3))]
            if self.pool and self.r.random() < .5:
                shape = self.r.choice(self.pool).shape
            self.argument(tensor(shape))
        for _ in range(n_ops):
            self.op()
        outs = [v for v in self.pool if self.returnable(v)]
        results = [self.r.choice(outs[-8:]) for _ in range(self.r.randint(1, 4))]
        shardings = [self.border(v) if self.r.random() < .2 else None for v in results]

        def typed(kind, sharding):
            return kind + (" {sdy.sharding = #sdy.sharding%s}" % sharding if sharding else "")
        text = ["func.func %s@%s(%s) -> (%s) {" % (visibility, name, ", ".join("%s: %s" % (v.name, typed(v.type, s)) for v, s in self.args),
                                                   ", ".join(typed(v.type, s) for v, s in zip(results, shardings)))]
        text += ["  " + line for line in self.lines]
        text += ["  return %s : %s" % (", ".join(v.name for v in results), ", ".join(v.type for v in results)), "}"]
        made = Function(name, [v.type for v, _ in self.args], [v.type for v in results])
        return "\n".join(text), made

    def text(self):
        r = self.r
        parts = ["sdy.mesh @%s = %s" % (name, body) for name, (_, body) in self.meshes.items()]
        functions = []
        if r.random() < .2:
            self.special = max(self.special, .15)
            for k in range(r.randint(1, 3)):
                text, made = self.function("f%d" % k, r.randint(1, 5), "private ")
                functions.append(text)
                self.funcs.append(made)
        text, _ = self.function("main", r.choice((5, 8, 12, 16, 24, 40, 60)), r.choice(("", "public ")))
        if r.random() < .7:
            functions = [text] + functions
        else:
            functions.append(text)
        return "module {\n%s\n}\n" % "\n".join(parts + functions)


class Function:
    def __init__(self, name, inputs, outputs):
        self.name, self.inputs, self.outputs = name, inputs, outputs


def paren(types):
    return types[0] if len(types) == 1 else "(%s)" % ", ".join(types)


def result_types(line):
    """Of the op that a line of random_ops is."""
    tail = line.rpartition(" : ")[2]
    if "->" in tail:
        tail = tail.rpartition("-> ")[2]
        return re.findall(r"tensor<.*?>+", tail)
    types = re.findall(r"tensor<.*?>+", tail)
    return types[-1:]


def with_attribute(text, attribute, where=None):
    """The op's text with one more attribute."""
    head, _, kind = text.rpartition(" : ")
    if where:
        return text.replace(where, "%s {%s}" % (where, attribute), 1)
    if head.startswith(("stablehlo.constant", "sdy.constant")):
        word, _, rest = head.partition(" ")
        return "%s {%s} %s : %s" % (word, attribute, rest, kind)
    if head.endswith("}") and "{" in head:
        return "%s, %s} : %s" % (head[:-1], attribute, kind)
    return "%s {%s} : %s" % (head, attribute, kind)


def text(seed):
    return Program(seed).text()
