"""What the paper says about self-attention at the edge of stability."""

from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import at_least, needs, positive, within
from hessian_papers.ledger.conditions import THROUGHOUT_TRAINING, Condition
from hessian_papers.ledger.statements import Labels, Statements
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
# The phase of a training that a sentence is about. What is measured begins or ends at the first
# step at which the sharpness is at least 2/η; a run without one has no such phase.
SHARPENING = Condition("while the sharpness rises, up to its first step at $2/η$")


def _require_edge(data: xr.Dataset) -> None:
    needs(edge(data) is not None, "in this run the sharpness never reaches $2/η$")


AT_THE_EDGE = Condition("once the sharpness has reached $2/η$", _require_edge)
HOVERING = Condition("once the sharpness has reached $2/η$, where it hovers around it")


statements = Statements()
theorems = statements.having(paper="singh2026cracking")
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


def _phenomena(data: xr.Dataset) -> dict[str, bool]:
    """Whether a run has each part of what the appendix means by the two phenomena."""
    sharpness, changes = relative_sharpness(data), _changes(data, "sharpness")
    return {
        "rises": _trend(_until_edge(data), "sharpness") >= 0.8,
        "reaches": float(sharpness.max(skipna=False)) >= 0.95,
        "stays": abs(float(sharpness.sel(step=_from_edge(data)["step"]).mean()) - 1) <= 0.05,
        "oscillates": len(changes) > 1 and np.mean(changes[1:] * changes[:-1] < 0) >= 0.9,
        "descends": _trend(_from_edge(data), "loss") <= -0.9,
        "not monotone": bool((_changes(data, "loss") > 0).any()),
    }


@instance(
    at_least(1.0, "all that the appendix names", source=TEXT),
    id="progressive-sharpening",
    state=THROUGHOUT_TRAINING,
)
def both_are_present(data: xr.Dataset) -> float:
    """Progressive sharpening and the edge of stability are present. The sharpness rises to $2/η$
    and oscillates around it; the loss decreases over long times, though not at every step.

    Statistic: fraction of six that the run has. Up to $2/η$ the rank correlation of sharpness and
    step is at least 0.8; the sharpness reaches 95 % of $2/η$. From then on its mean is within 5 %
    of $2/η$, and 90 % of its changes reverse the previous one. There the rank correlation of loss
    and step is at most −0.9, and a step raises the loss.
    """
    return float(np.mean([*_phenomena(data).values()]))


def _rates(data: xr.Dataset) -> list[Labels]:
    return [{"at": rate, "rate": f"{rate:g}"} for rate in data["rate"].values.tolist()]


@figure_27.everywhere(
    "appendix D.2",
    positive("one draw is enough for 'can be observed'", source="the paper"),
    id="edge-at-a-range-of-learning-rates",
    each=_rates,
    name="edge-at-rate-{rate}",
    state=THROUGHOUT_TRAINING,
)
def at_a_range_of_rates(data: xr.Dataset, at: float, **_: str) -> float:
    """Progressive sharpening and the edge of stability can be observed for a range of learning
    rates.

    Statistic: fraction of draws whose sharpness reaches $2/η$ and then hovers around it. Its mean
    is within 5 %, and 90 % of its changes reverse the previous one. A draw is a sequence of normal
    numbers with small initial weights; one shows that it can be.
    """
    return float(_stay(data.sel(rate=at)).mean())


def _stay(draws: xr.Dataset) -> xr.DataArray:
    """Which draws hover around 2/η, from the step on at which the sharpness has reached it."""
    around = abs(draws["draw_mean"] - 1) <= 0.05
    return around & (draws["draw_reversals"] >= 0.9) & np.isfinite(draws["draw_peak"])


# What the oscillation of such draws is: by the case's name what is meant.
OF_OSCILLATION = {
    "most-in-opposite-phase": (
        "the correlation of the one-step changes of sharpness and trace is at most −0.9"
    ),
    "most-driven-by-xi": (
        "the correlation of the one-step changes of $ξ$ and of the sharpness is at least 0.9"
    ),
    "most-driven-by-norms": (
        "$3(β^2 - αζ)(‖w_Q‖^2 + ‖w_K‖^2)$ makes up more than half of the one-step changes of "
        "$9ξ^2/4$"
    ),
}
# What the paper says they could include.
HEDGED = {
    "most-driven-by-alignment": (
        "the alignment's term $6ζγ⟨w_Q, w_K⟩$ makes up more than half of the one-step changes of "
        "$9ξ^2/4$"
    ),
    "most-driven-by-residual": (
        "less than half of the one-step changes of $ξ^2$ remain with targets that the outputs match"
    ),
}


def _named(data: xr.Dataset, means: dict[str, str]) -> list[Labels]:
    return [
        {"name": name, "means": text, **case}
        for case in _rates(data)
        for name, text in means.items()
    ]


def _oscillates(data: xr.Dataset, name: str, at: float) -> xr.DataArray:
    """Whether something is so, of each draw that hovers."""
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


@figure_27.beyond.typically(
    FIGURE,
    MOST,
    id="most-in-opposite-phase",
    each=lambda data: _named(data, OF_OSCILLATION),
    name="{name}-{rate}",
    shown=("rate", "means"),
    state=HOVERING,
)
def of_most_oscillations(data: xr.Dataset, name: str, at: float, **_: str) -> xr.DataArray:
    """In trainings on any sequence, too, the sharpness hovers around $2/η$ in opposite phase to the
    trace and along with $ξ$. The norms of $w_Q$ and $w_K$ account for most of that.

    Statistic: fraction of those draws (a sequence of normal numbers and initial weights) of which
    this holds once the sharpness has reached $2/η$; interval: Wilson's, 95 %.
    """
    return _oscillates(data, name, at)


@figure_27.shown(
    FIGURE,
    MOST,
    id="most-driven-by-residual",
    each=lambda data: _named(data, HEDGED),
    name="{name}-{rate}",
    shown=("rate", "means"),
    book="observations",
    state=HOVERING,
)
def could_include(data: xr.Dataset, name: str, at: float, **_: str) -> xr.DataArray:
    """The terms that drive the oscillation could include the alignment of $w_Q$ and $w_K$, and the
    residual.

    Statistic: fraction of the draws that hover around $2/η$ of which this holds; interval:
    Wilson's, 95 %. A draw is a sequence of normal numbers with initial weights.

    Remark: 'Could include' is the paper's wording; the paper does not measure it. In $ξ^2$ the term
    $3(β^2 - αζ)(‖w_Q‖^2 + ‖w_K‖^2)$ dominates; $3γ^2$ and the alignment term contribute little. The
    squared trace, which falls where $ξ$ rises, counteracts them. The residual enters every term.
    """
    return _oscillates(data, name, at)


@figure_27.shown(
    SHOWN,
    at_least(1.0, "'similarly' is taken as a correlation above 0.9", **TENTH),
    id="most-driven-by-residual",
    book="observations",
    state=HOVERING,
)
def amplitude_follows_residual(data: xr.Dataset) -> float:
    """The amplitude of the oscillation seems to decrease like the norm of the residual.

    Statistic: correlation of the size of the sharpness's one-step changes with that norm, once the
    sharpness has reached $2/η$.
    """
    residual = _from_edge(data)["norm_residual"].values
    return correlation(np.abs(_changes(data, "sharpness")), residual[:-1])


@instance(RISING, id="trace-grows-along", state=SHARPENING)
def trace_grows(data: xr.Dataset) -> float:
    """Progressive sharpening coincides with a growing trace.

    Statistic: rank correlation with the step, until the sharpness reaches $2/η$.
    """
    return _trend(_until_edge(data), "trace")


@instance(RISING, id="moment-2-grows-along", state=SHARPENING)
def weights_grow(data: xr.Dataset) -> float:
    """The norms of weights and moments, except that of $m_2$, grow along with the sharpness.

    Statistic: of the norms of $w_V$, $w_Q$ and $w_K$ the rank correlation with the step, until the
    sharpness reaches $2/η$; the smallest of the three.
    """
    return min(_trend(_until_edge(data), f"norm_w_{name}") for name in ("value", "query", "key"))


@instance(RISING, id="moment-2-grows-along", state=SHARPENING)
def moments_grow(data: xr.Dataset, *, printed: bool = False) -> float:
    """The norms of $m_1$ and $m_3$ grow along with the sharpness; that of $m_2$ falls. Two tokens
    under the attention p have the variance $m_2 = p (1 - p) (x_1 - x_2)^2$, which is largest at
    $p = 1/2$, and small initial weights start there.

    Statistic: rank correlation with the step, until the sharpness reaches $2/η$, for $m_2$ with the
    other sign; the smallest of the three.

    In print: the norms of all three moments grow
    """
    trends = [_trend(_until_edge(data), f"norm_m_{order}") for order in (1, 2, 3)]
    return min(
        trend * (-1 if place == 1 and not printed else 1) for place, trend in enumerate(trends)
    )


@instance(
    at_least(1.0, "'completely opposite' and 'driven by': a correlation above 0.9", **TENTH),
    id="sharpness-and-trace-in-opposite-phase",
    state=AT_THE_EDGE,
)
def opposite_phase(data: xr.Dataset) -> float:
    """Sharpness and trace oscillate in completely opposite phases, which suggests that the terms
    that define $ξ$ drive the oscillation.

    Statistic: correlation of the one-step changes of the sharpness and of $ξ$, and of the sharpness
    and of minus the trace; the smaller one. It is of the steps from $2/η$ on.
    """
    trace, half_width, sharpness = (
        _changes(data, name) for name in ("trace", "half_width", "sharpness")
    )
    return min(-correlation(trace, sharpness), correlation(half_width, sharpness))
