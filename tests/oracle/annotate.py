#!/usr/bin/env python3
"""Put a mesh and argument shardings into a module.

    annotate.py MODULE[.zst] --mesh data=4,model=4 [--results donated|open] 'GLOB=SHARDING' ...

GLOB matches argument names as printed in locations (params['w1']); only * and ? are special; the last match wins.
SHARDING is a list per dimension of axis names, [["data"],[]], the object form with "dims", "open", "priority",
"replicated", or an attribute in sdy's own text, <@mesh, [{"data"}p1, {?}]>.
--results donated also gives every result that aliases an argument the sharding of that argument, priorities included: a result pinned
at priority 0 would win over a batch dimension of priority 0 that has further to travel.
"""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from child import forked  # noqa: E402


def read(path):
    """Text of a module file; zstd-compressed files go through the zstd command."""
    if path.endswith(".zst"):
        return subprocess.run(["zstd", "-qdc", path], check=True, capture_output=True).stdout.decode()
    with open(path) as f:
        return f.read()


def parse_mesh(words):
    """"data=4,model=2" -> {"data": 4, "model": 2}; a dict passes."""
    if isinstance(words, dict):
        return words
    return {name: int(size) for name, size in (part.split("=") for part in words.split(","))}


def matches(glob, name):
    pattern = "".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in glob)
    return re.fullmatch(pattern, name, re.DOTALL) is not None


def axis_text(axis):
    name, sub, rest = axis.partition(":")
    return '"%s"%s%s' % (name, sub, rest)


def sharding_text(sharding, mesh="mesh"):
    """A sharding in JSON form (or sdy text) -> the text between `#sdy.sharding` and its end."""
    if isinstance(sharding, str):
        return sharding
    if isinstance(sharding, list):
        sharding = {"dims": sharding}
    dims = []
    for i, axes in enumerate(sharding["dims"]):
        parts = [axis_text(a) for a in axes]
        is_open = sharding.get("open", [False] * (i + 1))[i]
        priority = sharding.get("priority", [0] * (i + 1))[i]
        if is_open:
            parts.append("?")
        tail = "p%d" % priority if priority and parts else ""
        dims.append("{" + ", ".join(parts) + "}" + tail)
    text = "<@%s, [%s]" % (mesh, ", ".join(dims))
    for word in ("replicated", "unreduced"):
        if sharding.get(word):
            text += ", %s={%s}" % (word, ", ".join(map(axis_text, sharding[word])))
    return text + ">"


def main_of(module):
    from jaxlib.mlir import ir
    for op in module.body.operations:
        if op.operation.name == "func.func" and ir.StringAttr(op.operation.attributes["sym_name"]).value == "main":
            return op.operation
    raise ValueError("module has no function main")


def argument_names(main):
    """Name of each argument of main: its location's name, else argN."""
    names = []
    for i, argument in enumerate(main.regions[0].blocks[0].arguments):
        found = re.fullmatch(r'loc\("(.*?)"(?:\(.*\))?\)', str(argument.location), re.DOTALL)
        plain = found and not re.match(r'loc\("[^"]*":\d+:\d+', str(argument.location))
        names.append(found[1] if plain else "arg%d" % i)
    return names


def annotate(text, mesh, patterns, results="open", name="mesh"):
    """Module text with one sdy.mesh (its own, if equal), mhlo.num_partitions, and sdy.sharding on the arguments that a pattern matches.

    patterns: list of (glob, sharding); the last match wins; None leaves the argument alone."""
    return forked(_annotate, text, mesh, patterns, results, name)


def _annotate(text, mesh, patterns, results, name):
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    mesh = parse_mesh(mesh)
    with mlir.make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        main = main_of(module)
        kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)

        def attributes(side, count):
            if side not in main.attributes:
                return [{} for _ in range(count)]
            return [{a.name if hasattr(a, "name") else a: d[a.name if hasattr(a, "name") else a] for a in d}
                    for d in map(ir.DictAttr, main.attributes[side])]

        arguments = attributes("arg_attrs", len(kind.inputs))
        outputs = attributes("res_attrs", len(kind.results))
        devices = 1
        for size in mesh.values():
            devices *= size
        for i, argument in enumerate(argument_names(main)):
            chosen = None
            for glob, sharding in patterns:
                if matches(glob, argument):
                    chosen = sharding
            if chosen is None:
                continue
            arguments[i]["sdy.sharding"] = ir.Attribute.parse("#sdy.sharding" + sharding_text(chosen, name))
            if results == "donated" and "tf.aliasing_output" in arguments[i]:
                paired = ir.IntegerAttr(arguments[i]["tf.aliasing_output"]).value
                outputs[paired]["sdy.sharding"] = ir.Attribute.parse("#sdy.sharding" + sharding_text(chosen, name))
        main.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(a) for a in arguments])
        main.attributes["res_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(a) for a in outputs])
        module.operation.attributes["mhlo.num_partitions"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), devices)
        op = ir.Operation.parse("sdy.mesh @%s = <[%s]>" % (name, ", ".join('"%s"=%d' % item for item in mesh.items())))
        own = [str(other.operation.attributes["mesh"]) for other in module.body.operations if other.operation.name == "sdy.mesh"]
        if own and own != [str(op.attributes["mesh"])]:
            raise ValueError("the module has another mesh: " + ", ".join(own))
        if not own:
            ir.InsertionPoint.at_block_begin(module.body).insert(op)
        return module.operation.get_asm(enable_debug_info=True)


def main(argv):
    import argparse
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module")
    parser.add_argument("--mesh", required=True)
    parser.add_argument("--results", choices=("open", "donated"), default="open")
    parser.add_argument("pattern", nargs="*")
    options = parser.parse_intermixed_args(argv)
    os.environ["JAX_PLATFORMS"] = "cpu"
    patterns = []
    for word in options.pattern:
        glob, sharding = re.fullmatch(r"(.*?)=([\[{<].*)", word, re.DOTALL).groups()
        patterns.append((glob, sharding if sharding.startswith("<") else json.loads(sharding)))
    print(annotate(read(options.module), options.mesh, patterns, options.results), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
