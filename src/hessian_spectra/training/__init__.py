"""Training of one network, with its trajectory kept, or of a whole ensemble at once.

>>> from hessian_spectra.training import gradient_descent
"""

from hessian_spectra.training.classification import (
    Classification,
    ClassifierDescent,
    train_classifier,
)
from hessian_spectra.training.descent import (
    Record,
    Trajectory,
    descend,
    follow,
    gradient_descent,
)
from hessian_spectra.training.ensemble import EnsembleTraining, train_ensemble
from hessian_spectra.training.full_batch import FullBatchTraining, full_batch_descent
from hessian_spectra.training.language_model import pretrain
from hessian_spectra.training.minibatches import Observer, Plan, Task, train_by_minibatches
from hessian_spectra.training.objectives import LinearObjective, SampleObjective
from hessian_spectra.training.optimizers import stochastic_gradient_descent
from hessian_spectra.training.posterior import GaussianPosterior, error_of_draws
from hessian_spectra.training.posterior_descent import BoundDescent, BoundSettings, minimise_bound
from hessian_spectra.training.pretraining import Pretraining

__all__ = [
    "BoundDescent",
    "BoundSettings",
    "Classification",
    "ClassifierDescent",
    "EnsembleTraining",
    "FullBatchTraining",
    "GaussianPosterior",
    "LinearObjective",
    "Observer",
    "Plan",
    "Pretraining",
    "Record",
    "SampleObjective",
    "Task",
    "Trajectory",
    "descend",
    "error_of_draws",
    "follow",
    "full_batch_descent",
    "gradient_descent",
    "minimise_bound",
    "pretrain",
    "stochastic_gradient_descent",
    "train_by_minibatches",
    "train_classifier",
    "train_ensemble",
]
