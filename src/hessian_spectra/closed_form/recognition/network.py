"""The closed form of a network as it is: which theorem applies, and what it says."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor, nn

from hessian_spectra.closed_form._inputs import finite
from hessian_spectra.closed_form._losses import KnownDerivatives, Loss, name_of
from hessian_spectra.closed_form.assumptions import Assumption
from hessian_spectra.closed_form.recognition.forms import Form
from hessian_spectra.closed_form.recognition.objective import Data, NotCoveredError, Objective
from hessian_spectra.closed_form.recognition.reading import (
    UnknownStructureError,
    form_of,
    is_attention,
    parts_of,
)
from hessian_spectra.closed_form.recognition.theorems import OF_MATRIX, Theorem
from hessian_spectra.closed_form.recognition.verdicts import (
    Candidate,
    NoClosedFormError,
    verdict,
)
from hessian_spectra.models import HalfSquaredError
from hessian_spectra.seeding import generator
from hessian_spectra.spectrum import Spectrum
from hessian_spectra.validation import require_word

Matrix = Literal["hessian", "gauss-newton"]

# Residuals that rounding explains; the closed forms themselves are exact to this.
_EXACT = 1e-10
# Eigenvectors of so many parameters take 200 MB.
_MOST_PARAMETERS = 5000


def of(
    model: nn.Module,
    data: Data,
    loss: Loss | None = None,
    *,
    approximate: bool = False,
    matrix: Matrix = "hessian",
) -> Spectrum:
    """The Hessian spectrum of a network by the theorem that applies to it.

    Recognised are, with the shapes that the theorems have,

    * ``nn.Linear`` layers in ``nn.Sequential``, nested or not, ``nn.ReLU`` between two of them, and
      ``nn.Identity`` and ``nn.Flatten`` beside them: two-layer linear and ReLU networks with one
      input and one output, linear ones with a bias in the first layer or in both, orthogonal first
      layers and deep linear networks of any size (a bias in the first layer alone counts as the
      weights of an input that is 1);
    * the networks of :mod:`hessian_spectra.models`: all of these, several inputs or outputs with
      layers of their own, and self-attention on numbers.

    Everything is computed in float64, also for a network in float32, whose weights are taken as
    they are. The theorems are about ``1/(2n) Σ (f(x_i) - y_i)²``; another factor of the loss
    multiplies the spectrum, and ``method`` tells it. All hold for every sum or mean of losses of
    one output each with two derivatives, such as ``nn.BCEWithLogitsLoss``, under which nothing is
    assumed of the inputs of networks with a bias or several inputs. A deep linear network's theorem
    is about the Gauss-Newton matrix of any layers and inputs, which is the Hessian where ``l'``,
    the residual of the squared error, is
    uncorrelated with the inputs.

    Args:
        model: the network, all of whose parameters vary. It is copied and left as it is.
        data: batches ``(inputs, targets)``, which are joined, or one pair of tensors.
        loss: a module or a function of outputs and targets, reduced to a number; by default the
            papers' own loss, half the squared error, averaged over samples (in self-attention over
            all tokens).
        approximate: where no theorem applies, evaluate those whose assumptions alone are broken,
            measure how far from the network's Hessian each is, and return the nearest. In each
            eigenspace one random unit vector ``z`` is multiplied by the Hessian, by automatic
            differentiation: some eigenvalue of the Hessian is within ``‖H z - λ z‖`` of ``λ``. For
            up to 5000 parameters.
        matrix: ``"hessian"``, or ``"gauss-newton"``, of which there is a closed form for linear
            networks of any depth, layers, inputs and residual.

    Returns:
        The spectrum, with eigenvectors in the order of ``model.named_parameters()``, each parameter
        row by row; ``method`` names the theorem. An approximate one says so there, has the
        ``residuals`` ``‖H z - λ z‖ / |λ_max|`` (not divided where all λ are 0), and counts as
        ``converged`` where they are below 1e-10, which is rounding.

    Raises:
        NoClosedFormError: an :class:`AssumptionError` with a line for each theorem that comes near,
            on what it assumes and how far that is violated, or on the layer that it has not.
        ValueError: a loss that couples outputs or has not two derivatives there, such as
            ``nn.CrossEntropyLoss``; frozen parameters; data that does not fit, is empty or not
            finite; or too many parameters for an approximation.

    Source: the theorems of :mod:`hessian_spectra.closed_form`; for what a residual bounds, Parlett,
    The Symmetric Eigenvalue Problem, Theorem 4.5.1.

    Example:
        >>> model = nn.Sequential(nn.Linear(1, 2, bias=False), nn.Linear(2, 1, bias=False))
        >>> _ = [nn.init.ones_(parameter) for parameter in model.parameters()]
        >>> x = torch.tensor([[1.0], [-1.0]])
        >>> s = of(model, (x, x))
        >>> s.eigenvalues
        tensor([-1., -1.,  1.,  5.], dtype=torch.float64)
        >>> s.method
        'closed form, Theorem 3.1'
    """
    theorems = _theorems(matrix)
    try:
        objective, form = _read(model, data, loss)
    except UnknownStructureError as error:
        raise NoClosedFormError([], str(error)) from None
    pairs = [(theorem, _candidate(theorem, form, objective)) for theorem in theorems]
    for theorem, candidate in pairs:
        if candidate.applies:
            return _spectrum(theorem, form, objective)
    fitting = [(theorem, candidate) for theorem, candidate in pairs if candidate.fits]
    if not fitting:
        near = [candidate for theorem, candidate in pairs if theorem.shape.concerns(form)]
        raise NoClosedFormError(near, "")
    if not approximate:
        advice = "approximate=True evaluates what comes nearest, and measures its error"
        raise NoClosedFormError([candidate for _, candidate in fitting], advice)
    return _nearest(fitting, form, objective)


def candidates(
    model: nn.Module, data: Data, loss: Loss | None = None, *, matrix: Matrix = "hessian"
) -> list[Candidate]:
    """Which theorems apply to a network, and why the others do not.

    Args are those of :func:`of`. What rules theorems out is in their records, also if it is another
    loss, a frozen parameter or an unknown layer.

    Returns:
        One record for each theorem.

    Raises:
        ValueError: data that does not fit the network, is empty or not finite.

    Source: the theorems of :mod:`hessian_spectra.closed_form`.

    Example:
        >>> model = nn.Sequential(nn.Linear(1, 2), nn.Linear(2, 1, bias=False))
        >>> x = torch.tensor([[2.0], [0.0]])
        >>> candidates = {item.function: item for item in candidates(model, (x, x))}
        >>> candidates["linear_with_bias"].assumption, candidates["linear_with_bias"].violation
        ('mean(x) = 0', 1.0)
        >>> candidates["two_layer_relu"].reason
        'it has a ReLU between its layers, and the network has none'
    """
    theorems = _theorems(matrix)
    try:
        objective, form = _read(model, data, loss)
    except (UnknownStructureError, NotCoveredError) as error:
        return [_verdict(theorem, str(error)) for theorem in theorems]
    return [_candidate(theorem, form, objective) for theorem in theorems]


def _theorems(matrix: Matrix) -> Sequence[Theorem]:
    require_word("matrix", matrix, tuple(OF_MATRIX))
    return OF_MATRIX[matrix]


def _read(model: nn.Module, data: Data, loss: Loss | None) -> tuple[Objective, Form]:
    # A compiled network has no second derivatives; the one inside is the same function.
    model = getattr(model, "_orig_mod", model)
    if not isinstance(model, nn.Module):
        raise ValueError(f"model: expected a torch.nn.Module, got {type(model).__name__}")
    attention = is_attention(parts_of(model))
    loss = loss or HalfSquaredError("element" if attention else "sample")
    objective = Objective(model, data, loss)
    form = form_of(objective.model, objective.x, objective.targets)
    if objective.derivatives is not None:
        # By the form's outputs; as a sum, whose second derivative has the square in `_spectrum`.
        slopes, curvatures = objective.derivatives.first, objective.derivatives.second
        form = replace(form, loss=KnownDerivatives(slopes / form.output_scale, curvatures))
    return objective, form


def _candidate(theorem: Theorem, form: Form, objective: Objective) -> Candidate:
    """Whether a theorem applies to a network, and why it does not."""
    finding = theorem.shape.misfit(form) or theorem.assumptions(form, objective.tolerance)
    return _verdict(theorem, finding)


def _verdict(theorem: Theorem, finding: str | Sequence[Assumption]) -> Candidate:
    """The record of what was found of a network."""
    return verdict(theorem.function, theorem.title, theorem.paper, finding)


def _spectrum(theorem: Theorem, form: Form, objective: Objective) -> Spectrum:
    """The closed form of the model's own loss, in the order of its own parameters."""
    spectrum, places = theorem.spectrum(form), theorem.places(form)
    basis = spectrum.eigenbasis
    factor = 2 * form.samples / objective.denominator * form.output_scale**2

    def eigenbasis() -> Tensor:
        assert basis is not None  # each of these closed forms has one
        vectors = basis()
        arranged = torch.empty_like(vectors)
        arranged[places] = vectors
        return arranged

    method, name = spectrum.method, name_of(objective.loss)
    if form.loss is not None:
        method += f", for the loss {name}"
    elif f"{factor:g}" != "1":
        method += f", times {factor:g}: the loss is {name}"
    return replace(
        spectrum, values=finite(spectrum.values * factor), method=method, eigenbasis=eigenbasis
    )


def _nearest(
    fitting: list[tuple[Theorem, Candidate]], form: Form, objective: Objective
) -> Spectrum:
    """The closed form with the smallest error among those whose assumptions are broken."""
    size = sum(parameter.numel() for parameter in objective.model.parameters())
    if size > _MOST_PARAMETERS:
        raise ValueError(
            f"approximate: expected at most {_MOST_PARAMETERS} parameters, whose eigenvectors are "
            f"held at once, got {size}"
        )
    distances = []
    for theorem, candidate in fitting:
        spectrum = _spectrum(theorem, form, objective)
        residuals = _residuals(spectrum, objective)
        largest = float(residuals.max())
        method = (
            f"{spectrum.method}, approximate: {candidate.reason}; largest residual {largest:.2g}"
        )
        measured = replace(
            spectrum, method=method, residuals=residuals, converged=residuals <= _EXACT
        )
        distances.append((largest, measured))
    return min(distances, key=lambda pair: pair[0])[1]


def _residuals(spectrum: Spectrum, objective: Objective) -> Tensor:
    """``‖H z - λ z‖ / |λ_max|`` for a random unit vector ``z`` in each eigenspace."""
    assert spectrum.eigenbasis is not None
    numbers = generator(0, "probes")
    blocks = spectrum.eigenbasis().split(list(spectrum.multiplicities), dim=1)
    held = [group for group, block in enumerate(blocks) if block.shape[1] > 0]
    vectors = []
    for group in held:
        mixture = torch.randn(blocks[group].shape[1], dtype=torch.float64, generator=numbers)
        mixture = (mixture / mixture.norm()).to(blocks[group].device)
        vectors.append(blocks[group] @ mixture)
    residuals = torch.zeros_like(spectrum.values)
    products = objective.hessian_products(vectors)
    for group, vector, product in zip(held, vectors, products, strict=True):
        residuals[group] = (product - spectrum.values[group] * vector).norm()
    scale = spectrum.values[held].abs().max()
    return residuals / scale if scale > 0 else residuals
