"""Where networks stand, against courses of a loss that are written down."""

import math

import numpy as np
import pytest

from hessian_papers.studies.layerwise.ensembles import LABELS, each_network
from hessian_papers.studies.layerwise.standing import late_progress, with_standing
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
