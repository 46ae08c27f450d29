"""Statements of appendix G.5 of wu2022dissecting on gradients by class and score."""

import xarray as xr

from hessian_papers.ledger.bounds import at_least, at_most, needs
from hessian_papers.ledger.conditions import AT_INITIALISATION
from hessian_papers.ledger.statements import Statements
from hessian_papers.studies.layerwise.layers import (
    before_training,
    hidden_layers,
    plain,
    with_hidden_layers,
)
from hessian_papers.studies.layerwise.standing import NEAR_A_MINIMUM

OPEN = "the paper has only pictures; half is our choice, made before any measurement"

statements = Statements()


@statements.exists(
    "appendix G.5",
    at_least(0.5, OPEN, source="ours"),
    id="gradients-cluster-by-score-at-initialisation",
    state=AT_INITIALISATION,
    over={"network": with_hidden_layers},
    book="readings",
)
def by_score_at_first(data: xr.Dataset) -> xr.DataArray:
    """Before training the mean gradients of each class and score cluster by score.

    Statistic: fraction whose nearest neighbour has the same score, mean over networks and all
    layers but the last; interval: Student's t.
    """
    return hidden_layers(before_training(data))["by_score"].mean("layer")


@statements.exists(
    "appendix G.5",
    at_most(0.5, OPEN, source="ours"),
    id="gradients-cluster-weakly-by-class",
    state=NEAR_A_MINIMUM,
    over={"network": plain},
    book="readings",
)
def weakly_by_class_at_last(data: xr.Dataset) -> xr.DataArray:
    """At a minimum the mean gradients may cluster by class only very weakly.

    Statistic: fraction whose nearest neighbour has the same class, mean over networks and all
    layers but the last; interval: Student's t.
    """
    last = data.isel(epoch=-1)
    needs(int(last["epoch"]) != 0, "this configuration keeps no weights from after training")
    return hidden_layers(last)["by_class"].mean("layer")
