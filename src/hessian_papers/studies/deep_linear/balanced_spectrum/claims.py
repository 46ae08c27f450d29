"""What anon2026data says about the whole spectrum of a balanced deep linear network."""

from hessian_papers.ledger.bounds import at_least, at_most, within
from hessian_papers.ledger.statements import Print, Statements
from hessian_papers.ledger.verdicts import always
from hessian_papers.studies.deep_linear.balanced_spectrum.reading import Reading
from hessian_spectra.agreement import EXACT, spectrum_error

PRODUCTS = "the Hessian-vector products of the loss"
ROUND_OFF = "float64 leaves about 1e-15 of the largest eigenvalue; 1e-10 is our bound for exact"
MAGNIFIED = (
    "the smallest singular values of Y carry its rounding ε, which the L-th root magnifies to at "
    "worst ε^{2/L} of the largest eigenvalue, 1e-6 for 5 layers, but hardly ever does"
)

BY_PRODUCTS = within(EXACT, ROUND_OFF, source=PRODUCTS)
BY_GGN_PRODUCTS = within(EXACT, ROUND_OFF, source="the products of the Gauss-Newton matrix")
RESIDUAL = "the largest residual that Lanczos' method accepts, relative"
TURNED = "a residual of 1e-8 turns a vector by 1e-8 over the gap to the next eigenvalue"
THREE_TRACES = "the trace of the dense Hessian, with three kinds of labels"

statements = Statements(Reading)
figure_1a = statements.about("anon2026data", "Figure 1a")


@statements.identity(
    "Equation 13, Equation 9; {artifact}",
    within(1e-8, MAGNIFIED, source=PRODUCTS),
    id="labels-give-all-eigenvalues",
    printed=Print(
        "Both indices end at min(d_0, ..., d_L)",
        lambda reading: reading.error("printed_exact", "hessian_exact"),
    ),
    otherwise="Wherever the first or the last layer is wider than the narrowest, d_L − r copies of "
    "s_i^{2(L−1)} σ_x² and d_0 − r copies of s_j^{2(L−1)} σ_x² are left out.",
)
def labels(reading: Reading) -> float:
    """The labels' singular values alone give all Hessian eigenvalues of a balanced solution of zero
    loss, with i = 1, ..., d_0 and j = 1, ..., d_L, singular values beyond the rank counting as 0.
    """
    return reading.with_clear_labels.error("labels_exact", "hessian_exact")


@figure_1a.statement(
    "Figure 1a",
    always,
    within(1e-8, MAGNIFIED, source=PRODUCTS),
    id="indices-of-equal-widths",
    otherwise="Without such a network in the configuration nothing is measured.",
)
def equal_widths(reading: Reading) -> float:
    """Where the first and the last layer are the narrowest, as in the paper's network of equal
    widths, its indices give all eigenvalues, from the labels alone.
    """
    networks = reading.with_clear_labels.with_narrowest_ends
    return max(network.error("printed_exact", "hessian_exact") for network in networks)


@statements.identity(
    "Equation 8, Equation 9", BY_GGN_PRODUCTS, id="singular-values-give-the-gauss-newton-spectrum"
)
def weights(reading: Reading) -> float:
    """The layers' singular values give all eigenvalues of the Gauss-Newton matrix."""
    return reading.error("from_weights", "ggn")


@statements.statement(
    "text below Equation 9",
    always,
    at_most(0.0, "a count", source="the count of pairs with a positive singular value"),
    id="number-of-non-zero-eigenvalues",
    printed=Print(
        "At most (min{d_0, ..., d_L})² are not zero",
        lambda reading: reading.worst(lambda network: network.beyond(network.printed_count)),
    ),
    otherwise="The two are equal for d_0 = d_L = r only.",
)
def count(reading: Reading) -> float:
    """Of the p eigenvalues at most r d_0 + r d_L − r² are not zero, r = min(d_0, ..., d_L).

    Statistic: by how many those above 1e-13 of the largest exceed that.
    """
    return reading.worst(lambda network: network.beyond(network.count))


@statements.identity(
    "Equation 7", within(EXACT, ROUND_OFF, source=THREE_TRACES), id="trace-is-exact"
)
def trace(reading: Reading) -> float:
    """The sum of eigenvalues is σ_x² Σ_l ‖P_l‖_F² ‖S_l‖_F², for the Hessian at any loss."""
    return reading.worst(lambda network: network.trace_error)


@statements.identity("Equation 6", BY_GGN_PRODUCTS, id="balanced-networks-attain-the-bound")
def bound(reading: Reading) -> float:
    """Balanced networks attain the upper bound of the largest eigenvalue."""
    return reading.sharpness_error("bound", "ggn")


@statements.identity(
    "Equation 13; {artifact}",
    within(1e-8, RESIDUAL, source="Lanczos' method"),
    id="labels-give-all-eigenvalues",
)
def lanczos(reading: Reading) -> float:
    """The largest eigenvalues, found without the whole matrix, are as predicted."""
    return reading.with_clear_labels.worst(
        lambda network: spectrum_error(
            network["labels_exact"][-len(network["top"]) :], network["top"]
        )
    )


@statements.identity(
    "Eigenvectors, text below Equation 8",
    within(1e-6, TURNED, source="Lanczos' method"),
    id="eigenvectors-of-balanced-networks",
)
def vectors(reading: Reading) -> float:
    """The eigenvector of pair (i, j) has in layer l the matrix S_lᵀ u_j (P_l v_i)ᵀ.

    Statistic: 1 − the length of a numerical eigenvector's part in its eigenspace.
    """
    return reading.worst(lambda network: network.outside_eigenspace)


@statements.identity(
    "Equation 3, Assumption 1",
    within(EXACT, ROUND_OFF, source="the dense matrices"),
    id="gauss-newton-part-is-exact",
)
def gauss_newton(reading: Reading) -> float:
    """The Hessian is its Gauss-Newton part at zero loss, and wherever (f(X) − Y) Xᵀ is 0, whatever
    the loss.

    Statistic: ‖H − G‖_F / ‖G‖_F at a loss that is not zero.
    """
    return reading.worst(lambda network: network["difference_least_squares"])


@figure_1a.statement(
    "Assumption 1",
    always,
    at_least(
        0.01,
        "a hundredth is far above rounding",
        source="our control: without it the claim before would say nothing",
    ),
    id="correlated-residual-breaks-it",
    otherwise="A residual that is small beside the outputs, as a configuration may ask for, leaves "
    "the Hessian close to its Gauss-Newton part.",
    book="beyond",
)
def correlated_residual(reading: Reading) -> float:
    """With a residual of the same size that is correlated with the inputs the Hessian is not its
    Gauss-Newton part: the control without which Assumption 1 would say nothing.

    Statistic: ‖H − G‖_F / ‖G‖_F, the smallest over the networks.
    """
    return min(float(network["difference_unfitted"]) for network in reading.networks)


@statements.identity("Equation 14", BY_PRODUCTS, id="sharpness-from-labels")
def sharpness(reading: Reading) -> float:
    """At zero loss the labels alone give the largest eigenvalue."""
    return reading.sharpness_error("labels_sharpness_exact", "hessian_exact")


@statements.identity(
    "Equation 13",
    within(
        1e-8,
        "the smallest singular values carry rounding, which the L-th root magnifies",
        source=PRODUCTS,
    ),
    id="labels-give-all-eigenvalues-at-least-squares",
    printed=Print(
        "σ_i(W)^L = σ_i(Y)/(√n σ_x), there for zero loss",
        lambda reading: reading.error("labels_least_squares", "hessian_least_squares"),
    ),
    otherwise="More samples than inputs cannot be fitted exactly in general.",
)
def least_squares_spectrum(reading: Reading) -> float:
    """At a balanced least-squares solution, the loss being whatever it is, the layers have the
    singular values (σ_i(Y Xᵀ)/(n σ_x²))^{1/L}, which give the whole spectrum.
    """
    return reading.with_clear_labels.error("solution_least_squares", "hessian_least_squares")


@statements.identity(
    "Equation 14",
    BY_PRODUCTS,
    id="sharpness-from-labels-at-least-squares",
    printed=Print(
        "λ_max = L σ_x² (σ_max(Y)/(√n σ_x))^{2(1−1/L)}, there for zero loss",
        lambda reading: reading.sharpness_error(
            "labels_sharpness_least_squares", "hessian_least_squares"
        ),
    ),
    otherwise="In print it is too large: only what the inputs explain of Y counts.",
)
def least_squares_sharpness(reading: Reading) -> float:
    """At a balanced least-squares solution λ_max = L σ_x² (σ_max(Y Xᵀ)/(n σ_x²))^{2(1−1/L)}, the
    loss being whatever it is.
    """
    return reading.sharpness_error("solution_sharpness_least_squares", "hessian_least_squares")
