"""The work in another process: some items in turn, each kept as soon as it is done."""

import os
import pkgutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from hessian_papers.fan_out.items import plain
from hessian_papers.fan_out.keys import code_behind, item_key
from hessian_papers.fan_out.shards import Shards
from hessian_papers.work import Item, Live, TrainingRun, computed, unseen
from hessian_spectra.files import Arrays

# One thread for each worker: as many workers as cores are faster than threads, and the bytes of a
# result depend on the number of threads.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def together() -> bool:
    """Whether ``torchrun`` has started this process, so that several compute each item together."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def follows() -> bool:
    """Whether it is another one of these processes that keeps what they compute."""
    return together() and os.environ.get("RANK", "0") != "0"


@contextmanager
def changed_environment(variables: Mapping[str, str]) -> Iterator[None]:
    """A block in which this process, and those that it starts, have other variables."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _device() -> str:
    """The GPU that this process has used, by its name; empty: none."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return ""
    return str(torch.cuda.get_device_name())


@dataclass(frozen=True)
class Function:
    """The function that computes an item.

    Args:
        name: of the function to call, by which ``pkgutil.resolve_name`` finds it.
        trains: whether it is a training: it is given a :class:`~hessian_papers.work.TrainingRun`.
        live: where a training is shown.
    """

    name: str
    trains: bool = False
    live: Live = unseen

    def compute(self, key: str, item: Item, title: str, shards: Shards) -> None:
        """Compute an item and write its shard; a training goes on from its unfinished state.

        Args:
            key: the item's.
            item: the item.
            title: what a live run of it is called.
            shards: where it is kept.
        """
        function = pkgutil.resolve_name(self.name)
        with threadpool_limits(1):
            started = time.perf_counter()
            arrays = (
                self._train(function, key, item, title, shards)
                if self.trains
                else computed(function, item)
            )
            seconds = time.perf_counter() - started
        if follows():
            shards.wait_for(key)
        else:
            shards.write(key, arrays, seconds, _device())

    def _train(
        self, function: Callable[..., Arrays], key: str, item: Item, title: str, shards: Shards
    ) -> Arrays:
        if follows():
            return computed(function, item, run=TrainingRun(checkpoint=shards.unfinished(key)))
        with self.live(title, key, plain(item)) as log:
            return computed(function, item, run=shards.run(key, log))


@dataclass(frozen=True)
class Chunk:
    """Some items for one job.

    Called in the job's process. An item whose shard is there is skipped, so that a job which was
    put back into the queue, or meets another driver's, goes on where the work stands; and a
    training that keeps its unfinished state goes on from there.

    Args:
        function: computes an item.
        code: the digest of the code and packages that make shards when the run started.
        items: the items with their keys, in the order in which they are computed.
        folder: of the shards.
        titles: what the live runs of the items are called, by key.
    """

    function: Function
    code: str
    items: tuple[tuple[str, Item], ...]
    folder: Path
    titles: Mapping[str, str] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of its items."""
        return tuple(key for key, _ in self.items)

    def __call__(self) -> None:
        """Compute all items; one that raises is noted, and the others go on.

        Raises:
            OSError: nothing can be written.
            RuntimeError: code or packages are others than when the keys were made.
        """
        shards = Shards(self.folder)
        # First the code is loaded, then the files are looked at.
        pkgutil.resolve_name(self.function.name)
        if code_behind(self.function.name) != self.code:
            raise RuntimeError(
                "the code or a package has changed since the run was started: start it again"
            )
        for key, item in self.items:
            # The driver forgets what an item raised before it submits it again.
            if shards.has(key) or shards.error(key):
                continue
            try:
                if item_key(self.function.name, self.code, item) != key:
                    raise RuntimeError(f"item: expected that of the key {key}, got another one")
                self.function.compute(key, item, self.titles.get(key, key), shards)
            except Exception as error:
                if type(error).__name__ == "UncompletedJobError":
                    raise  # submitit's word that the job is over, not the item's
                shards.write_error(key, error)
                if shards.lasts(key):
                    raise

    def checkpoint(self) -> Any:
        """The job that submitit puts back into the queue at the time limit: the same one again."""
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
