"""Layer-wise Hessians, their factors and eigenvectors: the identities of wu2022dissecting.

Source: wu2022dissecting, section 2, appendices A, B.2.3, F.1, F.3, G.3 and G.5. A layer has the
weight ``W (m, n)``, whose row-by-row vector is w, inputs x and outputs z; c scores follow.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Self

import torch
from torch import Tensor
from torch.func import jacrev
from torch.nn.functional import cross_entropy

from hessian_papers.theorems.catalogue import Error, theorem
from hessian_papers.theorems.errors import excess, relative, worst
from hessian_papers.theorems.instances import Instance, measured
from hessian_spectra.closed_form.instances import Draw

SECOND_DERIVATIVES = "second derivatives of the cross-entropy, by automatic differentiation"
FIRST_DERIVATIVES = "first and second derivatives, by automatic differentiation"


def second_derivative(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The second derivative of a function by its first argument, by reverse mode alone."""
    return jacrev(jacrev(function))


def roots(scores: Tensor) -> Tensor:
    """``Q = diag(√p) (I − 1 pᵀ)`` of each sample ``(N, c, c)``, p its softmax."""
    p = scores.softmax(dim=1)
    return p.sqrt()[:, :, None] * (torch.eye(p.shape[1]) - p[:, None, :])


def gram(rows: Tensor) -> Tensor:
    """``Σ_j r_j r_jᵀ (..., m, m)`` over the rows of ``(..., c, m)``."""
    return rows.mT @ rows


def descending(matrix: Tensor) -> Tensor:
    """The eigenvectors of a symmetric matrix as columns, those of large eigenvalues first."""
    return torch.linalg.eigh(matrix).eigenvectors.flip(1)


@dataclass(eq=False, kw_only=True)
class Classifiers(Instance):
    """A ReLU network with biases, and one of its layers.

    Args:
        x: its inputs ``(N, n_1)``.
        y: classes ``(N,)``.
        weights: of all layers.
        biases: of all layers.
        place: of the layer among them.
    """

    stream = "classifiers"

    is_network = False
    source = SECOND_DERIVATIVES

    weights: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]
    place: int

    @classmethod
    def of(cls, draw: Draw, x: Tensor, place: int, *widths: int) -> Self:
        """A network on inputs."""
        return cls(
            x=x,
            y=torch.arange(len(x)) % widths[-1],
            weights=tuple(
                draw.normal(after, before) / before**0.5 for before, after in pairwise(widths)
            ),
            biases=tuple(draw.normal(after) for after in widths[1:]),
            place=place,
        )

    @classmethod
    def edges(cls, draw: Draw) -> dict[str, Self]:
        """Networks whose inputs deviate from their mean orthogonally."""
        edges = {}
        for inputs in (2, 3, 4):
            away = draw.normal(draw.size, inputs - 1)
            away = torch.cat([torch.zeros(2 * len(away), 1), torch.cat([away, -away])], dim=1)
            x = away + 4 * torch.eye(inputs)[0]
            edges[f"{inputs} inputs"] = cls.of(draw, x, 0, inputs, 3)
        return edges

    @classmethod
    def random(cls, draw: Draw, number: int) -> Self:
        """Up to three layers."""
        widths = [draw.integer(2, draw.width) for _ in range(2 + number % 3)]
        x = draw.normal(draw.size, widths[0]) + draw.scale()
        return cls.of(draw, x, draw.integer(0, len(widths) - 2), *widths)

    @cached_property
    def inputs(self) -> Tensor:
        """The layer's inputs ``(N, n)``."""
        x = self.x
        for weight, bias in zip(self.weights[: self.place], self.biases, strict=False):
            x = (x @ weight.mT + bias).relu()
        return x

    @property
    def weight(self) -> Tensor:
        """W ``(m, n)``."""
        return self.weights[self.place]

    @property
    def layer_outputs(self) -> Tensor:
        """z ``(N, m)``."""
        return self.inputs @ self.weight.mT + self.biases[self.place]

    def after(self, z: Tensor) -> Tensor:
        """The scores by the layer's outputs."""
        later = slice(self.place + 1, None)
        for weight, bias in zip(self.weights[later], self.biases[later], strict=True):
            z = z.relu() @ weight.mT + bias
        return z

    def by_weight(self, w: Tensor) -> Tensor:
        """The scores by w."""
        return self.after(self.inputs @ w.view_as(self.weight).mT + self.biases[self.place])

    @property
    def scores(self) -> Tensor:
        """The scores ``(N, c)``."""
        return self.after(self.layer_outputs)

    def jacobians(self, active_at_zero: bool = False) -> Tensor:
        """``G (N, c, m)``, the product of weights and of 0 or 1 for each unit's ReLU."""
        z = self.layer_outputs
        result = torch.eye(z.shape[1], dtype=z.dtype).expand(len(z), -1, -1)
        later = slice(self.place + 1, None)
        for weight, bias in zip(self.weights[later], self.biases[later], strict=True):
            active = z.relu() >= 0 if active_at_zero else z > 0
            result = (weight * active.to(z)[:, None, :]) @ result
            z = z.relu() @ weight.mT + bias
        return result

    @property
    def rows(self) -> Tensor:
        """``Q G (N, c, m)``."""
        return roots(self.scores) @ self.jacobians()

    @measured
    def softmax_hessians(self) -> Tensor:
        """A of each sample ``(N, c, c)``."""
        pairs = zip(self.scores, self.y, strict=True)
        return torch.stack([second_derivative(cross_entropy)(s, y) for s, y in pairs])

    @measured
    def output_hessians(self) -> Tensor:
        """M of each sample ``(N, m, m)``."""
        of = second_derivative(lambda z, y: cross_entropy(self.after(z), y))
        return torch.stack([of(z, y) for z, y in zip(self.layer_outputs, self.y, strict=True)])

    @measured
    def bias_hessian(self) -> Tensor:
        """The Hessian of the mean loss by the layer's bias ``(m, m)``."""
        z = self.layer_outputs
        return second_derivative(lambda b: cross_entropy(self.after(z + b), self.y))(
            torch.zeros_like(z[0])
        )

    @measured
    def weight_hessian(self) -> Tensor:
        """The Hessian of the mean loss by w ``(m n, m n)``."""
        of = second_derivative(lambda w: cross_entropy(self.by_weight(w), self.y))
        return of(self.weight.flatten())

    @measured
    def weight_jacobians(self) -> Tensor:
        """``∂s/∂w`` of the scores s of each sample ``(N, c, m n)``."""
        return jacrev(self.by_weight)(self.weight.flatten())

    @measured
    def second_moments(self) -> Tensor:
        """``E[x xᵀ]``, sample by sample."""
        return torch.stack([torch.outer(x, x) for x in self.inputs]).mean(dim=0)

    @property
    def factors(self) -> tuple[Tensor, Tensor]:
        """The eigenvectors u of ``E[M] (m, m)`` and v of ``E[x xᵀ] (n, n)``."""
        return descending(gram(self.rows).mean(dim=0)), descending(gram(self.inputs))

    @measured
    def correspondences(self) -> Tensor:
        """``Σ_k (h_j · e_k ⊗ v_i)²`` above ``Σ_k (h_j · u_i ⊗ e_k)²``, ``(n + m, m n)``."""
        h, (u, v) = descending(self.weight_hessian), self.factors
        units = [torch.eye(size, dtype=h.dtype) for size in self.weight.shape]
        spans = [torch.kron(units[0], column[:, None].contiguous()) for column in v.mT]
        spans += [torch.kron(column[:, None].contiguous(), units[1]) for column in u.mT]
        return torch.stack([(span.mT @ h).square().sum(dim=0) for span in spans])


@theorem("dissecting eq. (25)", dissecting="eq. (16), (25) and Lemma B.12")
def softmax_hessian_is_a_square(net: Classifiers, printed: bool = False) -> Error:
    r"""The Hessian of the loss with respect to the scores is
    $A = \operatorname{diag}(p) - pp^⊤ = Q^⊤Q$ with $Q = \operatorname{diag}(\sqrt{p})(I - 1p^⊤)$.

    In print: $A = QQ^⊤$
    """
    p, root = net.scores.softmax(dim=1), roots(net.scores)
    difference = torch.diag_embed(p) - p[:, :, None] * p[:, None, :]
    square = root @ root.mT if printed else gram(root)
    return worst(*(relative(of, net.softmax_hessians) for of in (difference, square)))


@theorem("dissecting Lemma B.12", dissecting="Lemma B.12, eq. (107) to (119)")
def smallest_eigenvalue_of_the_softmax_hessian(net: Classifiers, printed: bool = False) -> Error:
    r"""$E[A]$ has the rank $c - 1$, with $E[A]1 = 0$ and $λ_{c-1}(E[A]) ≥ E[λ_{c-1}(A)] ≥ E[p_0]$
    for $p_0 = \min_i p_i$.

    In print: eq. (108): $λ_{c-1}(E[A]) = E[λ_{c-1}(A)]$
    Remark: The paper's bound, $E[p_0^2]/(2c)$, is smaller.
    """
    matrices = net.softmax_hessians
    mean = matrices.mean(dim=0)
    each, smallest = (torch.linalg.eigvalsh(of)[..., 1] for of in (matrices, mean))
    if printed:
        return relative(each.mean(), smallest)
    least = net.scores.softmax(dim=1).min(dim=1).values
    size = float(mean.norm())
    return worst(
        relative(mean.sum(dim=1), 0.0, over=size),
        excess(each.mean(), smallest, over=size),
        excess(least, each, over=size),
    )


@theorem("dissecting eq. (21)", dissecting="eq. (17), (19), (21), (22), and section 4")
def output_hessian_by_the_jacobian(net: Classifiers, printed: bool = False) -> Error:
    r"""The Hessian of a sample's loss with respect to a layer's outputs z is $M = G^⊤AG$, and its
    mean that with respect to the bias. G is the product of the later weights and of
    $D = \operatorname{diag}(1[z > 0])$.

    In print: section 4: $D = \operatorname{diag}(1[y ≥ 0])$ for $y = \operatorname{relu}(z)$, the
        identity
    """
    stated = gram(roots(net.scores) @ net.jacobians(active_at_zero=printed))
    return worst(
        relative(stated, net.output_hessians), relative(stated.mean(dim=0), net.bias_hessian)
    )


@theorem("dissecting Definition 2.2", dissecting="Definition 2.2, with eq. (23)")
def matricisation(net: Classifiers, printed: bool = False) -> Error:
    r"""With $\operatorname{Mat}(h)_{ij} = h_{(i-1)n+j}$ an eigenvector of the layer's Hessian has
    $E[M \operatorname{Mat}(h) xx^⊤] = λ \operatorname{Mat}(h)$.

    In print: $\operatorname{Mat}(h)_{ij} = h_{(i-1)m+j}$
    Remark: For $m > n$ the printed index exceeds the vector's length.
    """
    m, n = net.weight.shape
    if printed and m > n:
        return None
    places = (m if printed else n) * torch.arange(m)[:, None] + torch.arange(n)
    values, vectors = torch.linalg.eigh(net.weight_hessian)
    matrices = vectors.mT[:, places]
    image = sum(
        M @ matrices @ torch.outer(x, x) for M, x in zip(gram(net.rows), net.inputs, strict=True)
    )
    image = torch.as_tensor(image) / len(net.inputs)
    return relative(image, values[:, None, None] * matrices, over=float(values.abs().max()))


@theorem("dissecting eq. (265), (266)", dissecting="Definition F.1, eq. (265), (266)")
def correspondences(net: Classifiers) -> Error:
    r"""$‖\operatorname{Mat}(h_j)v_i‖^2$ and $‖\operatorname{Mat}(h_j)^⊤u_i‖^2$ are the shares of
    $h_j$ in $R^m ⊗ v_i$ and in $u_i ⊗ R^n$. They sum to 1 over i, and to m and n over all j.

    Remark: The words above (266) have $v_i$ where the formula has $u_i$.
    Measured by: dot products with all Kronecker products of eigenvectors and unit vectors
    """
    (m, n), (u, v) = net.weight.shape, net.factors
    matrices = descending(net.weight_hessian).mT.reshape(-1, m, n)
    shares = [(matrices @ v).square().sum(dim=1).mT, (matrices.mT @ u).square().sum(dim=1).mT]
    actual = net.correspondences.split([n, m])
    each = zip(shares, actual, (m, n), strict=True)
    return worst(
        *(
            worst(relative(a, b), relative(1.0, b.sum(dim=0)), relative(count, b.sum(dim=1)))
            for a, b, count in each
        )
    )


@theorem("dissecting eq. (264)", dissecting="appendix F.1, eq. (264)")
def ratio_of_input_eigenvalues(net: Classifiers) -> Error:
    """The eigenvalues of $E[xx^⊤]$ have $λ_1/λ_2 ≥ ‖E[x]‖^2/‖Σ_x‖$ always, without the $-1$.

    Remark: The paper proves this ratio minus 1, and calls the ratio usual in experiments.
    Measured by: dense eigenvalues of second moments, sample by sample
    """
    values = torch.linalg.eigvalsh(net.second_moments)
    covariance = torch.cov(net.inputs.mT, correction=0)
    first = values[-1] * torch.linalg.matrix_norm(covariance, 2)
    return excess(values[-2] * net.inputs.mean(dim=0).square().sum(), first, over=float(first))


@theorem(
    "dissecting eq. (271)",
    source=FIRST_DERIVATIVES,
    dissecting="equation (271), with (269) and (270)",
)
def output_hessian_is_a_mean_over_samples(net: Classifiers, printed: bool = False) -> Error:
    """The Hessian with respect to w is the mean over samples of $Σ_j δ_j δ_j^⊤$, with $δ_j$ the
    j-th row of $Q ∂z/∂w$. $E[M]$ is that of $Σ_j γ_j γ_j^⊤$, with $γ_j$ the j-th row of $QG$.

    In print: $E_{ij}[Δ_{ij}^⊤Δ_{ij}]$ and $E_{ij}[Γ_{ij}^⊤Γ_{ij}]$, over the means of classes and
        scores
    Remark: The means lose the variation within a class, and scores are to be summed. Eq. (269) and
        (270) put the index j of a score at w and $z^{(p)}$, by which $Δ^⊤Δ$ would be a number.
    """
    errors = []
    weights = roots(net.scores) @ net.weight_jacobians
    for rows, actual in (
        (weights, net.weight_hessian),
        (net.rows, net.output_hessians.mean(dim=0)),
    ):
        if printed:
            means = torch.stack([rows[net.y == label].mean(dim=0) for label in net.y.unique()])
            stated = gram(means.flatten(0, 1)) / means.shape[:2].numel()
        else:
            stated = gram(rows).mean(dim=0)
        errors.append(relative(stated, actual))
    return worst(*errors)


@theorem("dissecting eq. (273)", source=FIRST_DERIVATIVES, dissecting="equation (273)")
def logit_gradient_is_a_product(net: Classifiers, printed: bool = False) -> Error:
    """Row j of $Q ∂z/∂w$ is $(G^⊤Q^⊤)_j ⊗ x$ for each sample.

    In print: $((x ⊗ G^⊤)Q)_j$: column j of Q, and the factors exchanged
    Remark: The paper takes means of each factor and S for G, without $2^{-(L-p)}$ for the ReLUs.
    """
    root = roots(net.scores)
    left = (root.mT if printed else root) @ net.jacobians()
    order = "sjm,sn->sjnm" if printed else "sjm,sn->sjmn"
    stated = torch.einsum(order, left, net.inputs).flatten(2)
    return relative(stated, root @ net.weight_jacobians)
