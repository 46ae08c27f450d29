"""Training by mini-batches, which can be interrupted, watched, and shared by several processes.

>>> from hessian_spectra.training import train_by_minibatches
"""

from hessian_spectra.training.minibatches import Batch, Observer, Plan, Task, train_by_minibatches
from hessian_spectra.training.passes import Order, Passes, train_by_passes
from hessian_spectra.training.ranks import add_up, join, rank_and_count
from hessian_spectra.training.unfinished import STATE, Saver, read_unfinished, tensors_digest

__all__ = [
    "STATE",
    "Batch",
    "Observer",
    "Order",
    "Passes",
    "Plan",
    "Saver",
    "Task",
    "add_up",
    "join",
    "rank_and_count",
    "read_unfinished",
    "tensors_digest",
    "train_by_minibatches",
    "train_by_passes",
]
