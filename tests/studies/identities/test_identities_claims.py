"""The claims of the identities: complete, confirmed, and able to fail."""

import numpy as np
import pytest
from identities_arrays import both_sides

from hessian_spectra.ledger import evaluation as ledger
from hessian_spectra.ledger.evaluation import ClaimError, evaluate
from hessian_spectra.results import write_arrays
from hessian_spectra.studies.identities.identities import claims as identities
from hessian_spectra.studies.identities.identities.checks import CHECKS

STUDIES = {"thm": {"kind": "identities", "config": {"seed": 3}}}


def write(folder, closed_form, numerics):
    write_arrays(folder / "closed_form" / "thm.npz", closed_form)
    write_arrays(folder / "numerics" / "thm.npz", numerics)
    return folder


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    folder = write(tmp_path_factory.mktemp("results"), *both_sides())
    return [record for record in evaluate(STUDIES, folder) if record["study"] == "thm"]


def test_every_check_has_a_statement():
    assert set(identities.STATEMENTS) == set(CHECKS)


def test_every_erratum_is_corrected_and_all_else_reproduced(records):
    for record in records:
        expected = "corrected" if record["printed"] else "reproduced"
        assert (record["id"], record["verdict"]) == (record["id"], expected)


def test_an_erratum_records_both_errors(records):
    errata = [record for record in records if record["verdict"] == "corrected"]
    assert len(errata) >= 25
    for record in errata:
        assert record["measured"] <= record["tolerance"]
        assert record["printed_error"] > 1e-3


def test_a_statement_of_two_papers_is_a_claim_of_each(records):
    papers = {record["paper"] for record in records}
    expected = {"singh2024closed", "singh2024poster", "singh2026cracking", "anon2026data"}
    assert papers == expected
    places = {
        record["id"]: record["location"] for record in records if "linear-spectrum" in record["id"]
    }
    assert places == {
        "thm/linear-spectrum": "Theorem 3.1",
        "thm/linear-spectrum-2024": "Theorem 1",
        "thm/linear-spectrum-poster": "key result, linear network",
    }


def test_a_broken_theorem_fails_by_name(tmp_path):
    closed_form, numerics = both_sides()
    values = closed_form["multi_input.eigenvalues"].copy()
    values[0] += 1e-3
    write(tmp_path, closed_form | {"multi_input.eigenvalues": values}, numerics)
    with pytest.raises(ClaimError) as caught:
        evaluate(STUDIES, tmp_path)
    message = str(caught.value)
    assert "thm/multi-input-spectrum: measured" in message
    assert "(tolerance 1e-10)" in message
    assert "thm/relu-spectrum" not in message


def test_nan_in_brute_force_fails_by_name(tmp_path):
    closed_form, numerics = both_sides()
    values = numerics["relu.eigenvalues"].copy()
    values[0] = np.nan
    write(tmp_path, closed_form, numerics | {"relu.eigenvalues": values})
    with pytest.raises(ClaimError, match="thm/relu-spectrum: measured NaN"):
        evaluate(STUDIES, tmp_path)


def test_a_print_that_turns_out_right_is_no_erratum(tmp_path):
    closed_form, numerics = both_sides()
    right = closed_form["linear.outliers"]
    write(tmp_path, closed_form | {"linear.printed_poster_outliers": right}, numerics)
    records = {record["id"]: record for record in evaluate(STUDIES, tmp_path)}
    assert records["thm/linear-poster-poster"]["verdict"] == "reproduced"


def test_every_row_of_the_table_is_there(records):
    text = ledger.table(records)
    assert sum(line.startswith("| reproduced |") for line in text.splitlines()) == sum(
        record["verdict"] == "reproduced" for record in records
    )
    assert "4(2⟨w, v⟩ − yx)²" in text
