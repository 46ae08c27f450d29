"""The folders of runs without DVC: of one alone, and of those of a sweep."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override

from hessian_spectra.files import digest

# How much of a run's overrides its folder's name shows; a file system's limit is 255 bytes, and
# that of the name of a group on W&B 128 characters.
LONGEST_SLUG = 110
# What changes nothing that is computed.
NO_SETTINGS = ("hydra", "launcher", "tracking")


class Place(NamedTuple):
    """A job's place in its sweep.

    Attributes:
        sweep: the name of the sweep, and of its folder.
        run: that of the job's folder in it.
        settings: the job's values of the keys that are swept, in the order of the command.
        runs: how many the command asks for.
    """

    sweep: str
    run: str
    settings: Mapping[str, Any]
    runs: int


def _slug(text: str) -> str:
    """A text as a part of a path, which leads nowhere else."""
    return re.sub(r"[^A-Za-z0-9=,._+-]+", "_", text).strip("._")[:LONGEST_SLUG]


def run_name(overrides: str) -> str:
    """A name for the folder of a run: a slug of its overrides to read, and their digest.

    Values may be paths, which must lead nowhere, and other overrides may read alike.
    """
    return f"{_slug(overrides) or 'default'}-{digest(overrides)}"


def readable(text: str) -> str:
    """A text as the name of a folder; with its digest where others would be called alike.

    Example:
        >>> readable("width=10,50"), readable("root=/a")
        ('width=10,50', 'root=_a-bff33c3c87cb')
    """
    return text if _slug(text) == text else f"{_slug(text)}-{digest(text)}"


def short_names(keys: Sequence[str]) -> dict[str, str]:
    """The shortest ends of keys that tell each from the others, by key.

    Example:
        >>> short_names(["studies.my.width", "data.sets.wedge.size", "studies.my.size"]).values()
        dict_values(['width', 'wedge.size', 'my.size'])
    """
    ends = {key: [key.split(".", n)[n] for n in range(key.count("."), -1, -1)] for key in keys}
    counted = [end for each in ends.values() for end in each]
    return {key: next(end for end in own if counted.count(end) == 1) for key, own in ends.items()}


def _parsed(overrides: Iterable[str]) -> dict[str, Override]:
    parsed = OverridesParser.create().parse_overrides([*overrides])
    return {str(override.key_or_group): override for override in parsed}


def _text(override: Override) -> str:
    """The values of an override, one after the other if it has several."""
    if override.is_discrete_sweep():
        return ",".join(override.sweep_string_iterator())
    return str(override.get_value_element_as_str())


def place_of(command: Sequence[str], job: Sequence[str]) -> Place:
    """The place of a job in the sweep that a command asks for.

    Args:
        command: its arguments.
        job: the job's own overrides.

    Example:
        >>> place = place_of(["only=mine", "studies.mine.width=2,3"], ["only=mine", \
"studies.mine.width=3"])
        >>> place.sweep, place.run, dict(place.settings)
        ('mine,width=2,3', 'width=3', {'studies.mine.width': 3})
    """
    given = _parsed(argument for argument in command if not argument.startswith("-"))
    own = _parsed(job)
    swept = [key for key in own if key not in given or given[key].is_sweep_override()]
    only = "" if "only" in swept or "only" not in own else _text(own["only"])
    named = [key for key in given if key.partition(".")[0] not in NO_SETTINGS]
    said = [only] if only else []
    said += [
        f"{key.removeprefix(f'studies.{only}.')}={_text(given[key])}"
        for key in named
        if key != "only" or not only
    ]
    names = short_names([key for key in swept if key != "only"])
    parts = [readable(_text(own["only"]))] if "only" in swept else []
    if names:
        parts.append(readable(",".join(f"{name}={_text(own[key])}" for key, name in names.items())))
    settings = {key: _plain(own[key]) for key in swept}
    counts = [len([*each.sweep_iterator()]) for each in given.values() if each.is_sweep_override()]
    return Place(readable(",".join(said)), "/".join(parts), settings, math.prod(counts))


def _plain(override: Override) -> Any:
    """The value of an override as a coordinate: a number, a boolean, or else its text."""
    value = override.value()
    return value if isinstance(value, bool | int | float) else _text(override)
