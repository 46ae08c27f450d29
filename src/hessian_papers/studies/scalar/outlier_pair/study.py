"""The pair of outlying eigenvalues of a network in training (singh2026cracking, Figure 8)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from hessian_papers.constraints import AtLeast, Different, Scale
from hessian_papers.data.base import ONE_FEATURE
from hessian_papers.results import stacked
from hessian_papers.studies.scalar.outlier_pair.many import small_outlier
from hessian_papers.studies.training import (
    HiddenLayerConfig,
    curvature_shown,
    numeric_spectrum,
    recorded,
)
from hessian_papers.training import descend, follow, stochastic_gradient_descent
from hessian_papers.work import KEEPS_NOTHING, Run
from hessian_spectra import closed_form as cf
from hessian_spectra.files import Arrays
from hessian_spectra.models import HalfSquaredError, TwoLayerLinear, TwoLayerReLU
from hessian_spectra.spectrum import Spectrum
from hessian_spectra.validation import (
    require,
)

NETWORKS: Mapping[str, type[nn.Module]] = {"linear": TwoLayerLinear, "relu": TwoLayerReLU}
# The cell that the pair belongs to; a linear network has no cells.
PAIR_CELLS: Mapping[str, str] = {"linear": "", "relu": "+"}
SPECTRA: Mapping[str, Callable[..., Spectrum]] = {
    "linear": lambda v, w, x, y: cf.two_layer_linear(w, v, x, y),
    "relu": lambda v, w, x, y: cf.two_layer_relu(w, v, x, y),
}

# The name of the additional run, always of the linear network.
HIGH = "linear_high"

# The first steps, where most happens, all get a numerical spectrum; every ``numeric_every``-th of
# the others does.
DENSE_START = 12


class Variant(NamedTuple):
    """The settings of one training run."""

    network: str
    initial_scale: float
    learning_rate: float
    momentum: float


@dataclass(frozen=True, kw_only=True)
class Config(HiddenLayerConfig):
    """Settings of the outlier-pair study.

    Args:
        networks: which networks are trained, ``linear`` and/or ``relu``; they start alike.
        momentum: heavy-ball momentum, started at rest.
        high_learning_rate: step size of one more run of the linear network, in which the loss first
            rises; 0 leaves it out.
        high_momentum: its momentum.
        high_initial_scale: its initial scale: the same draw, rescaled.
        seeds: how many initial weights of the linear network are looked at besides, in settings
            that the papers leave open; 0 for none.
        seed_steps: number of updates of each.
        input_scales: factors of inputs and targets at the ordinary learning rate.
        high_settings: learning rates with an initial scale each, at the momentum of the high run.
    """

    takes = ONE_FEATURE

    networks: Annotated[list[str], Different(tuple(NETWORKS))]
    momentum: float
    high_learning_rate: float
    high_momentum: float
    high_initial_scale: Scale
    seeds: Annotated[int, AtLeast(0)]
    seed_steps: Annotated[int, AtLeast(0)]
    input_scales: list[float]
    high_settings: list[list[float]]

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 <= self.momentum < 1, "momentum", "a number in [0, 1)", self.momentum)
        high = self.high_learning_rate
        require(high >= 0, "high_learning_rate", "a positive number, or 0 for none", high)
        require(0 <= self.high_momentum < 1, "high_momentum", "in [0, 1)", self.high_momentum)
        scales = all(scale > 0 for scale in self.input_scales)
        require(scales, "input_scales", "positive numbers", self.input_scales)
        pairs = all(len(pair) == 2 and min(pair) > 0 for pair in self.high_settings)
        require(pairs, "high_settings", "a rate and a scale each, positive", self.high_settings)
        drawn = "relu" not in self.networks or bool((self.initial_weights()[0] > 0).any())
        require(drawn, "seed", "one that draws a hidden unit with v > 0 of this width", self.seed)

    def runs(self) -> dict[str, Variant]:
        """The runs by their names."""
        runs = {
            name: Variant(name, self.initial_scale, self.learning_rate, self.momentum)
            for name in self.networks
        }
        if self.high_learning_rate > 0:
            runs[HIGH] = Variant(
                "linear", self.high_initial_scale, self.high_learning_rate, self.high_momentum
            )
        return runs


def train(config: Config, data: Arrays, run: Run = KEEPS_NOTHING) -> Arrays:
    """Gradient descent on the half mean squared error, all runs side by side.

    Returns:
        ``x``, ``y``, the names of the ``runs``, and for each ``<run>/step`` (r,), ``loss`` (r,),
        ``v`` and ``w`` (r, m), ``learning_rate``, ``momentum``, ``diverged_at`` (-1 for never), and
        ``emptied_at`` if that happened, see :func:`_before_empty`.

    Raises:
        ValueError: the data set has more than one feature, or none with x > 0 for a ReLU network,
            or a run starts with an infinite loss.
    """
    x, y = torch.from_numpy(data["x"]), torch.from_numpy(data["y"])
    require(x.ndim == 1, "data", "a data set with one feature per sample", config.data)
    seen = "relu" not in config.networks or bool((x > 0).any())
    require(seen, "data", "a sample with x > 0 for the ReLU network", config.data)
    descents, shown = {}, {}
    for name, planned in config.runs().items():
        v, w = config.initial_weights(scale=planned.initial_scale)
        model = NETWORKS[planned.network](v, w)
        optimizer = stochastic_gradient_descent(
            model, learning_rate=planned.learning_rate, momentum=planned.momentum
        )
        descents[name] = descend(
            model,
            HalfSquaredError(),
            x,
            y,
            optimizer,
            steps=config.steps,
            record_every=config.record_every,
        )
        shown[name] = curvature_shown(SPECTRA[planned.network], x, y, config.steps)
    arrays: Arrays = {"x": data["x"], "y": data["y"], "runs": np.array(list(descents))}
    for name, trajectory in follow(descents, run.log, shown).items():
        kept = recorded(trajectory)
        if config.runs()[name].network == "relu":
            kept = _before_empty(kept)
        arrays |= {f"{name}/{key}": array for key, array in kept.items()}
        arrays[f"{name}/learning_rate"] = np.array(config.runs()[name].learning_rate)
        arrays[f"{name}/momentum"] = np.array(config.runs()[name].momentum)
    return arrays


def _before_empty(kept: Arrays) -> Arrays:
    """What was recorded of a ReLU network while it had a hidden unit with v > 0.

    Without one it has no pair; ``emptied_at`` is the first recorded step at which it had none.
    """
    empty = ~(kept["v"] > 0).any(axis=1)
    if not empty.any():
        return kept
    end = int(empty.argmax())
    cut = {name: array[:end] if array.ndim else array for name, array in kept.items()}
    return cut | {"emptied_at": np.array(kept["step"][end])}


def closed_form(config: Config, networks: Arrays) -> Arrays:
    """All eigenvalues at each recorded step, and the outlier pair among them.

    For the ReLU network the pair, and the quantities that go with it, are those of the positive
    cell (inputs x > 0, hidden units with v_j > 0), each moment a mean over all n samples.

    Returns:
        The ``runs`` and for each: ``step``, ``loss`` (r,); ``eigenvalues`` (r, 2m) ascending, with
        ``kind`` and ``cell`` of each; ``pair_cell``, the cell of the pair; ``bulk`` (r,), the mean
        of residual times input, whose two signs are the bulk; ``trace`` (r,) of the pair's block;
        ``phase`` (r,) of learning; ``alignment`` (r,) ⟨w, v⟩; ``units`` (r,), the hidden units
        behind the pair; ``squared_norm`` (r, 2) of v and w; ``second_moment`` E[x²] and ``moment``
        E[yx]; and what ``train`` said about the run. Of the ``S`` seeds the settings,
        ``seeds/input_scale`` (k,) and ``seeds/high_setting`` (h, 2), and ``seeds/ordinary`` (k, S,
        2) and ``seeds/high`` (h, S, 2), their ends; ``seeds/path`` (p, h, S, 4), all of the latter
        with p momenta ``seeds/momentum`` (p,), the first of which is that of ``seeds/high``; see
        :func:`.many.small_outlier`.
    """
    x, y = torch.from_numpy(networks["x"]), torch.from_numpy(networks["y"])
    arrays: Arrays = {"runs": networks["runs"]} | _over_seeds(config, x, y)
    for name in networks["runs"].tolist():
        network = config.runs()[name].network
        for key in ("step", "loss", "learning_rate", "momentum", "diverged_at", "emptied_at"):
            if f"{name}/{key}" in networks:
                arrays[f"{name}/{key}"] = networks[f"{name}/{key}"]
        weights = (torch.from_numpy(networks[f"{name}/{key}"]) for key in "vw")
        rows = [_at_step(network, v, w, x, y) for v, w in zip(*weights, strict=True)]
        arrays |= stacked(rows, f"{name}/")
        arrays[f"{name}/pair_cell"] = np.array(PAIR_CELLS[network])
        chosen = x > 0 if network == "relu" else torch.ones_like(x, dtype=torch.bool)
        arrays[f"{name}/second_moment"] = ((x * x * chosen).mean()).numpy()
        arrays[f"{name}/moment"] = ((y * x * chosen).mean()).numpy()
    return arrays


def _over_seeds(config: Config, x: Tensor, y: Tensor) -> Arrays:
    """How the small outlier of linear networks ends, from many initial weights."""
    second_moment, moment = float((x * x).mean()), float((y * x).mean())
    of_linear = (replace(config, seed=k, networks=["linear"]) for k in range(config.seeds))
    drawn = [each.initial_weights(scale=1.0).numpy() for each in of_linear]
    weights = np.array(drawn).reshape(config.seeds, 2, config.width)

    def ends(scale: float, rate: float, momentum: float, inputs: float) -> np.ndarray:
        moments = inputs**2 * second_moment, inputs**2 * moment
        return small_outlier(scale * weights, *moments, rate, momentum, config.seed_steps)

    ordinary = [
        ends(config.initial_scale, config.learning_rate, config.momentum, scale)
        for scale in config.input_scales
    ]
    momenta = list(dict.fromkeys([config.high_momentum, config.momentum]))
    high = [
        [ends(scale, rate, momentum, 1.0) for rate, scale in config.high_settings]
        for momentum in momenta
    ]
    paths = np.array(high).reshape(len(momenta), len(config.high_settings), config.seeds, 4)
    return {
        "seeds/input_scale": np.array(config.input_scales, dtype=float),
        "seeds/high_setting": np.array(config.high_settings, dtype=float).reshape(-1, 2),
        "seeds/ordinary": np.array(ordinary).reshape(len(ordinary), config.seeds, 4)[..., :2],
        "seeds/high": paths[0, ..., :2],
        "seeds/momentum": np.array(momenta, dtype=float),
        "seeds/path": paths,
    }


def _at_step(network: str, v: Tensor, w: Tensor, x: Tensor, y: Tensor) -> Arrays:
    """The closed form of one network, and the positive cell's part of it for ReLU."""
    spectrum = SPECTRA[network](v, w, x, y)
    if network == "relu":
        w, v, y, x = w[v > 0], v[v > 0], y * (x > 0), x * (x > 0)
    second_moment, moment, alignment = torch.mean(x * x), torch.mean(y * x), torch.dot(w, v)
    squared_norm = np.array([torch.dot(v, v), torch.dot(w, w)])
    return {
        **spectrum.arrays(),
        "bulk": (alignment * second_moment - moment).numpy(),
        "trace": second_moment.numpy() * squared_norm.sum(),
        "phase": np.array(cf.learning_phase(alignment, second_moment, moment)),
        "alignment": alignment.numpy(),
        "units": np.array(len(v)),
        "squared_norm": squared_norm,
    }


def numerics(config: Config, networks: Arrays) -> Arrays:
    """The spectrum of the automatically differentiated Hessian at some of the recorded steps.

    Returns:
        For each run ``<run>/step`` (s,) and ``<run>/eigenvalues`` (s, 2m), ascending.
    """
    x, y = torch.from_numpy(networks["x"]), torch.from_numpy(networks["y"])
    arrays: Arrays = {}
    for name in networks["runs"].tolist():
        count = np.arange(len(networks[f"{name}/step"]))
        chosen = (count < DENSE_START) | (count % config.numeric_every == 0)
        network = NETWORKS[config.runs()[name].network]
        v, w = (torch.from_numpy(networks[f"{name}/{key}"][chosen]) for key in "vw")
        rows = [numeric_spectrum(network(*pair), x, y) for pair in zip(v, w, strict=True)]
        arrays[f"{name}/step"] = networks[f"{name}/step"][chosen]
        arrays[f"{name}/eigenvalues"] = np.array(rows)
    return arrays
