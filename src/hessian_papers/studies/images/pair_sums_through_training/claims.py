"""What anon2026data says about the eigenvalues of two-layer networks through training."""

from collections.abc import Callable
from functools import partial

import xarray as xr

from hessian_papers.ledger.bounds import at_most, equal_to, within
from hessian_papers.ledger.statements import Print, Statements
from hessian_papers.ledger.verdicts import everywhere, typically
from hessian_papers.studies.images.derived import GROWTH, early_fall, relative_excess, worst
from hessian_papers.studies.images.pair_sums_through_training.derived import (
    FORMS,
    Form,
    errors,
    networks,
    squared_norms,
    weyl_bound,
)
from hessian_papers.studies.spectra import error
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

statements = Statements()
figure_4 = statements.about("anon2026data", "Figure 4")


# What holds at every epoch, for the Gauss-Newton matrix or at any loss.


def _gauss_newton_error(data: xr.Dataset, form: Form) -> float:
    chosen = data.sel(form=form, matrix="ggn")
    return max(float(error(network).max()) for network in networks(chosen))


@statements.identity(
    "eq. (15); {artifact}",
    within(1e-6, SOLVER, source=LANCZOS),
    id="two-layer-gauss-newton-spectrum",
    printed=Print(PRINTED_INDICES, partial(_gauss_newton_error, form="printed")),
)
def gauss_newton(data: xr.Dataset) -> float:
    """At every epoch the top eigenvalues of the Gauss-Newton matrix are the largest σ_x²(σ_i²(W_1)
    + σ_j²(W_2)) with i ∈ [d_0] and j ∈ [d_2], where singular values beyond the size of a layer are
    0; the layers need not be balanced.
    """
    return _gauss_newton_error(data, "corrected")


def _sum_error(data: xr.Dataset, form: Form) -> float:
    """|Σ of eq. (15) over its indices / trace by eq. (11) − 1|, the largest."""
    return float(abs(data["sum"].sel(form=form) / data["trace"] - 1).max())


@statements.identity(
    "eq. (15) with eq. (11)",
    within(
        1e-10,
        "float64 rounding of a sum of a few thousand terms, with room",
        source="the definition of a trace",
    ),
    id="two-layer-sums-are-the-trace",
    printed=Print(PRINTED_INDICES, partial(_sum_error, form="printed")),
)
def sums(data: xr.Dataset) -> float:
    """The eigenvalues of eq. (15) sum to the trace of eq. (11), σ_x²(d_2‖W_1‖_F² + d_0‖W_2‖_F²),
    with i ∈ [d_0] and j ∈ [d_2].
    """
    return _sum_error(data, "corrected")


@statements.identity(
    "eq. (10)", within(1e-6, SOLVER, source=LANCZOS), id="largest-eigenvalue-is-the-sum-of-norms"
)
def largest_eigenvalue(data: xr.Dataset) -> float:
    """At every epoch the largest eigenvalue of the Gauss-Newton matrix is σ_x²(‖W_1‖₂² + ‖W_2‖₂²),
    whether or not the layers are balanced.
    """
    largest = data["numerical"].sel(matrix="ggn").max("rank")
    return float(abs(largest / squared_norms(data).sum("layer") - 1).max())


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
def residual_bound(data: xr.Dataset) -> float:
    """What keeps eq. (15) from the Hessian's eigenvalues is not the loss but (f(X) − Y)Xᵀ/n: at
    every epoch they are at most its norm apart, which is at most σ_x √(2(loss − loss of least
    squares)). Value: the excess over that, relative to λ_max, if any.
    """
    eigenvalues = data["numerical"].sel(matrix="hessian")
    distance = abs(data["exact"].sel(form="corrected") - eigenvalues).max("rank")
    beyond = (distance - weyl_bound(data)) / eigenvalues.max("rank")
    return max(0.0, float(beyond.max()))


# What changes with training.


@figure_4.statement(
    TEXT, typically, EVERY_EPOCH, id="more-precise-as-training-progresses", otherwise=UNFITTED
)
def error_trend(data: xr.Dataset) -> float:
    """The approximation becomes increasingly precise as training progresses.

    Statistic: Spearman's correlation with the epoch of the error, the mean over the top eigenvalues
    of |eq. 15 − λ| / λ of the Hessian, of the paper's width and the image set where it is largest.
    """
    return worst(
        rank_correlation(network["epoch"].values.astype(float), _error(network).values)
        for network in networks(_widest(data))
    )


def _error(network: xr.Dataset) -> xr.DataArray:
    """The mean of the corrected sums' errors over the eigenvalues that are not 0."""
    return errors(network).sel(form="corrected", matrix="hessian").mean("rank")


def _widest(data: xr.Dataset) -> xr.Dataset:
    """The networks of the largest width, which is the paper's."""
    return data.sel(width=data["width"].max())


@figure_4.statement(
    "Assumption 1; {artifact}",
    everywhere,
    equal_to(0.0, "a count", source="our addition; the network of fewer hidden units is ours too"),
    id="precise-where-labels-are-fitted",
    otherwise="Both limits are round numbers; networks near them may be on either side.",
    book="beyond",
)
def fitted(data: xr.Dataset) -> float:
    """The error vanishes with training just where the network can fit the least-squares solution,
    which it cannot with fewer hidden units than outputs: it ends below 1 % if and only if the loss
    ends within 2 % of the way down to that of least squares. Value: number of networks for which it
    is otherwise.
    """
    ends = (
        [of(each).isel(epoch=-1) for of in (_error, relative_excess)] for each in networks(data)
    )
    return float(sum((error < 0.01) != (excess < 0.02) for error, excess in ends))


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
def print_suffices(data: xr.Dataset) -> float:
    """For the paper's width the printed indices give the same top eigenvalues: the erratum does not
    show in Figure 4. Value: their largest difference over λ_max.
    """
    both = (network["exact"].sel(form=[*FORMS]) for network in networks(_widest(data)))
    return max(float(spectrum_error(*each.transpose("form", ...).values).max()) for each in both)


def _of_norms(data: xr.Dataset, combined: Callable[..., xr.DataArray]) -> float:
    ratios = (
        network["numerical"].max("rank") / combined(squared_norms(network), "layer")
        for network in networks(_widest(data).sel(matrix="hessian"))
    )
    return max(float(abs(ratio.isel(epoch=-1) - 1)) for ratio in ratios)


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
        partial(_of_norms, combined=xr.DataArray.max),
    ),
    otherwise=UNFITTED,
)
def sharpness(data: xr.Dataset) -> float:
    """After training the Hessian's largest eigenvalue is σ_x²(‖W_1‖₂² + ‖W_2‖₂²). Value: relative
    error at the last epoch, of the paper's width and the image set where it is largest.
    """
    return _of_norms(data, xr.DataArray.sum)


@figure_4.statement(
    "text below eq. (11)", typically, FALLS, id="norm-falls-early", otherwise=GROWTH
)
def norm_falls_early(data: xr.Dataset) -> float:
    """The norm of the parameters decreases early in training.

    Statistic: lowest σ_x²(d_2‖W_1‖_F² + d_0‖W_2‖_F²), the trace of eq. (11), while more than half
    of the loss that training can remove is still there, relative to the start, less 1, of the
    network where it falls least.
    """
    return worst(early_fall(network, network["trace"]) for network in networks(data))


@figure_4.statement(
    "text below eq. (11)", typically, FALLS, id="sharpness-falls-early", otherwise=GROWTH
)
def sharpness_falls_early(data: xr.Dataset) -> float:
    """Sharpness decreases early in training.

    Statistic: lowest largest eigenvalue of the Hessian while more than half of the loss that
    training can remove is still there, relative to the start, less 1, of the network where it falls
    least.
    """
    return worst(
        early_fall(network, network["numerical"].max("rank"))
        for network in networks(data.sel(matrix="hessian"))
    )
