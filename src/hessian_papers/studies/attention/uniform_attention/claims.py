"""What the paper says about attention at initialisation as d_K grows, and how it is measured."""

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import at_most, equal_to, within
from hessian_papers.ledger.conditions import ANY_STATE, AT_INITIALISATION
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.words import MOST, reading_of
from hessian_spectra.agreement import EXACT

SECTION = "section 3.3, on large query and key weights"
CONVERGES = at_most(
    -0.25,
    ("halfway between 0 (no convergence) and −1/2 (the slowest rate of a mean of $d_K$ terms)"),
)
# A smaller part of its first value is a convergence that one can see along a single draw.
FALLEN = 0.1
# The bulk counts as constant where its range is no more than this fraction of it.
CONSTANT = 0.1
OPEN = (
    "The paper leaves open how $w_Q$ and $w_K$ are sampled, which decides the outcome. The "
    r"scores are proportional to $c = ⟨w_Q, w_K⟩/\sqrt{d_K}$, which is of the order of the "
    "entries' variance. With variance $2/(1 + d_K)$, or norms of 1 as in Figure 2, c falls "
    "like $1/d_K$. Under the standard parametrisation (appendix D.1.3) the variance is 1/3 "
    "for a layer with one input, whatever $d_K$. Then c tends to a normal variable of "
    "standard deviation 1/3, and the attention has no limit."
)
NAMES = {
    "xavier": "entries of variance $2/(1 + d_K)$",
    "unit": "norms of 1, as in Figure 2",
    "sp": "entries of variance 1/3, the standard parametrisation",
}


statements = Statements(values=NAMES).having(paper="singh2026cracking", state=AT_INITIALISATION)
each = statements.having(over=["initialisation"], otherwise=OPEN)


def _exponent(data: xr.Dataset, name: str) -> xr.DataArray:
    """The power of d_K that a quantity goes with, for each draw.

    The slope of a line of least squares through the logarithms of the draw's points.
    """
    logarithms = np.log(data["key_dimension"])
    centred = logarithms - logarithms.mean()
    return xr.dot(centred, np.log(data[name]), dim="key_dimension") / (centred**2).sum()


@statements.identity(
    "Theorem 3.5",
    within(EXACT, "round-off of float64 eigenvalues", source="theorem"),
    id="attention-spectrum",
    state=ANY_STATE,
)
def bulk(data: xr.Dataset) -> float:
    """$|γ|$ is the largest eigenvalue of the Hessian that repeats.

    Statistic: difference over the largest eigenvalue.
    """
    chosen = {"key_dimension": data["checked_key_dimension"], "draw": data["checked_draw"]}
    difference = abs(data["bulk"].sel(chosen) - data["numerical_bulk"])
    return float((difference / data["numerical_largest"]).max(skipna=False))


@each.left_open(SECTION, CONVERGES, id="attention-converges-to-uniform")
def converges(data: xr.Dataset) -> xr.DataArray:
    """The attention scores at initialisation converge to uniform with growing $d_K$, almost surely;
    how $w_Q$ and $w_K$ are sampled is left open.

    Statistic: exponent of $d_K$ in the total variation from the uniform distribution, mean over the
    tokens; interval: Student's, 95 %, over draws of weights and sequences.
    """
    return _exponent(data, "distance")


@each.left_open(
    SECTION, reading_of("almost surely"), id="attention-converges-to-uniform", book="observations"
)
def almost_surely(data: xr.Dataset) -> xr.DataArray:
    """The attention scores converge to uniform almost surely.

    Statistic: fraction of draws that keep at most a tenth of the distance at the smallest $d_K$ at
    the largest; each $d_K$ takes the first entries of the same $w_Q$ and $w_K$; interval: Wilson's,
    95 %.
    """
    distance, dimensions = data["distance"], data["key_dimension"]
    first, last = (distance.sel(key_dimension=end) for end in (dimensions.min(), dimensions.max()))
    return last <= FALLEN * first


@each.left_open(f"{SECTION}; Definition B.1", CONVERGES, id="attention-converges-to-uniform")
def second_moment(data: xr.Dataset) -> xr.DataArray:
    """With growing $d_K$, $m_2$ tends to the variance of the tokens, whatever the weights.

    Statistic: exponent of $d_K$ in the norm of their difference; interval: Student's, 95 %.
    """
    return _exponent(data, "second_moment")


@each.left_open(f"{SECTION}; Theorem 3.5", CONVERGES, id="bulk-does-not-depend-on-query-and-key")
def bulk_forgets_the_weights(data: xr.Dataset) -> xr.DataArray:
    """With growing $d_K$ the bulk no longer depends on $w_Q$ and $w_K$.

    Statistic: exponent of $d_K$ in $|γ/γ_u - 1|$, $γ_u$ under uniform attention; interval:
    Student's, 95 %.
    """
    return _exponent(data, "bulk_error")


@each.beyond.typically(
    r"Theorem 3.5, which has $1/\sqrt{d_K}$ in $γ$; what follows is ours",
    equal_to(-0.5, "a power, by our derivation", tolerance=0.05, source=r"$1/\sqrt{d_K}$ in $γ$"),
    id="bulk-shrinks-with-the-key-dimension",
)
def bulk_shrinks(data: xr.Dataset) -> xr.DataArray:
    r"""The bulk itself shrinks like $1/\sqrt{d_K}$, and the bound $|λ_{\min}| ≤ |γ|$ falls with it.

    Statistic: exponent of $d_K$ in $|γ|$; interval: Student's, 95 %.
    """
    return _exponent(data, "bulk")


@each.left_open(SECTION, MOST, id="bulk-does-not-depend-on-query-and-key")
def bulk_is_constant(data: xr.Dataset) -> xr.DataArray:
    r"""The bound $|γ|$ on $|λ_{\min}|$ is approximately constant in the magnitude of the entries of
    $w_K$ and $w_Q$.

    Statistic: fraction of draws for which $|γ|$ varies by at most 10 % as the entries are
    multiplied by several factors, at the largest $d_K$; interval: Wilson's, 95 %.
    """
    bulk = data["scaled_bulk"].sel(key_dimension=data["key_dimension"].max())
    return bulk.max("factor", skipna=False) / bulk.min("factor", skipna=False) - 1 <= CONSTANT
