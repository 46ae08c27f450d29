"""Sharpness and trace that who watches a training sees: those of the spectrum, in a few steps."""

import numpy as np
import pytest
from trainings import (
    gd_subspace_config,
    line,
    multi_input_config,
    outlier_pair_config,
    three_features,
    wedge,
)

from hessian_papers.studies.scalar.gd_subspace import study as gd_subspace
from hessian_papers.studies.scalar.gd_subspace.claims import STAYING
from hessian_papers.studies.scalar.multi_input_training import study as multi_input_training
from hessian_papers.studies.scalar.outlier_pair import study as outlier_pair
from hessian_papers.work import TrainingRun

# By kind the study, its settings, its data, and the dimension that tells its trainings apart.
TRAININGS = {
    "gd_subspace": (gd_subspace, gd_subspace_config, line, "optimizer"),
    "multi_input_training": (multi_input_training, multi_input_config, three_features, None),
    "outlier_pair": (outlier_pair, outlier_pair_config, wedge, "run"),
}


@pytest.mark.parametrize("name", TRAININGS)
def test_what_is_logged_is_the_spectrum_of_that_step(name):
    study, config, data, axis = TRAININGS[name]
    logged = {}
    trained = study.train(config(), data(), TrainingRun(log=logged.__setitem__))
    exact = study.closed_form(config(), trained)["exact"]
    runs = {"": exact}
    if axis is not None:
        runs = {f"{run}/": exact.sel({axis: run}) for run in exact[axis].values}
    assert runs
    for run, spectra in runs.items():
        steps = [step for step in spectra["step"].values if f"{run}sharpness" in logged[step]]
        assert {0, spectra["step"].values[-1]} <= {*steps} or len(steps) > 5
        for step in steps:
            values = spectra.sel(step=step).values
            shown = logged[step][f"{run}sharpness"], logged[step][f"{run}trace"]
            expected = values.max(), values.sum()
            assert shown == pytest.approx(expected, abs=1e-12 * np.abs(values).max())


def test_of_many_steps_about_a_hundred_are_measured():
    logged = {}
    settings = gd_subspace_config(steps=1000, record_every=1)
    gd_subspace.train(settings, line(), TrainingRun(log=logged.__setitem__))
    assert len(logged) == 1001
    assert (
        len([step for step, metrics in logged.items() if f"{STAYING[0]}/trace" in metrics]) == 101
    )
