"""anon2026data: each equation on random networks, and what is wrong in print.

The printed forms live here only. Errors are relative to the largest eigenvalue unless a line says
otherwise. The networks are rectangular, rank deficient, and some repeat singular values.
"""

from itertools import pairwise

import pytest
import torch

from hessian_spectra import closed_form as cf

from .contract import vector
from .deep_networks import (
    balanced,
    gauss_newton,
    hessian,
    jacobian,
    normal,
    orthonormal,
    outputs,
    unbalanced,
    whitened,
)

EXACT = 1e-10

# Widths with the singular values of a balanced network.
BALANCED = [
    ((4, 3, 5), (1.3, 0.7, 0.2)),
    ((3, 4, 2), (1.1, 1.1)),
    ((5, 2, 3, 4), (1.2, 0.5)),
    ((2, 4, 4, 3), (1.4, 0.0)),
    ((4, 3, 3, 3, 4), (0.9, 0.9, 0.0)),
    ((3, 3, 3, 3, 3, 3), (1.5, 1.5, 0.3)),
]
ANY = [(3, 2), (4, 3, 2), (2, 5, 4), (3, 2, 4, 2), (2, 3, 3, 2, 3)]
TWO = [(4, 2, 3), (2, 5, 3), (3, 1, 4), (4, 3, 4), (3, 3, 1)]


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def trained(seed, widths, values, scale=1.7):
    """A balanced network and whitened inputs, more samples than inputs."""
    random = generator(seed)
    weights = balanced(random, widths, vector(*values))
    return weights, whitened(random, widths[0], widths[0] + 3, scale)


def prefixes(weights):
    """``P_l = W_{l-1} ... W_1``."""
    found = [torch.eye(weights[0].shape[1]).double()]
    for weight in weights[:-1]:
        found.append(weight @ found[-1])
    return found


def suffixes(weights):
    """``S_l = W_L ... W_{l+1}``."""
    found = [torch.eye(weights[-1].shape[0]).double()]
    for weight in reversed(weights[1:]):
        found.append(found[-1] @ weight)
    return found[::-1]


def padded(values, size):
    """Values with zeros up to a size."""
    return torch.cat([values, values.new_zeros(size - len(values))])


def spectrum_error(values, matrix):
    """Of eigenvalues from a matrix, where one of them may have more zeros than the other."""
    truth = torch.linalg.eigvalsh(matrix)
    size = max(len(values), len(truth))
    gaps = padded(values, size).sort().values - padded(truth, size).sort().values
    return float(gaps.abs().max() / truth.abs().max())


def sums(s_1, s_2, depth):
    """Eq. (9a) for all pairs of two lists of singular values."""
    return torch.stack(
        [
            sum(i ** (2 * (depth - k)) * j ** (2 * (k - 1)) for k in range(1, depth + 1))
            for i in s_1
            for j in s_2
        ]
    )


def first_singular_values(weight, count):
    """Singular values with zeros up to a count."""
    return padded(torch.linalg.svdvals(weight), max(count, min(weight.shape)))[:count]


@pytest.mark.parametrize("widths", ANY)
def test_equation_4_needs_the_inputs_beside_p(widths):
    weights, x = unbalanced(generator(1), widths), normal(generator(2), widths[0], 7)
    # The equation is for matrices stacked column by column, outputs of one sample after another.
    found = jacobian(weights, x).reshape(widths[-1], 7, -1).transpose(0, 1).flatten(0, 1)
    start = 0
    for weight, p, s in zip(weights, prefixes(weights), suffixes(weights), strict=True):
        block = found[:, start : start + weight.numel()].reshape(-1, *weight.shape)
        block = block.transpose(1, 2).flatten(1)
        start += weight.numel()
        right = torch.kron((p @ x).T.contiguous(), s)
        assert float((block - right).abs().max()) < EXACT * block.abs().max()
        # With X inside P, as the brace has it, P would be (d_{l-1}, n) and not (d_{l-1}, d_0).
        assert (p @ x).shape != (weight.shape[1], widths[0])


@pytest.mark.parametrize("widths", ANY)
def test_equation_5_has_the_eigenvalues_of_the_gauss_newton_matrix(widths):
    weights, x = unbalanced(generator(3), widths), normal(generator(4), widths[0], 6)
    kernel = sum(
        torch.kron(((p @ x).T @ (p @ x)).contiguous(), (s @ s.T).contiguous())
        for p, s in zip(prefixes(weights), suffixes(weights), strict=True)
    )
    values = torch.linalg.eigvalsh(kernel / 6)
    assert spectrum_error(values, gauss_newton(weights, x)) < EXACT


@pytest.mark.parametrize("widths", ANY)
def test_equations_6_and_7(widths):
    random = generator(5)
    weights, x = unbalanced(random, widths), whitened(random, widths[0], 7, 1.7)
    y = 5 * normal(random, widths[-1], 7)
    p, s = prefixes(weights), suffixes(weights)
    bound = sum(
        torch.linalg.matrix_norm(a, 2) ** 2 * torch.linalg.matrix_norm(b, 2) ** 2
        for a, b in zip(p, s, strict=True)
    )
    trace = sum(a.square().sum() * b.square().sum() for a, b in zip(p, s, strict=True))
    matrix = gauss_newton(weights, x)
    assert torch.linalg.eigvalsh(matrix)[-1] <= 1.7**2 * bound * (1 + EXACT)
    assert float(cf.deep_linear_bound(weights, 1.7)) == pytest.approx(float(1.7**2 * bound))
    for one in (matrix, hessian(weights, x, y)):
        assert float(1.7**2 * trace) == pytest.approx(float(one.trace()), rel=EXACT)
    # P as the brace of eq. (4) has it, with X inside, counts the inputs twice.
    inside = sum((a @ x).square().sum() * b.square().sum() for a, b in zip(p, s, strict=True))
    assert float(inside / trace) == pytest.approx(7 * 1.7**2, rel=EXACT)


def test_functional_hessian_has_no_trace_at_any_depth():
    for widths in ANY:
        random = generator(6)
        weights, x = unbalanced(random, widths), normal(random, widths[0], 5)
        y = 20 * normal(random, widths[-1], 5)
        rest = hessian(weights, x, y) - gauss_newton(weights, x)
        assert abs(float(rest.trace())) < EXACT * float(rest.norm()) + EXACT
        if len(widths) > 2:
            assert rest.norm() > gauss_newton(weights, x).norm() / 10
        start = 0
        for weight in weights:
            rows = slice(start, start + weight.numel())
            assert float(rest[rows, rows].abs().max()) < EXACT * float(rest.norm()) + EXACT
            start = rows.stop


@pytest.mark.parametrize(("widths", "values"), BALANCED)
def test_equation_8(widths, values):
    weights, _ = trained(7, widths, values)
    depth = len(weights)
    for layer, (p, s) in enumerate(zip(prefixes(weights), suffixes(weights), strict=True), 1):
        first = torch.linalg.matrix_power(weights[0].T @ weights[0], layer - 1)
        last = torch.linalg.matrix_power(weights[-1] @ weights[-1].T, depth - layer)
        assert float((p.T @ p - first).abs().max()) < EXACT
        assert float((s @ s.T - last).abs().max()) < EXACT


@pytest.mark.parametrize(("widths", "values"), BALANCED)
def test_equation_9_runs_over_all_inputs_and_outputs(widths, values):
    weights, x = trained(8, widths, values)
    matrix, depth = gauss_newton(weights, x), len(weights)
    smallest = min(widths)
    s_0 = first_singular_values(weights[0], widths[0])
    s_l = first_singular_values(weights[-1], widths[-1])
    right = 1.7**2 * sums(s_0, s_l, depth)
    printed = 1.7**2 * sums(s_0[:smallest], s_l[:smallest], depth)
    positive = int((torch.linalg.eigvalsh(matrix) > 1e-9).sum())
    rank = sum(value > 0 for value in values)
    assert spectrum_error(right, matrix) < EXACT
    assert positive == rank * widths[0] + rank * widths[-1] - rank**2
    if max(widths[0], widths[-1]) > smallest:
        assert spectrum_error(printed, matrix) > 0.01
        # With rank to spare, the count in print may happen to be enough.
        if rank == smallest:
            assert positive > smallest**2
    else:
        assert spectrum_error(printed, matrix) < EXACT


@pytest.mark.parametrize(("widths", "values"), BALANCED)
def test_eigenvectors_q_of_the_kernel(widths, values):
    weights, x = trained(9, widths, values)
    samples, depth = x.shape[1], len(weights)
    kernel = sum(
        torch.kron(((p @ x).T @ (p @ x)).contiguous(), (s @ s.T).contiguous())
        for p, s in zip(prefixes(weights), suffixes(weights), strict=True)
    )
    v = torch.linalg.svd(weights[0]).Vh
    u = torch.linalg.svd(weights[-1]).U
    s_0 = first_singular_values(weights[0], widths[0])
    s_l = first_singular_values(weights[-1], widths[-1])
    size = float(torch.linalg.matrix_norm(kernel, 2)) / samples
    for i in range(widths[0]):
        for j in range(widths[-1]):
            q = torch.kron(x.T @ v[i] / samples**0.5, u[:, j])
            value = 1.7**2 * sums(s_l[j : j + 1], s_0[i : i + 1], depth)[0]
            rest = kernel @ q / samples - value * q
            assert float(rest.norm()) < EXACT * size * float(q.norm())


def test_quotient_in_9b_loses_its_digits():
    # Exactly: 0.7^4 times the sum of (1 + h)^(2k), h = 1e-12, up to terms of 1e-24.
    first, last = 0.7 * (1 + 1e-12), 0.7
    exact = 0.7**4 * (3 + 6e-12)
    printed = (first**6 - last**6) / (first**2 - last**2)
    ours = float(cf.pair_eigenvalues([first], [last], 1, 1, depth=3).eigenvalues[0])
    assert abs(ours / exact - 1) < 1e-14
    assert abs(printed / exact - 1) > 1e-6


def test_power_zero_of_zero_is_one():
    # One layer: every eigenvalue is σ_x², also where singular values are 0.
    x = whitened(generator(1), 3, 5, 1.7)
    weights = [torch.zeros(2, 3).double()]
    assert (
        spectrum_error(torch.full((6,), 1.7**2, dtype=torch.float64), gauss_newton(weights, x))
        < EXACT
    )
    # Two layers, s_i > 0 with s_j = 0: the sum leaves s_i² because 0⁰ = 1.
    pair = cf.pair_eigenvalues([1.5], [0.0], 1, 1)
    assert pair.eigenvalues.tolist() == [1.5**2]


@pytest.mark.parametrize("widths", TWO)
@pytest.mark.parametrize("deficient", [False, True])
def test_equation_15_runs_over_all_inputs_and_outputs(widths, deficient):
    random = generator(10)
    weights, x = unbalanced(random, widths), whitened(random, widths[0], 7, 1.7)
    if deficient:
        weights[0] = torch.outer(weights[0][:, 0], weights[0][0])
    matrix = gauss_newton(weights, x)
    ranks = [int(torch.linalg.matrix_rank(weight)) for weight in weights]
    d_0, d_1, d_2 = widths
    s_1 = first_singular_values(weights[0], d_0) ** 2
    s_2 = first_singular_values(weights[1], d_2) ** 2
    right = 1.7**2 * (s_1[:, None] + s_2).flatten()
    ranges = min(d_0, d_1), min(d_1, d_2)
    printed = 1.7**2 * (s_1[: ranges[0], None] + s_2[: ranges[1]]).flatten()
    positive = int((torch.linalg.eigvalsh(matrix) > 1e-9).sum())
    assert spectrum_error(right, matrix) < EXACT
    assert positive == d_0 * d_2 - (d_0 - ranks[0]) * (d_2 - ranks[1])
    if d_1 < max(d_0, d_2):
        assert spectrum_error(printed, matrix) > 0.01
        if not deficient:
            assert positive > ranges[0] * ranges[1]
    else:
        assert spectrum_error(printed, matrix) < EXACT


@pytest.mark.parametrize("widths", TWO)
def test_equations_10_and_11_and_what_is_left_of_them_with_a_loss(widths):
    random = generator(11)
    weights, x = unbalanced(random, widths), whitened(random, widths[0], 7, 1.7)
    y = outputs(weights, x) + 3 * normal(random, widths[-1], 7)
    norms = [float(torch.linalg.matrix_norm(weight, 2)) ** 2 for weight in weights]
    squares = [float(weight.square().sum()) for weight in weights]
    largest = float(torch.linalg.eigvalsh(gauss_newton(weights, x))[-1])
    assert largest == pytest.approx(1.7**2 * sum(norms), rel=EXACT)
    # singh2026cracking, appendix D.3.3, has the larger of the two alone.
    assert largest > 1.05 * 1.7**2 * max(norms)
    trace = 1.7**2 * (widths[2] * squares[0] + widths[0] * squares[1])
    matrix = hessian(weights, x, y)
    assert float(matrix.trace()) == pytest.approx(trace, rel=EXACT)
    residual = torch.linalg.matrix_norm((outputs(weights, x) - y) @ x.T / 7, 2)
    found = float(torch.linalg.eigvalsh(matrix)[-1])
    assert found <= (1.7**2 * sum(norms) + float(residual)) * (1 + EXACT)
    assert found >= 1.7**2 * max(norms) * (1 - EXACT)


def solved(depth, fitted, seed=12, samples=9, scale=1.7):
    """A balanced network at the least-squares solution; fitted: at zero loss."""
    random = generator(seed)
    x = whitened(random, 4, samples, scale)
    y = normal(random, 3, 4) @ x if fitted else normal(random, 3, samples)
    u, s, v = torch.linalg.svd(y @ x.T / (samples * scale**2), full_matrices=False)
    bases = [v.T, *(orthonormal(random, 5, 3) for _ in range(depth - 1)), u]
    return [b * s ** (1 / depth) @ a.T for a, b in pairwise(bases)], x, y


@pytest.mark.parametrize("depth", [2, 3, 5])
@pytest.mark.parametrize("fitted", [True, False])
def test_equations_12_to_14_hold_at_zero_loss_only(depth, fitted):
    weights, x, y = solved(depth, fitted)
    samples, scale = x.shape[1], 1.7
    residual = outputs(weights, x) - y
    matrix = hessian(weights, x, y)
    largest = float(torch.linalg.eigvalsh(matrix)[-1])
    product = outputs(weights, torch.eye(4).double())
    of_labels = torch.linalg.svdvals(y)[:3]
    of_solution = torch.linalg.svdvals(y @ x.T)[:3] / (samples * scale**2)
    in_print = of_labels / (samples**0.5 * scale)
    sharpness = depth * scale**2 * float(in_print[0]) ** (2 * (1 - 1 / depth))
    corrected = depth * scale**2 * float(of_solution[0]) ** (2 * (1 - 1 / depth))
    layers = torch.linalg.svdvals(weights[0])[:3] ** depth
    # (12), and the corrected (13) and (14), do not ask for zero loss.
    assert float((product - y @ x.T / (samples * scale**2)).abs().max()) < EXACT
    assert float((layers - of_solution).abs().max()) < EXACT
    assert corrected == pytest.approx(largest, rel=EXACT)
    share = float(of_labels[0]) ** 2 / samples
    assert float(cf.sharpness_from_labels(share, depth, scale)) == pytest.approx(sharpness)
    if fitted:
        assert float(residual.abs().max()) < EXACT
        assert float((layers - in_print).abs().max()) < EXACT
        assert sharpness == pytest.approx(largest, rel=EXACT)
    else:
        assert float(residual.square().mean()) > 0.1
        assert float((layers - in_print).abs().max()) > 0.05
        assert sharpness > 1.05 * largest
        # Assumption 1 asks too much: residuals orthogonal to the inputs do not show.
        assert float((matrix - gauss_newton(weights, x)).abs().max()) < EXACT * largest


def test_shares_of_classes_need_labels_that_are_not_centred():
    labels = torch.tensor([0] * 7 + [1] * 2 + [2] * 3)
    y = torch.nn.functional.one_hot(labels).double().T
    shares = torch.linalg.svdvals(y) ** 2 / 12
    assert float((shares - vector(7, 3, 2) / 12).abs().max()) < EXACT
    centred = torch.linalg.svdvals(y - y.mean(1, keepdim=True)) ** 2 / 12
    assert float((centred - vector(7, 3, 2) / 12).abs().max()) > 0.1
