"""Where networks stand, against courses of a loss that are written down."""

import math

import numpy as np
import pytest
import xarray as xr

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.layerwise.ensembles import LABELS, each_network
from hessian_papers.studies.layerwise.standing import (
    NEAR_A_MINIMUM,
    late_progress,
    with_standing,
)
from tests.papers.studies.layerwise import small_classifiers

GUESSES = math.log(10)


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([GUESSES - fall for fall in (0.5, 0.8, 0.9, 1.0)], 0.2),
        ([0.1, 0.1, 0.1], 0.0),
        ([0.1], 1.0),  # of one epoch nothing came before its half
        ([GUESSES + 0.1, GUESSES], 1.0),
        ([math.nan, math.nan], 1.0),
    ],
)
def test_late_progress_is_what_falls_after_half_of_the_epochs(losses, expected):
    assert late_progress(losses, 10) == pytest.approx(expected)


def test_items_say_the_loss_of_their_own_network_and_epoch(tmp_path):
    networks = small_classifiers.ensemble(tmp_path, networks=["F-6", "F-5"], seeds=2)
    items = each_network(networks, networks["kept"].values)
    for item, placed in zip(items, with_standing(items, networks), strict=True):
        labels = placed["labels"]
        assert {name: labels[name] for name in LABELS} == item["labels"]
        own = networks.sel(network=labels["network"].item(), seed=labels["seed"].item())
        for name in ("loss", "accuracy"):
            np.testing.assert_array_equal(labels[name], own[name].sel(kept=labels["epoch"].item()))
        course = own["epoch_loss"].values
        wanted = (course[0] - course[2]) / (math.log(3) - course[2])
        assert labels["late_progress"] == pytest.approx(wanted)


def test_the_losses_of_a_few_epochs_tell_where_networks_stand():
    """A run that has losses at kept epochs alone tells it where one of these is the half."""

    def data(halfway):
        losses = xr.DataArray([[[2.1, halfway, 0.1]]], dims=("network", "seed", "epoch"))
        labels = {"network": ["F-6"], "seed": [0], "epoch": [0, 10, 20]}
        return xr.Dataset({"loss": losses, "accuracy": 0 * losses}, labels)

    case = {"network": "F-6", "layer": "fc1"}
    NEAR_A_MINIMUM.check(data(0.19), case)
    with pytest.raises(NothingToMeasure, match="and accuracy 0, and 6% of the fall came late"):
        NEAR_A_MINIMUM.check(data(0.22), case)
    with pytest.raises(NothingToMeasure, match="recorded without the losses"):
        NEAR_A_MINIMUM.check(data(0.19).sel(epoch=[0, 20]), case)


def test_labels_that_are_no_places_of_the_data_do_not_hide_where_a_network_stands():
    places = ("network", "seed")
    names = ("late_progress", "loss", "accuracy")
    data = xr.Dataset({name: (places, [[0.01]]) for name in names}, {"network": ["F-6"]})
    NEAR_A_MINIMUM.check(data.assign_coords(layer=[0, 1]), {"network": "F-6", "layer": "fc1"})
