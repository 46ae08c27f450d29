"""Figures of language models share the style of architectures."""

from hessian_papers.studies.gpt2.seeds import ATTENTION, NO_NORM_WEIGHTS, TWIN
from hessian_spectra.pictures import style

# Colour, marker and name.
LOOKS: dict[str, tuple[str, str, str]] = {
    ATTENTION: (style.VERMILION, "o", "with attention"),
    TWIN: (style.BLUE, "s", "without attention"),
    NO_NORM_WEIGHTS: (style.GREEN, "^", "with attention, norms without weights"),
}
