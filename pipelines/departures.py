"""What departs from the settings that the papers themselves use (``conf/published.yaml``)."""

from collections.abc import Iterator, Mapping
from typing import Any

# Which key of a study, or of its networks, names what it is made from, and where that stands in the
# configuration.
SOURCES = {"ensemble": ("networks", "networks"), "data": ("data", "data.sets")}


def departures(
    name: str,
    study: Mapping[str, Any],
    networks: Mapping[str, Any],
    data: Mapping[str, Any],
    published: Mapping[str, Any],
) -> dict[str, list[Any]]:
    """The settings of a study, and of the networks or data behind it, that are not the paper's.

    Args:
        name: of the study.
        study: its resolved configuration.
        networks: the resolved configurations of ensembles by name, that of the study among them.
        data: those of data sets. What is not there, as in some recorded runs, is not compared.
        published: the papers' settings: ``studies``, ``networks`` and ``data``, by name.

    Returns:
        ``[value here, the paper's]`` for each key, written as an override would be, those of the
        study without ``studies.<study>.``. A study that no paper has departs in nothing.

    Example:
        >>> published = {"studies": {"mine": {"width": 10}}, "networks": {}, "data": {}}
        >>> departures("mine", {"width": 50}, {}, {}, published)
        {'width': [50, 10]}
    """
    if name not in published["studies"]:
        return {}
    found = dict(_different(study, published["studies"][name], ""))
    here = {"networks": networks, "data": data}
    sources = {**networks.get(study.get("ensemble", ""), {}), **study}
    for key, (group, place) in SOURCES.items():
        source = sources.get(key, "")
        if source in published[group] and source in here[group]:
            theirs = published[group][source]
            found |= _different(here[group][source], theirs, f"{place}.{source}.")
    return found


def _different(
    here: Mapping[str, Any], paper: Mapping[str, Any], prefix: str
) -> Iterator[tuple[str, list[Any]]]:
    for key, theirs in paper.items():
        ours = here.get(key)
        if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
            yield from _different(ours, theirs, f"{prefix}{key}.")
        elif ours != theirs:
            yield f"{prefix}{key}", [ours, theirs]
