"""Claims about training hold where they were planted, and fail where they were not."""

import numpy as np
import pytest
from hessian_spectra.ledger.vocabulary import holds

from hessian_spectra.ledger.evaluation import ClaimError, verdict
from hessian_spectra.studies.images.pair_sums_through_training import claims as pairs
from hessian_spectra.studies.images.trace_through_training import claims as trace

EPOCHS = np.array([0, 1, 4, 16, 64, 256, 1024, 4096])
# Down to the floor of 0.2: the first five epochs have more than half of the way before them.
LOSS = 0.2 + 0.8 * np.array([1.0, 0.99, 0.95, 0.8, 0.55, 0.3, 0.01, 1e-4])
EARLY = 5
TOP, RANK, OUTPUTS, SCALE = 4, 7, 3, 1.5
# Signs that sum to 0 and have a mean square of 1.
SIGNS = np.array([1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0])


def join(networks):
    return tuple(
        {
            f"{i}/{name}": array
            for i, sides in enumerate(networks)
            for name, array in sides[k].items()
        }
        for k in (0, 1)
    )


def traces(count=2, fall=0.9):
    """Networks whose estimates are one standard error off, in turn above and below."""
    found = []
    for number in range(count):
        exact = np.array([1.0, 0.99, 0.97, 0.95, fall, 1.1, 1.4, 1.5]) * 100 * (number + 1)
        error = 0.01 * exact
        found.append(
            (
                {"epoch": EPOCHS, "loss": LOSS, "floor": np.array(0.2), "trace": exact},
                {"epoch": EPOCHS, "trace": exact + SIGNS * error, "standard_error": error},
            )
        )
    return found


def spectra(width):
    """A network of random layers whose Hessian nears its Gauss-Newton part, or does not.

    The narrow one ends with a tenth of the excess loss, and its error stays.
    """
    draw = np.random.default_rng(width)
    fitted = width >= OUTPUTS
    loss = LOSS if fitted else np.maximum(LOSS, 0.28)
    shrink = np.sqrt((loss - 0.2) / 0.8)
    start = [draw.uniform(0.5, 1, min(width, size)) for size in (RANK, OUTPUTS)]
    start[0][0], start[1][0] = 1.2, 1.1
    rows = {}
    for at in range(len(EPOCHS)):
        norm = [1, 0.99, 0.98, 0.96, 0.94, 0.95, 0.97, 0.98][at]
        first, last = norm * start[0], norm * start[1]
        sums = {"printed": np.add.outer(first**2, last**2).ravel()}
        padded = [np.pad(v**2, (0, n - len(v))) for v, n in ((first, RANK), (last, OUTPUTS))]
        sums["corrected"] = np.add.outer(*padded).ravel()
        row = {"spectral_norms": np.array([1.2 * norm, 1.1 * norm])}
        row["trace"] = np.array(SCALE**2 * (OUTPUTS * (first**2).sum() + RANK * (last**2).sum()))
        for name, values in sums.items():
            values = np.sort(SCALE**2 * values)
            row |= {name: np.pad(values, (TOP, 0))[-TOP:], f"{name}_sum": values.sum()}
            row[f"{name}_count"] = np.array((values > 0).sum())
        row["ggn"] = row["corrected"]
        row["hessian"] = row["corrected"] * (1 + 0.02 * shrink[at] ** (2 if fitted else 0.5))
        for name, value in row.items():
            rows.setdefault(name, []).append(value)
    stacked = {name: np.stack(values) for name, values in rows.items()}
    numeric = {"epoch": EPOCHS} | {name: stacked.pop(name) for name in ("ggn", "hessian")}
    facts = {"epoch": EPOCHS, "loss": loss, "floor": np.array(0.2), "width": np.array(width)}
    return facts | stacked, numeric


def both():
    """Two image sets, each with a wide and a narrow network."""
    return [spectra(width) for _ in range(2) for width in (6, 2)]


def measured(module, name, networks):
    """What a claim measures and whether that is what it states; the same of the print, if any."""
    (claim,) = [claim for claim in module.claims("study") if claim.id == f"study/{name}"]
    sides = join(networks)
    value = claim.measure(*sides)
    held = holds(value, claim.relation, claim.expected, claim.tolerance)
    if claim.measure_printed is None:
        return value, held
    printed = claim.measure_printed(*sides)
    return value, held, printed, holds(printed, claim.relation, claim.expected, claim.tolerance)


@pytest.mark.parametrize(("module", "networks"), [(trace, traces()), (pairs, both())])
def test_all_hold_where_all_is_as_stated(module, networks):
    sides = join(networks)
    for claim in module.claims("study"):
        assert claim.problems() == []
        printed = claim.measure_printed(*sides) if claim.measure_printed else None
        found = verdict(claim, claim.measure(*sides), printed)
        assert found == ("reproduced" if claim.printed is None else "corrected"), claim.id


def changed(networks, index, side, **arrays):
    """The networks with some arrays of one of them replaced."""
    found = [list(sides) for sides in networks]
    found[index][side] = found[index][side] | arrays
    return [tuple(sides) for sides in found]


def test_a_wrong_trace_is_noticed():
    assert measured(trace, "trace", traces()) == (pytest.approx(1.0), True)
    exact, numeric = traces()[1]
    # Twice as far off as the standard error says, in one network of two.
    wrong = changed(traces(), 1, 1, trace=2 * numeric["trace"] - exact["trace"])
    assert measured(trace, "trace", wrong) == (pytest.approx(2.0), False)
    # An estimate that is always right to rounding has not the error that it claims.
    perfect = changed(traces(), 1, 1, trace=exact["trace"])
    assert measured(trace, "trace", perfect) == (pytest.approx(0.0), False)


def test_a_bias_is_noticed():
    assert measured(trace, "no-bias", traces()) == (pytest.approx(0.0, abs=1e-9), True)
    networks = [
        (exact, numeric | {"trace": exact["trace"] - 0.9 * numeric["standard_error"]})
        for exact, numeric in traces()
    ]
    assert measured(trace, "no-bias", networks) == (pytest.approx(-0.9 * 4), False)


def test_only_early_epochs_are_early():
    _, numeric = traces()[0]
    for at, held in ((EARLY - 1, False), (EARLY, True)):
        far = numeric["trace"].copy()
        far[at] += 10 * numeric["standard_error"][at]
        value, found = measured(trace, "early", changed(traces(), 0, 1, trace=far))
        assert found is held
        assert value == pytest.approx(1.0 if held else 10 + SIGNS[at])


@pytest.mark.parametrize("side", ["trace", "norm", "sharpness"])
def test_an_early_fall_is_found(side):
    if side == "trace":
        assert measured(trace, "falls-early", traces()) == (pytest.approx(-0.1), True)
        growing = changed(traces(), 1, 0, trace=np.linspace(1, 2, len(EPOCHS)))
        value, held = measured(trace, "falls-early", growing)
    else:
        name = f"{side}-falls-early"
        # The Hessian's error shrinks as well, by a per cent at most.
        assert measured(pairs, name, both()) == (pytest.approx(0.94**2 - 1, abs=0.01), True)
        growing = np.linspace(1, 2, len(EPOCHS))
        arrays = {"trace": growing} if side == "norm" else {"hessian": growing[:, None]}
        networks = changed(both(), 3, 0 if side == "norm" else 1, **arrays)
        value, held = measured(pairs, name, networks)
    assert value == pytest.approx(1 / 7)
    assert not held


def test_a_fall_after_the_early_epochs_does_not_count():
    late = np.array([1.0, 1.1, 1.1, 1.1, 1.1, 0.5, 0.5, 0.5])
    assert measured(trace, "falls-early", changed(traces(), 0, 0, trace=late))[1] is False


def test_without_early_epochs_nothing_is_measured():
    sudden = np.array([1.0] + [0.2] * 7)
    (claim,) = [c for c in trace.claims("study") if c.id == "study/falls-early"]
    value = claim.measure(*join(changed(traces(), 0, 0, loss=sudden)))
    assert np.isnan(value)
    with pytest.raises(ClaimError, match="measured NaN"):
        verdict(claim, value, None)


def test_a_wrong_spectrum_is_noticed():
    value, held, printed, print_held = measured(pairs, "gauss-newton", both())
    assert (value, held, print_held) == (0.0, True, False)
    assert printed > 0.1
    # Without a narrow network there is nothing wrong in print.
    assert measured(pairs, "gauss-newton", both()[::2])[3] is True
    off = both()[2][1]["ggn"] * (1 + 1e-5)
    assert measured(pairs, "gauss-newton", changed(both(), 2, 1, ggn=off))[1] is False


def test_sums_over_an_index_set():
    value, held, printed, print_held = measured(pairs, "sums", both())
    assert value < 1e-14
    assert (held, print_held) == (True, False)
    exact, _ = both()[1]
    assert printed >= np.abs(exact["printed_sum"] / exact["trace"] - 1).max() > 0.5


def test_too_few_eigenvalues_cannot_hold_the_trace():
    value, held, printed, print_held = measured(pairs, "count", both())
    assert (value, held, print_held) == (0.0, True, False)
    # 4 eigenvalues in print, of the narrow network's 7 · 3 − 5 · 1 = 16.
    exact, numeric = both()[1]
    assert exact["corrected_count"][0] == 16
    assert printed == pytest.approx((1 - 4 * numeric["ggn"][:, -1] / exact["trace"]).max())


def test_sum_or_maximum():
    assert measured(pairs, "largest-eigenvalue", both()) == (pytest.approx(0.0, abs=1e-12), True)
    value, held, printed, print_held = measured(pairs, "sharpness", both())
    assert value == pytest.approx(0.02 * 1e-4)
    assert (held, print_held) == (True, False)
    assert printed == pytest.approx((1.2**2 + 1.1**2) / 1.2**2 - 1, rel=1e-4)
    norms = both()[0][0]["spectral_norms"].copy()
    norms[3] *= 1.001
    assert measured(pairs, "largest-eigenvalue", changed(both(), 0, 0, spectral_norms=norms))[
        1
    ] is (False)


def test_an_eigenvalue_beyond_the_bound():
    assert measured(pairs, "residual-bound", both()) == (0.0, True)
    exact, numeric = both()[0]
    far = numeric["hessian"].copy()
    allowed = SCALE * np.sqrt(2 * 0.8 * 0.3)
    for beyond, held in ((-1e-3, True), (1e-3, False)):
        far[5] = exact["corrected"][5] + allowed + beyond
        value, found = measured(pairs, "residual-bound", changed(both(), 0, 1, hessian=far))
        assert found is held
        assert value == pytest.approx(max(beyond, 0.0) / far[5, -1])


def test_a_shrinking_error():
    assert measured(pairs, "error-trend", both()) == (-1.0, True)
    assert measured(pairs, "error-ratio", both()) == (pytest.approx(1e-4, rel=0.05), True)
    assert measured(pairs, "last-error", both()) == (pytest.approx(0.02 * 1e-4, rel=0.01), True)
    exact, _ = both()[2]
    # The worst image set counts, and the narrow networks do not.
    constant = changed(both(), 2, 1, hessian=1.05 * exact["corrected"])
    assert measured(pairs, "error-ratio", constant) == (pytest.approx(1.0), False)
    assert measured(pairs, "last-error", constant)[1] is False
    growing = exact["corrected"] * (1 + np.linspace(0.01, 0.02, len(EPOCHS)))[:, None]
    assert measured(pairs, "error-trend", changed(both(), 2, 1, hessian=growing)) == (1.0, False)


def test_networks_on_the_wrong_side():
    assert measured(pairs, "fitted", both()) == (0.0, True)
    narrow, wide = both()[1], both()[2]
    exact_although = changed(both(), 1, 1, hessian=narrow[0]["corrected"])
    assert measured(pairs, "fitted", exact_although) == (1.0, False)
    wrong_although = changed(exact_although, 2, 1, hessian=1.05 * wide[0]["corrected"])
    assert measured(pairs, "fitted", wrong_although) == (2.0, False)


def test_index_sets_apart():
    assert measured(pairs, "print-suffices", both()) == (0.0, True)
    # With few hidden units alone the print does not suffice.
    value, held = measured(pairs, "print-suffices", both()[1::2])
    assert value > 0.1
    assert not held


def test_sides_of_other_networks_are_refused():
    closed_form, numerics = join(traces())
    with pytest.raises(ValueError, match="expected the same networks on both sides, got 2 and 1"):
        trace.spread(closed_form, join(traces(1))[1])
    with pytest.raises(ValueError, match="network 1: expected the same epochs on both sides"):
        trace.spread(closed_form, numerics | {"1/epoch": EPOCHS + 1})
