"""The message of an error that can be mended: one line that says what to change."""

import errno
import re
import sys
from typing import Any

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from hessian_papers.results import SCALES, SIDES
from hessian_spectra.validation import OperatorError, one_of
from pipelines.folders import CONF, MAP

# A wrong value, a missing file, a full disk, too little memory, a network that has
# no curvature, as one that diverged.
MENDABLE = (HydraException, OmegaConfBaseException, ValueError, OSError, MemoryError, OperatorError)
# What torch says, in errors of no class of their own, of sizes that do not fit in the memory.
NO_MEMORY = re.compile(r"allocate memory|out of memory|Storage size calculation overflowed")
SIZE = re.compile(r"tried to allocate [\d.]+ \w+|allocate [\d.]+ \w+ for an array with shape .*")

ADVICE = {
    errno.ENOSPC: "free some space and run it again",
    errno.EDQUOT: "free some space and run it again",
    errno.EROFS: "work in a folder that can be written to",
    errno.EACCES: "see who may read and write there",
    errno.EPERM: "see who may read and write there",
}


def is_mendable(error: BaseException) -> bool:
    """Whether the user can mend it; anything else is a defect of ours."""
    return isinstance(error, MENDABLE) or _lacks_memory(error)


def kind(error: BaseException) -> str:
    """The first word of the line: the kind of the error."""
    composing = isinstance(error, HydraException | OmegaConfBaseException)
    return "config error" if composing else "error"


def one_line(error: BaseException) -> str:
    """The message of an error in one line."""
    text = str(error)
    if _lacks_memory(error):
        return f"not enough memory{_size(text)}; choose smaller sizes"
    if isinstance(error, OSError) and error.errno is not None:
        advice = ADVICE.get(error.errno)
        said = ": ".join(map(str, filter(None, [error.filename, error.strerror])))
        return f"{said}; {advice}" if advice else said
    if isinstance(error, HydraException | OmegaConfBaseException):
        return _about_overrides(text)
    return " ".join(text.split()) or type(error).__name__


def failed(error: Exception) -> int:
    """Print what the user can mend, and give the code to end with; raise anything else."""
    if not is_mendable(error):
        raise error
    print(f"{kind(error)}: {one_line(error)}", file=sys.stderr)
    return 2


def _lacks_memory(error: BaseException) -> bool:
    memory = isinstance(error, RuntimeError) and NO_MEMORY.search(str(error))
    return bool(memory) or isinstance(error, MemoryError)


def _size(text: str) -> str:
    result = SIZE.search(text)
    return f" to {result[0].removeprefix('tried to ')}" if result else ""


def _about_overrides(text: str) -> str:
    """The message of Hydra about overrides, with the names to choose from instead of its syntax."""
    if mistyped := re.match(r"Could not override '([^']+)'", text):
        path = mistyped[1]
        part, keys = _beside(path)
        return f"unknown key {path!r}: expected {one_of(keys, part, MAP)}"
    if missing := re.search(r"Could not (?:find|load) '((?:hydra/)?\w+)/([^']+)'", text):
        group, name = missing[1], missing[2]
        return f"unknown {group} {name!r}: expected {one_of(_choices(group), name, 'conf/')}"
    if several := re.match(r"Ambiguous value for argument '([^=]+)=(.*)'", text):
        key, value = several[1], several[2]
        known = _choices(key)
        expected = one_of(known, "", MAP) if known else "one value"
        else_ = "--multirun takes each in turn" + ("" if known else f", and [{value}] is a list")
        return f"{key}: expected {expected}, got {value!r}; {else_}"
    return text.strip().splitlines()[0]


def _beside(path: str) -> tuple[str, list[str]]:
    """The part of a path that is mistyped, and the keys beside it, Hydra's own among them."""
    # It takes this module's folder of settings.
    from pipelines import schema

    own = path.startswith("hydra")
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        composed = hydra.compose("config", return_hydra_config=own)
    # Some of Hydra's have a value only in a run.
    plain = OmegaConf.to_container(composed) if own else schema.plain(schema.at_scale(composed))
    result: Any = plain
    *parents, part = path.replace("/", ".").split(".")
    for parent in parents:
        if not isinstance(result.get(parent), dict):
            return parent, sorted(map(str, result))
        result = result[parent]
    return part, sorted(map(str, result))


def _choices(key: str) -> list[str]:
    """The names that a key takes one of."""
    if key in ("side", "scale"):
        return list(SIDES if key == "side" else SCALES)
    if key == "only":
        names = ("data", "networks", "studies")
        return sorted(file.stem for name in names for file in (CONF / name).rglob("*.yaml"))
    if key.startswith("hydra/"):
        with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
            return GlobalHydra.instance().config_loader().get_group_options(key)
    group = CONF / key
    return sorted(f.relative_to(group).with_suffix("").as_posix() for f in group.rglob("*.yaml"))
