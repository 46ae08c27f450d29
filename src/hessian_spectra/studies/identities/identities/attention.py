"""Self-attention: Theorem 3.5, Remarks B.2 to B.4 and 3.1, and activations other than softmax."""

import torch
from torch import Tensor

from hessian_spectra import closed_form as cf
from hessian_spectra.models import HalfSquaredError, SelfAttention
from hessian_spectra.studies.identities.identities import errata_attention as printed
from hessian_spectra.studies.identities.identities.attention_instances import attention, rowwise
from hessian_spectra.studies.identities.identities.family import Family, Quantities, Setting
from hessian_spectra.studies.identities.identities.instances import Instance

# How far one of the two weight vectors grows (and the other shrinks, so that ⟨w_K, w_Q⟩ stays)
# where the monotonicity of a bound is looked at.
_STRETCHES = (1.0, 1.05, 1.5, 4.0)


def _arguments(instance: Instance) -> tuple[Tensor, ...]:
    return tuple(instance[name] for name in ("w_value", "w_query", "w_key", "x", "y"))


def _with_bulk(outliers: Tensor, gamma: Tensor, d: int) -> Tensor:
    """All eigenvalues ``(1 + 2 d_K,)`` from the three outliers and ±γ."""
    bulk = gamma.expand(d - 1)
    return torch.cat([outliers, bulk, -bulk]).sort().values


def _in_eigenvalue(cubic: cf.DepressedCubic, q: Tensor) -> Tensor:
    """The coefficients ``(4,)`` of t³ + p t + q in λ = t + T/3, highest power first."""
    shift = cubic.shift
    constant = -(shift**3) - cubic.p * shift + q
    return torch.stack([torch.ones_like(q), -3 * shift, 3 * shift**2 + cubic.p, constant])


def _printed_cubic(of: cf.AttentionCoefficients, query: Tensor, key: Tensor) -> Tensor:
    """The third-order polynomial before Remark B.3, coefficients ``(4,)``, highest power first."""
    alpha, beta, gamma, zeta = of
    norms, inner, difference = key @ key + query @ query, key @ query, beta**2 - alpha * zeta
    linear = difference * norms + 2 * gamma * zeta * inner + gamma**2
    constant = 2 * gamma * difference * inner - alpha * gamma**2
    return torch.stack([-torch.ones_like(alpha), alpha + zeta * norms, linear, constant])


def _condition_bounds(of: cf.AttentionCoefficients, query: Tensor, key: Tensor) -> Tensor:
    """Remark 3.1 corrected, as printed, and stronger ``(3,)``; zeros where there is no bulk."""
    if len(key) < 2:
        return torch.zeros(3, dtype=torch.float64)
    bounds = [
        cf.condition_number_bound(of, query, key, signed_trace=True),
        printed.printed_condition_bound(of, query, key),
        cf.condition_number_bound(of, query, key),
    ]
    return torch.stack(bounds)


def _growing_bound(of: cf.AttentionCoefficients, query: Tensor, key: Tensor) -> Tensor:
    """T/3 + ξ/2 of Remark 3.1, as ‖w_K‖² + ‖w_Q‖² grows at fixed ⟨w_K, w_Q⟩."""
    longer, shorter = (query, key) if query.norm() >= key.norm() else (key, query)
    cubics = [cf.attention_cubic(of, longer * by, shorter / by) for by in _STRETCHES]
    return torch.stack([cubic.shift + cubic.half_width() / 2 for cubic in cubics])


def exact(instance: Instance) -> Quantities:
    """What the theorem and its remarks say about one instance."""
    query, key = instance["w_query"], instance["w_key"]
    d, zero = len(key), torch.zeros(1, dtype=torch.float64)
    spectrum = cf.self_attention(*_arguments(instance))
    of = cf.attention_coefficients(*_arguments(instance))
    cubic = cf.attention_cubic(of, query, key)
    norms, inner = key @ key + query @ query, key @ query
    without_bulk = torch.cat([cf.attention_outliers_without_bulk(of, query, key), zero])
    return {
        "width": torch.tensor(d),
        "eigenvalues": spectrum.eigenvalues,
        "eigenvectors": spectrum.eigenvectors(),
        "is_outlier": torch.tensor([label.startswith("outlier") for label in spectrum.labels]),
        "hessian": printed.displayed_hessian(of, query, key),
        "printed_hessian": printed.printed_hessian(of, query, key),
        "gamma": of.gamma,
        "zeta": of.zeta,
        "trace": of.alpha + of.zeta * norms,
        "viete_spectrum": _with_bulk(cubic.roots(), of.gamma, d),
        "spectrum_without_gamma": _with_bulk(without_bulk, torch.zeros_like(of.gamma), d),
        # Remark B.2: a two-layer linear network with σ² = ζ and δx = γ.
        "query_key_quadratic": torch.stack(
            [
                torch.ones_like(of.gamma),
                -of.zeta * norms,
                -(of.gamma**2) - 2 * of.zeta * of.gamma * inner,
            ]
        ),
        "cubic": _printed_cubic(of, query, key),
        "depressed_cubic": _in_eigenvalue(cubic, cubic.q),
        "printed_depressed_cubic": _in_eigenvalue(cubic, printed.printed_q(of, query, key)),
        "outlier_bounds": torch.stack(cf.attention_outlier_bounds(of, query, key)),
        "largest_bounds": torch.stack(cf.attention_largest_eigenvalue_bounds(of, query, key)),
        "printed_half_width": printed.printed_half_width(of, query, key),
        "condition_bounds": _condition_bounds(of, query, key),
        "growing_bound": _growing_bound(of, query, key),
    }


def setting(instance: Instance) -> Setting:
    """The instance for brute force."""
    model = SelfAttention(instance["w_value"], instance["w_query"], instance["w_key"])
    return Setting(model, HalfSquaredError("element"), instance["x"], instance["y"])


class RowwiseAttention(SelfAttention):
    """Self-attention with tanh of each score in the place of softmax."""

    def attention(self, x: Tensor) -> Tensor:
        """The attention weights ``(batch, length, length)``; their rows sum to anything."""
        alignment = self.w_query @ self.w_key / len(self.w_key) ** 0.5
        return torch.tanh(x[:, :, None] * x[:, None, :] * alignment)


def exact_rowwise(instance: Instance) -> Quantities:
    """Theorem 3.5 with tanh of each score."""
    spectrum = cf.self_attention(*_arguments(instance), activation=torch.tanh)
    return {"eigenvalues": spectrum.eigenvalues}


def set_rowwise(instance: Instance) -> Setting:
    """The instance for brute force."""
    model = RowwiseAttention(instance["w_value"], instance["w_query"], instance["w_key"])
    return Setting(model, HalfSquaredError("element"), instance["x"], instance["y"])


FAMILY = Family(attention, exact, setting)
ROWWISE = Family(rowwise, exact_rowwise, set_rowwise)
