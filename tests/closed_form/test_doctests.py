"""The examples in the docstrings are right, and every public function has one."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

from hessian_spectra import closed_form as cf

MODULES = [f"{cf.__name__}.{module.name}" for module in pkgutil.iter_modules(cf.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


@pytest.mark.parametrize("name", [n for n in cf.__all__ if inspect.isfunction(getattr(cf, n))])
def test_every_public_function_has_an_example_and_a_source(name):
    function = getattr(cf, name)
    examples = doctest.DocTestFinder().find(inspect.unwrap(function), name)
    assert sum(len(test.examples) for test in examples) > 0
    assert "Source:" in function.__doc__
