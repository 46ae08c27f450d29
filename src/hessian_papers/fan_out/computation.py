"""Computing all items of a computation, wherever they run."""

import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import xarray as xr

from hessian_papers.fan_out.items import words
from hessian_papers.fan_out.launcher import GPUS, Launcher
from hessian_papers.fan_out.ledger import one_at_a_time
from hessian_papers.fan_out.plan import Plan, plan
from hessian_papers.fan_out.progress import Progress, duration
from hessian_papers.fan_out.shards import Shards, Spent
from hessian_papers.fan_out.worker import changed_environment, follows, together
from hessian_papers.networks.tools.result import kept_in, write
from hessian_papers.work import FanOut, Live, unseen
from hessian_spectra.files import Arrays
from hessian_spectra.validation import require


def shards_of(name: str, folder: Path) -> Shards:
    """The shards of a computation.

    Raises:
        ValueError: the name cannot be that of a folder.
    """
    fits = re.fullmatch(r"[\w-][\w.-]*", name) is not None
    require(fits, "name", "letters, digits, '-', '_' and '.'", name)
    return Shards(folder / name)


def _in_this_process(plan: Plan, shards: Shards, progress: Progress) -> int:
    for key, item in plan.items.items():
        if shards.has(key):
            continue
        try:
            plan.function.compute(key, item, plan.title(progress.name, key), shards)
        except Exception as error:
            error.add_note(f"while computing {words(item, length=1000)}")
            raise
        progress.update({key}, "")
    return 0


def _compute(plan: Plan, shards: Shards, launcher: Launcher, progress: Progress) -> int:
    """Compute what is missing; the number of attempts that failed."""
    if launcher.cluster == "debug":
        # As jobs, it sees no GPU unless it is given one, or has begun to use one.
        with nullcontext() if launcher.gpus or together() else changed_environment({GPUS: ""}):
            return _in_this_process(plan, shards, progress)
    require(not together(), "cluster", "debug for processes of torchrun", launcher.cluster)
    # They need submitit, which is imported only where jobs are submitted.
    from hessian_papers.fan_out.drive import Driver
    from hessian_papers.fan_out.local import ended_by_termination

    # Jobs of SLURM go on, as they do when the driver's machine fails, for the next driver.
    ended = ended_by_termination() if launcher.cluster == "local" else nullcontext()
    with ended, one_at_a_time(shards.folder, lambda: progress.say("waits for another run of it")):
        return Driver(plan, shards, launcher, progress).run()


def _discard(damaged: set[str], shards: Shards, progress: Progress) -> None:
    """Remove damaged shards, and say so: they count as if they had never been there."""
    if damaged:
        progress.say(f"damaged or incomplete items, to be computed again: {len(damaged)}")
        progress.forget(damaged)
        for key in damaged:
            shards.discard(key)


def _collect(
    plan: Plan, shards: Shards, launcher: Launcher, progress: Progress
) -> tuple[dict[str, Arrays], int]:
    """The arrays of all items, and how many attempts failed on the way to them."""
    failed = 0
    if plan.costs.keys() - shards.present():
        failed = _compute(plan, shards, launcher, progress)
    # Now that all of it is read: a file may have its size and not its content, for example one that
    # was not on the disk yet when the machine lost its power.
    if damaged := shards.damaged(plan.items, digests=True):
        _discard(damaged, shards, progress)
        failed += _compute(plan, shards, launcher, progress)
    return {key: shards.read(key) for key in plan.items}, failed


def run(
    name: str,
    work: FanOut,
    config: Any,
    given: Any,
    *,
    folder: Path,
    launcher: Launcher,
    live: Live = unseen,
) -> Any:
    """The result of a whole computation, its items computed wherever the launcher says.

    How far it is, is shown on standard error.

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
        launcher: where items are computed.
        live: where the items of a training are shown; it changes nothing that is computed.

    Returns:
        What ``work(config, given)`` returns, to the byte.

    Raises:
        FanOutError: some items could not be computed; those that could are kept.
        KeyboardInterrupt: the user stopped it; its jobs are cancelled, what is done is kept. So it
            is with SystemExit when a run on one machine is asked to end (SIGTERM). A driver that is
            killed leaves its jobs running, and the next one takes them over.
    """
    shards = shards_of(name, folder)
    todo = plan(work, config, given, live)
    with Progress(name, todo.costs, shards.present()) as shown:
        _discard(shards.damaged(todo.costs.keys() & shards.present()), shards, shown)
        if shown.before < len(todo.costs):
            shown.say(f"{len(todo.costs)} items, {shown.before} done before; {launcher.words}")
        try:
            parts, failed = _collect(todo, shards, launcher, shown)
            shards.clear_unfinished(parts.keys())
        except (KeyboardInterrupt, SystemExit):
            kept = len(shards.present() & todo.costs.keys())
            shown.say(
                f"stopped: its jobs are cancelled, {kept} of {len(todo.costs)} items are kept; "
                "run again to go on"
            )
            raise
        shown.say(
            f"{len(todo.order)} items ({len(todo.costs)} different): {shown.before} done before, "
            f"{shown.computed} computed, {failed} failed attempts, {duration(shown.elapsed)} "
            f"({launcher.words})"
        )

    def again(others: Any) -> Any:
        return run(name, work, config, others, folder=folder, launcher=launcher, live=live)

    order = todo.order
    made = [todo.items[key] for key in order], [parts[key] for key in order]
    return work.collected(config, given, *made, again)


def train(
    name: str,
    work: FanOut,
    config: Any,
    data: xr.Dataset,
    *,
    result: Path,
    folder: Path,
    launcher: Launcher,
    live: Live = unseen,
) -> xr.Dataset:
    """Train networks and keep them in a folder of their own, whole or not at all.

    Under ``torchrun`` its processes train each network together, one after the other; the first of
    them keeps the result.

    What a training wrote into ``run.folder`` is there beside the data set; of a training that
    spreads, in a folder for each item that did so, ``0`` for the first.

    Args:
        name: of the networks.
        work: the training; one that does not spread runs in this process, if it is on one machine.
        config: the configuration, as ``work`` takes it.
        data: the samples that it starts from.
        result: the folder; what was there before is replaced.
        folder: where shards are, see :func:`run`.
        launcher: where items are computed.
        live: where the trainings are shown.

    Returns:
        The networks that are now in ``result``, see :mod:`hessian_papers.networks.tools.result`.

    Raises:
        FanOutError: some items could not be computed; those that could are kept.
        DamagedFileError: what a training made was changed while it was put together.
        ValueError: processes of ``torchrun`` are told to hand items to others.
    """
    if not work.spreads and launcher.cluster == "local":
        launcher = replace(launcher, cluster="debug")
    networks = run(name, work, config, data, folder=folder, launcher=launcher, live=live)
    if follows():
        return kept_in(result, networks)
    shards, order = shards_of(name, folder), plan(work, config, data).order
    places = [Path(str(place)) for place in range(len(order))] if work.spreads else [Path()]
    made, written = {}, {}
    for place, key in zip(places, order, strict=True):
        for file, facts in shards.manifest(key).items():
            if file.startswith(f"{key}/"):
                made[str(place)] = shards.beside(key)
                written[(place / Path(file).relative_to(key)).as_posix()] = facts
    return write(result, networks, made, written)


def spent(name: str, work: FanOut, config: Any, given: Any, *, folder: Path) -> Spent:
    """The time that a computation's items took, one after the other, and the GPUs that they used.

    Without the time to start jobs, and of the items that are done. The arguments are those of
    :func:`run`.
    """
    shards = shards_of(name, folder)
    todo = plan(work, config, given)
    return shards.spent(todo.costs.keys() & shards.present())
