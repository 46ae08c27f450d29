"""Computing the items of a :class:`~hessian_papers.work.FanOut` here, in processes or on SLURM.

Only the pipelines use this package, and only this package uses submitit.
"""

from hessian_papers.fan_out.computation import run, spent, train
from hessian_papers.fan_out.launcher import FanOutError, Launcher
from hessian_papers.fan_out.shards import Spent
from hessian_papers.fan_out.timing import Estimate, estimate

__all__ = ["Estimate", "FanOutError", "Launcher", "Spent", "estimate", "run", "spent", "train"]
