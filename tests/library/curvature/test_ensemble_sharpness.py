"""The sharpness of ensembles against dense eigenvalues, and where Lanczos could go wrong."""

import pytest
import torch
from scipy.sparse.linalg import LinearOperator, eigsh
from torch.testing import assert_close

from hessian_spectra import curvature as cv
from hessian_spectra.curvature.ensemble import SecondMoments, ensemble_sharpness
from hessian_spectra.models import Ensemble, HalfSquaredError

from .ensembles import ACTIVATIONS, SHAPES, data, dense, ensemble, normal

MODULE = "hessian_spectra.curvature.ensemble.largest_eigenvalue"


def assert_right(actual, exact, tol=1e-5):
    """Largest eigenvalues as in ``exact`` ``(N, p, p)``, residuals small, all converged."""
    expected = torch.linalg.eigvalsh(exact)[:, -1]
    # A residual of tol / 100 leaves an error of about its square over the gap.
    assert_close(actual.values, expected, rtol=tol / 100, atol=1e-300)
    assert bool((actual.residuals <= tol / 100).all())
    assert bool(actual.converged.all())


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_largest_eigenvalue(sizes, activation):
    networks, (x, y) = ensemble(sizes, activation, count=5), data(sizes)
    assert_right(ensemble_sharpness(networks, (x, y)), dense(networks, x, y))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_tighter_tolerance_goes_on_in_float64(activation):
    sizes = (3, 5, 4, 3)
    networks, (x, y) = ensemble(sizes, activation, count=5), data(sizes)
    assert_right(ensemble_sharpness(networks, (x, y), tol=1e-9), dense(networks, x, y), tol=1e-9)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("size", [1, 3])
def test_vanishing_weights(activation, size):
    """Without the last layer the top is degenerate; without any weight there is no curvature."""
    sizes = (size, 6, 5, size)
    networks, (x, y) = ensemble(sizes, activation, count=3), data(sizes)
    networks.weights[2][0] = 0
    for weight in networks.weights:
        weight[1] = 0
    actual = ensemble_sharpness(networks, (x, y))
    assert_right(actual, dense(networks, x, y))
    assert float(actual.values[1]) == float(actual.residuals[1]) == 0


def test_zero_residual_and_equal_eigenvalues():
    """Orthogonal layers and whitened inputs: the matrices of all blocks are the identity."""
    first = torch.linalg.qr(normal(2, 4, 4)).Q
    networks = Ensemble(
        weights=(first, first.mT.contiguous()), multipliers=(1.0, 1.0), activation="linear"
    )
    eye = torch.eye(4, dtype=torch.float64)
    moments = SecondMoments(eye, eye, torch.tensor(4.0).double(), 8)
    actual = ensemble_sharpness(networks, moments)
    # W_2 dW_1 + dW_2 W_1 of unit length: at most two, where the two layers add up.
    assert_close(actual.values, torch.full((2,), 2.0).double())


@pytest.mark.parametrize("gap", [3e-5, 1e-4, 1e-3])
def test_a_second_eigenvalue_does_not_hide_the_largest(gap):
    """For some start vectors the residual falls to 1e-5 before the largest eigenvalue shows."""
    eigenvalues = torch.cat([torch.tensor([1.0, 1 - gap]), torch.linspace(0, 0.8, 98)]).double()
    single = Ensemble(
        weights=(torch.zeros(1, 1, 100).double(),), multipliers=(1.0,), activation="linear"
    )
    zero = torch.zeros(1, 100).double()
    moments = SecondMoments(torch.diag(eigenvalues), zero, zero.sum(), 1)
    for seed in range(30):
        assert float(ensemble_sharpness(single, moments, seed=seed).values) == pytest.approx(
            1, rel=1e-8
        )


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("scale", [1e-2, 1e-8])
def test_small_last_layers(activation, scale):
    """Each eigenvector of the last hidden layer's moments comes nearly K times."""
    networks = ensemble((4, 30, 4), activation, count=6)
    networks.weights[1].mul_(scale)
    samples = normal(40, 4), normal(40, 4, seed=1)
    actual, exact = (
        ensemble_sharpness(networks, samples),
        torch.linalg.eigvalsh(dense(networks, *samples)),
    )
    assert_close(actual.values, exact[:, -1], rtol=1e-7, atol=0)
    assert bool(actual.converged.all())


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("depth", [2, 3])
def test_networks_that_diverged_are_marked_and_leave_the_others_alone(activation, depth):
    sizes = (3, *(5,) * (depth - 1), 3)
    networks, samples = ensemble(sizes, activation, count=6), data(sizes)
    networks.weights[0][1] = torch.nan
    networks.weights[1][2, 0, 0] = torch.inf
    # Too large for float32 and for float64.
    for weight in networks.weights:
        weight[3] *= 1e15
        weight[4] *= 1e200
    actual = ensemble_sharpness(networks, samples)
    whole = [0, 3, 5]
    assert_right(
        ensemble_sharpness(networks.select(whole), samples), dense(networks.select(whole), *samples)
    )
    assert actual.converged.tolist() == [index in whole for index in range(6)]
    assert actual.values.isnan().tolist() == actual.residuals.isnan().tolist()
    assert actual.values.isnan().tolist() == [index not in whole for index in range(6)]
    alone = ensemble_sharpness(networks.select(whole), samples)
    assert_close(actual.values[whole], alone.values, rtol=1e-12, atol=0)


def test_too_few_steps_are_owned_up_to(monkeypatch):
    monkeypatch.setattr(f"{MODULE}._STEPS", 3)
    monkeypatch.setattr(f"{MODULE}._RUNS", 2)
    networks, samples = ensemble((5, 20, 5), "linear"), data((5, 20, 5))
    actual = ensemble_sharpness(networks, samples)
    assert not actual.converged.any()
    # What is reported is the residual of the vector found, not an estimate of it.
    exact = torch.linalg.eigvalsh(dense(networks, *samples))[:, -1]
    assert bool((actual.values < exact * (1 - 1e-6)).all())
    assert bool((actual.residuals > 1e-4).all())


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_batches_change_nothing(activation, monkeypatch):
    sizes = (3, 8, 3)
    networks, samples = ensemble(sizes, activation, count=9), data(sizes)
    whole = ensemble_sharpness(networks, samples)
    monkeypatch.setattr(f"{MODULE}._VECTOR_BYTES", {True: 800})
    parts = ensemble_sharpness(networks, samples)
    assert_close(parts.values, whole.values, rtol=1e-12, atol=0)
    assert parts.converged.all()


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning")
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_against_curvlinops_and_eigsh(activation):
    """Networks with large products, as the papers have them."""
    size, count = 32, 2
    networks = ensemble((size, 40, size), activation, count)
    x, y = normal(64, size), normal(64, size, seed=1)
    actual = ensemble_sharpness(networks, (x, y))
    for index in range(count):
        lone = cv.Problem(networks.network(index), HalfSquaredError("sample"), [(x, y)])
        operator = cv.hessian(lone, backend="curvlinops")
        product = LinearOperator(
            operator.shape, lambda v, at=operator: (at @ torch.from_numpy(v)).numpy(), dtype=float
        )
        value = eigsh(product, k=1, which="LA", tol=1e-8)[0][0]
        assert float(actual.values[index]) == pytest.approx(value, rel=1e-7)
