"""The output Hessian of independent activations, by enumeration; its moments, by quadrature."""

import itertools
import math

import pytest
import scipy
import torch
from torch.testing import assert_close

from hessian_spectra import closed_form as cf
from hessian_spectra.curvature import subspace_overlap


def instance(seed, classes=3, units=5):
    """Weights, E[A] of some random logits, and probabilities, two of them certain."""
    draws = torch.Generator().manual_seed(seed)
    weight = torch.randn(classes, units, generator=draws, dtype=torch.float64)
    p = torch.softmax(torch.randn(7, classes, generator=draws, dtype=torch.float64), dim=1)
    softmax_hessian = (torch.diag_embed(p) - p[:, :, None] * p[:, None]).mean(dim=0)
    active = torch.rand(units, generator=draws, dtype=torch.float64)
    active[:2] = torch.tensor([0.0, 1.0])
    return weight, softmax_hessian, active


@pytest.mark.parametrize("mean", [-6.0, -1.3, 0.0, 0.4, 5.0])
@pytest.mark.parametrize("deviation", [0.01, 1.0, 30.0])
def test_moments_are_the_integrals(mean, deviation):
    mean *= deviation

    def integral(power, centre=0.0):
        def density(t):
            return (mean + deviation * t - centre) ** power * math.exp(-t * t / 2)

        actual, _ = scipy.integrate.quad(density, -mean / deviation, 20, epsabs=0, epsrel=1e-12)
        return actual / math.sqrt(2 * math.pi)

    actual = cf.rectified_moments(mean, deviation)
    assert actual.active.item() == pytest.approx(integral(0), rel=1e-10)
    assert actual.mean.item() == pytest.approx(integral(1), rel=1e-10)
    centred = integral(2, actual.mean.item()) + (1 - integral(0)) * actual.mean.item() ** 2
    assert actual.variance.item() == pytest.approx(centred, rel=1e-9)


def test_moments_take_arrays_and_stay_within_their_ranges():
    actual = cf.rectified_moments(torch.linspace(-40, 40, 161).double()[:, None], [0.5, 1.0, 2.0])
    assert all(part.shape == (161, 3) for part in actual)
    assert all(bool((part >= 0).all()) for part in actual)
    assert bool((actual.active <= 1).all())
    assert actual.mean[0].tolist() == [0.0, 0.0, pytest.approx(0.0, abs=1e-80)]


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_mean_over_all_patterns_of_activations(seed):
    weight, softmax_hessian, active = instance(seed)
    expected = torch.zeros(5, 5, dtype=torch.float64)
    for pattern in itertools.product([0.0, 1.0], repeat=5):
        on = torch.tensor(pattern, dtype=torch.float64)
        probability = torch.where(on == 1, active, 1 - active).prod()
        rows = weight * on
        expected += probability * rows.T @ softmax_hessian @ rows
    actual = cf.decoupled_output_hessian(weight, softmax_hessian, active)
    assert_close(actual, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("seed", range(4))
def test_the_space_is_the_range_of_its_part_of_low_rank(seed):
    weight, softmax_hessian, active = instance(seed, classes=4, units=6)
    basis = cf.decoupled_top_space(weight, active)
    rows = weight * active
    values, vectors = torch.linalg.eigh(rows.T @ softmax_hessian @ rows)
    assert values[2].abs() < 1e-14 < values[3]
    assert subspace_overlap(basis, vectors[:, 3:]) == pytest.approx(1, abs=1e-12)
    # The units that are never active have no part in it.
    assert float(basis[0].norm()) < 1e-14
