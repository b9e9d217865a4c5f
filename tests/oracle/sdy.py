#!/usr/bin/env python3
"""Shardy as jaxlib ships it: run passes, count collectives, compare two modules value by value.

    sdy.py run PIPELINE MODULE          print the module after the passes ("placed" and "propagate" are abbreviations)
    sdy.py count MODULE                 collectives of the annotated module as Shardy places them, JSON
    sdy.py compare MODULE_A MODULE_B    list the values whose op or sharding differs; exit 1 if any
    sdy.py time MODULE                  seconds to parse, and to run the propagation pipeline

MODULE may be zstd-compressed. Every run happens in a forked child: odd input aborts the process inside the passes.
"""
import collections
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from annotate import read  # noqa: E402
from child import Crash, forked  # noqa: E402

PROPAGATE = "sdy-propagation-pipeline"
# For text without calls. jaxlib's build registers no inliner for func.call: its `inline` only folds and drops dead code.
# So whatever has calls is inlined by the tool first, and both sides get the same inlined text (conftest's Tool.inlined).
PLACED = ("sdy-propagation-pipeline,func.func(sdy-insert-explicit-reshards{enable-full-version=true}),"
          "func.func(sdy-reshard-to-collectives)")
COLLECTIVES = ("all_gather", "all_reduce", "all_slice", "all_to_all", "collective_permute", "reduce_scatter",
               "sharded_to_unreduced", "replicated_to_unreduced")
Difference = collections.namedtuple("Difference", "location value a b")


def _run(pipeline, text, debug=False, generic=False):
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir, passmanager
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        passmanager.PassManager.parse("builtin.module(%s)" % pipeline).run(module.operation)
        return module.operation.get_asm(enable_debug_info=debug, print_generic_op_form=generic)


def run(pipeline, text, debug=False, generic=False):
    """Module text after the passes. The short form of stablehlo.reduce leaves out the attributes of its body; generic keeps them."""
    return forked(_run, pipeline, text, debug, generic)


def _walk(op):
    """The op and everything in its regions, in order."""
    yield op
    for region in op.regions:
        for block in region:
            for inner in block:
                yield from _walk(inner.operation)


def _count(text):
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    with mlir.make_ir_context():
        counts = {}
        for op in _walk(ir.Module.parse(text).operation):
            dialect, _, word = op.name.partition(".")
            if dialect == "sdy" and word in COLLECTIVES:
                counts[word] = counts.get(word, 0) + 1
        return counts


def count(text):
    """Collective kind -> static count, of a module that holds sdy collectives (after PLACED)."""
    return forked(_count, text)


def _swapped(text):
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        for op in [o for o in _walk(module.operation) if o.name == "stablehlo.transpose"]:
            dot = op.operands[0].owner
            if not isinstance(dot, ir.Operation) or dot.name != "stablehlo.dot_general" or len(list(dot.results[0].uses)) != 1:
                continue
            of = stablehlo.DotDimensionNumbers(dot.attributes["dot_dimension_numbers"])
            batch, rank = len(of.lhs_batching_dimensions), len(list(ir.DenseI64ArrayAttr(op.attributes["permutation"])))
            left = ir.RankedTensorType(dot.operands[0].type).rank - batch - len(of.lhs_contracting_dimensions)
            wanted = [*range(batch), *range(batch + left, rank), *range(batch, batch + left)]
            if list(ir.DenseI64ArrayAttr(op.attributes["permutation"])) != wanted or not 0 < left < rank - batch:
                continue
            numbers = stablehlo.DotDimensionNumbers.get(of.rhs_batching_dimensions, of.lhs_batching_dimensions, of.rhs_contracting_dimensions, of.lhs_contracting_dimensions)
            new = ir.Operation.create("stablehlo.dot_general", [op.results[0].type], [dot.operands[1], dot.operands[0]], {"dot_dimension_numbers": numbers},
                                      loc=op.location, ip=ir.InsertionPoint(op))
            op.results[0].replace_all_uses_with(new.results[0])
            op.erase()
            dot.erase()
        return str(module)


def swapped(text):
    """The text as XLA for TPU and GPU simplifies it before it propagates: a contraction that only a transpose reads, which swaps its operands' free dims, has them swapped."""
    return forked(_swapped, text)


def placed_counts(text):
    """Collectives of an annotated module without calls as Shardy places them."""
    return forked(lambda: _count(_run(PLACED, text)))


def _describe(text):
    """Flat list of (location, value, text): one entry per op name and per sharding carrying value, in walk order.

    What two printers may legitimately do differently is left out: attributes that are no shardings, order of
    attributes, SSA names, locations' spelling."""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    entries = []

    def short(location):
        return str(location)[:160]

    def attribute(attrs, name):
        return str(attrs[name]) if name in attrs else None

    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        for op in _walk(module.operation):
            place = short(op.location)
            entries.append((place, "op", op.name))
            if op.name == "sdy.mesh":
                entries.append((place, "mesh", "%s = %s" % (op.attributes["sym_name"], op.attributes["mesh"])))
                continue
            if op.name == "func.func":
                name = ir.StringAttr(op.attributes["sym_name"]).value
                kind = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
                for side, types in (("arg_attrs", kind.inputs), ("res_attrs", kind.results)):
                    given = op.attributes[side] if side in op.attributes else [{}] * len(types)
                    for i, attrs in enumerate(given):
                        entries.append((place, "%s %s %d" % (name, "argument" if side[0] == "a" else "result", i),
                                        attribute(attrs, "sdy.sharding")))
                continue
            for word in ("sdy.sharding", "sharding", "out_sharding", "in_shardings", "out_shardings", "manual_axes",
                         "sdy.sharding_rule", "gathering_axes", "slicing_axes", "reduction_axes", "reduce_scatter_axes", "params", "group_id"):
                if word in op.attributes:
                    entries.append((place, "%s %s" % (op.name, word), str(op.attributes[word])))
                elif word == "sdy.sharding" and op.results:
                    entries.append((place, "%s %s" % (op.name, word), None))
    return entries


def _printed(text):
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    with mlir.make_ir_context():
        return ir.Module.parse(text).operation.get_asm(print_generic_op_form=True)


def _differences(text_a, text_b):
    printed_a, printed_b = _printed(text_a), _printed(text_b)
    if printed_a == printed_b:
        return []
    found = []
    a, b = _describe(text_a), _describe(text_b)
    for (place, value, left), (other, value2, right) in zip(a, b):
        if value != value2 or (value == "op" and left != right):
            # the walks lost step: later entries say nothing
            found.append(Difference(place, "structure: " + value, left, "%s %s at %s" % (value2, right, other)))
            return found
        if left != right:
            found.append(Difference(place, value, left, right))
    if len(a) != len(b):
        found.append(Difference("end", "structure: number of entries", str(len(a)), str(len(b))))
    if not found:
        lines = zip(printed_a.splitlines(), printed_b.splitlines())
        found += [Difference("line %d" % i, "text", x, y) for i, (x, y) in enumerate(lines, 1) if x != y][:20]
    return found


def compare(text_a, text_b):
    """[Difference(location, value, shardingA, shardingB)], empty when jaxlib prints both modules alike in generic form.

    Stronger than equal shardings: operands, attributes and types count too. Locations and SSA names do not."""
    return forked(_differences, text_a, text_b)


def _local_bytes(text):
    import re
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    from annotate import main_of
    with mlir.make_ir_context():
        module = ir.Module.parse(_run(PROPAGATE, text))
        axes = {}
        for op in module.body.operations:
            if op.operation.name == "sdy.mesh":
                axes = {name: int(size) for name, size in re.findall(r'"(\w+)"=(\d+)', str(op.operation.attributes["mesh"]))}
        main = main_of(module)
        kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)

        def local(of, attributes):
            shape = ir.RankedTensorType(of)
            dims = list(shape.shape)
            if "sdy.sharding" in attributes:
                body = str(attributes["sdy.sharding"]).split("[", 1)[1]
                for i, part in enumerate(re.findall(r"\{(.*?)\}", body)[:len(dims)]):
                    for name, sub in re.findall(r'"(\w+)"(?::\(\d+\)(\d+))?', part):
                        dims[i] = -(-dims[i] // (int(sub) if sub else axes[name]))
            size = 1
            for d in dims:
                size *= d
            digits = re.search(r"\d+", str(shape.element_type))[0]
            return size * max(1, int(digits) // 8)

        sums = {}
        for side, types, word in (("arg_attrs", kind.inputs, "argument_bytes"), ("res_attrs", kind.results, "output_bytes")):
            given = list(main.attributes[side]) if side in main.attributes else [{}] * len(types)
            sums[word] = sum(local(t, a) for t, a in zip(types, given))
        return sums


def local_bytes(text):
    """Bytes per device of main's arguments and results after propagation, from the shardings alone."""
    return forked(_local_bytes, text)


def timings(text):
    """-> (seconds to parse, seconds of the propagation pipeline)."""
    def child():
        from jax._src.interpreters import mlir
        from jaxlib.mlir import ir, passmanager
        with mlir.make_ir_context():
            begin = time.perf_counter()
            module = ir.Module.parse(text)
            middle = time.perf_counter()
            passmanager.PassManager.parse("builtin.module(%s)" % PROPAGATE).run(module.operation)
            return middle - begin, time.perf_counter() - middle
    return forked(child)


def main(argv):
    os.environ["JAX_PLATFORMS"] = "cpu"
    if len(argv) == 3 and argv[0] == "run":
        print(run({"placed": PLACED, "propagate": PROPAGATE}.get(argv[1], argv[1]), read(argv[2]), True), end="")
    elif len(argv) == 2 and argv[0] == "count":
        print(json.dumps(placed_counts(read(argv[1])), sort_keys=True))
    elif len(argv) == 3 and argv[0] == "compare":
        found = compare(read(argv[1]), read(argv[2]))
        for d in found[:50]:
            print("%s: %s\n  A %s\n  B %s" % d)
        print("%d differences" % len(found))
        return bool(found)
    elif len(argv) == 2 and argv[0] == "time":
        print("parse %.3f s, propagate %.3f s" % timings(read(argv[1])))
    else:
        sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Crash as crash:
        sys.exit("the passes failed: " + crash.args[0])
