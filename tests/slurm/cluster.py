"""A Slurm of Debian's packages with several virtual nodes on this machine, in a temporary folder, as root."""
import os
import pathlib
import shutil
import socket
import subprocess
import time

CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
ReturnToService=2
SlurmctldPort={port}
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmdSpoolDir={folder}/spool.%n
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/ctld.log
SlurmdLogFile={folder}/%n.log
SlurmctldTimeout=10
SlurmdTimeout=10
KillWait=5
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=1
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
JobRequeue=1
"""


def missing():
    """Why there can be none here, or None."""
    programs = [name for name in ("munged", "slurmctld", "slurmd", "sbatch") if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")]
    return "needs root" if os.geteuid() else "not installed: " + ", ".join(programs) if programs else None


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Cluster:
    def __init__(self, folder, nodes):
        self.folder = pathlib.Path(folder)
        self.nodes = [f"n{k}" for k in range(nodes)]
        host = socket.gethostname()
        text = CONF.format(host=host, folder=self.folder, port=free_port())
        for node in self.nodes:
            text += f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} CPUs=1 RealMemory=500\n"
            (self.folder / f"spool.{node}").mkdir()
        text += f"PartitionName=debug Nodes={','.join(self.nodes)} Default=YES MaxTime=INFINITE State=UP\n"
        (self.folder / "slurm.conf").write_text(text)
        (self.folder / "state").mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        self.env = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": os.environ["PATH"] + ":/usr/sbin"}
        self.run("munged", "--force", f"--key-file={key}", f"--socket={self.folder}/munge.socket", f"--pid-file={self.folder}/munge.pid",
                 f"--log-file={self.folder}/munge.log", f"--seed-file={self.folder}/munge.seed", "--num-threads=2")
        self.run("slurmctld", "-i")
        for node in self.nodes:
            self.start_node(node)
        self.until(lambda: self.run("sinfo", "-h", "-o", "%T").split() == ["idle"], 30)

    def run(self, *command, code=0, **how):
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=120, **how)
        assert done.returncode == code, (command, done.stdout, done.stderr)
        return done.stdout

    def until(self, condition, seconds):
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, self.run("squeue") + self.run("sinfo")
            time.sleep(0.2)

    def start_node(self, node):
        self.run("slurmd", "-N", node)

    def pid(self, name):
        return int((self.folder / f"{name}.pid").read_text())

    def kill_node(self, node):
        os.kill(self.pid(node), 9)

    def jobs(self, *more):
        return self.run("squeue", "-h", "-o", "%i %T %N", *more).splitlines()

    def wait(self, seconds=240):
        self.until(lambda: not self.jobs(), seconds)

    def stop(self):
        subprocess.run(["scancel", "--user=root"], env=self.env)
        time.sleep(1)
        for name in [*self.nodes, "ctld", "munge"]:
            try:
                os.kill(self.pid(name), 15)
            except (OSError, ValueError):
                pass
