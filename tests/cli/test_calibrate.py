"""`calibrate`: a table in, a profile out that the other verbs take."""
import json
import os
import subprocess

TOOL = os.environ.get("SHARDWRIGHT", "build/shardwright")
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TABLE = os.path.join(ROOT, "tests", "unit", "data", "allreduce_a100.csv")


def run(*words, codes=(0,)):
    done = subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True, timeout=120)
    assert done.returncode in codes, (words, done.returncode, done.stderr)
    return done.stdout + done.stderr


def test_profile_is_usable(tmp_path):
    out = tmp_path / "mine.json"
    report = run("calibrate", TABLE, "--device", "a100", "--name", "mine", "-o", out)
    rows = [line.split() for line in report.splitlines() if line.startswith("nvlink ")]
    assert [r[1] for r in rows] == ["2", "4", "8"]
    assert all(float(r[-1].rstrip("%")) < 5 for r in rows), report
    profile = json.loads(out.read_text())
    assert profile["name"] == "mine"
    link = profile["links"][0]
    assert "allreduce_a100.csv" in link["launch_ns"]["source"] and link["kind"] == "switch"
    base = json.loads(run("devices", "a100"))
    assert profile["links"][1] == base["links"][1] and profile["peak_flops"] == base["peak_flops"]
    module = os.path.join(ROOT, "tests", "golden", "hlo", "gpu_mlp_tiny_megatron.hlo.zst")
    assert json.loads(run("simulate", module, "--device-file", out, "--json"))["communication_ns"] > 0
    # a second run from the result finds nothing left to do
    again = run("calibrate", TABLE, "--device-file", out, "-o", tmp_path / "again.json")
    for line in (l.split() for l in again.splitlines() if l.startswith("nvlink ")):
        assert float(line[3].rstrip("%")) < 5


def test_nccl_tables_need_a_group(tmp_path):
    table = tmp_path / "nccl.csv"
    table.write_text("size(B),count,type,time(ns),busbw(GB/s),time(ns),busbw(GB/s)\n" +
                     "".join("%d,%d,float,%d,1.0,%d,1.0\n" % (1 << k, 1 << k - 2, 20000 + (1 << k) // 100, 20100 + (1 << k) // 100) for k in range(20, 31)))
    out = tmp_path / "d.json"
    assert "nccl.csv:1:1: error:" in run("calibrate", table, "-o", out, codes=(1,))
    assert not out.exists()
    report = run("calibrate", table, "--group", 8, "-o", out)
    assert "nvlink" in report
    assert json.loads(out.read_text())["name"] == "a100-80g-calibrated"


def test_refusals(tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("collective,group,bytes,time_us\nall_reduce,4,1024,10\nall_reduce,4,2048,-3\n")
    assert "bad.csv:3:19: error: time: expected a positive number, found '-3'" in run("calibrate", bad, "-o", tmp_path / "x", codes=(1,))
    run("calibrate", TABLE, codes=(64,))
    run("calibrate", "-o", "x", codes=(64,))
    run("calibrate", TABLE, TABLE, "--group", "2,4,8", "-o", tmp_path / "x", codes=(64,))
    assert "--link" in run("calibrate", TABLE, "--device", "a100", "--link", "none", "-o", tmp_path / "x", codes=(1,))
    assert not (tmp_path / "x").exists()


def test_kernels_beside_collectives(tmp_path):
    table = tmp_path / "kernels.csv"
    # 600 TFLOP/s, 3 TB/s, 2 us a kernel
    rows = ["matmul,bf16,%d,%d,%.3f" % (2 * n ** 3, 6 * n * n, 2 + 2 * n ** 3 / 6e8) for n in range(1024, 9000, 512)]
    rows += ["elementwise,bf16,0,%d,%.3f" % (1 << k, 2 + (1 << k) / 3e6) for k in range(12, 31)]
    table.write_text("kernel,type,flops,bytes,time_us\n" + "\n".join(rows) + "\n")
    out = tmp_path / "mine.json"
    report = run("calibrate", table, TABLE, "--device", "h100", "-o", out)
    assert "nvlink " in report
    said = {line.split()[0]: [float(w.rstrip("%")) for w in line.split()[1:5]] for line in report.splitlines() if line.startswith(("matmul", "elementwise"))}
    assert [said[kind][0] for kind in ("matmul", "elementwise")] == [16, 19]
    assert all(after < 3 < before for _, before, after, _ in said.values()), report
    profile = json.loads(out.read_text())
    assert abs(profile["op_launch_ns"]["value"] - 2000) < 100 and "kernels.csv" in profile["op_launch_ns"]["source"]
    assert abs(profile["matmul_efficiency"]["value"][-1][1] - 600 / 989 * 1e6) < 10000
    assert profile["peak_flops"] == json.loads(run("devices", "h100"))["peak_flops"]
    # what a program costs follows
    module = os.path.join(ROOT, "tests", "golden", "hlo", "gpu_mlp_tiny_megatron.hlo.zst")
    before, after = (json.loads(run("simulate", module, *which, "--json"))["compute_ns"] for which in (("--device", "h100"), ("--device-file", out)))
    assert after > 1.2 * before


def test_kernels_refused(tmp_path):
    table, out = tmp_path / "kernels.csv", tmp_path / "x"
    table.write_text("kernel,flops,bytes,time_us\nmatmul,8,8,1\nconvolution,8,8,1\n")
    assert "kernels.csv:3:1: error: unknown kernel 'convolution', expected matmul or elementwise" in run("calibrate", table, "--device", "h100", "-o", out, codes=(1,))
    table.write_text("kernel,flops,bytes,time_us\nmatmul,8,8,1\n")
    assert "kernels of tpu-v5e" in run("calibrate", table, "-o", out, codes=(1,))
    assert not out.exists()
