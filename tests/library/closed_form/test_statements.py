"""The papers' further statements: outlier ranges, bounds, phases, subspaces, cubics, moments."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from hessian_spectra import closed_form as cf

from .attention_cases import SelfAttention
from .cases import LinearWithBias, MultiInput, MultiOutput, TwoLayerLinear, TwoLayerReLU
from .contract import Draws, vector

EXACT = 1e-12


def moments(w, v, x, y):
    inner, moment = w @ v, (x * x).mean()
    return inner, moment, inner * moment - (y * x).mean()


def linear(seed, m=5, n=6):
    return TwoLayerLinear().example(seed, m=m, n=n).arguments


# Theorem 3.1


@pytest.mark.parametrize("seed", range(10))
def test_outlier_pair_from_five_numbers(seed):
    a = linear(seed)
    inner, moment, dx = moments(**a)
    pair = cf.outlier_pair(a["w"] @ a["w"], a["v"] @ a["v"], inner, moment, dx)
    expected = cf.two_layer_linear(**a).select("outlier").flip(0)
    assert float((pair - expected).abs().max()) < EXACT * float(expected[0])
    # Sum and product, eq. (122).
    trace = moment * (a["w"] @ a["w"] + a["v"] @ a["v"])
    assert float(pair.sum()) == pytest.approx(float(trace), rel=EXACT)
    target = inner * moment - dx
    product = (inner * moment - target) * (3 * inner * moment - target)
    assert float(-pair.prod()) == pytest.approx(float(product), abs=EXACT * float(expected[0]) ** 2)


def test_outlier_pair_broadcasts():
    covariances = torch.linspace(-2, 2, 5).double()
    pairs = cf.outlier_pair([[2.0], [3.0]], 1.0, 0.5, 1.0, covariances)
    assert pairs.shape == (2, 5, 2)
    single = cf.outlier_pair(3.0, 1.0, 0.5, 1.0, float(covariances[1]))
    # A number on its own may go another way than a vector of them, which rounds otherwise.
    assert_close(pairs[1, 1], single, rtol=1e-14, atol=0)


# Corollary 3.1


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_gradient_descent_stays_in_its_plane(momentum, decay):
    a = linear(3, m=6)
    w, v = a["w"], a["v"]
    start = cf.gradient_descent_subspace(w, v)
    velocity = torch.zeros(12, dtype=torch.float64)
    for _ in range(50):
        *_, dx = moments(w, v, a["x"], a["y"])
        theta = torch.cat([v, w])
        velocity = momentum * velocity - 0.05 * (dx * torch.cat([w, v]) + decay * theta)
        v, w = (theta + velocity).split(6)
        assert float((start.bulk.T @ torch.cat([v, w])).abs().max()) < 1e-13
        now = cf.gradient_descent_subspace(w, v)
        overlap = torch.linalg.svdvals(start.bulk.T @ now.bulk)
        assert float((overlap - 1).abs().max()) < 1e-12
    assert float((torch.cat([v, w]) - torch.cat([a["v"], a["w"]])).norm()) > 0.5


def test_adam_leaves_the_plane():
    a = linear(3, m=6)
    theta = torch.cat([a["v"], a["w"]]).requires_grad_()
    basis = cf.gradient_descent_subspace(a["w"], a["v"]).bulk
    optimiser = torch.optim.Adam([theta], lr=0.1)
    for _ in range(20):
        optimiser.zero_grad()
        (((theta[6:] @ theta[:6]) * a["x"] - a["y"]) ** 2).mean().div(2).backward()
        optimiser.step()
    outside = basis.T @ theta.detach()
    assert float(outside.norm() / theta.detach().norm()) > 0.1


@pytest.mark.parametrize(
    ("w", "v"),
    [
        (vector(1, 2, 3), vector(1, 2, 3)),
        (vector(1, 2, 3), -vector(1, 2, 3)),
        (vector(0, 0), vector(0, 0)),
        (vector(2.0), vector(1.0)),
        (vector(1e200, 0, 1e180), vector(-1e200, 1e190, 0)),
    ],
)
def test_subspace_of_degenerate_weights(w, v):
    m = len(w)
    parts = cf.gradient_descent_subspace(w, v)
    basis = torch.cat(parts, dim=1)
    assert parts.outlier.shape == (2 * m, 2)
    assert float((basis.T @ basis - torch.eye(2 * m, dtype=torch.float64)).abs().max()) < EXACT
    theta = torch.cat([v, w])
    assert float((parts.bulk.T @ theta).abs().sum()) <= EXACT * float(theta.abs().max())


# Appendix C and eq. (34)


@settings(max_examples=60, derandomize=True, database=None)
@given(seed=st.integers(0, 10**6), sign=st.sampled_from([-1.0, 1.0]))
def test_phases_tell_the_signs_of_the_outliers(seed, sign):
    a = linear(seed, m=2, n=3)
    a["y"] = sign * a["y"]
    inner, moment, dx = moments(**a)
    phase = cf.learning_phase(inner, moment, inner * moment - dx)
    smallest, largest = cf.two_layer_linear(**a).select("outlier")
    trace = moment * (a["w"] @ a["w"] + a["v"] @ a["v"])
    assert bool(smallest >= 0) == (phase == "late")
    assert bool(largest <= trace) == (phase == "late")


def test_phases_at_their_ends():
    assert cf.learning_phase(1.0, 1.0, 3.0) == "late"
    assert cf.learning_phase(3.0, 1.0, 3.0) == "late"
    assert cf.learning_phase(-1.0, 1.0, -3.0) == "late"
    assert cf.learning_phase(-4.0, 1.0, -3.0) == "divergent"
    assert cf.learning_phase(4.0, 1.0, -3.0) == "early"
    assert cf.learning_phase(0.0, 1.0, 0.0) == "late"
    assert cf.learning_phase(-0.1, 1.0, 0.0) == "divergent"
    with pytest.raises(ValueError, match=r"second_moment: expected a positive number, got 0\.0"):
        cf.learning_phase(1.0, 0.0, 0.0)


@settings(max_examples=40, derandomize=True, database=None)
@given(seed=st.integers(0, 10**6), m=st.integers(1, 4), fitted=st.booleans())
def test_bound_on_the_smallest_eigenvalue(seed, m, fitted):
    a = linear(seed, m=m, n=3)
    if fitted:
        a["y"] = (a["w"] @ a["v"]) * a["x"] + 1e-3 * a["y"]
    bound = cf.smallest_eigenvalue_bound(**a)
    smallest = cf.two_layer_linear(**a).eigenvalues[0]
    assert float(smallest) >= float(bound) * (1 + EXACT)


def test_bound_on_the_smallest_eigenvalue_is_reached():
    # The residual is proportional to x, and there is a bulk.
    bound = cf.smallest_eigenvalue_bound([1.0, 0.0], [0.0, 1.0], [1.0, 2.0], [3.0, 6.0])
    spectrum = cf.two_layer_linear([1.0, 0.0], [0.0, 1.0], [1.0, 2.0], [3.0, 6.0])
    assert float(bound) == pytest.approx(-7.5)
    assert float(spectrum.eigenvalues[0]) == pytest.approx(-7.5)


# Theorem 3.4


@pytest.mark.parametrize("seed", range(5))
def test_relu_cells(seed):
    form = TwoLayerReLU()
    a = form.example(seed, m=7, n=9).arguments
    spectrum = cf.two_layer_relu(**a)
    tops = [
        spectrum.select("outlier", cell)[-1]
        for cell in "+-"
        if len(spectrum.select("outlier", cell))
    ]
    assert float(spectrum.eigenvalues[-1]) == float(max(tops))
    vectors = spectrum.eigenvectors()
    for column, label in enumerate(spectrum.labels):
        outside = a["v"] < 0 if label.endswith("+") else a["v"] > 0
        part = vectors[torch.cat([outside, outside]), column]
        assert float(part.abs().sum()) == 0.0


# Several inputs and outputs


def test_decorrelated_inputs_decouple():
    case = MultiInput().decorrelated()
    a = case.arguments
    spectrum = cf.multi_input(**a)
    for d in range(3):
        moment = (a["x"][:, d] ** 2).mean()
        inner = a["w"][d] @ a["v"][d]
        dx = inner * moment - (a["y"] * a["x"][:, d]).mean()
        pair = cf.outlier_pair(a["w"][d] @ a["w"][d], a["v"][d] @ a["v"][d], inner, moment, dx)
        assert float((spectrum.select("outlier", str(d)) - pair.flip(0)).abs().max()) < EXACT
        bulk = spectrum.select("bulk", str(d))
        assert bulk.tolist() == pytest.approx([-abs(float(dx))] * 2 + [abs(float(dx))] * 2)


def test_correlated_outliers_belong_to_no_coordinate():
    spectrum = cf.multi_input(**MultiInput().example(m=3, n=8, D=3).arguments)
    assert len(spectrum.select("outlier", "")) == 6
    assert {label for label in spectrum.labels if "bulk" in label} == {"bulk 0", "bulk 1", "bulk 2"}


def test_heads_keep_their_eigenvectors():
    a = MultiOutput().example(m=3, n=5, K=2).arguments
    spectrum = cf.multi_output(**a)
    vectors = spectrum.eigenvectors()
    for column, label in enumerate(spectrum.labels):
        head = int(label[-1])
        other = slice(6, 12) if head == 0 else slice(0, 6)
        assert float(vectors[other, column].abs().max()) == 0.0
        if label.startswith("outlier"):
            w, v = a["w"][head], a["v"][head]
            dx = (a["x"] * (a["x"] * (w @ v) - a["y"][:, head])).mean()
            value = spectrum.eigenvalues[column]
            z = torch.cat([value * w + dx * v, dx * w + value * v])
            cosine = vectors[6 * head : 6 * head + 6, column] @ z / z.norm()
            assert float(cosine.abs()) == pytest.approx(1, abs=EXACT)


# Theorem B.1


@pytest.mark.parametrize("factor", [0.0, 2.5])
def test_pair_and_triple_hold_for_targets_along_the_output(factor):
    # mean(yx) = mean(y) = 0 is more than needed: (δx, δ) parallel to (⟨w, v⟩, ⟨w, b⟩) suffices.
    a = dict(LinearWithBias().printed().arguments)
    w, v, b, x = (a[name] for name in "wvbx")
    a["y"] = a["y"] + factor * ((w @ v) * x + w @ b)
    spectrum, alignment = cf.linear_with_bias(**a), torch.hypot(w @ v, w @ b)
    parts = cf.pair_and_triple(w @ w, v @ v, alignment, (1 - factor) * alignment)
    for name in ("pair", "triple"):
        away = spectrum.select("outlier", name).flip(0) - getattr(parts, name)
        assert float(away.abs().max()) < 1e-11


@pytest.mark.parametrize("seed", range(5))
def test_sextic_has_the_outliers_and_zero_as_roots(seed):
    a = LinearWithBias().example(seed, m=4, n=6).arguments
    outliers = cf.linear_with_bias(**a).select("outlier").numpy()
    coefficients = cf.bias_sextic(**a).numpy()
    error = np.abs(np.poly(np.append(outliers, 0)) - coefficients).max()
    assert error < EXACT * np.abs(coefficients).max()


def test_sextic_checks_the_inputs():
    a = LinearWithBias().example(m=3, n=5).arguments
    with pytest.raises(cf.AssumptionError, match=r"mean\(x²\) = 1"):
        cf.bias_sextic(**{**a, "x": 2 * a["x"]})
    assert len(cf.bias_sextic(**{**a, "x": 2 * a["x"]}, check=False)) == 7


# Theorem 3.5


def test_attention_moments_by_definition():
    a = SelfAttention().example(d=3, b=2, l=4).arguments
    bias = vector(1, 0, 0, -2)
    actual = cf.attention_moments(a["w_query"], a["w_key"], a["x"], score_bias=bias)
    score = a["w_query"] @ a["w_key"] / math.sqrt(3)
    for sequence, x in enumerate(a["x"]):
        for i in range(4):
            weights = torch.exp(score * x[i] * x + bias)
            weights = weights / weights.sum()
            mean = weights @ x
            expected = [mean, weights @ (x - mean) ** 2, weights @ (x - mean) ** 3]
            for moment, value in zip(actual, expected, strict=True):
                assert float(moment[sequence, i]) == pytest.approx(float(value), abs=1e-14)


def test_attention_coefficients_by_their_formulas():
    a = SelfAttention().example(d=3, b=2, l=4).arguments
    m_1, m_2, m_3 = cf.attention_moments(a["w_query"], a["w_key"], a["x"])
    value, x = a["w_value"], a["x"]
    residual = value * m_1 - a["y"]
    tokens, width = x.numel(), 3
    expected = [
        (m_1**2).sum() / tokens,
        ((value * m_1 + residual) * x * m_2).sum() / (tokens * math.sqrt(width)),
        (value * residual * x * m_2).sum() / (tokens * math.sqrt(width)),
        ((value * x * m_2) ** 2 + value * residual * x**2 * m_3).sum() / (tokens * width),
    ]
    actual = cf.attention_coefficients(**a)
    assert [float(c) for c in actual] == pytest.approx([float(c) for c in expected], rel=EXACT)


def test_attention_coefficients_of_a_batch_are_averages():
    a = SelfAttention().example(d=3, b=3, l=4).arguments
    whole = cf.attention_coefficients(**a)
    single = [
        cf.attention_coefficients(**{**a, "x": a["x"][i : i + 1], "y": a["y"][i : i + 1]})
        for i in range(3)
    ]
    for name in whole._fields:
        mean = torch.stack([getattr(c, name) for c in single]).mean()
        assert float(getattr(whole, name)) == pytest.approx(float(mean), rel=EXACT)
    spectrum = cf.attention_spectrum(whole, a["w_query"], a["w_key"])
    assert torch.allclose(spectrum.eigenvalues, cf.self_attention(**a).eigenvalues, rtol=EXACT)


@pytest.mark.parametrize("leading", [(1,), (4,), (2, 3)])
@pytest.mark.parametrize("activation", [None, torch.tanh])
def test_many_networks_at_once_are_each_by_itself(leading, activation):
    a = {
        name: torch.as_tensor(of)
        for name, of in SelfAttention().example(d=3, b=2, l=4).arguments.items()
    }
    random = torch.Generator().manual_seed(1)
    many = {
        name: torch.randn(*leading, *of.shape, generator=random, dtype=torch.float64)
        for name, of in a.items()
    }
    actual = cf.attention_coefficients(**many, activation=activation)
    of_weights = {name: many[name] for name in ("w_query", "w_key", "x")}
    moments = cf.attention_moments(**of_weights)
    for place in itertools.product(*map(range, leading)):
        alone = {name: of[place] for name, of in many.items()}
        each = cf.attention_coefficients(**alone, activation=activation)
        for several, item in zip(actual, each, strict=True):
            assert several.shape == leading
            assert float(several[place]) == pytest.approx(float(item), rel=1e-12, abs=1e-15)
        each = cf.attention_moments(**{name: alone[name] for name in of_weights})
        for several, item in zip(moments, each, strict=True):
            assert_close(several[place], item, rtol=1e-12, atol=1e-14)


def test_many_networks_need_as_many_of_each():
    a = SelfAttention().example(d=3, b=2, l=4).arguments
    twice = {name: torch.stack([torch.as_tensor(of)] * 2) for name, of in a.items()}
    with pytest.raises(ValueError, match=r"^x: expected shape \(N_1, b, l\), got \(2, 4\)$"):
        cf.attention_coefficients(**twice | {"x": a["x"]})
    with pytest.raises(ValueError, match=r"^y: expected .* with N_1 = 2 as in w_value, got \(1, 2"):
        cf.attention_coefficients(**twice | {"y": twice["y"][:1]})


def test_softmax_as_an_activation_is_the_softmax():
    a = SelfAttention().example(d=3, b=2, l=4).arguments
    by_moments = cf.attention_coefficients(**a)
    by_derivatives = cf.attention_coefficients(**a, activation=lambda s: torch.softmax(s, -1))
    for by_moment, other in zip(by_moments, by_derivatives, strict=True):
        assert float(by_moment) == pytest.approx(float(other), rel=1e-11)


@pytest.mark.parametrize(
    "matrix",
    [
        torch.diag(vector(1, 1, 1)),
        torch.diag(vector(2, -1, -1)),
        torch.zeros(3, 3, dtype=torch.float64),
        vector(1, 2, 3, 2, -1, 0, 3, 0, 5).reshape(3, 3),
    ],
)
def test_viete_finds_the_eigenvalues(matrix):
    cubic = cf.DepressedCubic.of(matrix)
    expected = torch.linalg.eigvalsh(matrix).flip(0)
    assert cubic.roots().tolist() == pytest.approx(expected.tolist(), abs=1e-7)
    assert bool(((expected - cubic.shift).abs() <= cubic.half_width() + 1e-15).all())


def test_cubics_come_in_batches():
    draws = Draws(torch.Generator().manual_seed(0), {"b": 4, "t": 3})
    matrices = draws.normal("btt")
    matrices = matrices + matrices.transpose(1, 2)
    roots = cf.DepressedCubic.of(matrices).roots()
    assert torch.allclose(roots, torch.linalg.eigvalsh(matrices).flip(-1), rtol=0, atol=1e-12)
