"""The numbers of the figures of commits: kept of a run here, or got from DVC's cache.

DVC's cache has the figures of an experiment, but not those of a commit of another machine, whose
bytes differ. So what the last stage finds is kept, without its pictures.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from hessian_papers.papers import PAPERS
from hessian_spectra.files import MissingResultError, digest
from pipelines.folders import REPORTS, RESULTS, WANDB
from pipelines.git import git

# What commits had, by the digest of what it is made from.
STATES = WANDB / RESULTS / "states"
# All that decides what a commit's figures show.
MADE_FROM = ("src", "pipelines", "conf", "params.yaml")
LEDGER = "claims.json"
# Of each state there are ten megabytes.
MOST = 20


def remember() -> None:
    """Keep what ``reports/`` has as that of the last commit, if it is made from nothing else.

    Another processor's commit has other bytes than DVC's cache here, and a later one none.
    """
    if changed() == "" and (place := _place("HEAD")):
        _keep(REPORTS, place)


def lead_on() -> None:
    """Name the command that compares an experiment or the workspace with the last commit."""
    if experiment := os.environ.get("DVC_EXP_NAME"):
        print(
            f"beside the last commit, once it has ended: hessian-papers compare HEAD {experiment}"
        )
    elif changed():
        print("beside the last commit: hessian-papers compare")


def changed() -> str | None:
    """The files behind figures that are not as in the last commit; ``None`` without Git."""
    return git("status", "--porcelain", "--", *MADE_FROM)


def _place(commit: str) -> Path | None:
    """Where what a commit has is kept: the same for commits that are made from the same."""
    trees = git("rev-parse", *(f"{commit}:{part}" for part in MADE_FROM))
    return None if trees is None else STATES / digest(trees)


def _keep(folder: Path, place: Path) -> None:
    """Keep the ledger and the numbers of the figures of a folder, whole or not at all."""
    STATES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=STATES) as partial:
        if (folder / LEDGER).is_file():
            shutil.copyfile(folder / LEDGER, Path(partial, LEDGER))
        numbers = shutil.ignore_patterns("*.png", "*.svg", "*.js")
        shutil.copytree(folder / "figures", Path(partial, "figures"), ignore=numbers)
        shutil.rmtree(place, ignore_errors=True)
        os.rename(partial, place)
        Path(partial).mkdir()  # which the block removes
    for oldest in sorted(STATES.iterdir(), key=lambda kept: kept.stat().st_mtime)[:-MOST]:
        shutil.rmtree(oldest, ignore_errors=True)


def kept(commit: str) -> Path | None:
    """The folder with what was kept of a commit, if anything was."""
    place = _place(commit)
    return place if place is not None and place.is_dir() else None


def of_commit(name: str) -> Path | None:
    """The folder with what a commit or an experiment had; ``None`` if there is no such commit.

    Raises:
        MissingResultError: what it had is not here.
    """
    verify = ("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    commit = _experiments().get(name) or git(*verify)
    if not commit or (place := _place(commit)) is None:
        return None
    if place.is_dir():
        return place
    print(f"getting the figures of {name} from DVC's cache", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        # An experiment may have the figures of some papers only, and no ledger.
        figures = Path(folder, "figures")
        whole = _get(commit, "figures", figures)
        lacking = [paper for paper in PAPERS if not whole
                   and not _get(commit, f"figures/{paper}", figures / paper)]  # fmt: skip
        if len(lacking) == len(PAPERS):
            raise MissingResultError(
                f"{name} ({commit[:10]}): neither DVC's cache nor a run here has its "
                f"figures: run dvc repro at that commit, or compare recorded runs"
            )
        if lacking:
            print(f"it lacks those of {', '.join(lacking)}", file=sys.stderr)
            place = place.with_name(f"{place.name}-in-part")
        _get(commit, LEDGER, Path(folder, LEDGER))
        _keep(Path(folder), place)
    return place


def _get(commit: str, part: str, target: Path) -> bool:
    """Get a part of what ``reports/`` had at a commit; whether it could be got."""
    target.parent.mkdir(parents=True, exist_ok=True)
    command = ("dvc", "get", "--quiet", ".", f"reports/{part}", "--rev", commit, "--out", target)
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def names() -> list[str]:
    """The names of the last commit, of branches and of experiments."""
    branches = git("for-each-ref", "--format=%(refname:short)", "refs/heads") or ""
    return ["HEAD", *branches.split(), *_experiments()]


def _experiments() -> dict[str, str]:
    """The commits of DVC's experiments by name."""
    known = git("for-each-ref", "--format=%(refname:lstrip=-1) %(objectname)", "refs/exps") or ""
    return dict(line.split() for line in known.splitlines())
