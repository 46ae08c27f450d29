"""Small networks that a library may get wrong, each with its loss written out as plain arithmetic.

The plain form has no module, hook, fused kernel or batch, so that nothing of what is tried is in
it. Its derivatives are the truth.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint

Parameters = dict[str, Tensor]


@dataclass(frozen=True)
class Trial:
    """A network with its loss, and the same loss over all data as a function of the parameters.

    Args:
        model: the network, as a user would hand it over.
        loss: of outputs and targets; ``None`` for a model that takes a batch and gives its loss.
        data: batches.
        plain: the loss over all data, from the parameters by name.
        matrix: ``"hessian"`` or ``"ggn"``.
        tolerance: the largest relative error of a product that is called right.
    """

    model: nn.Module
    loss: nn.Module | None
    data: list[Any]
    plain: Callable[[Parameters], Tensor]
    matrix: str = "hessian"
    tolerance: float = 1e-8


def cross_entropy(scores: Tensor, classes: Tensor) -> Tensor:
    """The mean over the targets that count, of scores ``(..., C)``."""
    counted = classes != -100
    scores, classes = scores[counted], classes[counted]
    return (scores.exp().sum(-1).log() - scores.gather(-1, classes[:, None])[:, 0]).mean()


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, epsilon: float = 1e-5) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred * (centred.square().mean(-1, keepdim=True) + epsilon) ** -0.5 * weight + bias


def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Causal attention over the last axis but one."""
    length, width = query.shape[-2:]
    scores = (query @ key.transpose(-2, -1) * width**-0.5).exp()
    scores = scores * torch.ones(length, length, dtype=query.dtype).tril()
    return scores / scores.sum(-1, keepdim=True) @ value


SAMPLES, INPUTS, HIDDEN, CLASSES = 12, 6, 5, 3
LENGTH, VOCABULARY = 4, 7
CUT = (1, 3, 8)


def inputs(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def classes(*shape: int, count: int = CLASSES) -> Tensor:
    return torch.randint(0, count, shape, generator=torch.Generator().manual_seed(2))


X, LABELS, TOKENS = inputs(SAMPLES, INPUTS), classes(SAMPLES), classes(3, LENGTH, count=VOCABULARY)
IGNORED = torch.where(torch.arange(SAMPLES) % 5 > 1, LABELS, -100)


def perceptron() -> nn.Sequential:
    return nn.Sequential(nn.Linear(INPUTS, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, CLASSES)).double()


def perceptron_scores(p: Parameters, last: str = "2", x: Tensor = X) -> Tensor:
    hidden = (x @ p["0.weight"].T + p["0.bias"]).tanh()
    return hidden @ p[f"{last}.weight"].T + p[f"{last}.bias"]


def perceptron_loss(p: Parameters) -> Tensor:
    return cross_entropy(perceptron_scores(p), LABELS)


def cut(targets: Tensor) -> list[tuple[Tensor, Tensor]]:
    return list(zip(X.split(CUT), targets.split(CUT), strict=True))


def control() -> Trial:
    return Trial(perceptron(), nn.CrossEntropyLoss(), [(X, LABELS)], perceptron_loss)


def uneven_batches() -> Trial:
    return Trial(perceptron(), nn.CrossEntropyLoss(), cut(LABELS), perceptron_loss)


class OwnLoss(nn.CrossEntropyLoss):
    """A cross-entropy under another name."""


def ignored_targets() -> Trial:
    def plain(p: Parameters) -> Tensor:
        return cross_entropy(perceptron_scores(p), IGNORED)

    return Trial(perceptron(), OwnLoss(), cut(IGNORED), plain)


class FusedAttention(nn.Module):
    """Vectors to class scores of the sequence, through torch's fused attention."""

    def __init__(self) -> None:
        super().__init__()
        self.mix, self.head = nn.Linear(4, 12), nn.Linear(4, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        """``(n, T, 4)`` to ``(n, C)``."""
        parts = self.mix(x).chunk(3, dim=-1)
        mixed = functional.scaled_dot_product_attention(*parts, is_causal=True)
        return self.head(mixed.mean(dim=1))


def fused_attention() -> Trial:
    x = inputs(SAMPLES, LENGTH, 4)

    def plain(p: Parameters) -> Tensor:
        mixed = attention(*(x @ p["mix.weight"].T + p["mix.bias"]).split(4, dim=-1))
        return cross_entropy(mixed.mean(dim=1) @ p["head.weight"].T + p["head.bias"], LABELS)

    return Trial(FusedAttention().double(), nn.CrossEntropyLoss(), [(x, LABELS)], plain)


def affine_layer_norm() -> Trial:
    model = nn.Sequential(
        nn.Linear(INPUTS, HIDDEN), nn.LayerNorm(HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, CLASSES)
    )

    def plain(p: Parameters) -> Tensor:
        hidden = layer_norm(X @ p["0.weight"].T + p["0.bias"], p["1.weight"], p["1.bias"]).tanh()
        return cross_entropy(hidden @ p["3.weight"].T + p["3.bias"], LABELS)

    return Trial(model.double(), nn.CrossEntropyLoss(), [(X, LABELS)], plain)


def weight_norm() -> Trial:
    model = perceptron()
    parametrizations.weight_norm(model[0])
    with torch.no_grad():
        model[0].parametrizations.weight.original0.mul_(2.0)

    def plain(p: Parameters) -> Tensor:
        length, direction = (p[f"0.parametrizations.weight.original{k}"] for k in (0, 1))
        weight = length * direction / direction.square().sum(dim=1, keepdim=True).sqrt()
        return cross_entropy(perceptron_scores(p | {"0.weight": weight}), LABELS)

    return Trial(model, nn.CrossEntropyLoss(), [(X, LABELS)], plain)


class TiedWeights(nn.Module):
    """Tokens to the scores of the next ones, with one matrix at both ends."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.mix = nn.Embedding(VOCABULARY, 4), nn.Linear(4, 4)
        self.head = nn.Linear(4, VOCABULARY, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: Tensor) -> Tensor:
        """``(n,)`` to ``(n, V)``."""
        return self.head(torch.tanh(self.mix(self.embedding(tokens))))


def tied_weights() -> Trial:
    tokens, following = TOKENS.flatten(), TOKENS.flatten().roll(1)

    def plain(p: Parameters) -> Tensor:
        matrix = p["embedding.weight"]
        hidden = (matrix[tokens] @ p["mix.weight"].T + p["mix.bias"]).tanh()
        return cross_entropy(hidden @ matrix.T, following)

    return Trial(TiedWeights().double(), nn.CrossEntropyLoss(), [(tokens, following)], plain)


def module_used_twice() -> Trial:
    layer = nn.Linear(INPUTS, INPUTS)
    model = nn.Sequential(layer, nn.Tanh(), layer, nn.Linear(INPUTS, CLASSES)).double()

    def plain(p: Parameters) -> Tensor:
        hidden = (X @ p["0.weight"].T + p["0.bias"]).tanh() @ p["0.weight"].T + p["0.bias"]
        return cross_entropy(hidden @ p["3.weight"].T + p["3.bias"], LABELS)

    return Trial(model, nn.CrossEntropyLoss(), [(X, LABELS)], plain)


class WeightDecay(nn.Module):
    """Cross-entropy and a multiple of the squared length of all parameters."""

    reduction = "mean"

    def __init__(self, model: nn.Module, strength: float) -> None:
        super().__init__()
        self.model, self.strength = model, strength

    def forward(self, scores: Tensor, labels: Tensor) -> Tensor:
        """A scalar."""
        squares = torch.stack([p.square().sum() for p in self.model.parameters()])
        return functional.cross_entropy(scores, labels) + self.strength * squares.sum()


def loss_with_weight_decay() -> Trial:
    model, strength = perceptron(), 0.05

    def plain(p: Parameters) -> Tensor:
        return perceptron_loss(p) + strength * sum(value.square().sum() for value in p.values())

    return Trial(model, WeightDecay(model, strength), [(X, LABELS)], plain)


def compiled() -> Trial:
    """Compiled without a compiler of C, which what is tried here does not depend on."""
    model = torch.compile(perceptron(), backend="aot_eager")

    def plain(p: Parameters) -> Tensor:
        return perceptron_loss({key.removeprefix("_orig_mod."): value for key, value in p.items()})

    return Trial(model, nn.CrossEntropyLoss(), [(X, LABELS)], plain)


class Autocast(nn.Module):
    """A network in float32 whose matrix products are done in bfloat16."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = perceptron().float()

    def forward(self, x: Tensor) -> Tensor:
        """Scores in float32."""
        with torch.autocast("cpu", torch.bfloat16):
            return self.layers(x).float()


def autocast() -> Trial:
    def plain(p: Parameters) -> Tensor:
        return perceptron_loss({key.removeprefix("layers."): value for key, value in p.items()})

    # Two to three digits are what bfloat16 has.
    data = [(X.float(), LABELS)]
    return Trial(Autocast(), nn.CrossEntropyLoss(), data, plain, tolerance=3e-2)


def dropout() -> Trial:
    """In training mode, where the loss is another at each call; the truth is that of eval mode."""
    model = nn.Sequential(*perceptron()[:2], nn.Dropout(0.5), nn.Linear(HIDDEN, CLASSES)).double()

    def plain(p: Parameters) -> Tensor:
        return cross_entropy(perceptron_scores(p, last="3"), LABELS)

    return Trial(model, nn.CrossEntropyLoss(), [(X, LABELS)], plain)


def gpt2(attention_kind: str | None = None) -> Trial:
    """Hugging Face's GPT-2, small, with random weights and the attention that it comes with.

    Its loss is taken in float32 in any case.
    """
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = {"n_layer": 1, "n_head": 2, "n_embd": 8, "n_positions": LENGTH}
    kind = {} if attention_kind is None else {"attn_implementation": attention_kind}
    settings = GPT2Config(vocab_size=VOCABULARY, bos_token_id=0, eos_token_id=0, **sizes, **kind)
    model = GPT2LMHeadModel(settings).double().eval()
    with torch.no_grad():
        # Away from the initial values, at which every norm is the same and little is curved.
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))

    def plain(p: Parameters) -> Tensor:
        p = {name.removeprefix("transformer."): value for name, value in p.items()}
        x = p["wte.weight"][TOKENS] + p["wpe.weight"]
        x = x + _gpt2_attention(_gpt2_norm(x, p, "h.0.ln_1"), p)
        hidden = _gpt2_linear(_gpt2_norm(x, p, "h.0.ln_2"), p, "h.0.mlp.c_fc")
        cubic = (2 / torch.pi) ** 0.5 * (hidden + 0.044715 * hidden**3)
        x = x + _gpt2_linear(0.5 * hidden * (1 + cubic.tanh()), p, "h.0.mlp.c_proj")
        scores = _gpt2_norm(x, p, "ln_f") @ p["wte.weight"].T
        return cross_entropy(scores[:, :-1], TOKENS[:, 1:])

    data = [{"input_ids": TOKENS, "labels": TOKENS}]
    return Trial(model, None, data, plain, tolerance=1e-6)


def _gpt2_linear(x: Tensor, p: Parameters, name: str) -> Tensor:
    return x @ p[f"{name}.weight"] + p[f"{name}.bias"]


def _gpt2_norm(x: Tensor, p: Parameters, name: str) -> Tensor:
    return layer_norm(x, p[f"{name}.weight"], p[f"{name}.bias"])


def _gpt2_attention(x: Tensor, p: Parameters) -> Tensor:
    """Two heads of width 4."""
    parts = _gpt2_linear(x, p, "h.0.attn.c_attn").split(8, dim=-1)
    heads = attention(*(part.unflatten(-1, (2, 4)).transpose(1, 2) for part in parts))
    return _gpt2_linear(heads.transpose(1, 2).flatten(2), p, "h.0.attn.c_proj")


def log_probabilities() -> Trial:
    """Softmax in the network; the Gauss-Newton matrix that one means is that of the scores."""
    model = perceptron().append(nn.LogSoftmax(1))
    return Trial(model, nn.NLLLoss(), [(X, LABELS)], perceptron_loss, matrix="ggn")


class Padded(nn.Module):
    """Tokens to class scores; the first token of the vocabulary stands for none."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(VOCABULARY, 4, padding_idx=0), nn.Linear(4, 3)
        # What it was before it was said to be padding: torch begins with zeros.
        nn.init.ones_(self.embedding.weight[:1])

    def forward(self, tokens: Tensor) -> Tensor:
        """``(n,)`` to ``(n, 3)``."""
        return self.head(torch.tanh(self.embedding(tokens)))


def padding() -> Trial:
    tokens = classes(SAMPLES, count=VOCABULARY)

    def plain(p: Parameters) -> Tensor:
        matrix = p["embedding.weight"]
        rows = torch.cat([torch.ones_like(matrix[:1]), matrix[1:]])[tokens]
        return cross_entropy(rows.tanh() @ p["head.weight"].T + p["head.bias"], LABELS)

    return Trial(Padded().double(), nn.CrossEntropyLoss(), [(tokens, LABELS)], plain)


def statistics_of_batches() -> Trial:
    """One function of the data as a whole, which no sum over batches is."""
    norm = nn.BatchNorm1d(INPUTS, affine=False, track_running_stats=False)
    model = nn.Sequential(norm, *perceptron()).double().eval()

    def plain(p: Parameters) -> Tensor:
        centred = X - X.mean(0)
        x = centred * (centred.square().mean(0) + 1e-5) ** -0.5
        named = {name.replace("1.", "0.", 1): value for name, value in p.items()}
        return cross_entropy(perceptron_scores(named, last="3", x=x), LABELS)

    data = list(zip(X.split(4), LABELS.split(4), strict=True))
    return Trial(model, nn.CrossEntropyLoss(), data, plain)


class Checkpointed(nn.Sequential):
    """Computes its layers anew in the backward pass."""

    def forward(self, x: Tensor) -> Tensor:
        """``(n, d)`` to ``(n, C)``."""
        return checkpoint(super().forward, x, use_reentrant=False)


def checkpointed() -> Trial:
    model = Checkpointed(*perceptron()).double()
    return Trial(model, nn.CrossEntropyLoss(), [(X, LABELS)], perceptron_loss)


class Experts(nn.Module):
    """Two layers of which the second gets no sample."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = perceptron(), perceptron()

    def forward(self, x: Tensor) -> Tensor:
        """``(n, d)`` to ``(n, C)``."""
        return torch.cat([self.first(x), self.second(x[len(x) :])])


def expert_without_samples() -> Trial:
    def plain(p: Parameters) -> Tensor:
        first = {name.removeprefix("first."): value for name, value in p.items()}
        # Of the other nothing comes.
        none = sum(value.sum() for name, value in p.items() if name.startswith("second."))
        return cross_entropy(perceptron_scores(first), LABELS) + 0 * none**2

    return Trial(Experts().double(), nn.CrossEntropyLoss(), [(X, LABELS)], plain)


class Force(nn.Module):
    """The gradient of an energy in the input, as physics-informed networks have it."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(INPUTS, HIDDEN)

    def forward(self, x: Tensor) -> Tensor:
        """``(n, d)`` to ``(n, C)``."""
        points = x.detach().requires_grad_()
        energy = torch.tanh(self.layer(points)).sum()
        return torch.autograd.grad(energy, points, create_graph=True)[0][:, :CLASSES]


def derivatives_inside() -> Trial:
    def plain(p: Parameters) -> Tensor:
        hidden = (X @ p["layer.weight"].T + p["layer.bias"]).tanh()
        return cross_entropy(((1 - hidden**2) @ p["layer.weight"])[:, :CLASSES], LABELS)

    return Trial(Force().double(), nn.CrossEntropyLoss(), [(X, LABELS)], plain)


class Complex(nn.Module):
    """A layer of complex weights, and the moduli of what it gives."""

    def __init__(self) -> None:
        super().__init__()
        self.real, self.imaginary = (nn.Parameter(torch.randn(CLASSES, INPUTS)) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        """``(n, d)`` to ``(n, C)``."""
        weight = torch.complex(self.real, self.imaginary)
        return functional.linear(torch.complex(x, torch.ones_like(x)), weight).abs()


def complex_weights() -> Trial:
    def plain(p: Parameters) -> Tensor:
        a, b = p["real"], p["imaginary"]
        one = torch.ones_like(X)
        real, imaginary = X @ a.T - one @ b.T, X @ b.T + one @ a.T
        return cross_entropy((real**2 + imaginary**2) ** 0.5, LABELS)

    return Trial(Complex().double(), nn.CrossEntropyLoss(), [(X, LABELS)], plain)


TRIALS: dict[str, Callable[[], Trial]] = {
    "MLP": control,
    "fused attention": fused_attention,
    "LayerNorm with weights": affine_layer_norm,
    "`parametrizations.weight_norm`": weight_norm,
    "batches of 1, 3 and 8": uneven_batches,
    "the same, ignored targets, own loss class": ignored_targets,
    "tied weights": tied_weights,
    "a module used twice": module_used_twice,
    "an embedding with padding": padding,
    "batch norm without statistics, in batches": statistics_of_batches,
    "checkpoint, not reentrant": checkpointed,
    "an expert without samples": expert_without_samples,
    "derivatives inside the network": derivatives_inside,
    "complex weights": complex_weights,
    "weight decay inside the loss": loss_with_weight_decay,
    "`torch.compile`": compiled,
    "autocast inside the model": autocast,
    "dropout in training mode": dropout,
    "Hugging Face GPT-2": gpt2,
    "the same, eager attention": lambda: gpt2("eager"),
    "GGN of LogSoftmax and NLLLoss": log_probabilities,
}


def make(name: str) -> Trial:
    """A trial with the same weights each time."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return TRIALS[name]()


def leaves(trial: Trial) -> Parameters:
    """The parameters as tensors of their own, in float64."""
    return {
        name: parameter.detach().double().clone().requires_grad_()
        for name, parameter in trial.model.named_parameters()
    }


def gradient(trial: Trial, p: Parameters, *, keep_graph: bool = False) -> Tensor:
    pieces = torch.autograd.grad(trial.plain(p), list(p.values()), create_graph=keep_graph)
    return torch.cat([piece.reshape(-1) for piece in pieces])


def truth(trial: Trial, vector: Tensor) -> Tensor:
    """``H v``, or ``G v`` of an MLP whose outputs are its scores, from the plain form."""
    p = leaves(trial)
    if trial.matrix == "ggn":
        return _gauss_newton(trial, p, vector)
    pieces = torch.autograd.grad(gradient(trial, p, keep_graph=True), list(p.values()), vector)
    return torch.cat([piece.reshape(-1) for piece in pieces])


def _gauss_newton(trial: Trial, p: Parameters, vector: Tensor) -> Tensor:
    """``Jᵀ (diag(q) − q qᵀ) J v / n``, ``J`` the Jacobian of the scores and ``q`` their softmax."""
    names, values = list(p), tuple(p.values())

    def scores(*at: Tensor) -> Tensor:
        return perceptron_scores(dict(zip(names, at, strict=True)))

    blocks = torch.autograd.functional.jacobian(scores, values)
    jacobian = torch.cat([block.flatten(2) for block in blocks], dim=2)  # (n, C, p)
    q = scores(*values).softmax(1).detach()
    along = jacobian @ vector
    curved = q * (along - (q * along).sum(1, keepdim=True))
    return torch.einsum("ncp,nc->p", jacobian, curved) / len(q)


def truth_by_differences(trial: Trial, vector: Tensor, step: float = 1e-5) -> Tensor:
    """The same from gradients of the plain form alone."""
    sides = []
    for sign in (step, -step):
        p = leaves(trial)
        pieces = vector.split([value.numel() for value in p.values()])
        moved = {
            name: (value.detach() + sign * piece.view(value.shape)).requires_grad_()
            for (name, value), piece in zip(p.items(), pieces, strict=True)
        }
        sides.append(gradient(trial, moved))
    return (sides[0] - sides[1]) / (2 * step)
