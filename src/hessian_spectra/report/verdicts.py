"""A claim's verdict on the page: the run that decided it, and the other run beside it."""

import re

from hessian_spectra.ledger.record import ClaimRecord
from hessian_spectra.report.html import Html, join, number, tag

# A sign beside the word, so that a verdict does not rest on its colour.
_SIGNS = {
    "reproduced": "✓",
    "corrected": "✎",
    "differs": "≠",
    "undecided": "?",
    "not run at this scale": "○",
}
# The other verdicts are classes by their own name.
_CLASSES = {"not run at this scale": "open"}

# Verdicts that a setting other than the paper's may explain.
_OPEN = ("differs", "undecided")


def badge(verdict: str) -> Html:
    """A verdict as a coloured label."""
    sign = tag("span", _SIGNS[verdict], aria_hidden="true")
    return tag("span", sign, " ", verdict, class_=f"badge {_CLASSES.get(verdict, verdict)}")


def expected(claim: ClaimRecord) -> Html:
    """What the measured value is compared with, as a short formula."""
    if claim.expected is None:
        return Html("–")
    sign = {"<=": "≤", ">=": "≥", "=": "="}[claim.relation]
    if claim.tolerance == 0:
        return join(f"{sign} ", number(claim.expected))
    if claim.expected == 0 and sign == "≤":
        return join("≤ ", number(claim.tolerance))
    slack = {"≤": "+", "≥": "−", "=": "±"}[sign]
    return join(f"{sign} ", number(claim.expected), f" {slack} ", number(claim.tolerance))


def measured(claim: ClaimRecord) -> Html:
    """The measured value, with its interval where there is one."""
    if claim.interval is None:
        return number(claim.measured)
    low, high = map(number, claim.interval)
    interval = tag("span", "[", low, ", ", high, "]", class_="interval")
    return join(number(claim.measured), " ", interval)


def run_name(recorded: bool, scale: str | None) -> str:
    """Which run a verdict or a figure is of, in a few words.

    Example:
        >>> run_name(True, "paper"), run_name(False, "demo")
        ('recorded run (paper)', 'today’s run (demo)')
    """
    return f"{'recorded' if recorded else 'today’s'} run ({scale})"


def decided(claim: ClaimRecord) -> Html:
    """The verdict, and below it the run that decided it, if anything was run."""
    if claim.scale is None:
        return badge(claim.verdict)
    name = run_name(claim.recorded, claim.scale)
    return join(badge(claim.verdict), tag("p", name, class_="run"))


def setting(key: str) -> str:
    """A setting's name without that of the networks or data, which are those of the study.

    Example:
        >>> setting("networks.two-layer-linear.learning_rates.sp"), setting("sizes")
        ('learning_rates.sp', 'sizes')
    """
    return re.sub(r"^(networks|data\.sets)\.[^.]+\.", "", key)


def _otherwise(claim: ClaimRecord) -> str:
    """The settings that are not the paper's, each mapping once; the figure has their values."""
    return ", ".join(dict.fromkeys(setting(key).partition(".")[0] for key in claim.departs))


def departing(claim: ClaimRecord) -> Html | None:
    """What of the run was not set as in the paper, under a verdict that this may explain."""
    if claim.verdict not in _OPEN or not claim.departs:
        return None
    return tag("p", f"Set otherwise than in the paper: {_otherwise(claim)}.", class_="departs")


def beside(claim: ClaimRecord) -> Html | None:
    """The same claim on the other run, in one line; a verdict that disagrees stands out."""
    other = claim.beside
    if other is None:
        return None
    agrees = other.verdict == claim.verdict
    value = join(" measured ", measured(other)) if other.measured is not None else None
    keys = None
    if other.verdict in _OPEN and other.departs and not agrees:
        keys = f"; set otherwise than in the paper: {_otherwise(other)}"
    line = (run_name(other.recorded, other.scale), value, ": ", badge(other.verdict), keys)
    return tag("p", *line, class_="beside agrees" if agrees else "beside")
