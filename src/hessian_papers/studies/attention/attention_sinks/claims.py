"""What the paper says about sinks in self-attention with vector tokens."""

from collections.abc import Iterator

import xarray as xr

from hessian_papers.ledger.bounds import Estimate, at_least, estimate_of, needs, within
from hessian_papers.ledger.conditions import ANY_STATE
from hessian_papers.ledger.statements import Labels, Statements
from hessian_papers.ledger.words import MOST
from hessian_papers.studies.attention.attention_sinks.derived import (
    bulk_errors,
    largest_outliers,
    resolved,
)
from hessian_spectra.agreement import EXACT
from hessian_spectra.statistics import rank_correlation

EXTENDED = "Theorem 3.5, extended to vector tokens"
OURS = "our extension of the theorem"
SHOWN = "appendix D.3.1, Figure 9"
CAPTION = "caption of the figure"

WEIGHTS = (
    "It depends on the weights, which the paper leaves open. With large weights, attention "
    "concentrates on few tokens even without a sink, and a sink moves the largest "
    "eigenvalue either way."
)
FEW = "a rank correlation of 1 is a monotone trend; 0.1 for one swap of neighbours among few sinks"

statements = Statements().having(state=ANY_STATE)
extension = statements.having(paper="singh2026cracking")
figure_9 = statements.about("singh2026cracking", "Figure 9").having(otherwise=WEIGHTS)


def _resolved(data: xr.Dataset) -> xr.Dataset:
    """The data set at the sinks at which that can be measured which is to repeat."""
    chosen = resolved(data)
    needs(
        chosen.sizes["sink_bias"],
        "this configuration has no sink at which float64 tells the bulk's values from each "
        "other, from zero and from the outliers",
    )
    return chosen


@extension.beyond.identity(
    EXTENDED,
    within(EXACT, "round-off of a dense float64 eigen-decomposition is below 1e-13", source=OURS),
    id="bulk-of-vector-tokens",
)
def bulk(data: xr.Dataset) -> float:
    """The repeated eigenvalues are ± the singular values of the loss's derivative with respect to
    $W_Q W_K^⊤$.

    Statistic: largest difference, relative to the largest eigenvalue.
    """
    return float(bulk_errors(_resolved(data)).max())


@extension.beyond.identity(
    EXTENDED,
    within(0.0, "a count; eigenvalues count as equal within 1e-11 of the largest", source=OURS),
    id="bulk-of-vector-tokens",
)
def bulk_multiplicity(data: xr.Dataset) -> float:
    """Each of them occurs $d_K - 2 d + 1$ times, as often as a full-rank $[W_Q; W_K]$ allows.

    Statistic: number of repeated eigenvalues with another multiplicity.
    """
    equals = _resolved(data)["equals"]
    return float(((equals > 1) & (equals != data["copies"])).sum())


@figure_9.exists(
    SHOWN, at_least(1.0, FEW, tolerance=0.1, source=CAPTION), id="larger-sinks-larger-outliers"
)
def outliers_grow(data: xr.Dataset) -> float:
    """The larger the attention sink, the larger the outliers, also for embedding dimension larger
    than 1.

    Statistic: rank correlation of mean attention on the first token and mean of the largest
    outliers, for the plotted network, whose whole spectrum is known.
    """
    return rank_correlation(data["sink_attention"].values, largest_outliers(data).mean(axis=1))


# What the figure says of a network without and with the largest sink: by the case's name the
# statement, and what is meant by it.
SAID = {
    "bulk-shrinks": ("sinks-shrink-the-bulk", "its mean magnitude is smaller than without a sink"),
    "bulk-towards-zero": ("sinks-shrink-the-bulk", "it is at most a tenth of that without a sink"),
    "largest-grows": ("sinks-raise-the-largest-eigenvalue", "it is larger than without a sink"),
}


def _said_at_each_norm(data: xr.Dataset) -> Iterator[Labels]:
    for norm, value in zip(data["query_key_norm"].values, data["value_norm"].values, strict=True):
        for name, (statement, means) in SAID.items():
            norms = f"$‖W_V‖ = {value:g}$, $‖W_Q‖ = ‖W_K‖ = {norm:g}$"
            case = {"name": name, "query_key_norm": norm, "query_key": f"{norm:g}"}
            yield case | {"statement": statement, "means": means, "norms": norms}


@figure_9.left_open(
    SHOWN,
    MOST,
    id="{statement}",
    each=_said_at_each_norm,
    name="{name}-{query_key}",
    shown=("means", "norms"),
)
def in_most_draws(
    data: xr.Dataset, name: str, query_key_norm: float, **_: str
) -> Estimate | xr.DataArray:
    """With a large attention sink the bulk is smaller and the largest eigenvalue larger; the
    weights are left open.

    Statistic: fraction of draws (weights, sequences and targets, independent and normal) in which
    this holds at the largest sink; interval: Wilson's, 95 %.
    """
    draws = data.sel(query_key_norm=query_key_norm)
    if name == "largest-grows":
        return _share_that_grows(draws)
    bulk = draws["draw_bulk"]
    needs(bulk.any(), "in this configuration the draws have no bulk but zeros")
    limit = 0.1 if name == "bulk-towards-zero" else 1.0
    return bulk.sel(sink="largest") < limit * bulk.sel(sink="none")


def _share_that_grows(draws: xr.Dataset) -> Estimate:
    """The share of the draws whose largest eigenvalue a sink raises.

    Eigenvalues are known to within their residuals. Draws of which that leaves it open are among
    those that are raised at the upper end of the interval, and not at the lower.
    """
    largest, margin = draws["draw_largest"], draws["draw_residual"].sum("sink")
    growth = largest.sel(sink="largest") - largest.sel(sink="none")
    share, surely, perhaps = (estimate_of(growth > least) for least in (0.0, margin, -margin))
    return Estimate(share.value, surely.low, perhaps.high)
