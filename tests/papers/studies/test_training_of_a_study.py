"""Studies of a training share the start, what is watched and kept, and the whole spectrum."""

import numpy as np
import pytest
import torch
from study_configs import HEAD

from hessian_papers.studies.training import (
    HiddenLayerConfig,
    curvature_shown,
    numeric_spectrum,
    recorded,
    require_dense,
)
from hessian_papers.training.descent import Record, Trajectory
from hessian_spectra.closed_form import two_layer_linear
from hessian_spectra.curvature import DENSE_LIMIT
from hessian_spectra.models import TwoLayerLinear

X = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64)
Y = torch.tensor([1.0, 0.0, -1.0], dtype=torch.float64)


def config(**changes):
    fields = {
        "data": "test",
        "seed": 3,
        "width": 4,
        "initial_scale": 0.5,
        "learning_rate": 0.1,
        "steps": 10,
        "record_every": 1,
        "numeric_every": 1,
    }
    return HiddenLayerConfig(**(HEAD | fields | changes))


def closed_form(v, w, x, y):
    return two_layer_linear(w=w, v=v, x=x, y=y)


def test_the_initial_scale_is_the_norm_of_a_layer():
    weights = config(width=500).initial_weights()
    assert weights.shape == (2, 500)
    assert weights.dtype == torch.float64
    # The norm's standard deviation is 0.5 / √1000 = 0.016; this is five of them.
    np.testing.assert_allclose(weights.norm(dim=1), 0.5, atol=0.08)


def test_another_scale_is_the_same_draw():
    plain, doubled = config().initial_weights(3), config().initial_weights(3, scale=1.0)
    assert plain.shape == (2, 3, 4)
    torch.testing.assert_close(doubled, 2 * plain)
    assert not torch.equal(config(seed=4).initial_weights(3), plain)


def test_a_width_without_a_whole_spectrum_is_refused():
    largest = DENSE_LIMIT // 2
    assert config(width=largest).width == largest
    with pytest.raises(ValueError, match=rf"^width: expected at most {largest} for the whole spec"):
        config(width=largest + 1)
    with pytest.raises(ValueError, match=r"^depth: "):
        require_dense(DENSE_LIMIT + 1, "depth")


@pytest.mark.parametrize(("steps", "measured"), [(5, 6), (100, 101), (1000, 101), (250, 126)])
def test_some_hundred_steps_are_measured(steps, measured):
    measure = curvature_shown(closed_form, X, Y, steps)
    v, w = config().initial_weights()
    parameters = {"v": v, "w": w}
    shown = [
        measure(Record(step=step, loss=1.0, parameters=parameters)) for step in range(steps + 1)
    ]
    assert sum(map(bool, shown)) == measured
    eigenvalues = numeric_spectrum(TwoLayerLinear(v, w), X, Y)
    assert shown[0] == pytest.approx(
        {"sharpness": eigenvalues.max(), "trace": eigenvalues.sum()}, rel=1e-12
    )


def test_a_record_that_comes_late_is_measured_then():
    """Where records are sparse each of them is, and none counts for those before it."""
    measure = curvature_shown(closed_form, X, Y, 1000)
    v, w = config().initial_weights()
    steps = [0, 7, 13, 15, 23, 400]
    shown = [
        step for step in steps if measure(Record(step=step, loss=1.0, parameters={"v": v, "w": w}))
    ]
    assert shown == [0, 13, 23, 400]


@pytest.mark.parametrize(("diverged_at", "kept"), [(None, -1), (7, 7), (0, 0)])
def test_a_training_is_kept_with_each_parameter(diverged_at, kept):
    values = torch.arange(6, dtype=torch.float64).reshape(2, 3)
    trajectory = Trajectory(
        steps=torch.tensor([0, 5]),
        losses=torch.tensor([1.0, 0.5], dtype=torch.float64),
        parameters={"v": values, "w": -values},
        diverged_at=diverged_at,
    )
    arrays = recorded(trajectory)
    assert list(arrays) == ["step", "loss", "diverged_at", "v", "w"]
    assert arrays["diverged_at"].item() == kept
    np.testing.assert_array_equal(arrays["w"], -values.numpy())
    assert arrays["step"].tolist() == [0, 5]


@pytest.mark.parametrize("per", ["sample", "element"])
def test_the_numerical_spectrum_is_the_closed_forms(per):
    """Both averages of one output are the same."""
    v, w = config().initial_weights()
    expected = closed_form(v, w, X, Y).eigenvalues
    spectrum = numeric_spectrum(TwoLayerLinear(v, w), X, Y, per)
    np.testing.assert_allclose(spectrum, expected, atol=1e-12 * float(expected.abs().max()))
    unchecked = numeric_spectrum(TwoLayerLinear(v, w), X, Y, per, check=False)
    np.testing.assert_array_equal(unchecked, spectrum)
