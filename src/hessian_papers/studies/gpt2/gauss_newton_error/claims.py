"""What the paper says about the GGN of language models with and without attention."""

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import Replicated, at_least, at_most, needs
from hessian_papers.ledger.conditions import AT_INITIALISATION, THROUGHOUT_TRAINING, Condition
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.gpt2.gauss_newton_error.derived import common, compared_at, larger
from hessian_papers.studies.gpt2.seeds import (
    AS_TRAINED,
    ATTENTION,
    TWIN,
    chosen,
    compare,
    estimate,
    rank_correlations,
    recorded,
)

SECTION = "section 4.3; {artifact}"
SMALL = (
    "The paper has 124 million weights and 10000 steps on another text. Networks that are "
    "smaller, or train for fewer steps, may be in another phase of training."
)
SEEDS = (
    "the interval covers what Student's t leaves open for so few seeds, and the eigenvalues' "
    "residuals"
)
MORE = at_least(0.0, f"a sign; {SEEDS}")
LESS = at_most(0.0, f"a sign; {SEEDS}", source="ours")
WITH = {"with": ATTENTION, "without": TWIN}
# The parts of a training, by the share of its steps after which they begin. What goes to zero falls
# at the end, too.
PARTS = {"the whole": 0.0, "the second half": 0.5}
# The sentence is about two architectures at any time of their training; what attention is worth
# to one of them by then is not in it.
TRAINED = Condition("throughout training, but for its start")

# What is compared of networks with one part changed. A ratio of relative errors may be one of
# gaps, or of the eigenvalues below them.
PLACES = (
    "the last step",
    "the gap at the last step",
    "the eigenvalue at the last step",
    "the lowest loss",
)

statements = Statements(values={"residual": "residual norm"}).having(otherwise=SMALL)
PAPER = "singh2026cracking"
figure_5 = statements.about(PAPER, "Figure 5")
figures = figure_5 | statements.about(PAPER, "Figure 23", "Figure 24", "Figure 25")
own_size = statements.about(PAPER, "Section 4.3, at GPT-2's own size")
# With figure 5 these have all networks that are measured, each training once.
networks = figure_5 | own_size | statements.about(PAPER, "Section 4.3, one part changed")
ours = networks.beyond.having(state=AS_TRAINED)


@figures.typically(
    SECTION,
    reading_of("almost every"),
    each=lambda data: [{"along": name} for name in compared_at(data)],
    id="ggn-is-worse-with-attention",
    name="worse-{along}",
    state=TRAINED,
)
def worse(data: xr.Dataset, along: str) -> xr.DataArray:
    """For almost every fixed residual norm, loss or step, except at initialisation, the error is
    smaller without attention.

    Statistic: fraction of the range common to both runs of a pair with the same seed in which this
    holds; interval: Student's t over pairs.
    """
    return larger(data, along)


def _compared(data: xr.Dataset, place: str, arm: str, other: str) -> Replicated:
    """The logarithm of the ratio of two networks' errors, gaps or eigenvalues at some place."""
    pair = {"first": arm, "second": other}
    if place == PLACES[3]:
        return estimate(common(data, "loss", **pair).isel(point=0))
    last = data.isel(step=-1)
    values, off = last["measured"], last["measured_uncertainty"]
    if place != PLACES[0]:
        scale = recorded(last, "sharpness", "the eigenvalues below the relative errors")
        values, off = scale if place == PLACES[2] else values * scale, off * scale
    return estimate(compare(values, off, **pair))


@ours.typically("section 4.3, beyond the paper", MORE, id="ggn-is-worse-late-in-training")
def worse_late(data: xr.Dataset) -> Replicated:
    """At the end of a short training, too, the error is smaller without attention.

    Statistic: natural logarithm of the ratio of the errors with and without attention, at the last
    step; mean over seeds.
    """
    return _compared(data, PLACES[0], ATTENTION, TWIN)


def _arms(data: xr.Dataset) -> list[dict[str, str]]:
    """A case for each network with one part changed, at each place that the study has."""
    places = PLACES if "loss" in compared_at(data) else PLACES[:3]
    arms = [name for name in data["variant"].values.tolist() if name != ATTENTION]
    return [{"arm": name, "place": place} for place in places for name in arms]


@ours.shown("section 4.3, beyond the paper", LESS, id="error-with-one-part-changed", each=_arms)
def with_one_part_changed(data: xr.Dataset, arm: str, place: str) -> Replicated:
    """How the error of GPT-2's GGN changes with one part of the network: attention, softmax, GELU,
    or layer norm.

    Statistic: natural logarithm of the ratio of the errors, with that part changed and with none;
    beside it that of the gaps between the eigenvalues, and of the Hessian's eigenvalues themselves.
    At the last step, and at the lowest loss that is common to all runs.
    """
    return _compared(data, place, arm, ATTENTION)


@(figure_5 | own_size).typically(
    "section 4.3",
    at_most(0.0, f"a sign; {SEEDS}"),
    id="ggn-is-not-worse-at-initialisation",
    state=AT_INITIALISATION,
)
def not_worse_at_start(data: xr.Dataset) -> Replicated:
    """At initialisation the error is not smaller without attention.

    Statistic: natural logarithm of the ratio of the errors with and without attention before the
    first step; mean over seeds.
    """
    start = data.isel(step=0)
    samples = compare(start["measured"], start["measured_uncertainty"])
    measured = start["step"] == 0 and np.isfinite(samples["value"]).all()
    needs(measured, "in this configuration a run is not measured at its start")
    return estimate(samples)


@figure_5.typically(
    "section 4.3",
    at_least(0.0, "a positive correlation"),
    id="residual-drives-the-error",
    each=lambda data: [{"attention": name, "part": part} for name in WITH for part in PARTS],
    state=THROUGHOUT_TRAINING,
)
def residual_drives_the_error(data: xr.Dataset, attention: str, part: str) -> xr.DataArray:
    """The residual drives the difference between Hessian and GGN to zero during training.

    Statistic: rank correlation of the residual norm and the gap between the largest eigenvalues,
    mean over seeds. It is along a run and, as we read "to zero", along its second half.
    """
    runs = chosen(data, along="residual", variant=WITH[attention])
    runs = runs.isel(step=runs["step"].values >= PARTS[part] * int(runs["step"][-1]))
    gap = runs["measured"] * recorded(runs, "sharpness", "the eigenvalues below the errors")
    few = f"{part} of a run has fewer than 3 measurements"
    return rank_correlations(runs["quantity"], gap, "step", few)
