"""Runs whose server answers, is not there, or falls silent."""

import hashlib
import json
import sys
from functools import partial
from pathlib import Path

import pytest
from local_servers import closed_port, run_apart, silent_server, wandb_server
from wandb_files import read_back

pytestmark = pytest.mark.usefixtures("no_wandb_settings")

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


def result_of(script, address, *arguments):
    """The result of a script in a process of its own, and its error lines."""
    done = run_apart(sys.executable, "-c", script, *map(str, arguments), WANDB_BASE_URL=address)
    return json.loads(done.stdout), done.stderr.splitlines()


@pytest.mark.parametrize(
    ("server", "because"),
    [
        (closed_port, "cannot be reached (Connection refused)"),
        (silent_server, "cannot be reached (no answer within 1 s)"),
        (partial(wandb_server, silent_from="UpsertBucket"), "Timed out initializing run"),
    ],
)
def test_without_a_server_there_is_one_line_and_the_run_goes_on_offline(tmp_path, server, because):
    with server() as opened:
        address = getattr(opened, "address", opened)
        result, (line,) = result_of(TRAINING, address, tmp_path)
    assert result["online"] is False
    place = f"{address} " if "cannot" in because else ""
    remedy = f"going on offline, later: wandb sync {result['directory']}"
    assert line.startswith(f"W&B: {place}{because}")
    assert line.endswith(remedy)
    history = read_back(Path(result["directory"])).history
    assert [row["loss"] for row in history] == [1, 0.5, pytest.approx(1 / 3)]


def test_training_goes_online_where_there_is_a_server(tmp_path):
    with wandb_server() as server:
        result, lines = result_of(TRAINING, server.address, tmp_path)
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
    with wandb_server() as server:
        script = DASHBOARD.replace("PATIENCE", "30")
        record, lines = result_of(script, server.address, sample_root, tmp_path)
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
    with wandb_server(silent_from="CreateArtifactFiles") as server:
        record, lines = result_of(script, server.address, sample_root, tmp_path)
    silent = f"{server.address} cannot be reached (no answer within 4 s)"
    problems = ("the upload took more than 4 s", silent)
    expected = []
    for problem, item in zip(problems, (record, record["recorded"]), strict=True):
        (folder,) = (tmp_path / "wandb").glob(f"offline-run-*-{item['run']}")
        expected.append(f"W&B: {problem}; the run is kept offline, later: wandb sync {folder}")
        second = set(item["controls"].values())
        assert set(read_back(folder).images.values()) == set(item["figures"].values()) | second
    assert lines == expected
