"""The teacher's data have the moments that they should have."""

import pytest
import torch

from hessian_papers.models.teacher import teacher_data


@pytest.mark.parametrize(("activation", "mean_square"), [("linear", 1.0), ("relu", 0.5)])
@pytest.mark.parametrize("inputs", [5, 80])
def test_targets_have_the_same_size_whatever_the_number_of_inputs(activation, mean_square, inputs):
    x, y = teacher_data(2000, inputs, 400, activation, 0)
    # Over 400 outputs and 2000 samples these are 5 standard errors or more.
    assert x.square().mean().item() == pytest.approx(1, abs=0.08)
    assert y.square().mean().item() == pytest.approx(mean_square + 0.01, abs=0.12)


@pytest.mark.parametrize("activation", ["linear", "relu"])
def test_noise_is_added_after_the_activation(activation):
    x, exact = teacher_data(5000, 4, 3, activation, 1, noise_variance=0.0)
    again, noisy = teacher_data(5000, 4, 3, activation, 1)
    assert torch.equal(x, again)
    assert (noisy - exact).square().mean().item() == pytest.approx(0.01, rel=0.06)
    assert (exact.min() >= 0) == (activation == "relu")


@pytest.mark.parametrize("samples", [4, 9])
def test_white_inputs_have_the_identity_for_second_moments(samples):
    drawn, _ = teacher_data(samples, 4, 3, "linear", 2)
    x, y = teacher_data(samples, 4, 3, "linear", 2, noise_variance=0.0, white=True)
    torch.testing.assert_close(x.T @ x / samples, torch.eye(4).double(), rtol=0, atol=1e-12)
    # Of all matrices that make them white it is the symmetric one, which changes them least.
    change = torch.linalg.lstsq(drawn, x).solution
    torch.testing.assert_close(change, change.T, rtol=0, atol=1e-10)
    matrix = torch.linalg.lstsq(*teacher_data(50, 4, 3, "linear", 2, 0.0)).solution
    torch.testing.assert_close(y, x @ matrix, rtol=0, atol=1e-12)


def test_the_scale_is_that_of_the_outputs_and_not_of_the_noise():
    _, y = teacher_data(20, 4, 3, "relu", 2, noise_variance=0.0)
    _, scaled = teacher_data(20, 4, 3, "relu", 2, noise_variance=0.0, scale=3.0)
    torch.testing.assert_close(scaled, 3 * y)
    _, none = teacher_data(20, 4, 3, "relu", 2, noise_variance=0.25, scale=0.0)
    _, noise = teacher_data(20, 4, 3, "relu", 2, noise_variance=1.0, scale=0.0)
    torch.testing.assert_close(2 * none, noise)
