"""What runs in another process: some items in turn, each kept as soon as it is done."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from hessian_spectra.fan_out.keys import Code, function_of
from hessian_spectra.fan_out.shards import Shards
from hessian_spectra.work import Item, unfinished_state_in

# One thread for each worker: as many workers as cores are faster than threads, and the bytes of a
# result depend on the number of threads.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def compute_one(function: str, key: str, item: Item, shards: Shards) -> None:
    """Compute an item, from its unfinished state if it left one, and write its shard."""
    compute = function_of(function)
    with threadpool_limits(1), unfinished_state_in(shards.unfinished(key)):
        started = time.perf_counter()
        arrays = compute(**item)
        seconds = time.perf_counter() - started
    shards.write(key, arrays, seconds)


@dataclass(frozen=True)
class Chunk:
    """Some items for one job.

    Called in the job's process. An item whose shard is there is skipped, so that a job which was
    put back into the queue, or meets another driver's, goes on where the work stands; and an item
    that keeps its unfinished state goes on from there.

    Args:
        function: the function to call, as :func:`keys.function_name` names it.
        code: its code when the run started.
        items: the items with their keys, in the order in which they are computed.
        spare: items of other jobs, with which it goes on when its own are done, in case those
            jobs have not come to them. Two jobs that compute the same item do no harm.
        folder: of the shards.
    """

    function: str
    code: Code
    items: tuple[tuple[str, Item], ...]
    spare: tuple[tuple[str, Item], ...]
    folder: Path

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of its own items."""
        return tuple(key for key, _ in self.items)

    def __call__(self) -> None:
        """Compute all items; one that raises is noted, and the others go on.

        Raises:
            RuntimeError: the code is another one than when the keys were made.
        """
        shards = Shards(self.folder)
        function_of(self.function)
        if not self.code.unchanged:
            raise RuntimeError("the code has changed since the run was started: start it again")
        for key, item in self.items + self.spare:
            # The driver forgets what an item raised before it submits it again.
            if shards.has(key) or shards.error(key):
                continue
            try:
                compute_one(self.function, key, item, shards)
            except Exception as error:
                if type(error).__name__ == "UncompletedJobError":
                    raise  # submitit's word that the job is over, not the item's
                shards.write_error(key, error)

    def checkpoint(self) -> Any:
        """What submitit puts back into the queue at the time limit: the same job again."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


def environment(roots: tuple[Path, ...]) -> dict[str, str]:
    """The variables of a worker's environment that are ours.

    Args:
        roots: the folders to import from, before all others: a worker must run the code of the
            tree that its driver runs, also where another one is installed.
    """
    before = [str(root) for root in dict.fromkeys(roots)]
    after = os.environ.get("PYTHONPATH", "")
    return ONE_THREAD | {"PYTHONPATH": os.pathsep.join([*before, *filter(None, [after])])}
