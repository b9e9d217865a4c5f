"""Everything a user can get wrong on the command line: a clear error with a position, the right exit code, nothing left behind."""
import os
import subprocess

import pytest

TOOL = os.environ.get("SHARDWRIGHT", "build/shardwright")
HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = os.path.join(HERE, "..", "..", "examples", "mlp.mlir")
MESH = ["--mesh", "data=2,model=4"]

SMALL = """module @m {
  func.func public @main(%arg0: tensor<8x16xf32>, %arg1: tensor<16x4xf32>) -> tensor<8x4xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}
"""


def run(*args, stdin=None, timeout=120):
    done = subprocess.run([TOOL, *map(str, args)], capture_output=True, timeout=timeout, input=stdin)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def search(tmp_path, text, *args, name="m.mlir"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return run("search", path, *(args or MESH), "--evaluations", 20, "--json")


BROKEN = {
    "empty": ("", r"error: "),
    "garbage": ("\x00\xff\x01 hello \x7f", r"m.mlir:1:"),
    "words": ("this is not a module", r"m.mlir:1:1: error: "),
    "undefined value": (SMALL.replace("%arg0, %arg1,", "%arg0, %nope,"), r"m.mlir:3:\d+: error: .*%nope"),
    "unknown function": (SMALL.replace("%0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]", "%0 = call @missing(%arg0, %arg1)"),
                         r"m.mlir:3:\d+: error: .*missing"),
    "wrong contracting size": (SMALL.replace("16x4", "15x4"), r"m.mlir:3:\d+: error: .*16.*15"),
    "wrong result type": (SMALL.replace("-> tensor<8x4xf32>\n", "-> tensor<8x5xf32>\n"), r"m.mlir:4:\d+: error: .*8x5xf32.*8x4xf32"),
    "wrong return": (SMALL.replace("return %0 : tensor<8x4xf32>", "return %arg0 : tensor<8x16xf32>"), r"m.mlir:\d+:\d+: error: "),
    "redefinition": (SMALL.replace("    return", "    %0 = stablehlo.negate %arg0 : tensor<8x16xf32>\n    return"), r"m.mlir:4:\d+: error: .*%0"),
    "unknown pretty op": (SMALL.replace("stablehlo.dot_general", "stablehlo.frobnicate"), r"m.mlir:3:\d+: error: .*frobnicate"),
    "dynamic shape": (SMALL.replace("tensor<8x16xf32>", "tensor<?x16xf32>"), r"m.mlir:\d+:\d+: error: .*static shape.*\?x16"),
    "unclosed": (SMALL[:-3], r"m.mlir:\d+:\d+: error: "),
    "rank too large": (SMALL.replace("8x16xf32", "x".join(["2"] * 40) + "xf32"), r"m.mlir:2:\d+: error: "),
    "product overflow": (SMALL.replace("tensor<8x16xf32>", "tensor<9999999999x9999999999x9999999999xf32>"), r"error: "),
    "bad sharding rank": (SMALL.replace("%arg0: tensor<8x16xf32>", '%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}')
                          .replace("module @m {", 'module @m {\n  sdy.mesh @mesh = <["data"=2, "model"=4]>'), r"m.mlir:3:\d+: error: "),
    "sharding on unknown axis": (SMALL.replace("%arg0: tensor<8x16xf32>", '%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"rows"}, {}]>}')
                                 .replace("module @m {", 'module @m {\n  sdy.mesh @mesh = <["data"=2, "model"=4]>'), r"m.mlir:3:\d+: error: .*rows"),
    "deep nesting": ("module { " * 5000, r"m.mlir:1:\d+: error: "),
    "deep types": (SMALL.replace("tensor<8x16xf32>", "tuple<" * 5000 + "tensor<8x16xf32>" + ">" * 5000), r"error: "),
    "deep attributes": (SMALL.replace("contracting_dims = [1]", "contracting_dims = " + "[" * 100000), r"m.mlir:3:\d+: error: "),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_module(tmp_path, name):
    text, pattern = BROKEN[name]
    code, out, err = search(tmp_path, text)
    assert code == 1, (code, err[-500:])
    import re
    assert re.search(pattern, err), err[-800:]
    assert out == ""
    assert os.listdir(tmp_path) == ["m.mlir"]


def test_truncated_anywhere(tmp_path):
    text = open(EXAMPLE).read()
    for at in list(range(1, 2000, 97)) + list(range(2000, len(text) - 2, len(text) // 40)):
        path = tmp_path / "t.mlir"
        path.write_text(text[:at])
        code, _, err = run("fingerprint", path)
        assert code == 1 and "error:" in err, (at, code, err)


CHAIN = "".join("#loc%d = loc(fused[#loc%d, #loc%d])\n" % (i, i - 1, i - 1) for i in range(1, 60))
AXES = ", ".join('"a%d"=1' % i for i in range(32))
PLENTY = {
    "a splat of 2^50 elements": ("func.func @f() {\n  %0 = stablehlo.constant dense<0.0> : tensor<1125899906842624xf32>\n  return\n}", None),
    "100,000 arguments": ("func.func @f(" + ", ".join("%%a%d: tensor<f32>" % i for i in range(100000)) + ") {\n  return\n}", None),
    "100,000 operations": ("func.func @f(%a: tensor<f32>) {\n" + "".join("  %%x%d = stablehlo.negate %%a : tensor<f32>\n" % i for i in range(100000)) + "  return\n}", None),
    "locations that double 60 times": ('#loc0 = loc("a")\n' + CHAIN + "func.func @f() {\n  return loc(#loc59)\n}", None),
    "2^57 elements": ("func.func @f(%a: tensor<144115188075855872xi1>) {\n  return\n}", "1:25: error: .*limit of 2.56 elements"),
    "too many operands": ("func.func @f(%a: i1) {\n  \"foo.x\"(" + "%a, " * 1100000 + "%a) : () -> ()\n}", "2:\\d+: error: more operands than the limit"),
    "too many mesh axes": ("sdy.mesh @m = <[" + AXES + ', "b"=1]>', "1:\\d+: error: .*32"),
    "too many axes of a sharding": ("sdy.mesh @m = <[" + AXES + "]>\nfunc.func @f(%a: tensor<1x1xf32> {sdy.sharding = #sdy.sharding<@m, [{" +
                                    ", ".join('"a%d"' % (i % 32) for i in range(70)) + "}, {}]>}) {\n  return\n}", "2:\\d+: error: .*at most 64 axes"),
    "a wrong literal of a million elements": ("func.func @f() {\n  %0 = stablehlo.constant dense<[" + "1, " * 1000000 + "1]> : tensor<8xi32>\n  return\n}",
                                              "2:33: error: the literal has 1000001 elements"),
}


@pytest.mark.parametrize("name", PLENTY)
def test_plenty(tmp_path, name):
    """Large and doubling input within 1 GiB of address space: read, or refused with the limit."""
    import re
    import resource
    text, pattern = PLENTY[name]
    path = tmp_path / "m.mlir"
    path.write_text(text + "\n")
    done = subprocess.run([TOOL, "opt", "--passes", "", "-o", os.devnull, path], capture_output=True, text=True, timeout=60,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)))
    assert done.returncode == (1 if pattern else 0), done.stderr[-500:]
    assert not pattern or re.search(pattern, done.stderr), done.stderr[-500:]


def test_legal_but_odd(tmp_path):
    """Rank 0, zero-sized tensors, sizes that nothing divides: defined answers."""
    scalars = "module { func.func @main(%a: tensor<f32>, %b: tensor<0x4xf32>) -> (tensor<f32>, tensor<0x4xf32>) {\n" \
              "  %0 = stablehlo.add %a, %a : tensor<f32>\n  %1 = stablehlo.negate %b : tensor<0x4xf32>\n" \
              "  return %0, %1 : tensor<f32>, tensor<0x4xf32> } }"
    code, out, err = search(tmp_path, scalars)
    assert code == 0 and '"fits":true' in out, err
    primes = SMALL.replace("8", "7").replace("16", "13").replace("x4", "x11")
    code, out, err = search(tmp_path, primes)
    assert code == 0, err
    empty = "module { func.func @main() { return } }"
    code, out, err = search(tmp_path, empty)
    assert code == 0, err


def test_unknown_op_is_reported(tmp_path):
    text = SMALL.replace("    return %0", '    %1 = "mystery.op"(%0) : (tensor<8x4xf32>) -> tensor<8x4xf32>\n    return %1')
    code, out, err = search(tmp_path, text)
    assert code == 0, err
    assert '"unsupported":[{"op":"mystery.op"' in out


@pytest.mark.parametrize("args, code, words", [
    (["--mesh", "data=2,data=4"], 1, ["data"]),
    (["--mesh", ""], 1, ["mesh"]),
    (["--mesh", "data="], 1, ["data"]),
    (["--mesh", "data=0"], 1, ["data"]),
    (["--mesh", "data=-3"], 1, ["data"]),
    (["--mesh", "data=99999999999999999999"], 1, ["data"]),
    (["--mesh", "no/such/mesh.json"], 1, ["no/such/mesh.json"]),
    ([], 64, ["--mesh"]),
    ([*MESH, "--device", "abacus"], 1, ["abacus", "tpu-v5e"]),
    ([*MESH, "--device-file", "no/such.json"], 1, ["no/such.json"]),
    ([*MESH, "--memory", "lots"], 64, ["--memory", "lots"]),
    ([*MESH, "--evaluations", "0"], 64, ["--evaluations"]),
    ([*MESH, "--seconds", "0"], 64, ["--seconds"]),
    ([*MESH, "--seed", "99999999999999999999"], 64, ["--seed"]),
    ([*MESH, "--objective", "beauty"], 64, ["beauty"]),
    ([*MESH, "--pin", "nonsense"], 64, ["--pin"]),
    ([*MESH, "--pin", 'arg0:[["rows"],[]]'], 1, ["rows"]),
    ([*MESH, "--pin", 'arg0:[["data"]]'], 1, ["arg0"]),
    ([*MESH, "--pin", 'arg0:[["data"],["data"]]'], 1, ["data"]),
    ([*MESH, "--pin", 'nobody*:[["data"],[]]'], 1, ["nobody*"]),
    ([*MESH, "--pin", 'arg0:[["data"],[]]', "--pin", 'arg*:[["model"],[]]'], 1, ["arg0:", "arg*:"]),
    ([*MESH, "--forbid", "arg0"], 64, ["--forbid"]),
    ([*MESH, "--forbid", "arg0:0:rows"], 1, ["rows"]),
    ([*MESH, "--schedule", "no/such.json"], 1, ["no/such.json"]),
    ([*MESH, "--baseline", "no/such.json"], 1, ["no/such.json"]),
    ([*MESH, "--frobnicate"], 64, ["help"]),
])
def test_bad_flags(tmp_path, args, code, words):
    path = tmp_path / "m.mlir"
    path.write_text(SMALL)
    got, out, err = run("search", path, *args)
    assert got == code, (got, err)
    for word in words:
        assert word in err, err
    assert out == ""


def test_odd_meshes(tmp_path):
    for mesh in ("x=1", "x=1000,y=1000", "x=1,y=2,z=1", "x=3"):
        code, out, err = search(tmp_path, SMALL, "--mesh", mesh)
        assert code == 0, (mesh, err)


def test_memory_that_nothing_fits(tmp_path):
    code, out, err = search(tmp_path, SMALL, *MESH, "--memory", "16B")
    assert code == 2 and '"fits":false' in out, err


def test_files(tmp_path):
    assert run("search", tmp_path / "none.mlir", *MESH)[0] == 1
    assert run("search", tmp_path, *MESH)[0] == 1
    bad = tmp_path / "m.mlir.gz"
    bad.write_bytes(b"\x1f\x8b" + b"rubbish" * 10)
    code, _, err = run("search", bad, *MESH)
    assert code == 1 and "gzip" in err
    bad.write_bytes(b"\x28\xb5\x2f\xfd" + b"rubbish" * 10)
    code, _, err = run("search", bad, *MESH)
    assert code == 1 and "zstd" in err
    good = tmp_path / "good.mlir"
    good.write_text(SMALL)
    code, _, err = run("search", good, *MESH, "--evaluations", 10, "--emit-mlir", tmp_path / "no" / "x.mlir")
    assert code == 3 and "x.mlir" in err
    assert sorted(os.listdir(tmp_path)) == ["good.mlir", "m.mlir.gz"]
    code, out, err = run("search", "-", *MESH, "--evaluations", 10, "--json", stdin=SMALL.encode())
    assert code == 0, err


@pytest.mark.parametrize("document, words", [
    ("{", ["JSON"]),
    ("[]", ["mesh"]),
    ('{"mesh":"data=2","arguments":[{"index":9,"sharding":[["data"],[]]}]}', ["9"]),
    ('{"mesh":"data=2","arguments":[{"name":"zzz*","sharding":[["data"],[]]}]}', ["zzz*"]),
    ('{"mesh":"data=2","arguments":[{"index":0,"sharding":[["rows"],[]]}]}', ["rows"]),
    ('{"mesh":"data=2","arguments":[{"index":0,"sharding":[["data"]]}]}', ["arguments[0]"]),
    ('{"mesh":"data=2","actions":7}', ["actions"]),
    ('{"mesh":"data=2","actions":[{"kind":"cut","members":[0],"dimension":0,"axis":"data"}]}', ["actions[0]", "kind"]),
    ('{"mesh":"data=2","actions":[{"kind":"partition","members":[99],"dimension":0,"axis":"data"}]}', ["actions[0]", "members"]),
    ('{"mesh":"data=2","actions":[{"kind":"partition","members":[0],"dimension":0,"axis":"rows"}]}', ["actions[0]", "axis"]),
    ('{"mesh":"data=2","constraints":[{"function":"main","op":99,"sharding":[["data"],[]]}]}', ["99"]),
])
def test_bad_strategy(tmp_path, document, words):
    module, strategy = tmp_path / "m.mlir", tmp_path / "s.json"
    module.write_text(SMALL)
    strategy.write_text(document)
    for verb in (["apply", "-o", tmp_path / "out.mlir"], ["evaluate"], ["explain"]):
        code, out, err = run(verb[0], module, "--strategy", strategy, *verb[1:])
        assert code == 1, (verb, code, err)
        for word in words:
            assert word in err, err
    assert not (tmp_path / "out.mlir").exists()


def test_interrupt_gives_best_so_far(tmp_path):
    import json
    import signal
    program = os.path.join(os.path.dirname(__file__), "..", "corpus", "transformer_4.mlir.zst")  # of a small one everything is tried before
    p = subprocess.Popen([TOOL, "search", program, *MESH, "--seconds", "600", "--json", "--progress-json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while b'"incumbent"' not in p.stderr.readline():
        assert p.poll() is None
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=60)
    assert p.returncode == 130, err
    assert json.loads(out)["search"]["interrupted"] is True


def test_300_mb(tmp_path):
    """A module of 300 MB is read or refused, within bounded time and memory."""
    line = "    %{} = stablehlo.add %arg0, %arg0 : tensor<8x16xf32>\n"
    path = tmp_path / "large.mlir"
    with open(path, "w") as f:
        f.write("module {\n  func.func @main(%arg0: tensor<8x16xf32>) -> tensor<8x16xf32> {\n")
        size = i = 0
        while size < 300_000_000:
            text = "".join(line.format(i + k) for k in range(10000))
            i += 10000
            size += f.write(text)
        f.write("    return %arg0 : tensor<8x16xf32>\n  }\n}\n")
    code, out, err = run("fingerprint", path, timeout=300)
    assert code == 0, err[-500:]


OWN_MESH = """module @m {
  sdy.mesh @mesh = <["data"=4, "model"=2]>
  func.func public @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
    BODY
    return %1 : tensor<8x8xf32>
  }
}
"""
ON_OWN_MESH = {
    "constraint": """%0 = sdy.sharding_constraint %arg0 <@mesh, [{"data"}, {}]> : tensor<8x8xf32>
    %1 = stablehlo.tanh %0 : tensor<8x8xf32>""",
    "manual computation": """%1 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"data"}, {}]>] out_shardings=[<@mesh, [{"data"}, {}]>]
        manual_axes={"data"} (%arg1: tensor<2x8xf32>) {
      %2 = stablehlo.tanh %arg1 : tensor<2x8xf32>
      sdy.return %2 : tensor<2x8xf32>
    } : (tensor<8x8xf32>) -> tensor<8x8xf32>""",
}


@pytest.mark.parametrize("case", ON_OWN_MESH)
def test_another_mesh_of_the_same_name(tmp_path, case):
    """The module's mesh may have the name that --mesh gives its own: they are told apart by their axes."""
    text = OWN_MESH.replace("BODY", ON_OWN_MESH[case])
    assert search(tmp_path, text, "--mesh", "data=4,model=2")[0] == 0
    for mesh in ("data=2,model=2", "x=4,y=2", "data=8"):
        code, out, said = search(tmp_path, text, "--mesh", mesh)
        assert code == 1 and "another mesh" in said and not out
