"""Every closed form against the dense Hessian of its loss."""

import math

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form import instances
from hessian_spectra.closed_form.instances import FAMILIES, numbers
from hessian_spectra.models import VectorSelfAttention

from .contract import (
    DRAW,
    FORMS,
    TOLERANCE,
    brute_force,
    evaluate,
    flat,
    kinds,
    mapped,
    require_spectrum,
    truth,
    unchecked,
)

# Relative to the largest eigenvalue, for the same numbers laid out otherwise in memory: the
# algorithm is the same, but the order in which a matrix product adds may depend on the layout. That
# is an ulp or two; inputs that had been rounded to float32 would be off by 1e-8.
ROUNDING = 1e-14
# Families of which some instances break an assumption of the closed form.
BROKEN = ("dropped",)

families = pytest.mark.parametrize("family", FAMILIES)
forms = pytest.mark.parametrize("net", FORMS.values(), ids=FORMS)


def check(net, **keywords):
    """Everything that the contract asks of one instance."""
    spectrum, matrix = evaluate(net, **keywords), truth(net)
    require_spectrum(spectrum, matrix)
    assert sum(spectrum.multiplicities) == len(spectrum.labels) == len(matrix)
    return spectrum


@families
def test_the_spectrum_is_that_of_the_dense_matrix(family):
    for net in FAMILIES[family].drawn(DRAW).values():
        if family in BROKEN:
            check(net, check=False)
        else:
            expected = kinds(net)
            spectrum = check(net)
            assert torch.equal(spectrum.eigenvalues, net.spectrum.eigenvalues)
            assert {kind: len(spectrum.select(kind)) for kind in expected} == expected
            assert sum(expected.values()) in (0, len(spectrum.labels))


@families
def test_it_is_exact_for_degenerate_weights_and_data(family):
    """Each argument is 0, then all are; all are rounded, and so often equal, parallel or 0."""
    for number in range(3):
        net = FAMILIES[family].drawn(DRAW)[f"random {number}" if family != "parallel" else "w = 0"]
        for name in flat(net):
            check(mapped(net, lambda each, t, name=name: 0 * t if each == name else t),
                  **unchecked(net))  # fmt: skip
        for factor in (0.0, 1.0, 0.5):
            check(mapped(net, lambda _, t, factor=factor: (factor * t).round()), **unchecked(net))


@pytest.mark.parametrize(
    "family", [name for name in FAMILIES if not issubclass(FAMILIES[name], instances.AnyLoss)]
)
def test_it_is_exact_at_other_scales(family):
    """Weights, inputs and targets of 1e-3 to 1e3, each by itself."""
    for number, (name, net) in enumerate(FAMILIES[family].drawn(DRAW).items()):
        weights = number // 9 % 3 - 1
        powers = {"x": number % 3 - 1, "y": number // 3 % 3 - 1}
        if isinstance(net, instances.Biased | instances.Orthogonal):
            # Targets that are uncorrelated but for rounding, which has to stay negligible.
            powers = {"x": 0, "y": 2 * weights}
        scaled = mapped(net, lambda each, t: t * 1000.0 ** powers.get(each, weights))  # noqa: B023
        if name != "nearly equal singular values":
            check(scaled, **unchecked(net))


def test_layers_that_are_nearly_equal_or_balanced():
    linear, two, balanced = (FORMS[name] for name in ("linear", "orthogonal", "balanced"))
    check(instances.Linear(w=linear.w, v=linear.w + 1e-9 * linear.v, x=linear.x, y=linear.y))
    check(mapped(two, lambda name, t: t + 1e-10 * (name == "V")))
    noise = torch.randn(3, 3, generator=torch.Generator().manual_seed(0)).double()
    check(mapped(balanced, lambda name, t: t + 1e-10 * noise if name == "W_2" else t))


@pytest.mark.parametrize(
    ("bias", "activation"),
    [
        (numbers(3.0, 0.0, 0.0, 0.0), None),
        (torch.full((4, 4), -math.inf).double().triu(1), None),
        (torch.arange(32).reshape(2, 4, 4).double() % 3, None),
        (torch.zeros(4).double(), torch.sigmoid),
        (numbers(1.0, 0.0, 0.0, -1.0), torch.tanh),
    ],
    ids=["sink", "causal mask", "bias of each sequence", "sigmoid", "tanh with a bias"],
)
def test_attention_with_a_bias_of_its_scores_or_another_activation(bias, activation):
    net = instances.Attention.of_size(DRAW, 2, 4, 3)

    class Layer(VectorSelfAttention):
        def forward(self, x):
            value, query, key = self.parameters()
            scores = (x @ query) @ (x @ key).mT / math.sqrt(3) + bias
            weights = activation(scores) if activation else torch.softmax(scores, dim=-1)
            return weights @ x @ value

    model = Layer(net.w_value.reshape(1, 1), net.w_query[None], net.w_key[None])
    spectrum = cf.self_attention(**net.arguments, score_bias=bias, activation=activation)
    loss = torch.nn.MSELoss()
    require_spectrum(spectrum, brute_force(model, net.x[..., None], net.y[..., None], loss) / 2)


def violations():
    """For each assumption, as the error names it, an instance that breaks it."""
    bias, two = FORMS["sextic"], FORMS["orthogonal"]
    tilt = torch.eye(*two.V.shape).double().flip(1)
    return [
        ("mean(x) = 0", mapped(bias, lambda name, t: t + 0.25 * (name == "x"))),
        ("mean(x²) = 1", mapped(bias, lambda name, t: t * (1.5 if name == "x" else 1))),
        ("VᵀV = c I", mapped(two, lambda name, t: t + tilt if name == "V" else t)),
        ("mean(x xᵀ) = I", mapped(two, lambda name, t: t * (1.1 if name == "x" else 1))),
        ("mean(y x) = 0", mapped(two, lambda name, t: t + two.x[:, 0] if name == "y" else t)),
    ]


@pytest.mark.parametrize(("assumption", "net"), violations(), ids=lambda case: str(case)[:20])
def test_a_broken_assumption_is_named_and_may_be_passed(assumption, net):
    with pytest.raises(cf.AssumptionError) as caught:
        evaluate(net)
    error = caught.value
    assert error.assumption == assumption
    assert error.violation > error.tolerance
    for part in (assumption, f"{error.violation:.6g}", f"{error.tolerance:g}", "check=False"):
        assert part in str(error)
    assert isinstance(error, ValueError)
    assert "\n" not in str(error)
    check(net, check=False)


@forms
def test_float32_inputs_are_taken_as_they_are(net):
    single = {name: tensor.float() for name, tensor in flat(net).items()}
    rounded = mapped(net, lambda _, tensor: tensor.float().double())
    require_spectrum(evaluate(net, single), truth(rounded))


@forms
def test_other_containers_and_layouts_make_no_difference(net):
    expected = evaluate(net).eigenvalues
    strided = {
        name: torch.stack([tensor, tensor + 1], dim=-1).requires_grad_()[..., 0]
        for name, tensor in flat(net).items()
    }
    for convert in (np.asarray, torch.Tensor.tolist, None):
        other = {name: convert(t) for name, t in flat(net).items()} if convert else strided
        spectrum = evaluate(net, other)
        size = float(expected.abs().max())
        assert_close(spectrum.eigenvalues, expected, rtol=0, atol=ROUNDING * size)
        assert not spectrum.eigenvalues.requires_grad
        assert not spectrum.eigenvectors().requires_grad


@forms
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_device_is_kept(net):
    spectrum = evaluate(net, {name: tensor.cuda() for name, tensor in flat(net).items()})
    assert spectrum.eigenvalues.is_cuda
    assert spectrum.eigenvectors().is_cuda
    expected = evaluate(net).eigenvalues
    error = (spectrum.eigenvalues.cpu() - expected).abs().max()
    assert float(error) <= TOLERANCE * expected.abs().max()


@families
def test_nothing_is_made_on_the_default_device_or_changed(family):
    for net in [*FAMILIES[family].drawn(DRAW).values()][:14]:
        before = {name: tensor.clone() for name, tensor in flat(net).items()}
        # A meta tensor has no entries: one made here, beside the inputs', would be an error.
        with torch.device("meta"):
            spectrum = evaluate(net, **unchecked(net))
            assert spectrum.eigenvalues.is_cpu
            assert spectrum.eigenvectors().is_cpu
        assert all(torch.equal(tensor, before[name]) for name, tensor in flat(net).items())


# Laws H(2^k-scaled arguments) = 2^(k s) H: the power of the data and of all weights, and s.
LAWS = {
    "linear": [(0, 2, 1, 2), (1, 1, 0, 2)],
    "relu": [(0, 2, 1, 2), (1, 1, 0, 2)],
    "sextic": [(0, 2, 1, 2)],
    "correlated_input": [(0, 2, 1, 2), (1, 1, 0, 2)],
    "multi_output": [(0, 2, 1, 2), (1, 1, 0, 2)],
    "orthogonal": [(0, 2, 1, 2)],
    "attention": [(1, 0, -1, 2)],
    "balanced": [(-1, 0, 1, 2), (1, 1, 0, 2), (0, 3, 0, 0)],
}


@pytest.mark.parametrize("form", LAWS)
@pytest.mark.parametrize("power", [-300, 300])
def test_scaling_by_powers_of_two_is_exact(form, power):
    net = FORMS[form]
    spectrum = evaluate(net)
    for inputs, targets, weights, hessian in LAWS[form]:
        powers = {"x": inputs, "y": targets}
        factors = {name: 2.0 ** (power * powers.get(name, weights)) for name in flat(net)}
        other = evaluate(net, {name: t * factors[name] for name, t in flat(net).items()})
        assert torch.equal(other.eigenvalues, spectrum.eigenvalues * 2.0 ** (power * hessian))
        assert torch.equal(other.eigenvectors(), spectrum.eigenvectors())
