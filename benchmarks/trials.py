"""Small networks that a library may get wrong, each with its loss written out as plain arithmetic.

The plain form has no module, hook, fused kernel or batch, so that nothing of what is tried is in
it. Its derivatives are the truth.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrizations

from benchmarks import unusual
from benchmarks.trial import (
    CLASSES,
    HIDDEN,
    IGNORED,
    INPUTS,
    LABELS,
    LENGTH,
    SAMPLES,
    TOKENS,
    VOCABULARY,
    Parameters,
    Trial,
    X,
    attention,
    cross_entropy,
    cut,
    inputs,
    layer_norm,
    perceptron,
    perceptron_loss,
    perceptron_scores,
)


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


TRIALS: dict[str, Callable[[], Trial]] = {
    "MLP": control,
    "fused attention": fused_attention,
    "LayerNorm with weights": affine_layer_norm,
    "`parametrizations.weight_norm`": weight_norm,
    "batches of 1, 3 and 8": uneven_batches,
    "the same, ignored targets, own loss class": ignored_targets,
    "tied weights": tied_weights,
    "a module used twice": module_used_twice,
    "an embedding with padding": unusual.padding,
    "batch norm without statistics, in batches": unusual.statistics_of_batches,
    "checkpoint, not reentrant": unusual.checkpointed,
    "an expert without samples": unusual.expert_without_samples,
    "derivatives inside the network": unusual.derivatives_inside,
    "complex weights": unusual.complex_weights,
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
