"""What runs in another process: some items in turn, each kept as soon as it is done."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from hessian_spectra.fan_out.keys import code_digest, function_of
from hessian_spectra.fan_out.shards import Shards
from hessian_spectra.work import Item

# One thread for each worker: as many workers as cores are faster than threads, and the bytes of a
# result depend on the number of threads.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def compute_one(function: str, key: str, item: Item, shards: Shards) -> None:
    """Compute an item and write its shard."""
    compute = function_of(function)
    with threadpool_limits(1):
        started = time.perf_counter()
        arrays = compute(**item)
        seconds = time.perf_counter() - started
    shards.write(key, arrays, seconds)


@dataclass(frozen=True)
class Chunk:
    """Some items for one job.

    Called in the job's process. An item whose shard is there is skipped, so that a job which was
    put back into the queue, or meets another driver's, goes on where the work stands.

    Args:
        function: the function to call, as :func:`keys.function_name` names it.
        code: digest of its code when the run started.
        keys: the items' keys, in the order in which they are computed.
        items: the items.
        folder: of the shards.
    """

    function: str
    code: str
    keys: tuple[str, ...]
    items: tuple[Item, ...]
    folder: Path

    def __call__(self) -> None:
        """Compute all items; one that raises is noted, and the others go on.

        Raises:
            RuntimeError: the code is another one than when the keys were made.
        """
        shards = Shards(self.folder)
        function_of(self.function)
        if code_digest(self.function.partition(":")[0]) != self.code:
            raise RuntimeError("the code has changed since the run was started: start it again")
        for key, item in zip(self.keys, self.items, strict=True):
            if shards.has(key):
                continue
            # The driver takes the first item without shard and note for the one that was under way.
            shards.clear_error(key)
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
