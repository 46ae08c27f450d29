"""The whole ledger: what stands behind its claims is there, and each study states something."""

import ast
from functools import cache
from pathlib import Path

import pytest
import yaml

from hessian_spectra.ledger.bounds import Bound
from hessian_spectra.ledger.record import read_claims
from pipelines import schema

ROOT = Path(__file__).resolve().parents[2]
PARAMS = yaml.safe_load((ROOT / "params.yaml").read_text())
KINDS = schema.kinds("studies")


def claims_of(kind):
    return schema.module_of("studies", kind, "", "claims").claims


@cache
def functions(path: str) -> set[str]:
    """The tests of a file."""
    tree = ast.parse((ROOT / path).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


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


def test_the_ledger_names_tests_as_they_are():
    """The committed ledger is that of today's claims."""
    for record in read_claims(ROOT / "reports"):
        if record.test is not None:
            assert (ROOT / record.test.partition("::")[0]).is_file(), record.id


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
