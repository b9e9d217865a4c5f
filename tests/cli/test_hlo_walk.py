"""`simulate` of compiled TPU programs against a walk of the same schedules that has no part of the project in it: tests/judged/simulated.py
keeps what that says. Windowed einsums, loops, a decode loop, fused asynchronous collectives, three kinds of TPU."""
import json
import os
import re
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "judged"))
import simulated  # noqa: E402

TOOL = os.environ.get("SHARDWRIGHT", "build/shardwright")
ROWS = simulated.load()
TEXTS = {key: (path, known["device"]) for key, path, known in [*simulated.golden(), *simulated.texts(simulated.SCHEDULES)]}


def document(path, device, *more, data=None):
    done = subprocess.run([TOOL, "simulate", path, "--device", device, "--json", *more], capture_output=True, check=True, timeout=300, input=data)
    return json.loads(done.stdout)


def text_of(path):
    return subprocess.run(["zstd", "-qdc", path], check=True, capture_output=True).stdout.decode()


@pytest.mark.parametrize("key", sorted(TEXTS))
def test_step_is_that_of_the_walk(key):
    path, device = TEXTS[key]
    ours, walked = document(path, device), ROWS[key]["walk"]
    assert ROWS[key]["text"] == simulated.digest_of(path)
    assert abs(ours["runtime_ns"] / 1e3 / walked["step"] - 1) < 0.03
    # conditions of loops, which the walk leaves out, hold a collective of the decode loop
    assert abs(ours["communication_ns"] / 1e3 / walked["comm"] - 1) < (0.04 if key.startswith("decode") else 0.01)
    assert ours["exposed_communication_ns"] <= ours["communication_ns"]
    # kernels without an estimate take no time in the walk
    bare = ours["sources"]["kernels"].get("traffic", {"ns": 0})["ns"]
    assert abs((ours["compute_ns"] - bare) / 1e3 / walked["compute"] - 1) < 0.01


def test_every_row_was_within_three_percent():
    assert len(ROWS) >= 25
    assert max(abs(row["error"]) for row in ROWS.values()) < 0.03


@pytest.mark.parametrize("key", sorted(TEXTS))
def test_sources_add_up(key):
    path, device = TEXTS[key]
    ours = document(path, device, "--ops")
    kernels, collectives = (sum(share["ns"] for share in ours["sources"][part].values()) for part in ("kernels", "collectives"))
    assert (kernels, collectives) == (ours["compute_ns"], ours["communication_ns"])
    assert ours["kernel_times"] == "compiler" and set(ours["sources"]["collectives"]) == {"published"}
    cycles = dict(re.findall(r'(?m)^ +(?:ROOT )?%([\w.-]+) = .*"estimated_cycles":"(\d+)"', text_of(path)))
    kernel = [op for op in ours["ops"] if op["stream"] == "compute" and op["opcode"] != "while"]
    assert kernel and {op["source"] for op in kernel} <= {"compiler", "traffic"}
    assert all((op["source"] == "compiler") == (op["name"] in cycles) for op in kernel)


def test_without_estimates_the_model_counts():
    key = next(key for key in sorted(TEXTS) if key.startswith("mlp"))
    path, device = TEXTS[key]
    bare = text_of(path).replace("estimated_cycles", "estimated_nothing")
    ours = document("-", device, data=bare.encode())
    assert ours["kernel_times"] == "model" and set(ours["sources"]["kernels"]) == {"model"} and set(ours["sources"]["collectives"]) == {"profile"}
