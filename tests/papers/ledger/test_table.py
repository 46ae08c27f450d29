"""The ledger in Markdown: a row for each entry, with what the other run says beside it."""

import pytest
import sample_reports

from hessian_papers.ledger.record import ClaimRecord
from hessian_papers.ledger.table import table

STUDY = "cracking-fig1"


def record(verdict="reproduced", *, number=0, beside=None, **changes):
    """A value of today's demo."""
    fields = {"kind": "value", "measured": 0.5, "interval": None, "location": "Theorem 0"}
    found = sample_reports.claim(number, STUDY, verdict, **(fields | changes))
    return ClaimRecord(**found | {"beside": beside})


def rows(text, first):
    return [line for line in text.splitlines() if line.startswith(f"| {first} |")]


def cells(one):
    """The cells of the only row of a record."""
    (row,) = rows(table([one]), one.verdict)
    return [cell.strip() for cell in row.strip("|").split(" | ")]


def test_every_claim_is_one_row_under_its_paper():
    fields = {"printed": "b = 2a", "printed_error": 0.5, "kind": "identity", "measured": 1e-16}
    waiting = {"measured": None, "scale": None, "explanation": "It takes a GPU."}
    records = [
        record(),
        record(number=1, paper="singh2024closed"),
        record(number=2, paper="nobody2030"),
        record("corrected", number=3, location="eq. (7)", **fields),
        record("not run at this scale", number=4, location="Figure 6", **waiting),
    ]
    text = table(records)
    places = [text.index(f"## {key}") for key in (
        "singh2024closed: Closed form", "singh2026cracking:", "nobody2030"
    )]  # fmt: skip
    assert places == sorted(places)
    counts = "5 claims: 3 reproduced, 1 corrected, 0 differs, 0 undecided, 1 not run at this scale"
    assert f"**{counts}**" in text.splitlines()
    assert len(rows(text, "reproduced")) == 3
    (erratum,) = rows(text, "eq. (7)")
    assert "| b = 2a |" in erratum
    assert "| 0.5 | ≤ 1e-12 | demo |" in erratum
    (row,) = rows(text, "Figure 6")
    assert row.endswith("| It takes a GPU. |")


def test_entries_and_claims_are_told_apart():
    text = table([record(), record(paper="singh2024closed"), record(number=1, beside=record())])
    assert "**2 claims: " in text
    assert "3 entries make 2 claims: " in text
    assert "1 entries were measured on two runs" in text


def test_the_other_run_stands_beside_the_one_that_decides():
    kept = {"scale": "paper", "recorded": True}
    demo = record("undecided", measured=0.25, interval=[-0.125, 0.75])
    found = cells(record("differs", **kept, beside=demo))
    assert found[:2] == ["differs", "paper (recorded)"]
    assert found[5] == "0.5"
    assert found[7] == "demo: undecided, 0.25 [-0.125, 0.75]"
    kept = record("reproduced", **kept)
    assert cells(record("reproduced", beside=kept))[7] == "paper (recorded): reproduced, 0.5"
    assert cells(record())[7] == ""
    corrected = {"printed": "b = 2a", "printed_error": 0.5, "location": "eq. 7"}
    (row,) = rows(table([record("corrected", beside=kept, **corrected)]), "eq. 7")
    assert "| demo | paper (recorded): reproduced, 0.5 |" in row


@pytest.mark.parametrize(
    ("key", "pair", "text"),
    [
        ("networks", [20, 200], "networks=20 (paper 200)"),
        ("networks.two-layer-linear.networks", [20, 200], "networks=20 (paper 200)"),
        ("networks.deep.learning_rates.mup", [0.1, 1.0], "learning_rates.mup=0.1 (paper 1)"),
        ("data.sets.images.sources", [["digits"], ["mnist"]], "sources=[digits] (paper [mnist])"),
        (
            "sizes",
            [[1, 2, 5, 10], list(range(1, 101))],
            "sizes=[1, 2, 5, 10] (paper [1, 2, …, 100: 100 values])",
        ),
        (
            "layers",
            [[[3] * 6, [4]], []],
            "layers=[[3, 3, …, 3: 6 values], [4]] (paper [])",
        ),
    ],
)
def test_settings_that_depart_are_named_where_they_may_matter(key, pair, text):
    other = {"epochs": [200, 300]}
    for verdict in ("differs", "undecided"):
        found = cells(record(verdict, departs={key: pair} | other))
        assert found[8] == f"{text}; epochs=200 (paper 300)"
    assert cells(record(departs={key: pair}))[8] == ""


def test_bars_and_line_breaks_do_not_break_a_cell():
    (row,) = rows(table([record(statement="|a|\nis ‖b‖ | c")]), "reproduced")
    assert r"| \|a\| is ‖b‖ \| c |" in row


@pytest.mark.parametrize(
    ("changes", "cell"),
    [
        ({"tolerance": 1e-10}, "≤ 1e-10"),
        ({"relation": ">=", "expected": -1.0, "tolerance": 0.0}, "≥ -1"),
        ({"relation": "=", "expected": 0.25, "tolerance": 0.5}, "= 0.25 ± 0.5"),
        ({"expected": 0.25, "tolerance": 0.5}, "≤ 0.25 + 0.5"),
    ],
)
def test_the_expected_value_is_written_with_its_tolerance(changes, cell):
    assert cells(record(**changes))[6] == cell


@pytest.mark.parametrize(
    ("changes", "cell"),
    [
        ({"kind": "identity", "measured": 4e-15}, "≤ 1e-12"),
        ({"kind": "identity", "measured": 0.0}, "≤ 1e-12"),
        ({"kind": "identity", "measured": 3e-9, "tolerance": 1e-7}, "≤ 1e-08"),
        ({"kind": "identity", "measured": 0.0, "tolerance": 0.0}, "0"),
        ({"kind": "identity", "measured": 0.25}, "0.25"),
        ({"kind": "identity", "measured": None}, "–"),
        ({"measured": 4e-15}, "≤ 1e-12"),
        ({"measured": -4e-15}, "≥ −1e-12"),
        ({"measured": 4e-11}, "4e-11"),
        ({"measured": 5074.0}, "5074"),
        ({"measured": 0.5, "interval": [0.25, None]}, "0.5 [0.25, –]"),
    ],
)
def test_round_off_is_a_bound_and_all_else_a_number(changes, cell):
    assert cells(record(**changes))[5] == cell


def test_a_printed_form_without_a_number_says_so():
    fields = {"printed": "√−1", "printed_error": None}
    assert "| not a number |" in table([record("corrected", **fields)])
