"""The claims about networks through training, on planted traces, estimates and spectra."""

import numpy as np
import pytest
from claims_contract import of_records, planted_data

from hessian_papers.labelled import assembled
from hessian_papers.ledger.bounds import NothingToMeasure, estimate_of
from hessian_papers.studies.images.through_training import claims as module
from hessian_papers.studies.images.through_training.derived import FORMS, NETWORK
from hessian_papers.studies.images.through_training.study import VARIABLES

EPOCHS = np.array([0, 1, 4, 16, 64, 256, 1024, 4096])
# Down to the floor of 0.2: the first five epochs have more than half of the way before them.
FLOOR = 0.2
LOSS = FLOOR + 0.8 * np.array([1.0, 0.99, 0.95, 0.8, 0.55, 0.3, 0.01, 1e-4])
LAST_EARLY = 4
ONLY_START = np.array([1.0] + [FLOOR] * (len(EPOCHS) - 1))
# Signs that sum to 0 and have a mean square of 1.
SIGNS = np.array([1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0])
TOP, RANK, OUTPUTS, SCALE = 4, 7, 3, 1.5
NORMS = (1, 0.99, 0.98, 0.96, 0.94, 0.95, 0.97, 0.98)  # of the layers, relative to the start's


def network(source, width, closed_form, numerics, loss=LOSS):
    """A network through a training that was made up, by side."""
    labels = {"source": np.array(source), "width": np.array(width), "replicate": np.array(0)}
    facts = {"epoch": EPOCHS, "loss": loss, "floor": np.array(FLOOR)}
    numerics = labels | {"epoch": EPOCHS} | numerics
    return {"closed_form": labels | facts | closed_form, "numerics": numerics}


def replaced(networks, number, side, **arrays):
    """The networks with some arrays of one of them replaced."""
    first = networks[number]
    new = {**first, side: first[side] | arrays}
    return [*networks[:number], new, *networks[number + 1 :]]


def traces(count=2):
    """Networks whose estimates are one standard error off, in turn above and below."""
    actual = []
    for number in range(count):
        exact = np.array([1.0, 0.99, 0.97, 0.95, 0.9, 1.1, 1.4, 1.5]) * 100 * (number + 1)
        error = 0.01 * exact
        numeric = {"estimate": exact + SIGNS * error, "standard_error": error}
        actual.append(network(f"set {number}", 5, {"trace": exact}, numeric))
    return actual


def theory(first, last):
    """Equation (15) with both index sets, and the trace, of the layers' singular values."""
    padded = [np.pad(v**2, (0, n - len(v))) for v, n in ((first, RANK), (last, OUTPUTS))]
    sums = {"printed": np.add.outer(first**2, last**2), "corrected": np.add.outer(*padded)}
    row = {"trace": np.array(SCALE**2 * (OUTPUTS * (first**2).sum() + RANK * (last**2).sum()))}
    row["spectral_norm"] = np.array([first[0], last[0]])
    for name, values in sums.items():
        ascending = np.sort(SCALE**2 * values.ravel())
        row |= {name: np.pad(ascending, (TOP, 0))[-TOP:], f"{name}_sum": ascending.sum()}
        row[f"{name}_count"] = np.array((ascending > 0).sum())
    return row


def spectra(width, source):
    """A network of random layers whose Hessian nears its Gauss-Newton part, or does not.

    The narrow one ends with a tenth of the excess loss, and its error stays.
    """
    draw = np.random.default_rng(width)
    fitted = width >= OUTPUTS
    loss = LOSS if fitted else np.maximum(LOSS, 0.28)
    shrink = np.sqrt((loss - FLOOR) / 0.8)
    start = [draw.uniform(0.5, 1, min(width, size)) for size in (RANK, OUTPUTS)]
    start[0][0], start[1][0] = 1.2, 1.1
    rows = [theory(norm * start[0], norm * start[1]) for norm in NORMS]
    exact = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    off = 0.02 * shrink[:, None] ** (2 if fitted else 0.5)
    numeric = {"ggn": exact["corrected"], "hessian": exact["corrected"] * (1 + off)}
    return network(source, width, exact, numeric, loss)


def both():
    """Two image sets, each with a wide and a narrow network."""
    return [spectra(width, source) for source in ("first", "second") for width in (6, 2)]


def exact(number, name):
    return both()[number]["closed_form"][name]


def numeric(number, name):
    return both()[number]["numerics"][name]


def sides(networks):
    """The sides of a study; forms and matrices, each an array of a network above, have an axis."""
    parts = {"closed_form": [], "numerics": []}
    for network in networks:
        exact, numeric = dict(network["closed_form"]), dict(network["numerics"])
        if "corrected" in exact:
            for name, end in (("exact", ""), ("sum", "_sum"), ("count", "_count")):
                exact[name] = np.stack([exact.pop(f"{form}{end}") for form in FORMS], axis=1)
            matrices = ("hessian", "ggn")
            numeric["numerical"] = np.stack([numeric.pop(name) for name in matrices], axis=1)
            exact |= {"form": np.array(FORMS), "layer": np.array([1, 2])}
            numeric["matrix"] = np.array(matrices)
        parts["closed_form"].append(exact)
        parts["numerics"].append(numeric)
    return {side: assembled(arrays, VARIABLES, NETWORK) for side, arrays in parts.items()}


def measured(name, networks):
    return getattr(module, name)(planted_data(sides(networks), VARIABLES))


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records(
    "through_training", "norm_falls_early"
)


def early(networks):
    """The relative differences of the first image set at its early epochs."""
    return module.early(planted_data(sides(networks), VARIABLES), "set 0")


@pytest.mark.parametrize(("at", "counts"), [(LAST_EARLY, True), (LAST_EARLY + 1, False)])
def test_only_early_epochs_are_early_and_each_is_a_draw(at, counts):
    exact = traces()[0]["closed_form"]["trace"]
    far = 1.01 * exact
    far[at] = 1.2 * exact[at]
    values = early(replaced(traces(), 0, "numerics", estimate=far))
    assert dict(values.sizes) == {"draw": LAST_EARLY + 1}
    assert values.max() == pytest.approx(0.2 if counts else 0.01)
    assert estimate_of(values).value == pytest.approx(0.048 if counts else 0.01)


def test_a_fall_after_the_early_epochs_does_not_count():
    late = np.array([1.0, 1.1, 1.1, 1.1, 1.1, 0.5, 0.5, 0.5])
    once = replaced(traces(1), 0, "closed_form", trace=late)
    assert measured("falls_early", once) == pytest.approx(0.1)
    # Of two image sets the mean counts, not the worst.
    both_sets = replaced(traces(), 0, "closed_form", trace=late)
    assert measured("norm_falls_early", both_sets) == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(NothingToMeasure, match="no early epoch beside the start"):
        measured("falls_early", replaced(traces(), 0, "closed_form", loss=ONLY_START))


def test_networks_that_diverge_count_up_to_then():
    """Later epochs, which would break the claim, are none of theirs."""
    long, short = traces()
    cut = {
        side: {name: array[:2] if np.ndim(array) else array for name, array in arrays.items()}
        for side, arrays in short.items()
    }
    data = planted_data(sides([long, cut]), VARIABLES)
    assert module.early(data, "set 1").size == 2
    assert measured("falls_early", [long, cut]) == pytest.approx((-0.1 - 0.01) / 2)


@pytest.mark.parametrize("beyond", [-1e-3, 1e-3])
def test_an_eigenvalue_beyond_the_bound(beyond):
    far = numeric(0, "hessian").copy()
    far[5] = exact(0, "corrected")[5] + SCALE * np.sqrt(2 * 0.8 * 0.3) + beyond
    value = measured("residual_bound", replaced(both(), 0, "numerics", hessian=far))
    assert value == pytest.approx(max(beyond, 0.0) / far[5].max())
