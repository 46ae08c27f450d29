"""The papers' loss: half the mean squared error, per sample or per element."""

from torch import Tensor, nn

from hessian_spectra.validation import require_word


class HalfSquaredError(nn.Module):
    """Half the squared error, averaged over samples or over all elements.

    ``per="sample"`` is ``1/(2n) Σ_i ‖f_i − y_i‖²`` with ``n`` the size of the first dimension;
    ``per="element"`` is half the mean over all elements. The two agree for scalar outputs.

    Args:
        per: what the mean runs over, ``sample`` or ``element``.

    Raises:
        ValueError: ``per`` is another word; at a call: outputs and targets differ in shape (which
            broadcasting would hide), or there are none.

    Source: singh2026cracking, section 3.1 (per sample) and section 3.3 (per element: the mean over
    the positions of a sequence and over the sequences of a batch).

    Example:
        >>> import torch
        >>> outputs, targets = torch.tensor([[3.0, 4.0]]), torch.zeros(1, 2)
        >>> HalfSquaredError("sample")(outputs, targets).item()
        12.5
        >>> HalfSquaredError("element")(outputs, targets).item()
        6.25
    """

    # Operators that sum over batches ask a loss how it reduces one.
    reduction = "mean"

    def __init__(self, per: str = "sample") -> None:
        super().__init__()
        require_word("per", per, ("sample", "element"))
        self.per = per

    def forward(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The loss, a scalar tensor."""
        if outputs.shape != targets.shape or outputs.numel() == 0:
            raise ValueError(
                "expected non-empty outputs and targets of one shape, "
                f"got {tuple(outputs.shape)} and {tuple(targets.shape)}"
            )
        count = len(outputs) if self.per == "sample" else outputs.numel()
        return (outputs - targets).square().sum() / (2 * count)

    def extra_repr(self) -> str:
        """The mean that the loss takes, for ``repr``."""
        return f"per={self.per!r}"
