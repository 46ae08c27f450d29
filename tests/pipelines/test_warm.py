"""A stage that is made by a fork of the warm process behaves as one that is made by its own."""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from pipelines import warm
from tests.processes import runs, wait_for

ROOT = Path(__file__).resolve().parents[2]
# A stage that says who it is, and does what it is told.
STAGE = """
import os, signal, sys, time
print(os.getpid(), os.getcwd(), os.environ.get("COLOUR"), *sys.argv[1:], flush=True)
print("said aside", file=sys.stderr)
if "fail" in sys.argv:
    sys.exit(3)
if "raise" in sys.argv:
    raise RuntimeError("a defect")
if "words" in sys.argv:
    sys.exit("the reason")
if "die" in sys.argv:
    os.kill(os.getpid(), signal.SIGKILL)
if "wait" in sys.argv:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
    print("waits", flush=True)
    time.sleep(60)
"""
# Without packages, which take seconds to load.
SERVER = "import sys; from pipelines import warm; warm.PACKAGES = (); warm.main(sys.argv[1])"


@pytest.fixture
def checkout(tmp_path):
    """A folder with a stage, and what hands it over."""
    folder = tmp_path / "pipelines"
    folder.mkdir()
    for name in ("__init__", "warm", "lifetime"):
        shutil.copy(ROOT / "pipelines" / f"{name}.py", folder)
    (folder / "stage.py").write_text(STAGE)
    return tmp_path


@contextmanager
def serving(checkout):
    """A warm process; gives the environment of its stages."""
    path = checkout / "socket"
    plain = {name: value for name, value in os.environ.items() if name != warm.SOCKET}
    command = [sys.executable, "-c", SERVER, str(path)]
    process = subprocess.Popen(command, cwd=checkout, env=plain)
    try:
        wait_for(path.exists)
        yield {**plain, warm.SOCKET: str(path)}, process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def warmth(checkout):
    with serving(checkout) as (environment, _):
        yield environment


@pytest.fixture
def stage(checkout):
    """Starts a stage."""
    with ExitStack() as ending:

        def start(environment, *arguments):
            process = subprocess.Popen(
                [sys.executable, "-m", "pipelines.stage", *arguments],
                cwd=checkout,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            ending.enter_context(process)
            ending.callback(process.kill)
            return process

        yield start


def waiting(stage, environment):
    """A stage that waits, and the process that makes it."""
    process = stage(environment, "wait")
    number = int(process.stdout.readline().split()[0])
    assert process.stdout.readline() == "waits\n"
    return process, number


def test_a_fork_has_arguments_folder_environment_and_streams_of_its_stage(checkout, stage, warmth):
    process = stage(warmth | {"COLOUR": "blue"}, "-cn", "locked")
    said, aside = process.communicate(timeout=20)
    number, *words = said.split()
    assert int(number) != process.pid
    assert words == [str(checkout), "blue", "-cn", "locked"]
    assert (aside, process.returncode) == ("said aside\n", 0)


@pytest.mark.parametrize("how", ["fail", "raise", "words", "die"])
def test_it_ends_as_it_would_by_itself(stage, warmth, how):
    def end(environment):
        process = stage(environment, how)
        _, aside = process.communicate(timeout=20)
        return process.returncode, aside.splitlines()[-1]

    cold = {name: value for name, value in warmth.items() if name != warm.SOCKET}
    assert end(warmth) == end(cold)
    assert end(warmth)[0] != 0


def test_code_that_has_changed_since_is_run(checkout, stage, warmth):
    stage(warmth).communicate(timeout=20)
    (checkout / "pipelines" / "stage.py").write_text("print('new')")
    said, _ = stage(warmth).communicate(timeout=20)
    assert said == "new\n"


def test_signals_are_passed_on(stage, warmth):
    process, fork = waiting(stage, warmth)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 7
    wait_for(lambda: not runs(fork))


def test_a_fork_dies_with_its_stage(stage, warmth):
    process, fork = waiting(stage, warmth)
    process.kill()
    process.wait(20)
    wait_for(lambda: not runs(fork))
    # And the warm process goes on.
    assert stage(warmth).wait(20) == 0


def test_all_forks_die_with_the_warm_process(checkout, stage):
    with serving(checkout) as (environment, server):
        running = [waiting(stage, environment) for _ in range(2)]
        server.kill()
        server.wait()
        for process, fork in running:
            assert process.wait(20) == -signal.SIGKILL
            wait_for(lambda fork=fork: not runs(fork))


def test_where_nothing_answers_a_stage_runs_by_itself(checkout, stage):
    with serving(checkout) as (environment, _):
        pass
    process = stage(environment)
    said, _ = process.communicate(timeout=20)
    assert int(said.split()[0]) == process.pid


def test_a_request_that_is_too_large_is_not_handed_over(stage, warmth):
    process = stage(warmth | {"LARGE": "x" * (warm.LARGEST - 1000)})
    said, _ = process.communicate(timeout=20)
    assert int(said.split()[0]) == process.pid


def test_nothing_of_this_project_is_loaded():
    own = "import sys; from pipelines import warm; before = set(sys.modules)\n"
    own += "for name in warm.PACKAGES: __import__(name)\n"
    own += "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    said = subprocess.run([sys.executable, "-c", own], cwd=ROOT, capture_output=True, text=True)
    names = said.stdout.split()
    assert "torch" in names
    assert not {"hessian_papers", "hessian_spectra", "pipelines"} & {*names}
    # What is said while packages are loaded would be said to whoever runs the pipeline.
    assert said.stderr == ""
