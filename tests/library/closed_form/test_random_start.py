"""The laws of a random start: by quadrature, brute force and draws, and beyond what they need."""

import math

import numpy as np
import pytest
import scipy
import torch
from torch.testing import assert_close

from hessian_spectra import closed_form as cf

RATIOS = [0.05, 0.5, 1.0, 3.0]


def gaussian(seed, *shape):
    draws = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=draws)


def squares(matrices):
    """The squared singular values of ``(..., m, D)`` with zeros, D of each."""
    values = torch.linalg.svdvals(matrices) ** 2
    missing = matrices.shape[-1] - values.shape[-1]
    return torch.nn.functional.pad(values, (0, missing))


def pair_sums(first, last):
    """The sums of all pairs, of ``W_1`` ``(m, D)`` and ``W_2`` ``(K, m)``."""
    return (squares(first)[:, None] + squares(last.mT)).flatten()


def distance(sample, cdf):
    """The largest difference of a sample's distribution function from a continuous one."""
    ordered, count = sample.sort().values, len(sample)
    law = cdf(ordered)
    steps = torch.arange(count + 1, dtype=torch.float64) / count
    return torch.maximum((law - steps[1:]).abs(), (law - steps[:-1]).abs()).max().item()


def on_a_grid(sample, ratios, scales=(1.0, 1.0), points=200):
    """The distance of sums of pairs from their limit, at points of a grid."""
    grid = torch.linspace(0.001, 1.05 * sample.max().item(), points, dtype=torch.float64)
    share = torch.searchsorted(sample.sort().values, grid, right=True) / len(sample)
    return (share - cf.pair_sum_cdf(grid, ratios, scales)).abs().max().item()


@pytest.mark.parametrize("ratio", RATIOS)
def test_the_distribution_function_and_moments_are_integrals_of_the_density(ratio):
    low, high = 2 * (1 - ratio**0.5) ** 2, 2 * (1 + ratio**0.5) ** 2

    def integral(upper, power=0):
        def density(x):
            return x**power * cf.marchenko_pastur_density(x, ratio, 2.0).item()

        return scipy.integrate.quad(density, low, upper, epsabs=1e-10, limit=200)[0]

    atom = max(0.0, 1 - 1 / ratio)
    for share in (0.1, 0.6, 1.0):
        x = low + share * (high - low)
        expected = pytest.approx(atom + integral(x), abs=1e-7)
        assert cf.marchenko_pastur_cdf(x, ratio, 2.0).item() == expected
    for order in (1, 2, 5):
        moment = cf.marchenko_pastur_moment(order, ratio, 2.0).item()
        assert moment == pytest.approx(integral(high, order), rel=1e-8)
    assert cf.marchenko_pastur_cdf([-1.0, 0.0, 100.0], ratio).tolist() == pytest.approx(
        [0.0, atom, 1.0], abs=1e-12
    )
    assert cf.marchenko_pastur_density([-1.0, 100.0], ratio).tolist() == [0.0, 0.0]


def test_quantiles_invert_the_distribution_functions():
    levels = torch.tensor([0.7, 0.9, 0.99], dtype=torch.float64)
    for ratio in RATIOS:
        back = cf.marchenko_pastur_cdf(cf.marchenko_pastur_quantile(levels, ratio, 3.0), ratio, 3.0)
        assert_close(back, levels, rtol=0, atol=1e-12)
    scales = (1.0, 0.25)
    back = cf.pair_sum_cdf(cf.pair_sum_quantile(levels, (0.5, 2.0), scales), (0.5, 2.0), scales)
    assert_close(back, levels, rtol=0, atol=1e-12)
    # Below the atoms there is nothing but 0.
    assert cf.pair_sum_quantile(0.2, (2.0, 2.0)).item() == 0.0
    assert cf.pair_sum_cdf(0.0, (2.0, 4.0)).item() == pytest.approx(0.375, abs=1e-12)


@pytest.mark.parametrize("ratios", [(0.3, 0.6), (1.0, 1.0), (2.0, 0.5), (0.5, 3.0)])
def test_the_law_of_sums_is_the_convolution(ratios):
    first, second = ratios
    scales = (1.0, 0.7)
    ends = [0.7 * (1 + sign * second**0.5) ** 2 for sign in (-1, 1)]
    atom = max(0.0, 1 - 1 / second)
    for x in (0.4, 1.5, 3.0, 4.5):

        def part(y, x=x):
            density = cf.marchenko_pastur_density(y, second, 0.7).item()
            return density * cf.marchenko_pastur_cdf(x - y, first).item()

        inner = scipy.integrate.quad(part, *ends, epsabs=1e-9, limit=200, points=[min(x, ends[1])])
        expected = inner[0] + atom * cf.marchenko_pastur_cdf(x, first).item()
        assert cf.pair_sum_cdf(x, ratios, scales).item() == pytest.approx(expected, abs=2e-6)


def gauss_newton(first, last, second_moments):
    """The Gauss-Newton matrix's eigenvalues that need not vanish, of the Jacobian."""
    root = torch.linalg.cholesky(second_moments)
    # J has a row for each output and input direction, a column for each weight of both layers.
    inner = np.kron(np.eye(len(last)), (first @ root).mT)
    outer = np.kron(last, root.mT)
    jacobian = torch.from_numpy(np.hstack([outer, inner]))
    return torch.linalg.eigvalsh(jacobian @ jacobian.mT)


def test_the_eigenvalues_of_white_inputs_are_the_sums_of_all_pairs():
    """Whatever the sizes: more inputs or outputs than units, and equal or dependent layers."""
    for seed in range(200):
        d, k, m = 1 + seed % 4, 1 + seed // 4 % 3, 1 + seed // 12 % 5
        first, last = gaussian(seed, m, d), gaussian(seed + 1000, k, m)
        if seed % 5 == 0:
            last = torch.zeros(k, m, dtype=torch.float64)
        if seed % 7 == 0 and k == d:
            last = first.mT.contiguous()
        exact = gauss_newton(first, last, torch.eye(d, dtype=torch.float64))
        expected = pair_sums(first, last).sort().values
        assert_close(exact, expected, rtol=0, atol=1e-12 * (1 + expected[-1].item()))


def test_the_distance_is_at_most_that_of_both_terms():
    for seed in range(5):
        first, last = gaussian(seed, 60, 30) / 60**0.5, gaussian(seed + 99, 40, 60) / 60**0.5
        terms = sum(
            distance(squares(layer), lambda x, ratio=ratio: cf.marchenko_pastur_cdf(x, ratio))
            for layer, ratio in ((first, 0.5), (last.mT, 40 / 60))
        )
        assert on_a_grid(pair_sums(first, last), (0.5, 40 / 60)) <= terms


def mean_distance(size, draws=3, **changes):
    """The mean distance of draws with D = K and m = 2D from the limit."""
    return sum(
        on_a_grid(pair_sums(*layers(size, seed, **changes)), (0.5, 0.5)) for seed in range(draws)
    ) / draws  # fmt: skip


def layers(size, seed, entries=gaussian, tied=False, correlation=0.0):
    first, last = (entries(seed + of, 2 * size, size) / (2 * size) ** 0.5 for of in (0, 500))
    if correlation:
        scales = torch.linspace(1 - correlation, 1 + correlation, size, dtype=torch.float64)
        first = first * scales.sqrt()
    return first, (first if tied else last).mT


def test_the_error_falls_with_the_size():
    """As the size's inverse, up to a logarithm."""
    errors = [mean_distance(size, draws=12) for size in (16, 128)]
    assert -1.25 < math.log(errors[1] / errors[0]) / math.log(8) < -0.75
    assert errors[1] < 0.01


def test_the_layers_may_depend_on_each_other():
    """All pairs are summed: the law of the sums has no more of the layers than each one's law."""
    assert mean_distance(256, tied=True) < 0.015


def student(seed, *shape):
    """Entries without a variance, over their interquartile range's."""
    chi = gaussian(seed + 77, 2, *shape).square().mean(0)
    return gaussian(seed, *shape) / chi.sqrt()


def signs(seed, *shape):
    return gaussian(seed, *shape).sign()


def test_entries_need_a_variance_and_no_more():
    assert mean_distance(256, entries=signs) < 0.015
    assert mean_distance(256, entries=student) > 0.1


def test_entries_of_a_layer_have_to_be_independent():
    assert mean_distance(256, correlation=0.9) > 0.02


def test_ten_outputs_are_no_large_number():
    """However large the other sizes, ten eigenvalues stay a twentieth from any continuous law."""
    distances = []
    for size in (100, 400):
        last = gaussian(size + 1, 10, 2 * size) / (2 * size) ** 0.5
        ratio = 10 / (2 * size)
        distances.append(
            distance(squares(last.mT), lambda x, ratio=ratio: cf.marchenko_pastur_cdf(x, ratio))
        )
    assert min(distances) >= 0.05
    assert distances[1] > 0.7 * distances[0]


def test_other_inputs_have_other_sums():
    """S of few samples: the sums are no eigenvalues, and their law is another."""
    x = gaussian(5, 40, 80)
    first, last = layers(40, 0)
    exact = gauss_newton(first, last[:4], x @ x.mT / 80)
    assert on_a_grid(exact, (0.5, 0.05)) > 0.1


def kernel(first, last, x, active):
    """``JJᵀ/n`` of ``W_2 (active · W_1 x)`` for all outputs and samples."""
    k, n = len(last), x.shape[1]
    hidden = active * (first @ x)
    through = last[:, :, None] * active
    outer = torch.einsum("kms,lmt->kslt", through, through) * (x.mT @ x)[:, None]
    inner = torch.einsum("kl,st->kslt", torch.eye(k, dtype=torch.float64), hidden.mT @ hidden)
    return (outer + inner).reshape(k * n, k * n) / n


def test_rectified_units_have_more_eigenvalues_than_pairs():
    first, last, x = gaussian(1, 9, 3), gaussian(2, 2, 9), gaussian(3, 3, 20)
    ones = torch.ones(9, 20, dtype=torch.float64)
    counts = [
        int((torch.linalg.eigvalsh(kernel(first, last, x, active)) > 1e-9).sum())
        for active in (ones, (first @ x > 0).double())
    ]
    assert counts[0] == 2 * 3 < counts[1]


def test_three_layers_are_no_sums_of_squares_of_each():
    first, middle, last = (gaussian(seed, 6, 6) for seed in range(3))
    a, b = middle @ first, last @ middle
    eye = torch.eye(6, dtype=torch.float64)
    pairs = [(b @ b.mT, eye), (last @ last.mT, first.mT @ first), (eye, a.mT @ a)]
    exact = torch.linalg.eigvalsh(sum(torch.kron(p.contiguous(), q.contiguous()) for p, q in pairs))
    values = [torch.linalg.eigvalsh(p)[:, None] for p, _ in pairs]
    others = [torch.linalg.eigvalsh(q) for _, q in pairs]
    sums = sum(p * q for p, q in zip(values, others, strict=True)).flatten().sort().values
    assert exact.sum().item() == pytest.approx(sums.sum().item(), rel=0.5)
    assert (exact - sums).abs().max() > 0.02 * exact[-1]


@pytest.mark.parametrize("rows", [2, 3, 9, 60])
def test_moments_of_two_columns_are_integrals_over_both_eigenvalues(rows):
    """Their density is proportional to ``(xy)^((n−3)/2) e^(−(x+y)/2) (x − y)``."""
    total, power = 2 * rows, (rows - 3) / 2

    def integral(function):
        # x, y = t (1 ± w)/2, of which t is chi-square; the weight of w is written out.
        def part(w):
            return function(w) * (1 - w * w) ** power * w

        return scipy.integrate.quad(part, 0, 1, epsabs=1e-13, limit=400)[0]

    mass = integral(lambda w: 1.0)
    shares = [lambda w: (1 + w) / 2, lambda w: 1.0, lambda w: 1 + math.sqrt(1 - w * w)]
    means = [integral(share) / mass for share in shares]
    moments = cf.largest_wishart(2, rows)
    assert moments.mean.item() == pytest.approx(total * means[0], rel=1e-6)
    for i in range(3):
        for j in range(3):
            product = integral(lambda w, i=i, j=j: shares[i](w) * shares[j](w)) / mass
            expected = total * (total + 2) * product - total**2 * means[i] * means[j]
            assert moments.covariance[i, j].item() == pytest.approx(expected, rel=1e-5)


def drawn(rows, columns, count=4000):
    """The squared norms of so many draws ``(3, count)``."""
    values = torch.linalg.svdvals(gaussian(rows + columns, count, rows, columns))
    return torch.stack([values[:, 0] ** 2, (values**2).sum(1), values.sum(1) ** 2])


def test_moments_of_more_columns_come_nearer_with_the_size():
    errors, differences = [], []
    for size in (4, 12, 36):
        sample, law = drawn(2 * size, size), cf.largest_wishart(2 * size, size)
        errors.append(abs(law.mean / sample[0].mean() - 1).item())
        deviations = sample.std(dim=1) / law.covariance.diagonal().sqrt()
        # A variance of Tracy and Widom's is too large at few columns.
        assert_close(deviations, torch.ones(3).double(), rtol=0, atol=0.5 * size ** (-2 / 3) + 0.04)
        differences.append(torch.corrcoef(sample) - correlations(law.covariance))
    assert [off.abs().max().item() for off in differences] == [
        pytest.approx(0.0, abs=bound) for bound in (0.2, 0.1, 0.06)
    ]
    assert errors[0] > errors[1] > errors[2]


def correlations(covariance):
    scale = covariance.diagonal().sqrt()
    return covariance / scale[:, None] / scale


def test_the_edge_of_white_inputs_is_marchenko_and_pasturs_with_johnstones_scale():
    for d, m in ((30, 90), (50, 50), (80, 40)):
        edge = cf.sampled_edge(torch.full((d,), 2.0), m, 0.25, 3.0)
        width = math.sqrt(m) + math.sqrt(d)
        scale = width * (1 / math.sqrt(m) + 1 / math.sqrt(d)) ** (1 / 3)
        assert edge.value.item() == pytest.approx(2 * (0.25 * width**2 + 3), rel=1e-12)
        assert edge.slope.item() == pytest.approx(2.0, rel=1e-9)
        assert edge.scale.item() == pytest.approx(2 * 0.25 * scale, rel=1e-6)


def test_the_slope_is_the_derivative_and_batches_are_rows():
    tau = cf.marchenko_pastur_quantile((torch.arange(20).double() + 0.5) / 20, 0.3)
    shifts = torch.tensor([0.0, 0.5, 7.0], dtype=torch.float64)
    edges = cf.sampled_edge(tau, 30, 1 / 30, shifts)
    for i, shift in enumerate(shifts.tolist()):
        alone = cf.sampled_edge(tau, 30, 1 / 30, shift)
        for part, rows in zip(alone, edges, strict=True):
            assert_close(rows[i], part, rtol=1e-12, atol=0)
        step = 1e-5
        ends = [cf.sampled_edge(tau, 30, 1 / 30, shift + end * step).value for end in (0, 1)]
        assert alone.slope.item() == pytest.approx((ends[1] - ends[0]).item() / step, rel=1e-4)


def largest_of_sampled(size, count, spike=0.0):
    """The edge, and the largest eigenvalue of draws with n = 4D, m = 2D and a shift of 1.5."""
    x = gaussian(size, size, 4 * size) / (4 * size) ** 0.5
    tau = torch.linalg.svdvals(x) ** 2
    tau[0] += spike
    scaled = gaussian(size + 1, count, 2 * size, size) / (2 * size) ** 0.5 * tau.sqrt()
    values = torch.linalg.eigvalsh(scaled.mT @ scaled + 1.5 * torch.diag(tau))[:, -1]
    return cf.sampled_edge(tau, 2 * size, 1 / (2 * size), 1.5), values


def test_the_edge_of_sampled_inputs_comes_nearer_with_the_size():
    errors = []
    for size in (8, 32, 96):
        edge, values = largest_of_sampled(size, 400)
        errors.append(abs(edge.value / values.mean() - 1).item())
    assert errors[0] > errors[1] > errors[2]
    slope = math.log(errors[2] / errors[0]) / math.log(12)
    assert -1.1 < slope < -0.4
    assert (values.var() / edge.scale.square()).item() == pytest.approx(1.61, rel=0.25)


def test_an_input_of_its_own_variance_has_another_law_than_the_edges():
    """There the largest eigenvalue is chi-square, whose mean is −2 scales off and not −1.21."""
    edge, values = largest_of_sampled(96, 1000, spike=1000.0)
    scaled = (values - edge.value) / edge.scale
    assert scaled.mean().item() == pytest.approx(-2.0, abs=0.3)


def draws_of_r(d, k, m, variances, n=None, count=3000):
    """Pearson's r ``(2, 3)`` of draws, for white inputs or n samples of one draw of them."""
    first, last = (
        gaussian(seed, count, m, size) * variance**0.5
        for seed, size, variance in ((1, d, variances[0]), (2, k, variances[1]))
    )
    norms = []
    for layer in (first, last):
        values = torch.linalg.svdvals(layer)
        norms.append([values[:, 0] ** 2, (values**2).sum(1), values.sum(1) ** 2])
    tau = torch.ones(d, dtype=torch.float64)
    if n:
        tau = torch.linalg.svdvals(gaussian(3, d, n)) ** 2 / n
    inner = (first * tau.sqrt()).mT @ (first * tau.sqrt()) + norms[1][0][:, None, None] * tau.diag()
    sharpness = torch.linalg.eigvalsh(inner)[:, -1]
    rows = torch.stack([sharpness, *norms[0], *norms[1]])
    return torch.corrcoef(rows)[0, 1:].view(2, 3), tau


@pytest.mark.parametrize("size", [1, 2, 5, 20])
def test_equal_sizes_have_the_spectral_norms_correlations_exactly(size):
    measured, _ = draws_of_r(size, size, 20, (1.0, 0.75))
    law = cf.initial_norm_correlations(size, size, 20, 1.0, 0.75)
    assert law[:, 0].tolist() == pytest.approx([0.8, 0.6], abs=1e-12)
    tolerance = 0.03 if size <= 2 else 0.1
    assert_close(measured[:, 0], law[:, 0], rtol=0, atol=0.04)
    assert_close(measured, law, rtol=0, atol=tolerance)


def test_layers_that_depend_on_each_other_have_other_correlations():
    first = gaussian(1, 500, 6, 4)
    sharpness = 2 * torch.linalg.svdvals(first)[:, 0] ** 2
    r = torch.corrcoef(torch.stack([sharpness, sharpness]))[0, 1].item()
    law = cf.initial_norm_correlations(4, 4, 6, 1.0, 1.0)[0, 0].item()
    assert (r, law) == (pytest.approx(1.0), pytest.approx(0.5**0.5))


def test_sampled_inputs_have_the_law_of_their_edge():
    measured, tau = draws_of_r(40, 40, 40, (1.0, 1.0), n=160)
    law = cf.initial_norm_correlations(40, 40, 40, 1.0, 1.0, tau)
    assert law[0, [0, 2]].isnan().all()
    known = law.isfinite()
    assert_close(measured[known], law[known], rtol=0, atol=0.08)
    # The norm of the first matrix, alone, falls far behind that of white inputs.
    assert measured[0, 0] < 0.6


def test_the_frobenius_norm_has_the_covariance_of_the_radial_derivative():
    """``cov(‖W‖_F², λ) = v E⟨W, ∂λ/∂W⟩``, any λ: here 2 (λ − a vᵀSv), pointwise by autograd."""
    tau = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)
    first, shift = (gaussian(1, 4000, 5, 3)).requires_grad_(), 2.0
    scaled = first * tau.sqrt()
    values, vectors = torch.linalg.eigh(scaled.mT @ scaled + shift * tau.diag())
    top, v = values[:, -1], vectors[:, :, -1]
    (slope,) = torch.autograd.grad(top.sum(), first, retain_graph=True)
    radial = (first * slope).sum((1, 2))
    assert_close(radial, 2 * (top - shift * (tau * v.square()).sum(-1)), rtol=1e-10, atol=0)
    pair = torch.stack([first.square().sum((1, 2)), top]).detach()
    covariance, error = torch.cov(pair)[0, 1], (pair[0].std() * pair[1].std()) / 4000**0.5
    assert abs(covariance - radial.mean()).item() < 4 * error.item()


def test_bad_arguments_are_refused_by_name():
    with pytest.raises(ValueError, match="ratio: expected positive numbers, got 0"):
        cf.marchenko_pastur_cdf(1.0, 0.0)
    with pytest.raises(ValueError, match=r"levels: expected levels in \[0, 1\], got 2"):
        cf.pair_sum_quantile(2.0, (1.0, 1.0))
    with pytest.raises(ValueError, match="ratios: expected two, of both layers, got 3"):
        cf.pair_sum_cdf(1.0, (1.0, 1.0, 1.0), (1.0, 1.0, 1.0))
    with pytest.raises(ValueError, match="order: expected at least 1, got 0"):
        cf.marchenko_pastur_moment(0, 1.0)
    with pytest.raises(ValueError, match="columns: expected sizes of at least 1, got 0"):
        cf.largest_wishart(3, 0)
    with pytest.raises(ValueError, match="second_moments: expected numbers that are not negative"):
        cf.sampled_edge([-1.0], 2, 1.0, 0.0)
    with pytest.raises(ValueError, match="last_variance: expected positive numbers, got 0"):
        cf.initial_norm_correlations(1, 1, 1, 1.0, 0.0)
