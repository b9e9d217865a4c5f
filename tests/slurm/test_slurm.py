"""`batch --slurm` on a real Slurm with three virtual nodes: what is lost, killed, requeued, cut off or doubled ends exactly once."""
import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess

import pytest

import cluster

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = os.path.abspath(os.environ.get("SHARDWRIGHT", ROOT / "build" / "shardwright"))
CORPUS = ROOT / "tests" / "corpus"

pytestmark = pytest.mark.skipif(bool(cluster.missing()), reason=str(cluster.missing()))


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    c = cluster.Cluster(tmp_path_factory.mktemp("slurm"), 3)
    yield c
    c.stop()


@pytest.fixture
def folder(tmp_path):
    return tmp_path


def write_jobs(folder, n, seconds=None):
    """Questions that differ in the memory limit; each takes some seconds, or next to none."""
    budget = {"seconds": seconds} if seconds else {"evaluations": 300}
    module = str(CORPUS / ("transformer_4.mlir.zst" if seconds else "mlp_tiny.mlir.zst"))
    jobs = [{"module": module, "mesh": "data=2,model=2", "memory": (16 << 30) + i, **budget} for i in range(n)]
    (folder / "jobs.jsonl").write_text("".join(json.dumps(job) + "\n" for job in jobs))


def submit(slurm, folder, *flags, code=0):
    """The id of the array job and the folder of the run."""
    out = slurm.run(TOOL, "batch", "jobs.jsonl", "--store", "store", "--slurm", "--nodes", "3", "--lease", "5", "--workers", "1", *flags, cwd=folder, code=code)
    found = re.search(r"array job (\d+), merge job \d+, \d+ jobs, run (\S+)", out)
    return found and (found[1], pathlib.Path(found[2]))


def tools_of(run):
    """Process ids of the tool in the tasks of a run."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[0].decode() == TOOL and words[1:2] == [b"batch"] and words[2].decode().startswith(str(run)):
                found.append(int(entry.name))
    return found


def check(folder, n, **more):
    """Each question has one answer in the store, and the same batch has nothing to do."""
    db = sqlite3.connect(folder / "store" / "shardwright.db")
    assert db.execute("SELECT count(*), count(DISTINCT key) FROM searches WHERE state = 'succeeded'").fetchone() == (n, n)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",) and not db.execute("PRAGMA foreign_key_check").fetchall()
    db.close()
    done = subprocess.run([TOOL, "batch", "jobs.jsonl", "--store", "store", "--dry-run", "--json"], cwd=folder, capture_output=True, text=True)
    assert json.loads(done.stdout)["summary"]["known"] == n


def count_answers(folder):
    db = sqlite3.connect(folder / "store" / "shardwright.db")
    n = db.execute("SELECT count(*) FROM searches WHERE state = 'succeeded'").fetchone()[0]
    db.close()  # a merge wants the store for itself
    return n


def logs(run):
    return "\n".join(f"{p.name}:\n{p.read_text()[-1500:]}" for p in sorted((run / "log").iterdir()))


def test_an_array_and_its_merge(slurm, folder):
    write_jobs(folder, 12)
    job, run = submit(slurm, folder)
    slurm.wait()
    assert len(list((run / "tasks").iterdir())) == 3, logs(run)
    assert "12 jobs: 0 to be searched, 12 known" in (run / "log" / "merge.out").read_text(), logs(run)
    check(folder, 12)
    assert submit(slurm, folder) is None  # nothing is left
    write_jobs(folder, 14)
    _, run = submit(slurm, folder)
    assert len((run / "jobs.jsonl").read_text().splitlines()) == 2
    slurm.wait()
    check(folder, 14)


def test_seeds_of_one_search(slurm, folder):
    """The seeds of one question over three tasks, one of them killed in its work: one answer of each, and what is asked again is what is missing."""
    write_jobs(folder, 1, seconds=2)
    job, run = submit(slurm, folder, "--seeds", "9")
    assert len((run / "jobs.jsonl").read_text().splitlines()) == 9
    slurm.until(lambda: len(tools_of(run)) == 3 and len(list((run / "queue").glob("lease.*"))) >= 3, 30)
    os.kill(tools_of(run)[0], signal.SIGKILL)
    slurm.wait()
    assert len(list((run / "tasks").iterdir())) == 3, logs(run)
    db = sqlite3.connect(folder / "store" / "shardwright.db")
    seeds = db.execute("SELECT request ->> '$.seed', count(*) FROM searches WHERE state = 'succeeded' GROUP BY 1 ORDER BY 1").fetchall()
    costs = [cost for cost, in db.execute("SELECT best_runtime_ns FROM searches ORDER BY best_fits DESC, best_runtime_ns")]
    db.close()
    assert seeds == [(seed, 1) for seed in range(1, 10)], logs(run)
    assert submit(slurm, folder, "--seeds", "9") is None
    done = subprocess.run([TOOL, "batch", "jobs.jsonl", "--store", "store", "--seeds", "9", "--dry-run", "--json"], cwd=folder, capture_output=True, text=True)
    spread = json.loads(done.stdout)["seeds"][0]
    assert (spread["answered"], spread["best"]) == (9, costs[0])
    _, run = submit(slurm, folder, "--seeds", "10")
    assert [json.loads(row)["seed"] for row in (run / "jobs.jsonl").read_text().splitlines()] == [10]
    slurm.wait()


def test_a_node_that_is_lost(slurm, folder):
    """Its slurmd is killed. Slurm starts the task again elsewhere, while the old one may live on: one answer each."""
    write_jobs(folder, 8, seconds=3)
    job, run = submit(slurm, folder)
    slurm.until(lambda: len(tools_of(run)) == 3, 30)
    lost = next(line.split()[2] for line in slurm.jobs() if line.startswith(job + "_") and "RUNNING" in line)
    slurm.kill_node(lost)
    slurm.until(lambda: any(p.name.endswith("_1") for p in (run / "tasks").iterdir()) or not slurm.jobs("-t", "RUNNING,COMPLETING"), 90)
    slurm.start_node(lost)
    slurm.wait()
    slurm.until(lambda: not tools_of(run), 60)
    # One that outlived its node after the merge: merged again, it changes nothing or brings what was missing.
    slurm.run("sh", str(run / "merge.sh"))
    check(folder, 8)


def test_a_task_that_is_killed_and_one_that_is_requeued(slurm, folder):
    write_jobs(folder, 9, seconds=2)
    job, run = submit(slurm, folder)
    slurm.until(lambda: len(tools_of(run)) == 3, 30)
    slurm.until(lambda: len(list((run / "queue").glob("lease.*"))) >= 3, 30)
    os.kill(tools_of(run)[0], signal.SIGKILL)
    slurm.until(lambda: len(tools_of(run)) == 2, 30)
    other = next(line.split()[0] for line in slurm.jobs() if line.startswith(job + "_") and "RUNNING" in line)
    slurm.run("scontrol", "requeue", other)
    slurm.wait()
    check(folder, 9)


def test_a_task_that_is_started_twice(slurm, folder):
    write_jobs(folder, 6, seconds=1)
    job, run = submit(slurm, folder)
    slurm.run("sbatch", str(run / "array.sh"))
    slurm.wait()
    slurm.run("sh", str(run / "merge.sh"))
    check(folder, 6)


def test_a_time_limit(slurm, folder):
    """Slurm tells the tasks to end before it kills them: what they hold is given back, what they found is merged."""
    write_jobs(folder, 24, seconds=4)
    job, run = submit(slurm, folder, "--time", "1")
    slurm.wait(300)
    answered = count_answers(folder)
    assert 0 < answered < 24, logs(run)
    assert "not done: the same command goes on with them" in logs(run)
    _, run = submit(slurm, folder)
    assert len((run / "jobs.jsonl").read_text().splitlines()) == 24 - answered
    slurm.wait(300)
    check(folder, 24)


def test_a_full_disk(slurm, folder):
    """The store on a file system of 1 MiB: what a task said was done is there; with more space the same command goes on."""
    small = folder / "store"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip("cannot mount: " + mounted.stderr.strip())
    try:
        write_jobs(folder, 12)
        job, run = submit(slurm, folder)
        slurm.wait(300)
        said = sum("succeeded" in p.read_text() for p in (run / "queue").glob("done.*"))
        assert said < 12 or "12 known" not in (run / "log" / "merge.out").read_text()
        subprocess.run(["mount", "-o", "remount,size=64m", str(small)], check=True)
        assert subprocess.run(["sh", str(run / "merge.sh")], capture_output=True).returncode == 0
        assert count_answers(folder) >= said
        submit(slurm, folder)
        slurm.wait(300)
        check(folder, 12)
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)
