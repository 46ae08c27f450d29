"""The claims about the bulk eigenspace, and that leaving it would be noticed."""

import numpy as np
import pytest
from claims_contract import (
    Kind,
    Planted,
    bears_a_missing_case,
    changed,
    holds_and_fails,
    names,
    planted_data,
)
from trainings import gd_subspace_sides

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.ledger.statements import Study
from hessian_papers.studies.scalar.gd_subspace.claims import bulk_overlap, statements
from hessian_papers.studies.scalar.gd_subspace.study import OPTIMIZERS, VARIABLES

KIND = Kind(statements, VARIABLES)


@pytest.fixture(scope="module")
def sides():
    return gd_subspace_sides()


# For each claim a variable of an optimizer, and what a small departure of it looks like.
DEPARTURES = {
    "spectrum": ("numerics", "numerical", "sgd", 1e-6),
    "iterates_orthogonal": ("closed_form", "iterate", "gradient_descent", 1e-6),
    "bulk_constant": ("closed_form", "rotation", "gradient_descent", 1e-6),
    "iterates_orthogonal_extended": ("closed_form", "iterate", "nesterov", 1e-6),
    "bulk_constant_extended": ("closed_form", "rotation", "heavy_ball", 1e-6),
    "bulk_invariant": ("numerics", "invariance", "weight_decay", 1e-6),
    "bulk_overlap": ("numerics", "overlap", "sgd", -1e-6),
    "adam_leaves": ("numerics", "numerical_iterate", "adam", -1.0),
    "random_velocity_leaves": ("numerics", "numerical_iterate", "random_velocity", -1.0),
}


# Both stand on the side of the closed form, and optimizers that are not covered violate them.
TRAINED = {
    f"{name}{extended}": "the weights of each step of a training against the first one's directions"
    for name in ("iterates-orthogonal", "bulk-constant")
    for extended in ("", "-extended")
}


def departed(sides, side, variable, optimizer, shift):
    def change(values):
        values = values.copy()
        values[OPTIMIZERS.index(optimizer)] += shift
        return values

    return changed(sides, side, **{variable: change})


@pytest.fixture(scope="module")
def planted_for(sides):
    """What is planted for a claim, with what is to fail."""
    reduced = [gd_subspace_sides(width=2, steps=1), gd_subspace_sides(steps=1)]
    about = {"paper": "singh2026cracking", "artifact": "Corollary 3.1", "of_theory": TRAINED}
    return lambda *fails: [Planted(**about, holds=sides, fails=fails, reduced=reduced)]


@pytest.mark.parametrize("name", names(statements))
def test_a_claim_holds_and_fails(name, sides, planted_for):
    holds_and_fails(KIND, planted_for(departed(sides, *DEPARTURES[name])), name)


@pytest.mark.parametrize("name", names(statements))
def test_a_claim_bears_a_missing_case(name, planted_for):
    bears_a_missing_case(KIND, planted_for(), name)


@pytest.mark.parametrize("optimizer", ["heavy_ball", "nesterov", "sgd", "weight_decay"])
@pytest.mark.parametrize(
    ("name", "array"),
    [("iterates_orthogonal_extended", "iterate"), ("bulk_constant_extended", "rotation")],
)
def test_the_extension_is_about_each_of_its_optimizers(optimizer, name, array, sides, planted_for):
    far = departed(sides, "closed_form", array, optimizer, 1e-6)
    holds_and_fails(KIND, planted_for(far), name)


def test_nothing_resolved_is_not_a_success(sides):
    nowhere = changed(sides, "numerics", overlap=lambda values: np.full_like(values, np.nan))
    with pytest.raises(NothingToMeasure, match="no step at which the bulk can be told"):
        bulk_overlap(planted_data(nowhere, VARIABLES))


def test_what_step_sizes_decide_is_claimed_of_the_papers_study_alone(sides):
    study = Study("study", {"paper": "singh2026cracking", "artifact": "my own"})
    entries = statements.entries(study, planted_data(sides, VARIABLES))
    assert [entry.heading.identity for entry in entries] == [True] * 7
