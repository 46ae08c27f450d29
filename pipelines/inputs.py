"""What each stage is made from: the code that it runs and the settings that it reads, in one file.

The stage ``configure`` writes them. Every other stage depends on its own file, and on the arrays
that it reads. So a setting, a module or a recorded run that a stage has no part in makes nothing
run again, nor does a comment; a stage cannot read what its file does not hold; and dvc.lock, which
DVC reads and writes anew for each stage, stays short.
"""

import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from hessian_spectra.provenance import code_of, digest_of, root_of
from hessian_spectra.results import read_record, write_json
from hessian_spectra.validation import require
from pipelines import recorded
from pipelines.departures import departures
from pipelines.schema import kinds

# Of a study or of networks below their name, as claims are of one family; else by the stage's.
COMPUTES, DRAWS, CLAIMS = "computes", "draws", "claims"

# The sentences that the page opens with.
FINDINGS = Path(__file__).resolve().parent.parent / "conf" / "findings.yaml"
# How long figures took; a study that is new has none yet.
DURATIONS = FINDINGS.with_name("durations.yaml")
REMEDY = "dvc repro configure"
# They carry values from one place to another and compute none: a change of theirs alone runs
# nothing again.
CARRIERS = ("data/base.py", "results.py", "validation.py", "work.py")
# The entry points of the stages; what a kind's module imports is found by itself.
ENTRIES = {COMPUTES: ("side", "train"), DRAWS: ("figures",)}


def path_of(folder: Path, name: str, only: str | None) -> Path:
    """The file of a stage, or of one of the items that it serves."""
    served = name in ENTRIES or (name == CLAIMS and only)
    return folder / (f"{only}/{name}.json" if served else f"{name}.json")


def read(folder: Path, name: str, only: str | None) -> dict[str, Any]:
    """What a stage is made from.

    Raises:
        MissingResultError: ``configure`` did not run, or knows no such item.
    """
    found = read_record(path_of(folder, name, only), REMEDY)
    assert isinstance(found, dict)
    return found


def _read_by(code: Path) -> Iterator[Path]:
    """The tables and texts beside a module that it names."""
    source = code.read_text()
    for suffix in ("csv", "yaml", "css", "html", "js"):
        yield from (data for data in code.parent.glob(f"*.{suffix}") if data.name in source)


def code(stages: Iterable[str], modules: Iterable[str]) -> dict[str, str]:
    """The files behind some stages and modules, however indirectly imported, with their digests.

    Args:
        stages: entry points in ``pipelines``.
        modules: of the library, without its own name.

    Returns:
        Digests in which comments and docstrings do not count, by the file's name in the library.
    """
    files: dict[str, Path] = {}
    for name in modules:
        module = f"hessian_spectra.{name}"
        library = root_of(module) / "hessian_spectra"
        found = code_of(module).files
        for file in (*found, *(data for one in found for data in _read_by(one))):
            files[file.relative_to(library).as_posix()] = file
    files = {name: file for name, file in files.items() if name not in CARRIERS}
    here = Path(__file__).parent
    files |= {f"pipelines/{stage}.py": here / f"{stage}.py" for stage in stages}
    return dict(zip(sorted(files), digests([files[name] for name in sorted(files)]), strict=True))


def digests(files: Iterable[Path]) -> list[str]:
    """A short digest of what each file says, whatever its comments and docstrings are."""
    # But the docstring of a claim is what it states.
    return [digest_of(file, docstrings=file.stem == "claims")[:16] for file in files]


def findings() -> list[dict[str, Any]]:
    """The sentences that the page opens with, before their numbers are filled in.

    Raises:
        ValueError: the file is no list.
    """
    found = yaml.safe_load(FINDINGS.read_text("utf-8"))
    require(isinstance(found, list), FINDINGS.name, "a list of findings", found)
    return list(found)


def durations() -> dict[str, Any]:
    """How long it took to make each figure, and on which ``processor``, if that is known."""
    if not DURATIONS.is_file():
        return {}
    found = yaml.safe_load(DURATIONS.read_text("utf-8"))
    whole = isinstance(found, dict) and set(found) == {"processor", "seconds"}
    require(whole, DURATIONS.name, "processor and seconds", found)
    return dict(found)


def about(params: Mapping[str, Any], study: str) -> dict[str, Any]:
    """What a figure and claims say of a study's runs besides its arrays.

    Returns:
        ``scale``, ``departs`` (the keys that depart from the paper's setting) and ``recorded``: the
        same of the recorded run with the digests of its files, if there is one.
    """
    published = recorded.published()
    config = params["studies"][study]
    known = recorded.read(study)
    return {
        "scale": params["scale"],
        "departs": departures(study, config, params["networks"], params["data"]["sets"], published),
        "recorded": known
        and {
            "scale": known.scale,
            "departs": departures(study, known.config, known.networks, known.data, published),
            "files": known.digests(),
        },
    }


def _records(params: Mapping[str, Any]) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    """The content of each file: the stage's name, what it serves, and the record."""
    computes = ENTRIES[COMPUTES]

    def settings(*keys: str) -> dict[str, Any]:
        return {key: params[key] for key in keys}

    modules = code(("prepare",), kinds("data").values())
    yield "prepare", None, {"code": modules, "settings": settings("data")}
    for name, config in params["networks"].items():
        module = kinds("networks")[config["kind"]]
        own = {"networks": {name: config}}
        yield COMPUTES, name, {"code": code(computes, [module]), "settings": own}
    package, told = kinds("studies"), {}
    for name, config in params["studies"].items():
        kind, own = package[config["kind"]], {"studies": {name: config}}
        told[name] = about(params, name)
        yield COMPUTES, name, {"code": code(computes, [f"{kind}.study"]), "settings": own}
        draws = code(ENTRIES[DRAWS], [f"{kind}.figure", "drawing.save"])
        yield DRAWS, name, {"code": draws, "settings": own, "about": {name: told[name]}}
    for family in (None, *sorted({_family(one) for one in package.values()})):
        theirs = {one: path for one, path in package.items() if family in (None, _family(path))}
        chosen = {name: one for name, one in params["studies"].items() if one["kind"] in theirs}
        ledger = [f"{path}.claims" for path in theirs.values()]
        ledger += ["ledger.evaluation", "ledger.table", "ledger.record"]
        claims = {"code": code([CLAIMS], ledger), "settings": {"studies": chosen}}
        yield CLAIMS, family, claims | {"about": {name: told[name] for name in chosen}}
    sentences = {"findings": findings(), "durations": durations()}
    yield "report", None, {"code": code(["report"], ["report"]), "settings": sentences}
    shown = settings("data", "networks", "scale", "studies", "tracking")
    yield "dashboard", None, {"code": code(["dashboard"], ["tracking"]), "settings": shown}
    yield "check", None, {"code": code(["check"], ["ledger.evaluation"]), "settings": {}}


def _family(package: str) -> str:
    """The family of a kind of studies."""
    return package.split(".")[1]


def write(folder: Path, params: Mapping[str, Any]) -> None:
    """Write the files of all stages, and remove those of items that there are no more."""
    found = list(_records(params))
    shutil.rmtree(folder, ignore_errors=True)
    for name, only, record in found:
        write_json(path_of(folder, name, only), record)
