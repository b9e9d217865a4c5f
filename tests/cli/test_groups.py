"""--group and a schedule's groups: arguments that match one glob are decided as one and end alike."""
import json
import os
import subprocess

import pytest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))
MODULE = os.path.join(ROOT, "tests", "corpus", "mlp.mlir.zst")
WEIGHTS = "params*'w'*"


def search(*words, code=0):
    done = subprocess.run([TOOL, "search", MODULE, "--mesh", "data=4,model=2", "--evaluations", "600", "--json", *words],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout) if code == 0 else done.stderr


def axes_of(argument):
    """What the argument ends with, decided or by propagation; the order of dims matters, priorities do not."""
    found = argument["sharding"] if argument["sharding"] is not None else argument["propagated"]
    return json.dumps(found["dims"] if isinstance(found, dict) else found)


def kinds(document, members):
    return {axes_of(document["arguments"][i]) for i in members}


@pytest.fixture(scope="module")
def alone():
    return search()


def test_a_group_ends_alike(alone):
    """The weights have three shapes; by themselves they end in several ways."""
    assert "groups" not in alone
    members = [a["index"] for a in alone["arguments"] if a["name"].startswith("params") and a["name"].endswith("['w']")]
    assert len(members) == 4 and len(kinds(alone, members)) > 1
    document = search("--group", WEIGHTS)
    assert document["groups"] == [{"glob": WEIGHTS, "members": members}]
    assert len(kinds(document, members)) == 1
    assert any("data" in text or "model" in text for text in kinds(document, members)), "sharded at all"
    for action in document["actions"]:
        touched = set(action["members"]) & set(members)
        if touched and action["kind"] != "constrain":  # who is left out has come to the same by propagation
            assert all(document["arguments"][m]["sharding"] is None for m in set(members) - touched), action
    assert document["search"]["groups"] < alone["search"]["groups"]


def test_schedule_and_flag_come_to_the_same(tmp_path):
    schedule = tmp_path / "s.json"
    schedule.write_text(json.dumps({"groups": [WEIGHTS], "tactics": [{"auto": {}}]}))
    by_flag, by_schedule = search("--group", WEIGHTS), search("--schedule", str(schedule), "--group", WEIGHTS)
    for document in (by_flag, by_schedule):
        document["search"] = {key: value for key, value in document["search"].items() if "second" not in key and key != "incumbents"}
    assert by_flag == by_schedule


def test_threads_do_not_matter():
    answers = [search("--group", WEIGHTS, "--threads", n) for n in ("1", "4")]
    assert answers[0]["arguments"] == answers[1]["arguments"] and answers[0]["cost"] == answers[1]["cost"]


@pytest.mark.parametrize("words, said", (
    (("--group", "params*"), "arguments that shard alike: params['layers'][0]['b'] has rank 1, params['layers'][0]['w'] has rank 2"),
    (("--group", "*['layers'][1]['w']"), "params['layers'][1]['w'] is parameter, opt_state['m']['layers'][1]['w'] is state"),
    (("--group", WEIGHTS, "--group", "params*0*'w'*"), "both have argument params['layers'][0]['w']"),
    (("--group", WEIGHTS, "--pin", "params*0*'w'*:[[],[]]"), "params['layers'][0]['w'] is pinned to <@mesh, [{}, {}]>, params['layers'][1]['w'] is not pinned"),
))
def test_what_is_no_group(words, said):
    assert said in search(*words, code=1)


@pytest.mark.parametrize("schedule, said", (
    ({"groups": "x", "tactics": []}, "schedule: 'groups' must be a list of globs"),
    ({"groups": [3], "tactics": []}, "schedule: groups[0]: expected a glob"),
    ({"group": [], "tactics": []}, "unknown key 'group', expected tactics or groups"),
    ({"groups": [WEIGHTS], "tactics": [{"auto": {"arguments": "params*0*'w'*"}}]},
     "tactics[0]: of group 'params*'w'*' it takes params['layers'][0]['w'] and leaves out params['layers'][3]['w']"),
))
def test_schedules_that_are_wrong(schedule, said, tmp_path):
    path = tmp_path / "s.json"
    path.write_text(json.dumps(schedule))
    assert said in search("--schedule", str(path), code=1)


def test_what_is_forbidden_for_one_is_for_all():
    document = search("--group", WEIGHTS, "--forbid", "params*[0]*'w'*:0:data", "--forbid", "params*3*'w'*:0:model")
    members = document["groups"][0]["members"]
    assert len(kinds(document, members)) == 1 and json.loads(kinds(document, members).pop())[0] == []
