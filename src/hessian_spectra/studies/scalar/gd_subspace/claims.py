"""What the paper says about the bulk eigenspace under gradient descent, and how it is measured."""

from functools import partial
from typing import Literal

import numpy as np

from hessian_spectra.agreement import spectrum_error
from hessian_spectra.ledger.vocabulary import Claim, Kind, Measure, Relation
from hessian_spectra.results import Arrays

TEST = "tests/studies/test_gd_subspace.py"
PAPER = "singh2026cracking"

PROVED = ("gradient_descent",)
# They move by linear combinations of iterates and gradients, so that the proof carries over.
EXTENDED = ("heavy_ball", "nesterov", "sgd", "weight_decay")


def _spectrum(closed_form: Arrays, numerics: Arrays) -> float:
    errors = []
    for name in closed_form["optimizers"].tolist():
        rows = np.searchsorted(closed_form[f"{name}/step"], numerics[f"{name}/step"])
        exact = closed_form[f"{name}/eigenvalues"][rows]
        errors.append(spectrum_error(exact, numerics[f"{name}/eigenvalues"]).max())
    return float(max(errors))


def _largest(
    closed_form: Arrays,
    numerics: Arrays,
    *,
    names: tuple[str, ...],
    key: str,
    side: Literal["exact", "numeric"],
) -> float:
    """The largest value of a quantity over some optimizers and all their steps."""
    arrays = closed_form if side == "exact" else numerics
    return float(max(arrays[f"{name}/{key}"].max() for name in names))


def _lost_overlap(closed_form: Arrays, numerics: Arrays) -> float:
    """Largest 1 − overlap of the numerical bulk spaces where resolved, NaN if they never are."""
    overlaps = [
        numerics[f"{name}/overlap"][numerics[f"{name}/resolved"]] for name in PROVED + EXTENDED
    ]
    lost = 1 - np.concatenate(overlaps)
    return float(lost.max()) if len(lost) else float("nan")


def _claim(
    study: str,
    name: str,
    statement: str,
    measure: Measure,
    *,
    kind: Kind = "identity",
    source: str = "Corollary 3.1",
    relation: Relation = "<=",
    expected: float = 0.0,
    tolerance: float = 1e-10,
    reason: str = "round-off of 300 steps, each of about 1e-16, stays below 1e-13",
    explanation: str = "",
) -> Claim:
    return Claim(
        id=f"{study}/{name}",
        paper=PAPER,
        location="Corollary 3.1",
        statement=statement,
        kind=kind,
        study=study,
        test=TEST,
        measure=measure,
        expected=expected,
        source=source,
        relation=relation,
        tolerance=tolerance,
        reason=reason,
        explanation=explanation,
    )


def _leaving(study: str, optimizer: str, what: str) -> Claim:
    return _claim(
        study,
        f"{optimizer.replace('_', '-')}-leaves",
        f"{what} leaves the complement of the bulk eigenspace (value: largest ‖Z₀ᵀ θ_t‖/‖θ_t‖).",
        partial(_largest, names=(optimizer,), key="iterate", side="numeric"),
        kind="value",
        source="our bound: a hundredth, ten orders of magnitude above round-off",
        relation=">=",
        expected=0.01,
        tolerance=0.0,
        reason="a lower bound that leaves no doubt",
        explanation="How far it goes is set by the step sizes; tiny ones keep it closer.",
    )


def claims(study: str) -> list[Claim]:
    """The claims of one study of this kind."""
    extension = "our extension of Corollary 3.1: its proof needs no more than linear combinations"
    iterate = partial(_largest, key="iterate", side="exact")
    rotation = partial(_largest, key="rotation", side="exact")
    return [
        _claim(
            study,
            "spectrum",
            "The closed form is the whole spectrum at every step of every optimizer.",
            _spectrum,
            source="Theorem 3.1",
            reason="round-off of a dense float64 eigen-decomposition is below 1e-14 of λ₁",
        ),
        _claim(
            study,
            "iterates-orthogonal",
            "Iterates of gradient descent are orthogonal to the initial bulk eigenspace (value: "
            "largest ‖Z₀ᵀ θ_t‖/‖θ_t‖).",
            partial(iterate, names=PROVED),
        ),
        _claim(
            study,
            "bulk-constant",
            "The bulk eigenspace does not change under gradient descent (value: sine of the "
            "largest principal angle with the initial one).",
            partial(rotation, names=PROVED),
        ),
        _claim(
            study,
            "iterates-orthogonal-extended",
            "The same for heavy ball and Nesterov from rest, SGD and weight decay: orthogonal "
            "iterates.",
            partial(iterate, names=EXTENDED),
            source=extension,
        ),
        _claim(
            study,
            "bulk-constant-extended",
            "The same for heavy ball and Nesterov from rest, SGD and weight decay: a constant "
            "bulk eigenspace.",
            partial(rotation, names=EXTENDED),
            source=extension,
        ),
        _claim(
            study,
            "bulk-invariant",
            "The initial bulk eigenspace, from numerical eigenvectors, is an invariant space of "
            "the Hessian at every step (value: ‖(I − Z₀Z₀ᵀ) H_t Z₀‖/‖H_t‖).",
            partial(_largest, names=PROVED + EXTENDED, key="invariance", side="numeric"),
            source=extension,
        ),
        _claim(
            study,
            "bulk-overlap",
            "Numerical bulk eigenspaces overlap fully with the initial one, at all steps at which "
            "the bulk can be told from the outliers (value: 1 − overlap).",
            _lost_overlap,
            source=extension,
            reason="1 − overlap is the square of an angle of about 1e-16 / 1e-5, far below",
        ),
        _leaving(study, "adam", "Adam, which rescales each coordinate by itself,"),
        _leaving(study, "random_velocity", "Heavy ball with a random initial velocity"),
    ]
