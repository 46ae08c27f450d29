"""Layer-wise Hessians, their factors and eigenvectors: the identities of wu2022dissecting.

Source: wu2022dissecting, section 2, appendices A, B.2.3, F.1, F.3, G.3 and G.5. A layer has the
weight ``W (m, n)``, whose row-by-row vector is w, inputs x and outputs z; c scores follow.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, permutations, product
from typing import Self

import torch
from torch import Tensor
from torch.func import jacrev
from torch.nn.functional import conv2d, cross_entropy, pad

from hessian_papers.theorems.catalogue import Error, theorem
from hessian_papers.theorems.errors import excess, relative, worst
from hessian_papers.theorems.instances import Draw, Instance, measured, orthonormal
from hessian_spectra import curvature as cv

SECOND_DERIVATIVES = "second derivatives of the cross-entropy, by automatic differentiation"
FIRST_DERIVATIVES = "first and second derivatives, by automatic differentiation"
ANGLES = "canonical angles between the spaces of dense eigenvectors"


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
class Classifiers(Instance, stream="classifiers"):
    """A ReLU network with biases, and one of its layers.

    Args:
        x: its inputs ``(N, n_1)``.
        y: classes ``(N,)``.
        weights: of all layers.
        biases: of all layers.
        place: of the layer among them.
    """

    is_network = False

    weights: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]
    place: int

    @classmethod
    def drawn(cls, draw: Draw) -> "list[Classifiers]":
        """Networks whose inputs deviate from their mean orthogonally, and random ones."""

        def of(x: Tensor, place: int, *widths: int) -> Classifiers:
            return cls(
                x=x,
                y=torch.arange(len(x)) % widths[-1],
                weights=tuple(
                    draw.normal(after, before) / before**0.5 for before, after in pairwise(widths)
                ),
                biases=tuple(draw.normal(after) for after in widths[1:]),
                place=place,
            )

        def width() -> int:
            return draw.integer(2, draw.width)

        edges = []
        for inputs in (2, 3, 4):
            away = draw.normal(draw.size, inputs - 1)
            away = torch.cat([torch.zeros(2 * len(away), 1), torch.cat([away, -away])], dim=1)
            edges.append(of(away + 4 * torch.eye(inputs)[0], 0, inputs, 3))
        others = []
        for k in range(draw.instances):
            widths = [width() for _ in range(2 + k % 3)]
            x = draw.normal(draw.size, widths[0]) + draw.scale()
            others.append(of(x, draw.integer(0, len(widths) - 2), *widths))
        return edges + others

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


@theorem(
    "dissecting eq. (25)",
    printed="$A = QQ^⊤$",
    source=SECOND_DERIVATIVES,
    dissecting="eq. (16), (25) and Lemma B.12",
)
def softmax_hessian_is_a_square(net: Classifiers, printed: bool = False) -> Error:
    r"""The Hessian of the loss with respect to the scores is
    $A = \operatorname{diag}(p) - pp^⊤ = Q^⊤Q$ with $Q = \operatorname{diag}(\sqrt{p})(I - 1p^⊤)$.
    """
    p, root = net.scores.softmax(dim=1), roots(net.scores)
    difference = torch.diag_embed(p) - p[:, :, None] * p[:, None, :]
    square = root @ root.mT if printed else gram(root)
    return worst(*(relative(of, net.softmax_hessians) for of in (difference, square)))


@theorem(
    "dissecting Lemma B.12",
    printed=r"eq. (108): $λ_{c-1}(E[A]) = E[λ_{c-1}(A)]$",
    remark="The paper's bound, $E[p_0^2]/(2c)$, is smaller.",
    source=SECOND_DERIVATIVES,
    dissecting="Lemma B.12, eq. (107) to (119)",
)
def smallest_eigenvalue_of_the_softmax_hessian(net: Classifiers, printed: bool = False) -> Error:
    r"""$E[A]$ has the rank $c - 1$, with $E[A]1 = 0$ and $λ_{c-1}(E[A]) ≥ E[λ_{c-1}(A)] ≥ E[p_0]$
    for $p_0 = \min_i p_i$.
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


@theorem(
    "dissecting eq. (21)",
    printed=r"section 4: $D = \operatorname{diag}(1[y ≥ 0])$ for $y = \operatorname{relu}(z)$, the "
    "identity",
    source=SECOND_DERIVATIVES,
    dissecting="eq. (17), (19), (21), (22), and section 4",
)
def output_hessian_by_the_jacobian(net: Classifiers, printed: bool = False) -> Error:
    r"""The Hessian of a sample's loss with respect to a layer's outputs z is $M = G^⊤AG$, and its
    mean that with respect to the bias. G is the product of the later weights and of
    $D = \operatorname{diag}(1[z > 0])$.
    """
    stated = gram(roots(net.scores) @ net.jacobians(active_at_zero=printed))
    return worst(
        relative(stated, net.output_hessians), relative(stated.mean(dim=0), net.bias_hessian)
    )


@theorem(
    "dissecting Definition 2.2",
    printed=r"$\operatorname{Mat}(h)_{ij} = h_{(i-1)m+j}$",
    remark="For $m > n$ the printed index exceeds the vector's length.",
    source=SECOND_DERIVATIVES,
    dissecting="Definition 2.2, with eq. (23)",
)
def matricisation(net: Classifiers, printed: bool = False) -> Error:
    r"""With $\operatorname{Mat}(h)_{ij} = h_{(i-1)n+j}$ an eigenvector of the layer's Hessian has
    $E[M \operatorname{Mat}(h) xx^⊤] = λ \operatorname{Mat}(h)$.
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


@theorem(
    "dissecting eq. (265), (266)",
    remark="The words above (266) have $v_i$ where the formula has $u_i$.",
    source="dot products with all Kronecker products of eigenvectors and unit vectors",
    dissecting="Definition F.1, eq. (265), (266)",
)
def correspondences(net: Classifiers) -> Error:
    r"""$‖\operatorname{Mat}(h_j)v_i‖^2$ and $‖\operatorname{Mat}(h_j)^⊤u_i‖^2$ are the shares of
    $h_j$ in $R^m ⊗ v_i$ and in $u_i ⊗ R^n$. They sum to 1 over i, and to m and n over all j.
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


@theorem(
    "dissecting eq. (264)",
    remark="The paper proves this ratio minus 1, and calls the ratio usual in experiments.",
    source="dense eigenvalues of second moments, sample by sample",
    dissecting="appendix F.1, eq. (264)",
)
def ratio_of_input_eigenvalues(net: Classifiers) -> Error:
    """The eigenvalues of $E[xx^⊤]$ have $λ_1/λ_2 ≥ ‖E[x]‖^2/‖Σ_x‖$ always, without the $-1$."""
    values = torch.linalg.eigvalsh(net.second_moments)
    covariance = torch.cov(net.inputs.mT, correction=0)
    first = values[-1] * torch.linalg.matrix_norm(covariance, 2)
    return excess(values[-2] * net.inputs.mean(dim=0).square().sum(), first, over=float(first))


@theorem(
    "dissecting eq. (271)",
    printed=r"$E_{ij}[Δ_{ij}^⊤Δ_{ij}]$ and $E_{ij}[Γ_{ij}^⊤Γ_{ij}]$, over the means of classes and "
    "scores",
    remark="The means lose the variation within a class, and scores are to be summed. Eq. (269) "
    "and (270) put the index j of a score at w and $z^{(p)}$, by which $Δ^⊤Δ$ would be a number.",
    source=FIRST_DERIVATIVES,
    dissecting="equation (271), with (269) and (270)",
)
def output_hessian_is_a_mean_over_samples(net: Classifiers, printed: bool = False) -> Error:
    """The Hessian with respect to w is the mean over samples of $Σ_j δ_j δ_j^⊤$, with $δ_j$ the
    j-th row of $Q ∂z/∂w$. $E[M]$ is that of $Σ_j γ_j γ_j^⊤$, with $γ_j$ the j-th row of $QG$.
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


@theorem(
    "dissecting eq. (273)",
    printed="$((x ⊗ G^⊤)Q)_j$: column j of Q, and the factors exchanged",
    remark="The paper takes means of each factor and S for G, without $2^{-(L-p)}$ for the ReLUs.",
    source=FIRST_DERIVATIVES,
    dissecting="equation (273)",
)
def logit_gradient_is_a_product(net: Classifiers, printed: bool = False) -> Error:
    """Row j of $Q ∂z/∂w$ is $(G^⊤Q^⊤)_j ⊗ x$ for each sample."""
    root = roots(net.scores)
    left = (root.mT if printed else root) @ net.jacobians()
    order = "sjm,sn->sjnm" if printed else "sjm,sn->sjmn"
    stated = torch.einsum(order, left, net.inputs).flatten(2)
    return relative(stated, root @ net.weight_jacobians)


@dataclass(eq=False, kw_only=True)
class Convolutions(Instance, stream="convolutions"):
    """A convolution, its ReLU and a linear layer of scores.

    Args:
        x: images ``(N, channels, height, width)``.
        y: classes ``(N,)``.
        kernel: of the convolution ``(m, channels, height, width)``.
        bias: ``(m,)``.
        head: of the linear layer ``(c, m P)``, P the number of positions.
        stride: of the convolution.
        padding: of the images.
        alike: whether all positions are: images are constant, and so is the head.
    """

    is_network = False

    kernel: Tensor
    bias: Tensor
    head: Tensor
    stride: int
    padding: int
    alike: bool

    @classmethod
    def drawn(cls, draw: Draw) -> list[Self]:
        """Every third one has positions that are alike."""
        instances = []
        for k in range(draw.instances):
            alike, side = k % 3 == 2, 3 + k % 2
            m, channels, c = (draw.integer(2, 3) for _ in range(3))
            x = draw.normal(3, channels, *((1, 1) if alike else (side, side)))
            kernel = draw.normal(m, channels, 2, 1 + k % 2)
            stride, padding = (1, 0) if alike else (1 + k % 2, k % 2)
            x = x.expand(-1, -1, side, side).clone()
            positions = conv2d(x, kernel, None, stride, padding)[0, 0].numel()
            head = draw.normal(c, m, 1 if alike else positions).expand(-1, -1, positions)
            head = head / positions
            instances.append(
                cls(
                    x=x,
                    y=torch.arange(len(x)) % c,
                    kernel=kernel,
                    bias=draw.normal(m),
                    head=head.flatten(1),
                    stride=stride,
                    padding=padding,
                    alike=alike,
                )
            )
        return instances

    def layer_outputs(self, x: Tensor, kernel: Tensor) -> Tensor:
        """z of a sample ``(m P,)``."""
        return conv2d(x[None], kernel, self.bias, self.stride, self.padding).flatten()

    def loss_of(self, z: Tensor, y: Tensor) -> Tensor:
        """The cross-entropy of a sample by z."""
        return cross_entropy(self.head @ z.relu(), y)

    @cached_property
    def patches(self) -> Tensor:
        """X of each sample ``(N, d, P)``, patch by patch."""
        images, (height, width) = pad(self.x, [self.padding] * 4), self.kernel.shape[2:]
        rows, columns = (
            range(0, size - patch + 1, self.stride)
            for size, patch in zip(images.shape[2:], (height, width), strict=True)
        )
        pieces = [images[:, :, i : i + height, j : j + width] for i in rows for j in columns]
        return torch.stack([piece.flatten(1) for piece in pieces], dim=2)

    @cached_property
    def rows(self) -> Tensor:
        """``N = Q G (N, c, m, P)``."""
        z = torch.stack([self.layer_outputs(x, self.kernel) for x in self.x])
        jacobians = self.head * (z > 0).to(z)[:, None, :]
        rows = roots(z.relu() @ self.head.mT) @ jacobians
        return rows.unflatten(2, (len(self.kernel), -1))

    def reduced(self, printed: bool = False) -> Tensor:
        """``M_m`` of each sample ``(N, m, m)``; in print of N reshaped as it lies in memory."""
        samples, _, m, positions = self.rows.shape
        rows = self.rows if printed else self.rows.transpose(2, 3)
        return gram(rows.reshape(samples, -1, m)) / positions

    @measured
    def output_hessians(self) -> Tensor:
        """M of each sample ``(N, m P, m P)``."""
        of = second_derivative(self.loss_of)
        return torch.stack(
            [of(self.layer_outputs(x, self.kernel), y) for x, y in zip(self.x, self.y, strict=True)]
        )

    @measured
    def weight_hessians(self) -> Tensor:
        """The Hessian of each sample's loss by w ``(N, m d, m d)``."""

        def loss(w: Tensor, x: Tensor, y: Tensor) -> Tensor:
            return self.loss_of(self.layer_outputs(x, w.view_as(self.kernel)), y)

        of, w = second_derivative(loss), self.kernel.flatten()
        return torch.stack([of(w, x, y) for x, y in zip(self.x, self.y, strict=True)])


@theorem(
    "dissecting eq. (29)",
    source=SECOND_DERIVATIVES,
    dissecting="eq. (29), (30)",
)
def convolution_hessian(net: Convolutions) -> Error:
    """The Hessian of a sample's loss with respect to a kernel is $(I ⊗ X)M(I ⊗ X^⊤)$, with a patch
    in each column of X. $M = G^⊤AG$ is that with respect to the outputs at all positions.
    """
    M = gram(net.rows.flatten(2))
    eye = torch.eye(len(net.kernel), dtype=M.dtype)
    spread = torch.stack([torch.kron(eye, x.contiguous()) for x in net.patches])
    return worst(
        relative(M, net.output_hessians), relative(spread @ M @ spread.mT, net.weight_hessians)
    )


@theorem(
    "dissecting eq. (33)",
    printed="$N_m$ is N reshaped to $cP × m$",
    source=SECOND_DERIVATIVES,
    dissecting="eq. (33)",
)
def output_hessian_of_a_convolution(net: Convolutions, printed: bool = False) -> Error:
    """The mean of M's blocks over positions is $M_m = N_m^⊤ N_m/P$, where $N_m$ is N reshaped to
    $cP × m$ after its axes $(c, m, P)$ are permuted to $(c, P, m)$.
    """
    m = len(net.kernel)
    blocks = net.output_hessians.unflatten(2, (m, -1)).unflatten(1, (m, -1))
    mean = torch.stack([blocks[:, :, p, :, p] for p in range(blocks.shape[2])]).mean(dim=0)
    return relative(net.reduced(printed), mean)


@theorem(
    "dissecting eq. (35)",
    printed="$H ≈ M_m ⊗ XX^⊤$",
    remark="The print drops the blocks of M between two positions.",
    source=SECOND_DERIVATIVES,
    dissecting="eq. (35), with (31) and (33)",
)
def convolution_of_positions_alike(net: Convolutions, printed: bool = False) -> Error:
    """For constant images, and scores of means over the P positions, the Hessian with respect to
    the kernel is $P M_m ⊗ XX^⊤$: P times the approximation, with $M_m$ of (33).
    """
    if not net.alike:
        return None
    pairs = zip(net.reduced(), gram(net.patches.mT), strict=True)
    stated = torch.stack([torch.kron(M, products) for M, products in pairs])
    return relative(stated * (1 if printed else net.patches.shape[2]), net.weight_hessians)


@dataclass(eq=False, kw_only=True)
class Models(Instance, stream="models"):
    """Two models' Kronecker factors with $τ_m γ_1 > τ_1 γ_2$.

    Args:
        x: ``E[M]`` of both ``(2, m, m)``.
        y: ``E[x xᵀ]`` of both ``(2, n, n)``.
    """

    is_network = False

    @classmethod
    def drawn(cls, draw: Draw) -> list[Self]:
        """Random eigenvectors; an odd instance has units of one sign in the first of them."""

        def factor(size: int, low: float, high: float, same_sign: bool) -> Tensor:
            columns = draw.normal(size, size)
            columns[:, 0] = columns[:, 0].abs() if same_sign else columns[:, 0]
            values = low + (high - low) * draw.uniform(size).sort(descending=True).values
            values[0] = 1.0
            basis = orthonormal(columns)
            return (basis * values) @ basis.mT

        sizes = [(2 + k % 3, draw.integer(2, 4), k % 2 == 1) for k in range(draw.instances)]
        return [
            cls(
                x=torch.stack([factor(m, 0.4, 0.9, signs) for _ in range(2)]),
                y=torch.stack([factor(n, 0.0, 0.35, signs) for _ in range(2)]),
            )
            for m, n, signs in sizes
        ]

    @property
    def share(self) -> Tensor:
        """``k / m`` for all k ``(m,)``."""
        m = self.x.shape[1]
        return torch.arange(1, m + 1, dtype=self.x.dtype) / m

    @property
    def bases(self) -> tuple[Tensor, Tensor]:
        """The eigenvectors r and r' of both models."""
        return descending(self.x[0]), descending(self.x[1])

    @cached_property
    def moved(self) -> Tensor:
        """r' with permuted units, under all signs of these ``(2^m, m!, m, m)``; first without."""
        _, other = self.bases
        orders = torch.tensor([*permutations(range(len(other)))])
        signs = torch.tensor([*product((1.0, -1.0), repeat=len(other))])
        return signs[:, None, :, None] * other[orders]

    @measured
    def overlaps(self) -> Tensor:
        """Overlaps of the top k dense eigenvectors of the two products, ``(m,)`` for k up to m."""
        spaces = [descending(torch.kron(*pair)) for pair in zip(self.x, self.y, strict=True)]
        return by_angles(*(space[:, : self.x.shape[1]] for space in spaces))

    @measured
    def moved_overlaps(self) -> Tensor:
        """Overlaps of the first k eigenvectors r and :attr:`moved` r' ``(2^m, m!, m)``."""
        return by_angles(self.bases[0], self.moved)


def by_angles(first: Tensor, other: Tensor) -> Tensor:
    """``‖cos φ‖² / k`` of the spaces of the first k columns, for all k, by canonical angles φ."""
    cosines = first.mT @ other
    squares = [
        torch.linalg.svdvals(cosines[..., :k, :k]).square().mean(dim=-1)
        for k in range(1, cosines.shape[-1] + 1)
    ]
    return torch.stack(squares, dim=-1)


@theorem(
    "dissecting eq. (267)",
    remark="In print the eigenvalues γ of $E[xx^⊤]$ end at m; there are n.",
    source=ANGLES,
    dissecting="Theorem G.1, eq. (267)",
)
def overlap_of_products(net: Models) -> Error:
    """With $τ_mγ_1 > τ_1γ_2$ the top k-spaces of two products $E[M] ⊗ E[xx^⊤]$ overlap by
    $(t_1 · t_1')^2$ times the overlap of the top k-spaces of $E[M]$, for all $k ≤ m$.
    """
    t, other = (descending(of)[:, 0] for of in net.y)
    return relative((t @ other).square() * cv.subspace_overlaps(*net.bases), net.overlaps)


@theorem(
    "dissecting eq. (268)",
    printed="$Σ_{i ≤ k} (r_i · r_i')^2$, with the mean $k/m$",
    remark="By Definition 2.1 all pairs of vectors count, and their sum is divided by k.",
    source=f"{ANGLES}, for all permutations and signs of the units",
    dissecting="Definition 2.1 and Theorem G.1, eq. (268)",
)
def overlap_of_random_spaces(net: Models, printed: bool = False) -> Error:
    """The overlap of two k-spaces is $Σ_{i,j ≤ k} (r_i · r_j')^2/k$. Its mean over all
    permutations and signs of the units of a model is $k/m$.
    """
    squares = (net.bases[0].mT @ net.moved).square()
    if printed:
        stated = squares.diagonal(dim1=2, dim2=3).cumsum(dim=2)
    else:
        sums = squares.cumsum(dim=2).cumsum(dim=3).diagonal(dim1=2, dim2=3)
        stated = sums / (net.share * sums.shape[2])
    actual = net.moved_overlaps
    return worst(relative(stated, actual), relative(net.share, actual.mean(dim=(0, 1))))


@theorem(
    "dissecting eq. (268): permutations",
    printed="$k/m$, since units may be permuted",
    remark="The mean over their signs as well is $k/m$.",
    source=f"{ANGLES}, for all permutations of the units",
    dissecting="Theorem G.1, above eq. (268)",
)
def overlap_of_permuted_units(net: Models, printed: bool = False) -> Error:
    """The mean overlap over permutations of units alone is $k/m + S_k S_k'/(k m (m - 1))$ with
    $S_k = Σ_{i ≤ k} ((1^⊤r_i)^2 - 1)$.
    """
    first, other = ((of.sum(dim=0).square() - 1).cumsum(dim=0) for of in net.bases)
    m, stated = len(first), net.share
    beyond = first * other / (stated * m * m * (m - 1))
    return relative(stated if printed else stated + beyond, net.moved_overlaps[0].mean(dim=0))
