"""Single functions refuse an argument by one line that says what was expected."""

import math

import numpy as np
import pytest
import torch

from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form.instances import numbers

from .contract import FORMS

NAN, INF = math.nan, math.inf
EYE = torch.eye(2).double()


def pair(*numbers):
    return lambda: cf.outlier_pair(*numbers)


def pairs(**changed):
    good = {"first": [2.0, 1.0], "last": [1.0], "inputs": 3, "outputs": 2}
    return lambda: cf.pair_eigenvalues(**{**good, **changed})


def attention(score_bias):
    numbers = 1.0, [1.0], [1.0], [[1.0, 2.0]], [[0.0, 0.0]]
    return lambda: cf.self_attention(*numbers, score_bias=score_bias)


def vectors(name, tensor):
    """Tokens of two entries, keys of seven, three sequences of four."""
    shapes = {"value": (2, 2), "query": (2, 7), "key": (2, 7), "x": (3, 4, 2), "y": (3, 4, 2)}
    taken = {**{key: torch.ones(shape) for key, shape in shapes.items()}, name: tensor}
    return lambda: cf.vector_attention_bulk(*taken.values())


def with_output_bias(bias):
    return cf.linear_with_bias(**FORMS["sextic"].arguments, output_bias=bias)


REFUSALS = [
    (lambda: cf.two_layer_linear([1.0, 2.0], [1.0], [1.0], [1.0]),
     r"^v: expected shape \(m,\) with m = 2 as in w, got \(1,\)$"),
    (lambda: cf.two_layer_linear(np.array([1, 2]), [1.0, 2.0], [1.0], [1.0]),
     r"w: expected float32 or float64, got torch\.int64"),
    (lambda: cf.multi_output([[1.0], [1.0, 2.0]], [[1.0]], [1.0], [[1.0]]),
     "w: expected an array of numbers, got list"),
    (lambda: with_output_bias([1.0]), r"output_bias: expected shape \(\), got \(1,\)"),
    (pair(-1.0, 1.0, 0.0, 1.0, 0.0), "squared_norm_w: expected no negative value, got -1.0"),
    (pair(1.0, -2.0, 0.0, 1.0, 0.0), "squared_norm_v: expected no negative value, got -2.0"),
    (pair(1.0, 4.0, -3.0, 1.0, 0.0), "inner_product: expected at most 2.0 in absolute value"),
    (pair([1.0, 2.0], 1.0, [0.0, 0.0, 0.0], 1.0, 0.0), "broadcast"),
    (pair(NAN, 1.0, 0.0, 1.0, 0.0), "squared_norm_w: expected finite numbers"),
    (attention(numbers(1.0, 2.0, 3.0)),
     r"score_bias: expected a shape that broadcasts to .* = \(1, 2, 2\)"),
    (attention(numbers(NAN, 0.0)), "score_bias: expected finite numbers"),
    (attention(numbers(INF, 0.0)), "score_bias: expected finite numbers"),
    (attention(numbers(-INF, -INF)), "expected no row with every score masked, got 2"),
    (attention(torch.tensor([1, 2])), "score_bias: expected float32 or float64"),
    (vectors("value", torch.ones(2, 3)), "W_value: expected shape .* d = 2"),
    (vectors("key", torch.ones(2, 6)), "W_key: expected shape .* k = 7"),
    (vectors("x", torch.ones(3, 4, 3)), "x: expected shape .* d = 2"),
    (vectors("y", torch.ones(2, 4, 2)), "y: expected shape .* b = 3"),
    (vectors("x", NAN * torch.ones(3, 4, 2)), "x: expected finite"),
    (pairs(first=[1.0, 2.0]), r"first: expected singular values, descending, got \[1\.0, 2\.0\]"),
    (pairs(last=[-1.0]), r"last: expected singular values, descending, got \[-1\.0\]"),
    (pairs(first=[1.0] * 4), "first: expected at most 3 singular values, got 4"),
    (pairs(outputs=0), "last: expected at most 0 singular values, got 1"),
    (pairs(depth=0), "depth: expected at least 1 layer, got 0"),
    (pairs(first=[NAN]), "first: expected finite numbers"),
    (pairs(input_scale=[1.0]), r"input_scale: expected shape \(\), got \(1,\)"),
    (lambda: cf.deep_linear([EYE, torch.ones(2, 3).double()], EYE, EYE),
     r"^W_2: expected shape \(d_2, d_1\) with d_1 = 2 as in W_1, got \(2, 3\)$"),
    (lambda: cf.deep_linear([EYE], EYE, torch.ones(2, 3).double()),
     r"^y: expected shape \(d_1, n\) with n = 2 as in x"),
    (lambda: cf.sharpness_from_labels(-0.1, 2, 1.0), "largest_share: expected no negative number"),
    (lambda: cf.sharpness_from_labels(0.5, 0, 1.0), "depth: expected at least 1, got 0.0"),
    (lambda: cf.sharpness_from_labels(0.5, 2, 0.0), "input_scale: expected a positive number"),
    (lambda: cf.least_squares_sharpness(-1.0, 2, 1.0), "solution_norm: expected no negative numb"),
    (lambda: cf.least_squares_sharpness(1.0, 2, -1.0), "input_scale: expected a positive number"),
    (lambda: cf.least_squares_singular_values([[0.0]], [[1.0]]), "x: expected inputs that are not"),
    (lambda: cf.least_squares_singular_values([[1.0]], [[1.0]], 0), "depth: expected at least 1"),
    (lambda: cf.deep_linear_trace([[[1.0]]], [[1.0, 2.0]]), r"second_moment: .* got \(1, 2\)"),
    (lambda: cf.balancedness_defect([]), "weights: expected a list of at least one matrix"),
    (lambda: cf.balancedness_defect(numbers(1.0)[0]), "weights: expected a list of matrices"),
    (lambda: cf.rectified_moments(0.0, 0.0), r"^deviation: expected positive numbers, got 0"),
    (lambda: cf.rectified_moments([1.0, 2.0], [1.0] * 3), "^expected shapes that broadcast"),
    (lambda: cf.decoupled_output_hessian([[1.0]], [[1.0]], [1.5]),
     r"^active: expected probabilities in \[0, 1\], got 1.5$"),
    (lambda: cf.decoupled_output_hessian([[1.0, 2.0]], [[1.0]], [0.5]),
     r"^active: expected shape \(n,\) with n = 2 as in weight, got \(1,\)$"),
    (lambda: cf.decoupled_output_hessian([[1.0]], EYE, [0.5]),
     r"^softmax_hessian: expected shape \(c, c\) with c = 1"),
    (lambda: cf.decoupled_top_space([[1.0, 2.0]], [0.5, 0.5]),
     r"^weight: expected \(c, n\) with at least 2 classes .*, got \(1, 2\)$"),
    (lambda: cf.decoupled_top_space([[1.0, 2.0], [3.0, 4.0]], [0.0, 0.0]),
     "^weight, active: expected 1 independent differences of rows of W Π, got 0$"),
    (lambda: cf.kl_inverse(1.5, 1.0), r"^q: expected numbers in \[0, 1\], got 1.5$"),
    (lambda: cf.kl_inverse([0.5, 0.1], -1.0), "^c: expected no negative number, got -1.0$"),
    (lambda: cf.kl_inverse(0.5, NAN), "^c: expected finite numbers, got 1 NaN"),
    (lambda: cf.kl_inverse([0.5] * 2, [1.0] * 3), "^expected shapes that broadcast"),
    (lambda: cf.binary_kl(0.5, -0.1), r"^p: expected numbers in \[0, 1\], got -0.1$"),
    (lambda: cf.complexity(1.0, 100, 0),
     "^j: expected an integer of at least 1 .with j = 0 there is no union bound, and 2 ln j goes "
     "to minus infinity., got 0.0$"),
    (lambda: cf.pac_bayes_bound(0.1, 1.0, 100, 1.5), "^j: expected an integer .*, got 1.5$"),
    (lambda: cf.complexity(1.0, 1, 1), "^n: expected an integer of at least 2, got 1.0$"),
    (lambda: cf.complexity(-1.0, 9, 1), "^kl: expected no negative number, got -1.0$"),
    (lambda: cf.complexity(1.0, 9, 1, 0.0),
     "^delta: expected a probability between 0 and 1, got 0.0$"),
    (lambda: cf.maurer_complexity(1.0, 7, 1), "^n: expected an integer of at least 8, got 7"),
    (lambda: cf.maurer_complexity(1.0, 9, 0), "^grid: expected an integer of at least 1"),
    (lambda: cf.monte_carlo_error(0.1, 0), "^draws: expected an integer of at least 1, got 0"),
    (lambda: cf.prior_index(0.0, 0.1, 100), "^variance: expected a positive number, got 0.0"),
    (lambda: cf.prior_variance(1, 0.1, 0), "^b: expected a positive number, got 0.0"),
    (lambda: cf.gaussian_kl(0.0, 1.0, 0.1, 1, 1.0),
     r"^log_variance_sum: expected at most P ln\(Σ s/P\), as of any variances s, got 0.1$"),
    (lambda: cf.gaussian_kl(-1.0, 1.0, 0.0, 1, 1.0),
     "^squared_distance: expected no negative number, got -1.0$"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), REFUSALS, ids=[message for _, message in REFUSALS])
def test_what_is_out_of_range_is_refused_in_one_line(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
