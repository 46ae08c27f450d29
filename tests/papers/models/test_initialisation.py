"""Weights at initialisation are those that torch draws."""

import torch

from hessian_papers.models.initialisation import kaiming_uniform


def test_kaiming_uniform_is_the_default_of_linear_layers():
    drawn = kaiming_uniform((7, 5, 3), torch.Generator().manual_seed(0))
    torch.manual_seed(0)
    for weight in drawn:
        rows, columns = weight.shape
        layer = torch.nn.Linear(columns, rows, bias=False, dtype=torch.float64)
        # torch computes its bound with more roundings.
        torch.testing.assert_close(weight, layer.weight.detach(), rtol=1e-15, atol=0)
