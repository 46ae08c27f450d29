"""The claims about norms and sharpness, on ensembles in which one quantity was planted."""

from functools import cache

import numpy as np
import pytest
import xarray as xr
from claims_contract import Kind, Planted, of_records
from ensemble_arrays import ensemble, replaced
from point_studies import norms_config

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure
from hessian_papers.studies.correlations.ensembles import distance_from
from hessian_papers.studies.correlations.norm_correlation import claims as functions
from hessian_papers.studies.correlations.norm_correlation import deep_claims, study
from hessian_papers.studies.correlations.norm_correlation.claims import statements

PARAMETRISATIONS = ("sp", "mup", "ntp")
PAPER = "singh2026cracking"
KIND = Kind(statements, study.VARIABLES)


def correlation(networks, **changes):
    """The sides of a study on networks of all parametrisations."""
    config = norms_config(**({"parametrisations": list(PARAMETRISATIONS)} | changes))
    return {"correlation": study.correlation(config, networks)}


def along_depth(networks, **changes):
    chosen = {"along": "depth", "depths": [], "sizes": [1]}
    return correlation(networks, **(chosen | changes))


def read(*args, **changes):
    return correlation(*args, **changes)["correlation"]


@cache
def wide():
    return ensemble(PARAMETRISATIONS, sizes=(1, 3, 5), networks=96, teachers=8)


@cache
def deep():
    return ensemble(PARAMETRISATIONS, depths=(2, 3, 4), sizes=(1, 3), networks=96, teachers=8)


def flat():
    """Deep networks of one and the same sharpness."""
    return replaced(deep(), sharpness=np.ones(deep()["sharpness"].shape))


def of_relu(networks):
    return replaced(networks, activation="relu")


def about(number, holds, fails, reduced=()):
    return Planted(
        paper=PAPER, artifact=f"Figure {number}", holds=holds, fails=fails, reduced=reduced
    )


def with_r(sides, change):
    """With other correlations of each teacher."""
    data = sides["correlation"]
    r = data["each_correlation"]
    return {"correlation": data.assign(each_correlation=change(r).transpose(*r.dims))}


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records("norm_correlation")


def test_the_switch_is_where_the_lines_between_logarithms_cross():
    """The r of the first matrix, of all teachers alike, at D = 1, 3 and 5; the second's is 0."""
    planted = xr.DataArray([[0.6, 0.2, -0.2], [0.0] * 3], dims=("layer", "size"))
    place = {"parametrisation": "sp", "time": "trained"}
    falling, never = (
        with_r(correlation(wide()), lambda r, other=other: 0 * r + other)["correlation"].sel(place)
        for other in (planted, abs(planted))
    )
    np.testing.assert_allclose(functions.driver_switches(falling), np.full(3, np.sqrt(15) / 6))
    with pytest.raises(NothingToMeasure, match="no sizes between which the driver switches"):
        functions.driver_switches(never)


def test_other_minima_are_those_above_the_lowest_loss_of_the_same_teacher():
    networks = of_relu(ensemble(("ntp",), sizes=(3,), networks=12, teachers=2))
    draws = np.random.default_rng(1)
    # The first network was stopped and the last one diverged: neither counts.
    losses = np.array([0.01, 1.0, 1.04, 1.06, 2.0, 1.049, 9.0, 9.0, 9.4, 9.46, 20.0, np.nan])
    sharpness = draws.normal(size=12)
    changed_losses = networks["loss"].values.copy()
    changed_losses[0, 0, 0, 1] = losses
    ends = networks["sharpness"].values.copy()
    ends[0, 0, 0, 1, :11] = sharpness[:11]
    data = read(
        replaced(networks, loss=changed_losses, sharpness=ends), parametrisations=["ntp"], sizes=[]
    )
    np.testing.assert_allclose(data["above_best"].values.ravel(), [2 / 5, 2 / 5])
    expected = [
        np.corrcoef(losses[own], sharpness[own])[0, 1] for own in (slice(1, 6), slice(6, 11))
    ]
    np.testing.assert_allclose(data["loss_correlation"].values.ravel(), expected)


def test_of_several_inputs_the_text_names_mup_alone():
    for size, expected in ((1, list(PARAMETRISATIONS)), (3, ["mup"])):
        sides = along_depth(deep(), sizes=[size], quantities=["products"])
        single = about(18, sides, [])
        actual = [entry.id for entry in single.entries(KIND, "last_most", sides)]
        assert actual == [
            f"planted/last-most-{name}-{time}"
            for name in expected
            for time in ("initialisation", "trained")
        ]


ONE_NORM = "has no size at which correlations of two norms differ"
SMALL_FIRST = (
    r"has no size at which the entries of the first matrix are more than 1\.5 times those "
    "of the last"
)
ONE_GROUP = "has no depth at which correlations of two groups of factors differ"
ONE_SIZE = {"parametrisations": ["sp"], "sizes": [1]}
NUCLEAR = {"norms": ["nuclear"], "highlighted": "nuclear"}
OF_TWO_LAYERS = {"along": "depth", "depths": [2], "sizes": [1]}


@pytest.mark.parametrize(
    ("number", "name", "changes", "message"),
    [
        (4, "driver_trained", {"parametrisations": ["sp"]}, "leaves out parametrisation mup"),
        (4, "spectral_most", NUCLEAR, "leaves out norm spectral"),
        (4, "spectral_most", {"sizes": [1]}, ONE_NORM),
        (4, "spectral_most", {"norms": ["spectral"]}, ONE_NORM),
        (4, "spectral_most", OF_TWO_LAYERS, "is not one of two layers and their sizes"),
        (17, "last_well", {"quantities": ["products"]}, "is not one of several depths"),
        (15, "alignment_where_similar", {}, "does not study alignments, then matrices"),
        (4, "first_matrix_initialisation", {}, SMALL_FIRST),
        (4, "magnitude_drives", ONE_SIZE, "has no second size to compare with"),
        (19, "products_more", OF_TWO_LAYERS | {"quantities": ["matrices", "products"]}, ONE_GROUP),
        (4, "weak_where_similar", {"target": "trace"}, "studies the trace instead"),
        (26, "all_norms", {}, "studies the sharpness instead"),
        (16, "spectral_between", {}, "has no ReLU networks"),
    ],
)
def test_what_a_configuration_leaves_out_is_named(number, name, changes, message):
    sides = correlation(wide(), **changes)
    *_, entry = about(number, sides, []).entries(KIND, name, sides)
    with pytest.raises(NothingToMeasure, match=f"^this configuration {message}$"):
        entry.measure()


def test_products_of_one_sharpness_do_not_lead():
    data = along_depth(flat(), quantities=["products"])["correlation"]
    with pytest.raises(NothingToMeasure, match="no depth at which correlations of two factors"):
        deep_claims.last_most_everywhere(data)


def test_networks_that_were_stopped_say_nothing_about_the_end_of_training():
    status = xr.zeros_like(wide()["status"])
    status.loc[{"parametrisation": "ntp", "size": [3, 5]}] = 1
    data = read(of_relu(wide().assign(status=status)))
    message = "^the epochs end before most networks reach their plateau, at D = 3, 5$"
    for measure in (
        lambda time: functions.frobenius_over(data, "nuclear", "ntp", time),
        lambda time: functions.spectral_between(data.sel(time=time)),
    ):
        assert np.isfinite(measure("initialisation").value)
        with pytest.raises(NothingToMeasure, match=message):
            measure("trained")
    assert np.isfinite(functions.frobenius_over(data, "nuclear", "sp", "trained").value)


def test_the_distance_from_a_value_is_zero_within_its_interval():
    actual = distance_from(0.5, Estimate(0.2, 0.1, 0.9))
    np.testing.assert_allclose(actual, (0.3, 0.0, 0.4))
    actual = distance_from(0.9, Estimate(0.4, 0.3, 0.5))
    np.testing.assert_allclose(actual, (0.5, 0.4, 0.6))
