"""Training of the two-layer network in closed form: descent as a map of two numbers, and flow."""

import math
from dataclasses import replace
from functools import partial

import torch
from torch import nn

from hessian_papers.theorems.catalogue import Error, theorem
from hessian_papers.theorems.errors import excess, relative, worst
from hessian_papers.theorems.relu import Relu
from hessian_papers.theorems.two_layer import DESCENT, Linear, TwoLayer
from hessian_spectra import closed_form as cf

DESCENDED = f"{DESCENT} steps of torch's SGD"
INTEGRATED = "an integrator of the weights, at tolerance 1e-13"

of_the_map = partial(theorem, of="descent-map", ours=True, source=DESCENDED)
of_the_flow = partial(theorem, of="flow-end", ours=True, source=INTEGRATED)


@theorem(ours=True, source=DESCENDED, cracking="Corollary 3.1, beyond its statement")
def descent_map(net: Linear) -> Error:
    """A step of gradient descent multiplies $w + v$ by $1 - ηδx$ and $w - v$ by $1 + ηδx$, for any
    width. Training is a map of the two numbers $‖w + v‖$ and $‖w - v‖$.

    Remark: Our addition. In functions of $⟨w, v⟩$ and the trace it is in Lewkowycz et al. (2020).
    """
    path = cf.gradient_descent(net.w, net.v, net.x, net.y, net.rate, DESCENT)
    return _last(path, net, net.descended)


@of_the_map(cracking="Corollary 3.1, beyond its statement")
def descent_any_loss(net: Linear) -> Error:
    """The map holds for any loss l, with $δx = E[l'x]$; measured for the logistic loss."""
    y, loss = (net.y > 0).double(), nn.BCEWithLogitsLoss()
    path = cf.gradient_descent(net.w, net.v, net.x, y, net.rate, DESCENT, loss=loss)
    return _last(path, net, net.descended_logistic)


@of_the_map(cracking="Theorem 3.4, beyond its statement")
def descent_cells(net: Relu) -> Error:
    """Each cell of a ReLU network has a map of its own until a $v_j$ changes its sign."""
    w, v, x = cf.relu_cells(net.w, net.v, net.x)
    path = cf.gradient_descent(w, v, x, net.y, net.rate, DESCENT)
    if not bool(path.keeps_signs(w, v).all()):
        return None
    layers = [cells[-1].sum(0) for cells in path.weights(w, v)]
    # A neuron at its kink is in no cell, and stays where it is.
    w, v = (
        torch.where(net.v == 0, at, now) for at, now in zip((net.w, net.v), layers, strict=True)
    )
    return relative(torch.cat([v, w]), net.descended)


@theorem(ours=True, source=INTEGRATED, cracking="appendix C, on learning, beyond its statement")
def flow_end(net: Linear) -> Error:
    r"""Gradient flow keeps $‖w + v‖‖w - v‖ = 2P$. It ends at the sharpness
    $2\sqrt{yx^2 + σ^4P^2}$, unless $w = -v$ ($yx > 0$) or $w = v$ ($yx < 0$),
    where it ends at the saddle.

    Remark: Our addition.
    """
    if net.duration == math.inf:
        return None
    end = cf.gradient_flow(net.w, net.v, net.x, net.y)
    w, v = (layer[0] for layer in end.weights(net.w, net.v))
    return relative(torch.cat([v, w]), net.flowed[1], over=net.theta.norm())


@of_the_flow(cracking="appendix C, on learning, beyond its statement")
def flow_course(net: Linear) -> Error:
    r"""At time t the flow has multiplied $‖w + v‖^2$ by $ρ = (1 + (θ^* + q_0^2)S)/(1 + (p_0^2 -
    θ^*)S)$ and $‖w - v‖^2$ by $1/ρ$, $S = \tanh(Rσ^2t)/R$, $R^2 = θ^{*2} + P^2$.
    """
    if net.duration == math.inf:
        return None
    path = cf.gradient_flow(net.w, net.v, net.x, net.y, net.duration / 60)
    return _last(path, net, net.flowed[0])


@of_the_flow(cracking="section 4.1, on the growth of the sharpness, beyond its statement")
def flow_growth(net: Linear) -> Error:
    r"""The sharpness grows from start to end exactly if $|⟨w, v⟩| < |θ^*|$, where both have one
    sign. Of opposite signs it takes $r = |⟨w, v⟩/θ^*| < 1/3$ and, for $r > 1/5$, $P^2 < 3θ^{*2}(1 -
    3r)(1 - r)(3 + r)/(8(5r - 1))$.
    """
    if net.duration == math.inf or not net.leaves_the_saddle:
        return None
    of, (v, w) = net.moments, net.flowed[1].split(len(net.w))
    invariant = (net.w + net.v).norm() * (net.w - net.v).norm() / 2
    grows = bool(cf.sharpness_grows(of.inner, invariant, of.yx / of.s2))
    growth = replace(net, w=w, v=v).size - net.size
    return excess(-growth if grows else growth, 0.0, net.size)


@theorem(
    ours=True,
    source="steps of gradient descent on the weights",
    closed="section 2, text on Figure 3, beyond its statement",
)
def descent_critical(net: Linear) -> Error:
    r"""Gradient descent ends at a minimum of sharpness at most $2/η$, from almost every start, if
    $η < \min(1/|yx|, 4/(σ^2(d_0 + d_1)))$, and from almost none above; $d_0$ and $d_1$ are the
    distances of $(⟨w, v⟩, P)$ from $(0, 0)$ and $(2θ^*, 0)$.

    Remark: Liang and Montúfar (2025) announce such a rate in their abstract; it is likely theirs.
    """
    if not net.leaves_the_saddle:
        return None
    (below, above), size = net.ends, net.moments.trace + net.moments.yx.abs()
    rate, ends = 0.7 * net.critical, net.moments_at(below)
    converged = float(net.moments_at(above).dx.abs() / size)
    stays = 0.0 if not converged < 1e-3 else 1.0
    return worst(relative(ends.dx, 0.0, size), excess(ends.trace, 2 / rate, size), stays)


def _last(path: cf.TrainingPath, net: TwoLayer, measured: torch.Tensor) -> float:
    """The error of the weights at a path's last state."""
    w, v = (layer[-1] for layer in path.weights(net.w, net.v))
    return relative(torch.cat([v, w]), measured, over=net.theta.norm())
