"""Random networks and edge cases of each theorem: one list, for tests and for catalogues of them.

A family is the class of the networks that a theorem is about. Its instances have weights and data
in float64 as their fields, the network as a module, and the spectrum that the theorem states. They
are drawn from a seed, each family from a stream of its own, so that a further family changes none
of the others.

Example:
    >>> nets = FAMILIES["linear"].drawn(Draw(seed=0, instances=2))
    >>> list(nets)[:3], list(nets)[-1]
    (['width 1', 'width 1, equal layers', 'w = v'], 'random 1')
    >>> net = nets["w = v"]
    >>> net.spectrum.labels.count("outlier"), len(net.spectrum.eigenvalues) == 2 * len(net.w)
    (2, True)
"""

from hessian_spectra.closed_form.instances.attention import AnyAttention, Attention, Rowwise
from hessian_spectra.closed_form.instances.consecutive import Consecutive
from hessian_spectra.closed_form.instances.deep import (
    ANY_TARGETS,
    LEAST_SQUARES,
    ZERO_LOSS,
    AnyLayers,
    Balanced,
    Deep,
    RawInputs,
    TwoLayers,
    end_to_end,
)
from hessian_spectra.closed_form.instances.drawing import (
    Draw,
    numbers,
    orthonormal,
    standardised,
    whitened,
    without,
)
from hessian_spectra.closed_form.instances.further_losses import (
    AttentionLoss,
    BiasLoss,
    DeepLoss,
    InputsLoss,
    Margins,
    OrthogonalLoss,
    OutputsLoss,
    UnderLoss,
)
from hessian_spectra.closed_form.instances.instance import Instance
from hessian_spectra.closed_form.instances.losses import LOSSES, AnyLoss, LinearLoss, ReluLoss
from hessian_spectra.closed_form.instances.several import (
    CorrelatedInput,
    MultiInput,
    MultiOutput,
    Orthogonal,
    SeveralInputs,
)
from hessian_spectra.closed_form.instances.two_layer import (
    Bias,
    Biased,
    Dropped,
    Linear,
    Parallel,
    Relu,
    Sextic,
    TwoLayer,
)

__all__ = [
    "ANY_TARGETS",
    "FAMILIES",
    "LEAST_SQUARES",
    "LOSSES",
    "PARTS",
    "ZERO_LOSS",
    "AnyAttention",
    "AnyLayers",
    "AnyLoss",
    "Attention",
    "AttentionLoss",
    "Balanced",
    "Bias",
    "BiasLoss",
    "Biased",
    "Consecutive",
    "CorrelatedInput",
    "Deep",
    "DeepLoss",
    "Draw",
    "Dropped",
    "InputsLoss",
    "Instance",
    "Linear",
    "LinearLoss",
    "Margins",
    "MultiInput",
    "MultiOutput",
    "Orthogonal",
    "OrthogonalLoss",
    "OutputsLoss",
    "Parallel",
    "RawInputs",
    "Relu",
    "ReluLoss",
    "Rowwise",
    "SeveralInputs",
    "Sextic",
    "TwoLayer",
    "TwoLayers",
    "UnderLoss",
    "end_to_end",
    "numbers",
    "orthonormal",
    "standardised",
    "whitened",
    "without",
]
# The families by name.
FAMILIES: dict[str, type[Instance]] = {
    family.stream: family
    for family in (
        *(Linear, Relu, Bias, Dropped, Parallel, Sextic, MultiInput, CorrelatedInput, MultiOutput),
        *(Orthogonal, Attention, Rowwise, AnyLayers, TwoLayers, Balanced),
        *(LinearLoss, ReluLoss),
        *(InputsLoss, OutputsLoss, BiasLoss, OrthogonalLoss, AttentionLoss, DeepLoss, Margins),
        RawInputs,
    )
}
# The same of theorems that give a part of the spectrum, in any network and under any loss.
PARTS: dict[str, type[Instance]] = {Consecutive.stream: Consecutive}
