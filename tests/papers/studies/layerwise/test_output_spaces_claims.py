"""The claims about output spaces, on planted arrays."""

import numpy as np
import pytest
from claims_contract import Kind, Planted, contract, planted_data
from output_spaces_arrays import sides

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.layerwise.layers import layer_names, with_hidden_layers
from hessian_papers.studies.layerwise.output_spaces.claims import (
    COLUMNS,
    FEW,
    TABLE_8,
    form_in_print,
    hidden,
    statements,
)
from hessian_papers.studies.layerwise.output_spaces.study import VARIABLES


def unknown(**of):
    """Layers that are too narrow for the space."""
    nothing = dict.fromkeys(("rows", "complement", "jacobian"), np.nan)
    return sides(**nothing, **of)


def of_table_8(**of):
    """The networks of the table that a study of photographs has."""
    return sides(
        **{"networks": ("LeNet5",), "jacobian": 0.99, "printed_error": 0.2, "noise": 1e-5} | of
    )


@pytest.fixture(scope="module")
def planted():
    return [
        Planted(
            paper="wu2022dissecting",
            artifact="Table 8",
            holds=sides(printed_error=0.2),
            fails=[
                sides(rows=0.4, complement=0.5),
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
                    of_table_8(rows=0.4, complement=0.5),
                    of_table_8(rows=overlaps, jacobian=0.3, jacobian_error=0.8, printed_error=0.9),
                ],
            )
            for artifact, data in (COLUMNS | FEW).items()
            for overlaps in [(*TABLE_8[data]["LeNet5"], 1.0)]
        ),
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements, VARIABLES)


def data_of(arrays):
    """The data set of planted arrays."""
    return planted_data(arrays, VARIABLES)


def entries_of(artifact, name, arrays):
    entries = Kind(statements, VARIABLES).entries(arrays, "wu2022dissecting", artifact, name)
    return [*entries.values()]


def test_what_is_not_known_is_nothing_to_measure():
    with pytest.raises(NothingToMeasure, match="F-5 has layers of fewer outputs than classes"):
        hidden(data_of(unknown()).sel(network="F-5"), "rows")
    with pytest.raises(NothingToMeasure, match="keeps no weights from before training"):
        form_in_print(data_of(sides(epochs=(3, 9))).sel(network="F-5"))


def test_a_network_without_a_hidden_layer_is_not_spoken_of():
    data = data_of(sides())
    assert with_hidden_layers(data) == ["F-5", "F-5^2"]
    assert layer_names(data, "F-5-BN") == ["fc2"]


def test_a_minimum_of_few_images_is_not_that_of_the_table():
    (few,) = FEW
    arrays = of_table_8(rows=0.4, complement=0.5)
    for name in ("rows_of_the_product", "row_of_the_table"):
        assert entries_of(few, name, arrays) == []
    entries = entries_of(few, "overlap_as_trained", arrays)
    assert {entry.heading.quantifier for entry in entries} == {"shown"}


@pytest.mark.parametrize("name", ["rows_of_the_product", "row_of_the_table"])
def test_what_is_said_of_a_minimum_is_not_judged_elsewhere(name):
    arrays = of_table_8(rows=(0.611, 0.739, 1.0), complement=0.5, late=0.3)
    entries = entries_of("Table 8", name, arrays)
    for entry in entries:
        with pytest.raises(NothingToMeasure, match=r"^LeNet5 stands at loss 0\.125 and acc"):
            entry.measure()
    # Where it stands all the same is shown, beside the print.
    shown = entries_of("Table 8", "overlap_as_trained", arrays)
    assert [entry.labels["layer"] for entry in shown] == ["fc1", "fc2"]
    assert [entry.measure().value for entry in shown] == pytest.approx([0.611, 0.739], abs=0.02)
    assert entries
