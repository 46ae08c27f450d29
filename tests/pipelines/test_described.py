"""Trainings are found by scale, paper and study."""

import subprocess

import pytest

from pipelines import described

CONFIG = {
    "scale": "demo",
    "studies": {
        "one": {"paper": "a2024", "artifact": "Figure 1"},
        "two": {"paper": "a2024", "artifact": "Figure 2", "ensemble": "shared"},
        "three": {"paper": "b2026", "artifact": "Table 1", "ensemble": "shared"},
    },
}


@pytest.mark.parametrize(
    ("name", "tags", "notes"),
    [
        (
            "one",
            ("demo", "a2024", "one"),
            "A training for Figure 1 of a2024 (one), at the scale demo.",
        ),
        (
            "shared",
            ("demo", "a2024", "b2026", "two", "three"),
            "A training for shared, networks of two, three, at the scale demo.",
        ),
    ],
)
def test_a_training_names_what_it_is_for(name, tags, notes):
    about = described.training(name, CONFIG)
    assert (about.tags, about.notes) == (tags, notes)


def test_the_commit_is_that_of_the_folder_and_none_without_git(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert described.commit() is None
    who = ("-c", "user.name=test", "-c", "user.email=test@localhost")
    subprocess.run(["git", "init", "--quiet"], check=True)
    subprocess.run(["git", *who, "commit", "--quiet", "--allow-empty", "-m", "one"], check=True)
    (line,) = subprocess.run(
        ["git", "log", "--format=%H"], check=True, capture_output=True, text=True
    ).stdout.split()
    assert described.commit() == line


def test_tags_are_none_that_the_server_refuses():
    """It takes 64 signs at most."""
    from pipelines.stage import PARAMS
    from pipelines.yaml_files import read_yaml
    from tests.pages import ROOT

    params = read_yaml(ROOT / PARAMS)
    for name in (*params["networks"], *params["studies"]):
        about = described.training(name, params)
        assert all(0 < len(tag) <= 64 for tag in about.tags)
        assert len(about.tags) == len({*about.tags}) >= 2, "a study or a paper, at least"
