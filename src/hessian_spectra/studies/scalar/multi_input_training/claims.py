"""What the paper says about several inputs, on correlated data, and how it is measured."""

from functools import partial

import numpy as np

from hessian_spectra.agreement import spectrum_error
from hessian_spectra.ledger.vocabulary import Claim
from hessian_spectra.results import Arrays

TEST = "tests/studies/test_multi_input_training.py"
PAPER = "singh2026cracking"


def _error(closed_form: Arrays, numerics: Arrays, *, form: str) -> float:
    """Largest error of a closed form's whole spectrum over the steps with numbers."""
    rows = np.searchsorted(closed_form["step"], numerics["step"])
    return float(spectrum_error(closed_form[form][rows], numerics["eigenvalues"]).max())


def _bulk(closed_form: Arrays, numerics: Arrays) -> float:
    """Largest error of the bulk alone, relative to the largest eigenvalue."""
    rows = np.searchsorted(closed_form["step"], numerics["step"])
    numeric = np.take_along_axis(numerics["eigenvalues"], closed_form["bulk_index"][rows], axis=1)
    if numeric.shape[1] == 0:
        return 0.0  # width 1 has no bulk
    scale = np.abs(numerics["eigenvalues"]).max(axis=1, keepdims=True)
    return float((np.abs(closed_form["bulk"][rows] - numeric) / scale).max())


def claims(study: str) -> list[Claim]:
    """The claims of one study of this kind."""
    round_off = "round-off of a dense float64 eigen-decomposition is below 1e-14 of λ₁"
    return [
        Claim(
            id=f"{study}/spectrum",
            paper=PAPER,
            location="Corollary B.1, extended to correlated inputs",
            statement="At every step of training on real, correlated data the spectrum is the bulk "
            "±δx_d (m − 1 times each) and the 2D eigenvalues of diag(δx_d, −δx_d) + Σ_de u_d u_eᵀ, "
            "u_d = (‖w_d + v_d‖, ‖w_d − v_d‖)/√2.",
            kind="identity",
            study=study,
            test=TEST,
            measure=partial(_error, form="eigenvalues"),
            source="our extension of Corollary B.1",
            tolerance=1e-10,
            reason=round_off,
        ),
        Claim(
            id=f"{study}/bulk",
            paper=PAPER,
            location="Corollary B.1",
            statement="The bulk is ±δx_d with δx_d = E[x_d (f(x) − y)], for correlated inputs too.",
            kind="identity",
            study=study,
            test=TEST,
            measure=_bulk,
            source="Corollary B.1",
            tolerance=1e-10,
            reason=round_off,
        ),
        Claim(
            id=f"{study}/decorrelation-is-needed",
            paper=PAPER,
            location="Corollary B.1, assumption E[x_i x_j] = 0",
            statement="Where the inputs are correlated, the direct sum over coordinates is not the "
            "spectrum (value: its largest error during training, relative to λ₁).",
            kind="value",
            study=study,
            test=TEST,
            measure=partial(_error, form="decorrelated"),
            expected=0.1,
            source="our bound: a tenth of the largest eigenvalue",
            relation=">=",
            reason="a lower bound that leaves no doubt; round-off is below 1e-14",
            explanation="On inputs that are nearly decorrelated the direct sum is nearly right.",
        ),
    ]
