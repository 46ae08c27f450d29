"""A multi-input linear network trained on correlated data (singh2026cracking, Corollary B.1)."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from hessian_papers.data.base import SEVERAL_FEATURES, Form
from hessian_papers.data.tools.pairs import VECTORS, inputs_and_targets
from hessian_papers.labelled import Variable, Variables, assembled
from hessian_papers.studies import spectra, trainings
from hessian_papers.studies.scalar.recorded import states
from hessian_papers.studies.training import (
    HiddenLayerConfig,
    curvature_shown,
    numeric_spectrum,
    recorded,
    require_dense,
)
from hessian_papers.training import gradient_descent
from hessian_papers.work import TrainingRun, alone
from hessian_spectra import closed_form as cf
from hessian_spectra.files import Arrays
from hessian_spectra.models import HalfSquaredError, MultiInputLinear
from hessian_spectra.spectrum import Spectrum
from hessian_spectra.validation import require


@dataclass(frozen=True, kw_only=True)
class Config(HiddenLayerConfig):
    """Settings of the multi-input training study; ``width`` is that for each input coordinate."""

    takes = SEVERAL_FEATURES

    def require_data(self, form: Form) -> None:
        """Refuse data with one feature, or with more than a whole spectrum bears."""
        super().require_data(form)
        require_dense(2 * self.width * form.shape[1], "width")


def _train(config: Config, data: Arrays, run: TrainingRun) -> Arrays:
    """Gradient descent on the half mean squared error.

    Returns:
        What :data:`TRAINED` declares.

    Raises:
        ValueError: the data set has a single feature without an axis of its own.
    """
    x, y = torch.from_numpy(data["x"]), torch.from_numpy(data["y"])
    require(x.ndim == 2, "data", "a data set with several features per sample", config.data)
    v, w = config.initial_weights(x.shape[1])
    trajectory = gradient_descent(
        MultiInputLinear(v, w),
        HalfSquaredError(),
        x,
        y,
        learning_rate=config.learning_rate,
        steps=config.steps,
        record_every=config.record_every,
        log=run.log,
        measure=curvature_shown(_spectrum, x, y, config.steps),
    )
    # The parameters alternate: v_1, w_1, v_2, w_2, ...
    rows = torch.stack(list(trajectory.parameters.values()), dim=1)
    weights = {"v": rows[:, 0::2], "w": rows[:, 1::2]}
    return {"x": data["x"], "y": data["y"], **recorded(replace(trajectory, parameters=weights))}


def _spectrum(*weights_and_samples: Tensor) -> Spectrum:
    *weights, x, y = weights_and_samples
    return cf.multi_input(torch.stack(weights[1::2]), torch.stack(weights[0::2]), x, y)


VARIABLES: Variables = {
    **trainings.variables(""),
    **spectra.variables("step"),
    "decorrelated": Variable("step rank", "what Corollary B.1 gives as if nothing was correlated"),
    "inputs": Variable("", "number of inputs D"),
}

TRAINED: Variables = {
    **VECTORS,
    **trainings.variables(""),
    "v": Variable("step feature unit", "weights of the first layer"),
    "w": Variable("step feature unit", "weights of the second layer"),
}

train = alone(_train, TRAINED)


def closed_form(config: Config, networks: xr.Dataset) -> xr.Dataset:
    """All eigenvalues at each recorded step, for the correlated inputs and as if they were not."""
    x, y = inputs_and_targets(networks)
    parts = []
    for state in states(networks):
        spectrum = cf.multi_input(state.w, state.v, x, y).arrays()
        coordinates = [
            cf.two_layer_linear(w, v, each, y).eigenvalues
            for w, v, each in zip(state.w, state.v, x.T, strict=True)
        ]
        forms = {
            "exact": spectrum.pop("eigenvalues"),
            "decorrelated": torch.cat(coordinates).sort().values.numpy(),
            "inputs": np.array(len(coordinates)),
        }
        parts.append({**state.labels, **state.facts, **spectrum, **forms})
    return assembled(parts, VARIABLES, ["step"])


def numerics(config: Config, networks: xr.Dataset) -> xr.Dataset:
    """The spectrum of the automatically differentiated Hessian at some of the recorded steps."""
    x, y = inputs_and_targets(networks)
    parts = []
    for state in states(networks):
        parts.append({**state.labels})
        if state.place % config.numeric_every == 0:
            model = MultiInputLinear(state.v, state.w)
            parts[-1]["numerical"] = numeric_spectrum(model, x, y)
    return assembled(parts, VARIABLES, ["step"])
