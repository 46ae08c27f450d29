"""The command that keeps a run: what it writes, and when it refuses."""

import hashlib
import json
import os

import numpy as np
import pytest
import xarray as xr

from hessian_papers import labelled
from hessian_papers.networks.tools.result import write
from hessian_spectra.files import digest
from pipelines.evidence import SMALL as LIMIT
from pipelines.evidence import keep_networks, of_each_network, weights_of
from tests.pipelines.workspace import smallest

pytestmark = [pytest.mark.pipeline, pytest.mark.xdist_group("evidence")]

STUDY = "cracking-fig7"
# And those of shared networks and of networks of its own.
STUDIES = (STUDY, "cracking-d33", "data-fig2")
SMALL = (f"studies.{STUDY}.scales=3",)


@pytest.fixture(scope="module")
def workspace(make_workspace):
    return smallest(make_workspace("evidence"), *STUDIES)


def evidence(workspace, *arguments):
    """Run the command; its exit code and what it says."""
    done = workspace.run(
        "python", "-m", "pipelines.evidence", f"only={STUDY}", *SMALL, *arguments, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_a_run_is_kept_as_arrays_with_where_it_was_made(workspace):
    code, said = evidence(workspace)
    assert code == 0, said
    folder = workspace.path / "reports" / "evidence" / STUDY
    names = {path.name for path in folder.iterdir()}
    assert names == {"data.nc", "facts.json"}
    facts = json.loads((folder / "facts.json").read_text())
    assert facts["commit"] == workspace.run("git", "rev-parse", "HEAD").stdout.strip()
    shown = workspace.run("git", "show", "--no-patch", "--format=%as", "HEAD").stdout.strip()
    assert facts["date"] == shown
    assert facts["hardware"]["cores"] == os.cpu_count()
    assert facts["study"]["scales"] == 3
    assert facts["configuration"]["study"] == digest(facts["study"])
    changed = workspace.changed().split()
    assert changed in (["??", "reports/evidence/"], ["??", f"reports/evidence/{STUDY}/"])


def test_what_was_recorded_of_each_network_is_kept_once_for_all_studies(workspace):
    name = "two-layer-linear"
    small = (
        "teachers=2",
        "networks=3",
        "networks_per_item=4",
        "sizes=[1,2]",
        "samples=32",
        "batch_size=16",
    )
    settings = [f"networks.{name}.{setting}" for setting in (*small, "width=4", "epochs=5")]
    settings.append("launcher.cluster=debug")
    workspace.run("python", "-m", "pipelines.evidence", "only=cracking-d33", *settings)
    folder = workspace.path / "reports" / "evidence"
    kept = (folder / "networks" / f"{name}.nc").read_bytes()
    facts = json.loads((folder / "cracking-d33" / "facts.json").read_text())
    assert facts["networks of this run"] == hashlib.sha256(kept).hexdigest()
    assert facts["ensemble"]["teachers"] == 2
    networks = labelled.read(folder / "networks" / f"{name}.nc")
    assert {"norms", "sharpness"} <= {*networks}
    assert networks.sizes["network"] == 6
    # The same numbers come of the kept networks, and none of those of another run.
    before = labelled.read(folder / "cracking-d33" / "data.nc")
    command = ("python", "-m", "pipelines.reanalysis", "only=cracking-d33")
    workspace.run(*command)
    again = labelled.read(folder / "cracking-d33" / "data.nc")
    # Kept numbers are single: what is exact but for rounding, as a miss, is so to 1e-6.
    xr.testing.assert_allclose(again, before, rtol=1e-5, atol=1e-6)
    facts = json.loads((folder / "cracking-d33" / "facts.json").read_text())
    assert facts["ensemble"]["teachers"] == 2
    labelled.write(folder / "networks" / f"{name}.nc", networks.isel(network=slice(5)))
    done = workspace.run(*command, check=False)
    assert done.returncode == 2
    assert "to hold the networks of the recorded run of cracking-d33" in done.stderr
    workspace.run("git", "checkout", "--quiet", "reports/evidence")


def test_a_study_that_trains_for_itself_is_told_the_time_of_training_and_of_measuring(workspace):
    small = ("cases=[raw-balanced-linear]", "samples=40", "epochs=4", "depth=2", "width=4")
    settings = [f"studies.data-fig2.{item}" for item in (*small, "shares=[0.3]", "replicates=1")]
    command = ("python", "-m", "pipelines.evidence", "only=data-fig2")
    workspace.run(*command, *settings, "launcher.cluster=debug")
    facts = workspace.path / "reports" / "evidence" / "data-fig2" / "facts.json"
    messages = json.loads(facts.read_text())["seconds of all items, one core each"]
    shards = (workspace.path / "results" / "shards" / "data-fig2").glob("*.json")
    took = [json.loads(shard.read_text())["seconds"] for shard in shards]
    assert len(took) == 2
    assert messages == {"data-fig2": pytest.approx(sum(took), abs=0.06)}
    workspace.run("git", "checkout", "--quiet", "reports/evidence")


def test_weights_stay_where_they_are_and_their_digests_are_kept(tmp_path):
    made = tmp_path / "made"
    made.mkdir()
    (made / "600.safetensors").write_bytes(b"weights")
    data = xr.Dataset({"loss": 0.5})
    bare = write(tmp_path / "bare", data)
    assert weights_of(bare) == {}
    facts = weights_of(write(tmp_path / "kept", data, {"3": made}))["weights"]
    assert {path: of["sha256"] for path, of in facts.items()} == {
        "3/600.safetensors": hashlib.sha256(b"weights").hexdigest()
    }


def test_what_is_recorded_of_networks_has_single_precision_and_no_images():
    images = (("image", "row"), np.zeros((3, 4), np.uint8))
    recorded = of_each_network(xr.Dataset({"loss": ("network", [0.1]), "images": images}))
    assert recorded["loss"].dtype == np.float32
    assert {*recorded.variables} == {"loss"}
    bare = xr.Dataset({"norm": ("network", [1])})
    assert of_each_network(bare).identical(bare)


def test_of_networks_that_are_too_large_none_of_another_run_are_left(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "reports" / "evidence" / "networks" / "mine.nc"
    keep_networks("mine", b"before")
    assert path.read_bytes() == b"before"
    keep_networks("mine", bytes(LIMIT + 1))
    assert not path.exists()


def test_code_that_is_not_committed_is_refused(workspace):
    path = workspace.path / "conf" / "studies" / "singh2026cracking" / f"{STUDY}.yaml"
    before = path.read_text()
    path.write_text(before + "# changed\n")
    code, said = evidence(workspace)
    path.write_text(before)
    assert code == 2
    expected = "evidence: expected committed code and configuration, changed: conf/studies"
    assert said.startswith(f"error: {expected}")
    assert len(said.strip().splitlines()) == 1
