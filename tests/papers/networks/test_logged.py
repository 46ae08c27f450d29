"""Ensembles and classifiers log how they are trained, in files that W&B's own reader reads back."""

import numpy as np
import pytest
import xarray as xr
from test_classifiers import config as classifier_config
from test_classifiers import images
from test_multilayer import CONFIG
from wandb_files import read_back

from hessian_papers.networks import classifiers, multilayer
from hessian_papers.work import TrainingRun
from tests.papers.networks.trainings import live


def first(work, config, data, folder):
    """The arrays of a training's first item, and the run that it logged."""
    (item, *_) = work.items(config, data)
    with live(folder)("first", "a", {}) as log:
        arrays = work.compute(**item, run=TrainingRun(log=log, folder=folder / "weights"))
    (run,) = (folder / "wandb").glob("offline-run-*")
    return arrays, read_back(run).history


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    monkeypatch.delenv("WANDB_MODE", raising=False)


def test_an_ensemble_logs_the_mean_loss_of_the_networks_in_training(tmp_path):
    arrays, history = first(multilayer.train, CONFIG, xr.Dataset(), tmp_path)
    assert [entry["_step"] for entry in history] == [*range(1, CONFIG.epochs + 1)]
    assert {entry["training"] for entry in history} == {CONFIG.networks_per_item}
    assert history[-1]["loss"] == pytest.approx(arrays["loss"][1].mean(), rel=1e-5)


def test_a_classifier_logs_the_loss_of_its_batches_and_of_all_samples(tmp_path):
    (tmp_path / "weights").mkdir()
    settings = classifier_config()
    arrays, history = first(classifiers.train, settings, images(), tmp_path)
    losses = [entry["loss"] for entry in history if "loss" in entry]
    assert np.isfinite(losses).all()
    assert len(losses) >= settings.epochs
    of_all = [entry["loss_of_all"] for entry in history if "loss_of_all" in entry]
    np.testing.assert_allclose(of_all, arrays["loss"], rtol=1e-12)
