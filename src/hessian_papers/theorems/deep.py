"""Deep linear networks: anon2026data, eq. (4) to (16) and the recipes of appendix C.

Weights are ``W_1, ..., W_L``, inputs ``x (n, d_0)``: the paper's X is the transpose.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import pairwise

import torch
from torch import Tensor, nn

from hessian_papers.data.tools.subsets import class_counts
from hessian_papers.data.tools.whitening import whiten
from hessian_papers.models.balanced import balanced_weights
from hessian_papers.theorems.catalogue import BRUTE_FORCE, Error, theorem
from hessian_papers.theorems.errors import basis_error, excess, relative, vectors_error, worst
from hessian_papers.theorems.instances import Draw, Instance, measured, orthonormal, whitened
from hessian_spectra import closed_form as cf
from hessian_spectra.models import Perceptron
from hessian_spectra.spectrum import Spectrum

GAUSS_NEWTON = BRUTE_FORCE.replace("dense Hessian", "Gauss-Newton matrix")
NO_BRUTE_FORCE = "the recipe's own purpose; no brute force is needed"

# The targets of a balanced network: any, such that it solves least squares, such that it fits them.
ANY_TARGETS, LEAST_SQUARES, ZERO_LOSS = range(3)


def end_to_end(weights: Sequence[Tensor]) -> Tensor:
    """``W_L ... W_1``."""
    return reduce(lambda product, weight: weight @ product, weights)


def largest(values: Tensor, count: int) -> Tensor:
    """The largest ``count`` of values of 0 or more, descending; zeros if there are fewer."""
    kept = values.sort(descending=True).values[:count]
    return torch.cat([kept, kept.new_zeros(count - len(kept))])


@dataclass(eq=False, kw_only=True)
class Deep(Instance):
    """Deep linear networks with any weights, ``x (n, d_0)``, ``y (n, d_L)``."""

    weights: tuple[Tensor, ...]

    @staticmethod
    def widest(draw: Draw) -> int:
        """The largest width."""
        return max(2, draw.width * 2 // 3)

    @staticmethod
    def count(draw: Draw) -> range:
        """Half as many as of other families: brute force takes two matrices for each."""
        return range(-(-draw.instances // 2))

    @staticmethod
    def normal_layers(draw: Draw, widths: Sequence[int]) -> tuple[Tensor, ...]:
        """Independent entries, each layer on a scale of its own."""
        return tuple(
            draw.scale() * draw.normal(after, before) for before, after in pairwise(widths)
        )

    @staticmethod
    def data(draw: Draw, widths: Sequence[int], points: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets."""
        x, y = draw.inputs_and_targets(points, widths[0], widths[-1])
        return x, draw.scale() * y

    def model(self) -> nn.Module:
        """The network."""
        return Perceptron(list(self.weights), [1.0] * len(self.weights), "linear")

    @property
    def inputs(self) -> int:
        """The number d_0 of inputs."""
        return self.weights[0].shape[1]

    @property
    def outlets(self) -> int:
        """The number d_L of outputs."""
        return len(self.weights[-1])

    @property
    def parameters(self) -> int:
        """The number of parameters."""
        return sum(weight.numel() for weight in self.weights)

    @property
    def input_scale(self) -> float:
        """σ_x of whitened inputs."""
        return float(self.x.square().mean().sqrt())

    @cached_property
    def second_moments(self) -> Tensor:
        """Σ = E[xxᵀ]."""
        return self.x.mT @ self.x / len(self.x)

    @property
    def factors(self) -> list[tuple[Tensor, Tensor]]:
        """``P_l = W_{l-1} ... W_1``, without the inputs, and ``S_l = W_L ... W_{l+1}``."""
        before = [torch.eye(self.inputs, dtype=torch.float64)]
        after = [torch.eye(self.outlets, dtype=torch.float64)]
        for weight, last in zip(self.weights[:-1], self.weights[:0:-1], strict=True):
            before.append(weight @ before[-1])
            after.append(after[-1] @ last)
        return list(zip(before, reversed(after), strict=True))

    def kernel_error(self, terms: Sequence[tuple[Tensor, Tensor]]) -> float:
        """The error of the eigenvalues of ``Σ_l (XᵀA_l X / n) ⊗ B_l``, with or without zeros."""
        kernel = torch.stack(
            [
                torch.kron((self.x @ a @ self.x.mT / len(self.x)).contiguous(), b.contiguous())
                for a, b in terms
            ]
        ).sum(0)
        return self.spectrum_error(torch.linalg.eigvalsh(kernel))

    def spectrum_error(self, values: Tensor) -> float:
        """The error of the Gauss-Newton matrix's eigenvalues; what is not mentioned is 0."""
        return relative(largest(values, self.parameters).flip(0), self.ggn_eigenvalues)

    @cached_property
    def spectrum(self) -> Spectrum:
        """The library's spectrum."""
        return cf.deep_linear(list(self.weights), self.x.mT, self.y.mT)

    def basis_error(self) -> float:
        """The error of the library's eigenvectors of the Gauss-Newton matrix."""
        return basis_error(self.ggn, self.spectrum.eigenvectors(), self.spectrum.eigenvalues)

    def pairs_error(self, printed: bool, inputs: int, outputs: int) -> float:
        """The error of eq. (9), (15), or of the print: pairs of indices up to the last ones."""
        if not printed:
            return relative(self.spectrum.eigenvalues, self.ggn_eigenvalues)
        first, last = (torch.linalg.svdvals(self.weights[k]) for k in (0, -1))
        return self.spectrum_error(
            cf.pair_eigenvalues(
                first[:inputs],
                last[:outputs],
                inputs,
                outputs,
                depth=len(self.weights),
                input_scale=self.input_scale,
                index_set="printed",
            ).eigenvalues
        )

    def count_error(self, printed: int | None) -> float:
        """The error of the number of positive eigenvalues, or its excess over the print's."""
        values = self.ggn_eigenvalues
        # Those that are not round-off.
        positive = max(int((values > 1e-10 * values[-1]).sum()), 1)
        if printed is not None:
            return excess(positive, printed, over=positive)
        stated = sum(len(self.spectrum.select(kind)) for kind in ("outlier", "bulk"))
        return relative(stated, positive)

    def trace_error(self, stated: Tensor) -> float:
        """The error of the Hessian's trace, over the Gauss-Newton matrix's."""
        return relative(stated, self.trace, over=self.ggn_eigenvalues.sum().clamp_min(0) or 1.0)

    @property
    def sharpness(self) -> Tensor:
        """The largest eigenvalue that the library states."""
        return cf.deep_linear_sharpness(list(self.weights), self.input_scale)

    @property
    def bound(self) -> Tensor:
        """Eq. (6)."""
        return cf.deep_linear_bound(list(self.weights), self.input_scale)


@dataclass(eq=False, kw_only=True)
class AnyLayers(Deep, stream="any_layers"):
    """Any weights, depth 1 to 4, any loss; the inputs are whitened in every other instance.

    ``probe`` is a direction in the space of the parameters. The edge cases: one layer; all sizes 1;
    a layer of 0; fewer points than inputs.
    """

    probe: Tensor

    @classmethod
    def drawn(cls, draw: Draw) -> "list[AnyLayers]":
        """The edge cases and the random networks."""

        def base(widths: Sequence[int], white: bool, points: int = 6) -> AnyLayers:
            x, y = cls.data(draw, widths, points)
            scale = draw.scale()
            x = whitened(x, scale) if white else scale * x
            weights = cls.normal_layers(draw, widths)
            probe = draw.normal(sum(weight.numel() for weight in weights))
            return cls(weights=weights, x=x, y=y, probe=probe)

        first, *others = (zero := base((3, 2, 2, 3), True)).weights
        weights = first, 0 * others[0], others[1]
        edges = [base((3, 2), True), base((1, 1, 1, 1), True), replace(zero, weights=weights)]
        edges.append(base((4, 2, 3), False, points=2))
        return edges + [
            base(
                widths := [draw.integer(1, cls.widest(draw)) for _ in range(draw.integer(2, 5))],
                number % 2 == 0,
                draw.integer(widths[0], draw.size // 2),
            )
            for number in cls.count(draw)
        ]

    @property
    def white(self) -> bool:
        """True where the inputs are whitened."""
        eye = torch.eye(self.inputs, dtype=torch.float64)
        gap = (self.second_moments - self.input_scale**2 * eye).abs().max()
        return bool(gap < 1e-12 * self.input_scale**2)

    @measured
    def jacobian_product(self) -> Tensor:
        """The derivative of all outputs along the probe ``(n, d_L)``, by autograd."""
        model = self.model()
        names, values = zip(*model.named_parameters(), strict=True)
        parts = self.probe.split([value.numel() for value in values])
        directions = tuple(part.view_as(value) for part, value in zip(parts, values, strict=True))

        def outputs(*weights: Tensor) -> Tensor:
            named = dict(zip(names, weights, strict=True))
            return torch.func.functional_call(model, named, (self.x,))

        plain = tuple(value.detach() for value in values)
        return torch.autograd.functional.jvp(outputs, plain, directions)[1]


@dataclass(eq=False, kw_only=True)
class TwoLayers(Deep, stream="two_layers"):
    """Two layers that are not balanced, whitened inputs, any loss.

    The edge cases: one hidden unit; one output; a wide hidden layer; a first layer of rank 1; equal
    singular values; a second layer of 0.
    """

    @classmethod
    def drawn(cls, draw: Draw) -> "list[TwoLayers]":
        """The edge cases and the random networks."""

        def base(widths: Sequence[int], points: int = 6) -> TwoLayers:
            x, y = cls.data(draw, widths, points)
            x = whitened(x, draw.scale())
            return cls(weights=cls.normal_layers(draw, widths), x=x, y=y)

        edges = [base((3, 1, 4)), base((3, 2, 1)), base((2, 5, 3))]
        rank_one, equal, zero = (base((4, 2, 3)) for _ in range(3))
        first, last = rank_one.weights
        edges.append(replace(rank_one, weights=(torch.outer(first[:, 0], first[0]), last)))
        first, last = equal.weights
        turned = 2 * orthonormal(first.mT).mT, 2 * orthonormal(last)
        edges.append(replace(equal, weights=turned))
        edges.append(replace(zero, weights=(zero.weights[0], 0 * zero.weights[1])))
        return edges + [
            base(
                widths := [draw.integer(1, cls.widest(draw)) for _ in range(3)],
                draw.integer(widths[0], draw.size // 2),
            )
            for _ in cls.count(draw)
        ]

    @property
    def norms(self) -> Tensor:
        """‖W_1‖_2² and ‖W_2‖_2² ``(2,)``."""
        return torch.stack([torch.linalg.matrix_norm(w, ord=2).square() for w in self.weights])

    @property
    def printed_ranges(self) -> tuple[int, int]:
        """The last indices of eq. (15) as printed."""
        first, last = self.weights
        return min(first.shape), min(last.shape)


@dataclass(eq=False, kw_only=True)
class Balanced(Deep, stream="balanced"):
    """Balanced layers, depth 1 to 4, whitened inputs.

    ``kind`` tells whether the targets are any, such that the network solves least squares, or such
    that it fits them; ``labels (n,)`` are classes of as many samples. The edge cases: one layer;
    one hidden unit; repeated singular values; singular values of 0; both; nearly equal ones.
    """

    kind: int
    labels: Tensor

    @staticmethod
    def solution(draw: Draw, widths: Sequence[int], x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        """Layers that solve least squares; each hidden layer has room for the solution."""
        scale = x.square().mean(0).mean()
        left, values, right = torch.linalg.svd(y.mT @ x / (len(x) * scale), full_matrices=False)
        root = values ** (1 / (len(widths) - 1))
        hidden = [orthonormal(draw.normal(width, len(values))) for width in widths[1:-1]]
        bases = [right.mT, *hidden, left]
        return tuple(after * root @ before.mT for before, after in pairwise(bases))

    @classmethod
    def drawn(cls, draw: Draw) -> "list[Balanced]":
        """The edge cases and the random networks."""

        def base(
            widths: Sequence[int], kind: int, points: int = 8, values: Sequence[float] = ()
        ) -> Balanced:
            x, y = cls.data(draw, widths, points)
            x = whitened(x, draw.scale())
            if kind == LEAST_SQUARES:
                weights = cls.solution(draw, widths, x, y)
            else:
                spread = 0.3 + draw.uniform(min(widths))
                chosen = list(values) or (draw.scale() * spread).tolist()
                weights = tuple(balanced_weights(widths, chosen, draw.random))
            if kind == ZERO_LOSS:
                y = x @ end_to_end(weights).mT
            labels = torch.tensor([draw.integer(0, widths[-1] - 1) for _ in range(points)])
            return cls(weights=weights, x=x, y=y, kind=kind, labels=labels)

        def widths_for(kind: int) -> list[int]:
            widest = cls.widest(draw)
            inputs, outputs = draw.integer(1, widest), draw.integer(1, widest)
            least = min(inputs, outputs) if kind == LEAST_SQUARES else 1
            hidden = [draw.integer(least, widest) for _ in range(draw.integer(1, 3))]
            return [inputs, *hidden, outputs]

        edges = [
            base((3, 4), ANY_TARGETS),
            base((4, 1, 3, 3), ZERO_LOSS),
            base((3, 3, 4, 3), ZERO_LOSS, values=[1.5, 1.5, 1.5]),
            base((4, 3, 3, 4), ANY_TARGETS, values=[1.5, 0.5, 0.0]),
            base((3, 4, 4, 4), ZERO_LOSS, values=[1.5, 1.5, 0.0]),
            base((3, 3, 3, 3), ANY_TARGETS, values=[1 + 1e-10, 1.0, 1 - 1e-12]),
        ]
        return edges + [
            base(
                widths := widths_for(kind := number % 3),
                kind,
                # More points than inputs, so that targets of any kind are not fitted.
                draw.integer(widths[0] + 2, draw.size),
            )
            for number in cls.count(draw)
        ]

    @property
    def narrowest(self) -> int:
        """The units of the narrowest layer, inputs and outputs among them."""
        return min(min(weight.shape) for weight in self.weights)

    @cached_property
    def values(self) -> Tensor:
        """The singular values of the first layer, with zeros for all inputs and outputs."""
        return largest(torch.linalg.svdvals(self.weights[0]), max(self.inputs, self.outlets))

    @property
    def close(self) -> bool:
        """Singular values so close that the quotient loses more digits than are asked for."""
        values = self.values[: self.narrowest] / self.values[0]
        gaps = (values[:, None] - values).abs()
        return bool(((gaps > 1e-14) & (gaps < 1e-3)).any())

    @property
    def label_sharpness(self) -> Tensor:
        """Eq. (14)."""
        share = torch.linalg.svdvals(self.y)[0] ** 2 / len(self.y)
        return cf.sharpness_from_labels(share, len(self.weights), self.input_scale)

    @measured
    def map(self) -> Tensor:
        """The network's map from inputs to outputs ``(d_L, d_0)``."""
        return self.model()(torch.eye(self.inputs, dtype=torch.float64)).detach().mT

    @measured
    def layer_values(self) -> Tensor:
        """The singular values of the first layer to the power L."""
        powers = torch.linalg.svdvals(self.weights[0]) ** len(self.weights)
        return largest(powers, min(self.y.shape))

    @measured
    def one_hot_values(self) -> Tensor:
        """The squared singular values of the one-hot labels over their number."""
        one_hot = torch.nn.functional.one_hot(self.labels, self.outlets).double()
        return largest(torch.linalg.svdvals(one_hot) ** 2 / len(one_hot), self.outlets)


@dataclass(eq=False, kw_only=True)
class Recipes(Deep, stream="recipes"):
    """Appendix C: what its recipes for weights, inputs and subsets are given.

    ``values`` are the singular values of the weights that are made by the recipe; ``in_print`` are
    made by the recipe as printed, from the same numbers but for those that it draws once more.
    ``raw (n, d)`` are inputs of rank below ``d`` in every other instance. ``samples``, ``share``
    and ``classes`` tell which subset is asked for.
    """

    in_print: tuple[Tensor, ...]
    values: Tensor
    raw: Tensor
    samples: int
    share: float
    classes: int

    @classmethod
    def drawn(cls, draw: Draw) -> "list[Recipes]":
        """The edge cases and the random networks."""

        def base(number: int) -> Recipes:
            widths = [draw.integer(2, cls.widest(draw) + 1) for _ in range(draw.integer(3, 5))]
            values = 0.3 + draw.uniform(min(widths))
            left = [orthonormal(draw.normal(width, len(values))) for width in widths]
            right = [orthonormal(draw.normal(width, len(values))) for width in widths[:-1]]
            x, y = cls.data(draw, widths, widths[0] + 3)
            raw, _ = draw.points(widths[0] + 6, widths[0])
            if number % 2 == 0:
                raw[:, draw.integer(0, widths[0] - 1)] = 0
            classes = draw.integer(3, 10)
            pairs = zip(right, left[1:], strict=True)
            return cls(
                weights=tuple(after * values @ before.mT for before, after in pairwise(left)),
                in_print=tuple(after * values @ before.mT for before, after in pairs),
                values=values.sort(descending=True).values,
                x=whitened(x, draw.scale()),
                y=y,
                raw=raw,
                samples=draw.integer(100, 5000),
                share=max(draw.integer(2, 17) / 20, 1.1 / classes),
                classes=classes,
            )

        return [base(number) for number in cls.count(draw)]


@theorem(
    "data eq. (4)",
    source="the derivative of all outputs along a random direction, by automatic differentiation",
    data="Equation 4",
)
def layers_jacobian(net: AnyLayers) -> Error:
    """$J_l = (P_l X)^⊤ ⊗ S_l$, for weights and outputs stacked column by column."""
    total = torch.zeros_like(net.y).flatten()
    parts = net.probe.split([weight.numel() for weight in net.weights])
    for weight, (p, s), part in zip(net.weights, net.factors, parts, strict=True):
        total += torch.kron(net.x @ p.mT, s) @ part.view_as(weight).mT.flatten()
    return relative(total, net.jacobian_product.flatten())


@theorem("data eq. (5)", source=GAUSS_NEWTON, data="Equation 5")
def layers_kernel(net: AnyLayers) -> Error:
    """$JJ^⊤/n = Σ_l (X^⊤P_l^⊤P_l X/n) ⊗ (S_l S_l^⊤)$, which shares its non-zero eigenvalues with
    the Gauss-Newton matrix, for any widths, depth and inputs.
    """
    return net.kernel_error([(p.mT @ p, s @ s.mT) for p, s in net.factors])


@theorem("data eq. (6)", source=GAUSS_NEWTON, data="Equation 6")
def layers_bound(net: AnyLayers) -> Error:
    r"""For whitened inputs $λ_{\max} ≤ σ_x^2 Σ_l σ_{\max}^2(P_l) σ_{\max}^2(S_l)$."""
    top = net.ggn_eigenvalues[-1]
    return excess(top, net.bound, over=top.clamp_min(0)) if net.white else None


@theorem(
    "data eq. (7): any loss",
    remark="The paper calls it an approximation of the Hessian's trace. It is exact at any loss: "
    "the network is linear in each layer, so the rest of the Hessian has trace 0.",
    data="Equation 7",
)
def layers_trace(net: AnyLayers) -> Error:
    r"""For whitened inputs $\operatorname{tr}(H) = σ_x^2 Σ_l ‖P_l‖_F^2 ‖S_l‖_F^2$."""
    if not net.white:
        return None
    norms = [p.square().sum() * s.square().sum() for p, s in net.factors]
    return net.trace_error(net.input_scale**2 * torch.stack(norms).sum())


@theorem(
    "data eq. (7): any inputs (ours)",
    remark="Our addition.",
    data="Equation 7, beyond its assumption",
)
def layers_trace_any(net: AnyLayers) -> Error:
    r"""$\operatorname{tr}(H) = Σ_l \operatorname{tr}(P_l Σ P_l^⊤) ‖S_l‖_F^2$ for any inputs with
    second moments $Σ$, at any loss.
    """
    return net.trace_error(cf.deep_linear_trace(list(net.weights), net.second_moments))


@theorem("data: diagonal blocks (ours)", remark="Our addition.", data="below Equation 7")
def layers_blocks(net: AnyLayers) -> Error:
    """The diagonal blocks of the Hessian are $S_l^⊤S_l ⊗ P_l Σ P_l^⊤$, for weights flattened by
    rows, at any loss.
    """
    errors, start, over = [], 0, net.hessian.abs().max()
    for p, s in net.factors:
        hidden = (p @ net.second_moments @ p.mT).contiguous()
        block = torch.kron((s.mT @ s).contiguous(), hidden)
        rows = slice(start, start := start + len(block))
        errors.append(relative(block, net.hessian[rows, rows], over))
    return worst(*errors)


@theorem(
    "data eq. (4): brace",
    printed="$P_l = W_{l-1} ⋯ W_1 X$",
    remark="The size given for $P_l$, and equations 5 to 8, have it right. The errors are those "
    "of equation 7 with either $P_l$.",
    data="Equation 4",
)
def layers_brace(net: AnyLayers, printed: bool = False) -> Error:
    """$P_l = W_{l-1} ⋯ W_1$, without the inputs."""
    if not (net.white and printed):
        return layers_trace(net)
    norms = [(net.x @ p.mT).square().sum() * s.square().sum() for p, s in net.factors]
    return net.trace_error(net.input_scale**2 * torch.stack(norms).sum())


@theorem("data eq. (8)", source=GAUSS_NEWTON, data="Equation 8")
def balanced_kernel(net: Balanced) -> Error:
    """For strongly balanced layers $JJ^⊤/n = Σ_l (X^⊤(W_1^⊤W_1)^{l-1}X/n) ⊗ (W_L W_L^⊤)^{L-l}$."""
    power, depth = torch.linalg.matrix_power, len(net.weights)
    first, last = net.weights[0].mT @ net.weights[0], net.weights[-1] @ net.weights[-1].mT
    return net.kernel_error([(power(first, k), power(last, depth - 1 - k)) for k in range(depth)])


@theorem("data section 3: eigenvectors", source=GAUSS_NEWTON, data="Section 3, eigenvectors")
def balanced_vectors(net: Balanced) -> Error:
    """The pairs $q_{ij}$ of a right singular vector of $W_1$ and a left one of $W_L$ give the
    eigenvectors $J^⊤q_{ij}$; they extend to an orthonormal basis of the parameter space.
    """
    return net.basis_error()


def quotients(first: Tensor, last: Tensor, depth: int) -> Tensor:
    """Eq. (9b) for all pairs; singular values that differ by round-off only count as equal."""
    i, j = first[:, None].expand(-1, len(last)), last.expand(len(first), -1)
    equal = (i - j).abs() <= 1e-9 * torch.maximum(i, j)
    divisor = torch.where(equal, 1.0, i**2 - j**2)
    unequal = (i ** (2 * depth) - j ** (2 * depth)) / divisor
    return torch.where(equal, depth * i ** (2 * (depth - 1)), unequal).flatten()


@theorem(
    "data eq. (9b)",
    remark="Excluding instances of nearly equal ones, where the quotient loses digits to "
    "cancellation.",
    source=GAUSS_NEWTON,
    data="Equation 9b",
)
def balanced_quotient(net: Balanced) -> Error:
    """The sum in equation 9a is $(σ_i^{2L} - σ_j^{2L})/(σ_i^2 - σ_j^2)$, or $Lσ^{2(L-1)}$ for equal
    singular values.
    """
    if net.close:
        return None
    first, last = net.values[: net.inputs], net.values[: net.outlets]
    return net.spectrum_error(net.input_scale**2 * quotients(first, last, len(net.weights)))


@theorem("data eq. (9b): λ_max", source=GAUSS_NEWTON, data="Equation 9b, largest eigenvalue")
def balanced_sharpness(net: Balanced) -> Error:
    r"""$λ_{\max} = L σ_x^2‖W_1‖_2^{2(L-1)}$, and the bound of equation 6 is attained."""
    top = net.ggn_eigenvalues[-1]
    return worst(relative(net.sharpness, top), relative(net.bound, top))


@theorem(
    "data eq. (9): i, j",
    printed=(
        r"one eigenvalue for each pair of the $\min\lbrace d_0, …, d_L\rbrace$ common singular "
        "values"
    ),
    remark="Print and correction agree where neither the inputs nor the outputs outnumber "
    "the units of the narrowest layer.",
    source=GAUSS_NEWTON,
    data="Equation 9",
)
def balanced_pairs(net: Balanced, printed: bool = False) -> Error:
    """The eigenvalues are $σ_x^2 Σ_l σ_i^{2(L-l)} σ_j^{2(l-1)}$ with $i ∈ [d_L]$ and $j ∈ [d_0]$.
    Singular values beyond the common ones are 0, and $0^0 = 1$.
    """
    return net.pairs_error(printed, net.narrowest, net.narrowest)


@theorem(
    "data eq. (9): count",
    printed=r"at most $(\min\lbrace d_0, …, d_L\rbrace)^2$ are non-zero",
    source=GAUSS_NEWTON,
    data="Section 3, below Equation 9",
)
def balanced_count(net: Balanced, printed: bool = False) -> Error:
    """For $L ≥ 2$ and layers of rank r there are $r d_0 + r d_L - r^2$ non-zero eigenvalues."""
    return net.count_error(net.narrowest**2 if printed else None)


@theorem("data eq. (12)", source="the network's outputs", data="Equation 12")
def labels_solution(net: Balanced) -> Error:
    """$W_L ⋯ W_1 = YX^⊤/(n σ_x^2)$, at zero loss and at every least-squares solution."""
    if net.kind == ANY_TARGETS:
        return None
    return relative(net.y.mT @ net.x / (len(net.y) * net.input_scale**2), net.map)


@theorem(
    "data eq. (13)", source="the singular values of the network's first layer", data="Equation 13"
)
def labels_values(net: Balanced) -> Error:
    r"""At zero loss $σ_i^L(W) = σ_i(Y)/(\sqrt n σ_x)$."""
    if net.kind != ZERO_LOSS:
        return None
    stated = torch.linalg.svdvals(net.y) / (len(net.y) ** 0.5 * net.input_scale)
    return relative(stated, net.layer_values)


@theorem("data eq. (14): no loss", data="Equation 14")
def labels_sharpness(net: Balanced) -> Error:
    r"""At zero loss $λ_{\max} = L σ_x^2(σ_{\max}(Y)/(\sqrt n σ_x))^{2(1-1/L)}$."""
    return relative(net.label_sharpness, net.eigenvalues[-1]) if net.kind == ZERO_LOSS else None


@theorem(
    "data eq. (14): with loss",
    printed=r"$L σ_x^2(σ_{\max}(Y)/(\sqrt n σ_x))^{2(1-1/L)}$",
    remark="Labels count only as far as the inputs explain them. With more samples than "
    "inputs the print, which assumes zero loss, is too large.",
    data="Equation 14, at a loss above zero",
)
def labels_loss(net: Balanced, printed: bool = False) -> Error:
    r"""At a least-squares solution $λ_{\max} = L σ_x^2(σ_{\max}(YX^⊤)/(n σ_x^2))^{2(1-1/L)}$."""
    if net.kind != LEAST_SQUARES:
        return None
    solution = cf.least_squares_singular_values(net.x.mT, net.y.mT)
    stated = cf.least_squares_sharpness(solution[0], len(net.weights), net.input_scale)
    return relative(net.label_sharpness if printed else stated, net.eigenvalues[-1])


@theorem(
    "data section 4: shares",
    remark="This fails for centred labels.",
    source="the singular values of the one-hot labels",
    data="Section 4, below Equation 14",
)
def labels_shares(net: Balanced) -> Error:
    """For one-hot labels the $σ_i^2(Y)/n$ are the class shares."""
    shares = torch.bincount(net.labels, minlength=net.outlets).double() / len(net.labels)
    return relative(shares.sort(descending=True).values, net.one_hot_values)


@theorem(
    "data Assumption 1, weaker (ours)",
    remark="Our addition: the paper assumes that the loss is near zero.",
    source="both matrices, by automatic differentiation",
    data="Equation 3, Assumption 1",
)
def labels_hessian(net: Balanced) -> Error:
    """The Hessian is the Gauss-Newton matrix wherever $(f(X) - Y)X^⊤ = 0$, at any loss."""
    return None if net.kind == ANY_TARGETS else relative(net.hessian, net.ggn)


@theorem(
    "data eq. (10)",
    remark="singh2026cracking, appendix D.3.3, has the maximum instead, which is wrong.",
    source=GAUSS_NEWTON,
    data="Equation 10",
)
def two_layers_sharpness(net: TwoLayers) -> Error:
    r"""For $L = 2$ $λ_{\max} = σ_x^2(‖W_1‖_2^2 + ‖W_2‖_2^2)$, balanced or not."""
    return relative(net.sharpness, net.ggn_eigenvalues[-1])


@theorem(
    "data eq. (10): Hessian (ours)", remark="Our addition.", data="Equation 10, beyond Assumption 1"
)
def two_layers_range(net: TwoLayers) -> Error:
    r"""At any loss the Hessian's largest eigenvalue lies between $σ_x^2 \max(‖W_1‖_2^2, ‖W_2‖_2^2)$
    and $σ_x^2(‖W_1‖_2^2 + ‖W_2‖_2^2) + ‖(f(X) - Y)X^⊤‖_2/n$.
    """
    residual = (net.x @ end_to_end(net.weights).mT - net.y).mT @ net.x / len(net.x)
    lower, total = net.input_scale**2 * net.norms.max(), net.input_scale**2 * net.norms.sum()
    upper, top = total + torch.linalg.matrix_norm(residual, ord=2), net.eigenvalues[-1]
    return worst(excess(top, upper, upper), excess(lower, top, upper))


@theorem("data eq. (11)", data="Equation 11")
def two_layers_trace(net: TwoLayers) -> Error:
    r"""$\operatorname{tr}(H) = σ_x^2(d_2‖W_1‖_F^2 + d_0‖W_2‖_F^2)$, at any loss."""
    first, last = (weight.square().sum() for weight in net.weights)
    return net.trace_error(net.input_scale**2 * (net.outlets * first + net.inputs * last))


@theorem("data eq. (16)", source=GAUSS_NEWTON, data="Equation 16")
def two_layers_vectors(net: TwoLayers) -> Error:
    r"""With $q_{ij} = (X^⊤v_i/\sqrt n) ⊗ u_j$, $J^⊤q_{ij}$ is an eigenvector for
    $σ_i^2(W_1) + σ_j^2(W_2)$.
    """
    first, last = net.weights
    s_1, v = torch.linalg.svd(first)[1:]
    u, s_2, _ = torch.linalg.svd(last)
    sums = largest(s_1, len(v))[:, None] ** 2 + largest(s_2, len(u)) ** 2
    columns, values = [], []
    for i, j in (sums > 1e-20 * sums[0, 0]).nonzero().tolist():
        parts = torch.outer(last.mT @ u[:, j], v[i]), torch.outer(u[:, j], first @ v[i])
        columns.append(torch.cat([part.flatten() for part in parts]))
        values.append(net.input_scale**2 * sums[i, j])
    return vectors_error(net.ggn, torch.stack(columns, dim=1), torch.stack(values))


@theorem("data eq. (16): whole basis", source=GAUSS_NEWTON, data="Equation 16, whole basis")
def two_layers_basis(net: TwoLayers) -> Error:
    """With a basis of the null space they form an orthonormal basis of the parameter space."""
    return net.basis_error()


@theorem(
    "data eq. (15): i, j",
    printed=r"$i ∈ [\min\lbrace d_0, d_1\rbrace]$ and $j ∈ [\min\lbrace d_1, d_2\rbrace]$",
    source=GAUSS_NEWTON,
    data="Equation 15",
)
def two_layers_pairs(net: TwoLayers, printed: bool = False) -> Error:
    """The eigenvalues are $σ_x^2(σ_i^2(W_1) + σ_j^2(W_2))$ with $i ∈ [d_0]$ and $j ∈ [d_2]$, where
    singular values beyond the size of a layer are 0.
    """
    return net.pairs_error(printed, *net.printed_ranges)


@theorem(
    "data eq. (15): count",
    printed=r"at most $\min\lbrace d_0, d_1\rbrace × \min\lbrace d_1, d_2\rbrace$ may be non-zero",
    source=GAUSS_NEWTON,
    data="Appendix B, below Equation 16",
)
def two_layers_count(net: TwoLayers, printed: bool = False) -> Error:
    """$d_0 d_2 - (d_0 - r_1)(d_2 - r_2)$ eigenvalues are non-zero, $r_1$ and $r_2$ the ranks of
    $W_1$ and $W_2$.
    """
    return net.count_error(math.prod(net.printed_ranges) if printed else None)


@theorem(
    "data appendix C: weights",
    printed="step 1 samples the right singular vectors of each layer",
    remark="Step 3 already sets them. Networks of two layers do not need step 1.",
    source=GAUSS_NEWTON,
    data="Appendix C, balanced weights",
)
def recipe_weights(net: Recipes, printed: bool = False) -> Error:
    """For balanced weights step 1 samples the left singular vectors of each layer; equation 9 then
    holds for the network.
    """
    made = replace(net, weights=net.in_print) if printed else net
    pairs = cf.pair_eigenvalues(
        net.values,
        net.values,
        net.inputs,
        net.outlets,
        depth=len(net.weights),
        input_scale=net.input_scale,
    )
    return made.spectrum_error(pairs.eigenvalues)


@theorem(
    "data appendix C: whitening",
    printed=r"$X = \sqrt n σ_x Q$ from the QR decomposition",
    remark="For linearly dependent inputs (such as pixels that are always 0), QR adds "
    "directions unrelated to them. Assumption 2 holds either way.",
    source=NO_BRUTE_FORCE,
    data="Appendix C, data whitening",
)
def recipe_whitening(net: Recipes, printed: bool = False) -> Error:
    r"""Whitened inputs are a linear map of the inputs. With one row per sample they are
    $\sqrt n σ_x$ times the left singular vectors of the non-zero singular values.
    """
    white = whiten(net.raw, 1.0, "qr")[0] if printed else whiten(net.raw, 1.0)[0]
    left, values, _ = torch.linalg.svd(net.raw, full_matrices=False)
    span = left[:, values > 1e-10 * values[0]]
    return float((white - span @ (span.mT @ white)).norm() / white.norm())


@theorem(
    "data appendix C: subsets",
    printed=r"$⌊(1 - α_{\max})n⌋$ samples of each of the other classes",
    remark="As printed there are more than n samples in total, for "
    r"$α_{\max} < 1 - 1/(K - 1)$.",
    source=NO_BRUTE_FORCE,
    data="Appendix C, subsampling",
)
def recipe_subset(net: Recipes, printed: bool = False) -> Error:
    r"""$⌊(1 - α_{\max})n/(K - 1)⌋$ samples of each of the $K - 1$ other classes leave class 0 its
    share, up to one sample of each class.
    """
    samples, share, others = net.samples, net.share, net.classes - 1
    first = class_counts(samples, share, net.classes)[0] / samples
    if printed:
        first = 1 - others * math.floor((1 - share) * samples) / samples
    # Counts are whole numbers.
    return max(abs(first - share) - others / samples, 0.0)
