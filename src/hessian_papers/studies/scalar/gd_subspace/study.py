"""Which optimizers keep the bulk eigenspace (singh2026cracking, Corollary 3.1)."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr
from torch import Tensor, nn

from hessian_papers.constraints import Count, Positive, Scale
from hessian_papers.data.base import ONE_FEATURE, Form
from hessian_papers.data.tools.pairs import SCALARS, inputs_and_targets
from hessian_papers.labelled import Variable, Variables, assembled
from hessian_papers.studies import spectra, trainings
from hessian_papers.studies.scalar.recorded import recorded_trainings, states
from hessian_papers.studies.training import HiddenLayerConfig, curvature_shown, recorded
from hessian_papers.training import descend, follow, stochastic_gradient_descent
from hessian_papers.work import TrainingRun, alone
from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.models import HalfSquaredError, TwoLayerLinear
from hessian_spectra.seeding import generator
from hessian_spectra.spectrum import Spectrum
from hessian_spectra.validation import require

# The corollary covers the first; those up to weight decay combine gradients and iterates linearly,
# so its proof carries over; the last two do not.
OPTIMIZERS = (
    "gradient_descent",
    "heavy_ball",
    "nesterov",
    "sgd",
    "weight_decay",
    "adam",
    "random_velocity",
)

# The numerical bulk is told from the small outlier where their distance is above this share of the
# largest eigenvalue; eigenvectors then carry an error of about 1e-16 / 1e-5.
RESOLVED_GAP = 1e-5

SHARE = "‖Z₀ᵀ θ_t‖ / ‖θ_t‖, the share of the iterate in the initial bulk space with basis Z₀"
SINE = "sine of the largest principal angle between the bulk spaces at step t and at the start"
COSINE = "mean squared cosine of the principal angles between both bulk spaces"
UNRESOLVED = "NaN where the bulk cannot be told from the outliers"


@dataclass(frozen=True, kw_only=True)
class Config(HiddenLayerConfig):
    """Settings of the gradient-descent-subspace study.

    Args:
        momentum: of heavy ball and Nesterov.
        weight_decay: of the run with weight decay.
        batch_size: samples per step of stochastic gradient descent.
        adam_learning_rate: step size of Adam, ``learning_rate`` being that of all others.
        velocity_scale: standard deviation of the random initial velocity.
    """

    takes = ONE_FEATURE

    momentum: float
    weight_decay: Positive
    batch_size: Count
    adam_learning_rate: Positive
    velocity_scale: Scale

    def __post_init__(self) -> None:
        super().__post_init__()
        expected = "at least 2 (a network of width 1 has no bulk)"
        require(self.width >= 2, "width", expected, self.width)
        require(0 < self.momentum < 1, "momentum", "a number in (0, 1)", self.momentum)

    def require_data(self, form: Form) -> None:
        """Refuse data with fewer samples than a batch."""
        super().require_data(form)
        expected = f"at most the {form.shape[0]} samples of {self.data}"
        require(self.batch_size <= form.shape[0], "batch_size", expected, self.batch_size)


def _optimizer(config: Config, name: str, model: nn.Module) -> torch.optim.Optimizer:
    if name == "adam":
        return torch.optim.Adam(model.parameters(), lr=config.adam_learning_rate)
    velocity = None
    if name == "random_velocity":
        draws = generator(config.seed, "velocity")
        velocity = [
            config.velocity_scale * torch.randn(of.shape, generator=draws, dtype=torch.float64)
            for of in model.parameters()
        ]
    return stochastic_gradient_descent(
        model,
        learning_rate=config.learning_rate,
        momentum=config.momentum if name in ("heavy_ball", "nesterov", "random_velocity") else 0.0,
        nesterov=name == "nesterov",
        weight_decay=config.weight_decay if name == "weight_decay" else 0.0,
        initial_velocity=velocity,
    )


def _train(config: Config, data: Arrays, run: TrainingRun) -> Arrays:
    """The linear network trained by each optimizer from the same weights.

    Returns:
        What :data:`TRAINED` declares.

    Raises:
        ValueError: the data set has more than one feature, or fewer samples than a batch.
    """
    x, y = torch.from_numpy(data["x"]), torch.from_numpy(data["y"])
    require(x.ndim == 1, "data", "a data set with one feature per sample", config.data)
    v, w = config.initial_weights()
    descents = {}
    for name in OPTIMIZERS:
        model = TwoLayerLinear(v, w)
        descents[name] = descend(
            model,
            HalfSquaredError(),
            x,
            y,
            _optimizer(config, name, model),
            steps=config.steps,
            record_every=config.record_every,
            batch_size=config.batch_size if name == "sgd" else None,
            order=generator(config.seed, "order"),
        )
    measures = {name: curvature_shown(_spectrum, x, y, config.steps) for name in OPTIMIZERS}
    followed = follow(descents, run.log, measures).items()
    trained = {name: recorded(trajectory) for name, trajectory in followed}
    return {"x": data["x"], "y": data["y"], **recorded_trainings("optimizer", trained, TRAINED)}


def _spectrum(v: Tensor, w: Tensor, x: Tensor, y: Tensor) -> Spectrum:
    return cf.two_layer_linear(w, v, x, y)


def _outside(basis: Tensor, vectors: Tensor) -> Tensor:
    """The part of ``vectors`` that is orthogonal to the space of an orthonormal ``basis``."""
    return vectors - basis @ (basis.T @ vectors)


def _share_inside(basis: Tensor, v: Tensor, w: Tensor) -> np.ndarray:
    """‖Zᵀ θ‖ / ‖θ‖ with θ = (v, w)."""
    theta = torch.cat([v, w])
    inside = torch.linalg.vector_norm(basis.T @ theta) / torch.linalg.vector_norm(theta)
    return inside.numpy()


def _sine(first: Tensor, second: Tensor) -> np.ndarray:
    """Sine of the largest principal angle between two spaces of one dimension."""
    return torch.linalg.matrix_norm(_outside(first, second), ord=2).numpy()


AXES = ("optimizer", "step")
_OF = spectra.variables("optimizer step")
VARIABLES: Variables = {
    "optimizer": Variable("optimizer", "what trains the network"),
    **trainings.variables("optimizer"),
    **{name: _OF[name] for name in ("exact", "numerical")},
    "iterate": Variable("optimizer step", f"{SHARE}, by the closed form"),
    "numerical_iterate": Variable("optimizer step", f"{SHARE}, by eigenvectors"),
    "rotation": Variable("optimizer step", f"{SINE}, by the closed form"),
    "numerical_rotation": Variable("optimizer step", f"{SINE}, by eigenvectors; {UNRESOLVED}"),
    "invariance": Variable("optimizer step", "‖(I − Z₀ Z₀ᵀ) H_t Z₀‖ / ‖H_t‖"),
    "overlap": Variable("optimizer step", f"{COSINE}; {UNRESOLVED}"),
}

TRAINED: Variables = {
    **SCALARS,
    **{name: VARIABLES[name] for name in ("optimizer", *trainings.variables("optimizer"))},
    "v": Variable("optimizer step unit", "weights of the first layer"),
    "w": Variable("optimizer step unit", "weights of the second layer"),
}

train = alone(_train, TRAINED)


def closed_form(config: Config, networks: xr.Dataset) -> xr.Dataset:
    """How far iterates and bulk eigenspaces are from those at the start, by Corollary 3.1."""
    x, y = inputs_and_targets(networks)
    parts, start = [], torch.empty(0)
    for state in states(networks, "optimizer"):
        bulk = cf.gradient_descent_subspace(state.w, state.v).bulk
        start = start if state.place else bulk
        values = {
            "exact": _spectrum(state.v, state.w, x, y).eigenvalues.numpy(),
            "iterate": _share_inside(start, state.v, state.w),
            "rotation": _sine(start, bulk),
        }
        parts.append({**state.labels, **state.facts, **values})
    return assembled(parts, VARIABLES, AXES)


def _numeric_bulk(spectrum: Spectrum) -> tuple[Tensor, float]:
    """The numerical bulk space and its distance to the small outlier, relative to the largest.

    −|δx| ≤ λ₂ ≤ |δx| ≤ λ₁ with the bulk at ±|δx|, so of 2m ascending eigenvalues the outliers are
    the m-th and the last.
    """
    eigenvalues = spectrum.eigenvalues
    half = len(eigenvalues) // 2
    bulk = [i for i in range(2 * half) if i not in (half - 1, 2 * half - 1)]
    others = eigenvalues[bulk]
    outliers = eigenvalues[[half - 1, 2 * half - 1]]
    gap = (outliers[:, None] - others).abs().min() / eigenvalues.abs().max()
    return spectrum.eigenvectors()[:, bulk], float(gap)


def numerics(config: Config, networks: xr.Dataset) -> xr.Dataset:
    """The quantities from eigenvectors of the automatically differentiated Hessian."""
    x, y = inputs_and_targets(networks)
    parts, start = [], torch.empty(0)
    for state in states(networks, "optimizer"):
        parts.append({**state.labels})
        if state.place % config.numeric_every:
            continue
        problem = cv.Problem(TwoLayerLinear(state.v, state.w), HalfSquaredError(), [(x, y)])
        hessian = cv.hessian(problem)
        spectrum = cv.dense_spectrum(hessian)
        bulk, gap = _numeric_bulk(spectrum)
        start = start if state.place else bulk
        outside = torch.linalg.matrix_norm(_outside(start, hessian @ start), ord=2)
        resolved = gap > RESOLVED_GAP
        parts[-1] |= {
            "numerical": spectrum.eigenvalues.numpy(),
            "numerical_iterate": _share_inside(start, state.v, state.w),
            "invariance": (outside / spectrum.eigenvalues.abs().max()).numpy(),
            "overlap": np.array(cv.subspace_overlap(start, bulk) if resolved else np.nan),
            "numerical_rotation": _sine(start, bulk) if resolved else np.array(np.nan),
        }
    return assembled(parts, VARIABLES, AXES)
