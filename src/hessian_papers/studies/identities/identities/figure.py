"""The errors of what is printed and of its correction, in each instance."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from hessian_papers.formulas import plain
from hessian_papers.ledger.bounds import needs
from hessian_papers.ledger.totals import round_off
from hessian_spectra.pictures import style

# Smaller errors are round-off, which differs between processors: they are drawn at this mark.
FLOOR = 1e-12
# Of an error that is drawn so many digits count.
DIGITS = 4
PRINT: dict[str, Any] = {"color": style.VERMILION, "marker": "o", "linestyle": "none"}
OURS: dict[str, Any] = {"color": style.BLUE, "marker": "s", "linestyle": "none"}
# Inches of the picture's width and of a row, and what is above and below the rows.
WIDTH, ROW, MARGIN = 5.0, 0.125, 0.8


class Misprint(NamedTuple):
    """The errors of a statement, as they are drawn.

    Attributes:
        label: where it stands.
        printed: of what is in print, in each instance.
        corrected: of its correction; agreement to round-off is a power of ten.
        agrees: whether the correction is within its tolerance.
    """

    label: str
    printed: np.ndarray
    corrected: np.ndarray
    agrees: bool


def drawn(errors: Iterable[float]) -> np.ndarray:
    """Errors with a few digits, of at least :data:`FLOOR`.

    Example:
        >>> drawn(np.array([0.0, 3e-15, 0.123456])).tolist()
        [1e-12, 1e-12, 0.1235]
    """
    return np.array([max(float(f"{error:.{DIGITS}g}"), FLOOR) for error in errors])


def misprints(data: xr.Dataset) -> list[Misprint]:
    """The statements with a misprint, that with the largest error in print first.

    Raises:
        NothingToMeasure: no instance has one.
    """
    rows = sorted(_misprints(data), key=lambda each: (-each.printed.max(), each.label))
    needs(rows, "this configuration draws no instance of a misprint")
    return rows


def _misprints(data: xr.Dataset) -> Iterator[Misprint]:
    for name in data["theorem"].values[data["printed"].values != ""]:
        own = data.sel(theorem=name)
        errors = own["error"].transpose("form", "instance")
        number = own["instances"]
        printed, ours = (
            errors.sel(form=form).values[: int(number.sel(form=form))]
            for form in ("printed", "corrected")
        )
        if len(printed) and len(ours):
            tolerance = float(own["tolerance"])
            agrees = bool((ours <= tolerance).all())
            # Where a matrix is ill-conditioned round-off is larger, and differs as well.
            marks = [round_off(error, tolerance) for error in ours] if agrees else ours
            yield Misprint(plain(own["label"].item()), drawn(printed), drawn(marks), agrees)


def draw(data: xr.Dataset) -> Figure:
    """A row a misprint, with a dot an instance: of the print, and of the correction."""
    rows = misprints(data)
    figure, axes = style.panels(height=ROW * len(rows) + MARGIN, width=WIDTH)
    axes.axvspan(FLOOR / 4, FLOOR * 4, color=style.GREY, alpha=0.15, linewidth=0)
    for name, look in (("printed", PRINT), ("corrected", OURS)):
        errors = [getattr(row, name) for row in rows]
        places = np.repeat(np.arange(len(rows)), [*map(len, errors)])
        label = {"printed": "as printed", "corrected": "as corrected"}[name]
        axes.plot(np.concatenate(errors), places, label=label, markersize=2.5, **look)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(numticks=9))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlim(FLOOR / 4, None)
    axes.grid(visible=False, axis="y")
    axes.set_yticks(range(len(rows)), [row.label for row in rows], fontsize=6)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("relative error against brute force")
    figure.legend(loc="outside upper center", ncols=2)
    return figure


def caption(data: xr.Dataset) -> str:
    """The message, and how to read the picture."""
    rows = misprints(data)
    wrong = [row.corrected.max() for row in rows if not row.agrees]
    exact = (
        f"A correction deviates from brute force by {max(wrong):.1g}"
        if wrong
        else "All corrections agree with brute force"
    )
    return (
        f"{exact}, for {len(rows)} misprints. Orange: as printed, a dot an instance; blue: as "
        "corrected. What is below 1e-12 is round-off, and in the grey strip."
    )
