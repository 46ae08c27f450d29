"""Two-layer linear networks under inputs and teachers that singh2026cracking leaves open.

D.3.3 of singh2026cracking argues with white inputs and measures on n samples of D inputs, whose
second moments are not white where D is no small share of n. The scale of its teacher is not named.
Here both are settings: the networks begin the same under all of them.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import xarray as xr

from hessian_papers.constraints import Count, DifferentNumbers
from hessian_papers.labelled import Variable, Variables
from hessian_papers.networks import multilayer
from hessian_papers.work import FanOut, Item
from hessian_spectra.files import Arrays
from hessian_spectra.validation import require

WHITE = "white"


@dataclass(frozen=True, kw_only=True)
class Config(multilayer.Points):
    """Settings of the networks.

    Args:
        samples_per_input: n/D of the inputs that are drawn. White ones, as many as the most of
            these, stand beside them.
        teacher_scales: standard deviations of the teacher's outputs.
        updates: of an epoch, about: a batch has n/``updates`` samples, rounded up.
    """

    samples_per_input: Annotated[list[int], DifferentNumbers(1)]
    teacher_scales: Annotated[list[float], DifferentNumbers(0)]
    updates: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.activation == "linear", "activation", "linear", self.activation)
        require(self.depths == [2], "depths", "[2]", self.depths)


VARIABLES: Variables = {
    **{
        name: Variable(f"inputs scale {of.dims}" if "size " in of.dims else of.dims, of.meaning)
        for name, of in multilayer.VARIABLES.items()
    },
    "inputs": Variable("inputs", "samples of each input, n/D, or white"),
    "scale": Variable("scale", "standard deviation of the teacher's outputs"),
}


def _settings(config: Config) -> dict[str, list[Any]]:
    """The labels of the settings of the data, along the dimensions that they have."""
    inputs = [*map(str, sorted(config.samples_per_input)), WHITE]
    return {"inputs": inputs, "scale": sorted(config.teacher_scales)}


def items(config: Config, data: xr.Dataset) -> list[Item]:
    """The networks of each point and teacher in chunks, under each setting of their data."""
    of_points, made = multilayer.chunks(config), list[Item]()
    for inputs, scale in itertools.product(*_settings(config).values()):
        white = inputs == WHITE
        each = max(config.samples_per_input) if white else int(inputs)
        for item in of_points:
            samples = each * item["size"]
            of_data = {"samples": samples, "batch_size": -(-samples // config.updates)}
            made.append({**item, **of_data, "scale": scale, "white": white})
    return made


def gather(config: Config, parts: Sequence[Arrays]) -> xr.Dataset:
    """The data set of all points and settings: what :data:`VARIABLES` declares."""
    return multilayer.gathered(config, parts, VARIABLES, _settings(config))


def words(given: xr.Dataset, item: Item) -> tuple[str, ...]:
    """Networks of one teacher in words, with the inputs and the teacher that they have."""
    _, parametrisation, size, teacher = multilayer.words(given, item)
    inputs = "white" if item["white"] else f"n = {item['samples'] // item['size']} D"
    return (parametrisation, size, inputs, f"scale {item['scale']:g}", teacher)


train = FanOut(
    items=items,
    compute=multilayer.compute,
    gather=gather,
    cost=multilayer.cost,
    probe=multilayer.probe,
    trains=True,
    words=words,
)
