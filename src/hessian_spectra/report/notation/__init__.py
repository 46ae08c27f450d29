"""The papers' symbols beside ours, as data.

The cells use the marks of :func:`hessian_spectra.report.html.formula`: ``_{}`` and ``^{}`` for
indices, ``~{}`` for a bar, ``!{}`` for bold, a backtick with braces for code. An empty cell means
that the paper does not use the quantity.
"""

from hessian_spectra.report.notation.ambiguities import AMBIGUITIES
from hessian_spectra.report.notation.deep import DEEP_LINEAR, LABELS
from hessian_spectra.report.notation.entries import Ambiguity, Symbol
from hessian_spectra.report.notation.networks import NETWORKS, SELF_ATTENTION
from hessian_spectra.report.notation.shared import DATA_AND_LOSS, SPECTRUM

# Group title -> its quantities.
SYMBOLS: dict[str, tuple[Symbol, ...]] = {
    "Data and loss": DATA_AND_LOSS,
    "Networks": NETWORKS,
    "Self-attention": SELF_ATTENTION,
    "Deep linear networks": DEEP_LINEAR,
    "Labels and the shares of classes": LABELS,
    "Spectrum": SPECTRUM,
}

__all__ = ["AMBIGUITIES", "SYMBOLS", "Ambiguity", "Symbol"]
