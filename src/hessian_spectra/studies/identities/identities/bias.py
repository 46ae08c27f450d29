"""The linear network with bias: Theorem B.1 (singh2024closed, Theorem 6), eq. (68) to (110)."""

import torch
from torch import Tensor

from hessian_spectra import closed_form as cf
from hessian_spectra.models import HalfSquaredError, LinearWithBias
from hessian_spectra.studies.identities.identities import errata_bias as printed
from hessian_spectra.studies.identities.identities import formulas
from hessian_spectra.studies.identities.identities.errata_bias import BiasMoments
from hessian_spectra.studies.identities.identities.family import Family, Quantities, Setting
from hessian_spectra.studies.identities.identities.instances import (
    Instance,
    bias,
    dropped,
    parallel,
    sextic,
)


def _moments(instance: Instance) -> BiasMoments:
    return BiasMoments.of(*(instance[name] for name in "wvbxy"))


def _theorem(of: BiasMoments) -> Quantities:
    """Theorem B.1 as it is printed: pair, triple, and with bulk and zeros all 3m eigenvalues."""
    w2, v2, m = of.w @ of.w, of.v @ of.v, len(of.w)
    pair = formulas.bias_pair(v2 + w2, of.residual)
    triple = formulas.bias_triple(w2, v2, of.residual)
    bulk = of.residual.sqrt().expand(max(m - 2, 0))
    zeros = torch.zeros(m - 1, dtype=w2.dtype)
    return {
        "pair": pair,
        "triple": triple,
        "spectrum": torch.cat([pair, triple, bulk, -bulk, zeros]).sort().values,
        "bound": formulas.bias_bound(v2 + w2, of.residual),
        "half_trace": v2 + w2,
    }


def _spectrum(instance: Instance) -> Tensor:
    return cf.linear_with_bias(*(instance[name] for name in "wvbxy")).eigenvalues


def _polynomials(instance: Instance, of: BiasMoments) -> Quantities:
    """The sextic, right and as printed; at width 2 its roots are all six eigenvalues."""
    if len(of.w) != 2:
        nothing = torch.zeros(0, dtype=torch.float64)
        names = ("sextic", "printed_sextic_norm", "printed_sextic_sign", "quintic")
        return dict.fromkeys(names, nothing)
    quintic = formulas.bias_quintic(of.w @ of.w, of.v @ of.v, of.residual)
    return {
        "sextic": cf.bias_sextic(*(instance[name] for name in "wvbxy")),
        "printed_sextic_norm": printed.printed_sextic_norm(of),
        "printed_sextic_sign": printed.printed_sextic_sign(of),
        "quintic": torch.cat([quintic, torch.zeros(1, dtype=torch.float64)]),
    }


def exact(instance: Instance) -> Quantities:
    """What the theorem says about one instance."""
    of = _moments(instance)
    theorem = _theorem(of)
    if len(of.w) == 1:
        # The printed multiplicities begin to make sense at width 2: one of each sign cancels.
        theorem["spectrum"] = theorem["spectrum"][:0]
    return {
        "eigenvalues": _spectrum(instance),
        "hessian": formulas.bias_hessian(of.w, of.v, of.b, torch.ones_like(of.dx), of.dx, of.d),
        "printed_hessian": printed.printed_hessian(of),
        **theorem,
        **_polynomials(instance, of),
    }


def exact_sextic(instance: Instance) -> Quantities:
    """What the sextic says about an instance that meets none of the assumptions on weights."""
    return {
        "eigenvalues": _spectrum(instance),
        **_polynomials(instance, _moments(instance)),
    }


def exact_dropped(instance: Instance) -> Quantities:
    """The printed formulas where one of their assumptions does not hold."""
    return {
        "dropped": instance["dropped"],
        "spectrum": _theorem(_moments(instance))["spectrum"],
    }


def exact_parallel(instance: Instance) -> Quantities:
    """Pair and triple under the weaker assumption on the targets, with all multiplicities."""
    w, v, rho = instance["w"], instance["v"], instance["rho"]
    m, alignment = len(w), torch.hypot(w @ v, w @ instance["b"])
    pair, triple = cf.pair_and_triple(w @ w, v @ v, alignment, rho.squeeze())
    bulk, zeros = rho.abs().expand(max(m - 2, 0)), torch.zeros(m - 1, dtype=torch.float64)
    spectrum = torch.cat([pair, triple, bulk, -bulk, zeros]).sort().values
    return {"spectrum": spectrum if m > 1 else spectrum[:0]}


def setting(instance: Instance) -> Setting:
    """The instance for brute force."""
    model = LinearWithBias(instance["w"], instance["v"], instance["b"])
    return Setting(model, HalfSquaredError("sample"), instance["x"], instance["y"])


FAMILY = Family(bias, exact, setting)
DROPPED = Family(dropped, exact_dropped, setting)
PARALLEL = Family(parallel, exact_parallel, setting)
SEXTIC = Family(sextic, exact_sextic, setting)
