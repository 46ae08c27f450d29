"""The statements of anon2026data on the trace and top eigenvalues of networks through training."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import at_most, needs, within
from hessian_papers.ledger.conditions import (
    AFTER_TRAINING,
    ANY_STATE,
    THROUGHOUT_TRAINING,
    Condition,
)
from hessian_papers.ledger.statements import Labels, Statements
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.images.derived import EARLY_IN_TRAINING
from hessian_papers.studies.images.through_training.derived import (
    Form,
    early_fall,
    errors,
    is_early,
    networks,
    squared_norms,
    weyl_bound,
)
from hessian_papers.studies.spectra import error
from hessian_spectra.statistics import rank_correlation

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


def _each_set(data: xr.Dataset) -> Iterable[Labels]:
    """A case for each image set, where a study has estimates of the trace."""
    return [{"source": s} for s in data["source"].values.tolist() if "estimate" in data]


statements = Statements()
of_pairs = statements.having(each=_where("exact"), state=ANY_STATE)
figure_3 = statements.about("anon2026data", "Figure 3")
figure_4 = of_pairs.about("anon2026data", "Figure 4")


# The trace by equation (7), and by random probes.


@statements.typically(
    "text below eq. (7); {artifact}",
    reading_of("to the eye"),
    id="trace-is-exact-early-in-training",
    state=EARLY_IN_TRAINING,
    each=_each_set,
)
def early(data: xr.Dataset, source: str) -> xr.DataArray:
    """The trace by eq. (7) holds very well, even early in training, when the loss is high.

    Statistic: relative difference between Hutchinson's estimate and the trace. Mean over the
    recorded epochs at which more than half of the loss above that of least squares remains. Each
    epoch has probes of its own: a draw. Interval: Student's t.

    Remark: An estimate from few probes is itself far from the trace.
    """
    differences = []
    for network in networks(data.sel(source=[source])):
        size = abs(network["estimate"] / network["trace"] - 1)
        differences.append(size.values[(is_early(network) & np.isfinite(size)).values])
    draws = np.concatenate(differences)
    needs(draws.size, "this configuration has no networks of which that can be said")
    return xr.DataArray(draws, dims="draw", coords={"draw": np.arange(draws.size)})


# The eigenvalues by equation (15): what holds at every epoch, and what changes with training.


@of_pairs.identity("Equation 15; {artifact}", SOLVER, id="two-layers-pairs")
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
    "Equation 15 with equation 11",
    within(
        1e-10,
        "float64 rounding of a sum of a few thousand terms, with a margin",
        source="the definition of a trace",
    ),
    id="two-layers-pairs",
)
def sums(data: xr.Dataset, printed: bool = False) -> float:
    r"""The eigenvalues of eq. (15) sum to the trace of eq. (11),
    $σ_x^2(d_2‖W_1‖_F^2 + d_0‖W_2‖_F^2)$, with $i ∈ [d_0]$ and $j ∈ [d_2]$.

    In print: $i ∈ [\min\lbrace d_0, d_1\rbrace]$ and $j ∈ [\min\lbrace d_1, d_2\rbrace]$
    """
    return float(abs(data["sum"].sel(form=_form(printed)) / data["trace"] - 1).max())


@of_pairs.identity("Equation 10", SOLVER, id="two-layers-sharpness")
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


@figure_4.shown(
    "Appendix B, text on Figure 4",
    at_most(
        -1.0,
        "−1 is a fall at every recorded epoch; 0.1 allows for two neighbours out of order",
        tolerance=0.1,
    ),
    id="more-precise-as-training-progresses",
    state=THROUGHOUT_TRAINING,
    otherwise=UNFITTED,
)
def error_trend(data: xr.Dataset) -> float:
    r"""The approximation becomes increasingly precise as training progresses.

    Statistic: Spearman's correlation of the error with the epoch, at the paper's width, mean over
    image sets with one training each. The error is the mean of $|\text{eq. 15} - λ| / λ$ over the
    Hessian's top eigenvalues.
    """
    trends = [
        rank_correlation(network["epoch"].values.astype(float), _error(network).values)
        for network in networks(_widest(data))
    ]
    return float(np.nanmean(trends))


def _error(network: xr.Dataset) -> xr.DataArray:
    """The mean of the corrected sums' errors over the eigenvalues that are not 0."""
    return errors(network).sel(form="corrected", matrix="hessian").mean("rank")


def _widest(data: xr.Dataset) -> xr.Dataset:
    """The networks of the largest width, which is the paper's."""
    return data.sel(width=data["width"].max())


@figure_4.beyond.everywhere(
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
def sharpness(data: xr.Dataset) -> float:
    """After training the Hessian's largest eigenvalue is $σ_x^2(‖W_1‖_2^2 + ‖W_2‖_2^2)$.

    Statistic: relative error at the last epoch, at the paper's width, for the image set where it is
    largest.
    """
    ratios = (
        network["numerical"].max("rank") / squared_norms(network).sum("layer")
        for network in networks(_widest(data).sel(matrix="hessian"))
    )
    return max(float(abs(ratio.isel(epoch=-1) - 1)) for ratio in ratios)


# What falls early in training.


@figure_4.shown(BELOW, FALLS, id="norm-falls-early", state=EARLY_IN_TRAINING, otherwise=GROWTH)
def norm_falls_early(data: xr.Dataset) -> float:
    """The norm of the parameters decreases early in training.

    Statistic: lowest trace of eq. (11), $σ_x^2(d_2‖W_1‖_F^2 + d_0‖W_2‖_F^2)$, over the initial one,
    minus 1, while more than half of the loss above that of least squares remains. At the paper's
    width, mean over image sets with one training each.
    """
    falls = [early_fall(network, network["trace"]) for network in networks(_widest(data))]
    return float(np.mean(falls))


@figure_3.shown(BELOW, FALLS, id="norm-falls-early", state=EARLY_IN_TRAINING, otherwise=GROWTH)
def falls_early(data: xr.Dataset) -> float:
    """The trace of deeper networks by eq. (7), the sum of norms, decreases early in training."""
    return norm_falls_early(data)
