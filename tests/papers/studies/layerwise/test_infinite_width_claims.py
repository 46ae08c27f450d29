"""The claims about infinite width and their figure, on planted arrays."""

import numpy as np
import pytest
import scipy
import xarray as xr
from claims_contract import Kind, of_records, planted_data
from infinite_width_arrays import sides

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.layerwise.infinite_width import claims
from hessian_papers.studies.layerwise.infinite_width.claims import statements
from hessian_papers.studies.layerwise.infinite_width.derived import exponent, measured
from hessian_papers.studies.layerwise.infinite_width.figure import caption, controls, draw
from hessian_papers.studies.layerwise.infinite_width.study import VARIABLES
from tests.papers.studies.layerwise.pictures import require_readable

test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records(
    "infinite_width", "weights_tend", "weights_are_bounded", "conditioned"
)


LABELS = {"law": "rectified", "classes": 3, "alpha": 0.5}


def data_of(**changes):
    return planted_data(sides(**changes), VARIABLES)


def test_what_is_said_of_gaussian_inputs_is_beyond_the_paper():
    entries = Kind(statements, VARIABLES).entries(sides(), "wu2022dissecting", "Section 4")
    gaussian = [entry for name, entry in entries.items() if "gaussian" in name]
    assert {each.heading.book for each in gaussian} == {"beyond"}
    assert {each.heading.printed for each in gaussian} == {None}
    assert len(gaussian) == 4 * len(claims.GAUSSIAN)


def test_weights_tend_and_stay_below_bounds_and_a_softmax_forgets_two_units():
    data = data_of(noise=0.0)
    assert claims.weights_tend(data, "first_gram", **LABELS).value == pytest.approx(-1)
    assert claims.weights_are_bounded(data, "columns", **LABELS).value == pytest.approx(0.25)
    error = claims.conditioned(data.sel(LABELS)).value
    assert error == pytest.approx((0.05 / 256) ** 0.5)
    wrong = data_of(noise=0.0, constant={"first_gram": 1.0, "columns": 1.1, "conditioned": 0.01})
    assert claims.weights_tend(wrong, "first_gram", **LABELS).value == pytest.approx(0, abs=1e-9)
    assert claims.weights_are_bounded(wrong, "columns", **LABELS).low > 1
    assert claims.conditioned(wrong.sel(LABELS)).low > 0.05


def test_corollary_b5_is_wrong_in_print_as_the_rows_space_is():
    data = data_of(noise=0.0).sel(LABELS)
    assert claims.space_of_the_rows(data).value == pytest.approx(0.0, abs=1e-3)
    assert claims.space_of_the_rows(data, printed=True).value == pytest.approx(-0.171)


def test_the_projected_norm_of_the_hessian_is_that_of_the_output_hessian_in_the_limit():
    data = data_of(noise=0.0).sel(LABELS)
    d = round(256**1.5)
    along, norm = (d + np.pi - 1) / (2 * np.pi), d * 0.25 + d * (d - 1) / (2 * np.pi) ** 2
    factor = along**2 / norm
    expected = 0.7 * factor - float(data["projected_limit"])
    assert claims.projected_hessian_copy(data).value == pytest.approx(expected)
    assert abs(factor - 1) < 0.01


def test_means_are_those_of_the_largest_width():
    data = data_of(noise=0.3, widths=(256, 16, 64)).sel(LABELS)
    samples = data["space"].sel(width=256).values
    actual = claims.top_space(data)
    assert actual.value == pytest.approx(1 - samples.mean())
    interval = scipy.stats.t(5, samples.mean(), scipy.stats.sem(samples)).interval(0.95)
    # Skewness stretches one side.
    assert actual.low <= 1 - interval[1] + 1e-12
    assert actual.high >= 1 - interval[0] - 1e-12


def test_an_error_is_the_root_of_the_mean_square():
    data = data_of(noise=0.0).sel(LABELS)
    assert claims.independent_copy(data).value == pytest.approx(np.sqrt(0.05 / 256))
    below = data_of(constant={"softmax": -1e-6}).sel(LABELS)
    assert claims.logits(below) == (0.0, 0.0, 0.0)


def test_an_exponent_is_that_of_the_means_with_an_interval_that_holds_it():
    sizes = xr.DataArray([16, 64, 256], dims="width", name="width")
    exact = xr.DataArray(0.2 * sizes.values[:, None] ** -1.5 * np.ones(5), dims=("width", "draw"))
    assert exponent(exact, sizes) == pytest.approx((-1.5,) * 3)
    # Means of two draws each: (1, 1/4) at twice the size is the power -1, whatever each draw is.
    pair = xr.DataArray([[1.2, 0.8], [0.1, 0.4]], dims=("width", "draw"))
    assert exponent(pair, sizes[:2]).value == pytest.approx(-1.0)
    draws, held = np.random.default_rng(1), 0
    for _ in range(400):
        noisy = exact[:, :1].values * draws.gamma(2.0, 0.5, (3, 12))
        actual = exponent(xr.DataArray(noisy, dims=("width", "draw")), sizes)
        held += actual.low <= -1.5 <= actual.high
    # Of 400 studies 19 in 20, within three standard deviations.
    assert 367 <= held <= 393


def test_a_negative_draw_counts_and_a_mean_without_sign_is_refused():
    sizes = xr.DataArray([10, 100], dims="width", name="width")
    values = xr.DataArray([[1.0, 1.0, 1.0, 1.0], [-0.02, 0.1, 0.12, 0.2]], dims=("width", "draw"))
    assert exponent(values, sizes).value == pytest.approx(-1.0)
    with pytest.raises(NothingToMeasure, match=r"^sampling noise hides .* at width 100$"):
        exponent(values - [[0.0], [0.09]], sizes)
    with pytest.raises(NothingToMeasure, match=r"has a single width$"):
        exponent(values[:1], sizes[:1])


def test_exponents_are_those_of_the_planted_arrays():
    data = data_of(noise=0.0)
    for alpha in (0.1, 0.5):
        labels = {**LABELS, "alpha": alpha}
        assert claims.falls(data, "space", **labels).value == pytest.approx(-1)
        assert claims.falls(data, "layer", **labels).value == pytest.approx(-1 - alpha, abs=0.01)
    assert claims.inputs_at_one_width(data, 10).value == pytest.approx(-1)


def test_what_is_not_there_is_said():
    gaussian = data_of().sel(law="gaussian", classes=3, alpha=0.5)
    for data in (gaussian, gaussian.drop_vars("layer")):
        with pytest.raises(NothingToMeasure, match=r"^of gaussian inputs this is not measured$"):
            measured(data, "layer")
    with pytest.raises(NothingToMeasure, match=r"has a single width$"):
        claims.falls(data_of(widths=(16,)), "ratio", **LABELS)
    with pytest.raises(NothingToMeasure, match="sampling noise hides this quantity"):
        claims.falls(data_of(constant={"space": -1e-4}), "space", **LABELS)


def test_the_figures_show_every_mean_and_the_limits():
    data = data_of()
    main, (second, _) = draw(data), controls(data)
    means = data.sel(LABELS).mean("draw")
    shown = [np.array(line.get_ydata()) for axes in main.axes for line in axes.lines]
    for name in ("space", "printed_space", "independence", "ratio", "layer", "layer_ratio"):
        assert any(np.allclose(means[name], line) for line in shown if len(line) == 3), name
    # The last row has the largest α.
    assert len(main.axes) == len(second.axes) == 2 * 3
    forms, norms, laws = second.axes[3:]
    for axes, name in ((forms, "printed_formula"), (laws, "printed_softmax")):
        root = np.sqrt(means[name])
        assert any(np.allclose(root, line.get_ydata()) for line in axes.lines), name
    heights = {round(float(line.get_ydata()[0]), 3) for line in norms.lines}
    assert {0.687, 1.0} <= heights


@pytest.mark.parametrize(
    "changes",
    [
        {"laws": ("gaussian",), "widths": (16,), "draws": 2},
        {"classes": (2, 3, 5, 7), "alpha": (1.0,), "constant": {"space": -1e-4, "layer": -1e-4}},
    ],
)
def test_figures_and_captions_bear_what_is_missing(changes):
    data = data_of(**changes)
    for picture in ((draw(data), caption(data)), controls(data)):
        require_readable(*picture)
