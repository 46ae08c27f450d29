"""Experiments stand in one table, with the settings and numbers that differ and no digest."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from pipelines import experiments
from pipelines.experiments import State, states, table
from tests.pipelines.workspace import ROOT, environment

STAGE = """import json, yaml
width = yaml.safe_load(open("params.yaml"))["studies"]["mine"]["width"]
numbers = {"sharpness_at_the_end": 2 / width, "share_of_outliers": 0.5, "gone": None}
metrics = {"papers": f"{width} reproduced", "this_run": f"{width} holds"}
json.dump({**metrics, "numbers": numbers}, open("reports/metrics.json", "w"))
curve = {"name": "outlier", "drawn": "line", "x": [1, 2, 3], "y": [1, width, 4]}
panel = {"title": "(a)", "x": "step", "y": "sharpness", "scales": ["linear", "log"], "main": False}
json.dump([{**panel, "curves": [curve]}], open("series.json", "w"))
"""
PIPELINE = """stages:
  ledger:
    cmd: python stage.py
    deps: [stage.py]
    params: [studies]
    metrics: [reports/metrics.json]
    outs: [series.json]
plots:
  - made-up: {template: curves, y: {series.json: curves}}
"""


def called(folder, *arguments):
    """The command in a folder: its code, and what it says."""
    command = [sys.executable, "-m", "pipelines.experiments", *arguments]
    plain = environment() | {"PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    done = subprocess.run(
        command, cwd=folder, env=plain, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout or done.stderr


@pytest.mark.pipeline
def test_experiments_of_dvc_are_a_table_of_few_columns(tmp_path):
    def run(*command):
        options = {"cwd": tmp_path, "env": environment(), "text": True, "check": True}
        return subprocess.run(command, capture_output=True, **options).stdout

    (tmp_path / "stage.py").write_text(STAGE)
    (tmp_path / "dvc.yaml").write_text(PIPELINE)
    (tmp_path / "params.yaml").write_text("studies: {mine: {width: 10, seeds: [0, 1]}}\n")
    (tmp_path / "reports").mkdir()
    run("git", "init", "--quiet", "--initial-branch", "trunk")
    run("dvc", "init", "--quiet")
    shutil.copytree(ROOT / ".dvc" / "plots", tmp_path / ".dvc" / "plots")
    (tmp_path / ".gitignore").write_text("/series.json\n/reports/metrics.json\n")
    run("dvc", "repro")
    run("git", "add", "--all")
    who = ("-c", "user.name=test", "-c", "user.email=test@localhost")
    run("git", *who, "commit", "--quiet", "--message", "made")
    code, said = called(tmp_path)
    assert code == 0
    assert said.startswith("no setting differs between workspace, trunk; make one with `dvc exp ")
    assert said.endswith("\nno number differs; --all shows those of each\n")
    for width in (20, 40):
        run("dvc", "exp", "run", "-S", f"studies.mine.width={width}", "-n", f"width-{width}")
    code, said = called(tmp_path)
    assert code == 0
    header, *rows = (line.split() for line in said.splitlines())
    assert header == ["studies.mine.width", "sharpness_at_the_end"]
    numbers = {
        "workspace": ["40", "0.05"],
        "trunk": ["10", "0.2"],
        "width-20": ["20", "0.1"],
        "width-40": ["40", "0.05"],
    }
    assert {name: cells for name, *cells in rows} == numbers
    # Options of DVC's own are passed on, and a wrong one is its own line.
    assert "share_of_outliers" in called(tmp_path, "--all", "--hide-workspace")[1]
    code, said = called(tmp_path, "--nonsense")
    assert code == 1
    refusal = "ERROR: unrecognized arguments: --nonsense"
    assert said == f"error: `dvc exp show --json --nonsense`: {refusal}\n"
    # Two of them are laid over each other, each curve of a figure in both.
    (plots,) = json.loads(run("dvc", "plots", "diff", "HEAD", "width-20", "--json"))[
        "data"
    ].values()
    drawn = plots[0]["content"]
    drawn = json.loads(drawn) if isinstance(drawn, str) else drawn
    assert drawn["title"]["text"] == "made-up"
    points = {row["rev"]: row["curves"][0]["y"][1] for row in drawn["data"]["values"]}
    assert points == {"HEAD": 10, "width-20": 20}
    # Git ignores the curves, and no commit of an experiment has them.
    (commit,) = re.findall(r"(\w+) \[width-20\]", run("dvc", "exp", "list"))
    tracked = run("git", "ls-tree", "-r", "--name-only", commit).split()
    assert "dvc.lock" in tracked
    assert "series.json" not in tracked


def test_without_git_one_line_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    code, said = called(tmp_path)
    assert code == 1
    assert said.startswith("error: experiments: expected a Git repository with a commit, got none;")
    assert said.count("\n") == 1


def test_what_is_too_wide_for_the_screen_lies_on_its_side():
    names = [f"a_number_with_a_long_name_{number}" for number in range(14)]
    tried = [State(s, {"width": w}, dict.fromkeys(names, w)) for s, w in (("a", 1), ("b", 2))]
    wide = table(tried, whole=False, width=1000).splitlines()
    tall = table(tried, whole=False, width=150).splitlines()
    assert [line.split()[0] for line in wide[1:]] == ["a", "b"]
    assert [line.split()[0] for line in tall[1:]] == ["width", *names]
    assert max(map(len, tall)) < 100
    assert table([tried[0]] * 2, whole=False, width=100) == ""


def test_what_waits_or_failed_has_no_numbers_and_says_so(monkeypatch):
    data = {"params": {"params.yaml": {"data": {"width": 10}}}}
    metrics = {"reports/metrics.json": {"data": {"numbers": {"a": 1.0}}}}
    broken = {"reports/metrics.json": {"error": {"type": "FileNotFoundError"}}}
    shown = [
        {"rev": "workspace", "name": None, "data": data | {"metrics": metrics}},
        {
            "rev": "0" * 40,
            "name": "trunk",
            "data": data | {"metrics": broken},
            "experiments": [
                {"revs": [{"rev": "1" * 40, "name": "later", "data": data}],
                 "executor": {"state": "queued"}},
                {"revs": [{"rev": "2" * 40, "name": "bad", "error": {"msg": "no such stage"}}]},
            ],
        },
    ]  # fmt: skip
    assert [state.name for state in states(shown)] == ["workspace", "trunk", "later", "bad"]
    monkeypatch.setattr(experiments, "_report", lambda options: json.loads(json.dumps(shown)))
    lines = experiments.experiments([], whole=True).splitlines()
    assert lines[-3:] == [
        "trunk: no metrics here: they are in the cache of DVC where it was run",
        "later: queued",
        "bad: no such stage",
    ]
    assert [line.split() for line in lines[1:3]] == [["workspace", "1"], ["trunk", "–"]]
