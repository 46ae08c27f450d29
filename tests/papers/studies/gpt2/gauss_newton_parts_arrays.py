"""Arrays of the study of what the GGN misses; nothing is measured."""

from collections.abc import Mapping, Sequence

import numpy as np

from hessian_papers.studies.gpt2.seeds import ATTENTION, TWIN

# Shares of the operations in the gap: softmax is the largest.
OPERATIONS = {
    "softmax": 0.4,
    "QK product": 0.05,
    "AV product": 0.15,
    "linear maps": 0.05,
    "GELU": 0.1,
    "LayerNorm": 0.2,
    "head": 0.05,
}
# The GGN's relative error.
ERRORS = {ATTENTION: 0.2, TWIN: 0.05}


def parts(
    variants: Sequence[str] = (ATTENTION, TWIN),
    seeds: int = 3,
    errors: Mapping[str, float] | None = None,
    operations: Mapping[str, float] | None = None,
    released: float = 1e-4,
    noise: float = 0.01,
) -> dict[str, np.ndarray]:
    """Networks at two steps.

    Args:
        variants: the architectures.
        seeds: of each.
        errors: of the GGN by architecture.
        operations: shares of operations in the gap.
        released: relative, by which the released product changes the eigenvalue of the first one.
        noise: of the errors and shares over seeds, relative.
    """
    draw = np.random.default_rng(0)
    shape = (len(variants), seeds, 2)
    vary = lambda: np.exp(noise * draw.normal(size=shape))  # noqa: E731
    error = np.array([{**ERRORS, **(errors or {})}[name] for name in variants])[:, None, None]
    hessian, squared = 10 * vary(), 3 * vary()
    shift = np.where(np.arange(len(variants)) == 0, released, 0.0)[:, None, None]
    eigenvalues = {
        "hessian": hessian,
        "released hessian": hessian * (1 + shift),
        "ggn": hessian * (1 - error * vary()),
        "squared hessian": squared,
        "squared ggn": squared * (1 - error * vary()),
    }
    whole = error * np.ones(shape)
    part = np.array([*{**OPERATIONS, **(operations or {})}.values()])
    return {
        "operation": np.array([*OPERATIONS]),
        "operation_part": part * whole[..., None],
        "functional": whole,
        "matrix": np.array([*eigenvalues]),
        "eigenvalue": np.stack([*eigenvalues.values()], axis=-1),
        "residual": np.full((*shape, len(eigenvalues)), 1e-5),
        "variant": np.array(variants),
        "seed": np.arange(seeds),
        "step": np.array([100, 400]),
    }
