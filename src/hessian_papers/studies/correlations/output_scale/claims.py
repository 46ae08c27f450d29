"""The statements about the scales of the parametrisations (singh2026cracking, D.1.3)."""

import itertools
from collections.abc import Iterator

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import Bound, at_most, equal_to, needs
from hessian_papers.ledger.conditions import AT_INITIALISATION
from hessian_papers.ledger.statements import Labels, Statements

PRINTED = "mup_printed"
IN_PRINT = "$σ_l^2 = Θ(n_l/n_{l-1})$ for μP, 1 between hidden layers"
PLACE = "appendix D.1.3, initialisation schemes"
TENTH = 0.1
FINITE = at_most(
    0.0,
    "a tenth of a power is a factor of 1.5 over the widths, which chance produces with few "
    "networks",
    tolerance=TENTH,
    source="the purpose of the parametrisations that it names",
)
NAMES = {"sp": "SP", "ntp": "NTP", "mup": "μP", "linear": "linear", "relu": "ReLU"}

statements = Statements(values=NAMES).having(paper="singh2026cracking", state=AT_INITIALISATION)


def _powers(data: xr.Dataset, **labels: str | int) -> xr.DataArray:
    """The powers of the width that the outputs go with, one for each draw.

    Each is the slope of a line of least squares through the logarithms of one network at each
    width; the networks are all independent.
    """
    needs(data.sizes["width"] >= 2, "a single width has no exponent")
    width = np.log(data["width"])
    centred = width - width.mean()
    return xr.dot(centred, np.log(data["output"].sel(labels)), dim="width") / (centred**2).sum()


def _each(data: xr.Dataset) -> Iterator[Labels]:
    for scale, activation in itertools.product(data["scale"].values, data["activation"].values):
        if scale != PRINTED:
            in_print = IN_PRINT if scale == "mup" else ""
            yield {"scale": str(scale), "activation": str(activation), "in_print": in_print}


@statements.always(PLACE, FINITE, each=_each, name="outputs-do-not-grow-{scale}-{activation}")
def outputs_do_not_grow(
    data: xr.Dataset, scale: str, activation: str, printed: bool = False, **_: str
) -> xr.DataArray:
    r"""At initialisation the outputs do not grow with the width, under any of the parametrisations.

    Statistic: exponent of the width in their root mean square, at the depth where it is largest;
    interval: Student's, 95 %, over networks.

    In print: {in_print}

    Remark: The print has variance 1 between hidden layers, so each multiplies its signals by the
    square root of its width. The works cited there for μP have standard deviations of $\min(1,
    \sqrt{n_l/n_{l-1}})/\sqrt{n_{l-1}}$, which this project uses.
    """
    powers = _powers(data, scale=PRINTED if printed else scale, activation=activation)
    return powers.sel(depth=powers.mean("draw").idxmax("depth"))


def _each_depth(data: xr.Dataset) -> Iterator[Labels]:
    for scale, words in (("mup", "with the spectral condition"), (PRINTED, "as printed")):
        for depth in data["depth"].values.tolist():
            power = -0.5 if scale == "mup" else (depth - 1) / 2
            yield {"scale": scale, "depth": depth, "words": words, "power": f"{power:g}"}


def _power(case: Labels) -> Bound:
    return equal_to(
        float(case["power"]),
        "a power, by the product of fan-ins and variances",
        tolerance=TENTH,
        source="our derivation",
    )


@statements.beyond.always(
    PLACE,
    _power,
    id="output-goes-like-a-power-of-the-width",
    each=_each_depth,
    name="exponent-{scale}-{depth}",
)
def exponent(data: xr.Dataset, scale: str, depth: int, **_: str) -> xr.DataArray:
    """The outputs of a linear network scale with a power of the width: (depth − 1)/2 for μP as
    printed, −1/2 with the spectral condition.

    Statistic: exponent of the width in their root mean square; interval: Student's, 95 %, over
    networks.
    """
    return _powers(data, scale=scale, activation="linear", depth=depth)
