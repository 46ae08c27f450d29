"""What the paper says about weight norms, sinks and self-attention's spectrum."""

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import yaml

from hessian_papers.ledger.bounds import Estimate, at_least, needs, within
from hessian_papers.ledger.conditions import ANY_STATE, AT_INITIALISATION
from hessian_papers.ledger.statements import Labels, Statements
from hessian_papers.ledger.words import MOST
from hessian_papers.studies.attention.attention_scale.derived import (
    at_numerical_points,
    dense_errors,
    distinct_errors,
    numerical,
)
from hessian_spectra.agreement import EXACT
from hessian_spectra.statistics import rank_correlations

# Eigenvalues that are closer than this share of the largest are not told apart numerically; the
# search for those that repeat ends at 1e-12.
APART = 1e-10
# Up to this condition number the smallest eigenvalue is known to 1e-6 of itself.
KNOWN = 1e9

THEOREM = "theorem"
NORMS_SQUARED = "with the norms in $ξ$ squared"
ROUND_OFF = within(
    EXACT, "round-off of float64 eigenvalues is below 1e-13 of the largest", source=THEOREM
)
RESOLVED = within(
    1e-6,
    "the smallest eigenvalue has an error of 1e-15 of the largest, which is 1e-6 of itself "
    "only at condition numbers of 1e9",
    source=THEOREM,
)
ALL = at_least(1.0, "every draw", source="the paper, which says it without exception")


STATEMENTS = yaml.safe_load(Path(__file__).with_name("statements.yaml").read_text("utf-8"))

statements = Statements()
theorems = statements.having(paper="singh2026cracking")
figure_2 = statements.about("singh2026cracking", "Figure 2")


def _worst(errors: np.ndarray, what: str) -> float:
    """The largest of some errors.

    Raises:
        NothingToMeasure: there is none.
    """
    needs(errors.size, f"this configuration has no {what}")
    return float(errors.max())


def _worst_apart(data: xr.Dataset, errors: xr.DataArray) -> float:
    """The largest error where all five eigenvalues can be told from each other."""
    exact = at_numerical_points(data)["exact"]
    apart = exact.diff("rank").min("rank") > APART * abs(exact).max("rank")
    what = "point at which all five eigenvalues can be told from each other"
    return _worst(errors.values[apart.values], what)


def _outside(data: xr.Dataset, values: xr.DataArray, bounds: str) -> xr.DataArray:
    """How far numerical eigenvalues lie outside bounds on them, relative to the largest of them."""
    lower, upper = (at_numerical_points(data)[f"{bounds}{end}"] for end in ("lower", "upper"))
    beyond = abs(values - values.clip(lower, upper))
    return beyond.max("numerical_rank") / abs(values).max("numerical_rank")


@theorems.identity("Theorem 3.5", ROUND_OFF, id="attention-spectrum")
def spectrum(data: xr.Dataset) -> float:
    """The closed form is the whole spectrum of the Hessian, with its multiplicities."""
    sweeps = [dense_errors(data.sel(sweep=name)) for name in data["sweep"].values]
    return _worst(np.concatenate(sweeps), "whole spectrum that is computed numerically")


@theorems.identity("Theorem 3.5", ROUND_OFF, id="attention-spectrum")
def bulk(data: xr.Dataset) -> float:
    """The repeated eigenvalues are $γ$ and $-γ$."""
    return _worst_apart(data, distinct_errors(data, "bulk"))


@theorems.identity("Theorem 3.5", ROUND_OFF, id="attention-spectrum")
def outliers(data: xr.Dataset) -> float:
    """The eigenvalues that do not repeat are the three outliers, with and without a sink."""
    return _worst_apart(data, distinct_errors(data, "outlier"))


@theorems.identity(f"Theorem 3.5, {NORMS_SQUARED}", ROUND_OFF, id="attention-outlier-bounds")
def outlier_bounds(data: xr.Dataset) -> float:
    r"""All outliers lie in $\operatorname{tr}/3 ± ξ$.

    Statistic: how far outside the numerical eigenvalues that do not repeat lie, relative to the
    largest.
    """
    return _worst_apart(data, _outside(data, numerical(data, "outlier"), ""))


@theorems.identity(f"Remark B.4, {NORMS_SQUARED}", ROUND_OFF, id="attention-largest")
def largest_eigenvalue_bounds(data: xr.Dataset) -> float:
    r"""The largest eigenvalue lies between $\operatorname{tr}/3 + ξ/2$ and
    $\operatorname{tr}/3 + ξ$, or $|γ|$ where that is larger.

    Statistic: how far outside the largest numerical eigenvalue lies, relative to it.
    """
    values = data["numerical"]
    largest = values.where(values == values.max("numerical_rank"))
    return float(_outside(data, largest, "largest_").max(skipna=False))


@theorems.identity(f"Remark 3.1, {NORMS_SQUARED}", RESOLVED, id="attention-condition")
def condition_bound(data: xr.Dataset) -> float:
    r"""The condition number is at least $(2 \operatorname{tr} + 3 ξ) / (6 |γ|)$.

    Statistic: largest relative excess of the bound over the numerical condition number.
    """
    exact, number = at_numerical_points(data), data["numerical_condition_number"]
    bound = exact["condition_bound"]
    known = (number < KNOWN) & (exact["condition_number"] < KNOWN) & (bound < KNOWN)
    excess = (bound / number - 1).values[known.values]
    return max(0.0, _worst(excess, "point at which the condition number is below 1e9"))


def _each_range(data: xr.Dataset) -> Iterator[Labels]:
    """All statements, those about norms in a smaller range as well."""
    small = float(data["small_norm"])
    for name, statement in STATEMENTS.items():
        case = {"name": name, "largest": math.inf, "range": "", **statement}
        yield case
        if statement["sweep"] in ("query_key", "value"):
            means = f"{case['means']}, to a norm of {small:g}"
            yield case | {"largest": small, "range": "-small", "means": means}


def _range(values: np.ndarray) -> np.ndarray:
    return np.asarray(np.ptp(values, axis=-1))


def _over(of: np.ndarray, other: np.ndarray) -> np.ndarray:
    """A ratio, infinite where the other is 0."""
    return np.divide(of, other, where=other > 0, out=np.full(of.shape, math.inf))


# One quantity along a sweep as one number for each draw, by its name. The arguments are what is
# varied, the quantity, and the largest eigenvalue, along the last axis.
MEASURES: Mapping[str, Callable[..., np.ndarray]] = {
    "trend": lambda varied, values, largest: rank_correlations(varied, values),
    "change": lambda varied, values, largest: _range(values) / values.min(axis=-1),
    # The largest relative fall below an earlier value.
    "fall": lambda varied, values, largest: (
        1 - values / np.maximum.accumulate(values, axis=-1)
    ).max(axis=-1),
    "last_over_first": lambda varied, values, largest: values[..., -1] / values[..., 0],
    "range_beside_largest": lambda varied, values, largest: _over(_range(values), _range(largest)),
}
DRAWN = ("draw_bulk", "draw_largest", "draw_condition_number", "draw_condition_bound")


def draws(data: xr.Dataset, sweep: str, largest: float = math.inf) -> xr.Dataset:
    """One sweep of all the draws, up to some norm, as far as float64 resolves them.

    Raises:
        NothingToMeasure: there is no such sweep, it has fewer than two points up to there, or the
            bulk vanishes in all draws.
    """
    needs(sweep in data["sweep"], f"this configuration leaves out the sweep {sweep}")
    chosen = data.sel(sweep=sweep)
    chosen = chosen.isel(draw_point=chosen["draw_varied"] <= largest)
    needs(chosen.sizes["draw_point"] >= 2, f"this configuration has no two norms up to {largest:g}")
    values = chosen[[*DRAWN]].to_array()
    chosen = chosen.isel(draw=((values > 0) & (values < math.inf)).all(["variable", "draw_point"]))
    needs(
        chosen.sizes["draw"],
        f"in this configuration the bulk vanishes within float64 along the sweep {sweep}",
    )
    return chosen


@figure_2.statement(
    lambda case: case["quantifier"],
    "{place}",
    lambda case: ALL if case["quantifier"] == "everywhere" else MOST,
    id="{id}",
    otherwise=lambda case: case["otherwise"],
    # Of the bulk and w_Q, w_K the sentence is about uniform attention, at initialisation.
    state=lambda case: AT_INITIALISATION if case["id"].startswith("bulk") else ANY_STATE,
    each=_each_range,
    name="{name}{range}",
    shown=("means",),
)
def in_most_draws(
    data: xr.Dataset, sweep: str, largest: float, **of: Any
) -> xr.DataArray | Estimate:
    """{sentence}.

    Statistic: fraction of draws (weights, sequences and targets, independent and normal) for which
    this holds, by a measure along the sweep; interval: Wilson's, 95 %.
    """
    chosen = draws(data, sweep, largest)
    names = ("draw_varied", f"draw_{of['quantity']}", "draw_largest")
    changes = xr.apply_ufunc(
        MEASURES[of["measure"]],
        *(chosen[name] for name in names),
        input_core_dims=[["draw_point"]] * len(names),
    )
    holds = (of.get("at_least", -math.inf) <= changes) & (changes <= of.get("at_most", math.inf))
    # One draw that is otherwise refutes what has no exception.
    return Estimate(float(holds.mean())) if of["quantifier"] == "everywhere" else holds
