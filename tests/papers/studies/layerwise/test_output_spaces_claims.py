"""The claims about output spaces, their reading and their figure, on planted arrays."""

import numpy as np
import pytest
from claims_contract import Planted, changed, contract
from output_spaces_arrays import sides

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.layerwise.output_spaces.claims import TABLE_8, statements
from hessian_papers.studies.layerwise.output_spaces.figure import caption, draw
from hessian_papers.studies.layerwise.output_spaces.reading import Reading, largest, smallest
from hessian_papers.studies.layerwise.reading import LAST


def unknown(**of):
    """Layers that are too narrow for the space."""
    nothing = dict.fromkeys(("rows", "complement", "jacobian"), np.nan)
    return sides(outputs=1, **nothing, **of)


def of_table_8(**of):
    """The networks of the table that a study of photographs has."""
    return sides(**{"networks": ("LeNet5",), "jacobian": 0.99, "printed_error": 0.4} | of)


@pytest.fixture(scope="module")
def planted():
    return [
        Planted(
            paper="wu2022dissecting",
            artifact="Table 8",
            holds=sides(printed_error=0.4),
            fails=[
                sides(rows=0.4, complement=0.5, off=0.01),
                sides(jacobian=0.6, jacobian_error=0.8, printed_error=0.9),
            ],
            reduced=[
                sides(networks=("F-5^2",), seeds=1),
                sides(networks=("F-5-BN",)),
                sides(epochs=(9,)),
                unknown(),
            ],
        ),
        *(
            Planted(
                paper="wu2022dissecting",
                artifact=artifact,
                holds=of_table_8(rows=overlaps),
                fails=[
                    of_table_8(rows=0.4, complement=0.5, off=0.1),
                    of_table_8(rows=overlaps, jacobian=0.3, jacobian_error=0.8, printed_error=0.9),
                ],
            )
            for artifact, data in [("Table 8", "MNIST"), ("Table 8 (LeNet5)", "CIFAR-10")]
            for overlaps in [TABLE_8[data]["LeNet5"]]
        ),
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements)


def test_the_layer_is_the_worst_by_its_mean():
    values = np.array([[0.0, 0.3, 0.9], [0.8, 0.3, 0.7]])
    assert largest(values).value == pytest.approx(0.8)
    assert smallest(values).value == pytest.approx(0.3)
    assert smallest(values).low == pytest.approx(0.3)


def test_the_better_reading_is_taken():
    reading = Reading(sides(rows=0.5, complement=0.7))
    np.testing.assert_array_equal(
        reading.printed_space("F-5", LAST), reading.hidden("complement", "F-5", LAST)
    )


def test_what_is_not_known_is_nothing_to_measure():
    with pytest.raises(NothingToMeasure, match="F-5 has layers of fewer outputs than classes"):
        Reading(unknown()).hidden("rows", "F-5", LAST)
    with pytest.raises(NothingToMeasure, match="keeps no weights from before training"):
        Reading(sides(epochs=(3, 9))).initial("rows", "F-5")


def test_a_network_without_a_hidden_layer_is_not_spoken_of():
    assert Reading(sides()).networks == ["F-5", "F-5^2"]
    assert Reading(sides()).layers("F-5-BN") == ["fc2"]


def test_a_wrong_last_layer_is_seen():
    assert Reading(sides(off=0.25)).last_layer() == pytest.approx(0.25)
    wrong = changed(sides(), "correlation", jacobian_error=lambda a: np.where(a == 0, 1e-3, a))
    assert Reading(wrong).last_layer() == pytest.approx(1e-3)


@pytest.mark.parametrize(
    "arrays", [sides(), sides(networks=("F-5-BN",)), unknown(), sides(epochs=(9,), seeds=1)]
)
def test_figure_and_caption_bear_what_is_there(arrays):
    reading = Reading(arrays)
    figure = draw(reading)
    assert [axes.get_ylim()[0] for axes in figure.axes] == [0.0] * 4
    assert "E[M]" in caption(reading)


def test_the_first_panel_is_before_training():
    first, *_ = draw(Reading(sides())).axes
    assert first.get_title(loc="left") == "(a) before training"
