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
from hessian_papers.studies.scalar.gd_subspace.reading import STAYING
from hessian_papers.studies.scalar.multi_input_training import study as multi_input_training
from hessian_papers.studies.scalar.outlier_pair import study as outlier_pair
from hessian_papers.work import Run

TRAININGS = {
    "gd_subspace": (gd_subspace, gd_subspace_config, line),
    "multi_input_training": (multi_input_training, multi_input_config, three_features),
    "outlier_pair": (outlier_pair, outlier_pair_config, wedge),
}


@pytest.mark.parametrize("name", TRAININGS)
def test_what_is_logged_is_the_spectrum_of_that_step(name):
    study, config, data = TRAININGS[name]
    logged = {}
    trained = study.train(config(), data(), Run(log=logged.__setitem__))
    exact = study.closed_form(config(), trained)
    runs = [key.removesuffix("eigenvalues") for key in exact if key.endswith("eigenvalues")]
    assert runs
    for run in runs:
        spectra = dict(zip(exact[f"{run}step"].tolist(), exact[f"{run}eigenvalues"], strict=True))
        steps = [step for step in spectra if f"{run}sharpness" in logged[step]]
        assert {0, max(spectra)} <= {*steps} or len(steps) > 5
        for step in steps:
            largest = np.abs(spectra[step]).max()
            shown = logged[step][f"{run}sharpness"], logged[step][f"{run}trace"]
            expected = spectra[step].max(), spectra[step].sum()
            assert shown == pytest.approx(expected, abs=1e-12 * largest)


def test_of_many_steps_about_a_hundred_are_measured():
    logged = {}
    settings = gd_subspace_config(steps=1000, record_every=1)
    gd_subspace.train(settings, line(), Run(log=logged.__setitem__))
    assert len(logged) == 1001
    assert (
        len([step for step, metrics in logged.items() if f"{STAYING[0]}/trace" in metrics]) == 101
    )
