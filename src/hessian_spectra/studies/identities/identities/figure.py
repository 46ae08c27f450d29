"""Every identity with its errors, and every erratum with the error of what is in print."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_spectra.drawing.style import BLACK, BLUE, GREY, VERMILION, letter, panels
from hessian_spectra.results import Arrays
from hessian_spectra.studies.identities.identities.checks import CHECKS, EXACT, Check

# Where an error of exactly 0 is drawn on a logarithmic axis: below all round-off.
ZERO = 3e-18
_LIMITS = (1e-18, 3e3)
# Height of a row, in inches.
_ROW = 0.119

Row = tuple[Check, np.ndarray, np.ndarray | None]


def rows(closed_form: Arrays, numerics: Arrays) -> tuple[list[Row], list[Row]]:
    """The identities and the errata, each with its errors and, for errata, those of the print."""
    found = [
        (
            check,
            check.errors(closed_form, numerics),
            None if check.printed is None else check.printed(closed_form, numerics),
        )
        for check in CHECKS.values()
    ]
    return [row for row in found if row[2] is None], [row for row in found if row[2] is not None]


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
    axes.hlines(np.arange(len(labels)), *_LIMITS, color=GREY, linewidth=0.3, alpha=0.35, zorder=0)
    axes.set_xlabel("relative error (dimensionless)")


def _tolerances(axes: Axes, found: list[Row]) -> None:
    """A stroke in each row at its tolerance."""
    for height, (check, _, _) in enumerate(found):
        axes.plot(
            [check.tolerance] * 2,
            [height - 0.42, height + 0.42],
            color=BLACK,
            linewidth=1.2,
            label="tolerance" if height == 0 else None,
        )


def draw(closed_form: Arrays, numerics: Arrays) -> Figure:
    """The figure of the study of the identities.

    Args:
        closed_form: the study's closed forms.
        numerics: brute force on the same instances.
    """
    identities, errata = rows(closed_form, numerics)
    inches = 0.6 + _ROW * max(len(identities), len(errata))
    figure, (left, right) = panels(1, 2, height=inches)
    for height, (_, errors, _) in enumerate(identities):
        _dots(left, height, errors, BLUE, "closed form − brute force" if height == 0 else None)
    _frame(left, [check.label for check, _, _ in identities])
    _tolerances(left, identities)
    letter(left, "(a) what holds")
    for height, (_, errors, printed) in enumerate(errata):
        assert printed is not None
        _dots(right, height, printed, VERMILION, "as printed" if height == 0 else None)
        _dots(right, height, errors, BLUE, "corrected" if height == 0 else None)
    _frame(right, [check.label for check, _, _ in errata])
    _tolerances(right, errata)
    letter(right, "(b) what is wrong in print")
    for axes in (left, right):
        axes.legend(
            loc="upper right", bbox_to_anchor=(1.0, -0.48 / inches), ncols=3, markerscale=2,
            handletextpad=0.3, columnspacing=0.8, handlelength=1.2, borderaxespad=0,
        )  # fmt: skip
    return figure


def caption(closed_form: Arrays, numerics: Arrays) -> str:
    """What the figure shows; all numbers come from the arrays."""
    identities, errata = rows(closed_form, numerics)
    instances = sum(len(values) for name, values in numerics.items() if name.endswith(".loss"))
    strict = max(errors.max() for check, errors, _ in identities if check.tolerance == EXACT)
    corrected = max(errors.max() for _, errors, _ in errata)
    wrong = [float(np.max(printed)) for _, _, printed in errata if printed is not None]
    return (
        f"Closed forms against brute force on {instances} random networks and edge cases, one dot "
        "each. Theorems, equations and sections are those of singh2026cracking, but where 2024 "
        "(singh2024closed), data (anon2026data) or the poster is named; (ours) marks additions of "
        "this project. "
        f"(a) {len(identities)} statements; the largest error is {strict:.0e}, but for "
        "formulas with a square root or an arccos at a double root, which lose half of the digits "
        "(tolerance 1e-07). A bound's error is by how much it is violated; 0 means not at all. "
        f"(b) {len(errata)} errata: the largest error of the printed form is between "
        f"{min(wrong):.1g} and {max(wrong):.1g}, that of the corrected one at most "
        f"{corrected:.0e}. Where many instances agree with the print, it is wrong for some "
        "weights or data only."
    )
