"""The catalogue of theorems on one data set: what it says, and the errors against brute force."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import xarray as xr

from hessian_papers.constraints import AtLeast, Between
from hessian_papers.data.base import ONE_FEATURE
from hessian_papers.labelled import Variable, Variables, assembled, data_set
from hessian_papers.studies.base import DataStudyConfig
from hessian_papers.theorems import PAPERS, THEOREMS, Draw, drawn
from hessian_spectra.validation import require

# What the ledger and the figure take of a theorem as it stands.
STATED = {
    "label": "what the figure calls it",
    "of": "the theorem whose part it is; empty for a statement of its own",
    "ours": "whether no paper has it",
    "statement": "the sentence; for an erratum, the corrected one",
    "printed": "for an erratum, what is in print",
    "remark": "what a reader should know about the difference",
    "source": "what the error is taken from",
    "reason": "why the tolerance is what it is",
    "tolerance": "largest error that is agreement; the least one without a needed assumption",
}
VARIABLES: Variables = {
    "theorem": Variable("theorem", "name of the theorem"),
    "paper": Variable("paper", "a paper that has theorems"),
    **{name: Variable("theorem", meaning) for name, meaning in STATED.items()},
    "needed": Variable("theorem", "whether it says that assumptions are needed"),
    "place": Variable("theorem paper", "where it stands; empty where it does not"),
    "form": Variable("form", "whether a theorem is as it is printed, or corrected"),
    "instances": Variable("form theorem", "number of instances that are measured"),
    "error": Variable(
        "form theorem instance",
        "error in each instance; of a needed assumption the largest without it, for each",
    ),
    "networks": Variable("", "number of networks that are drawn"),
}


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
    width: Annotated[int, Between(2.0, 50.0, "2 to 50")]
    points: Annotated[int, AtLeast(2)]

    def require_shape(self, *shape: int) -> None:
        """Refuse data that are too few for inputs of full rank."""
        # A slice takes the samples over and over: of D columns at least n/D rows are different, and
        # deep networks have up to two thirds of the width, and one, as inputs.
        columns = max(4, 2 * self.width // 3 + 1)
        least = columns * (columns + 2)
        expected = f"at least {least} samples in {self.data} for networks of width {self.width}"
        require(shape[0] >= least, "data", expected, shape[0])


def closed_form(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """The texts of the catalogue, which do not depend on the data."""
    theorems = THEOREMS.values()
    papers = [p for p in PAPERS.values() if any(p in theorem.places for theorem in theorems)]
    stated = {name: [getattr(theorem, name) for theorem in theorems] for name in STATED}
    arrays = stated | {
        "theorem": [*THEOREMS],
        "needed": [theorem.assumption is not None for theorem in theorems],
        "paper": papers,
        "place": [[theorem.places.get(paper, "") for paper in papers] for theorem in theorems],
    }
    return data_set(arrays, VARIABLES)


def numerics(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """The error of every theorem, and of what is in print, in each instance that it is about.

    Args:
        config: the settings.
        samples: ``x`` and ``y`` ``(n,)``, the data set whose slices the instances use.
    """
    settings: dict[str, Any] = {n: getattr(config, n) for n in ("seed", "instances", "width")}
    nets = drawn(Draw(x=samples["x"].values, y=samples["y"].values, size=config.points, **settings))
    parts = []
    for name, theorem in THEOREMS.items():
        for form in ("corrected", "printed") if theorem.printed else ("corrected",):
            errors = theorem.errors(nets, printed=form == "printed")
            part = {"form": form, "theorem": name, "error": errors, "instances": len(errors)}
            parts.append({key: np.array(values) for key, values in part.items()})
    networks = sum(len(instances) for family, instances in nets.items() if family.is_network)
    number = data_set({"networks": networks}, VARIABLES)
    return assembled(parts, VARIABLES, ["form", "theorem"]).merge(number)
