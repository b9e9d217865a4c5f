"""Text through the tool's reader and printer against jaxlib's.

    reader.py check FILE           FILE holds texts between lines `// -----`: does the tool take what jaxlib takes, and is its print the same?
    reader.py mutate N [SEED]      N mutated texts of the cases, differences printed

What jaxlib prints of a text is given to the tool in every form jaxlib has, and what the tool prints is given back to jaxlib:
its generic print of that must equal its generic print of the original."""
import os
import random
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from child import Crash, forked  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "unit", "data")
TOOL = os.path.abspath(os.environ.get("SHARDWRIGHT", os.path.join(HERE, "..", "..", "build", "shardwright")))


def cases(name):
    """[(line, text)] of a file of cases."""
    out, line = [], 1
    for piece in re.split(r"^// -----.*\n", open(os.path.join(HERE, name)).read(), flags=re.M):
        out.append((line, piece))
        line += piece.count("\n") + 1
    return out


def through_tool(text):
    """(accepted, print or message) of the tool; a crash is neither."""
    done = subprocess.run([TOOL, "opt", "--passes", "", "--debug-info", "-"], input=text.encode(errors="surrogateescape"), capture_output=True)
    if done.returncode not in (0, 1):
        raise AssertionError("exit %d on %r\n%s" % (done.returncode, text[:2000], done.stderr.decode(errors="replace")))
    return done.returncode == 0, (done.stdout if done.returncode == 0 else done.stderr).decode(errors="replace")


def context():
    from jax._src.interpreters import mlir
    made = mlir.make_ir_context()
    made.allow_unregistered_dialects = True
    return made


_shared = []  # the context of this child: making one takes longer than most texts


def parse(text):
    """(module or None, message). Resources keep their names in a context of their own only."""
    from jaxlib.mlir import ir
    if "_resource" not in text and not _shared:
        _shared.append(context())
    try:
        return ir.Module.parse(text, context() if "_resource" in text else _shared[0]), ""
    except ir.MLIRError as error:
        return None, " ".join(str(error).split("\n")[1:2])


def generic(module, locations):
    """Places in the file that was just read say nothing about the text."""
    text = module.operation.get_asm(print_generic_op_form=True, enable_debug_info=locations)
    return re.sub(r'loc\("-":\d+:\d+\)', "loc(here)", text)


def forms(module):
    """(name, with locations, text) of every way jaxlib prints a module."""
    asm = module.operation.get_asm
    return [("generic", False, asm(print_generic_op_form=True)), ("pretty", False, asm()),
            ("generic with locations", True, asm(print_generic_op_form=True, enable_debug_info=True)),
            ("pretty with locations", True, asm(enable_debug_info=True)),
            ("without aliases", True, asm(use_local_scope=True, enable_debug_info=True))]


def first_difference(a, b):
    for x, y in zip(a.splitlines(), b.splitlines()):
        if x != y:
            at = next((i for i, (p, q) in enumerate(zip(x, y)) if p != q), min(len(x), len(y)))
            return "%s\n   jaxlib %s\n   ours   %s" % ("print", x[max(0, at - 60):at + 100], y[max(0, at - 60):at + 100])
    return "number of lines"


def printed_alike(text, locations):
    """None, or how the tool's print of a text that jaxlib takes differs."""
    accepted, said = through_tool(text)
    if not accepted:
        return "refused: " + said[:300]
    original, again = parse(text)[0], parse(said)
    if not again[0]:
        return "jaxlib refuses our print: %s\n%s" % (again[1], said[:1500])
    a, b = generic(original, locations), generic(again[0], locations)
    return None if a == b else first_difference(a, b)


def _check(text, all_forms):
    module, message = parse(text)
    accepted, said = through_tool(text)
    if not module:
        return "jaxlib refuses: " + message if accepted else None
    if not accepted:
        return "we refuse: " + said.strip().split("\n")[0]
    found = printed_alike(text, False)
    for name, locations, form in forms(module) if all_forms and not found else ():
        found = found or printed_alike(form, locations)
        if found:
            return "%s: %s" % (name, found)
    return found


def check(text, all_forms=True):
    """None when the tool and jaxlib agree about a text; Crash when jaxlib dies on it."""
    return forked(_check, text, all_forms)


def each(function, texts):
    """[function(text)] from as few children as jaxlib allows: None for a text that it dies on."""
    if not texts:
        return []
    try:
        return forked(lambda: [function(text) for text in texts], seconds=900)
    except Crash:
        if len(texts) == 1:
            return [None]
        half = len(texts) // 2
        return each(function, texts[:half]) + each(function, texts[half:])


def acceptance(text):
    """(does jaxlib take it, what check() says, our message or print)."""
    return parse(text)[0] is not None, _check(text, False), through_tool(text)[1]


# ---------------------------------------------------------------- mutations

TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[%@#!^]?[\w$.]+|->|\s+|.', re.S)


def mutated(text, pick):
    """The text with one to three tokens dropped, doubled, swapped or replaced by others of the text."""
    tokens = TOKEN.findall(text)
    solid = [i for i, t in enumerate(tokens) if not t.isspace()]
    for _ in range(pick.randint(1, 3)):
        i, k = pick.choice(solid), pick.choice(solid)
        kind = pick.randrange(5)
        if kind == 0:
            tokens[i] = ""
        elif kind == 1:
            tokens[i] = tokens[i] * 2 if not tokens[i][:1].isalnum() else tokens[i] + " " + tokens[i]
        elif kind == 2:
            tokens[i], tokens[k] = tokens[k], tokens[i]
        elif kind == 3:
            tokens[i] = tokens[k]
        else:
            tokens[i] = re.sub(r"\d+", lambda m: str(int(m[0]) + pick.choice((-1, 1, 7))), tokens[i])
    return "".join(tokens)


def _mutation(text):
    """'' when all is well; None is kept for texts that jaxlib dies on."""
    module, message = parse(text)
    accepted, said = through_tool(text)
    if module and not accepted:
        return "we refuse: " + said.strip().split("\n")[0]
    if module:
        return printed_alike(text, False) or ""
    objects = re.search(r"'sdy\.|sharding|axis|mesh", message)
    return "jaxlib refuses: " + message if accepted and objects and "sdy" in message + text else ""


def mutations(sources, count, seed):
    """[(text, difference)] of `count` mutated texts: those that jaxlib takes and we do not, or print otherwise, and those in
    which jaxlib objects to a sharding that we take."""
    pick = random.Random(seed)
    texts = [mutated(pick.choice(sources), pick) for _ in range(count)]
    return [(text, difference) for text, difference in zip(texts, each(_mutation, texts)) if difference]


def main(argv):
    if len(argv) == 2 and argv[0] == "check":
        for line, text in cases(os.path.abspath(argv[1])):
            try:
                found = check(text)
            except Crash as crash:
                found = "jaxlib dies: " + crash.args[0][:100]
            if found:
                print("line %d: %s" % (line, found))
    elif len(argv) in (2, 3) and argv[0] == "mutate":
        sources = [text for name in ("reader_accepted.mlir", "reader_sdy.mlir") for _, text in cases(name)]
        found = mutations(sources, int(argv[1]), int(argv[2]) if len(argv) == 3 else 0)
        for text, difference in found:
            print("----\n%s\n%s" % (difference, text))
        print("%d differences" % len(found))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    os.environ["JAX_PLATFORMS"] = "cpu"
    main(sys.argv[1:])
