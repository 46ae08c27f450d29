"""Cases between the stage that measures and the one that decides: what is written is read again."""

import json
import math
import re

import numpy as np
import pytest

from hessian_papers import labelled
from hessian_papers.labelled import Variable
from hessian_papers.ledger import measured_cases
from hessian_papers.ledger.bounds import Estimate, equal_to, positive, within
from hessian_papers.ledger.evaluation import Measured, measurements, unmeasured
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.words import reading_of
from hessian_papers.results import Provenance
from hessian_spectra.files import DamagedFileError, MissingResultError

REMEDY = "dvc repro paper@mine"
ANY = positive("any")
statements = Statements(values={"sp": "SP"})
VARIABLES = {
    "seed": Variable("seed", "seed"),
    "network": Variable("network", "network"),
    "values": Variable("network seed", "values"),
}


@statements.identity("Theorem 1", within(1e-10, "round-off"), paper="other2020")
def exact(data):
    """It is exact. Statistic: the error."""
    return 1e-16 / 3


@statements.statement("typically", "Figure 1", reading_of("nearly"), over=["network"])
def near(data):
    """Values are near {network}."""
    return data["values"]


@statements.statement(
    "everywhere",
    "Figure 1",
    lambda case: equal_to(case["value"] / 3, "a rule", tolerance=0.5) if case["value"] < 1 else ANY,
    each=lambda data: [{"value": value} for value in (math.inf, -1.0, 0.7, math.nan)],
)
def is_as_expected(data, value, printed=False):
    """It is {value}. In print: twice"""
    return 2 * value if printed else Estimate(value, -math.inf, 10.0)


@statements.statement("everywhere", "Figure 2", ANY)
def breaks(data):
    """No one knows."""
    raise RuntimeError("of this configuration")


@pytest.fixture
def measured(tmp_path):
    """The cases of a run of two networks, with what no run of ours measures."""
    values = np.array([[0.1, 0.2, 1 / 3], [math.nan, 1.0, 2.0]])
    arrays = {"network": np.array(["sp", "mup"]), "seed": np.arange(3), "values": values}
    data = labelled.data_set(arrays, VARIABLES)
    config = {"paper": "mine2030", "artifact": "Figure 1", "kind": "data_scale"}
    for side in ("closed_form", "numerics"):
        labelled.write(tmp_path / f"{side}.nc", data)
    run = Measured(
        statements=statements,
        provenance=Provenance(study="mine", config=config, scale="demo", departs={"width": [3, 4]}),
        folder=tmp_path,
    )
    return [*measurements([run]), *unmeasured()]


def test_what_is_written_is_read_again(measured, tmp_path):
    path = measured_cases.path_of(tmp_path, "a-paper", "mine")
    measured_cases.write(path, measured, {"made from": "code"})
    json.loads(path.read_text(), parse_constant=pytest.fail)
    actual = measured_cases.read(path, REMEDY)
    # By their texts a NaN is equal to a NaN.
    assert [*map(repr, actual)] == [*map(repr, measured)]
    numbers = [number for case in actual for number in (*case.estimate, case.bound.expected)]
    assert {math.inf, -math.inf, 0.7 / 3, 1e-16 / 3} <= {*numbers}
    assert any(map(math.isnan, numbers))


def refused(path):
    """Reading a file ends in one line, with the file and what mends it."""
    with pytest.raises(DamagedFileError, match=re.escape(str(path))) as error:
        measured_cases.read(path, REMEDY)
    assert REMEDY in str(error.value)
    assert "\n" not in str(error.value)


WRONG = [
    *({"numbers": numbers} for numbers in (["1.0", "x", "nan", "0.0"], [], None)),
    *({part: wrong} for part in ("heading", "record", "bound") for wrong in ({}, None)),
    {"record": {"id": "mine/near"}},
]


@pytest.mark.parametrize("changes", [*WRONG, "heading", "record", "numbers", "bound", None])
def test_a_record_that_is_damaged_is_one_line(measured, tmp_path, changes):
    """One with other entries, or without one, or none at all."""
    path = measured_cases.path_of(tmp_path, "a-paper", "mine")
    measured_cases.write(path, measured, {"made from": "code"})
    content = json.loads(path.read_text())
    record = content["cases"][0]
    if isinstance(changes, str):
        del record[changes]
    content["cases"][0] = changes and (record | changes if isinstance(changes, dict) else record)
    path.write_text(json.dumps(content))
    refused(path)


@pytest.mark.parametrize("content", ["", "[{", "null", "3", '{"heading": 1}', '{"cases": 1}'])
def test_a_file_that_is_damaged_is_one_line(tmp_path, content):
    path = tmp_path / "mine.json"
    path.write_text(content)
    refused(path)


def test_a_file_that_is_not_there_says_what_makes_it(tmp_path):
    with pytest.raises(MissingResultError, match=f"run {REMEDY}"):
        measured_cases.read(tmp_path / "cases.json", REMEDY)
