"""Whether two reports say and show the same: a difference is a line, and the exit code tells."""

import json
import shutil
import subprocess
import sys

import pytest

PICTURE = "figures/singh2026cracking/cracking-fig2.png"


@pytest.fixture
def compare(sample_root, tmp_path):
    """Compare the made-up reports with a changed copy; the exit code and what is said."""
    before, after = sample_root / "reports", tmp_path / "reports"
    shutil.copytree(before, after)

    def run(change=lambda reports: None):
        change(after)
        command = [sys.executable, "-m", "pipelines.compare", str(before), str(after)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return run


def edited(change):
    """A change of the entries of the ledger."""

    def write(reports):
        path = reports / "claims.json"
        entries = json.loads(path.read_text())
        path.write_text(json.dumps(change(entries) or entries))

    return write


def test_a_copy_is_the_same(compare):
    code, said = compare()
    assert code == 0
    assert said.splitlines() == [
        "36 statements before, 36 after: 0 differences",
        "11 figures before, 11 after: 0 differences",
    ]


def test_the_name_of_a_test_does_not_count(compare):
    def rename(entries):
        cases = [case for entry in entries for case in entry["cases"]]
        runs = [run for case in cases for run in (case, case["beside"]) if run]
        assert len(runs) > len(cases)
        for run in runs:
            run["test"] = "tests/other.py"

    assert compare(edited(rename))[0] == 0


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            edited(lambda entries: entries[1].update(verdict="differs")),
            "statement sample-1, verdict: 'reproduced' -> 'differs'",
        ),
        (
            edited(lambda entries: entries[1]["cases"][0].update(measured=0.5)),
            "statement sample-1, cases, closed2024-fig2/case 1, measured: 2.46e-14 -> 0.5",
        ),
        (edited(lambda entries: entries[:-1]), "statement sample-35: only before"),
        (edited(lambda entries: entries[::-1]), "statement: in another order"),
        (
            lambda reports: (reports / PICTURE).write_bytes(b"other"),
            "figure singh2026cracking/cracking-fig2.png: other bytes",
        ),
        (
            lambda reports: (reports / PICTURE).unlink(),
            "figure singh2026cracking/cracking-fig2.png: only before",
        ),
    ],
)
def test_a_difference_is_a_line(compare, change, line):
    code, said = compare(change)
    assert code == 1
    assert line in said.splitlines()


def test_what_is_missing_is_named(compare):
    code, said = compare(lambda reports: (reports / "claims.json").unlink())
    assert code == 2
    assert said.startswith("error: ")
    assert "claims.json is missing: run dvc repro" in said
