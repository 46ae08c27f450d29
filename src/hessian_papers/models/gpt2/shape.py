"""The size of a GPT-2, and its variant."""

from dataclasses import dataclass
from typing import Annotated, Any

from torch import nn

from hessian_papers.constraints import Checked, Count, OneOf
from hessian_spectra.validation import require

# GPT-2 and its twins; then GPT-2 with one part changed: patterns of attention in place of softmax,
# other activations, other normalisations.
TWINS = ("attention", "no attention", "no norm weights")
PATTERNS = ("uniform attention", "fixed attention")
ARMS = (*PATTERNS, "ReLU", "RMS norm", "no norm")
VARIANTS = (*TWINS, *ARMS)


@dataclass(frozen=True, kw_only=True)
class Shape(Checked):
    """The size of a GPT-2, and its variant.

    Args:
        layers: transformer blocks.
        width: numbers in each token's vector.
        heads: attention heads of a block; they divide the width.
        context: the most tokens that the model reads at once.
        vocabulary: how many tokens there are.
        variant: ``"attention"``, GPT-2 itself; ``"no attention"``, in which attention and its norm
            are removed from each block and half as many further MLP blocks as there are layers
            (rounded up) stand in for them; ``"no norm weights"``, whose layer norms have neither
            weights nor biases. With one part changed: ``"uniform attention"``, in which each query
            takes the mean of the values that it sees; ``"fixed attention"``, in which each head
            weighs them by position alone, drawn once, and keys and queries have no effect either;
            ``"ReLU"`` in place of GELU; ``"RMS norm"`` in place of layer norm; ``"no norm"``.
        dropout: of embeddings, attention and residual branches while training.

    Raises:
        ValueError: a number is out of range, or the variant is another word.

    Source: singh2026cracking, appendix D.1.5 (124M: 12 layers, six further MLP blocks); all
    variants after ``"no norm weights"`` are ours.
    """

    layers: Count
    width: Count
    heads: Count
    context: Count
    vocabulary: Count
    variant: Annotated[str, OneOf(tuple(VARIANTS))]
    dropout: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.width % self.heads == 0, "heads", f"a divisor of {self.width}", self.heads)
        require(0 <= self.dropout < 1, "dropout", "a number from 0 to below 1", self.dropout)

    @property
    def blocks(self) -> int:
        """The number of blocks of the model, of attention and MLP or of an MLP alone."""
        return self.layers + ((self.layers + 1) // 2 if self.variant == "no attention" else 0)

    @property
    def residual_branches(self) -> int:
        """The number of terms that add up to the last hidden state, beside the embeddings."""
        return self.blocks * (1 if self.variant == "no attention" else 2)


def shape_of(model: nn.Module) -> Shape:
    """Size and variant of a model of :func:`gpt2` or :func:`load`."""
    config: Any = model.config
    return Shape(**config.shape)
