"""The pipeline itself, run by DVC on one small study, in copies of the project with one other."""

import os
import re
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from tests import pages
from tests.pipelines.workspace import environment, ran, smallest

pytestmark = [pytest.mark.pipeline, pytest.mark.xdist_group("dvc")]

STUDY = "cracking-fig1"
GUIDE = pages.ROOT / "docs" / "guides" / "figures.md"
TARGET = "paper@singh2026cracking"
# What is run each time.
ALWAYS = ["survey"]
FOLDERS = ("results/data", f"results/singh2026cracking/{STUDY}", "reports/figures")


def of_the_study(workspace):
    """The content of the files that make the study's figure."""
    outputs = workspace.outputs(*FOLDERS)
    return {
        name: content
        for name, content in outputs.items()
        if STUDY in (Path(name).stem, Path(name).parent.name)
    }


@pytest.fixture(scope="module")
def finished(make_workspace):
    """A workspace in which one study has been made, undisturbed."""
    workspace = smallest(make_workspace("undisturbed"))
    stages = workspace.repro("--force", TARGET)
    assert {"configure", "survey", "prepare"} <= {*stages}
    assert stages[-1] == TARGET
    workspace.repro("page")
    workspace.commit("made")
    return workspace


def test_a_second_run_looks_about_and_does_nothing(finished):
    assert finished.repro(TARGET) == ALWAYS
    assert finished.changed() == ""


def test_the_guide_is_followed_and_an_override_runs_the_study_and_its_dependents_alone(
    finished, monkeypatch
):
    """The guide reproduces this study's figure, varies it, and reads the arrays of both."""
    before = finished.outputs(*FOLDERS)
    done, compared, leading = {}, [], []

    def shell(command):
        if command.startswith("dvc"):
            said = finished.run(*shlex.split(command)).stdout
            done[command] = ran(said)
            leading.extend(line for line in said.splitlines() if "hessian-papers compare" in line)
        elif command.startswith("hessian-papers"):
            # In a checkout the environment has it.
            name, *words = shlex.split(command)
            compared.extend(
                finished.run(str(pages.ROOT / "bin" / name), *words).stdout.splitlines()
            )

    monkeypatch.chdir(finished.path)
    pages.follow(GUIDE, shell)
    reproduce, vary = done
    (line,) = leading
    assert re.fullmatch(r"beside the last commit.*: hessian-papers compare HEAD [\w-]+", line)
    # The last commit, from DVC's cache, and the experiment in the workspace, or by its name.
    by_name = finished.run(str(pages.ROOT / "bin" / "hessian-papers"), *line.split()[-3:]).stdout
    for said in (compared, by_name.splitlines()):
        assert [f"studies.{STUDY}.width", "10", "20"] in map(str.split, said)
        assert [STUDY, "2", "of", "2", "panels", "differ."] in map(str.split, said)
    assert reproduce == f"dvc repro {TARGET}"
    assert done[reproduce] == ALWAYS
    stages = [f"{side}@{STUDY}" for side in ("closed_form", "numerics")]
    # DVC is free to order the two sides of a study.
    assert sorted(done[vary]) == sorted(["configure", *ALWAYS, *stages, TARGET])
    after = finished.outputs(*FOLDERS)
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed
    assert changed <= of_the_study(finished).keys()
    # The pages are of all papers together.
    assert finished.repro("page")[-1] == "page"
    for page in ("index", "singh2026cracking", f"singh2026cracking/{STUDY}"):
        text = (finished.path / "reports" / f"{page}.html").read_text("utf-8")
        assert f"Settings of an experiment: studies.{STUDY}.width=20 (conf/ has 10)." in text
    finished.run("git", "checkout", "--quiet", ".")
    finished.run("dvc", "checkout", "--quiet", "--allow-missing")
    assert finished.repro(TARGET) in (ALWAYS, ["configure", *ALWAYS])
    assert finished.outputs(*FOLDERS) == before


def test_an_edit_runs_what_imports_it_and_nothing_else(finished):
    scalar = finished.path / "src" / "hessian_papers" / "studies" / "scalar"
    code, comment = "EDITED = True\n", "# edited\n"
    for edits, stages in (
        ((("data_scale/figure", code), ("relu_cells/figure", comment)), ["configure", *ALWAYS]),
        ((("relu_cells/figure", code),), ["configure", *ALWAYS, TARGET]),
    ):
        for name, edit in edits:
            file = scalar / f"{name}.py"
            file.write_text(file.read_text() + edit)
        assert finished.repro(TARGET) == stages, edits
    finished.run("git", "checkout", "--quiet", ".")
    finished.run("dvc", "checkout", "--quiet", "--allow-missing")
    assert finished.repro(TARGET) in (ALWAYS, ["configure", *ALWAYS])


def test_a_refused_override_changes_nothing(finished):
    before = finished.outputs(*FOLDERS)
    done = finished.run("dvc", "exp", "run", "-S", f"studies.{STUDY}.seed=abc", TARGET, check=False)
    assert done.returncode != 0
    message = f"error: invalid config at 'studies.{STUDY}.seed': Value 'abc'"
    assert message in done.stdout + done.stderr
    assert finished.changed() == ""
    assert finished.outputs(*FOLDERS) == before


@pytest.mark.parametrize("killed", [False, True], ids=["finished", "killed"])
def test_settings_of_an_experiment_that_stay_are_named_until_they_are_taken_back(finished, killed):
    before = (finished.path / "params.yaml").read_text()
    experiment = ("exp", "run", "-S", f"studies.{STUDY}.seed=7", "survey")
    if killed:
        kill_in("survey", finished, whole_group=True, command=experiment)
    else:
        finished.run("dvc", *experiment)
    said = finished.run("dvc", "repro", "survey").stdout
    remedy = "git checkout HEAD -- params.yaml dvc.lock"
    kept = f"studies.{STUDY}.seed=7 (committed: 0); back with `{remedy}`"
    assert f"\nSettings that differ from the commit, of an experiment: {kept}\n" in said
    finished.run(*remedy.split())
    assert "experiment" not in finished.run("dvc", "repro", TARGET).stdout
    assert (finished.path / "params.yaml").read_text() == before
    assert "params.yaml" not in finished.changed()


def kill_in(stage, workspace, *, whole_group, command=("repro", TARGET)):
    """Kill a run when it comes to a stage: `dvc` with it, or `dvc` alone, with which it ends."""
    process = subprocess.Popen(
        ["dvc", *command],
        cwd=workspace.path,
        env=environment() | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    line_of_it = f"> exec python -m pipelines.{stage}"
    with process:
        assert any(line.startswith(line_of_it) for line in process.stdout), f"{stage} never ran"
        (os.killpg if whole_group else os.kill)(process.pid, signal.SIGKILL)


def test_a_run_that_is_killed_again_and_again_can_be_repeated(finished, make_workspace):
    workspace = smallest(make_workspace("killed"))
    # In a fresh copy only the missing outputs would be made; --force is not wanted on the re-run.
    for folder in ("results", "reports/figures"):
        workspace.run("rm", "-rf", folder)
    kill_in("prepare", workspace, whole_group=True)
    kill_in(f"side -cn locked side=numerics only={STUDY}", workspace, whole_group=False)
    kill_in("paper", workspace, whole_group=True)
    workspace.repro(TARGET)
    assert of_the_study(workspace) == of_the_study(finished)
