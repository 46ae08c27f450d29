"""Deep linear networks: what goes beyond the contract that all closed forms share."""

import math
from itertools import pairwise

import pytest
import torch

from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.models import HalfSquaredError
from hessian_spectra.models.ensemble import Perceptron

from .contract import vector
from .deep_networks import (
    balanced,
    gauss_newton,
    hessian,
    normal,
    outputs,
    unbalanced,
    whitened,
)

EXACT = 1e-12

# Widths d_0, ..., d_L with the singular values of a balanced network.
NETWORKS = [
    ((3, 2), (1.0, 0.5)),
    ((3, 4, 2), (1.2, 0.3)),
    ((4, 1, 3), (0.8,)),
    ((3, 4, 5, 2), (1.3, 1.3)),
    ((4, 2, 3, 3), (1.1, 0.0)),
    ((3, 3, 3, 3, 3), (1.5, 1.5, 0.2)),
]
networks = pytest.mark.parametrize(("widths", "values"), NETWORKS)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def drawn(widths, values, scale=2.0, seed=0):
    random = generator(seed)
    weights = balanced(random, widths, vector(*values))
    return weights, whitened(random, widths[0], widths[0] + 2, scale)


@networks
@pytest.mark.parametrize("backend", ["autograd", "curvlinops"])
def test_other_libraries_agree(widths, values, backend):
    weights, x = drawn(widths, values)
    y = normal(generator(1), widths[-1], x.shape[1])
    model = Perceptron(weights, [1.0] * len(weights), "linear")
    problem = cv.Problem(model, HalfSquaredError("sample"), [(x.T, y.T)])
    matrix = cv.dense_matrix(cv.ggn(problem, backend=backend))
    spectrum = cf.deep_linear(weights, x, y)
    size = spectrum.eigenvalues[-1]
    assert float((torch.linalg.eigvalsh(matrix) - spectrum.eigenvalues).abs().max()) < EXACT * size
    vectors = spectrum.eigenvectors()
    rest = matrix @ vectors - vectors * spectrum.eigenvalues
    assert float(rest.abs().max()) < EXACT * size


@networks
def test_pairs_are_those_of_the_spectrum(widths, values):
    weights, x = drawn(widths, values)
    spectrum = cf.deep_linear(weights, x, x.new_zeros(widths[-1], x.shape[1]))
    s = torch.linalg.svdvals(weights[0])[: len(values)]
    pairs = cf.pair_eigenvalues(s, s, widths[0], widths[-1], depth=len(weights), input_scale=2.0)
    for kind in ("outlier", "bulk"):
        actual, expected = pairs.select(kind), spectrum.select(kind)
        assert len(actual) == len(expected)
        assert torch.allclose(actual, expected, rtol=1e-12, atol=0)
    assert sum(pairs.multiplicities) == widths[0] * widths[-1]


def test_pairs_carry_the_names_of_their_singular_values():
    spectrum = cf.pair_eigenvalues([3.0, 1.0], [2.0], inputs=3, outputs=2)
    assert spectrum.eigenvalues.tolist() == [0.0, 1.0, 4.0, 5.0, 9.0, 13.0]
    assert spectrum.labels == [
        "zero", "bulk 2,0", "bulk 0,1", "outlier 2,1", "bulk 1,0", "outlier 1,1",
    ]  # fmt: skip


def test_printed_pairs_end_at_the_singular_values_given():
    # Not a plain product: a singular value of 0 among those given is within the printed range.
    spectrum = cf.pair_eigenvalues([3.0, 0.0], [2.0], 5, 4, index_set="printed")
    assert spectrum.eigenvalues.tolist() == [4.0, 13.0]
    assert spectrum.labels == ["bulk 0,1", "outlier 1,1"]


@pytest.mark.parametrize("depth", [1, 2, 3, 50])
def test_close_singular_values_keep_their_digits(depth):
    # The quotient (9b) has no digit left here: both differences are of the size of their rounding.
    first, last = 1.0 + 2.0**-50, 1.0
    pairs = cf.pair_eigenvalues([first], [last], 1, 1, depth=depth)
    expected = math.fsum(first ** (2 * k) * last ** (2 * (depth - 1 - k)) for k in range(depth))
    assert float(pairs.eigenvalues[0]) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("small", [1e-3, 1e-8, 1e-15, 0.0])
def test_depth_beyond_the_range_of_powers(small):
    # 0.5^(2·599) underflows to 1e-361; its share in the sum is lost, the sum is not.
    pairs = cf.pair_eigenvalues([1.0], [small], 1, 1, depth=600)
    assert float(pairs.eigenvalues[0]) == pytest.approx(1 / (1 - small**2), rel=1e-14)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("widths", [(3, 2), (3, 4, 2), (2, 3, 1, 4), (3, 2, 3, 2, 3)])
def test_trace_is_exact_for_the_hessian_too(widths, seed):
    random = generator(seed)
    weights, x = unbalanced(random, widths), normal(random, widths[0], 5)
    y = 10 * normal(random, widths[-1], 5)
    trace = cf.deep_linear_trace(weights, x @ x.T / 5)
    for matrix in (gauss_newton(weights, x), hessian(weights, x, y)):
        assert float(trace) == pytest.approx(float(matrix.trace()), rel=1e-12)
    # The residual makes the Hessian another matrix, of the same trace.
    if len(weights) > 1:
        gap = torch.linalg.matrix_norm(hessian(weights, x, y) - gauss_newton(weights, x))
        assert gap > torch.linalg.matrix_norm(gauss_newton(weights, x)) / 10


@pytest.mark.parametrize("widths", [(3, 2), (3, 4, 2), (2, 3, 1, 4), (3, 2, 3, 2, 3)])
def test_bound_and_largest_eigenvalue(widths):
    random = generator(7)
    weights, x = unbalanced(random, widths), whitened(random, widths[0], 6, 1.5)
    largest = float(torch.linalg.eigvalsh(gauss_newton(weights, x))[-1])
    bound = float(cf.deep_linear_bound(weights, 1.5))
    assert largest <= bound * (1 + 1e-12)
    if len(widths) <= 3:
        assert largest == pytest.approx(bound, rel=1e-12)
        assert float(cf.deep_linear_sharpness(weights, 1.5)) == pytest.approx(bound, rel=1e-12)
    if widths == (3, 2, 3, 2, 3):
        assert largest < 0.99 * bound


@networks
def test_balanced_networks_attain_the_bound(widths, values):
    weights, x = drawn(widths, values)
    largest = float(torch.linalg.eigvalsh(gauss_newton(weights, x))[-1])
    for value in (cf.deep_linear_bound(weights, 2.0), cf.deep_linear_sharpness(weights, 2.0)):
        assert float(value) == pytest.approx(largest, rel=1e-12)


def test_balancedness_defect():
    random = generator(3)
    weights = balanced(random, (3, 4, 5, 2), vector(2, 1))
    assert cf.balancedness_defect(weights) < 1e-15
    assert cf.balancedness_defect(weights[:1]) == 0.0
    assert cf.balancedness_defect([0 * layer for layer in weights]) == 0.0
    # ‖(1.2² - 1) W W'‖ = 0.44 √17, and the largest squared norm is 1.44 · 5.
    scaled = [weights[0], 1.2 * weights[1], 1.2 * weights[2]]
    defect = 0.44 * 17**0.5 / 7.2
    assert cf.balancedness_defect(scaled) == pytest.approx(defect, rel=1e-12)
    assert cf.balancedness_defect([7 * layer for layer in scaled]) == pytest.approx(defect)
    assert cf.balancedness_defect([[[1.0]], [[0.0]]]) == 1.0


def least_squares_network(depth, samples, scale, seed):
    """Whitened inputs, targets that they do not fit, and a balanced network at the optimum."""
    random = generator(seed)
    x = whitened(random, 4, samples, scale)
    y = normal(random, 3, samples)
    u, s, v = torch.linalg.svd(y @ x.T / (samples * scale**2), full_matrices=False)
    root = torch.diag(s ** (1 / depth))
    inner = [torch.linalg.qr(normal(random, 5, 3)).Q for _ in range(depth - 1)]
    bases = [v.T, *inner, u]
    return [b @ root @ a.T for a, b in pairwise(bases)], x, y


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_least_squares_point(depth):
    weights, x, y = least_squares_network(depth, 12, 1.5, seed=depth)
    residual = outputs(weights, x) - y
    assert residual.square().mean() > 0.1
    matrix = hessian(weights, x, y)
    spectrum = cf.deep_linear(weights, x, y)
    size = spectrum.eigenvalues[-1]
    # The residual does not show in the Hessian.
    assert float((matrix - gauss_newton(weights, x)).abs().max()) < EXACT * size
    assert float((torch.linalg.eigvalsh(matrix) - spectrum.eigenvalues).abs().max()) < EXACT * size
    solution = cf.least_squares_singular_values(x, y)
    sharpness = cf.least_squares_sharpness(solution[0], depth, 1.5)
    assert float(sharpness) == pytest.approx(float(size), rel=1e-12)
    of_layers = cf.least_squares_singular_values(x, y, depth)
    for weight in weights:
        assert torch.allclose(torch.linalg.svdvals(weight)[:3], of_layers, rtol=1e-12)
    # Without the inputs' part in the labels the sharpness comes out too large.
    share = torch.linalg.svdvals(y)[0] ** 2 / 12
    if depth > 1:
        assert float(cf.sharpness_from_labels(share, depth, 1.5)) > 1.1 * float(size)


def test_sharpness_of_arrays():
    depths = torch.tensor([[1.0], [2.0], [4.0]]).double()
    shares = vector(0.25, 1.0)
    actual = cf.sharpness_from_labels(shares, depths, 1.0)
    expected = torch.tensor([[1.0, 1.0], [1.0, 2.0], [2**0.5, 4.0]], dtype=torch.float64)
    assert torch.allclose(actual, expected, rtol=1e-14)
    # At zero loss ‖W‖ = √α/σ_x.
    other = cf.least_squares_sharpness(shares.sqrt() / 3, depths, 3.0)
    assert torch.allclose(other, cf.sharpness_from_labels(shares, depths, 3.0), rtol=1e-14)


def test_least_squares_needs_whitened_inputs():
    x = vector(1, 2)[:, None] * torch.eye(2)
    with pytest.raises(
        cf.AssumptionError, match=r"eq\. 12\) assumes x xᵀ / n = σ² I; violated by 0\.6 "
    ):
        cf.least_squares_singular_values(x, x)
    assert len(cf.least_squares_singular_values(x, x, check=False)) == 2


def test_three_layers_name_the_equation():
    random = generator(2)
    x = whitened(random, 3, 4)
    with pytest.raises(cf.AssumptionError) as caught:
        cf.deep_linear(unbalanced(random, (3, 3, 3, 3)), x, x)
    assert "(anon2026data, eq. 9) assumes W_l W_lᵀ = W_{l+1}ᵀ W_{l+1}; violated by" in str(
        caught.value
    )
    assert "start from balanced weights and small steps, or pass check=False" in str(caught.value)


def test_layers_may_come_as_one_array():
    weights = torch.eye(2).double().expand(3, 2, 2)
    x = torch.eye(2).double()
    expected = cf.deep_linear(list(weights), x, x).eigenvalues
    assert torch.equal(cf.deep_linear(weights, x, x).eigenvalues, expected)
    assert torch.equal(cf.deep_linear(weights.numpy(), x, x).eigenvalues, expected)
