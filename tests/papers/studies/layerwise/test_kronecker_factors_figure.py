"""The figure of Kronecker factors shows all of what it draws."""

import matplotlib.pyplot as plt
from claims_contract import planted_data
from test_kronecker_factors_claims import sides

from hessian_papers.studies.layerwise.kronecker_factors.figure import draw
from hessian_papers.studies.layerwise.kronecker_factors.study import VARIABLES


def test_no_band_is_cut_off_and_an_axis_that_is_turned_says_so():
    data = planted_data(sides(), VARIABLES)
    # One network whose errors are far above the mean of all.
    first = data["seed"] == 0
    figure = draw(data.assign(spectral=data["spectral"].where(~first, 30 * data["spectral"])))
    for axes in figure.axes:
        low, high = axes.get_ylim()
        bands = [path.vertices[:, 1] for each in axes.collections for path in each.get_paths()]
        assert bands
        assert all(low < values.min() < values.max() < high for values in bands)
        assert axes.xaxis_inverted()
        assert axes.get_xlabel() == "loss, falling"
    plt.close(figure)
