"""The commands that make a figure again, at the paper's own size, or with another setting."""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hessian_papers.drawing.record import FigureRecord
from hessian_papers.ledger.undecided import duration
from hessian_papers.results import seconds_of

# The settings that say most about a study, the first that it has is changed: which networks, how
# they are trained, how large they are, what is looked at.
_TELLING = (
    *("parametrisations", "cases", "delta", "architectures", "learning_rate", "key_dimension"),
    *("width", "input_scale", "largest_depth", "masses", "widths", "top", "reach"),
)
# Sizes from here on are halved, those below are doubled.
_MANY = 50


@dataclass(frozen=True)
class Command:
    """A line for the shell.

    Args:
        label: what it is for, in a few words.
        text: the line.
        note: how long it takes, or what it changes; may be empty.
    """

    label: str
    text: str
    note: str = ""


def _changed(name: str, value: Any) -> tuple[Any, str] | None:
    """Another value of a setting and what that means; ``None`` if there is no obvious one."""
    words = name.replace("_", " ")
    if isinstance(value, bool) or not value:
        return None
    if isinstance(value, int | float):
        other = 2 * value if value in range(_MANY) else type(value)(value / 2)
        return other, f"{words} {other} in place of {value}"
    if isinstance(value, list) and len(value) > 1:
        if isinstance(value[0], str):
            return value[-1:], f"{value[-1]} alone"
        return value[:-1], f"{words} without {value[-1]}"
    return None


def override(study: str, config: Mapping[str, Any]) -> tuple[str, str]:
    """A change of the study's own configuration as an example, and what it means.

    Of the settings that say most about a study the first that it has is changed: a small size is
    doubled, any other number halved, a list cut; a study without any draws other networks.

    Example:
        >>> override("mine", {"width": 10, "seed": 0})
        ('studies.mine.width=20', 'width 20 in place of 10')
        >>> override("mine", {"learning_rate": 0.5, "cases": ["one", "two"]})
        ('studies.mine.cases=[two]', 'two alone')
        >>> override("mine", {"ensemble": "theirs", "seed": 3})
        ('networks.theirs.seed=1', 'other networks are drawn')
    """
    for name in _TELLING:
        if result := _changed(name, config.get(name)):
            value, meaning = result
            return assignment(f"studies.{study}.{name}", value), meaning
    if "ensemble" in config:
        return f"networks.{config['ensemble']}.seed=1", "other networks are drawn"
    return f"studies.{study}.seed={int(config.get('seed', 0)) + 1}", "other draws"


def assignment(key: str, value: Any) -> str:
    """An override as Hydra reads it.

    Example:
        >>> assignment("key", ["SP", "F-200^2", {"seeds": None}])
        'key=[SP,"F-200^2",{seeds:null}]'
        >>> assignment("~runs.relu", None)
        '~runs.relu'
    """
    if key.startswith("~"):
        return key
    shown = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    plain = re.sub(r'"([A-Za-z][\w-]*)"', r"\1", shown)
    return f"{key}={plain}"


def _times(recorded: FigureRecord, places: Mapping[str, str]) -> list[str]:
    """The times that a recorded run took, with the words of where, as far as its facts say so."""
    times = {unit: seconds_of(recorded.provenance.facts, unit) for unit in places}
    return [f"{duration(time)}{places[unit]}" for unit, time in times.items() if time]


def _took(recorded: FigureRecord) -> str:
    """The time that a recorded run took, if its facts say so."""
    hardware = recorded.provenance.facts.get("hardware", {})
    device = f" on one {' or '.join(hardware.get('devices', []))}"
    times = _times(recorded, {"core": _on(hardware), "GPU": device})
    return "; took ".join(["recorded", *times])


def _on(hardware: Mapping[str, Any]) -> str:
    processor = hardware.get("processor", "")
    return " on one core" + (f" of {processor}" if processor else "")


def cost(figure: FigureRecord, durations: Mapping[str, Any]) -> str:
    """The time of one core that a figure takes here, and that its recorded run took.

    It is empty where neither is known. Arguments as of :func:`commands`.
    """
    parts = []
    if (here := durations.get("seconds", {}).get(figure.study)) is not None:
        parts.append(duration(float(here)))
    if figure.recorded is not None:
        times = _times(figure.recorded, {"core": "", "GPU": " of a GPU"})
        parts += [f"recorded {time}" for time in times]
    return ", ".join(parts)


def _at_scale(figure: FigureRecord) -> Command | None:
    """The study at the paper's own size, if that is not the demo's."""
    recorded = figure.recorded
    scale = recorded.provenance.scale if recorded else "paper"
    if recorded is None and not figure.provenance.departs:
        return None
    overrides = recorded.provenance.overrides if recorded else {}
    changes = [shlex.quote(assignment(key, value)) for key, value in overrides.items()]
    command = f"python -m pipelines.evidence only={figure.study} scale={scale}"
    text = " ".join([command, *changes])
    note = _took(recorded) if recorded else "--estimate says how long it takes"
    name = "paper’s size" if scale == "paper" else f"at scale {scale}"
    return Command(name, text, note)


def commands(figure: FigureRecord, durations: Mapping[str, Any]) -> list[Command]:
    """The commands that make a figure, change one setting of it, and make it at full size.

    How long it took to make it is said where ``seconds`` by study are known, on a ``processor``.
    """
    change, meaning = override(figure.study, figure.config)
    quoted = shlex.quote(change)
    without = f"python -m pipelines.figures only={figure.study} {quoted}"
    whole = "with all that it is made from"
    if (seconds := durations.get("seconds", {}).get(figure.study)) is not None:
        whole += f"; {duration(float(seconds))}{_on(durations)}"
    lines = [
        Command("make it", figure.command, whole),
        Command("change it", f"dvc exp run -S {quoted}", meaning),
        Command("without DVC", without, meaning),
        Command(
            "as PDF", f"python -m pipelines.printed {figure.study}", "of each run, for a paper"
        ),
    ]
    large = _at_scale(figure)
    return [*lines, large] if large else lines
