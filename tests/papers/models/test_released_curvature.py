"""What curvlinops' released Hessian is wrong for in the papers' language models."""

import pytest
import torch

from hessian_papers.models import gpt2 as language
from hessian_spectra import curvature as cv
from tests.library.curvature.cases import normal

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning")


@pytest.mark.parametrize("variant", ["attention", "no attention", "no norm weights"])
def test_released_hessian_of_gpt2_is_wrong_for_norm_weights_alone(variant):
    """Its product differs in the rows of these weights, and nowhere else."""
    pytest.importorskip("transformers")
    shape = language.Shape(layers=1, width=4, heads=2, context=5, vocabulary=7, variant=variant)
    model = language.gpt2(shape, seed=0).double().eval()
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.add_(0.3 * normal(*parameter.shape, seed=number))
    tokens = torch.randint(0, 7, (3, 6), generator=torch.Generator().manual_seed(1))
    at = cv.Problem(
        model, loss_fn=language.language_loss, data=[tokens[:1], tokens[1:]], weights=len
    )
    vectors = normal(at.size, 3)
    right = cv.hessian(at) @ vectors
    torch.testing.assert_close(cv.hessian(at, backend="curvlinops") @ vectors, right)
    wrong = cv.hessian(at, backend="curvlinops as released", check=False) @ vectors
    norm_weight = torch.cat([
        torch.full((number.numel(),), ".ln_" in name and name.endswith("weight"))
        for name, number in model.named_parameters()
    ])  # fmt: skip
    error = (wrong - right).abs().amax(dim=1) / right.abs().max()
    assert (error[~norm_weight] < 1e-9).all()
    assert norm_weight.any() == (variant != "no norm weights")
    assert (error[norm_weight] > 1e-4).all()
