"""In float64 a network of an ensemble has the bits that it has when it trains alone."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hessian_papers.models.parametrisation import draw, parametrise
from hessian_papers.models.teacher import teacher_data
from hessian_papers.training.ensemble import train_ensemble

SIZES = st.sampled_from([1, 2, 3, 5, 8, 10, 17])
HIDDEN = st.sampled_from([1, 3, 8, 13, 30])


def ends(training):
    """All results, with NaN made comparable."""
    parts = [training.loss, training.epochs, training.status, training.rate]
    return [part.nan_to_num(-1.0) for part in (*parts, *training.ensemble.weights)]


@settings(max_examples=60, derandomize=True, database=None)
@given(data=st.data())
def test_each_network_has_the_bits_that_it_has_alone(data):
    sizes = (data.draw(SIZES), *data.draw(st.lists(HIDDEN, min_size=1, max_size=3)))
    sizes = (*sizes, data.draw(SIZES))
    activation = data.draw(st.sampled_from(["linear", "relu"]))
    name = data.draw(st.sampled_from(["sp", "mup", "ntp"]))
    networks = data.draw(st.lists(st.integers(0, 99), min_size=2, max_size=5, unique=True))
    samples = data.draw(st.integers(1, 40))
    options = {
        "factors": parametrise(name, sizes).learning_rates,
        "batch_size": data.draw(st.integers(1, 48)),
        "order": data.draw(st.sampled_from(["own", "shared"])),
        # From slow ones to ones at which some networks diverge.
        "learning_rate": data.draw(st.sampled_from([0.01, 0.1, 1.0])),
        "smallest_rate": 0.005,
        "patience": 1,
        "seed": 1,
        "epochs": 12,
    }
    x, y = teacher_data(samples, sizes[0], sizes[-1], activation, 0)
    ensemble = draw(name, sizes, activation, 0, networks)
    together = ends(train_ensemble(ensemble, x, y, networks=networks, **options))
    for place, number in enumerate(networks):
        single = ensemble.select([place])
        alone = ends(train_ensemble(single, x, y, networks=[number], **options))
        for whole, part in zip(together, alone, strict=True):
            assert torch.equal(whole[place], part[0])


def test_networks_that_end_at_different_times_keep_their_bits():
    sizes, networks = (10, 100, 10), list(range(20))
    x, y = teacher_data(256, 10, 10, "linear", 0)
    # Two of them start where they diverge, so that others move up in the stack.
    ensemble = draw("sp", sizes, "linear", 0, networks)
    for weight in ensemble.weights:
        weight[[0, 7]] *= 1e3
    options = {
        "factors": (1.0, 1.0), "batch_size": 100, "learning_rate": 0.1, "smallest_rate": 0.01,
        "patience": 2, "seed": 1, "epochs": 60,
    }  # fmt: skip
    whole = train_ensemble(ensemble, x, y, networks=networks, **options)
    assert len(set(whole.epochs.tolist())) > 5
    assert set(whole.status.tolist()) == {0, 2}
    for place in (0, 1, 8, 19):
        single = ensemble.select([place])
        alone = train_ensemble(single, x, y, networks=[place], **options)
        for many, end in zip(ends(whole), ends(alone), strict=True):
            assert torch.equal(many[place], end[0])
