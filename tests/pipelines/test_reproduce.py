"""`make repro` on all cores: what runs at once, what a killed run leaves, and that bytes agree."""

import contextlib
import json
import os
import signal
import subprocess
import sys

import psutil
import pytest

from pipelines import durations, inputs, reproduce, schedule
from tests.pipelines import faults
from tests.pipelines.workspace import ROOT, Workspace, environment, smallest
from tests.processes import runs, wait_for

pytestmark = [pytest.mark.xdist_group("reproduce")]

BEFORE = {
    "configure": set(),
    "survey": {"configure"},
    "prepare": {"survey"},
    "train@a": {"prepare"},
    "numerics@a": {"train@a", "configure"},
    "numerics@b": {"prepare"},
    "gpt2@a": {"numerics@a"},
    "gpt2@b": {"numerics@b"},
    "claims": {"gpt2@a", "gpt2@b"},
}


def test_what_depends_on_a_changed_stage_runs_as_well():
    everything = ["prepare", "train@a", "numerics@a", "numerics@b", "gpt2@a", "gpt2@b", "claims"]
    assert schedule.items(BEFORE, {"configure"}) == everything
    assert schedule.items(BEFORE, {"numerics@b"}) == ["numerics@b", "gpt2@b", "claims"]
    assert schedule.items(BEFORE, {"claims"}) == ["claims"]
    assert schedule.items(BEFORE, set()) == []


def test_a_dvc_is_given_little_work_and_the_most_urgent_first():
    seconds = {f"numerics@{k}": 1.0 for k in range(200)}
    assert schedule.take([*seconds], seconds, 2) == [*seconds][: int(schedule.MOST_SECONDS)]
    assert schedule.take([*seconds][:8], seconds, 2) == [*seconds][:2]
    times = dict.fromkeys(BEFORE, 1.0) | {"gpt2@b": 50.0}
    urgent = schedule.urgency(BEFORE, times)
    assert urgent["numerics@b"] > urgent["train@a"] > urgent["gpt2@a"]


def test_stages_that_run_at_once_share_the_cores(monkeypatch):
    monkeypatch.setattr(reproduce, "cores", lambda: 8)
    for name in ("CLUSTER", "WORKERS"):
        monkeypatch.delenv(f"HESSIAN_SPECTRA_{name}", raising=False)
    assert reproduce.environment(2)["HESSIAN_SPECTRA_WORKERS"] == "4"
    assert reproduce.environment(8)["HESSIAN_SPECTRA_CLUSTER"] == "debug"
    monkeypatch.setenv("HESSIAN_SPECTRA_CLUSTER", "slurm")
    chosen = reproduce.environment(8)
    assert chosen["HESSIAN_SPECTRA_CLUSTER"] == "slurm"
    assert "HESSIAN_SPECTRA_WORKERS" not in chosen


class Shown:
    """A run as it is shown: which stages are done, and what is said."""

    def __init__(self):
        self.done, self.said = set(), []

    def update(self, done, status):
        self.done = {*done}

    def say(self, line):
        self.said.append(line)


FAKE = """#!{python}
import os, pathlib, sys, time
stages = sys.argv[sys.argv.index("--single-item") + 1:]
for stage in stages:
    print(f"Running stage '{{stage}}':", flush=True)
    folder = pathlib.Path("done")
    missing = [n for n in {before!r}[stage] if "@" in n and not (folder / n).exists()]
    if missing or stage == os.environ.get("BREAKS"):
        sys.exit(f"{{stage}} without {{missing}}")
    if stage == os.environ.get("LASTS"):
        time.sleep(100)
    (folder / stage).touch()
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run stages with a `dvc` that keeps account of them; what was said and what was done."""
    (tmp_path / "done").mkdir()
    fake = tmp_path / "dvc"
    fake.write_text(FAKE.format(python=sys.executable, before=BEFORE))
    fake.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    def call(jobs, todo, **variables):
        shown = Shown()
        runner = reproduce.Runner(jobs, os.environ | variables, shown)
        try:
            runner.run(BEFORE, dict.fromkeys(todo, 1.0))
        finally:
            call.spent = runner.spent
            done = {path.name for path in (tmp_path / "done").iterdir()}
            call.shown, call.done = shown, done
        return done

    return call


@pytest.mark.parametrize("jobs", [1, 2, 8])
def test_a_stage_runs_when_what_it_needs_is_there(run, jobs):
    todo = schedule.items(BEFORE, {"configure"})
    assert run(jobs, todo) == {*todo}
    assert run.shown.done == {*todo}


def test_each_stage_that_ran_to_its_end_has_its_time(run):
    todo = schedule.items(BEFORE, {"configure"})
    run(1, todo)
    assert {*run.spent} == {*todo}
    with pytest.raises(reproduce.Failed):
        run(1, ["numerics@b", "gpt2@b"], BREAKS="gpt2@b")
    assert {*run.spent} == {"numerics@b"}


def test_a_stage_restored_from_the_cache_has_no_time():
    runner = reproduce.Runner(1, {}, Shown())
    lines = "Stage 'train@a' is cached - skipping run, checking out outputs\nRunning stage 'b@a':\n"
    script = f"print({lines!r}, end='')"
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    runner._follow(process, ["train@a", "b@a"])
    assert {*runner.spent} == {"b@a"}


@pytest.fixture
def other_times():
    """The times of stages are read anew, and again for the tests that follow."""
    inputs.stage_times.cache_clear()
    yield
    inputs.stage_times.cache_clear()


@pytest.mark.usefixtures("other_times")
def test_a_study_has_the_time_of_its_networks_and_of_its_own_stages(tmp_path, monkeypatch):
    stages = ["configure", "train@a", "gpt2@mine", "numerics@b"]
    spent = {"train@a": 10.0, "gpt2@mine": 2.4, "other@x": 1.0}
    with pytest.raises(ValueError, match="numerics@b has none: run `make repro`"):
        durations.text_of(spent, stages)
    monkeypatch.setattr(inputs, "DURATIONS", tmp_path / "durations.yaml")
    studies = {"mine": {"ensemble": "a"}, "b": {}, "other": {}}
    assert inputs.durations(studies) == {}
    inputs.DURATIONS.write_text(durations.text_of(spent | {"numerics@b": 3.0}, stages))
    inputs.stage_times.cache_clear()
    assert inputs.durations(studies)["seconds"] == {"mine": 12, "b": 3}


def test_times_of_other_stages_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduce, "SPENT", tmp_path / "spent.json")
    reproduce._keep({"a@x": 1.23, "b@x": 4.0})
    reproduce._keep({"a@x": 2.0})
    assert json.loads(reproduce.SPENT.read_text()) == {"a@x": 2.0, "b@x": 4.0}


def test_a_stage_that_fails_ends_the_others_at_once(run):
    before = {*psutil.Process().children(recursive=True)}  # other tests' clusters
    with pytest.raises(reproduce.Failed):
        run(2, schedule.items(BEFORE, {"configure"}), BREAKS="numerics@b", LASTS="train@a")
    assert run.done == {"prepare"}
    assert {*psutil.Process().children(recursive=True)} <= before
    assert any("numerics@b without []" in line for line in run.shown.said)
    assert not any("killed" in line for line in run.shown.said)
    # The last word is of the one that failed: the others are interrupted, of which they say much.
    assert [line for line in run.shown.said if line.startswith("train@a:")] == []
    assert run.shown.said[-1].startswith("numerics@b: ")


ASKED = """#!{python}
import json, pathlib, subprocess, sys
if "status" in sys.argv:
    print(json.dumps({{"numerics@b": []}}))
elif "dag" in sys.argv:
    print('"configure" -> "prepare";', '"prepare" -> "numerics@b";', sep="\\n")
else:
    stage = subprocess.Popen(["sleep", "100"])
    pathlib.Path("stage").write_text(str(stage.pid))
    stage.wait()
"""


DONE = """#!{python}
import sys
if "status" in sys.argv:
    print("{{}}")
elif "repro" in sys.argv:
    print("Stage 'configure' didn't change, skipping")
    print("Running stage 'survey':")
    print("> exec python -m pipelines.survey")
    print("Settings of an experiment")
    print("Updating lock file 'dvc.lock'")
    print()
    print("Use `dvc push` to send your updates to remote storage.")
"""


@pytest.fixture
def command(tmp_path):
    """Run the command in a folder in which some other program is called `dvc`."""

    def run(program, *arguments, **further):
        (tmp_path / "dvc").write_text(program.format(python=sys.executable))
        (tmp_path / "dvc").chmod(0o755)
        variables = environment() | {"PYTHONPATH": str(ROOT)} | further
        variables["PATH"] = f"{tmp_path}:{variables['PATH']}"
        full = [sys.executable, "-m", "pipelines.reproduce", *arguments]
        return subprocess.run(full, cwd=tmp_path, env=variables, capture_output=True, text=True)

    return run


def test_nobody_reads_what_did_not_change(command):
    done = command(DONE, "--cold", "--jobs", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["Running stage 'survey':", "Settings of an experiment"]


def test_a_file_that_cannot_be_written_is_one_line(command, tmp_path):
    (tmp_path / ".dvc").touch()
    done = command(DONE)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: .dvc/tmp/reproduce: Not a directory\n"


@pytest.mark.parametrize("left", ['{"read": {"/a', "", "null", "[1]", '{"write": {"/a": null}}'])
def test_what_killed_runs_left_is_mended_by_a_command_that_runs_nothing(command, tmp_path, left):
    busy, lock = tmp_path / ".dvc" / "tmp" / "rwlock", tmp_path / "dvc.lock"
    busy.parent.mkdir(parents=True)
    busy.write_text(left)
    lock.write_text("schema: '2.0'\nstages: {")
    done = command("#!{python}\nraise SystemExit('called')", "--mend")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith("DVC's records are whole")
    assert not busy.exists()
    assert not lock.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_who_is_asked_to_end_ends_the_stages(tmp_path, jobs, number):
    (tmp_path / "dvc").write_text(ASKED.format(python=sys.executable))
    (tmp_path / "dvc").chmod(0o755)
    variables = environment() | {"PYTHONPATH": str(ROOT)}
    variables["PATH"] = f"{tmp_path}:{variables['PATH']}"
    command = [sys.executable, "-m", "pipelines.reproduce", "--jobs", jobs]
    driver = subprocess.Popen(
        command, cwd=tmp_path, env=variables, stderr=subprocess.DEVNULL, preexec_fn=heard
    )
    with driver:
        wait_for(lambda: (tmp_path / "stage").exists() and (tmp_path / "stage").read_text())
        driver.send_signal(number)
        assert driver.wait(20) == 128 + number
    stage = int((tmp_path / "stage").read_text())
    wait_for(lambda: not runs(stage))


def heard():
    """Under nohup, or in the background of a shell, the tests would pass on their deafness."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def test_a_lock_that_was_cut_off_is_taken_back(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    workspace, lock = Workspace(tmp_path), tmp_path / "dvc.lock"
    whole = "schema: '2.0'\nstages:\n  one:\n    cmd: true\n    deps:\n    - path: a\n"
    lock.write_text(whole)
    workspace.run("git", "init", "--quiet")
    workspace.commit("lock")
    reproduce.mend_lock()
    assert capsys.readouterr().out == ""
    for cut in ("", whole[:20], whole[:-3], "schema: '2.0'\nstages: {", "\x00"):
        lock.write_text(cut)
        reproduce.mend_lock()
        assert lock.read_text() == whole
        assert capsys.readouterr().out.startswith("dvc.lock was cut off by a run that was killed")


@pytest.fixture(scope="module")
def plain(make_workspace):
    """A copy in which a plain `dvc repro` made everything, one stage after the other."""
    workspace = smallest(make_workspace("plain"))
    workspace.run("dvc", "repro")
    return workspace


def at_work(driver):
    """Wait until a driver has started a `dvc` for some stages; the process."""

    at_hand = []

    def begun():
        for process in psutil.Process(driver.pid).children():
            with contextlib.suppress(psutil.Error):
                if "--single-item" in process.cmdline():
                    at_hand.append(process)
        return at_hand

    wait_for(begun, seconds=120)
    return at_hand[-1]


@pytest.mark.pipeline
def test_after_a_killed_dvc_and_a_killed_driver_all_is_as_undisturbed(plain, make_workspace):
    """Two drivers that start at once go on: neither is refused by what DVC noted of the dead."""
    workspace = smallest(make_workspace("killed"))
    with faults.started(workspace) as driver:
        at_work(driver).kill()
        said = driver.stdout.readlines()
    assert driver.wait(60) != 0
    assert any("was killed (signal 9); run again to go on" in line for line in said), said
    with faults.started(workspace) as driver:
        at_work(driver)
        assert faults.ended(driver, signal.SIGKILL) == []
    assert [*faults.problems(workspace, faults.made(plain), drivers=2)] == []
    assert "items" not in workspace.run(*faults.COMMAND).stdout


@pytest.mark.pipeline
def test_a_plain_run_beside_a_living_one_is_told_what_it_is_and_disturbs_nothing(make_workspace):
    workspace = smallest(make_workspace("beside"))
    with faults.started(workspace) as driver:
        at_work(driver)
        refused = workspace.run("dvc", "repro", check=False)
        said = driver.stdout.readlines()
    assert refused.returncode != 0
    assert f"(PID {driver.pid}): `make repro`, which works here: wait until" in refused.stderr
    assert "Running stage" not in refused.stdout
    assert driver.wait(60) == 0, said
    assert not any("didn't change" in line or "exec python" in line for line in said)


@pytest.mark.pipeline
def test_a_run_leaves_in_git_what_it_should(plain):
    """Git sees the lock and the small texts, which the copy's few studies change, and no more."""
    changed = {line.split()[1] for line in plain.changed().splitlines()}
    tracked = {f"reports/{name}" for name in ("claims.md", "findings.md")}
    assert changed <= {"dvc.lock", "params.yaml", *tracked}
