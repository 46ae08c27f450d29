"""What the paper says about self-attention at the edge of stability."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import at_least, at_most, equal_to, needs, within
from hessian_papers.ledger.statements import Cases, Labels, Statements
from hessian_papers.ledger.words import MOST
from hessian_papers.studies.attention.attention_edge_of_stability.derived import (
    edge,
    relative_sharpness,
)
from hessian_papers.studies.spectra import error
from hessian_papers.studies.trainings import compared
from hessian_spectra.agreement import EXACT
from hessian_spectra.statistics import correlation, rank_correlation

FIGURE = "appendix D.5 and Figure 27"
SHOWN = f"{FIGURE}, for one sequence and initial weights that are chosen because it is so"
TEXT = "text of the figure"
TENTH: dict[str, Any] = {"tolerance": 0.1, "source": TEXT}

OPEN = (
    "The paper gives neither the sequence nor the number of steps. The edge is reached only "
    "where the flattest weights of zero loss are nearly as sharp as $2/η$; with other "
    "sequences or learning rates gradient descent settles below $2/η$, keeps oscillating, "
    "or diverges."
)
SECOND_MOMENT = (
    "$m_2$ necessarily falls: it is the variance $p (1 - p) (x_1 - x_2)^2$ of two tokens "
    "under the attention p. Small initial weights put this variance at its maximum, "
    "$p = 1/2$. $m_1$ and $m_3$ do grow."
)
ROUND_OFF = within(
    EXACT,
    r"round-off of a dense float64 eigen-decomposition is below 1e-14 of $λ_{\max}$",
    source="theorem",
)
RISING = at_least(
    1.0,
    "a rank correlation is a correlation of the ranks, 1 for a monotone rise; the first steps, at "
    "a saddle, may wander a little",
    tolerance=0.2,
    source=TEXT,
)


statements = Statements()
theorems = statements.having(paper="singh2026cracking")
shown_of_most = statements.about("singh2026cracking", "Figure 27")
figure_27 = statements.about("singh2026cracking", "Figure 27").having(otherwise=OPEN)
# Of the run that the figure shows.
instance = partial(figure_27.exists, SHOWN)


def _until_edge(data: xr.Dataset) -> xr.Dataset:
    """The steps up to the edge, that one included; all if there is none."""
    return data.sel(step=slice(None, edge(data)))


def _from_edge(data: xr.Dataset) -> xr.Dataset:
    """The steps from the edge on; the last one alone if there is none."""
    first, last = edge(data), int(data["step"].max())
    return data.sel(step=slice(last if first is None else first, None))


def _trend(data: xr.Dataset, name: str) -> float:
    """The rank correlation of a quantity with the step."""
    return rank_correlation(data["step"].values.astype(float), data[name].values)


def _changes(data: xr.Dataset, name: str) -> np.ndarray:
    """A quantity's one-step changes from the edge on."""
    return np.asarray(_from_edge(data)[name].diff("step"))


@theorems.identity("Theorem 3.5", ROUND_OFF, id="attention-spectrum")
def spectrum(data: xr.Dataset) -> float:
    """At every step of training the closed form is the whole spectrum of the Hessian."""
    return float(error(compared(data)).max())


@theorems.identity(
    "Remark B.4, equation (121), with the norms in $ξ$ squared", ROUND_OFF, id="attention-largest"
)
def sharpness_bounds(data: xr.Dataset) -> float:
    r"""At every step the sharpness lies between $\operatorname{tr}/3 + ξ/2$ and
    $\operatorname{tr}/3 + ξ$, or $|γ|$ where that is larger.

    Statistic: how far outside the largest numerical eigenvalue lies, relative to it.
    """
    steps = compared(data)
    sharpness = steps["numerical"].max("rank")
    beyond = abs(sharpness - sharpness.clip(steps["lower"], steps["upper"]))
    return float((beyond / sharpness).max(skipna=False))


@instance(RISING, id="progressive-sharpening")
def progressive_sharpening(data: xr.Dataset) -> float:
    """Progressive sharpening: the sharpness rises in the initial stage of training.

    Statistic: rank correlation with the step, until the sharpness reaches $2/η$.
    """
    return _trend(_until_edge(data), "sharpness")


@instance(
    at_least(1.0, "'reaches' is taken as at least 95 % of $2/η$", tolerance=0.05, source=TEXT),
    id="sharpness-reaches-the-edge",
)
def reaches_the_edge(data: xr.Dataset) -> float:
    """The sharpness climbs to $2/η$.

    Statistic: its largest value over $2/η$.
    """
    return float(relative_sharpness(data).max(skipna=False))


def _at_each_rate(table: Mapping[str, tuple[str, str]]) -> Cases:
    """What is said in a table, of each learning rate."""

    def cases(data: xr.Dataset) -> Iterator[Labels]:
        for rate in data["rate"].values:
            for name, (says, means) in table.items():
                yield {"name": name, "at": rate, "rate": f"{rate:g}", "says": says, "means": means}

    return cases


# What is said of a training on any sequence: by the claim's name.
OF_MOST = {
    "most-reach-the-edge": ("the sharpness climbs to $2/η$", "it reaches 95 % of $2/η$"),
    "most-stay-at-the-edge": (
        "the sharpness hovers around $2/η$",
        "its mean is within 5 % of $2/η$ and 90 % of its changes reverse the previous one, "
        "once it has reached $2/η$",
    ),
}


@shown_of_most.beyond.typically(
    FIGURE,
    MOST,
    id="{name}",
    otherwise=OPEN,
    each=_at_each_rate(OF_MOST),
    name="{name}-{rate}",
    shown=("rate",),
)
def of_most_sequences(data: xr.Dataset, name: str, at: float, **_: str) -> xr.DataArray:
    """For trainings on any sequence: {says}.

    Statistic: fraction of draws (a sequence of normal numbers and initial weights) for which
    {means}; interval: Wilson's, 95 %.
    """
    draws = data.sel(rate=at)
    return _stay(draws) if name == "most-stay-at-the-edge" else draws["draw_peak"] >= 0.95


def _stay(draws: xr.Dataset) -> xr.DataArray:
    """Which draws hover around 2/η, from the step on at which the sharpness has reached it."""
    around = abs(draws["draw_mean"] - 1) <= 0.05
    return around & (draws["draw_reversals"] >= 0.9) & np.isfinite(draws["draw_peak"])


# What the oscillation of such draws is: by the claim's name what is said, and what is meant.
OF_OSCILLATION = {
    "most-in-opposite-phase": (
        "sharpness and trace oscillate in completely opposite phases",
        "the correlation of their one-step changes is at most −0.9",
    ),
    "most-driven-by-xi": (
        "the terms that define $ξ$ drive the oscillation",
        "the correlation of the one-step changes of $ξ$ and of the sharpness is at least 0.9",
    ),
    "most-driven-by-alignment": (
        "these terms could include the alignment of $w_Q$ and $w_K$",
        "$6ζγ⟨w_Q, w_K⟩$ makes up more than half of the one-step changes of $9ξ^2/4$",
    ),
    "most-driven-by-residual": (
        "these terms could include the residual",
        (
            "less than half of the one-step changes of $ξ^2$ remain with targets that the "
            "outputs match"
        ),
    ),
    "most-driven-by-norms": (
        (
            "the term $3(β^2 - αζ)(‖w_Q‖^2 + ‖w_K‖^2)$ drives the oscillation, which the "
            "paper does not name"
        ),
        "it makes up more than half of the one-step changes of $9ξ^2/4$",
    ),
}
# What the paper says with a word that hedges it.
HEDGED = ("most-driven-by-alignment", "most-driven-by-residual")


@shown_of_most.statement(
    FIGURE,
    lambda case: "shown" if case["name"] in HEDGED else "typically",
    MOST,
    id="{name}",
    each=_at_each_rate(OF_OSCILLATION),
    name="{name}-{rate}",
    shown=("rate",),
    book=lambda case: "observations" if case["name"] in HEDGED else "beyond",
)
def of_most_oscillations(data: xr.Dataset, name: str, at: float, **_: str) -> xr.DataArray:
    """Where the sharpness hovers around $2/η$ in trainings on any sequence, {says}.

    Statistic: fraction of those draws (a sequence of normal numbers and initial weights) for which
    {means} once the sharpness has reached $2/η$; interval: Wilson's, 95 %.

    Remark: 'Could include' is the paper's wording; the paper does not measure it. In $ξ^2$ the term
    $3(β^2 - αζ)(‖w_Q‖^2 + ‖w_K‖^2)$ dominates; $3γ^2$ and the alignment term contribute little. The
    squared trace, which falls where $ξ$ rises, counteracts them. The residual enters every term.
    """
    draws = data.sel(rate=at)
    draws = draws.isel(draw=_stay(draws))
    needs(draws.sizes["draw"], "at this learning rate no draw stays at the edge of stability")
    return {
        "most-in-opposite-phase": draws["draw_trace"] <= -0.9,
        "most-driven-by-xi": draws["draw_half_width"] >= 0.9,
        "most-driven-by-alignment": draws["draw_terms"].sel(term="alignment") > 0.5,
        "most-driven-by-residual": draws["draw_solved"] < 0.5,
        "most-driven-by-norms": draws["draw_terms"].sel(term="norms") > 0.5,
    }[name]


# What grows along with the sharpness: by the claim's name what is said, and the variables.
GROWING = {
    "trace-grows": ("Progressive sharpening coincides with a growing trace", "trace"),
    "weights-grow": (
        "The norms of $w_V$, $w_Q$ and $w_K$ grow along with the sharpness",
        "norm_w_value",
        "norm_w_query",
        "norm_w_key",
    ),
    "moments-1-and-3-grow": (
        "The norms of $m_1$ and $m_3$ grow along with the sharpness",
        "norm_m_1",
        "norm_m_3",
    ),
    "moment-2-grows": ("The norm of $m_2$ grows along with the sharpness", "norm_m_2"),
}


def _growing(data: xr.Dataset) -> Iterator[Labels]:
    for name, (says, *arrays) in GROWING.items():
        yield {"name": name, "says": says, "arrays": arrays}


@instance(
    RISING,
    id="{name}-along",
    otherwise=lambda case: SECOND_MOMENT if case["name"] == "moment-2-grows" else OPEN,
    each=_growing,
    name="{name}",
    shown=(),
)
def grows_along(data: xr.Dataset, arrays: list[str], **_: str) -> float:
    """{says}.

    Statistic: rank correlation with the step, until the sharpness reaches $2/η$; the smallest over
    the quantities.
    """
    return min(_trend(_until_edge(data), name) for name in arrays)


@instance(
    equal_to(1.0, "5 %: a third of the first oscillations' amplitude", tolerance=0.05, source=TEXT),
    id="sharpness-hovers-at-the-edge",
)
def hovers(data: xr.Dataset) -> float:
    """At the edge of stability the sharpness stays around $2/η$.

    Statistic: its mean once it has reached $2/η$, divided by $2/η$.
    """
    return float(relative_sharpness(_from_edge(data)).mean(skipna=False))


@instance(
    at_least(
        1.0, "an oscillation of period 2 reverses at every step; a few steps may not", **TENTH
    ),
    id="sharpness-oscillates-at-the-edge",
)
def oscillates(data: xr.Dataset) -> float:
    """At the edge of stability the sharpness oscillates.

    Statistic: fraction of the steps, once the sharpness has reached $2/η$, that reverse the change
    of the previous step.
    """
    changes = _changes(data, "sharpness")
    if len(changes) < 2:
        return 0.0
    return float(np.mean(changes[1:] * changes[:-1] < 0))


@instance(
    equal_to(-1.0, "'completely opposite' is taken as a correlation below −0.9", **TENTH),
    id="sharpness-and-trace-in-opposite-phase",
)
def opposite_phase(data: xr.Dataset) -> float:
    """Sharpness and trace oscillate in completely opposite phases.

    Statistic: correlation of their one-step changes once the sharpness has reached $2/η$.
    """
    return correlation(_changes(data, "trace"), _changes(data, "sharpness"))


@instance(
    equal_to(1.0, "'driven by' is taken as a correlation above 0.9", **TENTH),
    id="xi-drives-the-oscillation",
)
def driven_by_xi(data: xr.Dataset) -> float:
    """The terms that define $ξ$ drive the oscillation.

    Statistic: correlation of the one-step changes of $ξ$ and of the sharpness once the sharpness
    has reached $2/η$.
    """
    return correlation(_changes(data, "half_width"), _changes(data, "sharpness"))


@figure_27.shown(
    SHOWN,
    at_least(1.0, "'similarly' is taken as a correlation above 0.9", **TENTH),
    id="amplitude-follows-the-residual",
)
def amplitude_follows_residual(data: xr.Dataset) -> float:
    """The amplitude of the oscillation decreases like the norm of the residual.

    Statistic: correlation of the size of the sharpness's one-step changes with that norm, once the
    sharpness has reached $2/η$.
    """
    residual = _from_edge(data)["norm_residual"].values
    return correlation(np.abs(_changes(data, "sharpness")), residual[:-1])


@instance(
    at_most(-1.0, "a decrease interrupted by local rises keeps nearly all ranks", **TENTH),
    id="loss-decreases-over-long-times",
)
def loss_decreases(data: xr.Dataset) -> float:
    """At the edge the loss keeps decreasing over long times.

    Statistic: rank correlation of loss and step once the sharpness has reached $2/η$.
    """
    return _trend(_from_edge(data), "loss")


@instance(
    at_least(1.0, "a count: at least one step", source=TEXT), id="loss-is-not-monotone-at-the-edge"
)
def loss_is_not_monotone(data: xr.Dataset) -> float:
    """Locally the loss rises as well.

    Statistic: number of steps that raise the loss once the sharpness has reached $2/η$.
    """
    return float(np.count_nonzero(_changes(data, "loss") > 0))
