"""The command that keeps a run: what it writes, and when it refuses."""

import json
import os

import pytest

pytestmark = [pytest.mark.pipeline, pytest.mark.xdist_group("evidence")]

STUDY = "cracking-fig7"
SMALL = (f"studies.{STUDY}.scales=3",)


@pytest.fixture(scope="module")
def workspace(make_workspace):
    return make_workspace("evidence")


def evidence(workspace, *arguments):
    """Run the command; its exit code and what it says."""
    done = workspace.run(
        "python", "-m", "pipelines.evidence", f"only={STUDY}", *SMALL, *arguments, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_a_run_is_kept_with_its_claims_and_where_it_was_made(workspace):
    code, said = evidence(workspace)
    assert code == 0, said
    folder = workspace.path / "reports" / "evidence" / STUDY
    names = {path.name for path in folder.iterdir()}
    assert names == {"claims.json", "closed_form.npz", "facts.json", "figure.png", "numerics.npz"}
    facts = json.loads((folder / "facts.json").read_text())
    assert facts["commit"] == workspace.run("git", "rev-parse", "HEAD").stdout.strip()
    assert facts["hardware"]["cores"] == os.cpu_count()
    claims = json.loads((folder / "claims.json").read_text())
    assert {claim["study"] for claim in claims} == {STUDY}
    changed = workspace.changed().split()
    assert changed in (["??", "reports/evidence/"], ["??", f"reports/evidence/{STUDY}/"])


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
