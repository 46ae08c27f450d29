"""What the paper says about the bulk eigenspace under gradient descent, and how it is measured."""

from hessian_papers.ledger.bounds import at_least, within
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.verdicts import everywhere
from hessian_papers.studies.scalar.gd_subspace.reading import EXTENDED, PROVED, STAYING, Reading
from hessian_spectra.agreement import EXACT

COROLLARY = "Corollary 3.1"
EXTENSION = "our extension of Corollary 3.1: its proof needs no more than linear combinations"
STEPS = "round-off of 300 steps, each of about 1e-16, stays below 1e-13"
# How far an optimizer has to go from the complement of the bulk eigenspace to have left it.
LEFT = at_least(
    0.01,
    "a lower bound that leaves no doubt",
    source="our bound: a hundredth, ten orders of magnitude above round-off",
)
STEP_SIZES = "How far it goes is set by the step sizes; tiny ones keep it closer."

statements = Statements(Reading)
corollary = statements.about("singh2026cracking", "Corollary 3.1").having(otherwise=STEP_SIZES)


@statements.identity(
    COROLLARY,
    within(
        EXACT,
        "round-off of a dense float64 eigen-decomposition is below 1e-14 of λ₁",
        source="Theorem 3.1",
    ),
    id="closed-form-with-every-optimizer",
    book="beyond",
)
def spectrum(reading: Reading) -> float:
    """The closed form is the whole spectrum at every step of every optimizer."""
    return reading.error()


@statements.identity(
    COROLLARY, within(EXACT, STEPS, source=COROLLARY), id="linear-orthogonal-iterates"
)
def iterates_orthogonal(reading: Reading) -> float:
    """Iterates of gradient descent are orthogonal to the initial bulk eigenspace.

    Statistic: largest ‖Z₀ᵀ θ_t‖/‖θ_t‖.
    """
    return reading.largest("iterate", PROVED)


@statements.identity(COROLLARY, within(EXACT, STEPS, source=COROLLARY), id="linear-constant-bulk")
def bulk_constant(reading: Reading) -> float:
    """The bulk eigenspace does not change under gradient descent.

    Statistic: sine of the largest principal angle with the initial one.
    """
    return reading.largest("rotation", PROVED)


@statements.identity(
    COROLLARY,
    within(EXACT, STEPS, source=EXTENSION),
    id="orthogonal-iterates-of-other-optimizers",
    book="beyond",
)
def iterates_orthogonal_extended(reading: Reading) -> float:
    """Iterates of heavy ball and Nesterov from rest, of SGD and with weight decay are orthogonal to
    the initial bulk eigenspace too.

    Statistic: largest ‖Z₀ᵀ θ_t‖/‖θ_t‖.
    """
    return reading.largest("iterate", EXTENDED)


@statements.identity(
    COROLLARY,
    within(EXACT, STEPS, source=EXTENSION),
    id="constant-bulk-of-other-optimizers",
    book="beyond",
)
def bulk_constant_extended(reading: Reading) -> float:
    """The bulk eigenspace does not change under heavy ball and Nesterov from rest, SGD and weight
    decay either.

    Statistic: sine of the largest principal angle with the initial one.
    """
    return reading.largest("rotation", EXTENDED)


@statements.identity(
    COROLLARY,
    within(EXACT, STEPS, source=EXTENSION),
    id="bulk-is-invariant-numerically",
    book="beyond",
)
def bulk_invariant(reading: Reading) -> float:
    """The initial bulk eigenspace, from numerical eigenvectors, is an invariant space of the
    Hessian at every step.

    Statistic: ‖(I − Z₀Z₀ᵀ) H_t Z₀‖/‖H_t‖.
    """
    return reading.largest("invariance", STAYING, "numerics")


@statements.identity(
    COROLLARY,
    within(
        EXACT,
        "1 − overlap is the square of an angle of about 1e-16 / 1e-5, far below",
        source=EXTENSION,
    ),
    id="bulk-overlaps-with-the-initial-one",
    book="beyond",
)
def bulk_overlap(reading: Reading) -> float:
    """Numerical bulk eigenspaces overlap fully with the initial one, at all steps at which the bulk
    can be told from the outliers.

    Statistic: 1 − overlap.
    """
    return reading.lost_overlap()


@corollary.statement(COROLLARY, everywhere, LEFT, id="adam-leaves-the-complement", book="beyond")
def adam_leaves(reading: Reading) -> float:
    """Adam, which rescales each coordinate by itself, leaves the complement of the bulk eigenspace.

    Statistic: largest ‖Z₀ᵀ θ_t‖/‖θ_t‖.
    """
    return reading.largest("iterate", ["adam"], "numerics")


@corollary.statement(
    COROLLARY, everywhere, LEFT, id="random-velocity-leaves-the-complement", book="beyond"
)
def random_velocity_leaves(reading: Reading) -> float:
    """Heavy ball with a random initial velocity leaves the complement of the bulk eigenspace.

    Statistic: largest ‖Z₀ᵀ θ_t‖/‖θ_t‖.
    """
    return reading.largest("iterate", ["random_velocity"], "numerics")
