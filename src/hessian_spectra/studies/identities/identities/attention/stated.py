"""Self-attention: Theorem 3.5, Remarks B.2 to B.4 and 3.1, and activations other than softmax."""

import torch
from torch import Tensor

from hessian_spectra import closed_form as cf
from hessian_spectra.models import SelfAttention
from hessian_spectra.studies.identities.identities.attention import formulas, instances
from hessian_spectra.studies.identities.identities.instances import Instance
from hessian_spectra.studies.identities.identities.theorem import Quantities, Theorem


def _weights(instance: Instance) -> tuple[Tensor, Tensor, Tensor]:
    return instance["w_value"], instance["w_query"], instance["w_key"]


def _with_bulk(outliers: Tensor, gamma: Tensor, d: int) -> Tensor:
    """All eigenvalues ``(1 + 2 d_K,)`` from the three outliers and ±γ."""
    bulk = gamma.expand(d - 1)
    return torch.cat([outliers, bulk, -bulk]).sort().values


def attention(instance: Instance) -> Quantities:
    """What the theorem and its remarks say about one instance."""
    arguments = *_weights(instance), instance["x"], instance["y"]
    spectrum = cf.self_attention(*arguments)
    of, (_, query, key) = cf.attention_coefficients(*arguments), _weights(instance)
    d, zero = len(key), torch.zeros(1, dtype=torch.float64)
    cubic = cf.attention_cubic(of, query, key)
    without_bulk = torch.cat([cf.attention_outliers_without_bulk(of, query, key), zero])
    return {
        "width": torch.tensor(d),
        "eigenvalues": spectrum.eigenvalues,
        "eigenvectors": spectrum.eigenvectors(),
        "is_outlier": torch.tensor([label.startswith("outlier") for label in spectrum.labels]),
        "hessian": formulas.displayed_hessian(of, query, key),
        "printed_hessian": formulas.printed_hessian(of, query, key),
        "gamma": of.gamma,
        "zeta": of.zeta,
        "trace": of.alpha + of.zeta * (key @ key + query @ query),
        "viete_spectrum": _with_bulk(cubic.roots(), of.gamma, d),
        "spectrum_without_gamma": _with_bulk(without_bulk, torch.zeros_like(of.gamma), d),
        "query_key_quadratic": formulas.query_key_quadratic(of, query, key),
        "cubic": formulas.cubic(of, query, key),
        "depressed_cubic": formulas.in_eigenvalue(cubic, cubic.q),
        "printed_depressed_cubic": formulas.in_eigenvalue(
            cubic, formulas.printed_q(of, query, key)
        ),
        "outlier_bounds": torch.stack(cf.attention_outlier_bounds(of, query, key)),
        "largest_bounds": torch.stack(cf.attention_largest_eigenvalue_bounds(of, query, key)),
        "printed_half_width": formulas.printed_half_width(of, query, key),
        "condition_bounds": formulas.condition_bounds(of, query, key),
        "growing_bound": formulas.growing_bound(of, query, key),
    }


class RowwiseAttention(SelfAttention):
    """Self-attention with tanh of each score in the place of softmax."""

    def attention(self, x: Tensor) -> Tensor:
        """The attention weights ``(batch, length, length)``; their rows sum to anything."""
        alignment = self.w_query @ self.w_key / len(self.w_key) ** 0.5
        return torch.tanh(x[:, :, None] * x[:, None, :] * alignment)


def rowwise(instance: Instance) -> Quantities:
    """Theorem 3.5 with tanh of each score."""
    arguments = *_weights(instance), instance["x"], instance["y"]
    return {"eigenvalues": cf.self_attention(*arguments, activation=torch.tanh).eigenvalues}


THEOREMS = {
    "attention": Theorem(
        instances.attention, attention, lambda i: SelfAttention(*_weights(i)), per="element"
    ),
    "rowwise": Theorem(
        instances.rowwise, rowwise, lambda i: RowwiseAttention(*_weights(i)), per="element"
    ),
}
