"""What anon2026data says about the sharpness, the depth and the norm of the labels."""

from typing import Any

import numpy as np

from hessian_spectra.ledger.vocabulary import Claim
from hessian_spectra.results import Arrays

TEST = "tests/studies/test_depth_and_norm.py::"
# A step that changes the sharpness by less neither raises nor lowers it.
STEADY = 1e-9
CLASSES = 11


def _steps(numerics: Arrays) -> np.ndarray:
    """Logarithm of the factor with which one layer more multiplies λ_max, ``(d − 1, s)``."""
    return np.diff(np.log(numerics["sharpness"]), axis=0)


def largest_error(closed_form: Arrays, numerics: Arrays) -> float:
    """The largest relative error of eq. (14)."""
    return float(np.abs(closed_form["predicted"] / numerics["sharpness"] - 1).max())


def wrong_directions(closed_form: Arrays, numerics: Arrays) -> float:
    """The number of steps in depth where the sharpness does not change as the threshold says."""
    steps = _steps(numerics)
    grows = closed_form["norms"] > closed_form["growth_from"][:-1, None]
    return float(((np.abs(steps) > STEADY) & ((steps > 0) != grows)).sum())


def flatter_steps(closed_form: Arrays, numerics: Arrays) -> float:
    """The number of steps in depth at which the sharpness falls."""
    return float((_steps(numerics) < -STEADY).sum())


def least_growth_of_few_classes(closed_form: Arrays, numerics: Arrays) -> float:
    """The smallest factor by which a third or later layer multiplies the sharpness.

    Over the norms that the largest share of up to eleven classes can give.
    """
    shares = (closed_form["norms"] / closed_form["input_scale"]) ** 2
    steps = _steps(numerics)[1:, shares >= 1 / CLASSES]
    return float(np.exp(steps.min(initial=np.inf)))


def least_growth_of_differences(closed_form: Arrays, numerics: Arrays) -> float:
    """How the difference of the sharpness at neighbouring norms grows with a layer, at least.

    Returns:
        The change from L to L + 1 over the difference at L + 1, the smallest of all.
    """
    differences = np.diff(numerics["sharpness"], axis=1)
    return float((np.diff(differences, axis=0) / differences[1:]).min())


def exponent_error(closed_form: Arrays, numerics: Arrays) -> float:
    """The largest difference from 1 − 1/L of the exponent of λ_max ~ (‖Y‖₂²/n)^exponent."""
    exponents = np.diff(np.log(numerics["sharpness"]), axis=1) / np.diff(
        2 * np.log(closed_form["norms"])
    )
    return float(np.abs(exponents - (1 - 1 / closed_form["depths"][:, None])).max())


def share_of_leading_factor(closed_form: Arrays, numerics: Arrays) -> float:
    """The part of the growth from 2 layers to the largest depth that the leading factor makes up.

    Returns:
        ln(L/2) over ln(λ_max(L) / λ_max(2)), the smallest over the norms at which it grows.
    """
    growth = _steps(numerics)[1:].sum(axis=0)
    leading = np.log(closed_form["depths"][-1] / 2)
    return float((leading / growth[growth > 0]).min(initial=np.inf))


def claims(study: str) -> list[Claim]:
    """The claims that a study of this kind measures."""
    common: dict[str, Any] = {"paper": "anon2026data", "study": study}
    text = "text below Equation 14 (“amplified by large depths”); Figure 1b"
    lanczos = "Lanczos' method stops at a residual of 1e-6, which leaves an error of its square"
    return [
        Claim(
            **common,
            id=f"{study}/sharpness",
            location="Equation 14; Figure 1b",
            statement=(
                "The largest eigenvalue at a balanced solution of zero loss is "
                "L σ_x^{2/L} (‖Y‖₂²/n)^{1−1/L}, at any widths"
            ),
            kind="identity",
            test=f"{TEST}test_equation_is_the_largest_eigenvalue",
            measure=largest_error,
            source="Lanczos' method on Hessian-vector products, at random balanced networks",
            tolerance=1e-10,
            reason=lanczos,
        ),
        Claim(
            **common,
            id=f"{study}/depth",
            location=text,
            statement=(
                "One layer more makes the solution sharper if and only if ‖Y‖₂²/(n σ_x²) > "
                "(L/(L+1))^{L(L+1)}, and flatter below. Statistic: steps in depth with the other "
                "direction"
            ),
            kind="value",
            test=f"{TEST}test_depth_makes_it_sharper_above_a_norm_only",
            measure=wrong_directions,
            source="λ_max(L + 1)/λ_max(L) of eq. (14)",
            reason="a count",
            printed="Depth amplifies the sharpness (read as: at every norm of the labels)",
            measure_printed=flatter_steps,
            explanation=(
                "d ln λ_max/dL = (L − ln(n σ_x²/‖Y‖₂²))/L²: the sharpness falls up to that "
                "logarithm and grows beyond; the error in print counts the falling steps."
            ),
        ),
        Claim(
            **common,
            id=f"{study}/few-classes",
            location=text,
            statement=(
                "For one-hot labels of up to 11 classes and σ_x = 1 every layer after the second "
                "makes the solution sharper. Statistic: least λ_max(L + 1)/λ_max(L), L ≥ 2, over "
                "norms with ‖Y‖₂²/(n σ_x²) ≥ 1/11"
            ),
            kind="trend",
            test=f"{TEST}test_few_classes_are_sharper_the_deeper",
            measure=least_growth_of_few_classes,
            expected=1.0,
            relation=">=",
            source="(2/3)^6 < 1/11, and the largest share of K classes is at least 1/K",
            reason="any growth counts",
        ),
        Claim(
            **common,
            id=f"{study}/label-effect",
            location=text,
            statement=(
                "Depth amplifies what the labels do to the sharpness. Statistic: growth with one "
                "layer of the difference between neighbouring norms, relative, the least of all"
            ),
            kind="trend",
            test=f"{TEST}test_differences_between_norms_grow_with_depth",
            measure=least_growth_of_differences,
            relation=">=",
            tolerance=STEADY,
            reason=lanczos,
            explanation=(
                "dλ_max/d(‖Y‖₂²/n) = (L − 1)(n σ_x²/‖Y‖₂²)^{1/L} grows with depth wherever "
                "‖Y‖₂²/(n σ_x²) > e^{−4}; below, it falls at some depths, though not all."
            ),
        ),
        Claim(
            **common,
            id=f"{study}/exponent",
            location="Equation 14",
            statement=(
                "The sharpness grows as the power 1 − 1/L of the largest class share: not at all "
                "for one layer, as its root for two, never more than in proportion to it. "
                "Statistic: largest error of the exponent between neighbouring norms"
            ),
            kind="identity",
            test=f"{TEST}test_exponent_of_the_label_norm",
            measure=exponent_error,
            source="eq. (14)",
            tolerance=1e-9,
            reason=f"{lanczos}, divided by the distance of the norms",
        ),
        Claim(
            **common,
            id=f"{study}/leading-factor",
            location=text,
            statement=(
                "The growth with depth is mainly due to the leading factor L. Statistic: ln(L/2) "
                "over ln(λ_max(L)/λ_max(2)) at the largest depth, the least over the norms at "
                "which the sharpness grows; above 1 the other factor works against it"
            ),
            kind="trend",
            test=f"{TEST}test_leading_factor_makes_up_most_of_the_growth",
            measure=share_of_leading_factor,
            expected=0.5,
            relation=">=",
            source="“mainly”: more than half",
            reason="it is half or it is not",
            explanation=(
                "The other factor, (‖Y‖₂²/(n σ_x²))^{1/2−1/L}, grows with depth for norms above "
                "√n σ_x only, where large enough ones make it the greater part; one-hot labels "
                "and σ_x = 1 are never above."
            ),
        ),
    ]
