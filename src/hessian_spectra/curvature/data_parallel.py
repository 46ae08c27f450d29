"""The matrix of data that is spread over several processes, from one sum over them a product."""

import hashlib
from typing import Any

import torch.distributed as dist
from torch import Tensor, nn

from hessian_spectra.curvature.composition import Derived, Operator
from hessian_spectra.curvature.curvlinops_operators import CurvlinopsOperator
from hessian_spectra.curvature.interface import OperatorError
from hessian_spectra.curvature.problem import Problem
from hessian_spectra.curvature.products import DifferentiatedOperator
from hessian_spectra.curvature.selection import named_parameters


def data_parallel(
    operator: DifferentiatedOperator | CurvlinopsOperator, group: Any = None
) -> Operator:
    """The matrix over the data of all processes, from each one's matrix over its own share.

    ``A = Σ_r c_r A_r / Σ_r c_r`` with ``A_r`` the operator of process ``r`` and ``c_r`` what the
    mean over its data divides by, or ``Σ_r A_r`` for a loss that is a sum. It equals the matrix
    that one process would have over all data, however uneven the shares are. Every process gets the
    whole product, after one ``all_reduce`` of it; so all of them have to ask for the same products
    in the same order, as they do when all run the same solver with the same seed.

    Args:
        operator: :func:`hessian` or :func:`ggn` of a problem with this process's batches, at least
            one. What its loss counts has to be known from the loss or from ``weights``, since what
            is measured on one share may be something else on another.
        group: of ``torch.distributed``, whose processes take part; by default all.

    Raises:
        ValueError: there is no process group, the model is wrapped in ``DistributedDataParallel``,
            or it is not known what the loss counts.
        OperatorError: the processes do not have the same parameters and kind of operator.

    Example:
        >>> import tempfile, torch
        >>> from hessian_spectra.curvature import Problem, hessian
        >>> with tempfile.TemporaryDirectory() as folder:  # a group of one
        ...     dist.init_process_group(
        ...         "gloo", init_method=f"file://{folder}/group", rank=0, world_size=1)
        ...     x = torch.tensor([[1.0], [3.0]])
        ...     problem = Problem(nn.Linear(1, 1, bias=False), nn.MSELoss(), [(x, x)])
        ...     product = data_parallel(hessian(problem)) @ torch.ones(1)
        ...     dist.destroy_process_group()
        >>> product  # 2 mean(x²)
        tensor([10.])
    """
    total = _total(operator.problem)
    facts: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(facts, (_identity(operator), total), group)
    others = [rank for rank, (identity, _) in enumerate(facts) if identity != facts[0][0]]
    if others:
        raise OperatorError(
            "data_parallel: expected one operator with the same parameters in all processes, "
            f"got another in process {others[0]} than in process 0; broadcast the parameters, "
            "and build the operators after the same step"
        )
    # Means of processes would count a process with few samples as much as one with many.
    share = 1.0 if operator.problem.summed else total / sum(counted for _, counted in facts)

    def product(columns: Tensor) -> Tensor:
        image = (operator @ columns).mul_(share).contiguous()
        dist.all_reduce(image, group=group)
        return image

    return Derived("DataParallel", operator, product)


def _total(problem: Problem) -> float:
    """The divisor of the mean over the data of this process.

    Raises:
        ValueError: see :func:`data_parallel`.
    """
    if not dist.is_initialized():
        raise ValueError(
            "data_parallel: expected a process group, there is none; call "
            "torch.distributed.init_process_group first"
        )
    wrapped = (nn.parallel.DistributedDataParallel,)
    if any(isinstance(module, wrapped) for module in problem.model.modules()):
        raise ValueError(
            "model: expected the bare network, got DistributedDataParallel, which adds nothing up "
            "in second derivatives; give model.module"
        )
    if problem.total is None:
        raise ValueError(
            "data_parallel: what the loss counts is not known; say what the mean of each batch "
            "divides by with weights=lambda batch: ..., or weights='sum'"
        )
    return problem.total


def _identity(operator: DifferentiatedOperator | CurvlinopsOperator) -> tuple[Any, ...]:
    """The properties of an operator that have to be the same in all processes."""
    problem = operator.problem
    parameters, digest = named_parameters(problem.model), hashlib.sha256()
    for name in problem.names:
        digest.update(parameters[name].detach().cpu().contiguous().numpy().data)
    kind = type(operator).__name__
    return kind, problem.names, problem.shapes, problem.summed, digest.hexdigest()
