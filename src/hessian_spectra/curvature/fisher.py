"""Fisher matrices and their Kronecker-factored approximations, as curvlinops computes them."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from hessian_spectra.curvature.batches import Batch
from hessian_spectra.curvature.composition import Operator
from hessian_spectra.curvature.curvlinops_operators import (
    CurvlinopsOperator,
    load_curvlinops,
    require_pairs,
    without_deprecations,
)
from hessian_spectra.curvature.interface import OperatorError
from hessian_spectra.curvature.problem import Problem
from hessian_spectra.seeding import generator

# Losses that are −log of a probability, by which targets can be drawn.
_LIKELIHOODS = (nn.MSELoss, nn.CrossEntropyLoss, nn.BCEWithLogitsLoss)
# What curvlinops leaves out without a word.
_UNHEEDED = ("weight", "pos_weight")
_LAYERS = (nn.Linear, nn.Conv2d)

FisherKind = Literal["type-2", "monte carlo", "empirical"]


def fisher(
    problem: Problem,
    kind: Literal["monte carlo", "empirical"] = "monte carlo",
    *,
    samples: int = 1,
    seed: int = 0,
) -> Operator:
    """The Fisher matrix ``F = c Σ_n Jₙᵀ ⟨gₙ gₙᵀ⟩ Jₙ`` of the likelihood behind the loss.

    The loss is ``L = c Σ_n ℓ(f_n, y_n)`` over samples (and positions of a sequence) with
    ``ℓ = −log q(y | f)`` up to a constant: cross entropy with ``c = 1 / N``, or a sum over the
    ``C`` outputs of squared errors or binary cross entropies with ``c = 1 / (N C)``; ``c = 1`` for
    ``reduction="sum"``. ``J_n`` is the Jacobian of the outputs and ``g = ∇_f ℓ(f, ỹ)``.

    Args:
        problem: network, loss and data.
        kind: ``"monte carlo"`` averages over targets ``ỹ`` drawn from the model's ``q(· | f_n)``;
            its expectation is ``ggn(problem)``, the type-2 Fisher matrix of these losses.
            ``"empirical"`` takes the data's own targets, so that it is ``c Σ_n ∇ℓ_n ∇ℓ_nᵀ``.
        samples: how many targets are drawn for each ``f_n``; ``"monte carlo"`` only.
        seed: seed of these draws, the same in every product. They are made on the problem's device.

    Raises:
        ValueError: ``kind`` is another word, ``samples`` does not fit, or the loss is another one,
            has weights, an ignored target, or a smoothing of targets that would be drawn.
        ModuleNotFoundError: curvlinops is not installed.

    Source: Martens (2020), sections 5, 9 and 11; the products are those of curvlinops.

    Example:
        >>> from torch import nn
        >>> model = nn.Linear(1, 1, bias=False, dtype=torch.float64)
        >>> _ = nn.init.ones_(model.weight)
        >>> x = torch.tensor([[1.0], [3.0]], dtype=torch.float64)
        >>> operator = fisher(Problem(model, nn.MSELoss(), [(x, 0 * x)]), "empirical")
        >>> operator @ torch.ones(1, dtype=torch.float64)  # mean((2 x · x)²)
        tensor([164.], dtype=torch.float64)
    """
    _require_kind(kind, ("monte carlo", "empirical"), samples)
    _require_likelihood(problem, "fisher", kind)
    if kind == "empirical":
        return CurvlinopsOperator(problem, "EFLinearOperator")
    seeds = _seeds(seed, problem.batch_count)
    return CurvlinopsOperator(
        problem,
        "FisherMCLinearOperator",
        options=lambda number: {"seed": seeds[number], "mc_samples": samples},
    )


def kfac(
    problem: Problem,
    kind: FisherKind = "type-2",
    *,
    sharing: Literal["expand", "reduce"] = "expand",
    samples: int = 1,
    seed: int = 0,
) -> Operator:
    """The Kronecker-factored curvature of each layer: ``B ⊗ A`` for weights, ``B`` for biases.

    ``A = (1/N) Σ_n a_n a_nᵀ`` for the inputs ``a`` of the layer and
    ``B = c Σ_n (∂f_n/∂z_n)ᵀ ⟨gₙ gₙᵀ⟩ (∂f_n/∂z_n)`` for its outputs ``z``, in the notation of
    :func:`fisher`. For a single linear layer with squared error that is its block of the
    Gauss-Newton matrix. There is nothing between layers, nor between a weight and its bias.

    Args:
        problem: network, loss and data; all parameters that vary belong to linear and
            two-dimensional convolutional layers, each of which is used once. Its factors belong to
            the parameters' values at this moment.
        kind: whose ``⟨g gᵀ⟩``: ``"type-2"`` is the exact expectation ``∇²_f ℓ``, with a backward
            pass for each output; ``"monte carlo"`` draws targets; ``"empirical"`` takes the data's.
        sharing: how positions of an image or sequence that share a weight enter: ``"expand"``
            treats them as independent, ``"reduce"`` sums them first.
        samples: how many targets are drawn; ``"monte carlo"`` only.
        seed: seed of these draws.

    Raises:
        ValueError: as for :func:`fisher`; a parameter of another layer, or of a shared one; batches
            that the loss does not weigh by their samples.
        OperatorError: curvlinops cannot compute the factors, with its reason.
        ModuleNotFoundError: curvlinops is not installed.

    Source: Martens and Grosse (2015); Grosse and Martens (2016) for convolutions; Eschenhagen et
    al. (2023), section 3, for ``sharing``.

    Example:
        >>> from torch import nn
        >>> model = nn.Linear(2, 1, bias=False, dtype=torch.float64)
        >>> x = torch.tensor([[1.0, 0.0], [1.0, 2.0]], dtype=torch.float64)
        >>> operator = kfac(Problem(model, nn.MSELoss(), [(x, x[:, :1])]))
        >>> (operator @ torch.eye(2, dtype=torch.float64)).round(decimals=9)  # 2 xᵀx / n
        tensor([[2., 2.],
                [2., 4.]], dtype=torch.float64)
    """
    return KroneckerOperator(problem, "KFACLinearOperator", kind, sharing, samples, seed)


def ekfac(
    problem: Problem,
    kind: FisherKind = "type-2",
    *,
    sharing: Literal["expand", "reduce"] = "expand",
    samples: int = 1,
    seed: int = 0,
) -> Operator:
    """The curvature of each layer in the eigenbasis of :func:`kfac`, with its exact diagonal there.

    ``Q diag(Qᵀ F_l Q) Qᵀ`` with ``F_l`` the layer's block of the matrix that ``kind`` names (the
    Gauss-Newton matrix for ``"type-2"``) and ``Q`` the eigenvectors of KFAC's block: of all
    matrices with these eigenvectors the nearest to ``F_l`` in the Frobenius norm.

    Args and errors are those of :func:`kfac`.

    Source: George et al. (2018), section 3.

    Example:
        >>> from torch import nn
        >>> model = nn.Linear(2, 1, bias=False, dtype=torch.float64)
        >>> x = torch.tensor([[1.0, 0.0], [1.0, 2.0]], dtype=torch.float64)
        >>> operator = ekfac(Problem(model, nn.MSELoss(), [(x, x[:, :1])]))
        >>> (operator @ torch.eye(2, dtype=torch.float64)).round(decimals=9)
        tensor([[2., 2.],
                [2., 4.]], dtype=torch.float64)
    """
    return KroneckerOperator(problem, "EKFACLinearOperator", kind, sharing, samples, seed)


class KroneckerOperator(Operator):
    """An approximation of curvlinops by Kronecker products, with its factors computed.

    Args are those of :func:`kfac` and the name of curvlinops' class.
    """

    def __init__(
        self, problem: Problem, name: str, kind: str, sharing: str, samples: int, seed: int
    ) -> None:
        what = name.removesuffix("LinearOperator").lower()
        _require_kind(kind, ("type-2", "monte carlo", "empirical"), samples)
        if sharing not in ("expand", "reduce"):
            raise ValueError(f"sharing: expected 'expand' or 'reduce', got {sharing!r}")
        _require_likelihood(problem, what, kind)
        _require_layers(problem, what)
        total = _require_weights_by_samples(problem, what)
        super().__init__(problem.size, problem.dtype, problem.device)
        network = problem.fixed()
        build = getattr(load_curvlinops(), name)
        with _explaining(what), torch.enable_grad(), without_deprecations():
            self.inner: Any = build(
                network.model,
                network.loss,
                network.parameters,
                _Batches(problem),
                check_deterministic=False,
                seed=_seeds(seed, 1)[0],
                fisher_type={"monte carlo": "mc"}.get(kind, kind),
                mc_samples=samples,
                kfac_approx=sharing,
                num_data=total,
            )
            # The factors are computed in the first product.
            with sdpa_kernel(SDPBackend.MATH):
                self.inner @ torch.zeros(self.shape[0], dtype=self.dtype, device=self.device)

    def _matmat(self, columns: Tensor) -> Tensor:
        return self.inner @ columns


class _Batches:
    """The batches alone, one after the other, as often as they are asked for."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    def __iter__(self) -> Iterator[Batch]:
        return (batch for batch, _ in self._problem.batches())


@contextmanager
def _explaining(what: str) -> Iterator[None]:
    """One line of ours for what curvlinops raises on networks that it cannot take."""
    try:
        yield
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise OperatorError(
            f"{what}: curvlinops cannot take this network ({type(error).__name__}: {reason})"
        ) from error


def _seeds(seed: int, count: int) -> list[int]:
    """A seed for each batch, so that no two batches share their draws."""
    return torch.randint(2**62, (count,), generator=generator(seed, "fisher")).tolist()


def _require_kind(kind: str, kinds: tuple[str, ...], samples: int) -> None:
    if kind not in kinds:
        raise ValueError(f"kind: expected one of {', '.join(map(repr, kinds))}, got {kind!r}")
    if samples < 1 or (samples != 1 and kind != "monte carlo"):
        raise ValueError(
            f"samples: expected at least 1, and 1 unless kind is 'monte carlo', got {samples} "
            f"for {kind!r}"
        )


def _require_likelihood(problem: Problem, what: str, kind: str) -> None:
    """Refuse a loss whose likelihood curvlinops does not know, or gets wrong."""
    require_pairs(problem, what)
    loss: Any = problem.loss
    known = [one for one in _LIKELIHOODS if isinstance(loss, one)]
    if not any(type(loss).forward is one.forward for one in known):
        raise ValueError(
            f"{what}: expected nn.MSELoss, nn.CrossEntropyLoss or nn.BCEWithLogitsLoss, the losses "
            f"whose likelihood curvlinops knows, got {type(loss).__name__}"
        )
    # A smoothed target is none that could be drawn; it does not change what else there is.
    for name in (*_UNHEEDED, *(["label_smoothing"] if kind == "monte carlo" else [])):
        setting = getattr(loss, name, None)
        if isinstance(setting, Tensor) or setting:
            raise ValueError(f"{what}: curvlinops does not heed {name} of {type(loss).__name__}")
    if isinstance(loss, nn.CrossEntropyLoss):
        for number, ((_, targets), _) in enumerate(problem.batches()):
            if targets.is_floating_point() or bool((targets == loss.ignore_index).any()):
                raise ValueError(
                    f"{what}: expected class numbers, none of them ignored, as targets, got "
                    f"{'probabilities' if targets.is_floating_point() else loss.ignore_index} in "
                    f"batch {number}"
                )


def _require_layers(problem: Problem, what: str) -> None:
    """Refuse parameters that curvlinops has no Kronecker factors for."""
    chosen = dict(problem.model.named_parameters())
    owners = {
        id(parameter)
        for module in problem.model.modules()
        if isinstance(module, _LAYERS)
        for parameter in module.parameters(recurse=False)
    }
    every = problem.model.named_parameters(remove_duplicate=False)
    uses = Counter(id(parameter) for _, parameter in every)
    for name in problem.names:
        if id(chosen[name]) not in owners:
            raise ValueError(
                f"{what}: {name!r} belongs to no linear or two-dimensional convolutional layer; "
                "name the others in Problem(..., parameters=...)"
            )
        if uses[id(chosen[name])] > 1:
            raise ValueError(f"{what}: {name!r} is shared by layers; expected each used once")


def _require_weights_by_samples(problem: Problem, what: str) -> int:
    """How many samples there are; refuse batches that are weighed otherwise.

    A sum over batches of Kronecker products is none, so that curvlinops' own weights must do.
    """
    batches = [(len(inputs), weight) for (inputs, _), weight in problem.batches()]
    total = sum(count for count, _ in batches)
    mean = getattr(problem.loss, "reduction", None) == "mean"
    for count, weight in batches:
        if mean and abs(weight - count / total) > 1e-9:
            raise ValueError(
                f"{what}: curvlinops weighs batches by their samples, the loss by {weight:.3g} "
                f"instead of {count} / {total}; give batches of one shape"
            )
    return total
