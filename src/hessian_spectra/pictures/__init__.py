"""Pictures of curvature, and the look that they share; they need the extra ``figures``."""

from hessian_spectra.validation import optional_import

optional_import("matplotlib", "figures")

from hessian_spectra.pictures.files import rendered  # noqa: E402
from hessian_spectra.pictures.landscape import draw_curve, draw_plane  # noqa: E402
from hessian_spectra.pictures.spectra import draw_density, draw_spectrum  # noqa: E402

__all__ = ["draw_curve", "draw_density", "draw_plane", "draw_spectrum", "rendered"]
