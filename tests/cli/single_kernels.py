"""What the tests of single kernels share: costs of a program, rates of a device's profile, a profile with other rates."""
import json
import os
import subprocess

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))


def simulated(text, tmp_path, device="tpu-v5e", *words):
    """The document of `simulate --json --ops`; device: a name, or the path of a profile."""
    path = tmp_path / "program.mlir"
    path.write_text(text)
    option = "--device-file" if os.path.exists(device) else "--device"
    done = subprocess.run([TOOL, "simulate", str(path), option, str(device), "--json", "--ops", *words], capture_output=True, text=True, timeout=60)
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def rate(device, name):
    with open(os.path.join(ROOT, "costmodel", "devices", device + ".json")) as f:
        return json.load(f)[name]["value"]


def profile(path, device, **changes):
    path.write_text(json.dumps({**json.loads(subprocess.run([TOOL, "devices", device], capture_output=True, text=True, check=True).stdout), **changes}))
    return path
