"""The whole ledger: every study's claims are well formed, and the tests that they name exist."""

import ast
from functools import cache
from pathlib import Path

import pytest
import yaml

from hessian_spectra.ledger import not_run
from hessian_spectra.ledger.evaluation import collect
from hessian_spectra.ledger.vocabulary import VERDICTS, holds

ROOT = Path(__file__).resolve().parents[2]
STUDIES = {
    path.stem: {"kind": yaml.safe_load(path.read_text())["kind"]}
    for path in sorted((ROOT / "conf" / "studies").glob("*.yaml"))
}


@cache
def functions(path: str) -> set[str]:
    """The tests of a file, methods as ``Class::name``."""
    tree = ast.parse((ROOT / path).read_text())
    found = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found.add(node.name)
            methods = [part.name for part in node.body if isinstance(part, ast.FunctionDef)]
            found |= {f"{node.name}::{name}" for name in methods}
    return found


def claims():
    return collect(STUDIES)


def test_the_ledger_is_well_formed():
    """Unique names, statements, tolerances with reasons: ``collect`` refuses anything else."""
    assert len(claims()) > 100


@pytest.mark.parametrize("study", list(STUDIES))
def test_every_study_states_something(study):
    assert [claim for claim in claims() if claim.study == study]


def test_every_test_that_a_claim_names_exists():
    for claim in claims():
        if claim.test is None:
            assert claim.measure is None, f"{claim.id} is measured without a test behind it"
            continue
        path, _, name = claim.test.partition("::")
        assert (ROOT / path).is_file(), f"{claim.id}: there is no {path}"
        if name:
            assert name.partition("[")[0] in functions(path), f"{claim.id}: no {name} in {path}"


def test_figures_that_need_a_longer_run_are_named():
    figures = {claim.location for claim in not_run.claims()}
    assert figures == {f"Figure {number}" for number in (5, 6, 23, 24, 25)}


def test_claims_without_a_run_say_what_one_takes():
    for claim in not_run.claims():
        assert claim.measure is None
        assert claim.explanation.startswith("It takes ")


def test_there_are_four_verdicts():
    assert VERDICTS == ("reproduced", "corrected", "differs", "not run at this scale")


@pytest.mark.parametrize(
    ("measured", "relation", "expected"),
    [
        (1.1, "<=", True),
        (1.3, "<=", False),
        (0.9, ">=", True),
        (0.7, ">=", False),
        (1.1, "=", True),
        (0.7, "=", False),
        (float("nan"), "<=", False),
        (float("nan"), ">=", False),
        (float("nan"), "=", False),
    ],
)
def test_relations(measured, relation, expected):
    assert holds(measured, relation, 1.0, 0.2) is expected
