"""Computing all items of a computation, wherever they run."""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import filterfalse
from pathlib import Path
from typing import Any

import xarray as xr

from hessian_papers.compute.driver import drive
from hessian_papers.compute.items import words
from hessian_papers.compute.launcher import GPUS, Launcher
from hessian_papers.compute.plan import Plan, follows, plan, together
from hessian_papers.compute.shards import Spent
from hessian_papers.compute.timing import estimate
from hessian_papers.networks.tools.result import kept_in, write
from hessian_papers.processes import changed_environment, ended_by_termination, one_at_a_time
from hessian_papers.progress import Progress
from hessian_papers.work import FanOut, Live, unseen
from hessian_spectra.progress import duration
from hessian_spectra.validation import require


def _compute(todo: Plan, launcher: Launcher, progress: Progress) -> int:
    """Compute what is missing; the number of attempts that failed."""
    if launcher.cluster != "debug":
        require(not together(), "cluster", "debug for processes of torchrun", launcher.cluster)
        # Jobs of SLURM go on, as they do when the driver's machine fails: the next driver waits.
        ended = ended_by_termination() if launcher.cluster == "local" else nullcontext()
        waits = partial(progress.say, "waits for another run of it")
        with ended, one_at_a_time(todo.shards.folder, waits):
            return drive(todo, launcher, progress)
    # As a process of its own, it sees no GPU unless it is given one, or has begun to use one.
    with nullcontext() if launcher.gpus or together() else changed_environment({GPUS: ""}):
        for key in filterfalse(todo.shards.has, todo.items):
            try:
                todo.compute(key)
            except Exception as error:
                error.add_note(f"while computing {words(todo.items[key], length=1000)}")
                raise
            progress.update({key})
    return 0


@dataclass(frozen=True, kw_only=True)
class Computation:
    """All items of a computation, which are computed wherever a launcher says, and kept.

    An item that was computed before, by whichever launcher, is read from its shard
    ``<folder>/<name>/<key>.npz``; the key is a digest of the function, its code and the item. So a
    run that was stopped goes on where it stood, and nothing that has changed is mistaken for done,
    nor is a shard of which a file is missing or not as it was written: it is computed again.
    An item that is a training may keep its own unfinished state and log to a live run of its own.

    Args:
        name: of the computation, and of its folder.
        work: its items, and what to do with them.
        config: the configuration, as ``work`` takes it.
        given: the samples or networks that it starts from, as ``work`` takes them.
        folder: where shards are, for all computations; on a cluster, one that all machines see.
        live: where the items of a training are shown; it changes nothing that is computed.
    """

    name: str
    work: FanOut
    config: Any
    given: Any
    folder: Path
    live: Live = unseen

    @cached_property
    def _plan(self) -> Plan:
        return plan(self.name, self.work, self.config, self.given, self.folder, self.live)

    def run(self, launcher: Launcher) -> Any:
        """The result of the whole computation; how far it is, is shown on standard error.

        Args:
            launcher: where items are computed.

        Returns:
            What ``work(config, given)`` returns, to the byte.

        Raises:
            FanOutError: some items could not be computed; those that could are kept.
            KeyboardInterrupt: the user stopped it; its processes or jobs are ended, what is done is
                kept. So it is with SystemExit when a run on one machine is asked to end (SIGTERM),
                and its processes end with a driver that is killed. Jobs of SLURM go on without
                theirs; the next one waits for them, and uses what they made.
        """
        todo = self._plan
        shards, keys = todo.shards, todo.costs.keys()
        present = shards.present() & keys
        damaged = shards.damaged(present, digests=True)
        for key in damaged:
            shards.discard(key)
        with Progress(self.name, todo.costs, present - damaged) as shown:
            if damaged:
                # They count as if they had never been there.
                shown.say(f"damaged or incomplete items, to be computed again: {len(damaged)}")
            failed = 0
            if shown.before < len(keys):
                shown.say(f"{len(keys)} items, {shown.before} done before; {launcher.words}")
                try:
                    failed = _compute(todo, launcher, shown)
                except (KeyboardInterrupt, SystemExit):
                    shown.say(
                        f"stopped: its jobs are cancelled, {len(shards.present() & keys)} of "
                        f"{len(keys)} items are kept; run again to go on"
                    )
                    raise
            time = duration(round(shown.elapsed, 1))
            shown.say(
                f"{len(todo.order)} items ({len(keys)} different): {shown.before} done before, "
                f"{shown.computed} computed, {failed} failed attempts, {time} ({launcher.words})"
            )
        for key in keys:
            # Of a process that was killed just when it had kept the result.
            shards.clear_unfinished(key)
        items = [todo.items[key] for key in todo.order]
        parts = {key: shards.read(key) for key in keys}
        return self.work.collected(
            self.config,
            self.given,
            items,
            [parts[key] for key in todo.order],
            lambda others: replace(self, given=others).run(launcher),
        )

    def train(self, launcher: Launcher, result: Path) -> xr.Dataset:
        """Train networks and keep them in a folder of their own, whole or not at all.

        Under ``torchrun`` its processes train each network together, one after the other; the first
        of them keeps the result.

        What a training wrote into ``run.folder`` is there beside the data set; of a training that
        spreads, in a folder for each item that did so, ``0`` for the first. One that does not runs
        in this process, if it is on one machine.

        Args:
            launcher: where items are computed.
            result: the folder; what was there before is replaced.

        Returns:
            The networks that are now in ``result``, see
            :mod:`hessian_papers.networks.tools.result`.

        Raises:
            FanOutError: some items could not be computed; those that could are kept.
            DamagedFileError: what a training made was changed while it was put together.
            ValueError: processes of ``torchrun`` are told to hand items to others.
        """
        if not self.work.spreads and launcher.cluster == "local":
            launcher = replace(launcher, cluster="debug")
        networks = self.run(launcher)
        if follows():
            return kept_in(result, networks)
        shards = self._plan.shards
        made, written = {}, {}
        for index, key in enumerate(self._plan.order):
            place = Path(str(index)) if self.work.spreads else Path()
            for file, facts in shards.manifest(key).items():
                if file.startswith(f"{key}/"):
                    made[str(place)] = shards.path(key)
                    written[(place / Path(file).relative_to(key)).as_posix()] = facts
        return write(result, networks, made, written)

    def spent(self) -> Spent:
        """The time that the items took, one after the other, and the GPUs that they used.

        Without the time to start jobs, and of the items that are done.
        """
        shards = self._plan.shards
        return shards.spent(self._plan.costs.keys() & shards.present())

    def estimate(self, launcher: Launcher) -> str:
        """The work that is left, and the time that it will take, see :func:`timing.estimate`."""
        return estimate(self._plan, self.work, launcher)
