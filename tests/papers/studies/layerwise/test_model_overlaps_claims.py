"""The claims about overlaps of independently trained networks, their reading and their figure."""

import math
import re

import numpy as np
import pytest
import scipy
from claims_contract import Planted, contract
from matplotlib.text import Text
from planted_overlaps import HEIGHTS, contrary, expected, sides

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.layerwise.model_overlaps.claims import statements
from hessian_papers.studies.layerwise.model_overlaps.figure import caption, draw
from hessian_papers.studies.layerwise.model_overlaps.reading import Reading

REDUCED = [
    sides(seeds=2),
    sides(top=3),
    sides(networks=("F-200^2",)),
    sides(networks=("F-200^2-BN",)),
    sides(layers=("fc3",)),
    sides(rank=False),
]


@pytest.fixture(scope="module")
def planted():
    return [
        Planted(
            paper="wu2022dissecting",
            artifact="Figure 4",
            holds=sides(),
            fails=[sides(contrary, last=0.95), sides(differing=0.5)],
            reduced=REDUCED,
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements)


def test_the_condition_says_what_is_expected(planted):
    actual = {}
    for sides_of in (sides(), sides(rank=False)):
        for entry in planted[0].entries(statements, "condition_tells", sides_of):
            actual.setdefault(entry.id, []).append(entry.bound.relation)
    assert actual["planted/condition-tells-F-200^2-fc1"] == [">=", "<="]


def test_only_layers_after_a_batch_norm_have_no_peak(planted):
    entries = planted[0].entries(statements, "batch_norm_has_no_peak", sides())
    assert [entry.id for entry in entries] == ["planted/batch-norm-has-no-peak-F-200^2-BN-fc2"]


def test_up_to_where_the_theorem_has_its_assumption():
    first, second, last = Reading(sides()).layers("F-200^2")
    assert (first.satisfied, second.satisfied, last.satisfied) == (20, 3, 3)
    assert [layer.last for layer in (first, second, last)] == [False, False, True]


def test_a_peak_is_a_ratio_of_means():
    arrays = sides(noise=0.0)
    layer = Reading(arrays).layer("F-200^2", "fc1")
    every = np.ones(6, dtype=bool)
    # Those from 16 to 24 are around 20, and of the others 0.8 · 20/25 at k = 25 is the largest.
    assert layer.peak(every) == pytest.approx(25 / 20)
    single = np.arange(6) == 2
    arrays["correlation"]["overlap"][0, 0, 0, 2, 24] = 1.6
    assert Reading(arrays).layer("F-200^2", "fc1").peak(single) == pytest.approx(0.8 / 1.6)


def test_the_interval_is_the_jackknife_over_networks():
    arrays = sides(noise=0.2)
    reading = Reading(arrays)
    layer = reading.layer("F-200^2", "fc1")
    actual = reading.over_networks(lambda chosen: layer.at_outputs("overlap", chosen))
    values = arrays["correlation"]["overlap"][0, 0, 0, :, 19]
    # Pairs without the network: (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3).
    without = np.array(
        [values[list(rows)].mean() for rows in ((3, 4, 5), (1, 2, 5), (0, 2, 4), (0, 1, 3))]
    )
    error = math.sqrt(3 / 4 * ((without - without.mean()) ** 2).sum())
    interval = scipy.stats.t(3, values.mean(), error).interval(0.95)
    assert actual == pytest.approx((values.mean(), *interval))


def test_the_interval_holds_what_is_estimated():
    held, draws = 0, np.random.default_rng(0)
    for _ in range(200):
        reading = Reading(
            sides(noise=0.2, seed=int(draws.integers(1 << 30)), networks=("F-200^2",))
        )
        layer = reading.layer("F-200^2", "fc1")
        value = reading.over_networks(lambda chosen, own=layer: own.at_outputs("overlap", chosen))
        held += value.low <= HEIGHTS["fc1"] <= value.high
    assert 180 <= held < 200


def test_two_networks_have_no_interval():
    reading = Reading(sides(seeds=2))
    actual = reading.over_networks(lambda chosen: float(chosen.sum()))
    assert actual == (1.0, -math.inf, math.inf)


def test_what_is_within_the_error_of_eigenvalues_is_not_read():
    arrays = sides()
    arrays["correlation"]["hessian"][0, 0, 0, 2, 25:] = 1e-5
    reading = Reading(arrays)
    assert [layer.reach for layer in reading.layers("F-200^2")] == [25, 30, 6]


def test_what_is_not_there_is_said():
    every = np.ones(6, dtype=bool)
    short = Reading(sides(top=22)).layer("F-200^2", "fc1")
    with pytest.raises(
        NothingToMeasure, match="has 22 eigenpairs of a layer with 20 outputs: none"
    ):
        short.peak(every)
    shorter = Reading(sides(top=19)).layer("F-200^2", "fc1")
    with pytest.raises(NothingToMeasure, match=r"has fewer than 20 eigenpairs$"):
        shorter.at_outputs("overlap", every)
    with pytest.raises(NothingToMeasure, match=r"^F-200\^2 has no hidden layer$"):
        Reading(sides(layers=("fc3",))).hidden("F-200^2")


def test_the_figure_shows_the_means_and_the_theorem():
    reading = Reading(sides(noise=0.0))
    axes = draw(reading).axes
    assert len(axes) == 6
    shown = [np.array(line.get_ydata()) for line in axes[0].lines]
    for values in (expected("F-200^2", "fc1"), 0.8 * np.arange(1, 21) / 20, np.arange(1, 31) / 600):
        assert any(len(line) == len(values) and np.allclose(line, values) for line in shown)
    last = [np.array(line.get_ydata()) for line in axes[2].lines]
    assert any(np.allclose(line, 0.5) and len(line) == 4 for line in last)


def test_pairs_that_were_trained_alike_are_drawn_apart():
    varied = Reading(sides(noise=0.0, differing=0.5))
    assert varied.differing.tolist() == [True, False, True, True, False, True]
    shown = [np.array(line.get_ydata()) for line in draw(varied).axes[0].lines]
    curve = expected("F-200^2", "fc1")
    for factor in (1.0, 4 / 6):
        assert any(len(line) == 30 and np.allclose(line, factor * curve) for line in shown)
    assert "the mean over those 2 of 6 whose networks were trained with the same" in caption(varied)
    # As a run was recorded before there were variations.
    before = sides()
    del before["correlation"]["variation"]
    assert not Reading(before).differing.any()
    assert "trained with the same" not in caption(Reading(before))


def test_differently_trained_networks_are_compared_with_those_trained_alike(planted):
    entries = list(
        planted[0].entries(statements, "same_after_other_training", sides(differing=0.7))
    )
    assert len(entries) == 6
    assert entries[0].measure().value == pytest.approx(0.7, abs=0.01)
    before = sides()
    del before["correlation"]["variation"]
    assert not list(planted[0].entries(statements, "same_after_other_training", before))


def test_the_caption_has_the_setting():
    text = caption(Reading(sides(noise=0.0)))
    assert "of the loss on 200 images, in 4 networks" in text


@pytest.mark.parametrize("arrays", REDUCED)
def test_figure_and_caption_bear_what_is_missing(arrays):
    reading = Reading(arrays)
    drawn = draw(reading)
    drawn.set_layout_engine("none")
    drawn.draw_without_rendering()
    texts = [text.get_text() for text in drawn.findobj(Text)] + [caption(reading)]
    assert not [text for text in texts if re.search(r"\b(nan|inf)\b", text)]
