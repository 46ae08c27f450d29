"""The callbacks of Lightning and of Hugging Face's Trainer: they measure and disturb nothing."""

import importlib
import sys
import warnings

import pytest
import torch
from torch import nn

from hessian_spectra import curvature as cv

LOSS = nn.CrossEntropyLoss()


@pytest.fixture(autouse=True)
def _quiet():
    """Their own warnings are not ours to fix; ours stay errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", cv.ConvergenceWarning)
        yield


def samples() -> list[tuple[torch.Tensor, torch.Tensor]]:
    draws = torch.Generator().manual_seed(0)
    return [
        (torch.randn(6, generator=draws), torch.randint(0, 3, (), generator=draws))
        for _ in range(24)
    ]


def batch() -> list[tuple[torch.Tensor, torch.Tensor]]:
    inputs, targets = zip(*samples(), strict=True)
    return [(torch.stack(inputs), torch.stack(targets))]


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Dropout(0.2), nn.Linear(16, 3))


def require_undisturbed(fit, steps):
    """A training is as without the callback, which measured after these steps."""
    (plain, state, _), (model, tracked_state, tracker) = fit(False), fit(True)
    assert all(map(torch.equal, plain.parameters(), model.parameters()))
    assert torch.equal(state, tracked_state)
    assert [record.step for record in tracker.history] == steps
    expected = cv.sharpness(model.network.eval(), LOSS, batch())
    assert tracker.history[-1].sharpness == pytest.approx(expected.value, rel=1e-4)


def test_lightning(tmp_path):
    lightning = pytest.importorskip("lightning.pytorch")
    from hessian_spectra.integrations.lightning import SharpnessCallback

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.network = network()

        def training_step(self, pair, index):
            return LOSS(self.network(pair[0]), pair[1])

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=1e-2)

    def fit(tracked: bool):
        module = Module()
        tracker = cv.SharpnessTracker(module.network, LOSS, batch(), every=2)
        trainer = lightning.Trainer(
            max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, default_root_dir=tmp_path,
            callbacks=[SharpnessCallback(tracker)] if tracked else [],
        )  # fmt: skip
        torch.manual_seed(1)
        trainer.fit(module, torch.utils.data.DataLoader(samples(), batch_size=8, shuffle=True))
        return module, torch.random.get_rng_state(), tracker

    require_undisturbed(fit, [2, 4, 6])


def test_huggingface(tmp_path):
    transformers = pytest.importorskip("transformers")
    from hessian_spectra.integrations.huggingface import SharpnessCallback

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.network = network()

        def forward(self, x, labels):
            logits = self.network(x)
            return {"loss": LOSS(logits, labels), "logits": logits}

    examples = [{"x": x, "labels": y} for x, y in samples()]
    inputs, targets = batch()[0]

    def fit(tracked: bool):
        model = Classifier()
        tracker = cv.SharpnessTracker(
            model,
            loss_fn=lambda model, batch: model(**batch)["loss"],
            data=[{"x": inputs, "labels": targets}],
            every=3,
        )
        arguments = transformers.TrainingArguments(
            output_dir=str(tmp_path), per_device_train_batch_size=8, num_train_epochs=2,
            report_to=[], save_strategy="no", disable_tqdm=True, use_cpu=True, seed=1,
            logging_strategy="no",
        )  # fmt: skip
        trainer = transformers.Trainer(
            model=model,
            args=arguments,
            train_dataset=examples,
            callbacks=[SharpnessCallback(tracker)] if tracked else [],
        )
        trainer.train()
        return model, torch.random.get_rng_state(), tracker

    require_undisturbed(fit, [3, 6])


@pytest.mark.parametrize(
    ("room", "library", "extra"),
    [("lightning", "lightning", "lightning"), ("huggingface", "transformers", "huggingface")],
)
def test_a_missing_library_is_named_with_its_extra(room, library, extra, monkeypatch):
    name = f"hessian_spectra.integrations.{room}"
    for module in [name, *(part for part in sys.modules if part.split(".")[0] == library)]:
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "site-packages" not in entry])
    with pytest.raises(ModuleNotFoundError, match=rf"this needs {library}: pip install .*{extra}"):
        importlib.import_module(name)
