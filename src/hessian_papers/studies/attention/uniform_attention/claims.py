"""What the paper says about attention at initialisation as d_K grows, and how it is measured."""

import numpy as np

from hessian_papers.ledger.bounds import Estimate, at_least, at_most, equal_to, share_of, within
from hessian_papers.ledger.statements import Labels, Statements, over
from hessian_papers.studies.attention.uniform_attention.reading import CONSTANT, Reading
from hessian_spectra.agreement import EXACT

SECTION = "section 3.3, on large query and key weights"
CONVERGES = at_most(
    -0.25,
    "halfway between 0, which is no convergence, and −1/2, the slowest rate of a mean of d_K terms",
)
# A smaller part of its first value is a convergence that one can see along a single draw.
FALLEN = 0.1
MOST = at_least(0.5, "'approximately' is read as what holds of most draws, more than half")
OPEN = (
    "The paper leaves open how w_Q and w_K are drawn, and that decides it: c = ⟨w_Q, w_K⟩/√d_K, "
    "which the scores are proportional to, is of the order of their entries' variance. It falls "
    "like 1/d_K where that is 2/(1 + d_K) or the norms are 1, as in Figure 2; under the standard "
    "parametrisation (appendix D.1.3), whose variance 1/3 of a layer with one input does not "
    "depend on d_K, c tends to a normal number of deviation 1/3 and the attention to no limit."
)
NAMES = {
    "xavier": "entries of variance 2/(1 + d_K)",
    "unit": "norms of 1, as in Figure 2",
    "sp": "entries of variance 1/3, the standard parametrisation",
}


def _words(reading: Reading) -> Labels:
    dimensions = reading.dimensions
    return {
        "smallest": int(dimensions[0]),
        "largest": int(dimensions[-1]),
        "factors": f"{reading['factor'].min():g} to {reading['factor'].max():g}",
    }


statements = Statements(Reading, values=NAMES, fields=_words).having(paper="singh2026cracking")
each = statements.having(each=over("initialisation"), otherwise=OPEN)


@statements.identity(
    "Theorem 3.5", within(EXACT, "round-off of float64 eigenvalues", source="theorem")
)
def bulk(reading: Reading) -> float:
    """|γ| is the largest eigenvalue of the Hessian that repeats (value: difference over the largest
    eigenvalue).
    """
    exact, numeric = reading.checked("bulk")
    return float((np.abs(exact - numeric) / reading.numerics["largest"]).max())


@statements.identity(
    "equation (4)", within(EXACT, "round-off of a softmax in float64", source="the module")
)
def attention(reading: Reading) -> float:
    """The scores are x_i x_j ⟨w_Q, w_K⟩/√d_K (value: difference of the distance from uniform
    attention to that of the module).
    """
    exact, numeric = reading.checked("distance")
    return float(np.abs(exact - numeric).max())


@each.trend(SECTION, CONVERGES)
def converges(reading: Reading, initialisation: str) -> Estimate:
    """With {initialisation}, the attention scores at initialisation converge to uniform with
    growing d_K. Statistic: exponent of d_K, from {smallest} to {largest}, in the total variation
    from the uniform distribution, mean over the tokens; interval: Student's, 95 %, over draws of
    weights and sequences
    """
    return reading.exponent("distance", initialisation)


@each.trend(SECTION, at_least(0.9, "'almost surely' along every draw; a line may start near 0"))
def almost_surely(reading: Reading, initialisation: str) -> Estimate:
    """With {initialisation}, they do so almost surely. Statistic: share of the draws, of whose w_Q
    and w_K each d_K takes the first entries, with a tenth or less of the distance at d_K =
    {smallest} left at {largest}; interval: Wilson's, 95 %
    """
    distance = reading.of("distance", initialisation)
    return share_of(distance[-1] <= FALLEN * distance[0])


@each.trend(f"{SECTION}; Definition B.1", CONVERGES)
def second_moment(reading: Reading, initialisation: str) -> Estimate:
    """With {initialisation}, m_2 then tends to the variance of the tokens, whatever the weights.
    Statistic: exponent of d_K in the norm of their difference; interval: Student's, 95 %
    """
    return reading.exponent("second_moment", initialisation)


@each.trend(f"{SECTION}; Theorem 3.5", CONVERGES)
def bulk_forgets_the_weights(reading: Reading, initialisation: str) -> Estimate:
    """With {initialisation}, the bulk then does not depend on w_Q and w_K any more. Statistic:
    exponent of d_K in |γ/γ_u − 1|, γ_u under uniform attention; interval: Student's, 95 %
    """
    return reading.exponent("bulk_error", initialisation)


@each.value(
    "Theorem 3.5, which has 1/√d_K in γ; what follows is ours",
    equal_to(-0.5, "a power, by our derivation", tolerance=0.05, source="1/√d_K in γ"),
)
def bulk_shrinks(reading: Reading, initialisation: str) -> Estimate:
    """With {initialisation}, the bulk itself shrinks like 1/√d_K, so that the bound |λ_min| ≤ |γ|
    falls with it. Statistic: exponent of d_K in |γ|; interval: Student's, 95 %
    """
    return reading.exponent("bulk", initialisation)


@each.trend(SECTION, MOST)
def bulk_is_constant(reading: Reading, initialisation: str) -> Estimate:
    """With {initialisation} and d_K = {largest}, the bound |γ| on |λ_min| is approximately constant
    in the magnitude of the entries of w_K and w_Q. Statistic: share of the draws for which |γ|
    varies by no more than 10 % as they are multiplied by {factors}; interval: Wilson's, 95 %
    """
    return share_of(reading.bulk_range(initialisation)[-1] <= CONSTANT)
