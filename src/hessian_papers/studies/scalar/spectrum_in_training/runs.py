"""The settings of one training of a small network, and the networks that there are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch
from torch import Tensor, nn

from hessian_papers.constraints import AtLeast, Checked, Fraction, OneOf, Positive, Scale
from hessian_papers.training.optimizers import stochastic_gradient_descent
from hessian_spectra import closed_form as cf
from hessian_spectra.models import MultiInputLinear, TwoLayerLinear, TwoLayerReLU
from hessian_spectra.seeding import generator
from hessian_spectra.spectrum import Spectrum
from hessian_spectra.validation import require


class Network(NamedTuple):
    """A kind of networks.

    Attributes:
        model: of its weights v and w.
        spectrum: the closed form of v, w, x and y.
    """

    model: Callable[[Tensor, Tensor], nn.Module]
    spectrum: Callable[[Tensor, Tensor, Tensor, Tensor], Spectrum]


SEVERAL = "multi_input"
NETWORKS: Mapping[str, Network] = {
    "linear": Network(TwoLayerLinear, lambda v, w, x, y: cf.two_layer_linear(w, v, x, y)),
    "relu": Network(TwoLayerReLU, lambda v, w, x, y: cf.two_layer_relu(w, v, x, y)),
    SEVERAL: Network(MultiInputLinear, lambda v, w, x, y: cf.multi_input(w, v, x, y)),
}


@dataclass(frozen=True, kw_only=True)
class Run(Checked):
    """Settings of one training; what is not given is as in plain gradient descent.

    Args:
        network: ``linear``, ``relu``, or ``multi_input``, a linear one of several inputs.
        initial_scale: as that of the study.
        learning_rate: as that of the study.
        adam: whether Adam takes the steps, without any of what follows.
        momentum: heavy-ball momentum.
        nesterov: whether it looks ahead.
        velocity_scale: standard deviation of the velocity at the start; 0 for a start at rest.
        weight_decay: its coefficient.
        batch_size: samples of a step; 0 for all of them.
    """

    network: Annotated[str, OneOf(tuple(NETWORKS))] = "linear"
    initial_scale: Scale
    learning_rate: Positive
    adam: bool = False
    momentum: Fraction = 0.0
    nesterov: bool = False
    velocity_scale: Annotated[float, AtLeast(0)] = 0.0
    weight_decay: Annotated[float, AtLeast(0)] = 0.0
    batch_size: Annotated[int, AtLeast(0)] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("nesterov", "velocity_scale"):
            fits = self.momentum > 0 or not getattr(self, name)
            require(fits, name, "a momentum above 0 with it", self.momentum)

    def optimizer(self, model: nn.Module, seed: int) -> torch.optim.Optimizer:
        """The optimizer of a network; the seed is that of a random velocity."""
        if self.adam:
            return torch.optim.Adam(model.parameters(), lr=self.learning_rate)
        velocity = None
        if self.velocity_scale:
            draws = generator(seed, "velocity")
            velocity = [
                self.velocity_scale * torch.randn(of.shape, generator=draws, dtype=torch.float64)
                for of in model.parameters()
            ]
        return stochastic_gradient_descent(
            model,
            velocity,
            lr=self.learning_rate,
            momentum=self.momentum,
            nesterov=self.nesterov,
            weight_decay=self.weight_decay,
        )

    def layers(self, parameters: Sequence[Tensor], dim: int = 0) -> tuple[Tensor, Tensor]:
        """The weights v and w; of several inputs the parameters are v_1, w_1, v_2, w_2, ..."""
        if self.network == SEVERAL:
            v, w = (torch.stack([*parameters[layer::2]], dim=dim) for layer in (0, 1))
        else:
            v, w = parameters
        return v, w

    def spectrum(self, *parameters_and_samples: Tensor) -> Spectrum:
        """The closed form of a network's parameters in their order, x and y."""
        *parameters, x, y = parameters_and_samples
        return NETWORKS[self.network].spectrum(*self.layers(parameters), x, y)
