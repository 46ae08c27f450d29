import json
import shutil
import subprocess
import sys
from typing import Any

import local_servers
import pytest
from local_servers import run_apart

from hessian_papers.tracking import TrackingError, start_run, upload_waiting

pytestmark = pytest.mark.usefixtures("no_wandb_settings")

# As the command does it: in a process of its own, which says whether it loaded the client.
UPLOAD = """
import sys
from pathlib import Path
from hessian_papers.tracking import Timeouts, upload_waiting

for mode in sys.argv[2:]:
    upload_waiting(Path(sys.argv[1]), mode, Timeouts(answer=5, start=5, finish=40))
print("wandb" in sys.modules)
"""


@pytest.fixture
def directory(tmp_path):
    """A folder with two runs that were recorded offline."""
    for name in ("first", "second"):
        about = {"project": "p", "group": "g", "job_type": "train", "name": name}
        with start_run(**about, config={}, directory=tmp_path, run_id=name) as started:
            started.log(0, {"loss": 1.0})
    return tmp_path


def upload(directory, *modes, **environment):
    """Upload apart: whether the client was loaded, and the lines on the standard error."""
    command = (sys.executable, "-c", UPLOAD, str(directory), *modes)
    done = run_apart(*command, limit=100.0, **environment)
    return done.stdout == "True\n", done.stderr.splitlines()


def test_what_was_made_offline_is_uploaded_once_there_is_a_server(
    directory, tmp_path_factory, monkeypatch
):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(elsewhere)
    with local_servers.closed_port() as address:
        _, lines = upload(directory, "online", WANDB_BASE_URL=address)
    problem = f"{address} cannot be reached (Connection refused)"
    assert lines == [f"W&B: {problem}; 2 runs are kept offline, later: wandb sync --yes"]
    with local_servers.wandb_server() as server:
        _, lines = upload(directory, "online", WANDB_BASE_URL=server.address)
        addresses = [f"{server.address}/me/hessian-spectra/runs/{n}" for n in ("first", "second")]
        assert lines == [f"W&B: {address}" for address in addresses]
        assert [stream["exitcode"] for stream in server.streams if "complete" in stream] == [0, 0]
        sent = len(server.operations)
        loaded, lines = upload(directory, "online", WANDB_BASE_URL=server.address)
        assert (loaded, lines, len(server.operations)) == (False, [], sent)
    # The logs of an upload go beside the runs.
    assert [*elsewhere.iterdir()] == []
    assert len([*directory.glob("wandb/logs/*.log")]) == 2


def test_the_command_uploads_once_the_environment_says_online(directory):
    """In an experiment of its own a run stays with the repository: DVC says where that is."""
    command = (sys.executable, "-m", "pipelines.upload")
    with local_servers.wandb_server() as server:
        settings = {"WANDB_BASE_URL": server.address, "DVC_ROOT": str(directory)}
        assert run_apart(*command, limit=100.0, **settings).stderr == ""
        assert server.operations == []
        done = run_apart(*command, limit=100.0, **settings, WANDB_MODE="online")
    assert [line.rpartition("/")[2] for line in done.stderr.splitlines()] == ["first", "second"]


def test_a_run_is_uploaded_whole_from_where_it_is_moved_to(directory, tmp_path_factory):
    """With its artifacts, of which it knows only where they were: else it is not uploaded."""
    import wandb

    elsewhere = tmp_path_factory.mktemp("elsewhere")
    table = elsewhere / "table.txt"
    table.write_text("one")
    about: dict[str, Any] = {"project": "p", "group": "g", "job_type": "dashboard", "name": "n"}
    with start_run(**about, config={}, directory=elsewhere, run_id="third") as started:
        artifact = wandb.Artifact("data-x", type="figure-data")
        artifact.add_file(str(table), name="numerics.nc")
        started.wandb_run.log_artifact(artifact)
        started.wandb_run.log({"cases": wandb.Table(columns=["a"], data=[[1], [2]])})
    (old,) = elsewhere.glob("wandb/offline-run-*-third")
    new = directory / "wandb" / old.name
    shutil.move(old, new)
    wandb.teardown()
    with local_servers.wandb_server() as server:
        _, lines = upload(directory, "online", WANDB_BASE_URL=server.address)
        assert not [name for name in server.uploads if name.endswith("numerics.nc")]
        (refused,) = [line for line in lines if "artifacts" in line]
        remedy = f"mkdir -p {old.parent}; ln -s {new} {old}"
        assert refused.startswith(f"W&B: its artifacts are sought in {old}: {remedy}; the run is")
        subprocess.run(remedy, shell=True, check=True)
        _, lines = upload(directory, "online", WANDB_BASE_URL=server.address)
        assert lines == [f"W&B: {server.address}/me/hessian-spectra/runs/third"]
        assert server.uploads["data-x/numerics.nc"] == b"one"
        assert json.loads(server.uploads["run-third-cases/cases.table.json"])["data"] == [[1], [2]]


def test_nothing_is_done_unless_runs_go_online(directory):
    with local_servers.wandb_server() as server:
        actual = upload(directory, "offline", "disabled", WANDB_BASE_URL=server.address)
        assert server.operations == []
    assert actual == (False, [])


def test_a_run_that_cannot_be_read_keeps_no_other_from_its_upload(directory):
    (file,) = directory.glob("wandb/offline-run-*-first/*.wandb")
    file.write_bytes(b"no run")
    with local_servers.wandb_server() as server:
        _, (first, second) = upload(directory, "online", WANDB_BASE_URL=server.address)
    assert first.endswith(f"the run is kept offline, later: wandb sync {file.parent}")
    assert second == f"W&B: {server.address}/me/hessian-spectra/runs/second"


def test_an_unknown_mode_is_refused(tmp_path):
    with pytest.raises(TrackingError, match=r"tracking\.mode: expected one of .* got 'on'"):
        upload_waiting(tmp_path, "on")
