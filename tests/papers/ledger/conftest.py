import pytest

from hessian_papers.ledger import evaluation
from hessian_papers.ledger.statements import Statements
from tests.papers.ledger.entries import run_of


@pytest.fixture
def alone(monkeypatch):
    """Nothing is in the ledger but what a test states."""
    monkeypatch.setattr(evaluation, "not_run", list)


@pytest.fixture
def measured(alone, monkeypatch):
    """The statements of some cases, which are the whole ledger."""

    def of(*entries, **fields):
        monkeypatch.setattr(evaluation, "collect", lambda run: list(entries))
        return evaluation.evaluate([run_of(Statements(), **fields)])

    return of


@pytest.fixture
def stated(alone):
    """A kind's statements that a test fills."""
    return Statements()
