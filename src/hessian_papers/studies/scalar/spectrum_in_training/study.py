"""The spectrum of a small network in training, by the closed form and by numbers.

Followed are the pair of outlying eigenvalues (singh2026cracking, Figure 8), the bulk eigenspace
under several optimizers (Corollary 3.1), or the parts of several inputs (Corollary B.1).
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from hessian_papers.constraints import AtLeast, Each, Once, OneOf
from hessian_papers.data.base import ONE_FEATURE, SEVERAL_FEATURES
from hessian_papers.data.tools.pairs import SCALARS, VECTORS, inputs_and_targets
from hessian_papers.labelled import Variable, Variables, arrays_of, assembled
from hessian_papers.studies import spectra, trainings
from hessian_papers.studies.scalar.outliers import course
from hessian_papers.studies.scalar.spectrum_in_training import eigenspaces
from hessian_papers.studies.scalar.spectrum_in_training.paths import ENDS, ends
from hessian_papers.studies.scalar.spectrum_in_training.prediction import PREDICTED, predicted
from hessian_papers.studies.scalar.spectrum_in_training.runs import NETWORKS, SEVERAL, Run
from hessian_papers.studies.training import (
    HiddenLayerConfig,
    curvature_shown,
    recorded,
    require_dense,
)
from hessian_papers.training.descent import Trajectory, descend, follow
from hessian_papers.work import TrainingRun, alone
from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.models import HalfSquaredError
from hessian_spectra.seeding import generator
from hessian_spectra.validation import require

# What may be followed, and of which networks.
FOLLOWED = {"pair": ("linear", "relu"), "eigenspace": ("linear",), "coordinates": (SEVERAL,)}
# Where the pair is followed, the first steps, where most happens, all get a numerical spectrum;
# every ``numeric_every``-th of the others does.
DENSE_START = 12
# Of a run's settings, what stands beside its spectra.
RATES = ("learning_rate", "momentum")

SIDE = "mean sign of λ₂ over the last steps at which it is resolved; NaN if training diverged"
SHARE = "|λ₂|/λ₁ after the last step"
CROSSINGS = "how often the sign of λ₂ changes"

AllPositive = Each("positive numbers", lambda number: number > 0, least=0)
Momenta = Each("numbers in [0, 1)", lambda number: 0 <= number < 1, least=0)
Pairs = Each(
    "a rate and a scale each, positive", lambda pair: len(pair) == 2 and min(pair) > 0, least=0
)


@dataclass(frozen=True, kw_only=True)
class Config(HiddenLayerConfig):
    """Settings of the study of a network in training.

    Args:
        follows: what is followed beside the spectrum: ``pair``, of the outliers; ``eigenspace``, of
            the bulk; or ``coordinates``, as if several inputs were not correlated.
        runs: the settings of each training by its name, see :class:`.runs.Run`; all start from the
            same draw of weights.
        seeds: how many initial weights of the linear network are looked at besides, in settings
            that the papers leave open; 0 for none.
        seed_steps: number of updates of each.
        input_scales: factors of inputs and targets, in the first run's settings.
        high_momenta: momenta at high learning rates.
        high_settings: high learning rates with an initial scale each.
    """

    follows: Annotated[str, OneOf(tuple(FOLLOWED))]
    runs: dict[str, dict[str, Any]]
    seeds: Annotated[int, AtLeast(0)]
    seed_steps: Annotated[int, AtLeast(0)]
    input_scales: Annotated[list[float], Once(), AllPositive]
    high_momenta: Annotated[list[float], Once(), Momenta]
    high_settings: Annotated[list[list[float]], Once(), Pairs]

    def __post_init__(self) -> None:
        super().__post_init__()
        require(bool(self.runs), "runs", "at least one", self.runs)
        known = ", ".join(FOLLOWED[self.follows])
        for name, run in self.settings().items():
            fits = run.network in FOLLOWED[self.follows]
            require(fits, f"runs.{name}.network", f"one of {known}", run.network)
            drawn = run.network != "relu" or bool((self.initial_weights()[0] > 0).any())
            units = "one that draws a hidden unit with v > 0 of this width"
            require(drawn, "seed", units, self.seed)
        has_bulk = self.width > 1 or self.follows != "eigenspace"
        require(has_bulk, "width", "at least 2 (a network of width 1 has no bulk)", self.width)

    def settings(self) -> dict[str, Run]:
        """The settings of each run by its name, with what it has of the study.

        Raises:
            ValueError: one is none; the message begins with its place.
        """
        common = {"initial_scale": self.initial_scale, "learning_rate": self.learning_rate}
        known = [field.name for field in fields(Run)]
        runs = {}
        for name, own in self.runs.items():
            fits = set(own) <= set(known)
            require(fits, f"runs.{name}", f"some of {', '.join(known)}", sorted(own))
            try:
                runs[name] = Run(**common | own)
            except ValueError as error:
                raise ValueError(f"runs.{name}.{error}") from None
        return runs

    @property
    def takes(self) -> str:  # type: ignore[override]
        """Several features, if their coordinates are followed."""
        return SEVERAL_FEATURES if self.follows == "coordinates" else ONE_FEATURE

    def require_shape(self, *shape: int) -> None:
        """Refuse data of more than a whole spectrum bears, or below a batch."""
        samples, *features = shape
        require_dense(2 * self.width * sum(features or [1]), "width")
        for name, run in self.settings().items():
            expected = f"at most the {samples} samples of {self.data}"
            fits = run.batch_size <= samples
            require(fits, f"runs.{name}.batch_size", expected, run.batch_size)


def _train(config: Config, data: Arrays, run: TrainingRun) -> Arrays:
    """The half mean squared error is minimised in all runs side by side.

    Returns:
        What :func:`trained` declares; of ``emptied_at`` see :func:`_kept`.

    Raises:
        ValueError: the data set has no input with x > 0 for a ReLU network, or a run starts with an
            infinite loss.
    """
    runs, x, y = config.settings(), torch.from_numpy(data["x"]), torch.from_numpy(data["y"])
    seen = bool((x > 0).any()) or all(each.network != "relu" for each in runs.values())
    require(seen, "data", "a sample with x > 0 for the ReLU network", config.data)
    descents = {}
    for name, each in runs.items():
        weights = config.initial_weights(*x.shape[1:], scale=each.initial_scale)
        model = NETWORKS[each.network].model(*weights)
        descents[name] = descend(
            model,
            HalfSquaredError(),
            x,
            y,
            each.optimizer(model, config.seed),
            steps=config.steps,
            record_every=config.record_every,
            batch_size=each.batch_size or None,
            order=generator(config.seed, "order"),
        )
    shown = {
        name: curvature_shown(each.spectrum, x, y, config.steps) for name, each in runs.items()
    }
    followed = follow(descents, run.log, shown).items()
    # Of pairs, it is said of each run whether there was one to the end.
    never = {"emptied_at": np.array(-1)} if config.follows == "pair" else {}
    parts = [
        {"run": np.array(name), **at_step}
        for name, trajectory in followed
        for at_step in _steps(never | _kept(runs[name], trajectory))
    ]
    courses = arrays_of(assembled(parts, trained(config), AXES))
    return {"x": data["x"], "y": data["y"], **courses}


def _steps(kept: Arrays) -> Iterator[Arrays]:
    """The arrays of one run at each of its recorded steps."""
    for place in range(len(kept["step"])):
        yield {name: np.asarray(a[place]) if a.ndim else a for name, a in kept.items()}


def _kept(run: Run, trajectory: Trajectory) -> Arrays:
    """The arrays that are kept of a run: both layers, of ReLU while there is a unit with v > 0.

    Without one it has no pair; ``emptied_at`` is the first recorded step at which it had none.
    """
    layers = run.layers([*trajectory.parameters.values()], dim=1)
    kept = recorded(replace(trajectory, parameters=dict(zip("vw", layers, strict=True))))
    empty = ~(kept["v"] > 0).any(axis=1)
    if run.network != "relu" or not empty.any():
        return kept
    end = int(empty.argmax())
    cut = {name: array[:end] if array.ndim else array for name, array in kept.items()}
    return cut | {"emptied_at": np.array(kept["step"][end])}


PAIR: Variables = {
    "layer": Variable("layer", "weights of the first (v) or of the second layer (w)"),
    "bulk": Variable("run step", "mean of residual times input, whose two signs are the bulk"),
    "trace": Variable("run step", "trace of the pair's block of the Hessian"),
    "phase": Variable("run step", "phase of learning: early, late or divergent"),
    "alignment": Variable("run step", "⟨w, v⟩, of the pair's units"),
    "units": Variable("run step", "number of hidden units behind the pair"),
    "squared_norm": Variable("run step layer", "‖v‖² and ‖w‖², of the pair's units"),
    "second_moment": Variable("run", "E[x²], over the pair's cell"),
    "moment": Variable("run", "E[yx], over the pair's cell"),
    "emptied_at": Variable("run", "step from which on a ReLU network has no pair; -1 for never"),
    "seed": Variable("seed", "of other initial weights of the linear network"),
    "input_scale": Variable("input_scale", "factor of inputs and targets"),
    "ordinary_side": Variable("input_scale seed", f"{SIDE}, at the ordinary learning rate"),
    "ordinary_share": Variable("input_scale seed", f"{SHARE}, at the ordinary learning rate"),
    "ordinary_crossings": Variable("input_scale seed", CROSSINGS),
    "high_momentum": Variable("high_momentum", "momentum, the first that of the high run"),
    "high_setting": Variable("high_setting", "learning rate and initial scale"),
    "high_side": Variable("high_momentum high_setting seed", SIDE),
    "high_share": Variable("high_momentum high_setting seed", SHARE),
    "high_drops": Variable("high_momentum high_setting seed", "whether λ₂ falls in the first step"),
    "high_crossings": Variable("high_momentum high_setting seed", CROSSINGS),
}
VARIABLES: Variables = {
    "run": Variable("run", "the network, or what trains it"),
    **trainings.variables("run"),
    "learning_rate": Variable("run", "step size η"),
    "momentum": Variable("run", "momentum μ"),
    **spectra.variables("run step"),
    **PAIR,
    **PREDICTED,
    **eigenspaces.VARIABLES,
    "decorrelated": Variable("run step rank", "what Corollary B.1 gives if nothing is correlated"),
    "inputs": Variable("", "number of inputs D"),
}
AXES = ("run", "step")


def trained(config: Config) -> Variables:
    """The declarations of the samples and of what is kept of the runs."""
    several = config.follows == "coordinates"
    weights = "run step feature unit" if several else "run step unit"
    return {
        **(VECTORS if several else SCALARS),
        **{name: VARIABLES[name] for name in ("run", *trainings.variables("run"), "emptied_at")},
        "v": Variable(weights, "weights of the first layer"),
        "w": Variable(weights, "weights of the second layer"),
    }


train = alone(_train, trained)


class State(NamedTuple):
    """A network at a recorded step of its training.

    Attributes:
        run: the settings of its training.
        place: of the step among the recorded ones.
        labels: the name of the run and ``step``.
        facts: ``loss``, and what was kept of the training as a whole.
        v: the weights of the first layer.
        w: the weights of the second layer.
    """

    run: Run
    place: int
    labels: Arrays
    facts: Arrays
    v: Tensor
    w: Tensor


def _states(config: Config, networks: xr.Dataset) -> Iterator[State]:
    """All recorded steps, one run after another."""
    courses = networks.drop_dims("sample")
    for name, run in config.settings().items():
        kept = arrays_of(trainings.training(courses, run=name))
        for place, facts in enumerate(_steps(kept)):
            v, w = (torch.from_numpy(facts.pop(layer)) for layer in "vw")
            labels = {axis: facts.pop(axis) for axis in AXES}
            yield State(run, place, labels, facts, v, w)


def closed_form(config: Config, networks: xr.Dataset) -> xr.Dataset:
    """All eigenvalues at each recorded step, and what is followed beside them.

    For the ReLU network the pair, and the quantities that go with it, are those of the positive
    cell (inputs x > 0, hidden units with v_j > 0), each moment a mean over all n samples. Of many
    other initial weights, how the small outlier ends.
    """
    x, y = inputs_and_targets(networks)
    common = _over_seeds(config, x, y) if config.follows == "pair" else {}
    parts, start, path = [], None, {}
    for state in _states(config, networks):
        spectrum = NETWORKS[state.run.network].spectrum(state.v, state.w, x, y)
        rates = {name: np.array(getattr(state.run, name)) for name in RATES}
        part = {**spectra.of_closed_form(spectrum.arrays()), **common, **rates}
        if config.follows == "pair":
            if not state.place:
                path = predicted(state.run, state.v, state.w, x, y, config.steps)
            step = int(state.labels["step"])
            part |= {name: a[step] if a.ndim else a for name, a in path.items()}
            part |= _pair(state, x, y)
        elif config.follows == "eigenspace":
            start = start if state.place else None
            start, read = eigenspaces.by_closed_form(start, state.v, state.w)
            part |= read
        else:
            part |= _coordinates(state, x, y)
        parts.append(part | state.labels | state.facts)
    return assembled(parts, VARIABLES, AXES)


def _pair(state: State, x: Tensor, y: Tensor) -> Arrays:
    """The quantities behind a network's outlier pair, of the positive cell for ReLU."""
    v, w = state.v, state.w
    if state.run.network == "relu":
        w, v, y, x = w[v > 0], v[v > 0], y * (x > 0), x * (x > 0)
    second_moment, moment, alignment = torch.mean(x * x), torch.mean(y * x), torch.dot(w, v)
    squared_norm = np.array([torch.dot(v, v), torch.dot(w, w)])
    return {
        "layer": np.array(["v", "w"]),
        "bulk": (alignment * second_moment - moment).numpy(),
        "trace": second_moment.numpy() * squared_norm.sum(),
        "phase": np.array(cf.learning_phase(alignment, second_moment, moment)),
        "alignment": alignment.numpy(),
        "units": np.array(len(v)),
        "squared_norm": squared_norm,
        "second_moment": second_moment.numpy(),
        "moment": moment.numpy(),
    }


def _coordinates(state: State, x: Tensor, y: Tensor) -> Arrays:
    """The spectrum of Corollary B.1, as if the inputs were not correlated."""
    rows = zip(state.v, state.w, x.T, strict=True)
    each = [NETWORKS["linear"].spectrum(v, w, of_one, y).eigenvalues for v, w, of_one in rows]
    return {"decorrelated": torch.cat(each).sort().values.numpy(), "inputs": np.array(len(each))}


def _over_seeds(config: Config, x: Tensor, y: Tensor) -> Arrays:
    """The ends of the small outlier of linear networks, from many initial weights."""
    of_linear = (replace(config, seed=k, runs={"linear": {}}) for k in range(config.seeds))
    drawn = [each.initial_weights(scale=1.0).numpy() for each in of_linear]
    weights = np.array(drawn).reshape(config.seeds, 2, config.width)
    moments = np.array([(x * x).mean(), (y * x).mean()])

    def end(scale: float, rate: float, momentum: float, inputs: float = 1.0) -> np.ndarray:
        of_rate = partial(course, rate=rate, momentum=momentum, steps=config.seed_steps)
        return ends(of_rate(scale * weights, *inputs**2 * moments))

    def named(rates: str, names: tuple[str, ...], values: Any, *shape: int) -> Arrays:
        columns = np.array(values).reshape(*shape, config.seeds, len(ENDS))
        return {f"{rates}_{name}": columns[..., k] for k, name in enumerate(names)}

    first, *_ = config.settings().values()
    ordinary = (first.initial_scale, first.learning_rate, first.momentum)
    momenta, settings = config.high_momenta, config.high_settings
    low = [end(*ordinary, inputs) for inputs in config.input_scales]
    high = [end(scale, rate, momentum) for momentum in momenta for rate, scale in settings]
    return {
        "seed": np.arange(config.seeds),
        "input_scale": np.array(config.input_scales, dtype=float),
        **named("ordinary", ENDS[:3], low, len(low)),
        "high_momentum": np.array(momenta, dtype=float),
        "high_setting": np.array([f"{rate:g}, {scale:g}" for rate, scale in settings], np.str_),
        **named("high", ENDS, high, len(momenta), len(settings)),
    }


def numerics(config: Config, networks: xr.Dataset) -> xr.Dataset:
    """The spectrum of the automatically differentiated Hessian at some of the recorded steps."""
    samples = inputs_and_targets(networks)
    dense = DENSE_START if config.follows == "pair" else 0
    parts, start = [], None
    for state in _states(config, networks):
        parts.append({**state.labels})
        if state.place >= dense and state.place % config.numeric_every:
            continue
        model = NETWORKS[state.run.network].model(state.v, state.w)
        hessian = cv.hessian(cv.Problem(model, HalfSquaredError(), [samples]))
        spectrum = cv.dense_spectrum(hessian)
        parts[-1]["numerical"] = spectrum.eigenvalues.numpy()
        if config.follows == "eigenspace":
            start = start if state.place else None
            weights = (state.v, state.w)
            start, read = eigenspaces.by_eigenvectors(start, *weights, hessian, spectrum)
            parts[-1] |= read
    return assembled(parts, VARIABLES, AXES)
