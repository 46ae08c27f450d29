"""Where jobs run: what a driver asks of a cluster."""

from collections.abc import Sequence
from typing import Protocol

from hessian_spectra.fan_out.ledger import Job
from hessian_spectra.fan_out.worker import Chunk


class Cluster(Protocol):
    """Runs jobs somewhere."""

    # The longest time between two looks at the jobs, in seconds.
    patience: float

    def room(self, running: int) -> int:
        """How many more jobs it takes while ``running`` are not done."""

    def submit(self, chunks: Sequence[Chunk]) -> list[Job]:
        """Start one job per chunk, or put it into the queue."""

    def living(self, jobs: Sequence[Job]) -> set[str]:
        """The names of those jobs that run or wait."""

    def status(self) -> str:
        """What it has to say about the jobs, in a few words."""

    def cancel(self, jobs: Sequence[Job]) -> None:
        """Stop jobs that this driver submitted."""

    def close(self, jobs: Sequence[Job]) -> None:
        """Take leave of jobs of this driver whose items are all done."""
