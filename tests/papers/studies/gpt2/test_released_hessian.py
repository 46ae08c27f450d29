"""The released product is curvlinops' own, and wrong for the weights of layer norms alone."""

import pytest
import torch

from hessian_papers.models import gpt2
from hessian_papers.studies.gpt2.released_hessian import ReleasedHessian
from hessian_spectra import curvature as cv
from hessian_spectra.seeding import generator

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning")


def model(variant):
    """A model whose weights are large enough that no layer is close to linear, in float64."""
    shape = gpt2.Shape(layers=1, width=4, heads=2, context=5, vocabulary=7, variant=variant)
    actual = gpt2.gpt2(shape, seed=0).double().eval()
    draws = generator(0, "test")
    with torch.no_grad():
        for parameter in actual.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=draws))
    return actual


TOKENS = torch.randint(0, 7, (3, 6), generator=generator(1, "tokens"))


def vectors(problem):
    draws = generator(2, "test")
    return torch.randn(problem.size, 3, generator=draws, dtype=torch.float64)


@pytest.mark.parametrize("variant", ["attention", "no attention", "no norm weights"])
def test_it_is_wrong_for_norm_weights_alone(variant):
    """It differs from the Hessian in the rows of these weights, and nowhere else."""
    network = model(variant)
    problem = cv.Problem(
        network, loss_fn=gpt2.language_loss, data=[TOKENS[:1], TOKENS[1:]], weights=len
    )
    columns = vectors(problem)
    right = cv.hessian(problem) @ columns
    torch.testing.assert_close(cv.hessian(problem, backend="curvlinops") @ columns, right)
    wrong = ReleasedHessian(problem) @ columns
    norm_weight = torch.cat([
        torch.full((number.numel(),), ".ln_" in name and name.endswith("weight"))
        for name, number in network.named_parameters()
    ])  # fmt: skip
    error = (wrong - right).abs().amax(dim=1) / right.abs().max()
    assert (error[~norm_weight] < 1e-9).all()
    assert norm_weight.any() == (variant != "no norm weights")
    assert (error[norm_weight] > 1e-4).all()


class Scores(torch.nn.Module):
    """Scores with the classes in axis 1, as curvlinops asks for them."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, tokens):
        return self.network(tokens).logits.transpose(1, 2)


def test_it_is_what_curvlinops_multiplies_by():
    """Also where that library adds up batches of different size by itself."""
    from curvlinops import HessianLinearOperator

    network = model("attention")
    problem = cv.Problem(
        network, loss_fn=gpt2.language_loss, data=[TOKENS[:1], TOKENS[1:]], weights=len
    )
    data = [(tokens[:, :-1], tokens[:, 1:]) for tokens in (TOKENS[:1], TOKENS[1:])]
    peer = HessianLinearOperator(
        Scores(network), torch.nn.CrossEntropyLoss(), list(network.parameters()), data
    )
    columns = vectors(problem)
    ours = ReleasedHessian(problem) @ columns
    torch.testing.assert_close(ours, (peer @ columns).detach(), rtol=1e-10, atol=1e-12)
