"""Makes a module smaller while a test of it stays true: ops, annotations, results, functions and axes go.

Changes are made by jaxlib on the parsed module, or on its text where that is simpler; what does not parse is passed over."""
import re

from child import Crash, Resident

resident = Resident()
made = []


def context():
    """The one of this child."""
    from jax._src.interpreters import mlir
    if not made:
        made.append(mlir.make_ir_context())
        made[0].enable_multithreading(False)
    return made[0]


def walk(op):
    """Ops with results or effects, innermost last, in order."""
    for region in op.regions:
        for block in region:
            for inner in block:
                yield inner.operation
                yield from walk(inner.operation)


def functions(module):
    return [op.operation for op in module.body if op.operation.name == "func.func"]


def main_of(module):
    from jaxlib.mlir import ir
    found = functions(module)
    for op in found:
        if ir.StringAttr(op.attributes["sym_name"]).value == "main":
            return op
    return found[0] if found else None


def set_types(op, inputs, arg_attrs, results, res_attrs):
    from jaxlib.mlir import ir
    op.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
    for name, attrs in (("arg_attrs", arg_attrs), ("res_attrs", res_attrs)):
        if attrs:
            op.attributes[name] = ir.ArrayAttr.get(attrs)
        elif name in op.attributes:
            del op.attributes[name]


def parts(op):
    """inputs, arg attrs, results, result attrs of a function, as lists."""
    from jaxlib.mlir import ir
    kind = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
    out = []
    for types, name in ((kind.inputs, "arg_attrs"), (kind.results, "res_attrs")):
        attrs = list(op.attributes[name]) if name in op.attributes else [ir.DictAttr.get({}) for _ in types]
        out += [list(types), attrs]
    return out


def function_around(op):
    while op is not None and op.name != "func.func":
        if op.name in ("sdy.manual_computation", "sdy.named_computation", "builtin.module"):
            return None
        op = op.parent.operation if op.parent is not None else None
    return op


def called(module):
    from jaxlib.mlir import ir
    names = set()
    for op in walk(module.operation):
        for word in ("callee", "decomposition"):
            if word in op.attributes:
                names.add(ir.FlatSymbolRefAttr(op.attributes[word]).value)
    return names


def drop_op(module, k, way):
    """Op k of the module goes. way 0: its used results become arguments of the function (with its shardings) or constants;
    way 1 and 2: the operand 0 or 1 that has the type; way 3: a constant."""
    from jaxlib.mlir import ir
    op = list(walk(module.operation))[k]
    if op.name in ("func.func", "func.return", "stablehlo.return", "sdy.return", "sdy.mesh"):
        return False
    used = [r for r in op.results if list(r.uses)]
    if way in (1, 2):
        if not used or len(op.operands) < way or any(op.operands[way - 1].type != r.type for r in used):
            return False
        for r in used:
            r.replace_all_uses_with(op.operands[way - 1])
    elif way == 3:
        if op.name == "stablehlo.constant" or not used:
            return False
        for r in used:
            with ir.InsertionPoint(op), ir.Location.unknown():
                one = ir.Operation.parse("%%c = stablehlo.constant dense<%s> : %s" % (
                    "true" if str(r.type).endswith("xi1>") or str(r.type) == "tensor<i1>" else "1" if re.search(r"[x<]u?i\d+>$", str(r.type)) else "1.0", r.type))
                ir.InsertionPoint(op).insert(one)
                r.replace_all_uses_with(one.results[0])
    elif used:
        function = function_around(op)
        if function is None or ir.StringAttr(function.attributes["sym_name"]).value in called(module):
            return False
        inputs, arg_attrs, results, res_attrs = parts(function)
        for r in used:
            new = function.regions[0].blocks[0].add_argument(r.type, ir.Location.unknown(module.context))
            inputs.append(r.type)
            attrs = {}
            if "sdy.sharding" in op.attributes:
                listed = re.findall(r"<@\w+, \[[^\]]*\][^>]*>", str(op.attributes["sdy.sharding"]))
                if r.result_number < len(listed):
                    attrs["sdy.sharding"] = ir.Attribute.parse("#sdy.sharding" + listed[r.result_number])
            arg_attrs.append(ir.DictAttr.get(attrs))
            r.replace_all_uses_with(new)
        set_types(function, inputs, arg_attrs, results, res_attrs)
    op.erase()
    return True


def drop_range(module, first, n):
    """Ops first .. first + n - 1 of the module go, as far as they can: last first, arguments in their place."""
    went = False
    for k in reversed(range(first, first + n)):
        went |= drop_op(module, k, 0)
    return went


def drop_unused(module):
    """All ops that nothing uses and that are no groups."""
    went, gone = False, True
    while gone:
        gone = False
        for op in reversed(list(walk(module.operation))):
            if op.results and not any(list(r.uses) for r in op.results):
                op.erase()
                gone = went = True
                break
    return went


def drop_result(module, k):
    """Result k of main goes."""
    main = main_of(module)
    inputs, arg_attrs, results, res_attrs = parts(main)
    if k >= len(results):
        return False
    block = main.regions[0].blocks[0]
    last = list(block)[-1].operation
    kept = [v for i, v in enumerate(last.operands) if i != k]
    from jaxlib.mlir import ir
    with ir.InsertionPoint(last), ir.Location.unknown():
        ir.Operation.create("func.return", operands=kept)
    last.erase()
    set_types(main, inputs, arg_attrs, results[:k] + results[k + 1:], res_attrs[:k] + res_attrs[k + 1:])
    return True


def drop_arguments(module):
    """All unused arguments of main."""
    main = main_of(module)
    inputs, arg_attrs, results, res_attrs = parts(main)
    block = main.regions[0].blocks[0]
    unused = [i for i, a in enumerate(block.arguments) if not list(a.uses)]
    for i in reversed(unused):
        block.erase_argument(i)
        del inputs[i], arg_attrs[i]
    set_types(main, inputs, arg_attrs, results, res_attrs)
    return bool(unused)


def drop_function(module, k):
    from jaxlib.mlir import ir
    functions_ = [op for op in functions(module) if op != main_of(module) and ir.StringAttr(op.attributes["sym_name"]).value not in called(module)]
    if k >= len(functions_):
        return False
    functions_[k].erase()
    return True


def drop_attribute(module, k):
    """Attribute sdy.sharding or sdy.sharding_rule of op k, or of an argument or result of a function."""
    from jaxlib.mlir import ir
    at = 0
    for op in walk(module.operation):
        for word in ("sdy.sharding", "sdy.sharding_rule"):
            if word in op.attributes:
                if at == k:
                    del op.attributes[word]
                    return True
                at += 1
        if op.name == "func.func":
            inputs, arg_attrs, results, res_attrs = parts(op)
            for attrs in (arg_attrs, res_attrs):
                for i, a in enumerate(attrs):
                    if "sdy.sharding" in a:
                        if at == k:
                            attrs[i] = ir.DictAttr.get({})
                            set_types(op, inputs, arg_attrs, results, res_attrs)
                            return True
                        at += 1
    return False


def text_changes(text):
    """Smaller texts: an axis, a priority, a list of replicated axes or an open mark less."""
    for pattern, by in ((r'"\w+"(?::\(\d+\)\d+)?, ', ""), (r', "\w+"(?::\(\d+\)\d+)?', ""), (r'(?<=\{)"\w+"(?::\(\d+\)\d+)?(?=\})', ""),
                        (r", (?:replicated|unreduced)=\{[^}]*\}", ""), (r"(?<=\})p\d+", ""), (r"(?:, )?\?", ""), (r"sdy\.mesh @\w+ = .*\n", "")):
        for found in reversed(list(re.finditer(pattern, text))):
            line = text[text.rfind("\n", 0, found.start()) + 1:found.start()]
            if "sdy.mesh" not in line or pattern[0] == "s":
                yield text[:found.start()] + by + text[found.end():]


def axis_changes(text):
    """Smaller texts: a mesh axis less everywhere."""
    for name in sorted(set(re.findall(r'"(\w+)"=\d+', text))):
        t = re.sub(r'"%s"=\d+, |, "%s"=\d+|"%s"=\d+' % (name, name, name), "", text)
        yield re.sub(r'"%s"(?::\(\d+\)\d+)?, |, "%s"(?::\(\d+\)\d+)?|"%s"(?::\(\d+\)\d+)?' % (name, name, name), "", t)


def printed(text):
    from jaxlib.mlir import ir
    with context():
        return ir.Module.parse(text).operation.get_asm()


def changed(text, changes):
    """Texts that the changes (functions of the parsed module) give, those that are legal and new. In a child."""
    from jaxlib.mlir import ir
    out = []
    with context():
        for function, *args in changes:
            module = ir.Module.parse(text)
            try:
                if function(module, *args) and module.operation.verify():
                    made = module.operation.get_asm()
                    if made != text:
                        out.append(made)
            except (ir.MLIRError, ValueError, IndexError, AttributeError, RuntimeError):
                continue
    return out


def count_ops(text):
    from jaxlib.mlir import ir
    with context():
        return len(list(walk(ir.Module.parse(text).operation)))


def smallest(text, test):
    """test(text) -> bool stays true; text must pass it."""
    text = resident(printed, text)

    def attempt(texts):
        nonlocal text
        for t in texts:
            try:
                t = resident(printed, t)
            except Crash:
                continue
            if len(t) < len(text) and test(t):
                text = t
                return True
        return False

    def attempt_changes(changes):
        """Those in order, each on what the ones before left."""
        nonlocal text
        went = False
        for i in range(0, len(changes), 8):
            for t in tried(changes[i:i + 8]):
                if test(t):
                    text, went = t, True
                    break
        return went

    def tried(changes):
        try:
            return resident(changed, text, changes)
        except Crash:
            out = []
            for change in changes:
                try:
                    out += resident(changed, text, [change])
                except Crash:
                    pass
            return out

    attempt_changes([(drop_result, k) for k in reversed(range(6))])
    attempt_changes([(drop_unused,)])
    progress = True
    while progress:
        progress = False
        n = resident(count_ops, text)
        size = n // 2
        while size > 1:
            for k in reversed(range(0, n, size)):
                progress |= attempt_changes([(drop_range, k, size)])
            size //= 2
            n = resident(count_ops, text)
        for way in (0, 1, 2, 3):
            for k in reversed(range(n)):
                progress |= attempt_changes([(drop_op, k, way)])
        progress |= attempt_changes([(drop_result, k) for k in reversed(range(6))])
        while attempt_changes([(drop_function, k) for k in range(3)]):
            progress = True
        progress |= attempt_changes([(drop_arguments,)])
        while attempt_changes([(drop_attribute, k) for k in range(40)]):
            progress = True
        while attempt(text_changes(text)) or attempt(axis_changes(text)):
            progress = True
    return text
