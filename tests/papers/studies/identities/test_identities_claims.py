"""The claims of the identities: complete, confirmed, and able to fail, row by row of the table."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from claims_contract import Planted, bears_a_missing_case, changed, holds_and_fails, names
from identities_arrays import both_sides

from hessian_papers.ledger import table
from hessian_papers.ledger.evaluation import Measured, evaluate
from hessian_papers.ledger.evaluation import broken as broken_identities
from hessian_papers.ledger.statements import Statements, Study
from hessian_papers.results import Side
from hessian_papers.studies.identities.identities.claims import _rows, statements
from hessian_papers.studies.identities.identities.reading import CHECKS, ERRATA, STATEMENTS, Reading
from hessian_spectra.files import write_arrays

STUDY = Study("thm", {"kind": "identities", "paper": "singh2026cracking", "artifact": "Theorems"})


ROWS = list(_rows(Reading({})))


class Asked(Side):
    """The arrays of one side, which remember the names that somebody asked for."""

    def __init__(self, arrays, names):
        super().__init__(arrays, Path())
        self.names = names

    def __getitem__(self, name):
        self.names.add(name)
        return super().__getitem__(name)


class Recorded(Reading):
    """The reading, which remembers what was read of each side."""

    def __init__(self, sides):
        super().__init__(sides)
        self.names = {name: set() for name in sides}

    def side(self, name):
        return Asked(super().side(name), self.names[name])


def disturbed(values):
    """Each number changed by about a thousandth of itself; where all vanish, of 1."""
    noise = 1e-3 * np.random.default_rng(0).standard_normal(values.shape)
    return values * (1 + noise) if np.abs(values).max() > 1e-9 else values + noise


def multiplied(values):
    """A thousand times as much, for bounds that no instance comes close to."""
    return 1e3 * values


def one_more(values):
    """For counts."""
    return values + 1


# What breaks an identity where no small change of a number does.
BREAKS = {
    "matrices-lower-bound": multiplied,
    "attention-smallest": multiplied,
    "attention-strong-condition": multiplied,
    "attention-condition": multiplied,
    "balanced-count": one_more,
    "two-layers-count": one_more,
}


# What is no statement about a Hessian. Disturbed, or as in print, all of them fail.
OF_THEORY = {
    "linear-orthonormal": "the eigenvectors' inner products; that they are eigenvectors is another",
    "attention-monotone": "a bound as a weight is stretched; that it is a bound is another",
    "recipe-whitening": "inputs that are made, against the span of those that are given",
    "recipe-subset": "samples of each class that are chosen, against the share that is asked for",
}
OF_THEORY["linear-orthonormal-2024"] = OF_THEORY["linear-orthonormal"]


def broken(name):
    """Both sides, with one of the arrays changed that a check reads: one for each array."""
    change = BREAKS.get(name, disturbed)
    recorded = Recorded(both_sides())
    recorded.errors(name)
    return [
        changed(both_sides(), side, **{array: change})
        for side, asked in recorded.names.items()
        for array in sorted(asked)
        if both_sides()[side][array].dtype.kind == ("i" if change is one_more else "f")
        and not array.endswith(".counts")
    ]


def planted(*fails, reduced=()):
    return [
        Planted(
            paper="singh2026cracking",
            artifact="Theorems",
            holds=both_sides(),
            fails=fails,
            reduced=reduced,
            of_theory=OF_THEORY,
        )
    ]


def without_error(side, theorem, name):
    """Both sides, as if a printed spectrum were right."""
    right = both_sides()["numerics"][f"{theorem}.eigenvalues"]
    return changed(both_sides(), side, **{f"{theorem}.{name}": right})


@pytest.mark.parametrize("name", names(statements))
def test_a_claim_holds_and_fails(name):
    """An identity fails with any of the arrays disturbed that it reads, and so does its print."""
    if name != "identity":
        wrong = (("dropped", "spectrum"), ("correlated_input", "decoupled"))
        holds_and_fails(
            statements, planted(*(without_error("closed_form", *one) for one in wrong)), name
        )
        return
    (claim,) = (one for one in statements.all if one.function_name == name)
    for row in ROWS:
        alone = Statements(Reading)
        alone.all = [replace(claim, each=lambda reading, row=row: [row])]
        holds_and_fails(alone, planted(*broken(row["name"])), name)


@pytest.mark.parametrize("name", names(statements))
def test_a_claim_bears_a_missing_case(name):
    zeros = np.zeros_like
    reduced = [
        changed(both_sides(), "closed_form", **{array: zeros})
        for array in ("balanced.kind", "dropped.dropped", "any_layers.whitened")
    ]
    bears_a_missing_case(statements, planted(reduced=reduced), name)


@pytest.mark.parametrize("name", list(ERRATA))
def test_print_is_wrong(name):
    # Far beyond any tolerance: the print is wrong, not inaccurate.
    reading = Reading(both_sides())
    assert reading.worst(reading.printed_errors(name)) > 1e-3


def evaluated(folder, sides):
    """The ledger's records of a study with these arrays."""
    for side, arrays in sides.items():
        write_arrays(folder / f"{side}.npz", arrays)
    run = Measured(statements=statements, study=STUDY, folder=folder, scale="demo")
    return [record for record in evaluate([run]) if record.cases[0].study == "thm"]


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    return evaluated(tmp_path_factory.mktemp("results"), both_sides())


def test_every_check_has_a_statement():
    assert set(STATEMENTS) == set(CHECKS)


def test_an_erratum_has_the_print_and_its_errors():
    assert {name for name, one in STATEMENTS.items() if "printed" in one} == set(ERRATA)


def test_a_statement_has_no_other_fields():
    known = {"label", "text", "places", "printed", "remark", "source"}
    assert all(one.keys() <= known and one["text"] and one["places"] for one in STATEMENTS.values())


def test_every_erratum_is_corrected_and_all_else_reproduced(records):
    for record in records:
        expected = "corrected" if record.printed else "reproduced"
        assert (record.id, record.verdict) == (record.id, expected)


def test_an_erratum_records_both_errors(records):
    errata = [record for record in records if record.verdict == "corrected"]
    assert len(errata) >= 25
    for record in errata:
        assert all(case.measured <= case.tolerance for case in record.cases)
        assert all(case.printed_error > 1e-3 for case in record.cases)


def test_a_statement_of_several_papers_stands_in_each(records):
    papers = {paper for record in records for paper in record.places}
    expected = {"singh2024closed", "singh2024poster", "singh2026cracking", "anon2026data"}
    assert papers == expected
    (spectrum,) = (record for record in records if record.id == "linear-spectrum")
    assert spectrum.places == {
        "singh2026cracking": "Theorem 3.1",
        "singh2024closed": "Theorem 1",
        "singh2024poster": "key result, linear network",
    }


def test_indices_in_braces_are_no_fields(records):
    (found,) = (record for record in records if record.id == "layers-trace")
    assert "‖P_{l}‖_F²" in found.sentence


def test_a_broken_theorem_fails_by_name(tmp_path):
    def wrong(values):
        return values + 1e-3 * (np.arange(len(values)) == 0)

    sides = changed(both_sides(), "closed_form", **{"multi_input.eigenvalues": wrong})
    found = broken_identities(evaluated(tmp_path, sides))
    assert found
    assert all(line.startswith("thm/multi-input") for line in found)
    assert "thm/multi-input-spectrum: measured" in found[0]
    assert "(tolerance 1e-10)" in found[0]


def test_nan_in_brute_force_fails_by_name(tmp_path):
    def nan(values):
        return np.where(np.arange(len(values)) == 0, np.nan, values)

    sides = changed(both_sides(), "numerics", **{"relu.eigenvalues": nan})
    found = broken_identities(evaluated(tmp_path, sides))
    assert any(line.startswith("thm/relu-spectrum: measured no number") for line in found)


def test_a_print_that_turns_out_right_is_no_erratum(tmp_path):
    right = {"linear.printed_poster_outliers": both_sides()["closed_form"]["linear.outliers"]}
    records = evaluated(tmp_path, changed(both_sides(), "closed_form", **right))
    (found,) = (record for record in records if record.id == "linear-poster")
    assert found.verdict == "reproduced"


def test_what_a_configuration_does_not_draw_is_not_measured(tmp_path):
    """A statement about no instance would hold without being looked at."""
    sides = changed(both_sides(), "closed_form", **{"balanced.kind": np.zeros_like})
    records = {record.id: record for record in evaluated(tmp_path, sides)}
    assert records["labels-loss"].verdict == "not tested"
    assert "draws no instance" in records["labels-loss"].cases[0].explanation
    assert records["balanced-kernel"].verdict == "reproduced"


def test_every_row_of_the_table_is_there(records):
    text = table.table(records)
    assert all(text.count(f"`{record.id}`") == 1 for record in records)
    assert "4(2⟨w, v⟩ − yx)²" in text
