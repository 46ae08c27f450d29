"""Sharpness while Lightning trains; ``pip install "hessian-spectra[lightning]"``."""

from typing import Any

from hessian_spectra.curvature.tracker import SharpnessTracker
from hessian_spectra.validation import optional_import

_Callback: Any = optional_import("lightning.pytorch", "lightning").Callback


class SharpnessCallback(_Callback):
    """Tells a tracker each step of Lightning's ``Trainer``.

    Make the tracker before ``trainer.fit``, of the module or of a network in it; steps are those of
    the optimiser, ``trainer.global_step``.

    Args:
        tracker: what measures, keeps the history and logs.
    """

    def __init__(self, tracker: SharpnessTracker) -> None:
        super().__init__()
        self.tracker = tracker

    def on_train_batch_end(self, trainer: Any, *_: Any, **__: Any) -> None:
        """Pass on the number of optimiser steps made."""
        self.tracker.step(trainer.global_step)
