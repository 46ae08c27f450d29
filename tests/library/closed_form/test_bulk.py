"""The bulk of two consecutive linear layers, its signs, and that of a chain, by brute force."""

from itertools import pairwise

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form.instances import PARTS, Consecutive, Draw, numbers

from .contract import FORMS, brute_force

TOLERANCE = 1e-10
NETS = Consecutive.drawn(Draw(seed=3, instances=200, width=8))


def hessian_of(net):
    """The Hessian of the whole network in float64."""
    # Classes stay integers.
    return brute_force(net.model(), net.x, net.x, lambda outputs, _: net.criterion(outputs, net.y))


def count_near(values, value, size):
    return int(((values - value).abs() < 1e-8 * size).sum())


def placed(net, vectors):
    """The layers' directions as those of the whole network."""
    count = sum(parameter.numel() for parameter in net.model().parameters())
    whole = vectors.new_zeros(count, vectors.shape[1])
    whole[net.places] = vectors
    return whole


def require_eigenvectors(matrix, vectors, values):
    size = float(matrix.abs().max())
    eye = torch.eye(vectors.shape[1], dtype=torch.float64)
    assert float((matrix @ vectors - vectors * values).abs().sum()) <= TOLERANCE * size
    assert float((vectors.mT @ vectors - eye).abs().sum()) <= TOLERANCE


def test_parts_of_spectra_have_instances_of_their_own():
    assert {"consecutive": Consecutive} == PARTS
    assert len(NETS) > 200


@pytest.mark.parametrize("name", NETS)
def test_eigenvectors_of_the_whole_network_and_their_numbers(name):
    net = NETS[name]
    matrix, part = hessian_of(net), net.spectrum
    require_eigenvectors(matrix, placed(net, part.eigenvectors()), part.eigenvalues)
    every, size = torch.linalg.eigvalsh(matrix), float(matrix.abs().max())
    width, gradient = len(net.first), net.gradient_in_product
    at_least = cf.bulk(gradient, width)
    for value in at_least.values.tolist():
        counts = [
            count_near(of, value, size) for of in (at_least.eigenvalues, part.eigenvalues, every)
        ]
        assert counts == sorted(counts)
    zeros = abs(gradient.shape[0] - gradient.shape[1]) * (width - min(gradient.shape))
    assert count_near(every, 0.0, size) >= zeros
    product = net.last @ net.first
    negative, positive = cf.sign_counts(product, gradient, width)
    assert int((every < -1e-12 * size).sum()) >= negative
    assert int((every > 1e-12 * size).sum()) >= positive


@pytest.mark.parametrize(
    ("sizes", "kind"),
    [
        (sizes, kind)
        for sizes in [(3, 2), (4, 1), (3, 3), (2, 3), (1, 4), (1, 1), (2, 4)]
        for kind in ("squared", "any")
    ],
)
@pytest.mark.parametrize("spare", [0, 1, 5])
def test_what_remains_has_a_number_without_the_width(sizes, kind, spare):
    """Brute force has just as many others: min (3 max + min - 2)."""
    inputs, outputs = sizes
    width, small, large = inputs + outputs + spare, min(sizes), max(sizes)
    draw = Draw(seed=7, family="others")
    net = Consecutive.of_sizes(draw, inputs, width, outputs, 4)
    if kind == "any":
        net = Consecutive(x=net.x, y=net.y, first=net.first, last=net.last, criterion=Wavy())
    matrix = hessian_of(net)
    every, size = torch.linalg.eigvalsh(matrix), float(matrix.abs().max())
    repeated = {round(value, 7) for value in net.spectrum.eigenvalues.tolist()}
    others = len(every) - sum(
        int(((every - value).abs() < 2e-7 * max(size, 1.0)).sum()) for value in repeated
    )
    assert others == small * (3 * large + small - 2)
    copies = spare + 1
    assert net.spectrum.multiplicities[: 2 * small] == [copies] * (2 * small)
    assert len(net.spectrum.select("zero")) == (large - small) * (width - small)


class Wavy(nn.Module):
    """A loss that is not convex and takes the outputs together."""

    def forward(self, outputs, targets):
        return (outputs.sin() * targets + outputs.sum(1, keepdim=True) ** 2 / 3).mean()


def test_equal_singular_values_have_more_copies_than_their_sum():
    """r (m - D - K + r) where r are equal, a bulk below m = D + K among them."""
    draw = Draw(seed=1, family="equal")
    for count, width in ((2, 7), (3, 7), (3, 5), (3, 4)):
        values = numbers(*[2.0] * count, *[0.7, 0.3][: 3 - count])
        net = Consecutive.bare(draw, torch.diag(values), width)
        size = count * (width - 6 + count)
        matrix = hessian_of(net)
        every = torch.linalg.eigvalsh(matrix)
        assert count_near(every, 2.0, 1.0) == count_near(every, -2.0, 1.0) == max(size, 0)
        assert net.spectrum.multiplicities[0] == max(size, 0)


def test_a_batch_of_gradients_has_a_batch_of_spectra():
    gradients = Draw(seed=2, family="batch").normal(4, 2, 3, 2)
    batch = cf.bulk(gradients, 6)
    assert batch.values.shape == (4, 2, 4)
    assert batch.eigenvalues.shape == (4, 2, 8)
    assert_close(batch.eigenvalues[1, 1], cf.bulk(gradients[1, 1], 6).eigenvalues)
    assert_close(batch.select("bulk"), batch.eigenvalues)
    with pytest.raises(ValueError, match=r"^expected a single spectrum, got a batch \(4, 2\)$"):
        _ = batch.labels


def test_below_the_width_there_is_no_bulk():
    spectrum = cf.bulk(torch.ones(2, 3), width=4)
    assert spectrum.eigenvalues.numel() == 0
    net = NETS["a bottleneck"]
    assert len(net.spectrum.select("bulk")) == 0
    values = torch.linalg.svdvals(net.gradient_in_product)
    every = torch.linalg.eigvalsh(hessian_of(net))
    assert float((every[:, None].abs() - values).abs().min()) > 1e-4


def test_one_input_and_output_is_the_bulk_of_the_first_theorem():
    net = FORMS["linear"]
    w, v, x, y = (net.arguments[name] for name in ("w", "v", "x", "y"))
    gradient = (x * ((w @ v) * x - y)).mean()[None, None]
    bulk = cf.bulk(gradient, len(w))
    assert_close(bulk.eigenvalues, net.spectrum.select("bulk"))


def test_an_orthogonal_first_layer_has_this_bulk():
    net = FORMS["orthogonal"]
    w, first, x, y = (net.arguments[name] for name in ("w", "V", "x", "y"))
    residual = x @ first.mT @ w - y
    bulk = cf.bulk((residual @ x / len(x))[None], len(w), layers=(first, w[None]))
    assert_close(bulk.select("bulk"), net.spectrum.select("bulk"), rtol=1e-9, atol=1e-12)


def chain(draw, widths, rank):
    """Layers of a rank, whose kernels are in general position."""
    return [
        draw.normal(after, rank) @ draw.normal(rank, before) for before, after in pairwise(widths)
    ]


def product_of(layers):
    product = layers[0]
    for layer in layers[1:]:
        product = layer @ product
    return product


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("widths", [(3, 5, 6, 4), (2, 5, 2), (3, 6, 6, 6, 3)])
def test_a_chain_of_layers_of_low_rank(widths, balanced):
    draw = Draw(seed=5, family=f"chain {widths}")
    for rank in (1, 2):
        layers = chain(draw, widths, rank)
        if balanced:
            bases = [torch.linalg.qr(draw.normal(width, rank)).Q for width in widths]
            sizes = 0.5 + draw.uniform(rank)
            layers = [b * sizes @ a.mT for a, b in pairwise(bases)]
        x, y = draw.normal(9, widths[0]), draw.normal(9, widths[-1])
        loss = Wavy()

        def of(product, x=x, y=y, loss=loss):
            return loss(x @ product.mT, y)

        product = product_of(layers).requires_grad_()
        (gradient,) = torch.autograd.grad(of(product), product)
        shapes = [layer.shape for layer in layers]

        def from_vector(theta, shapes=shapes, of=of):
            pieces = theta.split([shape.numel() for shape in shapes])
            return of(product_of([p.view(s) for p, s in zip(pieces, shapes, strict=True)]))

        theta = torch.cat([layer.flatten() for layer in layers])
        matrix = torch.autograd.functional.hessian(from_vector, theta)
        part = cf.deep_bulk(gradient, layers)
        require_eigenvectors(matrix, part.eigenvectors(), part.eigenvalues)
        spare = rank if balanced else 2 * rank
        for hidden, width in enumerate(widths[1:-1], start=1):
            copies = len(part.select("bulk", cell=str(hidden)))
            positive = copies // 2 // max(width - spare, 1)
            assert copies == 2 * positive * max(width - spare, 0)
            assert positive > 0 or width <= spare


def test_the_signs_of_a_bottleneck_are_those_of_the_orbit():
    """Rank r of P G': r (r - 1) / 2 + r (m - r) pairs, and as many more as have that sign."""
    draw = Draw(seed=4, family="signs")
    for inputs, outputs, width in [(5, 4, 2), (5, 4, 3), (3, 3, 3), (2, 3, 5), (4, 1, 6)]:
        for _ in range(8):
            first, last = draw.normal(width, inputs), draw.normal(outputs, width)
            gradient = draw.normal(outputs, inputs)
            rank = min(width, inputs, outputs)
            roots = torch.linalg.eigvals(first @ gradient.mT @ last)
            above = int((roots.real > 1e-9).sum())
            negative, positive = cf.sign_counts(last @ first, gradient, width)
            pairs = rank * (rank - 1) // 2 + rank * (width - rank)
            assert (int(negative), int(positive)) == (pairs + above, pairs + rank - above)
            # The form itself, on the orbit.
            form = orbit_form(first, last, gradient)
            values = torch.linalg.eigvalsh(form)
            floor = 1e-10 * float(values.abs().max())
            assert int((values < -floor).sum()) == negative
            assert int((values > floor).sum()) == positive


def orbit_form(first, last, gradient):
    """<G, C A> doubled along A = X W_1, C = -W_2 X, as a matrix in the entries of X."""
    width = len(first)

    def along(entries):
        x = entries.view(width, width)
        return -2 * (gradient * (last @ x @ x @ first)).sum()

    zero = torch.zeros(width * width, dtype=torch.float64)
    return torch.autograd.functional.hessian(along, zero)


def test_signs_of_eigenvalues_that_add_up_to_nothing():
    """There the form on the orbit has fewer signs, and the Hessian as many all the same."""
    gradient = torch.eye(2, dtype=torch.float64)
    opposite = torch.diag(numbers(1.0, -1.0))
    assert cf.sign_counts(opposite, gradient, 2) == (torch.tensor(2), torch.tensor(2))
    turned = torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    assert cf.sign_counts(turned, gradient, 4) == (torch.tensor(6), torch.tensor(6))
    batch = cf.sign_counts(torch.stack([opposite, gradient]), torch.stack([gradient] * 2), 3)
    assert [part.tolist() for part in batch] == [[4, 5], [4, 3]]
    values = torch.linalg.eigvalsh(orbit_form(opposite, gradient, gradient))
    assert [int((sign * values > 1e-12).sum()) for sign in (-1, 1)] == [1, 1]
    draw = Draw(seed=10, family="opposite")
    # Its computed eigenvalues are not 0: rounding is seen through a root.
    base = torch.linalg.qr(draw.normal(3, 3)).Q
    nilpotent = base @ torch.diag(numbers(1.0, 1.0), diagonal=1) @ base.T
    assert float(torch.linalg.eigvals(nilpotent).abs().max()) > 1e-8
    for product in (opposite, turned, nilpotent, torch.diag(numbers(1.0, -1.0, 1.0))):
        for width in (len(product), len(product) + 2):
            size = len(product)
            first, last = torch.zeros(width, size).double(), torch.zeros(size, width).double()
            last[:, :size] = draw.normal(size, size)
            first[:size] = torch.linalg.solve(last[:, :size], product)
            root = draw.normal(size**2, size**2)
            for curvature in (root @ root.T, root + root.T, 0 * root):
                matrix = hessian_of_a_product(first, last, torch.eye(size).double(), curvature)
                every, floor = torch.linalg.eigvalsh(matrix), 1e-10 * float(matrix.abs().max())
                negative, positive = cf.sign_counts(product, torch.eye(size).double(), width)
                assert int((every < -floor).sum()) >= negative
                assert int((every > floor).sum()) >= positive


def hessian_of_a_product(first, last, gradient, curvature):
    """Under a loss of the product that is a polynomial of the second degree."""
    product = last @ first

    def of(theta):
        into, out = theta.split([first.numel(), last.numel()])
        moved = (out.view_as(last) @ into.view_as(first) - product).flatten()
        return gradient.flatten() @ moved + moved @ curvature @ moved / 2

    theta = torch.cat([first.flatten(), last.flatten()])
    return torch.autograd.functional.hessian(of, theta)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_an_adapter_at_its_start_has_both_signs(width):
    """W_2 = 0: exactly m rank(G) negative eigenvalues, as many positive ones, under a convex loss.

    None of them is beyond the largest singular value of G.
    """
    draw = Draw(seed=6, family="adapter")
    for inputs, outputs in ((5, 4), (3, 4), (4, 4)):
        x, y, frozen = (
            draw.normal(20, inputs),
            draw.normal(20, outputs),
            draw.normal(outputs, inputs),
        )
        first = draw.normal(width, inputs)
        net = Consecutive(
            x=x, y=y - x @ frozen.mT, first=first, last=torch.zeros(outputs, width).double()
        )
        every = torch.linalg.eigvalsh(hessian_of(net))
        rank = width * min(inputs, outputs)
        size = float(every.abs().max())
        assert int((every < -1e-10 * size).sum()) == rank
        assert int((every > 1e-10 * size).sum()) == width * outputs
        assert -float(every[0]) <= float(torch.linalg.matrix_norm(net.gradient_in_product, 2))
        assert len(net.spectrum.select("bulk")) == 0


def test_a_convex_loss_leaves_as_few_below_as_the_gradient_has():
    """The j-th smallest eigenvalue of both layers is at least that of the second-order part."""
    draw = Draw(seed=8, family="interlaced")
    for width in (1, 2, 4, 6):
        net = Consecutive.of_sizes(draw, 3, width, 3, 4)
        every = torch.linalg.eigvalsh(hessian_of(net))
        values = torch.linalg.svdvals(net.gradient_in_product).repeat_interleave(width)
        part = torch.cat([values, -values]).sort().values
        assert bool((every >= part - 1e-12).all())
        # From above as well, KD places further.
        assert bool((every[: max(len(part) - 9, 0)] <= part[9:] + 1e-12).all())


def test_an_activation_or_tied_layers_have_another_bulk():
    """The assumptions are needed: the eigenvalues are none of these networks."""
    draw = Draw(seed=9, family="counterexamples")
    first, last = draw.normal(7, 2), draw.normal(2, 7)
    x, y = draw.normal(9, 2), draw.normal(9, 2)

    def errors(network, *weights):
        theta = torch.cat([weight.flatten() for weight in weights])

        def of(vector):
            pieces = vector.split([weight.numel() for weight in weights])
            shaped = [p.view(w.shape) for p, w in zip(pieces, weights, strict=True)]
            return (network(*shaped) - y).square().sum() / len(x)

        every = torch.linalg.eigvalsh(torch.autograd.functional.hessian(of, theta))
        residual = network(*weights) - y
        gradient = 2 * residual.mT @ x / len(x)
        values = torch.linalg.svdvals(gradient)
        return (every[:, None].abs() - values).abs().amin(0) / values.max()

    assert float(errors(lambda a, b: x @ a.mT @ b.mT, first, last).max()) < 1e-12
    assert float(errors(lambda a, b: torch.tanh(x @ a.mT) @ b.mT, first, last).min()) > 1e-3
    assert float(errors(lambda a: x @ a.mT @ a, first).min()) > 1e-1


REFUSALS = [
    (lambda: cf.bulk([1.0, 2.0], 3), r"^gradient: expected shape \(\.\.\., K, D\), got \(2,\)$"),
    (lambda: cf.bulk([[1.0]], 0), r"^width: expected at least 1, got 0$"),
    (lambda: cf.bulk([[float("nan")]], 2), r"^gradient: expected finite numbers"),
    (lambda: cf.bulk([[1.0]], 2, layers=[[[1.0]]]), r"^layers: expected \(W_1, W_2\), got 1$"),
    (lambda: cf.bulk([[1.0]], 3, layers=([[1.0], [2.0]], [[1.0, 2.0]])),
     r"^width: expected m = 2 as in W_1, got 3$"),
    (lambda: cf.bulk([[1.0]], 2, layers=([[1.0], [2.0]], [[1.0]])), r"^W_2: expected shape"),
    (lambda: cf.deep_bulk([[1.0]], [[[1.0]]]), r"^weights: expected at least two layers, got 1$"),
    (lambda: cf.sign_counts([[1.0]], [[1.0, 2.0]], 2),
     r"^gradient: expected shape \(\.\.\., K, D\) as of the product, got \(1, 2\) and \(1, 1\)$"),
    (lambda: cf.sign_counts([[1.0]], [[1.0]], 0), r"^width: expected at least 1, got 0$"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), REFUSALS)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
