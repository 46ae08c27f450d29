"""Error bars of traces and densities: how often they hold the truth, and what holding it costs."""

import gc
import math

import pytest
import scipy.stats
import torch
from torch.testing import assert_close

from hessian_spectra import curvature as cv
from hessian_spectra.curvature import probes as probing

from .cases import normal
from .test_eigenpairs import matrix

P = 120
INDEX = torch.arange(1, P + 1).double()
SPECTRA = {
    "flat": 1 + 0.3 * normal(P, seed=8),
    "power law": 1 / INDEX,
    "exponential": 0.9**INDEX,
    "spiked": torch.cat([torch.tensor([20.0, 10.0, 5.0, -4.0]).double(), 0.3 * normal(P - 4)]),
    # Hutchinson's samples are a chi-square with one degree of freedom.
    "one": torch.cat([torch.tensor([50.0]).double(), 0.05 * normal(P - 1)]),
    "semicircle": normal(200, seed=3),
    "slow power law": torch.arange(1, 201).double() ** -0.5,
    "on the edge": torch.cat([torch.full((8,), 3.0).double(), 0.6 * normal(192)]),
}
SEEDS = 100
METHODS = [("hutchinson", 12), ("hutch++", 18), ("xtrace", 8), ("xtrace", 30)]
SETTINGS = [
    *((name, *at, {}) for name in [*SPECTRA][:4] for at in METHODS),
    *((name, "adaptive", 40, {}) for name in SPECTRA),
    ("one", "hutchinson", 8, {}),
    # In three repetitions.
    ("exponential", "xtrace", 24, {"memory": 8 * P * 4}),
]


def fewest(count):
    """A right interval at 95 % holds fewer of so many only once in 3000 times."""
    return int(scipy.stats.binom.ppf(1 / 3000, count, 0.95))


def excess(squared, errors):
    """The mean of the variances that are told less that of the squared errors, in its deviations.

    Of right variances it is beyond 3.5 once in 2000 times; of half of them it is near -5.
    """
    differences = squared - errors.square()
    return float(differences.mean() / differences.std()) * len(differences) ** 0.5


def excess_of(estimates, exact):
    """The :func:`excess` of pairs of a value and its standard error."""
    values, errors = torch.tensor(estimates).double().T
    return excess(errors.square(), values - exact)


def held(dense, exact, seeds, *method, **settings):
    """The number of the seeds' intervals that hold the trace."""
    made = (cv.trace(dense, *method, seed=seed, **settings).interval() for seed in range(seeds))
    return sum(low <= exact <= high for low, high in made)


@pytest.mark.parametrize(("spectrum", "method", "probes", "settings"), SETTINGS)
def test_intervals_hold_the_trace_as_often_as_they_say(spectrum, method, probes, settings):
    values = SPECTRA[spectrum]
    counted = held(matrix(values), float(values.sum()), 60, method, probes=probes, **settings)
    assert counted >= fewest(60)


@pytest.mark.parametrize(("method", "probes"), [*METHODS, ("logarithm", 8)])
def test_standard_errors_are_neither_too_short_nor_too_long(method, probes):
    if method == "logarithm":
        values = 0.5 + INDEX / P
        exact, settings = float(values.log().sum()), {"steps": 12, "function": torch.log}
        estimate = cv.trace_of_function
    else:
        values = SPECTRA["spiked"]
        exact, settings, estimate = float(values.sum()), {"method": method}, cv.trace
    dense = matrix(values)
    made = [estimate(dense, probes=probes, seed=seed, **settings) for seed in range(200)]
    assert abs(excess_of([(each.value, each.standard_error) for each in made], exact)) < 3.5


class Watched:
    """A diagonal matrix that sees how many vectors of its length exist while it multiplies."""

    def __init__(self, values: torch.Tensor) -> None:
        self.values = values[:, None]
        self.shape, self.dtype = (len(values), len(values)), values.dtype
        self.device = values.device
        self.together = self.alive = 0

    def __matmul__(self, x: torch.Tensor) -> torch.Tensor:
        self.together = max(self.together, x.shape[1])
        tensors = [actual for actual in gc.get_objects() if type(actual) is torch.Tensor]
        sizes = {
            tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes()
            for tensor in tensors
            if tensor.numel() >= len(self.values)
        }
        self.alive = max(self.alive, sum(sizes.values()) // (8 * self.shape[0]))
        return self.values * x


@pytest.mark.parametrize(("method", "basis"), [("hutchinson", 0), ("hutch++", 20), ("xtrace", 30)])
def test_probes_are_not_held(method, basis):
    operator = Watched(normal(30_000))
    before = Watched(operator.values[:, 0])
    before @ torch.zeros(30_000, 0).double()
    cv.trace(operator, method, probes=60)
    assert operator.together == 8
    # The basis, and the vectors that are multiplied just now.
    assert operator.alive - before.alive <= basis + 3 * 8


def test_a_basis_above_the_memory_is_split_into_repetitions():
    operator = Watched(normal(30_000))
    before = Watched(operator.values[:, 0])
    before @ torch.zeros(30_000, 0).double()
    vector = 8 * 30_000
    actual = cv.trace(operator, "xtrace", probes=60, memory=10 * vector)
    assert (actual.method, actual.products) == ("xtrace, 3 repetitions", 60)
    assert operator.alive - before.alive <= 10 + 2 * 8 + 2
    assert actual.degrees_of_freedom > 9
    low, high = actual.interval(0.999)
    assert low < float(operator.values.sum()) < high
    few = cv.trace(operator, "hutch++", probes=60, memory=5 * vector)
    assert few.products == 60
    # Five vectors and their images; the rest are samples.
    assert few.degrees_of_freedom == 60 - 2 * 5 - 1


@pytest.mark.parametrize("together", [1, 3, 8])
def test_how_many_go_together_changes_nothing(monkeypatch, together):
    dense = matrix(SPECTRA["spiked"])
    expected = [
        cv.trace(dense, method, probes=24) for method in ("hutchinson", "hutch++", "xtrace")
    ]
    density = cv.spectral_density(dense, probes=7, steps=8)
    monkeypatch.setattr(probing, "_TOGETHER", together)
    for item in expected:
        actual = cv.trace(dense, item.method, probes=24)
        assert actual.value == pytest.approx(item.value, rel=1e-11)
        assert actual.standard_error == pytest.approx(item.standard_error, rel=1e-8)
    assert cv.trace(dense, "exact").value == pytest.approx(float(SPECTRA["spiked"].sum()))
    other = cv.spectral_density(dense, probes=7, steps=8)
    assert_close(other.nodes, density.nodes, rtol=1e-9, atol=1e-12)


def test_probes_that_agree_by_chance_do_not_close_the_case():
    """Two sign vectors agree at the only two entries that matter every other time."""
    operator = torch.zeros(100, 100, dtype=torch.float64)
    operator[:2, :2] = torch.tensor([[1.0, 3.0], [3.0, 1.0]])
    counted = 0
    for seed in range(60):
        actual = cv.trace(operator, probes=20, seed=seed)
        low, high = actual.interval()
        if high - low < 1e-9:
            assert actual.value == pytest.approx(2, abs=1e-12)
        counted += low - 1e-12 <= 2 <= high + 1e-12
    assert counted >= fewest(60)


def test_an_exhausted_range_is_exact_to_rounding():
    low = matrix([3.0, 1.0, -2.0] + [0.0] * 197)
    for method in ("hutch++", "xtrace"):
        actual = cv.trace(low, method, probes=30)
        assert actual.value == pytest.approx(2, abs=1e-12)
        assert actual.standard_error < 1e-13
        assert actual.products == 30


def test_a_range_that_rounding_hides_is_not_called_exact():
    """In float32 what is 1e-5 of the largest images counts for the trace, not for the range."""
    values = torch.cat([torch.tensor([1e4, 5e3]).double(), torch.full((2998,), 1e-2).double()])
    operator = Watched(values[torch.randperm(3000, generator=torch.Generator().manual_seed(0))])
    basis = torch.linalg.qr(normal(3000, 2)).Q

    class LowRankPlusIdentity:
        shape, dtype, device = (3000, 3000), torch.float32, operator.device

        def __matmul__(self, x):
            large = basis * torch.tensor([1e4, 5e3]).double()
            return (large @ (basis.T @ x.double()) + 1e-2 * x.double()).float()

    actual = cv.trace(LowRankPlusIdentity(), probes=30)
    low, high = actual.interval()
    assert low <= 15030 <= high
    assert actual.value == pytest.approx(15030, abs=1.0)


def test_density_intervals_hold_the_density_as_often_as_they_say():
    """At points of the bulk and at single outliers, where the samples are skewed."""
    values = SPECTRA["spiked"]
    dense = matrix(values)
    counts, plain = torch.zeros(5), torch.zeros(5)
    for seed in range(SEEDS):
        actual = cv.spectral_density(dense, probes=6, steps=40, width=0.02, points=400, seed=seed)
        low, high = actual.interval()
        assert bool((low >= 0).all())
        assert bool(((low <= actual.density) & (actual.density <= high)).all())
        distances = (actual.grid[:, None] - values) / actual.width
        exact = (-distances.square() / 2).exp().mean(dim=1) / (
            actual.width * math.sqrt(2 * math.pi)
        )
        places = [int((actual.grid - at).abs().argmin()) for at in (-4.0, 0.0, 0.4, 10.0, 20.0)]
        counts += ((low <= exact) & (exact <= high))[places]
        plain += ((actual.density - exact).abs() < 1.96 * actual.standard_error)[places]
    assert float(counts.min()) >= fewest(SEEDS)
    # Two standard errors would not have done.
    assert float(plain.min()) < fewest(SEEDS)


def test_standard_errors_of_a_densitys_means_are_neither_too_short_nor_too_long():
    values = SPECTRA["spiked"]
    dense, shares = matrix(values), values.abs() / values.abs().sum()
    made = [
        cv.spectral_density(dense, probes=8, steps=25, points=2, seed=seed) for seed in range(200)
    ]
    for means, exact in (
        ([each.moment(2) for each in made], values.square().mean()),
        ([each.mean(torch.atan) for each in made], values.atan().mean()),
        ([each.negative_mass() for each in made], shares[values < 0].sum()),
        ([each.effective_rank(P) for each in made], (-shares.xlogy(shares)).sum().exp()),
    ):
        assert abs(excess_of(means, float(exact))) < 3.5
