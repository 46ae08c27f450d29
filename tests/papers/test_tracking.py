"""The dashboard: what the runs of a made-up state hold, read back with the client's own reader."""

import base64
import hashlib
import json
import os
from types import SimpleNamespace

import numpy as np
import pytest
import sample_reports
from sample_reports import STUDIES
from wandb_files import read_back

from hessian_papers.drawing.vega_lite import COLUMNS
from hessian_papers.tracking import log_dashboard
from hessian_papers.tracking.dashboard import RECORDED, TODAY
from hessian_spectra.files import DamagedFileError, MissingResultError, write_json

pytestmark = pytest.mark.usefixtures("no_wandb_settings")

COMMIT = "1234abcd" * 5
ABOUT = {"group": "0123abcd", "config": {"scale": "demo"}, "project": "test"}


CARDS = {"norms": "<!doctype html><svg></svg><p>The spectral norm leads.</p>"}


def dashboard(sample_root, directory, **changes):
    arguments = ABOUT | {"leads": sample_reports.LEADS, "cards": CARDS, "commit": COMMIT} | changes
    return log_dashboard(
        sample_root / "reports", sample_root / "results", directory=directory, **arguments
    )


@pytest.fixture(scope="module")
def logged(sample_root, tmp_path_factory):
    directory = tmp_path_factory.mktemp("tracking")
    return dashboard(sample_root, directory), directory


@pytest.fixture(scope="module", params=[False, True], ids=["today", "recorded"])
def run(request, logged, sample_root):
    """One of the two runs: what it says that it logged, what its file has, and of which files."""
    recorded, reports = request.param, sample_root / "reports"
    record = logged[0]["recorded"] if recorded else logged[0]
    (folder,) = logged[1].glob(f"wandb/offline-run-*-{record['run']}")
    pictures, arrays = {}, {}
    for study in [sample_reports.RECORDED] if recorded else STUDIES:
        paper, _ = STUDIES[study]
        figures = reports / "figures" / paper
        image = figures / study / "recorded.png" if recorded else figures / f"{study}.png"
        second = figures / study / f"controls{'-recorded' * recorded}.png"
        pictures[f"figures/{paper}/{study}"] = image.read_bytes()
        if second.is_file():
            pictures[f"controls/{paper}/{study}"] = second.read_bytes()
        place = reports / "evidence" if recorded else sample_root / "results" / paper
        arrays[study] = {file.name: file.read_bytes() for file in (place / study).glob("*.nc")}
    return SimpleNamespace(
        recorded=recorded,
        record=record,
        folder=folder,
        file=read_back(folder),
        pictures=pictures,
        arrays=arrays,
    )


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def table_of(run, name):
    """The rows of a table of the ledger that a run has."""
    (table,) = run.folder.glob(f"files/media/table/{name}*.json")
    content = json.loads(table.read_text())
    return [dict(zip(content["columns"], row, strict=True)) for row in content["data"]]


def row_of(statement, case):
    """A case as a row of the table."""
    row = {key: value for key, value in case.items() if key not in ("interval", "beside")}
    row |= {"statement": statement["id"], "labels": ", ".join(case["labels"].values())}
    low, high = case["interval"] or (None, None)
    return row | {"low": low, "high": high, "departs": ", ".join(case["departs"])}


def runs_of(case):
    """A case on each of its runs, by whether that is a recorded one."""
    return {each["recorded"]: each for each in (case, case["beside"]) if each}


CASES = [(said, case) for said in sample_reports.statements() for case in said["cases"]]


def test_every_registered_figure_is_in_its_run_as_it_is_in_reports(run):
    digests = {key: sha256(content) for key, content in run.pictures.items()}
    assert run.file.images == digests
    for part in ("figures", "controls"):
        said = {key.rpartition("/")[2]: d for key, d in digests.items() if key.startswith(part)}
        assert run.record[part] == said
        assert said
    assert all(run.file.summary[key]["caption"] for key in digests)


def test_a_lead_sentence_stands_under_its_figure_where_it_holds(run):
    for study in {*run.arrays} & {*sample_reports.LEADS}:
        caption = run.file.summary[f"figures/{STUDIES[study][0]}/{study}"]["caption"]
        lead = str(sample_reports.LEADS[study]["sentence"])
        assert (lead in caption) == (study == sample_reports.RECORDED)


def test_findings_with_their_pictures_are_in_todays_run(run):
    """Two dots and a sentence are no figure of a study: the page has them, and this run."""
    files = [*run.folder.glob("files/media/html/findings/norms*.html")]
    assert [file.read_text() for file in files] == ([] if run.recorded else [*CARDS.values()])


def test_the_arrays_under_each_figure_are_in_its_run(run):
    for study, files in run.arrays.items():
        md5 = {n: base64.b64encode(hashlib.md5(c).digest()).decode() for n, c in files.items()}
        assert run.file.artifacts[f"data-{study}{'-recorded' * run.recorded}"] == md5
        digests = {name.removesuffix(".nc"): sha256(content) for name, content in files.items()}
        assert run.record["data"][study] == digests
    assert {*run.record["data"]} == {*run.arrays}


def test_the_curves_of_each_figure_are_charts_in_its_run(run):
    scale = "paper" if run.recorded else "demo"
    for study in run.arrays:
        table = run.file.summary[f"charts/{STUDIES[study][0]}/{study}_table"]
        content = json.loads((run.folder / "files" / table["path"]).read_text())
        assert content["columns"] == [*COLUMNS]
        assert {(*row[:3],) for row in content["data"]} == {(*[f"{study}, {scale}"] * 2, "line")}
        values = sample_reports.arrays(study, scale)
        expected = np.stack([values["x"], values["outlier"]], axis=1)
        drawn = np.array([row[4:6] for row in content["data"]])
        np.testing.assert_allclose(drawn, expected, rtol=1e-5)
    assert sum(key.startswith("charts/") for key in run.file.summary) == len(run.arrays)


def test_what_was_measured_is_in_the_summary_of_its_run(run):
    own = [runs_of(case).get(run.recorded) for said, case in CASES if not said["identity"]]
    measured = {each["id"]: each["measured"] for each in own if each}
    actual = {key: value for key, value in run.file.summary.items() if "/case " in key}
    assert actual == {key: value for key, value in measured.items() if value is not None}
    assert actual


def test_the_cases_are_a_table_in_their_run(run):
    """Today's has what decides, and the words of both; the recorded runs have their own."""
    expected = []
    for statement, case in CASES:
        runs = runs_of(case)
        if not run.recorded:
            names = {"today": False, "recorded": True}
            expected.append(
                row_of(statement, case)
                | {f"outcome_{n}": runs.get(key, {}).get("outcome") for n, key in names.items()}
                | {f"measured_{n}": runs.get(key, {}).get("measured") for n, key in names.items()}
            )
        elif True in runs:
            expected.append(row_of(statement, runs[True]))
    rows = table_of(run, "cases")
    assert rows == expected
    assert run.record["cases"] == run.file.summary["cases"]["nrows"] == len(rows) >= 4


def test_runs_say_what_they_are_and_of_which_code(run):
    papers = {STUDIES[study][0] for study in run.arrays}
    assert {*run.file.tags} == {"paper" if run.recorded else "demo", *papers}
    assert (run.file.run_id, run.file.commit) == (run.record["run"], COMMIT)
    assert (run.file.state, run.file.project) == ("finished", "test")
    assert len(run.file.history) == 1
    name, job_type, notes, config = (
        run.file.name,
        run.file.job_type,
        run.file.notes,
        run.file.config,
    )
    if run.recorded:
        facts = {"facts": {sample_reports.RECORDED: sample_reports.FACTS}}
        assert (name, job_type) == ("recorded runs", "recorded")
        assert (notes, config) == (RECORDED, facts)
    else:
        assert (name, job_type) == ("dashboard 0123abcd", "dashboard")
        assert (notes, config) == (TODAY, ABOUT["config"])
        verdicts = [row["verdict"] for row in table_of(run, "statements")]
        assert verdicts == [entry["verdict"] for entry in sample_reports.statements()]
        assert run.file.summary["metrics/verdicts/corrected"] == verdicts.count("corrected")


def test_a_run_holds_neither_the_host_nor_anything_outside_its_folder(logged, run):
    (file,) = run.folder.glob("*.wandb")
    host, content = os.uname().nodename.encode(), file.read_bytes()
    assert b'"host"' not in content
    assert len(host) < 4 or host not in content
    assert {path.name for path in logged[1].iterdir()} == {"wandb"}


def state(directory):
    """The files of all runs, and when they were written."""
    return {path: path.stat().st_mtime_ns for path in directory.rglob("*-run-*/**/*.*")}


def test_a_state_that_was_logged_is_not_logged_again(logged, sample_root):
    first, directory = logged
    before = state(directory)
    assert dashboard(sample_root, directory) == first
    assert state(directory) == before


def test_a_run_that_was_killed_is_replaced(logged, sample_root, tmp_path):
    killed = tmp_path / "wandb" / f"offline-run-1-{logged[0]['run']}"
    killed.mkdir(parents=True)
    uploaded = tmp_path / "wandb" / f"offline-run-1-{logged[0]['recorded']['run']}"
    uploaded.mkdir()
    (uploaded / "run.wandb.synced").touch()
    assert dashboard(sample_root, tmp_path) == logged[0]
    assert not killed.exists()
    (made,) = tmp_path.glob(f"wandb/offline-run-*-{logged[0]['run']}")
    assert [*made.glob("*.wandb")]
    assert [path.name for path in uploaded.iterdir()] == ["run.wandb.synced"]


def test_another_state_is_another_run(logged, sample_root, tmp_path):
    other = dashboard(sample_root, tmp_path, group="other", mode="disabled")
    assert other["run"] != logged[0]["run"]
    assert other["figures"] == logged[0]["figures"]
    assert other["recorded"] == logged[0]["recorded"], "the recorded runs are as they were"
    assert list(tmp_path.iterdir()) == [], "where tracking is disabled it leaves no trace"


def test_a_table_without_rows_is_left_out(reports, sample_root, tmp_path):
    """A ledger of today's runs alone, beside the figure of a recorded run."""
    entries = [sample_reports.statement(0, "reproduced", [sample_reports.case(0, "poster-pair")])]
    write_json(reports / "claims.json", entries)
    record = log_dashboard(reports, sample_root / "results", directory=tmp_path, **ABOUT)
    assert (record["cases"], record["recorded"]["cases"]) == (1, 0)
    (folder,) = tmp_path.glob(f"wandb/offline-run-*-{record['recorded']['run']}")
    assert "cases" not in read_back(folder).summary


def test_without_recorded_runs_there_is_one_run(reports, sample_root, tmp_path):
    for path in reports.glob("figures/*/*/recorded*"):
        path.unlink()
    record = log_dashboard(
        reports, sample_root / "results", directory=tmp_path, mode="disabled", **ABOUT
    )
    assert record["recorded"] is None


def test_missing_inputs_are_named(reports, sample_root, tmp_path):
    def refused(error, message, results=sample_root / "results"):
        with pytest.raises(error, match=message):
            log_dashboard(reports, results, directory=tmp_path, mode="disabled", **ABOUT)

    refused(MissingResultError, r"closed2024-fig1 holds no arrays: run dvc", tmp_path / "nothing")
    evidence = reports / "evidence" / sample_reports.RECORDED / "data.nc"
    evidence.rename(tmp_path / "data.nc")
    refused(MissingResultError, r"holds no arrays: run git checkout reports/ev")
    (tmp_path / "data.nc").rename(evidence)
    (reports / "metrics.json").write_text("{")
    refused(DamagedFileError, r"metrics\.json is no JSON")
    (reports / "metrics.json").unlink()
    refused(MissingResultError, r"metrics\.json is missing: run the stage ledger")
