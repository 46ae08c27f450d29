"""Error bars of traces and densities: how often they hold the truth, and what holding it costs."""

import gc
import math
from dataclasses import replace

import pytest
import scipy.stats
import torch
from torch import nn
from torch.testing import assert_close

from hessian_spectra import curvature as cv
from hessian_spectra.curvature import probes as probing
from hessian_spectra.curvature.range_basis import RangeBasis
from hessian_spectra.curvature.xtrace import Sketch, variance
from hessian_spectra.seeding import generator

from .cases import normal
from .test_eigenpairs import matrix

P = 120
INDEX = torch.arange(1, P + 1).double()
SPECTRA = {
    "flat": 1 + 0.3 * normal(P, seed=8),
    "power law": 1 / INDEX,
    "exponential": 0.9**INDEX,
    "spiked": torch.cat([torch.tensor([20.0, 10.0, 5.0, -4.0]).double(), 0.3 * normal(P - 4)]),
}
SEEDS = 100


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


def held(values, method, probes, interval, seeds=SEEDS):
    """The number of the seeds' intervals that hold the trace."""
    dense, exact = matrix(values), float(values.sum())
    count = 0
    for seed in range(seeds):
        low, high = interval(cv.trace(dense, method, probes=probes, seed=seed))
        count += low <= exact <= high
    return count


@pytest.mark.parametrize(("method", "probes"), [("hutchinson", 12), ("hutch++", 18)])
@pytest.mark.parametrize("spectrum", ["flat", "exponential", "spiked"])
def test_intervals_hold_the_trace_as_often_as_they_say(spectrum, method, probes):
    counted = held(SPECTRA[spectrum], method, probes, cv.TraceEstimate.interval, 60)
    assert counted >= fewest(60)


@pytest.mark.parametrize(("method", "probes"), [("hutchinson", 12), ("hutch++", 18)])
def test_standard_errors_of_traces_are_neither_too_short_nor_too_long(method, probes):
    dense, exact = matrix(SPECTRA["spiked"]), float(SPECTRA["spiked"].sum())
    made = [cv.trace(dense, method, probes=probes, seed=seed) for seed in range(200)]
    assert abs(excess_of([(each.value, each.standard_error) for each in made], exact)) < 3.5


def test_standard_errors_of_functions_are_neither_too_short_nor_too_long():
    values = 0.5 + INDEX / P
    dense, exact = matrix(values), float(values.log().sum())
    made = [
        cv.trace_of_function(dense, torch.log, probes=8, steps=12, seed=seed) for seed in range(200)
    ]
    assert abs(excess_of([(each.value, each.standard_error) for each in made], exact)) < 3.5


def sketches(values, n, count=400):
    """Many draws of XTrace's vectors at a time: the matrix, the vectors, what it keeps of them."""
    dense = matrix(values)
    signs = normal(count, len(dense), n).sign()
    basis, triangle = torch.linalg.qr(dense @ signs)
    forms = (signs * (dense @ signs)).sum(dim=1)
    return dense, signs, Sketch(triangle, basis.mT @ dense @ basis, basis.mT @ signs, forms)


@pytest.mark.parametrize("n", [4, 15])
@pytest.mark.parametrize("spectrum", SPECTRA)
def test_xtraces_intervals_hold_the_trace_as_often_as_they_say(spectrum, n):
    _, _, sketch = sketches(SPECTRA[spectrum], n)
    estimates = sketch.estimates()
    squared, degrees = variance(sketch, estimates)
    error = (estimates.mean(dim=1) - float(SPECTRA[spectrum].sum())).abs()
    margin = torch.from_numpy(scipy.stats.t.ppf(0.975, degrees)) * squared.sqrt()
    assert int((error <= margin).sum()) >= fewest(400)
    # The covariance of the estimates is a part of it: of half of that it would be near -4.
    assert excess(squared, error) > -3
    # Neither much too wide: the variance is unbiased, but for what is cut off at zero, and known
    # to a tenth from 400 draws of the error.
    assert float(squared.mean() / error.square().mean()) < 1.5
    # Two standard errors from the spread alone would not have done.
    spread = 1.96 * estimates.std(dim=1) / n**0.5
    assert int((error <= spread).sum()) < fewest(400)


def test_the_estimate_is_that_of_the_small_matrices():
    dense = matrix(SPECTRA["spiked"])
    signs = torch.cat(list(probing.rademacher(dense, 15, generator(3, "probes")))).T
    basis, triangle = torch.linalg.qr(dense @ signs)
    forms = (signs * (dense @ signs)).sum(dim=0)
    sketch = Sketch(triangle, basis.T @ dense @ basis, basis.T @ signs, forms)
    squared, degrees = variance(sketch, sketch.estimates())
    actual = cv.trace(dense, "xtrace", probes=30, seed=3)
    assert actual.value == pytest.approx(float(sketch.estimates().mean()), rel=1e-12)
    assert actual.standard_error == pytest.approx(float(squared) ** 0.5, rel=1e-10)
    assert actual.degrees_of_freedom == pytest.approx(float(degrees), rel=1e-10)
    low, high = actual.interval(0.9)
    margin = scipy.stats.t.ppf(0.95, float(degrees)) * float(squared) ** 0.5
    assert (high - low) / 2 == pytest.approx(margin, rel=1e-10)


def test_two_standard_errors_of_skewed_samples_are_too_little():
    """One large eigenvalue: the samples are a chi-square with one degree of freedom."""
    values = torch.cat([torch.tensor([50.0]).double(), 0.05 * normal(P - 1)])

    def plain(actual):
        margin = 1.96 * actual.standard_error
        return actual.value - margin, actual.value + margin

    assert held(values, "hutchinson", 8, plain) < fewest(SEEDS)
    assert held(values, "hutchinson", 8, cv.TraceEstimate.interval) >= fewest(SEEDS)


def test_the_small_matrices_give_each_vectors_estimate():
    dense, signs, sketch = sketches(SPECTRA["exponential"][:40], 9, count=3)
    for draw, actual in zip(signs, sketch.estimates(), strict=True):
        for index in range(9):
            rest = torch.linalg.qr((dense @ draw)[:, [i for i in range(9) if i != index]]).Q
            probe = draw[:, index] - rest @ (rest.T @ draw[:, index])
            expected = float((rest.T @ dense @ rest).trace() + probe @ dense @ probe)
            assert float(actual[index]) == pytest.approx(expected, rel=1e-10)


def test_leaving_vectors_out_is_not_having_drawn_them():
    dense, signs, sketch = sketches(SPECTRA["exponential"][:40], 9, count=3)
    signs = signs[..., [0, 4, 8]]
    basis, triangle = torch.linalg.qr(dense @ signs)
    forms = (signs * (dense @ signs)).sum(dim=1)
    fewer = Sketch(triangle, basis.mT @ dense @ basis, basis.mT @ signs, forms)
    actual = sketch.of([0, 4, 8]).estimates()
    assert_close(actual, fewer.estimates(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n", [2, 3, 6])
def test_degrees_of_freedom_stay_in_their_range(n):
    _, _, sketch = sketches(SPECTRA["spiked"], n)
    _, degrees = variance(sketch, sketch.estimates())
    assert float(degrees.min()) >= min(1.5, n - 1)
    assert float(degrees.max()) <= n - 1


def test_exact_traces_have_no_width():
    actual = cv.trace(matrix(SPECTRA["spiked"]), "exact")
    assert actual.interval() == (actual.value, actual.value)
    assert actual.degrees_of_freedom == math.inf


def test_intervals_widen_with_their_level_and_with_fewer_degrees():
    actual = cv.trace(matrix(SPECTRA["flat"]), probes=20)
    widths = [high - low for low, high in map(actual.interval, (0.5, 0.9, 0.99))]
    assert widths == sorted(widths)
    assert widths[0] > 0
    fewer = replace(actual, degrees_of_freedom=actual.degrees_of_freedom / 2).interval()
    assert fewer[1] - fewer[0] > actual.interval()[1] - actual.interval()[0]


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


def test_repetitions_have_an_honest_error():
    values = SPECTRA["exponential"]
    dense, exact = matrix(values), float(values.sum())
    intervals = [
        cv.trace(dense, "xtrace", probes=24, seed=seed, memory=8 * P * 4).interval()
        for seed in range(50)
    ]
    assert sum(low <= exact <= high for low, high in intervals) >= fewest(50)


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


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("ratio", [1.0, 0.8, 0.1])
def test_the_basis_is_orthonormal_and_gives_the_vectors_back(dtype, ratio):
    """Whatever the vectors; at 0.1 they are dependent up to rounding after a while."""
    rows = (normal(20, 300) * ratio ** torch.arange(300).double()).to(dtype)
    basis = RangeBasis(torch.empty(300, 300, dtype=dtype), 20)
    for block in rows.split(7):
        basis.extend(block.clone())
    size = len(basis.rows)
    assert basis.closed == (size < 20) == (ratio == 0.1)
    precision = torch.finfo(dtype).eps
    error = basis.rows.double() @ basis.rows.double().T - torch.eye(size)
    assert float(error.abs().max()) < 50 * precision
    back = basis.triangle.T @ basis.rows.double()
    scale = float(rows.double().norm(dim=1).max())
    assert float((back - rows[:size].double()).abs().max()) < 50 * precision * scale


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


def test_a_density_interval_contains_the_density_and_is_not_negative():
    actual = cv.spectral_density(matrix(SPECTRA["spiked"]), probes=3, steps=20)
    low, high = actual.interval(0.9)
    assert bool((low >= 0).all())
    assert bool((low <= actual.density).all() & (actual.density <= high).all())


def test_xtrace_of_a_network_holds_its_trace():
    x = normal(40, 6)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3)).double()
    problem = cv.Problem(model, nn.MSELoss(), [(x[:25], x[:25, :3]), (x[25:], x[25:, :3])])
    operator = cv.hessian(problem)
    exact = cv.trace(operator, "exact").value
    actual = cv.trace(operator, probes=40)
    low, high = actual.interval(0.999)
    assert low < exact < high
