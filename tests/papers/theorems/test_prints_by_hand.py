"""The prints, on networks whose errors one can work out by hand."""

import pytest
import torch

from hessian_papers.theorems import THEOREMS
from hessian_papers.theorems.attention import Attention
from hessian_papers.theorems.bias import Sextic
from hessian_papers.theorems.convolutions import Convolutions
from hessian_papers.theorems.deep import AnyLayers, Balanced, TwoLayers
from hessian_papers.theorems.labels import Recipes
from hessian_papers.theorems.layerwise import Classifiers
from hessian_papers.theorems.overlaps import Models
from hessian_papers.theorems.relu import Relu
from hessian_papers.theorems.several import MultiOutput
from hessian_papers.theorems.sharpness_terms import LinearTerms, raised_alone
from hessian_papers.theorems.two_layer import Linear, Moments
from hessian_papers.theorems.two_matrices import Matrices


def row(*numbers):
    return torch.tensor(numbers, dtype=torch.float64)


def rows(*vectors):
    return torch.stack([row(*vector) for vector in vectors])


def balanced(kind, x, y, *weights):
    return Balanced(weights=weights, x=x, y=y, kind=kind, labels=torch.zeros(len(y)).long())


def recipe(samples, share, classes):
    unit = rows([1])
    sizes = {"samples": samples, "share": share, "classes": classes}
    return Recipes(
        weights=(unit,), in_print=(unit,), values=row(1), raw=unit, x=unit, y=unit, **sizes
    )


# w = v = 1, x = 2, y = 0: σ² = 4, δx = 4, H = [[4, 8], [8, 4]] with the eigenvalues 12 and -4.
SCALAR = {"w": row(1), "v": row(1), "x": row(2), "y": row(0)}
# w = (1, 0), v = 0, x = y = 1: δx = -1, σ² = 1; the eigenvalues are (1 ± √5)/2 and ±1.
NEGATIVE = {"w": row(1, 0), "v": row(0, 0), "x": row(1), "y": row(1), "c": row(0, 1)}
LARGEST = (1 + 5**0.5) / 2
# w = (1, 0), v = (0, 1), δx = 0: H has the blocks wwᵀ, vvᵀ and wvᵀ.
ACROSS = {"w": row(1, 0), "v": row(0, 1), "x": row(1), "y": row(0)}
# One neuron in each cell, each with half of the points: σ² = 1/2, δx = ±1/2, in print ±1.
CELLS = {"w": row(1, 1), "v": row(1, -1), "x": row(1, -1), "y": row(0, 0)}
# Two neurons that see x = 1 alone, of two points: σ² = δx = 1/2, the outliers are 2.5 and -0.5.
HALF = {"w": row(1, 1), "v": row(1, 1), "x": row(1, -1), "y": row(1, 0), "c": row(1, 0)}
# f = w_2 w_1 x at zero loss, all 1: H = [[1, 1], [1, 1]].
ONES = {"x": rows([1], [-1]), "y": rows([1], [-1])}
# A layer of zeros and biases that make the softmax (0.9, 0.1).
NINE_TENTHS = Classifiers(
    weights=(rows([0], [0]),),
    biases=(row(9, 1).log(),),
    place=0,
    x=rows([1]),
    y=torch.zeros(1).long(),
)
# A constant image, a kernel of a single weight, and scores of opposite signs: four positions alike.
FOUR_POSITIONS = Convolutions(
    kernel=torch.ones(1, 1, 1, 1).double(),
    bias=row(0),
    head=rows([1, 1, 1, 1], [-1, -1, -1, -1]),
    stride=1,
    padding=0,
    alike=True,
    x=torch.ones(1, 1, 2, 2).double(),
    y=torch.zeros(1).long(),
)


def models(output):
    of_inputs = torch.diag(row(1, 0.1)).expand(2, 2, 2)
    return Models(x=output.expand(2, 2, 2), y=of_inputs)


# W_1 = (2, 0), W_2 = 1, σ_x = 1: the Gauss-Newton matrix has 2² + 1² and, by the other input, 1².
NARROW = (rows([2, 0]), rows([1]))
WHITE = rows([1, 1], [1, -1])


@pytest.mark.parametrize(
    ("name", "net", "error"),
    [
        # The pair is (8 ± √(64 + 192))/2; in print 4(2 − 0)², so that it is (8 ± 4)/2 = 6 and 2.
        ("linear-poster", Linear(**SCALAR), 6 / 12),
        # The bulk vectors of δx = -1 and 1 in the wrong order: |-1 − 1| over the largest.
        ("linear-bulk-sign", Linear(**NEGATIVE), 2 / LARGEST),
        # -δx = 1 in the place of -1.
        ("linear-smallest", Linear(**NEGATIVE), 2 / LARGEST),
        # vvᵀ and vwᵀ have no entry where wvᵀ has its only one.
        ("linear-display", Linear(**ACROSS), 1.0),
        ("linear-display-2024", Linear(**ACROSS), 1.0),
        # At λ = 12, of the coefficients -1, 4, 32, 32 scaled by 12³: -12³ + 4·12² + 32·12 + 32.
        ("linear-cubic", Linear(**SCALAR), 736 / 12**3),
        # With m = 2 the print has the other sign.
        ("linear-determinant-sign", Linear(**NEGATIVE), 2.0),
        # After a step of 1/δx the bulk eigenvalue is there twice, in print at most once.
        ("linear-bulk-dimension", Linear(**NEGATIVE), 1 / 2),
        # <w, v> = -1.
        ("alignments-of-vectors", Linear(**SCALAR | {"v": row(-1)}), 2.0),
        # z = λ(1; 1) + δx(1; 1) = 16 (1; 1) and 0 (1; 1).
        ("linear-zero-vector", Linear(**SCALAR), 1.0),
        # The third term is 4 (4 + 4)², in print 4·4², over 12².
        ("terms-last", LinearTerms(**SCALAR), (256 - 64) / 144),
        # A step of height w = 1 in the place of w v x, at x = 2.
        ("relu-activation", Relu(**SCALAR), 1 / 2),
        # The positive cell's only point is the last of two: yx_+/2 = 1/2 is 0 in print, of |H| = 1.
        ("relu-covariance", Relu(**CELLS | {"x": row(-1, 1), "y": row(0, 1)}), 1 / 2),
        # A bulk ±1 in the place of ±1/2, over the largest eigenvalue 2.5.
        ("relu-bulk-value", Relu(**HALF), 0.5 / 2.5),
        # Rows in the order (w, v): w² = 4 and v² = 9 change places, beside δx + w v = 12.
        (
            "multi-output-display",
            MultiOutput(w=rows([2]), v=rows([3]), x=row(1), y=rows([0])),
            5 / 12,
        ),
        # Two rows in print, where the product needs one.
        ("matrices-sizes", Matrices(weights=NARROW, x=WHITE, y=rows([0], [0])), 1.0),
        ("matrices-sharpness", Matrices(weights=(rows([1]), rows([1])), **ONES), 1 / 2),
        # σ⁴ = 16 of the first layer in the place of σ² = 4.
        ("matrices-block-diagonal", Matrices(weights=(rows([2]), rows([1])), **ONES), 3.0),
        # The pair of the other input is missing: 1 of 5; and 1 eigenvalue is counted, not 2.
        ("two-layers-pairs", TwoLayers(weights=NARROW, x=WHITE, y=rows([0], [0])), 1 / 5),
        ("two-layers-count", TwoLayers(weights=NARROW, x=WHITE, y=rows([0], [0])), 1 / 2),
        # One layer, four equal samples: tr(G) = σ_x² = 9, and as printed 9·4·9.
        (
            "layers-brace",
            AnyLayers(
                weights=(rows([5]),), x=3 * rows(*[[1]] * 4), y=rows(*[[0]] * 4), probe=row(1)
            ),
            35.0,
        ),
        # One layer of two inputs and one output has σ_x² = 1 for both; in print for one pair.
        ("balanced-pairs", balanced(0, WHITE, rows([0], [0]), rows([1, 0])), 1.0),
        ("balanced-count", balanced(0, WHITE, rows([0], [0]), rows([1, 0])), 1 / 2),
        # Q has the rows √p(1 − p)(1, -1) and √(1 − p)p(-1, 1): 2p(1 − p)² in the place of p(1 − p).
        ("softmax-hessian-is-a-square", NINE_TENTHS, 0.8),
        # 1 of 4 positions' worth is left.
        ("convolution-of-positions-alike", FOUR_POSITIONS, 3 / 4),
        # r = (1, 1)/√2 is the same when permuted: the overlap of its line is 1, and in print 1/2.
        ("overlap-of-permuted-units", models(rows([2, 1], [1, 2])), 1 / 2),
        # Two equal bases sum up to 2 for an overlap of 1.
        ("overlap-of-random-spaces", models(torch.diag(row(2, 1))), 1.0),
        # 10 samples, 3 classes, half of them of class 0: 5 of each other class leave none of it.
        ("recipe-subset", recipe(10, 0.5, 3), 0.5 - 0.2),
    ],
)
def test_the_error_in_print(name, net, error):
    assert THEOREMS[name].error(net) <= THEOREMS[name].tolerance
    assert THEOREMS[name].error(net, printed=True) == pytest.approx(error)


def test_the_sextic_in_print():
    # w = 0, v = (1, 0), b = (0, 2), no residual: the eigenvalues are 1, 4 and 0, and the sextic
    # λ² (λ² − 5λ + 4) λ²; with ‖b‖ = 2 for ‖b‖² the constant is 2: at λ = 4, 2/4 of the next term.
    net = Sextic(w=row(0, 0), v=row(1, 0), b=row(0, 2), x=row(1, -1), y=row(0, 0))
    assert THEOREMS["sextic-norm"].error(net) < 1e-15
    assert THEOREMS["sextic-norm"].error(net, printed=True) == pytest.approx(2 * 4**4 / (5 * 4**5))
    # Which coefficients the wrong sign changes: all three.
    net = Sextic(w=row(1, 2), v=row(0.5, -1), b=row(1, 1), x=row(1, -1), y=row(0.3, 1))
    assert all(abs(term) > 1e-3 for term in net.mixed)
    assert THEOREMS["sextic-sign"].error(net, printed=True) > 1e-3


def test_the_half_width_in_print_is_too_small_and_then_too_large():
    # w_V = 1, w_Q = 2, w_K = 0: attention is uniform, and x = (1, -1) has the mean 0.
    net = Attention(
        w_value=row(1)[0], w_query=row(2), w_key=row(0), x=rows([1, -1]), y=rows([0, 0])
    )
    # α = β = γ = 0 and ζ = 1: N = T = 4; ξ = (2/3) 4, and in print (2/3) 2.
    assert [float(of) for of in net.coefficients] == pytest.approx([0, 0, 0, 1])
    assert float(net.printed_half_width) == pytest.approx(4 / 3)
    net = Attention(
        w_value=row(1)[0], w_query=row(0.5), w_key=row(0), x=rows([1, -1]), y=rows([0, 0])
    )
    assert float(net.printed_half_width) == pytest.approx(1 / 3)
    assert float(net.cubic.half_width()) == pytest.approx(1 / 6)


def four_terms(of):
    return torch.cat([of.squares(), of.trace[None]])


@pytest.mark.parametrize("term", range(4))
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_term_is_raised_by_itself(term, sign):
    w, v, x = row(sign, 2.0, 0.5), row(1.5 * sign, -0.3, 1.0), row(1.0, -2.0)
    of = Moments.of(w, v, x, row(0.3, 1.0))
    more = four_terms(raised_alone(of)[term]) - four_terms(of)
    torch.testing.assert_close(more[[k for k in range(4) if k != term]], torch.zeros(3).double())
    # Squares by 2σ⁴⟨w, v⟩², the norm by a fifth of itself.
    squared = 2 * (of.s2 * of.inner).square()
    torch.testing.assert_close(more[term], squared if term < 3 else of.trace / 5)
