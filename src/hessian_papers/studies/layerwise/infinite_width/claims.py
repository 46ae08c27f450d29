"""What section 4 and appendix B of wu2022dissecting say of infinite width, and what is true."""

from collections.abc import Callable, Iterator
from typing import Any

from hessian_papers.ledger.bounds import Estimate, at_least, at_most, equal_to, within
from hessian_papers.ledger.statements import Labels, Print, Statements, over
from hessian_papers.ledger.verdicts import always
from hessian_papers.studies.layerwise.infinite_width.reading import RECTIFIED, Reading
from hessian_spectra.agreement import EXACT

GIVEN = "conditional on the weights, as appendix B.1.2 takes all expectations"
LIMIT = "ours: a theorem about limits has no number"
NEAR_ONE = at_least(0.95, "a twentieth from the limit 1", source=LIMIT)
APART = at_most(0.2, "a fifth", source=LIMIT)
SMALL = within(0.1, "a tenth; the limit is 0", source=GIVEN)
CLOSE = within(0.05, "a twentieth; the limit is 0", source=GIVEN)
FINITE = (
    "The statement is about infinite width, and the widths here are finite: a larger one, "
    "or more draws, would decide."
)
LEMMAS = {"projected": "B.14", "projected_copy": "B.18"}
AGREEING = {"norms": "B.16", "projections": "B.17"}
QUADRATURE = "quadrature in float64 is good to 1e-13"

statements = Statements(
    Reading,
    values={
        "rectified": "rectified Gaussian inputs, as in the paper,",
        "gaussian": "Gaussian inputs of zero mean, which the paper does not take,",
        "independence": "one less the overlap of the top spaces of M and M*",
        "space": "one less the overlap of M's top space with its form",
        "formula": "the mean squared error of the form of M*",
        "ratio": "λ_c(M)/λ_{c−1}(M)",
        "layer": "one less the overlap of the top spaces of H and Ĥ",
        "layer_ratio": "λ_c(H)/λ_{c−1}(H)",
        "norms": "‖M‖²/‖M*‖²",
        "projections": "‖W M Wᵀ‖²/‖W M* Wᵀ‖²",
        "projected": "‖W M Wᵀ‖²/‖M‖²",
        "projected_copy": "‖W M* Wᵀ‖²/‖M*‖²",
    },
).having(otherwise=FINITE, elsewhere=lambda case: case.get("law", RECTIFIED) != RECTIFIED)


def with_rectified(reading: Reading) -> Iterator[Labels]:
    """A single case, of a study with rectified inputs."""
    if RECTIFIED in reading.laws:
        yield {"law": RECTIFIED}


def _of_quantities(names: dict[str, str]) -> Callable[[Reading], Iterator[dict[str, Any]]]:
    return lambda reading: (
        {"law": law, "quantity": name} for law in reading.laws for name in names
    )


@statements.statement(
    "Theorem 4.2, eq. (42)",
    always,
    NEAR_ONE,
    id="same-top-space-with-independent-activations",
    each=over("law"),
)
def same_top_space(reading: Reading, law: str) -> Estimate:
    """The output Hessian M and M*, in which activations are independent of the logits, have the
    same top (c−1)-space in the limit.

    Statistic: overlap at the largest width, mean over draws of the weights.
    """
    return reading.overlap("independence", law)


@statements.statement(
    "Theorem 4.2, eq. (43)",
    always,
    APART,
    id="output-hessian-has-c-minus-1-large-eigenvalues",
    each=over("law"),
)
def large_eigenvalues(reading: Reading, law: str) -> Estimate:
    """M has c−1 large eigenvalues.

    Statistic: λ_c/λ_{c−1} at the largest width, mean over draws of the weights.
    """
    return reading.widest("ratio", law)


@statements.statement(
    "Theorem 4.2",
    always,
    NEAR_ONE,
    id="top-space-of-the-output-hessian",
    each=over("law"),
    printed=Print(
        "it is approximately R{W_i} \\ {1ᵀW}, without Π: units are taken to be active with "
        "probability 1/2 whatever the first layer's weights are",
        lambda reading, law: reading.overlap("printed_space", law),
    ),
)
def top_space(reading: Reading, law: str) -> Estimate:
    """The top (c−1)-space of M tends to {Π Wᵀa: Σa = 0}, Π = diag P(D_jj = 1 | W).

    Statistic: overlap at the largest width, mean over draws of the weights.
    """
    return reading.overlap("space", law)


@statements.statement(
    "Theorem 4.2",
    always,
    equal_to(0.0, "a twentieth; the limit is 0", tolerance=0.05, source=GIVEN),
    id="overlap-with-the-rows-tends-to-0.829",
    each=with_rectified,
    book="beyond",
)
def space_of_the_rows(reading: Reading, law: str) -> Estimate:
    """The overlap of M's top space with the space of the rows of W tends to (E π)²/E π² = 0.829, π
    = P(D_jj = 1 | W).

    Statistic: overlap minus this at the largest width, mean over draws of the weights.
    """
    value, low, high = reading.overlap("printed_space", law)
    limit = reading.limit("printed_space", law)
    return Estimate(value - limit, low - limit, high - limit)


@statements.statement(
    "section 4, eq. (8); eq. (140), (153)",
    always,
    SMALL,
    id="output-hessian-of-independent-activations",
    each=over("law"),
    printed=Print(
        "M* = (X + diag X)/4, for units that are active with probability 1/2",
        lambda reading, law: reading.error("printed_formula", law),
    ),
)
def independent_copy(reading: Reading, law: str) -> Estimate:
    """M tends to M* = Π X Π + diag(π_j(1−π_j) X_jj), X = WᵀE[A]W, Π = diag(π_j), π_j = P(D_jj = 1 |
    W).

    Statistic: relative Frobenius error at the largest width, root of the mean square over draws of
    the weights.
    """
    return reading.error("formula", law)


@statements.statement(
    "Lemmas B.16 and B.17",
    always,
    equal_to(1.0, "a twentieth from the limit 1", tolerance=0.05, source=LIMIT),
    id="norms-agree-with-independent-activations",
    each=_of_quantities(AGREEING),
)
def norms_agree(reading: Reading, law: str, quantity: str) -> Estimate:
    """The ratio of the norms of M and M* tends to 1.

    Statistic: its mean over draws of the weights at the largest width.
    """
    return reading.widest(quantity, law)


@statements.statement(
    "Lemmas B.14 and B.18, eq. (162) and (167)",
    always,
    equal_to(
        0.0,
        "W Wᵀ differs from I by √(c/n), an eighth at n = 256, and enters the ratio",
        tolerance=0.15,
        source=GIVEN,
    ),
    id="projection-keeps-the-norm",
    each=_of_quantities(LEMMAS),
    printed=Print(
        "it tends to 1: P(D_jj = 1) is taken to be 1/2",
        lambda reading, law, quantity: reading.widest(quantity, law, less=1.0),
    ),
)
def projected_norms(reading: Reading, law: str, quantity: str) -> Estimate:
    """The projected norm over the norm tends to ((E π)²/E π²)², π = P(D_jj = 1 | W), which is 0.687
    for rectified and 1 for Gaussian inputs.

    Statistic: its mean over draws of the weights at the largest width, minus the limit.
    """
    return reading.widest(quantity, law, less=reading.limit("projected", law))


@statements.statement(
    "Lemma B.1",
    always,
    equal_to(
        0.0,
        "three tenths; the mean of 100 squares of N(0, 1) has a standard error of 0.14",
        tolerance=0.3,
        source=GIVEN,
    ),
    id="row-sums-of-the-weights",
    printed=Print(
        "Σ_j W_ij → 0: its variance is taken to be 1/n, that of a single summand",
        lambda reading: reading.row_sums(),
    ),
)
def row_sums(reading: Reading) -> Estimate:
    """The sums Σ_j W_ij of a row's n weights are N(0, 1) at every width.

    Statistic: mean square over classes, draws, widths and laws, minus 1.
    """
    return Estimate(*(end - 1 for end in reading.row_sums()))


@statements.statement(
    "Lemma B.9",
    always,
    CLOSE,
    id="law-of-the-pre-activations",
    each=over("law"),
    printed=Print(
        "u → N(0, (π−1)/(2π) I), so that each unit is active with probability 1/2",
        lambda reading, law: reading.error("printed_active", law),
    ),
)
def pre_activations(reading: Reading, law: str) -> Estimate:
    """A unit is active with probability Φ(E[u_j|W]/√Var[u_j|W]) given the weights: with rectified
    ones E[u_j|W] = Σ_i W_ji/√(2π), which is not small.

    Statistic: error of the probability at the largest width, root of the mean square over units and
    draws of the weights.
    """
    return reading.error("active", law)


@statements.statement(
    "Lemma B.10, and E[A] of Lemma B.12",
    always,
    CLOSE,
    id="law-of-the-logits",
    each=over("law"),
    printed=Print(
        "z → N(0, σ² I) with the variance σ² of an activation, since row sums of W and the units' "
        "means vanish",
        lambda reading, law: reading.error("printed_softmax", law),
    ),
)
def logits(reading: Reading, law: str) -> Estimate:
    """The logits tend to N(W m, W diag(v) Wᵀ) given the weights, m and v the mean and the variance
    of each activation given the first layer's.

    Statistic: relative error of E[A] of such logits at the largest width, root of the mean square
    over draws of the weights.
    """
    return reading.error("softmax", law)


@statements.statement(
    "Theorem 4.1, eq. (40)",
    always,
    NEAR_ONE,
    id="hessian-and-kronecker-form-have-the-same-top-space",
    each=with_rectified,
)
def decoupling(reading: Reading, law: str) -> Estimate:
    """The Hessian H of the first layer's weights and its Kronecker approximation Ĥ have the same
    top (c−1)-space in the limit.

    Statistic: overlap at the largest width, mean over draws of the weights.
    """
    return reading.overlap("layer", law)


@statements.statement(
    "Theorem 4.1, eq. (41)",
    always,
    APART,
    id="layer-hessian-has-c-minus-1-large-eigenvalues",
    each=with_rectified,
)
def large_eigenvalues_of_the_layer(reading: Reading, law: str) -> Estimate:
    """H has c−1 large eigenvalues.

    Statistic: λ_c/λ_{c−1} at the largest width, mean over draws of the weights; that inputs are
    sampled enlarges λ_c.
    """
    return reading.widest("layer_ratio", law)


def _falling(reading: Reading) -> Iterator[Labels]:
    own = ("independence", "ratio", "space", "formula")
    for law in reading.laws:
        for name in (*own, "layer", "layer_ratio") if law == RECTIFIED else own:
            yield {"law": law, "quantity": name}


@statements.statement(
    "Theorems 4.1 and 4.2",
    always,
    at_most(0.5, "half is left; the limit of the ratio is 0", source=GIVEN),
    id="limits-are-approached",
    each=_falling,
    elsewhere=None,
    book="beyond",
)
def falls(reading: Reading, law: str, quantity: str) -> Estimate:
    """The quantities of the theorems come nearer to their limits with the width.

    Statistic: mean over draws of the weights at the largest width over that at the smallest;
    interval: bootstrap over draws.
    """
    return reading.left(quantity, law)


@statements.identity(
    "eq. (90)",
    within(EXACT, QUADRATURE, source="moments of a rectified Gaussian"),
    id="fourth-moment-of-a-rectified-gaussian",
    printed=Print(
        "E[(y_i − E y_i)⁴] = (6π² − 10π − 3)(π − 1)/(8π³)",
        lambda reading: _relative(reading, "printed_fourth", "fourth"),
    ),
)
def fourth_moment(reading: Reading) -> float:
    """E[(y_i − E y_i)⁴] = (π − 1)² (6π² − 10π − 3)/(16π⁴) for y = relu(u), u ~ N(0, (π−1)/(2π)).

    Statistic: relative error.
    """
    return _relative(reading, "fourth", "fourth")


@statements.identity(
    "eq. (186), and (173), (187)",
    within(EXACT, QUADRATURE, source="moments of a rectified Gaussian"),
    id="norm-of-rectified-inputs",
    printed=Print(
        "‖E[xxᵀ]‖² = d²/(4π²) + d(π − 1)/(2π)",
        lambda reading: _relative(reading, "printed_norm", "norm"),
    ),
)
def input_norm(reading: Reading) -> float:
    """‖E[xxᵀ]‖² = d²/(4π²) + d(π² − 1)/(4π²) for d rectified standard Gaussian inputs.

    Statistic: largest relative error over the widths.
    """
    return _relative(reading, "norm", "norm")


def _relative(reading: Reading, form: str, name: str) -> float:
    """The largest relative error of a closed form."""
    return float(abs(reading.closed_form[form] / reading.numerics[name] - 1).max())
