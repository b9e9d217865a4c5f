"""Where nothing fits: what is answered, and what is said to help."""
import json
import os
import re
import subprocess

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))


def search(path, memory, mesh="data=4,model=2", evaluations="600"):
    done = subprocess.run([TOOL, "search", str(path), "--mesh", mesh, "--device", "tpu-v5e", "--memory", memory, "--evaluations", evaluations, "--json"],
                          capture_output=True, text=True)
    assert done.returncode in (0, 2), done.stderr
    return json.loads(done.stdout)


def corpus(name):
    return os.path.join(ROOT, "tests", "corpus", name + ".mlir.zst")


def dearness(cost):
    """A hundredth of the memory is worth a tenth of the time."""
    return cost["peak_bytes"] ** 10 * cost["runtime_ns"]


def test_time_is_not_given_away_for_little_memory():
    document = search(corpus("transformer_4"), "512MiB", "data=2,model=2")
    assert not document["fits"]
    for baseline in document["baselines"]:
        assert dearness(document["cost"]) <= 1.001 * dearness(baseline["cost"]), baseline["name"]
    facts = document["too_large"]
    assert facts["smallest_peak_bytes"] <= document["cost"]["peak_bytes"]
    # a device count that the arguments alone ask for
    assert facts["least_devices"] >= 4 * document["search"]["bound"]["peak_bytes"] / document["memory_limit_bytes"]
    assert "donation_saves_bytes" not in facts and "rematerialise_bytes" not in facts


def test_what_is_said_to_fit_fits(tmp_path):
    facts = search(corpus("mlp"), "61MiB")["too_large"]
    # another limit, another way of the search
    document = search(corpus("mlp"), str(facts["smallest_peak_bytes"] * 33 // 32))
    assert document["fits"] and "too_large" not in document


def test_donation_and_temporaries(tmp_path):
    text = subprocess.run(["zstd", "-qdc", corpus("mlp")], check=True, capture_output=True).stdout.decode()
    path = tmp_path / "mlp.mlir"
    path.write_text(re.sub(r"tf\.aliasing_output = \d+ : i32(, )?", "", text))
    document = search(path, "61MiB")
    saved = document["too_large"]["donation_saves_bytes"]
    donated = search(corpus("mlp"), "61MiB")["cost"]
    assert abs(donated["alias_bytes"] - saved) < saved / 20
    # the forward pass holds little but its temporaries
    document = search(corpus("transformer_4_forward"), "600MiB")
    cost = document["cost"]
    assert not document["fits"] and cost["peak_bytes"] - cost["temporary_bytes"] <= document["memory_limit_bytes"]
    assert document["too_large"]["rematerialise_bytes"] == cost["peak_bytes"] - document["memory_limit_bytes"]


def test_the_table_names_what_fits():
    words = [TOOL, "search", corpus("mlp"), "--mesh", "data=4,model=2", "--device", "tpu-v5e", "--evaluations", "600"]
    done = subprocess.run([*words, "--memory", "1KiB"], capture_output=True, text=True)
    assert done.returncode == 2
    limit = re.search(r"fits from --memory (\d+MiB) on", done.stdout)[1]
    assert re.search(r"the arguments alone need \d+ devices", done.stdout)
    assert "donated" not in done.stdout
    assert subprocess.run([*words, "--memory", limit], capture_output=True).returncode == 0
