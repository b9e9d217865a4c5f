"""The outline of a strategy document: every argument is in one row, with those that are alike; decisions are on the same arguments as before."""
import json
import os
import random
import re
import subprocess

import pytest

TOOL = os.environ.get("SHARDWRIGHT", "build/shardwright")
# [0], ['0'], .0, layer_0, mlp_1/linear; not the digits of words, as in ln1
NUMBER = re.compile(r"""(?<=\[)\d+|(?:(?<=[\[\]'"./_])|^)\d+(?=$|[\]'"./_])""")


def outline(folder, document):
    path = folder / "s.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document, ensure_ascii=False))
    return subprocess.run([TOOL, "convert", "--strategy", str(path), "--outline"], capture_output=True, text=True)


def numbers(progressions):
    return [first + i * step for first, n, step in progressions for i in range(n)]


def cuts(sharding):
    return sharding["dims"] if isinstance(sharding, dict) else sharding


def named(pattern_or_name, name):
    return re.fullmatch(r"\d+".join(map(re.escape, pattern_or_name.split("*"))), name)


PIECES = ["[", "]", "'", '"', ".", "/", "_", "0", "1", "12", "007", "w", "ln1", "layers", "a9b", "[3]", "_2_", "é", ""]
SHARDINGS = [None, [["data"], []], [[], ["data"]], [["data", "model"], []], {"dims": [["data"], []], "replicated": ["model"]}]


def odd_document(rng, n):
    arguments = []
    for i in range(n):
        sharding = rng.choice(SHARDINGS)
        arguments.append({"index": i, "name": "".join(rng.choice(PIECES) for _ in range(1 + rng.randrange(6))), "type": rng.choice(["tensor<8x2xf32>", "tensor<4x4xf32>"]), "role": rng.choice(["parameter", "state"]),
                          "sharding": sharding, **({"propagated": [[], []]} if sharding is None else {})})
    actions = [{"step": i, "kind": "partition", "axis": "data", "members": rng.sample(range(n), rng.randrange(n))} for i in range(4)]
    return {"format": "shardwright.strategy/1", "arguments": arguments, "results": [{"index": 0}], "actions": actions, "cost": {"runtime_ns": 1}}


@pytest.mark.parametrize("seed", range(60))
def test_rows_hold_what_is_alike_and_all_of_it(tmp_path, seed):
    document = odd_document(random.Random(seed), 60)
    done = outline(tmp_path, document)
    assert done.returncode == 0, done.stderr
    short, expected = json.loads(done.stdout), {}
    for a in document["arguments"]:
        key = (NUMBER.sub("*", a["name"]), a["type"], a["role"], json.dumps(cuts(a["sharding"])))  # as the table has them: what they are cut over
        expected.setdefault(key, []).append(a["index"])
    assert [numbers(r["members"]) for r in short["rows"]] == list(expected.values())
    for row in short["rows"]:
        first = document["arguments"][row["members"][0][0]]
        assert {k: row.get(k) for k in ("type", "role", "sharding", "propagated")} == {k: first.get(k) for k in ("type", "role", "sharding", "propagated")}
        assert row["count"] == len(numbers(row["members"])) and all(named(row["name"], document["arguments"][i]["name"]) for i in numbers(row["members"]))
    for a, b in zip(document["actions"], short["actions"]):
        assert numbers(b["members"]) == a["members"] and (b["axis"], b["step"]) == (a["axis"], a["step"])
        names = [document["arguments"][i]["name"] for i in a["members"]]
        patterns = list(dict.fromkeys(NUMBER.sub("*", n) for n in names))
        assert [NUMBER.sub("*", t["name"]) for t in b["targets"]] == patterns
        for t, p in zip(b["targets"], patterns):
            of = [n for n in names if NUMBER.sub("*", n) == p]
            assert t["count"] == len(of) and all(named(t["name"], n) for n in of)
            assert len(of) > 1 or t["name"] == of[0]
    assert "arguments" not in short and "results" not in short and short["cost"] == document["cost"]


def test_layers_take_no_room(tmp_path):
    arguments = [{"index": i, "name": "p[%d].w%s" % (i // 10, "abcdefghij"[i % 10]), "type": "tensor<8x8xf32>", "role": "parameter", "sharding": [["x"], []]} for i in range(50000)]
    done = outline(tmp_path, {"arguments": arguments, "actions": [{"members": list(range(50000))}]})
    assert len(json.loads(done.stdout)["rows"]) == 10 and len(done.stdout) < 3000


@pytest.mark.parametrize("text,said", [("", "invalid JSON"), ('{"arguments": [', "1:15: error: strategy: invalid JSON"), ("[]", "expected a strategy document"), ('{"arguments": 3}', "expected a strategy document")])
def test_what_is_no_document_is_refused(tmp_path, text, said):
    done = outline(tmp_path, text)
    assert done.returncode == 1 and said in done.stderr and not done.stdout


@pytest.mark.parametrize("text", ['{"arguments": [1, null, {}]}', '{"arguments": [{"name": 3, "sharding": 7}], "actions": [3, {"members": ["a", -1, 1e300, 0, 0.5]}], "groups": {"a": []}}', '{"arguments": [], "actions": [{"members": [0]}]}'])
def test_documents_of_anyone(tmp_path, text):
    done = outline(tmp_path, text)
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)


@pytest.mark.parametrize("flags", [["--outline"], ["--strategy", "x", "--outline", "--to", "jax"], ["--strategy", "x"], ["--mesh", "x=2", "--rank", "1", "--from", "jax", "--to", "sdy", "--outline", "P()"]])
def test_usage(flags):
    assert subprocess.run([TOOL, "convert", *flags], capture_output=True).returncode == 64
