"""Trainings that start from the weights in a folder of transformers, and what is measured there."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from hessian_papers.models.gpt2 import load
from hessian_papers.networks import gpt2 as networks
from hessian_papers.networks.tools.result import folder_of
from hessian_papers.studies.gpt2.sink_density import study
from tests.papers.networks import small_gpt2
from tests.papers.networks.small_gpt2 import VOCABULARY, config

FITTED = {"variants": ["attention"], "seeds": 1, "steps": 0, "kept": [0], "measured": []}


def written(folder: Path, seed: int = 0, **changes: object) -> str:
    """A GPT-2 of transformers' own making, whose dropout is not ours."""
    sizes = {"n_layer": 1, "n_embd": 4, "n_head": 2, "n_positions": 6, "vocab_size": VOCABULARY}
    tokens = {"bos_token_id": 0, "eos_token_id": 0}
    torch.manual_seed(seed)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes | tokens | changes))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn(parameter.shape)
    model.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return written(tmp_path_factory.mktemp("fitted"))


@pytest.fixture(scope="module")
def fitted(folder, tmp_path_factory):
    return small_gpt2.train(tmp_path_factory.mktemp("trained"), start=folder, **FITTED)


def loss_of(folder, tokens):
    """Transformers' own loss."""
    model = transformers.GPT2LMHeadModel.from_pretrained(folder).eval()
    tokens = torch.from_numpy(tokens)
    with torch.no_grad():
        logits = model(tokens[:, :-1]).logits
    return float(torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()))


def test_nothing_is_trained_and_the_fitted_network_is_measured(fitted, folder):
    assert fitted["step"].values.tolist() == fitted["kept"].values.tolist() == [0]
    assert fitted["train_loss"].shape == (1, 1, 0)
    assert int(fitted["tokens_seen"]) == 0
    expected = loss_of(folder, fitted["measured_tokens"].values[0])
    assert fitted["loss"].item() == pytest.approx(expected, rel=1e-6)
    kept = dict(load(folder_of(fitted) / "0", "0").named_parameters())
    original = dict(transformers.GPT2LMHeadModel.from_pretrained(folder).named_parameters())
    assert kept.keys() == original.keys()
    assert all(torch.equal(kept[name], values) for name, values in original.items())


def test_its_sinks_have_a_data_set(fitted):
    settings = {"kind": "sink_density", "paper": "singh2026cracking", "artifact": "Figure 6"}
    settings |= {"title": "test", "ensemble": "test", "seed": 0, "masses": [0.7], "directions": 1}
    settings |= {"tolerance": 1e-3, "probes": 2, "products": 6, "points": 20, "kappa": 3.0}
    data = study.gpt2(study.Config(**settings, memory=100), fitted)
    assert float(data["loss"][0, 0, 0]) == pytest.approx(fitted["loss"].item(), rel=1e-6)
    largest = float(data["eigenvalue"][0, 0, 0].sel(end="largest"))
    assert largest == pytest.approx(fitted["hessian"].item(), rel=3e-3)
    assert np.isfinite(data["ggn"]).all()
    assert data["step"].values.tolist() == [0]


def test_a_training_starts_from_the_weights_with_its_own_dropout(fitted, folder, tmp_path):
    changes = FITTED | {"steps": 2, "decay_steps": 4, "kept": [0, 2]}
    trained = small_gpt2.train(tmp_path, start=folder, **changes)
    assert trained["loss"].values[0, 0, 0] == fitted["loss"].item()
    assert trained["loss"].values[0, 0, -1] != fitted["loss"].item()
    (item,) = networks.items(config(start=folder, **changes), small_gpt2.TEXT)
    # Without dropout the first batch has the loss of the fitted network.
    first = networks.batch(item["tokens"], step=0, size=4, length=6, seed=item["seed"]).numpy()
    assert trained["train_loss"].values[0, 0, 0] == pytest.approx(loss_of(folder, first), rel=1e-6)


def test_items_are_told_apart_by_the_weights_and_not_the_folder(folder, tmp_path):
    def start(where):
        (item,) = networks.items(config(start=where, **FITTED), small_gpt2.TEXT)
        return item["start"]

    copy = tmp_path / "copy"
    copy.mkdir()
    for file in Path(folder).iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    assert start(str(copy)) == start(folder)
    assert start(str(copy)).folder != start(folder).folder
    assert start(written(copy, seed=1)) != start(folder)
    assert networks.items(config(), small_gpt2.TEXT)[0]["start"] is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layers": 2}, "layers: expected 1, as the GPT-2 in .* has, got 2"),
        ({"context": 5}, "context: expected 6, as the GPT-2 in .* has, got 5"),
    ],
)
def test_another_shape_is_named(folder, changes, message):
    other = config(start=folder, **FITTED | changes)
    with pytest.raises(ValueError, match=f"^{message}$"):
        networks.items(other, small_gpt2.TEXT)
    with pytest.raises(ValueError, match=f"^{message}$"):
        networks.forecast(other, name="gpt2", vocabulary=VOCABULARY, workers=1)


def test_a_folder_that_holds_something_else_is_named(folder, tmp_path):
    text = small_gpt2.TEXT.assign(vocabulary=VOCABULARY + 1)
    with pytest.raises(ValueError, match=r"^data: expected a text with the 13 tokens .*, got 14$"):
        networks.items(config(start=folder, **FITTED), text)
    for files, message in (
        ({}, "expected config.json with model_type 'gpt2', got 'none'"),
        ({"model_type": "llama"}, "expected config.json with model_type 'gpt2', got 'llama'"),
        ({"activation_function": "relu"}, "activation_function: expected 'gelu_new', got 'relu'"),
        ({"model_type": "gpt2"}, "start: expected a folder with weights of GPT-2, files that end"),
    ):
        if files:
            content = json.loads((Path(folder) / "config.json").read_text("utf-8"))
            (tmp_path / "config.json").write_text(json.dumps(content | files), "utf-8")
        with pytest.raises(ValueError, match=message):
            networks.items(config(start=str(tmp_path), **FITTED), small_gpt2.TEXT)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"variants": ["attention", "ReLU"]}, "variants: expected attention alone, the variant wh"),
        ({"variants": ["no attention"]}, "variants: expected attention alone, the variant whose"),
        ({"seeds": 2}, "seeds: expected 1, as nothing is trained with steps 0, got 2"),
        ({"start": ""}, "steps: expected at least 1 without a start, got 0"),
        ({"kept": [0, 5]}, r"kept: expected different steps from 0 to 0, got \[0, 5\]"),
    ],
)
def test_settings_that_do_not_fit_a_start_are_refused(changes, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        config(**{"start": "some", **FITTED, **changes})
