import torch
from hypothesis import given
from hypothesis import strategies as st

from hessian_spectra.seeding import generator


def draw(seed, purpose):
    return torch.randint(0, 2**60, (4,), generator=generator(seed, purpose)).tolist()


@given(st.integers(-(2**40), 2**40), st.text(max_size=8))
def test_a_stream_depends_on_seed_and_purpose_alone(seed, purpose):
    assert draw(seed, purpose) == draw(seed, purpose)
    assert draw(seed, purpose) != draw(seed + 1, purpose)
    assert draw(seed, purpose) != draw(seed, purpose + "x")


def test_the_global_generator_is_left_alone():
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    generator(5, "weights")
    assert torch.equal(torch.rand(1), expected)
