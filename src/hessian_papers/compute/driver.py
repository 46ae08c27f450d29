"""The driver: hands items to processes of this machine or to SLURM, and tries again what failed."""

import collections
import contextlib
import multiprocessing
import os
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from hessian_papers.compute.launcher import GPUS, FanOutError, Launcher
from hessian_papers.compute.plan import Plan
from hessian_papers.compute.shards import lasts, line_of
from hessian_papers.processes import REQUESTS, changed_environment
from hessian_papers.progress import Progress
from hessian_papers.provenance import PACKAGES, root_of
from hessian_spectra.files import digest
from hessian_spectra.validation import require

# The attempts at items that failed, as they do: keys, and the last words of their processes.
Attempts = Generator[tuple[str, str], None, None]
# How many failed items an error names.
NAMED = 3
SILENCE = "its process ended without a word, as one does that is killed"
# One thread for each worker: as many workers as cores are faster than threads, and the bytes of a
# result depend on the number of threads.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
# Where the system has a file for each GPU.
DEVICES = Path("/dev")
# Jobs of SLURM for each worker: they may start at different times, and should end together.
JOBS_PER_WORKER = 4
# SLURM's own limit on the size of an array of jobs is 1001 unless an administrator changed it.
LARGEST_ARRAY = 1000
COMMANDS = ("sbatch", "squeue", "scancel", "srun")


def drive(todo: Plan, launcher: Launcher, progress: Progress) -> int:
    """Compute all items that have no shard, in rounds: what fails in one is tried in the next.

    No other driver may work in the same folder.

    Returns:
        How many attempts at an item failed.

    Raises:
        FanOutError: some failed more often than they are tried again.
        KeyboardInterrupt: the user stopped it. As after every error, all that runs is ended first.
    """
    shards = todo.shards
    failures: collections.Counter[str] = collections.Counter()
    said = {"": ""}
    attempt = _on_slurm if launcher.cluster == "slurm" else _here
    while missing := todo.costs.keys() - shards.present():
        again = [key for key in missing if failures[key] <= launcher.retries]
        if not again:
            raise _error(todo, failures, said)
        # What failed comes last, so that it takes nothing with it, and else the longest first. Keys
        # break ties, so that the same items always make the same jobs.
        again.sort(key=lambda key: (failures[key], -todo.costs[key], key))
        for key in again:
            shards.clear_error(key)
        with contextlib.closing(attempt(todo, again, launcher, progress)) as failed:
            for key, last_words in failed:
                failures[key] += 1
                said[key] = shards.error(key) or last_words
                # A wrong setting, or an error in the code, should not cost the time of the work.
                few = launcher.retries + launcher.workers_at_once
                if lasts(said[key]) or (not progress.computed and failures.total() > few):
                    raise _error(todo, failures, said)
    progress.update(shards.present())
    return failures.total()


def _error(todo: Plan, failures: Mapping[str, int], said: Mapping[str, str]) -> FanOutError:
    missing = todo.costs.keys() - todo.shards.present()
    failed = [key for key in todo.costs if key in missing and failures[key]]
    more = f" and {len(failed) - NAMED} more" if len(failed) > NAMED else ""
    return FanOutError(
        f"{todo.name}: {len(missing)} of {len(todo.costs)} items are missing after "
        f"{sum(failures.values())} failed attempts at "
        f"{', '.join(map(todo.in_words, failed[:NAMED]))}{more}; the last error: "
        f"{said[failed[-1]]} (more in {todo.shards.folder}); "
        "run again to go on with what is missing"
    )


def gpus_of_workers(each: int) -> list[str]:
    """The GPUs of each of the processes that run at once, among those that this one sees.

    Args:
        each: how many GPUs a process has; no two share one.

    Raises:
        FanOutError: there are not so many.

    Example:
        >>> gpus_of_workers(0)
        []
    """
    named = os.environ.get(GPUS)
    if named is None:
        numbers = [str(number) for number in range(len([*DEVICES.glob("nvidia[0-9]*")]))]
    else:
        numbers = [name.strip() for name in named.split(",") if name.strip().isdigit()]
    if len(numbers) < each:
        raise FanOutError(
            f"launcher.gpus: expected at most {len(numbers)}, which this machine has for a job, "
            f"got {each}"
        )
    starts = range(0, len(numbers) - each + 1, each) if each else ()
    return [",".join(numbers[start : start + each]) for start in starts]


def _begin() -> None:
    """Have this process, a worker, end when its driver does, however that ends."""

    def end() -> None:
        driver = multiprocessing.parent_process()
        assert driver is not None
        driver.join()
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()


def _pool() -> ProcessPoolExecutor:
    """A process alone: where several are together, one that is killed takes the others with it."""
    spawned = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=spawned, initializer=_begin)


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """A block that no request to end interrupts, and whose processes hear of none.

    Ctrl-C goes to the driver and its processes alike. They leave it to the driver, which ends them
    without a traceback from each. Blocked, not ignored, it reaches the driver a moment later.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, *REQUESTS})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _here(todo: Plan, keys: Sequence[str], launcher: Launcher, progress: Progress) -> Attempts:
    """Compute items in processes of this machine, each in the next one that is free."""
    shards, left = todo.shards, list(keys)
    before, most = {*multiprocessing.active_children()}, launcher.workers_at_once
    gpus = (gpus_of_workers(launcher.gpus) or [""] * most)[: min(most, len(keys))]
    pools = [_pool() for _ in gpus]
    running: dict[Future[None], tuple[int, str]] = {}
    try:
        while left or running:
            busy = {worker for worker, _ in running.values()}
            for worker in sorted({*range(len(pools))} - busy)[: len(left)]:
                try:
                    with _deaf(), changed_environment(ONE_THREAD | {GPUS: gpus[worker]}):
                        future = pools[worker].submit(todo.part(left[:1]))
                    running[future] = worker, left.pop(0)
                except BrokenProcessPool:
                    pools[worker] = _pool()  # it was killed between two items
            ended, _ = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
            progress.update(shards.present())
            for future in ended:
                worker, key = running.pop(future)
                error = future.exception()
                if isinstance(error, BrokenProcessPool):
                    pools[worker].shutdown()
                    pools[worker], error = _pool(), None
                if not shards.has(key):
                    yield key, SILENCE if error is None else line_of(error)
    except BaseException:
        with _deaf():
            # Shards are written whole or not at all, so that is safe.
            for process in {*multiprocessing.active_children()} - before:
                process.kill()
        raise
    finally:
        for pool in pools:
            pool.shutdown()


def jobs(keys: Sequence[str], launcher: Launcher) -> list[Sequence[str]]:
    """Cut items into jobs of SLURM, of about equal cost if nothing is said of their size.

    Each job takes every n-th item: if the longest come first, no job is longer than another by more
    than one of them.

    Args:
        keys: of the items; each job has its own in this order.
        launcher: says how many items go into a job, or how many jobs there are.

    Example:
        >>> jobs(["b", "c", "a"], Launcher(workers=1, items_per_job=2))
        [['b', 'c'], ['a']]
    """
    if size := launcher.items_per_job:
        return [keys[start : start + size] for start in range(0, len(keys), size)]
    count = min(len(keys), JOBS_PER_WORKER * launcher.workers_at_once)
    return [keys[first::count] for first in range(count)]


def _executor(todo: Plan, launcher: Launcher, folder: Path, name: str) -> Any:
    """The executor that submits jobs, with the settings of the launcher.

    Raises:
        ValueError: there is no SLURM here, or it has no such setting.
    """
    import submitit

    missing = [command for command in COMMANDS if shutil.which(command) is None]
    what = "a machine that has SLURM's commands for slurm (or choose local)"
    require(not missing, "cluster", what, f"no {', '.join(missing)}")
    options, known = dict(launcher.options), submitit.SlurmExecutor._valid_parameters()
    unknown = sorted(set(options) - known)
    require(not unknown, "options", f"names among {', '.join(sorted(known))}", ", ".join(unknown))
    # A worker runs the code of the tree that its driver runs, also where another is installed.
    module = todo.function.partition(":")[0]
    roots = dict.fromkeys(str(root_of(name)) for name in (*PACKAGES, module))
    path = os.pathsep.join([*roots, *filter(None, [os.environ.get("PYTHONPATH")])])
    # In the job's script: some sites do not pass the environment of sbatch on.
    variables = ONE_THREAD | {"PYTHONPATH": path}
    exports = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    given: dict[str, Any] = {
        "job_name": name,
        "time": launcher.minutes,
        # A signal goes to the job well before its time is over, so that it can be put back.
        "signal_delay_s": min(90, 15 * launcher.minutes),
        "array_parallelism": launcher.workers_at_once,
        **({"gpus_per_node": launcher.gpus} if launcher.gpus else {}),
        **options,
        "setup": [*(options.get("setup") or []), *exports],
    }
    executor = submitit.SlurmExecutor(folder, max_num_timeout=launcher.retries)
    executor.update_parameters(**given)
    return executor


def _living(name: str) -> str | None:
    """The states of the jobs of a name that run or wait; ``None`` if nobody answers.

    By the queue itself, not by the accounts of past jobs, which many clusters do not keep.
    """
    command = ["squeue", "--noheader", "--array", f"--name={name}", "--format=%T (%r)"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    # Also those that complete: one at its time limit does before it goes back into the queue.
    states = collections.Counter(sorted(listed.stdout.lower().splitlines()))
    said = ", ".join(f"{count} {state}" for state, count in states.items())
    return None if listed.returncode else said


def _look(name: str, todo: Plan, progress: Progress) -> str | None:
    """Show how far jobs are, and what :func:`_living` says of them."""
    # The jobs before the shards: what a job that has ended wrote is there by then.
    living = _living(name)
    status = "squeue does not answer" if living is None else living
    progress.update(todo.shards.present(), status)
    # Often at first, for the sake of a short run, then so that nobody is bothered.
    time.sleep(min(10.0, max(0.1, progress.elapsed / 50)))
    # One that goes back into the queue may be nowhere for a moment.
    return living or _living(name)


def _on_slurm(todo: Plan, keys: Sequence[str], launcher: Launcher, progress: Progress) -> Attempts:
    """Compute items in an array of jobs, when those that a killed driver left have ended."""
    import submitit

    shards = todo.shards
    folder, name = shards.folder / "jobs", f"{todo.name}-{digest(str(shards.folder))}"
    executor = _executor(todo, launcher, folder, name)
    chunks = jobs(keys, launcher)[:LARGEST_ARRAY]
    given, raised = {key for chunk in chunks for key in chunk}, set[str]()
    try:
        if left := _living(name):
            ending = f"to end them: scancel --name={name}"
            progress.say(f"waits for jobs of a run that was killed ({left}); {ending}")
            while _look(name, todo, progress) != "":
                pass
        shutil.rmtree(folder, ignore_errors=True)
        if left:
            return
        submitted = executor.submit_array([todo.part(chunk) for chunk in chunks])
        living: str | None = None
        while living != "" and not given <= shards.present():
            living = _look(name, todo, progress)
            for key in (shards.failed() & given) - raised:
                raised.add(key)
                yield key, ""
    except submitit.core.utils.FailedJobError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise FanOutError(f"SLURM refused the jobs: {' '.join(str(error).split())}") from None
    finally:
        subprocess.run(["scancel", f"--name={name}"], capture_output=True, check=False)
    silent = given - shards.present() - raised
    for chunk, job in zip(chunks, submitted, strict=True):
        # A job computes its items in order and notes what they raise. So the first one of which
        # nothing is known was under way when the job ended, and the others had not begun.
        for key in [key for key in chunk if key in silent][:1]:
            lines = filter(None, map(str.strip, (job.stderr() or "").split("\n")))
            yield key, [SILENCE, *lines][-1]
    if given <= shards.present():
        shutil.rmtree(folder, ignore_errors=True)
