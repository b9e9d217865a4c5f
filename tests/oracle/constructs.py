"""Random programs made of what programs.py hardly reaches: every construct of the Shardy dialect, in every place.

constructs.text(seed) is the same text for the same seed. Each program is small and has at least one construct of KINDS,
taken in turn by the seed: single-device shardings, tuples, tokens, inlined and empty meshes, dynamic shapes, manual
computations that hold anything, edges and collectives in the input, functions that call each other."""
import re

from programs import REGION_KINDS, SHARDED_KINDS, Function, Program, Value, paren
from random_ops import ints, tensor

TOKEN = "!stablehlo.token"
KINDS = ("maximal", "single_constraint", "tuple", "single_tuple", "after_all", "feeds", "sends", "token_call", "token_barrier", "token_while", "token_case",
         "token_manual", "token_named", "bare_manual", "all_manual", "manual_over_all", "nested_manual", "dynamic", "dynamic_result", "bounded", "implicit_gather", "batched_gather",
         "implicit_scatter", "many_scatter", "ones_reduce", "many_reduce", "call_chain", "call_with_sharding", "call_token", "declared", "shared_input",
         "chain", "outer_constraint", "loop_constraint", "returned_constraint", "edge", "func_edge", "gathered", "sliced", "exchanged", "permuted",
         "reduced", "unreduced", "target", "several_results", "no_results", "sdy_constant", "custom_rule", "barriers", "groups_in_regions", "device_op",
         "window", "expansions", "frontend")
TARGETS = ("Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape", "xla.sdy.FuncResultSharding",
           "xla_python_cpu_callback", "xla_ffi_python_cpu_callback", "xla_ffi_partitioned_python_cpu_callback", "xla.debug.Log", "mhlo.ragged_dot", "mhlo.topk", "Eigh", "Qr", "lapack_sgeqrf_ffi",
           "ApproxTopK", "annotate_device_placement", "MoveToHost", "LayoutConstraint", "cu_threefry2x32_ffi", "SliceToDynamic", "PadToStatic", "sdy_testonly")


class Constructs(Program):
    def __init__(self, seed):
        super().__init__(seed)
        self.first = KINDS[seed % len(KINDS)]
        self.odd_meshes = self.r.choice((0, .1, .3))
        self.density = self.r.choice((.1, .3, .6))
        self.special = self.r.choice((.2, .5))
        self.tokens_out = self.r.random() < .5
        self.more, self.deep = [], 0  # functions that calls made; how many of them are being made

    # ------------------------------------------------------------ meshes and shardings

    def make_meshes(self):
        meshes = super().make_meshes()
        axes, body = meshes["mesh"]
        rest = [("single", {}, "<[], device_ids=[0]>"), ("single_1", {}, "<[], device_ids=[1]>"), ("maximal_mesh_0", {}, "<[], device_ids=[0]>"),
                ("empty", {}, "<[]>"), ("empty_mesh", {}, "<[]>"), ("twin", axes, body), ("p", {"a": 2, "z": 2}, '<["a"=2, "z"=2]>')]
        for name, kinds, text in rest:
            if self.r.random() < .25:
                meshes[name] = (kinds, text)
        names = list(meshes)
        self.r.shuffle(names)
        return {name: meshes[name] for name in names}

    def sharding(self, shape, priorities=False, manual=(), manual_dims=()):
        if manual or self.manual or self.r.random() >= self.odd_meshes:
            text = self.in_mesh("mesh", shape, priorities, manual, manual_dims)
        else:
            text = self.in_mesh(self.r.choice(list(self.meshes)), shape, priorities, (), ())
        return self.maybe_inlined(text)

    def in_mesh(self, mesh, shape, priorities, manual, manual_dims):
        if mesh.startswith(("single", "maximal")):
            return "<@%s, []>" % mesh
        if mesh.startswith("empty"):
            return self.any_empty(shape, mesh)
        self.mesh = mesh
        try:
            return self.full_sharding(shape, priorities, manual, manual_dims)
        finally:
            self.mesh = "mesh"

    def maybe_inlined(self, text):
        mesh = re.match(r"<@(\w+)", text)[1]
        if self.r.random() < self.odd_meshes / 3:
            return text.replace("@" + mesh, "mesh" + self.meshes[mesh][1], 1)
        return text

    def odd(self, shape):
        """A sharding without axes."""
        return self.r.choice(("<mesh<[], device_ids=[0]>, []>", "<mesh<[], device_ids=[2]>, []>", self.any_empty(shape, "mesh"), "<mesh<[]>, [%s]>" % ", ".join("{}" for _ in shape),
                              self.sharding(shape)))

    def attribute(self, values, chance=.5):
        """ {sdy.sharding = ...} of an op with these results."""
        if self.r.random() >= chance:
            return ""
        return " {sdy.sharding = #sdy.sharding_per_value<[%s]>}" % ", ".join(self.of_type(t) for t in values)

    def of_type(self, kind):
        value = Value("", kind)
        if value.shape is not None:
            return self.sharding(value.shape) if self.r.random() < .7 else self.odd(value.shape)
        return self.r.choice(("<@mesh, []>", "<mesh<[], device_ids=[0]>, []>"))

    def per_value(self, values):
        return ", ".join(self.of_type(v.type) for v in values)

    # ------------------------------------------------------------ what a program is

    def op(self):
        if self.first:
            first, self.first = self.first, None
            return getattr(self, "make_" + first)()
        if self.r.random() < self.special:
            kinds = SHARDED_KINDS + KINDS + (REGION_KINDS if self.depth < 2 else ())
            return getattr(self, "make_" + self.r.choice(kinds))()
        return super().op()

    def returnable(self, v):
        return v.shape is not None or (self.tokens_out and v.type == TOKEN)

    def make_call(self):
        """Also from within manual computations."""
        if not self.funcs:
            return self.make_call_chain()
        f = self.r.choice(self.funcs)
        values = [self.operand(t) for t in f.inputs]
        if None not in values:
            self.emit("func.call @%s(%s) : (%s) -> %s" % (f.name, ", ".join(v.name for v in values), ", ".join(f.inputs), paren(f.outputs)), f.outputs)

    def token(self):
        found = self.pick(lambda v: v.type == TOKEN)
        if not found and self.free_arguments and self.r.random() < .3:
            found = Value("%%arg%d" % len(self.args), TOKEN)
            self.args.append((found, self.of_type(TOKEN) if self.r.random() < .5 else None))
            self.pool.append(found)
        return found or self.emit("stablehlo.create_token%s : %s" % (self.attribute([TOKEN], .3), TOKEN), [TOKEN], plain=True)[0]

    def border(self, v):
        return self.sharding(v.shape, True) if v.shape is not None else self.of_type(v.type)

    # ------------------------------------------------------------ single devices, tuples, tokens

    def make_maximal(self):
        a = self.number()
        word = self.r.choice(("negate %s : %s", "add %s, %s : %s", 'custom_call @f(%s) {has_side_effect = true} : (%s) -> %s', "optimization_barrier %s : %s"))
        text = word % {2: (a.name, a.type), 3: (a.name, a.name, a.type)}[word.count("%s")] if "custom" not in word else word % (a.name, a.type, a.type)
        spot = " {sdy.sharding = #sdy.sharding_per_value<[<mesh<[], device_ids=[%d]>, []>]>}" % self.r.randrange(2)
        if "custom" in word:
            text = text.replace(" {has_side_effect", spot[:-1] + ", has_side_effect")
        elif "barrier" in word:
            text = text.replace("barrier", "barrier" + spot)
        else:
            text = text.replace(" : ", spot + " : ")
        self.emit("stablehlo." + text, [a.type], plain=True)

    def make_single_constraint(self):
        a = self.number()
        word = self.r.choice(("sharding_constraint", "sharding_constraint", "reshard"))
        self.emit("sdy.%s %s %s : %s" % (word, a.name, self.odd(a.shape), a.type), [a.type], attributes=False)

    def make_tuple(self):
        a, b = self.number(), self.number()
        kind = "tuple<%s, %s>" % (a.type, b.type)
        t = self.emit("stablehlo.tuple %s, %s : %s" % (a.name, b.name, kind), [kind], plain=True)[0]
        self.emit("stablehlo.get_tuple_element %s[%d]%s : (%s) -> %s" % (t.name, 1, self.attribute([b.type]), kind, b.type), [b.type], plain=True)

    def make_single_tuple(self):
        a = self.number()
        kind = "tuple<%s>" % a.type
        t = self.emit("stablehlo.custom_call @tupled(%s)%s : (%s) -> %s" % (a.name, self.attribute([a.type], .7), a.type, kind), [kind], plain=True)[0]
        self.emit("stablehlo.get_tuple_element %s[0]%s : (%s) -> %s" % (t.name, self.attribute([a.type]), kind, a.type), [a.type], plain=True)

    def make_after_all(self):
        names = [self.token().name for _ in range(self.r.randint(1, 2))]
        self.emit("stablehlo.after_all %s%s : %s" % (", ".join(names), self.attribute([TOKEN]), TOKEN), [TOKEN], plain=True)

    def make_feeds(self):
        a, t = self.number(), self.token()
        if self.r.random() < .5:
            types = [a.type, TOKEN]
            self.emit('"stablehlo.infeed"(%s) <{infeed_config = "x"}>%s : (%s) -> (%s)' % (t.name, self.attribute(types), TOKEN, ", ".join(types)), types, plain=True)
        else:
            self.emit('"stablehlo.outfeed"(%s, %s) <{outfeed_config = "x"}>%s : (%s, %s) -> %s' % (
                a.name, t.name, self.attribute([TOKEN]), a.type, TOKEN, TOKEN), [TOKEN], plain=True)

    def make_sends(self):
        a, t = self.number(), self.token()
        handle = "channel_handle = #stablehlo.channel_handle<handle = %d, type = %d>, is_host_transfer = true" % (self.r.randrange(9), self.r.choice((2, 3)))
        if "type = 2" in handle:
            self.emit('"stablehlo.send"(%s, %s) <{%s}>%s : (%s, %s) -> %s' % (a.name, t.name, handle, self.attribute([TOKEN]), a.type, TOKEN, TOKEN), [TOKEN], plain=True)
        else:
            types = [a.type, TOKEN]
            self.emit('"stablehlo.recv"(%s) <{%s}>%s : (%s) -> (%s)' % (t.name, handle, self.attribute(types), TOKEN, ", ".join(types)), types, plain=True)

    def make_token_call(self):
        a, t = self.number(), self.token()
        types = self.r.choice(([TOKEN], [a.type, TOKEN], [TOKEN, a.type]))
        attributes = self.attribute(types, .6)[2:-1]
        self.emit("stablehlo.custom_call @io(%s, %s) {%s} : (%s, %s) -> %s" % (
            t.name, a.name, ", ".join(x for x in ("has_side_effect = true", attributes) if x), TOKEN, a.type, paren(types)), types, plain=True)

    def make_token_barrier(self):
        a, t = self.number(), self.token()
        types = [t.type, a.type]
        self.emit("stablehlo.optimization_barrier%s %s, %s : %s" % (self.attribute(types), t.name, a.name, ", ".join(types)), types, plain=True)

    def make_token_while(self):
        a, t, i = self.number(), self.token(), self.operand("tensor<i32>")
        types = ["tensor<i32>", TOKEN, a.type]
        base = self.name("w")
        inner = [Value("%s_%d" % (base, k), kind) for k, kind in enumerate(types)]
        lines, pool = self.body(inner, self.r.randint(0, 2))
        back = [inner[0], self.returned_token(lines, pool, inner[1]), self.returned(lines, pool, a.type)]
        self.lines.append("\n".join(
            ["%s:3 = stablehlo.while(%s) : %s%s" % (base, ", ".join("%s = %s" % (v.name, x.name) for v, x in zip(inner, (i, t, a))), ", ".join(types),
                                                   self.attribute(types, .4).replace(" {", " attributes {", 1)),
             "cond {", "  %s_p = stablehlo.compare LT, %s, %s, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>" % (base, inner[0].name, inner[0].name),
             "  stablehlo.return %s_p : tensor<i1>" % base, "} do {"] + lines + ["  stablehlo.return %s : %s" % (", ".join(v.name for v in back), ", ".join(types)), "}"]))
        self.pool += [Value("%s#%d" % (base, k), kind) for k, kind in enumerate(types)]

    def returned_token(self, lines, pool, default):
        found = [v for v in pool if v.type == TOKEN]
        return self.r.choice(found[-2:]) if found else default

    def make_token_case(self):
        a, t = self.number(), self.token()
        types = [TOKEN, a.type]
        regions = []
        for _ in range(self.r.randint(1, 2)):
            lines, pool = self.body([], self.r.randint(0, 2))
            regions.append("{\n%s\n}" % "\n".join(lines + ["stablehlo.return %s, %s : %s" % (
                self.returned_token(lines, pool, t).name, self.returned(lines, pool, a.type).name, ", ".join(types))]))
        self.emit('"stablehlo.case"(%s) (%s)%s : (tensor<i32>) -> (%s)' % (
            self.operand("tensor<i32>").name, ", ".join(regions), self.attribute(types), ", ".join(types)), types, plain=True)

    # ------------------------------------------------------------ manual computations

    def manual_text(self, word, operands, ins, inner, lines, back, outs, types, attribute):
        return "%s(%s) in_shardings=[%s] out_shardings=[%s]%s (%s) {\n%s\n} : (%s) -> %s" % (
            word, ", ".join(v.name for v in operands), ", ".join(ins), ", ".join(outs), attribute, ", ".join("%s: %s" % (v.name, v.type) for v in inner),
            "\n".join(lines + ["sdy.return %s : %s" % (", ".join(v.name for v in back), ", ".join(v.type for v in back)) if back else "sdy.return"]),
            ", ".join(v.type for v in operands), paren(types) if types else "()")

    def with_token(self, word, attribute, manual):
        a, t = self.number(), self.token()
        inner = [Value(self.name("m"), TOKEN), Value(self.name("m"), a.type)]
        token = self.r.choice(("<@mesh, []>", "<@mesh, []>", "<mesh%s, []>" % self.meshes["mesh"][1]))
        # every manual axis is replicated
        ins, outs = ([token, self.full_sharding(a.shape, True, manual, [None] * len(manual))] for _ in range(2))
        outer, self.manual = self.manual, self.manual + tuple(manual)
        lines, pool = self.body(inner, self.r.randint(0, 3), isolated=True)
        self.manual = outer
        back = [self.returned_token(lines, pool, inner[0]), self.returned(lines, pool, a.type)]
        types = [TOKEN, a.type]
        order = self.r.choice(([0, 1], [1, 0], [0], [1]))
        self.emit(self.manual_text(word, [t, a], ins, inner, lines, [back[k] for k in order], [outs[k] for k in order], [types[k] for k in order], attribute),
                  [types[k] for k in order], attributes=False)

    def free_axes(self, most):
        free = [a for a in self.axes() if a not in self.manual]
        return self.r.sample(free, min(len(free), self.r.randint(1, most)))  # in any order: the verifier lets them

    def make_token_manual(self):
        manual = self.free_axes(2)
        if manual and self.depth < 2:
            self.with_token("sdy.manual_computation", " manual_axes={%s}" % ", ".join('"%s"' % a for a in manual), manual)

    def make_token_named(self):
        if not self.manual and self.depth < 2:
            self.with_token('sdy.named_computation<"t">', "", ())

    def make_bare_manual(self):
        """Without operands, without results or without axes."""
        if self.depth >= 2:
            return
        a = self.number()
        which = self.r.randrange(3)
        manual = self.free_axes(2) if which < 2 else []
        axes = " manual_axes={%s}" % ", ".join('"%s"' % m for m in manual)
        operands = [] if which == 0 else [a]
        inner = [Value(self.name("m"), v.type) for v in operands]
        outer, self.manual = self.manual, self.manual + tuple(manual)
        lines, pool = self.body(inner, self.r.randint(0, 2), isolated=True)
        self.manual = outer
        types = [] if which == 1 else [a.type]
        back = [self.returned(lines, pool, t) for t in types]
        if not back:
            lines.append("stablehlo.custom_call @sink(%s) {has_side_effect = true} : (%s) -> ()" % (inner[0].name, inner[0].type))

        def border():
            if not manual and self.r.random() < .4:
                return self.any_empty(a.shape, "mesh")
            return self.full_sharding(a.shape, True, manual, [None] * len(manual))
        self.emit(self.manual_text("sdy.manual_computation", operands, [border() for _ in operands], inner, lines, back, [border() for _ in types], types, axes), types,
                  attributes=False)

    def make_all_manual(self):
        """Over all axes: of whatever no dim has, some is replicated and some is left out."""
        self.partly_replicated([a for a in self.axes() if a not in self.manual])

    def make_manual_over_all(self):
        self.partly_replicated(self.free_axes(4))

    def partly_replicated(self, manual):
        if not manual or self.depth >= 2:
            return
        order = list(self.axes())
        a = self.number()

        def border(shape):
            left, dims, local = list(manual), [], []
            self.r.shuffle(left)
            for size in shape:
                here = []
                while left and self.r.random() < .4 and size % self.axes()[left[-1]] == 0:
                    here.append(left.pop())
                    size //= self.axes()[here[-1]]
                local.append(size)
                dims.append("{%s}" % ", ".join(['"%s"' % h for h in here] + ["?"] * (self.r.random() < .3)))
            replicated = sorted((m for m in left if self.r.random() < .5), key=order.index)
            text = "<@mesh, [%s]%s>" % (", ".join(dims), ", replicated={%s}" % ", ".join('"%s"' % m for m in replicated) if replicated else "")
            return self.maybe_inlined(text), local
        given, local = border(a.shape)
        inner = [Value(self.name("m"), tensor(local))]
        outer, self.manual = self.manual, self.manual + tuple(manual)
        lines, pool = self.body(inner, self.r.randint(0, 3), isolated=True)
        self.manual = outer
        lines.append("%s_out = stablehlo.negate %s : %s" % (inner[0].name, inner[0].name, inner[0].type))
        self.emit(self.manual_text("sdy.manual_computation", [a], [given], inner, lines, [Value(inner[0].name + "_out", inner[0].type)], [given], [a.type],
                                   " manual_axes={%s}" % ", ".join('"%s"' % m for m in manual)), [a.type], attributes=False)

    def make_nested_manual(self):
        free = self.free_axes(1)
        if free and self.depth < 2:
            self.computation("sdy.manual_computation", free, ' manual_axes={"%s"}' % free[0])

    # ------------------------------------------------------------ shapes known at run time

    def make_dynamic(self):
        """Of a tensor whose size is not known, and back."""
        a = self.number()
        kind = "tensor<?%s>" % a.type[len("tensor<") + len(str(a.shape[0])):-1]
        word = self.r.randrange(4)
        if word == 0:
            v = self.emit("stablehlo.custom_call @unknown(%s)%s : (%s) -> %s" % (a.name, self.dynamic_attribute(a.shape), a.type, kind), [kind], plain=True)[0]
        elif word == 1:
            d = self.operand("tensor<%dxi32>" % len(a.shape))
            v = self.emit("stablehlo.dynamic_reshape %s, %s%s : (%s, %s) -> %s" % (a.name, d.name, self.dynamic_attribute(a.shape), a.type, d.type, kind), [kind], plain=True)[0]
        elif word == 2:
            d = self.operand("tensor<%dxi32>" % len(a.shape))
            v = self.emit("stablehlo.dynamic_broadcast_in_dim %s, %s, dims = %s%s : (%s, %s) -> %s" % (
                a.name, d.name, list(range(len(a.shape))), self.dynamic_attribute(a.shape), a.type, d.type, kind), [kind], plain=True)[0]
        else:
            starts = [self.operand("tensor<%dxi32>" % len(a.shape)) for _ in range(3)]
            v = self.emit("stablehlo.real_dynamic_slice %s, %s : (%s) -> %s" % (
                a.name, ", ".join(s.name for s in starts), ", ".join([a.type] + [s.type for s in starts]), kind), [kind], plain=True)[0]
        if self.r.random() < .6:
            v = self.emit("stablehlo.negate %s%s : %s" % (v.name, self.dynamic_attribute(a.shape), kind), [kind], plain=True)[0]
        if self.r.random() < .3:
            v = self.emit("sdy.sharding_constraint %s %s : %s" % (v.name, self.sharding(a.shape), kind), [kind], attributes=False)[0]
        self.emit("stablehlo.custom_call @known(%s) : (%s) -> %s" % (v.name, kind, a.type), [a.type], plain=True)

    def dynamic_attribute(self, shape):
        return " {sdy.sharding = #sdy.sharding_per_value<[%s]>}" % self.sharding(shape) if self.r.random() < .5 else ""

    def make_dynamic_result(self):
        a, n = self.number(), self.operand("tensor<1xi32>")
        kind = "tensor<?xi32>"
        v = self.emit("stablehlo.dynamic_iota %s, dim = 0%s : (tensor<1xi32>) -> %s" % (n.name, self.dynamic_attribute([8]), kind), [kind], plain=True)[0]
        self.emit("stablehlo.custom_call @sum(%s, %s) : (%s, %s) -> %s" % (v.name, a.name, kind, a.type, a.type), [a.type], plain=True)

    def make_bounded(self):
        a, n = self.number(), self.operand("tensor<i32>")
        kind = "tensor<?%s, #stablehlo.bounds<%s>>" % (a.type[len("tensor<") + len(str(a.shape[0])):-1], ", ".join([str(a.shape[0])] + ["?"] * (len(a.shape) - 1)))
        v = self.emit("stablehlo.set_dimension_size %s, %s, dim = 0%s : (%s, tensor<i32>) -> %s" % (
            a.name, n.name, self.dynamic_attribute(a.shape), a.type, kind), [kind], plain=True)[0]
        v = self.emit("stablehlo.negate %s%s : %s" % (v.name, self.dynamic_attribute(a.shape), kind), [kind], plain=True)[0]
        self.emit("stablehlo.get_dimension_size %s, dim = 0 : (%s) -> tensor<i32>" % (v.name, kind), ["tensor<i32>"], plain=True)

    # ------------------------------------------------------------ rules

    def make_implicit_gather(self):
        """Every index is one number: the dim of index vectors is behind the last one."""
        a = self.number()
        d = self.r.randrange(len(a.shape))
        index = [self.r.choice((1, 2, 4, 8)) for _ in range(self.r.randint(0, 2))]
        i = self.operand(tensor(index, "i32"))
        sizes = list(a.shape)
        sizes[d] = 1 if self.r.random() < .7 else self.r.randint(1, a.shape[d])
        collapsed = sizes[d] == 1 and self.r.random() < .7
        window = [s for k, s in enumerate(sizes) if not (collapsed and k == d)]
        out = index + window
        offset = list(range(len(index), len(out)))
        self.emit('"stablehlo.gather"(%s, %s) <{dimension_numbers = #stablehlo.gather<%s%sstart_index_map = [%d], index_vector_dim = %d>, '
                  "indices_are_sorted = %s, slice_sizes = %s}> : (%s, %s) -> %s" % (
                      a.name, i.name, "offset_dims = %s, " % offset if offset else "", "collapsed_slice_dims = [%d], " % d if collapsed else "", d, len(index),
                      self.r.choice(("true", "false")), ints(sizes), a.type, i.type, tensor(out)), [tensor(out)])

    def make_batched_gather(self):
        b, n, k = (self.r.choice((1, 2, 4)) for _ in range(3))
        a = self.operand(tensor([b, n, 8]))
        implicit = self.r.random() < .5
        i = self.operand(tensor([b, k] if implicit else [b, k, 1], "i32"))
        kind = tensor([b, k, 8])
        self.emit('"stablehlo.gather"(%s, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], '
                  "start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 8>}> : (%s, %s) -> %s" % (
                      a.name, i.name, a.type, i.type, kind), [kind])

    def make_implicit_scatter(self):
        self.scatter(1)

    def make_many_scatter(self):
        self.scatter(2)

    def scatter(self, n):
        m, k = self.r.choice((1, 2, 4, 8)), self.r.choice((1, 2, 4))
        inputs = [self.operand(tensor([8, k])) for _ in range(n)]
        index = [m] if self.r.random() < .6 else []
        i = self.operand(tensor(index, "i32"))
        updates = [self.operand(tensor(index + [k])) for _ in range(n)]
        word = self.r.choice(("add", "multiply", "maximum", "subtract", None))
        names = ["%%x%d" % j for j in range(2 * n)]
        if word:
            body = ["%%z%d = stablehlo.%s %s, %s : tensor<f32>" % (j, word, names[j], names[n + j]) for j in range(n)]
            back = ["%%z%d" % j for j in range(n)]
        else:
            body, back = [], names[n:]
        types = [v.type for v in inputs]
        self.emit('"stablehlo.scatter"(%s) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<%sinserted_window_dims = [0], '
                  "scatter_dims_to_operand_dims = [0], index_vector_dim = %d>, unique_indices = false}> ({\n^bb0(%s):\n%s\n  stablehlo.return %s : %s\n}) : (%s) -> %s" % (
                      ", ".join(v.name for v in inputs + [i] + updates), "update_window_dims = [%d], " % len(index), len(index),
                      ", ".join("%s: tensor<f32>" % x for x in names), "\n".join(body), ", ".join(back), ", ".join(["tensor<f32>"] * n),
                      ", ".join(v.type for v in inputs + [i] + updates), paren(types)), types)

    def make_ones_reduce(self):
        shape = [self.r.choice((1, 1, 4, 8)) for _ in range(self.r.randint(1, 4))]
        self.reduce(shape, 1)

    def make_many_reduce(self):
        self.reduce(self.number().shape, 2)

    def reduce(self, shape, n):
        dims = [d for d in range(len(shape)) if self.r.random() < .6] or [0]
        values = [self.operand(tensor(shape)) for _ in range(n)]
        starts = [self.operand("tensor<f32>") for _ in range(n)]
        out = tensor([s for d, s in enumerate(shape) if d not in dims])
        names = ["%%x%d" % j for j in range(2 * n)]
        body = ["%%z%d = stablehlo.add %s, %s : tensor<f32>" % (j, names[j], names[n + j]) for j in range(n)]
        self.emit('"stablehlo.reduce"(%s) <{dimensions = %s}> ({\n^bb0(%s):\n%s\n  stablehlo.return %s : %s\n}) : (%s) -> %s' % (
            ", ".join(v.name for v in values + starts), ints(dims), ", ".join("%s: tensor<f32>" % x for x in names), "\n".join(body),
            ", ".join("%%z%d" % j for j in range(n)), ", ".join(["tensor<f32>"] * n), ", ".join(v.type for v in values + starts), paren([out] * n)), [out] * n)

    def make_target(self):
        """Custom calls that some part of XLA knows."""
        a = self.number()
        target = self.r.choice(TARGETS)
        attributes = [self.attribute([a.type], .4)[2:-1]] + [x for x in ("has_side_effect = true", 'backend_config = "x"', "api_version = 2 : i32") if self.r.random() < .2]
        attributes = ", ".join(x for x in attributes if x)
        self.emit("stablehlo.custom_call @%s(%s)%s : (%s) -> %s" % (target, a.name, " {%s}" % attributes if attributes else "", a.type, a.type), [a.type], plain=True)

    def make_several_results(self):
        a, b = self.number(), self.number()
        types = [a.type, b.type]
        self.emit("stablehlo.custom_call @two(%s, %s)%s : (%s) -> (%s)" % (a.name, b.name, self.attribute(types, .7), ", ".join(types), ", ".join(types)), types, plain=True)

    def make_no_results(self):
        a = self.number()
        sharding = self.r.choice(("", "", ", sdy.sharding = #sdy.sharding_per_value<[]>", ", sdy.sharding = #sdy.sharding_per_value<[<mesh<[], device_ids=[0]>, []>]>",
                                  ", sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>"))
        self.lines.append("stablehlo.custom_call @effect(%s) {has_side_effect = true%s} : (%s) -> ()" % (a.name, sharding, a.type))

    def make_sdy_constant(self):
        t = self.number().type
        c = self.emit("sdy.constant%s dense<%s> : %s" % (self.attribute([t]), self.r.choice(("1.000000e+00", "2.000000e+00")), t), [t], plain=True)[0]
        self.emit("stablehlo.add %s, %s : %s" % (c.name, self.operand(t).name, t), [t])

    def make_custom_rule(self):
        self.make_rule()

    def make_barriers(self):
        for _ in range(self.r.randint(1, 3)):
            self.make_block()

    def make_groups_in_regions(self):
        self.make_group()
        if self.depth < 2:
            self.make_while()
            self.make_group()

    def make_device_op(self):
        """Between devices already: what shard_map makes."""
        types, lines = self.ops.gen_collective()
        operands = [self.operand(t) for t in types]
        if None not in operands:
            self.take(lines, operands)

    def make_window(self):
        types, lines = self.r.choice((self.ops.gen_reduce_window, self.ops.gen_select_and_scatter, self.ops.gen_convolution, self.ops.gen_pad))()
        operands = [self.operand(t) for t in types]
        if None not in operands:
            self.take(lines, operands)

    def make_expansions(self):
        self.make_composite()
        self.make_batch_norm_grad()

    def make_frontend(self):
        a = self.number()
        self.emit('stablehlo.negate %s {mhlo.frontend_attributes = {k = "v"}%s} : %s' % (a.name, ", " + self.attribute([a.type], 1)[2:-1], a.type), [a.type], plain=True)

    # ------------------------------------------------------------ functions

    def nested_function(self, build):
        """build(name) makes a function's lines while the one at hand waits."""
        kept = self.pool, self.lines, self.args, self.free_arguments, self.manual, self.depth
        self.manual, self.depth = (), 0
        name = self.name("g")[1:]
        text, made = build(name)
        self.pool, self.lines, self.args, self.free_arguments, self.manual, self.depth = kept
        self.more.append(text)
        self.funcs.append(made)
        return made

    def call(self, f, attribute=""):
        values = [self.operand(t) for t in f.inputs]
        if None not in values:
            self.emit("func.call @%s(%s)%s : (%s) -> %s" % (f.name, ", ".join(v.name for v in values), attribute, ", ".join(f.inputs), paren(f.outputs)), f.outputs, plain=True)

    def make_call_chain(self):
        """A function that calls others, called once or twice."""
        if self.deep < 3:
            self.deep += 1
            f = self.nested_function(lambda name: self.function(name, self.r.randint(1, 4), self.r.choice(("private ", "private ", "", "public "))))
            self.deep -= 1
        else:
            f = self.r.choice(self.funcs) if self.funcs else None
        for _ in range(self.r.randint(1, 2)):
            if f:
                self.call(f)

    def make_call_with_sharding(self):
        f = self.r.choice(self.funcs) if self.funcs else self.nested_function(lambda name: self.function(name, self.r.randint(1, 3), "private "))
        self.call(f, self.attribute(f.outputs, .9))

    def make_call_token(self):
        a = self.number()

        def build(name):
            kinds = [TOKEN, a.type]
            inner = [Value("%arg0", TOKEN), Value("%arg1", a.type)]
            self.pool, self.lines, self.args, self.free_arguments = list(inner), [], [], False
            for _ in range(self.r.randint(0, 2)):
                self.op()
            back = [self.returned_token(self.lines, self.pool, inner[0]), self.returned(self.lines, self.pool, a.type)]

            def typed(t):
                return t + (" {sdy.sharding = #sdy.sharding%s}" % self.of_type(t) if self.r.random() < .4 else "")
            return "func.func private @%s(%s) -> (%s) {\n%s\n}" % (
                name, ", ".join("%s: %s" % (v.name, typed(v.type)) for v in inner), ", ".join(map(typed, kinds)),
                "\n".join(self.lines + ["return %s : %s" % (", ".join(v.name for v in back), ", ".join(kinds))])), Function(name, kinds, kinds)
        f = self.nested_function(build)
        t = self.token()
        for _ in range(self.r.randint(1, 2)):
            self.emit("func.call @%s(%s, %s)%s : (%s, %s) -> (%s, %s)" % (
                f.name, t.name, a.name, self.attribute(f.outputs, .3), TOKEN, a.type, TOKEN, a.type), f.outputs, plain=True)

    def make_declared(self):
        a = self.number()
        self.more.append("func.func private @ext%d(%s%s) -> %s" % (len(self.more), a.type, self.r.choice(("", " {sdy.sharding = #sdy.sharding%s}" % self.sharding(a.shape))), a.type))
        self.emit("func.call @ext%d(%s) : (%s) -> %s" % (len(self.more) - 1, a.name, a.type, a.type), [a.type])

    # ------------------------------------------------------------ constraints that have several inputs to go to

    def constrained(self, a):
        return self.emit("sdy.sharding_constraint %s %s : %s" % (a.name, self.closed(a.shape) if self.r.random() < .7 else self.sharding(a.shape), a.type), [a.type], attributes=False)[0]

    def make_shared_input(self):
        """Two constraints of one value, before or behind its other uses."""
        a = self.number()
        for _ in range(self.r.randint(2, 3)):
            b = self.constrained(a)
            if self.r.random() < .5:
                self.emit("stablehlo.add %s, %s : %s" % (a.name, self.r.choice((a, b)).name, a.type), [a.type])

    def make_chain(self):
        a = first = self.number()
        for _ in range(self.r.randint(2, 4)):
            a = self.constrained(a)
        self.emit("stablehlo.add %s, %s : %s" % (first.name, a.name, a.type), [a.type])

    def make_outer_constraint(self):
        """In a branch, of a value outside."""
        a = self.number()
        base = self.name()
        self.emit('"stablehlo.if"(%s) ({\n%s_x = sdy.sharding_constraint %s %s : %s\nstablehlo.return %s_x : %s\n}, {\nstablehlo.return %s : %s\n}) : (tensor<i1>) -> %s' % (
            self.operand("tensor<i1>").name, base, a.name, self.closed(a.shape), a.type, base, a.type, a.name, a.type, a.type), [a.type], plain=True)
        if self.r.random() < .5:
            self.constrained(a)

    def make_loop_constraint(self):
        """Of what a loop carries, a barrier passes on or a computation gets."""
        self.r.choice((self.make_while, self.make_barrier, self.make_nested_manual, self.make_named))() if self.depth < 2 else self.make_barrier()
        self.constrained(self.number())
        if self.r.random() < .5:
            self.make_chain()

    def make_returned_constraint(self):
        self.constrained(self.args[0][0] if self.args and self.args[0][0].elem == "f32" and self.args[0][0] in self.pool else self.number())

    # ------------------------------------------------------------ edges and collectives in the input

    def make_edge(self):
        values = [self.number() for _ in range(2)]
        types = [v.type for v in values]
        out = self.emit("stablehlo.optimization_barrier %s : %s" % (", ".join(v.name for v in values), ", ".join(types)), types, where="stablehlo.optimization_barrier")
        taken = self.r.choice(out)
        self.pool.remove(taken)
        self.emit("sdy.data_flow_edge %s%s : %s" % (taken.name, self.r.choice(("", " sharding=" + self.sharding(taken.shape))), taken.type), [taken.type], attributes=False)

    def make_func_edge(self):
        if self.free_arguments and self.r.random() < .7:
            a = self.argument(self.number().type)
            self.pool.remove(a)
        else:
            self.make_call_chain()
            a = self.number()
        self.emit("sdy.func_data_flow_edge %s%s : %s" % (a.name, self.attribute([a.type]), a.type), [a.type], attributes=False)

    def sharded(self, lists, shape, unreduced=(), replicated=()):
        tail = "".join(", %s={%s}" % (word, ", ".join('"%s"' % a for a in sorted(axes, key=list(self.axes()).index)))
                       for word, axes in (("replicated", replicated), ("unreduced", unreduced)) if axes)
        return "<@mesh, [%s]%s>" % (", ".join("{%s}" % ", ".join('"%s"' % a for a in axes) for axes in lists), tail)

    def dealt(self, a):
        """Free axes over the dims of a, and the rest."""
        free = [x for x in self.axes() if x not in self.manual]
        self.r.shuffle(free)
        lists = [[] for _ in a.shape]
        rest = []
        for axis in free:
            (self.r.choice(lists) if self.r.random() < .6 else rest).append(axis)
        return lists, rest

    def collective(self, a, before, word, parts, after):
        """word parts of a value sharded as before."""
        b = self.emit("stablehlo.negate %s {sdy.sharding = #sdy.sharding_per_value<[%s]>} : %s" % (a.name, before, a.type), [a.type], plain=True)[0]
        self.emit("sdy.%s%s %s out_sharding=%s : %s" % (word, parts, b.name, after, a.type), [a.type], attributes=False)

    def listed(self, lists):
        return " [%s]" % ", ".join("{%s}" % ", ".join('"%s"' % a for a in axes) for axes in lists)

    def make_gathered(self):
        a = self.number()
        lists, _ = self.dealt(a)
        gathered = [axes[self.r.randint(0, len(axes)):] for axes in lists]
        kept = [axes[:len(axes) - len(g)] for axes, g in zip(lists, gathered)]
        if any(gathered):
            self.collective(a, self.sharded(lists, a.shape), "all_gather", self.listed(gathered), self.sharded(kept, a.shape))

    def make_sliced(self):
        a = self.number()
        lists, _ = self.dealt(a)
        sliced = [axes[self.r.randint(0, len(axes)):] for axes in lists]
        kept = [axes[:len(axes) - len(g)] for axes, g in zip(lists, sliced)]
        if any(sliced):
            word = self.r.choice(("all_slice", "reduce_scatter", "sharded_to_unreduced"))
            flat = [x for s in sliced for x in s]
            if word == "all_slice":
                self.collective(a, self.sharded(kept, a.shape), word, self.listed(sliced), self.sharded(lists, a.shape))
            elif word == "reduce_scatter":
                self.collective(a, self.sharded(kept, a.shape, unreduced=flat), word, self.listed(sliced), self.sharded(lists, a.shape))
            else:
                self.collective(a, self.sharded(lists, a.shape), word, self.listed(sliced), self.sharded(kept, a.shape, unreduced=flat))

    def make_exchanged(self):
        a = self.number()
        lists, _ = self.dealt(a)
        full = [d for d, axes in enumerate(lists) if axes]
        if len(lists) < 2 or not full:
            return
        s = self.r.choice(full)
        d = self.r.choice([k for k in range(len(lists)) if k != s])
        n = self.r.randint(1, len(lists[s]))
        moved = lists[s][-n:]
        after = [list(axes) for axes in lists]
        after[s] = after[s][:-n]
        after[d] += moved
        self.collective(a, self.sharded(lists, a.shape), "all_to_all", " [{%s}: %d->%d]" % (", ".join('"%s"' % x for x in moved), s, d), self.sharded(after, a.shape))

    def make_permuted(self):
        a = self.number()
        lists, rest = self.dealt(a)
        by_size = {}
        for x in [x for axes in lists for x in axes] + rest:
            by_size.setdefault(self.axes()[x], []).append(x)
        change = {}
        for names in by_size.values():
            change.update(zip(names, self.r.sample(names, len(names))))
        self.collective(a, self.sharded(lists, a.shape), "collective_permute", "", self.sharded([[change[x] for x in axes] for axes in lists], a.shape))

    def make_reduced(self):
        a = self.number()
        lists, rest = self.dealt(a)
        if rest:
            order = list(self.axes())
            n = self.r.randint(1, len(rest))
            names = sorted(rest[:n], key=order.index)
            word = self.r.choice(("all_reduce", "replicated_to_unreduced"))
            axes = " {%s}" % ", ".join('"%s"' % x for x in names)
            if word == "all_reduce":
                self.collective(a, self.sharded(lists, a.shape, unreduced=rest), word, axes, self.sharded(lists, a.shape, unreduced=rest[n:]))
            else:
                self.collective(a, self.sharded(lists, a.shape, unreduced=rest[n:]), word, axes, self.sharded(lists, a.shape, unreduced=rest))

    def make_unreduced(self):
        a = self.number()
        lists, rest = self.dealt(a)
        self.r.shuffle(rest)
        n = self.r.randint(0, len(rest))
        b = self.emit("stablehlo.negate %s {sdy.sharding = #sdy.sharding_per_value<[%s]>} : %s" % (
            a.name, self.sharded(lists, a.shape, rest[:n], rest[n:] if self.r.random() < .4 else ()), a.type), [a.type], plain=True)[0]
        lists, rest = self.dealt(a)
        word = self.r.choice(("reshard", "sharding_constraint"))
        self.emit("sdy.%s %s %s : %s" % (word, b.name, self.sharded(lists, a.shape, rest if self.r.random() < .5 else ()), a.type), [a.type], attributes=False)

    # ------------------------------------------------------------ the module

    def text(self):
        r = self.r
        meshes = ["sdy.mesh @%s = %s" % (name, body) for name, (_, body) in self.meshes.items()]
        main, _ = self.function("main" if r.random() < .9 else "step", r.choice((1, 2, 4, 8)), r.choice(("", "public ")))
        functions = self.more + [main] if r.random() < .3 else [main] + self.more
        parts = meshes + functions if r.random() < .9 else functions + meshes
        return "module {\n%s\n}\n" % "\n".join(parts)


def text(seed):
    return Constructs(seed).text()
