import base64
import contextlib
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import local_servers
import numpy as np
import pytest
import sample_reports
from wandb_files import read_back

from hessian_papers import tracking
from hessian_papers.tracking import LiveRuns, TrackingError, log_dashboard, start_run
from hessian_papers.tracking import run as run_module
from hessian_papers.tracking.dashboard import RECORDED, TODAY
from hessian_spectra.files import DamagedFileError, MissingResultError

COMMIT = "1234abcd" * 5
KEY = "0" * 40  # of the shape that the client accepts; the servers here do not look at it

# Trains nothing, but logs like a study's training loop, and says where the run is.
TRAINING = """
import json, sys
from pathlib import Path
from hessian_papers.tracking import Timeouts, start_run

with start_run(
    project="test", group="g", job_type="train", name="n", config={"width": 3}, mode="online",
    directory=Path(sys.argv[1]), timeouts=Timeouts(answer=1, start=1, finish=2),
) as run:
    for step in range(3):
        run.log(step, {"loss": 1 / (step + 1)})
print(json.dumps({"online": run.online, "directory": str(run.directory)}))
"""

# PATIENCE is in seconds, of which a server that answers takes as few as the machine allows.
DASHBOARD = """
import json, sys
from pathlib import Path
from hessian_papers.tracking import Timeouts, log_dashboard

sample, directory = map(Path, sys.argv[1:])
record = log_dashboard(
    sample / "reports", sample / "results", group="g", config={"width": 3}, directory=directory,
    project="test", mode="online", timeouts=Timeouts(answer=PATIENCE, start=30, finish=PATIENCE),
)
print(json.dumps(record))
"""


@pytest.fixture(autouse=True)
def no_wandb_settings(monkeypatch):
    """Keep the settings of whoever runs the tests out of them."""
    for name in [name for name in os.environ if name.startswith("WANDB_")]:
        monkeypatch.delenv(name)


def test_a_run_begins_once_a_training_has_gone_on_for_a_while(monkeypatch, tmp_path):
    clock, logged = [100.0], list[tuple[int, dict[str, float]]]()

    @contextlib.contextmanager
    def start(*_):
        yield SimpleNamespace(log=lambda step, metrics: logged.append((step, metrics)))

    monkeypatch.setattr(run_module.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(LiveRuns, "_start", start)
    runs = LiveRuns(project="p", group="g", job_type="train", directory=tmp_path, after=5.0)
    with runs("short", "1", {}) as log:
        log(0, {"loss": 2.0})
    assert logged == []
    with runs("long", "2", {}) as log:
        for step, elapsed in enumerate((0, 4.5, 5, 7)):
            clock[0] = 100 + elapsed
            log(step, {"loss": float(step)})
            assert len(logged) == (0 if elapsed < 5 else step + 1)
    assert logged == [(step, {"loss": float(step)}) for step in range(4)]


@pytest.fixture(scope="module", autouse=True)
def client():
    """End the client's service process with the tests."""
    yield
    import wandb

    wandb.teardown()


def run_apart(script, address, *arguments):
    """Run a script in a process of its own, as a stage does; its result and its error lines.

    The limit of 30 s is the promise: a server that is not there holds nobody up for longer.
    """
    settings = {"WANDB_BASE_URL": address, "WANDB_API_KEY": KEY}
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WANDB_")} | settings
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr.splitlines()


def dashboard(sample_root, directory, **changes):
    arguments = {"group": "0123abcd", "config": {"scale": "demo"}, "project": "test"}
    arguments |= {"leads": sample_reports.LEADS, "commit": COMMIT} | changes
    return log_dashboard(
        sample_root / "reports", sample_root / "results", directory=directory, **arguments
    )


@pytest.fixture(scope="module")
def logged(sample_root, tmp_path_factory):
    directory = tmp_path_factory.mktemp("tracking")
    return dashboard(sample_root, directory), directory


@pytest.fixture(scope="module")
def run_file(logged):
    (folder,) = (logged[1] / "wandb").glob("offline-run-*-dashboard-*")
    return read_back(folder)


@pytest.fixture(scope="module")
def recorded_file(logged):
    (folder,) = (logged[1] / "wandb").glob("offline-run-*-recorded-*")
    return read_back(folder)


def table_of(directory, run, name):
    """The rows of a table of the ledger that a run has."""
    (table,) = directory.glob(f"wandb/offline-run-*-{run}/files/media/table/{name}*.json")
    content = json.loads(table.read_text())
    return [dict(zip(content["columns"], row, strict=True)) for row in content["data"]]


def row_of(statement, case):
    """A case as a row of the table."""
    row = {key: value for key, value in case.items() if key not in ("interval", "beside")}
    row |= {"statement": statement["id"], "labels": ", ".join(case["labels"].values())}
    low, high = case["interval"] or (None, None)
    return row | {"low": low, "high": high, "departs": ", ".join(case["departs"])}


def every_run():
    """Each statement of the made-up ledger with each run of each of its cases."""
    return [
        (statement, run)
        for statement in sample_reports.statements()
        for case in statement["cases"]
        for run in (case, case["beside"])
        if run
    ]


def test_every_registered_figure_is_in_the_run_as_it_is_in_reports(logged, run_file, sample_root):
    expected = {}
    for file in (sample_root / "reports" / "figures").glob("*/*.png"):
        paper, _ = sample_reports.STUDIES[file.stem]
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        expected[f"figures/{paper}/{file.stem}"] = digest
        assert logged[0]["figures"][file.stem] == digest
    assert len(expected) == len(sample_reports.STUDIES)
    second = f"singh2026cracking/{sample_reports.RECORDED}"
    controls = (sample_root / "reports" / "figures" / second / "controls.png").read_bytes()
    expected[f"controls/{second}"] = hashlib.sha256(controls).hexdigest()
    assert run_file.images == expected
    assert all(run_file.summary[key]["caption"] for key in expected)
    for study, said in ((sample_reports.RECORDED, True), ("closed2024-fig1", False)):
        key = f"figures/{sample_reports.STUDIES[study][0]}/{study}"
        lead = str(sample_reports.LEADS[study]["sentence"])
        assert (lead in run_file.summary[key]["caption"]) == said


def test_the_arrays_under_each_figure_are_in_the_run(logged, run_file, sample_root):
    for study, (paper, _) in sample_reports.STUDIES.items():
        files = {
            f"{side}.nc": path.read_bytes()
            for side in ("closed_form", "numerics")
            if (path := sample_root / "results" / paper / study / f"{side}.nc").is_file()
        }
        md5 = {name: hashlib.md5(content).digest() for name, content in files.items()}
        kept = run_file.artifacts[f"data-{study}"]
        assert {name: base64.b64decode(digest) for name, digest in kept.items()} == md5
        assert logged[0]["data"][study] == {
            name.removesuffix(".nc"): hashlib.sha256(content).hexdigest()
            for name, content in files.items()
        }


def charted(directory, run):
    """The rows of the table under each chart, by its key."""
    (folder,) = (directory / "wandb").glob(f"offline-run-*-{run.run_id}")
    actual = {}
    for key, value in run.summary.items():
        if key.startswith("charts/"):
            content = json.loads((folder / "files" / value["path"]).read_text())
            assert content["columns"] == ["curve", "x", "y"]
            actual[key.removesuffix("_table")] = content["data"]
    return actual


def test_the_curves_of_each_figure_are_charts_in_the_run(logged, run_file, recorded_file):
    for scale, run in (("demo", run_file), ("paper", recorded_file)):
        actual = charted(logged[1], run)
        figures = [key for key in run.images if key.startswith("figures/")]
        assert {*actual} == {key.replace("figures/", "charts/") for key in figures}
        for key, rows in actual.items():
            study = key.rpartition("/")[2]
            values = sample_reports.arrays(study, scale)
            assert {row[0] for row in rows} == {f"{study}, {scale}"}
            drawn = np.array([row[1:] for row in rows])
            np.testing.assert_allclose(drawn[:, 0], values["x"], rtol=1e-5)
            np.testing.assert_allclose(drawn[:, 1], values["outlier"], rtol=1e-5)


def test_what_was_measured_is_in_the_summary_of_its_run(logged, run_file, recorded_file):
    for recorded, file in ((False, run_file), (True, recorded_file)):
        own = [run for statement, run in every_run() if not statement["identity"]]
        expected = {run["id"]: run["measured"] for run in own if run["recorded"] == recorded}
        actual = {key: value for key, value in file.summary.items() if "/case " in key}
        assert actual == {key: value for key, value in expected.items() if value is not None}
        assert actual


def test_ledger_metrics_and_configuration_are_in_the_run(logged, run_file):
    rows = table_of(logged[1], logged[0]["run"], "cases")
    entries = sample_reports.statements()
    cases = [(entry, case) for entry in entries for case in entry["cases"]]
    for row, (entry, case) in zip(rows, cases, strict=True):
        runs = {run["recorded"]: run for run in (case, case["beside"]) if run}
        both = {}
        for name, recorded in (("today", False), ("recorded", True)):
            for field in ("outcome", "measured"):
                both[f"{field}_{name}"] = runs[recorded][field] if recorded in runs else None
        assert row == row_of(entry, case) | both
    assert {row["outcome_recorded"] for row in rows} == {"holds", "fails", "open", None}
    statements = table_of(logged[1], logged[0]["run"], "statements")
    assert [row["verdict"] for row in statements] == [entry["verdict"] for entry in entries]
    assert run_file.summary["cases"]["nrows"] == len(rows)
    assert run_file.summary["metrics/verdicts/corrected"] == sum(
        row["verdict"] == "corrected" for row in statements
    )
    assert run_file.config == {"scale": "demo"}
    assert (run_file.state, run_file.project) == ("finished", "test")
    assert len(run_file.history) == 1


def test_runs_say_what_they_are_and_of_which_code(run_file, recorded_file):
    assert run_file.commit == recorded_file.commit == COMMIT
    papers = {paper for paper, _ in sample_reports.STUDIES.values()}
    assert {*run_file.tags} == {"demo", *papers}
    assert {*recorded_file.tags} == {"paper", sample_reports.STUDIES[sample_reports.RECORDED][0]}
    assert (run_file.notes, recorded_file.notes) == (TODAY, RECORDED)


def test_the_recorded_runs_are_a_run_of_their_own_under_the_same_keys(
    logged, recorded_file, sample_root
):
    study, reports = sample_reports.RECORDED, sample_root / "reports"
    record = logged[0]["recorded"]
    picture = reports / f"figures/singh2026cracking/{study}/recorded.png"
    digest = hashlib.sha256(picture.read_bytes()).hexdigest()
    assert record["figures"] == {study: digest}
    assert recorded_file.images[f"figures/singh2026cracking/{study}"] == digest
    assert len(recorded_file.images) == 2, "with its errors and controls"
    content = (reports / f"evidence/{study}/data.nc").read_bytes()
    assert record["data"] == {study: {"data": hashlib.sha256(content).hexdigest()}}
    arrays = {name: kept for name, kept in recorded_file.artifacts.items() if "data-" in name}
    md5 = base64.b64encode(hashlib.md5(content).digest()).decode()
    assert arrays == {f"data-{study}-recorded": {"data.nc": md5}}
    assert recorded_file.config == {"facts": {study: sample_reports.FACTS}}
    assert (recorded_file.run_id, recorded_file.name) == (record["run"], "recorded runs")
    assert (recorded_file.state, recorded_file.job_type) == ("finished", "recorded")


def test_the_recorded_runs_have_their_own_verdicts(logged):
    expected = [row_of(statement, run) for statement, run in every_run() if run["recorded"]]
    rows = table_of(logged[1], logged[0]["recorded"]["run"], "cases")
    assert rows == expected
    assert logged[0]["recorded"]["cases"] == len(rows) == 4


def test_a_run_holds_neither_the_host_nor_anything_outside_its_folder(logged, run_file):
    files = list(logged[1].glob("wandb/offline-run-*/*.wandb"))
    assert len(files) == 2
    host = os.uname().nodename.encode()
    for content in (file.read_bytes() for file in files):
        assert b'"host"' not in content
        assert len(host) < 4 or host not in content
    assert run_file.run_id == logged[0]["run"]
    assert {path.name for path in logged[1].iterdir()} == {"wandb"}


def test_the_same_state_replaces_its_run_and_gives_the_same_record(logged, sample_root):
    first, directory = logged
    staged = len(list((directory / "wandb").rglob("staging/**/*")))
    assert staged
    assert dashboard(sample_root, directory) == first
    assert len(list((directory / "wandb").glob("offline-run-*"))) == 2
    assert len(list((directory / "wandb").rglob("staging/**/*"))) == staged


def test_another_state_is_another_run(logged, sample_root, tmp_path):
    other = dashboard(sample_root, tmp_path, group="other")
    assert other["run"] != logged[0]["run"]
    assert other["figures"] == logged[0]["figures"]
    assert other["recorded"] == logged[0]["recorded"], "the recorded runs are as they were"


def test_recorded_runs_that_were_uploaded_are_not_logged_again(logged, sample_root, tmp_path):
    folder = tmp_path / "wandb" / f"offline-run-1-{logged[0]['recorded']['run']}"
    folder.mkdir(parents=True)
    (folder / "run.wandb.synced").touch()
    assert dashboard(sample_root, tmp_path) == logged[0]
    assert [path.name for path in folder.iterdir()] == ["run.wandb.synced"]
    assert len(list((tmp_path / "wandb").glob("offline-run-*"))) == 2


def test_without_recorded_runs_there_is_one_run(reports, sample_root, tmp_path):
    figures = reports / "figures" / "singh2026cracking"
    for path in (figures / sample_reports.RECORDED).glob("recorded*"):
        path.unlink()
    arguments: dict[str, Any] = {"group": "g", "config": {}, "project": "p"}
    record = log_dashboard(
        reports, sample_root / "results", directory=tmp_path, mode="disabled", **arguments
    )
    assert record["recorded"] is None


def test_disabled_leaves_no_trace(sample_root, tmp_path):
    record = dashboard(sample_root, tmp_path, mode="disabled")
    assert len(record["figures"]) == len(sample_reports.STUDIES)
    assert list(tmp_path.iterdir()) == []


def test_missing_inputs_are_named(reports, sample_root, tmp_path):
    results = sample_root / "results"
    arguments: dict[str, Any] = {"group": "g", "config": {}, "project": "p", "directory": tmp_path}
    with pytest.raises(MissingResultError, match=r"closed2024-fig1 holds no arrays: run dvc"):
        log_dashboard(reports, tmp_path / "nothing", **arguments | {"mode": "disabled"})
    evidence = reports / "evidence" / sample_reports.RECORDED / "data.nc"
    content = evidence.read_bytes()
    evidence.unlink()
    with pytest.raises(MissingResultError, match=r"holds no arrays: run git checkout reports/ev"):
        log_dashboard(reports, results, **arguments)
    evidence.write_bytes(content)
    (reports / "metrics.json").write_text("{")
    with pytest.raises(DamagedFileError, match=r"metrics\.json is no JSON"):
        log_dashboard(reports, results, **arguments)
    (reports / "metrics.json").unlink()
    with pytest.raises(MissingResultError, match=r"metrics\.json is missing: run the stage ledger"):
        log_dashboard(reports, results, **arguments)


def test_the_environment_goes_before_the_configuration(monkeypatch):
    assert tracking.resolve_mode("offline") == "offline"
    with pytest.raises(TrackingError, match=r"tracking\.mode: expected one of offline, .*'on'"):
        tracking.resolve_mode("on")
    monkeypatch.setenv("WANDB_MODE", "disabled")
    assert tracking.resolve_mode("online") == "disabled"
    monkeypatch.setenv("WANDB_MODE", "dryrun")
    with pytest.raises(
        TrackingError, match="WANDB_MODE: expected one of offline, online, disabled"
    ):
        tracking.resolve_mode("online")


def test_training_is_logged_by_its_own_steps(tmp_path):
    with start_run(
        project="p", group="g", job_type="train", name="n", config={}, directory=tmp_path
    ) as run:
        run.log(0, {"linear/loss": 1.0})
        run.log(10, {"linear/loss": 0.25})
        with pytest.raises(ValueError, match="step: expected at least 10, got 5"):
            run.log(5, {"linear/loss": 0.5})
    assert run.directory is not None
    history = read_back(run.directory).history
    assert [(row["_step"], row["linear/loss"]) for row in history] == [(0, 1.0), (10, 0.25)]


def test_a_run_whose_work_fails_is_marked_as_failed(tmp_path):
    with (
        pytest.raises(ZeroDivisionError),
        start_run(
            project="p", group="g", job_type="train", name="n", config={}, directory=tmp_path
        ) as run,
    ):
        run.log(0, {"loss": 1 / 0})
    assert run.directory is not None
    assert read_back(run.directory).state == "failed"


def test_a_folder_without_a_run_cannot_be_read(tmp_path):
    with pytest.raises(ValueError, match=r"expected one \.wandb file, found 0"):
        read_back(tmp_path)
    (tmp_path / "x.wandb").write_bytes(b"no run")
    with pytest.raises(ValueError, match=r"x\.wandb cannot be read"):
        read_back(tmp_path)


def assert_went_on_offline(result, lines, because):
    assert result["online"] is False
    assert len(lines) == 1
    assert lines[0].startswith("W&B: ")
    assert because in lines[0]
    assert lines[0].endswith(f"going on offline, later: wandb sync {result['directory']}")
    history = read_back(Path(result["directory"])).history
    assert [row["loss"] for row in history] == [1, 0.5, pytest.approx(1 / 3)]


def test_a_closed_port_is_one_line_and_the_run_goes_on_offline(tmp_path):
    with local_servers.closed_port() as address:
        result, lines = run_apart(TRAINING, address, str(tmp_path))
    assert_went_on_offline(result, lines, f"{address} cannot be reached (Connection refused)")


def test_a_silent_server_is_one_line_and_the_run_goes_on_offline(tmp_path):
    with local_servers.silent_server() as address:
        result, lines = run_apart(TRAINING, address, str(tmp_path))
    assert_went_on_offline(result, lines, f"{address} cannot be reached (no answer within 1 s)")


def test_a_server_that_falls_silent_at_the_start_is_one_line(tmp_path):
    with local_servers.wandb_server(silent_from="UpsertBucket") as server:
        result, lines = run_apart(TRAINING, server.address, str(tmp_path))
    assert_went_on_offline(result, lines, "Timed out initializing run")


def test_training_goes_online_where_there_is_a_server(tmp_path):
    with local_servers.wandb_server() as server:
        result, lines = run_apart(TRAINING, server.address, str(tmp_path))
    assert result["online"] is True
    assert len(lines) == 1
    assert lines[0].startswith(f"W&B: {server.address}/me/hessian-spectra/runs/")
    sent = "".join(
        line
        for stream in server.streams
        for line in stream.get("files", {}).get("wandb-history.jsonl", {}).get("content", [])
    )
    assert '"loss":0.5' in sent


def test_the_dashboard_is_uploaded_where_there_is_a_server(sample_root, tmp_path):
    with local_servers.wandb_server() as server:
        script = DASHBOARD.replace("PATIENCE", "30")
        record, lines = run_apart(script, server.address, str(sample_root), str(tmp_path))
    addresses = [
        f"{server.address}/me/hessian-spectra/runs/{item['run']}"
        for item in (record, record["recorded"])
    ]
    assert lines == [f"W&B: {address}" for address in addresses]
    sent = {hashlib.sha256(content).hexdigest() for content in server.uploads.values()}
    for item in (record, record["recorded"]):
        assert set(item["figures"].values()) <= sent
        assert {digest for sides in item["data"].values() for digest in sides.values()} <= sent


def test_a_server_that_falls_silent_during_the_upload_costs_one_line_a_run(sample_root, tmp_path):
    script = DASHBOARD.replace("PATIENCE", "4")
    with local_servers.wandb_server(silent_from="CreateArtifactFiles") as server:
        record, lines = run_apart(script, server.address, str(sample_root), str(tmp_path))
    silent = f"{server.address} cannot be reached (no answer within 4 s)"
    problems = ("the upload took more than 4 s", silent)
    expected = []
    for problem, item in zip(problems, (record, record["recorded"]), strict=True):
        (folder,) = (tmp_path / "wandb").glob(f"offline-run-*-{item['run']}")
        expected.append(f"W&B: {problem}; the run is kept offline, later: wandb sync {folder}")
        second = set(item["controls"].values())
        assert set(read_back(folder).images.values()) == set(item["figures"].values()) | second
    assert lines == expected
