"""Computing the items of a :class:`~hessian_papers.work.FanOut` here, in processes or on SLURM.

Only the pipelines use this package, and only this package uses submitit.
"""

from hessian_papers.compute.computation import Computation
from hessian_papers.compute.launcher import FanOutError, Launcher
from hessian_papers.compute.shards import Spent

__all__ = ["Computation", "FanOutError", "Launcher", "Spent"]
