"""Training of one network, with its trajectory kept, or of a whole ensemble at once.

>>> from hessian_papers.training import gradient_descent
"""

from hessian_papers.training.classification import (
    Classification,
    ClassifierDescent,
    train_classifier,
)
from hessian_papers.training.descent import (
    Record,
    Trajectory,
    descend,
    follow,
    gradient_descent,
)
from hessian_papers.training.ensemble import EnsembleTraining, train_ensemble
from hessian_papers.training.full_batch import FullBatchTraining, full_batch_descent
from hessian_papers.training.language_model import pretrain
from hessian_papers.training.objectives import LinearObjective, SampleObjective
from hessian_papers.training.optimizers import stochastic_gradient_descent
from hessian_papers.training.pretraining import Pretraining

__all__ = [
    "Classification",
    "ClassifierDescent",
    "EnsembleTraining",
    "FullBatchTraining",
    "LinearObjective",
    "Pretraining",
    "Record",
    "SampleObjective",
    "Trajectory",
    "descend",
    "follow",
    "full_batch_descent",
    "gradient_descent",
    "pretrain",
    "stochastic_gradient_descent",
    "train_classifier",
    "train_ensemble",
]
