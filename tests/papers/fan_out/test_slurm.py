"""The refusals of SLURM, and what is made of its silence."""

import numpy as np
import pytest
from fan_out_items import squares

from hessian_papers import fan_out
from hessian_papers.fan_out.ledger import Ledger
from hessian_papers.fan_out.slurm import Slurm

pytestmark = pytest.mark.xdist_group("slurm")


def launcher(**settings):
    return fan_out.Launcher(**{"cluster": "slurm", "workers": 2, **settings})


def compute(folder, **settings):
    networks = {"values": np.array([1, 2])}
    return fan_out.run(
        "squares", squares, {}, networks, folder=folder, launcher=launcher(**settings)
    )


def test_refused_jobs_end_the_run_in_one_line(tmp_path, cluster):
    with pytest.raises(fan_out.FanOutError, match=r"SLURM refused the jobs: .*partition") as caught:
        compute(tmp_path, options={"partition": "none"})
    assert "\n" not in str(caught.value)
    assert list((tmp_path / "squares" / "jobs").glob("*/*")) == []


def test_an_unknown_option_is_refused_with_those_that_there_are(tmp_path, cluster):
    with pytest.raises(ValueError, match=r"options: expected names among .*partition.*'queue'"):
        compute(tmp_path, options={"queue": "all"})


def test_options_reach_the_jobs(tmp_path, cluster):
    setup = [f"echo set up >> {tmp_path}/said"]
    compute(tmp_path, options={"partition": "all", "setup": setup})
    assert (tmp_path / "said").read_text().splitlines() == ["set up"] * 2


def test_jobs_live_as_long_as_the_controller_does_not_answer(tmp_path, cluster, monkeypatch):
    ledger = Ledger(tmp_path)
    jobs = ledger.new([("a",), ("b",)])
    slurm = Slurm(launcher(), ledger, {})
    assert slurm.living(jobs) == set()
    (tmp_path / "slurm.conf").write_text("no configuration")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    assert slurm.living(jobs) == {job.name for job in jobs}
    assert slurm.status.startswith("squeue does not answer (")


def test_without_slurm_the_message_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match="cluster: expected a machine that has SLURM's commands"):
        compute(tmp_path)
