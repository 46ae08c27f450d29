"""The claims about the bulk eigenspace, and that leaving it would be noticed."""

import numpy as np
import pytest
from claims_contract import Planted, bears_a_missing_case, changed, holds_and_fails, names
from trainings import gd_subspace_sides

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.ledger.statements import Study
from hessian_papers.studies.scalar.gd_subspace.claims import bulk_overlap, statements


@pytest.fixture(scope="module")
def sides():
    return gd_subspace_sides()


# For each claim an array, and what a small departure of it looks like.
DEPARTURES = {
    "spectrum": ("numerics", "sgd/eigenvalues", 1e-6),
    "iterates_orthogonal": ("closed_form", "gradient_descent/iterate", 1e-6),
    "bulk_constant": ("closed_form", "gradient_descent/rotation", 1e-6),
    "iterates_orthogonal_extended": ("closed_form", "nesterov/iterate", 1e-6),
    "bulk_constant_extended": ("closed_form", "heavy_ball/rotation", 1e-6),
    "bulk_invariant": ("numerics", "weight_decay/invariance", 1e-6),
    "bulk_overlap": ("numerics", "sgd/overlap", -1e-6),
    "adam_leaves": ("numerics", "adam/iterate", -1.0),
    "random_velocity_leaves": ("numerics", "random_velocity/iterate", -1.0),
}


# Both stand on the side of the closed form, and optimizers that are not covered violate them.
TRAINED = {
    f"{name}{extended}": "the weights of each step of a training against the first one's directions"
    for name in ("iterates-orthogonal", "bulk-constant")
    for extended in ("", "-extended")
}


def departed(sides, name):
    side, array, shift = DEPARTURES[name]
    return changed(sides, side, **{array: lambda values: values + shift})


@pytest.fixture(scope="module")
def planted_for(sides):
    """What is planted for a claim, with what is to fail."""
    reduced = [gd_subspace_sides(width=2, steps=1), gd_subspace_sides(steps=1)]
    about = {"paper": "singh2026cracking", "artifact": "Corollary 3.1", "of_theory": TRAINED}
    return lambda *fails: [Planted(**about, holds=sides, fails=fails, reduced=reduced)]


@pytest.mark.parametrize("name", names(statements))
def test_a_claim_holds_and_fails(name, sides, planted_for):
    holds_and_fails(statements, planted_for(departed(sides, name)), name)


@pytest.mark.parametrize("name", names(statements))
def test_a_claim_bears_a_missing_case(name, planted_for):
    bears_a_missing_case(statements, planted_for(), name)


@pytest.mark.parametrize("optimizer", ["heavy_ball", "nesterov", "sgd", "weight_decay"])
@pytest.mark.parametrize(
    ("name", "array"),
    [("iterates_orthogonal_extended", "iterate"), ("bulk_constant_extended", "rotation")],
)
def test_the_extension_is_about_each_of_its_optimizers(optimizer, name, array, sides, planted_for):
    far = {f"{optimizer}/{array}": lambda values: values + 1e-6}
    holds_and_fails(statements, planted_for(changed(sides, "closed_form", **far)), name)


def test_nothing_resolved_is_not_a_success(sides):
    unresolved = {name: np.zeros_like for name in sides["numerics"] if name.endswith("/resolved")}
    nowhere = changed(sides, "numerics", **unresolved)
    with pytest.raises(NothingToMeasure, match="no step at which the bulk can be told"):
        bulk_overlap(statements.reading(nowhere))


def test_what_step_sizes_decide_is_claimed_of_the_papers_study_alone(sides):
    study = Study("study", {"paper": "singh2026cracking", "artifact": "my own"})
    entries = statements.entries(study, statements.reading(sides))
    assert [entry.heading.identity for entry in entries] == [True] * 7
