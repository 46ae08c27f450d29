"""The whole spectrum of balanced networks from their labels: exact, with the right indices."""

import numpy as np
import pytest
import torch

from hessian_spectra.ledger.evaluation import verdict
from hessian_spectra.studies.deep_linear.balanced_spectrum import claims
from hessian_spectra.studies.deep_linear.balanced_spectrum import figure as figures
from hessian_spectra.studies.deep_linear.balanced_spectrum import study as balanced_spectrum

SQUARE, RECTANGULAR = [3, 3, 3, 3], [4, 2, 5, 3]


def config(**changes):
    fields = {
        "kind": "balanced_spectrum",
        "paper": "anon2026data",
        "artifact": "Figure 1a",
        "title": "test",
        "data": "test",
        "seed": 1,
        "input_scale": 3.0,
        "architectures": [SQUARE, RECTANGULAR],
        "residual": 0.5,
        "top": 3,
    }
    return balanced_spectrum.Config(**(fields | changes))


def sample(size=12, features=5):
    return {"x": np.random.default_rng(0).normal(size=(size, features))}


@pytest.fixture(scope="module")
def sides():
    return balanced_spectrum.closed_form(config(), sample()), balanced_spectrum.numerics(
        config(), sample()
    )


def brute_force(network, labels):
    """The Hessian by twice differentiating the loss as it is written in the paper."""
    shapes = [weight.shape for weight in network.weights]
    x, y = network.inputs.T, network.labels[labels].T

    def loss(flat):
        product, start = x, 0
        for shape in shapes:
            layer = flat[start : start + shape.numel()].reshape(shape)
            product, start = layer @ product, start + shape.numel()
        return (product - y).square().sum() / (2 * x.shape[1])

    flat = torch.cat([weight.flatten() for weight in network.weights])
    return torch.autograd.functional.hessian(loss, flat)


def test_numerics_are_the_hessian_of_the_printed_loss(sides):
    _, numeric = sides
    for number, network in enumerate(balanced_spectrum._networks(config(), sample())):
        for labels in ("exact", "least_squares"):
            truth = torch.linalg.eigvalsh(brute_force(network, labels)).numpy()
            found = numeric[f"{number}/hessian_{labels}"]
            np.testing.assert_allclose(found, truth, atol=1e-12 * truth[-1])
        trace = brute_force(network, "unfitted").trace()
        assert numeric[f"{number}/trace_unfitted"] == pytest.approx(float(trace), rel=1e-12)


def test_inputs_are_whitened_and_labels_have_the_residual_asked_for():
    for network in balanced_spectrum._networks(config(), sample()):
        x = network.inputs
        moments = x.T @ x / len(x)
        torch.testing.assert_close(moments, 9.0 * torch.eye(x.shape[1], dtype=torch.float64))
        exact = network.labels["exact"]
        for name, correlated in (("least_squares", False), ("unfitted", True)):
            residual = network.labels[name] - exact
            assert float(residual.square().mean()) == pytest.approx(0.25)
            assert bool((residual.T @ x).abs().max() > 1e-9) == correlated


def test_labels_give_the_whole_spectrum(sides):
    exact, numeric = sides
    assert claims.error_of("labels_exact", "hessian_exact")(exact, numeric) < 1e-12
    assert claims.error_of("printed_exact", "hessian_exact")(exact, numeric) > 0.01


def test_printed_indices_are_enough_for_equal_widths(sides):
    measure = claims.error_of("printed_exact", "hessian_exact", square=True)
    assert measure(*sides) < 1e-12
    rectangular = config(architectures=[RECTANGULAR])
    exact = balanced_spectrum.closed_form(rectangular, sample())
    numeric = balanced_spectrum.numerics(rectangular, sample())
    assert measure(exact, numeric) == np.inf


def test_weights_give_the_whole_spectrum(sides):
    exact, numeric = sides
    measure = claims.error_of("from_weights", "ggn")
    assert measure(exact, numeric) < 1e-12
    wrong = numeric | {"1/ggn": numeric["1/ggn"] * 1.001}
    assert measure(exact, wrong) == pytest.approx(1e-3, rel=0.01)


def test_more_eigenvalues_are_positive_than_in_print(sides):
    exact, numeric = sides
    # r = 2 of 4 inputs and 3 outputs: 8 + 6 - 4 instead of 4.
    assert (exact["1/count"], exact["1/printed_count"]) == (10, 4)
    assert int((numeric["1/hessian_exact"] > 1e-9).sum()) == 10
    assert claims.excess("count")(exact, numeric) == 0
    assert claims.excess("printed_count")(exact, numeric) == 6


def test_trace_is_exact_at_any_loss(sides):
    exact, numeric = sides
    assert float(numeric["0/loss_unfitted"]) == pytest.approx(0.5 * 3 * 0.25)
    assert claims.trace_error(exact, numeric) < 1e-12
    assert claims.trace_error(exact, numeric | {"0/trace_unfitted": np.array(0.0)}) > 0.1


def test_bound_is_attained(sides):
    assert claims.sharpness_error("bound", "ggn")(*sides) < 1e-12


def test_lanczos_finds_the_predicted_eigenpairs(sides):
    exact, numeric = sides
    assert numeric["0/top_vectors"].shape == (27, 3)
    assert claims.lanczos_error(exact, numeric) < 1e-12
    assert claims.vectors_outside(exact, numeric) < 1e-9
    wrong = numeric | {"0/top_vectors": np.eye(27, 3)}
    assert claims.vectors_outside(exact, wrong) > 0.1


def test_hessian_is_gauss_newton_where_the_residual_is_uncorrelated(sides):
    exact, numeric = sides
    assert claims.largest("difference_exact")(exact, numeric) < 1e-14
    assert claims.smallest("loss_least_squares")(exact, numeric) > 0.1
    assert claims.largest("difference_least_squares")(exact, numeric) < 1e-14
    assert claims.smallest("difference_unfitted")(exact, numeric) > 0.01


def test_labels_that_are_not_fitted(sides):
    spectrum = "hessian_least_squares"
    assert claims.error_of("solution_least_squares", spectrum)(*sides) < 1e-12
    assert claims.error_of("labels_least_squares", spectrum)(*sides) > 0.01


def test_sharpness_of_labels_that_are_not_fitted(sides):
    exact, numeric = sides
    at_zero = claims.sharpness_error("labels_sharpness_exact", "hessian_exact")
    assert at_zero(exact, numeric) < 1e-12
    right = claims.sharpness_error("solution_sharpness_least_squares", "hessian_least_squares")
    printed = claims.sharpness_error("labels_sharpness_least_squares", "hessian_least_squares")
    assert right(exact, numeric) < 1e-12
    assert printed(exact, numeric) > 1e-3
    # Whatever the residual is, it adds to what eq. (14) expects.
    for number in "01":
        of = f"{number}/labels_sharpness_"
        assert exact[of + "least_squares"] > exact[of + "exact"]


@pytest.mark.parametrize("sizes", [[4, 3], [5, 1, 5], [1, 3, 2], [2, 2, 2]])
def test_one_layer_a_narrow_one_and_single_inputs(sizes):
    # A network of [5, 1, 5] has fewer parameters than there are pairs.
    settings = config(architectures=[sizes], top=2)
    exact = balanced_spectrum.closed_form(settings, sample())
    numeric = balanced_spectrum.numerics(settings, sample())
    assert claims.error_of("labels_exact", "hessian_exact")(exact, numeric) < 1e-12
    assert claims.error_of("solution_least_squares", "ggn")(exact, numeric) < 1e-12
    assert claims.excess("count")(exact, numeric) == 0


def test_networks_do_not_depend_on_those_beside_them(sides):
    _, numeric = sides
    alone = balanced_spectrum.numerics(config(architectures=[SQUARE]), sample())
    assert np.array_equal(alone["0/hessian_exact"], numeric["0/hessian_exact"])


def test_claims_are_complete_and_hold(sides):
    entries = claims.claims("data-fig1a")
    assert not [problem for claim in entries for problem in claim.problems()]
    assert all(claim.study == "data-fig1a" for claim in entries)
    verdicts = {}
    for claim in entries:
        printed = claim.measure_printed(*sides) if claim.measure_printed else None
        verdicts[claim.id.split("/")[1]] = verdict(claim, claim.measure(*sides), printed)
    corrected = {name for name, found in verdicts.items() if found == "corrected"}
    expected = {"labels", "count", "least-squares-spectrum", "least-squares-sharpness"}
    assert corrected == expected
    assert set(verdicts.values()) == {"corrected", "reproduced"}


def test_figure_shows_every_positive_eigenvalue(sides):
    exact, numeric = sides
    figure = figures.draw(exact, numeric)
    assert len(figure.axes) == 6
    assert [axes.get_title(loc="left")[:3] for axes in figure.axes[:3]] == ["(a)", "(b)", "(c)"]
    assert all(axes.get_xlabel() for axes in figure.axes[3:])
    points, line, printed, *_ = figure.axes[1].lines
    descending = numeric["1/hessian_exact"][::-1]
    np.testing.assert_array_equal(points.get_ydata()[:10], descending[:10])
    assert int(np.isfinite(line.get_ydata()).sum()) == 10
    assert int(np.isfinite(printed.get_ydata()).sum()) == 4
    caption = figures.caption(exact, numeric)
    assert "10 of 33 eigenvalues are not zero (in print: at most 4)" in caption


@pytest.mark.parametrize(
    "change",
    [
        {"input_scale": 0.0},
        {"residual": float("nan")},
        {"architectures": []},
        {"architectures": [[3]]},
        {"architectures": [[3, 0, 3]]},
        {"architectures": [[20, 300, 20]]},
        {"top": 0},
        {"top": 28},
    ],
)
def test_bad_settings_are_refused_in_one_line(change):
    with pytest.raises(ValueError, match=f"^{next(iter(change))}: expected .*, got .*$"):
        config(**change)


def test_data_that_do_not_fit_are_refused_in_one_line():
    with pytest.raises(ValueError, match="architectures: expected at most 2 inputs"):
        balanced_spectrum.closed_form(config(), sample(features=2))
    with pytest.raises(ValueError, match="fewer than the 4 samples of test, got d_0 = 4"):
        balanced_spectrum.numerics(config(architectures=[[4, 4]]), sample(size=4))
    constant = sample()
    constant["x"][:, 1] = 0.0
    with pytest.raises(ValueError, match="data: expected 3 linearly independent inputs, got rank"):
        balanced_spectrum.closed_form(config(), constant)
