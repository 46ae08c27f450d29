"""The distance of two spectra."""

import numpy as np
import pytest

from hessian_spectra.agreement import spectrum_error


def test_it_is_relative_to_the_largest_numerical_eigenvalue():
    exact = np.array([[-2.0, 1.0], [0.0, 3.0]])
    numeric = np.array([[-4.0, 1.0], [0.5, 2.0]])
    np.testing.assert_allclose(spectrum_error(exact, numeric), [0.5, 0.5])


def test_a_spectrum_of_zeros_gives_the_bare_difference():
    assert spectrum_error(np.array([0.0, 3.0]), np.zeros(2)) == 3.0


def test_spectra_of_different_length_are_refused():
    with pytest.raises(ValueError, match=r"one shape, got \(2,\) and \(3,\)"):
        spectrum_error(np.zeros(2), np.zeros(3))
