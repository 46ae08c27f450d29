import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import sample_reports

from hessian_papers.drawing.record import files, read_figures
from hessian_papers.drawing.save import save
from hessian_papers.results import Provenance
from hessian_spectra.files import DamagedFileError, MissingResultError
from hessian_spectra.pictures import style

POSTER = "figures/singh2024poster"
ORIGIN = Provenance(
    study="poster-pair",
    config=sample_reports.config("poster-pair"),
    scale="demo",
    departs={"width": [10, 100]},
)
PAPER = replace(ORIGIN, scale="paper", facts={"commit": "abc"}, departs={}, recorded=True)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports with one study that has both figures."""
    reports = tmp_path_factory.mktemp("both")
    for origin in (ORIGIN, PAPER):
        figure, axes = style.panels()
        axes.plot([0, 2 if origin.recorded else 1])
        save(figure, f"At {origin.scale}.", origin, sample_reports.PACKAGE, reports / "figures")
    return reports


@pytest.fixture
def reports(both: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(both, tmp_path / "reports"))


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


def test_figures_come_by_paper_and_in_natural_order(sample_root: Path) -> None:
    actual = [figure.study for figure in read_figures(sample_root / "reports")]
    assert actual == list(sample_reports.STUDIES)


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("suffix", ["png", "json"])
def test_a_missing_file_names_the_stage(reports: Path, recorded: bool, suffix: str) -> None:
    path = files(reports / POSTER, "poster-pair", recorded)[suffix]
    path.unlink()
    with pytest.raises(MissingResultError, match=r"run dvc repro paper@singh2024poster$") as caught:
        read_figures(reports)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("suffix", ["png", "json"])
def test_a_cut_off_file_is_refused(reports: Path, recorded: bool, suffix: str) -> None:
    path = files(reports / POSTER, "poster-pair", recorded)[suffix]
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DamagedFileError, match=r"run dvc repro paper@singh2024poster$") as caught:
        read_figures(reports)
    assert str(path) in str(caught.value)


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
