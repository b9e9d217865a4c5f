"""`shardwright batch`: into a store that a daemon then answers from, through kills, interrupts and full disks; and through a daemon."""
import contextlib
import json
import os
import pathlib
import random
import re
import resource
import signal
import sqlite3
import subprocess
import time

import pytest

from daemon import SHARDWRIGHT, STORE_VERSION, Daemon, children, eventually, module_text, shorten

CORPUS = pathlib.Path(__file__).resolve().parents[1] / "corpus"
LONG = {"module": str(CORPUS / "transformer_4.mlir.zst"), "mesh": "data=2,model=2", "seconds": 60}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "step.mlir").write_text(module_text(64))
    (tmp_path / "other.mlir").write_text(module_text(128))
    return tmp_path


def write_jobs(folder, *jobs):
    (folder / "jobs.jsonl").write_text("".join(json.dumps(job) + "\n" for job in jobs))


def start(folder, *flags, jobs="jobs.jsonl", store="store", **how):
    where = [] if "--server" in flags else ["--store", store]
    return subprocess.Popen([SHARDWRIGHT, "batch", jobs, *where, *flags], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how)


def run(folder, *flags, code=0, **how):
    process = start(folder, *flags, **how)
    out, err = process.communicate(timeout=120)
    assert process.returncode == code, (process.returncode, out[-1500:], err[-1500:])
    return out, err


def rows(folder, sql):
    db = sqlite3.connect(f"file:{folder / 'store' / 'shardwright.db'}?mode=ro", uri=True)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


def questions(n, modules=("step.mlir", "other.mlir"), **more):
    """As many different ones, quick to search."""
    return [{"module": modules[i % len(modules)], "mesh": "data=2,model=2", "memory": (8 << 30) + i, "evaluations": 200, **more} for i in range(n)]


def test_a_daemon_answers_from_it_at_once(folder):
    pinned = {"module": "step.mlir", "mesh": "data=4", "pins": ["arg0:[[\"data\"],[]]"], "device": "h100", "priority": 5, "seed": 3, "apply": "annotate"}
    schedule = {"tactics": [{"named": "data_parallel", "axis": "data"}]}
    (folder / "tactics.json").write_text(json.dumps(schedule))
    planned = {"module": "other.mlir", "mesh": "data=2,model=2", "schedule": "tactics.json", "forbids": ["*:0:model"], "groups": ["arg0"]}
    plain = {"module": "step.mlir", "mesh": {"axes": [{"name": "data", "size": 2, "link": "ici"}]}, "objective": "memory", "evaluations": 100}
    write_jobs(folder, plain, planned, pinned)
    out, _ = run(folder, "--json")
    answers = json.loads(out)["jobs"]
    assert [a["state"] for a in answers] == ["succeeded"] * 3 and [a["from"] for a in answers] == ["search"] * 3
    daemon = Daemon(folder).start()
    try:
        for job, answer in zip((plain, planned, pinned), answers):
            request = {k: v for k, v in job.items() if k != "priority"}
            request["module"] = daemon.upload((folder / job["module"]).read_text()).json()["id"]
            if "schedule" in request:
                request["schedule"] = schedule
            hit = daemon.search(request, {"Cache-Control": "only-if-cached"})
            assert hit.status == 200 and hit.headers["Cache-Status"] == "shardwright; hit", hit.body
            found = hit.json()
            assert found["id"] == answer["search"] and found["strategy"] == answer["strategy"]
            assert found["document"]["cost"]["runtime_ns"] == answer["runtime_ns"]
            best = min(found["document"]["baselines"], key=lambda b: (not b["fits"], b["cost"]["peak_bytes" if "objective" in job else "runtime_ns"]))
            assert answer["baseline"]["name"] == best["name"] and answer["baseline"]["runtime_ns"] == best["cost"]["runtime_ns"]
        assert daemon.metric("shardwright_searches_created") == 0
    finally:
        daemon.stop()


def test_what_a_daemon_found_is_not_searched_again(folder):
    daemon = Daemon(folder).start()
    job = {"mesh": "data=2", "evaluations": 150}
    found = daemon.wait(daemon.search({**job, "module": daemon.upload(module_text(64)).json()["id"]}).json()["id"])
    daemon.stop()
    write_jobs(folder, {**job, "module": "step.mlir"}, {**job, "module": found["module"], "evaluations": 100})
    out, _ = run(folder, "--json")
    assert [(j["from"], j["strategy"]) for j in json.loads(out)["jobs"]] == [("store", found["strategy"])] * 2
    assert rows(folder, "SELECT count(*) FROM searches") == [(1,)]


def test_killed_again_and_again(folder):
    """Each question is searched to its end once, whatever is killed: the batch, or its workers."""
    write_jobs(folder, *questions(24, [str(CORPUS / "mlp.mlir.zst")], evaluations=1500))
    random.seed(1)
    done, kills, longest = set(), 0, 0.4
    for turn in range(60):
        process = start(folder, "--search-attempts", "100")  # of a search whose workers are killed at most every third turn
        time.sleep(random.uniform(0.05, longest))
        longest *= 1 if done else 1.2  # until a search comes to its end, however slow the machine is
        if turn % 3 == 2:
            for pid in children(process.pid):
                with contextlib.suppress(ProcessLookupError):  # it ended meanwhile
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.1)
        process.kill()
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
        eventually(lambda: not children(process.pid))
        if not (folder / "store" / "shardwright.db").exists():
            continue
        try:
            now = set(rows(folder, "SELECT id, strategy, key FROM searches WHERE state = 'succeeded'"))
        except sqlite3.OperationalError:
            continue  # killed while it made the tables
        assert done <= now
        done = now
        if len(done) > 12 and kills > 2:
            break
    assert kills > 2 and done
    out, _ = run(folder, "--json")
    document = json.loads(out)
    assert document["summary"]["known"] == len(done) and document["summary"]["searched"] == 24 - len(done)
    finished = rows(folder, "SELECT key, count(*) FROM searches GROUP BY key")
    assert len(finished) == 24 and all(n == 1 for _, n in finished)
    assert rows(folder, "SELECT count(*) FROM searches WHERE state != 'succeeded'") == [(0,)]
    assert rows(folder, "PRAGMA integrity_check") == [("ok",)]


def test_seeds_killed_again_and_again(folder):
    """Each seed is searched to its end once, and is not asked again after a kill."""
    job = {**questions(1, [str(CORPUS / "mlp.mlir.zst")], evaluations=400)[0], "seed": 10}
    write_jobs(folder, job)
    random.seed(2)
    kills, done, longest = 0, set(), 0.5
    for _ in range(40):
        process = start(folder, "--seeds", "16", "--workers", "2")
        time.sleep(random.uniform(0.05, longest))
        longest *= 1 if done else 1.2
        process.kill()
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
        eventually(lambda: not children(process.pid))
        now = set(rows_or_none(folder, "SELECT id, strategy, request ->> '$.seed' FROM searches WHERE state = 'succeeded'") or [])
        assert done <= now
        done = now
        if len(done) > 8:
            break
    assert kills and done
    document = json.loads(run(folder, "--seeds", "16", "--json")[0])
    assert document["summary"]["known"] == len(done) and document["summary"]["searched"] == 16 - len(done)
    seeds = rows(folder, "SELECT request ->> '$.seed', count(*) FROM searches WHERE state = 'succeeded' GROUP BY 1 ORDER BY 1")
    assert seeds == [(seed, 1) for seed in range(10, 26)] and rows(folder, "SELECT count(*) FROM searches") == [(16,)]
    assert rows(folder, "SELECT count(DISTINCT key) FROM searches") == [(1,)]


def test_seeds_of_several_tasks(folder):
    """One question, its seeds shared by two tasks: after the merge all are there, and a daemon answers with the best of them."""
    job = questions(1, [str(CORPUS / "mlp_tiny.mlir.zst")])[0]
    write_jobs(folder, {**job, "seeds": 6})
    documents = [json.loads(p.communicate(timeout=120)[0]) for p in [share(folder, k) for k in (0, 1)]]
    assert sum(d["summary"]["searched"] for d in documents) == 6
    cost = 1000  # of the answers as the merge finds them: each another one, the fourth seed has the best
    for k in (0, 1):
        db = sqlite3.connect(folder / f"task{k}" / "shardwright.db")
        db.execute("UPDATE searches SET best_runtime_ns = ? + abs(4 - (request ->> '$.seed')), best_fits = 1", (cost,))
        db.commit()
        db.close()
    counts, _ = merge(folder, "task0", "task1")
    assert (counts["answers"], counts["known"]) == (6, 0)
    again, _ = merge(folder, "task1", "task0")
    assert (again["answers"], again["known"]) == (0, 6)
    document = json.loads(run(folder, "--json")[0])
    assert document["summary"]["known"] == 6
    spread = document["seeds"][0]
    assert [spread[f] for f in ("best", "best_seed", "reached", "median", "worst")] == [1000, 4, 1, 1001, 1003]
    daemon = Daemon(folder).start()
    try:
        request = {**job, "module": daemon.upload((CORPUS / "mlp_tiny.mlir.zst").read_bytes()).json()["id"]}
        hit = daemon.search(request, {"Cache-Control": "only-if-cached"}).json()
        assert hit["id"] == document["jobs"][3]["search"] and hit["best"]["runtime_ns"] == 1000
    finally:
        daemon.stop()


def test_a_merge_takes_a_seed_once(folder):
    """Two tasks that both searched a seed have one answer of it; with another budget, or not begun with nothing, it is another one."""
    job = questions(1)[0]
    for k, evaluations in ((0, 200), (1, 200), (2, 300)):
        write_jobs(folder, {**job, "evaluations": evaluations, "seeds": 2})
        run(folder, store=f"task{k}")
    write_jobs(folder, {**job, "seed": 1})
    run(folder, store="task3")
    counts, _ = merge(folder, "task0", "task1", "task2", "task3")
    assert (counts["answers"], counts["known"]) == (4, 3)


def test_seeds_by_a_daemon(folder):
    """A daemon has one answer to a question: of several seeds each is asked for, once for all batches of a week."""
    daemon = Daemon(folder).start()
    try:
        url = f"http://127.0.0.1:{daemon.port}"
        write_jobs(folder, questions(1)[0])
        run(folder, "--server", url)
        for turn in range(2):
            document = json.loads(run(folder, "--server", url, "--seeds", "3", "--json")[0])
            assert [j["seed"] for j in document["jobs"]] == [1, 2, 3] and len({j["search"] for j in document["jobs"]}) == 3
            assert document["seeds"][0]["answered"] == 3 and document["summary"]["known"] == (3 if turn else 0)
        assert daemon.rows("SELECT count(*) FROM searches") == [(4,)]
        plan = json.loads(run(folder, "--server", url, "--seeds", "3", "--dry-run", "--json")[0])
        assert [j["state"] for j in plan["jobs"]] == ["waiting"] * 3
    finally:
        daemon.stop()


def test_a_worker_that_is_killed_is_started_again(folder):
    write_jobs(folder, LONG)
    process = start(folder, "--json")
    eventually(lambda: rows_or_none(folder, "SELECT 1 FROM searches WHERE state = 'running'"))
    eventually(lambda: children(process.pid))
    shorten(folder / "store", rows(folder, "SELECT id FROM searches")[0][0])
    for pid in children(process.pid):
        os.kill(pid, signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    assert process.returncode in (0, 2), err
    assert rows(folder, "SELECT attempt, failures, state FROM searches") == [(2, 1, "succeeded")]


def rows_or_none(folder, sql):
    try:
        return rows(folder, sql)
    except sqlite3.OperationalError:
        return None


def test_a_search_that_takes_too_long(folder):
    """It keeps the best until then, which is no answer to the next batch."""
    write_jobs(folder, LONG)
    job = json.loads(run(folder, "--search-seconds", "1", "--json")[0])["jobs"][0]
    assert job["state"] == "succeeded" and job["partial"] and job["from"] == "search"
    assert json.loads(run(folder, "--dry-run", "--json")[0])["jobs"][0]["state"] == "waiting"


def test_an_interrupt(folder):
    write_jobs(folder, {**questions(1)[0], "priority": 1}, LONG)
    process = start(folder, "--workers", "1")
    eventually(lambda: rows_or_none(folder, "SELECT 1 FROM searches WHERE state = 'running' AND budget = 'seconds'"))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "1 not done: the same command goes on with them" in out, (out, err)
    assert rows(folder, "SELECT state, count(*) FROM searches GROUP BY state ORDER BY state") == [("queued", 1), ("succeeded", 1)]
    write_jobs(folder, questions(1)[0])
    assert json.loads(run(folder, "--json")[0])["summary"]["known"] == 1


def test_a_store_in_use_and_a_daemon_in_between(folder):
    daemon = Daemon(folder).start()
    write_jobs(folder, *questions(3), {"module": "missing.mlir", "mesh": "data=2"}, {"module": "step.mlir", "mesh": "data=2", "pins": ["nothing:[[]]"]})
    try:
        _, err = run(folder, code=1)
        assert "in use by another daemon or batch; --server URL sends the jobs to a daemon" in err
        url = f"http://127.0.0.1:{daemon.port}"
        plan, _ = run(folder, "--server", url, "--dry-run", "--json", code=1)
        assert [j["state"] for j in json.loads(plan)["jobs"]] == ["waiting"] * 3 + ["failed", "waiting"]
        assert daemon.rows("SELECT count(*) FROM modules") == [(0,)]
        out, err = run(folder, "--server", url, "--json", code=4)
        jobs = json.loads(out)["jobs"]
        assert [j["state"] for j in jobs] == ["succeeded"] * 3 + ["failed"] * 2
        assert "missing.mlir" in jobs[3]["error"] and "nothing" in jobs[4]["error"]
        assert jobs[0]["baseline"]["runtime_ns"] >= jobs[0]["runtime_ns"]
        again = json.loads(run(folder, "--server", url, "--json", code=4)[0])
        assert again["summary"]["known"] == 3
        assert daemon.rows("SELECT count(*) FROM searches WHERE state = 'succeeded'") == [(3,)]
        # Reading beside the daemon is safe.
        plan = json.loads(run(folder, "--dry-run", "--json", code=4)[0])
        assert [j.get("strategy") for j in plan["jobs"]][:3] == [j["strategy"] for j in jobs[:3]]
    finally:
        daemon.stop()
    _, err = run(folder, "--server", url, code=3)
    assert "no answer from " + url in err


def test_a_newer_store(folder):
    write_jobs(folder, *questions(1))
    run(folder)
    db = sqlite3.connect(folder / "store" / "shardwright.db")
    db.execute("PRAGMA user_version = 99")
    db.commit()
    db.close()
    for flags in ([], ["--dry-run"]):
        _, err = run(folder, *flags, code=1)
        assert "has version 99, this program knows versions up to" in err


def test_an_older_store_is_brought_up_to_date(folder):
    schema = (pathlib.Path(__file__).resolve().parents[2] / "server" / "schema.sql").read_text()
    (folder / "store").mkdir()
    db = sqlite3.connect(folder / "store" / "shardwright.db")
    db.executescript(schema + "PRAGMA application_id = 0x53574431; PRAGMA user_version = 1;")
    db.close()
    write_jobs(folder, *questions(1))
    _, err = run(folder, "--dry-run", code=1)
    assert f"brings it to version {STORE_VERSION}" in err
    run(folder)
    assert rows(folder, "PRAGMA user_version") == [(STORE_VERSION,)]


def test_a_full_disk(folder):
    """Nothing is lost, and when there is space again it goes on by itself."""
    write_jobs(folder, *questions(4))
    run(folder)
    write_jobs(folder, *questions(8))
    size = (folder / "store" / "shardwright.db").stat().st_size

    def restrict():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, resource.RLIM_INFINITY))

    process = start(folder, "--json", preexec_fn=restrict)
    line = process.stderr.readline()
    while "warning" not in line:
        assert line, "no warning"
        line = process.stderr.readline()
    assert "cannot be written" in line
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert json.loads(out)["summary"] | {"seconds": 0} == {"jobs": 8, "searched": 4, "known": 4, "duplicates": 0, "elsewhere": 0, "too_large": 0, "failed": 0,
                                                           "waiting": 0, "refused": 0, "interrupted": False, "seconds": 0}


def test_a_job_that_needs_more_memory(folder):
    write_jobs(folder, LONG, questions(1)[0])
    out, _ = run(folder, "--worker-memory", "64MiB", "--workers", "1", "--json", code=4)
    jobs = json.loads(out)["jobs"]
    assert jobs[0]["state"] == "failed" and "memory" in jobs[0]["error"], jobs[0]
    assert jobs[1]["state"] == "succeeded"


# ---------------------------------------------------------------- a queue of several machines


def share(folder, k, *flags, **how):
    return start(folder, "--queue", "queue", "--lease", "1", "--workers", "1", "--json", *flags, store=f"task{k}", **how)


def merge(folder, *stores, code=0):
    done = subprocess.run([SHARDWRIGHT, "batch", "--merge", *stores, "--store", "store", "--json"], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, (done.stdout, done.stderr)
    return json.loads(done.stdout), done.stderr


def test_a_queue_with_a_lost_task(folder):
    """Three tasks, one killed in its work: the others take over, and each question has one answer in the end."""
    jobs = questions(6, [str(CORPUS / "mlp_tiny.mlir.zst")], evaluations=2000)
    first = {**LONG, "evaluations": 10000, "priority": 1}  # 5 s of a processor: on a slow machine it takes longer to catch, and lasts longer
    del first["seconds"]
    write_jobs(folder, first, *jobs, {"module": "missing.mlir", "mesh": "data=2"})
    lost = share(folder, 0)
    eventually(lambda: (folder / "queue" / "lease.0.0").exists() and children(lost.pid))
    others = [share(folder, k) for k in (1, 2)]
    lost.kill()
    lost.communicate()
    documents = [json.loads(process.communicate(timeout=120)[0]) for process in others]
    assert sorted(process.returncode for process in others) == [0, 4]
    assert (folder / "queue" / "lease.0.1").exists()
    states = list(zip(*[[j["state"] for j in d["jobs"]] for d in documents]))
    assert all(sorted(s) == ["elsewhere", "succeeded"] for s in states[:-1]) and sorted(states[-1]) == ["elsewhere", "failed"]
    assert {p.name for p in (folder / "queue").iterdir() if p.name.startswith("done")} == {f"done.{i}" for i in range(8)}
    counts, _ = merge(folder, "task0", "task1", "task2")
    assert counts["answers"] == 7 and counts["known"] == 0 and counts["stores"] == 3
    again, _ = merge(folder, "task2", "task1", "task0")
    assert again["answers"] == 0 and again["known"] == 7
    assert rows(folder, "SELECT count(*), count(DISTINCT key) FROM searches WHERE state = 'succeeded'") == [(7, 7)]
    assert rows(folder, "PRAGMA foreign_key_check") == []
    daemon = Daemon(folder).start()
    try:
        request = {**jobs[0], "module": daemon.upload((CORPUS / "mlp_tiny.mlir.zst").read_bytes()).json()["id"]}
        assert daemon.search(request, {"Cache-Control": "only-if-cached"}).status == 200
    finally:
        daemon.stop()
    _, err = run(folder, code=4)
    assert rows(folder, "SELECT count(*) FROM searches") == [(7,)]
    write_jobs(folder, *jobs)
    process = share(folder, 3)
    assert "the queue 'queue' is of other jobs" in process.communicate(timeout=60)[1] and process.returncode == 1


def test_a_task_that_is_told_to_end_gives_its_jobs_back(folder):
    write_jobs(folder, LONG)
    for k in range(2):
        task = share(folder, k, "--lease", "3600")
        eventually(lambda: (folder / "queue" / f"lease.0.{k}").exists() and children(task.pid))
        task.terminate()
        task.communicate(timeout=120)
        assert task.returncode == 130
    assert not list((folder / "queue").glob("done.*"))


def test_answers_of_two_tasks_to_one_question(folder):
    """A lease that was lost, and whose holder lived: both have an answer, the merge takes one. A larger budget is another answer."""
    write_jobs(folder, *questions(2))
    for k in (0, 1):
        run(folder, store=f"task{k}")
    write_jobs(folder, {**questions(2)[0], "evaluations": 300})
    run(folder, store="task1")
    counts, _ = merge(folder, "task0", "task1")
    assert (counts["answers"], counts["known"]) == (3, 2)


def test_a_merge_of_stores_that_were_never_finished(folder):
    """Of tasks that were ended, or had no room, while they made theirs; and one of an earlier version with an answer in it."""
    write_jobs(folder, *questions(2))
    run(folder, "--workers", "1", store="task0")
    schemas = [(pathlib.Path(__file__).resolve().parents[2] / "server" / name).read_text() for name in ("schema.sql", "schema_2.sql", "schema_3.sql")]
    for k in range(4):
        (folder / f"begun{k}").mkdir()
        (folder / f"begun{k}" / "lock").touch()
    (folder / "begun1" / "shardwright.db").touch()
    for k in (2, 3):
        old = sqlite3.connect(folder / f"begun{k}" / "shardwright.db")
        for schema in schemas:
            old.executescript(schema)
        if k == 3:  # the first answer of task0
            new = sqlite3.connect(folder / "task0" / "shardwright.db")
            first = {"modules": "1", "strategies": "number = 1", "searches": "number = 1"}
            for table, which in first.items():
                columns = ", ".join(row[1] for row in old.execute(f"PRAGMA table_info({table})"))
                for row in new.execute(f"SELECT {columns} FROM {table} WHERE {which}").fetchall():
                    old.execute(f"INSERT INTO {table}({columns}) VALUES ({', '.join('?' * len(row))})", row)
            new.close()
        old.commit()
        old.executescript("PRAGMA application_id = 0x53574431; PRAGMA user_version = 3;")
        old.close()
    counts, _ = merge(folder, "begun0", "begun1", "begun2", "begun3", "task0")
    assert (counts["stores"], counts["answers"], counts["known"]) == (5, 2, 1)
    assert json.loads(run(folder, "--dry-run", "--json")[0])["summary"]["known"] == 2
    counts, _ = merge(folder, "begun0", "begun1", "begun2", "begun3")
    assert (counts["answers"], counts["known"]) == (0, 1)
    (folder / "empty").mkdir()
    _, err = merge(folder, "empty", code=1)
    assert "there is no store in 'empty'" in err and not list((folder / "empty").iterdir())


def test_a_merge_that_cannot_be(folder):
    write_jobs(folder, *questions(1))
    run(folder, store="task0")
    _, err = merge(folder, "task0", "nowhere", code=1)
    assert "there is no store in 'nowhere'" in err and rows(folder, "SELECT count(*) FROM strategies") == [(1,)]
    daemon = Daemon(folder).start()
    _, err = merge(folder, "task0", code=1)
    assert "in use" in err
    daemon.stop()
    (folder / "store").rename(folder / "task1")
    daemon = Daemon(folder)
    daemon.store = folder / "task1"
    daemon.start()
    _, err = merge(folder, "task1", code=1)
    assert "is in use: merge it when its batch has ended" in err
    daemon.stop()
    db = sqlite3.connect(folder / "task0" / "shardwright.db")
    db.execute("PRAGMA user_version = 99")
    db.close()
    _, err = merge(folder, "task0", code=1)
    assert f"'task0' has version 99, expected {STORE_VERSION}" in err


def test_slurm_scripts(folder):
    write_jobs(folder, *questions(3), questions(1)[0], {"module": "missing.mlir", "mesh": "data=2"})
    out, err = run(folder, "--slurm", "--nodes", "2", "--partition", "cpu", "--time", "2:00:00", "--sbatch=--account=research", "--workers", "3", "--dry-run", code=4)
    for line in ("#SBATCH --array=0-1", "#SBATCH --partition=cpu", "#SBATCH --time=2:00:00", "#SBATCH --account=research", "#SBATCH --requeue"):
        assert line in out
    assert "'--workers' '3'" in out and "batch --merge" in out and not (folder / "store").exists()
    scripts = re.findall(r"(?m)^#!/bin/sh\n(?:.+\n)+", out)
    assert len(scripts) == 2
    for script in scripts:
        assert subprocess.run(["sh", "-n"], input=script, text=True).returncode == 0
    (folder / "bin").mkdir()
    for name in ("sh",):
        (folder / "bin" / name).symlink_to("/bin/sh")
    _, err = run(folder, "--slurm", code=1, env={"PATH": str(folder / "bin")})
    assert "no Slurm here: sbatch is not on the PATH" in err
