"""Networks of sequences: recurrent ones, attention, embeddings, and language models."""

import warnings
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..cases import TOKENS, Attention, normal
from .specimens import Lambda, Specimen, free, listed

SERIES = normal(6, 5, 2)


def recurrent(kind: type[nn.RNNBase], **settings: Any) -> nn.Module:
    return Lambda(
        lambda self, x: self.head(self.cell(x)[0][:, -1]),
        cell=kind(2, 2, batch_first=True, **settings),
        head=nn.Linear(4 if settings.get("bidirectional") else 2, 3),
    )


def unrolled() -> nn.Module:
    """A cell in a loop of one's own."""

    def forward(self: nn.Module, x: Tensor) -> Tensor:
        state = x.new_zeros(len(x), 2), x.new_zeros(len(x), 2)
        for step in x.unbind(1):
            state = self.cell(step, state)
        return self.head(state[0])

    return Lambda(forward, cell=nn.LSTMCell(2, 2), head=nn.Linear(2, 3))


def packed() -> nn.Module:
    """Sequences of different lengths in torch's packed form."""

    def forward(self: nn.Module, x: Tensor) -> Tensor:
        lengths = [5 - int(first > 0) for first in x[:, 0, 0]]
        sequences = nn.utils.rnn.pack_padded_sequence(
            x, torch.tensor(lengths), batch_first=True, enforce_sorted=False
        )
        return self.head(self.cell(sequences)[1][-1])

    return Lambda(forward, cell=nn.GRU(2, 2, batch_first=True), head=nn.Linear(2, 3))


def convolved() -> nn.Module:
    """Causal and dilated, as in WaveNet."""

    def forward(self: nn.Module, x: Tensor) -> Tensor:
        y = functional.pad(x.transpose(1, 2), (2, 0))
        return self.head(self.values(y).tanh() * self.gate(y).sigmoid())

    return Lambda(forward, values=nn.Conv1d(2, 2, 2, dilation=2),
                  gate=nn.Conv1d(2, 2, 2, dilation=2), head=nn.Conv1d(2, 3, 1))  # fmt: skip


def state_space() -> nn.Module:
    """A linear recurrence whose decay depends on the input."""

    def forward(self: nn.Module, x: Tensor) -> Tensor:
        state, outputs = torch.zeros_like(x[:, 0]), []
        for step in x.unbind(1):
            decay = (-functional.softplus(self.decay(step))).exp()
            state = decay * state + self.inward(step)
            outputs.append(self.outward(state * step.tanh()))
        return torch.stack(outputs, 2)

    return Lambda(forward, decay=nn.Linear(2, 2), inward=nn.Linear(2, 2),
                  outward=nn.Linear(2, 3))  # fmt: skip


def linear_attention() -> nn.Module:
    def forward(self: nn.Module, x: Tensor) -> Tensor:
        query, key, value = self.mix(x).chunk(3, -1)
        query, key = functional.elu(query) + 1, functional.elu(key) + 1
        sums = torch.einsum("ntd,nte->ntde", key, value).cumsum(1)
        norms = torch.einsum("ntd,ntd->nt", query, key.cumsum(1))
        return self.head(torch.einsum("ntd,ntde->nte", query, sums) / norms[..., None]).mT

    return Lambda(forward, mix=nn.Linear(2, 6), head=nn.Linear(2, 3))


def rotated() -> nn.Module:
    """Attention whose positions turn queries and keys."""

    def forward(self: nn.Module, x: Tensor) -> Tensor:
        angles = torch.arange(x.shape[1], dtype=x.dtype)
        turns = torch.polar(torch.ones_like(angles), angles)
        parts = self.mix(x).chunk(3, -1)
        query, key = (
            torch.view_as_real(torch.view_as_complex(part.contiguous()) * turns)
            for part in parts[:2]
        )
        mixed = functional.scaled_dot_product_attention(query, key, parts[2], is_causal=True)
        return self.head(mixed).transpose(1, 2)

    return Lambda(forward, mix=nn.Linear(2, 6), head=nn.Linear(2, 3))


def encoder() -> nn.Module:
    return Lambda(
        lambda self, x: self.head(self.layer(self.widen(x)).mean(1)),
        widen=nn.Linear(2, 3),
        layer=nn.TransformerEncoderLayer(3, 1, 2, dropout=0.0, batch_first=True),
        head=nn.Linear(3, 3),
    )


def encoder_and_decoder() -> nn.Module:
    with warnings.catch_warnings():
        # About a path for speed that a single head has not.
        warnings.simplefilter("ignore", UserWarning)
        body = nn.Transformer(2, 1, 1, 1, 2, dropout=0.0, batch_first=True)
    return Lambda(
        lambda self, x: self.head(self.body(x, x[:, :2])).transpose(1, 2),
        body=body, head=nn.Linear(2, 3),
    )  # fmt: skip


def set_transformer() -> nn.Module:
    """A learnt query attends to the elements of a set."""

    def forward(self: nn.Module, x: Tensor) -> Tensor:
        keys = self.embed(x)
        query = self.query.expand(len(x), 1, 2)
        return self.head(self.mix(query, keys, keys, need_weights=False)[0][:, 0])

    return Lambda(forward, embed=nn.Linear(2, 2), query=free(1, 1, 2), head=nn.Linear(2, 3),
                  mix=nn.MultiheadAttention(2, 1, batch_first=True))  # fmt: skip


def deep_sets() -> nn.Module:
    return Lambda(
        lambda self, x: self.whole(self.each(x).tanh().sum(1)),
        each=nn.Linear(2, 3), whole=nn.Sequential(nn.Linear(3, 3), nn.GELU(), nn.Linear(3, 3)),
    )  # fmt: skip


def tied_language_model() -> nn.Module:
    model = Lambda(
        lambda self, x: self.head(torch.tanh(self.mix(self.embed(x)))).transpose(1, 2),
        embed=nn.Embedding(5, 3), mix=nn.Linear(3, 3), head=nn.Linear(3, 5, bias=False),
    )  # fmt: skip
    model.head.weight = model.embed.weight
    return model


def decoder() -> nn.Module:
    """One block of GPT: positions, causal attention, both around norms."""

    def forward(self: nn.Module, tokens: Tensor) -> Tensor:
        x = self.embed(tokens) + self.positions[: tokens.shape[1]]
        parts = self.mix(self.norms[0](x)).unflatten(2, (2, 3)).transpose(1, 2).chunk(3, -1)
        mixed = functional.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return self.head(x + self.body(self.norms[1](x))).transpose(1, 2)

    return Lambda(
        forward, embed=nn.Embedding(5, 2), positions=free(6, 2), mix=nn.Linear(2, 6),
        norms=nn.ModuleList([nn.LayerNorm(2), nn.LayerNorm(2)]), out=nn.Linear(2, 2),
        body=nn.Sequential(nn.Linear(2, 3), nn.GELU("tanh"), nn.Linear(3, 2)),
        head=nn.Linear(2, 3),
    )  # fmt: skip


def embedded(**settings: Any) -> nn.Module:
    return Lambda(
        lambda self, x: self.head(torch.tanh(self.embed(x))).transpose(1, 2),
        embed=nn.Embedding(5, 2, **settings),
        head=nn.Linear(2, 3),
    )


def bag(mode: str) -> nn.Module:
    return nn.Sequential(nn.EmbeddingBag(5, 3, mode=mode), nn.Tanh(), nn.Linear(3, 3))


def gpt2() -> nn.Module:
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(
        GPT2Config(vocab_size=5, n_positions=6, n_embd=3, n_layer=1, n_head=1, bos_token_id=0,
                   eos_token_id=0, use_cache=False)
    ).eval()  # fmt: skip


def bert() -> nn.Module:
    from transformers import BertConfig, BertForSequenceClassification

    return BertForSequenceClassification(
        BertConfig(vocab_size=5, hidden_size=2, num_hidden_layers=1, num_attention_heads=1,
                   intermediate_size=2, max_position_embeddings=6, num_labels=3)
    ).eval()  # fmt: skip


NETWORKS = listed(
    ("recurrent", lambda: recurrent(nn.RNN)),
    ("gated recurrent", lambda: recurrent(nn.GRU)),
    ("long short-term memory", lambda: recurrent(nn.LSTM)),
    ("both directions", lambda: recurrent(nn.LSTM, bidirectional=True)),
    ("two recurrent layers", lambda: recurrent(nn.GRU, num_layers=2)),
    ("cell in a loop", unrolled),
    ("packed sequences", packed),
    ("causal convolution", convolved),
    ("state space", state_space),
    ("linear attention", linear_attention),
    ("rotary attention", rotated),
    ("transformer encoder", encoder),
    ("transformer encoder, evaluated", lambda: encoder().eval()),
    ("encoder and decoder", encoder_and_decoder),
    ("set transformer", set_transformer),
    ("deep sets", deep_sets),
    inputs=SERIES,
)
NETWORKS += listed(
    ("tied language model", tied_language_model),
    ("decoder", decoder),
    ("fused attention", Attention),
    ("multi-head attention", lambda: Lambda(
        lambda self, x: self.mix(*[self.embed(x)] * 3, need_weights=False)[0].transpose(1, 2),
        embed=nn.Embedding(5, 2), mix=nn.MultiheadAttention(2, 1, batch_first=True))),
    ("embedding with padding", lambda: embedded(padding_idx=0)),
    ("sparse embedding", lambda: embedded(sparse=True)),
    inputs=TOKENS,
)  # fmt: skip
NETWORKS += [
    Specimen("GPT-2 of Hugging Face", gpt2, TOKENS, lambda outputs: outputs.logits.transpose(1, 2)),
    Specimen("BERT of Hugging Face", bert, TOKENS, lambda outputs: outputs.logits),
]
NETWORKS += listed(
    ("bag of embeddings, mean", lambda: bag("mean")),
    ("bag of embeddings, sum", lambda: bag("sum")),
    inputs=TOKENS, refused="an operation that cannot be differentiated twice",
)  # fmt: skip
NETWORKS += listed(
    ("embedding of bounded length", lambda: embedded(max_norm=1.0)),
    inputs=TOKENS, refused="max_norm",
)  # fmt: skip
