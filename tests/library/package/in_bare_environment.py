"""The installed library at work where nothing but its own dependencies is installed.

Run by the Python of such an environment; prints what it found as JSON.
"""

import importlib
import json
import pkgutil
import sys
from importlib import metadata

import hessian_spectra


def at_import():
    """The package alone: torch takes seconds, and comes when it is needed."""
    return {
        "file": hessian_spectra.__file__,
        "version": hessian_spectra.__version__,
        "metadata": metadata.version("hessian-spectra"),
        "distributions": sorted(each.metadata["Name"] for each in metadata.distributions()),
        "loads torch": "torch" in sys.modules,
    }


def library_modules():
    """All modules but the command, which runs when it is imported."""
    prefix = f"{hessian_spectra.__name__}."
    for actual in pkgutil.iter_modules(hessian_spectra.__path__, prefix):
        if actual.name.endswith("__main__"):
            continue
        yield actual.name
        if actual.ispkg:
            inside = actual.module_finder.find_spec(actual.name).submodule_search_locations
            yield from (part.name for part in pkgutil.walk_packages(inside, f"{actual.name}."))


def imported():
    """Every module of the library, with the error of those that cannot be imported."""
    errors = {}
    for name in library_modules():
        try:
            importlib.import_module(name)
        except ImportError as error:
            errors[name] = str(error)
        else:
            errors[name] = None
    return errors


def message(function):
    """The message of a function's error."""
    try:
        function()
    except ImportError as error:
        return str(error)
    return None


def spectra():
    """The closed form of a network, and what the eigen-solver finds of its Hessian."""
    import torch

    torch.manual_seed(0)
    v, w = torch.randn(2, 5, dtype=torch.float64)
    x, y = torch.randn(2, 100, dtype=torch.float64)
    models, cv = hessian_spectra.models, hessian_spectra.curvature
    loss = models.HalfSquaredError()
    problem = cv.Problem(models.TwoLayerLinear(v, w), loss, [(x, y)])
    top = cv.top_eigenpairs(cv.hessian(problem), k=3, tol=1e-10)
    return {
        "closed form": hessian_spectra.closed_form.two_layer_linear(
            w, v, x, y
        ).eigenvalues.tolist(),
        "top": top.eigenvalues.tolist(),
        "curvlinops": message(lambda: cv.hessian(problem, backend="curvlinops")),
    }


if __name__ == "__main__":
    actual = at_import()
    actual |= {"spectra": spectra(), "imported": imported()}
    print(json.dumps(actual))
