"""Figures of language models share the style of architectures."""

from hessian_papers.studies.gpt2.seeds import ATTENTION, NO_NORM_WEIGHTS, TWIN
from hessian_spectra.pictures import style

# Colour, marker and name.
LOOKS: dict[str, tuple[str, str, str]] = {
    ATTENTION: (style.VERMILION, "o", "with attention"),
    TWIN: (style.BLUE, "s", "without attention"),
    NO_NORM_WEIGHTS: (style.GREEN, "^", "with attention, norms without weights"),
    "uniform attention": (style.ORANGE, "v", "uniform averages for softmax"),
    "fixed attention": (style.YELLOW, "D", "fixed patterns for softmax"),
    "ReLU": (style.SKY, "P", "ReLU for GELU"),
    "RMS norm": (style.PURPLE, "X", "RMS for layer norm"),
    "no norm": (style.BLACK, "*", "no layer norm"),
}
