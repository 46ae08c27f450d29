"""The words by which a run on W&B is found: the commit, tags and a sentence."""

from collections.abc import Mapping
from typing import Any

from hessian_papers.tracking.settings import About
from pipelines.git import git


def commit() -> str | None:
    """The commit that is checked out here; None where there is no Git."""
    return git("rev-parse", "--verify", "HEAD")


def sweep(study: str, config: Mapping[str, Any], name: str) -> About:
    """The words of the runs of a study in a sweep.

    Args:
        study: its name.
        config: the whole configuration.
        name: of the sweep.
    """
    scale, paper = str(config["scale"]), str(config["studies"][study]["paper"])
    notes = f"{study}, a run of the sweep {name}, at the scale {scale}."
    return About(commit=commit(), tags=(scale, paper, study), notes=notes)


def training(name: str, config: Mapping[str, Any]) -> About:
    """The words of the trainings of a study, or of networks that several studies share.

    Args:
        name: of the study or the networks.
        config: the whole configuration.
    """
    studies = config["studies"]
    own = [name] if name in studies else []
    served = own or [key for key, study in studies.items() if study.get("ensemble") == name]
    papers = dict.fromkeys(str(studies[key]["paper"]) for key in served)
    scale = str(config["scale"])
    if own:
        what = f"{studies[name]['artifact']} of {studies[name]['paper']} ({name})"
    else:
        what = f"{name}, networks of {', '.join(served) or 'no study'}"
    return About(
        commit=commit(),
        tags=(scale, *papers, *served),
        notes=f"A training for {what}, at the scale {scale}.",
    )
