"""Statements about the spectrum of the scalar linear network and the data scale."""

from collections.abc import Iterator

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import needs, positive, within
from hessian_papers.ledger.conditions import AT_INITIALISATION
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.scalar.data_scale.derived import PROPORTIONAL, departure, eigenvalues
from hessian_papers.studies.spectra import error, spectra
from hessian_spectra.agreement import EXACT

# The least share of λ_1 that a bulk may have for its own digits to count, and the least share of
# the sum of all |λ| that a trace may have.
LEAST_BULK, LEAST_TRACE = 1e-6, 1e-5
ROUND_OFF = "float64 leaves about 1e-15 of the largest eigenvalue; 1e-10 is our bound for exact"
THEOREM = {"singh2026cracking": "Theorem 3.1, eq. (1)", "singh2024closed": "Theorem 1, eq. (1)"}
BELOW = {
    "singh2026cracking": "text below eq. (2)",
    "singh2024closed": "text below Theorem 1",
}
TRACE = {"singh2026cracking": "Appendix C", "singh2024closed": "section 1, trace formula"}

statements = Statements()
drawn = statements.about("singh2026cracking", "Figure 7") | statements.about(
    "singh2024closed", "Figure 1"
)


@statements.identity(
    THEOREM,
    within(EXACT, ROUND_OFF, source="the Hessian-vector products of the loss"),
    id="linear-spectrum",
)
def spectrum(data: xr.Dataset) -> float:
    """At every data scale all 2m eigenvalues of the closed form are those of the loss."""
    return max(float(error(of_one).max()) for of_one in _everything(data))


def _everything(data: xr.Dataset) -> Iterator[xr.Dataset]:
    """The spectra of each network with each way to treat the targets."""
    for network in data.network.values:
        for targets in data.targets.values:
            yield spectra(data, network=network, targets=targets)


def _disorder(data: xr.Dataset) -> float:
    """The distance, relative to the largest, of a numerical λ_2 or bulk value from its place.

    The bulk size b is that of its smallest value. In order are -b = ... <= λ_2 <= ... = b <= λ_1.
    """
    negative, positive = np.hsplit(eigenvalues(data, "bulk", "numerical").values, 2)
    small = eigenvalues(data, "outlier 2", "numerical").values
    large = eigenvalues(data, "outlier 1", "numerical").values
    size = abs(negative[:, :1])
    unequal = abs(negative + size), abs(positive - size)
    errors = np.hstack([*unequal, abs(small) - size, size - large])
    largest = abs(data["numerical"]).max("rank").values
    return max(0.0, float((errors.max(axis=1) / largest).max()))


@statements.identity(
    THEOREM,
    within(
        EXACT,
        ROUND_OFF,
        source="the theorem; the order of the outliers follows from Weyl's inequality",
    ),
    id="linear-spectrum",
)
def structure(data: xr.Dataset) -> float:
    """The spectrum consists of a bulk of $m - 1$ signed pairs $±δx$ and two outliers, with
    $-|δx| ≤ λ_2 ≤ |δx| ≤ λ_1$.
    """
    return max(map(_disorder, _everything(data)))


@statements.identity(TRACE, within(EXACT, ROUND_OFF), id="linear-trace-form")
def trace(data: xr.Dataset) -> float:
    """The trace is $σ_x^2(‖w‖^2 + ‖v‖^2)$, proportional to $σ_x^2$ whatever the targets."""
    errors = []
    for of_one in _everything(data):
        trace, numerical = of_one["second_moment"] * of_one["squared_norm"], of_one["numerical"]
        kept = trace > LEAST_TRACE * abs(numerical).sum("rank")
        errors.append(abs(numerical.sum("rank") / trace - 1).values[kept])
    values = np.concatenate(errors)
    needs(
        values.size,
        "this configuration has no network whose trace stands out of the rounding of its "
        "eigenvalues: the weights are too small beside $E[yx]$",
    )
    return float(values.max())


def _largest_departure(data: xr.Dataset, targets: str) -> float:
    """The largest departure from proportionality of the numerical λ_1 and bulk."""
    chosen = data.sel(targets=targets)
    return max(float(departure(chosen, name, "numerical").max()) for name in PROPORTIONAL)


@statements.identity(
    BELOW,
    within(
        1e-8,
        "float64, for a bulk down to 1e-6 of $λ_1$, which sets the size of the round-off",
        source="the spectrum depends on the data through $E[x^2]$ and $E[yx]$ alone",
    ),
    id="eigenvalues-scale-with-the-input-variance",
)
def proportional(data: xr.Dataset, printed: bool = False) -> float:
    """If the targets are scaled with the inputs (or $E[yx] = 0$), $λ/σ_x^2$ is the same at every
    scale for the large outlier and the bulk.

    In print: The eigenvalues scale in proportion to $σ_x^2$ (with unscaled targets)
    """
    if printed:
        return _largest_departure(data, "fixed")
    for network in data.network.values:
        largest = spectra(data, network=network, targets="scaled").isel(second_moment=-1)
        bulk, large = (abs(eigenvalues(largest, name, "numerical")) for name in PROPORTIONAL)
        needs(
            (bulk.values > LEAST_BULK * large.values).all(),
            "this configuration has a bulk below 1e-6 of $λ_1$, whose rounding hides how it scales",
        )
    return _largest_departure(data, "scaled")


@drawn.beyond.shown(
    BELOW,
    reading_of("to the eye"),
    id="proportional-with-targets-left-alone",
    state=AT_INITIALISATION,
)
def proportional_in_print(data: xr.Dataset) -> float:
    """The distance of the eigenvalues from proportional to $σ_x^2$ with unscaled targets, on the
    papers' sample.

    Statistic: largest departure of $λ/σ_x^2$ from its value at the largest scale, over $λ_1$ and
    the bulk of both networks.

    Remark: $E[yx]$ of a finite sample is not 0. It grows only like $σ_x$, so the bulk's $|δx|/σ_x^2
    = |⟨w, v⟩ - E[yx]/σ_x^2|$ changes with the scale. The change is small for large n (10^5 in
    singh2026cracking's Figure 7), and large for small n or $⟨w, v⟩$ near 0. It hardly affects the
    large outlier.
    """
    return _largest_departure(data, "fixed")


@drawn.typically(
    BELOW,
    positive("a larger scale has the larger $λ_1$"),
    id="larger-data-sharpen-the-spectrum",
    state=AT_INITIALISATION,
    over=("network",),
)
def sharpening(data: xr.Dataset) -> float:
    """A larger data scale sharpens the spectrum.

    Statistic: exponent a of $λ_1 ∼ (σ_x^2)^a$ from the smallest scale to the largest, with unscaled
    targets.

    Remark: At small scales and small weights $E[yx]$ is large compared with $σ_x^2(‖w‖^2 + ‖v‖^2)$.
    Then $λ_1$ is about $|E[yx]|$ and grows only like $σ_x$: an exponent of 1/2.
    """
    large = eigenvalues(spectra(data, targets="fixed"), "outlier 1", "numerical").squeeze("rank")
    growth = large.isel(second_moment=-1) / large.isel(second_moment=0)
    return float(np.log(growth) / np.log(data["second_moment"][-1] / data["second_moment"][0]))
