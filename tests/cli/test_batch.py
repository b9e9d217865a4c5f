"""`batch`: what JOBS may look like, faults with their position, sweeps, exit codes. Kills and daemons: tests/load/test_batch.py."""
import csv
import io
import json
import os
import pathlib
import pty
import re
import shutil
import sqlite3
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = os.path.abspath(os.environ.get("SHARDWRIGHT", ROOT / "build" / "shardwright"))
MODULE = str(ROOT / "tests" / "corpus" / "mlp_tiny.mlir.zst")


def run(folder, text, *flags, code=0):
    """The document and what went to standard error."""
    (folder / "jobs").write_bytes(text if isinstance(text, bytes) else text.encode())
    command = [TOOL, "batch", "jobs", "--store", "store", "--json", *flags]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (done.returncode, done.stderr[-2000:])
    return json.loads(done.stdout) if done.stdout else None, done.stderr


def plan(folder, text, *flags, code=0):
    return run(folder, text, "--dry-run", *flags, code=code)


def line(**fields):
    return json.dumps({"module": MODULE, **fields}) + "\n"


TABLE = (
    "module,mesh,pins,memory,priority,evaluations,open_results\r\n"
    f'{MODULE},"data=4,model=2","batch*:[[""data""],[]]",16GiB,7,,true\r\n'
    "\r\n"
    f'"{MODULE}",data=8,"[""batch*:[[],[]]"",""params*w1*:[[],[]]""]",,,200,\r\n'
    f'{MODULE},"{{""axes"":[{{""name"":""d"",""size"":2}}]}}",,1000000,-3,,false'
)


def test_a_table_is_the_same_as_lines(folder):
    rows = [
        dict(mesh="data=4,model=2", pins=['batch*:[["data"],[]]'], memory="16GiB", priority=7, open_results=True),
        dict(mesh="data=8", pins=["batch*:[[],[]]", "params*w1*:[[],[]]"], evaluations=200),
        dict(mesh={"axes": [{"name": "d", "size": 2}]}, memory=1000000, priority=-3, open_results=False),
    ]
    wanted, _ = run(folder, "".join(line(**row) for row in rows), code=2)
    (folder / "tsv").mkdir()
    tabs = "module\tmesh\tmemory\tpriority\topen_results\tpins\n" + f'{MODULE}\tdata=4,model=2\t16GiB\t7\ttrue\t"batch*:[[""data""],[]]"\n'
    # The store of the lines knows the answers of the rows, so they ask the same.
    for text, n, lines in ((TABLE, 3, [2, 4, 5]), (b"\xef\xbb\xbf" + TABLE.encode(), 3, [2, 4, 5]), (tabs, 1, [2])):
        got, err = run(folder, text, code=2 if n == 3 else 0)
        assert not err.startswith("jobs:")
        assert [j["line"] for j in got["jobs"]] == lines
        assert got["summary"]["known"] == n
        for job, other in zip(got["jobs"], wanted["jobs"]):
            assert {k: job[k] for k in ("mesh", "priority", "strategy", "memory_bytes")} == {k: other[k] for k in ("mesh", "priority", "strategy", "memory_bytes")}


@pytest.fixture
def folder(tmp_path):
    return tmp_path


FAULTS = [
    ('{"module":"m","mesh":"data=4"', 1, 30, "expected ',' or '}'"),
    ("[1]", 1, 1, "expected an object such as"),
    ('{"mesh":"data=4"}', 1, 1, "module: expected the path of a module"),
    ('{"module": 3, "mesh":"data=4"}', 1, 12, "module: expected the path of a module"),
    ('{"module":"m"}', 1, 1, "mesh: expected a mesh"),
    ('{"module":"m","mesh": "data=4,data=2"}', 1, 23, "the axis 'data' occurs twice"),
    ('{"module":"m","mesh":"data=4","device":"tpu-v9"}', 1, 40, "device: "),
    ('{"module":"m","mesh":"data=4","memory":"16 apples"}', 1, 40, "memory: expected bytes, or a size"),
    ('{"module":"m","mesh":"data=4","colour":"red"}', 1, 40, "colour: unknown field, expected one of: module mesh"),
    ('{"module":"m","mesh":"data=4","priority":1.5}', 1, 42, "priority: expected an integer"),
    ('{"module":"m","mesh":"data=4","pins":["x"]}', 1, 38, "pins/0: expected 'GLOB:..' with a colon"),
    ('{"module":"m","mesh":"data=4","schedule":"none.json"}', 1, 42, "schedule: cannot open 'none.json'"),
    ('{"module":"m","mesh":"data=4","schedule":{"tactics":[{"named":"zero9"}]}}', 1, 42, "schedule/tactics/0/named: expected one of"),
    ('{"module":"m","mesh":"data=4","evaluations":5,"seconds":2}', 1, 57, "seconds: give evaluations or seconds, not both"),
    ('{"module":"m","mesh":"data=4","module":"n"}', 1, 39, "occurs twice"),
    ("module,mesh\nm,\"data=4\n", 2, 3, "a quote is not closed"),
    ("module,mesh\nm,data=4,more\n", 2, 1, "3 cells, the header has 2"),
    ("module,mesh,seed\nm,data=4,many\n", 2, 10, "seed: expected a number"),
    ("module,mesh\n,data=4\n", 2, 1, "module: expected the path of a module"),
    ("module,mesh\n,\nm,data=4,\n", 3, 1, "3 cells, the header has 2"),
    ('module,mesh\n"m","data=0"\n', 2, 5, "mesh: the axis 'data' has size 0"),
    ('{"module": "m", "mesh": "data=4", "seeds": 0}', 1, 44, "seeds: expected an integer from 1 to 1000"),
    ('{"module": "m", "mesh": "data=4", "seeds": 2.5}', 1, 44, "seeds: expected an integer"),
    ('{"module": "m", "mesh": "data=4", "seeds": 1001}', 1, 44, "seeds: expected an integer"),
    ('{"module": "m", "mesh": "data=4", "seeds": "3"}', 1, 44, "seeds: expected an integer"),
    ('{"module": "m", "seed": 1.5, "mesh": "data=4", "seeds": 3}', 1, 25, "seed: expected an integer"),
    ('{"module": "m", "seed": -1, "mesh": "data=4", "seeds": 3}', 1, 25, "seed: expected an integer"),
    ('{"module": "m", "seed": 9007199254740990, "mesh": "data=4", "seeds": 3}', 1, 25, "seed: too large for as many seeds"),
    ('{"module": "m", "mesh": "data=4", "seeds": 3, "warm_start": true}', 1, 61, "warm_start: each of several seeds begins with nothing"),
    ('{"module": "m", "mesh": "data=4", "seeds": 3, "warm_start": 1}', 1, 61, "warm_start: expected true or false"),
    ("module,mesh,seeds\nm,data=4,all\n", 2, 10, "seeds: expected a number"),
    ("module,mesh,trip_count\nm,data=4,2x\n", 2, 10, "trip_count: expected a number"),
    ("module,mesh,open_results\nm,data=4,yes\n", 2, 10, "open_results: expected true or false"),
    ('module,mesh,schedule\nm,data=4,"{""tactics"":"\n', 2, 10, "schedule: the text ends"),
]


@pytest.mark.parametrize("text,row,col,what", FAULTS)
def test_a_broken_line(folder, text, row, col, what):
    """Told with its position; what is beside it runs, unless --strict says otherwise."""
    document, err = plan(folder, text, code=1)
    assert f"jobs:{row}:" in err and what in err, err
    found = document["refused"][0]
    assert (found["line"], found["column"]) == (row, col), err
    if text.startswith("{"):
        document, err = plan(folder, line(mesh="data=2") + text + "\n" + line(mesh="data=4"), code=1)
        assert [j["state"] for j in document["jobs"]] == ["waiting", "waiting"] and document["refused"][0]["line"] == 2
        document, err = plan(folder, line(mesh="data=2") + text, "--strict", code=1)
        assert document is None and "--strict: nothing was searched" in err


def test_nothing_can_be_read(folder):
    for text, what in (("", "no jobs in it"), (" \n\n", "no jobs in it"), ("module,colour\nm,red\n", "jobs:1:8: error: unknown column 'colour'"),
                       ("module,module\n", "jobs:1:8: error: the column 'module' occurs twice"), ("module,\"mesh\n", "jobs:1:8: error: a quote is not closed"),
                       (b"\x00\x01", "jobs:1:1: error: unknown column")):
        document, err = plan(folder, text, code=1)
        assert document is None and what in err, (text, err)
    done = subprocess.run([TOOL, "batch", "nowhere", "--store", "s"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 1 and "cannot open 'nowhere'" in done.stderr
    assert not (folder / "s").exists()


def test_usage(folder):
    for flags in ((), ("jobs",), ("jobs", "--store", "s", "--server", "x"), ("jobs", "more", "--store", "s"), ("jobs", "--store", "s", "--sweep", "8"),
                  ("jobs", "--store", "s", "--sweep", "devices=0"), ("jobs", "--server", "x", "--workers", "2"), ("jobs", "--store", "s", "--nope"), ("jobs", "--store", "s", "--queue", "q", "--dry-run"),
                  ("jobs", "--store", "s", "--nodes", "2"), ("--merge", "--store", "s"), ("--merge", "x"), ("jobs", "--store", "s", "--lease", "5"), ("jobs", "--store", "s", "--seeds", "0"), ("jobs", "--store", "s", "--seeds", "1001"),
                  ("--merge", "x", "--store", "s", "--seeds", "2")):
        done = subprocess.run([TOOL, "batch", *flags], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 64, flags
    (folder / "jobs").write_text(line(mesh="data=2"))
    done = subprocess.run([TOOL, "batch", "jobs", "--store", "s", "--workers", "0"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 1 and "workers is 0, expected 1 to 256" in done.stderr


def test_order_duplicates_and_exit_codes(folder):
    jobs = line(mesh="data=2", evaluations=100) + line(mesh="data=4", evaluations=100, priority=2) + line(mesh="data=2", evaluations=100, seed=9, priority=9)
    document, err = plan(folder, jobs)
    assert "jobs:3:1: warning: the same question as line 1: one search answers both" in err
    assert document["summary"]["duplicates"] == 1 and not (folder / "store").exists()
    _, err = run(folder, jobs, "--strict", code=1)
    assert "jobs:3:1: error: the same question as line 1" in err
    document, err = run(folder, jobs, "--workers", "1")
    assert [j["from"] for j in document["jobs"]] == ["search", "search", "duplicate"]
    assert document["jobs"][0]["strategy"] == document["jobs"][2]["strategy"]
    told = [text.split()[2] for text in err.splitlines() if text.startswith("[")]
    assert told == ["data=2", "data=2", "data=4"]  # the duplicate's priority counts
    document, _ = run(folder, jobs)
    assert document["summary"]["known"] == 2 and document["summary"]["searched"] == 0
    document, _ = run(folder, line(mesh="data=2", memory="1KiB", evaluations=100), code=2)
    assert document["jobs"][0]["fits"] is False and document["summary"]["too_large"] == 1
    broken = folder / "broken.mlir"
    broken.write_text("module {\n  func.func @main() { oops }\n}\n")
    document, _ = run(folder, line(mesh="data=2", evaluations=100) + json.dumps({"module": "broken.mlir", "mesh": "data=2"}), code=4)
    assert document["jobs"][1]["error"].startswith("broken.mlir:2:"), document["jobs"][1]
    run(folder, json.dumps({"module": "broken.mlir", "mesh": "data=2"}), code=1)


def shapes(folder, n, device="tpu-v5e"):
    document, _ = plan(folder, json.dumps({"module": MODULE, "device": device}), "--sweep", f"devices={n}")
    return [j["mesh"] for j in document["jobs"]]


def test_shapes_of_a_sweep(folder):
    assert shapes(folder, 1) == ["x=1"]
    assert shapes(folder, 7) == ["x=7"]
    # A torus: axes of the same sizes lie on it in the same way, in whatever order they stand.
    assert shapes(folder, 16) == ["x=16", "x=8,y=2", "x=4,y=4", "x=4,y=2,z=2"]
    # Eight devices of a server, then the network: which axis is inside matters.
    assert shapes(folder, 16, "h100") == ["x=16", "x=8,y=2", "x=4,y=4", "x=2,y=8", "x=4,y=2,z=2", "x=2,y=4,z=2"]
    # .. and inside of one server it does not.
    assert shapes(folder, 8, "h100") == ["x=8", "x=4,y=2", "x=2,y=2,z=2"]
    for n in (8, 12, 30, 64):
        for device in ("tpu-v5p", "a100", "mi300x"):
            found = shapes(folder, n, device)
            assert len(found) == len(set(found))
            for mesh in found:
                sizes = [int(axis.split("=")[1]) for axis in mesh.split(",")]
                product = 1
                for size in sizes:
                    product *= size
                assert product == n and len(sizes) <= 3 and min(sizes) > 1
            # Of each multiset of sizes there is one.
            every = {tuple(sorted([a, b, n // a // b])) for a in range(1, n + 1) if n % a == 0 for b in range(1, n // a + 1) if n // a % b == 0}
            assert {tuple(sorted([int(axis.split("=")[1]) for axis in mesh.split(",")] + [1] * (2 - mesh.count(",")))) for mesh in found} == every


def test_a_sweep_ranks(folder):
    document, err = run(folder, line(evaluations=100, device="h100"), "--sweep", "devices=8")
    ranking = document["rankings"][0]
    times = [document["jobs"][i]["runtime_ns"] for i in ranking["jobs"]]
    assert ranking["devices"] == 8 and sorted(ranking["jobs"]) == [0, 1, 2] and times == sorted(times)
    assert "SHAPES of 8 h100" in err
    _, err = plan(folder, line(mesh="data=8"), "--sweep", "devices=8", code=1)
    assert "mesh: --sweep makes the meshes: leave it out" in err


def test_seeds(folder):
    """Each seed has the answer that a search of its own finds, whatever the store has; any other question gets the best of them."""
    asked = dict(mesh="x=2,y=4", evaluations=300)
    less = asked | dict(evaluations=200)
    run(folder, line(**asked, seed=5) + line(**less, seed=6))  # of the same question, but no answers of seeds
    text = line(**asked, seeds=3, seed=5) + "\n" + line(**asked, seeds=2, seed=7) + line(**less)
    document, err = run(folder, text, "--workers", "2")
    jobs = document["jobs"]
    assert [j.get("seed") for j in jobs] == [5, 6, 7, 7, 8, None]
    assert [j["from"] for j in jobs] == ["search", "search", "search", "duplicate", "search", "store"], err
    for job in jobs[:5]:
        alone = subprocess.run([TOOL, "search", MODULE, "--mesh", "x=2,y=4", "--evaluations", "300", "--seed", str(job["seed"]), "--json"], capture_output=True, text=True)
        assert json.loads(alone.stdout)["cost"]["runtime_ns"] == job["runtime_ns"]
    assert [(s["line"], s["seeds"], s["answered"], s["fit"]) for s in document["seeds"]] == [(1, 3, 3, 3), (3, 2, 2, 2)]
    assert jobs[2]["strategy"] == jobs[3]["strategy"] and jobs[2]["search"] == jobs[3]["search"]
    again, _ = plan(folder, text, "--seeds", "4")  # lines that say how many keep their number
    assert [j["state"] for j in again["jobs"]] == ["succeeded"] * 5 + ["waiting"] * 4
    assert [j["seed"] for j in again["jobs"][5:]] == [1, 2, 3, 4]


def test_the_spread_of_seeds(folder):
    """What the summary says of answers whose costs are known here."""
    text = line(mesh="x=2,y=4", evaluations=60, seeds=5) + line(mesh="x=8", evaluations=60, seeds=4) + line(mesh="x=8", evaluations=60, seeds=2, objective="memory")
    run(folder, text)
    costs = {("x=2,y=4", "runtime"): [(900, 1), (500, 0), (700, 1), (700, 1), (1000, 1)], ("x=8", "runtime"): [(40, 0), (10, 0), (30, 0), (20, 0)],
             ("x=8", "memory"): [(30, 1), (20, 1)]}
    store = sqlite3.connect(folder / "store" / "shardwright.db")
    for (mesh, objective), answers in costs.items():
        for seed, (cost, fits) in enumerate(answers, 1):
            column, other = ("best_peak_bytes", "best_runtime_ns") if objective == "memory" else ("best_runtime_ns", "best_peak_bytes")
            assert store.execute(f"UPDATE searches SET {column} = ?, {other} = ?, best_fits = ? WHERE mesh = ? AND objective = ? AND request ->> '$.seed' = ?",
                                 (cost, 7 * seed, fits, mesh, objective, seed)).rowcount == 1
    store.commit()
    store.close()
    document, err = run(folder, text, code=2)  # one of the three has no answer that fits
    fields = ("seeds", "answered", "fit", "best", "best_seed", "reached", "median", "worst", "jobs")
    assert [tuple(s[f] for f in fields) for s in document["seeds"]] == [
        (5, 5, 4, 700, 3, 2, 800, 1000, [2, 3, 0, 4, 1]), (4, 4, 0, 10, 2, 1, 25, 40, [6, 8, 7, 5]), (2, 2, 2, 20, 2, 1, 25, 30, [10, 9])]
    assert document["summary"]["too_large"] == 1 and document["summary"]["known"] == 11
    table = [row.split() for row in err[err.index("ANSWERED"):].splitlines()[1:4]]
    assert [row[4:7] + row[-1:] for row in table] == [["5", "5", "4", "+42.9%"], ["4", "4", "0", "+300.0%"], ["2", "2", "2", "+50.0%"]]


def test_shapes_by_their_best_seed(folder):
    text = line(evaluations=60, device="h100", seeds=3)
    run(folder, text, "--sweep", "devices=8")
    store = sqlite3.connect(folder / "store" / "shardwright.db")
    for seed, cost in ((1, 900), (2, 100), (3, 500)):
        store.execute("UPDATE searches SET best_runtime_ns = ? + number WHERE request ->> '$.seed' = ?", (cost, seed))
    store.execute("UPDATE searches SET best_runtime_ns = 1 WHERE mesh = 'x=4,y=2' AND request ->> '$.seed' = 3")
    store.commit()
    store.close()
    document, err = run(folder, text, "--sweep", "devices=8")
    best = [(document["jobs"][i]["mesh"], document["jobs"][i]["seed"]) for i in document["rankings"][0]["jobs"]]
    assert best == [("x=4,y=2", 3), ("x=8", 2), ("x=2,y=2,z=2", 2)] and document["summary"]["jobs"] == 9
    assert len(document["seeds"]) == 3 and len(document["rankings"]) == 1


def test_more_jobs_than_there_may_be(folder):
    document, err = plan(folder, "module,mesh,seeds\n" + f"{MODULE},x=8,1000\n" * 101, code=1)
    assert document is None and "more than 100000 jobs" in err


def test_an_id_of_the_store(folder):
    document, _ = run(folder, line(mesh="data=2", evaluations=100))
    known = sqlite3.connect(folder / "store" / "shardwright.db").execute("SELECT id FROM modules").fetchone()[0]
    document, _ = run(folder, json.dumps({"module": known, "mesh": "data=2", "evaluations": 100}))
    assert document["summary"]["known"] == 1
    document, _ = run(folder, json.dumps({"module": "sha256:" + "0" * 64, "mesh": "data=2"}), code=1)
    assert "the store has no module" in document["jobs"][0]["error"]


def test_progress_on_a_terminal(folder):
    (folder / "jobs").write_text("".join(line(mesh=f"data={n}", evaluations=100) for n in (2, 4, 8)))
    main, side = pty.openpty()
    done = subprocess.run([TOOL, "batch", "jobs", "--store", "store", "--workers", "1"], cwd=folder, stdout=subprocess.PIPE, stderr=side, timeout=60)
    os.close(side)
    text = os.read(main, 1 << 16).decode()
    os.close(main)
    assert done.returncode == 0 and "1 of 3 jobs, about " in text and " left" in text and text.endswith("\r\x1b[K"), text


# ---------------------------------------------------------------- store


def store(folder, *flags, code=0):
    done = subprocess.run([TOOL, "store", *flags, "--store", "store"], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """Two devices, two programs, sweeps; then the answers of one mesh again, as an older cost model had them."""
    folder = tmp_path_factory.mktemp("filled")
    other = str(ROOT / "tests" / "corpus" / "transformer_2_tiny.mlir.zst")
    run(folder, line(evaluations=100) + line(evaluations=100, device="h100") + json.dumps({"module": other, "evaluations": 100}), "--sweep", "devices=8")
    run(folder, line(mesh="data=4", evaluations=100, objective="memory") + line(mesh="data=4", evaluations=100, memory="1KiB"), code=2)
    db = sqlite3.connect(folder / "store" / "shardwright.db")
    columns = [c for _, c, *_ in db.execute("PRAGMA table_info(strategies)") if c not in ("number", "id", "cost_model", "runtime_ns")]
    names = ", ".join(columns)
    db.execute(f"INSERT INTO strategies (number, id, cost_model, runtime_ns, {names}) SELECT -number, id || 'x', 'older', 2 * runtime_ns, {names}"
               " FROM strategies WHERE mesh = 'x=8'")
    db.commit()
    db.close()
    return folder


def test_views_as_csv_and_json(filled):
    db = sqlite3.connect(filled / "store" / "shardwright.db")
    db.row_factory = sqlite3.Row
    for name, view, n in (("best", "best_per_mesh", 13), ("ranking", "mesh_ranking", 13), ("history", "cost_model_history", 16)):
        wanted = sorted([dict(row) for row in db.execute(f"SELECT * FROM {view}")], key=str)
        document = json.loads(store(filled, name, "--json"))
        assert document["format"] == f"shardwright.{name}/1" and len(wanted) == n
        assert sorted(document["rows"], key=lambda r: str({k: int(v) if isinstance(v, bool) else v for k, v in r.items()})) == wanted
        rows = list(csv.DictReader(io.StringIO(store(filled, name, "--csv"))))
        assert [{k: "" if v is None else str(int(v) if isinstance(v, bool) else v) for k, v in r.items()} for r in document["rows"]] == rows
        assert len(store(filled, name).splitlines()) == n + 1


def test_views_keep_apart_what_does_not_compare(filled, tmp_path):
    """Searches that ended early count after whole ones, however good their plans are, and cost models are not mixed."""
    shutil.copytree(filled / "store", tmp_path / "store")
    db = sqlite3.connect(tmp_path / "store" / "shardwright.db")
    columns = [c for _, c, *_ in db.execute("PRAGMA table_info(strategies)") if c not in ("number", "id", "cost_model", "runtime_ns", "partial", "mesh")]
    names = ", ".join(columns)
    rows = "SELECT {}, {}, {}, {}, {}, 1, " + names + " FROM strategies WHERE cost_model <> 'older' AND objective = 'runtime' AND mesh = 'x=8'"
    insert = f"INSERT INTO strategies (number, id, cost_model, runtime_ns, mesh, partial, {names}) "
    db.execute(insert + rows.format("number + 1000", "id || 'early'", "cost_model", "runtime_ns / 2", "mesh"))
    db.execute(insert + rows.format("number + 2000", "id || 'alone'", "cost_model", "runtime_ns / 3", "'x=1,y=8'"))
    db.execute("UPDATE strategies SET runtime_ns = 1 WHERE cost_model = 'older'")  # it said that all is quick
    db.commit()
    whole = {row[0] for row in db.execute("SELECT id FROM strategies WHERE partial = 0 AND cost_model <> 'older'")}
    for view, name in (("best_strategies", "id"), ("best_per_mesh", "strategy"), ("best_known", "strategy")):
        found = {row[0] for row in db.execute(f"SELECT {name} FROM {view} WHERE mesh = 'x=8'")}
        assert found and found <= whole, view
    assert {row[0] for row in db.execute("SELECT id FROM model_best WHERE mesh = 'x=8' AND cost_model <> 'older'")} <= whole
    early = json.loads(store(tmp_path, "best", "--mesh", "x=1,y=8", "--json"))["rows"]
    assert early and all(r["partial"] is True for r in early)
    ranked = json.loads(store(tmp_path, "ranking", "--device", "h100", "--module", MODULE, "--json"))["rows"]
    assert [r["place"] for r in ranked if r["partial"]] == [1] and [r["place"] for r in ranked if not r["partial"] and r["devices"] == 8] == [1, 2, 3]
    assert {r["partial"] for r in json.loads(store(tmp_path, "history", "--mesh", "x=8", "--json"))["rows"]} == {False}


def test_what_the_views_say(filled):
    ranking = json.loads(store(filled, "ranking", "--devices", "8", "--module", MODULE, "--device", "h100", "--json"))["rows"]
    assert [r["place"] for r in ranking] == [1, 2, 3] and {r["mesh"] for r in ranking} == {"x=8", "x=4,y=2", "x=2,y=2,z=2"}
    times = [r["runtime_ns"] for r in ranking]
    assert times == sorted(times) and [r["of_best"] for r in ranking] == [round(t / times[0], 3) for t in times]
    document = json.loads(sqlite3.connect(filled / "store" / "shardwright.db").execute(
        "SELECT document FROM strategies WHERE id = ?", [ranking[0]["strategy"]]).fetchone()[0])
    assert document["cost"]["runtime_ns"] == times[0]
    best = json.loads(store(filled, "best", "--mesh", ranking[0]["mesh"], "--device", "h100", "--json"))["rows"][0]
    baseline = min(document["baselines"], key=lambda b: (not b["fits"], b["cost"]["runtime_ns"]))
    assert (best["strategy"], best["baseline"], best["baseline_runtime_ns"]) == (ranking[0]["strategy"], baseline["name"], baseline["cost"]["runtime_ns"])
    # The older cost model is history, and nothing else.
    assert all(r["cost_model"] != "older" for r in json.loads(store(filled, "best", "--json"))["rows"])
    history = json.loads(store(filled, "history", "--mesh", "x=8", "--device", "h100", "--json"))["rows"]
    assert [(r["cost_model"] == "older", r["of_previous"]) for r in history] == [(True, None), (False, 0.5)]
    # By name, by id, by fingerprint.
    for module in ("jit_tiny_step", ranking[0]["fingerprint"]):
        assert len(json.loads(store(filled, "ranking", "--module", module, "--json"))["rows"]) == 9
    assert json.loads(store(filled, "best", "--module", "nobody", "--json"))["rows"] == []
    assert store(filled, "best", "--module", "nobody", "--csv").startswith("module,fingerprint,devices,mesh,")
    assert "no axis name" in store(filled, "best", "--mesh", "8=8", code=1)
    assert "expected a view or an action, found 'worst'" in store(filled, "worst", code=64)
    # The best for memory is the one with the least.
    assert len(json.loads(store(filled, "best", "--mesh", "data=4", "--json"))["rows"]) == 2


def test_documented_queries(filled):
    """Every statement of docs/database.md runs."""
    text = (ROOT / "docs" / "database.md").read_text()
    blocks = re.findall(r"^```sql\n(.*?)^```$", text, re.M | re.S)
    db = sqlite3.connect(filled / "store" / "shardwright.db")
    # A batch verifies nothing: one program, in a transaction that is never committed.
    strategy, search = db.execute("SELECT id, search FROM strategies LIMIT 1").fetchone()
    db.execute("INSERT INTO verification_jobs(search, plans, state, attempt, planned, created_us) VALUES (?, 1, 'done', 1, ?, 1)", (search, strategy))
    db.execute("INSERT INTO verifications(search, attempt, strategy, plan, apply, source, options, runtime_ns, fits, predicted_runtime_ns,"
               " predicted_peak_bytes, seconds, chosen, created_us) VALUES (?, 1, ?, 'zero3', 'exact', 'compiled', '{}', 2, 1, 1, 1, 1, 1, 1)", (search, strategy))
    db.execute("INSERT INTO measurements(id, strategy, device, step_ns, options, owner, measured_us, created_us) SELECT 'm-1', id, device, 3, '{}', '', 1, 1"
               " FROM strategies WHERE id = ?", (strategy,))
    ran = {}
    for statement in "".join(blocks).split(";"):
        if "SELECT" in statement:
            ran[statement.strip().split("\n")[0]] = len(db.execute(statement.replace("= 16", "= 8")).fetchall())
    assert len(ran) >= 10
    assert sum(n > 0 for n in ran.values()) >= len(ran) - 2, ran  # one is about a strategy named in it


def test_no_store(folder):
    assert "there is no store in 'store'" in store(folder, "best", code=1)
    (folder / "store").mkdir()
    (folder / "store" / "shardwright.db").write_text("nonsense " * 1000)
    assert "not a database" in store(folder, "best", code=3)
