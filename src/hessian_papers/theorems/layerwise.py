"""Layer-wise Hessians, their factors and eigenvectors: the identities of wu2022dissecting.

Source: wu2022dissecting, sections 2 to 4, appendices A to D, F.1, F.3, G.3 and G.5. A layer has the
weight ``W (m, n)``, whose row-by-row vector is w, inputs x and outputs z; c scores follow.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Self

import torch
from torch import Tensor
from torch.func import jacrev
from torch.nn.functional import cross_entropy

from hessian_papers.theorems.catalogue import Error, theorem
from hessian_papers.theorems.errors import basis_error, excess, relative, worst
from hessian_papers.theorems.instances import WithoutNetwork, measured
from hessian_spectra.closed_form.instances import Draw

SECOND_DERIVATIVES = "second derivatives of the cross-entropy, by automatic differentiation"
of_derivatives = partial(
    theorem, source="first and second derivatives, by automatic differentiation"
)


def second_derivative(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The second derivative of a function by its first argument, by reverse mode alone."""
    return jacrev(jacrev(function))


def second_derivatives(function: Callable[..., Tensor], *samples: Iterable[Tensor]) -> Tensor:
    """The second derivative of each sample, by the first of its parts."""
    of = second_derivative(function)
    return torch.stack([of(*parts) for parts in zip(*samples, strict=True)])


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
class Classifiers(WithoutNetwork):
    """A ReLU network with biases, and one of its layers.

    Args:
        x: its inputs ``(N, n_1)``.
        y: classes ``(N,)``.
        weights: of all layers.
        biases: of all layers.
        place: of the layer among them.
    """

    stream = "classifiers"
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
        """Networks whose inputs deviate from their mean orthogonally, and two layers' first."""
        edges = {}
        for inputs in (2, 3, 4):
            away = draw.normal(draw.size, inputs - 1)
            away = torch.cat([torch.zeros(2 * len(away), 1), torch.cat([away, -away])], dim=1)
            x = away + 4 * torch.eye(inputs)[0]
            edges[f"{inputs} inputs"] = cls.of(draw, x, 0, inputs, 3)
        for classes in (2, 3):
            x = draw.normal(draw.size, 3)
            edges[f"two layers, {classes} classes"] = cls.of(draw, x, 0, 3, 4, classes)
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
    def parameters(self) -> Tensor:
        """All weights and biases in a row, each layer's weight before its bias."""
        pairs = zip(self.weights, self.biases, strict=True)
        return torch.cat([part.flatten() for pair in pairs for part in pair])

    def by_all(self, parameters: Tensor) -> Tensor:
        """The scores by all :attr:`parameters`."""
        z, parts = self.x, [parameters[of] for of in self.places]
        for weight, w, b in zip(self.weights, parts[::2], parts[1::2], strict=True):
            z = (z if weight is self.weights[0] else z.relu()) @ w.view_as(weight).mT + b
        return z

    @property
    def of_all_outputs(self) -> list[Tensor]:
        """G of each layer ``(N, c, m)``."""
        return [replace(self, place=place).jacobians() for place in range(len(self.weights))]

    @property
    def of_all_parameters(self) -> Tensor:
        """``F (N, c, p)``: ``G ⊗ xᵀ`` and G of each layer."""
        parts = []
        for place, jacobians in enumerate(self.of_all_outputs):
            inputs = replace(self, place=place).inputs
            parts += [torch.einsum("scm,sn->scmn", jacobians, inputs).flatten(2), jacobians]
        return torch.cat(parts, dim=2)

    @property
    def places(self) -> list[slice]:
        """Where the weight and the bias of each layer stand in a row, one after the other."""
        sizes = [size for w in self.weights for size in (w.numel(), len(w))]
        ends = torch.tensor(sizes).cumsum(dim=0).tolist()
        return [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]

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
        return second_derivatives(cross_entropy, self.scores, self.y)

    @measured
    def output_hessians(self) -> Tensor:
        """M of each sample ``(N, m, m)``."""
        of = self.layer_outputs, self.y
        return second_derivatives(lambda z, y: cross_entropy(self.after(z), y), *of)

    @measured
    def bias_hessian(self) -> Tensor:
        """The Hessian of the mean loss by the layer's bias ``(m, m)``."""
        z = self.layer_outputs
        of = second_derivative(lambda b: cross_entropy(self.after(z + b), self.y))
        return of(torch.zeros_like(z[0]))

    @measured
    def weight_hessian(self) -> Tensor:
        """The Hessian of the mean loss by w ``(m n, m n)``."""
        of = second_derivative(lambda w: cross_entropy(self.by_weight(w), self.y))
        return of(self.weight.flatten())

    @measured
    def full_hessian(self) -> Tensor:
        """The Hessian of the mean loss by all :attr:`parameters` ``(p, p)``."""
        of = second_derivative(lambda w: cross_entropy(self.by_all(w), self.y))
        return of(self.parameters)

    @measured
    def weight_jacobians(self) -> Tensor:
        """``∂s/∂w`` of the scores s of each sample ``(N, c, m n)``."""
        return jacrev(self.by_weight)(self.weight.flatten())

    @measured
    def second_moments(self) -> Tensor:
        """``E[x xᵀ]``, sample by sample."""
        return torch.stack([torch.outer(x, x) for x in self.inputs]).mean(dim=0)

    @measured
    def row_projector(self) -> Tensor:
        """The projector on the rows of W ``(n, n)``, by singular vectors."""
        rows = torch.linalg.svd(self.weight, full_matrices=False).Vh
        return rows.mT @ rows

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


@theorem("dissecting eq. (2)", dissecting="eq. (1), (2), (10) to (14), (23)")
def layer_hessian_is_a_mean_of_products(net: Classifiers, printed: bool = False) -> Error:
    """The Hessian with respect to a layer's weights, row by row, is the mean of $M ⊗ xx^⊤$ over the
    samples. It is a diagonal block of the full Hessian.

    In print: eq. (10): the sum over the samples
    """
    products = torch.stack(
        [torch.kron(M, torch.outer(x, x)) for M, x in zip(gram(net.rows), net.inputs, strict=True)]
    )
    stated = products.sum(dim=0) if printed else products.mean(dim=0)
    own = net.places[2 * net.place]
    return worst(*(relative(stated, of) for of in (net.weight_hessian, net.full_hessian[own, own])))


@theorem(dissecting="section 3")
def product_of_independent_factors(net: Classifiers) -> Error:
    """Where inputs and M are independent the Hessian is $E[M] ⊗ E[xx^⊤]$. Elsewhere an eigenvalue
    differs from the product's by no more than the norm of the difference.

    Remark: The second sentence is Weyl's inequality: the paper has "close".
    """
    M, x = gram(net.rows), net.inputs
    every = [torch.kron(of, torch.outer(each, each)) for of in net.output_hessians for each in x]
    product = torch.kron(M.mean(dim=0), gram(x) / len(x))
    away = product - net.weight_hessian
    values = [torch.linalg.eigvalsh(of) for of in (product, net.weight_hessian)]
    bound = torch.linalg.matrix_norm(away, 2)
    return worst(
        relative(product, torch.stack(every).mean(dim=0)),
        excess((values[0] - values[1]).abs(), bound, over=float(values[1].abs().max())),
    )


@theorem(dissecting="appendix D")
def eigenpairs_of_the_product(net: Classifiers) -> Error:
    """The products of the factors' eigenvectors are all $mn$ eigenvectors of $E[M] ⊗ E[xx^⊤]$. The
    full Hessian's products with vectors of one layer, cut to this layer, are its Hessian's.
    """
    M, second = net.output_hessians.mean(dim=0), net.second_moments
    (left, u), (right, v) = (torch.linalg.eigh(of) for of in (M, second))
    vectors, values = torch.kron(u, v), torch.kron(left, right)
    own = net.places[2 * net.place]
    unit = torch.zeros(len(net.parameters), own.stop - own.start, dtype=M.dtype)
    unit[own] = torch.eye(own.stop - own.start, dtype=M.dtype)
    return worst(
        basis_error(torch.kron(M, second), vectors, values),
        relative((net.full_hessian @ unit)[own], net.weight_hessian),
    )


@theorem(dissecting="eq. (26), (27), (251), (256) to (259)")
def full_hessian_of_two_terms(net: Classifiers) -> Error:
    r"""The full Hessian is $E[F^⊤AF] + E[Σ_i (∂ℓ/∂z_i) ∇^2 z_i]$, with $G^⊤ ⊗ x$ and $G^⊤$ of each
    layer in $F^⊤$. With respect to the outputs of all layers it is $E[G^⊤AG]$.

    Remark: In print the derivative $∂ℓ/∂z_i$ lacks a $∂$.
    """
    root, scores = roots(net.scores), net.scores
    slope = scores.softmax(dim=1) - torch.eye(scores.shape[1])[net.y].to(scores)
    rest = second_derivative(lambda w: (slope * net.by_all(w)).sum() / len(scores))(net.parameters)
    first = gram(root @ net.of_all_parameters).mean(dim=0)
    biases = torch.cat([torch.arange(of.start, of.stop) for of in net.places[1::2]])
    joint = gram(root @ torch.cat(net.of_all_outputs, dim=2)).mean(dim=0)
    return worst(
        relative(first + rest, net.full_hessian),
        relative(joint, net.full_hessian[biases][:, biases]),
    )


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


@theorem(dissecting="eq. (15), (17) to (22), (24)")
def output_hessian_by_the_jacobian(net: Classifiers) -> Error:
    r"""The Hessian of a sample's loss with respect to a layer's outputs z is $M = G^⊤AG$, and its
    mean that with respect to the bias. G is the product of the later weights and of
    $D = \operatorname{diag}(1[z > 0])$.
    """
    stated = gram(net.rows)
    return worst(
        relative(stated, net.output_hessians), relative(stated.mean(dim=0), net.bias_hessian)
    )


@theorem("dissecting eq. (4)", dissecting="eq. (4), (38)")
def closed_form_of_the_first_layer(net: Classifiers, printed: bool = False) -> Error:
    r"""In a network of two layers the first one has $M = E[DW^⊤AWD]$ and
    $H = E[DW^⊤AWD ⊗ xx^⊤]$ with $D = \operatorname{diag}(1[z > 0])$, whatever the labels are.

    In print: $D = \operatorname{diag}(1[y ≥ 0])$ for $y = \operatorname{relu}(z)$, the identity
    """
    if (len(net.weights), net.place) != (2, 0):
        return None
    M = gram(roots(net.scores) @ net.jacobians(active_at_zero=printed))
    H = torch.einsum("sij,sa,sb->iajb", M, net.inputs, net.inputs) / len(M)
    other = replace(net, y=net.y.flip(0))
    return worst(
        relative(M.mean(dim=0), net.bias_hessian),
        relative(H.flatten(2).flatten(0, 1), net.weight_hessian),
        relative(other.weight_hessian, net.weight_hessian),
    )


@theorem("dissecting Definition 2.2", dissecting="section 2, Definition 2.2, with eq. (23)")
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


@theorem(
    "dissecting section 2: the Kronecker product",
    of="matricisation",
    dissecting="section 2, Basic Notations",
)
def kronecker_index(net: Classifiers, printed: bool = False) -> Error:
    """The entries of $M ⊗ N$ are $M_{i_1j_1} N_{i_2j_2}$, at row $(i_1, i_2)$ and column
    $(j_1, j_2)$: its product with a matrix's rows is $MXN^⊤$.

    In print: $M_{i_1i_2} N_{j_1j_2}$
    Measured by: the product of a matrix with both factors
    """
    z = net.layer_outputs
    M, N = gram(net.rows).mean(dim=0), gram(z) / len(z)
    size = len(M)
    stated = torch.einsum("ik,jl->ikjl" if printed else "ij,kl->ikjl", M, N)
    unit = torch.eye(size * size, dtype=M.dtype).view(-1, size, size)
    actual = (M @ unit @ N.mT).flatten(1).mT
    return relative(stated.flatten(2).flatten(0, 1), actual)


@theorem(dissecting="Lemma B.7, eq. (65); Lemma B.25, eq. (239)")
def rows_and_their_projector(net: Classifiers) -> Error:
    r"""$‖W^⊤W - P_W‖_F = ‖WW^⊤ - I‖_F$ of any W with independent rows, with the projector $P_W$ on
    their span. So the Gram matrix tends to the projector as fast as Corollary B.1 has it, and so
    does that of $V = W ⊗ 1^⊤/\sqrt{d}$, whose $VV^⊤$ is $WW^⊤$.

    Remark: The paper bounds the left side by a multiple of the right one.
    Measured by: the projector on the rows, by their singular vectors
    """
    W = net.weight / torch.linalg.matrix_norm(net.weight, 2)
    if W.shape[0] > W.shape[1]:
        return None
    eye = torch.eye(len(W), dtype=W.dtype)
    V = torch.kron(W, torch.full((1, 3), 3**-0.5, dtype=W.dtype))
    rows = torch.linalg.svd(V, full_matrices=False).Vh
    differences = (W.mT @ W - net.row_projector, V.mT @ V - rows.mT @ rows)
    expected = (W @ W.mT - eye).norm()
    return worst(*(relative(each.norm(), expected) for each in differences))


@theorem(dissecting="Definition F.1, eq. (265), (266)")
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
    errors = [
        worst(relative(a, b), relative(1.0, b.sum(dim=0)), relative(count, b.sum(dim=1)))
        for a, b, count in zip(shares, actual, (m, n), strict=True)
    ]
    return worst(*errors)


@theorem(dissecting="appendix F.1, eq. (264)")
def ratio_of_input_eigenvalues(net: Classifiers) -> Error:
    """The eigenvalues of $E[xx^⊤]$ have $λ_1/λ_2 ≥ ‖E[x]‖^2/‖Σ_x‖$ always, without the $-1$.

    Remark: The paper proves this ratio minus 1, and calls the ratio usual in experiments.
    Measured by: dense eigenvalues of second moments, sample by sample
    """
    values = torch.linalg.eigvalsh(net.second_moments)
    covariance = torch.cov(net.inputs.mT, correction=0)
    first = values[-1] * torch.linalg.matrix_norm(covariance, 2)
    return excess(values[-2] * net.inputs.mean(dim=0).square().sum(), first, over=float(first))


@of_derivatives("dissecting eq. (271)", dissecting="equation (271), with (269) and (270)")
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
    pairs = [(weights, net.weight_hessian), (net.rows, net.output_hessians.mean(dim=0))]
    for rows, actual in pairs:
        if printed:
            means = torch.stack([rows[net.y == label].mean(dim=0) for label in net.y.unique()])
            stated = gram(means.flatten(0, 1)) / means.shape[:2].numel()
        else:
            stated = gram(rows).mean(dim=0)
        errors.append(relative(stated, actual))
    return worst(*errors)


@of_derivatives("dissecting eq. (273)", dissecting="equation (273)")
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
