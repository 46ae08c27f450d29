"""The divergence of two error rates, its inverse, and the bounds made of it."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
import scipy
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from hessian_spectra import closed_form as cf

SHARES = st.one_of(
    st.floats(0, 1),
    st.floats(-300, 0).map(lambda power: 10**power),
    st.floats(-15, 0).map(lambda power: 1 - 10**power),
)
INSIDE = SHARES.filter(lambda q: 0 < q < 1)
BUDGETS = st.floats(-18, 3).map(lambda power: 10**power)
EPSILON = np.finfo(float).eps
# Decimals of hundreds of digits take long.
few = settings(max_examples=25)


def exact_kl(q, p):
    """The divergence by its definition, in decimals."""
    terms = [(q, p), (1 - q, 1 - p)]
    if any(a > 0 and b == 0 for a, b in terms):
        return Decimal("Infinity")
    return sum((a * (a / b).ln() for a, b in terms if a > 0), Decimal(0))


def bisected(q, c, steps=60):
    """The largest float64 p with kl(q, p) ≤ c, within a part of q's distance to the end."""
    low, high = q, Decimal(1)
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if exact_kl(q, middle) <= c else (low, middle)
    return low, high


@few
@given(SHARES, SHARES)
@example(0.0, 1.0)
@example(1.0, 0.0)
@example(0.0, 0.0)
@example(1.0, 1.0)
@example(5e-324, 0.5)
@example(0.375, 5e-324)
@example(0.3, np.nextafter(0.3, 1))
def test_the_divergence_has_the_digits_of_its_definition(q, p):
    actual = float(cf.binary_kl(q, p))
    with localcontext(prec=340, Emin=-999999, Emax=999999):
        expected = float(exact_kl(Decimal(q), Decimal(p)))
    assert actual == pytest.approx(expected, rel=1e-13, abs=1e-300)


@few
@given(INSIDE, BUDGETS)
@example(1e-300, 1e-18)
@example(5e-324, 1.0)
@example(1 - 2**-53, 1e-18)
@example(1 - 2**-53, 1e3)
@example(0.5, 5e-324)
def test_the_inverse_is_that_of_a_bisection_and_not_below_it(q, c):
    actual = Decimal(float(cf.kl_inverse(q, c)))
    with localcontext(prec=100, Emin=-999999, Emax=999999):
        # A float64 is wrong by half its last digit, whatever computes it.
        slack = 2 * Decimal(EPSILON) * actual
        start, budget = Decimal(q), Decimal(c)
        assert actual - slack <= start or exact_kl(start, actual - slack) < budget
        assert actual + slack >= 1 or exact_kl(start, actual + slack) > budget
        low, high = bisected(start, budget)
    assert low - slack <= actual <= high + slack


@few
@given(SHARES, BUDGETS)
def test_the_inverse_at_its_ends(q, c):
    assert float(cf.kl_inverse(q, 0.0)) == q
    assert float(cf.kl_inverse(1.0, c)) == float(cf.kl_inverse(q, math.inf)) == 1
    assert float(cf.kl_inverse(0.0, c)) == pytest.approx(-math.expm1(-c), rel=2 * EPSILON)


@few
@given(
    st.integers(1, 6).flatmap(
        lambda count: st.tuples(
            *(st.lists(st.floats(-3, 3), min_size=count, max_size=count) for _ in range(2))
        )
    ),
    st.floats(0.01, 10),
)
def test_the_gaussian_divergence_is_torchs(numbers, variance):
    distances, logarithms = (torch.tensor(part).double() for part in numbers)
    posterior = torch.distributions.Normal(distances, torch.exp(logarithms / 2))
    prior = torch.distributions.Normal(torch.zeros_like(distances), math.sqrt(variance))
    expected = torch.distributions.kl_divergence(posterior, prior).sum()
    sums = (distances.square().sum(), logarithms.exp().sum(), logarithms.sum())
    actual = cf.gaussian_kl(*sums, len(distances), variance)
    assert_close(actual, expected, rtol=1e-12, atol=1e-13)


def test_an_unchanged_network_has_no_divergence():
    assert float(cf.gaussian_kl(0.0, 7 * 0.1, 7 * math.log(0.1), 7, 0.1)) < 1e-14


def test_the_shares_of_delta_sum_to_delta():
    # δ_j as the bound spends it: what B_RE adds to the divergence is ln(n/δ_j).
    n, delta, last = 100, 0.025, 20_000
    j = torch.arange(1, last + 1).double()
    spent = n * torch.exp(-cf.complexity(0.0, n, j, delta) * (n - 1))
    tail = delta * 6 / math.pi**2 * float(scipy.special.zeta(2, last + 1))
    assert float(spent.sum()) + tail == pytest.approx(delta, rel=1e-12)
    assert float(cf.complexity(3.0, n, 2, delta) - cf.complexity(1.0, n, 2, delta)) == (
        pytest.approx(2 / 99, rel=1e-12)
    )


def test_a_grid_fixed_beforehand_needs_less():
    kl, n = 4000.0, 60_000
    assert float(cf.maurer_complexity(kl, n, 1000)) < float(cf.complexity(kl, n, 36))
    spent = 2 * math.sqrt(n) * math.exp(-n * float(cf.maurer_complexity(0.0, n, 10, 0.05)))
    assert 10 * spent == pytest.approx(0.05, rel=1e-9)


@few
@given(st.floats(-4, 4), st.floats(1, 50), st.floats(0, 100), st.integers(1, 50))
def test_the_best_prior_is_the_better_neighbour(power, b, distance, parameters):
    variance, n, c, delta = 10**power, 1000, 0.1, 0.05
    sums = (distance, 0.5 * parameters, parameters * math.log(0.4), parameters)
    best = cf.best_prior(*sums, variance, n, c, b, delta)
    real = float(cf.prior_index(variance, c, b))
    assert best.index >= 1
    assert best.index == 1 if real < 1 else abs(best.index - real) < 1
    assert best.variance == pytest.approx(c * math.exp(-best.index / b), rel=1e-12)
    assert best.kl == pytest.approx(float(cf.gaussian_kl(*sums, best.variance)), rel=1e-12)
    bound = float(cf.pac_bayes_bound(0.1, best.kl, n, best.index, delta))
    for j in {max(1, math.floor(real)), max(1, math.ceil(real))}:
        kl = cf.gaussian_kl(*sums, c * math.exp(-j / b))
        assert bound <= float(cf.pac_bayes_bound(0.1, kl, n, j, delta)) + 1e-12


@pytest.mark.parametrize("delta", [0.2, 0.02])
def test_the_bound_of_draws_fails_no_more_often_than_it_says(delta):
    """The failures are of all counts of errors, each with its probability."""
    number = np.arange(101)
    bounds = cf.monte_carlo_error(number / 100, 100, delta).numpy()
    fails = [
        scipy.stats.binom.pmf(number, 100, error)[bounds < error].sum()
        for error in np.linspace(0.05, 0.95, 37)
    ]
    assert delta / 20 < np.mean(fails) < max(fails) <= delta / 2


def test_the_mean_of_draws_is_corrected():
    corrected = cf.monte_carlo_error(0.03, 50_000, 0.01)
    assert 0.03 < float(corrected) < 0.0385
    assert float(cf.binary_kl(0.03, corrected)) == pytest.approx(math.log(200) / 50_000, rel=1e-9)
