"""Formulas on instances that one can work out by hand: what is printed, and what is right."""

import pytest
import torch

from hessian_papers.studies.identities.identities.attention import formulas as attention
from hessian_papers.studies.identities.identities.bias import formulas as bias
from hessian_papers.studies.identities.identities.deep import formulas as deep
from hessian_papers.studies.identities.identities.linear import formulas as linear
from hessian_papers.studies.identities.identities.relu import formulas as relu
from hessian_papers.studies.identities.identities.relu import theorems
from hessian_papers.studies.identities.identities.terms import formulas as terms
from hessian_papers.studies.identities.identities.wide import formulas as wide
from hessian_spectra import closed_form as cf


def row(*numbers):
    return torch.tensor(numbers, dtype=torch.float64)


# w = v = 1, x = 2, y = 0: σ² = 4, δx = 4, H = [[4, 8], [8, 4]] with the eigenvalues 12 and -4.
SCALAR = linear.Moments.of(row(1.0), row(1.0), row(2.0), row(0.0))


def test_the_poster_forgets_the_second_moment():
    assert linear.outliers_by_squares(SCALAR).tolist() == [12.0, -4.0]
    assert linear.printed_poster_outliers(SCALAR).tolist() == [6.0, 2.0]


@pytest.mark.parametrize(
    "formula",
    [linear.outliers_by_root, linear.outliers_by_squares, linear.outliers_by_trace],
)
def test_all_forms_of_the_outliers_agree(formula):
    assert formula(SCALAR).tolist() == [12.0, -4.0]


def four_terms(of):
    return torch.cat([linear.squares(of), of.trace[None]])


def test_the_four_terms_of_parallel_layers():
    # No imbalance, no non-collinearity, 4 (2 · 4 − 0)² = 256 and 4 + 4; (8 + √256)/2 = 12.
    assert four_terms(SCALAR).tolist() == [0.0, 0.0, 256.0, 8.0]
    assert terms.sharpness(SCALAR) == 12


@pytest.mark.parametrize("term", range(4))
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_term_is_raised_by_itself(term, sign):
    w, v, x = row(sign, 2.0, 0.5), row(1.5 * sign, -0.3, 1.0), row(1.0, -2.0)
    of = linear.Moments.of(w, v, x, row(0.3, 1.0))
    after = terms.raised_alone(of)[term]
    more = four_terms(after) - four_terms(of)
    torch.testing.assert_close(more[[k for k in range(4) if k != term]], torch.zeros(3).double())
    # Squares by 2σ⁴⟨w, v⟩², the norm by a fifth of itself.
    squared = 2 * (of.second_moment * of.inner).square()
    torch.testing.assert_close(more[term], squared if term < 3 else of.trace / 5)


@pytest.mark.parametrize("w", [row(1.0, 2.0, 0.0), row(2.0, -1.0, 0.0), row(0.0, -3.0, 0.0)])
def test_layers_have_the_moments_that_they_are_made_for(w):
    v = row(2.0, -1.0, 0.0)
    of = linear.Moments(row(1.0)[0], row(0.0)[0], row(-1.5)[0], row(3.0)[0], row(2.0)[0])
    new_w, new_v = terms.weights_of(of, w, v)
    torch.testing.assert_close(
        torch.stack([new_w @ new_v, new_w @ new_w, new_v @ new_v]), row(-1.5, 3.0, 2.0)
    )
    assert new_w[2] == new_v[2] == 0
    assert torch.equal(new_v.sign(), v.sign())


def test_the_smallest_eigenvalue_has_an_absolute_value():
    # w = (1, 0), v = 0, x = 1, y = 1: δx = -1, and the bulk is -1 and 1. In print λ_min = -δx.
    of = linear.Moments.of(row(1.0, 0.0), row(0.0, 0.0), row(1.0), row(1.0))
    assert -of.residual_covariance == 1.0
    spectrum = cf.two_layer_linear([1.0, 0.0], [0.0, 0.0], [1.0], [1.0])
    assert spectrum.eigenvalues[0] == -1.0


def test_the_sign_of_bulk_vectors_follows_the_residual():
    # δx = -1: to λ = -1 belongs (a; a), where the print has (a; -a).
    w, v, c = row(1.0, 0.0), row(0.0, 0.0), row(0.0, 1.0)
    hessian = linear.linear_hessian(w, v, linear.Moments.of(w, v, row(1.0), row(1.0)))
    right = linear.bulk_vector(w, v, 1.0, c)
    printed = linear.bulk_vector(w, v, -1.0, c)
    assert torch.equal(hessian @ right, -right)
    assert torch.equal(hessian @ printed, printed)


def test_the_displayed_cubic_lost_its_powers():
    # At λ = 12 of the scalar case: the right cubic vanishes, the printed one does not.
    right = torch.cat([-linear.outlier_quadratic(SCALAR), row(0.0)])
    printed = linear.printed_cubic(SCALAR)
    powers = row(12.0**3, 12.0**2, 12.0, 1.0)
    assert right @ powers == 0
    assert printed @ powers == -(12**3) + 4 * 144 + 32 * 12 + 32


def test_displayed_hessians_mix_up_w_and_v():
    w, v = row(1.0, 0.0), row(0.0, 1.0)
    of = linear.Moments.of(w, v, row(1.0), row(0.0))  # δx = 0
    right = linear.linear_hessian(w, v, of)
    assert right[:2, 2:].tolist() == [[0.0, 1.0], [0.0, 0.0]]
    assert linear.linear_hessian(w, v, of, upper=torch.outer(v, v))[:2, 2:].tolist() == [
        [0.0, 0.0],
        [0.0, 1.0],
    ]
    transposed = linear.linear_hessian(w, v, of, upper=torch.outer(v, w))[:2, 2:]
    assert transposed.tolist() == [[0.0, 0.0], [1.0, 0.0]]


def test_cell_quantities_carry_the_share_of_the_cell():
    # One neuron in each cell, x = 1 and -1: each cell has half of the points.
    w, v, x, y = row(1.0, 1.0), row(1.0, -1.0), row(1.0, -1.0), row(0.0, 0.0)
    plus, minus = relu.cells(w, v, x, y)
    assert (plus.share, minus.share) == (0.5, 0.5)
    assert plus.of.residual_covariance == 0.5
    assert plus.printed_residual == 1.0


def test_printed_vectors_of_a_cell_have_the_printed_residual_with_its_sign():
    # Two neurons that see x = 1 alone, of two points: S = 1/2, δx = 1/2 (1 · 2 − 1) = 1/2, which
    # the print has as 1. The pair solves λ² − 3/2 λ − 5/4 = 0, the bulk is ±1/2.
    w, v, x, y = row(1.0, 1.0), row(1.0, 1.0), row(1.0, -1.0), row(1.0, 0.0)
    found = theorems.stated({"w": w, "v": v, "x": x, "y": y, "c": row(1.0, 0.0)})
    assert found["bulk_values"].tolist() == [0.5, -0.5]
    assert found["printed_bulk_values"].tolist() == [1.0, -1.0]
    large, small = found["outliers"].tolist()
    assert (large, small) == (2.5, -0.5)
    for column, value in enumerate((large, small)):
        # (λ w + δx v; δx w + λ v), with δx = 1/2, and with 1 in print.
        assert found["outlier_vectors"][:, column].tolist() == [value + 0.5] * 4
        assert found["printed_outlier_vectors"][:, column].tolist() == [value + 1.0] * 4


def test_a_neuron_of_zero_is_in_no_cell():
    w, v, x, y = row(1.0, 1.0, 1.0), row(1.0, -1.0, 0.0), row(1.0, -1.0), row(0.0, 0.0)
    assert cf.two_layer_relu(w, v, x, y).labels.count("zero") == 2
    printed = relu.printed_spectrum(w, v, x, y)
    # The print has a bulk ±0.5 of the negative cell in the place of the two zeros.
    assert len(printed) == 6
    assert (printed.abs() > 1e-12).all()


def test_the_sextic_has_the_square_of_the_norm_of_b():
    # w = 0, v = (1, 0), b = (0, 2), no residual: the eigenvalues are 1, 4 and 0.
    w, v, b, x, y = row(0.0, 0.0), row(1.0, 0.0), row(0.0, 2.0), row(1.0, -1.0), row(0.0, 0.0)
    of = bias.BiasMoments.of(w, v, b, x, y)
    assert bias.sextic(of).tolist() == [1.0, -5.0, 4.0, 0.0, 0.0, 0.0, 0.0]
    assert bias.sextic(of, b_power=1)[2] == 2.0


def test_the_library_and_the_print_corrected_have_one_sextic():
    draw = torch.Generator().manual_seed(0)
    w, v, b = torch.randn(3, 4, dtype=torch.float64, generator=draw)
    x, y = row(1.0, -1.0, 1.0, -1.0), row(0.3, 1.0, -2.0, 0.7)
    of = bias.BiasMoments.of(w, v, b, x, y)
    torch.testing.assert_close(bias.sextic(of), cf.bias_sextic(w, v, b, x, y))
    difference = bias.sextic(of, sign_97=1.0) - bias.sextic(of)
    assert (difference[3:6].abs() > 1e-3).all()
    assert (difference[[0, 1, 2, 6]] == 0).all()


def test_the_displayed_block_is_for_the_first_layer_first():
    w, v = row(2.0), row(3.0)
    of = linear.Moments.of(w, v, row(1.0), row(0.0))  # δx = 6
    assert linear.linear_hessian(w, v, of).tolist() == [[4.0, 12.0], [12.0, 9.0]]
    assert wide.printed_head_hessian(w, v, of).tolist() == [[9.0, 12.0], [12.0, 4.0]]


def test_the_sharpness_of_two_unit_matrices_is_two():
    # f = w_2 w_1 x at zero loss, all 1: H = [[1, 1], [1, 1]].
    one = torch.ones(1, 1, dtype=torch.float64)
    assert wide.largest_squared_norm(one, one) == 1.0
    assert torch.linalg.eigvalsh(torch.ones(2, 2)).max() == 2.0


# α = 1, ζ = 1, β = γ = 0, w_Q = 2, w_K = 0: N = 4, the outliers are 1, 4 and 0, T = 5.
COEFFICIENTS = cf.AttentionCoefficients(*row(1.0, 0.0, 0.0, 1.0))
QUERY, KEY = row(2.0), row(0.0)


def test_the_half_width_needs_squared_norms():
    lower, upper = cf.attention_outlier_bounds(COEFFICIENTS, QUERY, KEY)
    assert lower <= 0
    assert upper >= 4
    # (2/3)√(-3·4 + (2 + 1)²) is the root of a negative number; -12 + 25 = 13 is not.
    assert attention.printed_half_width(COEFFICIENTS, QUERY, KEY) == 0
    torch.testing.assert_close(upper - lower, 4 * row(13.0)[0].sqrt() / 3)


def test_q_needs_its_brackets():
    # With γ = 1 what stands after the missing bracket matters.
    of = cf.AttentionCoefficients(*row(1.0, 0.0, 1.0, 1.0))
    cubic = cf.attention_cubic(of, QUERY, KEY)
    # N = 4, k = 0, T = 5: a_1 = -4 + 1 = -3, a_0 = -1; q = -(250 - 135 - 27)/27.
    torch.testing.assert_close(cubic.q, row(-88.0 / 27)[0])
    # The print: 9·5·(-4) + 1 in the place of 9·5·(-3).
    torch.testing.assert_close(
        attention.printed_q(of, QUERY, KEY), row(-(250.0 - 179.0 - 27.0) / 27)[0]
    )


def test_the_condition_number_bound_needs_squared_norms():
    query, key = row(0.1, 0.0), row(0.0, 0.1)
    of = cf.AttentionCoefficients(*row(0.1, 0.0, 0.05, 2.0))
    values = cf.attention_spectrum(of, query, key).eigenvalues.abs()
    condition = values.max() / values.min()
    assert cf.condition_number_bound(of, query, key, signed_trace=True) <= condition
    assert attention.printed_condition_bound(of, query, key) > condition


def test_labels_of_the_displayed_attention_hessian():
    query, key = row(2.0), row(3.0)
    of = cf.AttentionCoefficients(*row(1.0, 0.0, 0.0, 1.0))
    right = attention.displayed_hessian(of, query, key)
    assert right.tolist() == [[1.0, 0.0, 0.0], [0.0, 9.0, 6.0], [0.0, 6.0, 4.0]]
    printed = attention.printed_hessian(of, query, key)
    assert printed.tolist() == [[1.0, 0.0, 0.0], [0.0, 6.0, 9.0], [0.0, 4.0, 6.0]]


def test_pairs_with_inputs_beyond_the_narrowest_layer():
    # W_1 = (2, 0), W_2 = 1, σ_x = 1: G has 2² + 1² and, for the other input, 1².
    weights = [row(2.0, 0.0)[None], row(1.0)[None]]
    assert cf.pair_eigenvalues([2.0], [1.0], 2, 1).eigenvalues.tolist() == [1.0, 5.0]
    assert deep.printed_pairs(weights, 1.0, 1, 1).tolist() == [0.0, 0.0, 5.0]


def test_inputs_within_the_prefix_count_twice():
    # One layer, four equal samples: tr(G) = σ_x² = 9, and as printed 9 · 4 · 9.
    x = 3 * torch.ones(4, 1).double()
    weights = [row(5.0)[None]]
    assert cf.deep_linear_trace(weights, x.mT @ x / 4) == 9
    assert deep.printed_trace(weights, x, 3.0) == 9 * 4 * 9


def test_subsets_in_print_have_too_many_of_the_other_classes():
    # 10 samples, 3 classes, half of them of class 0: 5 of each other class leave none of it.
    assert deep.printed_largest_share(10, 0.5, 3) == 0.0
    assert deep.printed_largest_share(10, 0.3, 3) == pytest.approx(-0.4)


def test_quotients_of_equal_and_unequal_singular_values():
    # L = 3: (2⁶ - 1)/(2² - 1) = 21, and 3 · 1⁴ for the pair of equal ones; with 0: 2⁴.
    found = deep.quotients(row(2.0, 1.0), row(1.0, 0.0), 3)
    assert found.tolist() == [21.0, 16.0, 3.0, 1.0]


def test_zeros_fill_up_or_fall_away():
    values = row(0.0, 3.0, 1.0, 0.0)
    assert deep.with_zeros(values, 5).tolist() == [0.0, 0.0, 0.0, 1.0, 3.0]
    assert deep.with_zeros(values, 2).tolist() == [1.0, 3.0]
