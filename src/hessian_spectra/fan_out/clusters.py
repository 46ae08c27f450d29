"""Where jobs run: what a driver asks of a cluster."""

import abc
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from hessian_spectra.fan_out.ledger import Job
from hessian_spectra.fan_out.worker import Chunk


class Cluster(abc.ABC):
    """Runs jobs somewhere."""

    # What the ledger calls it.
    name: str
    # The longest time between two looks at the jobs, in seconds.
    patience: float
    # What it has to say about the jobs, in a few words.
    status: str = ""

    @abc.abstractmethod
    def room(self, running: int) -> int:
        """How many more jobs it takes while ``running`` are not done."""

    @abc.abstractmethod
    def submit(self, chunks: Sequence[Chunk]) -> list[Job]:
        """Start one job per chunk, or put it into the queue."""

    @abc.abstractmethod
    def living(self, jobs: Sequence[Job]) -> set[str]:
        """The names of those jobs that run or wait."""

    @abc.abstractmethod
    def cancel(self, jobs: Sequence[Job]) -> None:
        """Stop jobs."""

    def watched(self) -> AbstractContextManager[None]:
        """A block in which a driver watches its jobs."""
        return nullcontext()

    @abc.abstractmethod
    def leave_behind(self, jobs: Sequence[Job]) -> str:
        """Deal with jobs of a dead driver that nobody waits for; what there is to say about it."""
