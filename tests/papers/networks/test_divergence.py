"""Which networks are left when those that diverged are left out."""

import numpy as np
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hessian_papers.labelled import LEFT_OUT, data_set
from hessian_papers.networks.classifiers import VARIABLES
from hessian_papers.networks.tools.divergence import noted, surviving


def ensemble(diverged):
    count, seeds = diverged.shape
    names = [f"F-{width}" for width in range(count)]
    arrays = {"network": np.array(names), "seed": np.arange(seeds) + 7, "diverged": diverged}
    return data_set(arrays, VARIABLES)


GRIDS = st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(lambda shape: arrays(bool, shape))


@given(GRIDS)
def test_none_that_is_left_diverged_and_no_whole_row_is_missed(diverged):
    networks = ensemble(diverged)
    names, seeds = surviving(networks, "network")
    rows = np.isin(networks["network"], names), np.isin(networks["seed"], seeds)
    assert not diverged[rows[0]][:, rows[1]].any()
    assert len(names) * len(seeds) >= (~diverged).sum(axis=1).max()
    assert (not names) == diverged.all()


@given(GRIDS)
def test_all_are_left_where_none_diverged(grid):
    networks = ensemble(np.zeros_like(grid))
    names, seeds = networks["network"].values.tolist(), networks["seed"].values.tolist()
    assert surviving(networks, "network") == (names, seeds)
    assert surviving(networks, "network", names[-1:])[0] == names[-1:]


def test_a_pair_takes_two_seeds():
    networks = ensemble(np.array([[False, True, True], [True, False, False]]))
    assert surviving(networks, "network", least=2) == (["F-1"], [8, 9])
    assert surviving(networks, "network", ["F-0"], least=2) == ([], [])


def test_a_study_is_unchanged_unless_a_network_diverged():
    measured = xr.Dataset({"norm": ("layer", np.ones(2))})
    assert noted(measured, xr.Dataset()) is measured
    assert noted(measured, ensemble(np.zeros((1, 2), dtype=bool))) is measured
    networks = ensemble(np.array([[True, False]]))
    assert int(noted(measured, networks)[LEFT_OUT]) == 1
    assert int(noted(measured.assign({LEFT_OUT: 2}), networks)[LEFT_OUT]) == 3
    assert int(noted(xr.Dataset(), networks)[LEFT_OUT]) == 1
