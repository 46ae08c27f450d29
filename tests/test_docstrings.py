"""The examples in the docstrings are right."""

import doctest
import importlib
import pkgutil

import pytest

import hessian_papers
import hessian_spectra

# What importing curvlinops meets.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning")

MODULES = [
    module.name
    for package in (hessian_papers, hessian_spectra)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
