"""What anon2026data says about the sharpness, the depth and the norm of the labels."""

import numpy as np

from hessian_papers.ledger.bounds import at_least, at_most, within
from hessian_papers.ledger.statements import Print, Statements
from hessian_papers.ledger.verdicts import always, typically
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.deep_linear.depth_and_norm.reading import STEADY, Reading
from hessian_spectra.agreement import EXACT

AMPLIFIED = "text below Equation 14 (“amplified by large depths”); {artifact}"
LANCZOS = "Lanczos' method stops at a residual of 1e-6, which leaves an error of its square"
CLASSES = 11

statements = Statements(Reading)
figure_1b = statements.about("anon2026data", "Figure 1b")


@statements.identity(
    "Equation 14; {artifact}",
    within(
        EXACT,
        LANCZOS,
        source="Lanczos' method on Hessian-vector products, at random balanced networks",
    ),
    id="sharpness-from-labels",
)
def sharpness(reading: Reading) -> float:
    """The largest eigenvalue at a balanced solution of zero loss is L σ_x^{2/L} (‖Y‖₂²/n)^{1−1/L},
    at any widths.
    """
    return float(reading.error.max())


@statements.statement(
    AMPLIFIED,
    always,
    at_most(0.0, "a count", source="λ_max(L + 1)/λ_max(L) of eq. (14)"),
    id="depth-amplifies-the-sharpness",
    printed=Print(
        "Depth amplifies the sharpness (read as: at every norm of the labels)",
        lambda reading: float(reading.falls.sum()),
    ),
    otherwise="d ln λ_max/dL = (L − ln(n σ_x²/‖Y‖₂²))/L²: the sharpness falls up to that logarithm "
    "and grows beyond; the error in print counts the falling steps.",
)
def depth(reading: Reading) -> float:
    """One layer more makes the solution sharper if and only if ‖Y‖₂²/(n σ_x²) > (L/(L+1))^{L(L+1)},
    and flatter below.

    Statistic: steps in depth with the other direction.
    """
    grows = reading.norms > reading["growth_from"][:-1, None]
    other = (np.abs(reading.steps) > STEADY) & ((reading.steps > 0) != grows)
    return float(other.sum())


@statements.statement(
    AMPLIFIED,
    always,
    at_least(
        1.0,
        "any growth counts",
        source="(2/3)^6 < 1/11, and the largest share of K classes is at least 1/K",
    ),
    id="depth-amplifies-it-for-few-classes",
    book="beyond",
)
def few_classes(reading: Reading) -> float:
    """For one-hot labels of up to 11 classes and σ_x = 1 every layer after the second makes the
    solution sharper.

    Statistic: least λ_max(L + 1)/λ_max(L), L ≥ 2, over norms with ‖Y‖₂²/(n σ_x²) ≥ 1/11.
    """
    steps = reading.later_steps[:, reading.shares(at_least=1 / CLASSES)]
    return float(np.exp(steps.min()))


@figure_1b.statement(
    AMPLIFIED,
    always,
    at_least(0.0, LANCZOS, tolerance=STEADY),
    id="depth-amplifies-the-effect-of-labels",
    otherwise="dλ_max/d(‖Y‖₂²/n) = (L − 1)(n σ_x²/‖Y‖₂²)^{1/L} grows with depth wherever "
    "‖Y‖₂²/(n σ_x²) > e^{−4}; below, it falls at some depths, though not all.",
)
def label_effect(reading: Reading) -> float:
    """Depth amplifies what the labels do to the sharpness.

    Statistic: growth with one layer of the difference between neighbouring norms, relative, the
    least of all.
    """
    differences = np.diff(reading.sharpness, axis=1)
    return float((np.diff(differences, axis=0) / differences[1:]).min())


@statements.identity(
    "Equation 14",
    within(1e-9, f"{LANCZOS}, divided by the distance of the norms", source="eq. (14)"),
    id="power-of-the-largest-class",
)
def exponent(reading: Reading) -> float:
    """The sharpness grows as the power 1 − 1/L of the largest class share: not at all for one
    layer, as its root for two, never more than in proportion to it.

    Statistic: largest error of the exponent between neighbouring norms.
    """
    distances = np.diff(2 * np.log(reading.norms))
    exponents = np.diff(np.log(reading.sharpness), axis=1) / distances
    return float(np.abs(exponents - (1 - 1 / reading.depths[:, None])).max())


@figure_1b.statement(
    AMPLIFIED,
    typically,
    reading_of("mainly"),
    id="growth-is-mainly-the-leading-factor",
    otherwise="The other factor, (‖Y‖₂²/(n σ_x²))^{1/2−1/L}, grows with depth for norms above "
    "√n σ_x only, where large enough ones make it the greater part; one-hot labels and σ_x = 1 are "
    "never above.",
)
def leading_factor(reading: Reading) -> float:
    """The growth with depth is mainly due to the leading factor L.

    Statistic: ln(L/2) over ln(λ_max(L)/λ_max(2)) at the largest depth, the least over the norms at
    which the sharpness grows; above 1 the other factor works against it.
    """
    return float((np.log(reading.depths[-1] / 2) / reading.growths).min())
