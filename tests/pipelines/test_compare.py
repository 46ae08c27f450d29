"""Two states beside each other: what differs is a row of a table, and a picture of a page."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from hessian_papers.drawing.overlay import OLD
from hessian_papers.ledger.changes import moves
from hessian_papers.ledger.record import read_ledger
from hessian_papers.report import Alone, build, read
from hessian_spectra.pictures import style
from pipelines import commits, compare, states
from pipelines.__main__ import commands
from tests.papers.report.documents import Reader
from tests.pipelines.test_accessible import UNFOLD, barriers
from tests.pipelines.workspace import ROOT, environment

OTHER, STUDY = "results/runs/other", "singh2024closed/closed2024-fig2"


@pytest.fixture
def reports(sample_root, tmp_path, monkeypatch):
    """A folder with made-up reports, and a copy as a run's; the latter."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(sample_root / "reports", "reports")
    shutil.copytree("reports", OTHER)
    return tmp_path / OTHER


@pytest.fixture
def said(capsys):
    """Run the command; the exit code, and what it prints to both."""

    def run(*names):
        code = compare.main(names)
        return code, *capsys.readouterr()

    return run


def edit(path, change):
    """Change what a file of records holds."""
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))


def edit_case(entries, number=1, **values):
    entries[number]["cases"][0].update(values)


def widen(folder):
    """A run with another setting, of which one curve and one statement moved."""
    own = folder / "figures" / STUDY
    edit(own / "figure.json", lambda record: record["provenance"]["config"].update(width=50))
    edit(own / "figure-series.json", lambda panels: panels[0]["curves"][0].update(y=[0.5] * 40))
    edit(folder / "claims.json", lambda all_: all_[1].update(verdict="differs"))
    edit(folder / "claims.json", lambda all_: edit_case(all_, measured=0.5, outcome="fails"))


def page_of(out):
    path = out.strip().splitlines()[-1].removeprefix("wrote ")
    return Reader(Path(path).read_text("utf-8")), Path(path).parent


def test_nothing_differs_between_a_state_and_its_copy(reports, said):
    code, out, _ = said("workspace", OTHER)
    assert code == 0
    assert "nothing differs" in out.splitlines()


def test_settings_statements_and_series_that_differ_are_said(reports, said):
    widen(reports)
    code, out, _ = said("workspace", OTHER)
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert ["studies.closed2024-fig2.width", "10", "50"] in lines
    assert ["sample-1", "reproduced", "differs"] in lines
    assert ["time", "1", "≤", "1e-12", "holds", "0.5", "fails"] in lines
    assert ["closed2024-fig2", "1", "of", "1", "panel", "differs."] in lines
    assert max(map(len, out.splitlines()[:-1])) <= 100


def test_the_page_has_the_same_and_both_series_in_one_picture(reports, said, tmp_path):
    widen(reports)
    _, out, _ = said("workspace", OTHER)
    page, folder = page_of(out)
    (picture,) = page.all("img")[:1]
    assert sorted(path.name for path in folder.iterdir()) == [picture["src"], "index.html"]
    assert picture["alt"].endswith("workspace pale beneath results/runs/other")
    drawn = (folder / picture["src"]).read_text().lower()
    assert all(colour.lower() in drawn for colour in (OLD["color"], style.BLUE))
    assert all("://" not in address for address in page.values("href") if address[0] != "d")


@pytest.mark.browser
def test_a_checker_finds_no_barrier_in_either_page(reports, said, browser):
    widen(reports)
    _, comparison = page_of(said("workspace", OTHER)[1])
    changes = moves(read_ledger(Path("reports")), read_ledger(reports))
    alone = Alone({"width": [50, 10]}, "the committed settings", changes, "made", "compared")
    (reports / "index.html").write_text(build(read(reports), alone=alone), "utf-8")
    page = browser.new_page(viewport={"width": 390, "height": 800})
    for folder in (comparison, reports):
        page.goto((folder.resolve() / "index.html").as_uri())
        page.evaluate(UNFOLD)
        assert barriers(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()


def test_round_off_is_no_move(reports, said):
    edit(reports / "claims.json", lambda all_: edit_case(all_, measured=3e-14))
    series = reports / "figures" / STUDY / "figure-series.json"

    def round_otherwise(panels):
        panels[0]["curves"][0]["y"][-1] *= 1 + 1e-6

    edit(series, round_otherwise)
    assert "nothing differs" in said("workspace", OTHER)[1].splitlines()


def test_a_changed_verdict_comes_before_a_number_that_moved_far(reports, said):
    edit(reports / "claims.json", lambda all_: all_[5].update(verdict="differs"))
    edit(reports / "claims.json", lambda all_: edit_case(all_, measured=1e6))
    _, out, _ = said("workspace", OTHER)
    assert out.index("  sample-5 ") < out.index("  sample-1\n")
    assert "1 verdict changed, numbers of 1 statement moved." in out


def test_recorded_runs_are_compared_with_those_of_today(reports, said):
    own = Path("reports/figures/singh2026cracking/cracking-fig7/figure.json")
    edit(own, lambda record: record["provenance"]["config"].update(width=70))
    code, out, _ = said("recorded")
    assert code == 0
    assert out.startswith("recorded and workspace: 1 study in both")
    (line,) = (line for line in out.splitlines() if "fig7.width" in line)
    assert line.split()[-1] == "70"


def test_what_does_not_hold_as_printed_is_compared_with_print(reports, said):
    code, out, _ = said("workspace", "paper")
    assert code == 0
    assert out.startswith("paper and workspace:")
    assert [line.split()[1:] for line in out.splitlines() if "in print" in line]
    assert not [line for line in out.splitlines() if line.endswith("in print  reproduced")]


def test_recorded_runs_are_drawn_where_there_are_no_pages(tmp_path, monkeypatch, capsys):
    study = "cracking-fig13"
    evidence = states.EVIDENCE.absolute() / study
    monkeypatch.chdir(tmp_path)
    shutil.copytree(evidence, states.EVIDENCE / study)
    drawn = states.state("recorded", [study])
    assert [*drawn.settings] == [study]
    assert drawn.series[study]
    assert drawn.statements
    assert f"drawing the recorded run of {study}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("workspaces",), "unknown state 'workspaces': expected workspace, recorded, paper, "),
        (("workspaces",), "; did you mean workspace?"),
        (("results",), "results: expected figures/<paper>/<study>/figure.json there"),
        (("results/runs",), "; did you mean results/runs/other?"),
        (("HEAD",), "unknown state 'HEAD'"),
    ],
)
def test_what_is_no_state_is_refused_in_one_line(reports, said, names, message):
    code, out, error = said(*names)
    assert code == 2
    (line,) = error.splitlines()
    assert message in line
    assert not out
    assert not (reports.parents[1] / "comparisons").exists()


def test_a_ledger_that_is_missing_or_older_than_the_figures_is_said(reports, said):
    assert f"The ledger of {OTHER} is older than its figures of 8 studies" in said(OTHER)[1]
    (reports / "claims.json").unlink()
    code, out, _ = said(OTHER)
    assert code == 0
    assert f"{OTHER} has no ledger, so no statement is compared" in out.splitlines()


def test_without_a_common_study_there_is_nothing_to_compare(reports, said):
    alone = Path("results/runs/alone/figures/singh2024closed")
    alone.mkdir(parents=True)
    (reports / "figures" / STUDY).rename(alone / Path(STUDY).name)
    code, out, error = said("results/runs/alone", OTHER)
    assert (code, out) == (2, "")
    (line,) = error.splitlines()
    assert "expected a study that both have, got 'closed2024-fig2 and 7 studies'" in line


def test_a_broken_ledger_is_named(reports, said):
    (reports / "claims.json").write_text("[")
    code, _, error = said("workspace", OTHER)
    assert code == 2
    assert f"error: {OTHER}/claims.json is no JSON" in error


@pytest.fixture
def committed(reports, monkeypatch):
    """A repository with all that figures are made from; what runs Git in it."""

    def git(*arguments):
        who = ("-c", "user.name=test", "-c", "user.email=test@localhost")
        done = subprocess.run(("git", *who, *arguments), check=True, capture_output=True, text=True)
        return done.stdout

    for part in commits.MADE_FROM[:-1]:
        Path(part).mkdir()
        Path(part, "file").write_text("")
    Path("params.yaml").write_text("")
    git("init", "--quiet")
    git("add", *commits.MADE_FROM)
    git("commit", "--quiet", "--message", "first")
    monkeypatch.setattr(commits, "STATES", reports.parents[1] / "states")
    return git


def test_a_commit_is_what_it_gave_here(reports, committed, said):
    commits.remember()
    widen(reports.parents[2] / "reports")
    code, out, _ = said()
    assert code == 0
    assert out.startswith("HEAD and workspace: 8 studies in both")
    assert "studies.closed2024-fig2.width" in out
    committed("commit", "--quiet", "--allow-empty", "--message", "nothing that figures show")
    assert "nothing differs" in said("HEAD", "HEAD~1")[1].splitlines()


def test_a_study_stands_beside_the_workspace_or_the_commit_or_its_recorded_run(committed, reports):
    study = "cracking-fig7"
    assert states.before(study).name == "workspace"
    commits.remember()
    own = next(Path("reports").glob(f"figures/*/{study}/figure.json"))
    edit(own, lambda record: record["provenance"].update(overrides={"studies.mine.width": 1}))
    assert states.before(study).name == "HEAD"
    shutil.rmtree(commits.STATES)
    assert states.before(study).name == "recorded"
    assert states.before("closed2024-fig2").name == "workspace"
    assert states.before("nothing") is None


def test_what_is_made_from_other_settings_is_not_kept_as_the_commit(committed, said):
    Path("params.yaml").write_text("other: 1")
    commits.remember()
    code, _, error = said()
    assert code == 2
    (line,) = error.splitlines()[1:]
    assert "neither DVC's cache nor a run here has its figures: run dvc repro" in line


def test_the_last_stage_leads_on_where_something_is_not_committed(committed, monkeypatch, capsys):
    commits.lead_on()
    assert capsys.readouterr().out == ""
    Path("params.yaml").write_text("other: 1")
    commits.lead_on()
    assert capsys.readouterr().out == "beside the last commit: hessian-papers compare\n"
    monkeypatch.setenv("DVC_EXP_NAME", "plain-name")
    commits.lead_on()
    assert capsys.readouterr().out.endswith(": hessian-papers compare HEAD plain-name\n")


def test_a_run_of_one_study_is_called_by_its_settings(reports, said):
    for own in [*(reports / "figures").glob("*/*/")]:
        if own.name != Path(STUDY).name:
            shutil.rmtree(own)
    overrides = {"studies.closed2024-fig2.widths": [10, 20], "scale": "paper"}
    record = reports / "figures" / STUDY / "figure.json"
    edit(record, lambda record: record["provenance"].update(overrides=overrides))
    out = said("workspace", OTHER)[1]
    assert out.startswith("workspace and closed2024-fig2, widths=[10, 20], scale=paper: 1 study")


def test_an_experiment_goes_by_its_name(committed, said):
    commits.remember()
    head = committed("rev-parse", "HEAD").strip()
    committed("update-ref", f"refs/exps/{head[:2]}/{head[2:]}/plain-name", "HEAD")
    assert said("plain-name")[1].startswith("plain-name and workspace: 8 studies in both")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("compare", "nowhere"), 2, "error: unknown state 'nowhere'"),
        (("compar",), 2, "error: unknown command 'compar'; did you mean compare?"),
        (("figures", "only=nothing"), 2, "error: unknown study 'nothing'"),
        (("compare", "--help"), 0, "usage: hessian-papers compare [-h] [A] [B]"),
        ((), 2, "usage: hessian-papers <command> [argument ...]"),
    ],
)
def test_a_shell_has_the_commands_by_name_in_any_folder(tmp_path, arguments, code, message):
    command = [ROOT / "bin" / "hessian-papers", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment()
    )
    assert done.returncode == code
    assert (done.stdout + done.stderr).startswith(message)


def test_each_command_is_listed_with_what_it_is_for():
    known = commands()
    assert {"compare", "page", "figures", "train", "evidence", "check"} <= {*known}
    assert not {"stage", "states", "chain"} & {*known}
    assert all(known.values())
