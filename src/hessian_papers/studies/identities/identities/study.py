"""The catalogue of theorems on one data set: what it says, and the errors against brute force."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from hessian_papers.constraints import AtLeast
from hessian_papers.data.base import ONE_FEATURE, Form
from hessian_papers.studies.base import DataStudyConfig
from hessian_papers.theorems import PAPERS, THEOREMS, Draw, drawn
from hessian_spectra.files import Arrays
from hessian_spectra.validation import require

# What the ledger and the figure take of a theorem as it stands.
TEXTS = ("name", "label", "statement", "printed", "remark", "source", "reason")


@dataclass(frozen=True, kw_only=True)
class Config(DataStudyConfig):
    """Settings of the identities.

    Args:
        instances: random instances of each family of networks, beside its edge cases; half as many
            of deep networks, for which brute force takes two matrices each.
        width: largest hidden width; two thirds of it in deep networks.
        points: largest number of data points of an instance.
    """

    takes = ONE_FEATURE

    instances: Annotated[int, AtLeast(6)]
    width: int
    points: Annotated[int, AtLeast(2)]

    def __post_init__(self) -> None:
        super().__post_init__()
        require(2 <= self.width <= 50, "width", "2 to 50", self.width)

    def require_data(self, form: Form) -> None:
        """Refuse other data than one feature, and too few for inputs of full rank."""
        super().require_data(form)
        # A slice takes the samples over and over: of D columns at least n/D rows are different, and
        # deep networks have up to two thirds of the width, and one, as inputs.
        columns = max(4, 2 * self.width // 3 + 1)
        least = columns * (columns + 2)
        expected = f"at least {least} samples in {self.data} for networks of width {self.width}"
        require(form.shape[0] >= least, "data", expected, form.shape[0])


def closed_form(config: Config, networks: Arrays) -> Arrays:
    """What theory says: the texts of the catalogue.

    Args:
        config: the settings.
        networks: the data set; no text depends on it.

    Returns:
        Of each theorem its :data:`TEXTS`, ``tolerance``, and whether it says that assumptions are
        ``needed``, ``(T,)`` each; ``place`` ``(T, P)`` in each ``paper`` ``(P,)``, empty where it
        does not stand there.
    """
    theorems = THEOREMS.values()
    papers = [p for p in PAPERS.values() if any(p in theorem.places for theorem in theorems)]
    places = [[theorem.places.get(paper, "") for paper in papers] for theorem in theorems]
    texts = {text: np.array([getattr(theorem, text) for theorem in theorems]) for text in TEXTS}
    return texts | {
        "tolerance": np.array([theorem.tolerance for theorem in theorems]),
        "needed": np.array([theorem.assumption is not None for theorem in theorems]),
        "paper": np.array(papers),
        "place": np.array(places),
    }


def numerics(config: Config, networks: Arrays) -> Arrays:
    """The error of every theorem, and of what is in print, in each instance that it is about.

    Args:
        config: the settings.
        networks: ``x`` and ``y`` ``(n,)``, the data set whose slices the instances use.

    Returns:
        ``error/<name>`` ``(k,)`` and, of errata, ``printed_error/<name>`` ``(k',)``; of a needed
        assumption the largest error without it, for each assumption. ``instances``: how many
        networks there are.
    """
    nets = drawn(
        Draw(
            x=networks["x"],
            y=networks["y"],
            seed=config.seed,
            instances=config.instances,
            width=config.width,
            size=config.points,
        )
    )
    arrays = {"instances": np.array(sum(map(len, nets.values())))}
    for name, theorem in THEOREMS.items():
        arrays[f"error/{name}"] = np.array(theorem.errors(nets))
        if theorem.printed:
            arrays[f"printed_error/{name}"] = np.array(theorem.errors(nets, printed=True))
    return arrays
