"""The linear network with bias: what is compared for Theorem B.1 and its sextic."""

import numpy as np

from hessian_spectra.results import Arrays
from hessian_spectra.studies.identities.identities.checks.check import (
    ROOT,
    Check,
    Errors,
    Roots,
    among,
    largest,
    same,
    vanishes,
)
from hessian_spectra.studies.identities.identities.checks.ragged import (
    excess,
    numbers,
    parts,
    relative,
    square,
)


def _filled(name: str, quantity: str) -> Errors:
    """Which instances have this quantity at all."""

    def mask(exact: Arrays, numeric: Arrays) -> np.ndarray:
        return exact[f"{name}.{quantity}.counts"] > 0

    return mask


def _printed_spectrum(name: str, quantity: str) -> Errors:
    """A printed spectrum against brute force, where the print gives one."""

    def errors(exact: Arrays, numeric: Arrays) -> np.ndarray:
        rows = zip(
            parts(exact, f"{name}.{quantity}"),
            parts(numeric, f"{name}.eigenvalues"),
            strict=True,
        )
        return np.array([relative(found, true) for found, true in rows if len(found)])

    return errors


def _all(name: str) -> Roots:
    """All eigenvalues of brute force, for polynomials that have no other roots."""

    def roots(exact: Arrays, numeric: Arrays) -> list[np.ndarray]:
        return parts(numeric, f"{name}.eigenvalues")

    return roots


def _trace(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """tr(H) = 2 (‖v‖² + ‖w‖²), of which pair and triple each make up one half."""
    found = []
    for matrix, half, pair, triple in zip(
        parts(numeric, "bias.hessian"),
        numbers(exact, "bias.half_trace"),
        parts(exact, "bias.pair"),
        parts(exact, "bias.triple"),
        strict=True,
    ):
        trace = np.trace(square(matrix))
        shares = np.array([2 * half, 2 * pair.sum(), 2 * triple.sum()])
        found.append(relative(shares, np.full(3, trace)))
    return np.array(found)


def _bound(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """By how much brute force's triple leaves (‖v‖² + ‖w‖²)/3 ± t'."""
    found = []
    for triple, half, bound, values, size in zip(
        parts(exact, "bias.triple"),
        numbers(exact, "bias.half_trace"),
        numbers(exact, "bias.bound"),
        parts(numeric, "bias.eigenvalues"),
        largest("bias")(numeric),
        strict=True,
    ):
        nearest = values[np.abs(values[None] - triple[:, None]).argmin(axis=1)]
        away = np.abs(nearest - half / 3)
        found.append(max(excess(one, bound, size) for one in away))
    return np.array(found)


def _worst(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """The printed spectrum's worst error for each assumption of Theorem B.1 that is broken."""
    which = numbers(exact, "dropped.dropped")
    errors = _printed_spectrum("dropped", "spectrum")(exact, numeric)
    return np.array([errors[which == one].max() for one in np.unique(which)])


CHECKS = {
    "bias-spectrum": Check("Theorem B.1: spectrum", same("eigenvalues", "bias")),
    "bias-print": Check("Theorem B.1: formulas", _printed_spectrum("bias", "spectrum"), None, ROOT),
    "bias-trace": Check("Theorem B.1: trace", _trace),
    "bias-bound": Check("Theorem B.1: t'", _bound),
    "bias-hessian": Check("eq. (77) to (81): Hessian", same("hessian", "bias")),
    "bias-quintic": Check(
        "eq. (100) to (104)",
        among(vanishes("bias", "quintic", _all("bias")), _filled("bias", "quintic")),
    ),
    "bias-parallel": Check("Theorem B.1, weaker (ours)", _printed_spectrum("parallel", "spectrum")),
    "sextic-spectrum": Check("Theorem B.1, any weights", same("eigenvalues", "sextic")),
    "bias-display": Check(
        "eq. (82), (83)",
        same("hessian", "bias"),
        same("printed_hessian", "bias", "hessian"),
    ),
    "sextic-norm": Check(
        "eq. (92): ‖b‖",
        among(vanishes("sextic", "sextic", _all("sextic")), _filled("sextic", "sextic")),
        among(
            vanishes("sextic", "printed_sextic_norm", _all("sextic")), _filled("sextic", "sextic")
        ),
    ),
    "sextic-sign": Check(
        "eq. (97), (98): sign",
        among(vanishes("sextic", "sextic", _all("sextic")), _filled("sextic", "sextic")),
        among(
            vanishes("sextic", "printed_sextic_sign", _all("sextic")), _filled("sextic", "sextic")
        ),
    ),
}

# What becomes of the printed formulas where their assumptions do not hold: no errors of ours.
WITHOUT_ASSUMPTIONS = {"bias-assumptions": _worst}
