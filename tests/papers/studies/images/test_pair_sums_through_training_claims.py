"""The claims about the eigenvalues of two-layer networks, on planted spectra."""

import numpy as np
import pytest
from claims_contract import Planted, contract, planted_data
from planted_training import EPOCHS, FLOOR, LOSS, joined, labels, replaced

from hessian_papers.studies.images.pair_sums_through_training import claims as module
from hessian_papers.studies.images.pair_sums_through_training.claims import statements
from hessian_papers.studies.images.pair_sums_through_training.derived import FORMS
from hessian_papers.studies.images.pair_sums_through_training.study import VARIABLES

TOP, RANK, OUTPUTS, SCALE = 4, 7, 3, 1.5
NORMS = (1, 0.99, 0.98, 0.96, 0.94, 0.95, 0.97, 0.98)  # of the layers, relative to the start's


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
    facts = {"epoch": EPOCHS, "loss": loss, "floor": np.array(FLOOR)}
    hessian = exact["corrected"] * (1 + off)
    numeric = {"epoch": EPOCHS, "ggn": exact["corrected"], "hessian": hessian}
    return {"labels": labels(source, width), "closed_form": facts | exact, "numerics": numeric}


def both():
    """Two image sets, each with a wide and a narrow network."""
    return [spectra(width, source) for source in ("first", "second") for width in (6, 2)]


WIDE, NARROW = 2, 1  # the second image set's wide network, and the first one's narrow one


def exact(number, name):
    return both()[number]["closed_form"][name]


def numeric(number, name):
    return both()[number]["numerics"][name]


def sides(networks):
    """The sides of a study; forms and matrices, each an array of a network above, have an axis."""
    actual = []
    for network in networks:
        exact, numeric = dict(network["closed_form"]), dict(network["numerics"])
        for name, end in (("exact", ""), ("sum", "_sum"), ("count", "_count")):
            exact[name] = np.stack([exact.pop(f"{form}{end}") for form in FORMS], axis=1)
        numeric["numerical"] = np.stack([numeric.pop(name) for name in ("hessian", "ggn")], axis=1)
        exact |= {"form": np.array(FORMS), "layer": np.array([1, 2])}
        numeric["matrix"] = np.array(["hessian", "ggn"])
        actual.append({**network, "closed_form": exact, "numerics": numeric})
    return joined(actual, VARIABLES)


def measured(name, networks):
    return getattr(module, name)(planted_data(sides(networks), VARIABLES))


def printed(name, networks):
    (claim,) = [claim for claim in statements.all if claim.function_name == name]
    return claim.printed.measure(planted_data(sides(networks), VARIABLES))


def failing():
    """Networks on which one claim or some fail."""
    growing = np.linspace(1, 2, len(EPOCHS))
    corrected = exact(WIDE, "corrected")
    rising_error = corrected * (1 + np.linspace(0.01, 0.02, len(EPOCHS)))[:, None]
    return [
        replaced(both(), WIDE, "numerics", ggn=numeric(WIDE, "ggn") * (1 + 1e-5)),
        replaced(both(), WIDE, "closed_form", corrected_sum=0.9 * exact(WIDE, "trace")),
        replaced(both(), WIDE, "numerics", hessian=rising_error),
        replaced(both(), WIDE, "numerics", hessian=growing[:, None] * np.ones(TOP)),
        replaced(both(), WIDE, "closed_form", trace=growing),
        both()[1::2],  # narrow ones alone
    ]


@pytest.fixture(scope="module")
def planted():
    only_start = np.array([1.0] + [FLOOR] * (len(EPOCHS) - 1))
    reduced = [both()[:1], replaced(both(), WIDE, "closed_form", loss=only_start)]
    return [
        Planted(
            paper="anon2026data",
            artifact="Figure 4",
            holds=sides(both()),
            fails=[sides(networks) for networks in failing()],
            reduced=[sides(networks) for networks in reduced],
            of_theory={
                "sums": "singular values against the entries of the layers: the print fails"
            },
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements, VARIABLES)


def test_the_print_is_wrong_of_the_narrow_network_alone():
    assert measured("gauss_newton", both()) == 0.0
    assert printed("gauss_newton", both()) > 0.1
    assert printed("gauss_newton", both()[::2]) < 1e-12


def test_sums_over_an_index_set():
    assert measured("sums", both()) < 1e-14
    short = np.abs(exact(NARROW, "printed_sum") / exact(NARROW, "trace") - 1).max()
    assert printed("sums", both()) >= short > 0.5


def test_sum_or_maximum():
    assert measured("largest_eigenvalue", both()) == pytest.approx(0.0, abs=1e-12)
    assert measured("sharpness", both()) == pytest.approx(0.02 * 1e-4)
    ratio = (1.2**2 + 1.1**2) / 1.2**2
    assert printed("sharpness", both()) == pytest.approx(ratio - 1, rel=1e-4)
    norms = exact(0, "spectral_norm").copy()
    norms[3] *= 1.001
    off = replaced(both(), 0, "closed_form", spectral_norm=norms)
    assert measured("largest_eigenvalue", off) == pytest.approx(1 - 1 / 1.001**2, rel=1e-6)


@pytest.mark.parametrize("beyond", [-1e-3, 1e-3])
def test_an_eigenvalue_beyond_the_bound(beyond):
    far = numeric(0, "hessian").copy()
    far[5] = exact(0, "corrected")[5] + SCALE * np.sqrt(2 * 0.8 * 0.3) + beyond
    value = measured("residual_bound", replaced(both(), 0, "numerics", hessian=far))
    assert value == pytest.approx(max(beyond, 0.0) / far[5].max())


def test_a_shrinking_error():
    assert measured("error_trend", both()) == -1.0


def test_the_worst_image_set_counts_and_the_narrow_networks_do_not():
    corrected = exact(WIDE, "corrected")
    rising = corrected * (1 + np.linspace(0.01, 0.02, len(EPOCHS)))[:, None]
    assert measured("error_trend", replaced(both(), WIDE, "numerics", hessian=rising)) == 1.0


def test_networks_on_the_wrong_side_are_counted():
    exact_although = replaced(both(), NARROW, "numerics", hessian=exact(NARROW, "corrected"))
    assert measured("fitted", exact_although) == 1.0
    off = 1.05 * exact(WIDE, "corrected")
    assert measured("fitted", replaced(exact_although, WIDE, "numerics", hessian=off)) == 2.0


def test_of_narrow_networks_alone_the_print_does_not_suffice():
    assert measured("print_suffices", both()) == 0.0
    assert measured("print_suffices", both()[1::2]) > 0.1


@pytest.mark.parametrize(
    ("name", "side", "array"),
    [
        ("norm_falls_early", "closed_form", "trace"),
        ("sharpness_falls_early", "numerics", "hessian"),
    ],
)
def test_the_fall_is_that_of_the_network_where_it_is_least(name, side, array):
    # The Hessian's error shrinks as well, by a per cent at most.
    assert measured(name, both()) == pytest.approx(0.94**2 - 1, abs=0.01)
    growing = np.linspace(1, 2, len(EPOCHS))
    values = growing[:, None] * np.ones(TOP) if array == "hessian" else growing
    assert measured(name, replaced(both(), 3, side, **{array: values})) == pytest.approx(1 / 7)
