"""What stops newcomers: files of another kind, typos, limits without a unit, meshes that divide nothing. Each error says what to do."""
import bz2
import json
import lzma
import os
import pickle
import pty
import re
import shutil
import subprocess

import pytest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
TOOL = os.path.abspath(os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright")))
MODULE = os.path.join(ROOT, "tests", "corpus", "mlp_tiny.mlir.zst")
MESH = ("--mesh", "data=4,model=2")
TEXT = """module @m {
  func.func public @main(%arg0: tensor<8x16xf32>) -> tensor<8x16xf32> {
    %0 = stablehlo.negate %arg0 : tensor<8x16xf32>
    return %0 : tensor<8x16xf32>
  }
}
"""


def run(*words, **how):
    done = subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True, timeout=120, **how)
    return done.returncode, done.stdout, done.stderr


FOREIGN = {
    "bytecode": (b"ML\xefR\x0dStableHLO_v1.0.0\x00\x01", "MLIR bytecode.*shardwright.convert"),
    "xz": (lzma.compress(TEXT.encode()), "xz data.*xz -dc"),
    "bzip2": (bz2.compress(TEXT.encode()), "bzip2 data.*bzip2 -dc"),
    "pickle": (pickle.dumps({"program": b"ML\xefR"}), "Python pickle.*shardwright.convert"),
    "jax.export": (b"\x18\x00\x00\x00\x20\x00" + bytes(60) + b"ML\xefR" + bytes(20), "serialized jax.export.*shardwright.convert"),
    "hlo": (b"HloModule jit_f, is_scheduled=true\n", "HLO text.*shardwright simulate"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_files_of_another_kind(tmp_path, kind):
    content, said = FOREIGN[kind]
    path = tmp_path / "step"
    path.write_bytes(content)
    code, out, err = run("search", path, *MESH)
    assert code == 1 and not out and re.search(said, err) and "step" in err, err


TYPOS = [
    (["serch", MODULE], 64, "did you mean 'search'"),
    (["search", MODULE, *MESH, "--devce", "h100"], 64, "did you mean '--device'"),
    (["evaluate", MODULE, "--stratgy=x"], 64, "did you mean '--strategy'"),
    (["search", MODULE, *MESH, "--device", "tpu-v5"], 1, "did you mean 'tpu-v5e'"),
    (["search", MODULE, *MESH, "--device", "h10"], 1, "did you mean 'h100'"),
    (["search", MODULE, *MESH, "--memory", "16"], 64, "did you mean '16GiB'"),
    (["search", MODULE, *MESH, "--pin", 'params[\'w2\']:[["dta"],[]]'], 1, "did you mean 'data'"),
    (["search", MODULE, *MESH, "--pin", "parms['w2']:[[],[]]"], 1, "did you mean 'params['w2']'"),
    (["search", MODULE, *MESH, "--pin", "nothing*:[[],[]]"], 1, "names no argument; names are like "),
    (["search", MODULE, *MESH, "--forbid", "*:0:modle"], 1, "did you mean 'model'"),
    (["search", MODULE, *MESH, "--forbid", "bach['x']:0:data"], 1, "did you mean 'batch['x']'"),
    (["search", MODULE, *MESH, "--group", "parms['w2']"], 1, "group 'parms['w2']' names no argument; did you mean 'params['w2']'"),
    (["search", MODULE, *MESH, "--group", "nothing*"], 1, "names no argument; names are like "),
    (["search", MODULE, *MESH, "--group", ""], 64, "--group: expected a glob over argument names"),
    (["search", MODULE, *MESH, "--baseline-mlir", "zero4", "/nowhere/x"], 1, "no baseline 'zero4'; did you mean 'zero"),
    (["search", MODULE, *MESH, "--baseline-mlir", "zero3"], 64, "expected the NAME of a baseline and a path"),
]


@pytest.mark.parametrize("words, code, said", TYPOS, ids=[said for _, _, said in TYPOS])
def test_typos(words, code, said):
    found, out, err = run(*words)
    assert found == code and said in err and not out, err


def test_no_hint_for_what_is_right():
    """A known option that is refused for another reason gets no hint."""
    code, _, err = run("search", MODULE, *MESH, "--seed")
    assert code == 64 and "requires an argument" in err and "did you mean" not in err


def test_axis_that_divides_nothing():
    code, _, err = run("search", MODULE, "--mesh", "data=3,model=2", "--evaluations", 20)
    assert code == 0 and re.search(r"axis 'data' of 3 divides no dimension of the data arguments \(batch\['.'\]: tensor<64x", err), err
    assert "'model'" not in err
    assert "warning" not in run("search", MODULE, *MESH, "--evaluations", 20)[2]


@pytest.mark.parametrize("name", ("zero3", "data_parallel"))
def test_baseline_module(tmp_path, name):
    """The module of a baseline costs what the document says of that baseline."""
    out = tmp_path / "baseline.mlir"
    code, text, err = run("search", MODULE, *MESH, "--evaluations", 20, "--json", "--baseline-mlir", name, out)
    assert code == 0, err
    told = next(b["cost"] for b in json.loads(text)["baselines"] if b["name"] == name)
    code, text, err = run("simulate", out, "--json")
    found = json.loads(text)
    assert code == 0 and (found["runtime_ns"], found["peak_bytes"]) == (told["runtime_ns"], told["peak_bytes"]), (found, told)


ON_ANOTHER = TEXT.replace("module @m {", 'module @m {\n  sdy.mesh @other = <["rows"=2]>')


@pytest.mark.parametrize("text, said", [
    (ON_ANOTHER.replace("%arg0: tensor<8x16xf32>)", '%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@other, [{"rows"}, {}]>})'),
     r'another mesh.*: argument arg0 is on <\["rows"=2\]>; plan on that mesh'),
    (ON_ANOTHER.replace("stablehlo.negate %arg0 :", 'sdy.sharding_constraint %arg0 <@other, [{"rows"}, {}]> :'),
     r"another mesh.*: the result of sdy.sharding_constraint"),
    (TEXT.replace("%arg0: tensor<8x16xf32>)", '%arg0: tensor<8x16xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"})'),
     r"argument 0 has a sharding for GSPMD that does not fit the mesh, \{devices=\[2,1\]<=\[2\]\}: "),
    (TEXT.replace("stablehlo.negate %arg0 : tensor<8x16xf32>",
                  'stablehlo.custom_call @Sharding(%arg0) {mhlo.sharding = "{devices=[2,1]<=[2]}"} : (tensor<8x16xf32>) -> tensor<8x16xf32>'),
     r"the constraint has a sharding for GSPMD that does not fit the mesh"),
], ids=("argument", "constraint", "gspmd argument", "gspmd constraint"))
def test_shardings_that_do_not_fit(tmp_path, text, said):
    path = tmp_path / "m.mlir"
    path.write_text(text)
    code, out, err = run("search", path, *MESH, "--evaluations", 20)
    assert code == 1 and not out and re.search(said, err), err


def on_terminal(env):
    """What search prints to a terminal."""
    leader, follower = pty.openpty()
    env = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | env
    process = subprocess.Popen([TOOL, "search", MODULE, *MESH, "--evaluations", "20"], stdout=follower, stderr=subprocess.DEVNULL, env=env)
    os.close(follower)
    said = b""
    try:
        while piece := os.read(leader, 65536):
            said += piece
    except OSError:         # the other side is closed
        pass
    os.close(leader)
    assert process.wait(60) == 0
    return said


def test_no_color():
    assert b"\x1b[1m" in on_terminal({}) and b"\x1b[1m" in on_terminal({"NO_COLOR": ""})
    plain = on_terminal({"NO_COLOR": "1"})
    assert b"\x1b" not in plain and b"ARGUMENTS" in plain


def verbs():
    return [m[1] for m in re.finditer(r"^  ([a-z]+)  +[a-z]", run("help")[1], re.M)]


def test_man_pages(tmp_path):
    """A page for every verb, with every option that its help names."""
    subprocess.run([os.path.join(ROOT, "tools", "make-man"), TOOL, tmp_path], check=True, timeout=60)
    assert len(verbs()) > 15
    for verb in set(verbs()) - {"help", "version"}:
        page = (tmp_path / ("shardwright-%s.1" % verb)).read_text()
        assert page.startswith('.TH "SHARDWRIGHT-')
        for option in re.findall(r"--[a-z][a-z-]*", run(verb, "--help")[1]):
            assert option.replace("-", r"\-") in page, (verb, option)
    assert r"shardwright\-search (1)" in (tmp_path / "shardwright.1").read_text()
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-Tascii", "-ww", tmp_path / "shardwright-search.1"], capture_output=True, text=True, timeout=60)
        assert "--mesh data=4,model=4" in done.stdout, done


def complete(*words):
    script = 'source "$1"; COMP_WORDS=("${@:2}"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _shardwright; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", script, "bash", os.path.join(ROOT, "tools", "completion", "shardwright.bash"), TOOL, *words],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_completion():
    assert complete("sea") == ["search"] and set(complete("")) == set(verbs())
    assert "--evaluations" in complete("search", "--ev") and "--mesh" in complete("search", "--")
    assert complete("search", "--device", "tpu-v5") == ["tpu-v5e", "tpu-v5p"]
    assert complete("search", "--apply", "e") == ["exact"]
