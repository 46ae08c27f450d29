"""What claims about image networks through training have in common."""

import numpy as np

from hessian_spectra.results import Arrays

GROWTH = (
    "Under gradient flow Σ‖W_l‖² changes at the rate −2L⟨f(X), f(X) − Y⟩/n. It falls while the "
    "outputs are larger than what they have in common with the labels, as random outputs of some "
    "size are; from a start so small that the labels decide the sign (balanced layers with "
    "singular values of 0.01 to 0.05, say) the weights may grow from the first epoch on."
)
# The closed form's and the numerical arrays of one network, the epochs first.
Sides = tuple[Arrays, Arrays]


def networks(closed_form: Arrays, numerics: Arrays) -> list[Sides]:
    """Both sides of each network.

    Raises:
        ValueError: the sides are not of the same networks and epochs.
    """
    exact, numeric = _by_number(closed_form), _by_number(numerics)
    if exact.keys() != numeric.keys():
        raise ValueError(
            f"expected the same networks on both sides, got {len(exact)} and {len(numeric)}: "
            "run both stages of the study"
        )
    for number, one in exact.items():
        if not np.array_equal(one["epoch"], numeric[number]["epoch"]):
            raise ValueError(
                f"network {number}: expected the same epochs on both sides, got "
                f"{one['epoch'].tolist()} and {numeric[number]['epoch'].tolist()}"
            )
    return [(one, numeric[number]) for number, one in exact.items()]


def _by_number(arrays: Arrays) -> dict[str, Arrays]:
    found: dict[str, Arrays] = {}
    for name, array in arrays.items():
        number, _, field = name.partition("/")
        found.setdefault(number, {})[field] = array
    return found


def excess_loss(exact: Arrays) -> np.ndarray:
    """The loss above that of least squares at each epoch, relative to the start's, ``(t,)``."""
    excess = exact["loss"] - exact["floor"]
    return np.asarray(np.maximum(excess, 0.0) / excess[0])


def early(exact: Arrays) -> np.ndarray:
    """Which epochs still have more than half of the loss that training can remove, ``(t,)``."""
    return np.asarray(excess_loss(exact) > 0.5)


def lowest_early(values: np.ndarray, exact: Arrays) -> float:
    """The lowest early value over the start's, less 1; NaN if only the start is early."""
    later = early(exact)
    later[0] = False
    return float(values[later].min() / values[0] - 1) if later.any() else float("nan")
