"""The parts of a language model's functional Hessian by operation, under the operations' names."""

import numpy as np
from torch import Tensor

from hessian_papers.studies.gpt2.seeds import OPERATIONS
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays

# The operations by the library's names for them.
NAMES = {
    "softmax": "softmax",
    "product": "QK product",
    "product by softmax": "AV product",
    "linear map": "linear maps",
    "NewGELUActivation": "GELU",
    "normalisation": "LayerNorm",
    "head": "head",
}
# The linear map to the logits has a name of its own.
MODULES = {"lm_head": "head"}


def by_operation(problem: cv.Problem, vector: Tensor, eigenvalue: float) -> Arrays:
    """The parts ``vᵀF_o v`` by operation, and their sum ``vᵀFv``, over an eigenvalue.

    Args:
        problem: GPT-2 in float64, with the cross-entropy; its products are taken to be right.
        vector: ``v (p,)``, the Hessian's eigenvector.
        eigenvalue: its eigenvalue.

    Returns:
        ``operation_part``, of each of :data:`OPERATIONS`, and ``functional`` ``()``.

    Source: the chain rule, see :func:`hessian_spectra.curvature.functional_parts`.
    """
    result = cv.functional_parts(problem, vector.to(problem.dtype), MODULES, check=False)
    parts = {NAMES[name]: part for name, part in result.parts.items()}
    values = [parts.get(name, 0.0) / eigenvalue for name in OPERATIONS]
    return {
        "operation_part": np.array(values),
        "functional": np.array(result.functional / eigenvalue),
    }
