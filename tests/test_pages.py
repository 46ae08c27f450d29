"""README, start page and guides say what is true: code runs, commands are valid, paths exist."""

import re
import shlex
import sys
from pathlib import Path

import hydra
import numpy as np
import pytest
from matplotlib import image

import pipelines.__main__
from hessian_papers import labelled
from hessian_papers.results import sides_of
from hessian_spectra.__main__ import _parser
from pipelines import page, recorded, schema, stage
from tests import pages
from tests.pages import GUIDES, README, ROOT, START, commands, overrides_of

PAGES = [README, START, *GUIDES]
# The guide to figures follows a run of the pipeline, in tests/pipelines/test_dvc.py.
FIGURES = ROOT / "docs" / "guides" / "figures.md"
# What the guide to tables says is done in a folder of its own, on a smaller scale.
TABLE = ROOT / "docs" / "guides" / "table.md"
SMALLER = [
    "launcher.cluster=debug",
    *(
        f"networks.two-layer-linear.{setting}"
        for setting in ("samples=40", "batch_size=20", "width=4", "networks=3", "epochs=3")
    ),
]
WITH_CODE = [
    page
    for page in PAGES
    if page not in (FIGURES, TABLE) and "python" in [language for language, _ in pages.blocks(page)]
]
COMMANDS = sorted({command for page in PAGES for command in commands(page)})
# Studies, networks and data sets that they name.
KEPT = {
    file.stem
    for file in (ROOT / "conf").rglob("*/*.yaml")
    if any(re.search(rf"[=.]{file.stem}\b(?!-)", command) for command in COMMANDS)
}
# What a run makes, so that a fresh checkout lacks it.
MADE = (
    "docs/_build/",
    "reports/figures/",
    "reports/index.html",
    "reports/page.html",
    "reports/states.html",
    "results/",
    "wandb/",
)


@pytest.mark.parametrize("guide", WITH_CODE, ids=lambda page: page.stem)
def test_a_guide_prints_what_it_says(guide, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # where what it writes ends
    assert pages.follow(guide)


def test_a_page_that_says_something_else_is_refused(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n```\nand\n```python\nprint(x + 1)\n```\n```text\n3\n```\n")
    with pytest.raises(AssertionError, match=r"x \+ 1\)\nprints\n2\nnot\n3\n"):
        pages.follow(page)


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("make")])
def test_make_knows_its_targets(command):
    target = command.split()[1]
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("command", [c for c in COMMANDS if overrides_of(c)])
def test_the_overrides_are_valid(settings, command):
    with hydra.initialize_config_dir(str(settings), version_base="1.3"):
        # A sweep's first value stands for all of them.
        words = [re.sub(r"=([^\[{,]*),.*", r"=\1", word) for word in overrides_of(command)]
        assert schema.validate(hydra.compose("config", overrides=words))["studies"]


@pytest.mark.parametrize("typed", [c for c in COMMANDS if c.startswith("hessian-spectra")])
def test_the_command_knows_its_options(typed):
    assert _parser().parse_args(shlex.split(typed)[1:]).run


@pytest.mark.parametrize("typed", [c for c in COMMANDS if c.startswith("hessian-papers")])
def test_the_pipeline_has_the_command(typed):
    assert shlex.split(typed)[1] in pipelines.__main__.commands()


@pytest.fixture
def made_page(monkeypatch, tmp_path, settings):
    """Run a command that makes the page of a study, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(stage, "CONF", settings)
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")  # as stage.run does

    def run(command, *further):
        words = shlex.split(command)
        place = next(place for place, word in enumerate(words) if word.endswith("page"))
        monkeypatch.setattr(sys, "argv", [*words[place:], *further])
        with pytest.raises(SystemExit) as ended:
            stage.run(page.page, "page", estimates=True)
        assert ended.value.code == 0

    return run


def test_a_table_of_ones_own_leads_to_the_page_of_figure_4(made_page, tmp_path):
    def shell(command):
        # The other command of the guide is the same with more networks.
        if not [*(tmp_path / "results").glob("runs/*")]:
            made_page(command, *SMALLER)

    assert "from houses" in pages.follow(TABLE, shell)
    (text,) = (file.read_text() for file in tmp_path.glob("results/runs/*/index.html"))
    assert "columns of houses predict its targets" in text
    (data,) = tmp_path.glob("results/runs/*/singh2026cracking/cracking-fig4/correlation.nc")
    r = labelled.read(data)["each_correlation"].sel(norm="spectral", layer=1)
    assert np.isfinite(r).all()


def test_a_page_of_a_figure_is_made_without_dvc(made_page, tmp_path):
    """It writes below `results` alone, which Git does not track."""
    (command,) = (c for c in commands(README) if "papers page only=cracking-fig7" in c)
    made_page(command)
    (run,) = (tmp_path / "results" / "runs").iterdir()
    assert re.fullmatch(f"{','.join(sorted(overrides_of(command)))}-[0-9a-f]{{12}}", run.name)
    assert (run / "figures" / "singh2026cracking" / "cracking-fig7.png").is_file()
    assert (run / "index.html").is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


@pytest.mark.parametrize("text", PAGES, ids=lambda text: text.stem)
def test_the_paths_it_names_exist(text):
    named = re.findall(r"`([\w/.-]+/[\w.-]*)`", text.read_text())
    # Links of README lead from the root, those of the guides from where they are.
    linked = re.findall(r"\]\(([\w./-]+\.(?:md|png))\)", text.read_text())
    assert not [link for link in linked if not (text.parent / link).is_file()]
    missing = [n for n in named if not n.startswith(MADE) and not (ROOT / n).exists()]
    assert not missing


PICTURES = sorted(
    {
        picture
        for page in PAGES
        for picture in re.findall(r"\((?:../../)?(reports/pictures/[\w.-]+)\)", page.read_text())
    }
)


def same(picture, drawn):
    """Drawn by the code of today; on another processor a line may fall between other pixels."""
    shown, again = image.imread(ROOT / picture), image.imread(drawn)
    return shown.shape == again.shape and np.abs(shown - again).mean() < 1e-3


INSPECTED = "reports/pictures/inspection.png"


@pytest.mark.parametrize("picture", [each for each in PICTURES if each != INSPECTED])
def test_a_picture_is_what_the_recorded_arrays_give(picture, tmp_path):
    known = recorded.read(Path(picture).stem)
    figure = schema.figure_of(known.settings.study)
    data = labelled.read_study(known.folder, sides_of(known.settings.study))
    figure.draw(data).savefig(tmp_path / "drawn.png")
    assert same(picture, tmp_path / "drawn.png")


def test_the_picture_of_an_inspection_is_what_the_command_draws(tmp_path):
    assert INSPECTED in PICTURES
    (line,) = re.findall(r"hessian-spectra (inspect .*) --out", (ROOT / "Makefile").read_text())
    options = _parser().parse_args([*line.split(), "--out", str(tmp_path)])
    assert options.run(options) == 0
    assert same(INSPECTED, tmp_path / "inspection.png")
