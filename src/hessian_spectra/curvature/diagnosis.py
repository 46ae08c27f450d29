"""Why a product may differ from what it stands for, as model and loss themselves show."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from hessian_spectra.curvature.function_modes import Arguments, Function, FunctionMode, Named
from hessian_spectra.curvature.network import operations
from hessian_spectra.curvature.problem import Problem
from hessian_spectra.curvature.undisturbed import undisturbed, with_draws

# What makes a number or a constant of a tensor, and how it is written.
_CUTS: dict[Any, str] = {
    Tensor.detach: "detach()",
    Tensor.item: "item()",
    Tensor.tolist: "tolist()",
    Tensor.numpy: "numpy()",
    Tensor.__float__: "float()",
    Tensor.data.__get__: ".data",  # type: ignore[attr-defined]
}
# What has a kink at zero.
_KINKS = {functional.relu, functional.leaky_relu, torch.relu, Tensor.relu, torch.abs, Tensor.abs}


class _Watching(FunctionMode):
    """A mode that notes where what depends on the parameters becomes constant or has a kink."""

    def __init__(self) -> None:
        super().__init__()
        self.cuts: list[str] = []
        self.kinks: list[str] = []

    def call(self, func: Function, args: Arguments, kwargs: Named) -> Any:
        """The operation itself."""
        if func in _CUTS and isinstance(args[0], Tensor) and args[0].requires_grad:
            self.cuts.append(_CUTS[func])
        if func in _KINKS and isinstance(args[0], Tensor) and not args[0].all():
            self.kinks.append(func.__name__)
        if func is torch.autograd.grad and not kwargs.get("create_graph"):
            self.cuts.append("torch.autograd.grad without create_graph=True")
        return func(*args, **kwargs)


@undisturbed()
def cause_of_change(problem: Problem) -> str:
    """Why two passes over the data may differ, and what to do."""
    random = [
        name or type(module).__name__
        for name, module in problem.model.named_modules()
        if module.training and isinstance(module, (_DropoutNd, _BatchNorm))
    ]
    if random:
        names = ", ".join(random[:5])
        return f"dropout or batch norm in training mode ({names}): call model.eval()"
    network, (batch, _) = problem.fixed(), next(iter(problem.batches()))
    _, drawn = with_draws(lambda: network.value(batch))
    if drawn:
        return (
            "the model or the loss draws random numbers: call model.eval(), and give dropout its "
            "training=self.training"
        )
    return (
        "the data change between passes, as random augmentation and generators of their own make "
        "them: use a list of batches"
    )


@undisturbed()
def cause_of_difference(problem: Problem) -> str:
    """Why a product may differ from the differences, after one pass over some samples."""
    sample = problem.sample(4)
    network = sample.fixed()
    batch, _ = next(sample.batches())
    with torch.enable_grad(), _Watching() as watching:
        loss, _ = network.forward(batch)
    own = {
        type(node)._forward_cls.__name__  # type: ignore[attr-defined]
        for node in operations([loss])
        if isinstance(node, BackwardCFunction)
        and not type(node)._forward_cls.__module__.startswith("torch.")  # type: ignore[attr-defined]
    }
    if own:
        return (
            f"{', '.join(sorted(own))} (torch.autograd.Function) has a backward pass whose own "
            "derivative is wrong or missing: build it of torch's operations"
        )
    if watching.cuts:
        return (
            f"{', '.join(dict.fromkeys(watching.cuts))} in the model or the loss makes a constant "
            "of a value that depends on the parameters, so that the gradient is not that of the "
            "loss: keep it in the graph; where it is detached by design (DoRA, SimSiam, a "
            "straight-through estimator), check=False takes it as the constant that it is"
        )
    if watching.kinks:
        return (
            f"a kink exactly at these parameters ({watching.kinks[0]} of zero): move them, or pass "
            "check=False for torch's choice of derivative there"
        )
    return "an operation of the model or the loss has a second derivative that is wrong or missing"
