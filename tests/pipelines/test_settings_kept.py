"""Settings that the last commit has not are named in one line, with the way back."""

import re
import shlex
import subprocess

import pytest

from pipelines import configure, inputs, kept
from pipelines.yaml_files import read_yaml
from tests.pipelines.workspace import ROOT

SETTINGS = {"studies": {"mine": {"width": 10, "seeds": [0, 1]}}}
OTHER = {"studies": {"mine": {"width": 50, "seeds": [0, 1]}}}
FILE = "conf/studies/mine.yaml"


@pytest.fixture
def git(tmp_path, monkeypatch):
    """A small repository with settings, which are committed; runs a command of Git in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(kept, "CONF", tmp_path / "conf")

    def run(*arguments):
        who = ("-c", "user.name=test", "-c", "user.email=test@localhost")
        subprocess.run(["git", *who, *arguments], check=True, capture_output=True)

    (tmp_path / FILE).parent.mkdir(parents=True)
    (tmp_path / FILE).write_text("width: 10\n")
    (tmp_path / "dvc.lock").write_text("stages: {}\n")
    write(SETTINGS)
    run("init", "--quiet")
    run("add", ".")
    run("commit", "--quiet", "--message", "settings")
    return run


def write(settings, said=None):
    """Write the settings as ``configure`` does, after an experiment with what ``conf`` says."""
    kept.PARAMS.write_text(configure.text_of(settings, said))


def taken_back(line):
    """Run the command that a line names, and say what is left."""
    (command,) = re.findall(r"`(git checkout .*)`$", line)
    subprocess.run(shlex.split(command), check=True, capture_output=True)
    return kept.said()


def test_nothing_is_said_of_settings_that_are_committed(git):
    assert kept.said() == ""


@pytest.mark.parametrize("staged", [False, True])
def test_what_an_experiment_left_is_named_with_the_way_back(git, staged):
    write(OTHER, SETTINGS)
    if staged:
        git("add", "params.yaml")
    line = kept.said()
    assert line == (
        "Settings that differ from the commit, of an experiment: studies.mine.width=50 "
        "(committed: 10); back with `git checkout HEAD -- params.yaml dvc.lock`"
    )
    assert taken_back(line) == ""


def test_what_a_killed_experiment_left_staged_is_named(git):
    """The stage ``configure`` has put the file right, but a commit would have the settings."""
    write(OTHER, SETTINGS)
    git("add", "params.yaml")
    write(SETTINGS)
    line = kept.said()
    assert line.startswith("params.yaml is staged with other settings, as a killed experiment ")
    assert taken_back(line) == ""
    assert subprocess.run(["git", "diff", "--cached", "--quiet"], check=False).returncode == 0


def test_what_an_edit_of_conf_changed_is_named_as_well(git, tmp_path):
    (tmp_path / FILE).write_text("width: 50\n")
    write(OTHER)
    line = kept.said()
    assert "of conf/: studies.mine.width=50 (committed: 10); back with `git checkout" in line
    assert "of an experiment" not in line
    (command,) = re.findall(r"`(.*)`", line)
    assert command == "git checkout HEAD -- conf"
    # With an experiment on top, both are taken back.
    write({"studies": {"mine": {"width": 50, "seeds": [7]}}}, OTHER)
    line = kept.said()
    assert "of an experiment and of conf/: " in line
    assert taken_back(line) == ""
    assert (tmp_path / FILE).read_text() == "width: 10\n"


def test_settings_of_an_experiment_that_were_committed_are_named_with_another_way_back(git):
    write(OTHER, SETTINGS)
    git("commit", "--quiet", "--all", "--message", "an experiment")
    line = "Settings of an experiment: studies.mine.width=50 (conf/ has 10); back with "
    assert kept.said() == f"{line}`dvc repro --force configure`"


def test_without_git_it_is_known_what_an_experiment_left(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    write(SETTINGS)
    assert kept.said() == ""
    write(OTHER, SETTINGS)
    assert kept.said().endswith("(conf/ has 10); back with `dvc repro --force configure`")
    assert kept.edited() == []


def test_of_many_settings_the_shortest_are_named():
    pairs = {f"studies.mine.{'long' * number}": [1, 2] for number in range(5, 0, -1)}
    text = kept.named(pairs, "committed:")
    assert text.startswith("studies.mine.long=1 (committed: 2), studies.mine.longlong=1 ")
    assert text.endswith(", 2 more")


def test_a_run_says_what_was_overridden_and_what_is_edited(git, tmp_path):
    assert kept.of_run({}) == ""
    said = "settings of this run: studies.mine.width=50 (conf/ has 10)"
    assert kept.of_run({"studies.mine.width": [50, 10]}) == said
    (tmp_path / FILE).write_text("width: 20\n")
    edited = f"conf/ is not as committed: {FILE}; back with `git checkout HEAD -- conf`"
    assert kept.of_run({}) == edited


def test_pages_are_told_what_an_experiment_left_of_their_studies():
    params = read_yaml(ROOT / "params.yaml")
    studies = [*params["studies"]]
    assert inputs.kept(params, studies) == {}
    params["studies"]["cracking-fig7"]["width"] = 50
    own = {"studies.cracking-fig7.width": [50, 10]}
    assert inputs.kept(params, studies) == {"cracking-fig7": own, "": own}
    assert inputs.kept(params, ["cracking-fig1"]) == {}
    # Networks are of all studies that measure them.
    params["networks"]["gpt2"]["width"] = 64
    changed = inputs.kept(params, studies)
    assert {"cracking-fig5", "cracking-fig6", "cracking-fig7", ""} <= {*changed}
    assert "cracking-fig4" not in changed
    assert changed[""]["networks.gpt2.width"][0] == 64
