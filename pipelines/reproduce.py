"""Command reproduce: `dvc repro` on all cores.

    python -m pipelines.reproduce [--jobs N] [--cold] [--mend]

DVC runs one stage after the other, and most of them use one core. So several `dvc repro` share the
repository here, each with a few stages whose inputs are there; what must run, and in which order,
DVC itself says. At the end it says whether anything is left, which a plain `dvc repro` then makes.
"""

import argparse
import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from hessian_papers.processes import cores, ended_by_termination
from hessian_spectra.files import read_json, write_json
from pipelines import warm
from pipelines.alone import alone, refusing
from pipelines.lifetime import mendable, share_life
from pipelines.schedule import ALWAYS, Graph, items, take, urgency
from pipelines.upload import upload

if TYPE_CHECKING:
    from hessian_papers.progress import Progress

LOCK = Path("dvc.lock")
# How long each stage took when it last ran here, in seconds.
SPENT = Path("results/spent.json")
# How long a stage takes of which no time is known, in seconds.
USUAL_SECONDS = 2.0
# How many stages that run are named.
NAMED = 2
# How long stages are given to end when others have failed, in seconds.
PATIENCE = 30.0
# What DVC says of each stage that nobody has to read.
CHATTER = re.compile(
    r"(Stage '.*' didn't change, skipping|Updating lock file .*|Use `dvc push`.*|To track the .*"
    r"|To enable auto staging.*|\tgit add .*|\tdvc config core\.autostage.*"
    r"|Data and pipelines are up to date\.|> (exec )?python .*)?$"
)
STARTED = re.compile(r"Running stage '(.*)':$|Stage '(.*)' is cached - skipping run.*$")


class Failed(Exception):  # noqa: N818 - it ends the command; what failed has been said
    """A `dvc` command failed; the code is the one to end with."""

    def __init__(self, code: int) -> None:
        super().__init__(f"ended with code {code}")
        self.code = code


def _dvc(*arguments: str) -> str:
    """The output of a `dvc` command that changes nothing."""
    command = ("dvc", "--wait-for-lock", *arguments)
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=False, preexec_fn=_child(os.getpid())
    )
    if done.returncode:
        raise Failed(done.returncode)
    return done.stdout


def _started(environment: Mapping[str, str], *arguments: str) -> subprocess.Popen[str]:
    """A `dvc repro` in a session of its own: what is to end is ended with all that it started."""
    return subprocess.Popen(
        ("dvc", "--wait-for-lock", "repro", *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        start_new_session=True,
        preexec_fn=_child(os.getpid()),
    )


def _repro(*targets: str, **environment: str) -> None:
    process = _started({**os.environ, **environment}, *targets)
    assert process.stdout is not None
    try:
        for line in map(str.rstrip, process.stdout):
            if not CHATTER.match(line):
                print(line, flush=True)
        code = process.wait()
    finally:
        _end([process])
    if code:
        raise Failed(code)


def mend_lock() -> None:
    """Take back a dvc.lock of which a killed `dvc` has written a part: it writes it in place.

    What ran since is found again, in the cache of runs. So is all of it where there is no Git.
    """
    try:
        content = LOCK.read_bytes()
        stages = yaml.load(content, yaml.CSafeLoader)["stages"]
        if isinstance(stages, dict) and content.endswith(b"\n"):
            return
    except FileNotFoundError:
        return
    except (yaml.YAMLError, TypeError, KeyError, UnicodeDecodeError):
        pass
    went = "went back to the committed one"
    try:
        back = ("git", "checkout", "--quiet", "--", str(LOCK))
        subprocess.run(back, check=True, capture_output=True)
    except (subprocess.CalledProcessError, FileNotFoundError):
        LOCK.unlink()
        went = "went on without it, as there is no committed one"
    print(f"{LOCK} was cut off by a run that was killed: {went}")


def changed() -> set[str]:
    """The stages that DVC finds changed; those that depend on them are not among them."""
    return {*json.loads(_dvc("status", "--json"))} - {"dvc.yaml", ALWAYS}


def graph() -> dict[str, set[str]]:
    """The stages that each stage depends on directly, in the order of dvc.yaml."""
    edges: dict[str, set[str]] = {}
    for line in _dvc("dag", "--dot").splitlines():
        names = re.findall(r'"([^"]+)"', line)
        for name in names:
            edges.setdefault(name, set())
        if len(names) == 2:
            edges[names[1]].add(names[0])
    return edges


class Runner:
    """Several `dvc repro` at once.

    Args:
        jobs: how many.
        environment: of their processes.
        progress: shows which stages are done, and how much time is left.
    """

    def __init__(self, jobs: int, environment: Mapping[str, str], progress: "Progress") -> None:
        self._jobs = jobs
        self._environment = dict(environment)
        self._progress = progress
        self._running: dict[subprocess.Popen[str], list[str]] = {}
        self._ended: queue.Queue[subprocess.Popen[str]] = queue.Queue()
        self._done: set[str] = set()
        self._stopping = False
        self.spent: dict[str, float] = {}  # seconds of each stage that ran to its end

    def run(self, before: Graph, seconds: Mapping[str, float]) -> None:
        """Run stages, each when those that it depends on are done, the most urgent ones first.

        Args:
            before: for each stage those that it depends on.
            seconds: about how long each takes of those to run; all others are up to date.

        Raises:
            Failed: one of them failed, or was killed; the others have been stopped.
        """
        urgent = urgency(before, seconds)
        left = sorted(seconds, key=lambda stage: -urgent[stage])
        try:
            while left or self._running:
                while len(self._running) < self._jobs and (ready := self._ready(before, left)):
                    batch = take(ready, seconds, self._jobs)
                    left = [name for name in left if name not in batch]
                    self._start(batch)
                process = self._ended.get()
                batch = self._running.pop(process)
                if process.returncode:
                    raise Failed(process.returncode if process.returncode > 0 else 1)
                self._show({*batch})
        finally:
            self._stop()

    def _ready(self, before: Graph, left: Sequence[str]) -> list[str]:
        open_ones = {*left, *(name for batch in self._running.values() for name in batch)}
        return [name for name in left if not before[name] & open_ones]

    def _start(self, batch: list[str]) -> None:
        process = _started(self._environment, "--single-item", *batch)
        self._running[process] = batch
        threading.Thread(target=self._follow, args=(process, batch), daemon=True).start()

    def _follow(self, process: subprocess.Popen[str], batch: list[str]) -> None:
        """Pass on what a process says, each line with its stage."""
        stage, lines = batch[0], process.stdout
        since: float | None = None  # of a stage from the cache no time is taken
        assert lines is not None
        with lines:
            for line in map(str.rstrip, lines):
                if started := STARTED.match(line):
                    self._take_time(stage, since)
                    stage = started[1] or started[2]
                    since = time.monotonic() if started[1] else None
                    self._show(set(batch[: batch.index(stage)]))
                elif not (CHATTER.match(line) or self._stopping):
                    self._progress.say(f"{stage}: {line}")
        if process.wait() == 0:
            self._take_time(stage, since)
        elif process.returncode < 0 and not self._stopping:
            said = f"was killed (signal {-process.returncode}); run again to go on"
            self._progress.say(f"{stage}: {said}")
        self._ended.put(process)

    def _show(self, done: set[str]) -> None:
        """Show that some more stages are done, and what runs."""
        self._done |= done
        running = [name for batch in self._running.values() for name in batch]
        begun = [name for name in running if name not in self._done]
        self._progress.update(self._done, ", ".join(begun[:NAMED]))

    def _take_time(self, stage: str, since: float | None) -> None:
        if since is not None:
            self.spent[stage] = time.monotonic() - since

    def _stop(self) -> None:
        """End what still runs: each stage keeps what is finished."""
        self._stopping = True
        _end(self._running)
        self._running.clear()


def _child(driver: int) -> Callable[[], None]:
    """The first thing that a process of the driver does; its main thread must start it."""

    def begin() -> None:
        share_life(signal.SIGKILL)
        # Heed a request to stop, also of a driver in the background of a shell, which ignores it.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if os.getppid() != driver:
            os._exit(1)  # it was killed just before

    return begin


def _end(processes: Iterable[subprocess.Popen[Any]]) -> None:
    """End processes, each with its session, if they run: first they are asked to."""
    for number in (signal.SIGINT, signal.SIGKILL):
        living = [process for process in processes if process.poll() is None]
        for process in living:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        for process in living:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)


def environment(jobs: int) -> dict[str, str]:
    """The environment of stages that run at once: they share the cores that a single one has."""
    workers = cores() // jobs
    # A worker of its own would be one more process that first loads torch.
    shared = {"WORKERS": str(workers)} if workers > 1 else {"CLUSTER": "debug"}
    named = {f"HESSIAN_SPECTRA_{name}": value for name, value in shared.items()}
    chosen = any(name.startswith("HESSIAN_SPECTRA_") for name in os.environ)
    return dict(os.environ) if chosen else named | dict(os.environ)


@contextlib.contextmanager
def warm_process() -> Iterator[dict[str, str]]:
    """A block in which stages need not load what others load: see :mod:`pipelines.warm`.

    Yields:
        What their environment needs for it; nothing where the system does not offer it.
    """
    if sys.platform != "linux":
        yield {}
        return
    # The system takes no long name of a socket; clusters have such of other folders.
    with tempfile.TemporaryDirectory(prefix="stages-", dir="/tmp") as folder:
        path = f"{folder}/socket"
        command = (sys.executable, "-m", "pipelines.warm", path)
        begin = _child(os.getpid())
        process = subprocess.Popen(command, start_new_session=True, preexec_fn=begin)
        try:
            yield {warm.SOCKET: path}
        finally:
            process.kill()
            process.wait()


def reproduce(jobs: int, *, cold: bool = False, mend: bool = False) -> None:
    """Bring everything up to date; no other run may work here meanwhile.

    Args:
        jobs: how many stages run at once.
        cold: whether each stage loads all packages itself.
        mend: whether to clear away what killed runs left, and no more.
    """
    mend_lock()
    if mend:
        print("DVC's records are whole: what killed runs left of them is cleared away")
        return
    _repro(ALWAYS)
    with contextlib.ExitStack() as block:
        with refusing():
            if not (stale := changed()):
                return
            warmth = {} if cold else block.enter_context(warm_process())
            if jobs > 1:
                before = graph()
                _run(items(before, stale), before, jobs, warmth)
                stale = changed()
        if stale:
            _repro(**warmth)


def _run(todo: Sequence[str], before: Graph, jobs: int, warmth: dict[str, str]) -> None:
    """Run stages at once, and keep how long each took."""
    # It takes a while to load, and a run that has nothing to do shows no progress.
    from hessian_papers.progress import Progress

    costs = {**dict.fromkeys(todo, USUAL_SECONDS), **_times(todo)}
    with Progress("make repro", costs, set()) as progress:
        runner = Runner(jobs, environment(jobs) | warmth, progress)
        try:
            runner.run(before, costs)
        finally:
            _keep(runner.spent)


def _times(stages: Iterable[str]) -> dict[str, float]:
    """The seconds that stages took when they last ran, here or where the committed times are of."""
    # It takes a while to load, and a run that has nothing to do shows no times.
    from pipelines.inputs import stage_times

    known = {**stage_times().get("stages", {}), **_spent()}
    return {stage: max(known[stage], 0.1) for stage in stages if stage in known}


def _spent() -> dict[str, float]:
    """The seconds that stages took here; the loss of the file costs no more than some times."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        return dict(read_json(SPENT))
    return {}


def _keep(spent: Mapping[str, float]) -> None:
    """Write how long stages took beside what is known of others."""
    known = _spent()
    rounded = {stage: round(seconds, 1) for stage, seconds in spent.items()}
    write_json(SPENT, known | rounded)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m pipelines.reproduce", description=__doc__)
    parser.add_argument("--jobs", type=int, default=cores(), help="how many stages run at once")
    parser.add_argument("--cold", action="store_true", help="each stage loads all packages itself")
    parser.add_argument("--mend", action="store_true", help="clear away what killed runs left only")
    arguments = parser.parse_args()
    if arguments.jobs < 1:
        parser.error(f"--jobs: expected at least 1, got {arguments.jobs}")
    return arguments


if __name__ == "__main__":
    with mendable():
        try:
            arguments = _arguments()
            with ended_by_termination(), alone():
                reproduce(**vars(arguments))
                if not arguments.mend:
                    upload()
        except Failed as ended:
            sys.exit(ended.code)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            sys.exit(130)
