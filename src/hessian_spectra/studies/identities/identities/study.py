"""The identities behind every theorem claim: closed forms and brute force on the same instances."""

import torch

from hessian_spectra import curvature as cv
from hessian_spectra.results import Arrays
from hessian_spectra.studies.identities.identities import attention, bias, deep, linear, relu, wide
from hessian_spectra.studies.identities.identities.config import Config
from hessian_spectra.studies.identities.identities.family import Quantities, Setting, ragged

FAMILIES = {
    "linear": linear.FAMILY,
    "relu": relu.FAMILY,
    "bias": bias.FAMILY,
    "dropped": bias.DROPPED,
    "parallel": bias.PARALLEL,
    "sextic": bias.SEXTIC,
    "multi_input": wide.MULTI_INPUT,
    "correlated_input": wide.CORRELATED_INPUT,
    "multi_output": wide.MULTI_OUTPUT,
    "orthogonal": wide.ORTHOGONAL,
    "matrices": wide.MATRICES,
    "attention": attention.FAMILY,
    "rowwise": attention.ROWWISE,
    "any_layers": deep.ANY_LAYERS,
    "two_layers": deep.TWO_LAYERS,
    "balanced": deep.BALANCED,
    "recipes": deep.RECIPES,
}


def closed_form(config: Config, networks: Arrays) -> Arrays:
    """Every theorem and every printed formula on its instances.

    Args:
        config: the settings.
        networks: ``x`` and ``y`` ``(n,)``, the data set whose slices the instances use.

    Returns:
        For each quantity of each theorem all its numbers and how many each instance has (see
        :func:`hessian_spectra.studies.identities.identities.family.ragged`).
    """
    arrays: Arrays = {}
    for name, family in FAMILIES.items():
        arrays |= ragged(name, [family.exact(one) for one in family.draw(config, networks)])
    return arrays


def _brute_force(setting: Setting) -> Quantities:
    """Loss, gradient, Hessian and eigenvalues of the network, by automatic differentiation."""
    loss = setting.loss(setting.model(setting.inputs), setting.targets)
    gradients = torch.autograd.grad(loss, list(setting.model.parameters()))
    matrix = cv.dense_matrix(cv.hessian(setting.problem(), check=setting.smooth))
    return {
        "loss": loss,
        "gradient": torch.cat([part.reshape(-1) for part in gradients]),
        "hessian": matrix,
        "eigenvalues": cv.dense_spectrum(matrix).eigenvalues,
    }


def _second_library(setting: Setting, number: int) -> Quantities:
    """The same Hessian by curvlinops, on every tenth instance: it takes several times as long."""
    if number % 10 > 0:
        return {"second_hessian": torch.zeros(0, dtype=torch.float64)}
    operator = cv.hessian(setting.problem(), backend="curvlinops", check=False)
    return {"second_hessian": cv.dense_matrix(operator)}


def numerics(config: Config, networks: Arrays) -> Arrays:
    """Brute force on the same instances: loss, gradient, dense Hessian and its eigenvalues.

    The Hessian operator checks itself against finite differences in every instance, and is compared
    with another library's in some.

    Args:
        config: the settings.
        networks: ``x`` and ``y`` ``(n,)``, the data set whose slices the instances use.

    Returns:
        Like :func:`closed_form`.
    """
    arrays: Arrays = {}
    for name, family in FAMILIES.items():
        measured = [
            _brute_force(family.setting(one))
            | _second_library(family.setting(one), number)
            | family.further(one)
            for number, one in enumerate(family.draw(config, networks))
        ]
        arrays |= ragged(name, measured)
    return arrays
