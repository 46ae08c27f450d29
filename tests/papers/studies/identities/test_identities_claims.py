"""The claims of the identities: a row for each theorem and paper, and able to fail."""

import numpy as np
import pytest
from claims_contract import Planted, changed, contract
from identities_arrays import both_sides

from hessian_papers.labelled import write
from hessian_papers.ledger.evaluation import Measured, broken, evaluate
from hessian_papers.ledger.record import all_cases
from hessian_papers.ledger.statements import Study
from hessian_papers.results import Provenance
from hessian_papers.studies.identities.identities.claims import CITED, statements
from hessian_papers.studies.identities.identities.study import VARIABLES
from hessian_papers.theorems import THEOREMS

STUDY = Study("thm", {"kind": "identities", "paper": "singh2026cracking", "artifact": "Theorems"})


def with_errors(error, *names, form="corrected"):
    """Both sides with the errors of some theorems, or of all, changed."""
    labels = {"form": form, "theorem": [*(names or THEOREMS)]}
    sides = both_sides()
    numerics = sides["numerics"].copy(deep=True)
    numerics["error"].loc[labels] = error(numerics["error"].sel(labels).values)
    return {**sides, "numerics": numerics}


def without_instances():
    return changed(both_sides(), "numerics", instances=np.zeros_like)


@pytest.fixture
def planted():
    ones = with_errors(np.ones_like)
    needed = [name for name, theorem in THEOREMS.items() if theorem.assumption]
    without = with_errors(np.zeros_like, *needed)
    return [
        Planted(
            paper="singh2026cracking",
            artifact="Theorems",
            holds=both_sides(),
            fails=[ones, without],
            reduced=[without_instances()],
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements, VARIABLES)


def evaluated(folder, sides):
    """The ledger's statements on a study with these arrays, by name."""
    for side, data in sides.items():
        write(folder / f"{side}.nc", data)
    source = Provenance(study=STUDY.name, config=STUDY.config, scale="demo")
    run = Measured(statements=statements, provenance=source, folder=folder)
    records = evaluate([run])
    return {record.id: record for record in records if record.cases[0].study == "thm"}


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    return evaluated(tmp_path_factory.mktemp("results"), both_sides())


def test_every_erratum_is_corrected_and_all_else_reproduced(records):
    assert len(records) == sum(not theorem.of for theorem in THEOREMS.values())
    for record in records.values():
        wrong = any(case.printed_error is not None for case in record.cases)
        expected = "corrected" if wrong else "reproduced"
        assert (record.id, record.verdict) == (record.id, expected)
    ours = {CITED.get(name, name) for name, theorem in THEOREMS.items() if theorem.ours}
    assert {name for name, record in records.items() if record.book == "beyond"} == ours & {
        *records
    }


def test_parts_of_a_statement_are_its_cases_each_with_its_sentence_and_print(records):
    """The first case has the statement's own sentence."""
    spectrum = records["linear-spectrum"]
    assert spectrum.verdict == "corrected"
    assert spectrum.sentence == THEOREMS["linear-spectrum"].statement
    of = {case.id.removeprefix("thm/"): case for case in spectrum.cases}
    assert {"linear-root", "linear-cubic-2024", "linear-poster-poster"} <= {*of}
    assert (of["linear-spectrum"].sentence, of["linear-spectrum"].printed) == ("", None)
    poster = THEOREMS["linear-poster"]
    case = of["linear-poster-poster"]
    assert (case.sentence, case.printed) == (poster.statement, poster.printed)
    assert case.printed_error > 1e-3


def test_a_row_is_a_case_of_each_paper_with_both_errors(records):
    cells, basis = records["relu-blocks"], records["linear-orthonormal"]
    assert cells.places == {
        "singh2024closed": "Theorem 4, eq. (4), (37) to (42); eq. (35), (36)",
        "singh2024poster": "key result, ReLU network",
        "singh2026cracking": "appendix B.2",
    }
    assert {case.id for case in cells.cases} == {
        "thm/relu-blocks",
        "thm/relu-blocks-2024",
        "thm/relu-blocks-poster",
        "thm/relu-gradient-2024",
    }
    assert {case.labels["paper"] for case in cells.cases} == {*cells.places}
    assert all(case.tolerance == 1e-10 and case.reason for case in cells.cases)
    assert [case.printed_error for case in basis.cases] == [basis.cases[0].printed_error] * 2
    assert records["each-assumption-of-bias-is-needed"].cases[0].expected == 0.01
    assert "‖P_l‖_F^2" in records["layers-trace"].sentence


def test_a_broken_theorem_and_nan_fail_by_name(tmp_path):
    wrong = {"multi-input-spectrum": 1e-3, "relu-spectrum": np.nan}
    planted = np.array([[error] for error in wrong.values()])
    sides = with_errors(lambda errors: errors + planted, *wrong)
    lines = broken(list(evaluated(tmp_path, sides).values()))
    assert any(line.startswith("thm/relu-spectrum: measured no number") for line in lines)
    (line,) = (line for line in lines if "relu" not in line)
    assert line.startswith("thm/multi-input-spectrum: measured 0.001")
    assert "(tolerance 1e-10)" in line


def test_a_print_that_turns_out_right_is_no_erratum(tmp_path):
    right = with_errors(np.zeros_like, "linear-orthonormal", form="printed")
    records = evaluated(tmp_path, right)
    assert records["linear-orthonormal"].verdict == "reproduced"


def test_what_a_configuration_does_not_draw_is_not_tested(tmp_path):
    """A statement about no instance would hold without being looked at."""
    records = evaluated(tmp_path, without_instances())
    assert {record.verdict for record in records.values()} == {"not tested"}
    assert "draws no instance" in all_cases(records.values())[0].explanation
