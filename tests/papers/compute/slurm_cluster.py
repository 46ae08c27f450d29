"""A SLURM cluster of two nodes on the loopback interface, from Debian's packages, as root."""

import contextlib
import os
import platform
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

from hessian_papers.processes import changed_environment

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "srun", "scontrol")

CONFIGURATION = """
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmdSpoolDir={folder}/%n
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=10000,bf_interval=1
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
KillWait=1
ReturnToService=2
NodeName=node1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2
NodeName=node2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

MUNGE_FILES = ("socket", "key-file", "pid-file", "log-file", "seed-file")


def why_not() -> str:
    """Why no cluster can be started here; empty if one can."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        return f"needs SLURM (apt-get install slurm-wlm munge): no {', '.join(missing)} here"
    return "" if os.geteuid() == 0 else "starting a SLURM cluster needs root"


def wait_for(what: str, holds: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait until something holds."""
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            raise TimeoutError(f"waited {seconds:.0f} s for {what}")
        time.sleep(0.05)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.socket()) for _ in range(count)]
        for port in held:
            port.bind(("127.0.0.1", 0))
        return [port.getsockname()[1] for port in held]


def _answer(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    return done.stdout


def _stop(daemons: list[subprocess.Popen[bytes]]) -> None:
    """Stop them, the last first, with all that they have started."""
    for daemon in reversed(daemons):
        family = psutil.Process(daemon.pid).children(recursive=True)
        daemon.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            daemon.wait(5)
        daemon.kill()
        daemon.wait()
        for child in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()


def _nodes_are_idle() -> bool:
    return _answer("sinfo", "--noheader", "--Node", "--format=%t").split() == ["idle", "idle"]


@contextlib.contextmanager
def running() -> Iterator[None]:
    """A block in which this process, and those that it starts, submit to the cluster."""
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    host, ports = platform.node().split(".")[0], _free_ports(3)
    text = CONFIGURATION.format(folder=folder, host=host, ports=ports)
    (folder / "slurm.conf").write_text(text)
    (folder / "munge.key-file").write_bytes(os.urandom(64))
    (folder / "munge.key-file").chmod(0o600)
    for name in ("state", "node1", "node2"):
        (folder / name).mkdir()
    daemons: list[subprocess.Popen[bytes]] = []

    def start(*command: str) -> None:
        with (folder / "log").open("ab") as log:
            daemons.append(subprocess.Popen(command, stdout=log, stderr=log))

    with changed_environment({"SLURM_CONF": str(folder / "slurm.conf")}):
        try:
            munge = [f"--{what}={folder}/munge.{what}" for what in MUNGE_FILES]
            start("munged", "--foreground", "--force", "--num-threads=2", *munge)
            wait_for("munged", (folder / "munge.socket").exists)
            start("slurmctld", "-D")
            for node in ("node1", "node2"):
                start("slurmd", "-D", "-N", node)
            try:
                wait_for("SLURM's nodes", _nodes_are_idle)
            except TimeoutError as error:
                said = (folder / "log").read_text()[-4000:]
                raise RuntimeError(f"no SLURM cluster came up:\n{said}") from error
            yield
            _answer("scancel", "--user=root")
            wait_for("jobs to end", lambda: not _answer("squeue", "--noheader"))
        finally:
            _stop(daemons)
            shutil.rmtree(folder, ignore_errors=True)
