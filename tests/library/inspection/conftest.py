"""The command is tested on a folder with a module of factories."""

import sys

import pytest

FACTORIES = """
import torch
from torch import nn
from hessian_spectra.curvature import Problem


def network():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 12), nn.Tanh(), nn.Linear(12, 8), nn.Tanh(), nn.Linear(8, 2))
    x = torch.randn(30, 3, dtype=torch.float64)
    return model.double(), nn.CrossEntropyLoss(), [(x, LABELS)]


LABELS = torch.arange(30) % 2


def linear():
    torch.manual_seed(0)
    x = torch.randn(20, 1, dtype=torch.float64)
    model = nn.Sequential(nn.Linear(1, 3, bias=False), nn.Linear(3, 1, bias=False)).double()
    return model, nn.MSELoss(), [(x, 2 * x + 0.1 * torch.randn_like(x))]


def kinked():
    torch.manual_seed(0)
    x = torch.randn(20, 3)
    return nn.Sequential(nn.Linear(3, 2), nn.LogSoftmax(1)), nn.NLLLoss(), [(x, LABELS[:20])]


def problem():
    model, _, data = linear()
    return Problem(model, loss_fn=lambda model, batch: model(batch[0]).square().mean(), data=data)


nothing = lambda: None
two = lambda: (1, 2)
no_model = lambda: (1, nn.MSELoss(), [])
no_data = lambda: (nn.Linear(1, 1), nn.MSELoss(), [])


def broken():
    return 1 / 0


def needs(width):
    return network()


text = "no function"


def language_model():
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(vocab_size=7, n_positions=8, n_embd=4, n_layer=1, n_head=1,
                        attn_implementation="eager", use_cache=False)
    tokens = torch.randint(0, 7, (6, 5))
    return GPT2LMHeadModel(config).eval(), None, [{"input_ids": tokens}]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with the module ``factories``, which is the current one."""
    (tmp_path / "factories.py").write_text(FACTORIES)
    (tmp_path / "broken_module.py").write_text("import json\n\nraise RuntimeError('two\\nlines')\n")
    (tmp_path / "missing_import.py").write_text("import no_such_package\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("factories", "broken_module", "missing_import"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path
