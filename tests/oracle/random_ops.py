"""Single StableHLO ops of every kind with random shapes and attributes, for comparing sharding rules."""
import random

UNARY = ("abs cbrt ceil cosine exponential exponential_minus_one floor log log_plus_one logistic negate round_nearest_even "
         "round_nearest_afz rsqrt sign sine sqrt tan tanh").split()
BINARY = "add atan2 divide maximum minimum multiply power remainder subtract".split()
CHLO = "acos acosh asin asinh atan atanh cosh sinh digamma erf erf_inv erfc lgamma square".split()
POINTWISE_CALLS = ("annotate_device_placement Cholesky CompactWyHelper InspectSharding InvertDiagBlocksLowerTriangular "
                   "InvertDiagBlocksUpperTriangular LayoutConstraint mhlo.erf MoveToDevice MoveToHost X64SplitHigh X64SplitLow X64Combine "
                   "xla.megascale.provide_metadata _SPMDInternalOp_MultiPad _SPMDInternalOp_RotateRight _SPMDInternalOp_Wrap "
                   "_SPMDInternalOp_MultiRotate _SPMDInternalOp_MultiSlice sdy_testonly tpu_custom_call unheard_of").split()
ADD = """({
^bb0(%%x: tensor<%s>, %%y: tensor<%s>):
  %%z = stablehlo.%s %%x, %%y : tensor<%s>
  stablehlo.return %%z : tensor<%s>
})"""


def tensor(dims, kind="f32"):
    return "tensor<%s>" % "x".join([str(d) for d in dims] + [kind])


def ints(values):
    return "array<i64%s>" % (": " + ", ".join(map(str, values)) if values else "")


class Ops:
    """op() gives (argument types, lines of the body)."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.kinds = sorted(name[4:] for name in dir(self) if name.startswith("gen_"))

    def shape(self, low=0, high=4, sizes=(1, 1, 2, 3, 4, 6, 8, 12, 16)):
        return [self.r.choice(sizes) for _ in range(self.r.randint(low, high))]

    def body(self, kind="add", elem="f32"):
        return ADD % (elem, elem, kind, elem, elem)

    def gen_unary(self):
        t = tensor(self.shape(sizes=(0, 1, 2, 5, 8)))
        return [t], ["%%r = stablehlo.%s %%a0 : %s" % (self.r.choice(UNARY), t)]

    def gen_binary(self):
        t = tensor(self.shape())
        return [t, t], ["%%r = stablehlo.%s %%a0, %%a%d : %s" % (self.r.choice(BINARY), self.r.randint(0, 1), t)]

    def gen_chlo(self):
        t = tensor(self.shape())
        if self.r.random() < .2:
            return [t, t], ["%%r = chlo.next_after %%a0, %%a1 : %s, %s -> %s" % (t, t, t)]
        return [t], ["%%r = chlo.%s %%a0 : %s -> %s" % (self.r.choice(CHLO), t, t)]

    def gen_chlo_top_k(self):
        s = self.shape(1, 3, (4, 6, 8))
        k = self.r.randint(1, s[-1])
        out = s[:-1] + [k]
        return [tensor(s)], ["%%v, %%i = chlo.top_k(%%a0, k = %d) : %s -> (%s, %s)" % (k, tensor(s), tensor(out), tensor(out, "i32"))]

    def gen_compare(self):
        s = self.shape()
        return [tensor(s)] * 2, ["%%r = stablehlo.compare LT, %%a0, %%a1, FLOAT : (%s, %s) -> %s" % (tensor(s), tensor(s), tensor(s, "i1"))]

    def gen_convert(self):
        s = self.shape()
        return [tensor(s)], ["%%r = stablehlo.convert %%a0 : (%s) -> %s" % (tensor(s), tensor(s, "bf16"))]

    def gen_select(self):
        s = self.shape()
        pred = tensor([] if self.r.random() < .5 else s, "i1")
        return [pred, tensor(s), tensor(s)], ["%%r = stablehlo.select %%a0, %%a1, %%a2 : %s, %s" % (pred, tensor(s))]

    def gen_clamp(self):
        s = self.shape()
        lo, hi = (tensor(self.r.choice(([], s))) for _ in range(2))
        return [lo, tensor(s), hi], ["%%r = stablehlo.clamp %%a0, %%a1, %%a2 : (%s, %s, %s) -> %s" % (lo, tensor(s), hi, tensor(s))]

    def gen_bitcast_convert(self):
        s = self.shape()
        wide, narrow = tensor(s, "f32"), tensor(s + [2], "bf16")
        pairs = ((wide, narrow), (narrow, wide), (wide, tensor(s, "i32")))
        a, b = self.r.choice(pairs)
        return [a], ["%%r = stablehlo.bitcast_convert %%a0 : (%s) -> %s" % (a, b)]

    def gen_broadcast_in_dim(self):
        out = self.shape(0, 5)
        dims = sorted(self.r.sample(range(len(out)), self.r.randint(0, len(out))))
        if self.r.random() < .3:
            self.r.shuffle(dims)
        s = [1 if self.r.random() < .3 else out[d] for d in dims]
        return [tensor(s)], ["%%r = stablehlo.broadcast_in_dim %%a0, dims = %s : (%s) -> %s" % (dims, tensor(s), tensor(out))]

    def gen_concatenate(self):
        s = self.shape(1, 4)
        dim = self.r.randrange(len(s))
        parts, types, lines = [], [], []
        mode = self.r.randint(0, 3)
        if mode == 3:  # pieces of one tensor, sometimes the whole of it
            whole = list(s)
            whole[dim] = 8
            types = [tensor(whole)]
            for i in range(self.r.randint(1, 3)):
                piece, start = list(whole), self.r.randint(0, 4)
                if self.r.random() < .3:
                    parts.append(("%a0", whole))
                    continue
                piece[dim] = 4
                bounds = ", ".join("%d:%d" % ((start, start + 4) if d == dim else (0, n)) for d, n in enumerate(whole))
                lines.append("%%s%d = stablehlo.slice %%a0 [%s] : (%s) -> %s" % (i, bounds, tensor(whole), tensor(piece)))
                parts.append(("%%s%d" % i, piece))
        else:
            for i in range(self.r.randint(1, 4)):
                piece = list(s)
                piece[dim] = self.r.choice((1, 2, 4))
                types.append(tensor(piece))
                parts.append(("%%a%d" % i, piece))
                if mode == 2 and self.r.random() < .7:
                    bounds = ", ".join("0:%d" % n for n in piece)
                    lines.append("%%s%d = stablehlo.slice %%a%d [%s] : (%s) -> %s" % (i, i, bounds, tensor(piece), tensor(piece)))
                    parts[-1] = ("%%s%d" % i, piece)
        out = list(s)
        out[dim] = sum(p[dim] for _, p in parts)
        lines.append("%%r = stablehlo.concatenate %s, dim = %d : (%s) -> %s" % (
            ", ".join(n for n, _ in parts), dim, ", ".join(tensor(p) for _, p in parts), tensor(out)))
        return types, lines

    def gen_pad(self):
        s = self.shape(0, 4)
        low = [self.r.randint(-1 if n > 1 else 0, 2) for n in s]
        high = [self.r.choice((0, -low[i], 1)) if s[i] > 2 else self.r.randint(0, 1) for i in range(len(s))]
        inner = [self.r.choice((0, 0, 1)) for _ in s]
        out = [n + l + h + max(n - 1, 0) * i for n, l, h, i in zip(s, low, high, inner)]
        if min(out, default=1) < 1:
            return self.gen_pad()
        return [tensor(s), tensor([])], ["%%r = stablehlo.pad %%a0, %%a1, low = %s, high = %s, interior = %s : (%s, tensor<f32>) -> %s" % (
            low, high, inner, tensor(s), tensor(out))]

    def gen_slice(self):
        s = self.shape(1, 4)
        bounds, out = [], []
        for n in s:
            a = self.r.randint(0, n - 1)
            b = self.r.randint(a + 1, n)
            step = self.r.choice((1, 1, 2))
            if self.r.random() < .5:
                a, b, step = 0, n, 1
            bounds.append("%d:%d:%d" % (a, b, step) if step > 1 else "%d:%d" % (a, b))
            out.append(-(-(b - a) // step))
        return [tensor(s)], ["%%r = stablehlo.slice %%a0 [%s] : (%s) -> %s" % (", ".join(bounds), tensor(s), tensor(out))]

    def gen_reverse(self):
        s = self.shape(1, 4)
        dims = sorted(self.r.sample(range(len(s)), self.r.randint(0, len(s))))
        return [tensor(s)], ["%%r = stablehlo.reverse %%a0, dims = %s : %s" % (dims, tensor(s))]

    def gen_transpose(self):
        s = self.shape(0, 5)
        perm = list(range(len(s)))
        self.r.shuffle(perm)
        return [tensor(s)], ["%%r = stablehlo.transpose %%a0, dims = %s : (%s) -> %s" % (perm, tensor(s), tensor([s[p] for p in perm]))]

    def gen_reshape(self):
        s = self.shape(0, 5, (1, 2, 3, 4, 6, 8, 12, 15, 32) if self.r.random() < .9 else (0, 1, 4))
        total = 1
        for n in s:
            total *= n
        out, left = [], total
        if total == 0:
            out = s[::-1]
        while left > 1:
            f = self.r.choice([f for f in range(1, left + 1) if left % f == 0][:12] + [left])
            out.append(f)
            left //= f
        if total:
            self.r.shuffle(out)
            for _ in range(self.r.randint(0, 1)):
                out.insert(self.r.randint(0, len(out)), 1)
        return [tensor(s)], ["%%r = stablehlo.reshape %%a0 : (%s) -> %s" % (tensor(s), tensor(out))]

    def gen_dynamic_slice(self):
        s = self.shape(1, 4)
        out = [n if self.r.random() < .5 else self.r.randint(1, n) for n in s]
        return [tensor(s)] + [tensor([], "i32")] * len(s), ["%%r = stablehlo.dynamic_slice %%a0, %s, sizes = %s : (%s%s) -> %s" % (
            ", ".join("%%a%d" % (i + 1) for i in range(len(s))), out, tensor(s), ", tensor<i32>" * len(s), tensor(out))]

    def gen_dynamic_update_slice(self):
        s = self.shape(1, 4)
        part = [n if self.r.random() < .5 else self.r.randint(1, n) for n in s]
        lines, starts = [], ["%%a%d" % (i + 2) for i in range(len(s))]
        if self.r.random() < .6:
            for i in range(len(s)):
                if self.r.random() < .9:
                    starts[i] = "%%c%d" % i
                    lines.append("%%c%d = %s.constant dense<0> : tensor<i32>" % (i, self.r.choice(("stablehlo", "sdy"))))
        lines.append("%%r = stablehlo.dynamic_update_slice %%a0, %%a1, %s : (%s, %s%s) -> %s" % (
            ", ".join(starts), tensor(s), tensor(part), ", tensor<i32>" * len(s), tensor(s)))
        return [tensor(s), tensor(part)] + [tensor([], "i32")] * len(s), lines

    def gather_parts(self):
        """Operand, indices and slices shapes with the dims that tie them."""
        operand = self.shape(1, 4, (1, 2, 4, 8))
        rank = len(operand)
        kinds = [self.r.choice(("offset", "offset", "collapsed", "batch")) for _ in range(rank)]
        batch = [d for d in range(rank) if kinds[d] == "batch"]
        collapsed = [d for d in range(rank) if kinds[d] == "collapsed"]
        offset = [d for d in range(rank) if kinds[d] == "offset"]
        sizes = [1 if d not in offset else operand[d] if self.r.random() < .6 else self.r.randint(1, operand[d]) for d in range(rank)]
        free = self.shape(0, 2, (2, 4))
        indices = free + [operand[d] for d in batch]
        order = list(range(len(indices)))
        self.r.shuffle(order)
        shuffled = [indices[o] for o in order]
        indices_batch = [order.index(len(free) + i) for i in range(len(batch))]
        candidates = [d for d in range(rank) if d not in batch]
        start_map = sorted(self.r.sample(candidates, self.r.randint(min(1, len(candidates)), len(candidates))))
        out_rank = len(shuffled) + len(offset)
        offset_dims = sorted(self.r.sample(range(out_rank), len(offset)))
        slices, a, b = [], iter(offset), iter(shuffled)
        for d in range(out_rank):
            slices.append(sizes[next(a)] if d in offset_dims else next(b))
        vector = self.r.randint(0, len(shuffled))
        if len(start_map) == 1 and self.r.random() < .4:
            vector = len(shuffled)
            full = shuffled
        else:
            full = shuffled[:vector] + [len(start_map)] + shuffled[vector:]
            indices_batch = [d + (d >= vector) for d in indices_batch]
        return dict(operand=operand, indices=full, slices=slices, offset=offset_dims, collapsed=collapsed, batch=batch,
                    indices_batch=indices_batch, start_map=start_map, vector=vector, sizes=sizes)

    def gen_gather(self):
        g = self.gather_parts()
        if not g["start_map"]:
            return self.gen_gather()
        a, i, o = tensor(g["operand"]), tensor(g["indices"], "i32"), tensor(g["slices"])
        return [a, i], [
            '%%r = "stablehlo.gather"(%%a0, %%a1) <{dimension_numbers = #stablehlo.gather<offset_dims = %s, collapsed_slice_dims = %s, '
            "operand_batching_dims = %s, start_indices_batching_dims = %s, start_index_map = %s, index_vector_dim = %d>, "
            "indices_are_sorted = false, slice_sizes = %s}> : (%s, %s) -> %s" % (
                g["offset"], g["collapsed"], g["batch"], g["indices_batch"], g["start_map"], g["vector"], ints(g["sizes"]), a, i, o)]

    def gen_scatter(self):
        g = self.gather_parts()
        if not g["start_map"]:
            return self.gen_scatter()
        n = self.r.choice((1, 1, 2))
        elem = self.r.choice(("f32", "f32", "i1"))
        kinds = "add multiply maximum minimum".split() if elem == "f32" else ["and", "or", "xor", "add"]
        args = ", ".join("%%x%d: tensor<%s>" % (k, elem) for k in range(2 * n))
        body, returned = "", []
        word = self.r.choice(kinds)
        for k in range(n):
            style = self.r.random()
            if style < .6:
                pair = ["%%x%d" % k, "%%x%d" % (n + k)]
                self.r.shuffle(pair)
                body += "  %%y%d = stablehlo.%s %s, %s : tensor<%s>\n" % (k, self.r.choice(kinds) if style < .05 else word, *pair, elem)
                returned.append("%%y%d" % k)
            elif style < .7:
                body += "  %%y%d = stablehlo.%s %%x%d, %%x%d : tensor<%s>\n" % (k, word, k, k, elem)
                returned.append("%%y%d" % k)
            else:
                returned.append("%%x%d" % (n + k))
        region = "({\n^bb0(%s):\n%s  stablehlo.return %s : %s\n})" % (args, body, ", ".join(returned), ", ".join(["tensor<%s>" % elem] * n))
        a, i, u = tensor(g["operand"], elem), tensor(g["indices"], "i32"), tensor(g["slices"], elem)
        types = [a] * n + [i] + [u] * n
        return types, [
            '%%r:%d = "stablehlo.scatter"(%s) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = %s, inserted_window_dims = %s, '
            "input_batching_dims = %s, scatter_indices_batching_dims = %s, scatter_dims_to_operand_dims = %s, index_vector_dim = %d>, "
            "indices_are_sorted = false, unique_indices = false}> %s : (%s) -> (%s)" % (
                n, ", ".join("%%a%d" % k for k in range(len(types))), g["offset"], g["collapsed"], g["batch"], g["indices_batch"],
                g["start_map"], g["vector"], region, ", ".join(types), ", ".join([a] * n))]

    def gen_dot_general(self):
        batch, contract = self.shape(0, 2), self.shape(0, 2)
        left, right = self.shape(0, 2), self.shape(0, 2)

        def mix(free):
            tags = [("b", i) for i in range(len(batch))] + [("c", i) for i in range(len(contract))] + [("f", i) for i in range(len(free))]
            self.r.shuffle(tags)
            sizes = [{"b": batch, "c": contract, "f": free}[t][i] for t, i in tags]
            return tags, sizes
        ltags, lhs = mix(left)
        rtags, rhs = mix(right)

        def dims(tags, t, n):
            return [tags.index((t, i)) for i in range(n)]
        out = batch + [lhs[i] for i, t in enumerate(ltags) if t[0] == "f"] + [rhs[i] for i, t in enumerate(rtags) if t[0] == "f"]
        batching = "batching_dims = %s x %s, " % (dims(ltags, "b", len(batch)), dims(rtags, "b", len(batch))) if batch else ""
        return [tensor(lhs), tensor(rhs)], ["%%r = stablehlo.dot_general %%a0, %%a1, %scontracting_dims = %s x %s : (%s, %s) -> %s" % (
            batching, dims(ltags, "c", len(contract)), dims(rtags, "c", len(contract)), tensor(lhs), tensor(rhs), tensor(out))]

    def gen_dot(self):
        k = self.r.choice((1, 4, 8))
        lhs = self.shape(0, 1) + [k]
        rhs = [k] + self.shape(0, 1)
        return [tensor(lhs), tensor(rhs)], ["%%r = stablehlo.dot %%a0, %%a1 : (%s, %s) -> %s" % (tensor(lhs), tensor(rhs), tensor(lhs[:-1] + rhs[1:]))]

    def gen_convolution(self):
        spatial = self.r.randint(0, 2)
        groups, batch_groups = self.r.choice(((1, 1), (1, 1), (2, 1), (4, 1), (1, 2), (1, 4)))
        batch = self.r.choice((1, 2, 4)) * batch_groups
        in_feature = self.r.choice((1, 2, 4))
        out_feature = self.r.choice((1, 2, 4)) * groups * batch_groups
        size = [self.r.choice((4, 6, 8)) for _ in range(spatial)]
        window = [self.r.choice((1, 2, 3, 4)) for _ in range(spatial)]
        stride = [self.r.choice((1, 2)) for _ in range(spatial)]
        pad = [(self.r.randint(0, 1), self.r.randint(0, 2)) for _ in range(spatial)]
        out = [(n + p[0] + p[1] - w) // s + 1 for n, w, s, p in zip(size, window, stride, pad)]
        if min(out, default=1) < 1:
            return self.gen_convolution()

        def place(tags, values):
            order = list(tags)
            self.r.shuffle(order)
            return order, [values[t] for t in order]
        names = [str(i) for i in range(spatial)]
        lt, lhs = place(["b", "f"] + names, dict(zip(names, size), b=batch, f=in_feature * groups))
        rt, rhs = place(["i", "o"] + names, dict(zip(names, window), i=in_feature, o=out_feature))
        ot, res = place(["b", "f"] + names, dict(zip(names, out), b=batch // batch_groups, f=out_feature))
        window_text = "stride = %s, pad = %s" % (stride, [list(p) for p in pad]) if spatial else ""
        return [tensor(lhs), tensor(rhs)], [
            "%%r = stablehlo.convolution(%%a0, %%a1) dim_numbers = [%s]x[%s]->[%s], window = {%s} "
            "{batch_group_count = %d : i64, feature_group_count = %d : i64} : (%s, %s) -> %s" % (
                ", ".join(lt), ", ".join(rt), ", ".join(ot), window_text, batch_groups, groups, tensor(lhs), tensor(rhs), tensor(res))]

    def gen_reduce(self):
        s = self.shape(0, 4)
        dims = sorted(self.r.sample(range(len(s)), self.r.randint(0, len(s))))
        out = [n for d, n in enumerate(s) if d not in dims]
        if self.r.random() < .6:
            return [tensor(s), tensor([])], ["%%r = stablehlo.reduce(%%a0 init: %%a1) applies stablehlo.add across dimensions = %s : (%s, tensor<f32>) -> %s" % (
                dims, tensor(s), tensor(out))]
        region = "({\n^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %y0: tensor<f32>, %y1: tensor<f32>):\n  stablehlo.return %x0, %y1 : tensor<f32>, tensor<f32>\n})"
        t = [tensor(s)] * 2 + [tensor([])] * 2
        return t, ['%%r:2 = "stablehlo.reduce"(%%a0, %%a1, %%a2, %%a3) <{dimensions = %s}> %s : (%s) -> (%s, %s)' % (
            ints(dims), region, ", ".join(t), tensor(out), tensor(out))]

    def window(self, s):
        size = [self.r.choice((1, 1, 2, 3)) for _ in s]
        stride = [self.r.choice((1, 1, 2)) for _ in s]
        pad = [self.r.choice(((0, 0), (0, 0), (1, 0), (1, 1))) for _ in s]
        out = [(n + p[0] + p[1] - w) // k + 1 for n, w, k, p in zip(s, size, stride, pad)]
        return size, stride, pad, out

    def gen_reduce_window(self):
        s = self.shape(1, 4, (1, 4, 6, 8))
        size, stride, pad, out = self.window(s)
        if min(out) < 1:
            return self.gen_reduce_window()
        pads = [list(p) for p in pad]
        return [tensor(s), tensor([])], [
            '%%r = "stablehlo.reduce_window"(%%a0, %%a1) <{%swindow_dimensions = %s, window_strides = %s}> %s : (%s, tensor<f32>) -> %s' % (
                "padding = dense<%s> : tensor<%dx2xi64>, " % (pads, len(s)) if any(map(any, pad)) else "", ints(size), ints(stride),
                self.body(), tensor(s), tensor(out))]

    def gen_select_and_scatter(self):
        s = self.shape(1, 4, (1, 4, 6, 8))
        size, stride, pad, out = self.window(s)
        if min(out) < 1:
            return self.gen_select_and_scatter()
        select = """({
^bb0(%x: tensor<f32>, %y: tensor<f32>):
  %z = stablehlo.compare GE, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %z : tensor<i1>
}, """
        return [tensor(s), tensor(out), tensor([])], [
            '%%r = "stablehlo.select_and_scatter"(%%a0, %%a1, %%a2) <{padding = dense<%s> : tensor<%dx2xi64>, window_dimensions = %s, '
            "window_strides = %s}> %s : (%s, %s, tensor<f32>) -> %s" % (
                [list(p) for p in pad], len(s), ints(size), ints(stride), select + self.body()[1:], tensor(s), tensor(out), tensor(s))]

    def gen_sort(self):
        s = self.shape(1, 3)
        n = self.r.randint(1, 2)
        args = ", ".join("%%x%d: tensor<f32>" % i for i in range(2 * n))
        region = ("({\n^bb0(%s):\n  %%z = stablehlo.compare LT, %%x0, %%x1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
                  "  stablehlo.return %%z : tensor<i1>\n})" % args)
        t = [tensor(s)] * n
        return t, ['%%r:%d = "stablehlo.sort"(%s) <{dimension = %d : i64, is_stable = true}> %s : (%s) -> (%s)' % (
            n, ", ".join("%%a%d" % i for i in range(n)), self.r.randrange(len(s)), region, ", ".join(t), ", ".join(t))]

    def gen_cholesky(self):
        n = self.r.choice((1, 4, 8))
        t = tensor(self.shape(0, 2) + [n, n])
        return [t], ["%%r = stablehlo.cholesky %%a0, lower = true : %s" % t]

    def gen_triangular_solve(self):
        n, k, batch = self.r.choice((1, 4, 8)), self.r.choice((1, 2, 16)), self.shape(0, 2)
        left = self.r.random() < .5
        a, b = tensor(batch + [n, n]), tensor(batch + ([n, k] if left else [k, n]))
        return [a, b], [
            '%%r = "stablehlo.triangular_solve"(%%a0, %%a1) <{left_side = %s, lower = true, transpose_a = #stablehlo<transpose %s>, '
            "unit_diagonal = false}> : (%s, %s) -> %s" % (str(left).lower(), self.r.choice(("TRANSPOSE", "ADJOINT", "NO_TRANSPOSE")), a, b, b)]

    def gen_fft(self):
        s = self.shape(1, 3, (4, 6, 8))
        k = self.r.randint(1, len(s))
        kind = self.r.choice(("FFT", "RFFT", "IRFFT"))
        short = s[:-1] + [s[-1] // 2 + 1]
        a, b = {"FFT": (tensor(s, "complex<f32>"),) * 2, "RFFT": (tensor(s), tensor(short, "complex<f32>")),
                "IRFFT": (tensor(short, "complex<f32>"), tensor(s))}[kind]
        return [a], ["%%r = stablehlo.fft %%a0, type = %s, length = %s : (%s) -> %s" % (kind, s[-k:], a, b)]

    def gen_batch_norm(self):
        s = self.shape(1, 4)
        f = self.r.randrange(len(s))
        v = tensor([s[f]])
        kind = self.r.choice(("inference", "training"))
        if kind == "training":
            return [tensor(s), v, v], ['%%r:3 = "stablehlo.batch_norm_training"(%%a0, %%a1, %%a2) <{epsilon = 0.1 : f32, feature_index = %d : i64}> : (%s, %s, %s) -> (%s, %s, %s)' % (
                f, tensor(s), v, v, tensor(s), v, v)]
        return [tensor(s)] + [v] * 4, ['%%r = "stablehlo.batch_norm_inference"(%%a0, %%a1, %%a2, %%a3, %%a4) <{epsilon = 0.1 : f32, feature_index = %d : i64}> : (%s, %s, %s, %s, %s) -> %s' % (
            f, tensor(s), v, v, v, v, tensor(s))]

    def gen_rng_bit_generator(self):
        out = tensor(self.shape(0, 3), "ui32")
        return [tensor([2], "ui64")], ["%%s, %%r = stablehlo.rng_bit_generator %%a0, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, %s)" % out]

    def gen_rng(self):
        out = self.shape(1, 2)
        lines = ["%%sh = stablehlo.constant dense<%s> : tensor<%dxi64>" % (out, len(out)),
                 "%%r = stablehlo.rng %%a0, %%a1, %%sh, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<%dxi64>) -> %s" % (len(out), tensor(out))]
        return [tensor([])] * 2, lines

    def gen_iota(self):
        s = self.shape(1, 3)
        return [], ["%%r = stablehlo.iota dim = %d : %s" % (self.r.randrange(len(s)), tensor(s))]

    def gen_pointwise_call(self):
        t = tensor(self.shape(1, 3))
        lines = ["%%r = stablehlo.custom_call @%s(%%a0) : (%s) -> %s" % (self.r.choice(POINTWISE_CALLS), t, t)]
        return [t], lines

    def gen_x64_combine(self):
        return [tensor([2], "ui32")] * 2, [
            "%c = stablehlo.custom_call @X64Combine(%a0, %a1) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui64>",
            "%s, %r = stablehlo.rng_bit_generator %c, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x8xui32>)"]

    def gen_linear_algebra_call(self):
        batch, n, k = self.shape(0, 2), self.r.choice((4, 8)), self.r.choice((2, 6))
        square, tall = tensor(batch + [n, n]), tensor(batch + [n, k])
        which = self.r.randint(0, 3)
        if which == 0:
            return [square], ["%%r:2 = stablehlo.custom_call @Eigh(%%a0) : (%s) -> (%s, %s)" % (square, square, tensor(batch + [n]))]
        if which == 3:
            return [tall, tensor(batch + [k])], ["%%r = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%%a0, %%a1) : (%s, %s) -> %s" % (
                tall, tensor(batch + [k]), tall)]
        name = ("Qr", "QrDecompositionBlock")[which - 1]
        return [tall], ["%%r:2 = stablehlo.custom_call @%s(%%a0) : (%s) -> (%s, %s)" % (name, tall, tall, tensor(batch + [k]))]

    def gen_top_k_call(self):
        s = self.shape(1, 3, (4, 8))
        out = s[:-1] + [self.r.choice((2, s[-1]))]
        if self.r.random() < .5:
            return [tensor(s)], ["%%r:2 = stablehlo.custom_call @mhlo.topk(%%a0) : (%s) -> (%s, %s)" % (tensor(s), tensor(out), tensor(out, "i32"))]
        i = tensor(s, "i32")
        return [tensor(s), i, tensor([]), tensor([], "i32")], [
            "%%r:2 = stablehlo.custom_call @%s(%%a0, %%a1, %%a2, %%a3) : (%s, %s, tensor<f32>, tensor<i32>) -> (%s, %s)" % (
                self.r.choice(("ApproxTopK", "PartialReduce")), tensor(s), i, tensor(out), tensor(out, "i32"))]

    def gen_collective(self):
        s = self.shape(1, 3, (2, 4, 8))
        d = self.r.randrange(len(s))
        groups = "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>"
        which = self.r.randint(0, 4)
        if which == 0:
            out = [n * 2 if i == d else n for i, n in enumerate(s)]
            return [tensor(s)], ['%%r = "stablehlo.all_gather"(%%a0) <{all_gather_dim = %d : i64, %s}> : (%s) -> %s' % (d, groups, tensor(s), tensor(out))]
        if which == 1:
            return [tensor(s)], ['%%r = "stablehlo.all_reduce"(%%a0) <{%s}> %s : (%s) -> %s' % (groups, self.body(), tensor(s), tensor(s))]
        if which == 2:
            out = [n // 2 if i == d else n for i, n in enumerate(s)]
            return [tensor(s)], ['%%r = "stablehlo.reduce_scatter"(%%a0) <{scatter_dimension = %d : i64, %s}> %s : (%s) -> %s' % (
                d, groups, self.body(), tensor(s), tensor(out))]
        if which == 3:
            return [tensor(s)], ['%%r = "stablehlo.collective_permute"(%%a0) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (%s) -> %s' % (
                tensor(s), tensor(s))]
        c = self.r.randrange(len(s))
        out = list(s)
        out[d] //= 2
        out[c] *= 2
        return [tensor(s)], ['%%r = "stablehlo.all_to_all"(%%a0) <{split_dimension = %d : i64, concat_dimension = %d : i64, split_count = 2 : i64, %s}> : (%s) -> %s' % (
            d, c, groups, tensor(s), tensor(out))]

    def gen_constraint(self):
        s = self.shape(1, 3)
        return [tensor(s)], ["%%r = sdy.sharding_constraint %%a0 <@mesh, [%s]> : %s" % (", ".join(["{?}"] * len(s)), tensor(s))]

    def gen_complex(self):
        s = self.shape()
        c = tensor(s, "complex<f32>")
        return [tensor(s), tensor(s)], ["%%c = stablehlo.complex %%a0, %%a1 : %s" % c, "%%r = stablehlo.real %%c : (%s) -> %s" % (c, tensor(s))]

    def gen_while(self):
        t = tensor(self.shape())
        return [t, tensor([], "i1")], ["%%r = stablehlo.while(%%x = %%a0) : %s cond { stablehlo.return %%a1 : tensor<i1> } do { %%y = stablehlo.abs %%x : %s\nstablehlo.return %%y : %s }" % (t, t, t)]

    def op(self):
        return getattr(self, "gen_" + self.r.choice(self.kinds))()

    def module(self, count):
        lines = ['sdy.mesh @mesh = <["a"=2, "b"=4]>']
        for i in range(count):
            types, body = self.op()
            lines.append("func.func @f%d(%s) {" % (i, ", ".join("%%a%d: %s" % pair for pair in enumerate(types))))
            lines += ["  " + line for line in body] + ["  return", "}"]
        return "module {\n" + "\n".join(lines) + "\n}\n"
