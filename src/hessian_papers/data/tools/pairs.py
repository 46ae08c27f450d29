"""Inputs and their targets: how they are declared, and the two as tensors."""

import torch
import xarray as xr
from torch import Tensor

from hessian_papers.labelled import Variable, Variables

# Of what has one number, or several, for each sample.
SCALARS: Variables = {"x": Variable("sample", "input"), "y": Variable("sample", "target")}
VECTORS: Variables = {**SCALARS, "x": Variable("sample feature", "inputs")}
# Of sequences of numbers, or of vectors.
SEQUENCES: Variables = {
    "x": Variable("sequence position", "token"),
    "y": Variable("sequence position", "target of the token"),
}
VECTOR_SEQUENCES: Variables = {
    name: Variable(f"{dims} entry", meaning) for name, (dims, meaning, _) in SEQUENCES.items()
}


def inputs_and_targets(data: xr.Dataset) -> tuple[Tensor, Tensor]:
    """Inputs ``x`` and targets ``y`` of a data set, or of networks that were trained on it.

    Example:
        >>> data = xr.Dataset({"x": ("sample", [0.5, 1.0]), "y": ("sample", [1.0, 0.0])})
        >>> [values.tolist() for values in inputs_and_targets(data)]
        [[0.5, 1.0], [1.0, 0.0]]
    """
    return torch.from_numpy(data["x"].values), torch.from_numpy(data["y"].values)
