"""What anon2026data says about the eigenvalues of two-layer networks through training."""

from functools import partial

import numpy as np

from hessian_papers.ledger.bounds import at_most, equal_to, within
from hessian_papers.ledger.statements import Print, Statements
from hessian_papers.ledger.verdicts import everywhere, typically
from hessian_papers.studies.images.pair_sums_through_training.reading import Indices, Reading
from hessian_papers.studies.images.reading import GROWTH, worst
from hessian_spectra.agreement import spectrum_error
from hessian_spectra.statistics import rank_correlation

TEXT = "Appendix B, text on Figure 4"
PRINTED_INDICES = "i ∈ [min{d_0, d_1}] and j ∈ [min{d_1, d_2}]"
LANCZOS = "Lanczos' method on products with the matrix"
SOLVER = (
    "the eigen-solver stops at residuals of 1e-6 of the largest eigenvalue, which no error exceeds"
)
UNFITTED = (
    "The residual (f(X) − Y)Xᵀ is still large: training was too short or the network too narrow "
    "to fit the least-squares solution."
)
EVERY_EPOCH = at_most(
    -1.0,
    "−1 is a fall at every recorded epoch; 0.1 leaves room for two neighbours out of order",
    tolerance=0.1,
)
FALLS = at_most(0.0, "a sign")

statements = Statements(Reading)
figure_4 = statements.about("anon2026data", "Figure 4")


# What holds at every epoch, for the Gauss-Newton matrix or at any loss.


def _gauss_newton_error(reading: Reading, indices: Indices) -> float:
    return max(network.gauss_newton_error(indices) for network in reading.networks)


@statements.identity(
    "eq. (15); {artifact}",
    within(1e-6, SOLVER, source=LANCZOS),
    id="two-layer-gauss-newton-spectrum",
    printed=Print(PRINTED_INDICES, partial(_gauss_newton_error, indices="printed")),
)
def gauss_newton(reading: Reading) -> float:
    """At every epoch the top eigenvalues of the Gauss-Newton matrix are the largest σ_x²(σ_i²(W_1)
    + σ_j²(W_2)) with i ∈ [d_0] and j ∈ [d_2], where singular values beyond the size of a layer are
    0; the layers need not be balanced.
    """
    return _gauss_newton_error(reading, "corrected")


def _sum_error(reading: Reading, indices: Indices) -> float:
    """|Σ of eq. (15) over its indices / trace by eq. (11) − 1|, the largest."""
    return max(
        float(np.abs(network[f"{indices}_sum"] / network["trace"] - 1).max())
        for network in reading.networks
    )


@statements.identity(
    "eq. (15) with eq. (11)",
    within(
        1e-10,
        "float64 rounding of a sum of a few thousand terms, with room",
        source="the definition of a trace",
    ),
    id="two-layer-sums-are-the-trace",
    printed=Print(PRINTED_INDICES, partial(_sum_error, indices="printed")),
)
def sums(reading: Reading) -> float:
    """The eigenvalues of eq. (15) sum to the trace of eq. (11), σ_x²(d_2‖W_1‖_F² + d_0‖W_2‖_F²),
    with i ∈ [d_0] and j ∈ [d_2].
    """
    return _sum_error(reading, "corrected")


@statements.identity(
    "eq. (10)", within(1e-6, SOLVER, source=LANCZOS), id="largest-eigenvalue-is-the-sum-of-norms"
)
def largest_eigenvalue(reading: Reading) -> float:
    """At every epoch the largest eigenvalue of the Gauss-Newton matrix is σ_x²(‖W_1‖₂² + ‖W_2‖₂²),
    whether or not the layers are balanced.
    """
    return max(
        float(np.abs(network.largest / network.of_norms(np.add) - 1).max())
        for network in reading.networks
    )


@statements.identity(
    "Assumption 1; {artifact}",
    within(
        1e-6,
        SOLVER,
        source="Weyl's inequality: what the Hessian has beside the Gauss-Newton matrix has the "
        "eigenvalues ± σ_k((f(X) − Y)Xᵀ/n)",
    ),
    id="hessian-is-near-its-gauss-newton-part",
    book="beyond",
)
def residual_bound(reading: Reading) -> float:
    """What keeps eq. (15) from the Hessian's eigenvalues is not the loss but (f(X) − Y)Xᵀ/n: at
    every epoch they are at most its norm apart, which is at most σ_x √(2(loss − loss of least
    squares)). Value: the excess over that, relative to λ_max, if any.
    """
    worst = 0.0
    for network in reading.networks:
        distance = np.abs(network["corrected"] - network["hessian"]).max(axis=1)
        beyond = (distance - network.residual_bound) / network.sharpness
        worst = max(worst, float(beyond.max()))
    return worst


# What changes with training.


@figure_4.statement(
    TEXT, typically, EVERY_EPOCH, id="more-precise-as-training-progresses", otherwise=UNFITTED
)
def error_trend(reading: Reading) -> float:
    """The approximation becomes increasingly precise as training progresses.

    Statistic: Spearman's correlation with the epoch of the error, the mean over the top eigenvalues
    of |eq. 15 − λ| / λ of the Hessian, of the paper's width and the image set where it is largest.
    """
    return worst(
        rank_correlation(network.epoch.astype(float), network.error) for network in reading.widest
    )


@figure_4.statement(
    "Assumption 1; {artifact}",
    everywhere,
    equal_to(0.0, "a count", source="our addition; the network of fewer hidden units is ours too"),
    id="precise-where-labels-are-fitted",
    otherwise="Both limits are round numbers; networks near them may be on either side.",
    book="beyond",
)
def fitted(reading: Reading) -> float:
    """The error vanishes with training just where the network can fit the least-squares solution,
    which it cannot with fewer hidden units than outputs: it ends below 1 % if and only if the loss
    ends within 2 % of the way down to that of least squares. Value: number of networks for which it
    is otherwise.
    """
    return float(
        sum(
            (network.error[-1] < 0.01) != (network.relative_excess[-1] < 0.02)
            for network in reading.networks
        )
    )


@figure_4.statement(
    "eq. (15); {artifact}",
    everywhere,
    within(
        1e-12,
        "the same sums, to rounding",
        source="a network with more hidden units than outputs has all largest sums of positive "
        "terms",
    ),
    id="erratum-does-not-show-in-figure-4",
    otherwise="With few hidden units σ_j²(W_2) + 0 is among the largest sums.",
    book="beyond",
)
def print_suffices(reading: Reading) -> float:
    """For the paper's width the printed indices give the same top eigenvalues: the erratum does not
    show in Figure 4. Value: their largest difference over λ_max.
    """
    return max(
        float(spectrum_error(network["printed"], network["corrected"]).max())
        for network in reading.widest
    )


def _of_norms(reading: Reading, combined: np.ufunc) -> float:
    return max(
        float(abs(network.sharpness[-1] / network.of_norms(combined)[-1] - 1))
        for network in reading.widest
    )


@figure_4.statement(
    "appendix D.3.3, which anon2026data contradicts below eq. (10)",
    everywhere,
    within(
        0.01,
        "what is left of the residual, as for the top eigenvalues",
        source="anon2026data, eq. (10)",
    ),
    id="sharpness-is-the-sum-of-both-norms",
    paper="singh2026cracking",
    printed=Print(
        "max{‖W_1‖₂², ‖W_2‖₂²}, from a Hessian without blocks of two layers",
        partial(_of_norms, combined=np.maximum),
    ),
    otherwise=UNFITTED,
)
def sharpness(reading: Reading) -> float:
    """After training the Hessian's largest eigenvalue is σ_x²(‖W_1‖₂² + ‖W_2‖₂²). Value: relative
    error at the last epoch, of the paper's width and the image set where it is largest.
    """
    return _of_norms(reading, np.add)


@figure_4.statement(
    "text below eq. (11)", typically, FALLS, id="norm-falls-early", otherwise=GROWTH
)
def norm_falls_early(reading: Reading) -> float:
    """The norm of the parameters decreases early in training.

    Statistic: lowest σ_x²(d_2‖W_1‖_F² + d_0‖W_2‖_F²), the trace of eq. (11), while more than half
    of the loss that training can remove is still there, relative to the start, less 1, of the
    network where it falls least.
    """
    return worst(network.early_fall(network["trace"]) for network in reading.networks)


@figure_4.statement(
    "text below eq. (11)", typically, FALLS, id="sharpness-falls-early", otherwise=GROWTH
)
def sharpness_falls_early(reading: Reading) -> float:
    """Sharpness decreases early in training.

    Statistic: lowest largest eigenvalue of the Hessian while more than half of the loss that
    training can remove is still there, relative to the start, less 1, of the network where it falls
    least.
    """
    return worst(network.early_fall(network.sharpness) for network in reading.networks)
