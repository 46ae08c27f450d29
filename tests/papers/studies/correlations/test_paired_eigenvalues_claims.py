"""The claims about paired eigenvalues, on small networks with and without an exact pair."""

import numpy as np
import pytest
from claims_contract import Kind, of_records
from paired_arrays import CASES, data_of, flattened, four_relu_layers, sides

from hessian_papers.ledger.bounds import NothingToMeasure, estimate_of
from hessian_papers.studies.correlations.paired_eigenvalues import claims as functions
from hessian_papers.studies.correlations.paired_eigenvalues.claims import (
    ASSUMED,
    median,
    statements,
)
from hessian_papers.studies.correlations.paired_eigenvalues.study import VARIABLES

KIND = Kind(statements, VARIABLES)


def four_linear_layers(**changes):
    small = {"depth": 4, "widths": [8], "samples": [20], "sizes": [3, 5]}
    return sides(**(small | changes))


def with_networks(actual, networks):
    return {side: data.isel(network=networks) for side, data in actual.items()}


def entries_of(number, name, sides):
    return [*KIND.entries(sides, "singh2026cracking", f"Figure {number}", name).values()]


@pytest.fixture(scope="module")
def two_layers():
    return sides()


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records(
    "paired_eigenvalues", "width_150"
)


def test_the_pair_stands_out_under_the_assumptions_alone(two_layers):
    data = data_of(two_layers)
    assert functions.pair_stands_out(data) > 1e8
    actual = functions.no_pair_stands_out(data)
    assert 1 < actual.low < actual.value < actual.high < 10


def test_chance_is_told_from_a_pair(two_layers):
    """The exact pair is closer than chance in every network; without it few networks are."""
    data = data_of(two_layers)
    assert (functions.told_from_chance_where_proved(data) == 1).all()
    beyond = functions.beyond(data)
    assert beyond == [case for case in CASES if case != ASSUMED]
    actual = functions.closer_than_chance(data)
    # Networks of one draw, at all points, are one replicate.
    assert actual.dims == ("draw",)
    assert estimate_of(actual).low < 0.05 < estimate_of(actual).high < 0.2
    # The cases together: as many networks as their shares say.
    cases = (functions._of(data, case, least=2) for case in beyond)
    shares = [functions._share_beyond_chance(points).mean() for points in cases]
    assert actual.mean() == pytest.approx(np.mean(shares))


def test_how_close_is_what_most_networks_have_and_not_those_of_the_worst_size(two_layers):
    numerics = two_layers["numerics"].copy(deep=True)
    numerics["distance"].loc[{"size": 2}] = 1e6
    far = data_of({**two_layers, "numerics": numerics})
    for measure in (functions.nearly, functions.within_the_mean_eigenvalue):
        assert measure(far).value < 1
        points = functions._of(far, *functions.beyond(far), least=2)
        yardstick = "target" if measure is functions.nearly else "mean"
        expected = (points["distance"].sel(pair="best") / points[yardstick]).median()
        assert measure(far).value == pytest.approx(float(expected))


@pytest.mark.parametrize("networks", [3, 10, 100])
def test_the_median_lies_in_its_interval_as_often_as_it_says(networks):
    """Where the interval is not the whole range; of few values it is."""
    draws = np.random.default_rng(0).uniform(size=(2000, networks))
    actual = [median(row) for row in draws]
    assert all(item.value == np.median(row) for item, row in zip(actual, draws, strict=True))
    covered = np.mean([item.low <= 0.5 <= item.high for item in actual])
    assert covered >= min(0.985, 1 - 2 ** (1 - networks) - 0.02)


def test_a_network_without_curvature_is_left_out():
    actual = four_relu_layers()
    without = data_of(flattened(actual, [0]))
    rest = data_of(with_networks(actual, slice(1, None)))
    for measure in (
        functions.trace,
        functions.nearly,
        functions.within_the_mean_eigenvalue,
        functions.no_pair_stands_out,
        functions.closer_than_chance,
    ):
        actual, expected = (np.asarray(measure(data)) for data in (without, rest))
        np.testing.assert_allclose(actual, expected)


def test_networks_with_one_pair_of_eigenvalues_have_no_second_distance():
    data = data_of(sides(cases=[ASSUMED], widths=[1, 2], samples=[9, 9], sizes=[1, 2]))
    assert np.isinf(data["distance"].sel(width=1, size=1, pair="second")).all()
    assert functions._ratios(functions._of(data, ASSUMED)).shape == (2 * 8,)


def test_one_input_is_left_out_where_the_pair_is_a_theorem(two_layers):
    numerics = two_layers["numerics"].copy(deep=True)
    numerics["distance"].loc[{"size": 1}] = 1e6
    actual = functions.nearly(data_of({**two_layers, "numerics": numerics}))
    assert actual == functions.nearly(data_of(two_layers))


@pytest.mark.parametrize(
    ("measure", "make", "message"),
    [
        (
            functions.pair,
            lambda: sides(cases=["sp-normalised"]),
            "this configuration leaves out orthogonal-decorrelated",
        ),
        (
            functions.nearly,
            lambda: sides(cases=[ASSUMED]),
            "this configuration leaves out what is beyond the assumptions with D of at least 2",
        ),
        (
            functions.eigenvalues_that_occur_once,
            lambda: four_linear_layers(sizes=[2]),
            "this configuration leaves out orthogonal-decorrelated with D of at least 3",
        ),
        (
            functions.eigenvalues_that_occur_once,
            lambda: four_linear_layers(sizes=[6]),
            r"this configuration leaves out \$2 < D < m - 2\$",
        ),
        (
            functions.no_pair_stands_out,
            lambda: flattened(four_relu_layers(), slice(None)),
            "this configuration has no network with two pairs of eigenvalues",
        ),
        *(
            (
                measure,
                lambda: flattened(four_relu_layers(), slice(None)),
                "this configuration has no network with a Hessian other than zero",
            )
            for measure in (functions.nearly, functions.closer_than_chance)
        ),
        (functions.width_150, four_relu_layers, "Their Hessians have 45000 to 68000 rows and"),
    ],
)
def test_what_a_configuration_leaves_out_is_named(measure, make, message):
    with pytest.raises(NothingToMeasure, match=f"^{message}"):
        measure(data_of(make()))


def test_networks_of_width_150_are_measured_like_others():
    actual = four_relu_layers()
    wide = {side: data.assign_coords(width=[150]) for side, data in actual.items()}
    assert functions.width_150(data_of(wide)) == functions.nearly(data_of(actual))


def test_the_width_that_is_not_run_is_one_of_four_relu_layers():
    for actual, count in ((four_relu_layers(), 1), (four_linear_layers(), 0), (sides(), 0)):
        assert len(entries_of(13, "width_150", actual)) == count


def test_two_layers_alone_have_a_pair_by_the_theorem():
    for number, actual in (
        (12, sides(activation="relu", sizes=[2, 5])),
        (11, four_linear_layers()),
    ):
        assert entries_of(number, "pair", actual) == []
