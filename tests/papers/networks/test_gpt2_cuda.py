"""Language models that are trained on a GPU, where there is one, with all that a GPU adds."""

import numpy as np
import pytest
import torch

from hessian_papers.networks import gpt2 as networks
from hessian_papers.work import TrainingRun
from tests.papers.networks import small_gpt2
from tests.papers.networks.small_gpt2 import config

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
    # What torch's own compiler warns of: a function of its own, and float32 without TensorFloat32.
    pytest.mark.filterwarnings("ignore:.torch.jit.script_method. is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:TensorFloat32 tensor cores:UserWarning"),
]

TWO_STEPS = {"steps": 2, "decay_steps": 3, "measured": [[2, 2]], "kept": []}


def trained(tmp_path, **changes):
    """The arrays of the first training of a configuration, with a place for its state."""
    (item, *_) = networks.items(config(**TWO_STEPS | changes), small_gpt2.TEXT)
    return networks.compute(**item, run=TrainingRun(checkpoint=tmp_path))


def test_two_steps_with_bf16_and_compilation_are_near_those_on_the_cpu(tmp_path, monkeypatch):
    actual = trained(tmp_path / "gpu", precision="bf16", compile=True)
    assert int(actual["memory"]) > 0
    with monkeypatch.context() as patch:
        patch.setattr(torch.cuda, "is_available", lambda: False)
        expected = trained(tmp_path / "cpu")
    for name in ("loss", "residual", "hessian", "ggn"):
        np.testing.assert_allclose(actual[name], expected[name], rtol=2e-2, err_msg=name)
    np.testing.assert_allclose(actual["train_loss"], expected["train_loss"], rtol=1e-2)


def test_a_training_that_was_interrupted_goes_on_to_the_same_numbers(tmp_path, monkeypatch):
    expected = trained(tmp_path / "whole")
    begun = networks.pretrain

    def interrupted(*args, log, **kwargs):
        def until_the_first(step, metrics):
            log(step, metrics)
            if step == 1:
                raise KeyboardInterrupt

        return begun(*args, log=until_the_first, **kwargs)

    monkeypatch.setattr(networks, "pretrain", interrupted)
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "parts")
    monkeypatch.setattr(networks, "pretrain", begun)
    actual = trained(tmp_path / "parts")
    for name, values in expected.items():
        np.testing.assert_allclose(actual[name], values, rtol=1e-4, err_msg=name)
