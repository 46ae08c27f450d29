"""The examples in the docstrings are right."""

import doctest
import importlib
import pkgutil

import pytest

import hessian_spectra

# What importing curvlinops meets.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning")

MODULES = [
    module.name
    for module in pkgutil.walk_packages(hessian_spectra.__path__, f"{hessian_spectra.__name__}.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
