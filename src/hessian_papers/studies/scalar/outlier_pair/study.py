"""The pair of outlying eigenvalues of a network in training (singh2026cracking, Figure 8)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
import xarray as xr
from torch import Tensor, nn

from hessian_papers.constraints import AtLeast, Different, Once, Scale
from hessian_papers.data.base import ONE_FEATURE
from hessian_papers.data.tools.pairs import SCALARS, inputs_and_targets
from hessian_papers.labelled import Variable, Variables, assembled
from hessian_papers.studies import spectra, trainings
from hessian_papers.studies.scalar.outlier_pair.many import ENDS, small_outlier
from hessian_papers.studies.scalar.recorded import State, recorded_trainings, states
from hessian_papers.studies.training import (
    HiddenLayerConfig,
    curvature_shown,
    numeric_spectrum,
    recorded,
)
from hessian_papers.training import descend, follow, stochastic_gradient_descent
from hessian_papers.work import TrainingRun, alone
from hessian_spectra import closed_form as cf
from hessian_spectra.files import Arrays
from hessian_spectra.models import HalfSquaredError, TwoLayerLinear, TwoLayerReLU
from hessian_spectra.spectrum import Spectrum
from hessian_spectra.validation import require

NETWORKS: Mapping[str, type[nn.Module]] = {"linear": TwoLayerLinear, "relu": TwoLayerReLU}
SPECTRA: Mapping[str, Callable[..., Spectrum]] = {
    "linear": lambda v, w, x, y: cf.two_layer_linear(w, v, x, y),
    "relu": lambda v, w, x, y: cf.two_layer_relu(w, v, x, y),
}

# The name of the additional run, always of the linear network.
HIGH = "linear_high"

# The first steps, where most happens, all get a numerical spectrum; every ``numeric_every``-th of
# the others does.
DENSE_START = 12

SIDE = "mean sign of λ₂ over the last steps at which it is resolved; NaN if training diverged"
SHARE = "|λ₂|/λ₁ after the last step"


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
    input_scales: Annotated[list[float], Once()]
    high_settings: Annotated[list[list[float]], Once()]

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


def _train(config: Config, data: Arrays, run: TrainingRun) -> Arrays:
    """Gradient descent on the half mean squared error, all runs side by side.

    Returns:
        What :data:`TRAINED` declares; of ``emptied_at`` see :func:`_before_empty`.

    Raises:
        ValueError: the data set has more than one feature, or none with x > 0 for a ReLU network,
            or a run starts with an infinite loss.
    """
    x, y = torch.from_numpy(data["x"]), torch.from_numpy(data["y"])
    require(x.ndim == 1, "data", "a data set with one feature per sample", config.data)
    seen = "relu" not in config.networks or bool((x > 0).any())
    require(seen, "data", "a sample with x > 0 for the ReLU network", config.data)
    descents, shown = {}, {}
    for name, variant in config.runs().items():
        model = NETWORKS[variant.network](*config.initial_weights(scale=variant.initial_scale))
        rates = {key: getattr(variant, key) for key in ("learning_rate", "momentum")}
        optimizer = stochastic_gradient_descent(model, **rates)
        descents[name] = descend(
            model,
            HalfSquaredError(),
            x,
            y,
            optimizer,
            steps=config.steps,
            record_every=config.record_every,
        )
        shown[name] = curvature_shown(SPECTRA[variant.network], x, y, config.steps)
    trained: dict[str, Arrays] = {}
    for name, trajectory in follow(descents, run.log, shown).items():
        variant, kept = config.runs()[name], recorded(trajectory) | {"emptied_at": np.array(-1)}
        if variant.network == "relu":
            kept = _before_empty(kept)
        kept |= {key: np.array(getattr(variant, key)) for key in ("learning_rate", "momentum")}
        trained[name] = kept
    return {"x": data["x"], "y": data["y"], **recorded_trainings("run", trained, TRAINED)}


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


VARIABLES: Variables = {
    "run": Variable("run", "linear or ReLU network, or the linear one at the high learning rate"),
    **trainings.variables("run"),
    "layer": Variable("layer", "weights of the first (v) or of the second layer (w)"),
    **spectra.variables("run step"),
    "bulk": Variable("run step", "mean of residual times input, whose two signs are the bulk"),
    "trace": Variable("run step", "trace of the pair's block of the Hessian"),
    "phase": Variable("run step", "phase of learning: early, late or divergent"),
    "alignment": Variable("run step", "⟨w, v⟩, of the pair's units"),
    "units": Variable("run step", "number of hidden units behind the pair"),
    "squared_norm": Variable("run step layer", "‖v‖² and ‖w‖², of the pair's units"),
    "second_moment": Variable("run", "E[x²], over the pair's cell"),
    "moment": Variable("run", "E[yx], over the pair's cell"),
    "learning_rate": Variable("run", "step size η"),
    "momentum": Variable("run", "heavy-ball momentum μ"),
    "emptied_at": Variable("run", "step from which on a ReLU network has no pair; -1 for never"),
    "seed": Variable("seed", "of other initial weights of the linear network"),
    "input_scale": Variable("input_scale", "factor of inputs and targets"),
    "ordinary_side": Variable("input_scale seed", f"{SIDE}, at the ordinary learning rate"),
    "ordinary_share": Variable("input_scale seed", f"{SHARE}, at the ordinary learning rate"),
    "high_momentum": Variable("high_momentum", "momentum, the first that of the high run"),
    "high_setting": Variable("high_setting", "learning rate and initial scale"),
    "high_side": Variable("high_momentum high_setting seed", SIDE),
    "high_share": Variable("high_momentum high_setting seed", SHARE),
    "high_drops": Variable("high_momentum high_setting seed", "whether λ₂ falls in the first step"),
    "high_crossings": Variable("high_momentum high_setting seed", "changes of the sign of λ₂"),
}

_OF_A_TRAINING = ("run", "learning_rate", "momentum", "emptied_at")
TRAINED: Variables = {
    **SCALARS,
    **trainings.variables("run"),
    **{name: VARIABLES[name] for name in _OF_A_TRAINING},
    "v": Variable("run step unit", "weights of the first layer"),
    "w": Variable("run step unit", "weights of the second layer"),
}

train = alone(_train, TRAINED)


def closed_form(config: Config, networks: xr.Dataset) -> xr.Dataset:
    """All eigenvalues at each recorded step, and the outlier pair among them.

    For the ReLU network the pair, and the quantities that go with it, are those of the positive
    cell (inputs x > 0, hidden units with v_j > 0), each moment a mean over all n samples. Of many
    other initial weights, how the small outlier ends.
    """
    x, y = inputs_and_targets(networks)
    common = {"layer": np.array(["v", "w"]), **_over_seeds(config, x, y)}
    parts = [
        common | state.labels | state.facts | _at_step(_network(config, state), state, x, y)
        for state in states(networks, "run")
    ]
    return assembled(parts, VARIABLES, ("run", "step"))


def _network(config: Config, state: State) -> str:
    return config.runs()[state.labels["run"].item()].network


def _over_seeds(config: Config, x: Tensor, y: Tensor) -> Arrays:
    """How the small outlier of linear networks ends, from many initial weights."""
    second_moment, moment = float((x * x).mean()), float((y * x).mean())
    of_linear = (replace(config, seed=k, networks=["linear"]) for k in range(config.seeds))
    drawn = [each.initial_weights(scale=1.0).numpy() for each in of_linear]
    weights = np.array(drawn).reshape(config.seeds, 2, config.width)

    def ends(scale: float, rate: float, momentum: float, inputs: float) -> np.ndarray:
        moments = inputs**2 * second_moment, inputs**2 * moment
        return small_outlier(scale * weights, *moments, rate, momentum, config.seed_steps)

    def named(rates: str, names: Sequence[str], values: list[Any], *shape: int) -> Arrays:
        columns = np.array(values).reshape(*shape, config.seeds, len(ENDS))
        return {f"{rates}_{name}": columns[..., ENDS.index(name)] for name in names}

    ordinary = [
        ends(config.initial_scale, config.learning_rate, config.momentum, scale)
        for scale in config.input_scales
    ]
    momenta = list(dict.fromkeys([config.high_momentum, config.momentum]))
    high = [
        [ends(scale, rate, momentum, 1.0) for rate, scale in config.high_settings]
        for momentum in momenta
    ]
    settings = [f"{rate:g}, {scale:g}" for rate, scale in config.high_settings]
    return {
        "seed": np.arange(config.seeds),
        "input_scale": np.array(config.input_scales, dtype=float),
        **named("ordinary", ENDS[:2], ordinary, len(ordinary)),
        "high_momentum": np.array(momenta, dtype=float),
        "high_setting": np.array(settings, dtype=np.str_),
        **named("high", ENDS, high, len(high), len(settings)),
    }


def _at_step(network: str, state: State, x: Tensor, y: Tensor) -> Arrays:
    """The closed form of one network, and the positive cell's part of it for ReLU."""
    v, w = state.v, state.w
    spectrum = SPECTRA[network](v, w, x, y).arrays()
    if network == "relu":
        w, v, y, x = w[v > 0], v[v > 0], y * (x > 0), x * (x > 0)
    second_moment, moment, alignment = torch.mean(x * x), torch.mean(y * x), torch.dot(w, v)
    squared_norm = np.array([torch.dot(v, v), torch.dot(w, w)])
    return {
        "exact": spectrum.pop("eigenvalues"),
        **spectrum,
        "bulk": (alignment * second_moment - moment).numpy(),
        "trace": second_moment.numpy() * squared_norm.sum(),
        "phase": np.array(cf.learning_phase(alignment, second_moment, moment)),
        "alignment": alignment.numpy(),
        "units": np.array(len(v)),
        "squared_norm": squared_norm,
        "second_moment": second_moment.numpy(),
        "moment": moment.numpy(),
    }


def numerics(config: Config, networks: xr.Dataset) -> xr.Dataset:
    """The spectrum of the automatically differentiated Hessian at some of the recorded steps."""
    x, y = inputs_and_targets(networks)
    parts = []
    for state in states(networks, "run"):
        chosen = state.place < DENSE_START or state.place % config.numeric_every == 0
        model = NETWORKS[_network(config, state)](state.v, state.w)
        spectrum = {"numerical": numeric_spectrum(model, x, y)} if chosen else {}
        parts.append(state.labels | spectrum)
    return assembled(parts, VARIABLES, ("run", "step"))
