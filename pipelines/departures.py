"""The settings that depart from those that the papers themselves use."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from omegaconf import DictConfig, OmegaConf

from hessian_papers.memory import memory
from hessian_papers.results import SCALES
from pipelines.folders import CONF
from pipelines.schema import GROUPS, NO_SETTINGS, ConfigError, check
from pipelines.yaml_files import read_yaml

# No settings of an experiment: what it is called and made from, ...
NAMES = {"kind", "paper", "artifact", "title"}
NOT_COMPARED = {*NAMES, *NO_SETTINGS, "seed", "data", "ensemble"}
# ... and what only decides how finely, exactly or often something is computed and shown.
NOT_COMPARED |= {"points", "numeric_points", "dense_points", "contour_points", "scales", "recorded"}
NOT_COMPARED |= {"record_every", "numeric_every", "networks_per_item", "precision", "tolerance"}
NOT_COMPARED |= {"kept", "memory", "compile"}
NOT_COMPARED |= {"jitters", "confidence", "instances", "without_signal"}

# Of what is no setting, that which only the files of ``conf`` say.
OF_FILES = ("lead", "not_compared", "published")

# The scale below which there is none.
SMALLEST = SCALES[-1]

# Thresholds: a run with a smaller one is no smaller run.
NO_SIZES = {"large_size"}

# Which key of a study, or of its networks, names what it is made from, and where that stands in the
# configuration.
SOURCES = {"ensemble": ("networks", "networks"), "data": ("data", "data.sets")}


class Settings(NamedTuple):
    """The resolved settings that a run of a study is made from.

    Attributes:
        name: of the study.
        study: its own.
        networks: those of ensembles by name, that of the study among them.
        data: those of data sets.
    """

    name: str
    study: Mapping[str, Any]
    networks: Mapping[str, Any]
    data: Mapping[str, Any]

    @classmethod
    def of(cls, name: str, study: Mapping[str, Any], facts: Mapping[str, Any]) -> "Settings":
        """The settings of a run; those of its networks and data set are in its facts, if any."""
        sources = {**facts.get("ensemble", {}), **study}
        networks, data = (
            {sources[key]: facts[key]} if key in facts and key in sources else {}
            for key in ("ensemble", "data")
        )
        return cls(name, study, networks, data)

    @property
    def by_place(self) -> dict[str, Mapping[str, Any]]:
        """All of them by where they stand in the configuration, which begins an override."""
        held = {"networks": self.networks, "data.sets": self.data}
        of_each = ((f"{p}.{name}", each) for p, some in held.items() for name, each in some.items())
        return {f"studies.{self.name}": self.study, **dict(of_each)}


def resolved(*files: Path) -> dict[str, Any]:
    """The entries of ``conf``, from their files, at each scale."""
    entries: dict[str, dict[str, Any]] = {group: {} for group in GROUPS}
    for file in files:
        entries[file.relative_to(CONF).parts[0]][file.stem] = entry(file)
    config = OmegaConf.create({**entries, "data": {"sets": entries["data"]}, "scale": None})
    at_scales = {}
    for scale in SCALES:
        config["scale"] = scale
        held: Any = OmegaConf.to_container(config, resolve=True)
        at_scales[scale] = {**held, "data": held["data"]["sets"]}
    return at_scales


@cache
def ours_at(scale: str) -> dict[str, dict[str, Any]]:
    """The entries of ``conf`` at a scale: ``studies``, ``networks`` and ``data``, by name."""
    files = [file for group in GROUPS for file in sorted((CONF / group).rglob("*.yaml"))]
    ours: dict[str, dict[str, Any]] = memory().of(resolved, *files)[scale]
    return ours


def check_run(config: DictConfig, study: str | None) -> None:
    """Check the configuration of a run: what it reads, and what is not as ``conf`` has it.

    All of the latter: an override that the run does not read would else go unnoticed.

    Raises:
        ConfigError: something does not fit; the message is one line with its path.
    """
    check(config, [study], ours=ours_at(config.scale))


def require_ours(config: DictConfig) -> None:
    """Refuse lead sentences and settings of papers that are not those of ``conf``.

    They are read from its files: a run would pass over an override of them.

    Args:
        config: what Hydra or DVC composed; settings that stand alone have none of these.

    Raises:
        ConfigError: one was changed or taken out; the message is one line with its path.
    """
    for group, (prefix, _) in GROUPS.items():
        entries = OmegaConf.select(config, prefix) or {}
        held = {name: each for name, each in entries.items() if OmegaConf.is_dict(each)}
        if not any("published" in each for each in held.values()):
            continue
        for name, ours in ours_at("paper")[group].items():
            for key in OF_FILES if name in held else ():
                got = held[name].get(key)
                got = OmegaConf.to_container(got, resolve=True) if OmegaConf.is_config(got) else got
                if (got or {}) != ours.get(key, {}):
                    expected = f"expected what conf/ says, got {got!r}"
                    where = f"invalid config at '{prefix}.{name}.{key}'"
                    raise ConfigError(f"{where}: {expected}; no run heeds it: change the file")


def entry(file: Path) -> dict[str, Any]:
    """An entry of ``conf``, over those of its group that it names under ``defaults``.

    It is what Hydra composes, which takes seconds for it; but a paper's settings are of the entry
    alone that says them.
    """
    own: dict[str, Any] = read_yaml(file)
    parts: list[dict[str, Any]] = []
    for name in own.pop("defaults", ["_self_"]):
        part = own if name == "_self_" else entry(file.with_stem(name.removesuffix("@_here_")))
        parts.append({key: part[key] for key in part if part is own or key != "published"})
    if len(parts) == 1:
        return parts[0]
    merged: Any = OmegaConf.to_container(OmegaConf.merge(*parts))
    return dict(merged)


@cache
def published() -> dict[str, dict[str, Any]]:
    """The settings of the papers: ``studies``, ``networks`` and ``data``, by name.

    Of each entry with ``published`` in ``conf``: the values there, and else ours at scale=paper.
    """
    ours = ours_at("paper")
    return {
        group: {
            name: compared(entry) | entry["published"]
            for name, entry in ours[group].items()
            if "published" in entry
        }
        for group in ("studies", "networks", "data")
    }


def reached(scale: str, run: Settings) -> str:
    """The scale that a run has reached: none where a size in it is below ours there.

    A size is a number, or how many entries a list has, or that one has a name in a setting.

    Args:
        scale: that it was asked for at.
        run: its settings.
    """
    if scale == SMALLEST:
        return scale
    ours = {
        group: {entry: compared(settings) for entry, settings in ours_at(scale)[group].items()}
        for group in ("studies", "networks", "data")
    }
    pairs = departures(run, ours)
    if (ensemble := run.study.get("ensemble")) and run.study.get("networks"):
        # The study names those that it takes of its ensemble: how many more there are is no size.
        pairs.pop(f"networks.{ensemble}.networks", None)
    sizes = [pair for key, pair in pairs.items() if key.rpartition(".")[2] not in NO_SIZES]
    if any(_smaller(size, wanted) for size, wanted in sizes):
        below = SCALES[SCALES.index(scale) + 1]
        return reached(below, run)
    return scale


def _smaller(size: Any, wanted: Any) -> bool:
    """Whether a setting is a size below another one."""
    if isinstance(size, list) and isinstance(wanted, list):
        return len(size) < len(wanted)
    if isinstance(wanted, Mapping):
        return size is None  # it was taken out
    return type(size) is type(wanted) is int and size < wanted


def compared(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of an entry of ``conf`` that are held against the paper's.

    Beside what is never compared an entry may leave out keys that it names under ``not_compared``:
    where its kind gives such a name to what is no setting of an experiment. What a data set is
    called is none, but that there is one, in place of draws, is.
    """
    left_out = NOT_COMPARED | {*entry.get("not_compared", ())}
    left_out -= {"data"} if entry.get("data", "") is None else set()
    return {key: value for key, value in entry.items() if key not in left_out}


def departures(run: Settings, published: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The settings of a study, and of the networks or data behind it, that are not the paper's.

    Args:
        run: its settings. An entry or a key that a recorded run lacks is not compared.
        published: the papers' settings: ``studies``, ``networks`` and ``data``, by name.

    Returns:
        ``[value here, the paper's]`` for each key, written as an override would be, those of the
        study without ``studies.<study>.``. A study that no paper has departs in nothing.

    Example:
        >>> published = {"studies": {"mine": {"width": 10}}, "networks": {}, "data": {}}
        >>> departures(Settings("mine", {"width": 50}, {}, {}), published)
        {'width': [50, 10]}
    """
    if run.name not in published["studies"]:
        return {}
    departing = dict(different(run.study, published["studies"][run.name]))
    here = {"networks": run.networks, "data": run.data}
    sources = {**run.networks.get(run.study.get("ensemble", ""), {}), **run.study}
    for key, (group, place) in SOURCES.items():
        source = sources.get(key, "")
        if source in published[group] and source in here[group]:
            papers = published[group][source]
            departing |= different(here[group][source], papers, f"{place}.{source}.")
    return departing


def overrides(scale: str, run: Settings) -> dict[str, Any]:
    """The settings of a run that are not those of its scale, by the keys that override them.

    A key that there is no longer is left out. What was taken out begins with ``~``, what was put in
    with ``+``, as Hydra has it.
    """
    return {
        f"{_sign(key, pair)}{place}.{key}": pair[0]
        for place, key, pair in _changed(run, ours(scale))
    }


def ours(scale: str) -> dict[str, Mapping[str, Any]]:
    """The entries of ``conf`` at a scale, by where they stand in the configuration."""
    groups = ours_at(scale)
    places = {"studies": "studies", **dict(SOURCES.values())}
    return {
        f"{place}.{name}": entry
        for group, place in places.items()
        for name, entry in groups[group].items()
    }


def changed(run: Settings, others: Mapping[str, Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The settings of a run that are not those of others, by the keys that override them.

    Args:
        run: its settings.
        others: the settings of entries by their places, see :attr:`Settings.by_place`.

    Returns:
        ``[value here, the other]`` for each key that both have.

    Example:
        >>> changed(Settings("mine", {"width": 50}, {}, {}), {"studies.mine": {"width": 10}})
        {'studies.mine.width': [50, 10]}
    """
    return {f"{place}.{key}": pair for place, key, pair in _changed(run, others)}


def _changed(
    run: Settings, others: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, str, list[Any]]]:
    for place, entry in run.by_place.items():
        for key, pair in different(entry, others.get(place, {})):
            if key not in NAMES:
                yield place, key, pair


def _sign(key: str, pair: list[Any]) -> str:
    """The sign before an override of what is not in both, which only a mapping can lack."""
    return ("~" if pair[0] is None else "+" if pair[1] is None else "") if "." in key else ""


def different(
    here: Mapping[str, Any], reference: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, list[Any]]]:
    """The settings that differ, with both values, by their paths below ``prefix``.

    A key that one of both lacks was none yet when a run was recorded.
    """
    for key in (key for key in reference if key in here):
        value, other = here[key], reference[key]
        if isinstance(value, Mapping) and isinstance(other, Mapping):
            # What a setting has by name was put in or taken out: it is null where it is not.
            names = dict.fromkeys((*other, *value))
            values, others = ({n: held.get(n) for n in names} for held in (value, other))
            yield from different(values, others, f"{prefix}{key}.")
        elif value != other:
            yield f"{prefix}{key}", [value, other]
