"""Measures on the arrays of the correlation studies, addressed by names instead of indices."""

from typing import Any

import numpy as np

from hessian_spectra.ledger.vocabulary import Claim, Decides, Estimate, Kind, Measure, Relation
from hessian_spectra.results import Arrays

NAMES = {"sp": "SP", "mup": "μP", "ntp": "NTP"}
TIMES = {"initialisation": "at initialisation", "trained": "after training"}
NORMS = {"spectral": "spectral", "frobenius": "Frobenius", "nuclear": "nuclear"}
PAIRED = "; interval: paired bootstrap over the networks"


def _place(arrays: Arrays, axis: str, name: str | int) -> int:
    return int(arrays[axis].tolist().index(name))


def _factor(arrays: Arrays, layer: int) -> int:
    """The first group's factor of a layer."""
    first = arrays["group"] == arrays["quantities"][0]
    return int(np.flatnonzero(first & (arrays["layer"] == layer))[0])


def _estimate(arrays: Arrays, name: str, index: tuple[Any, ...]) -> Estimate:
    return Estimate(*(float(arrays[name + suffix][index]) for suffix in ("", "_low", "_high")))


def mean(
    correlation: Arrays,
    statistic: str,
    parametrisation: str,
    time: str,
    *,
    region: str = "all",
    norm: str | None = None,
    other: str | None = None,
    layer: int | None = None,
) -> Estimate:
    """A statistic's mean over sizes or depths, for a layer and a norm (and another) if it has them.

    Args:
        correlation: the study's arrays.
        statistic: for example ``best_norm_lead``.
        parametrisation: its row.
        time: ``initialisation`` or ``trained``.
        region: which positions are averaged.
        norm: the norm, if the statistic has one.
        other: the norm that it is compared with, if the statistic has one.
        layer: the layer of the first group, if the statistic has factors.
    """
    index: list[int] = [
        _place(correlation, "parametrisation", parametrisation),
        _place(correlation, "region", region),
        _place(correlation, "time", time),
    ]
    if layer is not None:
        index.append(_factor(correlation, layer))
    index += [_place(correlation, "norm", name) for name in (norm, other) if name is not None]
    return _estimate(correlation, f"mean_{statistic}", tuple(index))


def strongest(
    correlation: Arrays, parametrisation: str, time: str, *, region: str = "all"
) -> Estimate:
    """Of all norms the largest mean correlation of the better matrix."""
    found = [
        mean(correlation, "best_correlation", parametrisation, time, region=region, norm=norm)
        for norm in correlation["norm"].tolist()
    ]
    return max(found, key=lambda estimate: estimate.value)


def weaker_matrix(correlation: Arrays, parametrisation: str, time: str, norm: str) -> Estimate:
    """The smaller of the two matrices' mean correlations by one norm."""
    found = [
        mean(correlation, "correlation", parametrisation, time, norm=norm, layer=layer)
        for layer in (1, 2)
    ]
    return min(found, key=lambda estimate: estimate.value)


def weakest_norm(correlation: Arrays, parametrisation: str, time: str) -> Estimate:
    """Of all norms the smallest mean correlation of the better matrix."""
    found = [
        mean(correlation, "best_correlation", parametrisation, time, norm=norm)
        for norm in correlation["norm"].tolist()
    ]
    return min(found, key=lambda estimate: estimate.value)


def furthest(correlation: Arrays, norm: str, centre: float) -> Estimate:
    """The first matrix's mean correlation that is furthest from a value, as its distance."""
    found = [
        mean(correlation, "correlation", parametrisation, time, norm=norm, layer=1)
        for parametrisation in correlation["parametrisation"].tolist()
        for time in correlation["time"].tolist()
    ]
    value, low, high = max(found, key=lambda estimate: abs(estimate.value - centre))
    nearest, furthest_end = sorted((abs(low - centre), abs(high - centre)))
    return Estimate(abs(value - centre), 0.0 if low <= centre <= high else nearest, furthest_end)


def least(correlation: Arrays, statistic: str, time: str, norm: str) -> Estimate:
    """A statistic of the first group where it is smallest, over parametrisations and positions."""
    when, column = _place(correlation, "time", time), _place(correlation, "norm", norm)
    values = correlation[statistic][:, :, when, column]
    place = np.unravel_index(int(np.nanargmin(values)), values.shape)
    return _estimate(correlation, statistic, (*place, when, column))


def last_factor(correlation: Arrays, parametrisation: str, time: str, norm: str) -> Estimate:
    """The last layer's correlation at the depth where it is smallest."""
    row, when = (
        _place(correlation, "parametrisation", parametrisation),
        _place(correlation, "time", time),
    )
    column = _place(correlation, "norm", norm)
    found = [
        _estimate(
            correlation,
            "correlation",
            (row, position, when, _factor(correlation, depth), column),
        )
        for position, depth in enumerate(correlation["position"].tolist())
    ]
    return min(found, key=lambda estimate: estimate.value)


def two_layer_difference(correlation: Arrays) -> float:
    """How far r of a matrix and r of the product without the other one are apart at depth 2."""
    position = _place(correlation, "position", 2)
    r = correlation["correlation"][:, position]
    matrices, products = (
        [
            int(np.flatnonzero((correlation["group"] == name) & (correlation["layer"] == b))[0])
            for b in order
        ]
        for name, order in (("matrices", (1, 2)), ("products", (2, 1)))
    )
    return float(np.nanmax(np.abs(r[..., matrices, :] - r[..., products, :])))


def claim(
    study: str,
    name: str,
    location: str,
    statement: str,
    measure: Measure,
    *,
    test: str,
    reason: str,
    kind: Kind = "correlation",
    relation: Relation = ">=",
    decides: Decides = "value",
    expected: float = 0.0,
    tolerance: float = 0.0,
    source: str = "the paper",
    explanation: str = "",
) -> Claim:
    """A claim on the arrays of a correlation study."""
    return Claim(
        id=f"{study}/{name}",
        paper="singh2026cracking",
        location=location,
        statement=statement,
        kind=kind,
        study=study,
        test=f"tests/claims/test_correlation_claims.py::{test}",
        measure=measure,
        sides=("correlation",),
        decides=decides,
        relation=relation,
        expected=expected,
        tolerance=tolerance,
        source=source,
        reason=reason,
        explanation=explanation,
    )
