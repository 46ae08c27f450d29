"""The statements of anon2026data on the sharpness, the depth and the norm of the labels."""

import xarray as xr
from xarray.ufuncs import exp, log

from hessian_papers.ledger.bounds import NothingToMeasure, at_least, at_most, needs, within
from hessian_papers.ledger.conditions import Condition
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.deep_linear.depth_and_norm.derived import error
from hessian_spectra.agreement import EXACT

AMPLIFIED = "text below Equation 14 (“amplified by large depths”); {artifact}"
LANCZOS = "Lanczos' method stops at a residual of 1e-6, which leaves an error of the square of that"
CLASSES = 11
# A step that changes the sharpness by less neither raises nor lowers it.
STEADY = 1e-9

statements = Statements()
solutions = statements.having(
    state=Condition("at zero loss"), assumes=Condition("whitened inputs, balanced layers")
)
figure_1b = solutions.about("anon2026data", "Figure 1b")


def _steps(data: xr.Dataset) -> xr.DataArray:
    """Logarithm of the factor with which one layer more than each depth multiplies λ_max."""
    return log(data["sharpness"]).diff("depth", label="lower")


def _later(data: xr.Dataset) -> xr.Dataset:
    """The networks of two layers and more.

    Raises:
        NothingToMeasure: no network has three layers.
    """
    needs(data.sizes["depth"] >= 3, "this configuration has no network of three layers")
    return data.sel(depth=slice(2, None))


# Eq. (14) of random networks: parts of the theorem.


@statements.identity(
    "Equation 14; {artifact}",
    within(
        EXACT,
        LANCZOS,
        source="Lanczos' method on Hessian-vector products, at random balanced networks",
    ),
    id="labels-sharpness",
)
def sharpness(data: xr.Dataset) -> float:
    """The largest eigenvalue at a balanced solution of zero loss is
    $L σ_x^{2/L} (‖Y‖_2^2/n)^{1-1/L}$, at any widths.
    """
    return float(error(data).max(skipna=False))


@statements.identity(
    "Equation 14",
    within(1e-9, f"{LANCZOS}, divided by the distance of the norms", source="eq. (14)"),
    id="labels-sharpness",
)
def exponent(data: xr.Dataset) -> float:
    """The sharpness grows as the power $1 - 1/L$ of the largest class share. For one layer it does
    not grow, for two it grows as the square root, and never faster than in proportion.

    Statistic: largest error of the exponent between neighbouring norms.
    """
    distances = (2 * log(data["norm"])).diff("norm")
    exponents = log(data["sharpness"]).diff("norm") / distances
    return float(abs(exponents - (1 - 1 / data["depth"])).max(skipna=False))


# What depth amplifies.


@figure_1b.always(
    AMPLIFIED, at_least(0.0, LANCZOS, tolerance=STEADY), id="depth-amplifies-the-effect-of-labels"
)
def label_effect(data: xr.Dataset) -> float:
    r"""Depth amplifies the effect of the labels on the sharpness.

    Statistic: smallest relative growth, per layer added to two or more, of the difference in
    sharpness between neighbouring norms; of one layer there is none.

    Remark: $dλ_{\max}/d(‖Y‖_2^2/n) = (L - 1)(n σ_x^2/‖Y‖_2^2)^{1/L}$ grows with depth wherever
    $‖Y‖_2^2/(n σ_x^2) > e^{-4}$. Below that it falls at some depths but not at others.
    """
    differences = _later(data)["sharpness"].diff("norm")
    growth = differences.diff("depth", label="lower")
    return float((growth / abs(differences.isel(depth=slice(-1)))).min(skipna=False))


@figure_1b.typically(AMPLIFIED, reading_of("mainly"), id="growth-is-mainly-the-leading-factor")
def leading_factor(data: xr.Dataset) -> float:
    r"""The growth with depth is mainly due to the leading factor L.

    Statistic: $\ln(L/2)$ over $\ln(λ_{\max}(L)/λ_{\max}(2))$ at the largest depth, median over the
    norms at which the sharpness grows. Above 1 the other factor counteracts the growth.

    Remark: The other factor, $(‖Y‖_2^2/(n σ_x^2))^{1/2-1/L}$, grows with depth only for norms above
    $\sqrt n σ_x$, and dominates for large enough norms. One-hot labels with $σ_x = 1$ are never
    above.
    """
    growth = _steps(_later(data)).sum("depth", skipna=False)
    needs((growth > 0).any(), "this configuration has no norm at which the sharpness grows")
    return float((log(data["depth"].max() / 2) / growth.where(growth > 0)).median())


@solutions.beyond.always(
    AMPLIFIED,
    at_most(0.0, "a count", source=r"$λ_{\max}(L + 1)/λ_{\max}(L)$ of eq. (14)"),
    id="depth-amplifies-the-sharpness",
)
def depth(data: xr.Dataset) -> float:
    r"""Depth sharpens the solution above some norm of the labels: one layer more makes it sharper
    if and only if $‖Y‖_2^2/(n σ_x^2) > (L/(L+1))^{L(L+1)}$, and flatter below.

    Statistic: number of steps in depth in the other direction.

    Remark: $d \ln λ_{\max}/dL = (L - \ln(n σ_x^2/‖Y‖_2^2))/L^2$: the sharpness falls up to that
    logarithm and grows beyond it.
    """
    steps = _steps(data)
    # Of each step the depth that it starts from.
    grows = data["norm"] > data["growth_from"].isel(depth=slice(-1))
    other = (abs(steps) > STEADY) & ((steps > 0) != grows)
    return float(other.sum())


@solutions.beyond.always(
    AMPLIFIED,
    at_least(
        1.0,
        "any growth counts",
        source="$(2/3)^6 < 1/11$, and the largest share of K classes is at least 1/K",
    ),
    id="depth-amplifies-the-sharpness",
)
def few_classes(data: xr.Dataset) -> float:
    r"""For one-hot labels of up to 11 classes and $σ_x = 1$, every layer after the second makes the
    solution sharper.

    Statistic: smallest $λ_{\max}(L + 1)/λ_{\max}(L)$, $L ≥ 2$, over norms with
    $‖Y‖_2^2/(n σ_x^2) ≥ 1/11$.
    """
    steps = _steps(_later(data))
    few = (data["norm"] / data["input_scale"]) ** 2 >= 1 / CLASSES
    if not few.any():
        least = f"$‖Y‖_2^2/(n σ_x^2) ≥ {1 / CLASSES:.3g}$"
        raise NothingToMeasure(f"this configuration has no norm with {least}")
    return float(exp(steps.sel(norm=data["norm"][few]).min(skipna=False)))
