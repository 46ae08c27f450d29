"""The claims about norms and sharpness, on ensembles in which one quantity was planted."""

from functools import cache

import numpy as np
import pytest
import xarray as xr
from claims_contract import Kind, of_records
from ensemble_arrays import ensemble, replaced
from point_studies import norms_config

from hessian_papers.ledger.bounds import NothingToMeasure, Replicated
from hessian_papers.studies.correlations.norm_correlation import claims as functions
from hessian_papers.studies.correlations.norm_correlation import deep_claims, study
from hessian_papers.studies.correlations.norm_correlation.claims import statements

PARAMETRISATIONS = ("sp", "mup", "ntp")
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


def entries(number, name, sides):
    return KIND.entries(sides, "singh2026cracking", f"Figure {number}", name).values()


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


def cases_of(number, name, sides, **heading):
    """The cases of a claim whose headings have some fields."""
    return [
        entry
        for entry in entries(number, name, sides)
        if all(getattr(entry.heading, field) == value for field, value in heading.items())
    ]


def test_of_several_inputs_the_text_names_mup_alone():
    """The others are shown, beside μP, in a row of their own."""
    for size, expected in ((1, list(PARAMETRISATIONS)), (3, ["mup"])):
        sides = along_depth(deep(), sizes=[size], quantities=["products"])
        names = [entry.id for entry in cases_of(18, "last_most", sides, id="last-most")]
        assert names == [
            f"planted/last-most-{name}-{time}"
            for name in expected
            for time in ("initialisation", "trained")
        ]
        assert len(cases_of(18, "last_most", sides, quantifier="shown")) == 6


def test_what_follows_from_several_teachers_keeps_its_numbers_by_teacher():
    """So that cases of the same teachers are paired, before their mean is taken."""
    for number, name in (
        (4, "spectral_most"),
        (4, "most_prominent_trained"),
        (14, "spectral_most"),
    ):
        sides = correlation(wide())
        for entry in cases_of(number, name, sides):
            actual = entry.measure()
            assert isinstance(actual, Replicated)
            assert (actual.replicates.dimension, len(actual.replicates.labels)) == ("teacher", 8)


def test_a_lead_is_held_against_the_best_of_all_other_norms():
    """Not against their mean: a norm that another one beats does not correlate most."""
    sides = correlation(of_relu(wide()))
    shape = xr.zeros_like(sides["correlation"]["each_correlation"])
    by_norm = xr.DataArray([0.0, 0.5, 0.6], {"norm": shape["norm"]}, "norm")
    of_norms = with_r(sides, lambda r: 0 * r + by_norm)
    (entry, *_) = cases_of(16, "frobenius_most", of_norms)
    np.testing.assert_allclose(entry.measure().value, -0.1)


def test_the_driver_depends_on_the_initialisation_by_the_lead_of_the_same_teachers():
    r = xr.DataArray([[0.5, 0.1], [0.2, 0.3]], {"parametrisation": ["sp", "mup"], "layer": [1, 2]})
    sides = with_r(correlation(wide(), parametrisations=["sp", "mup"]), lambda each: 0 * each + r)
    (entry,) = cases_of(4, "driver_depends_on_initialisation", sides)
    np.testing.assert_allclose(entry.measure().value, -0.5)


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
    *_, entry = entries(number, name, sides)
    with pytest.raises(NothingToMeasure, match=f"^this configuration {message}$"):
        entry.measure()


def test_products_of_one_sharpness_do_not_lead():
    data = along_depth(flat(), quantities=["products"])["correlation"]
    data = data.sel(time="trained", parametrisation="sp")
    with pytest.raises(NothingToMeasure, match="no depth at which correlations of two factors"):
        deep_claims.last_most(data)


def test_networks_that_were_stopped_say_nothing_about_the_end_of_training():
    """A statement after training has that as its state, and is not measured elsewhere."""
    status = xr.zeros_like(wide()["status"])
    status.loc[{"parametrisation": "ntp", "size": [3, 5]}] = 1
    sides = correlation(of_relu(wide().assign(status=status)))
    message = "^the epochs end before most networks reach their plateau, at D = 3, 5$"
    for number, name in (
        (16, "frobenius_most"),
        (16, "spectral_between"),
        (14, "a_matrix_strongly"),
    ):
        for entry in cases_of(number, name, sides):
            assert "after training" in entry.heading.state
            if entry.labels.get("parametrisation", "NTP") != "NTP" or "at initialisation" in (
                entry.labels.get("time", "")
            ):
                assert np.isfinite(entry.measure().value)
            else:
                with pytest.raises(NothingToMeasure, match=message):
                    entry.measure()
