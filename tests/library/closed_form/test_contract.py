"""Every closed form against the dense Hessian of its loss."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from hessian_spectra import closed_form as cf

from .cases import CLOSED_FORMS
from .contract import TOLERANCE, Case, ClosedForm, Draws, require_spectrum

# Relative to the largest eigenvalue, for the same numbers laid out otherwise in memory: the
# algorithm is the same, but the order in which a matrix product adds may depend on the layout. That
# is an ulp or two; inputs that had been rounded to float32 would be off by 1e-8.
ROUNDING = 1e-14

forms = pytest.mark.parametrize("form", CLOSED_FORMS, ids=lambda form: form.name)
edges = pytest.mark.parametrize(
    ("form", "case"),
    [(form, case) for form in CLOSED_FORMS for case in form.edges().values()],
    ids=[f"{form.name}: {name}" for form in CLOSED_FORMS for name in form.edges()],
)
violations = pytest.mark.parametrize(
    ("form", "assumption", "case"),
    [(form, *item) for form in CLOSED_FORMS for item in form.violations().items()],
    ids=[f"{form.name}: {name}" for form in CLOSED_FORMS for name in form.violations()],
)


def evaluate(form: ClosedForm, case: Case, **keywords):
    return form.spectrum(**case.arguments, **{**case.keywords, **keywords})


def assert_equal_up_to_rounding(values, expected):
    size = float(expected.abs().max())
    assert_close(values, expected, rtol=0, atol=ROUNDING * size)


def check(form: ClosedForm, case: Case, **keywords):
    """Everything that the contract asks of one case."""
    spectrum, p = evaluate(form, case, **keywords), len(case.parameters)
    require_spectrum(spectrum, case.hessian())
    assert sum(spectrum.multiplicities) == p
    assert len(spectrum.labels) == p
    kinds = form.kinds(case.arguments)
    assert {kind: len(spectrum.select(kind)) for kind in kinds} == kinds
    assert sum(kinds.values()) == p


@edges
def test_edge_case(form, case):
    check(form, case)


@forms
@settings(max_examples=25, derandomize=True, database=None)
@given(data=st.data())
def test_random_case(form, data):
    sizes = {name: data.draw(st.integers(*ends), name) for name, ends in form.sizes.items()}
    seed = data.draw(st.integers(0, 2**32), "seed")
    power = st.integers(-3, 3)
    scales = {name: 10.0 ** data.draw(power, name) for name in ("weights", "inputs", "targets")}
    check(form, form.draw(Draws(torch.Generator().manual_seed(seed), sizes, **scales)))


@forms
@settings(max_examples=25, derandomize=True, database=None)
@given(data=st.data())
def test_random_degenerate_case(form, data):
    sizes = {name: data.draw(st.integers(*ends), name) for name, ends in form.sizes.items()}
    seed = data.draw(st.integers(0, 2**32), "seed")
    check(form, form.draw(Draws(torch.Generator().manual_seed(seed), sizes, coarse=True)))


@violations
def test_broken_assumption(form, assumption, case):
    with pytest.raises(cf.AssumptionError) as caught:
        evaluate(form, case)
    error = caught.value
    assert error.assumption == assumption
    assert error.violation > error.tolerance
    for part in (assumption, f"{error.violation:.6g}", f"{error.tolerance:g}", "check=False"):
        assert part in str(error)
    assert isinstance(error, ValueError)
    assert "\n" not in str(error)


@violations
def test_unchecked_spectrum_is_exact(form, assumption, case):
    check(form, case, check=False)


@forms
def test_float32_inputs_are_taken_as_they_are(form):
    case = form.example()
    single = {name: tensor.float() for name, tensor in case.arguments.items()}
    rounded = form.case(**{name: tensor.double() for name, tensor in single.items()})
    require_spectrum(form.spectrum(**single), rounded.hessian())


@forms
@pytest.mark.parametrize("convert", [np.asarray, torch.Tensor.tolist], ids=["numpy", "list"])
def test_other_containers_make_no_difference(form, convert):
    case = form.example()
    other = {name: convert(tensor) for name, tensor in case.arguments.items()}
    expected = evaluate(form, case).eigenvalues
    assert_equal_up_to_rounding(form.spectrum(**other).eigenvalues, expected)


@forms
def test_strided_inputs_with_gradients_make_no_difference(form):
    case = form.example()
    other = {
        name: torch.stack([tensor, tensor + 1], dim=-1).requires_grad_()[..., 0]
        for name, tensor in case.arguments.items()
    }
    spectrum = form.spectrum(**other)
    assert_equal_up_to_rounding(spectrum.eigenvalues, evaluate(form, case).eigenvalues)
    assert not spectrum.eigenvalues.requires_grad
    assert not spectrum.eigenvectors().requires_grad


@forms
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_device_is_kept(form):
    case = form.example()
    moved = {name: tensor.cuda() for name, tensor in case.arguments.items()}
    spectrum = form.spectrum(**moved)
    assert spectrum.eigenvalues.is_cuda
    assert spectrum.eigenvectors().is_cuda
    expected = evaluate(form, case).eigenvalues
    error = (spectrum.eigenvalues.cpu() - expected).abs().max()
    assert float(error) <= TOLERANCE * expected.abs().max()


@edges
def test_nothing_is_made_on_the_default_device(form, case):
    # A meta tensor has no entries: one made here, beside the inputs' device, would be an error.
    with torch.device("meta"):
        spectrum = evaluate(form, case)
        assert spectrum.eigenvalues.is_cpu
        assert spectrum.eigenvectors().is_cpu


@forms
def test_inputs_are_left_alone(form):
    case = form.example()
    before = {name: tensor.clone() for name, tensor in case.arguments.items()}
    evaluate(form, case).eigenvectors()
    assert all(torch.equal(case.arguments[name], before[name]) for name in before)


@forms
@pytest.mark.parametrize("power", [-300, 300])
def test_scaling_by_powers_of_two_is_exact(form, power):
    case = form.example()
    spectrum = evaluate(form, case)
    for law in form.scalings:
        scaled = {
            name: tensor * 2.0 ** (power * law.get(name, 0))
            for name, tensor in case.arguments.items()
        }
        other = form.spectrum(**scaled)
        factor = 2.0 ** (power * law["hessian"])
        assert torch.equal(other.eigenvalues, spectrum.eigenvalues * factor)
        assert torch.equal(other.eigenvectors(), spectrum.eigenvectors())
