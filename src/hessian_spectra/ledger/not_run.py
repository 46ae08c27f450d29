"""The figures of singh2026cracking that no study of this scale reproduces: nothing is measured."""

from hessian_spectra.ledger.vocabulary import Claim, Kind

_GPT2 = "a GPT-2 of 124M parameters trained on OpenWebText for 10000 steps, with 3 seeds"
_SPECTRUM = "a trained GPT-2 of 124M parameters and 1024 Hessian-vector products on a GPU"

# Figure, kind, statement, what a measurement takes.
_FIGURES: tuple[tuple[str, Kind, str, str], ...] = (
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
)


def claims() -> list[Claim]:
    """The entries of the ledger for what still has to be run.

    Returns:
        Claims without a study and without a measurement; ``explanation`` says what one takes.

    Example:
        >>> [claim.location for claim in claims()][:2]
        ['Figure 5', 'Figure 6']
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
