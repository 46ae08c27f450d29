"""Cases and runs that tests make up."""

from pathlib import Path

from hessian_papers.ledger.bounds import Bound
from hessian_papers.ledger.evaluation import Measured
from hessian_papers.ledger.statements import Entry, Heading
from hessian_papers.results import Provenance

CONFIG = {"paper": "singh2026cracking", "artifact": "Figure 0", "width": 10, "seed": 0}
BOUND = Bound(relation="<=", expected=10.0, tolerance=0.0, reason="a round number")
BOUND_FIELDS = ("relation", "expected", "tolerance", "reason", "source")


HEADING = {
    "id": "agreement",
    "places": {"singh2026cracking": "Theorem 0"},
    "sentence": "Both sides agree: |a − b| = 0.",
    "statistic": "largest difference.",
    "quantifier": "always",
    "book": "theorems",
    "identity": True,
}
OBSERVED = {"quantifier": "everywhere", "book": "observations", "identity": False}


def case(**changes):
    """A case of the study ``toy`` that was measured as 0, of an identity, with changes."""
    bound = {"relation": "<=", "expected": 0.0, "tolerance": 1e-10, "reason": "round-off"}
    bound |= {name: changes.pop(name) for name in BOUND_FIELDS if name in changes}
    heading = HEADING | {
        name: changes.pop(name)
        for name in (*HEADING, "printed", "state", "assumes", "surrogate")
        if name in changes and name != "id"
    }
    heading |= {"id": changes.pop("statement", HEADING["id"])}
    fields = {
        "id": "toy/case",
        "heading": Heading(**heading),
        "labels": {"time": "trained"},
        "study": "toy",
        "test": "tests/papers/ledger/test_evaluation.py",
        "bound": Bound(**bound),
        "measure": lambda: 0.0,
    }
    return Entry(**(fields | changes))


def run_of(statements, folder=Path("nowhere"), *, scale="demo", study="toy", config=None, **fields):
    config = CONFIG if config is None else config
    provenance = Provenance(study=study, config=config, scale=scale, **fields)
    return Measured(statements=statements, provenance=provenance, folder=folder)


def state(statements, measure, **of):
    """State what a function measures."""

    def small(data):
        """It is small."""
        return measure(data)

    statements.statement("everywhere", "Theorem 0", BOUND, **of)(small)
