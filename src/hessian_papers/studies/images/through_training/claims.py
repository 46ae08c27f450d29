"""The statements of anon2026data on the trace and top eigenvalues of networks through training."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import at_most, equal_to, needs, within
from hessian_papers.ledger.conditions import AFTER_TRAINING, Condition
from hessian_papers.ledger.statements import Labels, Statements
from hessian_papers.studies.images.derived import worst
from hessian_papers.studies.images.through_training.derived import (
    Form,
    early_fall,
    errors,
    is_early,
    networks,
    relative_excess,
    squared_norms,
    standardised,
    weyl_bound,
)
from hessian_papers.studies.spectra import error
from hessian_spectra.statistics import rank_correlation

STUDENT = (
    "With few probes the standard error is itself uncertain, and a difference divided by it "
    "has the heavy tails of Student's t."
)
GROWTH = (
    "Under gradient flow $Σ‖W_l‖^2$ changes at the rate $-2L⟨f(X), f(X) - Y⟩/n$. It falls "
    "while $⟨f(X), f(X)⟩$ exceeds $⟨f(X), Y⟩$, as for random outputs of sufficient size. "
    "From a small initialisation the labels decide the sign (balanced layers with singular "
    "values of 0.01 to 0.05, say). Then the weights may grow from the first epoch on."
)
UNFITTED = (
    "The residual $(f(X) - Y)X^⊤$ is still large: training was too short or the network too "
    "narrow to fit the least-squares solution."
)
LANCZOS = "Lanczos' method on products with the matrix"
SOLVER = within(
    1e-6,
    "the eigensolver stops at residuals of 1e-6 of the largest eigenvalue, which bound the error",
    source=LANCZOS,
)
FALLS = at_most(0.0, "a sign", source="the paper, which says it of $L = 2$")
BELOW = "text below eq. (11)"


def _where(name: str) -> Callable[[xr.Dataset], Iterable[Labels]]:
    """The single case of a statement, where a study has a variable."""
    return lambda data: [{}] if name in data else []


statements = Statements()
of_trace = statements.having(each=_where("estimate"), otherwise=STUDENT)
of_pairs = statements.having(each=_where("exact"))
figure_3 = of_trace.about("anon2026data", "Figure 3")
figure_4 = of_pairs.about("anon2026data", "Figure 4")


# The trace by equation (7), and by random probes.


@of_trace.everywhere(
    "{artifact}, eq. (7)",
    equal_to(
        1.0,
        "for eight independent Gaussian errors, a network's epochs in the demo, it is "
        "between 0.33 and 1.81 in 998 of 1000 cases (chi-square); for more it is nearer to "
        "1",
        tolerance=0.8,
        source="an unbiased estimate: the squares of its standardised errors have mean 1",
    ),
    id="trace-within-the-error-of-its-estimate",
)
def trace(data: xr.Dataset) -> float:
    """Equation (7) gives the trace of the Hessian within the error of Hutchinson's estimate, at
    every epoch.

    Statistic: root mean square over the epochs of their difference in standard errors, for the
    network where it is furthest from 1. Over all networks: the mean difference divided by its
    standard error.
    """
    spreads = [float(np.sqrt(np.mean(_known(network) ** 2))) for network in networks(data)]
    return max(spreads, key=lambda spread: abs(spread - 1))


def _known(data: xr.Dataset) -> np.ndarray:
    """All differences in standard errors, where there is an error."""
    values = standardised(data).values
    needs(np.isfinite(values).any(), "in this configuration all random probes give the same trace")
    return values[np.isfinite(values)]


@of_trace.everywhere(
    "{artifact}, eq. (7)",
    equal_to(
        0.0,
        "a Gaussian error is larger once in 1000 times",
        tolerance=3.3,
        source="an unbiased estimate has no preferred sign; each epoch has its own probes",
    ),
    id="trace-within-the-error-of-its-estimate",
)
def no_bias(data: xr.Dataset) -> float:
    """The differences from Hutchinson's estimates have no preferred sign."""
    differences = _known(data)
    return float(differences.mean() * np.sqrt(len(differences)))


@of_trace.typically(
    "text below eq. (7); {artifact}",
    within(
        4.0,
        "a Gaussian error is larger once in 16000 times, one in 50 of them once in 300 times",
        source=(
            r"$\operatorname{tr} H = \operatorname{tr} \operatorname{GGN}$ at any loss: each "
            "layer enters the network linearly"
        ),
    ),
    id="trace-is-exact-early-in-training",
)
def early(data: xr.Dataset) -> float:
    """The approximation holds very well even early in training, when the loss is high.

    Statistic: largest difference in standard errors at epochs at which more than half of the loss
    above that of least squares remains.
    """
    differences = (abs(standardised(each).where(is_early(each))) for each in networks(data))
    return worst(float(values.max()) for values in differences)


# The eigenvalues by equation (15): what holds at every epoch, and what changes with training.


@of_pairs.identity("eq. (15); {artifact}", SOLVER, id="two-layer-gauss-newton-spectrum")
def gauss_newton(data: xr.Dataset, printed: bool = False) -> float:
    r"""At every epoch the top eigenvalues of the Gauss-Newton matrix are the largest
    $σ_x^2(σ_i^2(W_1) + σ_j^2(W_2))$ with $i ∈ [d_0]$ and $j ∈ [d_2]$. Singular values beyond the
    size of a layer are 0; the layers need not be balanced.

    In print: $i ∈ [\min\lbrace d_0, d_1\rbrace]$ and $j ∈ [\min\lbrace d_1, d_2\rbrace]$
    """
    chosen = data.sel(form=_form(printed), matrix="ggn")
    return max(float(error(network).max()) for network in networks(chosen))


def _form(printed: bool) -> Form:
    return "printed" if printed else "corrected"


@of_pairs.identity(
    "eq. (15) with eq. (11)",
    within(
        1e-10,
        "float64 rounding of a sum of a few thousand terms, with a margin",
        source="the definition of a trace",
    ),
    id="two-layer-sums-are-the-trace",
)
def sums(data: xr.Dataset, printed: bool = False) -> float:
    r"""The eigenvalues of eq. (15) sum to the trace of eq. (11),
    $σ_x^2(d_2‖W_1‖_F^2 + d_0‖W_2‖_F^2)$, with $i ∈ [d_0]$ and $j ∈ [d_2]$.

    In print: $i ∈ [\min\lbrace d_0, d_1\rbrace]$ and $j ∈ [\min\lbrace d_1, d_2\rbrace]$
    """
    return float(abs(data["sum"].sel(form=_form(printed)) / data["trace"] - 1).max())


@of_pairs.identity("eq. (10)", SOLVER, id="largest-eigenvalue-is-the-sum-of-norms")
def largest_eigenvalue(data: xr.Dataset) -> float:
    """At every epoch the largest eigenvalue of the Gauss-Newton matrix is
    $σ_x^2(‖W_1‖_2^2 + ‖W_2‖_2^2)$, whether or not the layers are balanced.
    """
    largest = data["numerical"].sel(matrix="ggn").max("rank")
    return float(abs(largest / squared_norms(data).sum("layer") - 1).max())


@of_pairs.beyond.identity(
    "Assumption 1; {artifact}",
    replace(
        SOLVER,
        source="Weyl's inequality: the difference between the Hessian and the Gauss-Newton "
        "matrix has the eigenvalues $± σ_k((f(X) - Y)X^⊤/n)$",
    ),
    id="hessian-is-near-its-gauss-newton-part",
)
def residual_bound(data: xr.Dataset) -> float:
    r"""Eq. (15) differs from the Hessian's eigenvalues not by the loss but by $(f(X) - Y)X^⊤/n$. At
    every epoch they are at most its norm apart, which is at most
    $σ_x \sqrt{2(\text{loss} - \text{loss of least squares})}$. Value: the excess over that bound,
    relative to $λ_{\max}$, if any.
    """
    eigenvalues = data["numerical"].sel(matrix="hessian")
    distance = abs(data["exact"].sel(form="corrected") - eigenvalues).max("rank")
    beyond = (distance - weyl_bound(data)) / eigenvalues.max("rank")
    return max(0.0, float(beyond.max()))


@figure_4.typically(
    "Appendix B, text on Figure 4",
    at_most(
        -1.0,
        "−1 is a fall at every recorded epoch; 0.1 allows for two neighbours out of order",
        tolerance=0.1,
    ),
    id="more-precise-as-training-progresses",
    otherwise=UNFITTED,
)
def error_trend(data: xr.Dataset) -> float:
    r"""The approximation becomes increasingly precise as training progresses.

    Statistic: Spearman's correlation of the error with the epoch, at the paper's width, for the
    image set where it is largest. The error is the mean of $|\text{eq. 15} - λ| / λ$ over the
    Hessian's top eigenvalues.
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


@figure_4.beyond.everywhere(
    "Assumption 1; {artifact}",
    equal_to(
        0.0, "a count", source="our addition; the network with fewer hidden units is ours too"
    ),
    id="precise-where-labels-are-fitted",
)
def fitted(data: xr.Dataset) -> float:
    """The error vanishes with training exactly where the network can fit the least-squares
    solution, which needs at least as many hidden units as outputs. It ends below 1 % if and only if
    training leaves less than 2 % of the loss above that of least squares. Value: number of networks
    that contradict this.

    Remark: Both limits are round numbers; networks near them may be on either side.
    """
    ends = (
        [of(each).isel(epoch=-1) for of in (_error, relative_excess)] for each in networks(data)
    )
    return float(sum((error < 0.01) != (excess < 0.02) for error, excess in ends))


@figure_4.everywhere(
    "appendix D.3.3, which anon2026data contradicts below eq. (10)",
    within(
        0.01, "the remaining residual, as for the top eigenvalues", source="anon2026data, eq. (10)"
    ),
    id="sharpness-is-the-sum-of-both-norms",
    paper="singh2026cracking",
    state=AFTER_TRAINING,
    assumes=Condition("whitened inputs"),
    otherwise=UNFITTED,
)
def sharpness(data: xr.Dataset, printed: bool = False) -> float:
    r"""After training the Hessian's largest eigenvalue is $σ_x^2(‖W_1‖_2^2 + ‖W_2‖_2^2)$. Value:
    relative error at the last epoch, at the paper's width, for the image set where it is largest.

    In print: $\max\lbrace ‖W_1‖_2^2, ‖W_2‖_2^2\rbrace$, from a Hessian without blocks of two layers
    """
    combined = xr.DataArray.max if printed else xr.DataArray.sum
    ratios = (
        network["numerical"].max("rank") / combined(squared_norms(network), "layer")
        for network in networks(_widest(data).sel(matrix="hessian"))
    )
    return max(float(abs(ratio.isel(epoch=-1) - 1)) for ratio in ratios)


# What falls early in training.


@figure_3.typically(BELOW, FALLS, id="curvature-falls-early", otherwise=GROWTH)
def falls_early(data: xr.Dataset) -> float:
    """The curvature falls early in training, as the weights shrink.

    Statistic: lowest trace by eq. (7) over the initial one, minus 1, for the image set where it
    falls least. Measured while more than half of the loss above that of least squares remains.
    """
    return worst(early_fall(network, network["trace"]) for network in networks(data))


@figure_4.typically(BELOW, FALLS, id="norm-falls-early", otherwise=GROWTH)
def norm_falls_early(data: xr.Dataset) -> float:
    """The norm of the parameters decreases early in training.

    Statistic: lowest trace of eq. (11), $σ_x^2(d_2‖W_1‖_F^2 + d_0‖W_2‖_F^2)$, over the initial one,
    minus 1, for the network where it falls least. Measured while more than half of the loss above
    that of least squares remains.
    """
    return falls_early(data)


@figure_4.typically(BELOW, FALLS, id="sharpness-falls-early", otherwise=GROWTH)
def sharpness_falls_early(data: xr.Dataset) -> float:
    """Sharpness decreases early in training.

    Statistic: lowest sharpness of the Hessian over the initial one, minus 1, for the network where
    it falls least. Measured while more than half of the loss above that of least squares remains.
    """
    return worst(
        early_fall(network, network["numerical"].max("rank"))
        for network in networks(data.sel(matrix="hessian"))
    )
