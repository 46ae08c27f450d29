"""Any batch, any loss, any choice of parameters; what adds up how; blocks; memory."""

from dataclasses import dataclass
from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close

from hessian_spectra import curvature as cv

from .cases import LABELS, SOLVERS, TOKENS, X, Y, built, cut, mlp, normal
from .oracles import double_backward
from .zoo.losses import Focal
from .zoo.trials import specimens


def dense(*arguments, **settings) -> Tensor:
    return cv.dense_matrix(cv.hessian(cv.Problem(*arguments, **settings)))


def close(actual: Tensor, expected: Tensor) -> None:
    assert_close(actual, expected, rtol=1e-11, atol=1e-13)


class Pair(NamedTuple):
    x: Tensor
    y: Tensor


@dataclass
class Output:
    loss: Tensor
    logits: Tensor


@pytest.mark.parametrize("sizes", [(7,), (1, 2, 4)])
@pytest.mark.parametrize(
    ("pack", "loss_fn"),
    [
        (lambda x, y: {"x": x, "y": y, "name": "kept"},
         lambda model, batch: functional.mse_loss(model(batch["x"]), batch["y"])),
        (lambda x, y: [{"x": x}, [y]],
         lambda model, batch: functional.mse_loss(model(batch[0]["x"]), batch[1][0])),
        (Pair, lambda model, batch: functional.mse_loss(model(batch.x), batch.y)),
        (Pair, lambda model, batch: Output(functional.mse_loss(model(batch.x), batch.y), None)),
    ],
    ids=["mapping", "nested", "named tuple", "model output"],
)  # fmt: skip
def test_any_batch_and_any_loss(pack, loss_fn, sizes):
    torch.manual_seed(0)
    model = mlp().double()
    data = [pack(x, y) for x, y in cut(X, Y, *sizes)]
    close(dense(model, loss_fn=loss_fn, data=data), dense(model, nn.MSELoss(), [(X, Y)]))


IGNORED = torch.tensor([0, -100, 1, -100, -100, 2, 1])


class Weighed(nn.CrossEntropyLoss):
    """Again a mean over the targets that count, in words of its own."""

    def forward(self, outputs, targets):
        losses = functional.cross_entropy(outputs, targets, reduction="none")
        return losses.sum() / (targets != -100).sum()


class Powered(nn.Module):
    """No mean and no sum."""

    def forward(self, outputs, targets):
        return (outputs - targets).square().mean().square()


@pytest.mark.parametrize("loss", [Focal(), Weighed(), functional.cross_entropy])
def test_ignored_targets_in_uneven_batches(loss):
    """Weights by samples would be wrong by a third."""
    model = built(mlp)
    expected = dense(model, nn.CrossEntropyLoss(), [(X, IGNORED)])
    close(dense(model, loss, cut(X, IGNORED, 1, 2, 4)), expected)
    first, second = (dense(model, loss, [batch]) for batch in cut(X, IGNORED, 3, 4))
    wrong = (3 * first + 4 * second) / 7
    assert (wrong - expected).norm() > 0.05 * expected.norm()


def test_what_adds_up_in_no_known_way_is_refused_until_it_is_said():
    model, data = built(mlp), cut(X, Y, 3, 4)
    with pytest.raises(ValueError, match=r"is not known \(over two joined.*weights=") as caught:
        cv.Problem(model, Powered(), data)
    assert "\n" not in str(caught.value)
    first, second = (dense(model, Powered(), [batch]) for batch in data)
    close(dense(model, Powered(), data, weights="sum"), first + second)
    close(dense(model, Powered(), data, weights=[3, 1]), (3 * first + second) / 4)
    close(dense(model, Powered(), data, weights=lambda batch: len(batch[0])),
          (3 * first + 4 * second) / 7)  # fmt: skip


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ([(X[:3], Y[:3]), (X[:3], Y[:3])], "have the same loss"),
        ([(normal(2, 5), normal(2, 5)), (normal(3, 2), normal(3, 2))], "cannot be joined"),
    ],
)
def test_what_cannot_be_measured_is_refused(data, reason):
    wide = nn.Sequential(nn.Unflatten(1, (-1, 1)), nn.Linear(1, 1), nn.Flatten())
    with pytest.raises(ValueError, match=f"batches 0 and 1 {reason}"):
        cv.Problem(wide.double(), nn.L1Loss(), data)


def test_batches_that_count_nothing_change_nothing():
    model = built(mlp)
    none = torch.full((2,), -100)
    data = [(X[:2], none), *cut(X, LABELS, 3, 4)]
    close(
        dense(model, nn.CrossEntropyLoss(), data),
        dense(model, nn.CrossEntropyLoss(), [(X, LABELS)]),
    )


class Decayed(nn.Module):
    """Weight decay inside the loss, by the model as a part of it or by a list of parameters."""

    def __init__(self, model, as_list):
        super().__init__()
        if as_list:
            self.held = list(model.parameters())
        else:
            self.model = model

    def forward(self, outputs, targets):
        parameters = self.held if hasattr(self, "held") else self.model.parameters()
        decay = sum(parameter.square().sum() for parameter in parameters)
        return functional.mse_loss(outputs, targets) + 0.1 * decay


@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("sizes", [(7,), (3, 4)])
@pytest.mark.parametrize("wanted", [None, "*.weight"])
def test_a_loss_that_holds_the_parameters_is_differentiated_with_them(as_list, sizes, wanted):
    model = built(mlp)
    actual = dense(model, Decayed(model, as_list), cut(X, Y, *sizes), wanted)
    plain = dense(model, nn.MSELoss(), [(X, Y)], wanted)
    close(actual, plain + 0.2 * torch.eye(len(plain)).double())
    with pytest.raises(cv.OperatorError, match=r"beside through the outputs \(weight decay"):
        cv.ggn(cv.Problem(model, Decayed(model, as_list), [(X, Y)], wanted))


def test_a_closure_over_the_parameters_is_found():
    model = built(mlp)

    def decayed(outputs, targets):
        return functional.mse_loss(outputs, targets) + model[0].weight.square().sum()

    with pytest.raises(cv.OperatorError, match=r"reaches '0.weight' of the model outside"):
        cv.hessian(cv.Problem(model, decayed, [(X, Y)]), check=False)


def test_compiled_networks_have_the_names_of_those_inside():
    model = built(mlp)
    whole = torch.compile(model, backend="eager")
    at = cv.Problem(specimens["compiled layer"].model(), nn.MSELoss(), [(X, Y)])
    assert at.names == ("0.weight", "0.bias", "2.weight", "2.bias")
    assert cv.Problem(whole, nn.MSELoss(), [(X, Y)], "_orig_mod.0.*").names == (
        "0.weight",
        "0.bias",
    )


class Lowered(nn.Module):
    """The whole forward pass in bfloat16."""

    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.body(x).float()


@pytest.mark.parametrize("operator", [cv.hessian, cv.ggn])
def test_autocast_in_the_forward_pass(operator):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        body = nn.Sequential(nn.Linear(3, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 3))
    data = [(X.float(), Y.float())]
    actual = operator(cv.Problem(Lowered(body), nn.MSELoss(), data))
    exact = operator(cv.Problem(body, nn.MSELoss(), data))
    vector = normal(exact.shape[0]).float()
    # Three digits of bfloat16 in each operation.
    assert (actual @ vector - exact @ vector).norm() < 3e-2 * (exact @ vector).norm()


@pytest.mark.parametrize("solved", SOLVERS.values(), ids=SOLVERS)
def test_autocast_around_a_solver_changes_no_number(solved):
    model, data = built(mlp).float(), cut(X.float(), Y.float(), 3, 4)
    operator = cv.hessian(cv.Problem(model, nn.MSELoss(), data))
    expected = solved(operator)
    with torch.autocast("cpu", torch.bfloat16):
        actual = solved(operator)
        assert torch.is_autocast_enabled("cpu")
        assert torch.is_autocast_cache_enabled()
    assert_close(actual, expected, rtol=0, atol=0)


@pytest.mark.parametrize("lowered", [False, True])
def test_autocast_around_it_all_is_no_part_of_the_network_and_inside_it_is(lowered):
    model = built(mlp).float()
    model = Lowered(model) if lowered else model

    def measured():
        at = cv.Problem(model, nn.MSELoss(), cut(X.float(), Y.float(), 3, 4))
        layers = [] if lowered else [cv.layerwise(at, "0").output_hessian]
        along = cv.loss_along(at, torch.ones(at.size), [0.0, 0.1]).loss
        noise = cv.gradient_noise(at).mean
        product = cv.hessian(at) @ normal(at.size).float()
        return [product, at.gradient(), along, noise, *layers]

    expected = measured()
    with torch.autocast("cpu", torch.bfloat16):
        actual = measured()
    for ours, plain in zip(actual, expected, strict=True):
        assert_close(ours, plain, rtol=0, atol=0)


@pytest.mark.parametrize("backend", ["autograd", "curvlinops"])
@pytest.mark.parametrize("sizes", [(7,), (3, 4)])
def test_batches_made_in_inference_mode(backend, sizes):
    with torch.inference_mode():
        data = [(x.clone(), y.clone()) for x, y in cut(X, Y, *sizes)]
    at = cv.Problem(built(mlp), nn.MSELoss(), data)
    expected = dense(built(mlp), nn.MSELoss(), [(X, Y)])
    close(cv.dense_matrix(cv.hessian(at, backend=backend)), expected)
    close(cv.layerwise(at, "0").output_hessian, cv.layerwise(plain_problem(), "0").output_hessian)


def plain_problem() -> cv.Problem:
    return cv.Problem(built(mlp), nn.MSELoss(), [(X, Y)])


@pytest.mark.parametrize("activation", [nn.Tanh, nn.ReLU, nn.GELU, lambda: nn.Softmax(-1)])
@pytest.mark.parametrize("check", ["once", False])
def test_sequences_in_a_jagged_tensor(activation, check):
    model = built(lambda: nn.Sequential(nn.Linear(3, 4), activation(), nn.Linear(4, 2)))
    sequences = [normal(length, 3, seed=length) for length in (2, 4, 3)]
    batch = torch.nested.nested_tensor(sequences, layout=torch.jagged), torch.arange(9) % 2

    def loss_fn(model, batch):
        return functional.cross_entropy(model(batch[0]).values(), batch[1])

    expected = double_backward(loss_fn(model, batch), model.parameters())
    for data in ([batch], [batch, batch]):
        at = cv.Problem(model, loss_fn=loss_fn, data=data, weights=[9.0] * len(data))
        close(cv.dense_matrix(cv.hessian(at, check=check)), expected)


def test_targets_in_a_jagged_tensor_beside_inputs():
    """As many samples in each, of which none can be cut off."""
    sequences = [normal(length, 3, seed=length) for length in (2, 4, 3, 1, 2, 5)]
    batch = (torch.nested.nested_tensor(sequences, layout=torch.jagged),) * 2

    def loss_fn(model, batch):
        return functional.mse_loss(model(batch[0]).values(), batch[1].values())

    model = built(mlp)
    expected = double_backward(loss_fn(model, batch), model.parameters())
    close(dense(model, loss_fn=loss_fn, data=[batch]), expected)


class StraightThrough(nn.Linear):
    """Weights that are rounded, and a derivative as if they were not."""

    def forward(self, x):
        rounded = self.weight + ((4 * self.weight).round() / 4 - self.weight).detach()
        return functional.linear(x, rounded, self.bias).tanh()


def test_what_is_detached_by_design_is_a_constant_without_the_check():
    def loss_fn(model, batch):
        return functional.mse_loss(model(batch[0]), batch[1])

    model = built(lambda: StraightThrough(3, 3))
    at = cv.Problem(model, loss_fn=loss_fn, data=[(X, Y)])
    with pytest.raises(cv.OperatorError, match=r"detached by design .* check=False takes it as"):
        cv.hessian(at)
    expected = double_backward(loss_fn(model, (X, Y)), model.parameters())
    close(cv.dense_matrix(cv.hessian(at, check=False)), expected)


def test_parameters_by_pattern_module_and_function():
    model = built(mlp)
    names = [
        cv.Problem(model, nn.MSELoss(), [(X, Y)], wanted).names
        for wanted in ("0.*", ["2.bias", "0.*"], model[2], [model[2], "0.bias"],
                       lambda name, parameter: parameter.ndim > 1)
    ]  # fmt: skip
    assert names == [
        ("0.weight", "0.bias"),
        ("2.bias", "0.weight", "0.bias"),
        ("2.weight", "2.bias"),
        ("2.weight", "2.bias", "0.bias"),
        ("0.weight", "2.weight"),
    ]


@pytest.mark.parametrize("operator", [cv.hessian, cv.ggn])
@pytest.mark.parametrize("sizes", [(7,), (3, 4)])
def test_blocks_are_those_of_the_whole(operator, sizes):
    whole = operator(cv.Problem(built(mlp), nn.CrossEntropyLoss(), cut(X, LABELS, *sizes)))
    matrix = cv.dense_matrix(whole)
    spans = {"0": slice(0, 16), "2": slice(16, 31)}
    blocks = whole.blocks("module")
    assert list(blocks) == list(spans)
    for name, span in spans.items():
        close(cv.dense_matrix(blocks[name]), matrix[span, span])
    assert blocks["0"].names == ("0.weight", "0.bias")
    assert list(whole.blocks("parameter")) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    expected = torch.block_diag(*(matrix[span, span] for span in spans.values()))
    close(cv.dense_matrix(whole.block_diagonal()), expected)


def test_blocks_of_parametrised_layers_are_those_of_the_layer():
    at = cv.Problem(specimens["weight norm"].model(), nn.MSELoss(), [(X, Y)])
    assert {name: block.shape[0] for name, block in cv.hessian(at).blocks().items()} == {
        "0": 4 + 4 + 12,
        "2": 15,
    }


def language_model(**settings):
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        n_layer=1, n_head=2, n_embd=4, vocab_size=5, n_positions=8, bos_token_id=0, eos_token_id=0,
        **settings,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return transformers.GPT2LMHeadModel(config).double().eval()


def examples() -> list[dict[str, list[int]]]:
    masks = [[1] * length + [0] * (6 - length) for length in (6, 3, 5, 2)]
    return [
        {"input_ids": tokens, "attention_mask": mask, "text": "not an argument"}
        for tokens, mask in zip(TOKENS.tolist(), masks, strict=True)
    ]


@pytest.mark.parametrize("operator", [cv.hessian, cv.ggn])
def test_a_model_of_hugging_face(operator):
    model = language_model()
    at = cv.Problem.from_huggingface(model, examples(), batch_size=3)
    whole = cv.Problem.from_huggingface(model, examples(), batch_size=4)
    vector = normal(at.size)
    close(operator(at) @ vector, operator(whole) @ vector)

    # Written out: the targets are the tokens that follow, without those that are masked.
    def next_token(model, batch):
        logits = model(input_ids=batch["ids"], attention_mask=batch["mask"]).logits[:, :-1]
        targets = torch.where(batch["mask"] == 1, batch["ids"], -100)[:, 1:]
        return functional.cross_entropy(logits.transpose(1, 2), targets), logits

    ids, mask = (
        torch.tensor([example[name] for example in examples()])
        for name in ("input_ids", "attention_mask")
    )
    written = cv.Problem(model, loss_fn=next_token, data=[{"ids": ids, "mask": mask}])
    close(operator(whole) @ vector, operator(written) @ vector)
