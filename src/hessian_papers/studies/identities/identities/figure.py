"""Every identity with its errors, and every erratum with the error of what is in print."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.studies.identities.identities.derived import errors
from hessian_spectra.pictures import style

# Where an error of exactly 0 is drawn on a logarithmic axis: below all round-off.
ZERO = 3e-18
_LIMITS = (1e-18, 3e3)
# Colour and label of the errors of each form.
Looks = Mapping[str, tuple[str, str | None]]
RIGHT: Looks = {"corrected": (style.BLUE, "closed form − brute force")}
WRONG: Looks = {"printed": (style.VERMILION, "as printed"), "corrected": (style.BLUE, "corrected")}
# Height of a row, in inches.
_ROW = 0.119


def _dots(axes: Axes, height: int, values: np.ndarray, colour: str, label: str | None) -> None:
    """All instances of one row, spread a little so that equal errors stay visible."""
    spread = height + 0.22 * np.sin(2.4 * np.arange(len(values)))
    shown = np.maximum(values, ZERO)
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


def _panel(axes: Axes, data: xr.Dataset, looks: Looks, text: str) -> None:
    """A line for each theorem: its errors, for errata those of the print below, its tolerance."""
    tolerances = data["tolerance"].values
    for height, name in enumerate(data["theorem"].values.tolist()):
        stroke, first = [height - 0.42, height + 0.42], height == 0
        for form, (colour, label) in looks.items():
            _dots(axes, height, errors(data, name, form), colour, label if first else None)
        label = "tolerance" if first else None
        axes.plot([tolerances[height]] * 2, stroke, color=style.BLACK, linewidth=1.2, label=label)
    _frame(axes, data["label"].values.tolist())
    style.letter(axes, text)


def _drawn(data: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """The theorems that are right in print, and those that are not."""
    theorems, wrong = data["theorem"], data["printed"] != ""
    right = ~wrong & ~data["needed"]
    return data.sel(theorem=theorems[right]), data.sel(theorem=theorems[wrong])


def draw(data: xr.Dataset) -> Figure:
    """Every instance of every identity and erratum."""
    identities, errata = _drawn(data)
    inches = 0.6 + _ROW * max(identities.sizes["theorem"], errata.sizes["theorem"])
    figure, (left, right) = style.panels(1, 2, height=inches)
    _panel(left, identities, RIGHT, "(a) what holds")
    _panel(right, errata, WRONG, "(b) what is wrong in print")
    for axes in (left, right):
        axes.legend(
            loc="upper right", bbox_to_anchor=(1.0, -0.48 / inches), ncols=3, markerscale=2,
            handletextpad=0.3, columnspacing=0.8, handlelength=1.2, borderaxespad=0,
        )  # fmt: skip
    return figure


def caption(data: xr.Dataset) -> str:
    """What is to be seen, and how to read it."""
    identities, errata = (part.sizes["theorem"] for part in _drawn(data))
    return (
        "Every closed form agrees with brute force, and what is misprinted does not. Closed forms "
        f"against brute force on {data['networks'].item()} random networks and edge cases, "
        "one dot each. Theorems, equations and sections are those of singh2026cracking, but where "
        "2024 (singh2024closed), data (anon2026data) or the poster is named; (ours) marks "
        f"additions of this project. (a) {identities} statements; formulas with a square root or "
        "an arccos at a double root lose half of the digits (tolerance 1e-07). A bound's error is "
        f"by how much it is violated; 0 means not at all. (b) {errata} errata. Where many "
        "instances agree with the print, it is wrong for some weights or data only."
    )
