"""What depends on gradients in the cost model: kernels that update an argument with its gradient run when that is there, and what a softmax's numerators are made with
(`softmax`, `grouped` and `places` in tests/judged/kernels.py say what libtpu 0.0.51 does)."""
import json
import subprocess

import pytest

from single_kernels import TOOL, simulated


def program(arguments, lines, results):
    """arguments and results: (name, type)."""
    return "module {\n func.func public @main(%s) -> (%s) {\n %s\n return %s : %s\n }\n}\n" % (
        ", ".join("%%%s: %s" % a for a in arguments), ", ".join(t for _, t in results), "\n ".join(lines), ", ".join("%" + n for n, _ in results), ", ".join(t for _, t in results))


def step(layers):
    """Products in a row, their gradients, and behind all of these the updates of the weights."""
    rows, weight = "tensor<32768x4096xbf16>", "tensor<4096x4096xbf16>"
    lines = ["%%h%d = stablehlo.dot_general %%h%d, %%w%d, contracting_dims = [1] x [0] : (%s, %s) -> %s" % (i + 1, i, i, rows, weight, rows) for i in range(layers)]
    lines.append("%%g%d = stablehlo.tanh %%h%d : %s" % (layers, layers, rows))
    for i in reversed(range(layers)):
        lines += ["%%g%d = stablehlo.dot_general %%g%d, %%w%d, contracting_dims = [1] x [1] : (%s, %s) -> %s" % (i, i + 1, i, rows, weight, rows),
                  "%%d%d = stablehlo.dot_general %%h%d, %%g%d, contracting_dims = [0] x [0] : (%s, %s) -> %s" % (i, i, i + 1, rows, rows, weight)]
    lines += ["%%n%d = stablehlo.subtract %%w%d, %%d%d : %s" % (i, i, i, weight) for i in range(layers)]
    return program([("h0", rows)] + [("w%d" % i, weight) for i in range(layers)], lines, [("n%d" % i, weight) for i in range(layers)] + [("g0", rows)])


def test_updates_do_not_wait(tmp_path):
    """A layer more keeps what its forward pass makes, not the gradient of that, too, until all weights are updated."""
    few, many = (simulated(step(layers), tmp_path)["temporary_bytes"] for layers in (6, 10))
    assert many - few == 4 * 32768 * 4096 * 2


def step_with_moments(layers):
    """As step(), rows of 16 devices; each update goes through what its moments become."""
    rows, weight = "tensor<524288x4096xbf16>", "tensor<4096x4096xbf16>"
    text = step(layers).replace("tensor<32768x4096xbf16>", rows)
    moments = "".join(", %%m%d: %s" % (i, weight) for i in range(layers))
    text = text.replace(") -> (", moments + ") -> (" + "%s, " % weight * layers, 1)
    for i in range(layers):
        update = "%%n%d = stablehlo.subtract %%w%d, %%d%d : %s" % (i, i, i, weight)
        text = text.replace(update, "%%s%d = stablehlo.add %%m%d, %%d%d : %s\n %%n%d = stablehlo.subtract %%w%d, %%s%d : %s" % (i, i, i, weight, i, i, i, weight))
    text = text.replace("return ", "return " + "".join("%%s%d, " % i for i in range(layers)))
    return text.replace("%g0 : ", "%g0 : " + "%s, " % weight * layers)


def kept_for(layers, moments, device, tmp_path):
    """Bytes of temporaries of the step with its batch over all devices, and moments laid so."""
    whole, batch = [[], []], [["data", "model"], []]
    arguments = [batch] + [whole] * layers + [moments] * layers
    results = [moments] * layers + [whole] * layers + [batch]
    plan = {"mesh": {"axes": [{"name": "data", "size": 4}, {"name": "model", "size": 4}]}}
    for name, of in (("arguments", arguments), ("results", results)):
        plan[name] = [{"index": i, "sharding": sharding} for i, sharding in enumerate(of)]
    module, strategy = tmp_path / "step.mlir", tmp_path / "plan.json"
    module.write_text(step_with_moments(layers))
    strategy.write_text(json.dumps(plan))
    done = subprocess.run([TOOL, "evaluate", str(module), "--strategy", str(strategy), "--device", device, "--memory", "900GiB", "--json"], capture_output=True, text=True, timeout=60)
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)["temporary_bytes"]


@pytest.mark.parametrize("device, moments, values", [("tpu-v5e", [[], []], 1), ("tpu-v5e", [["data"], ["model"]], 2), ("tpu-v6e", [["data"], ["model"]], 1)])
def test_zero_2_over_all_devices_keeps_gradients(device, moments, values, tmp_path):
    """Where gathers run beside work, a layer more keeps what its backward pass makes, too, as products with it wait for all others."""
    few, many = (kept_for(layers, moments, device, tmp_path) for layers in (6, 10))
    of_rows = 4 * 32768 * 4096 * 2
    assert abs((many - few) / of_rows - values) < 0.3


def attention(queries, keys, sequences=2, gradients=False, grouped=False, heads=4, depth=64):
    """Scores, their softmax and what it makes of values; with gradients: what the result's gradient, an argument, makes of queries."""
    shares = heads // 2 if grouped else heads  # of keys; queries of a group lie behind each other
    of_q = (sequences, queries, shares, 2, depth) if grouped else (sequences, queries, heads, depth)
    of_k = (sequences, keys, shares, depth)
    made, of_s, of_r = ((sequences, shares, queries, 2, keys), (sequences, shares, 2, queries, keys), (sequences, shares, 2, queries)) if grouped else (
        None, (sequences, heads, queries, keys), (sequences, heads, queries))

    def tensor(dims, element="bf16"):
        return "tensor<%sx%s>" % ("x".join(map(str, dims)), element)

    s, r, rank = tensor(of_s, "f32"), tensor(of_r, "f32"), len(of_s)
    widen = "dims = [%s] : (%s) -> %s" % (", ".join(map(str, range(rank - 1))), r, s)
    lines = ["%%least = stablehlo.constant dense<0xFF800000> : tensor<f32>", "%%zero = stablehlo.constant dense<0.0> : tensor<f32>"]

    def product(name, of):
        numbers = "batching_dims = [0, 2] x [0, 2], contracting_dims = [%d] x [3]" % (len(of_q) - 1)
        if not grouped:
            return ["%%%sh = stablehlo.dot_general %%%s, %%%s, %s : (%s, %s) -> %s" % (name, *of, numbers, tensor(of_q), tensor(of_k), tensor(of_s))]
        return ["%%%sm = stablehlo.dot_general %%%s, %%%s, %s : (%s, %s) -> %s" % (name, *of, numbers, tensor(of_q), tensor(of_k), tensor(made)),
                "%%%sh = stablehlo.transpose %%%sm, dims = [0, 1, 3, 2, 4] : (%s) -> %s" % (name, name, tensor(made), tensor(of_s))]

    def reduced(name, of, how, start):
        return "%%%s = stablehlo.reduce(%%%s init: %%%s) applies stablehlo.%s across dimensions = [%d] : (%s, tensor<f32>) -> %s" % (name, of, start, how, rank - 1, s, r)

    lines += product("s", "qk") + ["%%s = stablehlo.convert %%sh : (%s) -> %s" % (tensor(of_s), s), reduced("top", "s", "maximum", "least"),
                                   "%%topw = stablehlo.broadcast_in_dim %%top, %s" % widen, "%%low = stablehlo.subtract %%s, %%topw : %s" % s, "%%e = stablehlo.exponential %%low : %s" % s,
                                   reduced("sum", "e", "add", "zero"), "%%sumw = stablehlo.broadcast_in_dim %%sum, %s" % widen, "%%p = stablehlo.divide %%e, %%sumw : %s" % s,
                                   "%%ph = stablehlo.convert %%p : (%s) -> %s" % (s, tensor(of_s))]
    groups = "batching_dims = [0, 1] x [0, 2], contracting_dims = [%d] x [1]" % (rank - 1)
    out = tensor((*of_s[:-1], depth))
    lines.append("%%out = stablehlo.dot_general %%ph, %%v, %s : (%s, %s) -> %s" % (groups, tensor(of_s), tensor(of_k), out))
    results = [("out", out)]
    if gradients:
        lines += product("g", "ov") + ["%%g = stablehlo.convert %%gh : (%s) -> %s" % (tensor(of_s), s), "%%gp = stablehlo.multiply %%g, %%p : %s" % s, reduced("of", "gp", "add", "zero"),
                                       "%%ofw = stablehlo.broadcast_in_dim %%of, %s" % widen, "%%less = stablehlo.subtract %%g, %%ofw : %s" % s, "%%ds = stablehlo.multiply %%less, %%p : %s" % s,
                                       "%%dsh = stablehlo.convert %%ds : (%s) -> %s" % (s, tensor(of_s)),
                                       "%%dq = stablehlo.dot_general %%dsh, %%k, %s : (%s, %s) -> %s" % (groups, tensor(of_s), tensor(of_k), out)]
        results.append(("dq", out))
    names = [("q", tensor(of_q)), ("k", tensor(of_k)), ("v", tensor(of_k))] + ([("o", tensor(of_q))] if gradients else [])
    return program(names, [line.replace("%%", "%") for line in lines], results)


@pytest.mark.parametrize("queries, keys, options, made", [
    (1024, 2048, {}, "with"), (4096, 4096, {}, "again"), (4096, 4096, {"gradients": True}, "with"), (4096, 4096, {"gradients": True, "depth": 128}, "again"),
    (1024, 8192, {"gradients": True}, "again"), (1024, 1024, {"grouped": True}, "with"), (1024, 1024, {"grouped": True, "gradients": True}, "again"),
    (1024, 1024, {"grouped": True, "sequences": 1}, "again"), (49, 49, {"sequences": 256}, "apart"), (64, 64, {"sequences": 256}, "with"), (49, 49, {"sequences": 64}, "with")])
def test_numerators(queries, keys, options, made, tmp_path):
    """With their products they start with these, apart a kernel of their own makes them; else each kernel that reads them makes them again."""
    ops = simulated(attention(queries, keys, **options), tmp_path)["ops"]
    product = next(o for o in ops if o["name"] == "stablehlo.dot_general")
    assert [o["start_ns"] == product["start_ns"] for o in ops if o["name"] == "stablehlo.exponential"] == {"with": [True], "apart": [False], "again": []}[made]
