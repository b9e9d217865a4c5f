"""The sbp verb and the sbp-infer pass; what they infer is checked in tests/unit/check_sbp.c, what it computes in tests/oracle/test_sbp.py."""
import json
import os
import subprocess

import pytest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.path.abspath(os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright")))
ADD = os.path.join(ROOT, "examples", "sbp", "add.mlir")
CORPUS = os.path.join(ROOT, "tests", "corpus")


def run(*words, code=0):
    done = subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def test_walks_through_the_example():
    text = run("sbp", ADD, "--explain")
    rows = [line.split() for line in text.splitlines() if line[:3] in ("  1", "  2", "  3", "  4")]
    assert rows == [
        "1 S(0) S(0) -> S(0) -10 32 chosen".split(), "2 S(1) S(1) -> S(1) -10 32".split(),
        "3 P P -> P 0 9223372036854775807".split(), "4 B B -> B 0 64".split()]
    assert "boxing   in_1 S(1) -> S(0): all_to_all over \"rank\"" in text


def test_json_is_oneflows():
    found = json.loads(run("sbp", ADD, "--json"))
    op, = found["ops"]
    assert op["sbp_signature"][2] == {"bn_in_op2sbp_parallel": {n: {"partial_sum_parallel": {}} for n in ("in_0", "in_1", "out_0")}}
    split = {"sbp_parallel": [{"split_parallel": {"axis": "0"}}]}
    assert op["nd_sbp_signature"] == {"bn_in_op2nd_sbp": {n: split for n in ("in_0", "in_1", "out_0")}}
    assert [step["kind"] for step in found["boxings"][0]["steps"]] == ["all_to_all"]


def word(sbp):
    return "S(%s)" % sbp["split_parallel"]["axis"] if "split_parallel" in sbp else "B" if "broadcast_parallel" in sbp else "P"


def test_signatures_are_read_back(tmp_path):
    """What --json prints of an op, candidates and the chosen one, convert takes as it stands."""
    module = tmp_path / "m.mlir"
    run("search", os.path.join(CORPUS, "mlp_tiny.mlir.zst"), "--mesh", "data=2,model=2", "--memory", "1TiB", "--evaluations", 1, "--apply", "annotate", "--baseline-mlir", "zero3", module)
    read = 0
    for path, mesh, one in ((ADD, "rank=2", True), (module, "data=2,model=2", False)):
        for op in json.loads(run("sbp", path, "--json"))["ops"][:40]:
            for signature in [op["nd_sbp_signature"], *(op["sbp_signature"] if one else [])]:
                (kind, tensors), = signature.items()
                words = ["[%s]" % ", ".join(map(word, t["sbp_parallel"] if kind == "bn_in_op2nd_sbp" else [t])) for t in tensors.values()]
                if not words or any("P" in w and "S" in w for w in words):
                    continue
                assert run("convert", "--mesh", mesh, "--rank", 5, "--from", "sbp", "--to", "sbp", json.dumps(signature)).strip() == "(%s%s)" % (", ".join(words), "," if len(words) == 1 else "")
                read += 1
    assert read > 20


@pytest.mark.parametrize("text,said", [
    ('{"bn_in_op2sbp_parallel":{"in_0":{"split_parallel":{"axis":"0"}}', "1:65: error: expected '}' after the tuple, found the end"),
    ('{"bn_in_op2sbp_parallel":{"in_0":3}}', "1:34: error: expected '{' before an element of the tuple, found '3'"),
    ('{"bn_in_op2sbp_parallel":{in_0:{"broadcast_parallel":{}}}}', '1:27: error: expected the name of a tensor, such as "in_0"'),
    ('{"bn_in_op2nd_sbp":{"in_0":{"sbp_parallel":[{"split_parallel":{"axis":"7"}}]}}}', "dimension 7 of a tensor with 2 dimensions"),
])
def test_signatures_that_are_wrong(text, said):
    assert said in run("convert", "--mesh", "rank=2", "--rank", 2, "--from", "sbp", "--to", "sdy", text, code=1)


def test_pass_and_verb_agree(tmp_path):
    out = tmp_path / "o.mlir"
    run("sbp", ADD, "--emit-mlir", out)
    assert run("opt", "--passes", "sbp-infer{placement=ranks}", ADD) == run("opt", "--passes", "sbp-infer", ADD)
    assert "sdy.reshard" in out.read_text()
    counts = json.loads(run("lower", out, "--json"))["counts"]["placed"]
    assert counts["all_to_all"] == 1 and sum(counts.values()) == 1


def test_real_programs(tmp_path):
    """Everything that is inferred goes through lowering and simulation."""
    for name in ("mlp_tiny", "transformer_2_tiny", "transformer_scan", "decode_tiny", "moe"):
        module, inferred = tmp_path / "m.mlir", tmp_path / "i.mlir"
        run("search", os.path.join(CORPUS, name + ".mlir.zst"), "--mesh", "data=2,model=2", "--memory", "1TiB", "--evaluations", 1, "--apply", "annotate", "--baseline-mlir", "zero3", module)
        run("sbp", module, "--emit-mlir", inferred)
        assert json.loads(run("simulate", inferred, "--json"))["runtime_ns"] > 0
        assert "ops," in run("sbp", module)


def test_refusals(tmp_path):
    assert "expected one MODULE" in run("sbp", code=64)
    assert "exclude each other" in run("sbp", ADD, "--json", "--explain", code=64)
    assert "no mesh \"nowhere\"" in run("sbp", ADD, "--placement", "nowhere", code=1)
    assert "no mesh \"nowhere\"" in run("opt", "--passes", "sbp-infer{placement=nowhere}", ADD, code=1)
    bad = tmp_path / "bad.mlir"
    bad.write_text('sdy.mesh @m = <["x"=2]>\nfunc.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n'
                   '  %0 = stablehlo.tanh %a {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}], unreduced={"x"}>]>} : tensor<8xf32>\n  return %0 : tensor<8xf32>\n}\n')
    assert "bad.mlir:3:" in run("sbp", bad, code=1) and "no valid SBP signature" in run("sbp", bad, code=1)
