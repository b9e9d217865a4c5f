#!/usr/bin/env python3
"""Random annotated programs through Shardy's propagation passes, ours against jaxlib's, value by value.

    fuzz_propagate.py [--count N] [--seed S] [--command 'shardwright opt'] [--passes PIPELINE] [--keep DIR]

Every program comes from its own seed (printed), so `--seed S --count 1` repeats one. A difference is shrunk: ops become
arguments and annotations go while the difference stays; the small program and both answers are printed. Exit code 1
when anything differs."""
import argparse
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
os.environ["JAX_PLATFORMS"] = "cpu"
import sdy  # noqa: E402

PASSES = [
    "sdy-add-data-flow-edges,sdy-basic-propagate",
    "sdy-add-data-flow-edges,sdy-aggressive-propagate",
    "sdy-add-data-flow-edges,sdy-aggressive-propagate{propagation-strategy=basic-then-aggressive}",
    "sdy-add-data-flow-edges,sdy-op-priority-propagate",
    "sdy-add-data-flow-edges,sdy-op-priority-propagate",
    "sdy-add-data-flow-edges,sdy-user-priority-propagate",
    "sdy-propagation-pipeline",
    "sdy-propagation-pipeline",
    "sdy-add-data-flow-edges,sdy-op-priority-propagate{conservative-propagation=true}",
    "sdy-add-data-flow-edges,sdy-basic-propagate{conservative-propagation=true}",
]
RARE = 0.1  # chance that an op may be a group, a barrier or a manual computation
SIZES = [1, 2, 3, 4, 4, 6, 8, 8, 12, 16]
MESHES = [{"a": 2, "b": 2}, {"a": 2, "b": 4}, {"a": 4, "b": 2, "c": 3}, {"a": 8, "b": 6}, {"x": 2, "y": 2, "z": 2}, {"a": 12, "b": 4}]
UNARY = ["tanh", "negate", "exponential", "abs"]
BINARY = ["add", "multiply", "maximum", "subtract"]


def tensor(shape, elem="f32"):
    return "tensor<%s>" % "x".join(list(map(str, shape)) + [elem])


class Value:
    def __init__(self, name, shape, elem="f32"):
        self.name, self.shape, self.elem = name, tuple(shape), elem

    @property
    def type(self):
        return tensor(self.shape, self.elem)


class Op:
    """One op: text is a template with $0, $1 for operand names; sharding of the first result or None."""

    def __init__(self, text, operands, results, sharding=None, kind="op", body=None):
        self.text, self.operands, self.results, self.sharding, self.kind, self.body = text, operands, results, sharding, kind, body

    def render(self, indent):
        names = [v.name for v in self.operands]
        left = ", ".join(v.name for v in self.results)
        if self.kind == "while":
            return self.render_while(indent)
        if self.kind == "manual":
            return self.render_manual(indent)
        text = self.text
        for i, name in enumerate(names):
            text = text.replace("$%d" % i, name)
        if self.sharding is not None:
            body, _, kind = text.rpartition(" : ")
            text = "%s {sdy.sharding = #sdy.sharding_per_value<[%s]>} : %s" % (body, self.sharding, kind)
        return "%s%s%s" % (indent, left + " = " if left else "", text)

    def render_while(self, indent):
        arguments, ops, returned = self.body
        base = self.results[0].name.split("#")[0]
        inits = ["%s = %s" % (a.name, v.name) for a, v in zip(arguments, self.operands)]
        counter = arguments[0].name
        tag = base[1:]
        lines = ["%s%s:%d = stablehlo.while(%s) : %s" % (indent, base, len(self.results), ", ".join(inits), ", ".join(v.type for v in self.results)),
                 "%s cond {" % indent,
                 "%s   %%p%s = stablehlo.compare LT, %s, %%limit : (tensor<i32>, tensor<i32>) -> tensor<i1>" % (indent, tag, counter),
                 "%s   stablehlo.return %%p%s : tensor<i1>" % (indent, tag),
                 "%s } do {" % indent,
                 "%s   %%n%s = stablehlo.add %s, %%one : tensor<i32>" % (indent, tag, counter)]
        lines += [op.render(indent + "   ") for op in ops]
        lines.append("%s   stablehlo.return %s : %s" % (indent, ", ".join(["%n" + tag] + [v.name for v in returned]), ", ".join(v.type for v in self.results)))
        lines.append("%s }" % indent)
        return "\n".join(lines)


    def render_manual(self, indent):
        arguments, ops, returned = self.body
        lines = [indent + self.text % (", ".join("%s: %s" % (v.name, v.type) for v in arguments))]
        lines += [op.render(indent + "  ") for op in ops]
        lines.append("%s  sdy.return %s : %s" % (indent, ", ".join(v.name for v in returned), ", ".join(v.type for v in returned)))
        lines.append("%s} : (%s) -> %s" % (indent, ", ".join(v.type for v in self.operands), ", ".join(v.type for v in self.results)))
        text = "\n".join(lines)
        for i, v in enumerate(self.operands):
            text = text.replace("$%d" % i, v.name)
        return text.replace("$r", self.results[0].name)


class Program:
    def __init__(self, mesh):
        self.mesh, self.arguments, self.ops, self.results = mesh, [], [], []
        self.shardings, self.result_shardings = {}, {}  # by name; by index

    def render(self):
        args = []
        for v in self.arguments:
            sharding = self.shardings.get(v.name)
            args.append("%s: %s%s" % (v.name, v.type, " {sdy.sharding = #sdy.sharding%s}" % sharding if sharding else ""))
        results = []
        for i, v in enumerate(self.results):
            sharding = self.result_shardings.get(i)
            results.append("%s%s" % (v.type, " {sdy.sharding = #sdy.sharding%s}" % sharding if sharding else ""))
        lines = ["module {", "  sdy.mesh @mesh = <[%s]>" % ", ".join('"%s"=%d' % item for item in self.mesh.items()),
                 "  func.func @main(%s) -> (%s) {" % (", ".join(args), ", ".join(results)),
                 "    %zero = stablehlo.constant dense<0.0> : tensor<f32>", "    %start = stablehlo.constant dense<0> : tensor<i32>",
                 "    %one = stablehlo.constant dense<1> : tensor<i32>", "    %limit = stablehlo.constant dense<4> : tensor<i32>"]
        lines += [op.render("    ") for op in self.ops]
        lines.append("    return %s : %s" % (", ".join(v.name for v in self.results), ", ".join(v.type for v in self.results)))
        return "\n".join(lines + ["  }", "}", ""])


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.program = Program(self.random.choice(MESHES))
        self.count = 0
        self.priorities = self.random.random() < 0.3
        self.density = self.random.choice([0.05, 0.15, 0.3])
        self.sub_axes = self.random.random() < 0.4
        self.manual = None  # axis that the body being made is manual over

    def value(self, shape, elem="f32"):
        self.count += 1
        return Value("%%v%d" % self.count, shape, elem)

    # ------------------------------------------------------------ shardings

    def pieces(self):
        """Axes and sub-axes that can be used together, shuffled."""
        pieces = []
        for name, size in self.program.mesh.items():
            if name == self.manual:
                continue
            divisors = [d for d in range(2, size) if size % d == 0]
            if self.sub_axes and divisors and self.random.random() < 0.5:
                first = self.random.choice(divisors)
                pieces += [(name, 1, first), (name, first, size // first)]
            else:
                pieces.append((name, 1, size))
        self.random.shuffle(pieces)
        return pieces

    def piece_text(self, piece):
        name, pre, size = piece
        return '"%s"' % name if size == self.program.mesh[name] else '"%s":(%d)%d' % piece

    def sharding(self, shape, priorities=False):
        # jaxlib dies when a dead op has a priority, so ops get them rarely
        pieces, dims = self.pieces(), []
        priorities = self.priorities and (priorities or self.random.random() < 0.1)
        for size in shape:
            axes = []
            while pieces and self.random.random() < (0.45 if size > 1 else 0.1) and len(axes) < 3:
                if axes and axes[-1][0] == pieces[-1][0] and axes[-1][1] * axes[-1][2] == pieces[-1][1]:
                    break
                if size % pieces[-1][2] and self.random.random() < 0.7:
                    break
                axes.append(pieces.pop())
            words = [self.piece_text(p) for p in axes]
            is_open = self.random.random() < 0.5
            priority = ""
            if priorities and (words or is_open) and self.random.random() < 0.4:
                priority = "p%d" % self.random.randrange(3)
            dims.append("{%s}%s" % (", ".join(words + ["?"] * is_open), priority))
        tail = ""
        if pieces and self.random.random() < 0.15:
            kept = sorted(pieces[:1], key=lambda p: list(self.program.mesh).index(p[0]))
            tail = ", replicated={%s}" % ", ".join(map(self.piece_text, kept))
        return "<@mesh, [%s]%s>" % (", ".join(dims), tail)

    # ------------------------------------------------------------ ops

    def pick(self, pool, test=lambda v: True):
        found = [v for v in pool if v.elem == "f32" and test(v)]
        if not found:
            return None
        # mostly recent values, sometimes old ones: chains with multi-use values
        return found[-1 - min(len(found) - 1, int(self.random.expovariate(0.4)))] if self.random.random() < 0.7 else self.random.choice(found)

    def emit(self, ops, pool, text, operands, shape, elem="f32"):
        result = self.value(shape, elem)
        annotated = self.random.random() < self.density and elem == "f32"
        ops.append(Op(text, operands, [result], self.sharding(shape) if annotated else None))
        pool.append(result)
        return result

    def op(self, ops, pool, depth):
        r = self.random
        kinds = ["unary", "binary", "binary", "binary", "dot", "dot", "reshape", "reshape", "transpose", "reduce", "broadcast", "slice",
                 "concatenate", "dynamic_slice", "dynamic_update_slice", "gather", "select", "constant", "constraint", "pad", "iota",
                 "dead", "reverse", "convert", "barrier", "same"]
        if depth == 0:
            kinds += ["while"]
            if r.random() < RARE:
                kinds += ["group", "block", "manual"]
        a = self.pick(pool)
        getattr(self, "make_" + r.choice(kinds))(ops, pool, a)

    def make_unary(self, ops, pool, a):
        self.emit(ops, pool, "stablehlo.%s $0 : %s" % (self.random.choice(UNARY), a.type), [a], a.shape)

    def make_binary(self, ops, pool, a):
        b = self.pick(pool, lambda v: v.shape == a.shape)
        self.emit(ops, pool, "stablehlo.%s $0, $1 : %s" % (self.random.choice(BINARY), a.type), [a, b], a.shape)

    def make_same(self, ops, pool, a):
        self.emit(ops, pool, "stablehlo.add $0, $1 : %s" % a.type, [a, a], a.shape)

    def make_dead(self, ops, pool, a):
        made = []
        self.make_unary(ops, made, a)
        if self.random.random() < 0.5:
            self.make_binary(ops, made, made[0])

    def make_convert(self, ops, pool, a):
        b = self.emit(ops, pool, "stablehlo.convert $0 : (%s) -> %s" % (a.type, tensor(a.shape, "bf16")), [a], a.shape, "bf16")
        self.emit(ops, pool, "stablehlo.convert $0 : (%s) -> %s" % (b.type, a.type), [b], a.shape)

    def make_select(self, ops, pool, a):
        b = self.pick(pool, lambda v: v.shape == a.shape)
        p = self.emit(ops, pool, "stablehlo.compare GT, $0, $1 : (%s, %s) -> %s" % (a.type, a.type, tensor(a.shape, "i1")), [a, b], a.shape, "i1")
        self.emit(ops, pool, "stablehlo.select $0, $1, $2 : %s, %s" % (p.type, a.type), [p, a, b], a.shape)

    def make_dot(self, ops, pool, a):
        if not a.shape:
            return
        def fits(v):
            return v.shape and set(v.shape) & set(a.shape)
        b = self.pick(pool, fits) or a
        left, right = list(range(len(a.shape))), list(range(len(b.shape)))
        self.random.shuffle(left)
        batch, contract = ([], []), ([], [])
        for i in left:
            match = [j for j in right if b.shape[j] == a.shape[i]]
            if match and self.random.random() < 0.6:
                j = self.random.choice(match)
                right.remove(j)
                to = batch if self.random.random() < 0.3 else contract
                to[0].append(i)
                to[1].append(j)
        free = [a.shape[i] for i in range(len(a.shape)) if i not in batch[0] + contract[0]] + \
               [b.shape[j] for j in range(len(b.shape)) if j not in batch[1] + contract[1]]
        shape = [a.shape[i] for i in batch[0]] + free
        if len(shape) > 5:
            return
        def lists(pair):
            return "%s x %s" % pair
        batching = "batching_dims = %s, " % lists(batch) if batch[0] else ""
        text = "stablehlo.dot_general $0, $1, %scontracting_dims = %s : (%s, %s) -> %s" % (batching, lists(contract), a.type, b.type, tensor(shape))
        self.emit(ops, pool, text, [a, b], shape)

    def make_reshape(self, ops, pool, a):
        shape = list(a.shape)
        for _ in range(self.random.randint(1, 2)):
            if len(shape) > 1 and self.random.random() < 0.5:
                i = self.random.randrange(len(shape) - 1)
                shape[i:i + 2] = [shape[i] * shape[i + 1]]
            elif shape and len(shape) < 5:
                i = self.random.randrange(len(shape))
                d = self.random.choice([d for d in range(1, shape[i] + 1) if shape[i] % d == 0])
                shape[i:i + 1] = [d, shape[i] // d]
        self.emit(ops, pool, "stablehlo.reshape $0 : (%s) -> %s" % (a.type, tensor(shape)), [a], shape)

    def make_transpose(self, ops, pool, a):
        order = list(range(len(a.shape)))
        self.random.shuffle(order)
        shape = [a.shape[i] for i in order]
        self.emit(ops, pool, "stablehlo.transpose $0, dims = %s : (%s) -> %s" % (order, a.type, tensor(shape)), [a], shape)

    def make_reverse(self, ops, pool, a):
        if a.shape:
            self.emit(ops, pool, "stablehlo.reverse $0, dims = [%d] : %s" % (self.random.randrange(len(a.shape)), a.type), [a], a.shape)

    def make_reduce(self, ops, pool, a):
        if not a.shape:
            return
        dims = sorted(self.random.sample(range(len(a.shape)), self.random.randint(1, len(a.shape))))
        shape = [s for i, s in enumerate(a.shape) if i not in dims]
        text = "stablehlo.reduce($0 init: %%zero) applies stablehlo.add across dimensions = %s : (%s, tensor<f32>) -> %s" % (dims, a.type, tensor(shape))
        self.emit(ops, pool, text, [a], shape)

    def make_broadcast(self, ops, pool, a):
        shape, dims = [], []
        for size in a.shape:
            while self.random.random() < 0.3 and len(shape) < 3:
                shape.append(self.random.choice(SIZES))
            dims.append(len(shape))
            shape.append(self.random.choice(SIZES) if size == 1 and self.random.random() < 0.5 else size)
        if len(shape) < 4:
            shape.append(self.random.choice(SIZES))
        text = "stablehlo.broadcast_in_dim $0, dims = %s : (%s) -> %s" % (dims, a.type, tensor(shape))
        self.emit(ops, pool, text, [a], shape)

    def make_slice(self, ops, pool, a):
        ranges = []
        for size in a.shape:
            low = self.random.randrange(size) if self.random.random() < 0.4 else 0
            ranges.append((low, self.random.randint(low + 1, size) if self.random.random() < 0.4 else size))
        shape = [high - low for low, high in ranges]
        self.emit(ops, pool, "stablehlo.slice $0 [%s] : (%s) -> %s" % (", ".join("%d:%d" % p for p in ranges), a.type, tensor(shape)), [a], shape)

    def make_pad(self, ops, pool, a):
        low = [self.random.choice([0, 0, 0, 1, 2]) for _ in a.shape]
        high = [self.random.choice([0, 0, 0, 1, 2]) for _ in a.shape]
        shape = [s + x + y for s, x, y in zip(a.shape, low, high)]
        text = "stablehlo.pad $0, %%zero, low = %s, high = %s, interior = %s : (%s, tensor<f32>) -> %s" % (low, high, [0] * len(low), a.type, tensor(shape))
        self.emit(ops, pool, text, [a], shape)

    def make_concatenate(self, ops, pool, a):
        if not a.shape:
            return
        dim = self.random.randrange(len(a.shape))
        def fits(v):
            return len(v.shape) == len(a.shape) and all(i == dim or x == y for i, (x, y) in enumerate(zip(v.shape, a.shape)))
        b = self.pick(pool, fits)
        shape = list(a.shape)
        shape[dim] += b.shape[dim]
        self.emit(ops, pool, "stablehlo.concatenate $0, $1, dim = %d : (%s, %s) -> %s" % (dim, a.type, b.type, tensor(shape)), [a, b], shape)

    def smaller(self, a):
        return [self.random.randint(1, s) if self.random.random() < 0.5 else s for s in a.shape]

    def make_dynamic_slice(self, ops, pool, a):
        if not a.shape:
            return
        shape = self.smaller(a)
        text = "stablehlo.dynamic_slice $0%s, sizes = %s : (%s%s) -> %s" % (", %start" * len(shape), shape, a.type, ", tensor<i32>" * len(shape), tensor(shape))
        self.emit(ops, pool, text, [a], shape)

    def make_dynamic_update_slice(self, ops, pool, a):
        if not a.shape:
            return

        def fits(v):
            return len(v.shape) == len(a.shape) and all(x <= y for x, y in zip(v.shape, a.shape))
        b = self.pick(pool, fits)
        text = "stablehlo.dynamic_update_slice $0, $1%s : (%s, %s%s) -> %s" % (", %start" * len(a.shape), a.type, b.type, ", tensor<i32>" * len(a.shape), a.type)
        self.emit(ops, pool, text, [a, b], a.shape)

    def make_gather(self, ops, pool, a):
        if len(a.shape) < 2:
            return
        n = self.random.choice(SIZES)
        index = self.emit(ops, pool, "stablehlo.iota dim = 0 : %s" % tensor([n, 1], "i32"), [], [n, 1], "i32")
        shape = [n] + list(a.shape[1:])
        text = ('"stablehlo.gather"($0, $1) <{dimension_numbers = #stablehlo.gather<offset_dims = %s, collapsed_slice_dims = [0], '
                'start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: %s>}> : (%s, %s) -> %s') % (
                    list(range(1, len(shape))), ", ".join(map(str, [1] + list(a.shape[1:]))), a.type, index.type, tensor(shape))
        self.emit(ops, pool, text, [a, index], shape)
        ops[-1].sharding = None

    def make_constant(self, ops, pool, a):
        self.emit(ops, pool, "stablehlo.constant dense<1.0> : %s" % a.type, [], a.shape)
        ops[-1].sharding = None

    def make_iota(self, ops, pool, a):
        if a.shape:
            self.emit(ops, pool, "stablehlo.iota dim = %d : %s" % (self.random.randrange(len(a.shape)), a.type), [], a.shape)
            ops[-1].sharding = None

    def make_constraint(self, ops, pool, a):
        if a.shape:
            self.emit(ops, pool, "sdy.sharding_constraint $0 %s : %s" % (self.sharding(a.shape), a.type), [a], a.shape)
            ops[-1].sharding = None

    def make_barrier(self, ops, pool, a):
        if self.random.random() < 0.3:
            self.emit(ops, pool, "stablehlo.optimization_barrier $0 : %s" % a.type, [a], a.shape)
            ops[-1].sharding = None

    def make_block(self, ops, pool, a):
        word = self.random.choice(["FORWARD", "BACKWARD", "NONE"])
        self.emit(ops, pool, "sdy.propagation_barrier $0 allowed_direction=%s : %s" % (word, a.type), [a], a.shape)
        ops[-1].sharding = None

    def make_group(self, ops, pool, a):
        b = self.pick(pool, lambda v: v.shape == a.shape)
        group = self.random.randrange(3)
        ops.append(Op("sdy.sharding_group $0 group_id=%d : %s" % (group * 100 + sum(a.shape), a.type), [a], []))
        if b is not a:
            ops.append(Op("sdy.sharding_group $0 group_id=%d : %s" % (group * 100 + sum(a.shape), a.type), [b], []))

    def edge_sharding(self, shape, axis, dim):
        """Sharding of a value at the border of a manual computation: the manual axis first in dim, free axes anywhere."""
        self.manual = axis
        body = self.sharding(shape)
        self.manual = None
        if dim is None:
            mark = body.find("replicated={")
            if mark < 0:
                return body[:-1] + ', replicated={"%s"}>' % axis
            axes = re.findall(r'"(\w+)"[^",}]*', body[mark + 12:])
            first = list(self.program.mesh).index(axis) < list(self.program.mesh).index(axes[0])
            return body[:mark + 12] + '"%s", ' % axis + body[mark + 12:] if first else body[:-2] + ', "%s"}>' % axis
        parts = re.findall(r"\{[^{}]*\}(?:p\d)?", body.split("]")[0])
        inside = parts[dim][1:]
        parts[dim] = '{"%s"%s%s' % (axis, "" if inside.startswith("}") else ", ", inside)
        return "<@mesh, [%s]%s" % (", ".join(parts), body.split("]", 1)[1])

    def make_manual(self, ops, pool, a):
        axis, size = self.random.choice(list(self.program.mesh.items()))
        fits = [i for i, s in enumerate(a.shape) if s % size == 0]
        into = self.random.choice(fits + [None])
        shape = [s // size if i == into else s for i, s in enumerate(a.shape)]
        argument = self.value(shape)
        inner, inner_ops = [argument], []
        in_sharding = self.edge_sharding(a.shape, axis, into)
        self.manual = axis
        for _ in range(self.random.randint(1, 4)):
            kind = self.random.choice(["unary", "binary", "dot", "transpose", "reshape", "broadcast", "dead"])
            getattr(self, "make_" + kind)(inner_ops, inner, self.pick(inner))
        self.manual = None
        returned = self.pick(inner)
        out = self.random.choice(list(range(len(returned.shape))) + [None])
        result = self.value([s * size if i == out else s for i, s in enumerate(returned.shape)])
        text = '$r = sdy.manual_computation($0) in_shardings=[%s] out_shardings=[%s] manual_axes={"%s"} (%%s) {' % (
            in_sharding, self.edge_sharding(result.shape, axis, out), axis)
        ops.append(Op(text, [a], [result], kind="manual", body=([argument], inner_ops, [returned])))
        pool.append(result)

    def make_while(self, ops, pool, a):
        carried = [self.pick(pool) for _ in range(self.random.randint(1, 3))]
        self.count += 1
        base = "%%w%d" % self.count
        arguments = [Value(base + "_i", (), "i32")] + [Value("%s_%d" % (base, i), v.shape) for i, v in enumerate(carried)]
        inner, inner_ops = list(arguments[1:]) + self.random.sample([v for v in pool if v.elem == "f32"], 1), []
        for _ in range(self.random.randint(1, 6)):
            self.op(inner_ops, inner, 1)
        returned = []
        for v in arguments[1:]:
            returned.append(self.pick(inner, lambda x, v=v: x.shape == v.shape))
        start = Value("%start", (), "i32")
        results = [Value("%s#%d" % (base, i), v.shape, v.elem) for i, v in enumerate(arguments)]
        ops.append(Op("", [start] + carried, results, kind="while", body=(arguments, inner_ops, returned)))
        pool += results[1:]

    def make(self):
        p, r = self.program, self.random
        pool = []
        for i in range(r.randint(2, 5)):
            shape = [r.choice(SIZES[1:]) for _ in range(r.randint(1, 3))]
            if pool and r.random() < 0.5:
                shape = r.choice(pool).shape
            v = Value("%%arg%d" % i, shape)
            p.arguments.append(v)
            pool.append(v)
            if r.random() < 0.6:
                p.shardings[v.name] = self.sharding(shape, True)
        for _ in range(r.choice([5, 10, 15, 30, 60])):
            self.op(p.ops, pool, 0)
        outs = [v for v in pool if v.elem == "f32"]
        for i in range(r.randint(1, 4)):
            v = r.choice(outs[-8:])
            p.results.append(v)
            if r.random() < 0.2:
                p.result_shardings[i] = self.sharding(v.shape, True)
        return p


def pipeline_of(seed):
    return random.Random(seed ^ 0x5eed).choice(PASSES)


# ---------------------------------------------------------------- running


def normalise(texts):
    """As jaxlib prints them, None for what it does not accept. In a child."""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    out = []
    with mlir.make_ir_context():
        for text in texts:
            try:
                out.append(ir.Module.parse(text).operation.get_asm(enable_debug_info=False))
            except Exception as e:  # noqa: BLE001
                out.append(("invalid", str(e)[:2000]))
    return out


def judge(cases):
    """[(text, pipeline, our output)] -> [None or list of differences]. In a child."""
    verdicts = []
    for text, pipeline, ours in cases:
        try:
            theirs = sdy._run(pipeline, text, False)
        except Exception as e:  # noqa: BLE001
            verdicts.append(("theirs failed", str(e)[:500]))
            continue
        try:
            found = sdy._differences(theirs, ours)
        except Exception as e:  # noqa: BLE001
            found = [sdy.Difference("", "our output does not parse: " + str(e)[:300], "", ours[:2000])]
        verdicts.append(found)
    return verdicts


class Runner:
    def __init__(self, command):
        self.command = command.split()
        self.dir = tempfile.mkdtemp(prefix="fuzz-")

    def ours(self, text, pipeline):
        path = os.path.join(self.dir, "in.mlir")
        with open(path, "w") as f:
            f.write(text)
        done = subprocess.run(self.command + ["--passes", pipeline, path], capture_output=True, timeout=60)
        if done.returncode:
            return "failed with %d: %s" % (done.returncode, done.stderr.decode(errors="replace")[:2000])
        return done.stdout.decode()

    def verdicts(self, cases):
        """cases: [(text, pipeline)]; a crash of the reference is looked for one by one."""
        full = [(text, pipeline, self.ours(text, pipeline)) for text, pipeline in cases]
        try:
            return sdy.forked(judge, full)
        except sdy.Crash as crash:
            if len(full) == 1:
                return [("theirs crashed", crash.args[0][:500])]
            out = []
            for case in full:
                try:
                    out += sdy.forked(judge, [case])
                except sdy.Crash as inner:
                    out.append(("theirs crashed", inner.args[0][:500]))
            return out


def differs(verdict):
    return isinstance(verdict, list) and bool(verdict)


# ---------------------------------------------------------------- shrinking


def used_names(ops, results):
    used = {v.name for v in results}
    for op in ops:
        used |= {v.name for v in op.operands}
        if op.body:
            used |= used_names(op.body[1], op.body[2])
    return used


def candidates(p):
    """Smaller programs, as functions that change p in place and return how to undo it."""
    for i in reversed(range(len(p.ops))):
        def drop(i=i):
            op = p.ops.pop(i)
            used = used_names(p.ops, p.results)
            added = [v for v in op.results if v.name in used]
            renamed = []
            for v in added:  # results of a while have names that arguments cannot have
                renamed.append((v, v.name))
                v.name = v.name.replace("#", "_r")
            p.arguments += added
            if op.sharding and added:
                p.shardings[added[0].name] = op.sharding

            def undo():
                for v, name in renamed:
                    p.shardings.pop(v.name, None)
                    v.name = name
                    p.arguments.remove(v)
                p.ops.insert(i, op)
            return undo
        yield drop
    for op in list(p.ops):
        if op.sharding:
            def plain(op=op):
                old, op.sharding = op.sharding, None
                return lambda: setattr(op, "sharding", old)
            yield plain
        if op.body:
            for k in reversed(range(len(op.body[1]))):
                def inner(op=op, k=k):
                    ops = op.body[1]
                    gone = ops.pop(k)
                    return lambda: ops.insert(k, gone)
                yield inner
    for name in list(p.shardings):
        def bare(name=name):
            old = p.shardings.pop(name)
            return lambda: p.shardings.__setitem__(name, old)
        yield bare
    for i in list(p.result_shardings):
        def open_result(i=i):
            old = p.result_shardings.pop(i)
            return lambda: p.result_shardings.__setitem__(i, old)
        yield open_result
    if len(p.results) > 1 and not p.result_shardings:
        for i in reversed(range(len(p.results))):
            def fewer(i=i):
                old = p.results.pop(i)
                return lambda: p.results.insert(i, old)
            yield fewer
    unused = [v for v in p.arguments if v.name not in used_names(p.ops, p.results)]
    if unused:
        def arguments():
            old = list(p.arguments)
            p.arguments[:] = [v for v in p.arguments if v not in unused]
            return lambda: p.arguments.__setitem__(slice(None), old)
        yield arguments


def shrink(p, pipeline, runner):
    def still():
        texts = sdy.forked(normalise, [p.render()])
        return isinstance(texts[0], str) and differs(runner.verdicts([(texts[0], pipeline)])[0])
    progress = True
    while progress:
        progress = False
        for change in candidates(p):
            undo = change()
            if p.results and still():
                progress = True
                break
            undo()
    return p


def report(seed, pipeline, text, verdict, runner):
    print("seed %d: %s" % (seed, pipeline))
    print(text)
    for d in verdict[:12]:
        print("  %s\n    jaxlib %s\n    ours   %s" % (d.value, d.a, d.b))
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--command", default="build/shardwright opt")
    parser.add_argument("--passes")
    parser.add_argument("--batch", type=int, default=25)
    parser.add_argument("--stop", type=int, default=3, help="differences to shrink before giving up")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--rare", type=float, default=RARE, help="chance that an op may be a group, a barrier or a manual computation")
    options = parser.parse_args()
    globals()["RARE"] = options.rare
    runner = Runner(options.command)
    import jax._src.interpreters.mlir  # noqa: F401  loaded once, inherited by the children
    compared = skipped = different = values = 0
    seeds = list(range(options.seed, options.seed + options.count))
    for start in range(0, len(seeds), options.batch):
        batch = seeds[start:start + options.batch]
        texts = sdy.forked(normalise, [Generator(s).make().render() for s in batch])
        cases = []
        for seed, text in zip(batch, texts):
            if isinstance(text, str):
                cases.append((seed, text, options.passes or pipeline_of(seed)))
            else:
                skipped += 1
                if skipped <= 3:
                    print("seed %d is not valid: %s" % (seed, re.sub(r"\s+", " ", text[1])[:300]))
        for (seed, text, pipeline), verdict in zip(cases, runner.verdicts([(t, p) for _, t, p in cases])):
            if isinstance(verdict, tuple):
                skipped += 1
                continue
            compared += 1
            values += text.count("tensor<")
            if not verdict:
                continue
            different += 1
            if different > options.stop:
                print("seed %d differs too (%s)" % (seed, pipeline))
                continue
            if options.no_shrink:
                report(seed, pipeline, text, verdict, runner)
                continue
            small = shrink(Generator(seed).make(), pipeline, runner)
            text = sdy.forked(normalise, [small.render()])[0]
            report(seed, pipeline, text, runner.verdicts([(text, pipeline)])[0], runner)
    print("%d programs compared, %d different, %d skipped" % (compared, different, skipped))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
