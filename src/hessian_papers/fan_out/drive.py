"""The driver: hands jobs to a cluster, watches them, and tries again what failed."""

import collections
import itertools
import platform
import time
from collections.abc import Set

from hessian_papers.fan_out.items import words
from hessian_papers.fan_out.launcher import FanOutError, Launcher
from hessian_papers.fan_out.ledger import Job, Ledger
from hessian_papers.fan_out.local import Local
from hessian_papers.fan_out.plan import Plan, jobs
from hessian_papers.fan_out.progress import Progress
from hessian_papers.fan_out.shards import Shards
from hessian_papers.fan_out.slurm import Slurm
from hessian_papers.fan_out.worker import Chunk, environment

# How many failed items an error names.
NAMED = 3
# How long jobs are given to end when all items are there, in seconds.
FAREWELL_SECONDS = 10.0


class Driver:
    """One run over the items that are missing; no other may work in the same folder.

    Args:
        plan: the items.
        shards: where they go.
        launcher: where they are computed, and how often an item is tried again.
        progress: shows how far it is.
    """

    def __init__(self, plan: Plan, shards: Shards, launcher: Launcher, progress: Progress) -> None:
        slurm = launcher.cluster == "slurm"
        # Machines may share the folder, but nobody here can look after another one's processes.
        place = "slurm" if slurm else f"local-{platform.node()}"
        self._ledger = Ledger(shards.folder / "jobs" / place)
        cluster = Slurm if slurm else Local
        self._cluster: Slurm | Local = cluster(launcher, self._ledger, environment(plan.roots))
        self._plan = plan
        self._shards = shards
        self._launcher = launcher
        self._progress = progress
        self._queue: collections.deque[tuple[str, ...]] = collections.deque()
        self._running: dict[str, Job] = {}
        self._failures: collections.Counter[str] = collections.Counter()
        self._last_words: dict[str, str] = {}
        self._failed_jobs = 0

    def run(self) -> int:
        """Compute all items that have no shard.

        Returns:
            How many attempts at an item failed.

        Raises:
            FanOutError: some failed more often than they are tried again.
            KeyboardInterrupt: the user stopped it. As after every error, all jobs are cancelled
                first.
        """
        try:
            self._take_stock()
            self._watch()
        except BaseException:
            # From the ledger, so that what was being submitted is stopped, too.
            self._cluster.cancel(self._ledger.jobs())
            raise
        self._tidy_up()
        return self._failures.total()

    def _take_stock(self) -> None:
        """Find what is missing, and the jobs of a killed driver that work on it already."""
        missing = self._plan.costs.keys() - self._shards.present()
        known = self._ledger.jobs()
        alive = self._cluster.living(known)
        wanted = {job.folder for job in known if job.name in alive and missing & set(job.keys)}
        useless = [job for job in known if job.name in alive and job.folder not in wanted]
        if useless:
            # They would take the cores of those that are needed.
            self._cluster.cancel(useless)
            said = "cancelled jobs that a killed run with other settings left"
            self._progress.say(f"{said}: {len(useless)}")
        self._running = {
            job.name: job for job in known if job.name in alive and job.folder in wanted
        }
        running = list(self._running.values())
        self._ledger.clear(running)
        if running:
            self._progress.say(f"took over jobs that run or wait already: {len(running)}")
        rest = missing.difference(*(job.keys for job in running))
        self._queue.extend(jobs({key: self._plan.costs[key] for key in rest}, self._launcher))

    def _tidy_up(self) -> None:
        """Let the jobs end, and remove what they leave but for the shards."""
        ending = list(self._running.values())
        until = time.monotonic() + FAREWELL_SECONDS
        while (living := self._cluster.living(ending)) and time.monotonic() < until:
            time.sleep(0.1)
        # What still runs computes what is there or what nobody asks for.
        self._cluster.cancel([job for job in ending if job.name in living])
        self._ledger.clear()

    def _watch(self) -> None:
        while True:
            # The jobs before the shards: what a job that has ended wrote is there by then.
            running = list(self._running.values())
            living = self._cluster.living(running)
            present = self._shards.present()
            self._progress.update(present, self._cluster.status)
            for job in running:
                if job.name not in living:
                    del self._running[job.name]
                    self._settle(job, present)
            missing = self._plan.costs.keys() - present
            if not missing:
                return
            if not self._progress.computed and self._failed_jobs > self._hopeless:
                raise self._error(missing)
            self._submit(present)
            if not self._running:
                # Another run may have found a shard damaged that this one took for done.
                lost = missing - self._failures.keys()
                if not lost:
                    raise self._error(missing)
                self._queue.append(tuple(sorted(lost)))
            # Often at first, for the sake of a short run, then so that nobody is bothered.
            time.sleep(min(self._cluster.patience, max(0.1, self._progress.elapsed / 50)))

    @property
    def _hopeless(self) -> int:
        """The number of failed jobs that end a run in which nothing succeeded."""
        # A wrong setting, or an error in the code, should not cost as much time as the work.
        return self._launcher.retries + self._launcher.workers_at_once

    def _settle(self, job: Job, present: set[str]) -> None:
        """Find out which items of a job that has ended are missing, and why."""
        missing = [key for key in job.keys if key in self._plan.costs and key not in present]
        if not missing:
            return
        self._failed_jobs += 1
        raised = [key for key in missing if self._shards.error(key)]
        silent = [key for key in missing if key not in raised]
        # A job computes its items in order and notes what they raise. So the first one of which
        # nothing is known was under way when the job ended, and the others had not begun.
        lasting = any(map(self._shards.lasts, raised))
        begun = 0 if lasting else 1
        under_way, untouched = silent[:begun], silent[begun:]
        for key in raised + under_way:
            self._failures[key] += 1
            self._last_words[key] = self._shards.error(key) or job.last_words
        if lasting:
            raise self._error(self._plan.costs.keys() - present)
        if untouched:
            self._queue.appendleft(tuple(untouched))
        # What killed a job goes into one of its own, so that it takes no others with it.
        for keys in (raised, under_way):
            again = tuple(key for key in keys if self._failures[key] <= self._launcher.retries)
            if again:
                self._queue.append(again)

    def _submit(self, present: set[str]) -> None:
        room = self._cluster.most - len(self._running)
        batch: list[tuple[str, ...]] = []
        while self._queue and len(batch) < room:
            keys = tuple(key for key in self._queue.popleft() if key not in present)
            if keys:
                batch.append(keys)
        if not batch:
            return
        for key in itertools.chain(*batch):
            self._shards.clear_error(key)
        for job in self._cluster.submit([self._chunk(keys) for keys in batch]):
            self._running[job.name] = job

    def _chunk(self, keys: tuple[str, ...]) -> Chunk:
        items = tuple((key, self._plan.items[key]) for key in keys)
        name, live = self._progress.name, self._plan.function.trains
        return Chunk(
            function=self._plan.function,
            code=self._plan.code,
            items=items,
            folder=self._shards.folder.resolve(),
            titles={key: self._plan.title(name, key) for key in keys} if live else {},
        )

    def _error(self, missing: Set[str]) -> FanOutError:
        # In the order of the items, the ones that failed before those that were given up with them.
        failed = [key for key in self._plan.items if key in missing and self._failures[key]]
        items = self._plan.items
        named = [words(items[key], self._plan.shown) for key in failed[:NAMED]]
        more = f" and {len(failed) - NAMED} more" if len(failed) > NAMED else ""
        return FanOutError(
            f"{self._progress.name}: {len(missing)} of {len(self._plan.costs)} items are missing "
            f"after {self._failures.total()} failed attempts at {', '.join(named)}{more}; "
            f"the last error: {self._last_words[failed[-1]]} (logs in {self._ledger.folder}); "
            "run again to go on with what is missing"
        )
