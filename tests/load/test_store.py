"""A store as a whole: check, backup, export and import, retention, counted use."""

import contextlib
import json
import os
import pathlib
import sqlite3
import subprocess
import time

import pytest

from daemon import SHARDWRIGHT, Daemon, eventually, module_text


def care(*args, code=0):
    run = subprocess.run([SHARDWRIGHT, "store", *map(str, args)], capture_output=True, text=True, timeout=60)
    assert run.returncode == code, run
    return run.stdout + run.stderr


def answer(d, rows=8, label=None, **more):
    """A question that is answered; (the request, the search)."""
    uploaded = d.upload(module_text(rows), {"X-Shardwright-Label": label} if label else None).json()
    body = {"module": uploaded["id"], "mesh": "data=2", "evaluations": 10, **more}
    return body, d.wait(d.search(body).json()["id"])


@pytest.fixture
def filled(own):
    d = own()
    return d, [answer(d, 8, "first"), answer(d, 16, "second", tags=["kept"]), answer(d, 16, mesh="data=4")]


def test_check(filled):
    d, _ = filled
    assert "0 texts lost or damaged" in care("check", "--store", d.store)
    text = next(p for p in (d.store / "objects").rglob("*.zst"))
    good = text.read_bytes()
    text.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    assert "damaged" in care("check", "--store", d.store, code=1)
    text.write_bytes(good)
    assert d.stop() == 0
    with open(d.store / "shardwright.db", "r+b") as f:
        f.seek(3 * 4096)
        f.write(b"\xff" * 4096)
    care("check", "--store", d.store, code=1)
    care("check", "--store", d.folder / "nothing", code=1)


def test_backup_beside_a_daemon_that_works(filled, tmp_path):
    """Under load: what was acknowledged before it began is in it, and it is a store."""
    d, answers = filled
    before = [d.search({**answers[0][0], "mesh": "data=8", "memory": (1 << 34) + i}).json()["id"] for i in range(20)]
    out = care("backup", tmp_path / "copy", "--store", d.store)
    assert "2 modules, 0 texts lost or damaged" in out
    care("backup", tmp_path / "copy", "--store", d.store, code=1)  # never over what is there
    d.kill()
    again = Daemon(tmp_path)
    again.store = tmp_path / "copy"
    again.start()
    try:
        assert {row[0] for row in again.rows("SELECT id FROM searches")} >= set(before)
        for body, search in answers:
            hit = again.search(body)
            assert hit.status == 200 and hit.json()["id"] == search["id"] and hit.json()["document"]
        assert again.stop() == 0
    finally:
        if again.alive():
            again.kill()


def imported(tmp_path, name, *files):
    for file in files:
        out = care("import", file, "--store", tmp_path / name, "--json")
    d = Daemon(tmp_path)
    d.store = tmp_path / name
    return d.start(), json.loads(out)


def test_export_and_import(filled, tmp_path):
    d, answers = filled
    assert "3 answers and 2 modules written" in care("export", tmp_path / "all.swx", "--store", d.store)
    assert "2 answers and 1 modules" in care("export", tmp_path / "some.swx", "--store", d.store, "--label", "second")
    assert "1 answers and 1 modules" in care("export", tmp_path / "one.swx", "--store", d.store, "--mesh", "data=4")
    assert "in use" in care("import", tmp_path / "all.swx", "--store", d.store, code=1)
    other, counts = imported(tmp_path, "other", tmp_path / "all.swx", tmp_path / "all.swx")
    try:
        assert counts["known"] == 3 and counts["answers"] == 0  # the second time
        for body, search in answers:
            hit = other.search({k: v for k, v in body.items() if k != "tags"})
            assert hit.status == 200 and hit.json()["strategy"] == search["strategy"]
        assert other.get("/v1/modules?label=second").json()["modules"][0]["id"] == answers[1][0]["module"]
        assert other.get("/v1/searches?tag=kept").json()["searches"][0]["id"] == answers[1][1]["id"]
        assert other.get(f"/v1/modules/{answers[0][0]['module']}.mlir").body == module_text(8).encode()
        assert other.rows("SELECT upload, uploaded_us > 0 FROM modules ORDER BY upload") == [(1, 1), (2, 1)]
        assert other.rows("PRAGMA foreign_key_check") == [] and other.stop() == 0
    finally:
        if other.alive():
            other.kill()
    assert care("check", "--store", tmp_path / "other")


def test_an_export_replaces_no_device(filled, tmp_path):
    """As root, `export /dev/stdout` would make a file of what the name stands for."""
    d, _ = filled
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "name").symlink_to("pipe")
    for name in "pipe", "name":
        assert "no regular file" in care("export", tmp_path / name, "--store", d.store, code=1)
    assert (tmp_path / "pipe").is_fifo() and (tmp_path / "name").is_symlink()
    (tmp_path / "old.swx").write_text("what was there")
    care("export", tmp_path / "old.swx", "--store", d.store)
    assert (tmp_path / "old.swx").read_bytes()[:15] == b"SQLite format 3"
    assert not list(tmp_path.glob("*.part*"))


def test_a_store_whose_name_there_is_no_memory_for(filled, faults, tmp_path):
    """It is no store without texts: an export of that would lack them, and say nothing."""
    d, _ = filled
    env, fault = faults
    fault("realpath")
    for command in ("export", tmp_path / "all.swx"), ("best",), ("backup", tmp_path / "copy"):
        run = subprocess.run([SHARDWRIGHT, "store", *map(str, command), "--store", str(d.store)], capture_output=True, text=True, env={**os.environ, **env})
        assert run.returncode == 3 and "cannot be read now" in run.stderr, (command, run)
    assert not (tmp_path / "all.swx").exists() and not (tmp_path / "copy").exists()
    fault("realpath", False)
    assert "3 answers and 2 modules written" in care("export", tmp_path / "all.swx", "--store", d.store)


def test_a_row_that_is_refused_is_not_left_out(filled, tmp_path):
    """SQLite refuses JSON that it has no memory to read, as it does JSON that is none: neither goes missing without a word."""
    d, _ = filled
    assert d.stop() == 0
    with contextlib.closing(sqlite3.connect(d.store / "shardwright.db")) as db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        assert db.execute("UPDATE events SET body = '{' WHERE (search, sequence) = (SELECT search, sequence FROM events LIMIT 1)").rowcount == 1
        db.commit()
    for command in ("store", "export", tmp_path / "all.swx", "--store", d.store), ("batch", "--merge", d.store, "--store", tmp_path / "into"):
        run = subprocess.run([SHARDWRIGHT, *map(str, command)], capture_output=True, text=True, timeout=60)
        assert run.returncode != 0 and "json_valid" in run.stderr, run
    assert not (tmp_path / "all.swx").exists()
    with contextlib.closing(sqlite3.connect(tmp_path / "into" / "shardwright.db")) as db:
        assert db.execute("SELECT (SELECT count(*) FROM searches), (SELECT count(*) FROM events)").fetchone() == (0, 0)


def make_worse(store, times):
    """The answers of a store as if the search had found a plan that takes so many times as long."""
    db = sqlite3.connect(store / "shardwright.db")
    import hashlib

    for old, text in db.execute("SELECT id, document FROM strategies").fetchall():
        document = json.loads(text)
        document["cost"]["runtime_ns"] *= times
        text = json.dumps(document)
        new = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
        db.execute("UPDATE strategies SET id = ?, document = ?, runtime_ns = ? WHERE id = ?", (new, text, document["cost"]["runtime_ns"], old))
        db.execute("UPDATE searches SET strategy = ?, id = 's-' || lower(hex(randomblob(16))), best_runtime_ns = best_runtime_ns * ? WHERE strategy = ?", (new, times, old))
        db.execute("UPDATE strategies SET search = (SELECT id FROM searches WHERE strategy = ?) WHERE id = ?", (new, new))
    db.execute("DELETE FROM events")
    db.commit()
    db.close()


@pytest.mark.parametrize("first", ["worse", "better"])
def test_conflicts_keep_the_better(own, tmp_path, first):
    d = own()
    body, search = answer(d)
    assert d.stop() == 0
    care("export", tmp_path / "better.swx", "--store", d.store)
    make_worse(d.store, 3)
    care("export", tmp_path / "worse.swx", "--store", d.store)
    order = ["worse", "better"] if first == "worse" else ["better", "worse"]
    other, counts = imported(tmp_path, "other", *[tmp_path / f"{name}.swx" for name in order])
    try:
        assert (counts["better"], counts["known"]) == ((1, 0) if first == "worse" else (0, 1))
        hit = other.search(body)
        assert hit.status == 200 and hit.json()["strategy"] == search["strategy"]
    finally:
        other.kill()


def test_a_damaged_file_is_not_taken(filled, tmp_path):
    d, _ = filled
    care("export", tmp_path / "all.swx", "--store", d.store)
    for statement in (
        "UPDATE strategies SET document = json_set(document, '$.cost.peak_bytes', 1)",
        "UPDATE texts SET zstd = substr(zstd, 1, length(zstd) - 3)",
        "UPDATE texts SET zstd = (SELECT zstd FROM texts ORDER BY id LIMIT 1)",
        "DROP TABLE texts",
        "PRAGMA user_version = 99",
        "PRAGMA application_id = 5",
    ):
        (tmp_path / "bad.swx").write_bytes((tmp_path / "all.swx").read_bytes())
        db = sqlite3.connect(tmp_path / "bad.swx")
        db.execute(statement)
        db.commit()
        db.close()
        care("import", tmp_path / "bad.swx", "--store", tmp_path / "other", code=1)
        assert sqlite3.connect(tmp_path / "other" / "shardwright.db").execute("SELECT count(*) FROM searches").fetchone() == (0,), statement
    (tmp_path / "bad.swx").write_bytes(os.urandom(9000))
    care("import", tmp_path / "bad.swx", "--store", tmp_path / "other", code=1)
    care("import", tmp_path / "nothing.swx", "--store", tmp_path / "other", code=1)


def age(d, days):
    """Everything in the store as if it were so many days older."""
    db = sqlite3.connect(d.store / "shardwright.db")
    us = days * 86400 * 1000000
    db.execute("UPDATE strategies SET created_us = created_us - ?", (us,))
    db.execute("UPDATE searches SET created_us = created_us - ?, ended_us = ended_us - ?", (us, us))
    db.execute("UPDATE modules SET created_us = created_us - ?, uploaded_us = uploaded_us - ?", (us, us))
    db.execute("UPDATE uses SET used_us = used_us - ?", (us,))
    db.commit()
    db.close()
    for path in d.store.rglob("*.zst"):
        os.utime(path, (time.time() - days * 86400,) * 2)


def test_hits_are_counted(own):
    d = own()
    body, search = answer(d)
    for _ in range(5):
        assert d.search(body).status == 200
    d.upload(module_text(8), {"X-Shardwright-Label": "later"})
    assert d.search(body).json()["labels"] == ["later"]  # an answer that was kept does not hide a new name
    assert d.stop() == 0  # the last are written down
    assert d.rows("SELECT hits FROM strategy_uses WHERE strategy = ?", search["strategy"]) == [(6,)]
    d = own()
    row = d.get("/v1/strategies").json()["strategies"][0]
    assert row["hits"] == 6 and row["last_hit"]


def test_retention_by_last_use(own):
    """What somebody asked for stays; the rest goes with its module, its text and what was made of it; the daemon does it, or prune."""
    d = own()
    used, one = answer(d, 8)
    unused, two = answer(d, 16)
    assert d.get(f"/v1/strategies/{two['strategy']}.mlir").status == 200
    assert d.stop() == 0
    age(d, 40)
    d = own()
    assert d.search(used).status == 200
    assert d.stop() == 0
    d = own("--keep-days", "30")
    eventually(lambda: d.rows("SELECT count(*) FROM strategies") == [(1,)])
    eventually(lambda: len(list((d.store / "objects").rglob("*.zst"))) == 1 and not list((d.store / "emitted").rglob("*.zst")) + list((d.store / "annotate").rglob("*.zst")))
    assert d.search(used).status == 200
    assert d.search(unused).status == 404 and d.get(f"/v1/strategies/{two['strategy']}").status == 404
    assert d.rows("PRAGMA foreign_key_check") == [] and "event=retention strategies=1 searches=1 modules=1" in d.log()
    assert d.stop() == 0
    age(d, 40)
    assert json.loads(care("prune", "--keep-days", 30, "--store", d.store, "--json"))["modules"] == 1
    assert d.rows("SELECT (SELECT count(*) FROM searches), (SELECT count(*) FROM strategies), (SELECT count(*) FROM uses)") == [(0, 0, 0)]
    care("prune", "--store", d.store, code=64)


def test_retention_after_a_clock_that_was_wrong(own, faults):
    """An answer that was stored while the clock was a day behind is as new as the one before it."""
    env, _ = faults
    d = own(env=env)
    answer(d, 8)
    clock = pathlib.Path(env["FAULTS"]) / "clock"
    clock.write_text("-90000")
    answer(d, 16)
    clock.unlink()
    assert d.stop() == 0
    stamps = [us for us, in d.rows("SELECT created_us FROM strategies ORDER BY number")]
    assert stamps[0] - stamps[1] > 86400 * 1000000
    for limit in (("--keep-size", "1KiB"), ("--keep-days", 1)):
        assert json.loads(care("prune", *limit, "--store", d.store, "--json"))["strategies"] == 0, limit
    age(d, 2)
    assert json.loads(care("prune", "--keep-size", "1KiB", "--store", d.store, "--json"))["strategies"] == 2


def test_modules_and_failures_of_a_clock_that_was_wrong(own, faults):
    """A text that was uploaded, and a search that ended without an answer, while the clock was two days behind are as new as those before them."""
    env, _ = faults
    d = own("--workers", "1", env=env)
    clock = pathlib.Path(env["FAULTS"]) / "clock"

    def ended():
        search = d.search(d.long()).json()["id"]
        d.cancel(search)
        assert d.wait(search)["state"] == "canceled"

    busy = d.search(d.long()).json()["id"]  # so that the others end before a worker has answered anything
    d.until(busy, "running")
    d.module(8)
    ended()
    clock.write_text("-180000")
    d.module(16)
    ended()
    clock.unlink()
    d.cancel(busy)
    d.wait(busy)
    assert d.stop() == 0
    for table, stamp, order in (("modules", "uploaded_us", "upload"), ("searches", "ended_us", "number")):
        stamps = [us for us, in d.rows(f"SELECT {stamp} FROM {table} ORDER BY {order}")]
        assert min(stamps[:-1]) - stamps[-1] > 86400 * 1000000, table
    for limit in (("--keep-size", "1KiB"), ("--keep-days", 1)):
        gone = json.loads(care("prune", *limit, "--store", d.store, "--json"))
        assert (gone["modules"], gone["searches"]) == (0, 0), limit
    age(d, 2)
    gone = json.loads(care("prune", "--keep-days", 1, "--store", d.store, "--json"))
    assert (gone["modules"], gone["searches"]) == (3, 3)


def test_a_text_that_is_uploaded_again_is_new(own):
    d = own()
    module = d.module(8)
    d.module(16)
    assert d.stop() == 0
    age(d, 40)
    d = own()
    assert d.upload(module_text(8)).status == 200
    assert d.stop() == 0
    assert json.loads(care("prune", "--keep-days", 1, "--store", d.store, "--json"))["modules"] == 1
    assert d.rows("SELECT id FROM modules") == [(module,)]


def test_retention_by_size(own):
    d = own()
    answers = [answer(d, 8 * n) for n in range(1, 13)]
    assert d.stop() == 0
    age(d, 1)
    d = own()
    assert d.search(answers[2][0]).status == 200  # just used: it stays, whatever the size
    assert d.stop() == 0
    out = json.loads(care("prune", "--keep-size", "1KiB", "--store", d.store, "--json"))
    assert out["strategies"] == 11 and out["bytes_after"] < out["bytes_before"]
    assert d.rows("SELECT id FROM strategies") == [(answers[2][1]["strategy"],)]
    assert "0 texts lost or damaged" in care("check", "--store", d.store)
