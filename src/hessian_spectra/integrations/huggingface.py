"""Sharpness while Hugging Face's Trainer trains; ``pip install "hessian-spectra[huggingface]"``."""

from typing import Any

from hessian_spectra.curvature.tracker import SharpnessTracker
from hessian_spectra.validation import optional_import

_Callback: Any = optional_import("transformers", "huggingface").TrainerCallback


class SharpnessCallback(_Callback):
    """Tells a tracker each step of transformers' ``Trainer``.

    A model whose output has a loss is tracked with ``loss_fn=lambda model, batch:
    model(**batch).loss`` on a list of batches as the model takes them.

    Args:
        tracker: what measures, keeps the history and logs.
    """

    def __init__(self, tracker: SharpnessTracker) -> None:
        super().__init__()
        self.tracker = tracker

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Pass on the number of optimiser steps made."""
        self.tracker.step(state.global_step)
