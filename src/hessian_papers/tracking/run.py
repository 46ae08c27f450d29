"""One W&B run: started offline or online, and never in the way of the work."""

import contextlib
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from hessian_papers.tracking.server import first_line, import_wandb, why_not_online
from hessian_papers.tracking.settings import About, Timeouts, resolve_mode, say
from hessian_papers.tracking.upload import ENDED, PATIENCE, STAGING, runs_of, upload
from hessian_spectra.progress import Log

UNDESCRIBED = About()


@dataclass(frozen=True)
class TrackedRun:
    """A run that was started.

    Args:
        wandb_run: the client's own object, for what has no method here; ``None`` if tracking is
            disabled.
        online: whether it goes to a server while it runs.
        directory: the run's own folder, or ``None`` if tracking is disabled.
        names: of the metrics that were logged.
    """

    wandb_run: Any
    online: bool
    directory: Path | None
    names: set[str] = field(default_factory=set)

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Record metrics at a training step; a study's ``train`` takes this as its ``log``.

        Raises:
            ValueError: the step lies before one that was recorded; the client would drop it without
                a word.
        """
        if self.wandb_run is None:
            return
        if step < self.wandb_run.step:
            raise ValueError(f"step: expected at least {self.wandb_run.step}, got {step}")
        self.wandb_run.log(dict(metrics), step=step)
        self.names.update(metrics)

    def summarise(self, values: Mapping[str, float]) -> None:
        """Record what came out in the end, by which runs are compared."""
        if self.wandb_run is not None:
            self.wandb_run.summary.update(dict(values))


@contextlib.contextmanager
def _place(name: str, folder: Path) -> Iterator[None]:
    """Let the client keep files here instead of in the user's home, unless the variable is set."""
    if name in os.environ:
        yield
        return
    os.environ[name] = str(folder.resolve())
    try:
        yield
    finally:
        os.environ.pop(name, None)


def _started(
    mode: str, timeouts: Timeouts, about: About, arguments: Mapping[str, Any]
) -> tuple[Any, bool]:
    """A run, and whether it is online: offline if it could not be."""
    wandb = import_wandb()

    def start(mode: str) -> Any:
        settings = wandb.Settings(
            mode=mode,
            init_timeout=timeouts.start,
            finish_timeout=timeouts.finish,
            finish_timeout_raises=True,
            silent=True,
            console="off",
            disable_code=True,
            # The client would look for a repository itself, and record its address.
            disable_git=True,
            git_commit=about.commit,
            host="",
            x_disable_machine_info=True,
            x_disable_stats=True,
            x_save_requirements=False,
        )
        words = {"tags": about.tags, "notes": about.notes or None}
        return wandb.init(settings=settings, **words, **arguments)

    if mode != "online":
        return start(mode), False
    problem = why_not_online(timeouts.answer)
    if problem is None:
        try:
            run = start(mode)
            say(run.url)
            return run, True
        except (wandb.errors.Error, TimeoutError) as error:
            problem = first_line(error)
    run = start("offline")
    say(f"{problem}; going on offline, later: wandb sync {_folder(run)}")
    return run, False


def _folder(run: Any) -> Path:
    return Path(run.dir).parent


@contextlib.contextmanager
def start_run(
    *,
    directory: Path,
    mode: str = "offline",
    run_id: str | None = None,
    upload_at_end: bool = False,
    timeouts: Timeouts = PATIENCE,
    about: About = UNDESCRIBED,
    **named: Any,
) -> Iterator[TrackedRun]:
    """Start a run, and finish it at the end of the block.

    An online run whose server cannot be reached, or for which nobody is logged in, goes on offline
    with one line on the standard error. A server that falls silent before the run ends costs one
    line, too: the run's data are on disk, and ``wandb sync`` uploads them later.

    Args:
        directory: below it the client keeps its folder ``wandb``.
        mode: ``offline``, ``online`` or ``disabled``; the variable ``WANDB_MODE`` goes before.
        run_id: an id that stands for a state: an offline run with the same id is replaced. ``None``
            for a new one.
        upload_at_end: record an online run offline and upload it when the block has ended. Images
            and artifacts need this: a server that fails in between would raise in the block.
        timeouts: how long W&B may take.
        about: commit, tags and notes of the run.
        named: of ``wandb.init``: ``project`` and ``entity`` (``None`` for the default of whoever is
            logged in), ``group`` (the digest of the configuration, or the experiment's name),
            ``job_type`` (the stage), ``name``, and ``config``, what is recorded as configuration.

    Raises:
        TrackingError: an unknown mode.
    """
    mode = resolve_mode(mode)
    if mode == "disabled":
        yield TrackedRun(None, False, None)
        return
    client = directory / "wandb"
    # Without this folder the client would write to one in the system's temporary folder.
    client.mkdir(parents=True, exist_ok=True)
    if run_id is not None:
        # They were made from the same state, or were killed.
        for folder in runs_of(directory, run_id):
            shutil.rmtree(folder, ignore_errors=True)
    arguments = {"dir": str(directory), "id": run_id, **named}
    with _place("WANDB_CACHE_DIR", client / "cache"):
        first = "offline" if upload_at_end else mode
        wandb_run, online = _started(first, timeouts, about, arguments)
        folder = _folder(wandb_run)
        run = TrackedRun(wandb_run, online, folder)
        try:
            # Below it are the copies of artifacts, too, which are uploaded from there.
            with _place("WANDB_DATA_DIR", folder / STAGING):
                yield run
        except BaseException:
            _finish(run, failed=True)
            raise
        _finish(run, failed=False)
        (folder / ENDED).write_text("".join(f"{name}\n" for name in sorted(run.names)), "utf-8")
        if mode == "online" and upload_at_end:
            upload(folder, timeouts)


@dataclass(frozen=True, kw_only=True)
class LiveRuns:
    """Live runs of trainings, each of its own in one group, wherever it is computed.

    Called with a training's name, what tells it from all others, and its configuration, it is a
    block that is given the function to log with. The run begins only when the training has gone on
    for a while and logs: to start and to end one takes a process three seconds, more than a short
    training takes, which nobody could watch. What was logged before is not lost. A training that is
    made again replaces the offline run of its killed predecessor.

    Args:
        project: name of the W&B project.
        group: what the runs belong to.
        job_type: the stage; the first word of each run's name, too.
        directory: below it the client keeps its folder ``wandb``.
        mode: ``offline``, ``online`` or ``disabled``; the variable ``WANDB_MODE`` goes before.
        entity: W&B user or team; ``None`` for the default of whoever is logged in.
        after: seconds that a training takes at least before its run begins.
        about: commit, tags and notes of the runs.

    Raises:
        TrackingError: an unknown mode.
    """

    project: str
    group: str
    job_type: str
    directory: Path
    mode: str = "offline"
    entity: str | None = None
    after: float = 5.0
    about: About = UNDESCRIBED

    def __post_init__(self) -> None:
        resolve_mode(self.mode)

    @contextlib.contextmanager
    def __call__(self, name: str, identity: str, config: Mapping[str, Any]) -> Iterator[Log]:
        """A block with a run of its own."""
        began = time.monotonic()
        waiting: list[tuple[int, dict[str, float]]] = []
        started: list[TrackedRun] = []
        with contextlib.ExitStack() as stack:

            def show() -> None:
                if not waiting or time.monotonic() - began < self.after:
                    return
                if not started:
                    started.append(stack.enter_context(self._start(name, identity, config)))
                for entry in waiting:
                    started[0].log(*entry)
                waiting.clear()

            def log(step: int, metrics: Mapping[str, float]) -> None:
                waiting.append((step, dict(metrics)))
                show()

            yield log
            show()

    def _start(
        self, name: str, identity: str, config: Mapping[str, Any]
    ) -> contextlib.AbstractContextManager[TrackedRun]:
        settings = {field.name: getattr(self, field.name) for field in fields(self)}
        del settings["after"]
        settings |= {"name": f"{self.job_type} {name}", "run_id": f"{self.job_type}-{identity}"}
        return start_run(config=dict(config), **settings)


def _finish(run: TrackedRun, *, failed: bool) -> None:
    try:
        run.wandb_run.finish(exit_code=1 if failed else 0)
    except TimeoutError:
        say(f"the server fell silent; nothing is lost, later: wandb sync {run.directory}")
