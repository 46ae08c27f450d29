"""The errors themselves: what they call 0, what they call 1, and that NaN stays NaN."""

import numpy as np
import pytest

from hessian_spectra.studies.identities.identities.checks import CHECKS, EXACT, ROOT, ragged
from hessian_spectra.studies.identities.identities.checks.check import Check, among, same, vectors

SWAP = np.array([0.0, 1.0, 1.0, 0.0])  # [[0, 1], [1, 0]], eigenvalues ±1


def arrays(**entries):
    """Ragged arrays of one theorem ``t`` from lists of lists."""
    found = {}
    for name, rows in entries.items():
        found[f"t.{name}"] = np.concatenate([np.asarray(row, dtype=float) for row in rows])
        found[f"t.{name}.counts"] = np.array([len(row) for row in rows])
    return found


def test_parts_keep_empty_instances():
    found = ragged.parts(arrays(a=[[], [1.0], [], [2.0, 3.0]]), "t.a")
    assert [part.tolist() for part in found] == [[], [1.0], [], [2.0, 3.0]]


def test_numbers_refuse_more_than_one_each():
    with pytest.raises(ValueError, match=r"t\.a: expected one number an instance"):
        ragged.numbers(arrays(a=[[1.0], [2.0, 3.0]]), "t.a")


class TestErrors:
    def test_relative_error_is_over_the_largest_value(self):
        assert ragged.relative(np.array([1.0, 11.0]), np.array([0.0, 10.0])) == 0.1

    def test_relative_error_of_zeros_is_absolute(self):
        assert ragged.relative(np.array([0.5]), np.array([0.0])) == 0.5

    def test_excess_is_zero_below_the_bound(self):
        assert ragged.excess(1.0, 2.0, 10.0) == 0
        assert ragged.excess(3.0, 2.0, 10.0) == 0.1

    @pytest.mark.parametrize(
        "error",
        [
            lambda: ragged.relative(np.array([np.nan]), np.array([1.0])),
            lambda: ragged.excess(np.nan, 2.0, 1.0),
            lambda: ragged.excess(1.0, np.nan, 1.0),
            lambda: ragged.residual(SWAP, np.array([[np.nan], [1.0]]), np.array([1.0])),
            lambda: ragged.root_error(np.array([1.0, np.nan]), np.array([1.0])),
        ],
    )
    def test_nan_stays_nan(self, error):
        assert np.isnan(error())

    def test_residuals_ignore_the_length_of_a_vector(self):
        assert ragged.residual(SWAP, np.array([[3.0], [3.0]]), np.array([1.0])) < 1e-15
        assert ragged.residual(SWAP, np.array([[3.0], [3.0]]), np.array([-1.0])) == pytest.approx(2)

    def test_a_zero_vector_is_no_eigenvector(self):
        assert ragged.residual(SWAP, np.zeros((2, 1)), np.array([1.0])) == 1.0

    def test_a_small_root_counts_like_a_large_one(self):
        cubic = np.poly([0.0, 1e-3, 1e3])
        assert ragged.root_error(cubic, np.array([0.0, 1e-3, 1e3])) < 1e-15
        assert ragged.root_error(cubic, np.array([500.0, 1e-3, 1e3])) > 0.1


class TestComparisons:
    exact = arrays(a=[[1.0, 2.0], [3.0]], z=[[1.0, 1.0], [1.0, 0.0]], v=[[1.0], [1.0]])
    numeric = arrays(a=[[1.0, 2.0], [4.0]], hessian=[SWAP, SWAP])

    def test_every_instance_has_its_own_error(self):
        assert same("a", "t")(self.exact, self.numeric).tolist() == [0.0, 0.25]

    def test_vectors_are_held_against_the_hessian(self):
        errors = vectors("t", "z", "v")(self.exact, self.numeric)
        assert errors[0] < 1e-15
        assert errors[1] == pytest.approx(2**0.5)

    def test_only_chosen_instances_count(self):
        first = among(same("a", "t"), lambda exact, numeric: np.array([True, False]))
        assert first(self.exact, self.numeric).tolist() == [0.0]

    def test_no_instance_at_all_proves_nothing(self):
        none = among(same("a", "t"), lambda exact, numeric: np.zeros(2, dtype=bool))
        assert np.isnan(none(self.exact, self.numeric)).all()


def test_every_tolerance_has_its_reason():
    assert {check.tolerance for check in CHECKS.values()} == {EXACT, ROOT}
    exact, root = Check("a", same("a", "t")), Check("b", same("a", "t"), None, ROOT)
    assert "round-off" in exact.reason
    assert "double root" in root.reason


def test_labels_tell_the_checks_apart():
    labels = [check.label for check in CHECKS.values()]
    assert len(set(labels)) == len(labels)
