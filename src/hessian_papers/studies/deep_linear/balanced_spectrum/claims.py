"""The statements of anon2026data on the whole spectrum of a balanced deep linear network."""

from collections.abc import Callable

import numpy as np
import xarray as xr
from xarray.ufuncs import sqrt

from hessian_papers.ledger.bounds import at_least, at_most, needs, within
from hessian_papers.ledger.conditions import ANY_STATE, Condition
from hessian_papers.ledger.statements import Statements
from hessian_papers.studies.deep_linear.balanced_spectrum.derived import networks, widths
from hessian_spectra.agreement import EXACT, spectrum_error

# Relative to the largest eigenvalue: rounding leaves less where an eigenvalue is zero.
ZERO = 1e-13
# Within this of each other, relative to the largest, eigenvalues belong to one eigenspace.
CLOSE = 1e-6
# The largest error, relative to the largest eigenvalue, that the rounding of the labels may cause
# where eigenvalues are compared with those that the labels give.
CLEAR = 1e-9

PRODUCTS = "the Hessian-vector products of the loss"
ROUND_OFF = "float64 leaves about 1e-15 of the largest eigenvalue; 1e-10 is our bound for exact"
MAGNIFIED = (
    "the smallest singular values of Y carry its rounding error $ε$; at worst, which is "
    "rare, the L-th root magnifies it to $ε^{2/L}$ of the largest eigenvalue, 1e-6 for 5 "
    "layers"
)

BY_LABELS = within(1e-8, MAGNIFIED, source=PRODUCTS)
BY_PRODUCTS = within(EXACT, ROUND_OFF, source=PRODUCTS)
BY_GGN_PRODUCTS = within(EXACT, ROUND_OFF, source="the products of the Gauss-Newton matrix")
BY_DENSE = within(EXACT, ROUND_OFF, source="the dense matrices")
RESIDUAL = "the largest residual that Lanczos' method accepts, relative"
TURNED = "a residual of 1e-8 turns a vector by 1e-8 over the gap to the next eigenvalue"
THREE_TRACES = "the trace of the dense Hessian, with three kinds of labels"

BALANCED = Condition("whitened inputs, balanced layers")

statements = Statements()
figure_1a = statements.about("anon2026data", "Figure 1a")
of_labels = statements.having(state=Condition("at zero loss"), assumes=BALANCED)
# The whole networks of what the catalogue says of small ones.
at_least_squares = statements.beyond.having(id="sharpness-from-labels-at-least-squares")


def _magnified(network: xr.Dataset) -> float:
    """The error that the rounding of the labels leaves in their smallest eigenvalues.

    The labels' singular values σ have an error of ε times the largest, σ_1, and an eigenvalue
    that goes with σ^{2/L} one of ε (σ/σ_1)^{2/L − 1}. That quotient follows from the smallest
    eigenvalue that is not zero, (σ/σ_1)^{2(1 − 1/L)} of the largest.
    """
    depth, rounding = len(widths(network)) - 1, np.finfo(float)
    if depth <= 2:
        return float(rounding.eps)
    spectrum = network["from_weights"].values
    smallest = max(spectrum[-int(network["count"])] / spectrum[-1], rounding.tiny)
    return float(rounding.eps * smallest ** ((2 - depth) / (2 * depth - 2)))


def _suited(data: xr.Dataset, suited: Callable[[xr.Dataset], bool], words: str) -> xr.Dataset:
    """The networks that are suited.

    Args:
        data: of all networks.
        suited: whether one is.
        words: what is said of them.

    Raises:
        NothingToMeasure: there is none.
    """
    chosen = np.array([suited(network) for network in networks(data)])
    needs(chosen.any(), f"this configuration has no network {words}")
    return data.sel(network=chosen)


def _with_clear_labels(data: xr.Dataset) -> xr.Dataset:
    """The networks whose labels tell all their singular values."""
    return _suited(
        data,
        lambda network: _magnified(network) <= CLEAR,
        "whose labels tell its smallest singular values: their powers with the depth are lost in "
        "rounding",
    )


def _ends_are_narrowest(network: xr.Dataset) -> bool:
    """True if no layer is narrower than the first and the last: then the print is right."""
    first, *inner, last = widths(network)
    return max(first, last) <= min(first, last, *inner)


def _spectrum_error(data: xr.Dataset, exact: str, numerical: str, labels: str = "exact") -> float:
    """The largest error of a whole spectrum, relative to its largest eigenvalue."""
    pairs = ((of[exact].values, of[numerical].values) for of in networks(data.sel(labels=labels)))
    return max(float(spectrum_error(*pair)) for pair in pairs)


def _departure(values: xr.DataArray, others: xr.DataArray) -> float:
    """The largest departure of a ratio from 1."""
    return float(abs(values / others - 1).max(skipna=False))


def _sharpness_error(data: xr.Dataset, exact: str, labels: str = "exact") -> float:
    """The largest relative error of a prediction of the Hessian's largest eigenvalue."""
    chosen = data.sel(labels=labels)
    return _departure(chosen[exact], chosen["hessian"].max("rank"))


def _beyond(data: xr.Dataset, count: str) -> float:
    """The largest excess over a count of the numerical eigenvalues that are not zero."""
    numerical = data["hessian"].sel(labels="exact")
    positive = (numerical > ZERO * numerical.max("rank")).sum("rank")
    return max(0.0, float((positive - data[count]).max()))


# Figure 1a: the labels alone.


@of_labels.identity("Equation 13; {artifact}", BY_LABELS, id="labels-give-all-eigenvalues")
def labels(data: xr.Dataset) -> float:
    r"""The labels' singular values alone give all Hessian eigenvalues of a balanced solution of
    zero loss exactly, those of eq. (9) with $i = 1, …, d_0$ and $j = 1, …, d_L$.
    """
    return _spectrum_error(_with_clear_labels(data), "from_labels", "hessian")


@of_labels.identity("{artifact}", BY_LABELS, id="labels-give-all-eigenvalues")
def equal_widths(data: xr.Dataset) -> float:
    """Where the first and the last layer are the narrowest, as in the paper's network of equal
    widths, these are the indices in print.

    Remark: If the configuration has no such network, nothing is measured.
    """
    clear = _with_clear_labels(data)
    suited = _suited(clear, _ends_are_narrowest, "whose first and last layers are the narrowest")
    return _spectrum_error(suited, "printed", "hessian")


@of_labels.identity(
    "{artifact}",
    within(1e-8, RESIDUAL, source="Lanczos' method"),
    id="labels-give-all-eigenvalues",
)
def lanczos(data: xr.Dataset) -> float:
    """The largest eigenvalues, computed without the whole matrix, are as predicted."""
    clear = networks(_with_clear_labels(data).sel(labels="exact"))
    pairs = ((network["from_labels"].values, network["top"].values) for network in clear)
    return max(float(spectrum_error(exact[-len(top) :], top)) for exact, top in pairs)


# Parts of the theorems, on whole networks: what the catalogue measures on small ones.


@statements.identity("Equation 9", BY_GGN_PRODUCTS, id="balanced-pairs")
def weights(data: xr.Dataset) -> float:
    """The layers' singular values give all eigenvalues of the Gauss-Newton matrix."""
    return _spectrum_error(data, "from_weights", "gauss_newton")


@statements.identity(
    "Section 3, eigenvectors",
    within(1e-6, TURNED, source="Lanczos' method"),
    id="balanced-pairs",
)
def vectors(data: xr.Dataset) -> float:
    """The eigenvector of pair (i, j) has in layer l the matrix $S_l^⊤ u_j (P_l v_i)^⊤$.

    Statistic: 1 − the length of a numerical eigenvector's projection onto its eigenspace.
    """
    values = data["vector_value"]
    close = abs(values - data["top"]) < CLOSE * values.max("place")
    # A network that has fewer parameters than others is 0 beyond its own.
    vectors = data["vector"].fillna(0.0), data["top_vector"].fillna(0.0)
    parts = xr.dot(*vectors, dim="parameter").where(close, 0.0)
    return float((1 - sqrt((parts**2).sum("place"))).max())


@statements.identity(
    "Section 3, below Equation 9",
    at_most(0.0, "a count", source="the count of pairs with a positive singular value"),
    id="balanced-count",
)
def count(data: xr.Dataset, printed: bool = False) -> float:
    r"""Of the p eigenvalues at most $r d_0 + r d_L - r^2$ are not zero, $r = \min(d_0, …, d_L)$.

    Statistic: by how many those above 1e-13 of the largest exceed that number.

    In print: At most $(\min\lbrace d_0, …, d_L\rbrace)^2$ are not zero

    Remark: The two counts are equal only for $d_0 = d_L = r$.
    """
    return _beyond(data, "printed_count" if printed else "count")


@figure_1a.typically(
    "Section 3, below Equation 9",
    at_least(0.5, "the bulk is more than half", source="ours"),
    id="bulk-of-eigenvalues-is-zero",
    state=ANY_STATE,
    assumes=BALANCED,
)
def bulk(data: xr.Dataset) -> float:
    """The bulk of the eigenvalues is near zero.

    Statistic: fraction of the Gauss-Newton matrix's eigenvalues below 1e-13 of the largest, in the
    first network, which is the paper's.
    """
    spectrum = next(iter(networks(data)))["gauss_newton"]
    return float((spectrum <= ZERO * spectrum.max()).mean())


@statements.identity("Equation 7", within(EXACT, ROUND_OFF, source=THREE_TRACES), id="layers-trace")
def trace(data: xr.Dataset) -> float:
    """The sum of eigenvalues is $σ_x^2 Σ_l ‖P_l‖_F^2 ‖S_l‖_F^2$, for the Hessian at any loss."""
    return _departure(data["hessian_trace"], data["trace"])


@statements.identity("Equation 6", BY_GGN_PRODUCTS, id="layers-bound")
def bound(data: xr.Dataset) -> float:
    """Balanced networks attain the upper bound of the largest eigenvalue."""
    return _departure(data["bound"], data["gauss_newton"].max("rank"))


@statements.identity("Equation 3", BY_DENSE, id="labels-hessian")
def gauss_newton(data: xr.Dataset) -> float:
    """At zero loss (Assumption 1) the Hessian is its Gauss-Newton part.

    Statistic: $‖H - G‖_F / ‖G‖_F$.
    """
    return float(data["difference"].sel(labels="exact").max(skipna=False))


@statements.identity("Equation 14", BY_PRODUCTS, id="labels-sharpness")
def sharpness(data: xr.Dataset) -> float:
    """At zero loss the labels alone give the largest eigenvalue, of dozens of units as well."""
    return _sharpness_error(data, "sharpness_from_labels")


# Beyond the paper: labels that cannot be fitted.


@at_least_squares.identity("Equation 14, beyond Assumption 1", BY_PRODUCTS)
def least_squares_sharpness(data: xr.Dataset) -> float:
    r"""At a balanced least-squares solution, whatever its loss,
    $λ_{\max} = L σ_x^2 (σ_{\max}(Y X^⊤)/(n σ_x^2))^{2(1-1/L)}$.

    Remark: Only the part of Y that the inputs explain counts. In general, more samples than inputs
    cannot be fitted exactly.
    """
    return _sharpness_error(data, "sharpness_from_solution", "least_squares")


@at_least_squares.identity("Equation 13, beyond Assumption 1", BY_LABELS)
def least_squares_spectrum(data: xr.Dataset) -> float:
    r"""There the layers have the singular values $(σ_i(Y X^⊤)/(n σ_x^2))^{1/L}$, which give the
    whole spectrum.
    """
    clear = _with_clear_labels(data)
    return _spectrum_error(clear, "from_solution", "hessian", "least_squares")


@at_least_squares.identity("Equation 3, beyond Assumption 1", BY_DENSE)
def gauss_newton_at_least_squares(data: xr.Dataset) -> float:
    """There the Hessian is its Gauss-Newton part, since $(f(X) - Y) X^⊤$ is 0.

    Statistic: $‖H - G‖_F / ‖G‖_F$.
    """
    return float(data["difference"].sel(labels="least_squares").max(skipna=False))
