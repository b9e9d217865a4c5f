"""What an expert sees of a program: the arguments of main with name, type and role, and which result replaces which argument."""
import json
import os
import re
import subprocess

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
CORPUS = os.path.join(ROOT, "tests", "corpus")


# Names say more than dataflow: frozen weights are no data, a cache goes with the batch, a random key with nothing.
ROLES = ((r"^(params|frozen|state\.params)", "parameter"), (r"^(cache|batch|tokens)", "data"), (r"^(key|rng)", "other"))


class Argument:
    def __init__(self, index, name, kind, role, result):
        self.index, self.name, self.result = index, name, result
        self.role = next((known for pattern, known in ROLES if re.search(pattern, name)), role)
        words = re.fullmatch(r"tensor<(.*)>", kind)[1].split("x") if kind.startswith("tensor<") else [kind]
        self.shape = [int(w) for w in words[:-1] if w.isdigit()]
        self.element = words[-1]

    def __repr__(self):
        return "%s %s %s" % (self.name, self.shape, self.role)


def read(path):
    if path.endswith(".zst"):
        return subprocess.run(["zstd", "-qdc", path], check=True, capture_output=True).stdout.decode()
    with open(path) as f:
        return f.read()


def signature_line(text):
    return next(line for line in text.splitlines() if re.search(r"func\.func (public )?@main\(", line))


def donations(text):
    """argument -> result that takes its buffer, as the module says."""
    out = {}
    for chunk in re.split(r"%arg(?=\d+: )", signature_line(text))[1:]:
        aliased = re.search(r"tf\.aliasing_output = (\d+)", chunk.partition("->")[0])
        if aliased:
            out[int(re.match(r"\d+", chunk)[0])] = int(aliased[1])
    return out


def own_mesh(text):
    """A module with shardings of its own is for its own mesh; None without one."""
    found = re.search(r"^  sdy\.mesh @\w+ = <\[([^\]]*)\]", text, re.MULTILINE)
    return {axis: int(size) for axis, size in re.findall(r'"(\w+)"=(\d+)', found[1])} if found else None


class Program:
    def __init__(self, name, tool, path=None):
        """name: whose rules hold; path: of a smaller version of it."""
        self.name = name
        self.path = path or os.path.join(CORPUS, name + ".mlir.zst")
        self.text = read(self.path)
        self.mesh = own_mesh(self.text)
        # Names, types and roles as every answer lists them; the search itself is none: one evaluation.
        mesh = ",".join("%s=%d" % item for item in (self.mesh or {"data": 2}).items())
        done = subprocess.run([tool, "search", self.path, "--mesh", mesh, "--evaluations", "1", "--json"], capture_output=True, text=True)
        if done.returncode not in (0, 2):
            raise RuntimeError("%s: %s" % (name, done.stderr.strip()))
        document = json.loads(done.stdout)
        paired = donations(self.text)
        self.arguments = [Argument(a["index"], a["name"], a["type"], a["role"], paired.get(a["index"])) for a in document["arguments"]]
        self.by_name = {a.name: a for a in self.arguments}

    def of_role(self, *roles):
        return [a for a in self.arguments if a.role in roles and a.shape]

    def named(self, pattern):
        """Arguments whose name holds the regular expression."""
        return [a for a in self.arguments if re.search(pattern, a.name) and a.shape]
