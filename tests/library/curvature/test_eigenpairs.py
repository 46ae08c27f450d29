"""Dense spectra and top eigenpairs of matrices with a known spectrum."""

import warnings

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import eigsh
from torch import nn
from torch.testing import assert_close

from hessian_spectra import curvature as cv
from hessian_spectra.curvature import eigenpairs
from hessian_spectra.curvature.lanczos import Krylov

from .cases import Matrix, built, classes, draws, normal


def matrix(values, seed: int = 0) -> torch.Tensor:
    """A symmetric matrix with these eigenvalues and random eigenvectors."""
    values = torch.as_tensor(values, dtype=torch.float64)
    basis = torch.linalg.qr(normal(len(values), len(values), seed=seed)).Q
    product = (basis * values) @ basis.T
    return (product + product.T) / 2


BULK = (0.3 * normal(395, seed=8)).tolist()
OUTLIERS = [9.0, 7.0, 7.0, -8.0, 4.0]
KEYS = {
    "largest algebraic": lambda values: -values,
    "largest magnitude": lambda values: -values.abs(),
    "smallest algebraic": lambda values: values,
}


def expected(values: torch.Tensor, k: int, which: str = "largest algebraic") -> torch.Tensor:
    return values[torch.argsort(KEYS[which](values))[:k]].sort().values


def assert_right(actual, dense, k, which="largest algebraic", tol=1e-8):
    """Eigenvalues, residuals as reported, and orthonormal eigenvectors."""
    exact = torch.linalg.eigvalsh(dense.double())
    scale = float(exact.abs().max()) or 1.0
    # A residual r moves an eigenvalue by at most r.
    assert_close(
        actual.eigenvalues.double(), expected(exact, k, which), rtol=0, atol=2 * tol * scale
    )
    vectors = actual.eigenvectors()
    assert vectors.shape == (len(dense), k)
    residuals = (dense @ vectors - vectors * actual.eigenvalues).norm(dim=0) / scale
    assert bool(actual.converged.all())
    assert float(residuals.max()) <= 1.01 * tol
    gram = vectors.T @ vectors
    # Rounding accumulates over some hundred steps; float32 has 1e-7.
    assert float((gram - torch.eye(k)).abs().max()) < 1e4 * torch.finfo(dense.dtype).eps


@pytest.mark.parametrize(
    ("short", "long"),
    [("LA", "largest algebraic"), ("LM", "largest magnitude"), ("SA", "smallest algebraic")],
)
def test_scipys_words_say_which(short, long):
    dense = matrix([-9.0, -7.0, 5.0, 4.0, *(0.1 * normal(196)).tolist()])
    ours, same = (cv.top_eigenpairs(dense, 2, 1e-8, which) for which in (short, long))
    assert ours.eigenvalues.tolist() == same.eigenvalues.tolist()
    peer = eigsh(dense.numpy(), 2, which=short)[0]
    assert sorted(peer) == pytest.approx(ours.eigenvalues.tolist(), rel=1e-8)


@pytest.mark.parametrize("which", KEYS)
@pytest.mark.parametrize("k", [1, 2, 5, 20])
def test_top_eigenpairs_with_multiple_outliers(which, k):
    dense = matrix(OUTLIERS + BULK)
    actual = cv.top_eigenpairs(dense, k, 1e-8, which)
    assert_right(actual, dense, k, which)
    assert actual.method.startswith("Lanczos")


@settings(max_examples=60)
@given(
    distinct=st.lists(st.integers(-20, 20), min_size=1, max_size=6, unique=True),
    multiplicities=st.lists(st.integers(1, 60), min_size=6, max_size=6),
    k=st.integers(1, 12),
    which=st.sampled_from(sorted(KEYS)),
)
def test_a_few_eigenvalues_of_any_multiplicity(distinct, multiplicities, k, which):
    """The spectra of the papers: bulks of many equal eigenvalues, where Krylov spaces end early."""
    values = [float(v) for v, m in zip(distinct, multiplicities, strict=False) for _ in range(m)]
    values += [0.25] * max(0, 150 - len(values))
    actual = cv.top_eigenpairs(matrix(values), k, 1e-9, which, seed=k)
    exact = expected(torch.tensor(values, dtype=torch.float64), k, which)
    assert bool(actual.converged.all())
    # Of v and −v either may count as the k-th in magnitude.
    compared = torch.abs if which == "largest magnitude" else torch.Tensor.clone
    assert_close(
        compared(actual.eigenvalues).sort().values, compared(exact).sort().values, rtol=0, atol=1e-7
    )


def test_small_matrices_and_many_pairs_are_decomposed_densely():
    for dense, k in ((normal(1, 1), 1), (matrix(BULK[:90]), 3), (matrix(BULK), 150)):
        actual = cv.top_eigenpairs(dense, k)
        assert actual.method == "dense eigendecomposition"
        assert_right(actual, dense, k)
    assert cv.top_eigenpairs(matrix(BULK[:90]), 90).eigenvalues.shape == (90,)


@pytest.mark.parametrize("size", [30, 60])
def test_a_small_basis_is_restarted(size):
    counted = Matrix(matrix(OUTLIERS + BULK))
    actual = cv.top_eigenpairs(counted, 20, 1e-8, basis_size=size, max_iterations=5000)
    assert_right(actual, counted.matrix, 20)
    free = Matrix(counted.matrix)
    cv.top_eigenpairs(free, 20, 1e-8)
    assert free.products < counted.products


def test_too_few_iterations_are_admitted():
    dense = matrix(OUTLIERS + BULK)
    message = r"0 of 5 eigenpairs converged; the largest residual is \d.\de-\d\d, tol is 1.0e-10; "
    with pytest.warns(cv.ConvergenceWarning, match=message + "raise max_iterations above 12, or"):
        actual = cv.top_eigenpairs(dense, 5, 1e-10, max_iterations=12)
    assert not bool(actual.converged.any())
    vectors = actual.eigenvectors()
    residuals = (dense @ vectors - vectors * actual.eigenvalues).norm(dim=0)
    # What is reported is not smaller than what is true (relative to the largest Ritz value).
    assert float(actual.residuals.max()) * 9 >= float(residuals.max()) * (1 - 1e-9)


def test_residuals_are_measured_on_an_operator_that_is_not_symmetric():
    dense = matrix(OUTLIERS + BULK)
    skew = normal(400, 400, seed=3)
    with pytest.warns(cv.ConvergenceWarning, match="of 3 eigenpairs converged; .* raise"):
        actual = cv.top_eigenpairs(dense + 1e-3 * (skew - skew.T), 3, max_iterations=60)
    assert not bool(actual.converged.all())


def test_a_tolerance_below_rounding_is_not_promised():
    actual = pytest.warns(cv.ConvergenceWarning, match="raise tol: rounding or an asymmetry of the")
    with actual:
        cv.top_eigenpairs(matrix(BULK[:90]).float(), 2, 1e-12)


class Diagonal(Matrix):
    """A large matrix that is easily multiplied."""

    def _matmat(self, columns: torch.Tensor) -> torch.Tensor:
        return self.matrix.diagonal()[:, None] * columns


def test_a_tight_cluster_is_found_whole_when_verified():
    """Three eigenvalues that one Krylov space takes for one: a short second look misses a third."""
    cluster = torch.tensor([1.0, 1.0 - 1e-9, 1.0 - 2e-9, 0.9, 0.8]).double()
    values = torch.cat([cluster, torch.linspace(0.5, -0.5, 2995).double()])
    operator = Diagonal(torch.diag(values))
    for seed in range(20):
        actual = cv.top_eigenpairs(operator, 3, verify=True, seed=seed)
        assert float(actual.eigenvalues.min()) > 1 - 1e-8
        assert bool(actual.converged.all())


def test_a_start_saves_products_and_changes_nothing_else():
    dense = matrix(OUTLIERS + BULK)
    change = 1e-4 * normal(400, 400, seed=5)
    before = cv.top_eigenpairs(dense, 5, 1e-8)
    warm, cold = Matrix(dense + change + change.T), Matrix(dense + change + change.T)
    actual = cv.top_eigenpairs(warm, 5, 1e-6, start=before.eigenvectors())
    assert_right(actual, warm.matrix, 5, tol=1e-6)
    assert_right(cv.top_eigenpairs(cold, 5, 1e-6), cold.matrix, 5, tol=1e-6)
    assert warm.products < 0.6 * cold.products
    single = Matrix(warm.matrix)
    cv.top_eigenpairs(single, 1, 1e-6, start=actual.eigenvectors()[:, -1])
    assert single.products == 2


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_start_does_not_sink_into_subnormal_numbers(dtype):
    """Where the matrix is zero, each eigenvector keeps a small part of what it started from."""
    dense = torch.zeros(400, 400, dtype=dtype)
    dense[:200, :200] = matrix([9.0, 7.0, *(0.1 * normal(198)).tolist()]).to(dtype)
    start = normal(400).to(dtype)
    start[200:] = 1e3 * torch.finfo(dtype).tiny
    watched = Matrix(dense)
    actual = cv.top_eigenpairs(watched, 1, 1e-6, start=start)
    assert_right(actual, dense, 1, tol=1e-6)
    assert watched.products > 3
    assert not actual.eigenvectors()[200:].any()


def test_a_basis_that_is_tightened_too_late_is_built_anew():
    """Where nearly all eigenvalues are zero, orthogonality goes within a few products."""
    for seed in range(30):
        rank = int(torch.randint(10, 120, (1,), generator=draws(seed)))
        factors = normal(250, rank, seed=seed).float()
        dense = (factors * normal(rank, seed=seed + 1).float()) @ factors.T / 250
        dense = (dense + dense.T) / 2
        exact, vectors = torch.linalg.eigh(dense.double())
        distance = 10.0 ** -(1 + seed / 6)
        start = vectors[:, -1].float() + distance * normal(250, seed=seed + 2).float()
        with warnings.catch_warnings():
            # What the rounding of float32 allows is less in some of them.
            warnings.simplefilter("ignore", cv.ConvergenceWarning)
            actual = cv.top_eigenpairs(dense, 1, 1e-7, start=start)
        assert float(actual.eigenvalues[0]) == pytest.approx(float(exact[-1]), rel=1e-5), seed
        assert 0 < float(actual.residuals[0]) < 1e-5


@pytest.mark.parametrize("columns", [1, 3])
def test_a_start_of_zeros_is_random(columns):
    dense = matrix(OUTLIERS + BULK)
    actual = cv.top_eigenpairs(dense, 1, 1e-8, start=torch.zeros(400, columns).double())
    assert_right(actual, dense, 1)


@pytest.mark.parametrize("which", KEYS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_one_pair_without_reorthogonalisation(which, dtype, monkeypatch):
    """Also where other eigenvalues converge long before, and the basis loses orthogonality."""
    dense = matrix([1e3, -1e3, 500.0, *torch.linspace(-2, 2, 397).tolist(), -700.0]).to(dtype)
    tightened = []
    monkeypatch.setattr(
        Krylov, "tighten", lambda space, inner=Krylov.tighten: tightened.append(inner(space))
    )
    tol = 1e-10 if dtype == torch.float64 else 1e-6
    actual = cv.top_eigenpairs(dense, 1, tol, which)
    exact = torch.linalg.eigvalsh(dense.double())
    key = KEYS[which]
    wanted = float(key(exact).min())
    assert float(key(actual.eigenvalues.double())) == pytest.approx(wanted, abs=4e3 * tol)
    assert float(actual.residuals) <= tol
    hard = [0.0, 50.0, *torch.linspace(-1, 1, 397).tolist(), -1.5]
    actual = cv.top_eigenpairs(matrix(hard).to(dtype), 1, tol, "smallest algebraic")
    assert float(actual.eigenvalues) == pytest.approx(-1.5, abs=1e2 * tol)
    # The positive outlier converges first; from then on the basis is kept orthogonal.
    assert tightened


def test_a_pair_that_was_spoiled_is_found_again(monkeypatch):
    """Orthogonality that comes too late leaves a residual that only a product shows."""
    monkeypatch.setattr(Krylov, "strays", lambda space, *_: space.lean and space.size == 9)
    verified = []
    inner = eigenpairs._Search._verified

    def measured(search, pairs):
        verified.append(inner(search, pairs))
        return verified[-1]

    monkeypatch.setattr(eigenpairs._Search, "_verified", measured)
    dense = matrix([0.0, 50.0, *torch.linspace(-1, 1, 397).tolist(), -1.5])
    actual = cv.top_eigenpairs(dense, 1, 1e-10, "smallest algebraic")
    assert float(actual.eigenvalues) == pytest.approx(-1.5, abs=1e-12)
    assert [bool(residual <= 50 * 1e-10) for (residual,) in verified] == [False, True]
    assert bool(actual.converged)


def test_the_seed_decides_the_rounding_alone():
    dense = matrix(OUTLIERS + BULK)
    first, again, other = (cv.top_eigenpairs(dense, 5, 1e-9, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(first.eigenvectors(), again.eigenvectors())
    assert_close(first.eigenvalues, other.eigenvalues, rtol=0, atol=1e-7)


def test_products_that_are_not_finite_are_refused():
    dense = matrix(OUTLIERS + BULK)
    dense[0, 0] = torch.nan
    for solve in (cv.top_eigenpairs, cv.dense_spectrum):
        with pytest.raises(cv.NotFiniteError, match="not finite"):
            solve(dense)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_many_pairs_are_found_in_blocks(dtype):
    dense = matrix(OUTLIERS + BULK).to(dtype)
    counted = Matrix(dense)
    actual = cv.top_eigenpairs(counted, 60, 1e-5)
    assert_right(actual, dense, 60, tol=1e-5)
    assert actual.method == f"Lanczos, {counted.products} products"
    restarted = cv.top_eigenpairs(dense, 60, 1e-5, basis_size=140, max_iterations=5000)
    assert_right(restarted, dense, 60, tol=1e-5)


def network() -> cv.Problem:
    def make() -> nn.Module:
        return nn.Sequential(nn.Linear(8, 12), nn.Tanh(), nn.Linear(12, 3))

    data = [(normal(20, 8), classes(20)), (normal(30, 8, seed=4), classes(30, seed=5))]
    return cv.Problem(built(make), nn.CrossEntropyLoss(), data)


def test_top_pairs_of_a_network_are_those_of_its_dense_spectrum():
    operator = cv.hessian(network())
    dense, top = cv.dense_spectrum(operator), cv.top_eigenpairs(operator, 6, 1e-9)
    assert_close(top.eigenvalues, dense.eigenvalues[-6:], rtol=0, atol=1e-9)
    overlap = cv.subspace_overlap(top.eigenvectors(), dense.eigenvectors()[:, -6:])
    assert overlap == pytest.approx(1, abs=1e-9)


def test_dense_spectrum_is_complete():
    dense = matrix(OUTLIERS + BULK[:50])
    actual = cv.dense_spectrum(dense)
    assert_close(
        actual.eigenvalues, torch.tensor(sorted(OUTLIERS + BULK[:50]), dtype=torch.float64)
    )
    vectors = actual.eigenvectors()
    assert_close((vectors * actual.eigenvalues) @ vectors.T, dense)
    assert bool(actual.converged.all())
    assert actual.labels == ["numeric"] * 55
    zero = cv.dense_spectrum(torch.zeros(3, 3))
    assert not zero.residuals.any()
    assert bool(zero.converged.all())


def test_dense_matrices_are_symmetrised_but_not_made_symmetric():
    dense = matrix(OUTLIERS)
    rounded = dense + 1e-15 * normal(5, 5)
    assert torch.equal(cv.dense_matrix(rounded), cv.dense_matrix(rounded).T)
    with pytest.raises(cv.OperatorError, match=r"‖A − Aᵀ‖ = .* ‖A‖"):
        cv.dense_matrix(dense + 1e-4 * normal(5, 5))
