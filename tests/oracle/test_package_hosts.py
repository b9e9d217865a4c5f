"""Jobs of several processes: one asks, all have its plan, and a difference is an error in each."""
import json
import os
import socket
import subprocess
import sys

from conftest import ROOT

JOB = """
import json, os, sys
me, port, asked = int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
import jax
jax.distributed.initialize("127.0.0.1:" + port, num_processes=2, process_id=me)
import jax.numpy as jnp
import shardwright
def step(w, x):
    return w - 0.1 * jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w)))(w)
found = []
for options in asked:
    try:
        plan = shardwright.plan(step, jnp.ones((64, 32)), jnp.ones((16, 64)), mesh="data=2", device="h100", evaluations=20, **options[me])
        found.append(json.dumps(plan.document["arguments"]))
        last = plan
    except shardwright.Error as error:
        found.append("Error: %s" % error)
# one device of each process: the planned program is compiled over both
found.append(last.fn.compiled.memory_analysis().argument_size_in_bytes == last.cost["argument_bytes"])
print(json.dumps(found))
"""


def test_two_processes(tool):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # The second process has no tool: only the first one may ask. The last request is one that the tool refuses.
    asked = [[{}, {}], [{"seed": 1}, {"seed": 2}], [{"pins": ['nosuch:[[]]']}] * 2]
    environment = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "clients", "python"), JAX_PLATFORMS="cpu", XLA_FLAGS="")
    environment.pop("SHARDWRIGHT_SERVER", None)
    jobs = [subprocess.Popen([sys.executable, "-c", JOB, str(me), str(port), json.dumps(asked)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=dict(environment, SHARDWRIGHT=tool.path if me == 0 else "/nowhere")) for me in range(2)]
    found = []
    try:
        for job in jobs:
            out, noise = job.communicate(timeout=240)
            assert job.returncode == 0, noise[-3000:]
            found.append(json.loads(out.splitlines()[-1]))
    finally:
        for job in jobs:
            if job.poll() is None:
                job.kill()
                job.communicate()
    assert found[0] == found[1], found
    same, differ, refused, runs = found[0]
    assert not same.startswith("Error") and runs is True
    assert "different programs or options: process 1 is not as process 0" in differ
    assert refused.startswith("Error: ") and "nosuch" in refused
