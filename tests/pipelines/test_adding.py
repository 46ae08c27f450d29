"""MAP.md says enough about adding: a figure and a kind, in copies of the project."""

import json
import re
import shutil
import sys

import pytest

from hessian_papers.ledger.record import StatementRecord
from pipelines import schema
from tests.pipelines.workspace import ROOT, smallest

pytestmark = [pytest.mark.pipeline, pytest.mark.xdist_group("adding")]

# The folder of a figure's or a study's file.
PAPER = "singh2026cracking"
# The figure that a new one is made from; some of its claims are about theorems, some about figures.
MODEL = ROOT / "conf" / "studies" / "singh2024closed" / "closed2024-fig1.yaml"
# A kind of studies, as small as one can be.
KIND = ROOT / "tests" / "pipelines" / "my_kind"
FILES = ("__init__.py", "study.py", "figure.py", "claims.py")

# Prints the statements of some studies alone: the stage of a paper measures all its studies.
MEASURE = """
import dataclasses, json, sys
from pipelines import chain, inputs
from pipelines.stage import INPUTS, RESULTS
from hessian_papers.ledger.evaluation import evaluate
made = inputs.provenances_in(inputs.read(INPUTS, "paper", "singh2026cracking"))
runs = [run for name in sys.argv[1:] for run in chain.measured(made[name], RESULTS, {})]
records = evaluate(runs)
print(json.dumps([dataclasses.asdict(record) for record in records if record.cases[0].study]))
"""


def add_line(file, before, line):
    """Add a line to a text file after the one that begins with ``before``, as deep as the next."""
    lines = file.read_text().splitlines(keepends=True)
    (place,) = (k for k, old in enumerate(lines, 1) if old.strip().startswith(before))
    depth = len(lines[place]) - len(lines[place].lstrip())
    file.write_text("".join([*lines[:place], f"{' ' * depth}{line}\n", *lines[place:]]))


def add_study(workspace, name, text, entry):
    """Add a study's file and its two lines, and have DVC make its figure; the stages that ran."""
    (workspace.path / "conf" / "studies" / PAPER / f"{name}.yaml").write_text(text)
    add_line(workspace.path / "conf" / "config.yaml", "- studies:", f"- {PAPER}/{name}")
    add_line(workspace.path / "dvc.yaml", "made: &made", f"{name}: {entry}")
    changed = workspace.run("git", "diff", "--numstat").stdout
    assert changed == "1\t0\tconf/config.yaml\n1\t0\tdvc.yaml\n"
    return workspace.repro(f"paper@{PAPER}")


def new_files(workspace):
    listed = workspace.run("git", "ls-files", "--others", "--exclude-standard").stdout
    return set(listed.splitlines())


def record_of(workspace, name, stages):
    """The record of a study's figure, which DVC made, running nothing of another study."""
    assert stages[-1] == f"paper@{PAPER}"
    assert {stage.partition("@")[2] for stage in stages[:-1]} == {"", name}
    folder = workspace.path / "reports" / "figures" / PAPER
    for file in (f"{name}.png", f"{name}/figure.svg"):
        assert (folder / file).stat().st_size > 0
    return json.loads((folder / name / "figure.json").read_text())


def statements_of(workspace, name):
    """The statements of one study, as the stage of its paper measures them."""
    printed = json.loads(workspace.run(sys.executable, "-c", MEASURE, name).stdout)
    return [StatementRecord.of(record, "stdout", "nothing") for record in printed]


@pytest.fixture(scope="module")
def figure(make_workspace):
    """A copy with a figure of one's own of an existing kind, and the stages that DVC ran."""
    further = ("gaussian-regression-small", "two-layer-linear")
    workspace = smallest(make_workspace("adding"), *further)
    workspace.repro(f"paper@{PAPER}")
    workspace.commit("made")
    text = MODEL.read_text()
    for old, new in (
        (f"studies.{MODEL.stem}\n", "studies.my-figure\n"),
        (f"paper: {MODEL.parent.name}\n", f"paper: {PAPER}\n"),
        ("data: gaussian-regression ", "data: gaussian-regression-small "),
        ("artifact: Figure 1\n", "artifact: My own spectrum\n"),
        ("seed: 1 ", "seed: 5 "),
    ):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    entry = f"{{input: data/gaussian-regression-small.nc, paper: {PAPER}}}"
    return workspace, add_study(workspace, "my-figure", text, entry)


def test_a_figure_is_a_file_and_two_lines(figure):
    workspace, stages = figure
    record = record_of(workspace, "my-figure", stages)
    config = record["provenance"]["config"]
    assert (config["seed"], config["artifact"]) == (5, "My own spectrum")
    assert new_files(workspace) == {f"conf/studies/{PAPER}/my-figure.yaml"}


def test_a_figure_is_made_without_dvc(figure):
    workspace, _ = figure
    before = workspace.changed()
    workspace.run(sys.executable, "-m", "pipelines.figures", "only=my-figure")
    runs = workspace.path / "results" / "runs"
    (own,) = runs.glob("only=my-figure-*/figures/*/my-figure.png")
    by_dvc = workspace.path / "reports" / "figures" / PAPER / "my-figure.png"
    assert own.read_bytes() == by_dvc.read_bytes()
    assert workspace.changed() == before


def test_the_statements_of_a_figure_are_the_theorems(figure):
    workspace, _ = figure
    records = statements_of(workspace, "my-figure")
    every = schema.module_of("studies", "data_scale", "", "claims").statements.all
    assert 0 < len(records) <= sum(not statement.artifacts for statement in every) < len(every)
    for record in records:
        assert {case.study for case in record.cases} == {"my-figure"}
        assert record.verdict in ("reproduced", "corrected"), record
        assert not re.search(r"[Ff]igure", record.sentence), record


@pytest.fixture(scope="module")
def kind(figure):
    """The copy, committed, with a new kind and one study of it; and the stages that DVC ran."""
    workspace, _ = figure
    workspace.commit("a figure")
    folder = workspace.path / "src" / "hessian_papers" / "studies" / "scalar" / "my_kind"
    folder.mkdir()
    for name in FILES:
        shutil.copy(KIND / name, folder)
    text, entry = (KIND / "my-study.yaml").read_text(), f"{{input: data/wedge.nc, paper: {PAPER}}}"
    return workspace, add_study(workspace, "my-study", text, entry)


def test_a_kind_is_a_folder(kind):
    workspace, stages = kind
    record = record_of(workspace, "my-study", stages)
    assert record["package"] == "hessian_papers.studies.scalar.my_kind"
    added = {f"src/hessian_papers/studies/scalar/my_kind/{name}" for name in FILES}
    added.add(f"conf/studies/{PAPER}/my-study.yaml")
    assert new_files(workspace) == added


def test_the_stages_of_a_kind_depend_on_its_own_code(kind):
    workspace, _ = kind
    folder = workspace.path / "results" / "inputs"
    for name, files in ((f"{PAPER}/paper", {"figure", "claims"}), ("my-study/computes", {"study"})):
        text = (folder / f"{name}.json").read_text()
        assert {*re.findall(r"studies/scalar/my_kind/(\w+)\.py", text)} == files


def test_the_statement_of_a_kind_is_measured(kind):
    workspace, _ = kind
    (record,) = statements_of(workspace, "my-study")
    assert record.id == "both-eigenvalues"
    assert record.location == "My own matrix"
    assert record.verdict == "reproduced"
    (case,) = record.cases
    assert case.id == "my-study/both-eigenvalues"
    assert case.measured < 1e-10


def test_a_wrong_value_of_a_kind_is_refused(kind):
    workspace, _ = kind
    command = ("-m", "pipelines.figures", "only=my-study", "studies.my-study.scale=-1")
    done = workspace.run(sys.executable, *command, check=False)
    assert done.returncode == 2
    message = "invalid config at 'studies.my-study.scale': expected a positive number, got -1"
    assert message in done.stderr


def test_the_rules_of_the_pipeline_hold_with_both(kind):
    workspace, _ = kind
    # Eight are about studies and tables that the copy does not have.
    others = "behind_a_figure or tables or undeclared or catalogue or the_lock or part_of_a_package"
    done = workspace.run(
        *("env", f"PYTHONPATH={workspace.path / 'src'}", "SIGNATURES=unchecked", sys.executable),
        *("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"),
        *("tests/pipelines/test_join.py", "-k", f"not ({others})"),
    )
    assert "43 passed, 7 deselected" in done.stdout
