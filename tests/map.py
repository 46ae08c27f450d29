"""Command map: write the tables of MAP.md, which are those of conf/ and of the code.

    python -m tests.map

`.ci/run` writes them, too, and compares.
"""

import dataclasses
import inspect
import re
from pathlib import Path

import hydra
import yaml

from hessian_papers.papers import reading_order
from pipelines import schema
from tests.lines_of_code import rooms, rounded

ROOT = Path(__file__).resolve().parents[1]
PAPERS = Path("src", "hessian_papers")
PAGE = (ROOT / "MAP.md").read_text()

# The groups of the configuration that one file sets: the dataclass of each, and that file.
GROUPS = {
    "tracking": (schema.Tracking, "conf/tracking/wandb.yaml"),
    "launcher": (schema.Launcher, "conf/launcher/default.yaml"),
    "data": (schema.Data, "conf/config.yaml"),
}
# The groups that hold entries of several kinds: where an entry is set, and who reads it.
ENTRIES = {
    "data.sets.<data set>.*": ("conf/data/<data set>.yaml", PAPERS / "data" / "<kind>.py"),
    "networks.<name>.*": ("conf/networks/<name>.yaml", PAPERS / "networks" / "<kind>.py"),
    "studies.<study>.*": (
        "conf/studies/<paper>/<study>.yaml",
        PAPERS / "studies" / "<family>" / "<kind>" / "study.py",
    ),
}


def composed():
    with hydra.initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return hydra.compose("config")


def link(text, path):
    assert (ROOT / path).exists(), path
    return f"[{text}]({path})"


def row(*cells):
    return f"| {' | '.join(map(str, cells))} |"


def codes(names):
    return ", ".join(f"`{name}`" for name in names)


def file_of(thing):
    return Path(inspect.getfile(thing)).relative_to(ROOT)


def natural(text):
    """A sort key: figures first, and 2 before 10."""
    parts = re.split(r"(\d+)", text)
    return not text.startswith("Figure"), [int(p) if p.isdigit() else p for p in parts]


def figures(config):
    """Each paper's figures: the study and its settings, its folder, and what it is made from."""
    actual = []
    for name, study in config.studies.items():
        folder = PAPERS / schema.kinds("studies")[study.kind].replace(".", "/")
        group = "networks" if "ensemble" in study else "data"
        source = study.get("ensemble", study.get("data"))
        cells = (
            study.paper,
            study.artifact,
            link(name, f"conf/studies/{study.paper}/{name}.yaml"),
            link("/".join(folder.parts[-2:]), folder),
            link(source, f"conf/{group}/{source}.yaml") if source else "",
        )
        actual.append((reading_order(study.paper), natural(study.artifact), row(*cells)))
    return [line for *_, line in sorted(actual)]


def top_level(config):
    """Each key at the top: where it is set, and which dataclass reads it."""
    assert set(config) == {field.name for field in dataclasses.fields(schema.Root)}
    here = file_of(schema)
    rows = [
        row("`scale`, `only`, `side`", "`conf/config.yaml`", f"`Root` in `{here}`"),
    ]
    for group, (reader, file) in GROUPS.items():
        held = yaml.safe_load((ROOT / file).read_text())
        held = held.get(group, held)
        names = [field.name for field in dataclasses.fields(reader) if field.name != "sets"]
        assert names == list(held), f"{file}: {reader.__name__} has other keys, or in another order"
        keys = codes(f"{group}.{name}" for name in names)
        rows.append(row(keys, f"`{file}`", f"`{reader.__name__}` in `{here}`"))
    for key, (file, reader) in ENTRIES.items():
        rows.append(row(f"`{key}`", f"`{file}`", f"`Config` in `{reader}`"))
    return rows


def keys_of(group):
    """Each kind's own keys, then those of the dataclasses that several kinds share."""
    rows, shared = [], {}
    for kind in schema.kinds(group):
        reader = schema.module_of(group, kind, "").Config
        rows.append(_keys(kind, reader))
        bases = [base for base in reader.__mro__[1:] if dataclasses.is_dataclass(base)]
        shared |= {base: _keys(base.__name__, base) for base in bases}
    return [*sorted(rows), *sorted(shared.values())]


def _keys(name, reader):
    own = [f.name for f in dataclasses.fields(reader) if f.name in inspect.get_annotations(reader)]
    bases = [base.__name__ for base in reader.__bases__ if dataclasses.is_dataclass(base)]
    return row(link(name, file_of(reader)), codes(own), codes(bases))


def sizes(config):
    """Each room's lines of code, rounded up, and those of all that is installed or run."""
    lines = rooms()
    whole = sum(n for room, n in lines.items() if not room.startswith(("tests", "benchmarks")))
    listed = {**lines, "src and pipelines together": whole}
    return [row(f"`{room}`" if room in lines else room, rounded(n)) for room, n in listed.items()]


TABLES = {
    "From a figure to its folder": figures,
    "From a key to its reader": top_level,
    "Keys of studies": lambda config: keys_of("studies"),
    "Keys of networks": lambda config: keys_of("networks"),
    "Keys of data sets": lambda config: keys_of("data"),
    "How long the rooms are": sizes,
}


def section_of(heading):
    return re.search(rf"^#+ {heading}\n(.*?)(?=^#|\Z)", PAGE, re.MULTILINE | re.DOTALL)


def written(config):
    """The page with the rows of today."""
    page = PAGE
    for heading, table in TABLES.items():
        section = section_of(heading)[1]
        head, *rows = re.findall(r"^\|.*\|\n", section, re.MULTILINE)[1:]
        fresh = head + "".join(f"{line}\n" for line in table(config))
        page = page.replace(section, section.replace(head + "".join(rows), fresh))
    return page


if __name__ == "__main__":
    (ROOT / "MAP.md").write_text(written(composed()))
