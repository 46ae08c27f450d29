"""Networks of sequences: recurrent ones, attention, embeddings, and language models."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..cases import TOKENS, Attention, normal
from .specimens import Lambda, Specimen, listed

SERIES = normal(6, 5, 2)


def recurrent(kind: type[nn.RNNBase], **settings: Any) -> nn.Module:
    return Lambda(
        lambda self, x: self.head(self.cell(x)[0][:, -1]),
        cell=kind(2, 2, batch_first=True, **settings),
        head=nn.Linear(4 if settings.get("bidirectional") else 2, 3),
    )


def packed() -> nn.Module:
    """Sequences of different lengths in torch's packed form."""

    def forward(self: nn.Module, x: Tensor) -> Tensor:
        lengths = [5 - int(first > 0) for first in x[:, 0, 0]]
        sequences = nn.utils.rnn.pack_padded_sequence(
            x, torch.tensor(lengths), batch_first=True, enforce_sorted=False
        )
        return self.head(self.cell(sequences)[1][-1])

    return Lambda(forward, cell=nn.GRU(2, 2, batch_first=True), head=nn.Linear(2, 3))


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


def tied_language_model() -> nn.Module:
    model = Lambda(
        lambda self, x: self.head(torch.tanh(self.mix(self.embed(x)))).transpose(1, 2),
        embed=nn.Embedding(5, 3), mix=nn.Linear(3, 3), head=nn.Linear(3, 5, bias=False),
    )  # fmt: skip
    model.head.weight = model.embed.weight
    return model


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
    ("packed sequences", packed),
    ("rotary attention", rotated),
    ("transformer encoder", encoder),
    ("transformer encoder, evaluated", lambda: encoder().eval()),
    inputs=SERIES,
)
NETWORKS += listed(
    ("tied language model", tied_language_model),
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
