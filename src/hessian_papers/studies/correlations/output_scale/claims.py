"""What the paper says of the scales of its parametrisations, and how it is measured."""

from collections.abc import Iterator

from hessian_papers.ledger.bounds import Bound, Estimate, at_most, equal_to
from hessian_papers.ledger.statements import Labels, Print, Statements
from hessian_papers.ledger.verdicts import always
from hessian_papers.studies.correlations.output_scale.reading import PRINTED, Reading

PLACE = "appendix D.1.3, initialisation schemes"
TENTH = 0.1
FINITE = at_most(
    0.0,
    "a tenth of a power is a factor 1.5 over the widths, which chance makes of few networks",
    tolerance=TENTH,
    source="what the parametrisations that it names are for",
)
NAMES = {"sp": "SP", "ntp": "NTP", "mup": "μP", "linear": "linear", "relu": "ReLU"}

statements = Statements(Reading, values=NAMES).having(paper="singh2026cracking")


def _each(reading: Reading) -> Iterator[Labels]:
    for scale in reading.closed_form["scale"].tolist():
        for activation in reading.closed_form["activation"].tolist():
            if scale != PRINTED:
                yield {"scale": scale, "activation": activation}


def _printed(reading: Reading, activation: str, **_: str) -> Estimate:
    return reading.largest_exponent(PRINTED, activation)


def _print(case: Labels) -> Print | None:
    text = "σ_l² = Θ(n_l/n_{l−1}) for μP, 1 between hidden layers"
    return Print(text, _printed) if case["scale"] == "mup" else None


@statements.statement(
    PLACE,
    always,
    FINITE,
    each=_each,
    printed=_print,
    otherwise="The print has variance 1 between hidden layers, so that each of them multiplies its "
    "signals by the root of its width. The works that it cites for μP have standard deviations of "
    "min(1, √(n_l/n_{l−1}))/√n_{l−1}, which this project takes.",
)
def outputs_do_not_grow(reading: Reading, scale: str, activation: str) -> Estimate:
    """At initialisation the outputs do not grow with the width, under any of the parametrisations.

    Statistic: exponent of the width in the root of their mean square, at the depth where it is
    largest; interval: Student's, 95 %, over networks.
    """
    return reading.largest_exponent(scale, activation)


def _each_depth(reading: Reading) -> Iterator[Labels]:
    for scale, words in (("mup", "with the spectral condition"), (PRINTED, "as printed")):
        for depth in reading.closed_form["depth"].tolist():
            power = -0.5 if scale == "mup" else (depth - 1) / 2
            yield {"scale": scale, "depth": depth, "words": words, "power": f"{power:g}"}


def _power(case: Labels) -> Bound:
    return equal_to(
        float(case["power"]),
        "a power, by the product of fan-ins and variances",
        tolerance=TENTH,
        source="our derivation",
    )


@statements.statement(
    PLACE,
    always,
    _power,
    id="output-goes-like-a-power-of-the-width",
    book="beyond",
    each=_each_depth,
    name="exponent-{scale}-{depth}",
)
def exponent(reading: Reading, scale: str, depth: int, **_: str) -> Estimate:
    """The outputs of a linear network go like the width to the power of (depth − 1)/2 as μP is
    printed, and of −1/2 with the spectral condition.

    Statistic: exponent of the width in the root of their mean square; interval: Student's, 95 %,
    over networks.
    """
    return reading.exponent(scale, "linear", depth)
