"""The linear network with bias: Theorem B.1 (singh2024closed, Theorem 6), eq. (68) to (110)."""

from dataclasses import replace

import torch
from torch import Tensor

from hessian_papers.studies.identities.identities.bias import formulas
from hessian_papers.studies.identities.identities.bias.formulas import BiasMoments
from hessian_papers.studies.identities.identities.instances import (
    Draw,
    Instance,
    changed,
    orthonormal,
    tensor,
    without,
)
from hessian_papers.studies.identities.identities.theorem import Quantities, Theorem
from hessian_spectra import closed_form as cf
from hessian_spectra.models import LinearWithBias


def _standardised(x: Tensor) -> Tensor:
    """``x`` with zero mean and unit second moment."""
    x = x - x.mean()
    return x / x.square().mean().sqrt()


def _assumed(draw: Draw, width: int = 5, points: int = 9) -> Instance:
    """One instance that meets all assumptions of Theorem B.1."""
    x, y = draw.points(points)
    x = _standardised(x)
    first = draw.scale() * orthonormal(draw.normal(width, 2))
    y = draw.scale() * without(y, torch.stack([x, torch.ones_like(x)], dim=1))
    w = draw.scale() * draw.normal(width)
    return {"w": w, "v": first[:, 0], "b": first[:, 1], "x": x, "y": y}


def draw_bias(draw: Draw) -> list[Instance]:
    """Networks with bias under all assumptions of Theorem B.1: ``w``, ``v``, ``b`` ``(m,)``.

    The edge cases: zero first layer (also at width 1, which allows no other); w = 0; w parallel to
    v; w orthogonal to v and b; zero targets.
    """
    edges = changed(
        lambda: _assumed(draw),
        lambda i: {"v": 0 * i["v"], "b": 0 * i["b"]},
        lambda i: {"v": tensor(0.0), "b": tensor(0.0), "w": i["w"][:1]},
        lambda i: {"w": 0 * i["w"]},
        lambda i: {"w": 1.5 * i["v"]},
        lambda i: {"w": without(i["w"], torch.stack([i["v"], i["b"]], dim=1))},
        lambda i: {"y": 0 * i["y"]},
    )
    return edges + [
        _assumed(draw, draw.integer(2, draw.width), draw.integer(4, draw.size))
        for _ in range(draw.instances)
    ]


def draw_dropped(draw: Draw) -> list[Instance]:
    """Like the random ones of :func:`draw_bias`, but each breaks one assumption of Theorem B.1.

    ``dropped`` says which: v orthogonal to b; equal norms; zero mean; unit second moment; no
    correlation.
    """
    changes = (
        lambda i: {"b": (i["b"] + i["v"]) / 2**0.5},
        lambda i: {"b": 2 * i["b"]},
        lambda i: {"x": (i["x"] + 1) / 2**0.5},
        lambda i: {"x": 1.5 * i["x"]},
        lambda i: {"y": i["y"] + 2 * i["x"]},
    )
    found = []
    for k in range(max(draw.instances, 3 * len(changes))):
        instance = _assumed(draw, draw.integer(2, draw.width), max(4, draw.size))
        which = k % len(changes)
        found.append(instance | changes[which](instance) | {"dropped": torch.tensor(which)})
    return found


def draw_parallel(draw: Draw) -> list[Instance]:
    """Like :func:`draw_bias`, for targets that correlate with x and 1 as the weights have it.

    (mean(y x), mean(y)) is parallel to (⟨w, v⟩, ⟨w, b⟩) in place of zero, and so is then (δx, δ):
    all that the theorem needs. ``rho`` is the residual along that direction.
    """
    found = []
    for instance in draw_bias(replace(draw, theorem="bias")):
        w, v, b, x = (instance[name] for name in "wvbx")
        factor = 2 * draw.normal(1)
        y = instance["y"] + factor * ((w @ v) * x + w @ b)
        rho = (1 - factor) * torch.hypot(w @ v, w @ b)
        found.append(instance | {"y": y, "rho": rho})
    return found


def draw_sextic(draw: Draw) -> list[Instance]:
    """Networks with bias and any weights and targets; every other one has width 2.

    At width 2 the sextic is the whole characteristic polynomial. The edge cases: widths 1 and 2;
    b = 0; v = 0; w = 0; v parallel to b; zero residual.
    """

    def base(width: int = 4, points: int = 7) -> Instance:
        x, y = draw.points(points)
        x = _standardised(x)
        weights = {name: draw.scale() * draw.normal(width) for name in "wvb"}
        return weights | {"x": x, "y": 2 * draw.normal(1) * x + draw.normal(1) + draw.scale() * y}

    edges = [base(width=1), base(width=2)]
    edges += changed(
        base,
        lambda i: {"b": 0 * i["b"]},
        lambda i: {"v": 0 * i["v"]},
        lambda i: {"w": 0 * i["w"]},
        lambda i: {"b": 0.7 * i["v"]},
        lambda i: {"y": i["x"] * (i["w"] @ i["v"]) + i["w"] @ i["b"]},
    )
    return edges + [
        base(2 if k % 2 else draw.integer(2, draw.width), draw.integer(2, draw.size))
        for k in range(draw.instances)
    ]


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
    "bias": Theorem(draw_bias, stated, _model),
    "dropped": Theorem(draw_dropped, stated_beyond, _model),
    "parallel": Theorem(draw_parallel, stated_weaker, _model),
    "sextic": Theorem(draw_sextic, stated_by_sextic, _model),
}
