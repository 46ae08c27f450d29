"""Correlations that laws of a random start predict: planted, refused, and drawn anew."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from ensemble_arrays import ensemble
from matplotlib import pyplot as plt
from point_studies import predictions_config

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.models.parametrisation import parametrise
from hessian_papers.studies.correlations.predicted_correlation import claims, figure, study
from hessian_papers.studies.correlations.predicted_correlation.random_start import (
    Point,
    closed_laws,
    simulated_laws,
)

FIELDS = {"samples": 40, "seed": 7, "law_teachers": 3, "law_networks": 8}
TEACHERS = 8


@cache
def laws(seed=0):
    networks = ensemble(sizes=(1, 3, 5), networks=96, teachers=TEACHERS, seed=seed)
    return study.correlation(predictions_config(**FIELDS), networks)


def planted(target, law, shift=0.0, scatter=0.0):
    """The r of every teacher with a target as a law has it, but for a shift and chance."""
    data = laws()
    start = data["start"].copy(deep=True)
    rows = data["predicted"].sel(law=law, drop=True).broadcast_like(start.sel(target=target))
    chance = scatter * np.random.default_rng(1).normal(size=rows.shape)
    start.loc[{"target": target}] = (rows + shift + chance).transpose(
        *start.sel(target=target).dims
    )
    return data.assign(start=start)


OWN = [
    ("start_law_of_white_inputs", "norms", "white"),
    ("start_law_of_the_edge", "Gauss-Newton", "edge"),
    ("start_law_predicts_the_sharpness", "sharpness", "Hessian"),
]


@pytest.mark.parametrize(("name", "target", "law"), OWN)
def test_a_law_holds_of_starts_that_have_it_and_of_no_others(name, target, law):
    claim = getattr(claims, name)
    exact, off = (claim(planted(target, law, shift)) for shift in (0.0, 0.2))
    np.testing.assert_allclose(exact, np.zeros(TEACHERS), atol=1e-15)
    np.testing.assert_allclose(off, np.full(TEACHERS, 0.04), atol=1e-12)
    assert claims.NEAR.range[1] < 0.04
    # What a teacher's few networks are off by chance counts for nothing: its square is 0.04 too.
    assert abs(claim(planted(target, law, scatter=0.2)).mean().item()) < 0.02


@pytest.mark.parametrize(
    ("name", "target", "law", "other"),
    [
        ("sampling_moves_the_start", "Gauss-Newton", "Gauss-Newton", "white"),
        ("residual_moves_the_start", "sharpness", "Hessian", "Gauss-Newton"),
    ],
)
def test_of_two_laws_the_one_that_starts_have_is_nearer(name, target, law, other):
    claim = getattr(claims, name)
    right, wrong = (claim(planted(target, each)).mean().item() for each in (law, other))
    assert right > 0 > wrong
    assert right == pytest.approx(-wrong)


@pytest.mark.parametrize("name", [name for name, *_ in OWN])
def test_without_a_law_or_other_teachers_there_is_nothing_to_measure(name):
    claim, data = getattr(claims, name), laws()
    for less, why in (
        (data.drop_vars("predicted"), "no law of its random start"),
        (data.isel(teacher=[0]), "a single teacher"),
        (data.sel(size=[1]), "no D above 1"),
    ):
        with pytest.raises(NothingToMeasure, match=why):
            claim(less)


def test_a_prediction_reads_no_network():
    first, other = laws(), laws(seed=5)
    assert not np.allclose(first["start"], other["start"])
    for name in ("predicted", "predicted_error"):
        xr.testing.assert_equal(first[name], other[name])


def test_a_prediction_draws_nothing_that_the_networks_have():
    networks = SimpleNamespace(
        activation="linear", parametrisations=["sp", "ntp"], depths=[2], sizes=[2], seed=7
    )
    predictions_config(**FIELDS | {"seed": 8}).require_networks(networks)
    with pytest.raises(ValueError, match="seed: expected one that the networks lack, got 7"):
        predictions_config(**FIELDS).require_networks(networks)


@pytest.mark.parametrize("name", ["sp", "mup", "ntp"])
def test_equal_sizes_have_the_law_of_the_entries_variances(name):
    point = Point(name, 4, 12, 40, 0.01)
    scales = parametrise(name, point.layers)
    variances = np.square(scales.standard_deviations)
    expected = variances / np.hypot(*variances)
    np.testing.assert_allclose(closed_laws(point)[0, :, 0], expected, rtol=1e-12)


def test_draws_of_one_input_have_the_law_of_white_inputs():
    """There the Gauss-Newton sharpness is that of white inputs, up to the input's second moment."""
    point = Point("sp", 1, 6, 20, 0.0)
    drawn = simulated_laws(point, seed=3, teachers=20, networks=100)[:, 0]
    error = drawn.std(axis=0, ddof=1) / 20**0.5
    assert (abs(drawn.mean(axis=0) - closed_laws(point)[0]) < 4 * error + 1e-3).all()


def test_laws_are_drawn_over_what_is_measured():
    picture = figure.draw(laws())
    assert len(picture.axes) == 6
    # Two parametrisations, two layers and three norms, the edge's with NaN; and the diagonal.
    assert [len(axes.containers) for axes in picture.axes[:3]] == [12, 12, 12]
    assert len(figure.caption(laws()).split()) <= 60
    plt.close("all")
