"""The name of a run on the page: how much was computed, and when."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Settings = Mapping[str, Any]

# Numbers up to ten are written as words.
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
# What a study counts, by the setting that says it: the first two of these that it has.
_COUNTED = {
    **{f"{noun}s": noun for noun in ("network", "replicate", "instance", "architecture")},
    **{f"{noun}s": noun for noun in ("draw", "seed", "step", "epoch")},
    **{"scales": "input scale", "norms": "norm"},
}
_MOST = 2


def counted(number: int, noun: str) -> str:
    """So many of something.

    Example:
        >>> counted(1, "teacher"), counted(10, "teacher"), counted(500, "network")
        ('one teacher', 'ten teachers', '500 networks')
    """
    amount = _WORDS[number] if 0 <= number < len(_WORDS) else f"{number:,}".replace(",", "\u202f")
    return f"{amount} {noun}{'' if number == 1 else 's'}"


def _amount(value: Any) -> int:
    """The number that a setting gives, or that of its entries."""
    if isinstance(value, bool):
        return 0
    return value if isinstance(value, int) else len(value) if isinstance(value, list) else 0


def _of_teachers(ensemble: Settings, _: Settings) -> str:
    teachers = _amount(ensemble["teachers"])
    return f"{counted(teachers * _amount(ensemble['networks']), 'network')} of " + counted(
        teachers, "teacher"
    )


def _of_classifiers(ensemble: Settings, study: Settings) -> str:
    # A study may be about some of the networks.
    chosen = _amount(study.get("networks")) or _amount(ensemble["networks"])
    return f"{counted(chosen, 'architecture')}, {counted(_amount(ensemble['seeds']), 'seed')} each"


def _of_transformers(ensemble: Settings, _: Settings) -> str:
    trainings = _amount(ensemble["variants"]) * _amount(ensemble["seeds"])
    return f"{counted(trainings, 'transformer')} over {counted(_amount(ensemble['steps']), 'step')}"


# How the networks of a kind that several studies share are counted.
_TEMPLATES: Mapping[str, Callable[[Settings, Settings], str]] = {
    "inputs_and_teacher": _of_teachers,
    "multilayer": _of_teachers,
    "classifiers": _of_classifiers,
    "gpt2": _of_transformers,
}


def _parts(settings: Settings) -> Iterator[str]:
    for name, noun in _COUNTED.items():
        if number := _amount(settings.get(name)):
            yield counted(number, noun)


def size(study: Settings, ensemble: Settings) -> str:
    """The amount that a run computed, in a few words; empty where its settings count nothing.

    Args:
        study: the settings of the study.
        ensemble: those of the networks that it shares with other studies, if it does.

    Example:
        >>> size({}, {"kind": "multilayer", "networks": 50, "teachers": 10})
        '500 networks of ten teachers'
        >>> size({"draws": 200, "steps": 0, "replicates": 3}, {})
        'three replicates, 200 draws'
    """
    template = _TEMPLATES.get(str(ensemble.get("kind")))
    if {"teachers", "networks"} <= {*study}:
        ensemble, template = study, _of_teachers
    if template is not None:
        return template(ensemble, study)
    return ", ".join([*_parts({**ensemble, **study})][:_MOST])


def origin(recorded: bool) -> str:
    """The run in two words: a recorded one, or this one."""
    return "recorded run" if recorded else "this run"


def name(study: Settings, facts: Mapping[str, Any], recorded: bool) -> str:
    """The name of a run: what it is of, and when it was made.

    Args:
        study: the settings of the study.
        facts: of the run, see :class:`hessian_papers.drawing.record.Origin`.
        recorded: whether it is a recorded run.
    """
    amount = size(study, facts.get("ensemble", {}))
    date = facts.get("date")
    when = f"recorded with the code of {date}" if recorded and date else origin(recorded)
    return ", ".join(filter(None, (amount, when)))
