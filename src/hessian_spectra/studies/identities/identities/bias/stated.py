"""The linear network with bias: Theorem B.1 (singh2024closed, Theorem 6), eq. (68) to (110)."""

import torch
from torch import Tensor

from hessian_spectra import closed_form as cf
from hessian_spectra.models import LinearWithBias
from hessian_spectra.studies.identities.identities.bias import formulas
from hessian_spectra.studies.identities.identities.bias.formulas import BiasMoments
from hessian_spectra.studies.identities.identities.bias.instances import (
    bias,
    dropped,
    parallel,
    sextic,
)
from hessian_spectra.studies.identities.identities.instances import Instance
from hessian_spectra.studies.identities.identities.theorem import Quantities, Theorem


def _moments(instance: Instance) -> BiasMoments:
    return BiasMoments.of(*(instance[name] for name in "wvbxy"))


def _eigenvalues(instance: Instance) -> Tensor:
    return cf.linear_with_bias(*(instance[name] for name in "wvbxy")).eigenvalues


def _spectrum(pair: Tensor, triple: Tensor, bulk: Tensor, m: int) -> Tensor:
    """Pair, triple, ±bulk (m − 2 times) and 0 (m − 1 times); nothing at width 1.

    The multiplicities begin to make sense at width 2: at width 1 one of each sign cancels.
    """
    rest, zeros = bulk.expand(max(m - 2, 0)), torch.zeros(m - 1, dtype=bulk.dtype)
    spectrum = torch.cat([pair, triple, rest, -rest, zeros]).sort().values
    return spectrum if m > 1 else spectrum[:0]


def _theorem(of: BiasMoments) -> Quantities:
    """Theorem B.1 as it is printed: pair, triple, and with bulk and zeros all 3m eigenvalues."""
    w2, v2 = of.w @ of.w, of.v @ of.v
    pair = formulas.bias_pair(v2 + w2, of.residual)
    triple = formulas.bias_triple(w2, v2, of.residual)
    return {
        "pair": pair,
        "triple": triple,
        "spectrum": _spectrum(pair, triple, of.residual.sqrt(), len(of.w)),
        "bound": formulas.bias_bound(v2 + w2, of.residual),
        "half_trace": v2 + w2,
    }


def _polynomials(instance: Instance, of: BiasMoments) -> Quantities:
    """The sextic, right and as printed; at width 2 its roots are all six eigenvalues."""
    if len(of.w) != 2:
        nothing = torch.zeros(0, dtype=torch.float64)
        names = ("sextic", "printed_sextic_norm", "printed_sextic_sign", "quintic")
        return dict.fromkeys(names, nothing)
    quintic = formulas.bias_quintic(of.w @ of.w, of.v @ of.v, of.residual)
    return {
        "sextic": cf.bias_sextic(*(instance[name] for name in "wvbxy")),
        "printed_sextic_norm": formulas.sextic(of, b_power=1),
        "printed_sextic_sign": formulas.sextic(of, sign_97=1.0),
        "quintic": torch.cat([quintic, torch.zeros(1, dtype=torch.float64)]),
    }


def stated(instance: Instance) -> Quantities:
    """What the theorem says about one instance."""
    of = _moments(instance)
    return {
        "eigenvalues": _eigenvalues(instance),
        "hessian": formulas.bias_hessian(of),
        "printed_hessian": formulas.printed_hessian(of),
        **_theorem(of),
        **_polynomials(instance, of),
    }


def stated_by_sextic(instance: Instance) -> Quantities:
    """What the sextic says about an instance that meets none of the assumptions on weights."""
    return {"eigenvalues": _eigenvalues(instance), **_polynomials(instance, _moments(instance))}


def stated_beyond(instance: Instance) -> Quantities:
    """The printed formulas where one of their assumptions does not hold."""
    spectrum = _theorem(_moments(instance))["spectrum"]
    return {"dropped": instance["dropped"], "spectrum": spectrum}


def stated_weaker(instance: Instance) -> Quantities:
    """Pair and triple under the weaker assumption on the targets, with all multiplicities."""
    w, v, rho = instance["w"], instance["v"], instance["rho"]
    alignment = torch.hypot(w @ v, w @ instance["b"])
    pair, triple = cf.pair_and_triple(w @ w, v @ v, alignment, rho.squeeze())
    return {"spectrum": _spectrum(pair, triple, rho.abs(), len(w))}


def _model(instance: Instance) -> LinearWithBias:
    return LinearWithBias(instance["w"], instance["v"], instance["b"])


THEOREMS = {
    "bias": Theorem(bias, stated, _model),
    "dropped": Theorem(dropped, stated_beyond, _model),
    "parallel": Theorem(parallel, stated_weaker, _model),
    "sextic": Theorem(sextic, stated_by_sextic, _model),
}
