"""Figures as PDF: of the runs that are here."""

import shutil
from pathlib import Path

import pytest

from pipelines.printed import printed
from tests.pipelines.workspace import ROOT

# A study that has a recorded run, and one that has none.
RECORDED, ALONE = "cracking-fig10", "cracking-fig7"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    shutil.copy(ROOT / "params.yaml", tmp_path)
    evidence = Path("reports") / "evidence" / RECORDED
    shutil.copytree(ROOT / evidence, tmp_path / evidence)
    monkeypatch.chdir(tmp_path)


def test_a_recorded_run_is_printed_where_todays_is_not_there():
    (file,) = printed(RECORDED)
    assert file.name == f"{RECORDED}-recorded.pdf"
    assert file.read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("study", "message"), [("none", "study: expected one of"), (ALONE, "expected a run")]
)
def test_without_a_run_it_says_so(study, message):
    with pytest.raises(ValueError, match=message):
        list(printed(study))
