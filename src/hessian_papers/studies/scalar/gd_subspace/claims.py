"""What the paper says about the bulk eigenspace under gradient descent, and how it is measured."""

from collections.abc import Sequence

import xarray as xr

from hessian_papers.ledger.bounds import NothingToMeasure, at_least, within
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.verdicts import everywhere
from hessian_papers.studies.spectra import error
from hessian_papers.studies.trainings import compared
from hessian_spectra.agreement import EXACT

# Corollary 3.1 is proved for the first. The next ones move by linear combinations of iterates and
# gradients, so that the proof carries over; Adam's and a random initial velocity's does not.
PROVED = ("gradient_descent",)
EXTENDED = ("heavy_ball", "nesterov", "sgd", "weight_decay")
STAYING = PROVED + EXTENDED

COROLLARY = "Corollary 3.1"
EXTENSION = "our extension of Corollary 3.1: its proof needs no more than linear combinations"
STEPS = "round-off of 300 steps, each of about 1e-16, stays below 1e-13"
# How far an optimizer has to go from the complement of the bulk eigenspace to have left it.
LEFT = at_least(
    0.01,
    "a lower bound that leaves no doubt",
    source="our bound: a hundredth, ten orders of magnitude above round-off",
)
PROOF = within(EXACT, STEPS, source=COROLLARY)
EXTENDED_PROOF = within(EXACT, STEPS, source=EXTENSION)
STEP_SIZES = "How far it goes is set by the step sizes; tiny ones keep it closer."

statements = Statements()
beyond = statements.having(book="beyond")
departures = beyond.about("singh2026cracking", "Corollary 3.1").having(otherwise=STEP_SIZES)


@beyond.identity(
    COROLLARY,
    within(
        EXACT,
        "round-off of a dense float64 eigen-decomposition is below 1e-14 of λ₁",
        source="Theorem 3.1",
    ),
    id="closed-form-with-every-optimizer",
)
def spectrum(data: xr.Dataset) -> float:
    """The closed form is the whole spectrum at every step of every optimizer."""
    return float(error(compared(data)).max())


@statements.identity(COROLLARY, PROOF, id="linear-orthogonal-iterates")
def iterates_orthogonal(data: xr.Dataset) -> float:
    """Iterates of gradient descent are orthogonal to the initial bulk eigenspace.

    Statistic: largest ‖Z₀ᵀ θ_t‖/‖θ_t‖.
    """
    return _largest(data["iterate"], PROVED)


def _largest(values: xr.DataArray, optimizers: Sequence[str]) -> float:
    """The largest value over some optimizers and all their steps."""
    return float(values.sel(optimizer=[*optimizers]).max())


@statements.identity(COROLLARY, PROOF, id="linear-constant-bulk")
def bulk_constant(data: xr.Dataset) -> float:
    """The bulk eigenspace does not change under gradient descent.

    Statistic: sine of the largest principal angle with the initial one.
    """
    return _largest(data["rotation"], PROVED)


@beyond.identity(COROLLARY, EXTENDED_PROOF, id="orthogonal-iterates-of-other-optimizers")
def iterates_orthogonal_extended(data: xr.Dataset) -> float:
    """Iterates of heavy ball and Nesterov from rest, of SGD and with weight decay are orthogonal to
    the initial bulk eigenspace too.

    Statistic: largest ‖Z₀ᵀ θ_t‖/‖θ_t‖.
    """
    return _largest(data["iterate"], EXTENDED)


@beyond.identity(COROLLARY, EXTENDED_PROOF, id="constant-bulk-of-other-optimizers")
def bulk_constant_extended(data: xr.Dataset) -> float:
    """The bulk eigenspace does not change under heavy ball and Nesterov from rest, SGD and weight
    decay either.

    Statistic: sine of the largest principal angle with the initial one.
    """
    return _largest(data["rotation"], EXTENDED)


@beyond.identity(COROLLARY, EXTENDED_PROOF, id="bulk-is-invariant-numerically")
def bulk_invariant(data: xr.Dataset) -> float:
    """The initial bulk eigenspace, from numerical eigenvectors, is an invariant space of the
    Hessian at every step.

    Statistic: ‖(I − Z₀Z₀ᵀ) H_t Z₀‖/‖H_t‖.
    """
    return _largest(data["invariance"], STAYING)


@beyond.identity(
    COROLLARY,
    within(
        EXACT,
        "1 − overlap is the square of an angle of about 1e-16 / 1e-5, far below",
        source=EXTENSION,
    ),
    id="bulk-overlaps-with-the-initial-one",
)
def bulk_overlap(data: xr.Dataset) -> float:
    """Numerical bulk eigenspaces overlap fully with the initial one, at all steps at which the bulk
    can be told from the outliers.

    Statistic: 1 − overlap.
    """
    overlap = data["overlap"].sel(optimizer=[*STAYING])
    if overlap.isnull().all():
        raise NothingToMeasure(
            "this configuration has no step at which the bulk can be told from the outliers"
        )
    return float((1 - overlap).max())


@departures.statement(COROLLARY, everywhere, LEFT, id="adam-leaves-the-complement")
def adam_leaves(data: xr.Dataset) -> float:
    """Adam, which rescales each coordinate by itself, leaves the complement of the bulk eigenspace.

    Statistic: largest ‖Z₀ᵀ θ_t‖/‖θ_t‖.
    """
    return _largest(data["numerical_iterate"], ["adam"])


@departures.statement(COROLLARY, everywhere, LEFT, id="random-velocity-leaves-the-complement")
def random_velocity_leaves(data: xr.Dataset) -> float:
    """Heavy ball with a random initial velocity leaves the complement of the bulk eigenspace.

    Statistic: largest ‖Z₀ᵀ θ_t‖/‖θ_t‖.
    """
    return _largest(data["numerical_iterate"], ["random_velocity"])
