"""Every identity with its errors, and every erratum with the error of what is in print."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.studies.identities.identities.reading import Reading, Row
from hessian_spectra.pictures import style

# Where an error of exactly 0 is drawn on a logarithmic axis: below all round-off.
ZERO = 3e-18
_LIMITS = (1e-18, 3e3)
# Height of a row, in inches.
_ROW = 0.119


def _dots(axes: Axes, height: int, errors: np.ndarray, colour: str, label: str | None) -> None:
    """All instances of one row, spread a little so that equal errors stay visible."""
    spread = height + 0.22 * np.sin(2.4 * np.arange(len(errors)))
    shown = np.maximum(errors, ZERO)
    axes.plot(
        shown, spread, linestyle="none", marker="o", markersize=2, markeredgewidth=0,
        alpha=0.45, color=colour, label=label,
    )  # fmt: skip


def _typeset(label: str) -> str:
    """Subscripts as such."""
    for plain, formula in (
        ("λ_max", r"$\lambda_\mathrm{max}$"),
        ("λ_min", r"$\lambda_\mathrm{min}$"),
        ("v_j", "$v_j$"),
    ):
        label = label.replace(plain, formula)
    return label


def _frame(axes: Axes, labels: list[str]) -> None:
    axes.set_xscale("log")
    axes.set_xlim(*_LIMITS)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_yticks(range(len(labels)), [_typeset(label) for label in labels], fontsize=6.5)
    axes.tick_params(axis="y", length=0)
    ticks = [ZERO, 1e-14, 1e-10, 1e-6, 1e-2]
    powers = [f"$10^{{{round(np.log10(t))}}}$" for t in ticks[1:]]
    axes.set_xticks(ticks, ["0", *powers], fontsize=7)
    axes.minorticks_off()
    axes.grid(visible=False)
    axes.hlines(
        np.arange(len(labels)), *_LIMITS, color=style.GREY, linewidth=0.3, alpha=0.35, zorder=0
    )
    axes.set_xlabel("relative error (dimensionless)")


def _panel(axes: Axes, rows: Sequence[Row], text: str) -> None:
    """A line for each theorem: its errors, for errata those of the print below, its tolerance."""
    for height, row in enumerate(rows):
        first = height == 0
        if row.printed_errors is not None:
            _dots(
                axes, height, row.printed_errors, style.VERMILION, "as printed" if first else None
            )
        holds = "corrected" if row.printed else "closed form − brute force"
        _dots(axes, height, row.errors, style.BLUE, holds if first else None)
    _frame(axes, [row.label for row in rows])
    for height, row in enumerate(rows):
        stroke = [height - 0.42, height + 0.42]
        label = "tolerance" if height == 0 else None
        axes.plot([row.tolerance] * 2, stroke, color=style.BLACK, linewidth=1.2, label=label)
    style.letter(axes, text)


def draw(reading: Reading) -> Figure:
    """Every instance of every identity and erratum."""
    inches = 0.6 + _ROW * max(len(reading.identities), len(reading.errata))
    figure, (left, right) = style.panels(1, 2, height=inches)
    _panel(left, reading.identities, "(a) what holds")
    _panel(right, reading.errata, "(b) what is wrong in print")
    for axes in (left, right):
        axes.legend(
            loc="upper right", bbox_to_anchor=(1.0, -0.48 / inches), ncols=3, markerscale=2,
            handletextpad=0.3, columnspacing=0.8, handlelength=1.2, borderaxespad=0,
        )  # fmt: skip
    return figure


def caption(reading: Reading) -> str:
    """What is to be seen, and how to read it."""
    identities, errata = len(reading.identities), len(reading.errata)
    return (
        "Every closed form agrees with brute force, and what is misprinted does not. Closed forms "
        f"against brute force on {reading.numerics['instances']} random networks and edge cases, "
        "one dot each. Theorems, equations and sections are those of singh2026cracking, but where "
        "2024 (singh2024closed), data (anon2026data) or the poster is named; (ours) marks "
        f"additions of this project. (a) {identities} statements; formulas with a square root or "
        "an arccos at a double root lose half of the digits (tolerance 1e-07). A bound's error is "
        f"by how much it is violated; 0 means not at all. (b) {errata} errata. Where many "
        "instances agree with the print, it is wrong for some weights or data only."
    )
