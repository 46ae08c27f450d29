"""Each parametrisation obeys its law: how outputs and updates go with the width of the layers."""

import pytest
import torch

from hessian_papers.models.parametrisation import PARAMETRISATIONS, draw, parametrise
from hessian_spectra.models import Ensemble, HalfSquaredError

INPUTS, OUTPUTS, SAMPLES = 3, 2, 5
WIDTHS = [32, 128, 512]
NETWORKS = 20
BASE_RATE = 1e-6  # small enough that a step acts to first order


def sizes(depth, width):
    return (INPUTS, *[width] * (depth - 1), OUTPUTS)


def measured(name, depth, width, activation):
    """Mean squares: outputs at the start, their change in a step, that of the last features."""
    shape = sizes(depth, width)
    said = parametrise(name, shape)

    def gaussian(*axes, seed=0):
        random = torch.Generator().manual_seed(seed)
        return torch.randn(axes, dtype=torch.float64, generator=random)

    ensemble = Ensemble(
        weights=tuple(
            deviation * gaussian(NETWORKS, out, into, seed=width + layer)
            for layer, (deviation, into, out) in enumerate(
                zip(said.standard_deviations, shape[:-1], shape[1:], strict=True)
            )
        ),
        multipliers=said.multipliers,
        activation=activation,
    )
    x, y = gaussian(SAMPLES, INPUTS, seed=1), gaussian(SAMPLES, OUTPUTS, seed=2)
    squares = torch.zeros(3, dtype=torch.float64)
    for number in range(NETWORKS):
        network = ensemble.network(number)
        before = features(network, x)
        HalfSquaredError("sample")(before[-1], y).backward()
        with torch.no_grad():
            for weight, factor in zip(network.weights, said.learning_rates, strict=True):
                weight -= BASE_RATE * factor * weight.grad
            after = features(network, x)
        steps = [(new - old).detach() / BASE_RATE for new, old in zip(after, before, strict=True)]
        for place, values in enumerate((before[-1].detach(), steps[-1], steps[-2])):
            squares[place] += values.square().mean() / NETWORKS
    return squares


def features(network, x):
    """The signals of the last hidden layer, before the activation, and the outputs."""
    signals = []
    for layer, (weight, factor) in enumerate(
        zip(network.weights, network.multipliers, strict=True)
    ):
        if layer and network.activation == "relu":
            x = torch.relu(x)
        x = factor * (x @ weight.T)
        signals.append(x)
    return signals[-2:]


def exponents(name, depth, activation):
    """With which power of the width the root mean squares grow."""
    values = torch.stack([measured(name, depth, m, activation) for m in WIDTHS])
    logarithms = torch.tensor(WIDTHS, dtype=torch.float64).log()
    centred = logarithms - logarithms.mean()
    return (centred @ values.log() / 2 / centred.square().sum()).tolist()


# Powers of the width: of the outputs at the start, and of what one step of gradient descent at a
# fixed base rate changes in the outputs and in the features of the last hidden layer.
LAWS = {
    ("sp", 2): (0, 1, -0.5),
    ("sp", 3): (0, 1, 0.5),
    ("ntp", 2): (0, 0, -0.5),
    ("ntp", 3): (0, 0, -0.5),
    ("mup", 2): (-0.5, 0, 0),
    ("mup", 3): (-0.5, 0, 0),
}


@pytest.mark.parametrize("activation", ["linear", "relu"])
@pytest.mark.parametrize(("name", "depth"), LAWS)
def test_outputs_and_updates_go_with_the_width_as_they_should(name, depth, activation):
    # Twenty networks a width leave a standard error of the powers of about 0.05.
    assert exponents(name, depth, activation) == pytest.approx(LAWS[name, depth], abs=0.2)


@pytest.mark.parametrize(
    ("name", "deviations", "multipliers", "rates"),
    [
        ("sp", (12**-0.5, 300**-0.5, 300**-0.5), (1, 1, 1), (1, 1, 1)),
        ("ntp", (1, 1, 1), (0.5, 0.1, 0.1), (1, 1, 1)),
        ("mup", (0.5, 0.1, 0.02), (1, 1, 1), (25, 1, 0.04)),
    ],
)
def test_scales_of_a_network_4_100_100_4(name, deviations, multipliers, rates):
    said = parametrise(name, (4, 100, 100, 4))
    assert said.standard_deviations == pytest.approx(deviations)
    assert said.multipliers == pytest.approx(multipliers)
    assert said.learning_rates == pytest.approx(rates)


@pytest.mark.parametrize("name", PARAMETRISATIONS)
def test_weights_have_the_standard_deviations_that_are_said(name):
    shape = (4, 100, 100, 4)
    ensemble = draw(name, shape, "relu", 0, range(50))
    said = parametrise(name, shape)
    for weight, deviation in zip(ensemble.weights, said.standard_deviations, strict=True):
        # 20000 numbers or more: their mean square has a relative standard error of at most 1 %.
        assert weight.square().mean().sqrt().item() == pytest.approx(deviation, rel=0.025)
    assert ensemble.multipliers == said.multipliers
    assert ensemble.sizes == shape


def test_a_network_is_the_same_in_any_company_and_precision():
    many = draw("mup", (2, 5, 3), "linear", 7, [0, 1, 2, 3])
    few = draw("mup", (2, 5, 3), "linear", 7, [3, 1])
    single = draw("mup", (2, 5, 3), "linear", 7, [1], torch.float32)
    other = draw("mup", (2, 5, 3), "linear", 8, [1])
    for layer in range(2):
        assert torch.equal(few.weights[layer], many.weights[layer][[3, 1]])
        assert torch.equal(single.weights[layer], many.weights[layer][[1]].float())
        assert not torch.equal(other.weights[layer], many.weights[layer][[1]])
