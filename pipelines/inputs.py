"""The inputs of each stage: settings, code, packages and a user's own files, in one file.

The stage ``survey`` writes them, each time anew. Every later stage depends on its own file, and on
the data sets that it reads. So a setting, a module, a package, a file or a recorded run that a
stage has no part in makes nothing run again, nor does a comment; a stage cannot read what its file
does not hold; and dvc.lock, which DVC reads and writes anew for each stage, stays short.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any

from hessian_papers.data.base import Storage
from hessian_papers.labelled import WHOLE
from hessian_papers.ledger.leads import require_lead
from hessian_papers.memory import memory, sha256
from hessian_papers.provenance import Graph, code_of, digest_of, versions
from hessian_papers.results import Provenance, seconds_of
from hessian_spectra.files import as_json, digest, read_json
from hessian_spectra.validation import require
from pipelines import recorded
from pipelines.departures import (
    Settings,
    changed,
    departures,
    ours,
    overrides,
    published,
    reached,
)
from pipelines.folders import CONF, fill
from pipelines.schema import kinds
from pipelines.yaml_files import read_yaml

# Of a study, of networks or of a paper, below its name; else by the stage's.
COMPUTES, PAPER = "computes", "paper"

# The sentences that the page opens with.
FINDINGS = Path(__file__).resolve().parent.parent / "conf" / "findings.yaml"
# The numbers that stand beside the verdicts of a run.
HEADLINES = FINDINGS.with_name("headlines.yaml")
# How long stages took; one that is new has none yet.
DURATIONS = FINDINGS.with_name("durations.yaml")
REMEDY = "dvc repro survey"
# In place of the digest of a user's own file.
MISSING = "missing"
# Stands for the modules that names come from which packages pass on.
NAMES = "names"
# How what a module may read from its own folder ends.
BESIDE = ("csv", "yaml", "css", "html", "js")
# The entry points of the stages of an item, and what of the pipeline counts where it is asked for;
# a kind's module is found by its name.
ENTRIES = {COMPUTES: ("side", "train", "computing"), PAPER: ("paper",)}


def path_of(folder: Path, name: str, only: str | None) -> Path:
    """The file of a stage, or of one of the items that it serves."""
    return folder / (f"{only}/{name}.json" if name in ENTRIES else f"{name}.json")


def read(folder: Path, name: str, only: str | None) -> dict[str, Any]:
    """The inputs of a stage.

    Raises:
        MissingResultError: ``survey`` did not run, or knows no such item.
    """
    result = read_json(path_of(folder, name, only), REMEDY)
    assert isinstance(result, dict)
    return result


@cache
def _beside(folder: Path) -> list[Path]:
    """The tables and texts in a folder of modules."""
    return [data for data in sorted(folder.iterdir()) if data.suffix[1:] in BESIDE]


@cache
def _read_by(code: Path) -> list[Path]:
    """The tables and texts beside a module that it names."""
    source = code.read_text("utf-8") if _beside(code.parent) else ""
    return [data for data in _beside(code.parent) if data.name in source]


def said_by(file: Path) -> str:
    """A short digest of what a file says, whatever its comments and docstrings are.

    The docstrings of claims and of theorems are what they state: a change of theirs counts.
    """
    states = file.stem == "claims" or file.parent.name == "theorems"
    return digest_of(file, docstrings=states)[:16]


# Stages share modules, and those share others: a process looks once.
_code_of, _said_by = cache(partial(code_of, graph=Graph())), cache(said_by)


def made_by(stages: Iterable[str], modules: Iterable[str]) -> dict[str, dict[str, str]]:
    """The code and the packages behind some stages and modules, however indirectly imported.

    Args:
        stages: entry points in ``pipelines``.
        modules: of the papers, without their package's name.

    Returns:
        ``code``, digests in which comments and docstrings do not count, by the file's name in the
        sources, and one of where names come from; and ``versions`` of Python and packages.
    """
    roots = [f"pipelines.{stage}" for stage in stages]
    known = [_code_of(name) for name in (*roots, *(f"hessian_papers.{name}" for name in modules))]
    files = {place: file for code in known for place, file in code.files.items()}
    for place, file in tuple(files.items()):
        files |= {str(Path(place).with_name(data.name)): data for data in _read_by(file)}
    code = {name: _said_by(file) for name, file in files.items()}
    code[NAMES] = digest(sorted({name for each in known for name in each.names}))
    return {"code": code, "versions": versions({p for each in known for p in each.packages})}


def findings() -> dict[str, Any]:
    """The sentences that the page opens with, before their numbers are filled in.

    Raises:
        ValueError: the file is no mapping.
    """
    return _mapping(FINDINGS, "a mapping with sets and findings")


def headlines() -> dict[str, Any]:
    """The numbers that stand beside the verdicts of a run: of each, by name, what measures it.

    Raises:
        ValueError: the file is no mapping.
    """
    return _mapping(HEADLINES, "a mapping of names to cases")


def _mapping(file: Path, expected: str) -> dict[str, Any]:
    content = read_yaml(file)
    require(isinstance(content, dict), file.name, expected, content)
    return dict(content)


@cache
def leads() -> dict[str, dict[str, Any]]:
    """The sentences that stand over figures, by study, as ``conf/studies`` has them.

    Raises:
        ValueError: one is not what it should be; the message is one line that names the file.
    """
    files = sorted((CONF / "studies").rglob("*.yaml"))
    entries = {file.stem: read_yaml(file).get("lead") for file in files}
    for name, entry in entries.items():
        if entry is not None:
            require_lead(entry, f"{name}.yaml, lead")
    return {name: entry for name, entry in entries.items() if entry is not None}


def durations(studies: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The ``seconds`` of each study whose stages' times are known, and on which ``processor``.

    They are those of its networks and of its own stages, of one core; to draw it takes some more.

    Args:
        studies: their configurations, by name.

    Raises:
        ValueError: the file of times is no such file.
    """
    known = stage_times()
    totals: dict[str, float] = {}
    for stage, seconds in known.get("stages", {}).items():
        kind, _, name = stage.partition("@")
        served = [study for study, c in studies.items() if c.get("ensemble") == name]
        for study in served if kind == "train" and served else [name]:
            totals[study] = totals.get(study, 0.0) + seconds
    times = {study: float(round(totals[study])) for study in studies if study in totals}
    return {"processor": known["processor"], "seconds": times} if known else {}


@cache
def stage_times() -> dict[str, Any]:
    """The seconds of each stage in ``stages``, when they were last written, and the ``processor``.

    Raises:
        ValueError: the file is no such file.
    """
    if not DURATIONS.is_file():
        return {}
    entries = read_yaml(DURATIONS)
    whole = isinstance(entries, dict) and set(entries) == {"processor", "stages"}
    require(whole, DURATIONS.name, "processor and stages", entries)
    return dict(entries)


def sources(params: Mapping[str, Any], study: str) -> dict[str, Any]:
    """The sources of a study's numbers beside settings and our code.

    Returns:
        ``versions`` of Python and of the packages; the digests of the user's own ``files``, if its
        data are made from such; and the settings of its ``ensemble`` of networks and of its
        ``data``, if it has any.
    """
    config = params["studies"][study]
    entries = [("studies", config)]
    if name := config.get("ensemble"):
        entries.append(("networks", params["networks"][name]))
    if data := next((entry["data"] for _, entry in entries if "data" in entry), None):
        entries.append(("data", params["data"]["sets"][data]))
    places = [kinds(group)[entry["kind"]] for group, entry in entries]
    modules = [f"{place}.study" if place.startswith("studies.") else place for place in places]
    files = own_files(params, entries[-1][1])
    known: dict[str, Any] = {"versions": made_by((), modules)["versions"]}
    if name:
        known["ensemble"] = params["networks"][name]
    if data:
        known["data"] = params["data"]["sets"][data]
    return known | ({"files": files} if files else {})


def own_files(params: Mapping[str, Any], *sets: Mapping[str, Any]) -> dict[str, str]:
    """The digests of the user's own files that some data sets are made from, by path."""
    root = params["data"]["root"]
    # A folder that is called like a number stands as one in the file.
    storage = Storage(None if root is None else Path(str(root)).expanduser(), download=False)
    return file_digests(file for settings in sets for file in storage.own_files(settings))


def file_digests(files: Iterable[Path]) -> dict[str, str]:
    """The SHA-256 of files by path; ``missing`` for one that is not there.

    Raises:
        OSError: a file cannot be read.
    """
    known = memory()
    return {str(file): known.of(sha256, file) if file.is_file() else MISSING for file in files}


def provenances(params: Mapping[str, Any], study: str) -> list[Provenance]:
    """Where today's run of a study comes from, and its recorded run, if there is one that counts.

    Args:
        params: the configuration.
        study: its name.
    """
    networks, data = params["networks"], params["data"]["sets"]
    settings = Settings(study, params["studies"][study], networks, data)
    known = recorded.read(study)
    today = Provenance(
        study=study,
        config=settings.study,
        scale=reached(params["scale"], settings),
        departs=departures(settings, published()),
        overrides=overrides(params["scale"], _own_settings(settings)),
        facts=sources(params, study),
        seconds=durations(params["studies"]).get("seconds", {}).get(study),
        damaged=known.damage if known else "",
    )
    return [today] if known is None or known.damage else [today, of_recorded(known)]


def of_recorded(known: recorded.Recorded) -> Provenance:
    """Where a recorded run comes from; nothing is wrong with its files."""
    return Provenance(
        study=known.settings.name,
        config=known.settings.study,
        scale=known.facts["scale"],
        recorded=True,
        departs=departures(known.settings, published()),
        overrides=overrides(known.facts["scale"], known.settings),
        facts=known.facts,
        arrays={WHOLE: memory().of(sha256, known.folder / WHOLE)},
        seconds=seconds_of(known.facts),
    )


def _own_settings(settings: Settings) -> Settings:
    """The settings of a study, and of the networks and the data set that it is made from alone."""
    ensemble = settings.study.get("ensemble")
    networks = {ensemble: settings.networks[ensemble]} if ensemble else {}
    name = {**networks.get(ensemble, {}), **settings.study}.get("data")
    return settings._replace(networks=networks, data={name: settings.data[name]} if name else {})


def changes(params: Mapping[str, Any], study: str) -> dict[str, list[Any]]:
    """The settings of a study that are not those of ``conf``: ``[value here, that of conf]``."""
    scale = read_yaml(CONF / "config.yaml")["scale"]
    other = {} if params["scale"] == scale else {"scale": [params["scale"], scale]}
    groups = params["networks"], params["data"]["sets"]
    own = _own_settings(Settings(study, params["studies"][study], *groups))
    return other | changed(own, ours(params["scale"]))


def kept(params: Mapping[str, Any], studies: Iterable[str]) -> dict[str, dict[str, list[Any]]]:
    """The :func:`changes` of each study that has any, by its name, and all under no name."""
    own = {name: changes(params, name) for name in studies}
    every = {key: pair for each in own.values() for key, pair in each.items()}
    return {name: each for name, each in [*own.items(), ("", every)] if each}


def provenances_in(record: Mapping[str, Any]) -> dict[str, list[Provenance]]:
    """The provenances that a stage's file holds, by study."""
    held: Mapping[str, list[dict[str, Any]]] = record.get("provenances", {})
    return {study: [Provenance(**each) for each in runs] for study, runs in held.items()}


def _records(params: Mapping[str, Any]) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    """The content of each file: the stage's name, what it serves, and the record."""
    computes = ENTRIES[COMPUTES]

    def settings(*keys: str) -> dict[str, Any]:
        return {key: params[key] for key in keys}

    data = params["data"]
    made = made_by(("prepare",), kinds("data").values()) | {"settings": settings("data")}
    yield "prepare", None, made | {"files": own_files(params, *data["sets"].values())}
    for name, config in params["networks"].items():
        module = kinds("networks")[config["kind"]]
        own = _own("networks", name, config) | _start(config)
        yield COMPUTES, name, made_by(computes, [module]) | own
    for name, config in params["studies"].items():
        module = f"{kinds('studies')[config['kind']]}.study"
        yield COMPUTES, name, made_by(computes, [module]) | _own("studies", name, config)
    runs = {name: provenances(params, name) for name in params["studies"]}
    papers = papers_of(params)
    for paper, chosen in papers.items():
        yield PAPER, paper, _of_paper(params, paper, chosen, runs)
    places = [[paper, name] for paper, chosen in papers.items() for name in chosen]
    damaged = [today.damaged for today, *_ in runs.values() if today.damaged]
    decides = {"studies": places, "findings": findings(), "damaged": damaged}
    decides["headlines"] = headlines()
    ledger = ["ledger.measured_cases", "ledger.table", "report.findings"]
    yield "ledger", None, made_by(["ledger"], ledger) | {"settings": decides}
    sentences = {"findings": findings(), "leads": leads()}
    sentences["durations"] = durations(params["studies"])
    sentences["kept"] = kept(params, params["studies"])
    # Without DVC it draws and measures as well.
    drawing = ["drawing.save", "ledger.evaluation"]
    page = made_by(["page", "figures"], ["report", *drawing])
    yield "page", None, page | {"settings": sentences}
    shown = settings("data", "networks", "scale", "studies", "tracking")
    shown |= {"leads": leads(), "findings": findings()}
    board = made_by(["dashboard", "described"], ["report", "tracking"])
    yield "dashboard", None, board | {"settings": shown}
    yield "check", None, made_by(["check"], ["ledger.evaluation"]) | {"settings": {}}


def shown_by(config: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The code and the packages behind a study's figure and claims, see :func:`made_by`."""
    kind = kinds("studies")[config["kind"]]
    modules = [f"{kind}.claims", f"{kind}.figure", "drawing.save", "ledger.measured_cases"]
    return made_by(["figures"], modules)


def _of_paper(
    params: Mapping[str, Any],
    paper: str,
    chosen: Mapping[str, Any],
    runs: Mapping[str, list[Provenance]],
) -> dict[str, Any]:
    """The record of the stage of a paper, see :mod:`pipelines.paper`.

    Args:
        params: the configuration.
        paper: its key.
        chosen: its studies.
        runs: where the runs of all studies come from.
    """
    behind = {name: shown_by(config) for name, config in chosen.items()}
    own = made_by(["paper"], [])
    parts = [own, *behind.values()]
    record: dict[str, Any] = {
        key: {name: value for part in parts for name, value in part[key].items()} for key in own
    }
    record["code"][NAMES] = digest([part["code"][NAMES] for part in parts])
    record["provenances"] = {name: [asdict(run) for run in runs[name]] for name in chosen}
    artifacts = {name: [c["paper"], c["artifact"]] for name, c in params["studies"].items()}
    made = {name: digest([behind[name], record["provenances"][name]]) for name in chosen}
    record["settings"] = {"studies": [*chosen], "made": made, "artifacts": artifacts}
    return record


def _own(group: str, name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of one study, or of one kind of networks, alone."""
    return {"settings": {group: {name: config}}}


def _start(config: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The digests of the user's network in a folder that trainings start from, if they do."""
    if not config.get("start"):
        return {}
    folder = Path(config["start"]).expanduser()
    return {"files": file_digests(file for file in sorted(folder.glob("*")) if file.is_file())}


def papers_of(params: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The studies of each paper, by the paper's key, in the order of the configuration."""
    papers: dict[str, dict[str, Any]] = {}
    for name, config in params["studies"].items():
        papers.setdefault(config["paper"], {})[name] = config
    return papers


def texts(params: Mapping[str, Any]) -> tuple[dict[str, str], bool]:
    """The files of all stages.

    Returns:
        The content of each by its place, and whether that depends on a user's own files.
    """
    texts, own = {}, False
    for name, only, record in _records(params):
        texts[path_of(Path(), name, only).as_posix()] = as_json(record)
        own |= bool(record.get("files"))
    return texts, own


def write(folder: Path, params: Mapping[str, Any]) -> None:
    """Write the files of all stages, and remove those of items that there are no more."""
    fill(folder, texts(params)[0])
