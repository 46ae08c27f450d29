"""Statements of section 4 and appendix B of wu2022dissecting on infinite width, corrected."""

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import (
    Bound,
    Estimate,
    at_least,
    at_most,
    equal_to,
    within,
)
from hessian_papers.ledger.conditions import (
    ANY_STATE,
    AT_INITIALISATION,
    NO_ASSUMPTION,
    Condition,
)
from hessian_papers.ledger.statements import Labels, Statements
from hessian_papers.studies.layerwise.infinite_width.derived import exponent, measured, over_draws
from hessian_spectra.agreement import EXACT

RECTIFIED = "rectified"
GIVEN = "conditional on the weights, as appendix B.1.2 takes all expectations"
LIMIT = "ours: a theorem about limits has no number"
NEAR_ONE = at_least(0.95, "a twentieth from the limit 1", source=LIMIT)
APART = at_most(0.2, "a fifth", source=LIMIT)
SMALL = within(0.1, "a tenth; the limit is 0", source=GIVEN)
ONE = equal_to(1.0, "a twentieth from the limit 1", tolerance=0.05, source=LIMIT)
PROJECTED = equal_to(
    0.0,
    r"$W W^⊤$ differs from I by $\sqrt{c/n}$, an eighth at c = 4 and n = 256, and enters the ratio",
    tolerance=0.15,
    source=GIVEN,
)
CLOSE = within(0.05, "a twentieth; the limit is 0", source=GIVEN)
FINITE = (
    "The statement is about infinite width, and the widths here are finite: a larger one, "
    "or more draws, would decide."
)
SETTING = Condition(
    "two layers without biases, Gaussian weights of variances 1/d and 1/n, rectified standard "
    "Gaussian inputs, expectations given the weights, c fixed and $d = n^{1 + α}$"
)
ZERO_MEAN = Condition(SETTING.text.replace("rectified standard Gaussian", "standard Gaussian"))
QUADRATURE = "quadrature in float64 is good to 1e-13"

statements = Statements(
    values={
        "rectified": "rectified Gaussian inputs, as in the paper,",
        "gaussian": "Gaussian inputs of zero mean, which the paper does not take,",
        "active": "the mean squared error of $P(D_{jj} = 1)$",
        "softmax": "the error of $E[A]$",
        "independence": "one minus the overlap of the top spaces of M and M*",
        "space": "one minus the overlap of M's top space with its form",
        "formula": "the mean squared error of the form of M*",
        "ratio": "$λ_c(M)/λ_{c-1}(M)$",
        "layer": "one minus the overlap of the top spaces of H and $Ĥ$",
        "layer_ratio": "$λ_c(H)/λ_{c-1}(H)$",
        "norms": "$‖M‖^2/‖M^*‖^2$",
        "projections": "$‖W M W^⊤‖^2/‖W M^* W^⊤‖^2$",
        "projected": "$‖W M W^⊤‖^2/‖M‖^2$",
        "projected_copy": "$‖W M^* W^⊤‖^2/‖M^*‖^2$",
    },
).having(otherwise=FINITE, state=AT_INITIALISATION, assumes=SETTING)


# Integrals, without weights.
identities = statements.having(state=ANY_STATE, assumes=NO_ASSUMPTION)


def _combined(data: xr.Dataset, cases: Iterable[Labels]) -> list[Labels]:
    """These cases, with each number of classes and each α."""
    axes = [data[name].values.tolist() for name in ("classes", "alpha")]
    return [
        {**case, "classes": classes, "alpha": alpha}
        for case in cases
        for classes, alpha in itertools.product(*axes)
    ]


def _of(*names: str, law: str = RECTIFIED) -> Callable[[xr.Dataset], list[Labels]]:
    """Cases: some quantities under a law of the inputs, that of the paper."""
    return lambda data: _combined(
        data, [{"law": law, "quantity": name} for name in names if law in data["law"]]
    )


rectified = statements.having(
    over={
        "law": lambda data: [RECTIFIED] if RECTIFIED in data["law"] else [],
        "classes": None,
        "alpha": None,
    }
)


def _widest(data: xr.Dataset, name: str, less: float = 0.0) -> Estimate:
    """The mean over draws of a quantity at the largest width, less some number."""
    values = measured(data, name)
    widest = values.sel(width=values["width"].max())
    return Estimate(*(float(end) - less for end in over_draws(widest)))


def _overlap(data: xr.Dataset, name: str, less: float = 0.0) -> Estimate:
    """The mean overlap at the largest width, of a quantity that is one less an overlap."""
    value, low, high = _widest(data, name)
    return Estimate(1 - value - less, 1 - high - less, 1 - low - less)


def _error(data: xr.Dataset, name: str) -> Estimate:
    """The root of a mean square at the largest width; what is estimated below 0 is 0."""
    return Estimate(*(float(np.sqrt(max(end, 0.0))) for end in _widest(data, name)))


@rectified.always(
    "Theorem 4.2, eq. (42)", NEAR_ONE, id="same-top-space-with-independent-activations"
)
def same_top_space(data: xr.Dataset) -> Estimate:
    """In the limit, the output Hessian M and M*, with activations independent of the logits, have
    the same top (c−1)-space.

    Statistic: overlap at the largest width, mean over draws of the weights.
    """
    return _overlap(data, "independence")


@rectified.always(
    "Theorem 4.2, eq. (43)", APART, id="output-hessian-has-c-minus-1-large-eigenvalues"
)
def large_eigenvalues(data: xr.Dataset) -> Estimate:
    """M has c−1 large eigenvalues.

    Statistic: $λ_c/λ_{c-1}$ at the largest width, mean over draws of the weights.
    """
    return _widest(data, "ratio")


@rectified.always("Theorem 4.2", NEAR_ONE, id="top-space-of-the-output-hessian")
def top_space(data: xr.Dataset, printed: bool = False) -> Estimate:
    r"""The top (c−1)-space of M tends to $\lbrace Π W^⊤a: Σa = 0\rbrace$,
    $Π = \operatorname{diag} P(D_{jj} = 1 | W)$.

    Statistic: overlap at the largest width, mean over draws of the weights.

    In print: it is approximately $R\lbrace W_i\rbrace ∖ \lbrace 1^⊤W\rbrace$, without $Π$: units
    are taken to be active with probability 1/2 whatever the first layer's weights are
    """
    return _overlap(data, "printed_space" if printed else "space")


@rectified.always(
    "Corollary B.5",
    equal_to(0.0, "a twentieth; the limit is 0", tolerance=0.05, source=GIVEN),
    id="overlap-with-the-rows-tends-to-0.829",
)
def space_of_the_rows(data: xr.Dataset, printed: bool = False) -> Estimate:
    r"""The overlap of the top (c−1)-space of $Ĥ$ with the space of the rows of
    $V = W ⊗ 1^⊤/\sqrt{d}$ tends to $(E π)^2/E π^2 = 0.829$, $π = P(D_{jj} = 1 | W)$. It is that of
    M's top space with the rows of W.

    Statistic: overlap minus this at the largest width, mean over draws of the weights.

    In print: it converges to 1
    """
    return _overlap(data, "printed_space", less=1.0 if printed else float(data["space_limit"]))


@rectified.always(
    "section 4, eq. (8); eq. (140), (153), (224)",
    SMALL,
    id="output-hessian-of-independent-activations",
)
def independent_copy(data: xr.Dataset, printed: bool = False) -> Estimate:
    r"""M tends to $M^* = Π X Π + \operatorname{diag}(π_j(1-π_j) X_{jj})$, $X = W^⊤E[A]W$,
    $Π = \operatorname{diag}(π_j)$, $π_j = P(D_{jj} = 1 | W)$.

    Statistic: relative Frobenius error at the largest width, root mean square over draws of the
    weights.

    In print: $M^* = (X + \operatorname{diag} X)/4$, for units that are active with probability 1/2
    """
    return _error(data, "printed_formula" if printed else "formula")


@statements.always(
    "Corollary B.4, Lemmas B.13, B.16 and B.17",
    ONE,
    id="norms-agree-with-independent-activations",
    each=_of("norms", "projections"),
)
def norms_agree(data: xr.Dataset, quantity: str, **case: Any) -> Estimate:
    """The ratio of the norms of M and M* tends to 1.

    Statistic: its mean over draws of the weights at the largest width.
    """
    return _widest(data.sel(case), quantity)


@statements.always(
    "Lemmas B.14 and B.18, eq. (162) and (167)",
    PROJECTED,
    id="projection-keeps-the-norm",
    each=_of("projected", "projected_copy"),
)
def projected_norms(
    data: xr.Dataset, quantity: str, printed: bool = False, **case: Any
) -> Estimate:
    """The projected norm over the norm tends to $((E π)^2/E π^2)^2$, with $π = P(D_{jj} = 1 | W)$.
    This is 0.687 for rectified and 1 for Gaussian inputs.

    Statistic: its mean over draws of the weights at the largest width, minus the limit.

    In print: it tends to 1: $P(D_{jj} = 1)$ is taken to be 1/2
    """
    chosen = data.sel(case)
    return _widest(chosen, quantity, less=1.0) if printed else _projected(chosen, quantity)


@rectified.always(
    "Lemma B.23; eq. (183), (186)",
    PROJECTED,
    id="projection-keeps-the-norm",
    name="projected-hessian-copy-{classes}-{alpha}",
    shown=("classes", "alpha"),
)
def projected_hessian_copy(data: xr.Dataset, printed: bool = False) -> Estimate:
    r"""So does that of $Ĥ^* = M^* ⊗ E[xx^⊤]/d$ by $V = W ⊗ 1^⊤/\sqrt{d}$: the factor by which its
    inputs multiply it tends to 1.

    Statistic: mean over draws of the weights at the largest width, minus the limit.

    In print: it tends to 1
    """
    values = measured(data, "projected_copy")
    widest = data.sel(width=values["width"].max())
    d = float(widest["inputs"])
    factor = ((d + np.pi - 1) / (2 * np.pi)) ** 2 / float(widest["exact_norm"])
    limit = 1.0 if printed else float(data["projected_limit"])
    return Estimate(*(float(end) * factor - limit for end in _widest(data, "projected_copy")))


def _projected(data: xr.Dataset, name: str) -> Estimate:
    """The distance of a ratio of projected norms from its limit at the largest width."""
    return _widest(data, name, less=float(data["projected_limit"]))


@statements.always(
    "Lemma B.1",
    equal_to(
        0.0,
        "three tenths; the mean of 100 squares of N(0, 1) has a standard error of 0.14",
        tolerance=0.3,
        source=GIVEN,
    ),
    id="row-sums-of-the-weights",
)
def row_sums(data: xr.Dataset, printed: bool = False) -> Estimate:
    """The sum $Σ_j W_{ij}$ of a row's n weights is N(0, 1) at every width.

    Statistic: mean square over all rows of all networks, minus 1.

    In print: $Σ_j W_{ij} → 0$: its variance is taken to be 1/n, that of a single summand
    """
    squares = xr.DataArray(data["row_sum"].values.ravel(), dims="draw").dropna("draw")
    return Estimate(*(float(end) - (not printed) for end in over_draws(squares)))


WEIGHTS = statements.having(id="weights-of-a-wide-network", name="{quantity}-{classes}-{alpha}")


@WEIGHTS.always(
    "Lemmas B.3 and B.5, Corollary B.1",
    at_most(0.0, "the quantity falls; the lemmas give no rate", source=GIVEN),
    each=_of("row_norms", "first_gram", "second_gram"),
)
def weights_tend(data: xr.Dataset, quantity: str, **case: Any) -> Estimate:
    """As the width grows, rows of the second layer's weights tend to unit vectors, and $WW^⊤$ of
    both layers' to I.

    Statistic: exponent p of the mean over draws of the weights, $n^p$, of the largest deviation of
    a row's squared norm from 1, or of $‖WW^⊤ - I‖$; interval: jackknife over draws.
    """
    values = measured(data.sel(case), quantity)
    return exponent(values, values["width"])


@WEIGHTS.always(
    "Lemmas B.4 and B.8, Corollary B.2",
    at_most(1.0, "the lemma's bound"),
    each=_of("largest_first", "largest_second", "columns"),
)
def weights_are_bounded(data: xr.Dataset, quantity: str, **case: Any) -> Estimate:
    """No entry of the weights exceeds $2 b^{-1/3}$, of b inputs of a layer, and no column's norm
    $5 n^{-α/2}$.

    Statistic: the largest one over this bound at the largest width, mean over draws of the weights.
    """
    return _widest(data.sel(case), quantity)


@rectified.always(
    "Lemma B.11 and Corollary B.3", CLOSE, id="softmax-does-not-depend-on-two-active-units"
)
def conditioned(data: xr.Dataset) -> Estimate:
    """In the limit $E[A]$ is unchanged where two units are known to be active.

    Statistic: relative Frobenius distance of the two at the largest width, root mean square over
    draws of the weights. The units are active half of the time.
    """
    return _error(data, "conditioned")


@rectified.always("Lemma B.9", CLOSE, id="law-of-the-pre-activations")
def pre_activations(data: xr.Dataset, printed: bool = False) -> Estimate:
    r"""A unit is active with probability $Φ(E[u_j|W]/\sqrt{\operatorname{Var}[u_j|W]})$ given the
    weights. With rectified inputs $E[u_j|W] = Σ_i W_{ji}/\sqrt{2π}$, which is not small.

    Statistic: error of the probability at the largest width, root mean square over units and draws
    of the weights.

    In print: $u → N(0, (π-1)/(2π) I)$, so that each unit is active with probability 1/2
    """
    return _error(data, "printed_active" if printed else "active")


@rectified.always("Lemma B.10, and $E[A]$ of Lemma B.12", CLOSE, id="law-of-the-logits")
def logits(data: xr.Dataset, printed: bool = False) -> Estimate:
    r"""Given the weights, the logits tend to $N(W m, W \operatorname{diag}(v) W^⊤)$. Here m and v
    are the mean and variance of each activation, given the first layer's weights.

    Statistic: relative error of $E[A]$ for such logits at the largest width, root mean square over
    draws of the weights.

    In print: $z → N(0, σ^2 I)$ with the variance $σ^2$ of an activation, since row sums of W and
    the units' means vanish
    """
    return _error(data, "printed_softmax" if printed else "softmax")


# Of Gaussian inputs: by case the quantity, its bound, and what reads it.
GAUSSIAN: Mapping[str, tuple[str, Bound, Callable[[xr.Dataset, str], Estimate]]] = {
    "same-top-space-gaussian": ("independence", NEAR_ONE, _overlap),
    "large-eigenvalues-gaussian": ("ratio", APART, _widest),
    "top-space-gaussian": ("space", NEAR_ONE, _overlap),
    "independent-copy-gaussian": ("formula", SMALL, _error),
    "norms-agree-gaussian-norms": ("norms", ONE, _widest),
    "norms-agree-gaussian-projections": ("projections", ONE, _widest),
    "projected-norms-gaussian-projected": ("projected", PROJECTED, _projected),
    "projected-norms-gaussian-projected_copy": ("projected_copy", PROJECTED, _projected),
    "logits-gaussian": ("softmax", CLOSE, _error),
}


def _of_gaussian(data: xr.Dataset) -> list[Labels]:
    cases = [{"case": case, "quantity": quantity} for case, (quantity, _, _) in GAUSSIAN.items()]
    return _combined(data, cases if "gaussian" in data["law"] else [])


@statements.beyond.always(
    "section 4 and appendix B, beyond the paper",
    lambda case: GAUSSIAN[case["case"]][1],
    id="gaussian-inputs-have-the-same-limits",
    each=_of_gaussian,
    name="{case}-{classes}-{alpha}",
    shown=("quantity", "classes", "alpha"),
    assumes=ZERO_MEAN,
)
def with_gaussian_inputs(
    data: xr.Dataset, case: str, quantity: str, classes: int, alpha: float
) -> Estimate:
    """With zero-mean Gaussian inputs, which the paper does not consider, the statements on M, M*
    and the logits hold likewise. Each unit is then active with probability 1/2.

    Statistic: as for rectified inputs, at the largest width, mean over draws of the weights.
    """
    chosen = data.sel(law="gaussian", classes=classes, alpha=alpha)
    return GAUSSIAN[case][2](chosen, quantity)


@rectified.always(
    "Theorem 4.1, eq. (40)", NEAR_ONE, id="hessian-and-kronecker-form-have-the-same-top-space"
)
def decoupling(data: xr.Dataset) -> Estimate:
    """The Hessian H of the first layer's weights and its Kronecker approximation $Ĥ$ have the same
    top (c−1)-space in the limit.

    Statistic: overlap at the largest width, mean over draws of the weights.
    """
    return _overlap(data, "layer")


@rectified.always(
    "Theorem 4.1, eq. (41)", APART, id="layer-hessian-has-c-minus-1-large-eigenvalues"
)
def large_eigenvalues_of_the_layer(data: xr.Dataset) -> Estimate:
    """H has c−1 large eigenvalues.

    Statistic: $λ_c/λ_{c-1}$ at the largest width, mean over draws of the weights; the sampling of
    inputs increases $λ_c$.
    """
    return _widest(data, "layer_ratio")


# What tends to 0.
FALLING = ("independence", "ratio", "space", "formula")


@statements.beyond.always(
    "Theorems 4.1 and 4.2",
    at_most(0.0, "the quantity falls; theorems and proofs give no rate", source=GIVEN),
    id="limits-are-approached",
    each=_of(*FALLING, "layer", "layer_ratio"),
)
def falls(data: xr.Dataset, quantity: str, **case: Any) -> Estimate:
    """The quantities in the theorems approach their limits as the width n grows.

    Statistic: exponent p of the mean over draws of the weights, $n^p$, by least squares of
    logarithms; interval: jackknife over draws. Sampled inputs add to $λ_c$ and to the distance of
    H and $Ĥ$, at large widths most, so that p is an upper bound there.
    """
    values = measured(data.sel(case), quantity)
    return exponent(values, values["width"])


@statements.beyond.always(
    "Theorem 4.1, beyond the paper",
    at_most(-0.5, "nearer to 1/d than to no change with d", source="ours: perturbation theory"),
    id="more-inputs-make-the-kronecker-form-better",
    each=lambda data: [
        {"classes": classes}
        for classes in data["classes"].values.tolist()
        if RECTIFIED in data["law"] and data.sizes["alpha"] > 1
    ],
)
def inputs_at_one_width(data: xr.Dataset, classes: int) -> Estimate:
    """At one width the top spaces of H and $Ĥ$ differ the less the more inputs d there are. To the
    first order one minus their overlap is proportional to 1/d.

    Statistic: its exponent in d over all α at the smallest width, like that in the width.
    """
    chosen = data.sel(law=RECTIFIED, classes=classes, width=data["width"].min())
    return exponent(chosen["layer"], chosen["inputs"])


@identities.identity(
    "eq. (90)",
    within(EXACT, QUADRATURE, source="moments of a rectified Gaussian"),
    id="fourth-moment-of-a-rectified-gaussian",
)
def fourth_moment(data: xr.Dataset, printed: bool = False) -> float:
    r"""$E[(y_i - E y_i)^4] = (π - 1)^2 (6π^2 - 10π - 3)/(16π^4)$ for $y = \operatorname{relu}(u)$,
    $u ∼ N(0, (π-1)/(2π))$.

    Statistic: relative error.

    In print: $E[(y_i - E y_i)^4] = (6π^2 - 10π - 3)(π - 1)/(8π^3)$
    """
    return _relative(data, "fourth", printed)


@identities.identity(
    "eq. (186), and (173), (187)",
    within(EXACT, QUADRATURE, source="moments of a rectified Gaussian"),
    id="norm-of-rectified-inputs",
)
def input_norm(data: xr.Dataset, printed: bool = False) -> float:
    """$‖E[xx^⊤]‖^2 = d^2/(4π^2) + d(π^2 - 1)/(4π^2)$ for d rectified standard Gaussian inputs.

    Statistic: largest relative error over the widths and α.

    In print: $‖E[xx^⊤]‖^2 = d^2/(4π^2) + d(π - 1)/(2π)$
    """
    return _relative(data, "norm", printed)


def _relative(data: xr.Dataset, name: str, printed: bool) -> float:
    """The largest relative error of a closed form."""
    form = data[f"{'printed' if printed else 'exact'}_{name}"]
    return float(abs(form / data[name] - 1).max())
