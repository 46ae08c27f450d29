"""Where measured networks stand: their loss and accuracy, and whether they are near a minimum."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from hessian_papers.labelled import Variable, Variables
from hessian_papers.ledger.bounds import needs
from hessian_papers.ledger.conditions import Condition
from hessian_papers.work import Item
from hessian_spectra.files import Arrays

STANDING: Variables = {
    "loss": Variable("network seed epoch", "loss over the images of the training", "nats"),
    "accuracy": Variable("network seed epoch", "share of them that is classified right"),
    "late_progress": Variable(
        "network seed",
        "share of the loss's fall from ln c, of c classes, in the second half of the training",
    ),
}
# Of a study that measures each network at a single epoch.
AT_ONE_EPOCH: Variables = {
    name: variable._replace(dims="network seed") for name, variable in STANDING.items()
}
# Our reading of "minimum": no more than this share of its fall comes late.
NEAR = 0.05
READING = (
    "By our reading at a minimum at most a twentieth of the loss's fall comes in the second half "
    "of the training. The fall is counted from the loss of guesses, ln c."
)


def late_progress(losses: Sequence[float], classes: int) -> float:
    """The share of a loss's fall that came in the second half of the epochs.

    The fall is counted from ``ln c``, the loss of guesses among c classes.

    Args:
        losses: after each epoch.
        classes: c.

    Returns:
        The share; 1 where the loss never came below that of guesses.

    Example:
        >>> late_progress([math.log(2) - 0.5, math.log(2) - 0.6], classes=2).__round__(3)
        0.167
    """
    course = [math.log(classes), *losses]
    fall = course[0] - course[-1]
    return (course[len(losses) // 2] - course[-1]) / fall if fall > 0 else 1.0


def standing_of(networks: xr.Dataset, network: str, seed: Any, epoch: int) -> Arrays:
    """The :data:`STANDING` of one architecture at an epoch.

    Args:
        networks: of classifiers.
        network: the architecture.
        seed: of the training; of several there are as many numbers.
        epoch: whose weights are kept.
    """
    classes, end = int(networks["labels"].max()) + 1, int(networks["kept"].max())
    own = networks.sel(network=network, seed=seed)
    courses = own["epoch_loss"].transpose(..., "epoch").values[..., :end]
    late = np.apply_along_axis(lambda each: late_progress(each.tolist(), classes), -1, courses)
    kept = {name: own[name].sel(kept=epoch).values for name in ("loss", "accuracy")}
    return {**kept, "late_progress": np.asarray(late)}


def with_standing(items: Sequence[Item], networks: xr.Dataset) -> list[Item]:
    """Items of networks whose labels say as well where each stands.

    Args:
        items: as :func:`~hessian_papers.studies.layerwise.ensembles.each_network` gives them.
        networks: of classifiers.
    """

    def stand(labels: Arrays) -> Arrays:
        return standing_of(
            networks, *(labels[name].item() for name in ("network", "seed", "epoch"))
        )

    return [{**item, "labels": item["labels"] | stand(item["labels"])} for item in items]


def require_minimum(data: xr.Dataset) -> None:
    """Refuse a network that is not near a minimum, which statements about minima do not judge.

    Args:
        data: of one architecture, all seeds.

    Raises:
        NothingToMeasure: it is not, or the run does not say where it stands.
    """
    late = _late_in(data)
    needs(
        not math.isnan(late),
        "This run was recorded without the losses of its networks. Whether they are near a "
        "minimum, of which the statement is, is not known.",
    )
    last = data.isel(epoch=-1) if "epoch" in data.dims else data
    needs(
        late <= NEAR,
        f"{data['network'].item()} stands at {_numbers(last)}, and {late:.0%} "
        f"of the fall came late. {READING} The statement is about a minimum.",
    )


def _late_in(data: xr.Dataset) -> float:
    """The largest share of a fall that came late; NaN of a run that does not say it.

    A run that has the losses of a few epochs alone says it where one of them is the half: of the
    fall from initialisation.
    """
    if "late_progress" in data:
        return float(data["late_progress"].max())
    half = int(data["epoch"].max()) // 2 if "epoch" in data else 0
    if "loss" not in data or not {0, half} <= {*data["epoch"].values.tolist()}:
        return math.nan
    loss = data["loss"]
    last = loss.isel(epoch=-1)
    return float(((loss.sel(epoch=half) - last) / (loss.sel(epoch=0) - last)).max())


NEAR_A_MINIMUM = Condition("near a minimum", require_minimum)


def _numbers(data: xr.Dataset) -> str:
    """Mean loss and accuracy over seeds."""
    loss, accuracy = (float(data[name].mean("seed")) for name in ("loss", "accuracy"))
    return f"loss {loss:.3g} and accuracy {accuracy:.3g}"


def standings(data: xr.Dataset) -> str:
    """The sentence of a caption on where the networks stand that were measured last.

    It has the range over networks: a caption has no room for each, which the data set has.

    Example:
        >>> standings(xr.Dataset(coords={"epoch": [0, 2]}))
        "After 2 epochs; this run was recorded without its networks' loss and accuracy."
    """
    after = f"After {int(data['epoch'][-1])} epochs"
    if "loss" not in data:
        return f"{after}; this run was recorded without its networks' loss and accuracy."
    last = data.isel(epoch=-1)

    def shown(name: str) -> str:
        means = np.atleast_1d(last[name].mean("seed").values)
        return " to ".join(f"{value:.3g}" for value in dict.fromkeys((means.min(), means.max())))

    return f"{after}: training loss {shown('loss')}, accuracy {shown('accuracy')}."
