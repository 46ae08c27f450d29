"""Figures are written with their record and read back; what is missing or broken is one line."""

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import sample_reports

from hessian_papers.drawing.record import files, read_figures
from hessian_papers.drawing.save import save
from hessian_papers.results import Provenance
from hessian_spectra.files import DamagedFileError, MissingResultError, digest
from hessian_spectra.pictures import style

CONFIG, PACKAGE = sample_reports.config("poster-pair"), sample_reports.PACKAGE
POSTER = "figures/singh2024poster"
ORIGIN = Provenance(
    study="poster-pair",
    config=CONFIG,
    arrays={"numerics": "0" * 64},
    scale="demo",
    departs={"width": [10, 100]},
)
PAPER = replace(ORIGIN, scale="paper", facts={"commit": "abc"}, departs={}, recorded=True)
WRITTEN = {
    "figure": ("poster-pair.png", "poster-pair/figure"),
    "recorded": ("poster-pair/recorded.png", "poster-pair/recorded"),
}
ENDINGS = (".svg", ".json", "-series.json", "-series.js", ".vl.json")


def line(height=3):
    figure, axes = style.panels()
    axes.plot([0, 1], [1, height], "o-", label="λ")
    return figure


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports with one study that has both figures, the recorded one with a second picture."""
    reports = tmp_path_factory.mktemp("both")
    save(line(), "At demo.", ORIGIN, PACKAGE, reports / "figures")
    save(line(4), "At paper.", PAPER, PACKAGE, reports / "figures", (line(5), "Its errors."))
    return reports


@pytest.fixture
def reports(both: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(both, tmp_path / "reports"))


def test_equal_figures_give_equal_bytes(both: Path, tmp_path: Path) -> None:
    save(line(), "At demo.", ORIGIN, PACKAGE, tmp_path / "figures")
    save(line(4), "At paper.", PAPER, PACKAGE, tmp_path / "figures", (line(5), "Its errors."))
    written = {path.relative_to(tmp_path): path for path in tmp_path.rglob("*") if path.is_file()}
    expected = {f"{POSTER}/{png}" for png, _ in WRITTEN.values()}
    expected |= {f"{POSTER}/{stem}{end}" for _, stem in WRITTEN.values() for end in ENDINGS}
    second = f"{POSTER}/poster-pair/controls-recorded"
    expected |= {second + ending for ending in (".png", "-series.json")}
    assert {*map(str, written)} == expected
    for name, path in written.items():
        assert path.read_bytes() == (both / name).read_bytes()


def test_the_recorded_run_stands_beside_todays(both: Path) -> None:
    (figure,) = read_figures(both)
    recorded = figure.recorded
    assert recorded is not None
    assert (figure.provenance, recorded.provenance) == (ORIGIN, PAPER)
    assert (figure.caption, recorded.caption) == ("At demo.", "At paper.")
    assert recorded.recorded is None
    for actual in (figure, recorded):
        assert actual.png == actual.image.read_bytes()
        assert actual.svg.is_file()
    assert figure.sha256 != recorded.sha256
    assert figure.controls is None
    assert recorded.controls is not None
    assert recorded.controls.caption == "Its errors."
    assert recorded.controls.png == recorded.controls.image.read_bytes()


def test_the_record_says_where_the_figure_comes_from(both: Path) -> None:
    record = json.loads((both / POSTER / "poster-pair" / "figure.json").read_text())
    expected = {"caption": "At demo.", "command": "dvc repro paper@singh2024poster"}
    expected |= {"package": PACKAGE, "provenance": asdict(ORIGIN)}
    assert {name: record[name] for name in expected} == expected
    assert digest({**CONFIG, "width": 4}) != digest(CONFIG)


def test_figures_come_by_paper_and_in_natural_order(reports: Path) -> None:
    for study in ("cracking-fig10", "cracking-fig2"):
        folder = reports / "figures" / "singh2026cracking"
        shutil.copytree(reports / POSTER / "poster-pair", folder / study)
        shutil.copy(reports / POSTER / "poster-pair.png", folder / f"{study}.png")
        for name in ("figure.json", "recorded.json"):
            record = (folder / study / name).read_text().replace("poster-pair", study)
            (folder / study / name).write_text(record.replace("singh2024poster", folder.name))
    names = [figure.study for figure in read_figures(reports)]
    assert names == ["poster-pair", "cracking-fig2", "cracking-fig10"]


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("suffix", ["png", "json"])
def test_a_file_that_is_missing_or_cut_off_names_the_stage(
    reports: Path, recorded: bool, suffix: str
) -> None:
    path = files(reports / POSTER, "poster-pair", recorded)[suffix]
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DamagedFileError, match=r"run dvc repro paper@singh2024poster$"):
        read_figures(reports)
    path.unlink()
    with pytest.raises(MissingResultError, match=r"run dvc repro paper@singh2024poster$") as caught:
        read_figures(reports)
    assert str(path) in str(caught.value)


def test_a_second_picture_that_is_missing_names_the_stage(reports: Path) -> None:
    (reports / POSTER / "poster-pair" / "controls-recorded.png").unlink()
    with pytest.raises(MissingResultError, match=r"controls-recorded\.png is missing: run dvc"):
        read_figures(reports)


def test_a_record_of_another_study_is_refused(reports: Path) -> None:
    shutil.move(reports / POSTER / "poster-pair", reports / POSTER / "mine")
    (reports / POSTER / "poster-pair.png").unlink()
    with pytest.raises(DamagedFileError, match="expected the study 'mine', got 'poster-pair'"):
        read_figures(reports)


def test_a_recorded_run_that_is_gone_leaves_todays(reports: Path) -> None:
    for path in files(reports / POSTER, "poster-pair", recorded=True).values():
        path.unlink(missing_ok=True)
    (figure,) = read_figures(reports)
    assert figure.recorded is None
