"""Windowed einsums: `lower` names those that XLA for TPU makes. tests/golden/windowed/cases.jsonl has what libtpu 0.0.52 made
of single products: their shardings, sizes on both sides of the point where it changes its mind, and products that share an
operand. What needs a topology of its own (groups of four in slices of three dims, or in a square of four devices) is not
there, nor are two layouts in which permutes appeared at every size (docs/lowering-and-cost.md)."""
import json
import os
import subprocess

import pytest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))


def run(*words):
    return subprocess.run([TOOL, *words], capture_output=True, text=True, timeout=60)


CASES = [json.loads(line) for line in open(os.path.join(ROOT, "tests", "golden", "windowed", "cases.jsonl"))]


def sharding(dims):
    return "#sdy.sharding<@mesh, [%s]>" % ", ".join("{%s}" % ", ".join('"%s"' % a for a in d.split("+") if a != "-") for d in dims)


def module_of(case):
    left, right, result = ("tensor<%sxbf16>" % "x".join(map(str, case[k])) for k in ("left", "right", "result"))
    of_left, of_right, of_result = map(sharding, case["shardings"])
    mesh = ", ".join('"%s"=%d' % (name, size) for name, size in case["mesh"].items())
    numbers = range(case["products"])
    arguments = ["%%a: %s {sdy.sharding = %s}" % (left, of_left), *("%%b%d: %s {sdy.sharding = %s}" % (i, right, of_right) for i in numbers)]
    results = ["%s {sdy.sharding = %s}" % (result, of_result)] * case["products"]
    products = ["%%r%d = stablehlo.dot_general %%a, %%b%d, contracting_dims = %s x %s : (%s, %s) -> %s" % (
        i, i, case["contracting"][0], case["contracting"][1], left, right, result) for i in numbers]
    return "module {\n sdy.mesh @mesh = <[%s]>\n func.func public @main(%s) -> (%s) {\n %s\n return %s : %s\n }\n}\n" % (
        mesh, ", ".join(arguments), ", ".join(results), "\n ".join(products), ", ".join("%%r%d" % i for i in numbers), ", ".join([result] * case["products"]))


@pytest.mark.parametrize("number", range(len(CASES)))
def test_as_the_compiler(number, tmp_path):
    case, path = CASES[number], tmp_path / "product.mlir"
    path.write_text(module_of(case))
    done = run("lower", str(path), "--device", case["device"], "--json")
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)["collectives"]
    assert any(c.get("windowed_einsum") for c in listed) == case["windowed"], (case, listed)


def test_only_where_its_compiler_does(tmp_path):
    path = tmp_path / "product.mlir"
    path.write_text(module_of(next(c for c in CASES if c["windowed"])))
    assert "windowed einsum" in run("lower", str(path), "--device", "tpu-v5e").stdout
    assert "windowed einsum" not in run("lower", str(path), "--device", "h100").stdout
    ops = json.loads(run("simulate", str(path), "--device", "tpu-v5e", "--json", "--ops").stdout)["ops"]
    assert [o["name"] for o in ops if o.get("windowed_einsum")] in (["all_gather"], ["reduce_scatter"])


def convolutions(number):
    images, kernel, result = "tensor<512x8x8x256xbf16>", "tensor<4x4x256x512xbf16>", "tensor<512x4x4x512xbf16>"
    batch, features = sharding(["d+m", "-", "-", "-"]), sharding(["-", "-", "d+m", "-"])
    arguments = ["%%x%d: %s {sdy.sharding = %s}" % (i, images, batch) for i in range(number)] + ["%%w: %s {sdy.sharding = %s}" % (kernel, features)]
    ops = ["%%y%d = stablehlo.convolution(%%x%d, %%w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], "
           "pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (%s, %s) -> %s" % (i, i, images, kernel, result)
           for i in range(number)]
    return "module {\n sdy.mesh @mesh = <[\"d\"=4, \"m\"=4]>\n func.func public @main(%s) -> (%s) {\n %s\n return %s : %s\n }\n}\n" % (
        ", ".join(arguments), ", ".join(["%s {sdy.sharding = %s}" % (result, batch)] * number), "\n ".join(ops),
        ", ".join("%%y%d" % i for i in range(number)), ", ".join([result] * number))


def test_convolutions_that_share_a_kernel(tmp_path):
    """libtpu 0.0.51: a loop each and no gather, for one to three of them; products that share a weight gather it once."""
    times = []
    for number in (1, 2, 3):
        path = tmp_path / "convolutions.mlir"
        path.write_text(convolutions(number))
        assert "windowed einsum" in run("lower", str(path), "--device", "tpu-v5e").stdout
        times.append(json.loads(run("simulate", str(path), "--device", "tpu-v5e", "--json").stdout)["compute_ns"])
    assert times[1] > 1.9 * times[0] and times[2] > 2.8 * times[0], times


def step(layers, scattered):
    """The gradients of so many weights, each scattered or whole."""
    rows, weight = "tensor<65536x4096xbf16>", "tensor<4096x4096xbf16>"
    batch, whole, part = (sharding(dims) for dims in (["d+m", "-"], ["-", "-"], ["d+m", "-"]))
    arguments = ["%%h0: %s {sdy.sharding = %s}" % (rows, batch)] + ["%%w%d: %s {sdy.sharding = %s}" % (i, weight, whole) for i in range(layers)]
    lines = ["%%h%d = stablehlo.dot_general %%h%d, %%w%d, contracting_dims = [1] x [0] : (%s, %s) -> %s" % (i + 1, i, i, rows, weight, rows) for i in range(layers)]
    lines.append("%%g%d = stablehlo.tanh %%h%d : %s" % (layers, layers, rows))
    for i in reversed(range(layers)):
        lines += ["%%d%d = stablehlo.dot_general %%h%d, %%g%d, contracting_dims = [0] x [0] : (%s, %s) -> %s" % (i, i, i + 1, rows, rows, weight),
                  "%%g%d = stablehlo.dot_general %%g%d, %%w%d, contracting_dims = [1] x [1] : (%s, %s) -> %s" % (i, i + 1, i, rows, weight, rows)]
    results = ["%s {sdy.sharding = %s}" % (weight, part if scattered else whole)] * layers + ["%s {sdy.sharding = %s}" % (rows, batch)]
    return "module {\n sdy.mesh @mesh = <[\"d\"=4, \"m\"=4]>\n func.func public @main(%s) -> (%s) {\n %s\n return %s, %%g0 : %s, %s\n }\n}\n" % (
        ", ".join(arguments), ", ".join(results), "\n ".join(lines), ", ".join("%%d%d" % i for i in range(layers)), ", ".join([weight] * layers), rows)


def test_gradients_that_wait(tmp_path):
    """Windowed einsums that scatter gradients run behind the backward pass, and what they read is kept until then; gradients that are summed up whole are made at once."""
    taken = {}
    for scattered in (True, False):
        for layers in (10, 14):
            path = tmp_path / "step.mlir"
            path.write_text(step(layers, scattered))
            assert ("windowed einsum" in run("lower", str(path), "--device", "tpu-v5e").stdout) == scattered
            taken[scattered, layers] = json.loads(run("simulate", str(path), "--device", "tpu-v5e", "--json").stdout)["temporary_bytes"]
    kept = 4096 * 4096 * 2  # bytes of rows on one device
    assert taken[False, 14] - taken[False, 10] == 4 * kept  # what the forward pass makes
    assert taken[True, 14] - taken[True, 10] == 2 * 4 * kept  # and the gradients of it
