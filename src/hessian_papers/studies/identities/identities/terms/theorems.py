"""Networks in which one term of eq. (2) is raised and the others are kept."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from hessian_papers.studies.identities.identities.instances import Draw, Instance, changed, without
from hessian_papers.studies.identities.identities.linear.formulas import Moments, squares
from hessian_papers.studies.identities.identities.linear.theorems import network
from hessian_papers.studies.identities.identities.relu.formulas import Cell, cells
from hessian_papers.studies.identities.identities.terms import formulas
from hessian_papers.studies.identities.identities.theorem import Quantities, Setting, Theorem
from hessian_spectra import curvature as cv
from hessian_spectra.models import TwoLayerLinear, TwoLayerReLU

Model = Callable[[Instance], nn.Module]


def draw_linear(draw: Draw) -> list[Instance]:
    """Linear networks ``w``, ``v`` ``(m,)``, ``x``, ``y`` ``(n,)``, of width 2 or more.

    The edge cases: w = v; w = -v; the solution; half of the target; one point.
    """

    def base(width: int = 4, points: int = 7) -> Instance:
        return network(draw, width, points)

    def solved(i: Instance, factor: float) -> Instance:
        off = without(i["y"], i["x"][:, None])
        return {"y": factor * (i["w"] @ i["v"]) * i["x"] + off}

    return [
        *changed(
            base,
            lambda i: {"w": i["v"]},
            lambda i: {"w": -i["v"]},
            lambda i: solved(i, 1.0),
            lambda i: solved(i, 2.0),
        ),
        base(points=1),
        *(
            base(draw.integer(2, draw.width), draw.integer(1, draw.size))
            for _ in range(draw.instances)
        ),
    ]


def draw_relu(draw: Draw) -> list[Instance]:
    """ReLU networks with two neurons or more, and points, in each cell."""

    def both_signs(values: Tensor, of_each: int) -> Tensor:
        """The first entries positive, the next ones negative."""
        positive, negative, rest = values.split([of_each, of_each, len(values) - 2 * of_each])
        return torch.cat([positive.abs(), -negative.abs(), rest])

    found = [
        network(draw, draw.integer(4, draw.width), draw.integer(2, draw.size))
        for _ in range(draw.instances)
    ]
    return [
        one | {"v": both_signs(one["v"], of_each=2), "x": both_signs(one["x"], of_each=1)}
        for one in found
    ]


def _cells(instance: Instance) -> list[Cell]:
    """The cells of a ReLU network, that with the larger sharpness first."""
    found = cells(*(instance[name] for name in "wvxy"))
    return sorted(found, key=lambda cell: -float(formulas.sharpness(cell.of)))


def _changed(instance: Instance, before: Moments, after: Moments, inside: Cell | None) -> Instance:
    """The instance with other moments, of one cell of it where it has cells."""
    w, v, x = (instance[name] for name in "wvx")
    neurons = torch.ones_like(w) if inside is None else inside.neurons.to(w.dtype)
    # A cell's points are those on which its neurons fire.
    points = torch.ones_like(x) if inside is None else (x * inside.v.sum() > 0).to(x.dtype)
    new_w, new_v = formulas.weights_of(after, w * neurons, v * neurons)
    shift = (after.target_covariance - before.target_covariance) / before.second_moment
    return {
        "w": w * (1 - neurons) + new_w,
        "v": v * (1 - neurons) + new_v,
        "x": x,
        "y": instance["y"] + shift * x * points,
    }


def raised(instance: Instance, *, relu: bool) -> list[Instance]:
    """The instance with each term raised alone; for ReLU in the one cell, then in the other."""
    found = []
    for cell in _cells(instance) if relu else [None]:
        before = Moments.of(*(instance[name] for name in "wvxy")) if cell is None else cell.of
        after = formulas.raised_alone(before)
        found += [_changed(instance, before, each, cell) for each in after]
    return found


def _largest(model: Model) -> Callable[[Instance, Setting], Quantities]:
    """Measures the sharpness with each term raised, by brute force."""

    def measured(instance: Instance, of: Setting) -> Quantities:
        found = []
        for each in raised(instance, relu=model is _relu):
            problem = Setting(model(each), of.loss, each["x"], each["y"]).problem()
            matrix = cv.dense_matrix(cv.hessian(problem, check=False))
            found.append(cv.dense_spectrum(matrix).eigenvalues[-1])
        return {"raised": torch.stack(found)}

    return measured


def stated_linear(instance: Instance) -> Quantities:
    """The terms of one network, and the sharpness with each of them raised."""
    of = Moments.of(*(instance[name] for name in "wvxy"))
    return {
        "squares": squares(of),
        "trace": of.trace,
        "residual_covariance": of.residual_covariance,
        "sharpness": formulas.sharpness(of),
        "raised": torch.stack([formulas.sharpness(each) for each in formulas.raised_alone(of)]),
    }


def stated_relu(instance: Instance) -> Quantities:
    """The same of both cells: the sharpness is that of the cell where it is larger."""
    one, other = (cell.of for cell in _cells(instance))
    pairs = [(each, other) for each in formulas.raised_alone(one)]
    pairs += [(one, each) for each in formulas.raised_alone(other)]
    largest = [torch.stack([formulas.sharpness(of) for of in pair]).max() for pair in pairs]
    return {"sharpness": formulas.sharpness(one), "raised": torch.stack(largest)}


def _linear(instance: Instance) -> nn.Module:
    return TwoLayerLinear(instance["v"], instance["w"])


def _relu(instance: Instance) -> nn.Module:
    return TwoLayerReLU(instance["v"], instance["w"])


THEOREMS = {
    "terms": Theorem(draw_linear, stated_linear, _linear, _largest(_linear)),
    "cell_terms": Theorem(draw_relu, stated_relu, _relu, _largest(_relu)),
}
