#!/usr/bin/env python3
"""Plan a torch module's training step, print a placement for each parameter, and train so with DTensor in several processes.

    python examples/torch_dtensor.py [--mesh model=2] [--memory 5MiB] [--steps 5]

torchax turns the module into a function of its state; jax lowers the training step to StableHLO, which is what is planned. The
processes are torch's own, over gloo, and know nothing of jax. Needs torch, torchax and jax; `make torch` installs them apart.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import torch
from torch import nn

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "clients", "python"))
WIDTH, HIDDEN, BLOCKS, CLASSES, BATCH, RATE = 256, 1024, 2, 64, 64, 0.05


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks, self.head = nn.ModuleList(Block() for _ in range(BLOCKS)), nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def fresh():
    torch.manual_seed(0)
    return Model(), torch.randn(BATCH, WIDTH), torch.randn(BATCH, CLASSES)


def loss_of(model, x, y):
    return torch.mean((model(x) - y) ** 2)


# ---------------------------------------------------------------- planning: jax

def planned(mesh, memory):
    """The strategy of a step of gradient descent, as shardwright.plan gives it."""
    import jax
    import jax.numpy as jnp
    import torchax
    model, x, y = fresh()
    _, forward = torchax.extract_jax(model)

    def step(params, x, y):
        loss, grads = jax.value_and_grad(lambda params: jnp.mean((forward(params, (x,)) - y) ** 2))(params)
        return jax.tree.map(lambda p, g: p - RATE * g, params, grads), loss

    import shardwright
    shape = {name: jax.ShapeDtypeStruct(tuple(p.shape), jnp.float32) for name, p in model.named_parameters()}
    data = [jax.ShapeDtypeStruct(tuple(t.shape), jnp.float32) for t in (x, y)]
    return shardwright.plan(step, shape, *data, mesh=mesh, memory=memory, device="h100", donate_argnums=0, seed=0)


def placements_of(plan):
    """{argument: [placement per mesh axis]} as text of the dtensor notation."""
    from shardwright.tool import Folder, find_tool, run_tool
    with Folder() as folder:
        return run_tool(find_tool(), "convert", "--strategy", folder.file("plan.json", plan.document), "--to", "dtensor")


# ---------------------------------------------------------------- training: torch alone

def placed(text):
    """The placements of the pasted text, by the parameter's name in torch; inputs as x and y."""
    names = {}
    exec("\n".join(line for line in text.splitlines() if not line.startswith("mesh =")), names)       # a mesh of its own, on the CPU
    return {name.removeprefix("params['").removesuffix("']"): value for name, value in names["placements"].items()}


def train(text, sizes, axes, steps):
    """Losses of a process of the job; with one process, of plain torch."""
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import distribute_tensor
    torch.set_num_threads(1)
    model, x, y = fresh()
    if text:
        dist.init_process_group("gloo")
        mesh, places = init_device_mesh("cpu", sizes, mesh_dim_names=axes), placed(text)
        for name, parameter in list(model.named_parameters()):
            owner, _, leaf = name.rpartition(".")
            setattr(model.get_submodule(owner), leaf, nn.Parameter(distribute_tensor(parameter.data, mesh, places[name])))
        x, y = distribute_tensor(x, mesh, places["x"]), distribute_tensor(y, mesh, places["y"])
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=RATE), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model, x, y)
        loss.backward()
        if text:
            loss = loss.full_tensor()
            for parameter in model.parameters():
                parameter.grad = parameter.grad.redistribute(placements=parameter.placements)
        optimizer.step()
        losses.append(loss.item())
    local = sum((p.to_local() if text else p).numel() * 4 for p in model.parameters())
    if text:
        dist.destroy_process_group()
    return losses, local


def in_processes(count, text, sizes, axes, steps):
    """[(losses, bytes of parameters)] of each process."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "placements.py"), "w") as f:
            f.write(text)
        environment = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), WORLD_SIZE=str(count), OMP_NUM_THREADS="1",
                           GLOO_SOCKET_IFNAME="lo")
        words = [sys.executable, os.path.abspath(__file__), "--train", folder, "--steps", str(steps), "--sizes", ",".join(map(str, sizes)),
                 "--axes", ",".join(axes)]
        jobs = [subprocess.Popen(words, env=dict(environment, RANK=str(rank)), stdout=subprocess.PIPE, text=True) for rank in range(count)]
        try:
            said = [job.communicate(timeout=300)[0] for job in jobs]
        finally:
            for job in jobs:
                job.kill()
        if any(job.returncode for job in jobs):
            sys.exit("a process failed: exit codes %s" % [job.returncode for job in jobs])
        return [json.loads(line.splitlines()[-1]) for line in said]


def free_port():
    import socket
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mesh", default="model=2")
    parser.add_argument("--memory", default="5MiB", help="limit per device; replicated, the step takes 8.5 MiB")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--train", help=argparse.SUPPRESS)
    parser.add_argument("--sizes", help=argparse.SUPPRESS)
    parser.add_argument("--axes", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train:
        with open(os.path.join(options.train, "placements.py")) as f:
            text = f.read()
        print(json.dumps(train(text, tuple(map(int, options.sizes.split(","))), tuple(options.axes.split(",")), options.steps)))
        return
    plan = planned(options.mesh, options.memory)
    axes = plan.document["mesh"]["axes"]
    text = placements_of(plan)
    print(plan.table())
    print(text[text.index("placements = "):text.index("\n}\n") + 3])
    one, whole = train("", (), (), options.steps)
    count = 1
    for axis in axes:
        count *= axis["size"]
    every = in_processes(count, text, tuple(axis["size"] for axis in axes), tuple(axis["name"] for axis in axes), options.steps)
    print("one process   " + " ".join("%.5f" % loss for loss in one))
    for rank, (losses, local) in enumerate(every):
        print("rank %-7d  %s, %d of %d bytes of parameters" % (rank, " ".join("%.5f" % loss for loss in losses), local, whole))
    worst = max(abs(a - b) / abs(a) for losses, _ in every for a, b in zip(one, losses, strict=True))
    print("losses agree" if worst < 1e-5 else "losses differ by %g" % worst)
    sys.exit(worst >= 1e-5)


if __name__ == "__main__":
    main()
