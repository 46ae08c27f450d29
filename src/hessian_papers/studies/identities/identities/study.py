"""The identities behind every theorem claim: closed forms and brute force on the same instances."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from hessian_papers.data.base import ONE_FEATURE, Form
from hessian_papers.studies.base import DataStudyConfig
from hessian_papers.studies.identities.identities.attention import theorems as attention
from hessian_papers.studies.identities.identities.bias import theorems as bias
from hessian_papers.studies.identities.identities.deep import theorems as deep
from hessian_papers.studies.identities.identities.instances import Draw, Instance
from hessian_papers.studies.identities.identities.linear import theorems as linear
from hessian_papers.studies.identities.identities.relu import theorems as relu
from hessian_papers.studies.identities.identities.terms import theorems as terms
from hessian_papers.studies.identities.identities.theorem import (
    Quantities,
    Setting,
    Theorem,
    ragged,
)
from hessian_papers.studies.identities.identities.wide import theorems as wide
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.validation import require

THEOREMS: dict[str, Theorem] = {
    **linear.THEOREMS,
    **relu.THEOREMS,
    **terms.THEOREMS,
    **bias.THEOREMS,
    **wide.THEOREMS,
    **attention.THEOREMS,
    **deep.THEOREMS,
}


@dataclass(frozen=True, kw_only=True)
class Config(DataStudyConfig):
    """Settings of the identities.

    Args:
        instances: random instances of each theorem, beside its edge cases; half as many of deep
            networks, for which brute force takes two matrices each.
        width: largest hidden width; two thirds of it in deep networks.
        points: largest number of data points of an instance.
    """

    takes = ONE_FEATURE

    instances: int
    width: int
    points: int

    def __post_init__(self) -> None:
        require(self.instances >= 6, "instances", "at least 6", self.instances)
        require(2 <= self.width <= 50, "width", "2 to 50", self.width)
        require(self.points >= 2, "points", "at least 2", self.points)

    def require_data(self, form: Form) -> None:
        """Refuse other data than one feature, and too few for inputs of full rank."""
        super().require_data(form)
        # A slice takes the samples over and over: of D columns at least n/D rows are different, and
        # deep networks have up to two thirds of the width, and one, as inputs.
        columns = max(4, 2 * self.width // 3 + 1)
        least = columns * (columns + 2)
        expected = f"at least {least} samples in {self.data} for networks of width {self.width}"
        require(form.shape[0] >= least, "data", expected, form.shape[0])


def drawn(config: Config, data: Arrays) -> Iterator[tuple[str, Theorem, list[Instance]]]:
    """The theorems with their instances.

    Args:
        config: the settings.
        data: ``x`` and ``y`` ``(n,)``, the data set whose slices the instances use.
    """
    for name, theorem in THEOREMS.items():
        sizes = config.instances, config.width, config.points
        yield name, theorem, theorem.draw(Draw(config.seed, name, data["x"], data["y"], *sizes))


def closed_form(config: Config, networks: Arrays) -> Arrays:
    """Every theorem and every printed formula on its instances.

    Args:
        config: the settings.
        networks: ``x`` and ``y`` ``(n,)``, the data set whose slices the instances use.

    Returns:
        For each quantity of each theorem all its numbers and how many each instance has (see
        :func:`hessian_papers.studies.identities.identities.theorem.ragged`).
    """
    arrays: Arrays = {}
    for name, theorem, instances in drawn(config, networks):
        arrays |= ragged(name, map(theorem.stated, instances))
    return arrays


def _brute_force(setting: Setting) -> Quantities:
    """Loss, gradient, Hessian and eigenvalues of the network, by automatic differentiation."""
    loss, gradients = setting.value_and_gradients()
    matrix = cv.dense_matrix(
        cv.hessian(setting.problem(), check="once" if setting.smooth else False)
    )
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
    for name, theorem, instances in drawn(config, networks):
        measured = [
            _brute_force(setting)
            | _second_library(setting, number)
            | theorem.measured(one, setting)
            for number, one in enumerate(instances)
            for setting in [theorem.setting(one)]
        ]
        arrays |= ragged(name, measured)
    return arrays
