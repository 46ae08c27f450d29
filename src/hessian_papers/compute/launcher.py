"""Where the items of a computation are computed, and how many at once."""

from dataclasses import dataclass, field
from typing import Annotated, Any

from hessian_papers.constraints import AtLeast, Checked, Count, OneOf
from hessian_papers.processes import cores
from hessian_spectra.validation import require

CLUSTERS = ("debug", "local", "slurm")
# The variable that tells a process which GPUs it sees.
GPUS = "CUDA_VISIBLE_DEVICES"


class FanOutError(ValueError):
    """Some items could not be computed; the message is one line and says what to do."""


@dataclass(frozen=True, kw_only=True)
class Launcher(Checked):
    """Where items are computed. It never changes what they are: the bytes are the same.

    Args:
        cluster: ``debug`` computes in this process, one item after the other; ``local`` in
            processes of this machine; ``slurm`` in jobs of the cluster to which this machine
            submits.
        workers: how many processes or jobs run at once; 0 stands for one per core (``debug``
            always has one).
        items_per_job: of SLURM; 0 cuts the work into jobs of equal cost, four per worker. Items of
            many minutes whose time nobody can tell are better one a job. A process of this machine
            is given one item after the other.
        retries: how often an item is tried again after its process failed, and how often SLURM may
            put a job that met its time limit back into the queue.
        minutes: time limit of a job of SLURM.
        gpus: how many GPUs a process or job sees; on one machine no two have the same.
        options: settings of SLURM by submitit's names, such as ``partition``, ``cpus_per_task``,
            ``mem`` (``"4GB"``), ``account``, ``qos``, ``setup`` (a list of shell commands).

    Raises:
        ValueError: a value is out of its range; one line.

    Example:
        >>> Launcher(cluster="local", workers=2).workers_at_once
        2
        >>> Launcher(cluster="cloud")
        Traceback (most recent call last):
        ValueError: cluster: expected one of debug, local, slurm, got 'cloud'
    """

    cluster: Annotated[str, OneOf(CLUSTERS)] = "local"
    workers: Annotated[int, AtLeast(0)] = 0
    items_per_job: Annotated[int, AtLeast(0)] = 0
    retries: Annotated[int, AtLeast(0)] = 2
    minutes: Count = 60
    gpus: Annotated[int, AtLeast(0)] = 0
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what no launcher can do."""
        super().__post_init__()
        named = self.cluster != "slurm" or self.workers > 0
        require(named, "workers", "at least 1 for slurm: how many jobs run at once", self.workers)

    @property
    def workers_at_once(self) -> int:
        """The number of processes or jobs that run at once."""
        if self.cluster == "debug":
            return 1
        return self.workers or cores()

    @property
    def words(self) -> str:
        """Where, and how many at once."""
        workers = self.workers_at_once
        return f"{self.cluster}, {workers} worker{'s' if workers > 1 else ''}"
