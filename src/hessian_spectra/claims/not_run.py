"""The figures of singh2026cracking that no study of this scale reproduces: nothing is measured."""

from hessian_spectra.claims.ledger import Claim, Kind

_PAIRS = "100 networks a point at widths 10 and 150, for every input size D up to the width"
_CORRELATION = "200 networks of width 100 a point, each trained to zero loss, for D up to 100"
_DEEP = "200 trained networks of width 100 a point, for depths 2 to 6"
_GPT2 = "a GPT-2 of 124M parameters trained on OpenWebText for 10000 steps, with 3 seeds"
_SPECTRUM = "a trained GPT-2 of 124M parameters and 1024 Hessian-vector products on a GPU"

# Figure, kind, statement, what a measurement takes.
_FIGURES: tuple[tuple[str, Kind, str, str], ...] = (
    (
        "3",
        "trend",
        "In two-layer linear networks one pair of eigenvalues sums to tr(H)/D orders of magnitude "
        "more closely than the next best pair under the orthogonal parametrisation with "
        "decorrelated data; under the standard one no pair stands out.",
        _PAIRS,
    ),
    (
        "4",
        "correlation",
        "In two-layer linear networks the sharpness correlates more with the squared spectral norm "
        "of a weight matrix than with its Frobenius or nuclear norm, at initialisation and after "
        "training.",
        _CORRELATION,
    ),
    (
        "5",
        "trend",
        "At equal residual norm the largest eigenvalue of the GGN approximates that of the Hessian "
        "less well in a GPT-2 with attention than in one without.",
        _GPT2,
    ),
    (
        "6",
        "trend",
        "A stronger attention sink (attention on the first token from 0.32 to 0.81) stretches the "
        "Hessian's spectrum of GPT-2, while many eigenvalues stay near zero.",
        _SPECTRUM,
    ),
    (
        "10",
        "trend",
        "The paired outliers of two-layer linear networks, for both widths, parametrisations and "
        "kinds of data: a pair stands out only under the assumptions.",
        _PAIRS,
    ),
    (
        "11",
        "trend",
        "In four-layer linear networks, too, two eigenvalues sum to nearly tr(H)/D.",
        _PAIRS,
    ),
    (
        "12",
        "trend",
        "In two-layer ReLU networks, too, two eigenvalues sum to nearly tr(H)/D.",
        _PAIRS,
    ),
    (
        "13",
        "trend",
        "In four-layer ReLU networks, too, two eigenvalues sum to nearly tr(H)/D, but no pair "
        "stands clearly out.",
        _PAIRS,
    ),
    (
        "14",
        "correlation",
        "Under the neural tangent parametrisation the squared spectral norm correlates most with "
        "the sharpness of two-layer linear networks.",
        _CORRELATION,
    ),
    (
        "15",
        "correlation",
        "Where no norm correlates with the sharpness at initialisation, the absolute alignment of "
        "the two weight matrices does.",
        _CORRELATION,
    ),
    (
        "16",
        "correlation",
        "In two-layer ReLU networks the squared Frobenius norm correlates most with the sharpness; "
        "the squared spectral norm of the first matrix by 0.25 to 0.75.",
        _CORRELATION,
    ),
    (
        "17",
        "correlation",
        "In deep linear networks with D = K = 1 the squared norm of the product of all matrices "
        "but the last correlates most with the sharpness, at every depth and in every "
        "parametrisation.",
        _DEEP,
    ),
    (
        "18",
        "correlation",
        "The same for D = K = 10, where it persists in part.",
        _DEEP,
    ),
    (
        "19",
        "correlation",
        "In deep linear networks with D = K = 1 the squared spectral norms of single matrices "
        "correlate less with the sharpness than those of the products without one matrix.",
        _DEEP,
    ),
    ("20", "correlation", "The same for D = K = 10.", _DEEP),
    (
        "21",
        "correlation",
        "In deep ReLU networks with D = K = 1 the squared norms of the products without one matrix "
        "correlate with the sharpness.",
        _DEEP,
    ),
    (
        "22",
        "correlation",
        "In deep ReLU networks with D = K = 1 the squared Frobenius norms of single matrices "
        "correlate with the sharpness.",
        _DEEP,
    ),
    (
        "23",
        "trend",
        "The relative error of the GGN's largest eigenvalue against the loss: larger with "
        "attention.",
        _GPT2,
    ),
    (
        "24",
        "trend",
        "The same, as mean and standard error over three pre-training runs.",
        _GPT2,
    ),
    (
        "25",
        "trend",
        "Loss and relative error against the training step: the error is larger with attention.",
        _GPT2,
    ),
    (
        "26",
        "correlation",
        "Of all norms the squared Frobenius norm of the weight matrices correlates most with the "
        "Hessian's trace.",
        _CORRELATION,
    ),
)


def claims() -> list[Claim]:
    """The entries of the ledger for what still has to be run.

    Returns:
        Claims without a study and without a measurement; ``explanation`` says what one takes.

    Example:
        >>> [claim.location for claim in claims()][:2]
        ['Figure 3', 'Figure 4']
    """
    return [
        Claim(
            id=f"cracking-fig{number}/claim",
            paper="singh2026cracking",
            location=f"Figure {number}",
            statement=statement,
            kind=kind,
            study=None,
            test=None,
            explanation=f"It takes {needs}.",
        )
        for number, kind, statement, needs in _FIGURES
    ]
