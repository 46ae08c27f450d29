"""Bounds on the spectrum of self-attention, where they are tight, and where there are none."""

import math

import pytest
import torch

from hessian_spectra import closed_form as cf

from .attention_cases import SelfAttention
from .cases import OrthogonalFirstLayer
from .contract import Draws, vector

EXACT = 1e-12


def layers(count=100, **scales):
    """Random layers, ``d_K`` at least 2: coefficients, query and key, and the spectrum."""
    random, form = torch.Generator().manual_seed(2026), SelfAttention()
    for index in range(count):
        sizes = {
            letter: int(torch.randint(2, high + 1, (), generator=random))
            for letter, (_, high) in form.sizes.items()
        }
        a = form.draw(Draws(random, sizes, **scales)).arguments
        if index % 2:
            # Where the bulk is the largest eigenvalue, query and key are nearly parallel.
            a["w_key"] = a["w_query"]
        weighted = cf.attention_coefficients(**a), a["w_query"], a["w_key"]
        yield weighted, cf.self_attention(**a)


def test_outliers_and_largest_eigenvalue_lie_within_their_bounds():
    beyond_outliers = 0
    for weighted, spectrum in layers(300, targets=30.0, weights=2.0):
        outliers, largest = spectrum.select("outlier"), spectrum.eigenvalues[-1]
        room = EXACT * float(spectrum.eigenvalues.abs().max())
        low, high = cf.attention_outlier_bounds(*weighted)
        assert low - room <= outliers[0] <= outliers[-1] <= high + room
        low_of_all, high_of_all = cf.attention_largest_eigenvalue_bounds(*weighted)
        assert low_of_all - room <= largest <= high_of_all + room
        beyond_outliers += bool(largest > high + room)
    assert beyond_outliers > 0


def test_the_bulk_alone_can_be_the_bound():
    case = SelfAttention().edges()["negative zeta"].arguments
    weighted = cf.attention_coefficients(**case), case["w_query"], case["w_key"]
    largest = float(cf.self_attention(**case).eigenvalues[-1])
    assert float(cf.attention_outlier_bounds(*weighted)[1]) == pytest.approx(3.31, abs=0.01)
    assert largest == pytest.approx(361.9, abs=0.1)
    assert float(cf.attention_largest_eigenvalue_bounds(*weighted)[1]) == pytest.approx(largest)


def test_the_condition_number_is_above_both_bounds():
    stronger = 0
    for weighted, spectrum in layers(targets=3.0):
        sizes = spectrum.eigenvalues.abs()
        bound = cf.condition_number_bound(*weighted)
        weaker = cf.condition_number_bound(*weighted, signed_trace=True)
        assert sizes.max() / sizes.min() >= bound * (1 - 1e-9)
        assert bound >= weaker
        stronger += bool(bound > weaker)
    assert stronger > 0


def test_condition_number_bound_needs_a_bulk():
    c = cf.AttentionCoefficients(*torch.tensor([1.0, 0.0, 0.5, 0.0]))
    with pytest.raises(ValueError, match="at least 2 entries"):
        cf.condition_number_bound(c, [1.0], [1.0])
    without = c._replace(gamma=torch.tensor(0.0))
    assert math.isinf(cf.condition_number_bound(without, [1.0, 0.0], [1.0, 0.0]))


def test_without_gamma_two_outliers_solve_a_quadratic():
    for (coefficients, *weights), _ in layers(20):
        weighted = coefficients._replace(gamma=0 * coefficients.gamma), *weights
        pair = cf.attention_outliers_without_bulk(*weighted)
        zeros = torch.zeros(2 * len(weights[0]) - 1).double()
        away = cf.attention_spectrum(*weighted).eigenvalues - torch.cat([pair, zeros]).sort().values
        assert float(away.abs().max()) < EXACT * float(pair.abs().max())


def test_viete_loses_half_of_the_digits_where_roots_meet():
    # γ + ζ P² and α coincide: a double root at 1.
    c, query = cf.AttentionCoefficients(*vector(1, 0, 0.5, 0.25)), vector(1, 0)
    exact = cf.attention_spectrum(c, query, query).select("outlier").flip(0)
    assert exact.tolist() == pytest.approx([1.0, 1.0, -0.5], abs=1e-15)
    assert float((cf.attention_cubic(c, query, query).roots() - exact).abs().max()) < 1e-7


@pytest.mark.parametrize("inputs", [1, 2, 3, 4])
def test_pair_and_triple_of_an_orthogonal_layer_share_the_trace(inputs):
    case = OrthogonalFirstLayer().example(m=6, n=8, D=inputs)
    share = torch.trace(case.hessian()) / inputs
    spectrum = cf.orthogonal_first_layer(**case.arguments)
    assert float((spectrum.select("outlier", "pair").sum() - share).abs()) < EXACT * share
    if inputs > 1:
        mean = spectrum.select("outlier", "triple").mean()
        assert float((mean - share / 3).abs()) < EXACT * share


def test_no_pair_does_without_the_assumptions():
    form, gaps = OrthogonalFirstLayer(), []
    for seed in range(10):
        draws = form.draws(seed, m=6, n=8, D=3)
        case = form.case(*(draws.normal(letters) for letters in ("m", "mD", "nD", "n")))
        values = torch.linalg.eigvalsh(case.hessian())
        sums = (values[:, None] + values)[*torch.triu_indices(len(values), len(values), 1)]
        gaps.append(float((sums - values.sum() / 3).abs().min() / values.abs().max()))
    assert min(gaps) > 1e-6
