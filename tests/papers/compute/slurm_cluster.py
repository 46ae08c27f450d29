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

MUNGE_FILES = {
    "socket": "socket",
    "key-file": "key",
    "pid-file": "pid",
    "log-file": "log",
    "seed-file": "seed",
}


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


class Daemons:
    """Processes in the foreground, each with a log, and each stopped in the end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, name: str, *command: str) -> None:
        with (self._folder / f"{name}.log").open("wb") as log:
            self._started.append(subprocess.Popen(command, stdout=log, stderr=log))

    @property
    def said(self) -> str:
        """The end of each log."""
        logs = sorted(self._folder.glob("*.log"))
        return "\n".join(f"{log.name}: {log.read_text()[-2000:]}" for log in logs)

    def stop(self) -> None:
        """Stop them, the last first, with all that they have started."""
        family: list[psutil.Process] = []
        for process in reversed(self._started):
            with contextlib.suppress(psutil.NoSuchProcess):
                family += psutil.Process(process.pid).children(recursive=True)
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)
            process.kill()
            process.wait()
        for child in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()


def _nodes_are_idle() -> bool:
    return _answer("sinfo", "--noheader", "--Node", "--format=%t").split() == ["idle", "idle"]


def cancel_all() -> None:
    """Cancel all jobs of the cluster and wait until they are gone."""
    _answer("scancel", "--user=root")
    wait_for("jobs to end", lambda: not _answer("squeue", "--noheader"))


def start_waiting() -> None:
    """Let jobs begin now that SLURM holds for a minute, as it does what went back to the queue."""
    for job in _answer("squeue", "--noheader", "--states=PENDING", "--format=%i").split():
        _answer("scontrol", "update", f"JobId={job}", "StartTime=now")


@contextlib.contextmanager
def running() -> Iterator[Path]:
    """The cluster; `SLURM_CONF` of its configuration is the path that is given."""
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    configuration = folder / "slurm.conf"
    text = CONFIGURATION.format(
        folder=folder, host=platform.node().split(".")[0], ports=_free_ports(3)
    )
    configuration.write_text(text)
    (folder / "munge.key").write_bytes(os.urandom(64))
    (folder / "munge.key").chmod(0o600)
    for name in ("state", "node1", "node2"):
        (folder / name).mkdir()
    before = os.environ.get("SLURM_CONF")
    os.environ["SLURM_CONF"] = str(configuration)
    daemons = Daemons(folder)
    try:
        munge = [f"--{what}={folder}/munge.{end}" for what, end in MUNGE_FILES.items()]
        daemons.start("munged", "munged", "--foreground", "--force", "--num-threads=2", *munge)
        wait_for("munged", (folder / "munge.socket").exists)
        daemons.start("slurmctld", "slurmctld", "-D")
        for node in ("node1", "node2"):
            daemons.start(node, "slurmd", "-D", "-N", node)
        try:
            wait_for("SLURM's nodes", _nodes_are_idle)
        except TimeoutError as error:
            raise RuntimeError(f"no SLURM cluster came up:\n{daemons.said}") from error
        yield configuration
        cancel_all()
    finally:
        daemons.stop()
        if before is None:
            del os.environ["SLURM_CONF"]
        else:
            os.environ["SLURM_CONF"] = before
        shutil.rmtree(folder, ignore_errors=True)
