"""The inputs of each stage: settings, code, packages and a user's own files, in one file.

The stage ``survey`` writes them, each time anew. Every later stage depends on its own file, and on
the data sets that it reads. So a setting, a module, a package, a file or a recorded run that a
stage has no part in makes nothing run again, nor does a comment; a stage cannot read what its file
does not hold; and dvc.lock, which DVC reads and writes anew for each stage, stays short.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from hessian_papers.data.base import Storage
from hessian_papers.ledger.leads import require_lead
from hessian_papers.memory import memory, sha256
from hessian_papers.provenance import Graph, code_of, digest_of, versions
from hessian_spectra.files import as_json, digest, read_json
from hessian_spectra.validation import require
from pipelines import recorded
from pipelines.departures import Settings, departures, overrides, published, reached
from pipelines.folders import CONF, fill
from pipelines.schema import has_figure, kinds
from pipelines.yaml_files import read_yaml

# Of a study, of networks or of a paper, below its name; else by the stage's.
COMPUTES, DRAWS, CLAIMS, REPORT = "computes", "draws", "claims", "report"

# The kind of the studies that measure theorems of all papers; each paper's page has its own.
CATALOGUE = "identities"
# The sentences that the page opens with.
FINDINGS = Path(__file__).resolve().parent.parent / "conf" / "findings.yaml"
# How long figures took; a study that is new has none yet.
DURATIONS = FINDINGS.with_name("durations.yaml")
REMEDY = "dvc repro survey"
# In place of the digest of a user's own file.
MISSING = "missing"
# Stands for the modules that names come from which packages pass on.
NAMES = "names"
# How what a module may read from its own folder ends.
BESIDE = ("csv", "yaml", "css", "html", "js")
# The entry points of the stages, and what of the pipeline is one of CARRIERS elsewhere; a kind's
# module is found by its name.
ENTRIES = {
    COMPUTES: ("side", "train", "computing"),
    DRAWS: ("figures",),
    CLAIMS: ("claims",),
    REPORT: ("report",),
}


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
    file = read_yaml(FINDINGS)
    require(isinstance(file, dict), FINDINGS.name, "a mapping with sets and findings", file)
    return dict(file)


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


def durations() -> dict[str, Any]:
    """The time that each figure took, and on which ``processor``, if that is known."""
    if not DURATIONS.is_file():
        return {}
    entries = read_yaml(DURATIONS)
    whole = isinstance(entries, dict) and set(entries) == {"processor", "seconds"}
    require(whole, DURATIONS.name, "processor and seconds", entries)
    return dict(entries)


def sources(params: Mapping[str, Any], study: str) -> dict[str, Any]:
    """The sources of a study's numbers beside settings and our code.

    Returns:
        ``versions`` of Python and of the packages; the digests of the user's own ``files``, if its
        data are made from such; and the settings of its ``ensemble`` of networks, if it has one.
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


def about(params: Mapping[str, Any], study: str) -> dict[str, Any]:
    """The facts that a figure and claims have of a study's runs besides its arrays.

    Returns:
        ``scale`` (that its sizes reach), ``seconds`` (of one core, that the figure takes),
        ``departs`` (the keys that depart from the paper's setting), ``facts`` (see :func:`sources`)
        and ``recorded``: scale, seconds and departures of the recorded run, what it overrides of
        its scale's settings, and the digests of its files, if there is one;
        and ``damaged``: what is wrong with it, in one line, if it counts for nothing.
    """
    networks, data = params["networks"], params["data"]["sets"]
    settings = Settings(study, params["studies"][study], networks, data)
    known = recorded.read(study)
    return {
        "scale": reached(params["scale"], settings),
        "seconds": _seconds(study),
        "departs": departures(settings, published()),
        "facts": sources(params, study),
        "damaged": known.damage if known else "",
        "recorded": None
        if known is None or known.damage
        else {
            "scale": known.scale,
            "seconds": known.seconds,
            "departs": departures(known.settings, published()),
            "overrides": overrides(known.scale, known.settings),
            "files": known.digests(),
        },
    }


def _seconds(study: str) -> float | None:
    """The time of one core that a study's figure takes, if it is known."""
    seconds = durations().get("seconds", {}).get(study)
    return None if seconds is None else float(seconds)


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
    package, digests = kinds("studies"), {}
    for name, config in params["studies"].items():
        kind, own = package[config["kind"]], _own("studies", name, config)
        digests[name] = about(params, name)
        yield COMPUTES, name, made_by(computes, [f"{kind}.study"]) | own
        pictures = ["drawing.forest", "ledger.evaluation", f"{kind}.claims"]
        drawing = [f"{kind}.figure"] if has_figure(config) else pictures
        draws = made_by(ENTRIES[DRAWS], [*drawing, "drawing.save"])
        yield DRAWS, name, draws | own | {"about": {name: digests[name]}}
    ledger, papers = ["ledger.measured_cases", "ledger.table"], papers_of(params)
    artifacts = {name: [c["paper"], c["artifact"]] for name, c in params["studies"].items()}
    catalogue = {name: c for name, c in params["studies"].items() if c["kind"] == CATALOGUE}
    for paper, chosen in papers.items():
        theorems = {name: config for name, config in catalogue.items() if name not in chosen}
        used = chosen | theorems
        measured = {f"{package[config['kind']]}.claims" for config in used.values()}
        read = {"settings": {"studies": chosen, "theorems": theorems, "artifacts": artifacts}}
        claims = made_by([CLAIMS], [*sorted(measured), *ledger]) | read
        yield CLAIMS, paper, claims | {"about": {name: digests[name] for name in used}}
        said = {name: lead for name, lead in leads().items() if name in chosen}
        elsewhere = {name: config["paper"] for name, config in theorems.items()}
        shown = {"settings": {"durations": durations(), "leads": said, "elsewhere": elsewhere}}
        yield REPORT, paper, made_by([REPORT], ["report"]) | shown
    decides = {"settings": {"papers": [*papers], "findings": findings()}}
    whole = made_by(["ledger"], [*ledger, "report.findings"]) | decides
    damage = {name: {"damaged": item["damaged"]} for name, item in digests.items()}
    yield "ledger", None, whole | {"about": damage}
    sentences = {"findings": findings(), "durations": durations(), "leads": leads()}
    # Without DVC it draws and measures as well.
    drawing = ["drawing.forest", "drawing.save", "ledger.evaluation"]
    page = made_by(["page", *ENTRIES[DRAWS]], ["report", *drawing])
    yield "page", None, page | {"settings": sentences}
    shown = settings("data", "networks", "scale", "studies", "tracking")
    shown["leads"] = leads()
    yield "dashboard", None, made_by(["dashboard", "described"], ["tracking"]) | {"settings": shown}
    yield "check", None, made_by(["check"], ["ledger.evaluation"]) | {"settings": {}}


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
