"""What the paper says about the GGN of language models with and without attention."""

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import Estimate, at_least, at_most, mean_of, needs
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.gpt2.gauss_newton_error.derived import (
    added,
    common,
    compared_at,
    contrast,
)
from hessian_papers.studies.gpt2.seeds import (
    ARMS,
    ATTENTION,
    COMPARED,
    NO_NORM_WEIGHTS,
    PATTERNS,
    TWIN,
    chosen,
    compare,
    estimate,
    rank_correlations,
)

SECTION = "section 4.3; {artifact}"
SMALL = (
    "The paper has 124 million weights and 10000 steps on another text. Networks that are "
    "smaller, or train for fewer steps, may be in another phase of training."
)
SEEDS = (
    "at each level the interval covers what Student's t leaves open for so few seeds, and "
    "the eigenvalues' residuals"
)
SIGN = at_least(0.0, f"a sign; {SEEDS}")
WITH = {"with": ATTENTION, "without": TWIN}
LESS = at_most(0.0, f"a sign; {SEEDS}", source="ours")
# The parts of a training, by the share of its steps after which they begin. What goes to zero falls
# at the end, too.
PARTS = {"the whole": 0.0, "the second half": 0.5}

# Where networks with one part changed are compared: at the end, as the pair of Figure 5, and at
# equal losses. A third of the range of losses is most of a short training: the last step and the
# lowest loss were put beside it after the first recorded run was seen.
PLACES = ("the last step", "the lowest loss", "the lowest third of losses")

statements = Statements(
    values={
        "residual": "residual norm",
        "difference": "the error with attention minus the error without",
        "ratio": "the logarithm of the ratio of the errors with and without attention",
    },
).having(otherwise=SMALL)
PAPER = "singh2026cracking"
figure_5 = statements.about(PAPER, "Figure 5")
figures = figure_5 | statements.about(PAPER, "Figure 23", "Figure 24", "Figure 25")
# Trainings of the paper's networks, measured so seldom that at equal loss or residual most of a run
# would be a line from its first measurement: they are compared at their ends alone. That was
# decided after a first evaluation, which left such comparisons open.
own_size = statements.about(PAPER, "Section 4.3, at GPT-2's own size")
# The study of networks with one part changed, of which our own statements are.
arms = statements.about(PAPER, "Section 4.3, one part changed")


def _arms(data: xr.Dataset) -> list[dict[str, str]]:
    """A case for each network with one part changed."""
    return [{"arm": name} for name in data["variant"].values.tolist() if name in ARMS]


def _late_arms(data: xr.Dataset) -> list[dict[str, str]]:
    """Cases at each place, of networks without attention as well; of these alone at the end."""
    arms = _arms(data)
    names, places = [{"arm": TWIN}, *arms], PLACES if arms else PLACES[:1]
    return [name | {"place": place} for place in places for name in names]


def _along(data: xr.Dataset, shown: str) -> list[dict[str, str]]:
    """A case for each quantity."""
    if data["shown"] != shown:
        return []
    return [{"along": name} for name in compared_at(data)]


def _comparisons(data: xr.Dataset) -> list[dict[str, str]]:
    return [{"compared": name} for name in COMPARED]


def _compared(data: xr.Dataset) -> list[dict[str, str]]:
    return [case | more for case in _along(data, "mean") for more in _comparisons(data)]


def _share(data: xr.Dataset, along: str, *compared: str, **pair: str) -> Estimate:
    """The share of the common levels at which the first architecture's error is larger.

    Its interval goes from the share at which the whole interval of the mean is above 0 to that at
    which some of it is. Arguments are those of :func:`contrast`.
    """
    mean = contrast(data, along, *compared, **pair)
    return Estimate(*(float((mean[end] > 0).mean()) for end in Estimate._fields))


@figures.typically(
    SECTION,
    reading_of("almost every"),
    each=_compared,
    id="ggn-is-worse-with-attention",
    name="worse-{along}-{compared}",
)
def worse(data: xr.Dataset, along: str, compared: str) -> Estimate:
    """For almost every fixed residual norm, loss or step, except at initialisation, the error is
    smaller without attention.

    Statistic: fraction of the range common to all runs (of its logarithm, for eigenvalues) in which
    the mean over seeds of the compared quantity is positive. Interval: from the fraction where its
    95 % interval, paired by seed, lies above 0 to that where it reaches above 0.
    """
    return _share(data, along, compared)


@figures.typically(
    SECTION,
    reading_of("almost every"),
    each=lambda data: _along(data, "runs"),
    id="ggn-is-worse-with-attention",
    name="worse-in-each-pair-{along}",
)
def worse_in_each_pair(data: xr.Dataset, along: str) -> float:
    """For almost every fixed residual norm, loss or step, except at initialisation, the error is
    smaller without attention.

    Statistic: fraction of the range common to both runs of a pair with the same seed in which this
    holds; smallest over the pairs.
    """
    pairs = added(data, along)["value"]
    number = pairs.notnull().sum("point")
    needs(number.all(), f"in this configuration a pair of runs has no {along} in common")
    return float(((pairs > 0).sum("point") / number).min())


def _late(data: xr.Dataset, along: str, *compared: str, **pair: str) -> Estimate:
    """The mean of a compared quantity over the lowest third of the levels common to all runs."""
    samples = common(data, along, *compared, **pair)
    level = samples["level"].values
    lowest = level <= level[0] + (level[-1] - level[0]) / 3
    return estimate(samples.isel(point=lowest).mean("point", skipna=False))


@figure_5.typically("section 4.3", SIGN, id="ggn-is-worse-late-in-training", each=_comparisons)
def worse_late(data: xr.Dataset, compared: str) -> Estimate:
    """Late in training, too, the error is smaller without attention.

    Statistic: mean of the compared quantity over the lowest third of the residual norms common to
    all runs.
    """
    return _late(data, "residual", compared)


@(arms | own_size).beyond.shown(
    "section 4.3, beyond the paper", LESS, id="error-with-one-part-changed", each=_late_arms
)
def with_one_part_changed(data: xr.Dataset, arm: str, place: str) -> Estimate:
    """The error of GPT-2's GGN is smaller with one part of the network changed: attention, softmax,
    GELU, or layer norm.

    Statistic: natural logarithm of the ratio of the errors, with that part changed and with none.
    At the last step; at the lowest loss that is common to all runs; and at equal loss, the mean
    over the lowest third.
    """
    pair = {"first": arm, "second": ATTENTION}
    if place == PLACES[0]:
        last = data.isel(step=-1)
        return estimate(compare(last["measured"], last["measured_uncertainty"], "ratio", **pair))
    if place == PLACES[1]:
        return estimate(common(data, "loss", "ratio", **pair).isel(point=0))
    return _late(data, "loss", "ratio", **pair)


@arms.beyond.typically(
    "section 4.3, beyond the paper",
    LESS,
    id="softmax-makes-the-error",
    each=lambda data: [case for case in _arms(data) if case["arm"] in PATTERNS],
)
def softmax_makes_the_error(data: xr.Dataset, arm: str) -> Estimate:
    """Softmax makes the error of the GGN, not the mixing of tokens: with patterns that no token
    changes in place of softmax, it is smaller.

    Statistic: natural logarithm of the ratio of the errors, with such patterns and with softmax, at
    the last step.
    """
    return with_one_part_changed(data, arm, PLACES[0])


@(figure_5 | own_size).typically(
    "section 4.3", at_most(0.0, f"a sign; {SEEDS}"), id="ggn-is-not-worse-at-initialisation"
)
def not_worse_at_start(data: xr.Dataset) -> Estimate:
    """At initialisation the error is not smaller without attention.

    Statistic: mean difference before the first step.
    """
    start = data.isel(step=0)
    samples = compare(start["measured"], start["measured_uncertainty"], "difference")
    measured = start["step"] == 0 and np.isfinite(samples["value"]).all()
    needs(measured, "in this configuration a run is not measured at its start")
    return estimate(samples)


@figure_5.typically(
    "section 4.3",
    SIGN,
    id="residual-drives-the-error",
    each=lambda data: [{"attention": name, "part": part} for name in WITH for part in PARTS],
)
def residual_drives_the_error(data: xr.Dataset, attention: str, part: str) -> Estimate:
    """The residual drives the difference between Hessian and GGN to zero during training.

    Statistic: rank correlation of error and residual norm along a run and, as we read "to zero",
    along the second half of its steps; mean over seeds.
    """
    runs = chosen(data, along="residual", variant=WITH[attention])
    runs = runs.isel(step=runs["step"].values >= PARTS[part] * int(runs["step"][-1]))
    few = f"{part} of a run has fewer than 3 measurements"
    value, low, high = mean_of(rank_correlations(runs["quantity"], runs["measured"], "step", few))
    return Estimate(value, max(low, -1.0), min(high, 1.0))


@figure_5.beyond.typically(
    "section 4.3",
    at_least(0.9, f"as for attention with norm weights; {SEEDS}", source="ours"),
    id="ggn-is-worse-without-norm-weights",
)
def worse_without_norm_weights(data: xr.Dataset) -> Estimate:
    """Attention causes the larger error even where no LayerNorm has weights, so these weights are
    not the cause.

    Statistic: fraction of the residual norms at which GPT-2 without norm weights has a larger mean
    error than without attention.
    """
    return _share(data, "residual", first=NO_NORM_WEIGHTS)
