"""Problems at the edge: the answer is defined, and says what it is."""
import json
import os
import pty
import select
import signal
import subprocess
import time

import pytest

from test_contracts import ROOT, TOOL, corpus, plan, run, stable

EXAMPLE = os.path.join(ROOT, "examples", "mlp.mlir")


def search(module, *args, code):
    done = subprocess.run([TOOL, "search", str(module), *map(str, args)], capture_output=True, text=True, timeout=600)
    assert done.returncode == code, (done.returncode, done.stderr[-1000:])
    return done


def shardings(document):
    return [a["sharding"] if a["sharding"] is not None else a["propagated"] for a in document["arguments"]]


def program(tmp_path, body, arguments, result):
    path = tmp_path / "program.mlir"
    names = ", ".join('%%arg%d: %s loc("%s")' % (i, kind, name) for i, (name, kind) in enumerate(arguments))
    path.write_text("module @edge {\n  func.func public @main(%s) -> %s {\n%s  }\n}\n" % (names, result, body))
    return path


def dot(tmp_path, m, k, n):
    kinds = ["tensor<%dx%dxf32>" % shape for shape in ((m, k), (k, n), (m, n))]
    body = "    %%0 = stablehlo.dot_general %%arg0, %%arg1, contracting_dims = [1] x [0] : (%s, %s) -> %s\n    return %%0 : %s\n" % (*kinds, kinds[2])
    return program(tmp_path, body, [("batch", kinds[0]), ("weight", kinds[1])], kinds[2])


def test_nothing_useful(tmp_path):
    """On a few numbers every cut costs more than it saves, or nothing changes: no decisions, and the cost of replication."""
    document = plan(dot(tmp_path, 8, 8, 8), "--mesh", "data=2,model=4", ok=(0,))
    replicated = next(b["cost"] for b in document["baselines"] if b["name"] == "replicated")
    assert document["fits"] and document["cost"]["runtime_ns"] <= replicated["runtime_ns"]
    order = program(tmp_path, "    %0 = stablehlo.reshape %arg0 : (tensor<7xf32>) -> tensor<7x1xf32>\n    return %0 : tensor<7x1xf32>\n", [("x", "tensor<7xf32>")], "tensor<7x1xf32>")
    document = plan(order, "--mesh", "data=2,model=4", ok=(0,))
    assert document["actions"] == [] and shardings(document) == [[[]]] and document["cost"] == document["baselines"][0]["cost"]
    nothing = program(tmp_path, "    %0 = stablehlo.constant dense<1.0> : tensor<f32>\n    return %0 : tensor<f32>\n", [], "tensor<f32>")
    assert plan(nothing, "--mesh", "data=2", ok=(0,))["arguments"] == []


def test_fits_on_no_sharding(tmp_path):
    """Exit 2, everything is written all the same, and nothing that was looked at is better: a hundredth of memory is worth a tenth of time."""
    def worth(cost):
        return cost["peak_bytes"] * cost["runtime_ns"] ** 0.1

    mlir, strategy = tmp_path / "out.mlir", tmp_path / "s.json"
    document = plan(corpus("mlp"), "--mesh", "data=4,model=2", "--memory", "1MiB", "--evaluations", 500, "--emit-mlir", mlir, "--emit-strategy", strategy, ok=(2,))
    assert not document["fits"] and document["cost"]["peak_bytes"] > document["memory_limit_bytes"] == 1 << 20
    assert worth(document["cost"]) <= min(worth(b["cost"]) for b in document["baselines"]) and not any(b["fits"] for b in document["baselines"])
    assert json.loads(run("evaluate", corpus("mlp"), "--strategy", strategy, "--json", ok=(2,))) == document["cost"]
    assert "sdy.sharding" in mlir.read_text()


def test_bound(tmp_path):
    """No strategy needs less than the document says; one that does not even leave room for the arguments is told in words."""
    args = ["search", corpus("mlp"), "--mesh", "data=4,model=2", "--device", "tpu-v5e", "--evaluations", 300]
    document = json.loads(run(*args, "--json"))
    bound, whole = document["search"]["bound"], document["baselines"][0]["cost"]
    assert whole["argument_bytes"] / 8 * 0.99 <= bound["peak_bytes"] <= whole["argument_bytes"] / 8 + 16
    assert 0 < bound["runtime_ns"] < whole["runtime_ns"]
    for cost in [document["cost"]] + [b["cost"] for b in document["baselines"]]:
        assert bound["runtime_ns"] <= cost["runtime_ns"] and bound["peak_bytes"] <= cost["peak_bytes"]
    words = "no strategy fits: cut over all devices, the arguments alone take"
    assert words in run(*args, "--memory", bound["peak_bytes"] - 1, ok=(2,))
    assert words not in run(*args, "--memory", bound["peak_bytes"], ok=(2,))


def test_indivisible(tmp_path):
    """Nothing divides: whole everywhere, with no decision, at the cost of replication."""
    document = plan(dot(tmp_path, 7, 13, 11), "--mesh", "data=4,model=2", ok=(0,))
    assert document["actions"] == [] and shardings(document) == [[[], []], [[], []]]
    assert document["cost"] == document["baselines"][0]["cost"] and document["search"]["evaluations"] < 100


def test_product_of_what_is_made_from_several(tmp_path):
    """A product on TPU wants its operand in another order, which elementwise ops make from two arguments and a constant (low-rank adapters of heads)."""
    body = """    %0 = stablehlo.add %arg0, %arg1 : tensor<16x1024x8x128xf32>
    %cst = stablehlo.constant dense<1.0> : tensor<16x1024x8x128xf32>
    %1 = stablehlo.multiply %0, %cst : tensor<16x1024x8x128xf32>
    %2 = stablehlo.dot_general %1, %arg2, contracting_dims = [2, 3] x [1, 2] : (tensor<16x1024x8x128xf32>, tensor<16x8x128xf32>) -> tensor<16x1024x16xf32>
    %3 = stablehlo.transpose %2, dims = [2, 0, 1] : (tensor<16x1024x16xf32>) -> tensor<16x16x1024xf32>
    %4 = stablehlo.dot_general %3, %arg3, contracting_dims = [1, 2] x [0, 1] : (tensor<16x16x1024xf32>, tensor<16x1024x2048xf32>) -> tensor<16x2048xf32>
    return %4 : tensor<16x2048xf32>
"""
    heads = "tensor<16x1024x8x128xf32>"
    path = program(tmp_path, body, [("from_keys", heads), ("from_values", heads), ("adapter", "tensor<16x8x128xf32>"), ("x", "tensor<16x1024x2048xf32>")], "tensor<16x2048xf32>")
    document = plan(path, "--mesh", "data=4,model=4", "--device", "tpu-v5e", "--evaluations", 50)
    assert document["cost"]["runtime_ns"] > 0


def aliased(tmp_path, kind):
    """A step that donates an argument to a result of that type."""
    path = tmp_path / "aliased.mlir"
    path.write_text("""module @m {
  func.func public @main(%%a: tensor<16x16x128xf32> {tf.aliasing_output = 0 : i32}, %%b: %s) -> %s {
    return %%b : %s
  }
}
""" % (kind, kind, kind))
    return path


def test_alias_of_another_shape(tmp_path):
    """XLA takes it when sizes are equal; there are no dims to be sharded alike."""
    document = plan(aliased(tmp_path, "tensor<2048x16xf32>"), "--mesh", "data=4,model=4", "--evaluations", 50)
    assert document["fits"]


def test_alias_of_another_size(tmp_path):
    done = search(aliased(tmp_path, "tensor<2048x8xf32>"), "--mesh", "data=4,model=4", code=1)
    assert "aliased.mlir:2:3: error: argument 0: tf.aliasing_output names a result of another size" in done.stderr


def test_axis_of_size_one():
    """An axis of one device takes no part: the answer is that of the mesh without it."""
    args = ("--evaluations", 1000, "--device", "tpu-v5e")
    with_one, without = plan(corpus("mlp"), "--mesh", "one=1,model=4", *args), plan(corpus("mlp"), "--mesh", "model=4", *args)
    assert with_one["cost"] == without["cost"]
    assert not any("one" in axis for s in shardings(with_one) for dimension in s for axis in dimension)
    alone = plan(corpus("mlp"), "--mesh", "one=1", *args)
    assert alone["cost"] == alone["baselines"][0]["cost"] and not any(c["count"] for c in alone["cost"]["collectives"].values())


@pytest.mark.parametrize("pins, words", [
    (["params*:[[\"data\"],[]]", "*w1*:[[],[\"data\"]]"], ['params*:[["data"],[]]', '*w1*:[[],["data"]]', "params['w1']"]),
    # the pin named is the one that holds, not the one before
    (["*w1*:[[\"data\"],[]]", "batch*:[[],[]]", "params['w1']:[[],[]]"], ['*w1*:[["data"],[]]', "params['w1']:[[],[]]"]),
    (["params*:[[\"data\"],[\"data\"]]"], ["params*", "data"]),
    (["nobody:[[]]"], ["nobody"]),
])
def test_contradictory_pins(pins, words):
    err = search(corpus("mlp_tiny"), "--mesh", "data=2", *[word for pin in pins for word in ("--pin", pin)], code=1).stderr
    assert "error: " in err
    for word in words:
        assert word in err, err
    # said twice is said once
    plan(corpus("mlp_tiny"), "--mesh", "data=2", "--evaluations", 10, "--pin", "*w1*:[[\"data\"],[]]", "--pin", "params['w1']:[[\"data\"],[]]", ok=(0,))


def test_schedule_of_unknown_arguments(tmp_path):
    path = tmp_path / "schedule.json"
    for tactic in ({"manual": {"arguments": "weights*", "dimension": 0, "axis": "data"}}, {"auto": {"arguments": ["weights*"]}},
                   {"manual": {"arguments": 99, "dimension": 0, "axis": "data"}}, {"named": "zero3", "axis": "data", "arguments": "weights*"}):
        path.write_text(json.dumps({"tactics": [{"polish": {}}, tactic]}))
        err = search(corpus("mlp_tiny"), "--mesh", "data=2", "--schedule", path, code=1).stderr
        assert "tactics[1]" in err and "names no argument" in err, err


def test_budget_of_one():
    """The baselines are looked at in any case; the answer is at least the best of them."""
    document = plan(corpus("transformer_2_tiny"), "--mesh", "data=2,model=4", "--evaluations", 1, ok=(0,))
    assert document["cost"]["runtime_ns"] <= min(b["cost"]["runtime_ns"] for b in document["baselines"] if b["fits"])
    assert document["search"]["evaluations"] <= len(document["baselines"])
    assert stable(document) == stable(plan(corpus("transformer_2_tiny"), "--mesh", "data=2,model=4", "--evaluations", 1, "--threads", 1, ok=(0,)))


def test_hundred_thousand_arguments(tmp_path):
    n = 100000
    adds = ["    %%%d = stablehlo.add %%%s, %%arg%d : tensor<64x32xf32>\n" % (i, "arg0" if i == 1 else i - 1, i) for i in range(1, n)]
    module = program(tmp_path, "".join(adds) + "    return %%%d : tensor<64x32xf32>\n" % (n - 1), [("params[%d]" % i, "tensor<64x32xf32>") for i in range(n)], "tensor<64x32xf32>")
    document = plan(module, "--mesh", "data=4,model=4", "--evaluations", 8, "--device", "h100", ok=(0,))
    assert len(document["arguments"]) == n and document["search"]["groups"] < 50
    assert document["apply"] == "annotate" and "65535" in document["search"]["not_exact"]
    assert document["cost"]["argument_bytes"] * 16 == n * 64 * 32 * 4, "every argument is cut over all devices, and nothing pads it"


# ---------------------------------------------------------------- anytime

def events(process):
    for line in process.stderr:
        yield json.loads(line)


@pytest.mark.parametrize("how", ["--evaluations=1000000", "--seconds=600"])
def test_interrupt_in_the_middle(tmp_path, how):
    """The signal ends it: the best so far is written, complete; the incumbents were told as they came."""
    strategy, mlir = tmp_path / "s.json", tmp_path / "out.mlir"
    p = subprocess.Popen([TOOL, "search", corpus("transformer_4"), "--mesh", "data=4,model=4", how, "--progress-json", "--json", "--emit-strategy", str(strategy),
                          "--emit-mlir", str(mlir)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seen = []
    for e in events(p):
        seen.append(e)
        if e["event"] == "progress" and e["evaluation"] > 100:
            break
    p.send_signal(signal.SIGINT)
    seen += list(events(p))
    document = json.loads(p.stdout.read())
    assert p.wait(60) == 130
    told = [e for e in seen if e["event"] == "incumbent"]
    assert document["search"]["interrupted"] and [(e["evaluation"], e["runtime_ns"], e["peak_bytes"]) for e in told] == [
        (i["evaluation"], i["runtime_ns"], i["peak_bytes"]) for i in document["search"]["incumbents"]]
    assert told[-1]["runtime_ns"] == document["cost"]["runtime_ns"] and told[-1]["fits"] == document["fits"]
    assert json.loads(run("evaluate", corpus("transformer_4"), "--strategy", strategy, "--json", ok=(0, 2))) == document["cost"]
    assert json.loads(run("simulate", mlir, "--json", ok=(0, 2))) == document["cost"]


def cpu_seconds(process):
    fields = open("/proc/%d/stat" % process.pid).read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("after", [0.05, 0.2, 0.5, 0.9, 1.5])
def test_interrupt_at_any_time(tmp_path, after):
    """While it is read, prepared, composed or searched: a whole answer, and what was going on is left where it is."""
    answer, told = tmp_path / "answer.json", tmp_path / "told"
    with open(answer, "w") as out, open(told, "w") as err:
        p = subprocess.Popen([TOOL, "search", corpus("unet"), "--mesh", "data=4,model=4", "--threads", "1", "--evaluations", "1000000", "--progress-json", "--json"],
                             stdout=out, stderr=err)
        while cpu_seconds(p) < after:
            time.sleep(0.005)
        before = sum(1 for _ in open(told))
        p.send_signal(signal.SIGINT)
        assert p.wait(300) == 130
    document = json.loads(answer.read_text())
    events_after = [json.loads(line) for line in open(told)][before:]
    assert document["search"]["interrupted"] and len(document["baselines"]) >= 1
    if before == 0:     # the baselines, and no more
        assert document["search"]["evaluations"] <= 10
    elif events_after:  # a batch of plans at most is told of when it stops, not worked off
        assert document["search"]["evaluations"] - events_after[0]["evaluation"] <= 64


def test_little_is_done_after_an_interrupt(tmp_path):
    """The answer is costed as it is written, and no baseline is: what comes behind the signal takes less than 0.72 of what a search of one
    evaluation does (0.4 to 0.6 where this was written)."""
    words = [TOOL, "search", corpus("llama_8b"), "--mesh", "data=4,model=4", "--device", "tpu-v5e", "--threads", "1", "--json", "--evaluations"]
    whole = subprocess.Popen(words + ["1"], stdout=subprocess.DEVNULL)
    used = os.wait4(whole.pid, 0)[2]
    whole = used.ru_utime + used.ru_stime
    with open(tmp_path / "answer.json", "w") as out, open(tmp_path / "told", "w+") as told:
        p = subprocess.Popen(words + ["1000000", "--progress-json"], stdout=out, stderr=told)
        while '"progress"' not in (tmp_path / "told").read_text():  # baselines are behind it
            time.sleep(0.005)
        before = cpu_seconds(p)
        p.send_signal(signal.SIGINT)
        used = os.wait4(p.pid, 0)[2]
    document = json.loads((tmp_path / "answer.json").read_text())
    assert document["search"]["interrupted"] and len(document["baselines"]) == 5
    assert used.ru_utime + used.ru_stime - before < whole * 0.72


def test_default_budget_follows_the_work():
    """A large program without repeated layers gets fewer evaluations: its nodes are all costed in each of them."""
    document = plan(corpus("unet"), "--mesh", "data=4,model=4", "--device", "tpu-v5e", ok=(0,))
    assert 1000 < document["search"]["evaluations"] < 3000


def on_terminal(*args):
    """What a terminal at standard error gets, and the exit code."""
    reader, writer = pty.openpty()
    p = subprocess.Popen([TOOL, *map(str, args)], stdout=subprocess.DEVNULL, stderr=writer)
    os.close(writer)
    shown = b""
    while True:
        try:
            if not select.select([reader], [], [], 60)[0]:
                break
            piece = os.read(reader, 4096)
        except OSError:     # the other end is closed
            break
        if not piece:
            break
        shown += piece
    os.close(reader)
    return shown.decode(), p.wait(60)


def test_progress_line():
    """One line that is written over, and gone at the end; nothing where standard error is no terminal, or gets JSON."""
    shown, code = on_terminal("search", EXAMPLE, "--mesh", "data=4", "--evaluations", 2000)
    assert code == 0 and "\n" not in shown
    lines = [line for line in shown.replace("\033[K", "").split("\r") if line]
    assert lines and all("evaluations" in line and "best" in line for line in lines)
    assert shown.endswith("\r\033[K"), "the line is wiped before the answer"
    counts = [int(line.split()[0]) for line in lines]
    assert counts == sorted(counts)
    quiet = subprocess.run([TOOL, "search", EXAMPLE, "--mesh", "data=4", "--evaluations", "200"], capture_output=True, text=True)
    assert quiet.stderr == ""
    shown, code = on_terminal("search", EXAMPLE, "--mesh", "data=4", "--evaluations", 200, "--progress-json")
    assert code == 0 and "\033" not in shown and all(json.loads(line)["event"] for line in shown.split("\r\n") if line)
