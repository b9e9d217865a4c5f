#!/usr/bin/env python3
"""`shardwright simulate` of compiled programs beside xla_timeline.py's walk of the same text.

    simulated.py [--kept DIR] [--tools DIR]

Prints, for every text that is at hand, step and parts by the walk and the error of `simulate`: those of schedules/ and of tests/golden/hlo
(TPU), which are in the repository, and those of --kept, a folder that mint.py or bank.py --keep has filled. What the walk says is kept in
simulated.json. A text that is not there is walked and added, which needs libtpu and the scripts of --tools; nothing else does. Rows whose text is
not at hand are printed with the error that they had, in brackets.
"""
import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))

ROWS = os.path.join(HERE, "simulated.json")
SCHEDULES = os.path.join(HERE, "schedules")
GOLDEN = os.path.join(ROOT, "tests", "golden", "hlo")
PARTS = {"step": "runtime_ns", "compute": "compute_ns", "comm": "communication_ns", "exposed": "exposed_communication_ns"}


def load():
    with open(ROWS) as f:
        return json.load(f)


def save(rows):
    with open(ROWS + ".new", "w") as f:
        f.write("{\n" + ",\n".join("%s: %s" % (json.dumps(k), json.dumps(rows[k], sort_keys=True)) for k in sorted(rows)) + "\n}\n")
    os.replace(ROWS + ".new", ROWS)


def texts(*folders):
    """(key, path of the text, what is known of it): mesh, device, topology."""
    for folder in folders:
        for name in sorted(os.listdir(folder)):
            if name.endswith(".hlo.zst") and os.path.exists(os.path.join(folder, name[:-8] + ".json")):
                with open(os.path.join(folder, name[:-8] + ".json")) as f:
                    known = json.load(f)
                yield known.pop("key"), os.path.join(folder, name), known


def golden():
    """Those were compiled with devices as the topology lists them."""
    for name in sorted(os.listdir(GOLDEN)):
        if name.startswith("tpu_") and name.endswith(".hlo.zst"):
            yield "golden " + name[4:-8], os.path.join(GOLDEN, name), {"mesh": None, "device": "tpu-v5e", "topology": "v5e:2x4"}


def digest_of(path):
    text = subprocess.run(["zstd", "-qdc", path], check=True, capture_output=True).stdout
    return hashlib.sha256(text).hexdigest()[:16]


def walk(path, known, tools):
    plain = path[:-4] + ".walked"
    subprocess.run(["zstd", "-qdf", path, "-o", plain], check=True)
    if known["mesh"]:
        command = [os.path.join(HERE, "in_mesh_order.py"), tools, known["mesh"], "walk"]
    else:
        command = [os.path.join(tools, "xla_timeline.py")]
    try:
        done = subprocess.run([sys.executable, *command, known["topology"], plain], capture_output=True, text=True, check=True,
                              env=dict(os.environ, ALLOW_MULTIPLE_LIBTPU_LOAD="1"))
    finally:
        os.unlink(plain)
    return json.loads(done.stdout)


def simulate(path, device):
    """Step and parts in us, as the walk has them."""
    document = json.loads(subprocess.run([TOOL, "simulate", path, "--device", device, "--json"], check=True, capture_output=True, text=True).stdout)
    return {part: document[key] / 1e3 for part, key in PARTS.items()}


def error(ours, walked, part="step"):
    return ours[part] / walked[part] - 1 if walked[part] else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kept", help="folder of further texts")
    parser.add_argument("--tools", default=os.path.join(ROOT, "..", "shared", "tools"))
    options = parser.parse_args()
    rows, here = load(), {}
    for key, path, known in [*golden(), *texts(SCHEDULES, *filter(None, [options.kept]))]:
        digest = digest_of(path)
        if rows.get(key, {}).get("text") != digest:
            rows[key] = {"text": digest, **known, "walk": walk(path, known, options.tools)}
        here[key] = simulate(path, known["device"])
        rows[key]["error"] = round(error(here[key], rows[key]["walk"]), 5)
    if options.kept:
        save(rows)
    print("%-96s %12s %8s %8s %8s" % ("compiled program", "step, us", "error", "core", "links"))
    for key in sorted(rows):
        walked = rows[key]["walk"]
        shown = "%10s" % ("(%+.2f%%)" % (100 * rows[key]["error"]))
        if key in here:
            shown = "%+7.2f%% %+7.2f%% %+7.2f%%" % tuple(100 * error(here[key], walked, part) for part in ("step", "compute", "comm"))
        print("%-96.96s %12.1f %s" % (key, walked["step"], shown))
    errors = [abs(row["error"]) for row in rows.values()]
    print("\n%d programs: median error %.2f%%, worst %.2f%%, within 3%% in %d" % (
        len(errors), 100 * statistics.median(errors), 100 * max(errors), sum(e <= .03 for e in errors)))


if __name__ == "__main__":
    main()
