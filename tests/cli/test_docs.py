"""The documentation is run: shell examples, files they need, and the flags that the reference names.

In docs/*.md
  ```console             lines with "$ " are commands, run one after the other in the document's own folder that has
                         examples/, tests/ and the tool on the PATH; what follows a command is its output, for people
  ```console exit=2      the last command of the block ends with that code, all others with 0
  ```console exact       the output must be as printed
  <!-- file: NAME -->    the fenced block that follows becomes that file

SHARDWRIGHT=build/shardwright python tests/cli/test_docs.py writes the outputs of all console blocks anew.
"""
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.path.abspath(os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright")))
DOCS = sorted(glob.glob(os.path.join(ROOT, "docs", "*.md")))
REFERENCE = os.path.join(ROOT, "docs", "command-line.md")
FENCE = re.compile(r"(?:^<!-- file: (?P<file>\S+) -->\n+)?^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.M | re.S)


def read(path):
    with open(path) as f:
        return f.read()


def commands(body):
    """A console block -> [(command, output)]; a command goes on in the next line after a backslash."""
    found, lines = [], body.splitlines(keepends=True)
    while lines:
        line = lines.pop(0)
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\\n") and lines:
                command += lines.pop(0)
            found.append([command.strip(), ""])
        elif found:
            found[-1][1] += line
    return found


def blocks(path):
    """What a document runs, in order: ("file", name, text) and ("console", info, body)."""
    for match in FENCE.finditer(read(path)):
        words = match["info"].split()
        if match["file"]:
            yield "file", match["file"], match["body"]
        elif words[:1] == ["console"]:
            yield "console", words[1:], match["body"]


def furnish(path):
    """What the examples find in their folder."""
    shutil.copytree(os.path.join(ROOT, "examples"), path / "examples")
    (path / "tests").symlink_to(os.path.abspath(os.path.join(ROOT, "tests")))
    (path / "bin").mkdir()
    (path / "bin" / "shardwright").symlink_to(TOOL)
    return path


@pytest.fixture
def folder(tmp_path):
    return furnish(tmp_path)


def shell(command, folder, **how):
    env = dict(os.environ, PATH="%s:%s" % (folder / "bin", os.environ["PATH"]))
    env.pop("SHARDWRIGHT_SERVER", None)
    return subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=folder, env=env, text=True, timeout=600, **how)


def rewrite(path):
    """The document with the outputs that its commands have now."""
    with tempfile.TemporaryDirectory() as name:
        folder = furnish(pathlib.Path(name))

        def renew(match):
            if match["file"]:
                (folder / match["file"]).write_text(match["body"])
            if match["info"].split()[:1] != ["console"] or "$ shardwright" not in match["body"]:
                return match[0]
            text = ""
            for command, _ in commands(match["body"]):
                done = shell(command, folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                text += "$ %s\n%s" % (command, done.stdout)
            return "```%s\n%s```" % (match["info"], text)

        text = FENCE.sub(renew, read(path))
    with open(path, "w") as f:
        f.write(text)


@pytest.mark.parametrize("path", [p for p in DOCS if any(kind == "console" and "$ shardwright" in body for kind, _, body in blocks(p))],
                         ids=os.path.basename)
def test_examples(path, folder):
    ran = 0
    for kind, what, body in blocks(path):
        if kind == "file":
            (folder / what).write_text(body)
            continue
        if "$ shardwright" not in body and not ran:
            continue  # how to build or install: nothing of ours to run yet
        wanted = [int(word[5:]) for word in what if word.startswith("exit=")] or [0]
        steps = commands(body)
        for i, (command, output) in enumerate(steps):
            done = shell(command, folder, capture_output=True)
            expected = wanted[0] if i + 1 == len(steps) else 0
            assert done.returncode == expected, (command, done.returncode, done.stderr[-1500:])
            if "exact" in what:
                assert done.stdout + done.stderr == output, command
            ran += 1
    assert ran


def test_embedding_program(folder):
    """docs/c-api.md: the example compiles against the library beside the tool, without warnings, and plans."""
    library = os.path.join(os.path.dirname(TOOL), "libshardwright.a")
    if not os.path.exists(library) or not shutil.which("cc"):
        pytest.skip("no library beside the tool, or no compiler")
    build = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(ROOT, "include"), "examples/embed.c", library,
             "-lcjson", "-lzstd", "-lz", "-lcrypto", "-lm", "-lpthread", "-o", "embed"]
    done = subprocess.run(build, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    run = ["./embed", "examples/mlp.mlir", "data=4,model=2", "planned.mlir", "plan.json"]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "fits" in done.stdout, done.stderr
    assert "sdy.mesh" in (folder / "planned.mlir").read_text()
    assert json.loads((folder / "plan.json").read_text())["format"] == "shardwright.strategy/1"
    broken = subprocess.run(["./embed", "examples/embed.c", "data=4", "x", "y"], cwd=folder, capture_output=True, text=True, timeout=60)
    assert broken.returncode == 1 and re.match(r"examples/embed.c:1:1: ", broken.stderr)


def help_of(verb):
    done = subprocess.run([TOOL, verb, "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, (verb, done.stderr)
    return done.stdout


def verbs():
    out = subprocess.run([TOOL, "help"], capture_output=True, text=True, timeout=60).stdout
    return re.findall(r"^  (\w+) {2,}\S", out, re.M)


def sections():
    """Verb -> its section of the reference."""
    parts = re.split(r"^## (\w+)$", read(REFERENCE), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def flags(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)) - {"--help"}


def test_every_verb_is_documented():
    assert set(verbs()) == set(sections())


@pytest.mark.parametrize("verb", [v for v in sections() if v not in ("help", "version")])
def test_flags(verb):
    """The option table of a verb names the flags of its help (synopsis and list), no more and no fewer."""
    table = "\n".join(line for line in sections()[verb].splitlines() if line.startswith("| `-"))
    listed = "\n".join(line for line in help_of(verb).splitlines() if line.startswith(("shardwright ", "  -")))
    assert flags(table) == flags(listed), verb


def test_flags_anywhere_exist():
    """Every flag that any document or example gives to a verb is one that the verb has."""
    known = {verb: flags(help_of(verb)) for verb in verbs() if verb not in ("help", "version")}
    for path in DOCS:
        for kind, _, body in blocks(path):
            for command, _ in commands(body) if kind == "console" else []:
                for words in re.findall(r"(?:^|[|;&] *)shardwright (\w+)([^|;&]*)", command):
                    if words[0] in known:
                        assert flags(words[1]) <= known[words[0]], (os.path.basename(path), command)


def test_links():
    """Links between documents, and to files of the repository, lead somewhere."""
    for path in DOCS:
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", read(path)):
            assert os.path.exists(os.path.join(os.path.dirname(path), target)), (os.path.basename(path), target)


if __name__ == "__main__":
    for document in DOCS:
        if "$ shardwright" in read(document):
            rewrite(document)
