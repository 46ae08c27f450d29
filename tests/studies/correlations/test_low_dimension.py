"""The lead of the product without the last matrix, at two sizes, on planted networks."""

import numpy as np
import pytest
from claims_contract import Planted, bears_a_missing_case, changed, holds_and_fails, names
from ensemble_arrays import ensemble

from hessian_spectra.studies.correlations.low_dimension import study
from hessian_spectra.studies.correlations.low_dimension.claims import claims
from hessian_spectra.studies.correlations.low_dimension.figure import caption, draw
from hessian_spectra.studies.correlations.low_dimension.reading import Reading

PARAMETRISATIONS = ("sp", "mup")
SIZES = (1, 3)


@pytest.fixture(scope="module")
def deep():
    return ensemble(PARAMETRISATIONS, depths=(2, 3), sizes=SIZES, networks=36, teachers=3)


def sides(networks, **changes):
    fields = {
        "kind": "low_dimension",
        "paper": "singh2026cracking",
        "artifact": "Section 4.2",
        "title": "test",
        "ensemble": "test",
        "seed": 0,
        "parametrisations": list(PARAMETRISATIONS),
        "depths": [],
        "sizes": list(SIZES),
        "resamples": 100,
        "confidence": 0.95,
    }
    config = study.Config(**(fields | changes))
    return {"correlation": study.correlation(config, networks)}


def driven(networks, *, last_at):
    """The product without the last matrix is the sharpness at one size, that without the first at
    the other.
    """
    rows = np.arange(len(networks["depth"]))
    layer = np.where(networks["size"] == last_at, networks["depth"] - 1, 0)
    norm = networks["products"][rows, :, :, layer, 0]
    return networks | {"sharpness": norm**2}


def test_a_lead_is_the_correlation_less_the_best_other_of_each_teacher(deep):
    found = sides(deep)["correlation"]
    (point,) = np.flatnonzero(
        (deep["parametrisation"] == "mup") & (deep["depth"] == 3) & (deep["size"] == 3)
    )
    each = []
    for teacher in range(3):
        chosen = deep["teacher"] == teacher
        target = deep["sharpness"][point, 0, chosen]
        r = [
            np.corrcoef(target, deep["products"][point, 0, chosen, layer, 0] ** 2)[0, 1]
            for layer in range(3)
        ]
        each.append(r)
    mean = np.mean(each, axis=0)
    assert found["lead"][1, 1, 1, 0] == pytest.approx(mean[2] - max(mean[:2]), abs=1e-11)


def test_the_difference_is_the_mean_lead_at_the_smaller_size_less_that_at_the_larger(deep):
    found = sides(deep)["correlation"]
    lead = found["lead"].mean(axis=1)
    np.testing.assert_allclose(found["mean_lead"], lead, atol=1e-11)
    np.testing.assert_allclose(found["mean_difference"], lead[:, 0] - lead[:, 1], atol=1e-11)
    assert (found["mean_difference_low"] <= found["mean_difference"]).all()
    assert (found["mean_difference"] <= found["mean_difference_high"]).all()


def test_the_worse_of_two_sizes_counts_as_unfinished(deep):
    status = deep["status"].copy()
    status[deep["size"] == 3] = 1
    reading = Reading(sides(deep | {"status": status}))
    assert reading["epoch_limit"].tolist() == [[36, 36]] * 2
    assert reading.unfinished("sp").tolist() == [2, 3]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"sizes": [1]}, "sizes: expected two, the smaller one first"),
        ({"sizes": [3, 1]}, "sizes: expected two, the smaller one first"),
        ({"confidence": 1.0}, "confidence: expected a number between 0 and 1"),
        ({"resamples": 5}, "resamples: expected at least 100"),
    ],
)
def test_what_makes_no_sense_is_refused(deep, changes, expected):
    with pytest.raises(ValueError, match=expected):
        sides(deep, **changes)


def test_a_size_that_the_ensemble_lacks_is_named(deep):
    with pytest.raises(ValueError, match="some of the ensemble's, 1, 3"):
        sides(deep, sizes=[1, 7])


@pytest.fixture(scope="module")
def planted(deep):
    alone = [sides(deep, parametrisations=[name]) for name in PARAMETRISATIONS]
    stopped = changed(alone[0], "correlation", epoch_limit=lambda counts: np.full_like(counts, 36))
    return [
        Planted(
            paper="singh2026cracking",
            artifact="Section 4.2",
            holds=sides(driven(deep, last_at=1)),
            fails=[sides(driven(deep, last_at=3))],
            reduced=[*alone, sides(deep, depths=[3]), stopped],
        )
    ]


@pytest.mark.parametrize("name", names(claims))
def test_a_claim_holds_and_fails(name, planted):
    holds_and_fails(claims, planted, name)


@pytest.mark.parametrize("name", names(claims))
def test_a_claim_bears_a_missing_case(name, planted):
    bears_a_missing_case(claims, planted, name)


def test_the_figure_shows_every_lead(deep):
    reading = Reading(sides(deep))
    panels = draw(reading).axes
    assert len(panels) == len(PARAMETRISATIONS)
    for axes, name in zip(panels, PARAMETRISATIONS, strict=True):
        shown = [list(line.get_ydata()) for line in axes.lines]
        for size in SIZES:
            for time in reading.times:
                assert reading.lead(name, size, time)[0].tolist() in shown
    assert "at D = K = 1 and 3" in caption(reading)
