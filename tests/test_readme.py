"""The README says what is true: its code runs, its commands are valid, its paths exist."""

import re
import shlex
from pathlib import Path

import hydra
import numpy as np
import pytest
from matplotlib import image

from pipelines import recorded, schema

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


COMMANDS = [
    line.split("#")[0].strip() for block in blocks("bash") for line in block.splitlines() if line
]


def overrides_of(command):
    """The Hydra overrides of a command, wherever they stand."""
    return [word for word in shlex.split(command) if "=" in word and not word[0].isupper()]


def test_the_library_example_runs(capsys):
    (example,) = blocks("python")
    exec(compile(example, "README.md", "exec"), {})
    assert "outlier" in capsys.readouterr().out


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("make")])
def test_make_knows_its_targets(command):
    target = command.split()[1]
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("command", [c for c in COMMANDS if overrides_of(c)])
def test_the_overrides_are_valid(command):
    with hydra.initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        # A sweep's first value stands for all of them.
        words = [re.sub(r"=([^\[,]*),.*", r"=\1", word) for word in overrides_of(command)]
        assert schema.validate(hydra.compose("config", overrides=words))["studies"]


@pytest.mark.pipeline
def test_a_figure_is_made_without_dvc(make_workspace):
    (command,) = (c for c in COMMANDS if "pipelines.figures only=cracking-fig7" in c)
    workspace = make_workspace("readme")
    before = workspace.changed()
    workspace.run(*command.split())
    folder = workspace.path / "results" / "runs" / ",".join(sorted(overrides_of(command)))
    assert (folder / "figures" / "cracking-fig7.png").is_file()
    assert workspace.changed() == before, "a run of one's own leaves the tracked files alone"


def test_the_paths_it_names_exist():
    named = re.findall(r"`([\w/.-]+/[\w.-]*)`", README)
    made_by_a_run = ("wandb", "results")
    missing = [n for n in named if not n.startswith(made_by_a_run) and not (ROOT / n).exists()]
    assert not missing


@pytest.mark.parametrize("picture", re.findall(r"\((reports/pictures/[\w.-]+)\)", README))
def test_a_picture_is_what_the_recorded_arrays_give(picture, tmp_path):
    """Drawn by the code of today; on another processor a line may fall between other pixels."""
    known = recorded.read(Path(picture).stem)
    kind = known.config["kind"]
    reading, figure = (
        schema.module_of("studies", kind, "", part) for part in ("reading", "figure")
    )
    figure.draw(reading.Reading.read(known.folder)).savefig(tmp_path / "drawn.png")
    shown, drawn = image.imread(ROOT / picture), image.imread(tmp_path / "drawn.png")
    assert shown.shape == drawn.shape
    assert np.abs(shown - drawn).mean() < 1e-3
