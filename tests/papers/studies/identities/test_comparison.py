"""The errors themselves: what they call 0, what they call 1, and that NaN stays NaN."""

import numpy as np
import pytest

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.identities.identities import comparison, reading
from hessian_papers.studies.identities.identities.comparison import Check, Compared
from hessian_papers.studies.identities.identities.reading import CHECKS, Reading

SWAP = np.array([[0.0, 1.0], [1.0, 0.0]])  # eigenvalues ±1


def arrays(**entries):
    """Ragged arrays of one theorem ``linear`` from lists of lists."""
    found = {}
    for name, rows in entries.items():
        found[f"linear.{name}"] = np.concatenate([np.ravel(row).astype(float) for row in rows])
        found[f"linear.{name}.counts"] = np.array([np.size(row) for row in rows])
    return found


def compared(stated=None, measured=None):
    """One instance from arrays by name."""
    return Compared(
        *(lambda name, of=of: np.ravel(of[name]).astype(float) for of in (stated, measured))
    )


class TestErrors:
    def test_relative_error_is_over_the_largest_value(self):
        assert comparison.relative(np.array([1.0, 11.0]), np.array([0.0, 10.0])) == 0.1

    def test_relative_error_of_zeros_is_absolute(self):
        assert comparison.relative(np.array([0.5]), np.array([0.0])) == 0.5

    def test_nothing_agrees_with_nothing(self):
        assert comparison.relative(np.array([]), np.array([])) == 0

    def test_excess_is_zero_below_the_bound(self):
        assert comparison.excess(1.0, 2.0, 10.0) == 0
        assert comparison.excess(3.0, 2.0, 10.0) == 0.1

    @pytest.mark.parametrize(
        "error",
        [
            lambda: comparison.relative(np.array([np.nan]), np.array([1.0])),
            lambda: comparison.relative(np.array([1.0]), np.array([np.nan])),
            lambda: comparison.excess(np.nan, 2.0, 1.0),
            lambda: comparison.excess(1.0, np.nan, 1.0),
            lambda: comparison.residual(SWAP, np.array([[np.nan], [1.0]]), np.array([1.0])),
            lambda: comparison.root_error(np.array([1.0, np.nan]), np.array([1.0])),
            lambda: comparison.worst(1.0, np.nan),
            lambda: comparison.worst(np.nan, 1.0),
            lambda: Reading.worst(np.array([0.0, np.nan])),
        ],
    )
    def test_nan_stays_nan(self, error):
        assert np.isnan(error())

    def test_residuals_ignore_the_length_of_a_vector(self):
        z = np.array([[3.0], [3.0]])
        assert comparison.residual(SWAP, z, np.array([1.0])) < 1e-15
        assert comparison.residual(SWAP, z, np.array([-1.0])) == pytest.approx(2)

    def test_a_zero_vector_is_no_eigenvector(self):
        assert comparison.residual(SWAP, np.zeros((2, 1)), np.array([1.0])) == 1.0

    def test_a_small_root_counts_like_a_large_one(self):
        cubic = np.poly([0.0, 1e-3, 1e3])
        assert comparison.root_error(cubic, np.array([0.0, 1e-3, 1e3])) < 1e-15
        assert comparison.root_error(cubic, np.array([500.0, 1e-3, 1e3])) > 0.1


class TestComparisons:
    def test_what_is_stated_is_over_what_is_measured(self):
        one = compared({"a": [3.0]}, {"a": [4.0], "b": [2.0]})
        assert comparison.same("a")(one) == 0.25
        assert comparison.same("a", "b")(one) == 0.5
        assert comparison.same("a", lambda one: 3 * one.measured("b"))(one) == 0.5

    def test_vectors_are_held_against_the_hessian(self):
        errors = [
            comparison.vectors("z", "v")(compared({"z": z, "v": [1.0]}, {"hessian": SWAP}))
            for z in ([1.0, 1.0], [1.0, 0.0])
        ]
        assert errors[0] < 1e-15
        assert errors[1] == pytest.approx(2**0.5)

    def test_a_basis_has_to_be_orthonormal(self):
        z = np.array([[1.0, 1.0], [1.0, -1.0]])
        found = [
            comparison.basis()(
                compared({"eigenvectors": scale * z, "eigenvalues": [1.0, -1.0]}, {"hessian": SWAP})
            )
            for scale in (2**-0.5, 1.0)
        ]
        assert found[0] < 1e-15
        assert found[1] == 1.0

    def test_numbers_refuse_more_than_one(self):
        with pytest.raises(ValueError, match="a: expected one number an instance, got 2"):
            compared({"a": [2.0, 3.0]}).number("a")


SIDES = {
    "closed_form": arrays(a=[[], [1.0], [], [2.0, 3.0]]),
    "numerics": arrays(a=[[], [1.0], [], [2.0, 4.0]], loss=[[0.0]] * 4),
}


class TestReading:
    @pytest.fixture
    def check(self, monkeypatch):
        def plant(**fields):
            monkeypatch.setitem(CHECKS, "linear-spectrum", Check(**fields))
            return Reading(SIDES)

        return plant

    def test_empty_instances_are_kept(self):
        found = [one.stated("a").tolist() for one in Reading(SIDES).instances("linear")]
        assert found == [[], [1.0], [], [2.0, 3.0]]

    def test_every_instance_has_its_own_error(self, check):
        found = check(error=comparison.same("a")).errors("linear-spectrum")
        assert found.tolist() == [0.0, 0.0, 0.0, 0.25]

    def test_only_chosen_instances_count(self, check):
        found = check(error=comparison.same("a"), where=comparison.has("a"))
        assert found.errors("linear-spectrum").tolist() == [0.0, 0.25]

    def test_the_print_may_be_about_other_instances(self, check):
        same = comparison.same("a")
        found = check(
            error=same,
            printed=same,
            where=comparison.has("a"),
            printed_where=comparison.everywhere,
        )
        assert len(found.errors("linear-spectrum")) == 2
        assert len(found.printed_errors("linear-spectrum")) == 4

    def test_no_instance_at_all_proves_nothing(self, check):
        found = check(error=comparison.same("a"), where=lambda one: False)
        with pytest.raises(NothingToMeasure, match="draws no instance"):
            found.worst(found.errors("linear-spectrum"))


def test_every_tolerance_has_its_reason():
    assert {check.tolerance for check in CHECKS.values()} == set(comparison.REASONS)
    assert "round-off" in comparison.REASONS[comparison.EXACT]
    assert "double root" in comparison.REASONS[comparison.ROOT]


def test_labels_tell_the_checks_apart():
    labels = [statement["label"] for statement in reading.STATEMENTS.values()]
    assert len(set(labels)) == len(labels)


def test_every_check_is_an_identity_or_an_erratum():
    assert reading.IDENTITIES.keys() | reading.ERRATA.keys() == CHECKS.keys()
    assert not reading.IDENTITIES.keys() & reading.ERRATA.keys()
