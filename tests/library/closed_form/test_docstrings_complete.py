"""Every public function shows an example and names its source."""

import doctest
import inspect

import pytest

from hessian_spectra import closed_form as cf


@pytest.mark.parametrize("name", [n for n in cf.__all__ if inspect.isfunction(getattr(cf, n))])
def test_every_public_function_has_an_example_and_a_source(name):
    function = getattr(cf, name)
    examples = doctest.DocTestFinder().find(inspect.unwrap(function), name)
    assert sum(len(test.examples) for test in examples) > 0
    assert "Source:" in function.__doc__
