"""Runs of the pipeline that are disturbed, and what is left of that.

    python -m tests.pipelines.faults [--moments 5] [--seed 0]

On the pipeline's smallest scale, `make repro` is killed, asked to end and interrupted, each at some
random moments, and run again at once; two of them run in one checkout; and the results of one, as
root, are on a disk that is soon full, and then has space. Each has to end in the bytes of an
undisturbed run, with no process left. Exit code 1 if one does not.
"""

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

from hessian_papers.memory import KNOWN
from pipelines.reproduce import SPENT
from tests.pipelines.workspace import Workspace, copy_repository, environment, smallest

# What no run may change: all that is made, but for the runs of W&B and DVC's own records.
MADE = ("results", "reports")
COMMAND = ("python", "-m", "pipelines.reproduce", "--jobs", "2")
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
# How long processes are given to end, and runs, in seconds. Killed ones end at once, while a stage
# that nobody ends works on for longer than that.
PATIENCE, LONGEST = 1.5, 400.0
# How much the disk of results holds at first, and then.
SMALL_DISK, LARGE_DISK = "450k", "500m"


def made(workspace: Workspace) -> dict[str, bytes]:
    """The files that a run makes, by path."""
    actual = workspace.outputs(*MADE)
    # What a run keeps for itself: finished items, how long stages took, digests of files.
    own = ("shards", SPENT.name, KNOWN.name)
    return {name: content for name, content in actual.items() if not any(o in name for o in own)}


def started(workspace: Workspace) -> subprocess.Popen[str]:
    """A driver in a process of its own."""

    def heed() -> None:
        for number in SIGNALS[1:]:
            signal.signal(number, signal.SIG_DFL)

    return subprocess.Popen(
        COMMAND,
        cwd=workspace.path,
        env=environment() | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=heed,
    )


def ended(driver: subprocess.Popen[str], number: signal.Signals) -> list[str]:
    """Send a driver a signal; the commands of its processes that live on all the same."""
    below = psutil.Process(driver.pid).children(recursive=True)
    driver.send_signal(number)
    driver.communicate(timeout=LONGEST)
    _, living = psutil.wait_procs(below, timeout=PATIENCE)
    actual = []
    for process in living:
        with contextlib.suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE:
                actual.append(" ".join(process.cmdline()))
    return actual


def reset(workspace: Workspace) -> None:
    """Back to what was copied: nothing is made, and nothing in a cache."""
    workspace.run("git", "checkout", "--quiet", ".")
    workspace.run("git", "clean", "-dffxq")


def problems(workspace: Workspace, expected: dict[str, bytes], drivers: int = 1) -> Iterator[str]:
    """Run it again, as several drivers at once; in what it does not end as an undisturbed one."""
    running = [started(workspace) for _ in range(drivers)]
    for driver in running:
        said, _ = driver.communicate(timeout=LONGEST)
        if driver.returncode:
            yield f"ended with code {driver.returncode}: {said[-2000:]}"
    actual = made(workspace)
    for name in sorted(expected.keys() | actual.keys()):
        if name not in actual or name not in expected:
            yield f"{name}: {'missing' if name in expected else 'left'}"
        elif actual[name] != expected[name]:
            yield f"{name}: other bytes"


def _disturbed(workspace: Workspace, number: signal.Signals, moment: float) -> Iterator[str]:
    driver = started(workspace)
    time.sleep(moment)
    yield from (f"lives on: {command}" for command in ended(driver, number))


def _mount(folder: Path, options: str) -> None:
    """Have a folder stand on a disk of its own, or change that disk."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(folder)], check=True)


@contextlib.contextmanager
def _small_disk(folder: Path) -> Iterator[None]:
    """A block in which a folder is a small disk."""
    folder.mkdir()
    _mount(folder, f"size={SMALL_DISK}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def _on_a_full_disk(workspace: Workspace, expected: dict[str, bytes]) -> Iterator[str]:
    before, results = made(workspace), workspace.path / "results"
    with _small_disk(results):
        driver = started(workspace)
        said, _ = driver.communicate(timeout=LONGEST)
        if driver.returncode == 0 or "No space left on device; free some space" not in said:
            yield f"the disk was not full, or nobody said so: {said[-500:]}"
        whole = made(workspace)
        for name, content in whole.items():
            if content not in (before.get(name), expected.get(name)):
                yield f"{name}: half"
        _mount(results, f"remount,size={LARGE_DISK}")
        yield from problems(workspace, expected)


def main(moments: int, seed: int) -> int:
    """Make all trials and print a line each; 1 if one of them found a problem, else 0."""
    draws, bad = random.Random(seed), 0
    with tempfile.TemporaryDirectory() as folder:
        workspace = smallest(copy_repository(Path(folder)))
        since = time.monotonic()
        workspace.run(*COMMAND)
        duration, expected = time.monotonic() - since, made(workspace)
        print(f"undisturbed: {duration:.0f} s, {len(expected)} files", flush=True)
        trials: list[tuple[str, Callable[[], Iterator[str]], int]] = [
            (
                f"{number.name} after {moment:.1f} s",
                lambda n=number, m=moment: _disturbed(workspace, n, m),
                1,
            )
            for number in SIGNALS
            for moment in (draws.uniform(0, duration) for _ in range(moments))
        ]
        trials += [("two at once", lambda: iter(()), 2)]
        for name, disturb, drivers in trials:
            reset(workspace)
            actual = [*disturb(), *problems(workspace, expected, drivers)]
            bad += bool(actual)
            print(f"{name}: {'; '.join(actual) or 'as undisturbed'}", flush=True)
        if os.getuid() == 0:
            reset(workspace)
            actual = [*_on_a_full_disk(workspace, expected)]
            bad += bool(actual)
            print(f"a full disk: {'; '.join(actual) or 'as undisturbed'}", flush=True)
    print(f"{bad} trials found a problem")
    return int(bad > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--moments", type=int, default=5, help="how many for each signal")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    chosen = parser.parse_args()
    sys.exit(main(chosen.moments, chosen.seed))
