"""The schema: dataclasses that a configuration must fit, checked before anything runs."""

import dataclasses
import importlib
import importlib.util
import math
import pkgutil
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import omegaconf
import yaml
from omegaconf import DictConfig, OmegaConf

from hessian_papers.compute import Launcher
from hessian_papers.constraints import Checked, OneOf
from hessian_papers.data.base import Storage
from hessian_papers.papers import PAPERS
from hessian_papers.results import SCALES
from hessian_spectra.files import digest
from hessian_spectra.validation import did_you_mean, one_of, require
from pipelines.folders import CONF, MAP

# Whole numbers have 64 bits.
LARGEST = 2**63 - 1
MODES = ("offline", "online", "disabled")


class ConfigError(ValueError):
    """The configuration does not fit the schema; the message is one line."""


@dataclass
class Tracking(Checked):
    """The ``tracking`` group: where W&B runs go."""

    project: str
    entity: str | None
    mode: Annotated[str, OneOf(MODES)]


@dataclass
class Data:
    """The ``data`` group: the data sets, and where those are kept that have to be stored."""

    root: str | None
    download: bool
    sets: dict[str, Any]

    def __post_init__(self) -> None:
        if self.root is not None and not self.root.strip():
            raise ValueError(f"root: expected a folder or null, got {self.root!r}")
        if self.download and self.root is None:
            raise ValueError("download: expected data.root=<folder> with it, got null")


@dataclass
class Root:
    """The top level of the configuration."""

    scale: str
    only: str | None
    side: str | None
    tracking: Any
    launcher: Any
    data: Any
    networks: dict[str, Any]
    studies: dict[str, Any]


def invalid(path: str, expected: str, got: Any) -> ConfigError:
    """The error of a value at a place of the configuration."""
    return ConfigError(f"invalid config at '{path}': expected {expected}, got {got}")


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]


def plain(config: DictConfig) -> dict[str, Any]:
    """A configuration as plain dictionaries, its interpolations resolved."""
    result = OmegaConf.to_container(config, resolve=True)
    assert isinstance(result, dict)
    return {str(key): value for key, value in result.items()}


def _require_finite(value: Any, path: str) -> None:
    """Refuse numbers that are none, wherever they stand, and those that no array holds."""
    if isinstance(value, float) and not math.isfinite(value):
        raise invalid(path, "a finite number", value)
    if isinstance(value, int) and abs(value) > LARGEST:
        raise invalid(path, f"at most {LARGEST}", value)
    if isinstance(value, dict):
        for key, entry in value.items():
            _require_finite(entry, f"{path}.{key}".strip("."))
    elif isinstance(value, list):
        for place, entry in enumerate(value):
            _require_finite(entry, f"{path}[{place}]")


def refused(error: Exception, path: str) -> ConfigError:
    """The error of a value that a dataclass refused; its message begins with the field's name."""
    field, _, rest = str(error).partition(": ")
    where = f"{path}.{field}".strip(".") if rest else path
    return ConfigError(f"invalid config at '{where}': {rest or field}")


def fit(schema: type, config: Any, path: str) -> Any:
    """``config`` as an instance of the dataclass ``schema``, or a ConfigError at ``path``."""
    try:
        base = OmegaConf.structured(schema)
        # A frozen dataclass makes a read-only node, which could not be filled.
        OmegaConf.set_readonly(base, False)
        merged = OmegaConf.merge(base, config)
        _require_finite(OmegaConf.to_container(merged, resolve=True), path)
        return OmegaConf.to_object(merged)
    except omegaconf.errors.MissingMandatoryValue as error:
        raise ConfigError(f"invalid config at '{path}': {_first_line(error)}") from None
    except omegaconf.errors.OmegaConfBaseException as error:
        where = f"{path}.{error.full_key}".strip(".") if error.full_key else path
        said = did_you_mean(error.key, [each.name for each in dataclasses.fields(schema)])
        said = said if isinstance(error, omegaconf.errors.ConfigKeyError) else ""
        raise ConfigError(f"invalid config at '{where}': {_first_line(error)}{said}") from None
    except ConfigError:
        raise
    except (ValueError, TypeError) as error:
        raise refused(error, path) from None


def kinds(group: str) -> dict[str, str]:
    """The kinds of data sets, networks or studies that there are, and the place of each.

    Args:
        group: ``data``, ``networks`` or ``studies``.

    Returns:
        By name the module of the library, of a kind of studies its package.
    """
    if group != "studies":
        # A package holds what kinds share, and so does the module `base`.
        names = [name for name, is_package in _modules(group) if not is_package and name != "base"]
        return {name: f"{group}.{name}" for name in names}
    return {
        kind: f"studies.{family}.{kind}"
        for family, is_package in _modules("studies")
        if is_package
        for kind, is_kind in _modules(f"studies.{family}")
        if is_kind
    }


def _modules(package: str) -> list[tuple[str, bool]]:
    """The modules of a package of the library, by name, and whether each is a package itself."""
    parent = importlib.import_module(f"hessian_papers.{package}")
    return sorted((module.name, module.ispkg) for module in pkgutil.iter_modules(parent.__path__))


def module_of(group: str, kind: Any, path: str, part: str = "study") -> ModuleType:
    """The module of a kind.

    Args:
        group: ``data``, ``networks`` or ``studies``.
        kind: its name.
        path: where it stands in the configuration, for the message.
        part: of a study's kind, which module.

    Raises:
        ConfigError: there is none; the message lists those that there are.
    """
    known = kinds(group)
    if kind not in known:
        raise invalid(f"{path}.kind", one_of(known, kind, MAP), repr(kind))
    suffix = f".{part}" if group == "studies" else ""
    return importlib.import_module(f"hessian_papers.{known[kind]}{suffix}")


def figure_of(config: Mapping[str, Any]) -> ModuleType:
    """The module that draws a study's figure."""
    return module_of("studies", config["kind"], "", "figure")


def storage_of(config: DictConfig) -> Storage:
    """Where stored data sets are: the ``data`` group less its sets.

    Raises:
        ConfigError: it does not fit.
    """
    data = fit(Data, config.data, "data")
    return Storage(None if data.root is None else Path(data.root).expanduser(), data.download)


def digest_of(config: DictConfig) -> str:
    """A digest of all that is computed: the configuration less where it runs and is shown."""
    kept = {
        str(k): v for k, v in config.items() if k not in ("tracking", "launcher", "only", "side")
    }
    result = plain(OmegaConf.create(kept))
    # The same data in another folder are the same data.
    if isinstance(result.get("data"), dict):
        result["data"] = {k: v for k, v in result["data"].items() if k not in ("root", "download")}
    return digest(result)


# Where the entries of each kind stand in the configuration, and what one is called.
GROUPS = {
    "data": ("data.sets", "data set"),
    "networks": ("networks", "network"),
    "studies": ("studies", "study"),
}


# What an entry has beside its settings: values from which the scale chooses, the paper's own, which
# keys are not held against these, and the sentence that stands over a study's figure.
NO_SETTINGS = ("by_scale", "published", "not_compared", "lead")


def at_scale(config: DictConfig) -> DictConfig:
    """The settings alone: interpolations resolved, without what the scale chooses from.

    Args:
        config: what Hydra or DVC composed; settings that stand alone already stay as they are.

    Raises:
        ConfigError: there is no such scale.
    """
    if (scale := config.get("scale")) not in SCALES:
        raise ConfigError(f"unknown scale {scale!r}: expected {one_of(SCALES, scale)}")
    settings = config.copy()
    OmegaConf.resolve(settings)
    OmegaConf.set_struct(settings, False)
    for prefix, _ in GROUPS.values():
        entries = OmegaConf.select(settings, prefix)
        for held in entries.values() if OmegaConf.is_dict(entries) else ():
            for key in NO_SETTINGS if OmegaConf.is_dict(held) else ():
                held.pop(key, None)
    OmegaConf.set_struct(settings, OmegaConf.is_struct(config))
    return settings


def entry(config: DictConfig, group: str, name: str) -> Any:
    """The data set (``group`` = ``data``), ensemble or study called ``name``, checked.

    Raises:
        ConfigError: it is unknown, or does not fit the ``Config`` of its kind.
    """
    prefix, noun = GROUPS[group]
    entries = OmegaConf.select(config, prefix) or {}
    if name not in entries:
        known = one_of(sorted(map(str, entries)), name, MAP)
        raise ConfigError(f"unknown {noun} {name!r}: expected {known}")
    path = f"{prefix}.{name}"
    if not re.fullmatch(r"[\w-][\w.-]*", str(name)):
        # Folders and files are called like it.
        raise invalid(prefix, "a name of letters, digits, '-', '_' and '.'", repr(name))
    if not OmegaConf.is_dict(entries[name]):
        raise invalid(path, "a mapping", repr(entries[name]))
    module = module_of(group, entries[name].get("kind"), path)
    return fit(module.Config, entries[name], path)


def _suits(study: Any, path: str, settings: DictConfig, known: Callable[[str, str], Any]) -> None:
    """Refuse a study of networks or data that are not there, or lack what it takes of them.

    Networks that are trained on a data set are held against it alike.

    Args:
        study: or networks.
        path: where they stand in the configuration, for the message.
        settings: all of them.
        known: an entry of a group by name, checked.
    """
    for field, group in (("data", "data"), ("ensemble", "networks")):
        if (name := getattr(study, field, None)) is None:
            continue
        entries = OmegaConf.select(settings, GROUPS[group][0])
        try:
            require(name in entries, field, one_of(sorted(map(str, entries)), name, MAP), name)
            result = known(group, name).form if field == "data" else known(group, name)
            if result is not None and hasattr(study, f"require_{group}"):
                getattr(study, f"require_{group}")(result)
        except ValueError as error:
            raise refused(error, path) from None


def _alike(here: Any, ours: Mapping[str, Any] | None) -> bool:
    """Whether settings are those of an entry of ``conf``, which says more besides."""
    said = {key: value for key, value in (ours or {}).items() if key not in NO_SETTINGS}
    return bool(said == here)


@cache
def artifacts(paper: str) -> list[str]:
    """The artifacts of a paper that there are studies of, by their files in ``conf/studies``."""
    files = sorted((CONF / "studies" / paper).glob("*.yaml"))
    return [str(yaml.load(f.read_text("utf-8"), yaml.CSafeLoader)["artifact"]) for f in files]


def _require_artifacts(studies: Mapping[str, Any]) -> None:
    """Refuse a study of no listed paper or artifact, or of one that another study is of.

    Claims find their study by it, and say what they say of that artifact.
    """
    owners: dict[tuple[str, str], str] = {}
    for name, study in studies.items():
        paper, artifact = str(study.get("paper")), str(study.get("artifact"))
        known = {"paper": list(PAPERS), "artifact": artifacts(paper)}
        for field, got in (("paper", paper), ("artifact", artifact)):
            if got not in known[field]:
                expected = one_of(known[field], got, MAP)
                raise invalid(f"studies.{name}.{field}", expected, repr(got))
        if (other := owners.setdefault((paper, artifact), name)) != name:
            got = f"{artifact!r}, which {other} is of"
            raise invalid(f"studies.{name}.artifact", "one of its own", got)


def check(
    settings: DictConfig,
    read: Collection[str | None] | None = None,
    stored: bool = False,
    ours: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Check the whole configuration.

    Args:
        settings: the settings alone, see :func:`at_scale`.
        read: the studies that are checked against their networks and data as well, if not all.
        stored: whether all data sets are going to be read, so that a place for them is needed.
        ours: ``data``, ``networks`` and ``studies`` that fit, by name: what is like them is checked
            where it is read alone.

    Returns:
        Plain dictionaries: the content of ``params.yaml``.

    Raises:
        ConfigError: the first thing that does not fit, in one line with its path.
    """
    tops = settings.items()
    fit(Root, {key: {} if OmegaConf.is_dict(value) else value for key, value in tops}, "")
    fit(Tracking, settings.tracking, "tracking")
    fit(Launcher, settings.launcher, "launcher")
    kept = fit(Data, settings.data, "data")
    resolved = plain(settings)
    _require_finite(resolved, "")
    places = {"data": kept.sets, "networks": resolved["networks"], "studies": resolved["studies"]}
    known = cache(partial(entry, settings))
    others = {
        group: [name for name in held if not (ours and _alike(held[name], ours[group].get(name)))]
        for group, held in places.items()
    }
    for name in others["data"]:
        data = known("data", name)
        if stored and data.stored and kept.root is None:
            expected = f"the folder of {', '.join(data.stored)} for the data set {name}"
            raise invalid("data.root", expected, "null; add data.root=<folder>")
    for name in others["networks"]:
        _suits(known("networks", name), f"networks.{name}", settings, known)
    for name in resolved["studies"]:
        is_read = read is None or name in read
        study = known("studies", name) if is_read or name in others["studies"] else None
        if is_read:
            _suits(study, f"studies.{name}", settings, known)
    _require_artifacts(settings.studies)
    # They say what one process works on, and where: not what the experiment is.
    del resolved["only"], resolved["side"], resolved["launcher"]
    return resolved


def validate(config: DictConfig, stored: bool = False) -> dict[str, Any]:
    """Resolve the interpolations of a configuration, and :func:`check` all of it."""
    return check(at_scale(config), stored=stored)
