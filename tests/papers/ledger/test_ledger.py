"""The whole ledger: what stands behind its claims is there, and each study states something."""

import ast
from functools import cache
from pathlib import Path

import pytest
import yaml

from hessian_papers.ledger.bounds import Bound
from hessian_papers.ledger.evaluation import broken, evaluate
from pipelines import chain, inputs, schema

ROOT = Path(__file__).resolve().parents[3]
PARAMS = yaml.safe_load((ROOT / "params.yaml").read_text())
KINDS = schema.kinds("studies")


def claims_of(kind):
    return schema.module_of("studies", kind, "", "claims").claims


@cache
def functions(path: str) -> set[str]:
    """The tests of a file: defined there, or named there as those that something else returns."""
    named = set()
    for node in ast.parse((ROOT / path).read_text()).body:
        if isinstance(node, ast.FunctionDef):
            named.add(node.name)
        elif isinstance(node, ast.Assign):
            named |= {found.id for found in ast.walk(node) if isinstance(found, ast.Name)}
    return named


@pytest.mark.parametrize("kind", KINDS)
def test_the_test_behind_each_claim_exists(kind):
    for claim in claims_of(kind).all:
        path, _, name = claim.test.partition("::")
        assert (ROOT / path).is_file(), f"{claim.function_name}: there is no {path}"
        assert name.partition("[")[0] in functions(path), f"{claim.function_name}: no {name}"


@pytest.mark.parametrize("kind", KINDS)
def test_every_claim_is_about_a_study_that_there_is(kind):
    configs = [study for study in PARAMS["studies"].values() if study["kind"] == kind]
    for claim in claims_of(kind).all:
        assert any(claim.is_about(config) for config in configs), claim.function_name


@pytest.mark.parametrize("study", PARAMS["studies"])
def test_every_study_states_something(study):
    config = PARAMS["studies"][study]
    assert any(claim.is_about(config) for claim in claims_of(config["kind"]).all)


@pytest.fixture(scope="module")
def ledger():
    """The claims on the recorded runs, and on those of today that were made."""
    told = {name: inputs.about(PARAMS, name) for name in PARAMS["studies"]}
    runs = chain.measured(PARAMS["studies"], told, ROOT / "results")
    return evaluate([run for run in runs if run.folder.is_dir()])


def test_every_difference_is_explained_or_was_set_otherwise(ledger):
    runs = [run for record in ledger for run in record.runs]
    assert {run.study for run in runs if run.recorded} >= {"cracking-fig4", "data-fig1c"}
    differing = [run for run in runs if run.verdict == "differs"]
    assert len(differing) >= 10
    assert [one.id for one in differing if not (one.explanation.strip() or one.departs)] == []


def test_every_claim_is_measured_and_no_identity_is_broken(ledger):
    assert broken(ledger) == []
    unknown = [record.id for record in ledger if "could not be measured" in record.explanation]
    assert unknown == []


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
    bound = Bound(relation=relation, expected=1.0, tolerance=0.2, reason="a test")
    assert bound.holds(measured) is expected
