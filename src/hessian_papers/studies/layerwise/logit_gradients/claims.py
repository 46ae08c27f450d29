"""Statements of appendix G.5 of wu2022dissecting on gradients by class and score."""

import xarray as xr

from hessian_papers.ledger.bounds import at_least, at_most, needs
from hessian_papers.ledger.statements import Statements
from hessian_papers.studies.layerwise.layers import (
    before_training,
    hidden_layers,
    plain,
    with_hidden_layers,
)
from hessian_papers.studies.layerwise.logit_gradients.derived import chance

OPEN = "the paper has only pictures; half is our choice, made before any measurement"

statements = Statements()


@statements.exists(
    "appendix G.5",
    at_least(0.5, OPEN, source="ours"),
    id="gradients-cluster-by-score-at-initialisation",
    over={"network": with_hidden_layers},
    book="readings",
)
def by_score_at_first(data: xr.Dataset) -> xr.DataArray:
    """Before training the mean gradients of each class and score cluster by score.

    Statistic: fraction whose nearest neighbour has the same score, mean over networks and all
    layers but the last; interval: Student's t.
    """
    return hidden_layers(before_training(data))["by_score"].mean("layer")


def _by_class(data: xr.Dataset) -> xr.DataArray:
    """The share of neighbours of the same class after training, mean over layers but the last.

    Raises:
        NothingToMeasure: those weights are not kept.
    """
    last = data.isel(epoch=-1)
    needs(int(last["epoch"]) != 0, "this configuration keeps no weights from after training")
    return hidden_layers(last)["by_class"].mean("layer")


@statements.exists(
    "appendix G.5",
    at_most(0.5, OPEN, source="ours"),
    id="gradients-cluster-weakly-by-class",
    over={"network": plain},
    book="readings",
)
def weakly_by_class_at_last(data: xr.Dataset) -> xr.DataArray:
    """After training the mean gradients cluster by class only very weakly.

    Statistic: fraction whose nearest neighbour has the same class, mean over networks and all
    layers but the last; interval: Student's t.
    """
    return _by_class(data)


@statements.beyond.typically(
    "appendix G.5",
    at_least(0.0, "more than by chance", source="ours"),
    id="gradients-cluster-by-class-more-than-by-chance",
    over={"network": with_hidden_layers},
)
def more_by_class_than_chance(data: xr.Dataset) -> xr.DataArray:
    """After training the mean gradients cluster by class more than by chance.

    Statistic: fraction whose nearest neighbour has the same class, minus that by chance, mean over
    networks and all layers but the last; interval: Student's t.
    """
    return _by_class(data) - chance(data)
