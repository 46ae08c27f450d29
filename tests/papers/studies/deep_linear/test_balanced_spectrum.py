"""The whole spectrum of balanced networks from their labels: what is computed, read and drawn."""

import numpy as np
import pytest
import torch
from small_studies import RECTANGULAR, SPECTRUM, SQUARE

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.deep_linear.balanced_spectrum import study
from hessian_papers.studies.deep_linear.balanced_spectrum.claims import (
    _beyond,
    _ends_are_narrowest,
    _magnified,
    _with_clear_labels,
    equal_widths,
)
from hessian_papers.studies.deep_linear.balanced_spectrum.derived import networks, widths
from hessian_papers.studies.deep_linear.balanced_spectrum.figure import caption, controls, draw
from tests.pipelines.marks import undrawn


@pytest.fixture(scope="module")
def data():
    return SPECTRUM.data(SPECTRUM.both())


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


def test_numerics_are_the_hessian_of_the_printed_loss(data):
    drawn = study._networks(SPECTRUM.config(), SPECTRUM.sample())
    for network, actual in zip(drawn, networks(data), strict=True):
        for labels in ("exact", "least_squares"):
            truth = torch.linalg.eigvalsh(brute_force(network, labels)).numpy()
            spectrum = actual["hessian"].sel(labels=labels)
            np.testing.assert_allclose(spectrum, truth, atol=1e-12 * truth[-1])
        trace = float(brute_force(network, "unfitted").trace())
        assert actual["hessian_trace"].sel(labels="unfitted") == pytest.approx(trace, rel=1e-12)


def test_inputs_are_whitened_and_labels_have_the_residual_asked_for(data):
    for network in study._networks(SPECTRUM.config(), SPECTRUM.sample()):
        x = network.inputs
        moments = x.T @ x / len(x)
        torch.testing.assert_close(moments, 9.0 * torch.eye(x.shape[1], dtype=torch.float64))
        exact = network.labels["exact"]
        for name, correlated in (("least_squares", False), ("unfitted", True)):
            residual = network.labels[name] - exact
            assert float(residual.square().mean()) == pytest.approx(0.25)
            assert bool((residual.T @ x).abs().max() > 1e-9) == correlated
    loss = data["loss"]
    assert loss.sel(network=1, labels="unfitted") == pytest.approx(0.5 * 3 * 0.25)
    assert (loss.sel(labels="least_squares") > 0.1).all()


def test_networks_are_read_one_by_one(data):
    square, rectangular = networks(data)
    assert [widths(network) for network in (square, rectangular)] == [SQUARE, RECTANGULAR]
    assert _ends_are_narrowest(square)
    assert not _ends_are_narrowest(rectangular)
    assert square["hessian"].sel(labels="exact").shape == (27,)
    assert data["top_vector"].shape == (2, 33, 3)


def test_more_eigenvalues_are_positive_than_in_print(data):
    # r = 2 of 4 inputs and 3 outputs: 8 + 6 - 4 instead of 4.
    network = data.sel(network=2)
    assert (network["count"], network["printed_count"]) == (10, 4)
    assert int((network["hessian"].sel(labels="exact") > 1e-9).sum()) == 10
    assert [_beyond(network, count) for count in ("count", "printed_count")] == [0, 6]


def test_networks_do_not_depend_on_those_beside_them(data):
    (alone,) = networks(SPECTRUM.data(SPECTRUM.both(architectures=[SQUARE])))
    beside, _ = (network["hessian"].sel(labels="exact") for network in networks(data))
    spectrum = alone["hessian"].sel(labels="exact")
    np.testing.assert_allclose(spectrum, beside, atol=1e-13 * float(beside.max()))


def test_a_study_without_a_network_of_equal_widths_says_so():
    with pytest.raises(NothingToMeasure, match="this configuration has no network whose first"):
        equal_widths(SPECTRUM.data(SPECTRUM.both(architectures=[RECTANGULAR])))


def test_the_figure_shows_the_first_network_and_the_controls_every_positive_eigenvalue(data):
    figure, (second, text) = draw(data), controls(data)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["3 layers, all widths 3"]
    assert "9 of 27 eigenvalues are not zero (in print: at most 9)" in caption(data)
    assert len(second.axes) == 6
    assert [axes.get_title(loc="left")[:3] for axes in second.axes[:3]] == ["(a)", "(b)", "(c)"]
    assert all(axes.get_xlabel() for axes in second.axes[3:])
    points, line, printed, *_ = second.axes[1].lines
    hessian = data["hessian"].sel(network=2, labels="exact")
    descending = hessian.sortby(-hessian).values
    np.testing.assert_array_equal(points.get_ydata()[:10], descending[:10])
    assert int(np.isfinite(line.get_ydata()).sum()) == 10
    assert int(np.isfinite(printed.get_ydata()).sum()) == 4
    assert "(b) 10 of 33 eigenvalues are not zero (in print: at most 4)" in text
    assert undrawn(figure, caption(data)) == undrawn(second, text) == []


def test_labels_that_are_lost_in_rounding_are_left_out():
    """At depth 24 the smallest singular values have 24th powers below the rounding of the rest."""
    deep, shallow = [5] * 25, [4, 4, 4]
    first = SPECTRUM.data(SPECTRUM.both(architectures=[deep], top=2))
    assert _magnified(*networks(first)) > 1e-8
    with pytest.raises(NothingToMeasure, match="no network whose labels tell its smallest"):
        _with_clear_labels(first)
    clear = _with_clear_labels(SPECTRUM.data(SPECTRUM.both(architectures=[deep, shallow], top=2)))
    (left,) = networks(clear)
    assert widths(left) == shallow
    assert _magnified(left) < 1e-15


def test_inputs_that_depend_on_each_other_are_refused_in_one_line():
    constant = SPECTRUM.sample()
    constant["x"][:, 1] = 0.0
    with pytest.raises(ValueError, match="data: expected 3 linearly independent inputs, got rank"):
        study.closed_form(SPECTRUM.config(), constant)
